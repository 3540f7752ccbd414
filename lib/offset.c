/* SPDX-License-Identifier: BSD-3-Clause */
#include "offset.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"

#define ROUND_TRIPS 16

static int64_t own_now(void *ctx) {
  (void)ctx;
  return lsc_monotonic_ns();
}

static size_t read_text(const char *path, char *text, size_t size) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? -1 : read(file, text, size - 1);
  if (file >= 0) close(file);
  text[length < 0 ? 0 : length] = 0;
  return strlen(text);
}

void lsc_offset_own_clock(struct lsc_offset_clock *clock) {
  char boot[100], space[50];
  if (!read_text("/proc/sys/kernel/random/boot_id", boot, sizeof boot)) {
    if (gethostname(boot, sizeof boot - 1) < 0) boot[0] = 0;
    boot[sizeof boot - 1] = 0;
  }
  ssize_t length = readlink("/proc/self/ns/time", space, sizeof space - 1);
  space[length < 0 ? 0 : length] = 0;
  *clock = (struct lsc_offset_clock){.now = own_now};
  snprintf(clock->place, sizeof clock->place, "%s %s", boot, space);
}

/* Rank 0's place to everybody, into `place`. */
static lsc_status share_place(struct lsc_coll *coll, int tag, const struct lsc_offset_clock *clock, char *place,
                              int64_t deadline) {
  struct lsc_buffer bytes = {0};
  lsc_status status = LSC_OK;
  if (!coll->rank) status = lsc_buffer_append(&bytes, clock->place, LSC_PLACE_SIZE);
  status = lsc_coll_down(coll, tag, status, &bytes, deadline);
  memset(place, 0, LSC_PLACE_SIZE);
  if (!status && bytes.size == LSC_PLACE_SIZE) memcpy(place, bytes.data, LSC_PLACE_SIZE - 1);
  lsc_buffer_free(&bytes);
  return status;
}

/* Keeps the numbers of the ranks that have another clock. */
static lsc_status keep_rank(void *ctx, int rank, struct lsc_reader *bytes) {
  unsigned char wanted = 0;
  lsc_read(bytes, &wanted, sizeof wanted);
  return wanted ? lsc_buffer_append(ctx, &rank, sizeof rank) : LSC_OK;
}

static lsc_status answer(struct lsc_coll *coll, int tag, const struct lsc_offset_clock *clock, int rank,
                         int64_t deadline) {
  struct lsc_buffer ping = {0};
  unsigned char start = 1;
  lsc_status status = coll->send(coll, rank, tag, &start, sizeof start, deadline);
  for (int i = 0; i < ROUND_TRIPS && !status; i++) {
    status = coll->recv(coll, rank, tag, &ping, deadline);
    int64_t now = clock->now(clock->ctx);
    if (!status) status = coll->send(coll, rank, tag, &now, sizeof now, deadline);
  }
  lsc_buffer_free(&ping);
  return status;
}

static lsc_status answer_all(struct lsc_coll *coll, int tag, const struct lsc_offset_clock *clock,
                             const struct lsc_buffer *ranks, int64_t deadline) {
  lsc_status status = LSC_OK;
  for (size_t at = 0; at < ranks->size && !status; at += sizeof(int)) {
    int rank;
    memcpy(&rank, ranks->data + at, sizeof rank);
    status = answer(coll, tag, clock, rank, deadline);
  }
  return status;
}

/* Waits for its turn, so that no other rank's question delays an answer, and keeps the fastest round trip. */
static lsc_status ask(struct lsc_coll *coll, int tag, const struct lsc_offset_clock *clock, int64_t *offset_ns,
                      int64_t *error_ns, int64_t deadline) {
  struct lsc_buffer answer = {0};
  int64_t best = INT64_MAX, theirs = 0;
  lsc_status status = coll->recv(coll, 0, tag, &answer, deadline);
  for (int i = 0; i < ROUND_TRIPS && !status; i++) {
    unsigned char ping = 1;
    int64_t sent = clock->now(clock->ctx);
    status = coll->send(coll, 0, tag, &ping, sizeof ping, deadline);
    if (!status) status = coll->recv(coll, 0, tag, &answer, deadline);
    int64_t trip = clock->now(clock->ctx) - sent;
    if (status || answer.size != sizeof theirs || trip >= best) continue;
    memcpy(&theirs, answer.data, sizeof theirs);
    best = trip;
    *offset_ns = theirs - (sent + trip / 2);
    *error_ns = trip - trip / 2;
  }
  lsc_buffer_free(&answer);
  return status;
}

lsc_status lsc_offset_measure(struct lsc_coll *coll, int tag, const struct lsc_offset_clock *clock, int64_t *offset_ns,
                              int64_t *error_ns, int64_t deadline) {
  char place[LSC_PLACE_SIZE];
  struct lsc_buffer mine = {0}, ranks = {0};
  *offset_ns = *error_ns = 0;
  lsc_status status = share_place(coll, tag, clock, place, deadline);
  unsigned char other = !status && strncmp(place, clock->place, LSC_PLACE_SIZE - 1) != 0;
  lsc_status kept = lsc_buffer_append(&mine, &other, sizeof other);
  lsc_status gathered = lsc_coll_gather(coll, tag, &mine, keep_rank, &ranks, deadline);
  if (!status) status = kept ? kept : gathered;
  if (!coll->rank && !gathered) gathered = answer_all(coll, tag, clock, &ranks, deadline);
  else if (other && !kept && !gathered) gathered = ask(coll, tag, clock, offset_ns, error_ns, deadline);
  lsc_buffer_free(&ranks);
  lsc_buffer_free(&mine);
  return status ? status : gathered;
}
