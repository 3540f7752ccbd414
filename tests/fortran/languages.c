/* SPDX-License-Identifier: BSD-3-Clause */
/* languages FOLDER: C opens and Fortran joins, then the reverse. Who joined leaves the session to who opened it. */
#include <lanescope_file.h>
#include <stdio.h>

int fortran_work(int calls, int thread_lanes);
int fortran_program(const char *path);
int c_work(int calls);

static int failures;

static void expect(const char *what, long long found, long long expected) {
  if (found == expected) return;
  fprintf(stderr, "not ok %s: %lld, not %lld\n", what, found, expected);
  failures++;
}

int c_work(int calls) {
  lsc_status status = lsc_init("of_the_kernel.h5", NULL);
  for (int i = 0; i < calls && status == LSC_OK; i++) {
    LSC_REGION("shared");
  }
  if (status == LSC_OK) status = lsc_finalize();
  return lsc_session_default() ? (int)status : 1000;
}

int main(int count, char **argument) {
  char path[1000];
  lsc_region_id shared;
  lsc_region_summary summary;
  if (count != 2 || lsc_region("shared", &shared) != LSC_OK) return 2;
  snprintf(path, sizeof path, "%s/by_c.h5", argument[1]);
  expect("lsc_init", lsc_init(path, NULL), LSC_OK);
  expect("Fortran joins", fortran_work(4, 0), LSC_OK);
  lsc_enter(shared);
  expect("Fortran joins, with lanes of threads", fortran_work(5, 1), LSC_OK);
  lsc_leave(shared);
  expect("C joins C", c_work(2), LSC_OK);
  expect("lsc_region_stats", lsc_region_stats(lsc_session_default(), shared, &summary), LSC_OK);
  expect("calls", (long long)summary.calls, 4 + 1 + 5 + 2);
  expect("lsc_finalize", lsc_finalize(), LSC_OK);
  expect("lsc_finalize again", lsc_finalize(), LSC_INACTIVE);
  snprintf(path, sizeof path, "%s/by_fortran.h5", argument[1]);
  expect("Fortran opens", fortran_program(path), LSC_OK);
  expect("lsc_session_default", (long long)lsc_session_default(), 0);
  return failures != 0;
}
