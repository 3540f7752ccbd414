/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "order.h"
#include "sums.h"

lsc_status lsc_lane_ids(size_t n, const int64_t *thread_ids, const int64_t *task_ids, int64_t *lanes) {
  if (n && (!thread_ids || !lanes)) return lsc_fail(LSC_INVALID, "lsc_lane_ids: an array of %zu values is NULL", n);
  for (size_t i = 0; i < n; i++) {
    if (task_ids && task_ids[i] >= 0) lanes[i] = task_ids[i];
    else lanes[i] = thread_ids[i] < 0 ? -1 : -2 - thread_ids[i];
  }
  return LSC_OK;
}

static void count_calls(struct lsc_snapshot *s, struct lsc_lane_sums *tally) {
  size_t open = 0;
  for (uint32_t call = 0; call < s->calls; call++) {
    const struct lsc_row *row = s->row[call];
    int is_open = open < s->open && s->open_call[open] == call;
    open += (size_t)is_open;
    int64_t start = lsc_clock_map_ns(&s->map, atomic_load_explicit(&row->start, memory_order_relaxed));
    int64_t end = is_open ? start : lsc_clock_map_ns(&s->map, atomic_load_explicit(&row->end, memory_order_relaxed));
    int64_t task = lsc_row_task(row);
    size_t place = task < 0 ? (size_t)(lsc_row_thread(row) + 1) : 1 + s->threads + (size_t)task;
    lsc_lane_sums_add(&tally[place], lsc_row_api(row), start, end, is_open);
  }
}

static int64_t lane_at(const struct lsc_snapshot *s, size_t place) {
  if (place == 0) return -1;
  return place <= s->threads ? -2 - ((int64_t)place - 1) : (int64_t)(place - 1 - s->threads);
}

/* tally[0] is the unknown lane; the threads' and then the tasks' follow. */
lsc_status lsc_order_lanes(struct lsc_snapshot *s) {
  size_t places = 1 + s->threads + s->tasks;
  struct lsc_lane_sums *tally = calloc(places, sizeof *tally);
  lsc_status status = tally ? LSC_OK : LSC_NO_MEMORY;
  if (tally) {
    count_calls(s, tally);
    for (size_t i = 0; i < places; i++) s->lanes += tally[i].info.calls || tally[i].info.open_calls;
    s->lane = malloc((s->lanes + 1) * sizeof *s->lane);
    if (!s->lane) status = LSC_NO_MEMORY;
  }
  for (size_t i = 0, n = 0; status == LSC_OK && i < places; i++) {
    if (!tally[i].info.calls && !tally[i].info.open_calls) continue;
    s->lane[n] = tally[i].info;
    s->lane[n++].lane = lane_at(s, i);
  }
  free(tally);
  return status == LSC_OK ? status : lsc_fail(status, "no memory for %zu lanes", places);
}
