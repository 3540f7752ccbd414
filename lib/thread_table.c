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

/* Names that the operating system gives are bytes; what is no text is shown as question marks. */
static void make_text(char *name) {
  if (lsc_name_is_valid(name, strlen(name))) return;
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

/*
 * Of a thread that runs, name and CPU time are read from outside, by numbers that the system may give to another thread
 * once this one is gone. So whether it has ended is asked again afterwards: then what was read is dropped for what the
 * thread itself left.
 */
/* What is left by a thread that its language has done with. */
static int read_over(struct lsc_clock_map *map, struct lsc_track *track, struct lsc_thread_info *info) {
  uint64_t over = atomic_load_explicit(&track->over_ticks, memory_order_acquire);
  if (!over) return 0;
  info->cpu_ns = track->over_cpu_ns < 0 ? LSC_NEVER : track->over_cpu_ns;
  info->end_ns = lsc_clock_map_ns(map, over);
  return 1;
}

static void read_state(struct lsc_clock_map *map, struct lsc_track *track, struct lsc_thread_info *info, char *name) {
  info->end_ns = LSC_NEVER;
  if (!has_ended(track)) {
    if (!read_over(map, track, info)) info->cpu_ns = read_live_cpu(track);
    read_live_name(track->native_id, name);
    LSC_TEST_POINT("thread read");
    if (!has_ended(track)) return;
  }
  info->cpu_ns = track->cpu_ns < 0 ? LSC_NEVER : track->cpu_ns;
  info->end_ns = lsc_clock_map_ns(map, track->end_ticks);
  memcpy(name, track->os_name, LSC_OS_NAME);
}

lsc_status lsc_describe_thread(struct lsc_clock_map *map, struct lsc_track *track, int64_t index,
                               struct lsc_thread_info *info) {
  char name[LSC_OS_NAME] = "";
  *info = (struct lsc_thread_info){.index = index, .ident = track->ident, .native_id = track->native_id};
  info->start_ns = lsc_clock_map_ns(map, track->start_ticks);
  read_state(map, track, info, name);
  make_text(name);
  const struct lsc_thread_label *label = atomic_load_explicit(&track->label, memory_order_acquire);
  if (label) {
    info->ident = label->ident;
    info->daemon = label->daemon;
  }
  info->name = strdup(label ? label->name : name);
  return info->name ? LSC_OK : lsc_fail(LSC_NO_MEMORY, "no memory for the name of thread %lld", (long long)index);
}

lsc_status lsc_describe_threads(struct lsc_snapshot *s, struct lsc_streams *streams) {
  s->threads = streams->threads;
  s->thread = calloc(s->threads + 1, sizeof *s->thread);
  if (!s->thread) return lsc_fail(LSC_NO_MEMORY, "no memory for the table of %zu threads", s->threads);
  for (size_t i = 0; i < s->threads; i++) {
    lsc_status status = lsc_describe_thread(&s->map, streams->stream[i].track, (int64_t)i, &s->thread[i]);
    if (status != LSC_OK) return status;
  }
  return LSC_OK;
}
