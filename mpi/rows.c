/* SPDX-License-Identifier: BSD-3-Clause */
#include "rows.h"

#include <string.h>

#include "buckets.h"
#include "create.h"
#include "message.h"
#include "step.h"

/* One row of each column, read from the file and compared with what was written there. */
static lsc_status check_row(struct lsc_h5 *h5, const struct lsc_fill *fill, size_t row,
                            const struct lsc_events_row *written) {
  uint64_t place = fill->event_offset + row;
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) {
    unsigned char found[8] = {0};
    if (!lsc_fill_has_event_column(fill, k)) continue;
    lsc_status status = lsc_h5_read_rows(h5, k, place, 1, found);
    if (status) return status;
    if (memcmp(written->value[k], found, lsc_type_size(lsc_events_desc.column[k].type)) == 0) continue;
    return lsc_fail(LSC_IO, "row %llu of %s/%s is not what was written there: the file system or MPI-IO lost it",
                    (unsigned long long)place, lsc_events_desc.group, lsc_events_desc.column[k].name);
  }
  return LSC_OK;
}

static lsc_status write_and_check(struct lsc_h5 *h5, const struct lsc_fill *fill, struct lsc_buckets *buckets) {
  struct lsc_events_row first, last;
  lsc_status status = lsc_buckets_write(buckets, h5, &first, &last);
  if (!status) status = lsc_step(LSC_STEP_READ_BACK);
  if (!status) status = check_row(h5, fill, 0, &first);
  return status ? status : check_row(h5, fill, fill->snapshot->completed - 1, &last);
}

lsc_status lsc_rows_write(struct lsc_h5 *h5, const struct lsc_fill *fill, uint64_t events) {
  struct lsc_buckets *buckets;
  if (fill->snapshot->completed == 0) return LSC_OK;
  lsc_status status = lsc_step(LSC_STEP_PIECE);
  if (!status) status = lsc_buckets_new(fill, &buckets);
  if (status) return status;
  status = lsc_create_select(h5, fill, events);
  if (!status) status = write_and_check(h5, fill, buckets);
  lsc_buckets_free(buckets);
  return status;
}
