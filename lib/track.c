/* SPDX-License-Identifier: BSD-3-Clause */
#include "track.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "task.h"
#include "test_point.h"

#define FIRST_FRAMES 8

struct lsc_track *lsc_track_new(struct lsc_chunk_source *source, int known) {
  struct lsc_track *track = calloc(1, sizeof *track);
  if (!track) return NULL;
  track->stack = &track->own;
  track->source = source;
  track->native_id = (pid_t)syscall(SYS_gettid);
  track->ident = (int64_t)(uintptr_t)pthread_self();
  if (!known || pthread_getcpuclockid(pthread_self(), &track->cpu_clock)) track->cpu_clock = CLOCK_MONOTONIC;
  track->start_ticks = lsc_ticks();
  atomic_init(&track->references, 2);
  lsc_slab_hold(source);
  return track;
}

static void free_chunks(struct lsc_track *track) {
  struct lsc_chunk *chunk = atomic_load_explicit(&track->first, memory_order_relaxed);
  while (chunk) {
    struct lsc_chunk *next = atomic_load_explicit(&chunk->next, memory_order_relaxed);
    lsc_chunk_free(track->source, chunk);
    chunk = next;
  }
}

void lsc_track_release(struct lsc_track *track) {
  if (atomic_fetch_sub_explicit(&track->references, 1, memory_order_acq_rel) != 1) return;
  struct lsc_thread_label *label = atomic_load_explicit(&track->label, memory_order_relaxed);
  while (label) {
    struct lsc_thread_label *older = label->older;
    free(label);
    label = older;
  }
  free_chunks(track);
  lsc_stack_free(&track->own);
  lsc_task_free_running(track);
  free(track->carried);
  lsc_slab_release(track->source);
  free(track);
}

static int grow_stack(struct lsc_stack *stack) {
  uint32_t wanted = stack->capacity ? 2 * stack->capacity : FIRST_FRAMES;
  if (wanted > INT32_MAX) return 0;
  struct lsc_row **larger = realloc(stack->frame, wanted * sizeof *larger);
  if (!larger) return 0;
  stack->frame = larger;
  stack->capacity = wanted;
  return 1;
}

static void free_muted(struct lsc_muted *muted) {
  while (muted) {
    struct lsc_muted *next = muted->next;
    free(muted);
    muted = next;
  }
}

static void spare_ended(struct lsc_stack *stack) {
  struct lsc_muted *muted;
  while ((muted = stack->muted) && atomic_load_explicit(&muted->row.end, memory_order_relaxed)) {
    stack->muted = muted->next;
    muted->next = stack->spare_muted;
    stack->spare_muted = muted;
  }
}

int lsc_stack_mute(struct lsc_stack *stack, uint32_t region) {
  spare_ended(stack);
  if (stack->depth == stack->capacity && !grow_stack(stack)) return 0;
  struct lsc_muted *muted = stack->spare_muted;
  if (muted) stack->spare_muted = muted->next;
  else if (!(muted = malloc(sizeof *muted))) return 0;
  muted->row = (struct lsc_row){.region = region};
  muted->next = stack->muted;
  stack->muted = muted;
  stack->frame[stack->depth++] = &muted->row;
  return 1;
}

void lsc_stack_free(struct lsc_stack *stack) {
  free_muted(stack->muted);
  free_muted(stack->spare_muted);
  free(stack->frame);
  free(stack->held);
  memset(stack, 0, sizeof *stack);
}

/* A slot in which no call with its note fits stays empty, outside the capacity. */
static void leave_last_slot(struct lsc_track *track) {
  lsc_chunk_limit(track->source, track->chunk, (uint32_t)(track->next - lsc_chunk_rows(track->chunk)));
}

static int add_chunk(struct lsc_track *track) {
  struct lsc_chunk *old = track->chunk;
  size_t bytes = old ? lsc_chunk_next_size(old->bytes) : LSC_CHUNK_SMALL;
  struct lsc_chunk *chunk = lsc_chunk_new(track->source, bytes, track->thread, old ? old->sequence + 1 : 0);
  if (!chunk) return 0;
  if (old && track->next != track->limit) leave_last_slot(track);
  track->chunk = chunk;
  track->next = lsc_chunk_rows(chunk);
  track->limit = track->next + atomic_load_explicit(&chunk->capacity, memory_order_relaxed);
  LSC_TEST_POINT("chunk made");
  if (old)
    atomic_store_explicit(&old->next, chunk, memory_order_release);
  else
    atomic_store_explicit(&track->first, chunk, memory_order_release);
  LSC_TEST_POINT("chunk published");
  lsc_clock_touch();
  return 1;
}

int lsc_track_grow(struct lsc_track *track) {
  uint64_t begin = lsc_ticks();
  int grown = (track->stack->depth < track->stack->capacity || grow_stack(track->stack)) &&
              (track->limit - track->next > (track->task != 0) || add_chunk(track));
  uint64_t spent = atomic_load_explicit(&track->slow_ticks, memory_order_relaxed) + (lsc_ticks() - begin);
  atomic_store_explicit(&track->slow_ticks, spent, memory_order_relaxed);
  return grown;
}

/* The CPU time of the calling thread, -1 if it is not known. */
static int64_t own_cpu_ns(void) {
  struct timespec cpu;
  return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu) ? -1 : (int64_t)cpu.tv_sec * 1000000000 + cpu.tv_nsec;
}

void lsc_track_over(struct lsc_track *track) {
  if (atomic_load_explicit(&track->over_ticks, memory_order_relaxed)) return;
  track->over_cpu_ns = own_cpu_ns();
  atomic_store_explicit(&track->over_ticks, lsc_ticks(), memory_order_release);
}

void lsc_track_end(struct lsc_track *track) {
  uint64_t over = atomic_load_explicit(&track->over_ticks, memory_order_relaxed);
  track->cpu_ns = over ? track->over_cpu_ns : own_cpu_ns();
  prctl(PR_GET_NAME, track->os_name);
  track->end_ticks = over ? over : lsc_ticks();
  if (track->chunk)
    lsc_chunk_shrink(track->source, track->chunk, (uint32_t)(track->next - lsc_chunk_rows(track->chunk)));
  LSC_TEST_POINT("thread shrunk");
  track->next = track->limit = NULL;
  lsc_stack_free(&track->own);
  atomic_store_explicit(&track->ended, 1, memory_order_release);
}

lsc_status lsc_track_describe(struct lsc_track *track, const char *name, size_t length, int64_t ident, int daemon) {
  struct lsc_thread_label *label = malloc(sizeof *label + length + 1);
  if (!label) return LSC_NO_MEMORY;
  label->older = atomic_load_explicit(&track->label, memory_order_relaxed);
  label->ident = ident;
  label->daemon = daemon != 0;
  memcpy(label->name, name, length);
  label->name[length] = '\0';
  atomic_store_explicit(&track->label, label, memory_order_release);
  return LSC_OK;
}
