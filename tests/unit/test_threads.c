/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads by the hundred thousand, and threads that come and go at odd times. What they did is counted by themselves.
 */
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "snapshots.h"
#include "unit.h"

#define AT_ONCE 8

static lsc_session session;
static lsc_region_id A, B;

static void open_session(void) {
  ck_assert_int_eq(lsc_region("A", &A), LSC_OK);
  ck_assert_int_eq(lsc_region("B", &B), LSC_OK);
  ck_assert_int_eq(lsc_session_open(NULL, &session), LSC_OK);
}

static void record(lsc_region_id region) {
  unit_must(lsc_begin(session, region) == LSC_OK);
  unit_must(lsc_end(session, region) == LSC_OK);
}

static int64_t own_cpu_ns(void) {
  struct timespec t;
  unit_must(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Threads one after the other, AT_ONCE such rows beside one another: first, first + AT_ONCE, ... */
struct row {
  void *(*body)(void *number);
  intptr_t first, count;
};

static void *run_row(void *argument) {
  const struct row *row = argument;
  for (intptr_t i = row->first; i < row->count; i += AT_ONCE) pthread_join(unit_start(row->body, (void *)i), NULL);
  return NULL;
}

static void run_threads(void *(*body)(void *), intptr_t count) {
  pthread_t thread[AT_ONCE];
  struct row row[AT_ONCE];
  for (int i = 0; i < AT_ONCE; i++) {
    row[i] = (struct row){body, i, count};
    thread[i] = unit_start(run_row, &row[i]);
  }
  for (int i = 0; i < AT_ONCE; i++) pthread_join(thread[i], NULL);
}

static void *live_shortly(void *number) {
  char name[32];
  intptr_t n = (intptr_t)number;
  snprintf(name, sizeof name, "%ld", (long)n);
  unit_must(lsc_thread_describe(session, name, n, 0) == LSC_OK);
  unit_must(lsc_begin(session, B) == LSC_OK);
  for (intptr_t i = 0; i < n % 5; i++) record(A);
  unit_must(lsc_end(session, B) == LSC_OK);
  return NULL;
}

START_TEST(each_short_thread_is_one_lane) {
  size_t count = (size_t)unit_amount(100000, 100000, 2000);
  unsigned char *seen = calloc(count, 1);
  open_session();
  run_threads(live_shortly, (intptr_t)count);
  struct lsc_snapshot s = must_take(session);
  ck_assert_uint_eq(s.threads, count);
  ck_assert_uint_eq(s.lanes, count);
  ck_assert_uint_eq(s.open, 0);
  for (size_t i = 0; i < count; i++) {
    const struct lsc_thread_info info = lsc_snapshot_thread(&s, i), *thread = &info;
    long number = atol(thread->name);
    unit_must(thread->index == (int64_t)i && thread->ident == number);
    unit_must(number >= 0 && number < (long)count && !seen[number]++);
    unit_must(s.lane[i].lane == -2 - (int64_t)i);
    unit_must(s.lane[i].calls == (uint64_t)(1 + number % 5) && s.lane[i].open_calls == 0);
    unit_must(thread->start_ns <= s.lane[i].first_ns && s.lane[i].last_ns <= thread->end_ns);
    unit_must(thread->cpu_ns >= 0);
  }
  for (uint32_t call = 0; call < s.calls; call++) {
    if (lsc_row_region(s.row[call]) == B) unit_must(s.parent[call] == LSC_NO_CALL);
    else unit_must(s.row[s.parent[call]]->thread == s.row[call]->thread && lsc_row_region(s.row[s.parent[call]]) == B);
  }
  lsc_snapshot_commit(&s);
  lsc_session_close(session);
  free(seen);
}
END_TEST

static void *call_once(void *unused) {
  record(A);
  return unused;
}

START_TEST(a_thread_with_one_call_takes_at_most_a_kibibyte) {
  long count = unit_amount(1000000, 100000, 2000);
  open_session();
  run_threads(call_once, 500);
  lsc_session_close(session);
  open_session();
  long before = unit_resident_kib();
  run_threads(call_once, count);
  long grown = unit_resident_kib() - before;
  if (count >= 100000) ck_assert_int_le(grown, count);
  struct lsc_snapshot s = must_take(session);
  ck_assert_uint_eq(s.threads, (size_t)count);
  ck_assert_uint_eq(s.completed, (size_t)count);
  ck_assert_uint_eq(s.lanes, (size_t)count);
  for (long i = 0; i < count; i++) unit_must(s.lane[i].calls == 1);
  lsc_snapshot_commit(&s);
  lsc_session_close(session);
}
END_TEST

/* Threads that record into whatever session is current, and rest when they are told to. */
static _Atomic lsc_session current;
static _Atomic int stop, rest, resting;

static void *record_always(void *argument) {
  _Atomic long *calls = argument;
  while (!stop) {
    for (int i = 0; i < 10; i++) {
      lsc_session now = current;
      if (lsc_begin(now, A) == LSC_OK && lsc_end(now, A) == LSC_OK) ++*calls;
    }
    usleep(20);
    if (!rest) continue;
    resting++;
    while (rest) sched_yield();
    resting--;
  }
  return NULL;
}

static void let_rest(int threads) {
  rest = 1;
  while (resting < threads) sched_yield();
}

static void let_go_on(void) {
  rest = 0;
  while (resting) sched_yield();
}

START_TEST(threads_live_through_open_collect_and_close) {
  static _Atomic long calls[4];
  pthread_t thread[4];
  for (int t = 0; t < 4; t++) thread[t] = unit_start(record_always, (void *)&calls[t]);
  for (int round = 0; round < unit_amount(500, 50, 10); round++) {
    let_rest(4);
    open_session();
    current = session;
    for (int t = 0; t < 4; t++) calls[t] = 0;
    let_go_on();
    size_t completed = 0;
    for (int part = 0; part < 3; part++) {
      for (int t = 0; t < 4; t++)
        while (calls[t] < 100 * (part + 1)) sched_yield();
      if (part == 2) let_rest(4);
      struct lsc_snapshot s = must_take(session);
      completed += s.completed;
      lsc_snapshot_commit(&s);
    }
    ck_assert_uint_eq(completed, (size_t)(calls[0] + calls[1] + calls[2] + calls[3]));
    let_go_on();
    ck_assert_int_eq(lsc_session_close(session), LSC_OK);
  }
  stop = 1;
  for (int t = 0; t < 4; t++) pthread_join(thread[t], NULL);
}
END_TEST

static pthread_barrier_t barrier;

static void *end_after_close(void *unused) {
  unit_must(lsc_begin(session, A) == LSC_OK);
  for (int i = 0; i < 3000; i++) record(B);
  pthread_barrier_wait(&barrier);
  pthread_barrier_wait(&barrier);
  unit_must(lsc_begin(session, B) == LSC_INACTIVE);
  unit_must(lsc_end(session, A) == LSC_INACTIVE);
  unit_must(lsc_thread_describe(session, "late", 0, 0) == LSC_INACTIVE);
  return unused;
}

START_TEST(threads_that_end_after_the_close_leave_nothing) {
  long after_some = 0;
  pthread_barrier_init(&barrier, NULL, 5);
  for (int round = 0; round < unit_amount(2000, 300, 30); round++) {
    pthread_t thread[4];
    if (round == 50) after_some = unit_resident_kib();
    open_session();
    for (int t = 0; t < 4; t++) thread[t] = unit_start(end_after_close, NULL);
    pthread_barrier_wait(&barrier);
    ck_assert_int_eq(lsc_session_close(session), LSC_OK);
    pthread_barrier_wait(&barrier);
    for (int t = 0; t < 4; t++) pthread_join(thread[t], NULL);
  }
  if (after_some && !UNIT_SANITIZED) ck_assert_int_lt(unit_resident_kib() - after_some, 8192);
}
END_TEST

/* A thread that works, and tells its CPU time whenever it is asked to. */
struct teller {
  _Atomic int asked, told;
  _Atomic int64_t cpu_ns;
  int64_t last, after_end; /* of its body; of its destructors' last round, when it has ended for the session */
  int rounds;
};

static void *tell(void *argument) {
  struct teller *teller = argument;
  unit_must(lsc_thread_describe(session, "teller", 0, 0) == LSC_OK);
  while (!stop) {
    record(A);
    for (volatile int i = 0; i < 10000; i++) continue;
    if (teller->told == teller->asked) continue;
    teller->cpu_ns = own_cpu_ns();
    teller->told = teller->told + 1;
  }
  teller->last = own_cpu_ns();
  return NULL;
}

static int64_t ask(struct teller *teller) {
  int number = ++teller->asked;
  while (teller->told != number) sched_yield();
  return teller->cpu_ns;
}

START_TEST(the_cpu_time_of_a_live_thread_is_its_own) {
  static struct teller teller[3];
  pthread_t thread[3];
  open_session();
  for (int t = 0; t < 3; t++) {
    thread[t] = unit_start(tell, &teller[t]);
    ask(&teller[t]);
  }
  for (int round = 0; round < unit_amount(1000, 200, 20); round++) {
    int64_t low[3], high[3];
    for (int t = 0; t < 3; t++) low[t] = ask(&teller[t]);
    struct lsc_snapshot s = must_take(session);
    for (int t = 0; t < 3; t++) high[t] = ask(&teller[t]);
    for (int t = 0; t < 3; t++) {
      ck_assert_int_le(low[t], lsc_snapshot_thread(&s, (size_t)t).cpu_ns);
      ck_assert_int_le(lsc_snapshot_thread(&s, (size_t)t).cpu_ns, high[t]);
      ck_assert(lsc_snapshot_thread(&s, (size_t)t).end_ns == LSC_NEVER);
    }
    lsc_snapshot_commit(&s);
  }
  stop = 1;
  for (int t = 0; t < 3; t++) pthread_join(thread[t], NULL);
  lsc_session_close(session);
}
END_TEST

static pthread_key_t teller_key;

static void tell_after_end(void *argument) {
  struct teller *teller = argument;
  if (++teller->rounds < UNIT_DESTRUCTOR_ROUNDS) pthread_setspecific(teller_key, teller);
  else teller->after_end = own_cpu_ns();
}

static void *work_and_end(void *argument) {
  struct teller *teller = argument;
  pthread_setspecific(teller_key, teller);
  for (int i = 0; i < 20000; i++) record(A);
  teller->last = own_cpu_ns();
  return NULL;
}

START_TEST(the_cpu_time_of_an_ended_thread_is_its_own) {
  static struct teller teller[50];
  open_session();
  record(A);
  ck_assert_int_eq(pthread_key_create(&teller_key, tell_after_end), 0);
  for (int t = 0; t < 50; t++) pthread_join(unit_start(work_and_end, &teller[t]), NULL);
  struct lsc_snapshot s = must_take(session);
  ck_assert_uint_eq(s.threads, 51);
  for (int t = 0; t < 50; t++) {
    ck_assert_int_le(teller[t].last, lsc_snapshot_thread(&s, (size_t)(t + 1)).cpu_ns);
    ck_assert_int_le(lsc_snapshot_thread(&s, (size_t)(t + 1)).cpu_ns, teller[t].after_end);
  }
  lsc_snapshot_drop(&s);
  lsc_session_close(session);
}
END_TEST

static void *exit_in_a_call(void *unused) {
  lsc_begin(session, A);
  lsc_begin(session, B);
  pthread_exit(unused);
}

static _Atomic int in_call;

static void *wait_in_a_call(void *unused) {
  lsc_begin(session, A);
  lsc_begin(session, B);
  in_call++;
  for (;;) pause();
  return unused;
}

static void *record_and_vanish(void *unused) {
  pthread_detach(pthread_self());
  lsc_begin(session, A);
  lsc_begin(session, B);
  return unused;
}

/* Waits until there are so many threads, and all have ended. */
static void await_ends(size_t threads) {
  for (size_t ended = 0; ended < threads; usleep(1000)) {
    struct lsc_snapshot s = must_take(session);
    ended = 0;
    for (size_t i = 0; i < s.threads; i++) ended += lsc_snapshot_thread(&s, (size_t)i).end_ns != LSC_NEVER;
    ck_assert_uint_le(s.threads, threads);
    lsc_snapshot_drop(&s);
  }
}

START_TEST(however_a_thread_ends_its_open_calls_stay_listed) {
  enum { EACH = 20 };
  open_session();
  for (int i = 0; i < EACH; i++) {
    pthread_join(unit_start(exit_in_a_call, NULL), NULL);
    int before = in_call;
    pthread_t waiting = unit_start(wait_in_a_call, NULL);
    while (in_call == before) sched_yield();
    void *result;
    ck_assert_int_eq(pthread_cancel(waiting), 0);
    ck_assert_int_eq(pthread_join(waiting, &result), 0);
    ck_assert_ptr_eq(result, PTHREAD_CANCELED);
    unit_start(record_and_vanish, NULL);
  }
  await_ends(3 * EACH);
  struct lsc_snapshot s = must_take(session);
  ck_assert_uint_eq(s.calls, 6 * EACH);
  ck_assert_uint_eq(s.open, 6 * EACH);
  ck_assert_uint_eq(s.lanes, 3 * EACH);
  for (uint32_t call = 0; call < s.calls; call++) {
    if (lsc_row_region(s.row[call]) == A) ck_assert_uint_eq(s.parent[call], LSC_NO_CALL);
    else ck_assert_int_eq(lsc_row_thread(s.row[s.parent[call]]), lsc_row_thread(s.row[call]));
  }
  lsc_snapshot_commit(&s);
  s = must_take(session);
  ck_assert_uint_eq(s.open, 6 * EACH);
  lsc_snapshot_drop(&s);
  lsc_session_close(session);
}
END_TEST

/* In a process whose main thread has ended, or is about to: 0 if all is well. */
static int outlive_main(void) {
  struct lsc_snapshot s;
  for (;;) {
    if (take_snapshot(session, &s) != LSC_OK) return 1;
    if (s.threads == 1 && lsc_snapshot_thread(&s, 0).end_ns != LSC_NEVER) break;
    lsc_snapshot_drop(&s);
    usleep(1000);
  }
  struct lsc_thread_info first = lsc_snapshot_thread(&s, 0);
  if (first.native_id != getpid() || first.cpu_ns < 0 || s.open != 1 || s.completed != 1) return 2;
  lsc_snapshot_commit(&s);
  for (int i = 0; i < 3; i++) pthread_join(unit_start(call_once, NULL), NULL);
  record(B);
  if (take_snapshot(session, &s) != LSC_OK) return 3;
  if (s.threads != 5 || s.open != 1 || s.completed != 4) return 4;
  if (lsc_snapshot_thread(&s, 4).end_ns != LSC_NEVER) return 4;
  lsc_snapshot_commit(&s);
  return lsc_session_close(session) == LSC_OK ? 0 : 5;
}

static void *outlive_and_exit(void *unused) {
  (void)unused;
  _exit(outlive_main());
}

START_TEST(main_may_end_before_the_others) {
  pid_t child = fork();
  if (child == 0) {
    signal(SIGALRM, SIG_DFL);
    alarm(60);
    open_session();
    lsc_begin(session, A);
    record(B);
    unit_start(outlive_and_exit, NULL);
    pthread_exit(NULL);
  }
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %#x", (unsigned)status);
}
END_TEST

/* A destructor that records in every round that there is. */
static pthread_key_t late_key[2]; /* made before the library's own, if this process made none yet, and after it */
static _Atomic long late_calls, late_rounds;

static void record_late(void *key) {
  pthread_setspecific(*(pthread_key_t *)key, key);
  late_rounds++;
  lsc_status status = lsc_begin(session, B);
  unit_must(status == LSC_OK || status == LSC_INACTIVE);
  unit_must(lsc_end(session, B) == (status == LSC_OK ? LSC_OK : LSC_INACTIVE) || status == LSC_INACTIVE);
  late_calls += status == LSC_OK;
}

static void *leave_late(void *number) {
  intptr_t n = (intptr_t)number;
  if (n & 1) pthread_setspecific(late_key[0], &late_key[0]);
  if (n & 2) pthread_setspecific(late_key[1], &late_key[1]);
  if (n & 4) record(A);
  return NULL;
}

START_TEST(destructors_record_until_the_thread_has_ended_and_are_harmless_after) {
  if (UNIT_DESTRUCTOR_ROUNDS < PTHREAD_DESTRUCTOR_ITERATIONS) return;
  ck_assert_int_eq(pthread_key_create(&late_key[0], record_late), 0);
  open_session();
  record(A);
  ck_assert_int_eq(pthread_key_create(&late_key[1], record_late), 0);
  for (intptr_t i = 0; i < 80; i++) pthread_join(unit_start(leave_late, (void *)i), NULL);
  ck_assert_int_eq(late_rounds, 80 * PTHREAD_DESTRUCTOR_ITERATIONS);
  ck_assert_int_ge(late_calls, 80 * 2);
  struct lsc_snapshot s = must_take(session);
  ck_assert_uint_eq(s.threads, 1 + 70);
  ck_assert_uint_eq(s.completed, (size_t)late_calls + 1 + 40);
  ck_assert_uint_eq(s.open, 0);
  for (size_t i = 1; i < s.threads; i++) ck_assert(lsc_snapshot_thread(&s, (size_t)i).end_ns != LSC_NEVER);
  lsc_snapshot_drop(&s);
  lsc_session_close(session);
}
END_TEST

UNIT_MAIN("threads", each_short_thread_is_one_lane, a_thread_with_one_call_takes_at_most_a_kibibyte,
          threads_live_through_open_collect_and_close, threads_that_end_after_the_close_leave_nothing,
          the_cpu_time_of_a_live_thread_is_its_own, the_cpu_time_of_an_ended_thread_is_its_own,
          however_a_thread_ends_its_open_calls_stay_listed, main_may_end_before_the_others,
          destructors_record_until_the_thread_has_ended_and_are_harmless_after)
