/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanescope_binding.h"
#include "message.h"

lsc_status lsc_lane_ids(size_t n, const int64_t *thread_ids, const int64_t *task_ids, int64_t *lanes) {
  if (n && (!thread_ids || !lanes)) return lsc_fail(LSC_INVALID, "lsc_lane_ids: an array of %zu values is NULL", n);
  for (size_t i = 0; i < n; i++) {
    if (task_ids && task_ids[i] >= 0) lanes[i] = task_ids[i];
    else lanes[i] = thread_ids[i] < 0 ? -1 : -2 - thread_ids[i];
  }
  return LSC_OK;
}
