/* SPDX-License-Identifier: BSD-3-Clause */
#include "registry.h"

#include <stdlib.h>

typedef _Atomic(void *) slot;

static unsigned segment_of(uint32_t index, uint32_t *offset) {
  uint32_t shifted = index + LSC_REGISTRY_FIRST;
  unsigned top = 31u - (unsigned)__builtin_clz(shifted);
  *offset = shifted - (1u << top);
  return top - (31u - (unsigned)__builtin_clz(LSC_REGISTRY_FIRST));
}

/* The segment, installed by whoever comes first. */
static slot *ensure_segment(struct lsc_registry *registry, unsigned k) {
  slot *present = atomic_load_explicit(&registry->segment[k], memory_order_acquire);
  if (present) return present;
  slot *fresh = calloc((size_t)LSC_REGISTRY_FIRST << k, sizeof *fresh);
  if (!fresh) return NULL;
  if (atomic_compare_exchange_strong_explicit(&registry->segment[k], &present, fresh, memory_order_acq_rel,
                                              memory_order_acquire))
    return fresh;
  free(fresh);
  return present;
}

/*
 * The segment is made sure of before its index is taken, so that an index once taken is always published and a reader
 * never waits for a slot that will stay empty. The count orders nothing (relaxed): readers go by the slots.
 */
lsc_status lsc_registry_take(struct lsc_registry *registry, uint32_t *index) {
  uint32_t next = atomic_load_explicit(&registry->count, memory_order_relaxed), offset;
  do {
    if (next >= UINT32_MAX - LSC_REGISTRY_FIRST) return LSC_LIMIT;
    if (!ensure_segment(registry, segment_of(next, &offset))) return LSC_NO_MEMORY;
  } while (!atomic_compare_exchange_weak_explicit(&registry->count, &next, next + 1, memory_order_relaxed,
                                                  memory_order_relaxed));
  *index = next;
  return LSC_OK;
}

void lsc_registry_publish(struct lsc_registry *registry, uint32_t index, void *entry) {
  uint32_t offset;
  slot *segment = atomic_load_explicit(&registry->segment[segment_of(index, &offset)], memory_order_acquire);
  atomic_store_explicit(&segment[offset], entry, memory_order_release);
}

void *lsc_registry_get(struct lsc_registry *registry, uint32_t index) {
  uint32_t offset;
  slot *segment = atomic_load_explicit(&registry->segment[segment_of(index, &offset)], memory_order_acquire);
  return segment ? atomic_load_explicit(&segment[offset], memory_order_acquire) : NULL;
}

uint32_t lsc_registry_count(struct lsc_registry *registry) {
  return atomic_load_explicit(&registry->count, memory_order_relaxed);
}

void lsc_registry_free(struct lsc_registry *registry) {
  for (unsigned k = 0; k < LSC_REGISTRY_SEGMENTS; k++)
    free((void *)atomic_load_explicit(&registry->segment[k], memory_order_relaxed));
}
