/* SPDX-License-Identifier: BSD-3-Clause */
#include "pack.h"

#include <stdlib.h>
#include <string.h>

#include "buckets.h"
#include "message.h"
#include "progress.h"

#define LEAST_BLOCKS 3 /* regions that are read together, also where little was recorded */
#define PART 8         /* of the memory of the recorded calls, for a block of each region that is read with others */
#define CALL_BYTES 32
#define SHELF_BYTES (256u << 10) /* for compressed chunks: more than one, and little beside all */

struct lsc_shelf {
  struct lsc_shelf *next;
  size_t used, size;
  unsigned char bytes[];
};

size_t lsc_chunk_size(const struct lsc_chunk_sums *sums) {
  size_t size = 0;
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) size += sums->size[k];
  return size;
}

static void set_widths(struct lsc_pack *pack) {
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) {
    if (!lsc_fill_has_event_column(pack->fill, k)) continue;
    pack->width[k] = lsc_type_size(lsc_events_desc.column[k].type);
    pack->row_bytes += pack->width[k];
  }
}

/* Columns of `rows` rows, one behind the other: as they are listed each begins at a multiple of its width. */
static void place_columns(const struct lsc_pack *pack, unsigned char *block, size_t rows, void **values) {
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) {
    values[k] = pack->width[k] ? block : NULL;
    block += pack->width[k] * rows;
  }
}

static size_t most_blocks(const struct lsc_pack *pack) {
  size_t most = pack->fill->snapshot->calls * CALL_BYTES / PART / ((size_t)pack->chunks->rows * pack->row_bytes);
  return most < LEAST_BLOCKS ? LEAST_BLOCKS : most;
}

static lsc_status get_memory(struct lsc_pack *pack, int level) {
  size_t rows = (size_t)pack->chunks->rows;
  pack->chunk = calloc(pack->count, sizeof *pack->chunk);
  pack->sums = calloc(pack->count, sizeof *pack->sums);
  if (pack->chunk && pack->sums) return lsc_deflate_new(&pack->deflate, level, rows);
  return lsc_fail(LSC_NO_MEMORY, "no memory for the sizes of %zu chunks", pack->count);
}

lsc_status lsc_pack_prepare(struct lsc_pack *pack, const struct lsc_fill *fill, const struct lsc_chunks *chunks,
                            int level) {
  int rank = (int)fill->rank;
  uint64_t end = lsc_chunks_end(chunks, rank);
  lsc_status status = LSC_OK;
  pack->fill = fill;
  pack->chunks = chunks;
  pack->first = lsc_chunks_first(chunks, rank);
  pack->count = (size_t)(end - pack->first);
  pack->lead_rows = (size_t)lsc_chunks_lead(chunks, rank);
  if (pack->count) pack->last_rows = (size_t)(chunks->offset[rank + 1] - (end - 1) * chunks->rows);
  set_widths(pack);
  if (pack->count) status = get_memory(pack, level);
  if (!status && pack->lead_rows) {
    pack->lead.size = pack->row_bytes * pack->lead_rows;
    if (!lsc_buffer_reserve(&pack->lead, pack->lead.size)) status = LSC_NO_MEMORY;
  }
  if (status || !fill->snapshot->completed) return status;
  status = lsc_buckets_new(fill, 0, &pack->buckets);
  if (!status) lsc_buckets_limit(pack->buckets, chunks->rows, most_blocks(pack));
  return status;
}

/* Copies rows into columns of `of` rows, from row `at` on. */
static void copy_rows(const struct lsc_pack *pack, unsigned char *block, size_t of, size_t at, size_t rows,
                      void *const *from, size_t from_row) {
  void *values[LSC_EVENT_COLUMNS];
  place_columns(pack, block, of, values);
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) {
    size_t width = pack->width[k];
    if (!width) continue;
    memcpy((unsigned char *)values[k] + at * width, (const unsigned char *)from[k] + from_row * width, rows * width);
  }
}

static lsc_status compress_columns(struct lsc_pack *pack, size_t i) {
  struct lsc_chunk_sums *sums = &pack->sums[i];
  void *values[LSC_EVENT_COLUMNS];
  lsc_status status = LSC_OK;
  pack->out.size = 0;
  place_columns(pack, pack->chunk[i].block, (size_t)pack->chunks->rows, values);
  for (int k = 0; k < LSC_EVENT_COLUMNS && !status; k++) {
    size_t before = pack->out.size;
    if (!values[k]) continue;
    status = lsc_deflate_chunk(pack->deflate, values[k], pack->width[k], &pack->out);
    sums->size[k] = (uint32_t)(pack->out.size - before);
    sums->crc[k] = status ? 0 : lsc_deflate_crc(pack->out.data + before, sums->size[k]);
  }
  return status;
}

/* Room for a compressed chunk; NULL without memory. */
static unsigned char *find_room(struct lsc_pack *pack, size_t size) {
  struct lsc_shelf *shelf = pack->shelf;
  if (!shelf || shelf->size - shelf->used < size) {
    size_t all = size < SHELF_BYTES ? SHELF_BYTES : size;
    if (!(shelf = malloc(sizeof *shelf + all))) return NULL;
    *shelf = (struct lsc_shelf){.next = pack->shelf, .size = all};
    pack->shelf = shelf;
  }
  shelf->used += size;
  return shelf->bytes + shelf->used - size;
}

/* Keeps the compressed chunk, and its block for another one. */
static lsc_status compress_chunk(struct lsc_pack *pack, size_t i) {
  struct lsc_packed *chunk = &pack->chunk[i];
  lsc_status status = compress_columns(pack, i);
  if (!status && !(chunk->bytes = find_room(pack, pack->out.size))) status = LSC_NO_MEMORY;
  if (status) return lsc_fail(status, "no memory for a compressed chunk of %zu bytes", pack->out.size);
  memcpy(chunk->bytes, pack->out.data, pack->out.size);
  free(pack->spare);
  pack->spare = chunk->block;
  chunk->block = NULL;
  return LSC_OK;
}

static lsc_status get_block(struct lsc_pack *pack, struct lsc_packed *chunk) {
  size_t size = pack->row_bytes * (size_t)pack->chunks->rows;
  chunk->block = pack->spare ? pack->spare : malloc(size);
  pack->spare = NULL;
  return chunk->block ? LSC_OK : lsc_fail(LSC_NO_MEMORY, "no memory for a chunk of %zu bytes", size);
}

/* Rows of one chunk, from its row `at` on. The last one waits for those of other ranks. */
static lsc_status put_rows(struct lsc_pack *pack, size_t i, size_t at, size_t rows, void *const *column, size_t row) {
  struct lsc_packed *chunk = &pack->chunk[i];
  lsc_status status = chunk->block ? LSC_OK : get_block(pack, chunk);
  if (status) return status;
  copy_rows(pack, chunk->block, (size_t)pack->chunks->rows, at, rows, column, row);
  chunk->filled += rows;
  return i + 1 < pack->count && chunk->filled == pack->chunks->rows ? compress_chunk(pack, i) : LSC_OK;
}

static lsc_status take_rows(void *ctx, uint64_t row, size_t rows, void *const *column) {
  struct lsc_pack *pack = ctx;
  uint64_t of_chunk = pack->chunks->rows, place = pack->chunks->offset[pack->fill->rank] + row;
  lsc_status status = LSC_OK;
  lsc_progress_at(row + rows, pack->fill->snapshot->completed);
  for (size_t done = 0, count; done < rows && !status; done += count, place += count) {
    size_t at = (size_t)(place % of_chunk);
    uint64_t chunk = place / of_chunk;
    count = rows - done < of_chunk - at ? rows - done : (size_t)of_chunk - at;
    if (chunk >= pack->first) status = put_rows(pack, (size_t)(chunk - pack->first), at, count, column, done);
    else copy_rows(pack, pack->lead.data, pack->lead_rows, (size_t)row + done, count, column, done);
  }
  return status;
}

lsc_status lsc_pack_read(struct lsc_pack *pack) {
  const struct lsc_rows_sink sink = {.take = take_rows, .ctx = pack};
  if (!pack->buckets) return LSC_OK;
  lsc_status status = lsc_buckets_read(pack->buckets, &sink);
  lsc_buckets_free(pack->buckets);
  pack->buckets = NULL;
  return status;
}

/* What another rank hands over, into the last chunk from its row `at` on; one that has failed has nothing. */
static lsc_status take_lead(struct lsc_pack *pack, struct lsc_coll *coll, int from, int tag, size_t at, int failed,
                            struct lsc_buffer *message, int64_t deadline) {
  size_t rows = (size_t)lsc_chunks_lead(pack->chunks, from);
  void *values[LSC_EVENT_COLUMNS];
  lsc_status status = coll->recv(coll, from, tag, message, deadline);
  if (status || failed) return status;
  if (message->size != pack->row_bytes * rows) {
    coll->passed_on = 1;
    return lsc_fail(LSC_NO_MEMORY, "rank %d has no rows for a chunk that it shares", from);
  }
  place_columns(pack, message->data, rows, values);
  copy_rows(pack, pack->chunk[pack->count - 1].block, (size_t)pack->chunks->rows, at, rows, values, 0);
  return LSC_OK;
}

/* All of them, whatever becomes of one, since they are sending. */
static lsc_status receive_leads(struct lsc_pack *pack, struct lsc_coll *coll, int tag, int failed, int64_t deadline) {
  struct lsc_buffer message = {0};
  lsc_status status = LSC_OK;
  size_t row = pack->last_rows;
  int end = lsc_chunks_followers(pack->chunks, coll->rank);
  for (int from = coll->rank + 1; from < end; from++) {
    size_t rows = (size_t)lsc_chunks_lead(pack->chunks, from);
    if (!rows) continue;
    lsc_status came = take_lead(pack, coll, from, tag, row, failed, &message, deadline);
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

/*
 * An owner receives from all ranks behind it up to the next owner, and sends to the owner before it. Of two neighbours
 * one receives first and one sends first, so that nobody waits for more than its neighbours.
 */
lsc_status lsc_pack_exchange(struct lsc_pack *pack, struct lsc_coll *coll, int tag, int failed, int64_t deadline) {
  int sends_first = lsc_chunks_turn(pack->chunks, coll->rank) % 2;
  lsc_status sent = LSC_OK, received;
  if (sends_first) sent = send_lead(pack, coll, tag, failed, deadline);
  received = receive_leads(pack, coll, tag, failed, deadline);
  if (!sends_first) sent = send_lead(pack, coll, tag, failed, deadline);
  lsc_buffer_free(&pack->lead);
  return sent ? sent : received;
}

/* Behind the last row of all a chunk goes on: with the same values, which cost least. */
static void pad_last(struct lsc_pack *pack) {
  uint64_t events = pack->chunks->offset[pack->chunks->ranks];
  uint64_t begin = (pack->first + pack->count - 1) * pack->chunks->rows;
  size_t rows = (size_t)(events - begin), all = (size_t)pack->chunks->rows;
  void *column[LSC_EVENT_COLUMNS];
  place_columns(pack, pack->chunk[pack->count - 1].block, all, column);
  for (int k = 0; k < LSC_EVENT_COLUMNS && rows < all; k++) {
    size_t width = pack->width[k];
    unsigned char *values = column[k];
    for (size_t i = rows; i < all && values; i++) memcpy(values + i * width, values + (rows - 1) * width, width);
  }
}

lsc_status lsc_pack_finish(struct lsc_pack *pack) {
  if (!pack->count) return LSC_OK;
  pad_last(pack);
  lsc_status status = compress_chunk(pack, pack->count - 1);
  free(pack->spare);
  pack->spare = NULL;
  return status;
}

void lsc_pack_free(struct lsc_pack *pack) {
  if (pack->buckets) lsc_buckets_free(pack->buckets);
  lsc_deflate_free(pack->deflate);
  for (size_t i = 0; pack->chunk && i < pack->count; i++) free(pack->chunk[i].block);
  for (struct lsc_shelf *shelf = pack->shelf, *next; shelf; shelf = next) {
    next = shelf->next;
    free(shelf);
  }
  free(pack->chunk);
  free(pack->sums);
  free(pack->spare);
  lsc_buffer_free(&pack->lead);
  lsc_buffer_free(&pack->out);
}
