/* SPDX-License-Identifier: BSD-3-Clause */
/* The group of one rank. */
#include "coll.h"
#include "message.h"

static lsc_status self_send(struct lsc_coll *coll, int to, int tag, const void *data, size_t size, int64_t deadline) {
  (void)coll, (void)data, (void)size, (void)deadline;
  return lsc_fail(LSC_INVALID, "a group of one rank has no rank %d to send to (tag %d)", to, tag);
}

static lsc_status self_recv(struct lsc_coll *coll, int from, int tag, struct lsc_buffer *out, int64_t deadline) {
  (void)coll, (void)out, (void)deadline;
  return lsc_fail(LSC_INVALID, "a group of one rank has no rank %d to hear from (tag %d)", from, tag);
}

static int64_t self_now(struct lsc_coll *coll) {
  (void)coll;
  return lsc_now_ns();
}

void lsc_coll_self(struct lsc_coll *coll) {
  *coll = (struct lsc_coll){.rank = 0, .size = 1, .send = self_send, .recv = self_recv, .now = self_now};
}
