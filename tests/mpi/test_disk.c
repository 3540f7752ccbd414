/* SPDX-License-Identifier: BSD-3-Clause */
/* Disks on which there is not enough space, or hardly enough, for plain files and for compressed ones. For root. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "chunks.h"
#include "faults.h"
#include "message.h"

/* A folder for a file system: its path, valid until the next call. */
static const char *make_folder(const char *name) {
  static char folder[512];
  snprintf(folder, sizeof folder, "%s", check_path(name));
  if (fault_rank == 0) CHECK(mkdir(folder, 0777) == 0 || errno == EEXIST, "mkdir: %s", strerror(errno));
  return folder;
}

/* A file system of a few pages; 1 if it is there. */
static int mount_disk(const char *folder, int kilobytes) {
  int mounted = 0;
  char size[32];
  snprintf(size, sizeof size, "size=%dk", kilobytes);
  if (fault_rank == 0) mounted = geteuid() == 0 && mount("none", folder, "tmpfs", 0, size) == 0;
  MPI_Bcast(&mounted, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return mounted;
}

static void unmount_disk(const char *folder) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (fault_rank == 0) CHECK(umount(folder) == 0, "umount: %s", strerror(errno));
  MPI_Barrier(MPI_COMM_WORLD);
}

/*
 * Whatever is free, for many chunks, which are more index than rows: that it is too little is found at a reservation or
 * earlier, and never later.
 */
static void test_nearly_full_disk(void) {
  struct fault_run run;
  const char *folder = make_folder("nearly");
  lsc_status status = LSC_IO;
  fault_record(&run);
  lsc_chunks_most_rows = 1;
  for (int i = 0; fault_rank == 0 && i < 300; i++) {
    log_begin(&run.log, "a chunk of its own");
    log_end(&run.log);
  }
  for (int kilobytes = 4; kilobytes < 8000 && status != LSC_OK; kilobytes += 40) {
    lsc_save_options options = {.size = sizeof options, .timeout = 60, .replace = 1, .compress = fault_level};
    if (!mount_disk(folder, kilobytes)) break;
    status = lsc_collect(run.session, MPI_COMM_WORLD, check_path("nearly/run.h5"), &options);
    CHECK(status == LSC_OK || (status == LSC_IO && strstr(lsc_message(), strerror(ENOSPC)) &&
                               (strstr(lsc_message(), lsc_step_name(LSC_STEP_RESERVE)) ||
                                strstr(lsc_message(), lsc_step_name(LSC_STEP_PUT)))),
          "%d KiB: %s: %s", kilobytes, lsc_strerror(status), lsc_message());
    unmount_disk(folder);
  }
  CHECK(status == LSC_OK || geteuid() != 0, "nothing was written: %s", lsc_message());
  log_close(run.session, &run.log, &run.books);
  if (fault_rank == 0) rmdir(folder);
}

static void test_full_disk(void) {
  struct fault_run run;
  const char *folder = make_folder("full");
  if (!mount_disk(folder, 16)) return;
  fault_record(&run);
  lsc_status status = fault_collect(&run, "full/run.h5", "a full disk");
  CHECK(status == LSC_IO, "%s", lsc_strerror(status));
  fault_check_message("a full disk", strerror(ENOSPC), fault_ranks > 1 ? "rank 0, " : "step", NULL);
  unmount_disk(folder);
  if (fault_rank == 0) rmdir(folder);
  fault_finish(&run, "after.h5");
}

/* Calls of the library go through this. */
int __real_posix_fallocate(int file, off_t from, off_t bytes);
int __wrap_posix_fallocate(int file, off_t from, off_t bytes);

static int cannot_reserve;

int __wrap_posix_fallocate(int file, off_t from, off_t bytes) {
  return cannot_reserve ? EOPNOTSUPP : __real_posix_fallocate(file, from, bytes);
}

/* A file system that cannot reserve is full while the chunks are written: HDF5 survives that. */
static void test_disk_that_fills(void) {
  struct fault_run run;
  const char *folder = make_folder("fills");
  if (!mount_disk(folder, 200)) return;
  fault_record(&run);
  for (int i = 0; i < 5000; i++) {
    log_begin(&run.log, "too many");
    log_end(&run.log);
  }
  cannot_reserve = 1;
  lsc_status status = fault_collect(&run, "fills/run.h5", "a disk that fills");
  cannot_reserve = 0;
  CHECK(status == LSC_HDF5, "%s", lsc_strerror(status));
  fault_check_message("a disk that fills", lsc_step_name(LSC_STEP_PUT_CHUNKS), strerror(ENOSPC), NULL);
  unmount_disk(folder);
  if (fault_rank == 0) rmdir(folder);
  log_close(run.session, &run.log, &run.books);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &fault_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &fault_ranks);
  for (fault_level = 0; fault_level < 2; fault_level++) {
    test_full_disk();
    test_nearly_full_disk();
  }
  fault_level = 1;
  test_disk_that_fills();
  int result = check_result();
  MPI_Finalize();
  return result;
}
