/* SPDX-License-Identifier: BSD-3-Clause */
/* What ranks recorded, collected into one file and read back: every row against what each rank noted for itself. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "compare.h"
#include "lanescope_mpi.h"

static int rank, ranks;

static void work(void) {
  struct timespec time = {.tv_nsec = 200000};
  nanosleep(&time, NULL);
}

static lsc_session open_session(void) {
  lsc_session session = 0;
  CHECK_STATUS(lsc_session_open(NULL, &session), LSC_OK);
  return session;
}

static void call(struct log *log, const char *region) {
  log_begin(log, region);
  work();
  log_end(log);
}

/* Collects, and compares the file with the books, which it frees. */
static void collect_and_compare(lsc_session session, const char *name, struct books *books, int replace) {
  const char *path = check_path(name);
  char written[512] = "";
  lsc_save_options options = {
      .size = sizeof options, .timeout = 60, .replace = replace, .written = written, .written_size = sizeof written};
  CHECK_STATUS(lsc_collect(session, MPI_COMM_WORLD, path, &options), LSC_OK);
  CHECK(strcmp(written, path) == 0, "the calls were written to %s", written);
  compare_with_books(path, books);
  books_free(books);
}

/* The ranks know {A, B}, {C, A}, {D} and so on. */
static void test_regions(void) {
  static const char *const known[][2] = {{"A", "B"}, {"C", "A"}, {"D", "D"}};
  const char *const *names = known[rank % 3];
  lsc_session session = open_session();
  struct log log;
  struct books books = {0};
  log_start(&log, session, LSC_API_C, "main");
  for (int i = 0; i < 20 + rank; ++i) {
    log_begin(&log, names[i % 2]);
    call(&log, names[(i + 1) % 2]);
    if (i % 3 == 0) call(&log, names[i % 2]);
    log_end(&log);
  }
  books_add(&books, &log);
  collect_and_compare(session, "regions.h5", &books, 0);
  log_free(&log);
  lsc_detach(session);
  CHECK_STATUS(lsc_session_close(session), LSC_OK);
}

/* One rank, or every rank, has no call and no thread. */
static void test_silent(const char *name, int silent) {
  lsc_session session = open_session();
  struct log log = {0};
  struct books books = {0};
  if (silent >= 0 && rank != silent) {
    log_start(&log, session, LSC_API_C, "main");
    for (int i = 0; i < 5; ++i) call(&log, rank % 2 ? "odd" : "even");
    books_add(&books, &log);
  }
  collect_and_compare(session, name, &books, 0);
  log_free(&log);
  lsc_detach(session);
  CHECK_STATUS(lsc_session_close(session), LSC_OK);
}

/* Calls are open at the collect; a second one has them completed, and otherwise only what is new. */
static void test_twice(void) {
  lsc_session session = open_session();
  struct log log;
  struct books books = {0};
  log_start(&log, session, LSC_API_C, "main");
  call(&log, "before");
  log_begin(&log, "outer");
  log_begin(&log, rank % 2 ? "inner" : "never completed at first");
  call(&log, "leaf");
  books_add(&books, &log);
  collect_and_compare(session, "open.h5", &books, 0);
  log_collected(&log);

  call(&log, "leaf");
  log_end(&log);
  if (rank == 0) log_end(&log);
  books_add(&books, &log);
  collect_and_compare(session, "open2.h5", &books, 0);
  log_collected(&log);

  lsc_save_options options = {.size = sizeof options, .timeout = 60};
  CHECK_STATUS(lsc_collect(session, MPI_COMM_WORLD, check_path("open.h5"), &options), LSC_COLLECTED);
  books_add(&books, &log);
  collect_and_compare(session, "open.h5", &books, 1);
  while (log.depth > 0) log_end(&log);
  books_add(&books, &log);
  collect_and_compare(session, "open3.h5", &books, 0);
  log_free(&log);
  lsc_detach(session);
  CHECK_STATUS(lsc_session_close(session), LSC_OK);
}

struct overlap {
  struct log log;
  pthread_barrier_t step;
};

static void *overlap_in_thread(void *argument) {
  struct overlap *other = argument;
  log_begin(&other->log, "g");
  work();
  pthread_barrier_wait(&other->step);
  pthread_barrier_wait(&other->step);
  work();
  log_end(&other->log);
  return NULL;
}

/* A call of this thread on lane -1 and one of another thread overlap: each has a stack of its own. */
static void overlap_on_unknown(struct log *mine, struct overlap *other) {
  pthread_t thread;
  log_start(&other->log, mine->session, LSC_API_FORTRAN, LOG_NO_THREAD);
  pthread_barrier_init(&other->step, NULL, 2);
  log_begin(mine, "f");
  CHECK(pthread_create(&thread, NULL, overlap_in_thread, other) == 0, "no thread");
  pthread_barrier_wait(&other->step);
  log_end(mine);
  pthread_barrier_wait(&other->step);
  pthread_join(thread, NULL);
  pthread_barrier_destroy(&other->step);
}

/* API of Fortran without threads: lane -1. With threads: the thread's lane, which it shares with C. */
static void test_apis(void) {
  lsc_session session = open_session();
  struct log log, unknown;
  struct overlap other;
  struct books books = {0};
  log_start(&log, session, LSC_API_C, "main");
  log_start(&unknown, session, LSC_API_FORTRAN, LOG_NO_THREAD);
  for (int i = 0; i < 4; ++i) {
    log.api = LSC_API_C;
    log_begin(&log, "c");
    log_begin(&unknown, "f");
    call(&unknown, "g");
    log.api = LSC_API_FORTRAN_THREADS;
    call(&log, "f");
    log_end(&unknown);
    log_end(&log);
  }
  overlap_on_unknown(&unknown, &other);
  books_add(&books, &log);
  books_add(&books, &unknown);
  books_add(&books, &other.log);
  collect_and_compare(session, "apis.h5", &books, 0);
  log_free(&log);
  log_free(&unknown);
  log_free(&other.log);
  lsc_detach(session);
  CHECK_STATUS(lsc_session_close(session), LSC_OK);
}

struct worker {
  lsc_session session;
  struct log log;
  int number, calls;
};

static void *work_in_thread(void *argument) {
  struct worker *worker = argument;
  char name[LOG_NAME];
  snprintf(name, sizeof name, "r%d worker %d", rank, worker->number);
  log_start(&worker->log, worker->session, LSC_API_C, name);
  for (int i = 0; i < worker->calls; ++i) {
    log_begin(&worker->log, i % 2 ? "odd" : "even");
    if (i % 5 == 0) call(&worker->log, "inner");
    log_end(&worker->log);
  }
  return NULL;
}

/* Several threads at once. */
static void test_threads(void) {
  enum { THREADS = 4 };
  struct worker worker[THREADS];
  pthread_t thread[THREADS];
  struct books books = {0};
  lsc_session session = open_session();
  for (int i = 0; i < THREADS; ++i) {
    worker[i] = (struct worker){.session = session, .number = i, .calls = 100 + 10 * i + rank};
    CHECK(pthread_create(&thread[i], NULL, work_in_thread, &worker[i]) == 0, "thread %d", i);
  }
  for (int i = 0; i < THREADS; ++i) {
    pthread_join(thread[i], NULL);
    books_add(&books, &worker[i].log);
    log_free(&worker[i].log);
  }
  collect_and_compare(session, "threads.h5", &books, 0);
  lsc_detach(session);
  CHECK_STATUS(lsc_session_close(session), LSC_OK);
}

/* Threads one after the other, whose identifiers are reused: as many lanes, with their own names. */
static void test_thousand(void) {
  struct books books = {0};
  lsc_session session = open_session();
  for (int i = 0; i < 1000; ++i) {
    struct worker worker = {.session = session, .number = i, .calls = 1 + (i + rank) % 2};
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, work_in_thread, &worker) == 0, "thread %d", i);
    pthread_join(thread, NULL);
    books_add(&books, &worker.log);
    log_free(&worker.log);
  }
  collect_and_compare(session, "thousand.h5", &books, 0);
  lsc_detach(session);
  CHECK_STATUS(lsc_session_close(session), LSC_OK);
}

/* The caller's communicator is freed before the collect; its ranks are in reverse order. */
static void test_attached(void) {
  MPI_Comm reverse;
  struct log log;
  lsc_session session = open_session();
  int own = -1, size = 0;
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reverse);
  CHECK_STATUS(lsc_attach(session, reverse, 60), LSC_OK);
  MPI_Comm_free(&reverse);
  lsc_rank_of(session, &own, &size);
  CHECK(own == ranks - 1 - rank && size == ranks, "rank %d of %d", own, size);
  log_start(&log, session, LSC_API_C, "main");
  for (int i = 0; i <= rank; ++i) call(&log, "attached");
  lsc_save_options options = {.size = sizeof options, .timeout = 60};
  const char *path = check_path("attached.h5");
  CHECK_STATUS(lsc_save(session, path, &options), LSC_OK);
  if (rank == 0) {
    struct merged merged;
    merged_open(&merged, path);
    for (int i = 0; i < ranks; ++i) {
      int64_t calls = readback_i64(merged.file, "rank_table/calls")[i];
      CHECK(calls == ranks - i, "rank %d of the communicator has %lld calls", i, (long long)calls);
    }
    check_consistent(&merged, ranks);
    merged_close(&merged);
  }
  log_free(&log);
  lsc_detach(session);
  CHECK_STATUS(lsc_session_close(session), LSC_OK);
}

/* What rank 0 learns beside the file is what stands there. */
static void test_report(void) {
  lsc_report *report = NULL;
  struct log log;
  lsc_session session = open_session();
  log_start(&log, session, LSC_API_C, "main");
  for (int i = 0; i < 3; ++i) call(&log, "reported");
  lsc_save_options options = {.size = sizeof options, .timeout = 60, .report = &report};
  const char *path = check_path("report.h5");
  CHECK_STATUS(lsc_collect(session, MPI_COMM_WORLD, path, &options), LSC_OK);
  CHECK((report != NULL) == (rank == 0), "the report is rank 0's");
  if (rank == 0) {
    lsc_column_view counts, names;
    CHECK_STATUS(lsc_report_column(report, "rank_region_index", "event_counts", &counts), LSC_OK);
    CHECK_STATUS(lsc_report_column(report, "region_table", "names", &names), LSC_OK);
    CHECK(counts.type == LSC_U64 && counts.rows == (size_t)ranks, "%zu rows", counts.rows);
    for (size_t i = 0; i < counts.rows; ++i) CHECK(((const uint64_t *)counts.data)[i] == 3, "row %zu", i);
    CHECK(names.rows == 1 && names.offsets[1] == 8 && memcmp(names.text, "reported", 8) == 0, "%zu names", names.rows);
    CHECK_STATUS(lsc_report_column(report, "rank_table", "nothing", &counts), LSC_INVALID);
  }
  lsc_report_free(report);
  log_free(&log);
  lsc_detach(session);
  CHECK_STATUS(lsc_session_close(session), LSC_OK);
}

int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  test_regions();
  test_silent("silent.h5", ranks - 1);
  test_silent("allsilent.h5", -1);
  test_twice();
  test_apis();
  test_threads();
  test_thousand();
  test_attached();
  test_report();
  int result = check_result();
  MPI_Finalize();
  return result;
}
