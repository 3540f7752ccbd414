/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What recording costs in C, beside its floors measured in the same run: medians over interleaved repetitions, the cost
 * of an empty loop subtracted.
 */
#include <malloc.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "clock.h"
#include "lanescope.h"

#define PAIRS 10000000
#define WARM_PAIRS 1000
#define WARM_BATCHES 40 /* of one touched chunk */
#define REPETITIONS 9
#define THREADS 1000

static lsc_region_id region;
static _Atomic uint64_t sink;

enum { EMPTY, COUNTER, CLOCK, EMPTY_CALL, NO_SESSION, NO_SCOPE, COLD, WARM, SCOPE, LOOPS };

static double per_pair(double begin, int pairs) { return (bench_now() - begin) * 1e9 / pairs; }

static double loop_empty(void) {
  double begin = bench_now();
  for (int i = 0; i < PAIRS; i++) __asm__ volatile("" ::: "memory");
  return per_pair(begin, PAIRS);
}

static double loop_counter(void) {
  uint64_t sum = 0;
  double begin = bench_now();
  for (int i = 0; i < PAIRS; i++) {
    sum += lsc_counter();
    __asm__ volatile("" : "+r"(sum)::"memory");
    sum += lsc_counter();
    __asm__ volatile("" : "+r"(sum)::"memory");
  }
  double cost = per_pair(begin, PAIRS);
  sink += sum;
  return cost;
}

static double loop_clock(void) {
  struct timespec t;
  double begin = bench_now();
  for (int i = 0; i < PAIRS; i++) {
    clock_gettime(CLOCK_MONOTONIC, &t);
    clock_gettime(CLOCK_MONOTONIC, &t);
  }
  sink += (uint64_t)t.tv_nsec;
  return per_pair(begin, PAIRS);
}

/* Two calls of a function of the library that does nothing but return a constant. */
static double loop_empty_call(void) {
  double begin = bench_now();
  for (int i = 0; i < PAIRS; i++) {
    (void)*(const char *volatile *)&(const char *){lsc_version()};
    (void)*(const char *volatile *)&(const char *){lsc_version()};
  }
  return per_pair(begin, PAIRS);
}

static double loop_no_session(void) {
  double begin = bench_now();
  for (int i = 0; i < PAIRS; i++) {
    lsc_begin(0, region);
    lsc_end(0, region);
  }
  return per_pair(begin, PAIRS);
}

static void scopes(int pairs) {
  for (int i = 0; i < pairs; i++) {
    LSC_REGION("bench");
  }
}

static double loop_no_scope(void) {
  double begin = bench_now();
  scopes(PAIRS);
  return per_pair(begin, PAIRS);
}

static void record(lsc_session session, int pairs) {
  for (int i = 0; i < pairs; i++) {
    lsc_begin(session, region);
    lsc_end(session, region);
  }
}

static lsc_session open_session(void) {
  lsc_session session;
  bench_require(lsc_session_open(NULL, &session) == LSC_OK, "lsc_session_open");
  return session;
}

static double loop_cold(void) {
  bench_back_memory((size_t)PAIRS * 36);
  lsc_session session = open_session();
  double begin = bench_now();
  record(session, PAIRS);
  double cost = per_pair(begin, PAIRS);
  lsc_session_close(session);
  return cost;
}

static double loop_scope(void) {
  bench_back_memory((size_t)PAIRS * 36);
  lsc_session session = open_session();
  bench_require(lsc_session_set_default(session) == LSC_OK, "lsc_session_set_default");
  double begin = bench_now();
  scopes(PAIRS);
  double cost = per_pair(begin, PAIRS);
  lsc_session_close(session);
  return cost;
}

/* Batches in a chunk of two MiB whose memory has been touched before. */
static double loop_warm(void) {
  double batch[WARM_BATCHES];
  lsc_session session = open_session();
  record(session, 20000);
  for (int i = 0; i < WARM_BATCHES; i++) {
    double begin = bench_now();
    record(session, WARM_PAIRS);
    batch[i] = per_pair(begin, WARM_PAIRS);
  }
  lsc_session_close(session);
  return bench_median(batch, WARM_BATCHES);
}

static void measure_pairs(void) {
  static double (*const loop[LOOPS])(void) = {loop_empty,    loop_counter, loop_clock, loop_empty_call, loop_no_session,
                                              loop_no_scope, loop_cold,    loop_warm,  loop_scope};
  double value[LOOPS][REPETITIONS], median[LOOPS];
  for (int i = 0; i < REPETITIONS; i++)
    for (int k = 0; k < LOOPS; k++) value[k][i] = loop[k]();
  for (int k = 0; k < LOOPS; k++) median[k] = bench_median(value[k], REPETITIONS) - (k ? median[EMPTY] : 0);
  bench_head("Recording in C (ns a begin and end)");
  bench_line("fresh chunks / two counter readings", median[COLD], median[COUNTER], "1.35",
             median[COLD] <= 1.35 * median[COUNTER]);
  bench_line("warm         / two counter readings", median[WARM], median[COUNTER], "", 1);
  bench_line("fresh chunks / two clock_gettime", median[COLD], median[CLOCK], "0.60",
             median[COLD] <= 0.60 * median[CLOCK]);
  bench_line("warm         / two clock_gettime", median[WARM], median[CLOCK], "", 1);
  bench_line("no session / two empty calls by the PLT", median[NO_SESSION], median[EMPTY_CALL], "2.00",
             median[NO_SESSION] <= 2 * median[EMPTY_CALL]);
  bench_line("LSC_REGION without a session / the same", median[NO_SCOPE], median[EMPTY_CALL], "2.00",
             median[NO_SCOPE] <= 2 * median[EMPTY_CALL]);
  bench_line("LSC_REGION, fresh chunks / begin and end", median[SCOPE], median[COLD], "", 1);
}

static void *live(void *session) {
  if (session) {
    lsc_begin(*(lsc_session *)session, region);
    lsc_end(*(lsc_session *)session, region);
  }
  return NULL;
}

static double thread_cost(lsc_session *session) {
  double begin = bench_now();
  for (int i = 0; i < THREADS; i++) {
    pthread_t thread;
    bench_require(pthread_create(&thread, NULL, live, session) == 0, "pthread_create");
    pthread_join(thread, NULL);
  }
  return per_pair(begin, THREADS);
}

static void measure_registering(void) {
  double bare[REPETITIONS], with[REPETITIONS];
  lsc_session session = open_session();
  for (int i = 0; i < REPETITIONS; i++) {
    bare[i] = thread_cost(NULL);
    with[i] = thread_cost(&session);
  }
  lsc_session_close(session);
  double floor = bench_median(bare, REPETITIONS), extra = bench_median(with, REPETITIONS) - floor;
  bench_head("Threads (ns)");
  bench_line("first call of a thread / creating and joining it", extra, floor, "0.20", extra <= 0.2 * floor);
}

struct racer {
  lsc_session session;
  pthread_barrier_t *barrier;
  double cost;
};

static void *race(void *argument) {
  struct racer *racer = argument;
  record(racer->session, 20000);
  pthread_barrier_wait(racer->barrier);
  double begin = bench_now();
  record(racer->session, PAIRS / 10);
  racer->cost = per_pair(begin, PAIRS / 10);
  return NULL;
}

static double race_of(int threads) {
  struct racer racer[2];
  pthread_t thread[2];
  pthread_barrier_t barrier;
  double cost = 0;
  bench_back_memory((size_t)threads * (PAIRS / 10) * 40);
  lsc_session session = open_session();
  pthread_barrier_init(&barrier, NULL, (unsigned)threads);
  for (int i = 0; i < threads; i++) {
    racer[i] = (struct racer){session, &barrier, 0};
    bench_require(pthread_create(&thread[i], NULL, race, &racer[i]) == 0, "pthread_create");
  }
  for (int i = 0; i < threads; i++) {
    pthread_join(thread[i], NULL);
    cost += racer[i].cost / threads;
  }
  pthread_barrier_destroy(&barrier);
  lsc_session_close(session);
  return cost;
}

static void measure_two_at_once(void) {
  double one[REPETITIONS], two[REPETITIONS];
  for (int i = 0; i < REPETITIONS; i++) {
    one[i] = race_of(1);
    two[i] = race_of(2);
  }
  double floor = bench_median(one, REPETITIONS), value = bench_median(two, REPETITIONS);
  bench_line("a pair on two threads at once / on one", value, floor, "1.00", value <= 1.1 * floor);
}

static double resident_bytes(void) {
  long ignored, pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  bench_require(file && fscanf(file, "%ld %ld", &ignored, &pages) == 2, "reading /proc/self/statm");
  fclose(file);
  return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

static void measure_memory(void) {
  lsc_session session = open_session();
  malloc_trim(0);
  double before = resident_bytes();
  record(session, PAIRS);
  double a_call = (resident_bytes() - before) / PAIRS;
  lsc_session_close(session);
  session = open_session();
  malloc_trim(0);
  before = resident_bytes();
  for (int i = 0; i < 20; i++) thread_cost(&session);
  double a_thread = (resident_bytes() - before) / (20 * THREADS);
  lsc_session_close(session);
  bench_head("Memory (bytes; the bar is the floor)");
  bench_line("a call", a_call, 40, "1.00", a_call <= 40);
  bench_line("a thread with one call", a_thread, 1024, "1.00", a_thread <= 1024);
}

int main(void) {
  bench_require(lsc_region("bench", &region) == LSC_OK, "lsc_region");
  lsc_session_close(open_session());
  measure_pairs();
  measure_registering();
  measure_two_at_once();
  measure_memory();
  return EXIT_SUCCESS;
}
