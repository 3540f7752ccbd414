/* SPDX-License-Identifier: BSD-3-Clause */
#include "attach.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "at_exit.h"
#include "collect.h"
#include "message.h"
#include "mpi_info.h"
#include "roll.h"
#include "snapshot.h"
#include "verdict.h"

#define LONGEST_GRACE_NS 10000000000
#define CLOCK_TAG 1
#define ID_TAG 2

struct attached {
  lsc_session session; /* 0: a free place */
  MPI_Comm comm;       /* MPI_COMM_NULL: abandoned */
  int rank, size;
  unsigned uses;
  uint64_t order; /* of all of the process, from 1 */
  struct lsc_membership of;
};

/* Under the mutex, which is never held over a call that waits for other ranks. */
static struct attached table[LSC_MAX_SESSIONS];
static uint64_t last_order;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* 1 in a child that was forked while MPI ran: MPI is its parent's. Set before the child has a second thread. */
static int mpi_is_parents;

static int mpi_runs(void) {
  int initialized = 0, finalized = 0;
  MPI_Initialized(&initialized);
  MPI_Finalized(&finalized);
  return initialized && !finalized;
}

static void before_fork(void) { pthread_mutex_lock(&mutex); }

static void after_fork_in_parent(void) { pthread_mutex_unlock(&mutex); }

static void after_fork_in_child(void) {
  mpi_is_parents = mpi_runs();
  for (size_t i = 0; i < LSC_MAX_SESSIONS; ++i) table[i].session = 0;
  pthread_mutex_unlock(&mutex);
}

__attribute__((constructor)) static void watch_forks(void) {
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

int lsc_mpi_is_active(void) { return !mpi_is_parents && mpi_runs(); }

static struct attached *find(lsc_session session) {
  for (size_t i = 0; i < LSC_MAX_SESSIONS; ++i) {
    if (table[i].session == session) return &table[i];
  }
  return NULL;
}

/* A free place, or that of a session that was closed. */
static struct attached *find_place(void) {
  struct attached *place = find(0);
  for (size_t i = 0; !place && i < LSC_MAX_SESSIONS; ++i) {
    if (!lsc_session_is_open(table[i].session)) place = &table[i];
  }
  return place;
}

/* Takes the session's entry out of the table: its communicator, or MPI_COMM_NULL. */
static MPI_Comm take_out(lsc_session session) {
  MPI_Comm comm = MPI_COMM_NULL;
  pthread_mutex_lock(&mutex);
  struct attached *entry = session ? find(session) : NULL;
  if (entry) {
    comm = entry->comm;
    entry->session = 0;
  }
  pthread_mutex_unlock(&mutex);
  return comm;
}

static void free_comm(MPI_Comm comm) {
  if (comm != MPI_COMM_NULL && lsc_mpi_is_active()) MPI_Comm_free(&comm);
}

int lsc_is_one_of_many(int *rank, int *size) {
  int ranks = 0;
  MPI_Comm parent = MPI_COMM_NULL;
  if (!lsc_launcher_rank(rank, size)) return 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_get_parent(&parent);
  return ranks == 1 && parent == MPI_COMM_NULL;
}

/* Gives the session this group's communicator instead of any that it had. */
static lsc_status put_in(lsc_session session, const struct lsc_group *group) {
  int rank, size;
  free_comm(take_out(session));
  MPI_Comm stale = MPI_COMM_NULL;
  if (!lsc_is_one_of_many(&rank, &size)) {
    rank = group->coll.rank;
    size = group->coll.size;
  }
  pthread_mutex_lock(&mutex);
  struct attached *place = find_place();
  if (place) {
    if (place->session) stale = place->comm;
    *place = (struct attached){session, group->comm, rank, size, 1, ++last_order, group->of};
    place->of.clocks.group = place->order;
  }
  pthread_mutex_unlock(&mutex);
  free_comm(stale);
  if (!place) return lsc_fail(LSC_LIMIT, "%d sessions have a communicator; close one", LSC_MAX_SESSIONS);
  return LSC_OK;
}

/* Below MPI_THREAD_SERIALIZED only the thread that initialized MPI may call it. */
static lsc_status check_thread(void) {
  int provided = MPI_THREAD_SINGLE, is_main = 0;
  MPI_Query_thread(&provided);
  MPI_Is_thread_main(&is_main);
  if (is_main || provided >= MPI_THREAD_SERIALIZED) return LSC_OK;
  return lsc_fail(LSC_MPI, "MPI was initialized for one thread, and this is another: call this on the thread that "
                           "called MPI_Init, or initialize with MPI_Init_thread(..., MPI_THREAD_SERIALIZED, ...)");
}

lsc_status lsc_comm_usable(MPI_Comm comm) {
  if (!lsc_mpi_is_active()) {
    return lsc_fail(LSC_NO_MPI, "MPI does not run: call this between MPI_Init and MPI_Finalize (%s)",
                    lsc_mpi_library());
  }
  lsc_status allowed = check_thread();
  if (allowed != LSC_OK) return allowed;
  if (comm == MPI_COMM_NULL) return lsc_fail(LSC_INVALID, "the communicator is MPI_COMM_NULL");
  int inter = 0;
  lsc_status status = lsc_comm_check(MPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter");
  if (status != LSC_OK || !inter) return status;
  return lsc_fail(LSC_INVALID, "the communicator is an inter-communicator; merge it with MPI_Intercomm_merge");
}

/* After LSC_TIMEOUT the duplicate may still come about: MPI then writes its handle to memory that is kept for it. */
static lsc_status duplicate(MPI_Comm comm, int64_t timeout, MPI_Comm *copy) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm *place = malloc(sizeof *place);
  if (!place) return lsc_fail(LSC_NO_MEMORY, "no memory to duplicate a communicator");
  lsc_status status = lsc_comm_check(MPI_Comm_idup(comm, place, &request), "MPI_Comm_idup");
  if (status == LSC_OK) status = lsc_comm_wait(&request, lsc_now_ns() + timeout);
  if (status != LSC_OK) {
    lsc_comm_keep(place);
    if (status != LSC_TIMEOUT) return status;
    return lsc_fail(LSC_TIMEOUT,
                    "not every rank of the communicator arrived within %.3g s; MPI may not be able to make other "
                    "communicators from it now",
                    (double)timeout / 1e9);
  }
  *copy = *place;
  free(place);
  return lsc_comm_check(MPI_Comm_set_errhandler(*copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

/* Without a comparison a collect can do, too. */
static void compare_clocks(lsc_session session, struct lsc_group *group, int64_t timeout) {
  struct lsc_offset_clock clock;
  lsc_offset_own_clock(&clock);
  clock.added_ns = lsc_session_added_ns(session);
  lsc_offset_measure(&group->coll, CLOCK_TAG, &clock, &group->of.clocks.open, lsc_now_ns() + timeout);
}

/* A rank that does not hear of it has files that say nothing of their session. */
static lsc_status share_id(lsc_session session, struct lsc_group *group, int64_t timeout) {
  struct lsc_buffer bytes = {0};
  uint64_t id = lsc_session_id(session);
  lsc_status status = group->coll.rank ? LSC_OK : lsc_buffer_append(&bytes, &id, sizeof id);
  status = lsc_coll_down(&group->coll, ID_TAG, status, &bytes, lsc_now_ns() + timeout);
  if (!status && bytes.size == sizeof id) memcpy(&group->of.session_id, bytes.data, sizeof id);
  lsc_buffer_free(&bytes);
  return status;
}

/* All have the communicator, or nobody does: it is freed again, or given up when a rank is missing. */
static lsc_status agree_to_attach(lsc_session session, MPI_Comm own, struct lsc_attaching *how) {
  int64_t timeout = how->timeout, grace = timeout < LONGEST_GRACE_NS ? timeout : LONGEST_GRACE_NS;
  struct lsc_group group;
  struct lsc_verdict verdict;
  lsc_status mine = lsc_group_init(&group, own, 0);
  if (mine != LSC_OK) return mine;
  if (!lsc_session_is_open(session)) {
    mine = lsc_fail(LSC_INACTIVE, "rank %d has no open session with handle %llu", group.coll.rank,
                    (unsigned long long)session);
  }
  const char *why = mine == LSC_OK ? NULL : lsc_message();
  lsc_roll_step("attach");
  lsc_status status = lsc_agree(&group.coll, "attach", mine, why, lsc_now_ns() + timeout, grace, &verdict);
  if (status == LSC_OK) {
    if (share_id(session, &group, grace) != LSC_TIMEOUT && how->comparing) compare_clocks(session, &group, grace);
    return put_in(session, &group);
  }
  how->zero_silent = group.zero_silent;
  if (status == LSC_APART) return lsc_fail(LSC_TIMEOUT, "%s", verdict.text);
  MPI_Comm_free(&own);
  return lsc_fail(status, "%s", verdict.text);
}

lsc_status lsc_attach_over(lsc_session session, MPI_Comm comm, struct lsc_attaching *how) {
  MPI_Comm own = MPI_COMM_NULL;
  how->zero_silent = 1;
  lsc_status status = lsc_comm_usable(comm);
  if (status == LSC_OK) status = duplicate(comm, how->arrival, &own);
  how->is_pending = status == LSC_TIMEOUT;
  return status == LSC_OK ? agree_to_attach(session, own, how) : status;
}

/* 1 if both have the same ranks in the same order. Local. */
static int is_same_group(MPI_Comm a, MPI_Comm b) {
  int result = MPI_UNEQUAL;
  return MPI_Comm_compare(a, b, &result) == MPI_SUCCESS && (result == MPI_IDENT || result == MPI_CONGRUENT);
}

int lsc_attached_group(lsc_session session, MPI_Comm comm, struct lsc_group *group) {
  MPI_Comm own = MPI_COMM_NULL;
  unsigned uses = 0;
  struct lsc_membership of = {0};
  pthread_mutex_lock(&mutex);
  struct attached *entry = session ? find(session) : NULL;
  if (entry && entry->comm != MPI_COMM_NULL && (comm == MPI_COMM_NULL || is_same_group(comm, entry->comm))) {
    own = entry->comm;
    uses = entry->uses++;
    of = entry->of;
  }
  pthread_mutex_unlock(&mutex);
  if (own == MPI_COMM_NULL || lsc_group_init(group, own, uses) != LSC_OK) return 0;
  group->of = of;
  return 1;
}

int lsc_attached_membership(lsc_session session, struct lsc_membership *of) {
  pthread_mutex_lock(&mutex);
  struct attached *entry = session ? find(session) : NULL;
  if (entry) *of = entry->of;
  pthread_mutex_unlock(&mutex);
  return entry != NULL;
}

MPI_Comm lsc_attached_comm(lsc_session session) {
  pthread_mutex_lock(&mutex);
  struct attached *entry = session ? find(session) : NULL;
  MPI_Comm comm = entry ? entry->comm : MPI_COMM_NULL;
  pthread_mutex_unlock(&mutex);
  return comm;
}

uint64_t lsc_attached_order(lsc_session session) {
  pthread_mutex_lock(&mutex);
  struct attached *entry = session ? find(session) : NULL;
  uint64_t order = entry ? entry->order : UINT64_MAX;
  pthread_mutex_unlock(&mutex);
  return order;
}

void lsc_abandon(lsc_session session) {
  pthread_mutex_lock(&mutex);
  struct attached *entry = session ? find(session) : NULL;
  if (entry) entry->comm = MPI_COMM_NULL;
  pthread_mutex_unlock(&mutex);
}

int lsc_is_abandoned(lsc_session session) {
  pthread_mutex_lock(&mutex);
  struct attached *entry = session ? find(session) : NULL;
  int is_abandoned = entry && entry->comm == MPI_COMM_NULL;
  pthread_mutex_unlock(&mutex);
  return is_abandoned;
}

void lsc_detach(lsc_session session) {
  lsc_at_exit_forget(session);
  free_comm(take_out(session));
}

void lsc_rank_of(lsc_session session, int *rank, int *size) {
  int number = 0, count = 1;
  lsc_launcher_rank(&number, &count);
  pthread_mutex_lock(&mutex);
  struct attached *entry = session ? find(session) : NULL;
  if (entry) {
    number = entry->rank;
    count = entry->size;
  }
  pthread_mutex_unlock(&mutex);
  if (rank) *rank = number;
  if (size) *size = count;
}
