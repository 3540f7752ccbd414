/* SPDX-License-Identifier: BSD-3-Clause */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "message.h"
#include "order.h"
#include "region.h"
#include "test_point.h"

static int is_text(const char *name) { return lsc_name_is_valid(name, strlen(name)); }

/* Names that the operating system gives are bytes; what is no text is shown as question marks. */
static void make_text(char *name) {
  if (is_text(name)) return;
  for (char *p = name; *p; p++)
    if (*p & 0x80) *p = '?';
}

/* The name of a running thread, empty if it is gone. */
static void read_live_name(pid_t native_id, char *name) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)native_id);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? 0 : read(file, name, LSC_OS_NAME - 1);
  if (file >= 0) close(file);
  if (length > 0 && name[length - 1] == '\n') length--;
  name[length > 0 ? length : 0] = '\0';
}

static int has_ended(struct lsc_track *track) { return atomic_load_explicit(&track->ended, memory_order_acquire); }

static int64_t read_live_cpu(const struct lsc_track *track) {
  struct timespec cpu;
  if (track->cpu_clock == CLOCK_MONOTONIC || clock_gettime(track->cpu_clock, &cpu)) return LSC_NEVER;
  return (int64_t)cpu.tv_sec * 1000000000 + cpu.tv_nsec;
}

/* What is left by a thread that its language has done with. */
static int read_over(struct lsc_clock_map *map, struct lsc_track *track, struct lsc_thread_now *now) {
  uint64_t over = atomic_load_explicit(&track->over_ticks, memory_order_acquire);
  if (!over) return 0;
  now->cpu_ns = track->over_cpu_ns < 0 ? LSC_NEVER : track->over_cpu_ns;
  now->end_ns = lsc_clock_map_ns(map, over);
  return 1;
}

static void read_left(struct lsc_clock_map *map, const struct lsc_track *track, struct lsc_thread_now *now) {
  now->cpu_ns = track->cpu_ns < 0 ? LSC_NEVER : track->cpu_ns;
  now->end_ns = lsc_clock_map_ns(map, track->end_ticks);
  memcpy(now->name, track->os_name, LSC_OS_NAME);
}

/*
 * Of a thread that runs, name and CPU time are read from outside, by numbers that the system may give to another thread
 * once this one is gone. So whether it has ended is asked again afterwards: then what was read is dropped for what the
 * thread itself left.
 */
static void read_now(struct lsc_clock_map *map, struct lsc_track *track, struct lsc_thread_now *now) {
  *now = (struct lsc_thread_now){.end_ns = LSC_NEVER};
  if (!has_ended(track)) {
    if (!read_over(map, track, now)) now->cpu_ns = read_live_cpu(track);
    read_live_name(track->native_id, now->name);
    LSC_TEST_POINT("thread read");
    if (!has_ended(track)) return;
  }
  read_left(map, track, now);
}

void lsc_read_thread(struct lsc_clock_map *map, struct lsc_track *track, struct lsc_thread_now *now,
                     struct lsc_thread_state *state) {
  read_now(map, track, now);
  make_text(now->name);
  state->label = atomic_load_explicit(&track->label, memory_order_acquire);
  state->now = has_ended(track) && is_text(track->os_name) && now->end_ns != LSC_NEVER ? NULL : now;
}

struct lsc_thread_info lsc_describe_thread(struct lsc_clock_map *map, const struct lsc_track *track, int64_t index,
                                           const struct lsc_thread_state *state) {
  const struct lsc_thread_label *label = state->label;
  const struct lsc_thread_now *now = state->now;
  struct lsc_thread_now left;
  if (!now) read_left(map, track, &left);
  return (struct lsc_thread_info){.index = index,
                                  .ident = label ? label->ident : track->ident,
                                  .native_id = track->native_id,
                                  .name = label ? label->name : now ? now->name : track->os_name,
                                  .daemon = label ? label->daemon : 0,
                                  .start_ns = lsc_clock_map_ns(map, track->start_ticks),
                                  .end_ns = now ? now->end_ns : left.end_ns,
                                  .cpu_ns = now ? now->cpu_ns : left.cpu_ns};
}

lsc_status lsc_describe_threads(struct lsc_snapshot *s, struct lsc_streams *streams) {
  s->threads = streams->threads;
  s->thread = calloc(s->threads + 1, sizeof *s->thread);
  if (!s->thread) return lsc_fail(LSC_NO_MEMORY, "no memory for the table of %zu threads", s->threads);
  for (size_t i = 0; i < s->threads; i++) {
    struct lsc_thread_state *state = &s->thread[i];
    struct lsc_thread_now now;
    lsc_read_thread(&s->map, streams->stream[i].track, &now, state);
    if (!state->now) continue;
    state->now = malloc(sizeof now);
    if (!state->now) return lsc_fail(LSC_NO_MEMORY, "no memory for the table of %zu threads", s->threads);
    *state->now = now;
  }
  return LSC_OK;
}

struct lsc_thread_info lsc_snapshot_thread(struct lsc_snapshot *s, size_t index) {
  return lsc_describe_thread(&s->map, s->streams->stream[index].track, (int64_t)index, &s->thread[index]);
}
