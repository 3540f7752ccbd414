/* SPDX-License-Identifier: BSD-3-Clause */
#include "faults.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "check.h"
#include "chunks.h"

int fault_rank, fault_ranks, fault_level;
fault_hook fault_current;
unsigned long fault_seen;

static char *yesterday;
static size_t yesterday_size;

/* Of the recorder, which is none of this. */
void lsc_test_point(const char *name);
void lsc_test_point(const char *name) { (void)name; }

lsc_status lsc_test_step(enum lsc_step step) {
  fault_seen |= 1ul << step;
  return fault_current ? fault_current(step) : LSC_OK;
}

static lsc_save_options options_with(double timeout) {
  return (lsc_save_options){.size = sizeof(lsc_save_options), .timeout = timeout, .replace = 1, .quiet = 1,
                            .compress = fault_level};
}

void fault_record(struct fault_run *run) {
  lsc_chunks_most_rows = FAULT_CHUNK_ROWS;
  *run = (struct fault_run){0};
  CHECK_STATUS(lsc_session_open(NULL, &run->session), LSC_OK);
  log_start(&run->log, run->session, LSC_API_C, "main");
  for (int i = 0; i < FAULT_CALLS; i++) {
    log_begin(&run->log, fault_rank % 2 ? "odd" : "even");
    log_end(&run->log);
  }
  books_add(&run->books, &run->log);
  CHECK_STATUS(lsc_attach(run->session, MPI_COMM_WORLD, 60), LSC_OK);
}

void fault_finish(struct fault_run *run, const char *name) {
  lsc_save_options options = options_with(60);
  fault_current = NULL;
  CHECK_STATUS(lsc_collect(run->session, MPI_COMM_WORLD, check_path(name), &options), LSC_OK);
  compare_with_books(check_path(name), &run->books);
  log_close(run->session, &run->log, &run->books);
}

static char *read_whole(const char *path, size_t *size) {
  struct stat info;
  FILE *file = fopen(path, "rb");
  if (!file || fstat(fileno(file), &info) < 0) {
    perror(path);
    MPI_Abort(MPI_COMM_WORLD, 1);
    return NULL;
  }
  *size = (size_t)info.st_size;
  char *bytes = malloc(*size + 1);
  CHECK(bytes && fread(bytes, 1, *size, file) == *size, "%s is shorter than it was", path);
  fclose(file);
  return bytes;
}

void fault_yesterday(const char *name) {
  struct fault_run run;
  fault_record(&run);
  fault_finish(&run, name);
  free(yesterday);
  yesterday = NULL;
  if (fault_rank == 0) yesterday = read_whole(check_path(name), &yesterday_size);
}

static int temporaries(const char *folder) {
  int count = 0;
  DIR *entries = opendir(folder);
  for (struct dirent *entry; entries && (entry = readdir(entries));) count += strstr(entry->d_name, "-tmp") != NULL;
  if (entries) closedir(entries);
  return count;
}

void fault_check_yesterday(const char *name, const char *what) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (fault_rank == 0) {
    size_t size = 0;
    char *now = read_whole(check_path(name), &size);
    CHECK(size == yesterday_size && memcmp(now, yesterday, size) == 0, "%s: the file of yesterday changed", what);
    CHECK(temporaries(check_path(".")) == 0, "%s: a temporary file is left", what);
    free(now);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

lsc_status fault_collect(struct fault_run *run, const char *name, const char *what) {
  lsc_save_options options = options_with(60);
  char path[512];
  snprintf(path, sizeof path, "%s", check_path(name));
  int status = (int)lsc_collect(run->session, MPI_COMM_WORLD, path, &options), low, high;
  fault_current = NULL;
  MPI_Allreduce(&status, &low, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&status, &high, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  CHECK(low == high, "%s: statuses %d to %d, here %d", what, low, high, status);
  CHECK(status != LSC_OK && status != LSC_APART, "%s: %s: %s", what, lsc_strerror((lsc_status)status), lsc_message());
  return (lsc_status)status;
}

void fault_check_message(const char *what, ...) {
  char mine[2048] = "", zero[2048];
  va_list parts;
  snprintf(mine, sizeof mine, "%s", lsc_message());
  memcpy(zero, mine, sizeof zero);
  MPI_Bcast(zero, sizeof zero, MPI_CHAR, 0, MPI_COMM_WORLD);
  CHECK(strcmp(mine, zero) == 0, "%s: the message is '%s', and on rank 0 '%s'", what, mine, zero);
  va_start(parts, what);
  for (const char *part; (part = va_arg(parts, const char *));) {
    CHECK(strstr(mine, part), "%s: no '%s' in: %s", what, part, mine);
  }
  va_end(parts);
}
