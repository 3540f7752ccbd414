/* SPDX-License-Identifier: BSD-3-Clause */
#include "pack.h"

#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "progress.h"

size_t lsc_chunk_size(const struct lsc_chunk_sums *sums) {
  size_t size = 0;
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) size += sums->size[k];
  return size;
}

static size_t set_widths(struct lsc_pack *pack) {
  size_t row = 0;
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) {
    if (!lsc_fill_has_event_column(pack->fill, k)) continue;
    pack->width[k] = lsc_type_size(lsc_events_desc.column[k].type);
    row += pack->width[k];
  }
  return row;
}

/* Columns of `rows` rows, one behind the other: as they are listed each begins at a multiple of its width. */
static void place_columns(const struct lsc_pack *pack, unsigned char *block, size_t rows, void **values) {
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) {
    values[k] = pack->width[k] ? block : NULL;
    block += pack->width[k] * rows;
  }
}

static lsc_status fill_lead(struct lsc_pack *pack, size_t row_bytes, size_t rows) {
  void *values[LSC_EVENT_COLUMNS];
  if (!lsc_buffer_reserve(&pack->lead, row_bytes * rows)) return LSC_NO_MEMORY;
  pack->lead.size = row_bytes * rows;
  place_columns(pack, pack->lead.data, rows, values);
  lsc_fill_events(pack->fill, 0, rows, values);
  return LSC_OK;
}

static lsc_status get_memory(struct lsc_pack *pack, size_t row_bytes, int level) {
  pack->block = malloc(row_bytes * pack->chunks->rows);
  pack->sums = calloc(pack->count, sizeof *pack->sums);
  pack->at = calloc(pack->count, sizeof *pack->at);
  if (pack->block && pack->sums && pack->at) return lsc_deflate_new(&pack->deflate, level, pack->chunks->rows);
  return lsc_fail(LSC_NO_MEMORY, "no memory for a chunk of %llu rows and the sizes of %zu",
                  (unsigned long long)pack->chunks->rows, pack->count);
}

lsc_status lsc_pack_prepare(struct lsc_pack *pack, const struct lsc_fill *fill, const struct lsc_chunks *chunks,
                            int level) {
  int rank = (int)fill->rank;
  uint64_t lead = lsc_chunks_lead(chunks, rank), end = lsc_chunks_end(chunks, rank);
  pack->fill = fill;
  pack->chunks = chunks;
  pack->first = lsc_chunks_first(chunks, rank);
  pack->count = (size_t)(end - pack->first);
  size_t row_bytes = set_widths(pack);
  lsc_status status = fill->snapshot->completed ? lsc_snapshot_events(fill->snapshot) : LSC_OK;
  if (!status && pack->count) status = get_memory(pack, row_bytes, level);
  if (!status && lead) status = fill_lead(pack, row_bytes, lead);
  if (status || !pack->count) return status;
  pack->last_rows = (size_t)(chunks->offset[rank + 1] - (end - 1) * chunks->rows);
  place_columns(pack, pack->block, chunks->rows, pack->values);
  return LSC_OK;
}

/* Rows of the chunk from `row` on, as many as there are in a message of these bytes. */
static void take_rows(struct lsc_pack *pack, size_t row, size_t rows, struct lsc_buffer *message) {
  void *values[LSC_EVENT_COLUMNS];
  place_columns(pack, message->data, rows, values);
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) {
    if (!values[k]) continue;
    memcpy((unsigned char *)pack->values[k] + row * pack->width[k], values[k], rows * pack->width[k]);
  }
}

static size_t lead_bytes(const struct lsc_pack *pack, size_t rows) {
  size_t row = 0;
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) row += pack->width[k];
  return row * rows;
}

/* What another rank hands over; one that has failed has nothing. */
static lsc_status take_lead(struct lsc_pack *pack, struct lsc_coll *coll, int from, int tag, size_t row,
                            struct lsc_buffer *message, int64_t deadline) {
  size_t rows = (size_t)lsc_chunks_lead(pack->chunks, from);
  lsc_status status = coll->recv(coll, from, tag, message, deadline);
  if (status) return status;
  if (message->size == lead_bytes(pack, rows)) {
    take_rows(pack, row, rows, message);
    return LSC_OK;
  }
  coll->passed_on = 1;
  return lsc_fail(LSC_NO_MEMORY, "rank %d has no rows for a chunk that it shares", from);
}

/* All of them, whatever becomes of one, since they are sending. */
static lsc_status receive_leads(struct lsc_pack *pack, struct lsc_coll *coll, int tag, int64_t deadline) {
  struct lsc_buffer message = {0};
  lsc_status status = LSC_OK;
  size_t row = pack->last_rows;
  int end = lsc_chunks_followers(pack->chunks, coll->rank);
  for (int from = coll->rank + 1; from < end; from++) {
    size_t rows = (size_t)lsc_chunks_lead(pack->chunks, from);
    if (!rows) continue;
    lsc_status came = take_lead(pack, coll, from, tag, row, &message, deadline);
    if (!status || came == LSC_TIMEOUT || came == LSC_MPI) status = came;
    row += rows;
  }
  lsc_buffer_free(&message);
  return status;
}

static lsc_status send_lead(struct lsc_pack *pack, struct lsc_coll *coll, int tag, int failed, int64_t deadline) {
  int owner = lsc_chunks_owner(pack->chunks, coll->rank);
  if (owner < 0) return LSC_OK;
  return coll->send(coll, owner, tag, pack->lead.data, failed ? 0 : pack->lead.size, deadline);
}

/* This rank's rows of its last chunk, before those of others. */
static void fill_last(struct lsc_pack *pack) {
  const struct lsc_snapshot *s = pack->fill->snapshot;
  if (pack->count) lsc_fill_events(pack->fill, s->completed - pack->last_rows, pack->last_rows, pack->values);
}

/*
 * An owner receives from all ranks behind it up to the next owner, and sends to the owner before it. Of two neighbours
 * one receives first and one sends first, so that nobody waits for more than its neighbours.
 */
lsc_status lsc_pack_exchange(struct lsc_pack *pack, struct lsc_coll *coll, int tag, int failed, int64_t deadline) {
  int sends_first = lsc_chunks_turn(pack->chunks, coll->rank) % 2;
  lsc_status sent = LSC_OK, received;
  if (!failed) fill_last(pack);
  if (sends_first) sent = send_lead(pack, coll, tag, failed, deadline);
  received = receive_leads(pack, coll, tag, deadline);
  if (!sends_first) sent = send_lead(pack, coll, tag, failed, deadline);
  lsc_buffer_free(&pack->lead);
  return sent ? sent : received;
}

static lsc_status compress_block(struct lsc_pack *pack, size_t chunk) {
  struct lsc_chunk_sums *sums = &pack->sums[chunk];
  lsc_status status = LSC_OK;
  pack->at[chunk] = pack->bytes.size;
  for (int k = 0; k < LSC_EVENT_COLUMNS && !status; k++) {
    size_t before = pack->bytes.size;
    if (!pack->width[k]) continue;
    status = lsc_deflate_chunk(pack->deflate, pack->values[k], pack->width[k], &pack->bytes);
    sums->size[k] = (uint32_t)(pack->bytes.size - before);
    sums->crc[k] = lsc_deflate_crc(pack->bytes.data + before, sums->size[k]);
  }
  return status;
}

/* Behind the last row of all a chunk goes on: with the same values, which cost least. */
static void pad_last(struct lsc_pack *pack) {
  uint64_t events = pack->chunks->offset[pack->chunks->ranks];
  uint64_t begin = (pack->first + pack->count - 1) * pack->chunks->rows;
  size_t rows = (size_t)(events - begin), all = (size_t)pack->chunks->rows;
  for (int k = 0; k < LSC_EVENT_COLUMNS && rows < all; k++) {
    size_t width = pack->width[k];
    unsigned char *values = pack->values[k];
    for (size_t i = rows; i < all && values; i++) memcpy(values + i * width, values + (rows - 1) * width, width);
  }
}

lsc_status lsc_pack_compress(struct lsc_pack *pack) {
  size_t rows = (size_t)pack->chunks->rows;
  size_t row = (size_t)(pack->first * rows - pack->chunks->offset[pack->fill->rank]);
  if (!pack->count) return LSC_OK;
  pad_last(pack);
  lsc_status status = compress_block(pack, pack->count - 1);
  for (size_t chunk = 0; chunk + 1 < pack->count && !status; chunk++, row += rows) {
    lsc_fill_events(pack->fill, row, rows, pack->values);
    status = compress_block(pack, chunk);
    lsc_progress_at(chunk + 1, pack->count);
  }
  return status;
}

void lsc_pack_free(struct lsc_pack *pack) {
  lsc_deflate_free(pack->deflate);
  free(pack->block);
  free(pack->sums);
  free(pack->at);
  lsc_buffer_free(&pack->lead);
  lsc_buffer_free(&pack->bytes);
}
