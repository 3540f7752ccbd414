/* SPDX-License-Identifier: BSD-3-Clause */
/* Misuse of what writes files. */
#include "misuse.h"

typedef lsc_status (*writer)(lsc_session no, const char *path, const lsc_save_options *options);

static void try_writer(writer write) {
  lsc_save_options options = {.size = sizeof options + 1};
  GIVES_FOR_DEAD(write(no, path_of("dead.h5"), NULL), LSC_INACTIVE);
  GIVES(write(session, NULL, NULL), LSC_INVALID);
  GIVES(write(session, "", NULL), LSC_INVALID);
  GIVES(write(session, path_of("missing/run.h5"), NULL), LSC_IO);
  GIVES(write(session, path_of("odd.h5"), &options), LSC_INVALID);
  options.size = 0;
  GIVES(write(session, path_of("odd.h5"), &options), LSC_INVALID);
  GIVES_BUSY(write(session, path_of("busy.h5"), NULL));
  options = (lsc_save_options){.size = sizeof options, .replace = 1};
  GIVES(write(session, path_of("twice.h5"), &options), LSC_OK);
  GIVES(write(session, path_of("twice.h5"), NULL), LSC_COLLECTED);
  GIVES_BUSY(write(session, path_of("twice.h5"), NULL));
  for (size_t i = 0; i < 3; ++i) {
    static const char *const names[] = {"dead.h5", "odd.h5", "busy.h5"};
    EXPECT(access(path_of(names[i]), F_OK) != 0, "%s was written", names[i]);
  }
}

static void try_write(void) {
  try_writer(lsc_write);
  GIVES(lsc_write(session, folder, NULL), LSC_IO);
}

/* The session has a communicator of its own within MPI, of this rank alone. */
static void try_save(void) {
  if (phase == WITHIN_MPI) GIVES(lsc_attach(session, MPI_COMM_SELF, 60), LSC_OK);
  try_writer(lsc_save);
}

static lsc_status collect_alone(lsc_session no, const char *path, const lsc_save_options *options) {
  return lsc_collect(no, MPI_COMM_SELF, path, options);
}

static void try_collect(void) {
  if (phase == WITHIN_MPI) {
    try_writer(collect_alone);
    GIVES(lsc_collect(session, MPI_COMM_NULL, path_of("null.h5"), NULL), LSC_INVALID);
  } else {
    GIVES_FOR_DEAD(lsc_collect(no, MPI_COMM_SELF, path_of("run.h5"), NULL), LSC_NO_MPI);
    GIVES(lsc_collect(session, MPI_COMM_WORLD, path_of("run.h5"), NULL), LSC_NO_MPI);
  }
}

static void try_attach(void) {
  GIVES_FOR_DEAD(lsc_attach(no, MPI_COMM_SELF, 60), within(LSC_INACTIVE));
  GIVES(lsc_attach(session, MPI_COMM_NULL, 60), within(LSC_INVALID));
  GIVES(lsc_attach(session, MPI_COMM_SELF, NAN), within(LSC_OK));
  GIVES(lsc_attach(session, MPI_COMM_SELF, -1), within(LSC_OK));
}

static void try_attach_fortran(void) {
  GIVES_FOR_DEAD(lsc_attach_fortran(no, LSC_COMM_WORLD, 60), within(LSC_INACTIVE));
  if (phase == WITHIN_MPI) {
    GIVES(lsc_attach_fortran(session, MPI_Comm_c2f(MPI_COMM_NULL), 60), LSC_INVALID);
  } else {
    GIVES(lsc_attach_fortran(session, 0, 60), LSC_NO_MPI);
  }
}

static void try_attach_for_file(void) {
  GIVES_FOR_DEAD(lsc_attach_for_file(no, LSC_COMM_WORLD, path_of("run.h5"), 60), within(LSC_INACTIVE));
  if (phase != WITHIN_MPI) {
    GIVES(lsc_attach_for_file(session, 0, path_of("run.h5"), 60), LSC_NO_MPI);
    return;
  }
  GIVES(lsc_attach_for_file(session, MPI_Comm_c2f(MPI_COMM_NULL), path_of("run.h5"), 60), LSC_INVALID);
  GIVES(lsc_attach_for_file(session, LSC_COMM_WORLD, "", 60), LSC_OK);
  GIVES(lsc_attach_for_file(session, LSC_COMM_WORLD, NULL, NAN), LSC_OK);
}

static void try_collect_at_exit(void) {
  lsc_save_options options = {.size = sizeof options + 1};
  GIVES_FOR_DEAD(lsc_collect_at_exit(no, path_of("exit.h5"), NULL), LSC_INACTIVE);
  GIVES_FOR_DEAD(lsc_collect_at_exit(no, NULL, NULL), LSC_INACTIVE);
  GIVES(lsc_collect_at_exit(session, "", NULL), within(LSC_INVALID));
  GIVES(lsc_collect_at_exit(session, path_of("exit.h5"), &options), within(LSC_INVALID));
  GIVES(lsc_collect_at_exit(session, path_of("exit.h5"), NULL), within(LSC_OK));
  GIVES(lsc_collect_at_exit(session, NULL, NULL), LSC_OK);
}

static void try_collected_at_exit(void) {
  lsc_report *report = NULL;
  char written[8] = "x";
  GIVES_FOR_DEAD(lsc_collected_at_exit(no, &report, written, sizeof written), LSC_INACTIVE);
  GIVES(lsc_collected_at_exit(session, NULL, NULL, 0), LSC_INACTIVE);
  EXPECT(!report && !written[0], "something was collected");
}

static void try_uncollected(void) {
  uint64_t calls = 7;
  GIVES_FOR_DEAD(lsc_uncollected(no, &calls), LSC_INACTIVE);
  GIVES(lsc_uncollected(session, NULL), LSC_INVALID);
  EXPECT(calls == 0, "%d calls", (int)calls);
  GIVES_BUSY(lsc_uncollected(session, &calls));
}

static void try_mpi_is_active(void) { EXPECT(lsc_mpi_is_active() == (phase == WITHIN_MPI), "wrong"); }

static void try_rank_of(void) {
  for (size_t i = 0; i < sizeof dead / sizeof dead[0]; ++i) {
    int rank = -1, size = -1;
    lsc_rank_of(dead[i], &rank, &size);
    lsc_rank_of(dead[i], NULL, NULL);
    EXPECT(rank >= 0 && rank < size, "rank %d of %d", rank, size);
  }
}

static void try_detach(void) {
  for (size_t i = 0; i < sizeof dead / sizeof dead[0]; ++i) lsc_detach(dead[i]);
  lsc_detach(session);
  lsc_detach(session);
}

static void try_report_column(void) {
  lsc_report *report = NULL;
  lsc_column_view view;
  lsc_save_options options = {.size = sizeof options, .replace = 1, .report = &report};
  GIVES(lsc_write(session, path_of("report.h5"), &options), LSC_OK);
  GIVES(lsc_report_column(NULL, "rank_table", "ranks", &view), LSC_INVALID);
  GIVES(lsc_report_column(report, NULL, "ranks", &view), LSC_INVALID);
  GIVES(lsc_report_column(report, "rank_table", NULL, &view), LSC_INVALID);
  GIVES(lsc_report_column(report, "rank_table", "ranks", NULL), LSC_INVALID);
  GIVES(lsc_report_column(report, "no_table", "ranks", &view), LSC_INVALID);
  GIVES(lsc_report_column(report, "rank_table", "no_column", &view), LSC_INVALID);
  lsc_report_free(report);
}

static void try_report_column_name(void) {
  lsc_report *report = NULL;
  lsc_save_options options = {.size = sizeof options, .replace = 1, .report = &report};
  GIVES(lsc_write(session, path_of("report.h5"), &options), LSC_OK);
  EXPECT(!lsc_report_column_name(NULL, "rank_table", 0), "a column of no report");
  EXPECT(!lsc_report_column_name(report, NULL, 0), "a column without a table");
  EXPECT(!lsc_report_column_name(report, "no_table", 0), "a column of no table");
  EXPECT(lsc_report_column_name(report, "rank_table", 0), "no first column");
  EXPECT(!lsc_report_column_name(report, "rank_table", SIZE_MAX), "a column behind the last");
  lsc_report_free(report);
}

static void try_report_free(void) { lsc_report_free(NULL); }

const struct misuse_row misuse_files[] = {
    ROW(write), ROW(save), ROW(collect), ROW(attach), ROW(attach_fortran), ROW(attach_for_file),
    ROW(collect_at_exit), ROW(uncollected), ROW(collected_at_exit), ROW(mpi_is_active), ROW(rank_of), ROW(detach), ROW(report_column), ROW(report_free),
    ROW(report_column_name), {NULL, NULL},
};
