/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Some ranks come to the collect when the others have given up. One line names them, whoever they are, whether there
 * was a communicator or not; each rank writes its own file, and nothing else is left.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "lanescope_mpi.h"
#include "readback.h"

static int rank, ranks;

struct outcome {
  lsc_status status;
  char message[2048], heard[4096], written[512];
};

static lsc_session record(void) {
  lsc_session session = 0;
  lsc_region_id region = 0;
  CHECK_STATUS(lsc_session_open(NULL, &session), LSC_OK);
  lsc_region("late", &region);
  for (int i = 0; i < 3 + rank; i++) {
    lsc_begin(session, region);
    lsc_end(session, region);
  }
  return session;
}

static void path_of(const char *path, int of, char *mine, size_t size) {
  snprintf(mine, size, "%.*s.rank%d.h5", (int)strlen(path) - 3, path, of);
}

/* Until all the others have written, no longer than a minute, and a moment longer. */
static void be_late(const char *path, unsigned late) {
  for (int of = 0, tries = 0; of < ranks && tries < 6000;) {
    char mine[600];
    path_of(path, of, mine, sizeof mine);
    if (late >> of & 1 || access(mine, F_OK) == 0) {
      of++;
      continue;
    }
    nanosleep(&(struct timespec){0, 10000000}, NULL);
    tries++;
  }
  nanosleep(&(struct timespec){0, 500000000}, NULL);
}

/* Collects, and catches what is printed to stderr. */
static void collect_and_listen(lsc_session session, MPI_Comm comm, const char *path, struct outcome *outcome) {
  lsc_save_options options = {.size = sizeof options, .timeout = 1};
  options.written = outcome->written;
  options.written_size = sizeof outcome->written;
  FILE *file = tmpfile();
  int before = dup(STDERR_FILENO);
  if (!file || before < 0) abort();
  fflush(stderr);
  dup2(fileno(file), STDERR_FILENO);
  outcome->status = lsc_collect(session, comm, path, &options);
  snprintf(outcome->message, sizeof outcome->message, "%s", lsc_message());
  fflush(stderr);
  dup2(before, STDERR_FILENO);
  close(before);
  rewind(file);
  outcome->heard[fread(outcome->heard, 1, sizeof outcome->heard - 1, file)] = '\0';
  fclose(file);
}

static int count(const char *text, const char *word) {
  int found = 0;
  for (; (text = strstr(text, word)); text++) found++;
  return found;
}

/* That the file's folder holds none of a roll. */
static void check_folder(const char *path) {
  char folder[512];
  snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
  DIR *entries = opendir(folder);
  for (struct dirent *entry; entries && (entry = readdir(entries));) {
    CHECK(!strstr(entry->d_name, "waiting"), "%s is left in %s", entry->d_name, folder);
  }
  if (entries) closedir(entries);
}

static void check_line(const struct outcome *mine, const char *missing, const char *path) {
  char words[256];
  int lines = count(mine->heard, "lanescope: "), all = 0, named;
  snprintf(words, sizeof words, "%s was not written: %s did not arrive at step 'arrive' within", path, missing);
  named = count(mine->heard, words);
  CHECK(lines == named, "printed: %s", mine->heard);
  MPI_Allreduce(&named, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(all == 1, "%s: %d lines about %s; here: %s", path, all, missing, mine->heard);
}

static void check_outcome(const struct outcome *mine, const char *missing, const char *path, int is_late) {
  char expected[600];
  path_of(path, rank, expected, sizeof expected);
  CHECK(mine->status == LSC_APART, "%s: status %d: %s", path, (int)mine->status, mine->message);
  CHECK(strcmp(mine->written, expected) == 0, "%s: the calls are in %s", path, mine->written);
  CHECK(is_late || strstr(mine->message, missing), "%s: not about %s: %s", path, missing, mine->message);
  readback *file = readback_open(expected);
  CHECK(readback_rows(file, "events/call_ids") == (size_t)(3 + rank), "%zu calls",
        readback_rows(file, "events/call_ids"));
  readback_close(file);
  check_line(mine, missing, path);
  if (rank == 0) check_folder(path);
}

static void test_late(const char *name, unsigned late, const char *missing, int attached) {
  struct outcome mine = {0};
  MPI_Comm comm;
  const char *path = check_path(name);
  lsc_session session = record();
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (attached) CHECK_STATUS(lsc_attach(session, comm, 60), LSC_OK);
  MPI_Barrier(MPI_COMM_WORLD);
  if (late >> rank & 1) be_late(path, late);
  collect_and_listen(session, comm, path, &mine);
  MPI_Barrier(MPI_COMM_WORLD);
  check_outcome(&mine, missing, path, (int)(late >> rank & 1));
  lsc_detach(session);
  CHECK_STATUS(lsc_session_close(session), LSC_OK);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* The session does not come about where a rank is missing; sync: for what comes after it. */
static void test_opening(MPI_Comm sync, int late) {
  MPI_Comm comm;
  char missing[64];
  const char *path = check_path("opening.h5");
  MPI_Comm_dup(sync, &comm);
  snprintf(missing, sizeof missing, "rank %d did not arrive at step 'attach' within", late);
  int handle = MPI_Comm_c2f(comm);
  lsc_init_options options = {.size = sizeof options, .timeout = 1, .comm = &handle};
  MPI_Barrier(sync);
  if (rank == late) MPI_Barrier(sync);
  CHECK_STATUS(lsc_init(path, &options), LSC_TIMEOUT);
  CHECK(rank == late || strstr(lsc_message(), missing), "not about %s: %s", missing, lsc_message());
  CHECK(!lsc_session_default(), "a session is open");
  if (rank != late) MPI_Barrier(sync);
  MPI_Barrier(sync);
  if (rank == 0) check_folder(path);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int attached = 0; attached < 2 && ranks > 1; attached++) {
    test_late(attached ? "zero.h5" : "zero-alone.h5", 1, "rank 0", attached);
    test_late(attached ? "one.h5" : "one-alone.h5", 2, "rank 1", attached);
    if (ranks < 4) continue;
    test_late(attached ? "two.h5" : "two-alone.h5", 5, "ranks 0 and 2", attached);
    test_late(attached ? "run.h5" : "run-alone.h5", 6, "ranks 1-2", attached);
  }
  if (ranks > 1) {
    MPI_Comm sync;
    MPI_Comm_dup(MPI_COMM_WORLD, &sync);
    test_opening(sync, 0);
    test_opening(sync, ranks - 1);
  }
  int result = check_result();
  MPI_Finalize();
  return result;
}
