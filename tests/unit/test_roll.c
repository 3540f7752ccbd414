/* SPDX-License-Identifier: BSD-3-Clause */
/* Who waits for the others: one finds out who is missing, and one speaks. */
#include "rolls.h"

START_TEST(who_waits_shortly_makes_nothing) {
  enter_folder();
  struct lsc_roll roll;
  begin(&roll, 0, 3);
  roll.limit = 3600 * SECOND;
  wait_in(&roll, 300);
  ck_assert(!is_there(waiting));
  lsc_roll_end(&roll);
  begin(&roll, 0, 1);
  roll.limit = SECOND / 100;
  wait_in(&roll, 300);
  ck_assert_int_eq(roll.entered, 0);
  lsc_roll_end(&roll);
  leave_folder(0);
}
END_TEST

START_TEST(who_sees_others_wait_enters) {
  enter_folder();
  struct lsc_roll first, second;
  come(&first, 2, 3);
  begin(&second, 0, 3);
  second.limit = second.timeout = 3600 * SECOND;
  wait_in(&second, 20000);
  ck_assert_int_ne(second.entered, 0);
  char name[160];
  snprintf(name, sizeof name, "%s/0", waiting);
  ck_assert(is_there(name));
  lsc_roll_end(&second);
  ck_assert(!is_there(name) && is_there(waiting));
  lsc_roll_end(&first);
  ck_assert(!is_there(waiting));
  leave_folder(0);
}
END_TEST

START_TEST(the_first_finds_out_for_all) {
  enter_folder();
  struct lsc_roll one, three;
  come(&one, 1, 6);
  come(&three, 3, 6);
  check_asked(&one, "ranks 0, 2 and 4-5 did not arrive at step 'arrive' within ");
  struct lsc_roll four;
  come(&four, 4, 6);
  check_asked(&three, "ranks 0, 2 and 4-5 did not arrive at step 'arrive' within ");
  check_asked(&four, "ranks 0, 2 and 4-5 did");
  ck_assert_int_eq(lsc_roll_speaks(&three), 1);
  ck_assert_int_eq(lsc_roll_speaks(&one), 0);
  ck_assert_int_eq(lsc_roll_speaks(&four), 0);
  lsc_roll_end(&one);
  lsc_roll_end(&three);
  ck_assert(is_there(waiting));
  lsc_roll_end(&four);
  leave_folder(0);
}
END_TEST

static void (*in_sleep)(void);

int __real_nanosleep(const struct timespec *wanted, struct timespec *left);
int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left);
int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left) {
  if (in_sleep) in_sleep();
  return __real_nanosleep(wanted, left);
}

static void rank_2_enters(void) { put_in("2", "", 0); }

/* A limit so short that nobody has entered: this one gives the others a moment to do so. */
START_TEST(who_comes_at_the_last_moment_counts) {
  enter_folder();
  struct lsc_roll roll;
  begin(&roll, 1, 4);
  in_sleep = rank_2_enters;
  check_asked(&roll, "ranks 0 and 3 did not arrive");
  in_sleep = NULL;
  lsc_roll_end(&roll);
  put_in("2", "", 60);
  come(&roll, 1, 4);
  lsc_roll_end(&roll);
  leave_folder(0);
}
END_TEST

START_TEST(the_step_is_named) {
  enter_folder();
  struct lsc_roll roll;
  begin(&roll, 1, 2);
  lsc_roll_step("create");
  check_asked(&roll, "rank 0 did not arrive at step 'create' within 0");
  lsc_roll_end(&roll);
  leave_folder(0);
}
END_TEST

START_TEST(everybody_is_there) {
  enter_folder();
  struct lsc_roll zero, one;
  come(&zero, 0, 2);
  come(&one, 1, 2);
  check_asked(&one, OWN);
  ck_assert_int_eq(lsc_roll_speaks(&one), 1);
  lsc_roll_end(&one);
  lsc_roll_end(&zero);
  leave_folder(0);
}
END_TEST

START_TEST(what_is_old_does_not_count) {
  enter_folder();
  ck_assert_int_eq(mkdir(waiting, 0777), 0);
  put_in("0", "", 60);
  put_in("2", "", 3);
  put_in("missing", "rank 9 did not arrive\n", 60);
  put_in("spoken", "", 60);
  put_rank(3, 60);
  struct lsc_roll roll;
  come(&roll, 1, 5);
  put_in("4", "", 0);
  check_asked(&roll, "ranks 0 and 2-3 did not arrive");
  ck_assert_int_eq(lsc_roll_speaks(&roll), 1);
  lsc_roll_end(&roll);
  ck_assert(is_there(waiting));
  put_in("4", "", 60);
  come(&roll, 1, 5);
  lsc_roll_end(&roll);
  leave_folder(1);
}
END_TEST

START_TEST(an_entry_is_touched_while_its_rank_waits) {
  enter_folder();
  struct lsc_roll one;
  come(&one, 1, 2);
  put_in("1", "", 60);
  for (int turn = 0; turn < 1000; turn++) {
    lsc_roll_wait(turn == 0);
    pause_ms(1);
  }
  struct lsc_roll zero;
  come(&zero, 0, 2);
  check_asked(&zero, OWN);
  lsc_roll_end(&one);
  lsc_roll_end(&zero);
  leave_folder(0);
}
END_TEST

/* What ranks that are gone have left: others were there before this one came, or gave up while it waited. */
START_TEST(files_of_ranks_count) {
  enter_folder();
  for (int turn = 0; turn < 3; turn++) {
    struct lsc_roll roll, other;
    pause_ms(50);
    if (turn == 0) put_rank(2, 0);
    pause_ms(50);
    begin(&roll, 1, 4);
    if (turn == 1) put_rank(2, 0);
    pause_ms(50);
    wait_in(&roll, 20000);
    pause_ms(50);
    if (turn == 2) put_rank(2, 0);
    check_asked(&roll, "ranks 0 and 3 did not arrive");
    come(&other, 3, 4);
    check_asked(&other, "ranks 0 and 3 did not arrive");
    ck_assert_int_eq(lsc_roll_speaks(&other), turn == 2);
    ck_assert_int_eq(lsc_roll_speaks(&roll), 0);
    lsc_roll_end(&roll);
    lsc_roll_end(&other);
  }
  leave_folder(1);
}
END_TEST

/* Rank 0 knows by itself who is missing; it is silent if others had gone when it came. */
START_TEST(a_verdict_stays) {
  enter_folder();
  for (int is_late = 0; is_late < 2; is_late++) {
    char text[1024] = "the verdict";
    struct lsc_roll roll = {.path = path, .size = 4, .opened = opened, .limit = SECOND, .timeout = SECOND};
    if (is_late) pause_ms(100);
    lsc_roll_begin(&roll);
    if (!is_late) pause_ms(100);
    if (!is_late) put_rank(2, 0);
    pause_ms(50);
    ck_assert_int_eq(lsc_roll_ask(&roll, 1, text, sizeof text), 1);
    ck_assert_str_eq(text, "the verdict");
    struct lsc_roll other;
    come(&other, 1, 4);
    check_asked(&other, "the verdict");
    ck_assert_int_eq(lsc_roll_speaks(&roll), !is_late);
    lsc_roll_end(&other);
    lsc_roll_end(&roll);
  }
  leave_folder(1);
}
END_TEST

START_TEST(nobody_writes_down_who_is_missing) {
  enter_folder();
  struct lsc_roll roll;
  come(&roll, 1, 2);
  put_in("missing", "rank 0 did not arr", 0);
  check_asked(&roll, OWN);
  ck_assert_int_eq(lsc_roll_speaks(&roll), 1);
  lsc_roll_end(&roll);
  leave_folder(0);
}
END_TEST

START_TEST(a_folder_that_is_gone_is_made_again) {
  enter_folder();
  struct lsc_roll roll;
  come(&roll, 1, 2);
  char name[160];
  snprintf(name, sizeof name, "%s/1", waiting);
  ck_assert_int_eq(unlink(name), 0);
  ck_assert_int_eq(rmdir(waiting), 0);
  check_asked(&roll, "rank 0 did not arrive");
  ck_assert_int_eq(lsc_roll_speaks(&roll), 1);
  lsc_roll_end(&roll);
  leave_folder(0);
}
END_TEST

/* As where a signal's handler collects another session. */
START_TEST(one_within_another) {
  enter_folder();
  struct lsc_roll outer, inner;
  begin(&outer, 1, 3);
  begin(&inner, 1, 3);
  lsc_roll_end(&inner);
  wait_in(&outer, 2000);
  ck_assert_int_eq(is_there(waiting), 1);
  lsc_roll_end(&outer);
  leave_folder(0);
}
END_TEST

UNIT_MAIN("roll", who_waits_shortly_makes_nothing, who_sees_others_wait_enters, the_first_finds_out_for_all,
          who_comes_at_the_last_moment_counts, the_step_is_named, everybody_is_there, what_is_old_does_not_count,
          an_entry_is_touched_while_its_rank_waits, files_of_ranks_count, a_verdict_stays,
          nobody_writes_down_who_is_missing, a_folder_that_is_gone_is_made_again, one_within_another)
