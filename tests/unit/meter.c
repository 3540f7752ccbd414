/* SPDX-License-Identifier: BSD-3-Clause */
#include "meter.h"

#include <malloc.h>
#include <stdlib.h>

#include "sim.h"

static struct meter *meters;

void meter_start(struct meter *meter) { meters = meter; }

static void count(int64_t bytes) {
  int rank = meters ? sim_running() : -1;
  if (rank < 0) return;
  meters[rank].now += bytes;
  if (meters[rank].now > meters[rank].peak) meters[rank].peak = meters[rank].now;
}

static int64_t size_of(void *block) { return block ? (int64_t)malloc_usable_size(block) : 0; }

void *__real_malloc(size_t size);
void *__real_calloc(size_t items, size_t size);
void *__real_realloc(void *block, size_t size);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t items, size_t size);
void *__wrap_realloc(void *block, size_t size);
void __wrap_free(void *block);

void *__wrap_malloc(size_t size) {
  void *block = __real_malloc(size);
  count(size_of(block));
  return block;
}

void *__wrap_calloc(size_t items, size_t size) {
  void *block = __real_calloc(items, size);
  count(size_of(block));
  return block;
}

/* Both blocks count for a moment, as they may both be there. */
void *__wrap_realloc(void *block, size_t size) {
  int64_t before = size_of(block);
  void *moved = __real_realloc(block, size);
  if (!moved) return NULL;
  count(size_of(moved));
  count(-before);
  return moved;
}

void __wrap_free(void *block) {
  count(-size_of(block));
  __real_free(block);
}
