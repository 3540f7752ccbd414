/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a collect needs of memory beside what was recorded, counted where the library asks for it: sessions of very many
 * tasks, of very many threads, and of plain calls. HDF5's own memory is not counted.
 */
#include <malloc.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "lanescope_file.h"
#include "unit.h"

#define TASKS 60000
#define THREADS 40000
#define CALLS 2000000
#define REGIONS 3

void *__real_malloc(size_t size);
void *__real_calloc(size_t items, size_t size);
void *__real_realloc(void *block, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *block);
void *__real_mmap(void *where, size_t size, int protection, int flags, int file, off_t offset);
int __real_munmap(void *from, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t items, size_t size);
void *__wrap_realloc(void *block, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *block);
void *__wrap_mmap(void *where, size_t size, int protection, int flags, int file, off_t offset);
int __wrap_munmap(void *from, size_t size);

static _Atomic int64_t now, peak; /* bytes */

static void count(int64_t bytes) {
  int64_t after = atomic_fetch_add(&now, bytes) + bytes, most = atomic_load(&peak);
  while (after > most && !atomic_compare_exchange_weak(&peak, &most, after)) continue;
}

static int64_t size_of(void *block) { return block ? (int64_t)malloc_usable_size(block) : 0; }

static void *counted(void *block) {
  count(size_of(block));
  return block;
}

void *__wrap_malloc(size_t size) { return counted(__real_malloc(size)); }
void *__wrap_calloc(size_t items, size_t size) { return counted(__real_calloc(items, size)); }
void *__wrap_aligned_alloc(size_t alignment, size_t size) { return counted(__real_aligned_alloc(alignment, size)); }

/* A block that moves is there twice for a moment. */
void *__wrap_realloc(void *block, size_t size) {
  int64_t before = size_of(block);
  uintptr_t from = (uintptr_t)block;
  void *moved = __real_realloc(block, size);
  if (!moved) return NULL;
  if ((uintptr_t)moved == from) {
    count(size_of(moved) - before);
  } else {
    count(size_of(moved));
    count(-before);
  }
  return moved;
}

void __wrap_free(void *block) {
  count(-size_of(block));
  __real_free(block);
}

/* Never a peak by itself: it takes no memory before it is touched, and HDF5 is opened only where some can be had. */
void *__wrap_mmap(void *where, size_t size, int protection, int flags, int file, off_t offset) {
  void *memory = __real_mmap(where, size, protection, flags, file, offset);
  if (memory != MAP_FAILED) atomic_fetch_add(&now, (int64_t)size);
  return memory;
}

int __wrap_munmap(void *from, size_t size) {
  atomic_fetch_sub(&now, (int64_t)size);
  return __real_munmap(from, size);
}

static lsc_session session;
static lsc_region_id region[REGIONS];

static void call(long number) {
  unit_must(lsc_begin(session, region[number % REGIONS]) == LSC_OK);
  unit_must(lsc_end(session, region[number % REGIONS]) == LSC_OK);
}

static void record_tasks(void) {
  for (long i = 0; i < TASKS; i++) {
    char name[32];
    lsc_task task;
    snprintf(name, sizeof name, "task %ld", i);
    unit_must(lsc_task_open(session, "fiber", name, "run", &task) == LSC_OK);
    unit_must(lsc_task_enter(task) == LSC_OK);
    call(i);
    unit_must(lsc_task_leave(task) == LSC_OK && lsc_task_finish(task) == LSC_OK);
  }
}

static void *run_thread(void *number) {
  char name[32];
  snprintf(name, sizeof name, "worker %ld", (long)(intptr_t)number);
  unit_must(lsc_thread_describe(session, name, (intptr_t)number, 0) == LSC_OK);
  call((intptr_t)number);
  return NULL;
}

static void record_threads(void) {
  for (long i = 0; i < THREADS; i++) pthread_join(unit_start(run_thread, (void *)(intptr_t)i), NULL);
}

static void record_calls(void) {
  for (long i = 0; i < CALLS; i++) call(i);
}

/* The peak of the collect by what was there when it began, without what was there before the recording. */
static double measure(void (*record)(void), int level, int with_report) {
  char path[] = "/tmp/lanescope-footprint-XXXXXX";
  lsc_report *report = NULL;
  const lsc_save_options options = {.size = sizeof options, .replace = 1, .quiet = 1, .compress = level,
                                    .report = with_report ? &report : NULL};
  int file = mkstemp(path);
  unit_must(file >= 0 && close(file) == 0);
  for (int i = 0; i < REGIONS; i++) {
    char name[] = {(char)('a' + i), 0};
    unit_must(lsc_region(name, &region[i]) == LSC_OK);
  }
  int64_t before = atomic_load(&now);
  unit_must(lsc_session_open(NULL, &session) == LSC_OK);
  record();
  int64_t recorded = atomic_load(&now) - before;
  atomic_store(&peak, atomic_load(&now));
  unit_must(lsc_write(session, path, &options) == LSC_OK);
  double part = (double)(atomic_load(&peak) - before) / (double)recorded;
  lsc_report_free(report);
  lsc_session_close(session);
  unlink(path);
  return part;
}

static void check(void (*record)(void), double plain, double compressed) {
  if (UNIT_SANITIZED) return; /* their allocators are others */
  for (int level = 0; level <= 1; level++)
    for (int with_report = 0; with_report <= 1; with_report++) {
      double part = measure(record, level, with_report), bar = level ? compressed : plain;
      ck_assert_msg(part <= bar, "level %d, report %d: %.3f times what was recorded, and not %.2f", level, with_report,
                    part, bar);
    }
}

START_TEST(many_tasks) { check(record_tasks, 1.5, 1.5); }
END_TEST

/* To compress takes some megabytes, however little was recorded. */
START_TEST(many_threads) { check(record_threads, 1.5, 1.75); }
END_TEST

START_TEST(many_calls) { check(record_calls, 1.1, 1.5); }
END_TEST

UNIT_MAIN("footprint", many_tasks, many_threads, many_calls)
