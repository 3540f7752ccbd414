/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel in C of sim.py, which calls it by ctypes. It records into the session that Python opened. */
#include <lanescope.h>
#include <math.h>

/* The largest difference between two fields of so many points. */
double largest_change(long points, const double *a, const double *b) {
  LSC_REGION("largest_change");
  double largest = 0;
  for (long i = 0; i < points; i++) largest = fmax(largest, fabs(a[i] - b[i]));
  return largest;
}
