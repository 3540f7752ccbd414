/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A list of pointers that only grows and never moves: dense indices, no lock, no cap below 2^32 - 64. All zeros is an
 * empty one. Any number of threads may add and read at the same time.
 */
#ifndef LSC_REGISTRY_H
#define LSC_REGISTRY_H

#include <stdatomic.h>
#include <stdint.h>

#include "lanescope.h"

#define LSC_REGISTRY_SEGMENTS 27
#define LSC_REGISTRY_FIRST 64 /* slots of segment 0; segment k has 2^k times as many */

struct lsc_registry {
  _Atomic uint32_t count; /* indices given out; relaxed: it orders nothing, readers go by the slots */
  _Atomic(_Atomic(void *) *)
      segment[LSC_REGISTRY_SEGMENTS]; /* release by who installs it; acquire by who looks inside */
};

/* Gives the next index; its slot is empty until it is published. LSC_OK, LSC_NO_MEMORY, LSC_LIMIT. */
lsc_status lsc_registry_take(struct lsc_registry *registry, uint32_t *index);
/* Release: pairs with the acquire in lsc_registry_get; publishes what the entry points to. */
void lsc_registry_publish(struct lsc_registry *registry, uint32_t index, void *entry);
/* NULL while the index is not published. */
void *lsc_registry_get(struct lsc_registry *registry, uint32_t index);
uint32_t lsc_registry_count(struct lsc_registry *registry);
/* Frees the segments, not the entries. Nobody else may be using it. */
void lsc_registry_free(struct lsc_registry *registry);

#endif
