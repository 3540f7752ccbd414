/* SPDX-License-Identifier: BSD-3-Clause */
#include "offset.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "message.h"

#define MOST_TRIPS 64
#define PATIENCE 16 /* trips without a faster one, after which no more are made */
#define ROUNDING 4  /* ns: of halves, offsets and clocks that count whole ns */

static int64_t own_now(void *ctx) {
  (void)ctx;
  return lsc_monotonic_ns();
}

static size_t read_text(const char *path, char *text, size_t size) {
  int file = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? -1 : read(file, text, size - 1);
  if (file >= 0) close(file);
  text[length < 0 ? 0 : length] = 0;
  return strlen(text);
}

void lsc_offset_own_clock(struct lsc_offset_clock *clock) {
  char boot[100], space[50];
  if (!read_text("/proc/sys/kernel/random/boot_id", boot, sizeof boot)) {
    if (gethostname(boot, sizeof boot - 1) < 0) boot[0] = 0;
    boot[sizeof boot - 1] = 0;
  }
  ssize_t length = readlink("/proc/self/ns/time", space, sizeof space - 1);
  space[length < 0 ? 0 : length] = 0;
  *clock = (struct lsc_offset_clock){.now = own_now};
  snprintf(clock->place, sizeof clock->place, "%s %s", boot, space);
}

/* A measuring under way on one rank. */
struct measuring {
  struct lsc_coll *coll;
  int tag;
  const struct lsc_offset_clock *clock;
  int64_t deadline;
};

/* What one rank tells another of the clock that it has compared, or shares with it. */
struct news {
  int64_t status, at_ns, offset_ns, error_ns;
};

static lsc_status tell(const struct measuring *m, int to, lsc_status status, const struct lsc_moment *moment) {
  const struct news news = {status, moment->at_ns, moment->offset_ns, moment->error_ns};
  return m->coll->send(m->coll, to, m->tag, &news, sizeof news, m->deadline);
}

/* After what came instead: LSC_OK if this rank is well. */
static lsc_status take_news(const struct measuring *m, int from, const struct lsc_buffer *bytes,
                            struct lsc_moment *moment) {
  struct news news;
  if (bytes->size != sizeof news) return lsc_fail(LSC_INVALID, "rank %d tells no offset of its clock", from);
  memcpy(&news, bytes->data, sizeof news);
  *moment = (struct lsc_moment){1, 0, news.at_ns, news.offset_ns, news.error_ns};
  if (!news.status) return LSC_OK;
  m->coll->passed_on = 1;
  return lsc_fail((lsc_status)news.status, "rank %d passed on: %s", from, lsc_strerror((lsc_status)news.status));
}

static lsc_status hear(const struct measuring *m, int from, struct lsc_moment *moment) {
  struct lsc_buffer bytes = {0};
  lsc_status status = m->coll->recv(m->coll, from, m->tag, &bytes, m->deadline);
  if (!status) status = take_news(m, from, &bytes, moment);
  lsc_buffer_free(&bytes);
  return status;
}

/* Says what time it is as long as the other rank asks, and then how far that is from rank 0's. */
static lsc_status answer(const struct measuring *m, int rank, lsc_status mine, const struct lsc_moment *moment) {
  struct lsc_buffer question = {0};
  lsc_status status;
  for (;;) {
    status = m->coll->recv(m->coll, rank, m->tag, &question, m->deadline);
    int64_t now = m->clock->now(m->clock->ctx);
    if (status || question.size != 1 || !question.data[0]) break;
    status = m->coll->send(m->coll, rank, m->tag, &now, sizeof now, m->deadline);
    if (status) break;
  }
  lsc_buffer_free(&question);
  return status ? status : tell(m, rank, mine, moment);
}

/* The fastest round trip so far; at: the middle of it on this clock, theirs: what the other one showed meanwhile. */
struct trip {
  int64_t took, at, theirs;
};

static lsc_status make_trip(const struct measuring *m, int rank, struct lsc_buffer *answer, struct trip *best) {
  unsigned char more = 1;
  int64_t sent = m->clock->now(m->clock->ctx);
  lsc_status status = m->coll->send(m->coll, rank, m->tag, &more, sizeof more, m->deadline);
  if (!status) status = m->coll->recv(m->coll, rank, m->tag, answer, m->deadline);
  int64_t took = m->clock->now(m->clock->ctx) - sent;
  if (status) return status;
  if (answer->size != sizeof best->theirs) return lsc_fail(LSC_INVALID, "rank %d tells no time", rank);
  if (took >= best->took) return LSC_OK;
  *best = (struct trip){took, sent + took / 2, 0};
  memcpy(&best->theirs, answer->data, sizeof best->theirs);
  return LSC_OK;
}

/* `theirs` lies anywhere within the trip: half of it is the bound. */
static struct lsc_moment combine(const struct trip *best, const struct lsc_moment *other) {
  struct lsc_moment moment = {.known = 1, .at_ns = best->at};
  moment.offset_ns = best->theirs - best->at + other->offset_ns;
  moment.error_ns = best->took / 2 + lsc_clock_drift(best->took) + ROUNDING + other->error_ns;
  if (!other->same) moment.error_ns += lsc_clock_drift(best->theirs - other->at_ns);
  return moment;
}

static lsc_status ask(const struct measuring *m, int rank, int rank_is_same, struct lsc_moment *moment) {
  struct lsc_buffer answer = {0};
  struct trip best = {.took = INT64_MAX};
  struct lsc_moment other;
  unsigned char done = 0;
  lsc_status status = LSC_OK;
  for (int i = 0, stood = 0; i < MOST_TRIPS && stood < PATIENCE && !status; i++) {
    int64_t before = best.took;
    status = make_trip(m, rank, &answer, &best);
    stood = best.took < before ? 0 : stood + 1;
  }
  lsc_buffer_free(&answer);
  if (!status) status = m->coll->send(m->coll, rank, m->tag, &done, sizeof done, m->deadline);
  if (!status) status = hear(m, rank, &other);
  if (status) return status;
  other.same = rank_is_same;
  *moment = combine(&best, &other);
  return LSC_OK;
}

/* In a binomial tree over `count`: the widest step to a child, from which on steps are halved. */
static int widest_step(int index, int count) {
  int span = 1;
  if (index) return (index & -index) / 2;
  while (span < count) span *= 2;
  return span / 2;
}

static int parent_of(int index) { return index & (index - 1); }

/* Of the lowest rank of each place: asks that of one place, and answers those of others. */
static lsc_status measure_places(const struct measuring *m, const struct lsc_places *places,
                                 struct lsc_moment *moment) {
  lsc_status status = LSC_OK;
  int mine = places->mine, parent = parent_of(mine);
  if (mine) status = ask(m, places->leader[parent], parent == 0, moment);
  lsc_status own = status;
  for (int step = widest_step(mine, places->count); step; step /= 2) {
    if (step >= places->count - mine) continue;
    lsc_status answered = answer(m, places->leader[mine + step], own, moment);
    if (!status) status = answered;
  }
  return status;
}

/* From the lowest rank of a place to the others of it. */
static lsc_status spread(const struct measuring *m, const struct lsc_places *places, lsc_status mine,
                         struct lsc_moment *moment) {
  int position = places->position;
  lsc_status status = position ? hear(m, places->member[parent_of(position)], moment) : mine;
  lsc_status own = status;
  for (int step = widest_step(position, places->members); step; step /= 2) {
    if (step >= places->members - position) continue;
    lsc_status told = tell(m, places->member[position + step], own, moment);
    if (!status) status = told;
  }
  return status;
}

static lsc_status compare(const struct measuring *m, const struct lsc_places *places, int64_t zero_added,
                          struct lsc_moment *moment) {
  lsc_status status = LSC_OK;
  if (!places->mine) *moment = (struct lsc_moment){1, 1, m->clock->now(m->clock->ctx), zero_added, 0};
  if (places->count == 1) return status;
  if (!places->position) status = measure_places(m, places, moment);
  return places->mine ? spread(m, places, status, moment) : status;
}

lsc_status lsc_offset_measure(struct lsc_coll *coll, int tag, const struct lsc_offset_clock *clock,
                              struct lsc_moment *moment, int64_t deadline) {
  const struct measuring m = {coll, tag, clock, deadline};
  struct lsc_places places;
  int64_t added = clock->added_ns;
  *moment = (struct lsc_moment){0};
  lsc_status status = lsc_places_find(coll, tag, clock->place, &added, &places, deadline);
  if (!status) status = compare(&m, &places, added, moment);
  lsc_places_free(&places);
  if (status) *moment = (struct lsc_moment){0};
  return status;
}
