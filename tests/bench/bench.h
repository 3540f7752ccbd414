/* SPDX-License-Identifier: BSD-3-Clause */
/* What the benchmarks share: time, medians, and one line a figure beside its floor and its bar. */
#ifndef BENCH_H
#define BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static inline double bench_now(void) { /* seconds */
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline int bench_compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sorts the values. */
static inline double bench_median(double *values, size_t count) {
  qsort(values, count, sizeof *values, bench_compare);
  return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static inline void bench_head(const char *title) {
  printf("\n%s\n  %-46s %10s %10s %7s %7s\n", title, "", "measured", "floor", "ratio", "bar");
}

/* kept: whether the ratio is on the right side of the bar. */
static inline void bench_line(const char *what, double value, double floor, const char *bar, int kept) {
  printf("  %-46s %10.1f %10.1f %7.2f %7s  %s\n", what, value, floor, value / floor, bar, kept ? "" : "over");
}

static inline void bench_require(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "bench: %s failed\n", what);
  exit(EXIT_FAILURE);
}

/*
 * On a virtual machine the host takes back memory that lies idle, and the next first touch then waits for the host:
 * tens of nanoseconds a row that no program can spare, and that come and go with the host's mood. So what a cold loop
 * is about to touch is touched and freed just before: its page faults are this kernel's, and the host's are not.
 */
static inline void bench_back_memory(size_t bytes) {
  unsigned char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  bench_require(memory != MAP_FAILED, "mmap");
  madvise(memory, bytes, MADV_HUGEPAGE);
  for (size_t i = 0; i < bytes; i += 4096) ((volatile unsigned char *)memory)[i] = 1;
  munmap(memory, bytes);
}

#endif
