/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect.h"
#include "message.h"
#include "text.h"

#define DEFAULT_SECONDS 600.0
#define MOST_SECONDS 1e9

/* Not a number, and what is not above 0, mean that nothing was asked for. */
static int is_given(double seconds) { return seconds > 0; }

int64_t lsc_timeout_ns(double seconds) {
  const char *text = getenv("LANESCOPE_TIMEOUT");
  if (!is_given(seconds) && text) seconds = strtod(text, NULL);
  if (!is_given(seconds)) seconds = DEFAULT_SECONDS;
  return (int64_t)(fmin(seconds, MOST_SECONDS) * 1e9);
}

char *lsc_path_with(const char *path, const char *part) {
  size_t length = strlen(path);
  if (length > 3 && strcmp(path + length - 3, ".h5") == 0 && path[length - 4] != '/') length -= 3;
  return lsc_text("%.*s.%s.h5", (int)length, path, part);
}

char *lsc_rank_path(const char *path, int rank) {
  char part[16];
  snprintf(part, sizeof part, "rank%d", rank);
  return lsc_path_with(path, part);
}

char *lsc_rank_pattern(const char *path) { return lsc_path_with(path, "rank*"); }

char *lsc_absolute_path(const char *path) {
  if (path[0] == '/') return strdup(path);
  char *folder = getcwd(NULL, 0);
  char *whole = folder ? lsc_text("%s/%s", folder, path) : NULL;
  free(folder);
  return whole;
}

lsc_status lsc_options_take(const lsc_save_options *given, lsc_save_options *taken) {
  *taken = (lsc_save_options){.size = sizeof *taken};
  if (!given) return LSC_OK;
  if (given->size < sizeof given->size || given->size > sizeof *taken) {
    return lsc_fail(LSC_INVALID, "lsc_save_options has size %zu; set it to sizeof(lsc_save_options), here %zu",
                    given->size, sizeof *taken);
  }
  memcpy(taken, given, given->size);
  taken->size = sizeof *taken;
  return LSC_OK;
}
