/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_finalize_dlopen MODE FOLDER LIBRARY: as test_finalize, by a program that is not linked with lanescope. MODE:
 * before: loaded before MPI_Init; after: after it; unloaded: closed again before MPI_Finalize.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "lanescope_file.h"

static struct {
  lsc_status (*session_open)(const lsc_session_options *options, lsc_session *session);
  lsc_status (*region)(const char *name, lsc_region_id *region);
  lsc_status (*begin)(lsc_session session, lsc_region_id region);
  lsc_status (*end)(lsc_session session, lsc_region_id region);
  lsc_status (*attach_fortran)(lsc_session session, int comm, double timeout);
  lsc_status (*collect_at_exit)(lsc_session session, const char *path, const lsc_save_options *options);
} lsc;

static void *load(const char *library) {
  void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) fprintf(stderr, "%s\n", dlerror());
#define FIND(name) (*(void **)&lsc.name = dlsym(handle, "lsc_" #name))
  int is_whole = handle && FIND(session_open) && FIND(region) && FIND(begin) && FIND(end) && FIND(attach_fortran) &&
                 FIND(collect_at_exit);
#undef FIND
  return is_whole ? handle : NULL;
}

static void call(lsc_session session, const char *name, int times) {
  lsc_region_id region = 0;
  lsc.region(name, &region);
  for (int i = 0; i < times; ++i) {
    lsc.begin(session, region);
    lsc.end(session, region);
  }
}

static void *work_on_thread(void *session) {
  call(*(lsc_session *)session, "threaded", 2);
  return NULL;
}

static void record(lsc_session session, int rank) {
  pthread_t thread;
  lsc_region_id open = 0;
  lsc.region("open", &open);
  lsc.begin(session, open);
  call(session, "work", 3 + rank);
  pthread_create(&thread, NULL, work_on_thread, &session);
  pthread_join(thread, NULL);
}

static int leave_to_the_end(const char *folder) {
  char path[1024];
  int rank;
  lsc_session session = 0;
  lsc_save_options options = {.size = sizeof options, .timeout = 60};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(path, sizeof path, "%s/run.h5", folder);
  lsc.session_open(NULL, &session);
  if (lsc.attach_fortran(session, LSC_COMM_WORLD, 60) != LSC_OK) return 1;
  record(session, rank);
  return lsc.collect_at_exit(session, path, &options) != LSC_OK;
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  void *handle = strcmp(argv[1], "before") == 0 ? load(argv[3]) : NULL;
  MPI_Init(&argc, &argv);
  if (!handle) handle = load(argv[3]);
  int failed = !handle || leave_to_the_end(argv[2]);
  if (handle && strcmp(argv[1], "unloaded") == 0) dlclose(handle);
  MPI_Finalize();
  return failed;
}
