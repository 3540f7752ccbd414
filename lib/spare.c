/* SPDX-License-Identifier: BSD-3-Clause */
#include "spare.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#define BLOCKS 8

static alignas(max_align_t) unsigned char blocks[BLOCKS][LSC_SPARE_BYTES];
static atomic_int taken[BLOCKS];

/* The acquire pairs with the release of who gave the block back: what that one wrote there is over. */
void *lsc_spare_take(size_t size) {
  for (int i = 0; size <= LSC_SPARE_BYTES && i < BLOCKS; i++) {
    int is_free = 0;
    if (atomic_compare_exchange_strong_explicit(&taken[i], &is_free, 1, memory_order_acquire, memory_order_relaxed)) {
      return blocks[i];
    }
  }
  return NULL;
}

static size_t offset_of(const void *memory) { return (size_t)((uintptr_t)memory - (uintptr_t)blocks); }

int lsc_spare_is(const void *memory) { return offset_of(memory) < sizeof blocks; }

void lsc_spare_free(void *memory) {
  if (lsc_spare_is(memory)) atomic_store_explicit(&taken[offset_of(memory) / LSC_SPARE_BYTES], 0, memory_order_release);
  else free(memory);
}
