/* SPDX-License-Identifier: BSD-3-Clause */
#include "account.h"

#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "region.h"

/*
 * Behind the acquire of every row's start: who wrote the row had seen its region below the count, so that this load,
 * relaxed as it is, sees it too.
 */
lsc_status lsc_account_init(struct lsc_account *account, size_t threads, size_t tasks) {
  memset(account, 0, sizeof *account);
  account->regions = lsc_region_count();
  account->threads = threads;
  account->lanes = 1 + threads + tasks;
  account->region = calloc((size_t)account->regions + 1, sizeof *account->region);
  account->lane = calloc(account->lanes, sizeof *account->lane);
  if (account->region && account->lane) return LSC_OK;
  return lsc_fail(LSC_NO_MEMORY, "no memory to sum up %u regions and %zu lanes", account->regions, account->lanes);
}

void lsc_account_free(struct lsc_account *account) {
  free(account->region);
  free(account->lane);
}

void lsc_account_restart(struct lsc_account *account) {
  memset(account->region, 0, account->regions * sizeof *account->region);
  memset(account->lane, 0, account->lanes * sizeof *account->lane);
  account->next = 0;
  account->open = 0;
  account->disordered = 0;
}

static void count_open(struct lsc_tally *tally, int64_t start) {
  struct lsc_lane_info *info = &tally->info;
  if (!info->calls && !info->open_calls) info->first_ns = start;
  info->open_calls++;
  if (!info->calls) info->last_ns = start;
}

static inline void count_completed(struct lsc_tally *tally, int64_t start, int64_t end) {
  struct lsc_lane_info *info = &tally->info;
  if (!info->calls) {
    if (!info->open_calls) info->first_ns = start;
    info->last_ns = end;
    tally->covered_to = start;
  }
  info->calls++;
  if (end > info->last_ns) info->last_ns = end;
  if (end <= tally->covered_to) return;
  info->busy_ns += end - (start > tally->covered_to ? start : tally->covered_to);
  tally->covered_to = end;
}

static inline void add_call(struct lsc_region_sums *sums, uint32_t call, int64_t start, int64_t end) {
  int64_t duration = end - start;
  if (sums->calls++ == 0) {
    sums->minimum = sums->maximum = sums->first = duration;
    sums->start_minimum = start;
    sums->end_maximum = end;
    sums->first_call = call;
  }
  if (duration < sums->minimum) sums->minimum = duration;
  if (duration > sums->maximum) sums->maximum = duration;
  if (end > sums->end_maximum) sums->end_maximum = end;
  sums->last = duration;
  sums->last_call = call;
  sums->total += duration;
  sums->exclusive += duration;
  sums->squares += (unsigned __int128)(uint64_t)duration * (uint64_t)duration;
}

static inline int is_open(struct lsc_account *account, const struct lsc_snapshot *s, uint32_t call) {
  return account->open < s->open && s->open_call[account->open] == call;
}

/* Of calls that have not ended, `end` holds something else than a time. */
static void add_block(struct lsc_account *account, struct lsc_snapshot *s, uint32_t first, uint32_t count,
                      const int64_t *start, const int64_t *end) {
  int disordered = account->disordered;
  int64_t start_before = first ? account->start : start[0];
  uint32_t depth_before = first ? account->depth : 0;
  for (uint32_t i = 0; i < count; i++) {
    const struct lsc_row *row = s->row[first + i];
    uint32_t depth = lsc_row_depth(row), parent = s->parent[first + i];
    disordered |= (start[i] == start_before) & (depth < depth_before);
    start_before = start[i];
    depth_before = depth;
    struct lsc_tally *tally = &account->lane[row->task ? account->threads + row->task : row->thread];
    tally->info.apis |= 1u << lsc_row_api(row);
    if (is_open(account, s, first + i)) {
      account->open++;
      count_open(tally, start[i]);
      continue;
    }
    count_completed(tally, start[i], end[i]);
    add_call(&account->region[lsc_row_region(row)], first + i, start[i], end[i]);
    if (parent != LSC_NO_CALL && lsc_call_is_completed(s, parent))
      account->region[lsc_row_region(s->row[parent])].exclusive -= end[i] - start[i];
  }
  account->disordered = disordered;
  account->start = start_before;
  account->depth = depth_before;
}

void lsc_account_calls(struct lsc_account *account, struct lsc_snapshot *s, uint32_t calls) {
  int64_t start[LSC_ACCOUNT_BLOCK], end[LSC_ACCOUNT_BLOCK];
  for (uint32_t first = account->next, count; first < calls; first += count) {
    count = calls - first < LSC_ACCOUNT_BLOCK ? calls - first : LSC_ACCOUNT_BLOCK;
    lsc_row_times(&s->map, s->row + first, count, 0, 0, start);
    lsc_row_times(&s->map, s->row + first, count, 1, 0, end);
    add_block(account, s, first, count, start, end);
  }
  account->next = calls;
}

lsc_status lsc_account_regions(const struct lsc_account *account, struct lsc_snapshot *s) {
  size_t n = 0;
  uint64_t offset = 0;
  for (uint32_t r = 0; r < account->regions; r++) s->regions += account->region[r].calls > 0;
  s->region = malloc((s->regions + 1) * sizeof *s->region);
  if (!s->region) return lsc_fail(LSC_NO_MEMORY, "no memory for %zu regions", s->regions);
  for (uint32_t r = 0; r < account->regions; r++) {
    const struct lsc_region_sums *sums = &account->region[r];
    if (sums->calls) s->region[n++] = (struct lsc_region_span){r, offset, sums->calls, *sums};
    offset += sums->calls;
  }
  return LSC_OK;
}

static int64_t lane_at(const struct lsc_account *account, size_t place) {
  if (place == 0) return -1;
  return place <= account->threads ? -2 - ((int64_t)place - 1) : (int64_t)(place - 1 - account->threads);
}

lsc_status lsc_account_lanes(const struct lsc_account *account, struct lsc_snapshot *s) {
  size_t n = 0;
  for (size_t i = 0; i < account->lanes; i++) {
    const struct lsc_lane_info *info = &account->lane[i].info;
    s->lanes += info->calls || info->open_calls;
  }
  s->lane = malloc((s->lanes + 1) * sizeof *s->lane);
  if (!s->lane) return lsc_fail(LSC_NO_MEMORY, "no memory for %zu lanes", s->lanes);
  for (size_t i = 0; i < account->lanes; i++) {
    const struct lsc_lane_info *info = &account->lane[i].info;
    if (!info->calls && !info->open_calls) continue;
    s->apis |= info->apis;
    s->lane[n] = *info;
    s->lane[n++].lane = lane_at(account, i);
  }
  return LSC_OK;
}
