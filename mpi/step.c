/* SPDX-License-Identifier: BSD-3-Clause */
#include "step.h"

#include "message.h"
#include "progress.h"

static _Thread_local enum lsc_step now;

const char *lsc_step_name(enum lsc_step step) {
  static const char *const names[] = {
#define LSC_X(step, who, name) name,
      LSC_STEPS(LSC_X)
#undef LSC_X
  };
  return names[step];
}

void lsc_step_enter(enum lsc_step step) {
  now = step;
  lsc_progress_doing(lsc_step_name(step));
  if (lsc_message()[0]) lsc_fail(LSC_OK, "%s", "");
}

lsc_status lsc_step_result(void) {
#if defined(LSC_TEST_POINTS)
  return lsc_test_step(now);
#else
  return LSC_OK;
#endif
}

lsc_status lsc_step(enum lsc_step step) {
  lsc_step_enter(step);
  return lsc_step_result();
}

enum lsc_step lsc_step_now(void) { return now; }
