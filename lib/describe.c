/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "message.h"
#include "region.h"
#include "thread.h"

static lsc_status enter(lsc_session session, const char *function, struct lsc_track **track) {
  lsc_status status = lsc_thread_enter(session, LSC_API_C, track);
  if (status != LSC_OK) return lsc_fail(status, "%s: %s", function, lsc_strerror(status));
  return LSC_OK;
}

lsc_status lsc_thread_register(lsc_session session) {
  struct lsc_track *track;
  return enter(session, "lsc_thread_register", &track);
}

lsc_status lsc_thread_register_as(lsc_session session, lsc_api api, int64_t *index) {
  struct lsc_track *track;
  if (!index || (unsigned)api > LSC_API_FORTRAN_THREADS)
    return lsc_fail(LSC_INVALID, "lsc_thread_register_as: index is NULL, or no API has the number %d", (int)api);
  lsc_status status = lsc_thread_enter(session, api, &track);
  if (status != LSC_OK) return lsc_fail(status, "lsc_thread_register_as: %s", lsc_strerror(status));
  *index = (int64_t)track->thread - 1;
  return LSC_OK;
}

lsc_status lsc_thread_describe(lsc_session session, const char *name, int64_t ident, int daemon) {
  struct lsc_track *track;
  if (!name) return lsc_fail(LSC_INVALID, "lsc_thread_describe: name is NULL");
  size_t length = strlen(name);
  if (!lsc_name_is_valid(name, length))
    return lsc_fail(LSC_BAD_NAME, "the thread name is not valid UTF-8 of at most %d bytes", LSC_MAX_NAME);
  lsc_status status = enter(session, "lsc_thread_describe", &track);
  if (status != LSC_OK) return status;
  status = lsc_track_describe(track, name, length, ident, daemon);
  return status == LSC_OK ? status : lsc_fail(status, "no memory for the name of a thread, %zu bytes", length);
}
