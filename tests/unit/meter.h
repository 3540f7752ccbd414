/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What each simulated rank has on the heap, counted where the program asks for it: a program with meter.c is linked
 * with meter_wraps, which lead its malloc, calloc, realloc and free here. A block counts with malloc_usable_size for
 * the rank whose body runs; what the simulation itself allocates counts for nobody.
 */
#ifndef METER_H
#define METER_H

#include <stdint.h>

struct meter {
  int64_t now, peak; /* bytes */
};

/* Counts into meter[rank], all zeros, from now on; NULL: no more. */
void meter_start(struct meter *meter);

#endif
