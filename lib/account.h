/* SPDX-License-Identifier: BSD-3-Clause */
/* What is counted and summed up of the calls of a snapshot, region by region and lane by lane, as they go by in the
 * order of their ids. */
#ifndef LSC_ACCOUNT_H
#define LSC_ACCOUNT_H

#include "snapshot.h"

struct lsc_account {
  uint32_t regions;
  struct lsc_call_sums *region; /* [regions] by id, for every region of the process */
  size_t lanes;
  struct lsc_lane_info *lane; /* [lanes] the unknown lane, then the threads', then the tasks' */
  size_t threads;
};

/* For calls of any region that the process has. LSC_OK, LSC_NO_MEMORY; to be freed also on failure. */
lsc_status lsc_account_init(struct lsc_account *account, size_t threads, size_t tasks);
void lsc_account_free(struct lsc_account *account);
/* Takes in the calls of the next block. */
void lsc_account_block(struct lsc_account *account, const struct lsc_block *block);

/* s->region. LSC_OK, LSC_NO_MEMORY. */
lsc_status lsc_account_regions(const struct lsc_account *account, struct lsc_snapshot *s);
/* s->lane, which takes over the account's, s->last_lane and s->apis. */
void lsc_account_lanes(struct lsc_account *account, struct lsc_snapshot *s);

#endif
