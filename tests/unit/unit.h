/* SPDX-License-Identifier: BSD-3-Clause */
/* What the unit tests share: one Check suite a program, and threads that fail the test when they cannot start. */
#ifndef UNIT_H
#define UNIT_H

#include <check.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* GCC says by macros what it builds with, Clang by features. */
#if defined(__has_feature)
#define UNIT_HAS_FEATURE(name) __has_feature(name)
#else
#define UNIT_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || UNIT_HAS_FEATURE(address_sanitizer)
#define UNIT_ADDRESS_SANITIZED 1
#else
#define UNIT_ADDRESS_SANITIZED 0
#endif

#if defined(__SANITIZE_THREAD__) || UNIT_HAS_FEATURE(thread_sanitizer)
#define UNIT_THREAD_SANITIZED 1
#else
#define UNIT_THREAD_SANITIZED 0
#endif

/* Sanitizers keep freed memory back, so that the process's size says nothing. */
#define UNIT_SANITIZED (UNIT_ADDRESS_SANITIZED || UNIT_THREAD_SANITIZED)

#define UNIT_SKIPPED 77 /* exit status of a program that did not test anything */

/* ThreadSanitizer forgets a thread before the last round of its destructors: no instrumented code may run there. */
#define UNIT_DESTRUCTOR_ROUNDS (PTHREAD_DESTRUCTOR_ITERATIONS - UNIT_THREAD_SANITIZED)

#define UNIT_TIMEOUT 120 /* seconds a test may take before it has hung */

/* How much a stress test does: LANESCOPE_STRESS is "full", unset, or "little", which is also for builds with
 * sanitizers. */
static inline long unit_amount(long full, long usual, long little) {
  const char *wanted = getenv("LANESCOPE_STRESS");
  if (wanted && strcmp(wanted, "full") == 0) return full;
  return UNIT_SANITIZED || (wanted && strcmp(wanted, "little") == 0) ? little : usual;
}

/* ck_assert for loops of millions: that one writes to a file each time it is passed. */
#define unit_must(condition) ((condition) ? (void)0 : ck_abort_msg("not true: %s", #condition))

/* Runs a case, as a suite of its name: the exit status of the program. */
static inline int unit_run(const char *name, TCase *tcase) {
  Suite *suite = suite_create(name);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* A case of these tests, each of which has as long as a full stress test may take. */
static inline TCase *unit_case(const char *name, const TTest *const *tests, size_t count) {
  TCase *tcase = tcase_create(name);
  tcase_set_timeout(tcase, unit_amount(5, 1, 1) * UNIT_TIMEOUT);
  for (size_t i = 0; i < count; i++) tcase_add_test(tcase, tests[i]);
  return tcase;
}

/* main() of a program whose tests are listed by name. */
#define UNIT_MAIN(name, ...)                                                          \
  int main(void) {                                                                    \
    const TTest *tests[] = {__VA_ARGS__};                                             \
    return unit_run(name, unit_case(name, tests, sizeof tests / sizeof *tests));      \
  }

/* Likewise; each test is preceded by setup() and followed by teardown(). */
#define UNIT_MAIN_AROUND(name, setup, teardown, ...)                                  \
  int main(void) {                                                                    \
    const TTest *tests[] = {__VA_ARGS__};                                             \
    TCase *tcase = unit_case(name, tests, sizeof tests / sizeof *tests);              \
    tcase_add_checked_fixture(tcase, setup, teardown);                                \
    return unit_run(name, tcase);                                                     \
  }

/* Memory of the process that is there, in KiB. */
static inline long unit_resident_kib(void) {
  long pages = 0, ignored;
  FILE *file = fopen("/proc/self/statm", "r");
  ck_assert_ptr_nonnull(file);
  ck_assert_int_eq(fscanf(file, "%ld %ld", &ignored, &pages), 2);
  fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static inline pthread_t unit_start(void *(*body)(void *), void *argument) {
  pthread_t thread;
  ck_assert_int_eq(pthread_create(&thread, NULL, body, argument), 0);
  return thread;
}

#endif
