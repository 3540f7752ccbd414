/* SPDX-License-Identifier: BSD-3-Clause */
/* Types of the columns of a file, as a report hands them out. */
#ifndef LANESCOPE_TYPES_H
#define LANESCOPE_TYPES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Type of a column of a report. */
typedef enum lsc_type {
  LSC_I8, LSC_U8, LSC_U32, LSC_I64, LSC_U64, LSC_F64, LSC_STR, LSC_STATS
} lsc_type;

/* The compound of column summary_statistics (LSC_STATS), as it stands in the file. Times in nanoseconds. */
typedef struct lsc_stats {
  int64_t total, minimum, maximum; /* of the durations */
  int64_t first, last;             /* duration of the first and of the last call */
  int64_t start_minimum, end_maximum;
  uint64_t gpu_count;
  int64_t gpu_total;
  double mean, m2; /* m2: sum of squared deviations from the mean */
} lsc_stats;

/* One column: `rows` values at `data`, or for LSC_STR the bytes of row i at text + offsets[i] .. text + offsets[i + 1].
 */
typedef struct lsc_column_view {
  lsc_type type;
  size_t rows;
  const void *data;
  const uint64_t *offsets; /* rows + 1 */
  const char *text;
} lsc_column_view;

#ifdef __cplusplus
}
#endif

#endif
