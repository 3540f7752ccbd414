/* SPDX-License-Identifier: BSD-3-Clause */
#include "buffer.h"

#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "spare.h"

#define FIRST_CAPACITY 64

static size_t grown(size_t capacity, size_t needed) {
  if (capacity < FIRST_CAPACITY) capacity = FIRST_CAPACITY;
  while (capacity < needed) {
    if (capacity > SIZE_MAX / 2) return needed;
    capacity *= 2;
  }
  return capacity;
}

/* Spare memory cannot grow: its content moves. */
static unsigned char *resize(const struct lsc_buffer *buffer, size_t capacity) {
  if (!lsc_spare_is(buffer->data)) return realloc(buffer->data, capacity);
  unsigned char *data = malloc(capacity);
  if (!data) return NULL;
  memcpy(data, buffer->data, buffer->size);
  lsc_spare_free(buffer->data);
  return data;
}

void *lsc_buffer_reserve(struct lsc_buffer *buffer, size_t extra) {
  unsigned char *data = NULL;
  if (buffer->data && extra <= buffer->capacity - buffer->size) return buffer->data + buffer->size;
  if (extra <= SIZE_MAX - buffer->size) {
    size_t capacity = grown(buffer->capacity, buffer->size + extra);
    data = resize(buffer, capacity);
    if (data) {
      buffer->data = data;
      buffer->capacity = capacity;
      return data + buffer->size;
    }
  }
  lsc_fail(LSC_NO_MEMORY, "no memory for %zu more bytes after %zu; free some or record less", extra, buffer->size);
  return NULL;
}

void *lsc_buffer_reserve_short(struct lsc_buffer *buffer, size_t extra) {
  void *room = lsc_buffer_reserve(buffer, extra);
  if (room || buffer->size || !(room = lsc_spare_take(extra))) return room;
  lsc_spare_free(buffer->data);
  buffer->data = room;
  buffer->capacity = LSC_SPARE_BYTES;
  return room;
}

lsc_status lsc_buffer_append(struct lsc_buffer *buffer, const void *data, size_t size) {
  void *to;
  if (!size) return LSC_OK;
  to = lsc_buffer_reserve(buffer, size);
  if (!to) return LSC_NO_MEMORY;
  memcpy(to, data, size);
  buffer->size += size;
  return LSC_OK;
}

void lsc_buffer_free(struct lsc_buffer *buffer) {
  lsc_spare_free(buffer->data);
  *buffer = (struct lsc_buffer){0};
}

const void *lsc_read_view(struct lsc_reader *reader, size_t size) {
  const void *view;
  if (reader->failed || size > (size_t)(reader->end - reader->next)) {
    reader->failed = 1;
    return NULL;
  }
  if (!size) return reader->next ? (const void *)reader->next : "";
  view = reader->next;
  reader->next += size;
  return view;
}

void lsc_read(struct lsc_reader *reader, void *out, size_t size) {
  const void *view = lsc_read_view(reader, size);
  if (!size) return;
  if (view) memcpy(out, view, size);
  else memset(out, 0, size);
}
