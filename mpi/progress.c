/* SPDX-License-Identifier: BSD-3-Clause */
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lanescope.h"
#include "signals.h"

#define FIRST_NS 2000000000
#define NEXT_NS 500000000
#define LINE 512

static _Thread_local struct lsc_progress *mine;

static void put(const char *text, size_t length) {
  ssize_t written = write(STDERR_FILENO, text, length);
  (void)written;
}

/* The line, over the one before, which was `before` columns long. Returns its own length. */
static int show(struct lsc_progress *progress, int before) {
  char line[LINE], rest[LINE], part[32] = "";
  uint64_t done = atomic_load_explicit(&progress->done, memory_order_relaxed);
  uint64_t of = atomic_load_explicit(&progress->of, memory_order_relaxed);
  const char *doing = atomic_load_explicit(&progress->doing, memory_order_relaxed);
  if (of) snprintf(part, sizeof part, ", %d %%", (int)(100.0 * (double)done / (double)of));
  snprintf(rest, sizeof rest, ": %s%s (%lld s)", doing, part,
           (long long)((lsc_now_ns() - progress->since) / 1000000000));
  int most = lsc_progress_columns() - 1; /* behind the last column the cursor may be on the next line */
  int length = lsc_progress_line(line, sizeof line, progress->name, rest, most);
  char whole[2 * LINE];
  int blank = (before < most ? before : most) - length;
  int size = snprintf(whole, sizeof whole, "\r%s%*s", line, blank > 0 && blank < LINE ? blank : 0, "");
  put(whole, (size_t)size);
  return length;
}

static void erase(int length) {
  char blank[LINE + 3];
  int size = length ? snprintf(blank, sizeof blank, "\r%*s\r", length, "") : 0;
  put(blank, (size_t)size);
}

static struct timespec at(int64_t ns) {
  return (struct timespec){.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
}

static void *run(void *argument) {
  struct lsc_progress *progress = argument;
  int64_t next = progress->since + FIRST_NS;
  int length = 0;
  pthread_mutex_lock(&progress->mutex);
  while (!progress->is_over) {
    struct timespec when = at(next);
    if (pthread_cond_timedwait(&progress->ended, &progress->mutex, &when) == 0) continue;
    length = show(progress, length);
    next = lsc_now_ns() + NEXT_NS;
  }
  pthread_mutex_unlock(&progress->mutex);
  erase(length);
  return NULL;
}

/* Its wait is on the clock of lsc_now_ns. */
static int make_condition(pthread_cond_t *condition) {
  pthread_condattr_t clock;
  if (pthread_condattr_init(&clock)) return 0;
  int made = !pthread_condattr_setclock(&clock, CLOCK_MONOTONIC) && !pthread_cond_init(condition, &clock);
  pthread_condattr_destroy(&clock);
  return made;
}

void lsc_progress_begin(struct lsc_progress *progress, const char *path) {
  const char *slash = strrchr(path, '/');
  memset(progress, 0, sizeof *progress);
  snprintf(progress->name, sizeof progress->name, "%s", slash ? slash + 1 : path);
  for (char *at = progress->name; *at; at++) {
    if ((unsigned char)*at < ' ' || *at == 0x7f) *at = '?';
  }
  progress->since = lsc_now_ns();
  atomic_store_explicit(&progress->doing, "begin", memory_order_relaxed);
  if (pthread_mutex_init(&progress->mutex, NULL) || !make_condition(&progress->ended)) return;
  progress->running = lsc_signals_thread(&progress->thread, run, progress);
  if (progress->running) mine = progress;
}

void lsc_progress_end(struct lsc_progress *progress) {
  if (!progress->running) return;
  mine = NULL;
  pthread_mutex_lock(&progress->mutex);
  progress->is_over = 1;
  pthread_cond_signal(&progress->ended);
  pthread_mutex_unlock(&progress->mutex);
  pthread_join(progress->thread, NULL);
  pthread_cond_destroy(&progress->ended);
  pthread_mutex_destroy(&progress->mutex);
  progress->running = 0;
}

void lsc_progress_doing(const char *what) {
  if (!mine) return;
  atomic_store_explicit(&mine->of, 0, memory_order_relaxed);
  atomic_store_explicit(&mine->doing, what, memory_order_relaxed);
}

void lsc_progress_at(uint64_t done, uint64_t of) {
  if (!mine) return;
  atomic_store_explicit(&mine->done, done, memory_order_relaxed);
  atomic_store_explicit(&mine->of, of, memory_order_relaxed);
}
