/* SPDX-License-Identifier: BSD-3-Clause */
/* A growing run of bytes, owned by one thread. All zeros is an empty one. */
#ifndef LSC_BUFFER_H
#define LSC_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#include "lanescope.h"

struct lsc_buffer {
  unsigned char *data;
  size_t size, capacity;
};

/* Makes room for `extra` more bytes and returns where they begin, or NULL without memory; size is not changed. */
void *lsc_buffer_reserve(struct lsc_buffer *buffer, size_t extra);
lsc_status lsc_buffer_append(struct lsc_buffer *buffer, const void *data, size_t size);
void lsc_buffer_free(struct lsc_buffer *buffer);

/* lsc_buffer_reserve for an empty buffer, out of the spare memory if there is no other and `extra` is little. */
void *lsc_buffer_reserve_short(struct lsc_buffer *buffer, size_t extra);

/* Reads bytes in the order in which they were appended; `failed` is set, and zeros come back, once they run out. */
struct lsc_reader {
  const unsigned char *next, *end;
  int failed;
};
void lsc_read(struct lsc_reader *reader, void *out, size_t size);
/* A view of the next `size` bytes, or NULL. */
const void *lsc_read_view(struct lsc_reader *reader, size_t size);

#endif
