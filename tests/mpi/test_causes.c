/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What makes a collect fail on a real machine, on one rank or on all of them; where it is to happen is a step. For
 * plain files and for compressed ones.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "faults.h"
#include "h5.h"
#include "message.h"

#define ALL (-1)
#define NOBODY 65534

static struct {
  enum lsc_step step;
  int rank;
  void (*act)(void);
  int acted;
} plan;

static lsc_status act_as_planned(enum lsc_step step) {
  if (step == plan.step && (plan.rank == ALL || plan.rank == fault_rank)) {
    plan.acted = 1;
    plan.act();
  }
  return LSC_OK;
}

/* A collect in which `act` happens as the rank, or all, come to the step; `undo` is called on them afterwards. */
static lsc_status collect_with(struct fault_run *run, const char *name, enum lsc_step step, int rank,
                               void (*act)(void), void (*undo)(void), const char *what) {
  plan.step = step;
  plan.rank = rank;
  plan.act = act;
  plan.acted = 0;
  fault_current = act_as_planned;
  lsc_status status = fault_collect(run, name, what);
  if (plan.acted && undo) undo();
  MPI_Barrier(MPI_COMM_WORLD);
  return status;
}

static struct rlimit before;
static rlim_t limit;

static void limit_size(void) {
  getrlimit(RLIMIT_FSIZE, &before);
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){limit, before.rlim_max});
}

static void unlimit_size(void) { setrlimit(RLIMIT_FSIZE, &before); }

/* From the beginning to the end of the collect, as a batch system sets it. */
static void test_file_size(void) {
  static const rlim_t limits[] = {0, 100, 3000, 10000, 15000};
  struct fault_run run;
  fault_record(&run);
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    limit = limits[i];
    for (int rank = ALL; rank < 1; rank++) {
      char what[64];
      snprintf(what, sizeof what, "%llu bytes on %s", (unsigned long long)limit, rank == ALL ? "all" : "rank 0");
      lsc_status status = collect_with(&run, "yesterday.h5", LSC_STEP_ARGUMENTS, rank, limit_size, unlimit_size, what);
      CHECK(status == LSC_IO, "%s: %s: %s", what, lsc_strerror(status), lsc_message());
      fault_check_message(what, "File too large", fault_ranks > 1 ? "rank 0, " : "step", NULL);
      fault_check_yesterday("yesterday.h5", what);
    }
  }
  fault_finish(&run, "after.h5");
}

/* The rows of a rank, which lie in a file that is at its size already. */
static void test_file_size_of_rows(void) {
  struct fault_run run;
  fault_record(&run);
  limit = 1000;
  for (int rank = ALL; rank < fault_ranks; rank++) {
    char what[64], where[32];
    snprintf(what, sizeof what, "rows above the limit on %s %d", rank == ALL ? "all" : "rank", rank);
    snprintf(where, sizeof where, fault_ranks > 1 ? "rank %d, " : "step", rank == ALL ? 0 : rank);
    collect_with(&run, "yesterday.h5", LSC_STEP_WRITE, rank, limit_size, unlimit_size, what);
    fault_check_message(what, where, "rows", check_path("yesterday.h5"), strerror(EFBIG), NULL);
    fault_check_yesterday("yesterday.h5", what);
  }
  fault_finish(&run, "after.h5");
}

static void limit_descriptors(void) {
  int next = dup(0);
  close(next);
  getrlimit(RLIMIT_NOFILE, &before);
  setrlimit(RLIMIT_NOFILE, &(struct rlimit){(rlim_t)next, before.rlim_max});
}

static void unlimit_descriptors(void) { setrlimit(RLIMIT_NOFILE, &before); }

static void test_descriptors(void) {
  static const enum lsc_step steps[] = {LSC_STEP_TEMPORARY, LSC_STEP_PUT, LSC_STEP_PREPARE, LSC_STEP_LAYOUT,
                                        LSC_STEP_CHECK_CHUNKS};
  struct fault_run run;
  fault_record(&run);
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    for (int rank = ALL; rank < (steps[i] == LSC_STEP_PREPARE ? fault_ranks : 1); rank++) {
      if (steps[i] == (fault_level ? LSC_STEP_PREPARE : LSC_STEP_CHECK_CHUNKS)) continue;
      collect_with(&run, "yesterday.h5", steps[i], rank, limit_descriptors, unlimit_descriptors, "no descriptor");
      fault_check_message("no descriptor", lsc_step_name(steps[i]), strerror(EMFILE), NULL);
      fault_check_yesterday("yesterday.h5", "no descriptor");
    }
  }
  fault_finish(&run, "after.h5");
}

static rlim_t pages_in_use(void) {
  char text[64] = "";
  FILE *file = fopen("/proc/self/statm", "r");
  CHECK(file && fgets(text, sizeof text, file), "/proc/self/statm");
  if (file) fclose(file);
  return strtoull(text, NULL, 10);
}

/* So little is left that HDF5 1.10 would crash. */
static void limit_memory(void) {
  getrlimit(RLIMIT_AS, &before);
  setrlimit(RLIMIT_AS, &(struct rlimit){pages_in_use() * (rlim_t)sysconf(_SC_PAGESIZE) + limit, before.rlim_max});
}

static void unlimit_memory(void) { setrlimit(RLIMIT_AS, &before); }

static void test_address_space(void) {
  static const enum lsc_step steps[] = {LSC_STEP_IMAGE, LSC_STEP_LAYOUT, LSC_STEP_PREPARE, LSC_STEP_CHECK_CHUNKS};
  struct fault_run run;
  fault_record(&run);
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    if (steps[i] == (fault_level ? LSC_STEP_PREPARE : LSC_STEP_CHECK_CHUNKS)) continue;
    for (int rank = ALL; rank < (steps[i] == LSC_STEP_PREPARE ? fault_ranks : 1); rank++) {
      for (limit = 0; limit <= 3000000; limit += 1000000) {
        lsc_status status =
            collect_with(&run, "yesterday.h5", steps[i], rank, limit_memory, unlimit_memory, "no address space");
        CHECK(status == LSC_NO_MEMORY, "%s: %s", lsc_strerror(status), lsc_message());
        fault_check_message("no address space", lsc_step_name(steps[i]), check_path("yesterday.h5"), NULL);
        fault_check_yesterday("yesterday.h5", "no address space");
      }
    }
  }
  fault_finish(&run, "after.h5");
}

static void become_nobody(void) { CHECK(seteuid(NOBODY) == 0, "seteuid: %s", strerror(errno)); }

static void become_root(void) { CHECK(seteuid(0) == 0, "seteuid: %s", strerror(errno)); }

/* The folder is another user's on that rank's host: nothing can be made there, or not even be seen. */
static void test_permission(void) {
  static const enum lsc_step steps[] = {LSC_STEP_TARGET, LSC_STEP_TEMPORARY, LSC_STEP_SEE, LSC_STEP_PREPARE};
  struct fault_run run;
  if (geteuid() != 0) return;
  fault_record(&run);
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    if (fault_level && (steps[i] == LSC_STEP_SEE || steps[i] == LSC_STEP_PREPARE)) continue;
    int zero_alone = steps[i] == LSC_STEP_TARGET || steps[i] == LSC_STEP_TEMPORARY;
    for (int rank = !zero_alone; rank < (zero_alone ? 1 : fault_ranks); rank++) {
      collect_with(&run, "yesterday.h5", steps[i], rank, become_nobody, become_root, "no permission");
      fault_check_message("no permission", lsc_step_name(steps[i]), strerror(EACCES), NULL);
      fault_check_yesterday("yesterday.h5", "no permission");
    }
  }
  fault_finish(&run, "after.h5");
}

static void make_folder_of_target(void) { CHECK(mkdir(check_path("refused.h5"), 0777) == 0, "mkdir"); }

static void remove_folder_of_target(void) { CHECK(rmdir(check_path("refused.h5")) == 0, "rmdir"); }

static void test_rename(void) {
  struct fault_run run;
  if (fault_rank == 0) remove(check_path("refused.h5"));
  fault_record(&run);
  collect_with(&run, "refused.h5", LSC_STEP_RENAME, 0, make_folder_of_target, remove_folder_of_target, "no rename");
  fault_check_message("no rename", lsc_step_name(LSC_STEP_RENAME), strerror(EISDIR), "refused.h5", NULL);
  fault_check_yesterday("yesterday.h5", "no rename");
  fault_finish(&run, "refused.h5");
}

/* Calls of the library go through these. */
lsc_status __real_lsc_h5_write_chunk(struct lsc_h5 *h5, int slot, uint64_t row, const void *bytes, size_t size);
lsc_status __wrap_lsc_h5_write_chunk(struct lsc_h5 *h5, int slot, uint64_t row, const void *bytes, size_t size);
lsc_status __real_lsc_h5_write_rows(struct lsc_h5 *h5, int slot, uint64_t first, uint64_t count, const void *data);
lsc_status __wrap_lsc_h5_write_rows(struct lsc_h5 *h5, int slot, uint64_t first, uint64_t count, const void *data);
ssize_t __real_write(int file, const void *bytes, size_t size);
ssize_t __wrap_write(int file, const void *bytes, size_t size);

static int loses_rows, writes_little;

lsc_status __wrap_lsc_h5_write_rows(struct lsc_h5 *h5, int slot, uint64_t first, uint64_t count, const void *data) {
  return loses_rows ? LSC_OK : __real_lsc_h5_write_rows(h5, slot, first, count, data);
}

static int damages_chunks;

/* The first chunk of the first column is another one than was compressed; its size is right. */
lsc_status __wrap_lsc_h5_write_chunk(struct lsc_h5 *h5, int slot, uint64_t row, const void *bytes, size_t size) {
  if (loses_rows) return LSC_OK;
  if (!damages_chunks || row || slot) return __real_lsc_h5_write_chunk(h5, slot, row, bytes, size);
  unsigned char *others = malloc(size);
  memcpy(others, bytes, size);
  others[size / 2] ^= 1;
  lsc_status status = __real_lsc_h5_write_chunk(h5, slot, row, others, size);
  free(others);
  return status;
}

ssize_t __wrap_write(int file, const void *bytes, size_t size) {
  return __real_write(file, bytes, writes_little && size > 100 ? 100 : size);
}

static void lose_rows(void) { loses_rows = 1; }

static void keep_rows(void) { loses_rows = 0; }

static void damage_chunks(void) { damages_chunks = 1; }

static void keep_chunks(void) { damages_chunks = 0; }

/* Chunks that are not there, or not as they were. */
static void test_lost_chunks(void) {
  struct fault_run run;
  fault_record(&run);
  const char *where = lsc_step_name(LSC_STEP_CHECK_CHUNKS);
  collect_with(&run, "yesterday.h5", LSC_STEP_PUT_CHUNKS, 0, lose_rows, keep_rows, "lost chunks");
  fault_check_message("lost chunks", where, "has not the size with which it was written", NULL);
  fault_check_yesterday("yesterday.h5", "lost chunks");
  collect_with(&run, "yesterday.h5", LSC_STEP_PUT_CHUNKS, 0, damage_chunks, keep_chunks, "damaged chunks");
  fault_check_message("damaged chunks", where, "start_times is not what was written there", NULL);
  fault_check_yesterday("yesterday.h5", "damaged chunks");
  fault_finish(&run, "after.h5");
}

/* Success is returned, and nothing is in the file: Open MPI has been seen to do so. */
static void test_lost_rows(void) {
  struct fault_run run;
  fault_record(&run);
  for (int rank = ALL; rank < fault_ranks; rank++) {
    lsc_status status = collect_with(&run, "yesterday.h5", LSC_STEP_WRITE, rank, lose_rows, keep_rows, "lost rows");
    CHECK(status == LSC_IO, "%s", lsc_strerror(status));
    fault_check_message("lost rows", lsc_step_name(LSC_STEP_READ_BACK), "is not what was written", NULL);
    fault_check_yesterday("yesterday.h5", "lost rows");
  }
  fault_finish(&run, "after.h5");
}

static void test_short_writes(void) {
  struct fault_run run;
  fault_record(&run);
  writes_little = 1;
  fault_finish(&run, "short.h5");
  writes_little = 0;
}

static void test_causes(void) {
  fault_yesterday("yesterday.h5");
  test_file_size();
  test_descriptors();
  test_address_space();
  test_permission();
  test_rename();
  test_short_writes();
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &fault_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &fault_ranks);
  test_causes();
  test_file_size_of_rows();
  test_lost_rows();
  fault_level = 1;
  test_causes();
  test_lost_chunks();
  int result = check_result();
  MPI_Finalize();
  return result;
}
