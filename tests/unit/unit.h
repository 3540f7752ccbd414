/* SPDX-License-Identifier: BSD-3-Clause */
/* What the unit tests share: one Check suite a program, and threads that fail the test when they cannot start. */
#ifndef UNIT_H
#define UNIT_H

#include <check.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

/* Sanitizers keep freed memory back, so that the process's size says nothing. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNIT_SANITIZED 1
#else
#define UNIT_SANITIZED 0
#endif

#define UNIT_TIMEOUT 120 /* seconds a test may take before it has hung */

/* main() of a program whose tests are listed by name. */
#define UNIT_MAIN(name, ...)                                                     \
  int main(void) {                                                               \
    const TTest *tests[] = {__VA_ARGS__};                                        \
    TCase *tcase = tcase_create(name);                                           \
    tcase_set_timeout(tcase, UNIT_TIMEOUT);                                      \
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) tcase_add_test(tcase, tests[i]); \
    Suite *suite = suite_create(name);                                           \
    suite_add_tcase(suite, tcase);                                               \
    SRunner *runner = srunner_create(suite);                                     \
    srunner_run_all(runner, CK_NORMAL);                                          \
    int failed = srunner_ntests_failed(runner);                                  \
    srunner_free(runner);                                                        \
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;                                 \
  }

static inline pthread_t unit_start(void *(*body)(void *), void *argument) {
  pthread_t thread;
  ck_assert_int_eq(pthread_create(&thread, NULL, body, argument), 0);
  return thread;
}

#endif
