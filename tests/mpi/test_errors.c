/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects that cannot be done: the same status on every rank, nothing lost, and the file of yesterday as it was. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "compare.h"
#include "lanescope_mpi.h"

#define CALLS 5

static int rank, ranks;

static lsc_save_options options_with(double timeout) {
  return (lsc_save_options){.size = sizeof(lsc_save_options), .timeout = timeout, .quiet = 1};
}

/* A session with a few calls and the books of them. */
static lsc_session record(struct log *log, struct books *books) {
  lsc_session session = 0;
  CHECK_STATUS(lsc_session_open(NULL, &session), LSC_OK);
  log_start(log, session, LSC_API_C, "main");
  for (int i = 0; i < CALLS; ++i) {
    log_begin(log, rank % 2 ? "odd" : "even");
    log_end(log);
  }
  *books = (struct books){0};
  books_add(books, log);
  return session;
}

/* Every rank has the same status, and a message that names the path. */
static void check_fails(lsc_session session, const char *path, lsc_status expected) {
  lsc_save_options options = options_with(60);
  char copy[512];
  snprintf(copy, sizeof copy, "%s", path);
  int status = (int)lsc_collect(session, MPI_COMM_WORLD, copy, &options), low, high;
  CHECK(status == (int)expected, "%s: %s: %s", copy, lsc_strerror((lsc_status)status), lsc_message());
  CHECK(strstr(lsc_message(), copy), "the message does not name %s: %s", copy, lsc_message());
  MPI_Allreduce(&status, &low, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&status, &high, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  CHECK(low == high, "statuses %d to %d", low, high);
}

static void write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  CHECK(file, "cannot write %s", path);
  if (!file) return;
  fputs(text, file);
  fclose(file);
}

/* Targets that nothing can be written to, also by root. Then the same calls go to a path that can. */
static void test_targets(void) {
  struct log log;
  struct books books;
  lsc_session session = record(&log, &books);
  if (rank == 0)
    write_text(check_path("file"), "not a folder\n");
  else
    check_path("file");
  if (rank == 0) CHECK(mkdir(check_path("folder.h5"), 0777) == 0, "mkdir");
  MPI_Barrier(MPI_COMM_WORLD);
  check_fails(session, check_path("missing/run.h5"), LSC_IO);
  check_fails(session, check_path("file/run.h5"), LSC_IO);
  check_fails(session, check_path("folder.h5"), LSC_IO);
  check_fails(session, "/proc/run.h5", LSC_IO);
  lsc_save_options options = options_with(60);
  CHECK_STATUS(lsc_collect(session, MPI_COMM_WORLD, NULL, &options), LSC_INVALID);
  CHECK_STATUS(lsc_collect(session, MPI_COMM_WORLD, "", &options), LSC_INVALID);

  const char *path = check_path("after.h5");
  CHECK_STATUS(lsc_collect(session, MPI_COMM_WORLD, path, &options), LSC_OK);
  compare_with_books(path, &books);
  log_close(session, &log, &books);
}

/* The bytes of a file, malloc'd. */
static char *contents(const char *path, size_t *size) {
  struct stat status;
  FILE *file = fopen(path, "rb");
  CHECK(file && fstat(fileno(file), &status) == 0, "cannot read %s", path);
  if (!file) exit(1);
  *size = (size_t)status.st_size;
  char *bytes = malloc(*size + 1);
  CHECK(fread(bytes, 1, *size, file) == *size, "%s is shorter than it was", path);
  fclose(file);
  return bytes;
}

/* A rank has no open session of that handle: nobody writes, and the file of that name stays as it was. */
static void test_yesterday(void) {
  struct log log;
  struct books books;
  size_t before_size = 0, after_size = 0;
  char *before = NULL;
  lsc_session session = record(&log, &books);
  const char *path = check_path("yesterday.h5");
  lsc_save_options options = options_with(60);
  CHECK_STATUS(lsc_collect(session, MPI_COMM_WORLD, path, &options), LSC_OK);
  if (rank == 0) before = contents(path, &before_size);
  log_close(session, &log, &books);

  session = record(&log, &books);
  lsc_session given = rank == ranks - 1 ? 0 : session;
  CHECK_STATUS(lsc_collect(given, MPI_COMM_WORLD, path, &options), LSC_INACTIVE);
  if (rank == 0) {
    char *after = contents(path, &after_size);
    CHECK(before_size == after_size && memcmp(before, after, after_size) == 0, "the file of yesterday changed");
    free(after);
    free(before);
  }
  CHECK_STATUS(lsc_collect(session, MPI_COMM_WORLD, check_path("today.h5"), &options), LSC_OK);
  compare_with_books(check_path("today.h5"), &books);
  log_close(session, &log, &books);
}

/* The target is open in a reader on rank 0, which goes on reading what it opened; the new file has the name. */
static void test_reader(void) {
  struct log log;
  struct books books;
  readback *reader = NULL;
  lsc_save_options options = options_with(60);
  const char *path = check_path("read.h5");
  lsc_session session = record(&log, &books);
  CHECK_STATUS(lsc_collect(session, MPI_COMM_WORLD, path, &options), LSC_OK);
  log_close(session, &log, &books);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) reader = readback_open(path);

  session = record(&log, &books);
  log_begin(&log, "more");
  log_end(&log);
  books_free(&books);
  books_add(&books, &log);
  CHECK_STATUS(lsc_collect(session, MPI_COMM_WORLD, path, &options), LSC_OK);
  if (rank == 0) {
    CHECK(readback_rows(reader, "events/call_ids") == (size_t)(CALLS * ranks), "the reader sees another file");
    CHECK(readback_i64(reader, "events/call_ids")[0] == 0, "the reader cannot read");
    readback_close(reader);
  }
  compare_with_books(path, &books);
  log_close(session, &log, &books);
}

/* Wrong communicators are no harm. */
static void test_communicators(void) {
  struct log log;
  struct books books;
  MPI_Comm half, inter = MPI_COMM_NULL;
  lsc_save_options options = options_with(60);
  lsc_session session = record(&log, &books);
  CHECK_STATUS(lsc_collect(session, MPI_COMM_NULL, check_path("null.h5"), &options), LSC_INVALID);
  CHECK_STATUS(lsc_attach(session, MPI_COMM_NULL, 60), LSC_INVALID);
  CHECK_STATUS(lsc_attach(0, MPI_COMM_WORLD, 60), LSC_INACTIVE);
  if (ranks > 1) {
    MPI_Comm_split(MPI_COMM_WORLD, rank > 0, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank > 0 ? 0 : 1, 99, &inter);
    CHECK_STATUS(lsc_collect(session, inter, check_path("inter.h5"), &options), LSC_INVALID);
    CHECK_STATUS(lsc_attach(session, inter, 60), LSC_INVALID);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
  }
  CHECK_STATUS(lsc_attach_fortran(session, LSC_COMM_WORLD, 60), LSC_OK);
  CHECK_STATUS(lsc_attach_fortran(session, (int)MPI_Comm_c2f(MPI_COMM_WORLD), 60), LSC_OK);
  log_close(session, &log, &books);
}

/* The last rank comes when the others have given up: each writes its own file, and all say APART. */
static void test_apart(int attached) {
  struct log log;
  struct books books;
  char written[512] = "", expected[512];
  lsc_session session = record(&log, &books);
  if (attached) CHECK_STATUS(lsc_attach(session, MPI_COMM_WORLD, 60), LSC_OK);
  const char *path = check_path(attached ? "apart.h5" : "alone.h5");
  lsc_save_options options = options_with(1);
  options.written = written;
  options.written_size = sizeof written;
  if (rank == ranks - 1) sleep(attached ? 8 : 4);
  CHECK_STATUS(lsc_collect(session, MPI_COMM_WORLD, path, &options), LSC_APART);
  snprintf(expected, sizeof expected, "%.*s.rank%d.h5", (int)strlen(path) - 3, path, rank);
  CHECK(strcmp(written, expected) == 0, "the calls were written to %s, not %s", written, expected);
  CHECK(strstr(lsc_message(), expected), "the message does not name %s: %s", expected, lsc_message());
  CHECK(access(path, F_OK) != 0, "%s is there", path);
  readback *file = readback_open(expected);
  CHECK(readback_rows(file, "events/call_ids") == CALLS, "%zu calls", readback_rows(file, "events/call_ids"));
  readback_close(file);
  log_close(session, &log, &books);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  test_targets();
  test_yesterday();
  test_reader();
  test_communicators();
  if (ranks > 1) test_apart(1);
  if (ranks > 1) test_apart(0);
  int result = check_result();
  MPI_Finalize();
  return result;
}
