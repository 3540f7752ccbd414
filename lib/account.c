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

static inline void add_call(struct lsc_region_sums *sums, int64_t start, int64_t end) {
  int64_t duration = end - start;
  if (sums->calls++ == 0) {
    sums->minimum = sums->maximum = sums->first = duration;
    sums->start_minimum = start;
    sums->end_maximum = end;
  }
  if (duration < sums->minimum) sums->minimum = duration;
  if (duration > sums->maximum) sums->maximum = duration;
  if (end > sums->end_maximum) sums->end_maximum = end;
  sums->last = duration;
  sums->total += duration;
  sums->exclusive += duration;
  sums->squares += (unsigned __int128)(uint64_t)duration * (uint64_t)duration;
}

static inline int is_open(struct lsc_account *account, const struct lsc_snapshot *s, uint32_t call) {
  return account->open < s->open && s->open_call[account->open] == call;
}

void lsc_account_calls(struct lsc_account *account, struct lsc_snapshot *s, uint32_t end) {
  for (uint32_t call = account->next; call < end; call++) {
    const struct lsc_row *row = s->row[call];
    int64_t start = lsc_clock_map_ns(&s->map, atomic_load_explicit(&row->start, memory_order_relaxed));
    uint32_t depth = lsc_row_depth(row), parent = s->parent[call];
    account->disordered |= call && start == account->start && depth < account->depth;
    account->start = start;
    account->depth = depth;
    struct lsc_tally *tally = &account->lane[row->task ? account->threads + row->task : row->thread];
    tally->info.apis |= 1u << lsc_row_api(row);
    if (is_open(account, s, call)) {
      account->open++;
      count_open(tally, start);
      continue;
    }
    int64_t finish = lsc_clock_map_ns(&s->map, atomic_load_explicit(&row->end, memory_order_relaxed));
    count_completed(tally, start, finish);
    add_call(&account->region[lsc_row_region(row)], start, finish);
    if (parent != LSC_NO_CALL && lsc_call_is_completed(s, parent))
      account->region[lsc_row_region(s->row[parent])].exclusive -= finish - start;
  }
  account->next = end;
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
