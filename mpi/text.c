/* SPDX-License-Identifier: BSD-3-Clause */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "region.h"

#define LONGEST_NOTE 64

char *lsc_text(const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  char *text = length < 0 ? NULL : malloc((size_t)length + 1);
  if (text) vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  va_end(arguments);
  return text;
}

/* Bytes of the UTF-8 character that begins here, or 0. */
static size_t character(const char *bytes, size_t length) {
  for (size_t size = 1; size <= 4 && size <= length; size++) {
    if (lsc_name_is_valid(bytes, size)) return size;
  }
  return 0;
}

char *lsc_text_clean(const char *bytes, size_t length, size_t most) {
  size_t room = length <= most ? length : most - LONGEST_NOTE, used = 0, read = 0;
  char *text = malloc(room + LONGEST_NOTE + 1);
  if (!text) return NULL;
  while (read < length) {
    size_t size = character(bytes + read, length - read), wanted = size ? size : 1;
    if (used + wanted > room) break;
    if (size) memcpy(text + used, bytes + read, size);
    else text[used] = '?';
    used += wanted;
    read += wanted;
  }
  text[used] = 0;
  if (read < length) snprintf(text + used, LONGEST_NOTE + 1, " [cut, %zu bytes in all]", length);
  return text;
}
