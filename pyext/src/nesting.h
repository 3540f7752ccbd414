/* SPDX-License-Identifier: BSD-3-Clause */
/* Nesting of calls, from their times alone or from recorded parents. Plain C without Python: called without the GIL. */
#ifndef LSC_NESTING_H
#define LSC_NESTING_H

#include <stddef.h>
#include <stdint.h>

#define LSC_NO_PARENT ((int64_t)-1)
/* The lane of calls whose thread is unknown: no stack, so nothing nests there. */
#define LSC_NO_STACK ((int64_t)-1)

typedef enum lsc_nesting_status {
  LSC_NESTED,
  LSC_NOT_NESTED, /* two calls of one lane overlap and neither holds the other */
  LSC_BACKWARDS,  /* a call ends before it starts */
  LSC_NO_SUCH_ROW,
  LSC_IN_A_CIRCLE,
  LSC_NESTING_NO_MEMORY
} lsc_nesting_status;

/* The rows at fault: the one call, or outer and inner. */
struct lsc_nesting_fault {
  size_t first, second;
};

/*
 * Finds for each of `count` calls the innermost call around it on its lane: parents[i] is its row or LSC_NO_PARENT,
 * depths[i] how many are around it. A call is around another if it begins no later, ends no earlier, and ends after the
 * other begins: calls that touch are siblings. Of equal ones the one with the smaller row is outer. O(n log n) over all
 * lanes together. LSC_NESTED; LSC_NOT_NESTED; LSC_BACKWARDS; LSC_NESTING_NO_MEMORY.
 */
lsc_nesting_status lsc_nest(size_t count, const int64_t *starts, const int64_t *ends, const int64_t *lanes,
                            int64_t *parents, uint32_t *depths, struct lsc_nesting_fault *fault);

/*
 * depths[i]: how many calls are around call i, by the rows of their parents (LSC_NO_PARENT: none), which may stand in
 * any order. O(n). LSC_NESTED; LSC_NO_SUCH_ROW: a parent is no row; LSC_IN_A_CIRCLE.
 */
lsc_nesting_status lsc_nesting_depths(size_t count, const int64_t *parents, uint32_t *depths,
                                      struct lsc_nesting_fault *fault);

#endif
