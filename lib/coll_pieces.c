/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rank 0 sends a byte for each piece: 1 asks for it, 0 ends the matter, so that each rank hears exactly one 0 and no
 * message is left over. A piece's last byte is 1 if more of them follow.
 */
#include "coll.h"

#define AHEAD 8 /* ranks whose first piece is under way while rank 0 takes another one's */

static lsc_status ask(struct lsc_coll *coll, int rank, int tag, int wanted, int64_t deadline) {
  unsigned char byte = (unsigned char)wanted;
  return coll->send(coll, rank, tag, &byte, sizeof byte, deadline);
}

static lsc_status next_piece(const struct lsc_pieces *pieces, struct lsc_buffer *out, int *more) {
  unsigned char mark;
  *more = 1;
  out->size = 0;
  lsc_status status = pieces->next(pieces->ctx, out, more);
  mark = (unsigned char)*more;
  return status ? status : lsc_buffer_append(out, &mark, sizeof mark);
}

static lsc_status give(struct lsc_coll *coll, int tag, lsc_status mine, const struct lsc_pieces *pieces,
                       int64_t deadline) {
  struct lsc_buffer bytes = {0};
  lsc_status status = mine;
  for (int more;;) {
    lsc_status heard = coll->recv(coll, 0, tag, &bytes, deadline);
    if (!status) status = heard;
    if (heard || bytes.size != 1 || !bytes.data[0]) break;
    if (!status) status = next_piece(pieces, &bytes, &more);
    status = lsc_coll_pass(coll, 0, tag, status, &bytes, deadline);
  }
  lsc_buffer_free(&bytes);
  return status;
}

static lsc_status visit_piece(const struct lsc_pieces *pieces, int rank, const struct lsc_buffer *bytes, int *more) {
  struct lsc_reader reader = {bytes->data, bytes->data + bytes->size - 1, 0};
  *more = bytes->data[bytes->size - 1];
  return pieces->visit(pieces->ctx, rank, &reader);
}

static lsc_status take_own(const struct lsc_pieces *pieces) {
  struct lsc_buffer bytes = {0};
  lsc_status status = LSC_OK;
  for (int more = 1; more && !status;) {
    status = next_piece(pieces, &bytes, &more);
    if (!status) status = visit_piece(pieces, 0, &bytes, &more);
  }
  lsc_buffer_free(&bytes);
  return status;
}

/* The pieces of a rank that was asked for the first one. */
static lsc_status take_rank(struct lsc_coll *coll, int rank, int tag, lsc_status mine, const struct lsc_pieces *pieces,
                            int64_t deadline) {
  struct lsc_buffer bytes = {0};
  lsc_status status = mine, sent = LSC_OK;
  for (int more = 1; more && !sent;) {
    lsc_status came = lsc_coll_take(coll, rank, tag, status, &bytes, deadline);
    more = 0;
    if (!came && bytes.size && !status) came = visit_piece(pieces, rank, &bytes, &more);
    if (!status) status = came;
    more = more && !status;
    sent = ask(coll, rank, tag, more, deadline);
  }
  lsc_buffer_free(&bytes);
  return status ? status : sent;
}

static lsc_status take_all(struct lsc_coll *coll, int tag, lsc_status mine, const struct lsc_pieces *pieces,
                           int64_t deadline) {
  lsc_status status = mine ? mine : take_own(pieces);
  int asked = 0;
  for (int rank = 1; rank < coll->size; rank++) {
    lsc_status sent = LSC_OK;
    while (!status && !sent && asked < coll->size - 1 && asked < rank + AHEAD) {
      sent = ask(coll, ++asked, tag, 1, deadline);
    }
    if (rank <= asked) status = take_rank(coll, rank, tag, status, pieces, deadline);
    else sent = ask(coll, rank, tag, 0, deadline);
    if (!status) status = sent;
  }
  return status;
}

lsc_status lsc_coll_pieces(struct lsc_coll *coll, int tag, lsc_status mine, const struct lsc_pieces *pieces,
                           int64_t deadline) {
  if (coll->rank) return give(coll, tag, mine, pieces, deadline);
  return take_all(coll, tag, mine, pieces, deadline);
}
