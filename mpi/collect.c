/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collection.h"
#include "message.h"
#include "offset.h"
#include "progress.h"
#include "report.h"
#include "signals.h"

#define LONGEST_GRACE 10000000000

static void start(struct lsc_collection *c, const lsc_save_options *options) {
  for (int i = 0; i < LSC_TABLE_COUNT; i++) lsc_table_init(&c->merged[i], &lsc_table_descs[i]);
  lsc_metadata_init(&c->metadata);
  lsc_collection_enter(c, LSC_STEP_ARGUMENTS);
  lsc_collection_note(c, lsc_options_take(options, &c->options));
  lsc_collection_note(c, lsc_options_level(&c->options, &c->level));
  c->arrival = lsc_arrival_ns(&c->options);
  c->timeout = lsc_timeout_ns(c->options.timeout);
  c->grace = c->timeout < LONGEST_GRACE ? c->timeout : LONGEST_GRACE;
  if (gethostname(c->hostname, sizeof c->hostname - 1) < 0) c->hostname[0] = 0;
  if (c->options.report) *c->options.report = NULL;
  c->keeps = c->options.report != NULL;
  if (c->options.written && c->options.written_size) c->options.written[0] = 0;
}

static lsc_status check_path(struct lsc_collection *c) {
  if (!c->path) return lsc_fail(LSC_INVALID, "the path of the file is NULL");
  return c->coll->rank ? LSC_OK : lsc_target_open(&c->target, c->path);
}

/* With the snapshot in hand: until then another thread may be at the end of its collect, to the same path. */
static lsc_status check_repeat(struct lsc_collection *c) {
  if (c->coll->rank || c->options.replace || !lsc_session_has_path(c->session, c->target.path)) return LSC_OK;
  return lsc_fail(LSC_COLLECTED, "this session was collected to '%s' before: give another path, or set replace",
                  c->target.path);
}

/* Once all are there: what is measured now is right for the snapshot that comes right behind it. */
static void compare_clocks(struct lsc_collection *c) {
  struct lsc_offset_clock clock;
  lsc_collection_enter(c, LSC_STEP_CLOCK);
  lsc_offset_own_clock(&clock);
  clock.added_ns = lsc_session_added_ns(c->session);
  lsc_collection_came(
      c, lsc_offset_measure(c->coll, LSC_TAG_CLOCK, &clock, &c->clocks.now, lsc_collection_deadline(c)));
}

/* Rank 0 knows what its own rows are going to need: the columns that every file has, and the lanes' threads. */
static void reserve_rows(void *ctx, const struct lsc_snapshot *snapshot, size_t calls) {
  struct lsc_collection *c = ctx;
  if (c->coll->rank || c->level) return;
  lsc_reserve_begin(&c->reserve, c->target.temporary, calls * (snapshot->no_lanes ? 40 : 48));
}

static void take_snapshot(struct lsc_collection *c) {
  const struct lsc_snapshot_watch watch = {reserve_rows, c};
  const struct lsc_comparison *clocks = c->coll->size > 1 ? &c->clocks : NULL;
  if (c->status || lsc_collection_enter(c, LSC_STEP_SNAPSHOT)) return;
  if (lsc_collection_note(c, lsc_snapshot_take_watched(c->session, clocks, &watch, &c->snapshot))) return;
  c->has_snapshot = 1;
  c->fill = (struct lsc_fill){.snapshot = &c->snapshot,
                              .rank = (uint32_t)c->coll->rank,
                              .hostname = c->hostname,
                              .pid = getpid()};
  lsc_collection_note(c, check_repeat(c));
}

static lsc_status run(struct lsc_collection *c) {
  if (!c->status) lsc_collection_note(c, check_path(c));
  lsc_status status = lsc_collection_agree(c, LSC_AGREE_ARRIVE);
  if (status) return status;
  compare_clocks(c);
  take_snapshot(c);
  if ((status = lsc_collection_agree(c, LSC_AGREE_CUT))) return status;
  lsc_collection_merge(c);
  if ((status = lsc_collection_store(c))) return status;
  if (!c->coll->rank) lsc_collection_note(c, lsc_target_publish(&c->target));
  return lsc_collection_agree(c, LSC_AGREE_PUBLISH);
}

/* Neither can make a whole file a failure: a path that is not remembered is only not refused the next time. */
static void keep_results(struct lsc_collection *c) {
  const lsc_save_options *options = &c->options;
  if (options->written && options->written_size) snprintf(options->written, options->written_size, "%s", c->final);
  if (c->coll->rank) return;
  lsc_session_add_path(c->session, c->target.path);
  if (options->report && c->keeps) {
    *options->report = lsc_report_take(c->merged, &c->metadata, &c->fill, options->keep_events && c->coll->size == 1);
  }
}

static void finish(struct lsc_collection *c, lsc_status status) {
  if (status == LSC_OK) keep_results(c);
  c->snapshot.is_written = 1;
  if (c->has_snapshot && status == LSC_OK) lsc_snapshot_commit(&c->snapshot);
  else if (c->has_snapshot) lsc_snapshot_drop(&c->snapshot);
  for (int i = 0; i < LSC_TABLE_COUNT; i++) lsc_table_free(&c->merged[i]);
  lsc_metadata_free(&c->metadata);
  lsc_names_free(&c->names);
  lsc_reserve_end(&c->reserve);
  lsc_target_close(&c->target);
  free(c->ids);
  free(c->temporary);
  free(c->final);
}

/* Rank 0 shows it, also where each rank writes a file of its own. */
static void show_progress(const struct lsc_collection *c, struct lsc_progress *progress) {
  *progress = (struct lsc_progress){0};
  if (c->coll->rank || c->part || c->options.quiet || !c->path || !lsc_progress_seen()) return;
  lsc_progress_begin(progress, c->path);
}

static lsc_status collect(struct lsc_collection *c, const lsc_save_options *options) {
  struct lsc_signals held;
  struct lsc_progress progress;
  lsc_signals_hold(&held);
  start(c, options);
  show_progress(c, &progress);
  lsc_status status = run(c);
  lsc_progress_end(&progress);
  finish(c, status);
  lsc_signals_release(&held);
  return status;
}

lsc_status lsc_collect_over(lsc_session session, struct lsc_coll *coll, void *comm, const struct lsc_membership *of,
                            const char *path, const lsc_save_options *options) {
  struct lsc_collection c = {
      .session = session, .coll = coll, .comm = comm, .path = path, .session_id = of->session_id};
  if (coll->size > 1) c.clocks = of->clocks;
  return collect(&c, options);
}

lsc_status lsc_write_apart(lsc_session session, const char *path, int rank, int size,
                           const struct lsc_membership *of, const lsc_save_options *options) {
  struct lsc_coll self;
  lsc_coll_self(&self);
  struct lsc_collection c = {.session = session, .coll = &self, .path = path, .part = rank, .part_of = size};
  if (of) {
    c.clocks = of->clocks;
    c.session_id = of->session_id;
  }
  return collect(&c, options);
}

lsc_status lsc_write_part(lsc_session session, const char *path, int rank, int size, const lsc_save_options *options) {
  return lsc_write_apart(session, path, rank, size, NULL, options);
}

lsc_status lsc_write(lsc_session session, const char *path, const lsc_save_options *options) {
  return lsc_write_part(session, path, 0, 0, options);
}
