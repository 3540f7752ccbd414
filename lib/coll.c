/* SPDX-License-Identifier: BSD-3-Clause */
#include "coll.h"

#include <string.h>

#include "message.h"

/* Ranks of this rank's subtree, were the group's size the next power of two. */
static long span_of(const struct lsc_coll *coll) {
  long span = 1;
  if (coll->rank) return coll->rank & -coll->rank;
  while (span < coll->size) span *= 2;
  return span;
}

static int parent_of(const struct lsc_coll *coll) { return coll->rank & (coll->rank - 1); }

/* A message is its bytes, and behind them the sender's status; the bytes are left out when that is not LSC_OK. */
lsc_status lsc_coll_pass(struct lsc_coll *coll, int to, int tag, lsc_status mine, struct lsc_buffer *data,
                         int64_t deadline) {
  uint32_t code = mine;
  lsc_status sent;
  if (!mine && lsc_buffer_append(data, &code, sizeof code)) code = mine = LSC_NO_MEMORY;
  if (mine) {
    coll->send(coll, to, tag, &code, sizeof code, deadline);
    return mine;
  }
  sent = coll->send(coll, to, tag, data->data, data->size, deadline);
  data->size -= sizeof code;
  return sent;
}

lsc_status lsc_coll_take(struct lsc_coll *coll, int from, int tag, lsc_status mine, struct lsc_buffer *out,
                         int64_t deadline) {
  uint32_t code;
  lsc_status status = coll->recv(coll, from, tag, out, deadline);
  if (status) return status;
  if (out->size < sizeof code) {
    return lsc_fail(LSC_INVALID, "rank %d sent %zu bytes with tag %d: no message of lanescope", from, out->size, tag);
  }
  out->size -= sizeof code;
  memcpy(&code, out->data + out->size, sizeof code);
  if (code && !mine) coll->passed_on = 1;
  if (code) return lsc_fail((lsc_status)code, "rank %d passed on: %s", from, lsc_strerror((lsc_status)code));
  return LSC_OK;
}

static struct lsc_reader reader_of(const struct lsc_buffer *buffer) {
  struct lsc_reader reader = {buffer->data, buffer->data, 0};
  if (buffer->size) reader.end += buffer->size;
  return reader;
}

lsc_status lsc_coll_up(struct lsc_coll *coll, int tag, lsc_status mine, const struct lsc_sweep *sweep,
                       int64_t deadline) {
  struct lsc_buffer bytes = {0};
  lsc_status status = mine;
  long span = span_of(coll);
  for (long step = 1; step < span && coll->rank + step < coll->size; step *= 2) {
    lsc_status got = lsc_coll_take(coll, (int)(coll->rank + step), tag, status, &bytes, deadline);
    struct lsc_reader reader = reader_of(&bytes);
    if (!got && !status) got = sweep->merge(sweep->ctx, &reader);
    if (!status) status = got;
  }
  if (coll->rank) {
    bytes.size = 0;
    if (!status) status = sweep->encode(sweep->ctx, &bytes);
    status = lsc_coll_pass(coll, parent_of(coll), tag, status, &bytes, deadline);
  }
  lsc_buffer_free(&bytes);
  return status;
}

lsc_status lsc_coll_down(struct lsc_coll *coll, int tag, lsc_status mine, struct lsc_buffer *data, int64_t deadline) {
  lsc_status heard = coll->rank ? lsc_coll_take(coll, parent_of(coll), tag, mine, data, deadline) : mine;
  lsc_status status = mine ? mine : heard;
  for (long step = span_of(coll) / 2; step; step /= 2) {
    lsc_status sent;
    if (coll->rank + step >= coll->size) continue;
    sent = lsc_coll_pass(coll, (int)(coll->rank + step), tag, heard, data, deadline);
    if (!status) status = sent;
  }
  return status;
}

lsc_status lsc_coll_spread(struct lsc_coll *coll, int tag, lsc_status mine, const struct lsc_spread *spread,
                           int64_t deadline) {
  struct lsc_buffer bytes = {0};
  lsc_status status = mine;
  if (coll->rank) {
    lsc_status got = lsc_coll_take(coll, parent_of(coll), tag, mine, &bytes, deadline);
    struct lsc_reader reader = reader_of(&bytes);
    if (!got && !status) got = spread->take(spread->ctx, &reader);
    if (!status) status = got;
  }
  for (long step = span_of(coll) / 2; step; step /= 2) {
    lsc_status sent = status;
    if (coll->rank + step >= coll->size) continue;
    bytes.size = 0;
    if (!sent) sent = spread->give(spread->ctx, (size_t)__builtin_ctzl((unsigned long)step), &bytes);
    sent = lsc_coll_pass(coll, (int)(coll->rank + step), tag, sent, &bytes, deadline);
    if (!status) status = sent;
  }
  lsc_buffer_free(&bytes);
  return status;
}

lsc_status lsc_coll_broadcast(struct lsc_coll *coll, int tag, struct lsc_buffer *data, int64_t deadline) {
  return lsc_coll_down(coll, tag, LSC_OK, data, deadline);
}

/* A rank's part of a gather: its number, the length of its bytes, the bytes. */
static lsc_status append_part(struct lsc_buffer *all, int rank, const struct lsc_buffer *mine) {
  uint32_t number = (uint32_t)rank;
  uint64_t length = mine->size;
  size_t before = all->size;
  if (lsc_buffer_append(all, &number, sizeof number) || lsc_buffer_append(all, &length, sizeof length) ||
      lsc_buffer_append(all, mine->data, mine->size)) {
    all->size = before;
    return LSC_NO_MEMORY;
  }
  return LSC_OK;
}

static lsc_status visit_parts(const struct lsc_buffer *all, int size, lsc_visit visit, void *ctx) {
  struct lsc_reader reader = reader_of(all);
  for (int rank = 0; rank < size; rank++) {
    uint32_t number;
    uint64_t length;
    const unsigned char *bytes;
    struct lsc_reader part;
    lsc_status status;
    lsc_read(&reader, &number, sizeof number);
    lsc_read(&reader, &length, sizeof length);
    bytes = lsc_read_view(&reader, length);
    if (!bytes || number != (uint32_t)rank) {
      return lsc_fail(LSC_INVALID, "what was gathered does not hold rank %d's bytes in its place", rank);
    }
    part = (struct lsc_reader){bytes, bytes + length, 0};
    status = visit(ctx, rank, &part);
    if (status) return status;
  }
  return LSC_OK;
}

static lsc_status gather_merge(void *ctx, struct lsc_reader *bytes) {
  return lsc_buffer_append(ctx, bytes->next, (size_t)(bytes->end - bytes->next));
}

static lsc_status gather_encode(void *ctx, struct lsc_buffer *out) {
  const struct lsc_buffer *all = ctx;
  return lsc_buffer_append(out, all->data, all->size);
}

lsc_status lsc_coll_gather(struct lsc_coll *coll, int tag, const struct lsc_buffer *mine, lsc_visit visit, void *ctx,
                           int64_t deadline) {
  struct lsc_buffer all = {0};
  const struct lsc_sweep sweep = {gather_merge, gather_encode, &all};
  lsc_status status = append_part(&all, coll->rank, mine);
  status = lsc_coll_up(coll, tag, status, &sweep, deadline);
  if (!status && !coll->rank) status = visit_parts(&all, coll->size, visit, ctx);
  lsc_buffer_free(&all);
  return status;
}

/* sum: of this rank and the children so far; before: what that was ahead of each child, `count` values for each. */
struct scan {
  size_t count;
  struct lsc_buffer sum, before;
  uint64_t *prefix, *totals;
};

static lsc_status expect(const struct lsc_reader *bytes, size_t size) {
  size_t came = (size_t)(bytes->end - bytes->next);
  if (came == size) return LSC_OK;
  return lsc_fail(LSC_INVALID, "%zu bytes came for %zu; every rank must give the same number of values", came, size);
}

static lsc_status scan_merge(void *ctx, struct lsc_reader *bytes) {
  struct scan *scan = ctx;
  uint64_t *sum = (uint64_t *)(void *)scan->sum.data;
  lsc_status status = lsc_buffer_append(&scan->before, scan->sum.data, scan->sum.size);
  if (!status) status = expect(bytes, scan->sum.size);
  for (size_t i = 0; !status && i < scan->count; i++) {
    uint64_t value;
    lsc_read(bytes, &value, sizeof value);
    sum[i] += value;
  }
  return status;
}

static lsc_status scan_encode(void *ctx, struct lsc_buffer *out) {
  const struct scan *scan = ctx;
  return lsc_buffer_append(out, scan->sum.data, scan->sum.size);
}

/* What a child gets: the sums of the ranks below it, and the totals. */
static lsc_status scan_give(void *ctx, size_t child, struct lsc_buffer *out) {
  const struct scan *scan = ctx;
  const uint64_t *before = (const uint64_t *)(const void *)scan->before.data;
  for (size_t i = 0; i < scan->count; i++) {
    uint64_t value = scan->prefix[i] + before[child * scan->count + i];
    if (lsc_buffer_append(out, &value, sizeof value)) return LSC_NO_MEMORY;
  }
  return lsc_buffer_append(out, scan->totals, scan->count * sizeof *scan->totals);
}

static lsc_status scan_take(void *ctx, struct lsc_reader *bytes) {
  struct scan *scan = ctx;
  size_t size = scan->count * sizeof *scan->prefix;
  lsc_status status = expect(bytes, 2 * size);
  if (status) return status;
  lsc_read(bytes, scan->prefix, size);
  lsc_read(bytes, scan->totals, size);
  return LSC_OK;
}

lsc_status lsc_coll_scan(struct lsc_coll *coll, int tag, size_t count, const uint64_t *values, uint64_t *prefix,
                         uint64_t *totals, int64_t deadline) {
  struct scan scan = {.count = count, .prefix = prefix, .totals = totals};
  const struct lsc_sweep up = {scan_merge, scan_encode, &scan};
  const struct lsc_spread down = {scan_take, scan_give, &scan};
  lsc_status status = lsc_buffer_append(&scan.sum, values, count * sizeof *values);
  status = lsc_coll_up(coll, tag, status, &up, deadline);
  if (!coll->rank && !status && count) {
    memset(prefix, 0, count * sizeof *prefix);
    memcpy(totals, scan.sum.data, count * sizeof *totals);
  }
  status = lsc_coll_spread(coll, tag, status, &down, deadline);
  lsc_buffer_free(&scan.sum);
  lsc_buffer_free(&scan.before);
  return status;
}

struct or_values {
  size_t count;
  uint64_t *values;
};

static lsc_status or_merge(void *ctx, struct lsc_reader *bytes) {
  struct or_values *or = ctx;
  lsc_status status = expect(bytes, or->count * sizeof *or->values);
  for (size_t i = 0; !status && i < or->count; i++) {
    uint64_t value;
    lsc_read(bytes, &value, sizeof value);
    or->values[i] |= value;
  }
  return status;
}

static lsc_status or_encode(void *ctx, struct lsc_buffer *out) {
  const struct or_values *or = ctx;
  return lsc_buffer_append(out, or->values, or->count * sizeof *or->values);
}

lsc_status lsc_coll_or(struct lsc_coll *coll, int tag, size_t count, uint64_t *values, int64_t deadline) {
  struct or_values or = {count, values};
  const struct lsc_sweep sweep = {or_merge, or_encode, &or};
  struct lsc_buffer bytes = {0};
  struct lsc_reader reader;
  lsc_status status = lsc_coll_up(coll, tag, LSC_OK, &sweep, deadline);
  if (!coll->rank && !status) status = or_encode(&or, &bytes);
  status = lsc_coll_down(coll, tag, status, &bytes, deadline);
  reader = reader_of(&bytes);
  if (!status) status = expect(&reader, count * sizeof *values);
  if (!status) lsc_read(&reader, values, count * sizeof *values);
  lsc_buffer_free(&bytes);
  return status;
}
