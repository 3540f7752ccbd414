/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of the default session from lsc_init to lsc_finalize, whoever else of the process joins it meanwhile. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect.h"
#include "message.h"
#include "text.h"

/* What lsc_init opened. A session that was closed by other means, or is the parent's of a fork, counts as none. */
static struct {
  lsc_session session;
  lsc_api opener;
  unsigned joined;  /* times that the opener's language joined it and has not left */
  unsigned flushes; /* files written before the last one */
  int is_busy;      /* it is being flushed or finalized */
  char *path;       /* absolute */
  lsc_save_options options;
} run;
/* Never held over what waits for other ranks, or takes a lock of lib: a fork takes those first. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void before_fork(void) { pthread_mutex_lock(&mutex); }

static void after_fork_in_parent(void) { pthread_mutex_unlock(&mutex); }

static void after_fork_in_child(void) {
  run.session = 0;
  pthread_mutex_unlock(&mutex);
}

__attribute__((constructor)) static void watch_forks(void) {
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

static lsc_status check_api(lsc_api api) {
  if ((unsigned)api <= LSC_API_FORTRAN_THREADS) return LSC_OK;
  return lsc_fail(LSC_INVALID, "no API has the number %d", (int)api);
}

static lsc_status check_path(const char *path) {
  if (!path || !path[0]) return lsc_fail(LSC_INVALID, "the path of the file is %s", path ? "empty" : "NULL");
  return LSC_OK;
}

/* What lies within the given options, which an older program may have built shorter; the rest is 0. */
static lsc_status take_options(const lsc_init_options *given, lsc_init_options *taken) {
  int level;
  *taken = (lsc_init_options){.size = sizeof *taken};
  if (!given) return LSC_OK;
  if (given->size < sizeof given->size || given->size > sizeof *taken)
    return lsc_fail(LSC_INVALID, "lsc_init_options has size %zu; set it to sizeof(lsc_init_options), here %zu",
                    given->size, sizeof *taken);
  memcpy(taken, given, given->size);
  taken->size = sizeof *taken;
  return lsc_options_level(&(lsc_save_options){.compress = taken->compress}, &level);
}

/* The session is what lsc_init opened, if it can be the default. Under the mutex. */
static lsc_status take_over(lsc_session session, lsc_api api, char *path, const lsc_init_options *options) {
  lsc_status status = lsc_session_set_default(session);
  if (status != LSC_OK) return status;
  free(run.path);
  run.session = session;
  run.opener = api;
  run.joined = run.flushes = 0;
  run.is_busy = 0;
  run.path = path;
  run.options = (lsc_save_options){.size = sizeof run.options,
                                   .timeout = options->timeout,
                                   .replace = options->replace,
                                   .quiet = options->quiet,
                                   .compress = options->compress};
  return LSC_OK;
}

/* A new default session. LSC_LIMIT: another one came first, or too many are open. */
static lsc_status open_default(lsc_api api, const char *path, const lsc_init_options *options, lsc_session *session) {
  lsc_session_options wanted = {.size = sizeof wanted, .label = options->label};
  lsc_status status = lsc_session_open(&wanted, session);
  if (status != LSC_OK) return status;
  char *whole = lsc_absolute_path(path);
  if (!whole) status = lsc_fail(LSC_NO_MEMORY, "no memory for the path %s", path);
  pthread_mutex_lock(&mutex);
  if (status == LSC_OK) status = take_over(*session, api, whole, options);
  pthread_mutex_unlock(&mutex);
  if (status == LSC_OK) return LSC_OK;
  free(whole);
  lsc_session_close(*session);
  *session = 0;
  return status;
}

static int join(lsc_api api) {
  pthread_mutex_lock(&mutex);
  lsc_session session = lsc_session_default();
  if (session && session == run.session && api == run.opener) run.joined++;
  pthread_mutex_unlock(&mutex);
  return session != 0;
}

/* Joins the default session, or opens one. *opened: receives the new one, or 0. */
static lsc_status join_or_open(lsc_api api, const char *path, const lsc_init_options *options, lsc_session *opened) {
  lsc_status status;
  *opened = 0;
  do {
    if (join(api)) return LSC_OK;
    status = open_default(api, path, options, opened);
  } while (status == LSC_LIMIT && lsc_session_default());
  return status;
}

/* As long as MPI runs, the session has a communicator and is collected at MPI_Finalize at the latest. */
static lsc_status attach(lsc_session session, const char *path, const lsc_init_options *options) {
  if (!options->comm && !lsc_mpi_is_active()) return LSC_OK;
  lsc_save_options saving = {.size = sizeof saving, .timeout = options->timeout, .quiet = options->quiet,
                             .compress = options->compress};
  lsc_status status = lsc_attach_for_file(session, options->comm ? *options->comm : LSC_COMM_WORLD, path, options->timeout);
  return status == LSC_OK ? lsc_collect_at_exit(session, path, &saving) : status;
}

static lsc_status close_run(lsc_session session) {
  lsc_detach(session);
  return lsc_session_close(session);
}

lsc_status lsc_init_as(lsc_api api, const char *path, const lsc_init_options *options) {
  lsc_init_options taken;
  lsc_session opened;
  lsc_status status = check_api(api);
  if (status == LSC_OK) status = check_path(path);
  if (status == LSC_OK) status = take_options(options, &taken);
  if (status == LSC_OK) status = join_or_open(api, path, &taken, &opened);
  if (status != LSC_OK || !opened) return status;
  status = attach(opened, path, &taken);
  if (status != LSC_OK) close_run(opened);
  return status;
}

/* What is to be done to the session outside the mutex; path: malloc'd. */
struct job {
  lsc_session session;
  char *path;
  lsc_save_options options;
};

/* The session that lsc_init opened, kept until give_back. path: malloc'd, or NULL without memory. Under the mutex. */
static lsc_status take(struct job *job, char *path) {
  if (!path) return lsc_fail(LSC_NO_MEMORY, "no memory for a path beside %s", run.path);
  if (run.is_busy) {
    free(path);
    return lsc_fail(LSC_BUSY, "the session is being written by another thread; wait for it");
  }
  *job = (struct job){run.session, path, run.options};
  run.is_busy = 1;
  return LSC_OK;
}

static void give_back(struct job *job, unsigned flushes) {
  pthread_mutex_lock(&mutex);
  if (run.session == job->session) {
    run.is_busy = 0;
    run.flushes += flushes;
  }
  pthread_mutex_unlock(&mutex);
  free(job->path);
}

/* MPI_Finalize came first and the file is there: what ended since goes into one of its own. */
static lsc_status save_late(const struct job *job) {
  uint64_t calls;
  lsc_status status = lsc_uncollected(job->session, &calls);
  if (status != LSC_OK || !calls) return status;
  char *late = lsc_path_with(job->path, "late"), written[4096] = "";
  if (!late) return lsc_fail(LSC_NO_MEMORY, "no memory for a path beside %s", job->path);
  int rank = 0;
  lsc_save_options options = job->options;
  options.quiet = 1;
  options.written = written;
  options.written_size = sizeof written;
  lsc_rank_of(job->session, &rank, NULL);
  status = lsc_save(job->session, late, &options);
  if (status == LSC_OK && rank == 0 && !job->options.quiet)
    fprintf(stderr, "lanescope: calls that ended after MPI_Finalize are in %s\n", written);
  free(late);
  return status;
}

/* is_elsewhere: the path is another one than that of MPI_Finalize. */
static lsc_status finalize(const struct job *job, int is_elsewhere) {
  lsc_status at_exit = is_elsewhere ? LSC_INACTIVE : lsc_collected_at_exit(job->session, NULL, NULL, 0);
  lsc_status status = at_exit == LSC_INACTIVE ? lsc_save(job->session, job->path, &job->options) : save_late(job);
  if (status != LSC_OK && status != LSC_APART) return status;
  lsc_status closed = close_run(job->session);
  if (closed != LSC_OK) return closed;
  if (status == LSC_OK && at_exit == LSC_APART)
    return lsc_fail(at_exit, "the ranks did not all arrive at MPI_Finalize; each wrote a file of its own");
  return status;
}

lsc_status lsc_finalize_as(lsc_api api, const char *path) {
  struct job job = {.session = 0};
  lsc_status status = check_api(api);
  if (status != LSC_OK) return status;
  if (path && !path[0]) return lsc_fail(LSC_INVALID, "the path of the file is empty");
  pthread_mutex_lock(&mutex);
  if (lsc_session_is_open(run.session)) {
    if (api != run.opener) status = LSC_OK;
    else if (run.joined) run.joined--;
    else status = take(&job, path ? lsc_absolute_path(path) : strdup(run.path));
  } else if (!lsc_session_default()) {
    status = lsc_fail(LSC_INACTIVE, "no session is open: lsc_init was not called, or lsc_finalize was");
  }
  pthread_mutex_unlock(&mutex);
  if (status != LSC_OK || !job.session) return status;
  status = finalize(&job, path != NULL);
  give_back(&job, 0);
  return status;
}

lsc_status lsc_flush(void) {
  struct job job = {.session = 0};
  char part[16];
  lsc_status status;
  pthread_mutex_lock(&mutex);
  snprintf(part, sizeof part, "%u", run.flushes + 1);
  if (lsc_session_is_open(run.session)) status = take(&job, lsc_path_with(run.path, part));
  else status = lsc_fail(LSC_INACTIVE, "%s", lsc_session_default()
                             ? "the default session was not opened by lsc_init: who opened it writes it"
                             : "no session is open: call lsc_init first");
  pthread_mutex_unlock(&mutex);
  if (status != LSC_OK) return status;
  status = lsc_save(job.session, job.path, &job.options);
  give_back(&job, status == LSC_OK || status == LSC_APART);
  return status;
}

lsc_status lsc_init(const char *path, const lsc_init_options *options) {
  return lsc_init_as(LSC_API_C, path, options);
}

lsc_status lsc_finalize(void) { return lsc_finalize_as(LSC_API_C, NULL); }
