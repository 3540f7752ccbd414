/* SPDX-License-Identifier: BSD-3-Clause */
#include "hand_over.h"

#include <stdlib.h>

#include "message.h"
#include "progress.h"

/* What rank 0 says to a rank. */
enum word { STOP, SEND };

/* Rank 0 may be busy with the ranks before for as long as it waits for one of them, and with their chunks. */
static int64_t turn_deadline(const struct lsc_collection *c) { return lsc_collection_deadline(c) + c->timeout; }

void lsc_hand_over_send(const struct lsc_hand_over *work) {
  struct lsc_collection *c = work->c;
  const struct lsc_pack *pack = work->pack;
  struct lsc_buffer word = {0};
  lsc_status status = c->coll->recv(c->coll, 0, LSC_TAG_CHUNKS, &word, turn_deadline(c));
  int wanted = !status && word.size == 1 && word.data[0] == SEND;
  size_t count = c->status ? 1 : pack->count;
  for (size_t i = 0; i < count && wanted && !status; i++) {
    size_t size = c->status ? 0 : lsc_chunk_size(&pack->sums[i]);
    status = c->coll->send(c->coll, 0, LSC_TAG_CHUNKS, pack->chunk[i].bytes, size, lsc_collection_deadline(c));
  }
  lsc_buffer_free(&word);
  lsc_collection_came(c, status);
}

static void put_chunk(const struct lsc_hand_over *work, struct lsc_h5 *h5, uint64_t chunk, const unsigned char *bytes) {
  const struct lsc_chunk_sums *sums = &work->sums[chunk];
  lsc_status status = LSC_OK;
  for (int k = 0; k < LSC_EVENT_COLUMNS && !status; k++) {
    if (sums->size[k]) status = lsc_h5_write_chunk(h5, k, chunk * work->chunks->rows, bytes, sums->size[k]);
    bytes += sums->size[k];
  }
  lsc_collection_note(work->c, status);
}

static void put_own(const struct lsc_hand_over *work, struct lsc_h5 *h5) {
  const struct lsc_pack *pack = work->pack;
  for (size_t i = 0; i < pack->count && !work->c->status; i++) {
    put_chunk(work, h5, pack->first + i, pack->chunk[i].bytes);
  }
}

/* All that the rank sends, also where it cannot be written; 0: it has no more, or does not come through. */
static int take_chunk(const struct lsc_hand_over *work, struct lsc_h5 *h5, int rank, uint64_t chunk,
                      struct lsc_buffer *message) {
  struct lsc_collection *c = work->c;
  lsc_status status = c->coll->recv(c->coll, rank, LSC_TAG_CHUNKS, message, lsc_collection_deadline(c));
  if (!status && message->size != lsc_chunk_size(&work->sums[chunk])) {
    c->coll->passed_on = 1;
    lsc_collection_came(c, lsc_fail(LSC_NO_MEMORY, "rank %d did not hand over its chunks", rank));
    return 0;
  }
  lsc_collection_came(c, status);
  if (!c->status) put_chunk(work, h5, chunk, message->data);
  return !status || status == LSC_NO_MEMORY;
}

static void take_rank(const struct lsc_hand_over *work, struct lsc_h5 *h5, int rank, struct lsc_buffer *message) {
  struct lsc_collection *c = work->c;
  uint64_t chunk = lsc_chunks_first(work->chunks, rank), end = lsc_chunks_end(work->chunks, rank);
  const unsigned char word = c->status ? STOP : SEND;
  if (chunk == end) return;
  lsc_status status = c->coll->send(c->coll, rank, LSC_TAG_CHUNKS, &word, sizeof word, lsc_collection_deadline(c));
  lsc_collection_came(c, status);
  if (status || word == STOP) return;
  while (chunk < end && take_chunk(work, h5, rank, chunk, message)) {
    lsc_progress_at(++chunk, lsc_chunks_end(work->chunks, c->coll->size - 1));
  }
}

void lsc_hand_over_write(const struct lsc_hand_over *work, struct lsc_h5 *h5) {
  struct lsc_buffer message = {0};
  put_own(work, h5);
  for (int rank = 1; rank < work->c->coll->size; rank++) take_rank(work, h5, rank, &message);
  lsc_buffer_free(&message);
}

static lsc_status differs(int column, uint64_t chunk, const char *how) {
  return lsc_fail(LSC_IO, "chunk %llu of %s/%s %s: the file system lost what was written", (unsigned long long)chunk,
                  lsc_events_desc.group, lsc_events_desc.column[column].name, how);
}

static lsc_status check_size(const struct lsc_hand_over *work, struct lsc_h5 *h5, int column, uint64_t chunk) {
  uint64_t size;
  lsc_status status = lsc_h5_chunk_size(h5, column, chunk * work->chunks->rows, &size);
  if (status || size == work->sums[chunk].size[column]) return status;
  return differs(column, chunk, "has not the size with which it was written");
}

static lsc_status check_bytes(const struct lsc_hand_over *work, struct lsc_h5 *h5, int column, uint64_t chunk,
                              unsigned char *bytes) {
  const struct lsc_chunk_sums *sums = &work->sums[chunk];
  lsc_status status = lsc_h5_read_chunk(h5, column, chunk * work->chunks->rows, bytes);
  if (status || lsc_deflate_crc(bytes, sums->size[column]) == sums->crc[column]) return status;
  return differs(column, chunk, "is not what was written there");
}

static lsc_status check_rank(const struct lsc_hand_over *work, struct lsc_h5 *h5, int rank, unsigned char *bytes) {
  uint64_t first = lsc_chunks_first(work->chunks, rank), end = lsc_chunks_end(work->chunks, rank);
  lsc_status status = LSC_OK;
  for (uint64_t chunk = first; chunk < end; chunk++) {
    for (int k = 0; k < LSC_EVENT_COLUMNS && !status; k++) {
      if (!work->sums[chunk].size[k]) continue;
      status = check_size(work, h5, k, chunk);
      if (!status && (chunk == first || chunk + 1 == end)) status = check_bytes(work, h5, k, chunk, bytes);
    }
  }
  return status;
}

lsc_status lsc_hand_over_check(const struct lsc_hand_over *work, struct lsc_h5 *h5) {
  size_t most = lsc_deflate_bound(sizeof(int64_t), (size_t)work->chunks->rows);
  unsigned char *bytes = malloc(most);
  lsc_status status = LSC_OK;
  if (!bytes) return lsc_fail(LSC_NO_MEMORY, "no memory for the %zu bytes of a chunk", most);
  for (int rank = 0; rank < work->c->coll->size && !status; rank++) status = check_rank(work, h5, rank, bytes);
  free(bytes);
  return status;
}
