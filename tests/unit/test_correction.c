/* SPDX-License-Identifier: BSD-3-Clause */
/* What is added to times: against straight lines worked out here, and the same in every later snapshot. */
#include <stdlib.h>
#include <string.h>

#include "correction.h"
#include "session.h"
#include "snapshot.h"
#include "unit.h"

#define SECOND INT64_C(1000000000)

static struct lsc_moment moment(int64_t at_ns, int64_t offset_ns, int64_t error_ns) {
  return (struct lsc_moment){1, 0, at_ns, offset_ns, error_ns};
}

/* Takes one more collect in, and commits it. */
static void collect(struct lsc_correction *c, const struct lsc_comparison *clocks, int64_t open_ns, int64_t end_ns) {
  struct lsc_correction next;
  ck_assert_int_eq(lsc_correction_extend(c, clocks, open_ns, end_ns, &next), LSC_OK);
  lsc_correction_free(c);
  *c = next;
}

static int64_t added(const struct lsc_correction *c, int64_t ns) { return c->constant_ns + lsc_correction_at(c, ns); }

START_TEST(between_two_comparisons_lies_a_straight_line) {
  struct lsc_correction c = {0};
  const struct lsc_comparison clocks = {
      .group = 1, .open = moment(10 * SECOND, 5000000, 700), .now = moment(110 * SECOND, 5000000 - 3000000, 900)};
  collect(&c, &clocks, 9 * SECOND, 111 * SECOND);
  ck_assert_int_eq(added(&c, 10 * SECOND), 5000000);
  ck_assert_int_eq(added(&c, 60 * SECOND), 5000000 - 1500000);
  ck_assert_int_eq(added(&c, 110 * SECOND), 2000000);
  ck_assert_int_eq(added(&c, 9 * SECOND), 5000000 + 30000);
  ck_assert_int_eq(added(&c, 111 * SECOND), 2000000 - 30000);
  ck_assert_int_eq(added(&c, 200 * SECOND), 2000000 - 30000);
  ck_assert_int_eq(c.constant_ns, 5000000);
  ck_assert_double_eq_tol(lsc_correction_drift_ppb(&c), -30000, 1e-6);
  /* 900 where it was compared last; 1600 / 100 s is the error of the slope, for one second more. */
  ck_assert_int_ge(c.error_ns, 916);
  ck_assert_int_le(c.error_ns, 917);
  lsc_correction_free(&c);
}
END_TEST

START_TEST(what_was_compared_once_is_constant_and_may_drift) {
  struct lsc_correction c = {0};
  const struct lsc_comparison clocks = {.group = 1, .now = moment(1000 * SECOND, -77, 50)};
  collect(&c, &clocks, 400 * SECOND, 1000 * SECOND + 1);
  for (int64_t s = 0; s < 2000; s += 100) ck_assert_int_eq(added(&c, s * SECOND), -77);
  ck_assert_double_eq(lsc_correction_drift_ppb(&c), 0);
  ck_assert_int_ge(c.error_ns, 50 + 600 * SECOND / 10000);
  ck_assert_int_le(c.error_ns, 50 + 600 * SECOND / 10000 + 2);
  lsc_correction_free(&c);
}
END_TEST

START_TEST(the_same_clock_is_left_alone) {
  struct lsc_correction c = {0};
  struct lsc_clock_map map = {0};
  const struct lsc_moment same = {1, 1, 5 * SECOND, 0, 0};
  for (int i = 1; i < 4; i++) {
    struct lsc_comparison clocks = {.group = (uint64_t)i / 2 + 1, .open = same, .now = same};
    clocks.now.at_ns += i * SECOND;
    collect(&c, i == 2 ? NULL : &clocks, SECOND, (6 + i) * SECOND);
    ck_assert_uint_eq(c.knots, 0);
    ck_assert_int_eq(c.constant_ns, 0);
    ck_assert_int_eq(c.error_ns, 0);
    ck_assert_int_eq(lsc_correction_apply(&c, 0, (6 + i) * SECOND, &map), LSC_OK);
    ck_assert_uint_eq(map.pairs, 0);
  }
  lsc_correction_free(&c);
}
END_TEST

/* Comparisons a microsecond apart say nothing of a drift: they bend times by no more than what is allowed. */
START_TEST(no_piece_is_steeper_than_allowed) {
  struct lsc_correction c = {0};
  const struct lsc_comparison clocks = {
      .group = 1, .open = moment(SECOND, 0, 5000), .now = moment(SECOND + 1000000, -900000, 5000)};
  collect(&c, &clocks, SECOND, SECOND + 2000000);
  ck_assert_int_eq(added(&c, SECOND + 1000000), -1000000 / 1000);
  ck_assert_int_eq(added(&c, SECOND + 2000000), -2000000 / 1000);
  ck_assert_int_ge(c.error_ns, 900000 - 1000 + 5000);
  lsc_correction_free(&c);
}
END_TEST

/* What a file of a rank alone says of its clock is what a collect of all would have added, within the bound. */
START_TEST(a_rank_alone_knows_how_far_its_clock_was) {
  struct lsc_correction c = {0}, later = {0};
  int64_t offset = 0, error = 0;
  struct lsc_comparison clocks = {.group = 1, .open = moment(100 * SECOND, 5000, 40)};
  const struct lsc_comparison never = {.group = 2};
  collect(&c, NULL, 90 * SECOND, 300 * SECOND);
  ck_assert_int_eq(lsc_correction_to_group(&c, &clocks, 90 * SECOND, &offset, &error), 1);
  ck_assert_int_eq(offset, 5000);
  ck_assert_int_eq(error, 40 + 200 * SECOND / 10000);
  ck_assert_int_eq(lsc_correction_to_group(&c, &never, 90 * SECOND, &offset, &error), 0);
  /* 80 ppm in 200 s; what is written is not bent any more. */
  clocks.now = moment(300 * SECOND, 5000 + 16000000, 60);
  ck_assert_int_eq(lsc_correction_extend(&c, &clocks, 90 * SECOND, 300 * SECOND, &later), LSC_OK);
  ck_assert_int_eq(later.constant_ns, offset);
  ck_assert_int_le(llabs(added(&later, 100 * SECOND) - 5000), error);
  lsc_correction_free(&later);
  lsc_correction_free(&c);
}
END_TEST

START_TEST(a_rank_alone_goes_on_from_the_last_collect) {
  struct lsc_correction c = {0};
  int64_t offset = 0, error = 0, before;
  const struct lsc_comparison clocks = {
      .group = 7, .open = moment(10 * SECOND, -900, 30), .now = moment(110 * SECOND, -900 + 2000000, 50)};
  collect(&c, &clocks, 9 * SECOND, 110 * SECOND);
  before = c.error_ns;
  collect(&c, NULL, 9 * SECOND, 160 * SECOND);
  ck_assert_int_eq(lsc_correction_to_group(&c, &clocks, 9 * SECOND, &offset, &error), 1);
  ck_assert_int_eq(offset, c.constant_ns);
  ck_assert_int_eq(offset + lsc_correction_at(&c, 110 * SECOND), -900 + 2000000);
  ck_assert_int_ge(error, before + 50 * SECOND / 10000);
  /* A group that it came to before the collect, and was never collected with. */
  const struct lsc_comparison other = {.group = 8, .open = moment(120 * SECOND, 77, 5)};
  ck_assert_int_eq(lsc_correction_to_group(&c, &other, 9 * SECOND, &offset, &error), 1);
  ck_assert_int_eq(offset + lsc_correction_at(&c, 120 * SECOND), 77);
  ck_assert_int_ge(error, 5 + 111 * SECOND / 10000 + 2000000);
  lsc_correction_free(&c);
}
END_TEST

START_TEST(a_rank_alone_on_the_same_clock_is_exact) {
  struct lsc_correction c = {0};
  int64_t offset = 1, error = 1;
  const struct lsc_comparison clocks = {.group = 1, .open = {1, 1, 5 * SECOND, 0, 0}};
  collect(&c, NULL, SECOND, 100 * SECOND);
  ck_assert_int_eq(lsc_correction_to_group(&c, &clocks, SECOND, &offset, &error), 1);
  ck_assert_int_eq(offset, 0);
  ck_assert_int_eq(error, 0);
  lsc_correction_free(&c);
}
END_TEST

#define SAMPLES 400
#define COLLECTS 12

struct history {
  uint64_t random;
  int counter;
  struct lsc_correction correction;
  int64_t now, age;
  uint64_t group;
  struct lsc_moment open;
  struct lsc_clock_pair pair[1 + 3 * COLLECTS]; /* of a counter of 2.5 ticks a ns */
  size_t pairs;
  int64_t ticks[COLLECTS * SAMPLES], seen[COLLECTS * SAMPLES]; /* without the constant */
  int samples;
};

static int64_t draw(struct history *h, int64_t low, int64_t high) {
  h->random = h->random * 6364136223846793005u + 1442695040888963407u;
  return low + (int64_t)((h->random >> 20) % (uint64_t)(high - low + 1));
}

static struct lsc_moment draw_moment(struct history *h) {
  return moment(h->now, draw(h, -3000000, 3000000), draw(h, 10, 20000));
}

static void pass(struct history *h, int64_t ns) {
  h->now += ns;
  h->pair[h->pairs] = (struct lsc_clock_pair){(uint64_t)h->now * 5 / 2 + h->pairs % 3, h->now};
  h->pairs++;
}

/* The map as the process has it now, or the empty one of CLOCK_MONOTONIC. */
static void make_map(const struct history *h, struct lsc_clock_map *map) {
  memset(map, 0, sizeof *map);
  if (!h->counter) return;
  map->pairs = h->pairs;
  map->pair = malloc(h->pairs * sizeof *map->pair);
  ck_assert_ptr_nonnull(map->pair);
  memcpy(map->pair, h->pair, h->pairs * sizeof *map->pair);
  ck_assert_int_eq(lsc_clock_map_prepare(map), LSC_OK);
}

/* What older snapshots had seen is seen again, the order of times is kept, and new times are looked at. */
static void look(struct history *h, const struct lsc_correction *c, int64_t constant, int64_t from_ns, int keep) {
  struct lsc_clock_map own, map;
  make_map(h, &own);
  make_map(h, &map);
  ck_assert_int_eq(lsc_correction_apply(c, constant, h->now, &map), LSC_OK);
  for (int i = 0; i < h->samples; i++)
    ck_assert_int_eq(lsc_clock_map_ns(&map, (uint64_t)h->ticks[i]) - constant, h->seen[i]);
  int64_t last = INT64_MIN;
  for (int i = 0; i < SAMPLES; i++) {
    int64_t ns = from_ns + (h->now - from_ns) * i / SAMPLES, ticks = h->counter ? ns * 5 / 2 : ns;
    int64_t seen = lsc_clock_map_ns(&map, (uint64_t)ticks), raw = lsc_clock_map_ns(&own, (uint64_t)ticks);
    ck_assert_int_le(llabs(seen - constant - raw - lsc_correction_at(c, raw)), 2);
    ck_assert_int_ge(seen, last);
    last = seen;
    if (!keep) continue;
    h->ticks[h->samples] = ticks;
    h->seen[h->samples++] = seen - constant;
  }
  lsc_clock_map_free(&own);
  lsc_clock_map_free(&map);
}

static void one_collect(struct history *h) {
  int64_t before = h->now, kind = draw(h, 0, 5);
  struct lsc_correction next;
  pass(h, draw(h, 1000, 2 * SECOND));
  if (!h->group || kind == 0) {
    h->group++;
    h->now += draw(h, 1000, 2 * SECOND); /* between two pairs */
    h->open = draw(h, 0, 1) ? draw_moment(h) : (struct lsc_moment){0};
    h->now += draw(h, 1000, 2 * SECOND);
  }
  struct lsc_comparison clocks = {.group = h->group, .open = h->open, .now = draw_moment(h)};
  pass(h, draw(h, 1000, 1000000));
  const struct lsc_comparison *with = kind == 1 ? NULL : &clocks;
  ck_assert_int_eq(lsc_correction_extend(&h->correction, with, SECOND, h->now, &next), LSC_OK);
  look(h, &next, with ? next.constant_ns : 0, before, kind != 2);
  if (kind == 2) {
    lsc_correction_free(&next);
    return;
  }
  lsc_correction_free(&h->correction);
  h->correction = next;
}

/* Also over collects that fail, of a rank alone, and over other communicators. */
START_TEST(a_time_is_the_same_in_every_later_snapshot) {
  for (unsigned seed = 1; seed <= 200; seed++) {
    struct history *h = calloc(1, sizeof *h);
    ck_assert_ptr_nonnull(h);
    h->random = seed * 77773u;
    h->counter = seed % 2;
    pass(h, SECOND);
    for (int i = 0; i < COLLECTS; i++) one_collect(h);
    ck_assert_int_gt(h->samples, 0);
    lsc_correction_free(&h->correction);
    free(h);
  }
}
END_TEST

static int64_t start_of(struct lsc_snapshot *s, uint32_t call) {
  return lsc_clock_map_ns(&s->map, s->row[call]->start) - s->clock_offset_ns;
}

/* How long a call took, without any correction. */
static int64_t raw_time(const struct lsc_row *row) {
  struct lsc_clock_map own;
  ck_assert_int_eq(lsc_clock_map_take(&own), LSC_OK);
  int64_t took = lsc_clock_map_ns(&own, row->end) - lsc_clock_map_ns(&own, row->start);
  lsc_clock_map_free(&own);
  return took;
}

/* A real session; rank 0's clock runs 400 ppm fast against this one. */
static void check_session(void) {
  static const char *const names[] = {"outer", "inner"};
  lsc_region_id region[2];
  lsc_session session;
  struct lsc_snapshot s;
  int64_t outer = 0;
  for (int i = 0; i < 2; i++) ck_assert_int_eq(lsc_region(names[i], &region[i]), LSC_OK);
  ck_assert_int_eq(lsc_session_open(NULL, &session), LSC_OK);
  int64_t first = lsc_now_ns();
  struct lsc_comparison clocks = {.group = 3, .open = moment(first, 8000, 100)};
  ck_assert_int_eq(lsc_begin(session, region[0]), LSC_OK);
  for (int i = 0; i < 6; i++) {
    int64_t wait = lsc_now_ns() + 2000000;
    ck_assert_int_eq(lsc_begin(session, region[1]), LSC_OK);
    while (lsc_now_ns() < wait) continue;
    ck_assert_int_eq(lsc_end(session, region[1]), LSC_OK);
    if (i == 5) ck_assert_int_eq(lsc_end(session, region[0]), LSC_OK);
    int64_t now = lsc_now_ns();
    clocks.now = moment(now, 8000 + (now - first) / 2500, 100);
    if (i == 2) clocks.now.offset_ns = -99999999;
    ck_assert_int_eq(lsc_snapshot_take_compared(session, i == 3 ? NULL : &clocks, &s), LSC_OK);
    ck_assert_int_eq(lsc_snapshot_events(&s), LSC_OK);
    ck_assert_uint_eq(s.calls, i == 3 ? 3 : 2);
    if (!i) outer = start_of(&s, 0);
    ck_assert_int_eq(start_of(&s, 0), outer);
    int64_t took = lsc_clock_map_ns(&s.map, s.row[1]->end) - lsc_clock_map_ns(&s.map, s.row[1]->start);
    if (i < 2) ck_assert_int_le(llabs(took - raw_time(s.row[1]) - raw_time(s.row[1]) / 2500), 5);
    ck_assert_int_ge(s.taken_ns, lsc_clock_map_ns(&s.map, s.row[1]->end));
    ck_assert_int_le(s.open_ns, start_of(&s, 0) + s.clock_offset_ns);
    if (i == 2) lsc_snapshot_drop(&s);
    else lsc_snapshot_commit(&s);
  }
  ck_assert_int_eq(lsc_session_close(session), LSC_OK);
}

START_TEST(an_open_call_keeps_its_start) { check_session(); }
END_TEST

START_TEST(an_open_call_keeps_its_start_on_clock_monotonic) {
  setenv("LANESCOPE_CLOCK", "monotonic", 1);
  check_session();
}
END_TEST

UNIT_MAIN("correction", between_two_comparisons_lies_a_straight_line, what_was_compared_once_is_constant_and_may_drift,
          the_same_clock_is_left_alone, no_piece_is_steeper_than_allowed, a_rank_alone_knows_how_far_its_clock_was,
          a_rank_alone_goes_on_from_the_last_collect, a_rank_alone_on_the_same_clock_is_exact,
          a_time_is_the_same_in_every_later_snapshot,
          an_open_call_keeps_its_start, an_open_call_keeps_its_start_on_clock_monotonic)
