/* SPDX-License-Identifier: BSD-3-Clause */
/* A child of fork() stands down, and finds every lock of the library free, whatever the parent's threads were doing. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lanescope_binding.h"
#include "snapshot.h"
#include "unit.h"

static lsc_region_id A;

static lsc_session open_session(void) {
  lsc_session session;
  ck_assert_int_eq(lsc_region("A", &A), LSC_OK);
  ck_assert_int_eq(lsc_session_open(NULL, &session), LSC_OK);
  return session;
}

/* The child's exit status, or -1 if it hung or crashed. */
static int run_child(int (*body)(lsc_session), lsc_session session) {
  pid_t child = fork();
  if (child == 0) {
    signal(SIGALRM, SIG_DFL);
    alarm(20);
    _exit(body(session));
  }
  ck_assert_int_gt(child, 0);
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int records_nothing(lsc_session inherited) {
  struct lsc_snapshot snapshot;
  if (lsc_end(inherited, A) != LSC_INACTIVE || lsc_begin(inherited, A) != LSC_INACTIVE) return 1;
  if (lsc_session_is_open(inherited) || lsc_session_close(inherited) != LSC_INACTIVE) return 2;
  if (lsc_snapshot_take(inherited, &snapshot) != LSC_INACTIVE) return 3;
  return 0;
}

static int opens_its_own(lsc_session inherited) {
  lsc_session own;
  lsc_region_id id;
  struct lsc_snapshot s;
  if (records_nothing(inherited)) return 1;
  if (lsc_session_open(NULL, &own) != LSC_OK || own == inherited) return 2;
  if (lsc_region("child's own", &id) != LSC_OK) return 3;
  for (int i = 0; i < 100; i++)
    if (lsc_begin(own, id) != LSC_OK || lsc_end(own, id) != LSC_OK) return 4;
  if (lsc_snapshot_take(own, &s) != LSC_OK || s.completed != 100 || s.threads != 1 ||
      lsc_snapshot_thread(&s, 0).native_id != getpid())
    return 5;
  lsc_snapshot_commit(&s);
  return lsc_session_close(own) == LSC_OK ? 0 : 6;
}

START_TEST(the_child_stands_down_and_the_parent_goes_on) {
  lsc_session session = open_session();
  ck_assert_int_eq(lsc_begin(session, A), LSC_OK);
  ck_assert_int_eq(run_child(records_nothing, session), 0);
  ck_assert_int_eq(run_child(opens_its_own, session), 0);
  ck_assert_int_eq(lsc_end(session, A), LSC_OK);
  struct lsc_snapshot s;
  ck_assert_int_eq(lsc_snapshot_take(session, &s), LSC_OK);
  ck_assert_uint_eq(s.completed, 1);
  ck_assert_uint_eq(s.threads, 1);
  lsc_snapshot_commit(&s);
  ck_assert_int_eq(lsc_session_close(session), LSC_OK);
}
END_TEST

static _Atomic int stop;
static _Atomic long names;

static void *record_once(void *session) {
  lsc_begin(*(lsc_session *)session, A);
  lsc_end(*(lsc_session *)session, A);
  return NULL;
}

/* Each rests a little, so that what they leave behind does not slow the forks down. */
static void *register_threads(void *session) {
  while (!stop) {
    pthread_join(unit_start(record_once, session), NULL);
    usleep(500);
  }
  return NULL;
}

static void *define_regions(void *unused) {
  char name[32];
  lsc_region_id id;
  while (!stop) {
    snprintf(name, sizeof name, "busy %ld", ++names);
    lsc_region(name, &id);
    if (names % 10 == 0) usleep(500);
  }
  return unused;
}

static void *open_and_snapshot(void *unused) {
  while (!stop) {
    lsc_session session;
    struct lsc_snapshot s;
    if (lsc_session_open(NULL, &session) != LSC_OK) continue;
    record_once(&session);
    if (lsc_snapshot_take(session, &s) == LSC_OK) lsc_snapshot_commit(&s);
    lsc_session_close(session);
    usleep(100);
  }
  return unused;
}

static void *record_always(void *session) {
  while (!stop) {
    for (int i = 0; i < 100; i++) record_once(session);
    usleep(100);
  }
  return NULL;
}

static void *snapshot_always(void *session) {
  while (!stop) {
    struct lsc_snapshot s;
    if (lsc_snapshot_take(*(lsc_session *)session, &s) == LSC_OK) lsc_snapshot_commit(&s);
    usleep(1000);
  }
  return NULL;
}

/* The sanitizers of GCC 12 do not hold their own allocators over fork(): a child may hang there, also in what the
 * library allocates for a message. */
#if UNIT_SANITIZED
#define FORKS 0
#else
#define FORKS unit_amount(3000, 500, 50)
#endif

/* Children must not hang, and no thread of the parent may wait for ever. */
START_TEST(forks_beside_busy_threads_never_hang) {
  lsc_session session = open_session();
  pthread_t thread[] = {unit_start(register_threads, &session), unit_start(define_regions, NULL),
                        unit_start(open_and_snapshot, NULL), unit_start(record_always, &session),
                        unit_start(snapshot_always, &session)};
  for (long i = 0; i < FORKS; i++)
    ck_assert_int_eq(run_child(i % 2 ? opens_its_own : records_nothing, session), 0);
  stop = 1;
  for (size_t t = 0; t < sizeof thread / sizeof *thread; t++) pthread_join(thread[t], NULL);
  ck_assert_int_eq(lsc_session_close(session), LSC_OK);
}
END_TEST

UNIT_MAIN("fork", the_child_stands_down_and_the_parent_goes_on, forks_beside_busy_threads_never_hang)
