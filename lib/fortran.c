/* SPDX-License-Identifier: BSD-3-Clause */
/* Names as Fortran passes them: so many bytes, without a closing NUL. */
#include <string.h>

#include "default.h"
#include "message.h"

lsc_status lsc_fortran_region(const char *name, size_t name_length, const char *file, size_t file_length, int64_t line,
                              lsc_region_id *region) {
  char path[LSC_MAX_NAME + 1];
  if (!region) return lsc_fail(LSC_INVALID, "lsc_fortran_region: region is NULL; pass where the handle goes");
  *region = LSC_NO_REGION;
  if (!name_length) return lsc_fail(LSC_BAD_NAME, "the name of a region is blank; give it one");
  if (file_length > LSC_MAX_NAME)
    return lsc_fail(LSC_BAD_NAME, "the name of a region's source file has %zu bytes, more than %d", file_length,
                    LSC_MAX_NAME);
  if (file_length) memcpy(path, file, file_length);
  path[file_length] = '\0';
  return lsc_region_define(&(lsc_region_info){.size = sizeof(lsc_region_info),
                                              .name = name,
                                              .name_length = name_length,
                                              .source_file = file_length ? path : NULL,
                                              .source_line = line},
                           region);
}

static void by_name(const char *name, size_t length, int *stat, void (*act)(lsc_region_id, int *)) {
  lsc_region_id region;
  lsc_status status = LSC_INACTIVE;
  if (lsc_handle_is_open(lsc_default_session(lsc_default_now())))
    status = lsc_fortran_region(name, length, NULL, 0, 0, &region);
  if (status == LSC_OK) act(region, stat);
  else if (stat) *stat = (int)status;
}

void lsc_fortran_begin_name(const char *name, size_t length, int *stat) {
  by_name(name, length, stat, lsc_fortran_begin);
}

void lsc_fortran_end_name(const char *name, size_t length, int *stat) {
  by_name(name, length, stat, lsc_fortran_end);
}
