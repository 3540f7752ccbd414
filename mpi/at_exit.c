/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The collect at the start of MPI_Finalize, which deletes the attributes of MPI_COMM_SELF before anything else, while
 * MPI is whole. It may run after the interpreter of a language is gone: nothing here belongs to one.
 */
#include "at_exit.h"

#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach.h"
#include "collect.h"
#include "h5.h"
#include "message.h"

enum state { PLANNED, RUNNING, DONE };

/* Of one session. The strings of the options are its own. */
struct plan {
  lsc_session session; /* 0: a free place */
  uint64_t order;      /* of its attaching */
  uint64_t number;     /* of all plans of the process */
  enum state state;
  char *path; /* absolute */
  lsc_save_options options;
  /* Once it is done. */
  lsc_status status; /* LSC_OK, LSC_APART */
  lsc_report *report;
  char *written;
  int speaks; /* this rank says where the file is, unless somebody asks before the end of the process */
};

/* Under the mutex, which is never held while a session is collected. */
static struct plan plans[LSC_MAX_SESSIONS];
static uint64_t numbers;
static int is_watching;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void clear(struct plan *plan) {
  free(plan->path);
  free((char *)plan->options.python_version);
  free((char *)plan->options.command_line);
  free(plan->written);
  lsc_report_free(plan->report);
  *plan = (struct plan){0};
}

static void before_fork(void) { pthread_mutex_lock(&mutex); }

static void after_fork_in_parent(void) { pthread_mutex_unlock(&mutex); }

static void after_fork_in_child(void) {
  for (size_t i = 0; i < LSC_MAX_SESSIONS; ++i) plans[i] = (struct plan){0};
  pthread_mutex_unlock(&mutex);
}

__attribute__((constructor)) static void watch_forks(void) {
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* Where nobody asked what became of it. */
static void tell(struct plan *plan) {
  if (plan->speaks) fprintf(stderr, "lanescope: %s was written\n", plan->written);
  plan->speaks = 0;
}

__attribute__((destructor)) static void tell_all(void) {
  pthread_mutex_lock(&mutex);
  for (size_t i = 0; i < LSC_MAX_SESSIONS; ++i) tell(&plans[i]);
  pthread_mutex_unlock(&mutex);
}

static struct plan *find(lsc_session session) {
  for (size_t i = 0; session && i < LSC_MAX_SESSIONS; ++i) {
    if (plans[i].session == session) return &plans[i];
  }
  return NULL;
}

/* The session's place, else a free one or that of a session that was closed; emptied. */
static struct plan *find_place(lsc_session session) {
  struct plan *place = find(session);
  for (size_t i = 0; !place && i < LSC_MAX_SESSIONS; ++i) {
    if (!plans[i].session || !lsc_session_is_open(plans[i].session)) place = &plans[i];
  }
  if (place) {
    tell(place);
    clear(place);
  }
  return place;
}

/* 0 without memory. */
static int copy_text(const char *text, const char **copy) { return !text || (*copy = strdup(text)) != NULL; }

/* plan: all zeros. After a failure it is to be cleared. */
static lsc_status make_plan(struct plan *plan, lsc_session session, const char *path, const lsc_save_options *options) {
  lsc_save_options given;
  lsc_status status = lsc_options_take(options, &given);
  if (status != LSC_OK) return status;
  if (!path[0]) return lsc_fail(LSC_INVALID, "the path of the file is empty");
  plan->session = session;
  plan->order = lsc_attached_order(session);
  plan->path = lsc_absolute_path(path);
  plan->options = (lsc_save_options){
      .size = sizeof given, .timeout = given.timeout, .quiet = given.quiet, .compress = given.compress};
  if (plan->path && copy_text(given.python_version, &plan->options.python_version) &&
      copy_text(given.command_line, &plan->options.command_line)) {
    return LSC_OK;
  }
  return lsc_fail(LSC_NO_MEMORY, "no memory to remember the path %s", path);
}

static int is_before(const struct plan *a, const struct plan *b) {
  return a->order < b->order || (a->order == b->order && a->number < b->number);
}

/*
 * The next to be collected, whose strings the caller has from now on. Attaching waits for the other ranks, so its order
 * is the same on every rank, whatever sessions it shares with which of them; those that were never attached come last.
 */
static int take_next(struct plan *next) {
  struct plan *first = NULL;
  pthread_mutex_lock(&mutex);
  for (size_t i = 0; i < LSC_MAX_SESSIONS; ++i) {
    struct plan *plan = &plans[i];
    if (!plan->session || plan->state != PLANNED || !lsc_session_is_open(plan->session)) continue;
    if (!first || is_before(plan, first)) first = plan;
  }
  if (first) {
    *next = *first;
    *first = (struct plan){.session = next->session, .number = next->number, .state = RUNNING};
  }
  pthread_mutex_unlock(&mutex);
  return first != NULL;
}

/* Keeps what became of it, if the session was not detached meanwhile. */
static void put_back(struct plan *done) {
  pthread_mutex_lock(&mutex);
  struct plan *plan = find(done->session);
  int is_kept = plan && plan->number == done->number && (done->status == LSC_OK || done->status == LSC_APART);
  if (is_kept) *plan = *done;
  else if (plan && plan->number == done->number) clear(plan);
  pthread_mutex_unlock(&mutex);
  if (!is_kept) clear(done);
}

static void collect_one(struct plan *plan) {
  char written[PATH_MAX] = "";
  int rank = 0;
  lsc_rank_of(plan->session, &rank, NULL);
  lsc_save_options options = plan->options;
  options.report = &plan->report;
  options.written = written;
  options.written_size = sizeof written;
  plan->status = lsc_save(plan->session, plan->path, &options);
  int speaks = rank == 0 && !plan->options.quiet;
  if (plan->status == LSC_OK || plan->status == LSC_APART) {
    plan->state = DONE;
    plan->written = strdup(written);
    plan->speaks = speaks && plan->status == LSC_OK && plan->written;
  } else if (speaks && plan->status != LSC_COLLECTED) {
    fprintf(stderr, "lanescope: %s was not written at MPI_Finalize: %s\n", plan->path, lsc_message());
  }
  put_back(plan);
}

/* In a child of fork there is no plan. */
static int at_finalize(MPI_Comm comm, int keyval, void *value, void *state) {
  struct plan next;
  (void)comm, (void)keyval, (void)value, (void)state;
  while (take_next(&next)) collect_one(&next);
  return MPI_SUCCESS;
}

/*
 * MPICH 4.0 and its relatives, whose mpi.h has ROMIO's: an attribute that is set on MPI_COMM_SELF while those there are
 * being deleted can close a loop in their list, in which MPI never returns. So HDF5 and MPI-IO, which set one at their
 * first use, are used before ours is set, and end after it.
 */
static void start_what_ends_later(void) {
#ifdef ROMIO_VERSION
  char version[32];
  MPI_File file;
  lsc_h5_version(version, sizeof version);
  if (MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS) {
    MPI_File_close(&file);
  }
#endif
}

static lsc_status watch_finalize(void) {
  int keyval = MPI_KEYVAL_INVALID;
  pthread_mutex_lock(&mutex);
  int is_new = !is_watching;
  is_watching = 1;
  pthread_mutex_unlock(&mutex);
  if (!is_new) return LSC_OK;
  start_what_ends_later();
  lsc_status status = lsc_comm_check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &keyval, NULL),
                                     "MPI_Comm_create_keyval");
  if (status == LSC_OK) status = lsc_comm_check(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL), "MPI_Comm_set_attr");
  if (keyval != MPI_KEYVAL_INVALID) MPI_Comm_free_keyval(&keyval);
  return status;
}

lsc_status lsc_collect_at_exit(lsc_session session, const char *path, const lsc_save_options *options) {
  struct plan plan = {0};
  if (!lsc_session_is_open(session)) {
    return lsc_fail(LSC_INACTIVE, "session %#llx is not open, so nothing can be collected of it",
                    (unsigned long long)session);
  }
  if (!path) {
    lsc_at_exit_forget(session);
    return LSC_OK;
  }
  lsc_status status = lsc_comm_usable(MPI_COMM_SELF);
  if (status == LSC_OK) status = make_plan(&plan, session, path, options);
  if (status == LSC_OK) status = watch_finalize();
  if (status != LSC_OK) {
    clear(&plan);
    return status;
  }
  pthread_mutex_lock(&mutex);
  struct plan *place = find_place(session);
  plan.number = ++numbers;
  if (place) *place = plan;
  pthread_mutex_unlock(&mutex);
  if (place) return LSC_OK;
  clear(&plan);
  return lsc_fail(LSC_LIMIT, "%d sessions are collected at MPI_Finalize; close one", LSC_MAX_SESSIONS);
}

lsc_status lsc_collected_at_exit(lsc_session session, lsc_report **report, char *written, size_t written_size) {
  lsc_status status = LSC_INACTIVE;
  if (report) *report = NULL;
  if (written && written_size) written[0] = '\0';
  pthread_mutex_lock(&mutex);
  struct plan *plan = find(session);
  if (plan && plan->state == DONE) {
    status = plan->status;
    plan->speaks = 0;
    if (written && written_size) snprintf(written, written_size, "%s", plan->written ? plan->written : "");
    if (report) {
      *report = plan->report;
      plan->report = NULL;
    }
  }
  pthread_mutex_unlock(&mutex);
  if (status == LSC_INACTIVE) return lsc_fail(status, "the session was not collected at MPI_Finalize");
  if (status == LSC_APART) return lsc_fail(status, "the ranks did not all arrive at MPI_Finalize; each wrote its own");
  return status;
}

void lsc_at_exit_done(lsc_session session, const char *path) {
  char *whole = lsc_absolute_path(path);
  pthread_mutex_lock(&mutex);
  struct plan *plan = find(session);
  if (plan && plan->state == PLANNED && whole && strcmp(whole, plan->path) == 0) clear(plan);
  pthread_mutex_unlock(&mutex);
  free(whole);
}

void lsc_at_exit_forget(lsc_session session) {
  pthread_mutex_lock(&mutex);
  struct plan *plan = find(session);
  if (plan) {
    tell(plan);
    clear(plan);
  }
  pthread_mutex_unlock(&mutex);
}
