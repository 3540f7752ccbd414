/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits that the program cuts short: who is asked when, and what becomes of deadlines. */
#include <stdint.h>

#include "interrupt.h"
#include "lanescope.h"
#include "unit.h"

#define FAR INT64_MAX

/* What the program says, and how often it was asked. */
struct program {
  int answer, asked;
};

static int ask(void *context) {
  struct program *program = context;
  program->asked++;
  return program->answer;
}

static lsc_save_options options_of(struct program *program) {
  return (lsc_save_options){.size = sizeof(lsc_save_options), .timeout = 500, .interrupted = ask,
                            .interrupted_context = program};
}

/* As when a while has passed since the last look. */
static void look(struct lsc_interrupt *interrupt) {
  interrupt->next_look = 0;
  lsc_interrupt_look();
}

static void check_is_grace_from_now(int64_t before) {
  int64_t grace = 7000000000, cut = lsc_interrupt_deadline(FAR);
  ck_assert_int_ge(cut, before + grace);
  ck_assert_int_le(cut, lsc_now_ns() + grace);
}

START_TEST(nobody_interrupts) {
  struct lsc_interrupt interrupt;
  const lsc_save_options options = {.size = sizeof options};
  lsc_interrupt_look();
  lsc_interrupt_firm(1);
  ck_assert_int_eq(lsc_interrupt_deadline(FAR), FAR);
  lsc_interrupt_begin(&interrupt, &options);
  look(&interrupt);
  ck_assert_int_eq(lsc_interrupt_deadline(FAR), FAR);
  lsc_interrupt_end(&interrupt);
}
END_TEST

START_TEST(an_answer_cuts_deadlines_to_the_grace) {
  struct program program = {0, 0};
  struct lsc_interrupt interrupt;
  lsc_save_options options = options_of(&program);
  setenv("LANESCOPE_GRACE", "7", 1);
  lsc_interrupt_begin(&interrupt, &options);
  interrupt.next_look = FAR;
  lsc_interrupt_look();
  ck_assert_int_eq(program.asked, 0);
  look(&interrupt);
  ck_assert_int_eq(program.asked, 1);
  ck_assert_int_gt(interrupt.next_look, 0);
  ck_assert_int_eq(lsc_interrupt_deadline(FAR), FAR);
  program.answer = 1;
  int64_t before = lsc_now_ns();
  look(&interrupt);
  check_is_grace_from_now(before);
  ck_assert_int_eq(lsc_interrupt_deadline(before), before);
  look(&interrupt);
  ck_assert_int_eq(program.asked, 2);
  lsc_interrupt_end(&interrupt);
  ck_assert_int_eq(lsc_interrupt_deadline(FAR), FAR);
}
END_TEST

START_TEST(what_is_firm_is_not_cut) {
  struct program program = {1, 0};
  struct lsc_interrupt interrupt;
  lsc_save_options options = options_of(&program);
  setenv("LANESCOPE_GRACE", "7", 1);
  lsc_interrupt_begin(&interrupt, &options);
  lsc_interrupt_firm(1);
  look(&interrupt);
  ck_assert_int_eq(program.asked, 0);
  lsc_interrupt_firm(0);
  look(&interrupt);
  ck_assert_int_lt(lsc_interrupt_deadline(FAR), FAR);
  lsc_interrupt_firm(1);
  ck_assert_int_eq(lsc_interrupt_deadline(FAR), FAR);
  interrupt.latest = 1;
  int64_t before = lsc_now_ns();
  lsc_interrupt_firm(0);
  check_is_grace_from_now(before);
  lsc_interrupt_end(&interrupt);
}
END_TEST

START_TEST(one_within_another) {
  struct program outer = {1, 0}, inner = {0, 0};
  struct lsc_interrupt first, second;
  lsc_save_options options = options_of(&outer);
  lsc_interrupt_begin(&first, &options);
  look(&first);
  options = options_of(&inner);
  lsc_interrupt_begin(&second, &options);
  ck_assert_int_eq(lsc_interrupt_deadline(FAR), FAR);
  look(&second);
  lsc_interrupt_end(&second);
  ck_assert_int_eq(outer.asked, 1);
  ck_assert_int_eq(inner.asked, 1);
  ck_assert_int_lt(lsc_interrupt_deadline(FAR), FAR);
  lsc_interrupt_end(&first);
}
END_TEST

UNIT_MAIN("interrupt", nobody_interrupts, an_answer_cuts_deadlines_to_the_grace, what_is_firm_is_not_cut,
          one_within_another)
