/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrivals and deaths of every rank over a grid of moments: never one rank with GO and another APART. */
#include <stdio.h>

#include "agreement.h"
#include "unit.h"

/* Arrival times around every moment at which somebody decides something. */
static const int64_t moments[] = {0, 1, GRACE, TIMEOUT - 1, TIMEOUT, TIMEOUT + 1, TIMEOUT + GRACE - 1, TIMEOUT + GRACE,
                                  TIMEOUT + GRACE + 1, 2 * TIMEOUT + GRACE, 2 * TIMEOUT + 3 * GRACE};
#define MOMENTS ((int)(sizeof moments / sizeof *moments))

static const struct sim_options ways[] = {{0}, {.seed = 1}, {.seed = 2, .latency = GRACE / 4}, {.synchronous = 1},
                                          {.seed = 3, .latency = 2},
                                          {.seed = 4, .latency = GRACE / 3, .synchronous = 1}};
#define WAYS ((int)(sizeof ways / sizeof *ways))

struct tally {
  int went, failed, apart;
};

/* The arrivals numbered `number` of all that the grid has for this size. */
static void arrive(struct agreement *a, int number) {
  for (int r = 0; r < a->size; r++, number /= MOMENTS) a->lot[r].arrives = moments[number % MOMENTS];
}

static void sweep(int size, int stride, int failing, struct tally *tally) {
  struct agreement a = prepare(size);
  int total = 1;
  for (int r = 0; r < size; r++) total *= MOMENTS;
  if (failing >= 0) a.report[failing] = LSC_IO;
  for (int number = 0; number < total; number += stride) {
    for (int w = 0; w < WAYS; w++) {
      char what[100];
      arrive(&a, number);
      snprintf(what, sizeof what, "size %d, arrivals %d, way %d", size, number, w);
      run_with(&a, ways[w]);
      check_invariant(&a, what);
      for (int r = 0; r < size; r++) ck_assert_int_eq(a.done[r], 1);
      if (a.verdict[0].status == LSC_OK) tally->went++;
      else if (a.verdict[0].status == LSC_APART) tally->apart++;
      else tally->failed++;
    }
  }
  release(&a);
}

START_TEST(test_sweep_of_arrivals) {
  static const int strides[] = {0, 1, 1, 1, 7, 191};
  struct tally tally = {0};
  sweep(_i, strides[_i], -1, &tally);
  ck_assert_int_eq(tally.failed, 0);
  ck_assert_int_gt(tally.went, 0);
  if (_i > 1) ck_assert_int_gt(tally.apart, 0);
}
END_TEST

START_TEST(test_sweep_with_a_failure) {
  struct tally tally = {0};
  for (int failing = 0; failing < 3; failing++) sweep(3, 5, failing, &tally);
  ck_assert_int_eq(tally.went, 0);
  ck_assert_int_gt(tally.failed, 0);
  ck_assert_int_gt(tally.apart, 0);
}
END_TEST

/* Every rank but rank 0 dies after each number of messages, at many arrivals of the grid: the living agree. */
START_TEST(test_sweep_of_deaths) {
  struct agreement a = prepare(3);
  for (int number = 0; number < MOMENTS * MOMENTS * MOMENTS; number += 3) {
    for (int w = 0; w < WAYS; w++) {
      for (int dying = 1; dying < 3; dying++) {
        for (uint64_t after = 1; after <= 2; after++) {
          char what[100];
          arrive(&a, number);
          a.lot[dying].dies_after = after;
          snprintf(what, sizeof what, "arrivals %d, way %d, rank %d dies after %d", number, w, dying, (int)after);
          run_with(&a, ways[w]);
          check_invariant(&a, what);
          if (after == 1) ck_assert_msg(a.verdict[0].status == LSC_APART, "%s", what);
          a.lot[dying].dies_after = 0;
        }
      }
    }
  }
  release(&a);
}
END_TEST

/* Each rank is interrupted at each moment, and at those of the others' arrival. */
START_TEST(test_sweep_of_interrupts) {
  struct agreement a = prepare(3);
  struct tally tally = {0};
  for (int number = 0; number < MOMENTS * MOMENTS * MOMENTS; number += 3) {
    for (int turn = 0; turn < 3 * MOMENTS * WAYS; turn++) {
      char what[100];
      int hurried = turn % 3, w = turn / 3 % WAYS;
      arrive(&a, number);
      a.lot[hurried].hurries = moments[turn / 3 / WAYS] + 1;
      snprintf(what, sizeof what, "arrivals %d, way %d, rank %d hurries at %lld", number, w, hurried,
               (long long)a.lot[hurried].hurries);
      run_with(&a, ways[w]);
      check_invariant(&a, what);
      int64_t left = a.left[hurried], came = a.lot[hurried].arrives;
      int64_t from = came > a.lot[hurried].hurries ? came : a.lot[hurried].hurries;
      ck_assert_msg(left <= from + 4 * GRACE, "%s: it stayed until %lld", what, (long long)left);
      if (a.verdict[0].status == LSC_OK) tally.went++;
      else tally.apart++;
      a.lot[hurried].hurries = 0;
    }
  }
  ck_assert_int_gt(tally.went, 0);
  ck_assert_int_gt(tally.apart, 0);
  release(&a);
}
END_TEST

int main(void) {
  TCase *tcase = tcase_create("verdict_sweep");
  tcase_set_timeout(tcase, 240);
  tcase_add_loop_test(tcase, test_sweep_of_arrivals, 1, 6);
  tcase_add_test(tcase, test_sweep_with_a_failure);
  tcase_add_test(tcase, test_sweep_of_deaths);
  tcase_add_test(tcase, test_sweep_of_interrupts);
  return unit_run("verdict_sweep", tcase);
}
