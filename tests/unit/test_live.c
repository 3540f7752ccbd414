/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Snapshots while every thread records. What a thread does follows from its seed, so that the reader of the snapshots
 * does it again: it knows of each call, without asking the library, which region it is of, in which call it was begun,
 * and when it ended.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "snapshots.h"
#include "unit.h"

#define THREADS 8
#define REGIONS 7
#define DEEPEST 24
#define PASSING 5 /* calls of a thread that comes and goes */

static lsc_region_id region[REGIONS], passing;

static void name_regions(void) {
  char name[32];
  for (int i = 0; i < REGIONS; i++) {
    snprintf(name, sizeof name, "region %d", i);
    ck_assert_int_eq(lsc_region(name, &region[i]), LSC_OK);
  }
  ck_assert_int_eq(lsc_region("passing", &passing), LSC_OK);
}

/* A call by its number on its thread. */
struct step {
  long number, parent; /* parent: -1 at the top */
  int region;
};

/* A random walk up and down a stack. */
struct walk {
  uint64_t random;
  long begun;
  int depth;
  struct step open[DEEPEST];
};

/* The next step: 1 if it begins the call that is now open[depth - 1], 0 if it ends the one that is now open[depth]. */
static int walk_on(struct walk *walk) {
  walk->random ^= walk->random << 13;
  walk->random ^= walk->random >> 7;
  walk->random ^= walk->random << 17;
  int up = walk->depth == 0 || (walk->depth < DEEPEST && walk->random >> 40 & 1);
  if (!up) {
    walk->depth--;
    return 0;
  }
  long parent = walk->depth ? walk->open[walk->depth - 1].number : -1;
  walk->open[walk->depth++] = (struct step){walk->begun++, parent, (int)((walk->random >> 20) % REGIONS)};
  return 1;
}

struct worker {
  struct walk walk;
  _Atomic long begun, ended; /* release after each begin and end; acquire around a snapshot */
  uint64_t executed[REGIONS];
  int number;
};

static lsc_session session;
static _Atomic int stop;

static void take_step(struct worker *w) {
  if (walk_on(&w->walk)) {
    if (lsc_begin(session, region[w->walk.open[w->walk.depth - 1].region]) != LSC_OK) abort();
    atomic_store_explicit(&w->begun, w->walk.begun, memory_order_release);
    return;
  }
  const struct step *step = &w->walk.open[w->walk.depth];
  if (lsc_end(session, region[step->region]) != LSC_OK) abort();
  w->executed[step->region]++;
  atomic_fetch_add_explicit(&w->ended, 1, memory_order_release);
}

static void label(const struct worker *w, int version) {
  char name[32];
  snprintf(name, sizeof name, "worker %d, version %d", w->number, version);
  if (lsc_thread_describe(session, name, w->number, version % 2) != LSC_OK) abort();
}

static void *work(void *argument) {
  struct worker *w = argument;
  label(w, 0);
  for (int version = 1; !stop; version++) {
    if (version % 16 == 0) label(w, version);
    for (uint64_t i = w->walk.random >> 54; i > 0; i--) take_step(w);
    usleep(w->walk.random >> 44 & 511);
  }
  while (w->walk.depth) take_step(w);
  return NULL;
}

static void *pass(void *unused) {
  if (lsc_thread_describe(session, "passing", -1, 0) != LSC_OK) abort();
  for (int i = 0; i < PASSING; i++)
    if (lsc_begin(session, passing) != LSC_OK || lsc_end(session, passing) != LSC_OK) abort();
  return unused;
}

/* Threads that come and go. Gives their number. */
static void *pass_by(void *unused) {
  (void)unused;
  intptr_t passed = 0;
  for (; !stop; passed++) {
    pthread_join(unit_start(pass, NULL), NULL);
    usleep(500);
  }
  return (void *)passed;
}

/* What the snapshots have told of a thread so far. */
struct account {
  struct walk walk; /* up to its last call that was seen */
  struct step open[DEEPEST];
  int open_count; /* calls that were open in the last snapshot */
  long completed;
  uint64_t of_region[REGIONS];
  int version; /* of its label */
};

struct reading {
  struct account account[THREADS];
  uint64_t passed; /* completed calls of threads that pass */
};

/* One snapshot being read. */
struct page {
  struct lsc_snapshot s;
  struct reading *reading;
  int carried[THREADS]; /* calls seen again, of those that were open */
  int now_open[THREADS];
  struct step *step; /* [calls], number -1: of a passing thread */
};

/* The worker that a thread of the table is, or -1; its label is never older than before. */
static int worker_of(struct page *page, int64_t thread) {
  int number, version;
  const struct lsc_thread_info now = lsc_snapshot_thread(&page->s, (size_t)thread), *info = &now;
  if (sscanf(info->name, "worker %d, version %d", &number, &version) != 2) return -1;
  unit_must(info->ident == number);
  unit_must(info->daemon == version % 2);
  struct account *account = &page->reading->account[number];
  unit_must(version >= account->version);
  account->version = version;
  return number;
}

/*
 * The call that the thread's next row must be: first those again that were open, then the next that it begins. All that
 * it ended before that are ended in this snapshot too.
 */
static struct step next_step(struct page *page, int number) {
  struct account *account = &page->reading->account[number];
  if (page->carried[number] < account->open_count) return account->open[page->carried[number]++];
  while (!walk_on(&account->walk)) continue;
  return account->walk.open[account->walk.depth - 1];
}

static void check_call(struct page *page, uint32_t call, const int *worker) {
  struct lsc_snapshot *s = &page->s;
  int number = worker[lsc_row_thread(s->row[call])];
  page->step[call].number = -1;
  if (number < 0) {
    unit_must(lsc_row_region(s->row[call]) == passing);
    unit_must(s->parent[call] == LSC_NO_CALL);
    page->reading->passed += (uint64_t)call_is_completed(s, call);
    return;
  }
  struct step step = page->step[call] = next_step(page, number);
  struct account *account = &page->reading->account[number];
  unit_must(lsc_row_region(s->row[call]) == region[step.region]);
  if (step.parent < 0) unit_must(s->parent[call] == LSC_NO_CALL);
  else {
    unit_must(s->parent[call] < call);
    unit_must(page->step[s->parent[call]].number == step.parent);
    unit_must(lsc_row_thread(s->row[s->parent[call]]) == lsc_row_thread(s->row[call]));
  }
  if (!call_is_completed(s, call)) return;
  account->completed++;
  account->of_region[step.region]++;
}

/* The open calls of a thread are what is on its stack after the last call it began, or what a few ends have left of
 * that. */
static void check_open(struct page *page, const int *worker) {
  const struct lsc_snapshot *s = &page->s;
  struct step open[THREADS][DEEPEST];
  for (size_t i = 0; i < s->open; i++) {
    int number = worker[lsc_row_thread(s->row[s->open_call[i].call])];
    if (number < 0) continue;
    int at = page->now_open[number]++;
    struct account *account = &page->reading->account[number];
    unit_must(at < account->walk.depth);
    unit_must(page->step[s->open_call[i].call].number == account->walk.open[at].number);
    open[number][at] = account->walk.open[at];
  }
  for (int t = 0; t < THREADS; t++) {
    struct account *account = &page->reading->account[t];
    unit_must(page->carried[t] == account->open_count);
    account->open_count = page->now_open[t];
    memcpy(account->open, open[t], sizeof open[t]);
  }
}

static void check_snapshot(struct page *page) {
  struct lsc_snapshot *s = &page->s;
  int *worker = malloc((s->threads + 1) * sizeof *worker);
  page->step = malloc((s->calls + 1) * sizeof *page->step);
  ck_assert(worker && page->step);
  for (size_t i = 0; i < s->threads; i++) {
    unit_must(lsc_snapshot_thread(s, (size_t)i).index == (int64_t)i);
    worker[i] = worker_of(page, (int64_t)i);
  }
  for (uint32_t call = 0; call < s->calls; call++) check_call(page, call, worker);
  check_open(page, worker);
  ck_assert_uint_eq(s->completed + s->open, s->calls);
  ck_assert_uint_eq(s->dropped, 0);
  free(worker);
  free(page->step);
}

/* Takes a snapshot. It holds what was done before it, nothing that is done after it, and counts only if it is
 * committed. */
static void read_snapshot(struct worker *w, struct reading *reading, int commit) {
  static struct reading after;
  long begun[THREADS], ended[THREADS], begun_after[THREADS];
  struct page page = {.reading = &after};
  after = *reading;
  for (int t = 0; t < THREADS; t++) {
    ended[t] = atomic_load_explicit(&w[t].ended, memory_order_acquire);
    begun[t] = atomic_load_explicit(&w[t].begun, memory_order_acquire);
  }
  ck_assert_int_eq(take_snapshot(session, &page.s), LSC_OK);
  for (int t = 0; t < THREADS; t++) begun_after[t] = 1 + atomic_load_explicit(&w[t].begun, memory_order_acquire);
  check_snapshot(&page);
  for (int t = 0; t < THREADS; t++) {
    ck_assert_int_ge(after.account[t].completed, ended[t]);
    ck_assert_int_ge(after.account[t].walk.begun, begun[t]);
    ck_assert_int_le(after.account[t].walk.begun, begun_after[t]);
  }
  if (commit) {
    lsc_snapshot_commit(&page.s);
    *reading = after;
  } else
    lsc_snapshot_drop(&page.s);
}

START_TEST(the_sum_of_all_snapshots_is_what_was_executed) {
  static struct worker w[THREADS];
  static struct reading reading;
  pthread_t thread[THREADS];
  void *passed;
  name_regions();
  ck_assert_int_eq(lsc_session_open(NULL, &session), LSC_OK);
  for (int t = 0; t < THREADS; t++) {
    w[t].number = t;
    w[t].walk.random = reading.account[t].walk.random = 0x9E3779B97F4A7C15u * (uint64_t)(t + 1);
    thread[t] = unit_start(work, &w[t]);
  }
  for (int t = 0; t < THREADS; t++)
    while (!w[t].begun) usleep(100);
  pthread_t others = unit_start(pass_by, NULL);
  int64_t until = lsc_now_ns() + unit_amount(30000, 5000, 2000) * 1000000;
  for (unsigned n = 0; lsc_now_ns() < until; n++) {
    read_snapshot(w, &reading, n % 3 != 1);
    usleep(n * 2654435761u >> 20 & 4095);
  }
  stop = 1;
  for (int t = 0; t < THREADS; t++) pthread_join(thread[t], NULL);
  pthread_join(others, &passed);
  read_snapshot(w, &reading, 1);
  for (int t = 0; t < THREADS; t++) {
    ck_assert_int_eq(reading.account[t].open_count, 0);
    ck_assert_int_eq(reading.account[t].completed, w[t].ended);
    for (int r = 0; r < REGIONS; r++) ck_assert_uint_eq(reading.account[t].of_region[r], w[t].executed[r]);
  }
  ck_assert_uint_eq(reading.passed, (uint64_t)(intptr_t)passed * PASSING);
  struct lsc_snapshot s;
  ck_assert_int_eq(take_snapshot(session, &s), LSC_OK);
  ck_assert_uint_eq(s.calls, 0);
  ck_assert_uint_eq(s.threads, THREADS + (size_t)(intptr_t)passed);
  lsc_snapshot_drop(&s);
  ck_assert_int_eq(lsc_session_close(session), LSC_OK);
}
END_TEST

UNIT_MAIN("live", the_sum_of_all_snapshots_is_what_was_executed)
