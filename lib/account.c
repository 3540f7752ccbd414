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
  uint32_t regions = lsc_region_count();
  account->threads = threads;
  account->lanes = 1 + threads + tasks;
  account->region = calloc((size_t)regions + 1, sizeof *account->region);
  account->lane = calloc(account->lanes, sizeof *account->lane);
  if (account->region && account->lane) return LSC_OK;
  return lsc_fail(LSC_NO_MEMORY, "no memory to sum up %u regions and %zu lanes", regions, account->lanes);
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

/* A block of calls. Of those that have not ended, `end` is something else than a time. */
struct block {
  struct lsc_snapshot *snapshot;
  uint32_t first, count;
  const struct lsc_row *const *row; /* [count], behind those of the calls before */
  int64_t start[LSC_ACCOUNT_BLOCK], end[LSC_ACCOUNT_BLOCK];
  unsigned char open[LSC_ACCOUNT_BLOCK];
};

static void find_open(struct lsc_account *account, struct block *block) {
  const struct lsc_snapshot *s = block->snapshot;
  memset(block->open, 0, block->count);
  for (; account->open < s->open && s->open_call[account->open] - block->first < block->count; account->open++)
    block->open[s->open_call[account->open] - block->first] = 1;
}

/* The depths are looked at only where two calls began in one nanosecond. */
static void look_for_disorder(struct lsc_account *account, const struct block *block) {
  int64_t start = block->first ? account->start : INT64_MIN;
  for (uint32_t i = 0; i < block->count; i++) {
    if (block->start[i] == start && lsc_row_depth(block->row[i]) < lsc_row_depth(block->row[(ptrdiff_t)i - 1]))
      account->disordered = 1;
    start = block->start[i];
  }
  account->start = start;
}

static inline int same_lane(const struct lsc_row *a, const struct lsc_row *b) {
  return a->task == b->task && a->thread == b->thread;
}

static size_t lane_of(const struct lsc_account *account, const struct lsc_row *row) {
  return row->task ? account->threads + row->task : row->thread;
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

/* Calls from `i` on, as long as they are of one lane and thread; where they end. */
static uint32_t add_to_lane(struct lsc_account *account, const struct block *block, uint32_t i) {
  size_t lane = lane_of(account, block->row[i]);
  struct lsc_tally tally = account->lane[lane];
  do {
    tally.info.apis |= 1u << lsc_row_api(block->row[i]);
    if (block->open[i]) count_open(&tally, block->start[i]);
    else count_completed(&tally, block->start[i], block->end[i]);
  } while (++i < block->count && same_lane(block->row[i], block->row[i - 1]));
  account->lane[lane] = tally;
  return i;
}

static inline void add_call(struct lsc_call_sums *sums, uint32_t call, int64_t start, int64_t end) {
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
  sums->last_call = call;
  sums->total += duration;
  sums->squares += (unsigned __int128)(uint64_t)duration * (uint64_t)duration;
}

/* `exclusive` is, until lsc_account_regions, the time of the calls whose parents the region's are. */
static void add_to_regions(struct lsc_account *account, const struct block *block) {
  const struct lsc_snapshot *s = block->snapshot;
  uint32_t regions = account->regions;
  for (uint32_t i = 0; i < block->count; i++) {
    if (block->open[i]) continue;
    uint32_t region = lsc_row_region(block->row[i]), parent = s->parent[block->first + i];
    if (region >= regions) regions = region + 1;
    add_call(&account->region[region], block->first + i, block->start[i], block->end[i]);
    if (parent != LSC_NO_CALL && lsc_call_is_completed(s, parent))
      account->region[lsc_row_region(s->row[parent])].exclusive += block->end[i] - block->start[i];
  }
  account->regions = regions;
}

void lsc_account_calls(struct lsc_account *account, struct lsc_snapshot *s, uint32_t calls) {
  struct block block;
  block.snapshot = s;
  for (block.first = account->next; block.first < calls; block.first += block.count) {
    block.count = calls - block.first < LSC_ACCOUNT_BLOCK ? calls - block.first : LSC_ACCOUNT_BLOCK;
    block.row = s->row + block.first;
    lsc_row_times(&s->map, block.row, block.count, 0, block.start);
    lsc_row_times(&s->map, block.row, block.count, 1, block.end);
    find_open(account, &block);
    look_for_disorder(account, &block);
    for (uint32_t i = 0; i < block.count;) i = add_to_lane(account, &block, i);
    add_to_regions(account, &block);
  }
  account->next = calls;
}

static struct lsc_call_sums sums_of(const struct lsc_account *account, struct lsc_snapshot *s, uint32_t region) {
  struct lsc_call_sums sums = account->region[region];
  int64_t start, end;
  lsc_row_times(&s->map, &s->row[sums.last_call], 1, 0, &start);
  lsc_row_times(&s->map, &s->row[sums.last_call], 1, 1, &end);
  sums.last = end - start;
  sums.exclusive = sums.total - sums.exclusive;
  return sums;
}

lsc_status lsc_account_regions(const struct lsc_account *account, struct lsc_snapshot *s) {
  size_t n = 0;
  uint64_t offset = 0;
  for (uint32_t r = 0; r < account->regions; r++) s->regions += account->region[r].calls > 0;
  s->region = malloc((s->regions + 1) * sizeof *s->region);
  if (!s->region) return lsc_fail(LSC_NO_MEMORY, "no memory for %zu regions", s->regions);
  for (uint32_t r = 0; r < account->regions; r++) {
    uint64_t calls = account->region[r].calls;
    if (calls) s->region[n++] = (struct lsc_region_span){r, offset, calls, sums_of(account, s, r)};
    offset += calls;
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
