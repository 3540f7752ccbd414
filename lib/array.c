/* SPDX-License-Identifier: BSD-3-Clause */
#include "array.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

/* Only whole huge pages are asked for, so that no memory behind the end is used. */
void *lsc_array_new(size_t count, size_t size) {
  if (count >= (SIZE_MAX - HUGE_PAGE) / size) return NULL;
  size_t bytes = (count + 1) * size;
  if (bytes < HUGE_PAGE) return malloc(bytes);
  void *memory = aligned_alloc(HUGE_PAGE, (bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1));
#ifdef MADV_HUGEPAGE
  if (memory) madvise(memory, bytes & ~(HUGE_PAGE - 1), MADV_HUGEPAGE);
#endif
  return memory;
}
