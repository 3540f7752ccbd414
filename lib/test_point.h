/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places where the order of two threads matters. In a test build (LSC_TEST_POINTS) each calls the test, which may keep
 * the thread there; elsewhere they are nothing.
 */
#ifndef LSC_TEST_POINT_H
#define LSC_TEST_POINT_H

#if defined(LSC_TEST_POINTS)
/* Defined by the test. Called by any thread. */
void lsc_test_point(const char *name);
#define LSC_TEST_POINT(name) lsc_test_point(name)
#else
#define LSC_TEST_POINT(name) ((void)0)
#endif

#endif
