/* SPDX-License-Identifier: BSD-3-Clause */
/* Misuse of the default session, in C and Fortran. */
#include "misuse.h"

static void try_session_default(void) { EXPECT(lsc_session_default() == 0, "a default session"); }

static void try_session_set_default(void) {
  lsc_session second = 0;
  for (size_t i = 1; i < sizeof dead / sizeof dead[0]; ++i) GIVES(lsc_session_set_default(dead[i]), LSC_INACTIVE);
  GIVES(lsc_session_set_default(session), LSC_OK);
  GIVES(lsc_session_open(NULL, &second), LSC_OK);
  GIVES(lsc_session_set_default(second), LSC_LIMIT);
  GIVES(lsc_session_close(second), LSC_OK);
  GIVES(lsc_session_set_default(0), LSC_OK);
  GIVES(lsc_session_set_default(0), LSC_OK);
}

/* `call`, which needs a default session, without one and with one. */
#define GIVES_BY_DEFAULT(call, expected)         \
  do {                                           \
    GIVES(call, LSC_INACTIVE);                   \
    GIVES(lsc_session_set_default(session), LSC_OK); \
    GIVES(call, expected);                       \
    GIVES(lsc_session_set_default(0), LSC_OK);   \
  } while (0)

static void try_enter(void) { GIVES_BY_DEFAULT(lsc_enter(LSC_NO_REGION), LSC_INVALID); }

static void try_leave(void) { GIVES_BY_DEFAULT(lsc_leave(region), LSC_NO_BEGIN); }

static lsc_site bad_site = {bad_text, NULL, 0, 0};

static lsc_status site_enter(void) {
  lsc_entered entered = lsc_site_enter(&bad_site);
  EXPECT(entered.session == 0, "the region of a bad name was entered");
  lsc_site_leave(&entered);
  return lsc_session_default() ? LSC_OK : LSC_INACTIVE;
}

static void try_site_enter(void) { GIVES_BY_DEFAULT(site_enter(), LSC_OK); }

static void try_site_begin(void) { GIVES_BY_DEFAULT(lsc_site_begin(&bad_site), LSC_BAD_NAME); }

static void try_site_end(void) {
  static lsc_site good_site = {"site", NULL, 0, 0};
  GIVES_BY_DEFAULT(lsc_site_end(&bad_site), LSC_BAD_NAME);
  GIVES_BY_DEFAULT(lsc_site_end(&good_site), LSC_NO_BEGIN);
}

static void try_region_stats(void) {
  lsc_region_summary summary;
  GIVES_FOR_DEAD(lsc_region_stats(no, region, &summary), LSC_INACTIVE);
  GIVES(lsc_region_stats(session, LSC_NO_REGION, &summary), LSC_INVALID);
  GIVES(lsc_region_stats(session, region, NULL), LSC_INVALID);
}

static void try_reset(void) {
  GIVES_FOR_DEAD(lsc_reset(no), LSC_INACTIVE);
  GIVES(lsc_reset(session), LSC_OK);
  GIVES(lsc_reset(session), LSC_OK);
}

static void try_fortran_lanes(void) { GIVES_BY_DEFAULT(lsc_fortran_lanes(7), LSC_OK); }

static lsc_status fortran(void (*act)(lsc_region_id, int *), lsc_region_id id) {
  int stat = -1;
  act(id, NULL);
  act(id, &stat);
  return (lsc_status)stat;
}

static lsc_status fortran_name(void (*act)(const char *, size_t, int *), const char *name, size_t length) {
  int stat = -1;
  act(name, length, NULL);
  act(name, length, &stat);
  return (lsc_status)stat;
}

static void try_fortran_begin(void) { GIVES_BY_DEFAULT(fortran(lsc_fortran_begin, LSC_NO_REGION), LSC_INVALID); }

static void try_fortran_end(void) { GIVES_BY_DEFAULT(fortran(lsc_fortran_end, region), LSC_NO_BEGIN); }

static void try_fortran_begin_name(void) {
  GIVES_BY_DEFAULT(fortran_name(lsc_fortran_begin_name, "", 0), LSC_BAD_NAME);
  GIVES_BY_DEFAULT(fortran_name(lsc_fortran_begin_name, bad_text, 2), LSC_BAD_NAME);
  GIVES_BY_DEFAULT(fortran_name(lsc_fortran_begin_name, NULL, 2), LSC_INVALID);
}

static void try_fortran_end_name(void) {
  GIVES_BY_DEFAULT(fortran_name(lsc_fortran_end_name, "", 0), LSC_BAD_NAME);
  GIVES_BY_DEFAULT(fortran_name(lsc_fortran_end_name, "misuse", 6), LSC_NO_BEGIN);
}

static void try_fortran_region(void) {
  lsc_region_id id;
  GIVES(lsc_fortran_region("", 0, NULL, 0, 0, &id), LSC_BAD_NAME);
  GIVES(lsc_fortran_region(NULL, 4, NULL, 0, 0, &id), LSC_INVALID);
  GIVES(lsc_fortran_region("name", 4, NULL, 0, 0, NULL), LSC_INVALID);
  GIVES(lsc_fortran_region("name", 4, bad_text, 2, 0, &id), LSC_BAD_NAME);
}

static void try_init(void) {
  lsc_init_options options = {.size = 1};
  GIVES(lsc_init(NULL, NULL), LSC_INVALID);
  GIVES(lsc_init("", NULL), LSC_INVALID);
  GIVES(lsc_init(path_of("init.h5"), &options), LSC_INVALID);
  options = (lsc_init_options){.size = sizeof options, .label = bad_text};
  GIVES(lsc_init(path_of("init.h5"), &options), LSC_BAD_NAME);
  int comm = phase == WITHIN_MPI ? MPI_Comm_c2f(MPI_COMM_NULL) : 0;
  options = (lsc_init_options){.size = sizeof options, .comm = &comm};
  GIVES(lsc_init(path_of("init.h5"), &options), within(LSC_INVALID));
  EXPECT(lsc_session_default() == 0, "a session in spite of the failure");
}

static void try_init_as(void) {
  GIVES(lsc_init_as((lsc_api)17, path_of("init.h5"), NULL), LSC_INVALID);
  GIVES(lsc_init_as(LSC_API_C, NULL, NULL), LSC_INVALID);
}

static void try_finalize(void) {
  GIVES(lsc_finalize(), LSC_INACTIVE);
  GIVES(lsc_init(path_of("missing/run.h5"), &(lsc_init_options){.size = sizeof(lsc_init_options), .quiet = 1}), LSC_OK);
  GIVES(lsc_finalize(), LSC_IO);
  GIVES(lsc_finalize_as(LSC_API_C, path_of("final.h5")), LSC_OK);
  GIVES(lsc_finalize(), LSC_INACTIVE);
}

static void try_finalize_as(void) {
  GIVES(lsc_finalize_as((lsc_api)17, NULL), LSC_INVALID);
  GIVES(lsc_finalize_as(LSC_API_C, ""), LSC_INVALID);
  GIVES(lsc_finalize_as(LSC_API_FORTRAN, NULL), LSC_INACTIVE);
}

static void try_flush(void) {
  GIVES(lsc_flush(), LSC_INACTIVE);
  GIVES(lsc_session_set_default(session), LSC_OK);
  GIVES(lsc_flush(), LSC_INACTIVE);
  GIVES(lsc_session_set_default(0), LSC_OK);
}

const struct misuse_row misuse_default[] = {
    ROW(session_default), ROW(session_set_default), ROW(enter), ROW(leave), ROW(site_enter), ROW(site_begin),
    ROW(site_end), ROW(region_stats), ROW(reset), ROW(fortran_lanes), ROW(fortran_begin), ROW(fortran_end),
    ROW(fortran_begin_name), ROW(fortran_end_name), ROW(fortran_region), ROW(init), ROW(init_as), ROW(finalize),
    ROW(finalize_as), ROW(flush), {NULL, NULL},
};
