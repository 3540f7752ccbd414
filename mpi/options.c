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
#define DEFAULT_GRACE 10.0
#define MOST_SECONDS 1e9

/* Not a number, and what is not above 0, mean that nothing was asked for. */
static int is_given(double seconds) { return seconds > 0; }

/* In ns: what was asked for, else what the environment says, else the usual. */
static int64_t choose(double seconds, const char *variable, double usual) {
  const char *text = getenv(variable);
  if (!is_given(seconds) && text) seconds = strtod(text, NULL);
  if (!is_given(seconds)) seconds = usual;
  return (int64_t)(fmin(seconds, MOST_SECONDS) * 1e9);
}

int64_t lsc_timeout_ns(double seconds) { return choose(seconds, "LANESCOPE_TIMEOUT", DEFAULT_SECONDS); }

int64_t lsc_arrival_ns(const lsc_save_options *options) {
  int64_t timeout = lsc_timeout_ns(options->timeout);
  int64_t grace = options->leaving ? choose(0, "LANESCOPE_GRACE", DEFAULT_GRACE) : timeout;
  return grace < timeout ? grace : timeout;
}

lsc_status lsc_options_level(const lsc_save_options *options, int *level) {
  const char *text = getenv("LANESCOPE_COMPRESS");
  int is_level = text && text[0] >= '0' && text[0] <= '9' && !text[1];
  *level = options->compress ? options->compress : is_level ? text[0] - '0' : 0;
  if (*level >= 0 && *level <= 9) return LSC_OK;
  return lsc_fail(LSC_INVALID, "compress is %d; give a level from 1 to 9, or 0 for none", options->compress);
}

static int length_without_suffix(const char *path) {
  size_t length = strlen(path);
  if (length > 3 && strcmp(path + length - 3, ".h5") == 0 && path[length - 4] != '/') length -= 3;
  return (int)length;
}

char *lsc_path_with(const char *path, const char *part) {
  return lsc_text("%.*s.%s.h5", length_without_suffix(path), path, part);
}

/* As one word of a shell; malloc'd. */
static char *quote(const char *text, int length) {
  char *quoted = malloc(4 * (size_t)length + 3), *at = quoted;
  if (!quoted) return NULL;
  *at++ = '\'';
  for (int i = 0; i < length; i++) {
    if (text[i] == '\'') at = stpcpy(at, "'\\'");
    *at++ = text[i];
  }
  strcpy(at, "'");
  return quoted;
}

static char *word(const char *text, int length) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  return (int)strspn(text, plain) >= length ? strndup(text, (size_t)length) : quote(text, length);
}

char *lsc_merge_command(const char *path) {
  int stem_length = length_without_suffix(path);
  char *whole = word(path, (int)strlen(path)), *stem = word(path, stem_length);
  char *command = whole && stem ? lsc_text("lanescope-merge %s %s.rank*.h5", whole, stem) : NULL;
  free(whole);
  free(stem);
  return command;
}

char *lsc_rank_path(const char *path, int rank) {
  char part[16];
  snprintf(part, sizeof part, "rank%d", rank);
  return lsc_path_with(path, part);
}

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
