/* SPDX-License-Identifier: BSD-3-Clause */
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "order.h"
#include "session.h"
#include "streams.h"
#include "walk.h"

void lsc_snapshot_forget_lanes(struct lsc_snapshot *s) {
  free(s->task);
  for (size_t i = 0; s->thread && i < s->threads; i++) free(s->thread[i].now);
  free(s->thread);
  free(s->lane);
  s->task = NULL;
  s->thread = NULL;
  s->lane = NULL;
}

static void free_parts(struct lsc_snapshot *s) {
  lsc_clock_map_free(&s->map);
  free(s->row);
  free(s->parent);
  free(s->event);
  free(s->region);
  free(s->open_call);
  lsc_snapshot_forget_lanes(s);
  lsc_correction_free(&s->correction);
  if (s->walk) lsc_walk_free(s->walk);
  free(s->walk);
  struct lsc_session_state *state = s->streams->state;
  lsc_streams_free(s->streams);
  free(s->streams);
  memset(s, 0, sizeof *s);
  lsc_session_collected(state);
}

/* Two clock readings a call, and what was spent on chunks. */
static void add_up(struct lsc_snapshot *s) {
  double slow = 0;
  for (size_t i = 0; i < s->streams->count; i++) {
    const struct lsc_stream *stream = &s->streams->stream[i];
    s->dropped += stream->dropped - stream->track->reported_dropped;
    slow += (double)(stream->slow_ticks - stream->track->reported_slow_ticks);
  }
  s->is_full = atomic_load_explicit(&s->streams->state->source->is_full, memory_order_relaxed);
  double ns_per_tick = 1;
  if (s->map.pairs > 1) {
    struct lsc_clock_pair first = s->map.pair[0], last = s->map.pair[s->map.pairs - 1];
    ns_per_tick = (double)(last.ns - first.ns) / (double)(last.ticks - first.ticks);
  }
  s->overhead_ns = (int64_t)(2 * lsc_clock_read_cost_ns() * (double)s->calls + slow * ns_per_tick);
}

/* The map to corrected times. Nothing may be converted before. */
static lsc_status correct(struct lsc_snapshot *s, struct lsc_session_state *state,
                          const struct lsc_comparison *comparison) {
  int64_t end_ns = s->map.pairs ? s->map.pair[s->map.pairs - 1].ns : lsc_monotonic_ns();
  lsc_status status = lsc_correction_extend(&state->correction, comparison, state->open_ns, end_ns, &s->correction);
  if (status != LSC_OK) return status;
  s->clock_offset_ns = comparison ? s->correction.constant_ns : 0;
  s->clock_error_ns = comparison ? s->correction.error_ns : 0;
  s->clock_drift_ppb = lsc_correction_drift_ppb(&s->correction);
  s->open_ns = state->open_ns + s->clock_offset_ns + lsc_correction_at(&s->correction, state->open_ns);
  return lsc_correction_apply(&s->correction, s->clock_offset_ns, end_ns, &s->map);
}

static void tell_count(const struct lsc_snapshot_watch *watch, const struct lsc_snapshot *s) {
  size_t rows = 0;
  if (!watch) return;
  for (size_t i = 0; i < s->streams->count; i++) {
    const struct lsc_stream *stream = &s->streams->stream[i];
    rows += lsc_stream_rows(stream) - lsc_stream_open_count(stream);
  }
  watch->counted(watch->ctx, s, rows);
}

static lsc_status fill(struct lsc_snapshot *s, struct lsc_session_state *state, const struct lsc_comparison *comparison,
                       const struct lsc_snapshot_watch *watch) {
  lsc_status status = lsc_streams_open(state, s->streams);
  if (status == LSC_OK) tell_count(watch, s);
  if (status == LSC_OK) status = lsc_clock_map_take(&s->map);
  if (status == LSC_OK) status = correct(s, state, comparison);
  if (status == LSC_OK) status = lsc_order_calls(s, s->streams);
  if (status == LSC_OK) status = lsc_describe_threads(s, s->streams);
  if (status == LSC_OK) status = lsc_describe_tasks(s, s->streams);
  if (status == LSC_OK) add_up(s);
  return status;
}

static int is_corrected(const struct lsc_snapshot *s) { return s->correction.knots || s->clock_offset_ns; }

lsc_status lsc_snapshot_take_watched(lsc_session session, const struct lsc_comparison *comparison,
                                     const struct lsc_snapshot_watch *watch, struct lsc_snapshot *s) {
  struct lsc_session_state *state;
  memset(s, 0, sizeof *s);
  lsc_status status = lsc_session_collect(session, &state);
  if (status != LSC_OK) return status;
  s->streams = calloc(1, sizeof *s->streams);
  if (!s->streams) {
    lsc_session_collected(state);
    return lsc_fail(LSC_NO_MEMORY, "no memory for a snapshot");
  }
  s->session = session;
  s->label = state->label;
  s->collect = state->collects;
  s->no_lanes = state->no_lanes;
  s->open_unix_ns = state->open_unix_ns;
  s->streams->state = state;
  status = fill(s, state, comparison, watch);
  s->taken_ns = is_corrected(s) ? lsc_clock_map_ns(&s->map, lsc_ticks()) : lsc_monotonic_ns();
  if (status != LSC_OK) free_parts(s);
  return status;
}

lsc_status lsc_snapshot_take_compared(lsc_session session, const struct lsc_comparison *comparison,
                                      struct lsc_snapshot *s) {
  return lsc_snapshot_take_watched(session, comparison, NULL, s);
}

lsc_status lsc_snapshot_take(lsc_session session, struct lsc_snapshot *s) {
  return lsc_snapshot_take_compared(session, NULL, s);
}

int lsc_snapshot_to_group(const struct lsc_snapshot *s, const struct lsc_comparison *comparison, int64_t *offset_ns,
                          int64_t *error_ns) {
  return lsc_correction_to_group(&s->correction, comparison, s->streams->state->open_ns, offset_ns, error_ns);
}

static void keep_correction(struct lsc_snapshot *s, struct lsc_session_state *state) {
  struct lsc_correction before = state->correction;
  int64_t added_ns = s->correction.knots ? s->correction.knot[s->correction.knots - 1].added_ns : 0;
  state->correction = s->correction;
  s->correction = before;
  atomic_store_explicit(&state->added_ns, added_ns, memory_order_relaxed);
}

void lsc_snapshot_commit(struct lsc_snapshot *s) {
  for (size_t i = 0; i < s->streams->count; i++) lsc_stream_commit(s->streams->state, &s->streams->stream[i]);
  keep_correction(s, s->streams->state);
  s->streams->state->collects += s->is_written != 0;
  free_parts(s);
}

void lsc_snapshot_drop(struct lsc_snapshot *s) { free_parts(s); }
