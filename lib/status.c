/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanescope.h"

const char *lsc_strerror(lsc_status status) {
  switch (status) {
#define LSC_STATUS_TEXT(name, value, text) \
  case name:                               \
    return text;
    LSC_STATUS_TABLE(LSC_STATUS_TEXT)
#undef LSC_STATUS_TEXT
  }
  return "unknown status";
}

const char *lsc_version(void) { return LSC_VERSION; }
