/* SPDX-License-Identifier: BSD-3-Clause */
/* The regions of the process: never removed, ids dense from 0. */
#ifndef LSC_REGION_H
#define LSC_REGION_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "hidden.h"
#include "lanescope.h"

/* What is known of a region. Strings live as long as the process; NULL where nobody gave one. */
struct lsc_region_view {
  const char *name;
  size_t name_length;
  const char *source_file, *source_text, *tags;
  int64_t source_line; /* -1 unknown */
};
/* region: an id that lsc_region gave. */
struct lsc_region_view lsc_region_get(lsc_region_id region);
/* Relaxed: a bound for ids. Who was given an id, or finds its region in the table, does so behind the store, and what
 * an id leads to is published by the registry. */
extern LSC_HIDDEN _Atomic uint32_t lsc_regions_used;
static inline uint32_t lsc_region_count(void) { return atomic_load_explicit(&lsc_regions_used, memory_order_relaxed); }

/* 1 if the bytes are UTF-8 without NUL, at most LSC_MAX_NAME. Source: RFC 3629, section 4. */
int lsc_name_is_valid(const char *text, size_t length);

/* Held over fork(). */
void lsc_region_lock(void);
void lsc_region_unlock(void);

#endif
