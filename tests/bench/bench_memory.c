/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a collect needs of memory, beside the rows that were recorded: the largest resident size of the process, as the
 * kernel counts it. usage: bench_memory FOLDER [calls]
 */
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

/* The growth of the process from before the recording to the peak within the collect. */
static double measure(long calls, int regions, int compress) {
  lsc_session session;
  const lsc_save_options options = {.size = sizeof options, .compress = compress};
  bench_require(lsc_session_open(NULL, &session) == LSC_OK && lsc_attach(session, MPI_COMM_WORLD, 0) == LSC_OK,
                "opening a session");
  double before = status_bytes("VmRSS");
  record(session, calls, regions);
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

int main(int argc, char **argv) {
  enum { REGIONS = 3 };
  static const int regions[REGIONS] = {3, 32, 1000};
  long calls = argc > 2 ? atol(argv[2]) : 4000000;
  double recorded = (double)calls * ROW_BYTES / 1e6;
  MPI_Init(&argc, &argv);
  snprintf(path, sizeof path, "%s/lanescope-bench.h5", argc > 1 ? argv[1] : ".");
  measure(6, 3, 1); /* what MPI and HDF5 keep from their first file on */
  bench_head("Memory at the peak of a collect (MB; the floor is what was recorded)");
  for (int i = 0; i < 2 * REGIONS; i++) {
    char what[60];
    int compress = i >= REGIONS;
    double peak = measure(calls, regions[i % REGIONS], compress) / 1e6;
    snprintf(what, sizeof what, "calls of %d regions%s", regions[i % REGIONS], compress ? ", compressed" : "");
    bench_line(what, peak, recorded, compress ? "1.50" : "1.10", peak <= (compress ? 1.50 : 1.10) * recorded);
  }
  MPI_Finalize();
  return EXIT_SUCCESS;
}
