/* SPDX-License-Identifier: BSD-3-Clause */
/* What recording costs in Fortran, beside the same in C: medians over interleaved repetitions into fresh chunks. */
#include <pthread.h>

#include "bench.h"
#include "lanescope_binding.h"

#define PAIRS 2000000
#define REPETITIONS 31

void fortran_pairs(lsc_region_id region, int pairs);
void fortran_named_pairs(int pairs);

static lsc_region_id region;
static lsc_session session;

enum { IN_C, IN_FORTRAN, IN_FORTRAN_THREADS, BY_NAME, OFF_IN_C, OFF_IN_FORTRAN, LOOPS };

static void c_pairs(int pairs) {
  for (int i = 0; i < pairs; i++) {
    lsc_begin(session, region);
    lsc_end(session, region);
  }
}

static void open_default(int thread_lanes) {
  bench_require(lsc_session_open(NULL, &session) == LSC_OK, "lsc_session_open");
  bench_require(lsc_session_set_default(session) == LSC_OK, "lsc_session_set_default");
  bench_require(lsc_fortran_lanes(thread_lanes) == LSC_OK, "lsc_fortran_lanes");
}

static void run(int loop, int pairs) {
  if (loop == IN_C || loop == OFF_IN_C) c_pairs(pairs);
  else if (loop == BY_NAME) fortran_named_pairs(pairs);
  else fortran_pairs(region, pairs);
}

/* ns a pair. */
static double measure(int loop) {
  int is_on = loop != OFF_IN_C && loop != OFF_IN_FORTRAN;
  session = 0;
  if (is_on) bench_back_memory((size_t)PAIRS * 36);
  if (is_on) open_default(loop == IN_FORTRAN_THREADS);
  double begin = bench_now();
  run(loop, PAIRS);
  double cost = (bench_now() - begin) * 1e9 / PAIRS;
  if (is_on) lsc_session_close(session);
  return cost;
}

static pthread_barrier_t barrier;

static void *race(void *cost) {
  fortran_pairs(region, 20000);
  pthread_barrier_wait(&barrier);
  double begin = bench_now();
  fortran_pairs(region, PAIRS);
  *(double *)cost = (bench_now() - begin) * 1e9 / PAIRS;
  return NULL;
}

static double race_of(unsigned threads) {
  pthread_t thread[2];
  double cost[2], sum = 0;
  bench_back_memory((size_t)threads * PAIRS * 40);
  open_default(0);
  pthread_barrier_init(&barrier, NULL, threads);
  for (unsigned i = 0; i < threads; i++)
    bench_require(pthread_create(&thread[i], NULL, race, &cost[i]) == 0, "pthread_create");
  for (unsigned i = 0; i < threads; i++) {
    pthread_join(thread[i], NULL);
    sum += cost[i];
  }
  pthread_barrier_destroy(&barrier);
  lsc_session_close(session);
  return sum / threads;
}

int main(void) {
  double value[LOOPS][REPETITIONS], one[REPETITIONS], two[REPETITIONS], median[LOOPS];
  bench_require(lsc_region("bench", &region) == LSC_OK, "lsc_region");
  for (int i = 0; i < REPETITIONS; i++) {
    for (int k = 0; k < LOOPS; k++) value[k][i] = measure(k);
    one[i] = race_of(1);
    two[i] = race_of(2);
  }
  for (int k = 0; k < LOOPS; k++) median[k] = bench_median(value[k], REPETITIONS);
  double floor = median[IN_C], lanes = median[IN_FORTRAN_THREADS];
  double alone = bench_median(one, REPETITIONS), both = bench_median(two, REPETITIONS);
  bench_head("Recording in Fortran (ns a begin and end)");
  bench_line("unknown lane / C", median[IN_FORTRAN], floor, "1.20", median[IN_FORTRAN] <= 1.2 * floor);
  bench_line("lanes of threads / C", lanes, floor, "1.20", lanes <= 1.2 * floor);
  bench_line("by name / C", median[BY_NAME], floor, "", 1);
  bench_line("no session / C without one", median[OFF_IN_FORTRAN], median[OFF_IN_C], "", 1);
  bench_line("a pair on two threads at once / on one", both, alone, "1.00", both <= 1.1 * alone);
  return EXIT_SUCCESS;
}
