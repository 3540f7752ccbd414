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
  account->regions = regions;
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

static size_t lane_of(const struct lsc_account *account, const struct lsc_row *row) {
  return row->task ? account->threads + row->task : row->thread;
}

static void count_open(struct lsc_lane_info *info, int64_t start) {
  if (!info->calls && !info->open_calls) info->first_ns = start;
  info->open_calls++;
  if (!info->calls) info->last_ns = start;
}

static inline void count_completed(struct lsc_lane_info *info, int64_t start, int64_t end) {
  if (!info->calls) {
    if (!info->open_calls) info->first_ns = start;
    info->last_ns = end;
    info->covered_to = start;
  }
  info->calls++;
  if (end > info->last_ns) info->last_ns = end;
  if (end <= info->covered_to) return;
  info->busy_ns += end - (start > info->covered_to ? start : info->covered_to);
  info->covered_to = end;
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
  sums->last = duration;
  sums->last_call = call;
  sums->total += duration;
  sums->squares += (unsigned __int128)(uint64_t)duration * (uint64_t)duration;
}

/* `exclusive` is, until lsc_account_regions, the time of the calls whose parents the region's are. */
static void add_to_regions(struct lsc_call_sums *sums, const struct lsc_block *block) {
  const struct lsc_block_call *call = block->call, *behind = call + block->count;
  const struct lsc_call_times *time = block->time;
  for (uint32_t id = block->first; call < behind; call++, time++, id++) {
    int64_t start = time->start, end = time->end;
    uint32_t above = lsc_parent_region(call->parent);
    if (end == LSC_NEVER) continue;
    add_call(&sums[call->region & LSC_ROW_REGION_MASK], id, start, end);
    if (above != LSC_NO_REGION) sums[above].exclusive += end - start;
  }
}

/* Calls from the i-th on, as long as they are of one lane and thread; where they end. */
static uint32_t add_to_lane(struct lsc_account *account, const struct lsc_block *block, uint32_t i) {
  const struct lsc_block_call *call = block->call + i, *behind = block->call + block->count;
  const struct lsc_call_times *time = block->time + i;
  const struct lsc_row *row = call->row;
  struct lsc_lane_info *lane = &account->lane[lane_of(account, row)], info = *lane;
  uint32_t task = row->task, thread = row->thread;
  do {
    int64_t start = time->start, end = time->end;
    info.apis |= 1u << (call->region >> LSC_ROW_REGION_BITS);
    if (end == LSC_NEVER) count_open(&info, start);
    else count_completed(&info, start, end);
    call++, time++;
  } while (call < behind && call->row->task == task && call->row->thread == thread);
  *lane = info;
  return (uint32_t)(call - block->call);
}

void lsc_account_block(struct lsc_account *account, const struct lsc_block *block) {
  for (uint32_t i = 0; i < block->count;) i = add_to_lane(account, block, i);
  add_to_regions(account->region, block);
}

static struct lsc_call_sums sums_of(const struct lsc_account *account, uint32_t region) {
  struct lsc_call_sums sums = account->region[region];
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
    if (calls) s->region[n++] = (struct lsc_region_span){r, offset, calls, sums_of(account, r)};
    offset += calls;
  }
  return LSC_OK;
}

static int64_t lane_at(const struct lsc_account *account, size_t place) {
  if (place == 0) return -1;
  return place <= account->threads ? -2 - ((int64_t)place - 1) : (int64_t)(place - 1 - account->threads);
}

void lsc_account_lanes(struct lsc_account *account, struct lsc_snapshot *s) {
  s->lane = account->lane;
  account->lane = NULL;
  for (size_t i = 0; i < account->lanes; i++) {
    struct lsc_lane_info info = s->lane[i];
    if (!info.calls && !info.open_calls) continue;
    s->apis |= info.apis;
    s->last_lane = info.lane = lane_at(account, i);
    s->lane[s->lanes++] = info;
  }
  struct lsc_lane_info *smaller = realloc(s->lane, (s->lanes + 1) * sizeof *smaller);
  if (smaller) s->lane = smaller;
}
