/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file whose /events is compressed: every rank compresses its chunks in memory, and rank 0 writes them, one rank
 * after the other, behind the tables, once it has reserved the space of all. MPI-IO has no part in it.
 */
#include "create.h"
#include "hand_over.h"
#include "message.h"
#include "pack.h"

struct packing {
  struct lsc_collection *c;
  struct lsc_buffer counts; /* rows of each rank, uint64_t */
  struct lsc_chunks chunks;
  struct lsc_pack pack;
  struct lsc_buffer sums; /* rank 0: struct lsc_chunk_sums of every chunk */
};

static lsc_status add_count(void *ctx, int rank, struct lsc_reader *bytes) {
  (void)rank;
  return lsc_buffer_append(ctx, bytes->next, (size_t)(bytes->end - bytes->next));
}

/* To everybody; no counts where rank 0 has failed. */
static void count_rows(struct packing *p) {
  struct lsc_collection *c = p->c;
  uint64_t own = c->snapshot.completed;
  const struct lsc_buffer mine = {.data = (unsigned char *)&own, .size = sizeof own};
  lsc_collection_enter(c, LSC_STEP_RANK_ROWS);
  lsc_collection_came(c, lsc_coll_gather(c->coll, LSC_TAG_RANK_ROWS, &mine, add_count, &p->counts,
                                         lsc_collection_deadline(c)));
  if (c->broken) return;
  if (c->status) p->counts.size = 0;
  lsc_collection_came(c, lsc_coll_down(c->coll, LSC_TAG_ALL_ROWS, LSC_OK, &p->counts, lsc_collection_deadline(c)));
}

static void prepare(struct packing *p) {
  struct lsc_collection *c = p->c;
  if (c->status || p->counts.size != (size_t)c->coll->size * sizeof(uint64_t)) return;
  if (lsc_collection_enter(c, LSC_STEP_ROOM)) return;
  lsc_status status = lsc_chunks_init(&p->chunks, (const void *)p->counts.data, c->coll->size);
  lsc_collection_note(c, status ? status : lsc_pack_prepare(&p->pack, &c->fill, &p->chunks, c->level));
}

static void read_rows(struct packing *p) {
  struct lsc_collection *c = p->c;
  if (c->status || !c->snapshot.completed || lsc_collection_enter(c, LSC_STEP_COMPRESS)) return;
  lsc_collection_note(c, lsc_pack_read(&p->pack));
}

/* Everything compressed, rows of shared chunks by their owners; the others are not held up by one that fails. */
static void pack(struct packing *p) {
  struct lsc_collection *c = p->c;
  read_rows(p);
  lsc_collection_enter(c, LSC_STEP_BORDER);
  lsc_collection_came(c, lsc_pack_exchange(&p->pack, c->coll, LSC_TAG_BORDER, c->status != LSC_OK,
                                           lsc_collection_deadline(c)));
  if (!c->status) lsc_collection_note(c, lsc_pack_finish(&p->pack));
}

static lsc_status add_sums(void *ctx, int rank, struct lsc_reader *bytes) {
  struct packing *p = ctx;
  size_t size = (size_t)(bytes->end - bytes->next);
  size_t chunks = (size_t)(lsc_chunks_end(&p->chunks, rank) - lsc_chunks_first(&p->chunks, rank));
  if (size && size != chunks * sizeof(struct lsc_chunk_sums)) {
    return lsc_fail(LSC_LIMIT, "rank %d has sizes of %zu bytes for %zu chunks", rank, size, chunks);
  }
  return lsc_buffer_append(&p->sums, bytes->next, size);
}

/* Nothing of a rank that has failed. */
static void gather_sizes(struct packing *p) {
  struct lsc_collection *c = p->c;
  lsc_collection_enter(c, LSC_STEP_SIZES);
  struct lsc_buffer mine = {.data = (unsigned char *)p->pack.sums};
  mine.size = c->status ? 0 : p->pack.count * sizeof *p->pack.sums;
  lsc_collection_came(c, lsc_coll_gather(c->coll, LSC_TAG_SIZES, &mine, add_sums, p, lsc_collection_deadline(c)));
}

/* What is put behind the tables, once it is known of all ranks. */
static lsc_status reserve(struct packing *p) {
  struct lsc_collection *c = p->c;
  const struct lsc_chunk_sums *sums = (const void *)p->sums.data;
  uint64_t packed = 0;
  for (size_t i = 0; i < p->sums.size / sizeof *sums; i++) packed += lsc_chunk_size(&sums[i]);
  lsc_status status = lsc_step(LSC_STEP_RESERVE_CHUNKS);
  if (!status) status = lsc_create_reserve(c->target.temporary, c->target.path, packed);
  return status ? status : lsc_create_select(c->file, &c->fill, c->events);
}

/* Some rank may have failed and have given no sizes: then what rank 0 reserves is of no use, and does no harm. */
static void reserve_chunks(struct packing *p) {
  struct lsc_collection *c = p->c;
  if (c->coll->rank || c->status || c->broken) return;
  lsc_collection_note(c, reserve(p));
}

static struct lsc_hand_over hand_over_of(const struct packing *p) {
  return (struct lsc_hand_over){p->c, &p->pack, &p->chunks, (const void *)p->sums.data};
}

/* A rank without chunks is not called by rank 0. */
static void hand_over(struct packing *p) {
  struct lsc_collection *c = p->c;
  const struct lsc_hand_over work = hand_over_of(p);
  if (c->coll->rank && !p->pack.count) return;
  lsc_collection_enter(c, c->coll->rank ? LSC_STEP_HAND_OVER : LSC_STEP_PUT_CHUNKS);
  if (c->coll->rank) lsc_hand_over_send(&work);
  else lsc_hand_over_write(&work, c->file);
}

static lsc_status check(struct packing *p) {
  struct lsc_collection *c = p->c;
  const struct lsc_hand_over work = hand_over_of(p);
  struct lsc_h5 *h5 = NULL;
  lsc_status status = lsc_step(LSC_STEP_CHECK_CHUNKS);
  if (!status) status = lsc_h5_open(&h5, c->target.temporary, c->target.path);
  if (!status) status = lsc_create_select(h5, &c->fill, c->events);
  if (!status) status = lsc_hand_over_check(&work, h5);
  return lsc_h5_close(h5, status);
}

/* A close that says nothing of what it lost is found out by who opens the file again. */
static void close_and_check(struct packing *p) {
  struct lsc_collection *c = p->c;
  if (c->coll->rank || c->status) return;
  lsc_step_enter(LSC_STEP_CLOSE_CHUNKS);
  lsc_collection_note(c, lsc_create_end(c->file, c->target.temporary, LSC_OK, &c->bytes));
  lsc_collection_note(c, lsc_step_result());
  c->file = NULL;
  if (!c->status) lsc_collection_note(c, check(p));
}

static lsc_status store(struct packing *p) {
  struct lsc_collection *c = p->c;
  count_rows(p);
  prepare(p);
  lsc_status status = lsc_collection_agree(c, LSC_AGREE_CHUNKS);
  if (status) return status;
  pack(p);
  if (!c->broken) gather_sizes(p);
  reserve_chunks(p);
  if ((status = lsc_collection_agree(c, LSC_AGREE_RESERVE))) return status;
  hand_over(p);
  close_and_check(p);
  return lsc_collection_agree(c, LSC_AGREE_PACKED);
}

lsc_status lsc_collection_store_compressed(struct lsc_collection *c) {
  struct packing p = {.c = c};
  lsc_status status = store(&p);
  status = lsc_h5_close(c->file, status);
  c->file = NULL;
  lsc_pack_free(&p.pack);
  lsc_chunks_free(&p.chunks);
  lsc_buffer_free(&p.sums);
  lsc_buffer_free(&p.counts);
  return status;
}
