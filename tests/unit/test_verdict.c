/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "agreement.h"
#include "message.h"
#include "unit.h"

static const int sizes[] = {1, 2, 3, 4, 5, 7, 8, 16, 31, 64, 1000};
#define SIZES ((int)(sizeof sizes / sizeof *sizes))

static void check_everybody(const struct agreement *a, lsc_status status, int rank, const char *text) {
  check_invariant(a, "everybody");
  for (int r = 0; r < a->size; r++) {
    if (!is_alive(a, r)) continue;
    ck_assert_int_eq(a->verdict[r].status, status);
    ck_assert_int_eq(a->verdict[r].rank, rank);
    ck_assert_str_eq(a->verdict[r].text, text);
  }
}

START_TEST(test_all_well) {
  struct agreement a = prepare(sizes[_i]);
  a.steps = 3;
  run(&a);
  check_everybody(&a, LSC_OK, -1, "");
  for (int r = 0; r < a.size; r++) ck_assert_int_eq(a.done[r], 1);
  ck_assert_uint_eq(a.stats.messages, 3 * 4 * (uint64_t)(a.size - 1));
  ck_assert_int_eq(a.stats.ended, 0);
  run_with(&a, (struct sim_options){.synchronous = 1});
  check_everybody(&a, LSC_OK, -1, "");
  run_with(&a, (struct sim_options){.seed = 3, .latency = GRACE / 8});
  check_everybody(&a, LSC_OK, -1, "");
  release(&a);
}
END_TEST

START_TEST(test_one_failed) {
  int size = sizes[_i];
  for (int failed = 0; failed < size; failed += 1 + size / 8) {
    struct agreement a = prepare(size);
    a.report[failed] = LSC_IO;
    a.message[failed] = "run.h5: disk full";
    run(&a);
    check_everybody(&a, LSC_IO, failed, "run.h5: disk full");
    a.message[failed] = NULL;
    run(&a);
    check_everybody(&a, LSC_IO, failed, lsc_strerror(LSC_IO));
    release(&a);
  }
}
END_TEST

START_TEST(test_lowest_of_two_failed_wins) {
  struct agreement a = prepare(8);
  a.report[6] = LSC_IO;
  a.message[6] = "six";
  a.report[2] = LSC_HDF5;
  a.message[2] = "two";
  a.lot[2].arrives = SECOND;
  run(&a);
  check_everybody(&a, LSC_HDF5, 2, "two");
  a.report[0] = LSC_NO_MEMORY;
  a.message[0] = "nought";
  run(&a);
  check_everybody(&a, LSC_NO_MEMORY, 0, "nought");
  ck_assert_str_eq(lsc_message(), "nought");
  release(&a);
}
END_TEST

START_TEST(test_reported_timeout_is_apart) {
  struct agreement a = prepare(5);
  a.report[1] = LSC_IO;
  a.message[1] = "one";
  a.report[3] = LSC_TIMEOUT;
  a.message[3] = "rank 3 heard nothing in the scan";
  run(&a);
  check_everybody(&a, LSC_APART, 3, "rank 3 heard nothing in the scan");
  release(&a);
  a = prepare(1);
  a.report[0] = LSC_TIMEOUT;
  run(&a);
  check_everybody(&a, LSC_APART, 0, lsc_strerror(LSC_TIMEOUT));
  release(&a);
}
END_TEST

START_TEST(test_long_message_is_cut_at_a_character) {
  char text[2000];
  struct agreement a = prepare(3);
  memset(text, 'x', sizeof text);
  memcpy(text + 1022, "\xe2\x82\xac", 3);
  text[sizeof text - 1] = 0;
  a.report[2] = LSC_IO;
  a.message[2] = text;
  run(&a);
  text[1022] = 0;
  check_everybody(&a, LSC_IO, 2, text);
  release(&a);
}
END_TEST

START_TEST(test_dead_rank) {
  int size = sizes[_i];
  for (int dead = 1; dead < size; dead += 1 + size / 8) {
    char text[100];
    struct agreement a = prepare(size);
    a.lot[dead].dead = 1;
    run(&a);
    snprintf(text, sizeof text, "rank %d did not arrive at step 'arrive' within 10 s", dead);
    check_everybody(&a, LSC_APART, dead, text);
    ck_assert_int_eq(a.stats.ended, TIMEOUT);
    run_with(&a, (struct sim_options){.synchronous = 1});
    check_everybody(&a, LSC_APART, dead, text);
    ck_assert_int_le(a.stats.ended, TIMEOUT + GRACE);
    release(&a);
  }
}
END_TEST

static void check_missing(const char *list, int size, const int *dead, int count) {
  char text[1200];
  struct agreement a = prepare(size);
  for (int i = 0; i < count; i++) a.lot[dead[i]].dead = 1;
  run(&a);
  snprintf(text, sizeof text, "%s did not arrive at step 'arrive' within 10 s", list);
  check_everybody(&a, LSC_APART, dead[0], text);
  release(&a);
}

START_TEST(test_missing_are_listed) {
  int every_second[30];
  for (int i = 0; i < 30; i++) every_second[i] = 1 + 2 * i;
  check_missing("ranks 3, 5-9 and 12", 16, (const int[]){3, 5, 6, 7, 8, 9, 12}, 7);
  check_missing("ranks 1-2", 3, (const int[]){1, 2}, 2);
  check_missing("ranks 1 and 3", 4, (const int[]){1, 3}, 2);
  check_missing("ranks 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29 and 31", 64, every_second, 16);
  check_missing("ranks 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31 and 14 more", 64, every_second, 30);
}
END_TEST

START_TEST(test_late_rank_finds_the_verdict) {
  struct agreement a = prepare(4);
  a.lot[2].arrives = TIMEOUT + 5 * GRACE;
  run(&a);
  check_everybody(&a, LSC_APART, 2, "rank 2 did not arrive at step 'arrive' within 10 s");
  ck_assert_int_eq(a.done[2], 1);
  ck_assert_int_eq(a.left[0], TIMEOUT);
  ck_assert_int_eq(a.left[2], a.lot[2].arrives);
  release(&a);
}
END_TEST

START_TEST(test_late_within_the_deadline) {
  struct agreement a = prepare(4);
  a.lot[1].arrives = TIMEOUT - 1;
  run(&a);
  check_everybody(&a, LSC_OK, -1, "");
  a.lot[0].arrives = TIMEOUT + GRACE - 1;
  run(&a);
  check_everybody(&a, LSC_OK, -1, "");
  release(&a);
}
END_TEST

START_TEST(test_rank_0_late) {
  struct agreement a = prepare(3);
  a.lot[0].arrives = TIMEOUT + GRACE + 1;
  run(&a);
  check_invariant(&a, "rank 0 late");
  ck_assert_int_eq(a.verdict[0].status, LSC_APART);
  ck_assert_int_eq(a.verdict[0].rank, 1);
  ck_assert_str_eq(a.verdict[0].text, "ranks 1-2 left step 'arrive' before every rank had arrived");
  ck_assert_int_eq(a.left[0], a.lot[0].arrives);
  ck_assert_int_eq(a.verdict[2].rank, 0);
  ck_assert_str_eq(a.verdict[2].text, "rank 2 heard nothing from rank 0 at step 'arrive' for 12 s");
  ck_assert_int_eq(a.left[2], TIMEOUT + GRACE);
  release(&a);
}
END_TEST

START_TEST(test_rank_0_dead) {
  struct agreement a = prepare(5);
  a.lot[0].dead = 1;
  run(&a);
  check_invariant(&a, "rank 0 dead");
  for (int r = 1; r < 5; r++) {
    ck_assert_int_eq(a.verdict[r].status, LSC_APART);
    ck_assert_int_eq(a.verdict[r].rank, 0);
    ck_assert_int_eq(a.left[r], TIMEOUT + GRACE);
  }
  release(&a);
}
END_TEST

START_TEST(test_mute_rank) {
  struct agreement a = prepare(4);
  a.lot[3].mute = 1;
  run(&a);
  check_everybody(&a, LSC_APART, 3, "rank 3 did not arrive at step 'arrive' within 10 s");
  ck_assert_int_eq(a.done[3], 1);
  release(&a);
}
END_TEST

/* Rank 1 gives up in the very moment in which rank 2's report comes, the last one: whoever is first, and both are seen.
 */
START_TEST(test_giving_up_with_the_last_report) {
  int went = 0, apart = 0;
  for (unsigned seed = 0; seed < 200; seed++) {
    struct agreement a = prepare(3);
    a.lot[0].arrives = GRACE + 1;
    a.lot[2].arrives = TIMEOUT + GRACE;
    run_with(&a, (struct sim_options){.seed = seed});
    check_invariant(&a, "same moment");
    if (a.verdict[0].status == LSC_OK) went++;
    else apart++;
    release(&a);
  }
  ck_assert_int_gt(went, 0);
  ck_assert_int_gt(apart, 0);
}
END_TEST

/* Rank 0 dies before it has sent a verdict: all the others are apart, in bounded time. */
START_TEST(test_rank_0_dies_while_it_calls) {
  for (uint64_t after = 1; after <= 4; after++) {
    struct agreement a = prepare(5);
    a.lot[0].dies_after = after;
    run(&a);
    check_invariant(&a, "rank 0 dies");
    for (int r = 1; r < 5; r++) ck_assert_int_eq(a.verdict[r].status, LSC_APART);
    release(&a);
  }
}
END_TEST

/* Rank 0 is stopped between the reports and its verdict, for longer than the others wait: it must not say GO. */
struct stopped {
  struct agreement *a;
  lsc_status (*recv)(struct lsc_coll *, int, int, struct lsc_buffer *, int64_t);
  int heard;
  int64_t for_ns;
};
static struct stopped stopped;

static lsc_status recv_and_stop(struct lsc_coll *coll, int from, int tag, struct lsc_buffer *out, int64_t deadline) {
  lsc_status status = stopped.recv(coll, from, tag, out, deadline);
  if (++stopped.heard == 2 * (coll->size - 1)) sim_sleep(coll, stopped.for_ns);
  return status;
}

static void stopped_body(struct lsc_coll *coll, void *arg) {
  if (coll->rank == 0) {
    stopped.recv = coll->recv;
    coll->recv = recv_and_stop;
  }
  agree_body(coll, arg);
}

START_TEST(test_rank_0_stopped) {
  for (int64_t halves = 0; halves < 12; halves++) {
    struct agreement a = prepare(3);
    struct sim_options options = {.rank = a.lot, .stats = &a.stats};
    stopped = (struct stopped){.for_ns = halves * GRACE / 2};
    ck_assert_int_eq(sim_run(3, stopped_body, &a, &options), 0);
    check_invariant(&a, "rank 0 stopped");
    ck_assert_int_eq(stopped.heard, 4);
    ck_assert_int_eq(a.verdict[0].status, halves <= 4 ? LSC_OK : LSC_APART);
    release(&a);
  }
}
END_TEST

/* Bytes that are no report count as silence. */
static void nonsense_body(struct lsc_coll *coll, void *arg) {
  if (coll->rank == 1) coll->send(coll, 0, LSC_AGREE_TAG, arg, 20, INT64_MAX);
  else ((struct lsc_verdict *)arg)->status = lsc_agree(coll, "arrive", LSC_OK, NULL, TIMEOUT, GRACE, arg);
}

START_TEST(test_nonsense) {
  static const uint32_t words[][5] = {
      {0}, {1, 0, 0, 5, 0}, {1, 0, 0, 1024, 0}, {1, 0, 0, UINT32_MAX, 0}, {77, 0, 0, 4, 0}};
  struct sim_rank lot[2] = {{.arrives = 1}};
  const struct sim_options options = {.rank = lot};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    struct lsc_verdict verdict;
    memset(&verdict, 0, sizeof verdict);
    memcpy(&verdict, words[i], sizeof words[i]);
    ck_assert_int_eq(sim_run(2, nonsense_body, &verdict, &options), 0);
    ck_assert_int_eq(verdict.status, LSC_APART);
    ck_assert_int_eq(verdict.rank, 1);
  }
}
END_TEST

int main(void) {
  TCase *tcase = tcase_create("verdict");
  tcase_set_timeout(tcase, 240);
  tcase_add_loop_test(tcase, test_all_well, 0, SIZES);
  tcase_add_loop_test(tcase, test_one_failed, 0, SIZES);
  tcase_add_test(tcase, test_lowest_of_two_failed_wins);
  tcase_add_test(tcase, test_reported_timeout_is_apart);
  tcase_add_test(tcase, test_long_message_is_cut_at_a_character);
  tcase_add_loop_test(tcase, test_dead_rank, 1, SIZES);
  tcase_add_test(tcase, test_missing_are_listed);
  tcase_add_test(tcase, test_late_rank_finds_the_verdict);
  tcase_add_test(tcase, test_late_within_the_deadline);
  tcase_add_test(tcase, test_rank_0_late);
  tcase_add_test(tcase, test_rank_0_dead);
  tcase_add_test(tcase, test_mute_rank);
  tcase_add_test(tcase, test_giving_up_with_the_last_report);
  tcase_add_test(tcase, test_rank_0_dies_while_it_calls);
  tcase_add_test(tcase, test_rank_0_stopped);
  tcase_add_test(tcase, test_nonsense);
  return unit_run("verdict", tcase);
}
