/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Walks over the calls of a snapshot of which many began in one nanosecond, more than a block holds among them: stamps
 * are made coarse behind the recorder's back. Against what each call's row and parent had been before, put in order by
 * a sort.
 */
#include <string.h>

#include "snapshots.h"
#include "unit.h"

#define THREADS 3
#define REGIONS 4
#define CALLS 5000 /* a thread */
#define DEEPEST 12

static lsc_session session;
static lsc_region_id region[REGIONS];
static pthread_barrier_t recorded, looked;

/* A random walk up and down a stack, half of it in a task; some calls stay open. */
static void *work(void *argument) {
  unsigned seed = (unsigned)(size_t)argument;
  lsc_region_id open[DEEPEST];
  lsc_task task;
  int depth = 0;
  for (int calls = 0; calls < CALLS;) {
    if (calls == CALLS / 2) {
      while (depth) unit_must(lsc_end(session, open[--depth]) == LSC_OK);
      unit_must(lsc_task_open(session, "fiber", "a", NULL, &task) == LSC_OK);
      unit_must(lsc_task_enter(task) == LSC_OK);
    }
    if (depth && (depth == DEEPEST || rand_r(&seed) % 2)) {
      unit_must(lsc_end(session, open[--depth]) == LSC_OK);
      continue;
    }
    open[depth++] = region[rand_r(&seed) % REGIONS];
    unit_must(lsc_begin(session, open[depth - 1]) == LSC_OK);
    calls++;
  }
  pthread_barrier_wait(&recorded);
  pthread_barrier_wait(&looked);
  return NULL;
}

/* A call as it was before the stamps were coarse. */
struct expected {
  struct lsc_row *row;
  const struct lsc_row *parent;
  size_t number; /* within its thread */
};

static struct expected expected[THREADS * CALLS];

static int in_order(const void *a, const void *b) {
  const struct expected *x = a, *y = b;
  uint64_t first[] = {x->row->start, lsc_row_depth(x->row), x->row->thread, x->number};
  uint64_t second[] = {y->row->start, lsc_row_depth(y->row), y->row->thread, y->number};
  for (int i = 0; i < 4; i++)
    if (first[i] != second[i]) return first[i] < second[i] ? -1 : 1;
  return 0;
}

static void remember(void) {
  struct lsc_snapshot s;
  size_t numbers[THREADS + 1] = {0};
  ck_assert_int_eq(take_snapshot(session, &s), LSC_OK);
  ck_assert_uint_eq(s.calls, THREADS * CALLS);
  for (uint32_t i = 0; i < s.calls; i++) {
    struct lsc_row *row = (struct lsc_row *)(size_t)s.row[i];
    expected[i] = (struct expected){row, s.parent[i] == LSC_NO_CALL ? NULL : s.row[s.parent[i]],
                                    numbers[lsc_row_thread(row)]++};
  }
  lsc_snapshot_drop(&s);
}

/*
 * Some runs of equal starts are longer than a block, some are of two or three calls. ticks: more than a nanosecond has,
 * or starts that differ may be one time.
 */
static void make_coarse(uint64_t ticks) {
  for (size_t i = 0; i < THREADS * CALLS; i++) expected[i].row->start -= expected[i].row->start % ticks;
  qsort(expected, THREADS * CALLS, sizeof *expected, in_order);
}

static void check_arrays(const struct lsc_snapshot *s) {
  ck_assert_uint_eq(s->calls, THREADS * CALLS);
  for (uint32_t i = 0; i < s->calls; i++) {
    unit_must(s->row[i] == expected[i].row);
    unit_must((s->parent[i] == LSC_NO_CALL) == !expected[i].parent);
    if (expected[i].parent) unit_must(s->row[s->parent[i]] == expected[i].parent);
  }
}

static void check_open(const struct lsc_snapshot *s) {
  size_t open = 0;
  for (uint32_t i = 0; i < s->calls; i++) {
    if (expected[i].row->end) continue;
    unit_must(open < s->open && s->open_call[open].call == i && s->open_call[open].row == expected[i].row);
    unit_must(s->open_call[open++].parent == s->parent[i]);
  }
  ck_assert_uint_eq(open, s->open);
}

static int64_t ns_of(struct lsc_snapshot *s, uint64_t ticks) { return lsc_clock_map_ns(&s->map, ticks); }

/* Returns the length of the longest block. */
static uint32_t check_walk(struct lsc_snapshot *s) {
  uint32_t next = 0, longest = 0;
  ck_assert_int_eq(lsc_snapshot_ready(s), LSC_OK);
  lsc_snapshot_rewind(s);
  for (const struct lsc_block *block; (block = lsc_snapshot_next(s))->count; next += block->count) {
    unit_must(block->first == next && next + block->count <= s->calls);
    if (block->count > longest) longest = block->count;
    for (uint32_t i = 0; i < block->count; i++) {
      const struct lsc_block_call *call = &block->call[i];
      const struct lsc_row *row = expected[next + i].row, *parent = expected[next + i].parent;
      unit_must(call->row == row && call->region == row->region && block->time[i].start == ns_of(s, row->start));
      unit_must(block->time[i].end == (row->end ? ns_of(s, row->end) : LSC_NEVER));
      unit_must(lsc_parent_call(call->parent) == s->parent[next + i]);
      unit_must(lsc_parent_region(call->parent) == (parent && parent->end ? lsc_row_region(parent) : LSC_NO_REGION));
    }
  }
  ck_assert_uint_eq(next, s->calls);
  return longest;
}

static void start_threads(pthread_t *thread) {
  ck_assert_int_eq(lsc_session_open(NULL, &session), LSC_OK);
  for (int i = 0; i < REGIONS; i++) unit_must(lsc_region((char[]){(char)('a' + i), 0}, &region[i]) == LSC_OK);
  pthread_barrier_init(&recorded, NULL, THREADS + 1);
  pthread_barrier_init(&looked, NULL, THREADS + 1);
  for (size_t i = 0; i < THREADS; i++) unit_must(pthread_create(&thread[i], NULL, work, (void *)(i + 1)) == 0);
  pthread_barrier_wait(&recorded);
}

static void end_threads(const pthread_t *thread) {
  pthread_barrier_wait(&looked);
  for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
  pthread_barrier_destroy(&recorded);
  pthread_barrier_destroy(&looked);
  ck_assert_int_eq(lsc_session_close(session), LSC_OK);
}

static void check_coarse(uint64_t ticks, int long_blocks) {
  pthread_t thread[THREADS];
  struct lsc_snapshot s;
  start_threads(thread);
  remember();
  make_coarse(ticks);
  ck_assert_int_eq(take_snapshot(session, &s), LSC_OK);
  check_arrays(&s);
  check_open(&s);
  uint32_t longest = check_walk(&s);
  ck_assert_uint_eq(check_walk(&s), longest);
  if (long_blocks) ck_assert_uint_gt(longest, 2 * LSC_BLOCK_CALLS);
  lsc_snapshot_drop(&s);
  end_threads(thread);
}

START_TEST(calls_of_one_time_are_ordered_by_depth) { check_coarse(1000, 0); }
END_TEST

START_TEST(a_block_ends_where_a_time_ends) { check_coarse(10000000, 1); }
END_TEST

/* A walk that was left in the middle does not disturb the next one, nor the commit. */
START_TEST(a_walk_may_be_left) {
  pthread_t thread[THREADS];
  struct lsc_snapshot s;
  start_threads(thread);
  remember();
  make_coarse(100);
  ck_assert_int_eq(take_snapshot(session, &s), LSC_OK);
  size_t open = s.open;
  ck_assert_int_eq(lsc_snapshot_ready(&s), LSC_OK);
  lsc_snapshot_rewind(&s);
  ck_assert_uint_gt(lsc_snapshot_next(&s)->count, 0);
  check_walk(&s);
  lsc_snapshot_rewind(&s);
  ck_assert_uint_gt(lsc_snapshot_next(&s)->count, 0);
  lsc_snapshot_commit(&s);
  ck_assert_int_eq(take_snapshot(session, &s), LSC_OK);
  ck_assert_uint_eq(s.calls, open);
  ck_assert_uint_eq(s.open, open);
  lsc_snapshot_drop(&s);
  end_threads(thread);
}
END_TEST

UNIT_MAIN("walk", calls_of_one_time_are_ordered_by_depth, a_block_ends_where_a_time_ends, a_walk_may_be_left)
