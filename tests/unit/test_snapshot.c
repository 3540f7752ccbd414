/* SPDX-License-Identifier: BSD-3-Clause */
/* Snapshots against what the threads themselves noted of every call: region, parent, and times around begin and end. */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "lanescope_binding.h"
#include "snapshots.h"
#include "unit.h"

#define REGIONS 5
#define CALLS 4000 /* a thread and round */
#define THREADS 6

static lsc_region_id region[REGIONS];

struct note {
  int region, parent; /* parent: index of the note of this thread, or -1 */
  int64_t before_start, after_start, before_end, after_end;
  uint32_t call; /* where it was found */
  int seen;
};

struct worker {
  lsc_session session;
  unsigned seed;
  int rounds_done, wait_between;
  pthread_barrier_t *barrier;
  int notes;
  struct note note[2 * CALLS];
};

static void name_regions(void) {
  char name[32];
  for (int i = 0; i < REGIONS; i++) {
    snprintf(name, sizeof name, "region %d", i);
    ck_assert_int_eq(lsc_region(name, &region[i]), LSC_OK);
  }
}

static int begin(struct worker *w, int parent) {
  struct note *note = &w->note[w->notes];
  note->region = (int)(rand_r(&w->seed) % REGIONS);
  note->parent = parent;
  note->before_start = lsc_now_ns();
  if (lsc_begin(w->session, region[note->region]) != LSC_OK) abort();
  note->after_start = lsc_now_ns();
  return w->notes++;
}

static void end(struct worker *w, int index) {
  struct note *note = &w->note[index];
  note->before_end = lsc_now_ns();
  if (lsc_end(w->session, region[note->region]) != LSC_OK) abort();
  note->after_end = lsc_now_ns();
}

/* A random walk up and down the stack; what is left open at its end is in `open`. */
static int walk(struct worker *w, int *open, int depth, int until) {
  while (w->notes < until) {
    if (depth && rand_r(&w->seed) % 2) end(w, open[--depth]);
    else {
      int parent = depth ? open[depth - 1] : -1;
      open[depth++] = begin(w, parent);
    }
  }
  return depth;
}

/* Two rounds, between which the main thread takes a snapshot while this thread has calls open. */
static void *work(void *argument) {
  struct worker *w = argument;
  static _Thread_local int open[2 * CALLS];
  int depth = walk(w, open, 0, CALLS);
  pthread_barrier_wait(w->barrier);
  pthread_barrier_wait(w->barrier);
  depth = walk(w, open, depth, 2 * CALLS);
  while (depth) end(w, open[--depth]);
  return NULL;
}

static struct worker worker[THREADS];

/* Finds the note of each row by its thread and start; every note is found once among completed calls. */
static struct note *note_of(struct lsc_snapshot *s, uint32_t call) {
  const struct lsc_row *row = s->row[call];
  struct worker *w = &worker[atoi(lsc_snapshot_thread(s, (size_t)lsc_row_thread(row)).name + strlen("worker "))];
  int64_t start = lsc_clock_map_ns(&s->map, row->start);
  int low = 0, high = w->notes;
  while (low < high) {
    int middle = (low + high) / 2;
    if (w->note[middle].after_start + 1000 < start) low = middle + 1;
    else high = middle;
  }
  while (low < w->notes && w->note[low].call != call && (w->note[low].seen || w->note[low].call != LSC_NO_CALL)) low++;
  return low < w->notes ? &w->note[low] : NULL;
}

static void check_parent(struct lsc_snapshot *s, uint32_t call, const struct worker *w, const struct note *note) {
  if (note->parent < 0) ck_assert_uint_eq(s->parent[call], LSC_NO_CALL);
  else ck_assert_uint_eq(s->parent[call], w->note[note->parent].call);
}

static void check_row(struct lsc_snapshot *s, uint32_t call) {
  const struct lsc_row *row = s->row[call];
  struct worker *w = &worker[atoi(lsc_snapshot_thread(s, (size_t)lsc_row_thread(row)).name + strlen("worker "))];
  struct note *note = note_of(s, call);
  ck_assert_ptr_nonnull(note);
  note->call = call;
  ck_assert_uint_eq(lsc_row_region(row), region[note->region]);
  int64_t start = lsc_clock_map_ns(&s->map, row->start);
  ck_assert_int_ge(start, note->before_start - 1000);
  ck_assert_int_le(start, note->after_start + 1000);
  check_parent(s, call, w, note);
  if (!call_is_completed(s, call)) return;
  int64_t finish = lsc_clock_map_ns(&s->map, row->end);
  ck_assert_int_ge(finish, note->before_end - 1000);
  ck_assert_int_le(finish, note->after_end + 1000);
  ck_assert_int_eq(note->seen, 0);
  note->seen = 1;
}

static void check_order(struct lsc_snapshot *s) {
  for (uint32_t call = 1; call < s->calls; call++) {
    int64_t before = lsc_clock_map_ns(&s->map, s->row[call - 1]->start),
            now = lsc_clock_map_ns(&s->map, s->row[call]->start);
    ck_assert_int_le(before, now);
    if (before == now) ck_assert_uint_le(lsc_row_depth(s->row[call - 1]), lsc_row_depth(s->row[call]));
  }
  size_t at = 0;
  ck_assert_int_eq(lsc_snapshot_events(s), LSC_OK);
  for (size_t r = 0; r < s->regions; r++) {
    if (r) ck_assert_uint_lt(s->region[r - 1].region, s->region[r].region);
    ck_assert_uint_eq(s->region[r].offset, at);
    ck_assert_uint_eq(s->region[r].sums.first_call, s->event[at]);
    ck_assert_uint_eq(s->region[r].sums.last_call, s->event[at + s->region[r].count - 1]);
    for (uint64_t i = 0; i < s->region[r].count; i++, at++) {
      ck_assert_uint_eq(lsc_row_region(s->row[s->event[at]]), s->region[r].region);
      if (i) ck_assert_uint_lt(s->event[at - 1], s->event[at]);
      ck_assert(call_is_completed(s, s->event[at]));
    }
  }
  ck_assert_uint_eq(at, s->completed);
  ck_assert_uint_eq(s->completed + s->open, s->calls);
}

static void check_snapshot(struct lsc_snapshot *s) {
  for (int t = 0; t < THREADS; t++)
    for (int i = 0; i < worker[t].notes; i++) worker[t].note[i].call = LSC_NO_CALL;
  for (uint32_t call = 0; call < s->calls; call++) check_row(s, call);
  check_order(s);
}

static size_t count_seen(void) {
  size_t seen = 0;
  for (int t = 0; t < THREADS; t++)
    for (int i = 0; i < worker[t].notes; i++) seen += (size_t)worker[t].note[i].seen;
  return seen;
}

static void *start_named(void *argument) {
  struct worker *w = argument;
  char name[32];
  snprintf(name, sizeof name, "worker %d", (int)(w - worker));
  if (lsc_thread_describe(w->session, name, w - worker, 0) != LSC_OK) abort();
  return work(w);
}

START_TEST(each_call_is_reported_once_and_as_it_was) {
  lsc_session session;
  pthread_barrier_t barrier;
  pthread_t thread[THREADS];
  name_regions();
  ck_assert_int_eq(lsc_session_open(NULL, &session), LSC_OK);
  pthread_barrier_init(&barrier, NULL, THREADS + 1);
  for (int t = 0; t < THREADS; t++) {
    worker[t].session = session;
    worker[t].seed = 17u + (unsigned)t;
    worker[t].barrier = &barrier;
    thread[t] = unit_start(start_named, &worker[t]);
  }
  pthread_barrier_wait(&barrier);
  struct lsc_snapshot s;
  ck_assert_int_eq(take_snapshot(session, &s), LSC_OK);
  size_t calls = s.calls, open = s.open;
  ck_assert_uint_eq(calls, THREADS * CALLS);
  ck_assert_uint_gt(open, 0);
  lsc_snapshot_drop(&s);
  ck_assert_int_eq(take_snapshot(session, &s), LSC_OK);
  ck_assert_uint_eq(s.calls, calls);
  ck_assert_uint_eq(s.open, open);
  check_snapshot(&s);
  ck_assert_uint_eq(count_seen(), calls - open);
  lsc_snapshot_commit(&s);
  pthread_barrier_wait(&barrier);
  for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
  ck_assert_int_eq(take_snapshot(session, &s), LSC_OK);
  ck_assert_uint_eq(s.open, 0);
  ck_assert_uint_eq(s.completed, THREADS * CALLS + open);
  check_snapshot(&s);
  ck_assert_uint_eq(count_seen(), 2 * THREADS * CALLS);
  for (size_t t = 0; t < THREADS; t++)
    ck_assert(lsc_snapshot_thread(&s, t).end_ns >= lsc_snapshot_thread(&s, t).start_ns);
  lsc_snapshot_commit(&s);
  ck_assert_int_eq(take_snapshot(session, &s), LSC_OK);
  ck_assert_uint_eq(s.calls, 0);
  ck_assert_uint_eq(s.threads, THREADS);
  ck_assert_uint_eq(s.lanes, 0);
  lsc_snapshot_drop(&s);
  ck_assert_int_eq(lsc_session_close(session), LSC_OK);
}
END_TEST

static lsc_session short_session;
static void *live_shortly(void *number) {
  char name[32];
  snprintf(name, sizeof name, "short %d", (int)(intptr_t)number);
  prctl(PR_SET_NAME, name);
  for (int i = 0; i <= (int)(intptr_t)number % 3; i++) {
    lsc_begin(short_session, region[0]);
    lsc_end(short_session, region[0]);
  }
  return NULL;
}

START_TEST(a_thousand_threads_in_turn_are_a_thousand_lanes) {
  name_regions();
  ck_assert_int_eq(lsc_session_open(NULL, &short_session), LSC_OK);
  for (intptr_t i = 0; i < 1000; i++) pthread_join(unit_start(live_shortly, (void *)i), NULL);
  struct lsc_snapshot s;
  ck_assert_int_eq(take_snapshot(short_session, &s), LSC_OK);
  ck_assert_uint_eq(s.threads, 1000);
  ck_assert_uint_eq(s.lanes, 1000);
  for (int i = 0; i < 1000; i++) {
    char name[32];
    snprintf(name, sizeof name, "short %d", i);
    ck_assert_str_eq(lsc_snapshot_thread(&s, (size_t)i).name, name);
    ck_assert_int_eq(lsc_snapshot_thread(&s, (size_t)i).index, i);
    ck_assert_int_ge(lsc_snapshot_thread(&s, (size_t)i).cpu_ns, 0);
    ck_assert_int_eq(s.lane[i].lane, -2 - i);
    ck_assert_uint_eq(s.lane[i].calls, (uint64_t)(i % 3 + 1));
    if (i)
      ck_assert_int_ge(lsc_snapshot_thread(&s, (size_t)i).start_ns, lsc_snapshot_thread(&s, (size_t)i - 1).end_ns);
    ck_assert_int_ge(s.lane[i].first_ns, lsc_snapshot_thread(&s, (size_t)i).start_ns);
    ck_assert_int_le(s.lane[i].last_ns, lsc_snapshot_thread(&s, (size_t)i).end_ns);
  }
  lsc_snapshot_commit(&s);
  lsc_session_close(short_session);
}
END_TEST

START_TEST(one_snapshot_at_a_time) {
  lsc_session session;
  struct lsc_snapshot s, other;
  ck_assert_int_eq(lsc_session_open(NULL, &session), LSC_OK);
  ck_assert_int_eq(take_snapshot(session, &s), LSC_OK);
  ck_assert_int_eq(take_snapshot(session, &other), LSC_BUSY);
  ck_assert_int_eq(lsc_session_close(session), LSC_BUSY);
  lsc_snapshot_drop(&s);
  ck_assert_int_eq(lsc_session_close(session), LSC_OK);
}
END_TEST

START_TEST(a_lane_is_busy_where_a_call_covers_it) {
  lsc_session session;
  struct lsc_snapshot s;
  name_regions();
  ck_assert_int_eq(lsc_session_open(NULL, &session), LSC_OK);
  lsc_begin(session, region[0]);
  lsc_begin(session, region[1]);
  lsc_begin(session, region[2]);
  lsc_end(session, region[2]);
  lsc_end(session, region[1]);
  lsc_begin(session, region[3]);
  lsc_end(session, region[3]);
  ck_assert_int_eq(take_snapshot(session, &s), LSC_OK);
  int64_t start[4], end[4];
  for (int i = 0; i < 4; i++) {
    start[i] = lsc_clock_map_ns(&s.map, s.row[i]->start);
    end[i] = lsc_clock_map_ns(&s.map, s.row[i]->end);
  }
  ck_assert_uint_eq(s.open, 1);
  ck_assert_uint_eq(s.lane[0].open_calls, 1);
  ck_assert_int_eq(s.lane[0].busy_ns, end[1] - start[1] + end[3] - start[3]);
  ck_assert_int_eq(s.lane[0].first_ns, start[0]);
  ck_assert_int_eq(s.lane[0].last_ns, end[3]);
  lsc_snapshot_drop(&s);
  lsc_session_close(session);
}
END_TEST

START_TEST(lane_ids_follow_the_rule) {
  const int64_t thread[] = {0, 5, -1, 3, -1}, task[] = {-1, -1, -1, 7, 0};
  const int64_t with[] = {-2, -7, -1, 7, 0}, without[] = {-2, -7, -1, -5, -1};
  int64_t lanes[5];
  ck_assert_int_eq(lsc_lane_ids(5, thread, task, lanes), LSC_OK);
  ck_assert_mem_eq(lanes, with, sizeof with);
  ck_assert_int_eq(lsc_lane_ids(5, thread, NULL, lanes), LSC_OK);
  ck_assert_mem_eq(lanes, without, sizeof without);
  ck_assert_int_eq(lsc_lane_ids(0, NULL, NULL, NULL), LSC_OK);
  ck_assert_int_eq(lsc_lane_ids(1, NULL, NULL, lanes), LSC_INVALID);
}
END_TEST

UNIT_MAIN("snapshot", each_call_is_reported_once_and_as_it_was, a_thousand_threads_in_turn_are_a_thousand_lanes,
          one_snapshot_at_a_time, a_lane_is_busy_where_a_call_covers_it, lane_ids_follow_the_rule)
