/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * On the wire a message is its length in 8 bytes, followed at once by its bytes if they are few, else by messages of at
 * most lsc_comm_piece bytes each. MPI only ever reads copies: a send that times out cannot be taken back.
 */
#include "comm.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "interrupt.h"
#include "message.h"
#include "roll.h"
#include "spare.h"

/* With the length within the eager limit of every transport, so that a short message leaves without its receiver. */
#define INLINE_BYTES 2048

#define SPIN_ROUNDS 100
#define YIELD_ROUNDS 200
#define SHORTEST_SLEEP_NS 20000
#define LONGEST_SLEEP_NS 1000000

size_t lsc_comm_piece = (size_t)16 << 20;

struct kept {
  struct kept *next;
  void *memory;
};
static struct kept *kept_list;
static pthread_mutex_t kept_mutex = PTHREAD_MUTEX_INITIALIZER;

void lsc_comm_keep(void *memory) {
  struct kept *kept = malloc(sizeof *kept);
  if (!kept) return;
  kept->memory = memory;
  pthread_mutex_lock(&kept_mutex);
  kept->next = kept_list;
  kept_list = kept;
  pthread_mutex_unlock(&kept_mutex);
}

lsc_status lsc_comm_check(int code, const char *what) {
  if (code == MPI_SUCCESS) return LSC_OK;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) return lsc_fail(LSC_MPI, "%s: MPI error %d", what, code);
  for (char *end; (end = strchr(text, '\n'));) *end = ' '; /* MPICH adds a stack of calls, one a line */
  return lsc_fail(LSC_MPI, "%s: %s", what, text);
}

/* Between two looks: nothing at first, then the processor is given away, so that ranks that share it get on. */
static void pause_between(unsigned round) {
  if (round < SPIN_ROUNDS) return;
  lsc_roll_wait(round == SPIN_ROUNDS); /* beside ranks that compute, giving away a hundred times can take seconds */
  lsc_interrupt_look();
  if (round < YIELD_ROUNDS) {
    sched_yield();
    return;
  }
  unsigned doublings = (round - YIELD_ROUNDS) / 8;
  long ns = doublings < 6 ? (long)SHORTEST_SLEEP_NS << doublings : LONGEST_SLEEP_NS;
  struct timespec sleep = {.tv_nsec = ns < LONGEST_SLEEP_NS ? ns : LONGEST_SLEEP_NS};
  nanosleep(&sleep, NULL);
}

/* What has arrived may need a few looks until it is there: these are taken also after the deadline. */
static int is_over(unsigned round, int64_t deadline) {
  return round >= SPIN_ROUNDS && lsc_now_ns() >= lsc_interrupt_deadline(deadline);
}

lsc_status lsc_comm_wait(MPI_Request *request, int64_t deadline) {
  for (unsigned round = 0;; pause_between(round++)) {
    int done = 0;
    lsc_status status = lsc_comm_check(MPI_Test(request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (status != LSC_OK || done) return status;
    if (is_over(round, deadline)) return lsc_fail(LSC_TIMEOUT, "an MPI operation was not done before the deadline");
  }
}

/* Sends head and body, each of which may be empty, as one MPI message. */
static lsc_status send_copy(struct lsc_group *group, int to, int tag, const void *head, size_t head_size,
                            const void *body, size_t body_size, int64_t deadline) {
  size_t size = head_size + body_size;
  unsigned char *copy = malloc(size);
  if (!copy) copy = lsc_spare_take(size);
  if (!copy) return lsc_fail(LSC_NO_MEMORY, "no memory for a message of %zu bytes to rank %d", size, to);
  if (head_size > 0) memcpy(copy, head, head_size);
  if (body_size > 0) memcpy(copy + head_size, body, body_size);

  MPI_Request request = MPI_REQUEST_NULL;
  lsc_status status = lsc_comm_check(
      MPI_Isend(copy, (int)size, MPI_BYTE, to, group->first_tag + tag, group->comm, &request), "MPI_Isend");
  if (status == LSC_OK) status = lsc_comm_wait(&request, deadline);
  if (status == LSC_OK) {
    lsc_spare_free(copy);
    return LSC_OK;
  }
  lsc_comm_keep(copy);
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  if (status != LSC_TIMEOUT) return status;
  return lsc_fail(LSC_TIMEOUT, "rank %d took no message from rank %d before the deadline", to, group->coll.rank);
}

static lsc_status check_tag(int tag) {
  if (tag >= 0 && tag < LSC_GROUP_TAGS) return LSC_OK;
  return lsc_fail(LSC_INVALID, "message tag %d is not below %d", tag, LSC_GROUP_TAGS);
}

/* The next piece of a long message, a smaller one without memory; its size is taken off *left. */
static lsc_status send_piece(struct lsc_group *group, int to, int tag, const unsigned char *next, size_t *left,
                             int64_t deadline) {
  size_t piece = *left < lsc_comm_piece ? *left : lsc_comm_piece;
  lsc_status status = send_copy(group, to, tag, NULL, 0, next, piece, deadline);
  if (status == LSC_NO_MEMORY && piece > LSC_SPARE_BYTES) {
    piece = LSC_SPARE_BYTES;
    status = send_copy(group, to, tag, NULL, 0, next, piece, deadline);
  }
  *left -= piece;
  return status;
}

static lsc_status group_send(struct lsc_coll *coll, int to, int tag, const void *data, size_t size, int64_t deadline) {
  struct lsc_group *group = coll->ctx;
  const unsigned char *next = data;
  uint64_t length = size;
  size_t left = size <= INLINE_BYTES ? 0 : size;
  lsc_interrupt_firm(coll->firm);
  lsc_status status = check_tag(tag);
  if (status == LSC_OK) status = send_copy(group, to, tag, &length, sizeof length, next, size - left, deadline);
  while (status == LSC_OK && left > 0) {
    size_t before = left;
    status = send_piece(group, to, tag, next, &left, deadline);
    next += before - left;
  }
  return status;
}

static lsc_status match(struct lsc_group *group, int from, int tag, MPI_Message *message, int *size, int64_t deadline) {
  for (unsigned round = 0;; pause_between(round++)) {
    int found = 0;
    MPI_Status envelope;
    int code = MPI_Improbe(from, group->first_tag + tag, group->comm, &found, message, &envelope);
    if (code != MPI_SUCCESS) return lsc_comm_check(code, "MPI_Improbe");
    if (found) return lsc_comm_check(MPI_Get_count(&envelope, MPI_BYTE, size), "MPI_Get_count");
    if (is_over(round, deadline)) {
      return lsc_fail(LSC_TIMEOUT, "rank %d had no message from rank %d before the deadline", group->coll.rank, from);
    }
  }
}

/*
 * Takes a message whose place could not be made off its sender, who would wait; where there is no memory for it alone,
 * either, it stays. (To have MPI cut it to nothing is no way: Open MPI 4.1 writes all of it nevertheless.)
 */
static void discard(MPI_Message *message, int size, int64_t deadline) {
  MPI_Request request = MPI_REQUEST_NULL;
  void *place = malloc((size_t)size);
  if (!place && !(place = lsc_spare_take((size_t)size))) return;
  int code = MPI_Imrecv(place, size, MPI_BYTE, message, &request);
  if (code == MPI_SUCCESS && lsc_comm_wait(&request, deadline) == LSC_OK) lsc_spare_free(place);
  else lsc_comm_keep(place);
}

/* Appends the next MPI message. When it does not come to an end, `out` is left empty and its memory to MPI. */
static lsc_status receive_piece(struct lsc_group *group, int from, int tag, struct lsc_buffer *out, int64_t deadline) {
  MPI_Message message = MPI_MESSAGE_NULL;
  int size = 0;
  lsc_status status = match(group, from, tag, &message, &size, deadline);
  if (status != LSC_OK) return status;
  void *where = lsc_buffer_reserve_short(out, (size_t)size);
  if (!where) {
    discard(&message, size, deadline);
    return lsc_fail(LSC_NO_MEMORY, "no memory for a message of %d bytes from rank %d", size, from);
  }

  MPI_Request request = MPI_REQUEST_NULL;
  status = lsc_comm_check(MPI_Imrecv(where, size, MPI_BYTE, &message, &request), "MPI_Imrecv");
  if (status == LSC_OK) status = lsc_comm_wait(&request, deadline);
  if (status == LSC_OK) {
    out->size += (size_t)size;
    return LSC_OK;
  }
  lsc_comm_keep(out->data);
  *out = (struct lsc_buffer){0};
  return status;
}

static lsc_status malformed(int from) {
  return lsc_fail(LSC_MPI, "a message from rank %d is not as lanescope sends it: do all ranks run the same version?",
                  from);
}

/* The pieces of a message of `length` bytes for which there is no memory. */
static lsc_status discard_rest(struct lsc_group *group, int from, int tag, uint64_t length, int64_t deadline) {
  for (uint64_t taken = 0; taken < length;) {
    MPI_Message message = MPI_MESSAGE_NULL;
    int size = 0;
    lsc_status status = match(group, from, tag, &message, &size, deadline);
    if (status != LSC_OK) return status;
    discard(&message, size, deadline);
    if (size <= 0) return malformed(from);
    taken += (uint64_t)size;
  }
  return lsc_fail(LSC_NO_MEMORY, "no memory for a message of %llu bytes from rank %d", (unsigned long long)length,
                  from);
}

/* The pieces of a message of `length` bytes. */
static lsc_status receive_rest(struct lsc_group *group, int from, int tag, uint64_t length, struct lsc_buffer *out,
                               int64_t deadline) {
  out->size = 0;
  if (length > SIZE_MAX || !lsc_buffer_reserve(out, (size_t)length)) {
    return discard_rest(group, from, tag, length, deadline);
  }
  while (out->size < length) {
    size_t before = out->size;
    lsc_status status = receive_piece(group, from, tag, out, deadline);
    if (status != LSC_OK) return status;
    if (out->size == before || out->size > length) return malformed(from);
  }
  return LSC_OK;
}

static lsc_status receive(struct lsc_group *group, int from, int tag, struct lsc_buffer *out, int64_t deadline) {
  uint64_t length = 0;
  out->size = 0;
  lsc_status status = receive_piece(group, from, tag, out, deadline);
  if (status != LSC_OK) return status;
  if (out->size < sizeof length) return malformed(from);
  memcpy(&length, out->data, sizeof length);
  if (length > INLINE_BYTES) return receive_rest(group, from, tag, length, out, deadline);
  if (out->size != sizeof length + length) return malformed(from);
  memmove(out->data, out->data + sizeof length, (size_t)length);
  out->size = (size_t)length;
  return LSC_OK;
}

static lsc_status group_recv(struct lsc_coll *coll, int from, int tag, struct lsc_buffer *out, int64_t deadline) {
  struct lsc_group *group = coll->ctx;
  lsc_interrupt_firm(coll->firm);
  lsc_status status = check_tag(tag);
  if (status == LSC_OK) status = receive(group, from, tag, out, deadline);
  if (from == 0) group->zero_silent = status != LSC_OK;
  return status;
}

static int64_t group_now(struct lsc_coll *coll) {
  (void)coll;
  return lsc_now_ns();
}

/* Ranges of tags, as many as MPI has, one after the other and from the beginning again. */
static int first_tag(MPI_Comm comm, unsigned uses) {
  int *highest = NULL, found = 0;
  MPI_Comm_get_attr(comm, MPI_TAG_UB, &highest, &found);
  unsigned ranges = ((unsigned)(found ? *highest : LSC_GROUP_TAGS - 1) + 1) / LSC_GROUP_TAGS;
  return (int)(uses % ranges) * LSC_GROUP_TAGS;
}

lsc_status lsc_group_init(struct lsc_group *group, MPI_Comm comm, unsigned uses) {
  *group = (struct lsc_group){.comm = comm};
  group->coll = (struct lsc_coll){.ctx = group, .send = group_send, .recv = group_recv, .now = group_now};
  lsc_status status = lsc_comm_check(MPI_Comm_rank(comm, &group->coll.rank), "MPI_Comm_rank");
  if (status == LSC_OK) status = lsc_comm_check(MPI_Comm_size(comm, &group->coll.size), "MPI_Comm_size");
  if (status == LSC_OK) group->first_tag = first_tag(comm, uses);
  return status;
}
