/* SPDX-License-Identifier: BSD-3-Clause */
#include "nesting.h"

#include <stdlib.h>
#include <string.h>

/* A call as it is sorted on its lane: outer ones first. */
struct call {
  int64_t start, end;
  size_t row;
};

static int is_before(const struct call *a, const struct call *b) {
  if (a->start != b->start) return a->start < b->start;
  if (a->end != b->end) return a->end > b->end;
  return a->row < b->row;
}

/* Where the sorted run that begins at `from` ends. */
static size_t end_of_run(const struct call *call, size_t from, size_t count) {
  size_t to = from + 1;
  while (to < count && !is_before(&call[to], &call[to - 1])) to++;
  return to;
}

static void merge(const struct call *from, size_t left, size_t middle, size_t right, struct call *to) {
  size_t a = left, b = middle;
  for (size_t i = left; i < right; i++) {
    if (a < middle && (b >= right || !is_before(&from[b], &from[a]))) to[i] = from[a++];
    else to[i] = from[b++];
  }
}

/*
 * Merges neighbouring sorted runs until one is left: files hold the calls of a region in the order of their starts, so
 * the runs are long. The result stands in `call`.
 */
static void sort(struct call *call, struct call *spare, size_t count) {
  struct call *from = call, *to = spare;
  while (count) {
    size_t runs = 0;
    for (size_t left = 0; left < count; runs++) {
      size_t middle = end_of_run(from, left, count);
      if (!runs && middle == count) {
        if (from != call) memcpy(call, from, count * sizeof *call);
        return;
      }
      size_t right = middle < count ? end_of_run(from, middle, count) : count;
      merge(from, left, middle, right, to);
      left = right;
    }
    struct call *swap = from;
    from = to;
    to = swap;
  }
}

/* The columns of the calls, and their lanes numbered from 0. */
struct work {
  size_t count;
  const int64_t *starts, *ends, *lanes;
  int64_t low;        /* the smallest lane id */
  int64_t *distinct;  /* where they lie too far apart to be counted from it: every lane id, sorted; else NULL */
  size_t groups;
  size_t *end;        /* [groups + 1] where the calls of each lane end in `call` */
  struct call *call;  /* [count] lane by lane */
  struct call *spare; /* room for the longest lane */
  size_t *around;     /* the same: the place of the call around each */
};

static int compare_ids(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static size_t group_of(const struct work *w, int64_t lane) {
  if (!w->distinct) return (size_t)((uint64_t)lane - (uint64_t)w->low);
  return (size_t)((int64_t *)bsearch(&lane, w->distinct, w->groups, sizeof lane, compare_ids) - w->distinct);
}

/* Lane ids lie close together, from -2 - threads to tasks; other ids are sorted. 1, or 0 without memory. */
static int number_lanes(struct work *w) {
  int64_t low = w->lanes[0], high = w->lanes[0];
  for (size_t i = 1; i < w->count; i++) {
    if (w->lanes[i] < low) low = w->lanes[i];
    if (w->lanes[i] > high) high = w->lanes[i];
  }
  w->low = low;
  if ((uint64_t)high - (uint64_t)low < w->count) {
    w->groups = (size_t)((uint64_t)high - (uint64_t)low) + 1;
    return 1;
  }
  if (!(w->distinct = malloc(w->count * sizeof *w->distinct))) return 0;
  memcpy(w->distinct, w->lanes, w->count * sizeof *w->distinct);
  qsort(w->distinct, w->count, sizeof *w->distinct, compare_ids);
  for (size_t i = 0; i < w->count; i++) {
    if (!i || w->distinct[i] != w->distinct[w->groups - 1]) w->distinct[w->groups++] = w->distinct[i];
  }
  return 1;
}

/* Deals the calls out to their lanes, in the order of their rows. 1, or 0 without memory. */
static int deal(struct work *w) {
  size_t longest = 0;
  w->end = calloc(w->groups + 1, sizeof *w->end);
  w->call = malloc(w->count * sizeof *w->call);
  if (!w->end || !w->call) return 0;
  for (size_t i = 0; i < w->count; i++) w->end[group_of(w, w->lanes[i]) + 1]++;
  for (size_t g = 1; g <= w->groups; g++) {
    if (w->end[g] > longest) longest = w->end[g];
    w->end[g] += w->end[g - 1];
  }
  for (size_t i = 0; i < w->count; i++) {
    w->call[w->end[group_of(w, w->lanes[i])]++] = (struct call){w->starts[i], w->ends[i], i};
  }
  w->spare = malloc(longest * sizeof *w->spare);
  w->around = malloc(longest * sizeof *w->around);
  return w->spare && w->around;
}

/* The sorted calls of one lane, one after the other, with those that are around the last one on a stack. */
static lsc_nesting_status replay(const struct call *call, size_t count, size_t *around, int64_t *parents,
                                 uint32_t *depths, struct lsc_nesting_fault *fault) {
  const size_t none = SIZE_MAX;
  size_t top = none;
  for (size_t i = 0; i < count; top = i++) {
    const struct call *c = &call[i];
    while (top != none && call[top].end <= c->start) top = around[top];
    if (top != none && call[top].end < c->end) {
      *fault = (struct lsc_nesting_fault){call[top].row, c->row};
      return LSC_NOT_NESTED;
    }
    around[i] = top;
    parents[c->row] = top == none ? LSC_NO_PARENT : (int64_t)call[top].row;
    depths[c->row] = top == none ? 0 : depths[call[top].row] + 1;
  }
  return LSC_NESTED;
}

static void leave_alone(const struct call *call, size_t count, int64_t *parents, uint32_t *depths) {
  for (size_t i = 0; i < count; i++) {
    parents[call[i].row] = LSC_NO_PARENT;
    depths[call[i].row] = 0;
  }
}

static lsc_nesting_status nest_lanes(struct work *w, int64_t *parents, uint32_t *depths,
                                     struct lsc_nesting_fault *fault) {
  lsc_nesting_status status = LSC_NESTED;
  for (size_t g = 0, from = 0; g < w->groups && status == LSC_NESTED; from = w->end[g++]) {
    struct call *call = w->call + from;
    size_t count = w->end[g] - from;
    if (count && w->lanes[call->row] == LSC_NO_STACK) {
      leave_alone(call, count, parents, depths);
      continue;
    }
    sort(call, w->spare, count);
    status = replay(call, count, w->around, parents, depths, fault);
  }
  return status;
}

lsc_nesting_status lsc_nest(size_t count, const int64_t *starts, const int64_t *ends, const int64_t *lanes,
                            int64_t *parents, uint32_t *depths, struct lsc_nesting_fault *fault) {
  struct work work = {.count = count, .starts = starts, .ends = ends, .lanes = lanes};
  lsc_nesting_status status;
  if (!count) return LSC_NESTED;
  for (size_t i = 0; i < count; i++) {
    if (ends[i] >= starts[i]) continue;
    *fault = (struct lsc_nesting_fault){i, i};
    return LSC_BACKWARDS;
  }
  if (!number_lanes(&work) || !deal(&work)) status = LSC_NESTING_NO_MEMORY;
  else status = nest_lanes(&work, parents, depths, fault);
  free(work.distinct);
  free(work.end);
  free(work.call);
  free(work.spare);
  free(work.around);
  return status;
}

/* A depth that is not known yet; and one of a call whose parents are being looked at. */
#define UNSEEN UINT32_MAX
#define ON_THE_WAY (UINT32_MAX - 1)

/* Marks the way from `row` up to a call whose depth is known, then goes it again and numbers it. */
static lsc_nesting_status depth_of(size_t row, size_t count, const int64_t *parents, uint32_t *depths,
                                   struct lsc_nesting_fault *fault) {
  uint32_t length = 0, base = 0;
  size_t at = row;
  for (;;) {
    int64_t parent = parents[at];
    *fault = (struct lsc_nesting_fault){at, (size_t)parent};
    depths[at] = ON_THE_WAY;
    if (parent == LSC_NO_PARENT) break;
    if (parent < 0 || (uint64_t)parent >= count) return LSC_NO_SUCH_ROW;
    if (depths[parent] == ON_THE_WAY) return LSC_IN_A_CIRCLE;
    length++;
    if (depths[parent] != UNSEEN) {
      base = depths[parent];
      break;
    }
    at = (size_t)parent;
  }
  for (uint32_t depth = base + length; depths[row] == ON_THE_WAY; depth--) {
    depths[row] = depth;
    if (parents[row] == LSC_NO_PARENT) break;
    row = (size_t)parents[row];
  }
  return LSC_NESTED;
}

lsc_nesting_status lsc_nesting_depths(size_t count, const int64_t *parents, uint32_t *depths,
                                      struct lsc_nesting_fault *fault) {
  lsc_nesting_status status = LSC_NESTED;
  for (size_t i = 0; i < count; i++) depths[i] = UNSEEN;
  for (size_t i = 0; i < count && status == LSC_NESTED; i++) {
    if (depths[i] == UNSEEN) status = depth_of(i, count, parents, depths, fault);
  }
  return status;
}
