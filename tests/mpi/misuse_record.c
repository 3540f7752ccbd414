/* SPDX-License-Identifier: BSD-3-Clause */
/* Misuse of sessions, regions, calls and tokens. */
#include "misuse.h"

static void try_strerror(void) {
  EXPECT(lsc_strerror((lsc_status)-1) && lsc_strerror((lsc_status)9999), "NULL for an unknown status");
}

static void try_message(void) {
  lsc_session_close(0);
  EXPECT(strlen(lsc_message()) > 0, "no message");
}

static void try_version(void) { EXPECT(strcmp(lsc_version(), LSC_VERSION) == 0, "%s", lsc_version()); }

static void try_now_ns(void) { EXPECT(lsc_now_ns() > 0, "no time"); }

static void try_session_open(void) {
  lsc_session opened = 7, many[LSC_MAX_SESSIONS];
  lsc_session_options options = {.size = 3};
  int count = 0;
  GIVES(lsc_session_open(NULL, NULL), LSC_INVALID);
  GIVES(lsc_session_open(&options, &opened), LSC_INVALID);
  EXPECT(opened == 0, "a handle in spite of the failure");
  options = (lsc_session_options){.size = sizeof options, .label = bad_text};
  GIVES(lsc_session_open(&options, &opened), LSC_BAD_NAME);
  while (count < LSC_MAX_SESSIONS && lsc_session_open(NULL, &many[count]) == LSC_OK) ++count;
  GIVES(lsc_session_open(NULL, &opened), LSC_LIMIT);
  for (int i = 0; i < count; ++i) GIVES(lsc_session_close(many[i]), LSC_OK);
}

static void try_session_close(void) {
  lsc_session twice = 0;
  GIVES_FOR_DEAD(lsc_session_close(no), LSC_INACTIVE);
  GIVES(lsc_session_open(NULL, &twice), LSC_OK);
  GIVES(lsc_session_close(twice), LSC_OK);
  GIVES(lsc_session_close(twice), LSC_INACTIVE);
  GIVES_BUSY(lsc_session_close(session));
  EXPECT(lsc_session_is_open(session), "closed in spite of the status");
}

static void try_session_is_open(void) {
  for (size_t i = 0; i < sizeof dead / sizeof dead[0]; ++i) EXPECT(!lsc_session_is_open(dead[i]), "%zu is open", i);
}

static void try_session_pause(void) {
  GIVES_FOR_DEAD(lsc_session_pause(no), LSC_INACTIVE);
  GIVES(lsc_session_pause(session), LSC_OK);
  GIVES(lsc_session_pause(session), LSC_OK);
}

static void try_session_resume(void) {
  GIVES_FOR_DEAD(lsc_session_resume(no), LSC_INACTIVE);
  GIVES(lsc_session_resume(session), LSC_OK);
  GIVES(lsc_session_resume(session), LSC_OK);
}

static void try_region(void) {
  lsc_region_id id;
  static char longest[LSC_MAX_NAME + 2];
  memset(longest, 'x', LSC_MAX_NAME + 1);
  GIVES(lsc_region(NULL, &id), LSC_INVALID);
  GIVES(lsc_region("name", NULL), LSC_INVALID);
  GIVES(lsc_region(bad_text, &id), LSC_BAD_NAME);
  GIVES(lsc_region(longest, &id), LSC_BAD_NAME);
}

static void try_region_define(void) {
  lsc_region_id id;
  lsc_region_info info = {.size = sizeof info, .name = "defined", .name_length = (size_t)-1};
  GIVES(lsc_region_define(NULL, &id), LSC_INVALID);
  GIVES(lsc_region_define(&info, NULL), LSC_INVALID);
  info.name_length = sizeof "defined";
  GIVES(lsc_region_define(&info, &id), LSC_BAD_NAME);
  info.name_length = (size_t)-1;
  info.tags = bad_text;
  GIVES(lsc_region_define(&info, &id), LSC_BAD_NAME);
  info.name = NULL;
  GIVES(lsc_region_define(&info, &id), LSC_INVALID);
  info.size = 1;
  GIVES(lsc_region_define(&info, &id), LSC_INVALID);
}

static void try_begin(void) {
  GIVES_FOR_DEAD(lsc_begin(no, region), LSC_INACTIVE);
  GIVES(lsc_begin(session, UINT32_MAX), LSC_INVALID);
}

static void *end_there(void *unused) {
  (void)unused;
  GIVES(lsc_end(session, region), LSC_NO_BEGIN);
  return NULL;
}

static void try_end(void) {
  GIVES_FOR_DEAD(lsc_end(no, region), LSC_INACTIVE);
  GIVES(lsc_end(session, region), LSC_NO_BEGIN);
  GIVES(lsc_begin(session, region), LSC_OK);
  on_thread(end_there, NULL);
  GIVES(lsc_begin(session, other), LSC_OK);
  GIVES(lsc_end(session, region), LSC_CROSSED);
  GIVES(lsc_end(session, other), LSC_OK);
  GIVES(lsc_end(session, region), LSC_OK);
  GIVES(lsc_end(session, region), LSC_NO_BEGIN);
}

static void try_begin_as(void) {
  GIVES_FOR_DEAD(lsc_begin_as(no, LSC_API_FORTRAN, region), LSC_INACTIVE);
  GIVES(lsc_begin_as(session, (lsc_api)17, region), LSC_INVALID);
  GIVES(lsc_begin_as(session, (lsc_api)-1, region), LSC_INVALID);
  GIVES(lsc_begin_as(session, LSC_API_PYTHON, UINT32_MAX), LSC_INVALID);
}

static void try_end_as(void) {
  GIVES_FOR_DEAD(lsc_end_as(no, LSC_API_PYTHON, region), LSC_INACTIVE);
  GIVES(lsc_end_as(session, (lsc_api)17, region), LSC_INVALID);
  GIVES(lsc_end_as(session, LSC_API_FORTRAN, region), LSC_NO_BEGIN);
}

static void try_begin_marked(void) {
  lsc_mark mark;
  GIVES_FOR_DEAD(lsc_begin_marked(no, LSC_API_PYTHON, region, &mark), LSC_INACTIVE);
  GIVES(lsc_begin_marked(session, (lsc_api)4, region, &mark), LSC_INVALID);
  GIVES(lsc_begin_marked(session, LSC_API_PYTHON, UINT32_MAX, &mark), LSC_INVALID);
  EXPECT(!mark.row, "a mark of no call");
}

static void try_end_marked(void) {
  lsc_mark mark = {0};
  GIVES(lsc_end_marked(mark), LSC_INACTIVE);
  GIVES(lsc_begin_marked(session, LSC_API_PYTHON, region, &mark), LSC_OK);
  GIVES(lsc_end_marked(mark), LSC_OK);
  GIVES(lsc_end_marked(mark), LSC_STALE);
  GIVES(lsc_end(session, region), LSC_NO_BEGIN);
}

static void try_on_first_use(void) {
  GIVES(lsc_on_first_use((lsc_api)17, NULL), LSC_INVALID);
  GIVES(lsc_on_first_use(LSC_API_C, NULL), LSC_OK);
}

static void try_scope_begin(void) {
  lsc_token token;
  GIVES_FOR_DEAD(lsc_scope_begin(no, region, &token), LSC_INACTIVE);
  GIVES(lsc_scope_begin(session, region, NULL), LSC_INVALID);
  GIVES(lsc_scope_begin(session, UINT32_MAX, &token), LSC_INVALID);
  GIVES(lsc_scope_end(token), LSC_INACTIVE);
}

static void try_scope_begin_as(void) {
  lsc_token token;
  GIVES_FOR_DEAD(lsc_scope_begin_as(no, LSC_API_PYTHON, region, &token), LSC_INACTIVE);
  GIVES(lsc_scope_begin_as(session, (lsc_api)17, region, &token), LSC_INVALID);
  GIVES(lsc_scope_begin_as(session, LSC_API_PYTHON, region, NULL), LSC_INVALID);
}

static void *end_scope_there(void *token) {
  GIVES(lsc_scope_end(*(lsc_token *)token), LSC_OK);
  return NULL;
}

static void try_scope_end(void) {
  lsc_session gone = 0;
  lsc_token token = {0, 0, 0};
  GIVES(lsc_scope_end(token), LSC_INACTIVE);
  GIVES(lsc_scope_begin(session, region, &token), LSC_OK);
  on_thread(end_scope_there, &token);
  GIVES(lsc_scope_end(token), LSC_STALE);
  GIVES(lsc_session_open(NULL, &gone), LSC_OK);
  GIVES(lsc_scope_begin(gone, region, &token), LSC_OK);
  GIVES(lsc_session_close(gone), LSC_OK);
  GIVES(lsc_scope_end(token), LSC_INACTIVE);
}

const struct misuse_row misuse_record[] = {
    ROW(strerror), ROW(message), ROW(version), ROW(now_ns), ROW(session_open), ROW(session_close),
    ROW(session_is_open), ROW(session_pause), ROW(session_resume), ROW(region), ROW(region_define), ROW(begin),
    ROW(begin_marked), ROW(end_marked), ROW(end), ROW(begin_as), ROW(end_as), ROW(on_first_use), ROW(scope_begin),
    ROW(scope_begin_as), ROW(scope_end), {NULL, NULL},
};
