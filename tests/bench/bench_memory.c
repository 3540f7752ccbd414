/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a collect needs of memory, beside the rows that were recorded: the largest resident size of the process, as the
 * kernel counts it. usage: bench_memory FOLDER [calls]
 */
#include <malloc.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "lanescope_mpi.h"

#define ROW_BYTES 32

static char path[512];

/* A line of /proc/self/status, in bytes. */
static double status_bytes(const char *name) {
  char line[256];
  double kib = -1;
  FILE *file = fopen("/proc/self/status", "r");
  bench_require(file != NULL, "reading /proc/self/status");
  while (fgets(line, sizeof line, file))
    if (strncmp(line, name, strlen(name)) == 0) kib = atof(line + strlen(name) + 1);
  fclose(file);
  bench_require(kib >= 0, name);
  return kib * 1024;
}

/* VmHWM is from now on the largest resident size since now. Source: proc(5), clear_refs. */
static void forget_peak(void) {
  FILE *file = fopen("/proc/self/clear_refs", "w");
  bench_require(file && fputs("5", file) >= 0 && fclose(file) == 0, "resetting VmHWM");
}

/* Calls nested two deep, of so many regions in turn. */
static void record(lsc_session session, long calls, int regions) {
  lsc_region_id *region = calloc((size_t)regions, sizeof *region);
  bench_require(region != NULL, "calloc");
  for (int i = 0; i < regions; i++) {
    char name[32];
    snprintf(name, sizeof name, "region %d", i);
    bench_require(lsc_region(name, &region[i]) == LSC_OK, "lsc_region");
  }
  for (long i = 0; i < calls; i += 2) {
    lsc_begin(session, region[i % regions]);
    lsc_begin(session, region[(i + 1) % regions]);
    lsc_end(session, region[(i + 1) % regions]);
    lsc_end(session, region[i % regions]);
  }
  free(region);
}

/* One call in each of so many tasks. */
static void record_tasks(lsc_session session, long tasks, int regions) {
  lsc_region_id region;
  (void)regions;
  bench_require(lsc_region("region 0", &region) == LSC_OK, "lsc_region");
  for (long i = 0; i < tasks; i++) {
    char name[32];
    lsc_task task;
    snprintf(name, sizeof name, "task %ld", i);
    bench_require(lsc_task_open(session, "fiber", name, "work", &task) == LSC_OK, "lsc_task_open");
    bench_require(lsc_task_enter(task) == LSC_OK, "lsc_task_enter");
    lsc_begin(session, region);
    lsc_end(session, region);
    bench_require(lsc_task_leave(task) == LSC_OK && lsc_task_finish(task) == LSC_OK, "lsc_task_leave");
  }
}

static lsc_session of_threads;

static void *one_call(void *region) {
  lsc_thread_describe(of_threads, "Thread-12345 (work)", 1, 0);
  lsc_begin(of_threads, *(const lsc_region_id *)region);
  lsc_end(of_threads, *(const lsc_region_id *)region);
  return NULL;
}

/* One call in each of so many threads, one after the other, named as Python does. */
static void record_threads(lsc_session session, long threads, int regions) {
  lsc_region_id region;
  (void)regions;
  bench_require(lsc_region("region 0", &region) == LSC_OK, "lsc_region");
  of_threads = session;
  for (long i = 0; i < threads; i++) {
    pthread_t thread;
    bench_require(pthread_create(&thread, NULL, one_call, &region) == 0, "pthread_create");
    pthread_join(thread, NULL);
  }
}

typedef void recorder(lsc_session session, long count, int regions);

/* The growth of the process from before the recording to the peak within the collect; recorded: up to its begin. */
static double measure(recorder *record_all, long count, int regions, int compress, double *recorded) {
  lsc_session session;
  const lsc_save_options options = {.size = sizeof options, .compress = compress};
  bench_require(lsc_session_open(NULL, &session) == LSC_OK && lsc_attach(session, MPI_COMM_WORLD, 0) == LSC_OK,
                "opening a session");
  malloc_trim(0); /* nothing is recorded into what an earlier collect has left */
  double before = status_bytes("VmRSS");
  record_all(session, count, regions);
  *recorded = status_bytes("VmRSS") - before;
  forget_peak();
  lsc_status status = lsc_collect(session, MPI_COMM_WORLD, path, &options);
  if (status) fprintf(stderr, "%s\n", lsc_message());
  bench_require(status == LSC_OK, "lsc_collect");
  double peak = status_bytes("VmHWM");
  lsc_detach(session);
  lsc_session_close(session);
  unlink(path);
  return peak - before;
}

static void measure_calls(long calls, int regions, int compress) {
  char what[60];
  double recorded = (double)calls * ROW_BYTES / 1e6, resident, bar = compress ? 1.50 : 1.10;
  double peak = measure(record, calls, regions, compress, &resident) / 1e6;
  snprintf(what, sizeof what, "calls of %d regions%s", regions, compress ? ", compressed" : "");
  bench_line(what, peak, recorded, compress ? "1.50" : "1.10", peak <= bar * recorded);
}

static void measure_lanes(const char *what, recorder *record_all, long count) {
  double recorded, peak = measure(record_all, count, 1, 0, &recorded);
  bench_line(what, peak / 1e6, recorded / 1e6, "1.50", peak <= 1.50 * recorded);
}

int main(int argc, char **argv) {
  enum { REGIONS = 3 };
  static const int regions[REGIONS] = {3, 32, 1000};
  long calls = argc > 2 ? atol(argv[2]) : 4000000;
  double resident;
  MPI_Init(&argc, &argv);
  snprintf(path, sizeof path, "%s/lanescope-bench.h5", argc > 1 ? argv[1] : ".");
  measure(record, 6, 3, 1, &resident); /* what MPI and HDF5 keep from their first file on */
  measure(record_tasks, 10, 1, 0, &resident);
  bench_head("Memory at the peak of a collect (MB; the floor is what was recorded)");
  measure_lanes("40,000 threads of one call", record_threads, 40000);
  measure_lanes("150,000 tasks of one call", record_tasks, 150000);
  for (int i = 0; i < 2 * REGIONS; i++) measure_calls(calls, regions[i % REGIONS], i >= REGIONS);
  MPI_Finalize();
  return EXIT_SUCCESS;
}
