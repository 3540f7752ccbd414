/* SPDX-License-Identifier: BSD-3-Clause */
#include "deflate.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "message.h"

#define STORED_MOST 65535 /* bytes in a stored block, RFC 1951, 3.2.4 */
#define STORED_HEAD 5
#define SAMPLE 4096       /* bytes of a plane that are looked at */
#define FEW_CHANGES 16    /* a plane with so many times fewer changes than bytes is all runs */
#define WORTH 97          /* percent of its size below which a way of compressing is worth its time */
#define KEPT_MOST 192     /* bytes of a plane of one value */

enum way { STORED, HUFFMAN, RUNS, SEARCH };

/* A plane of one value, compressed once. size 0: not yet. */
struct kept {
  uint32_t adler;
  unsigned size;
  unsigned char bytes[KEPT_MOST];
};

struct lsc_deflate {
  z_stream stream; /* raw: neither head nor checksum */
  int level;
  size_t rows;
  unsigned char *plane, *sample;
  size_t sample_most;
  struct kept kept[256];
};

static size_t stored_size(size_t bytes) {
  return bytes + STORED_HEAD * ((bytes + STORED_MOST - 1) / STORED_MOST);
}

/* Two bytes of head, the planes, an empty last block of two bytes, four of checksum. */
size_t lsc_deflate_bound(size_t width, size_t rows) { return 2 + width * stored_size(rows) + 2 + 4; }

uint32_t lsc_deflate_crc(const void *bytes, size_t size) { return (uint32_t)crc32_z(0, bytes, size); }

/* zlib's memory comes from where all of the library's comes. */
static voidpf allocate(voidpf unused, uInt items, uInt size) {
  (void)unused;
  return malloc((size_t)items * size);
}

static void release(voidpf unused, voidpf memory) {
  (void)unused;
  free(memory);
}

lsc_status lsc_deflate_new(struct lsc_deflate **deflate, int level, size_t rows) {
  struct lsc_deflate *d = *deflate = calloc(1, sizeof *d);
  if (!d) return lsc_fail(LSC_NO_MEMORY, "no memory to compress");
  d->level = level;
  d->rows = rows;
  d->stream.zalloc = allocate;
  d->stream.zfree = release;
  d->sample_most = 2 * SAMPLE;
  d->plane = malloc(rows);
  d->sample = malloc(d->sample_most);
  if (d->plane && d->sample && deflateInit2(&d->stream, level, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) == Z_OK) {
    return LSC_OK;
  }
  lsc_deflate_free(d);
  *deflate = NULL;
  return lsc_fail(LSC_NO_MEMORY, "no memory to compress chunks of %zu rows", rows);
}

void lsc_deflate_free(struct lsc_deflate *d) {
  if (!d) return;
  deflateEnd(&d->stream);
  free(d->plane);
  free(d->sample);
  free(d);
}

/* Complete blocks that end on a byte, of at most `room` bytes; 0: they would take as much or more. */
static size_t squeeze(struct lsc_deflate *d, enum way way, const unsigned char *bytes, size_t size,
                      unsigned char *out, size_t room) {
  static const int strategies[] = {Z_HUFFMAN_ONLY, Z_HUFFMAN_ONLY, Z_RLE, Z_DEFAULT_STRATEGY};
  z_stream *stream = &d->stream;
  deflateReset(stream);
  deflateParams(stream, d->level, strategies[way]);
  stream->next_in = (z_const Bytef *)bytes;
  stream->avail_in = (uInt)size;
  stream->next_out = out;
  stream->avail_out = (uInt)room;
  deflate(stream, Z_SYNC_FLUSH);
  return stream->avail_out ? room - stream->avail_out : 0;
}

static size_t store(const unsigned char *bytes, size_t size, unsigned char *out) {
  unsigned char *next = out;
  while (size) {
    size_t count = size < STORED_MOST ? size : STORED_MOST;
    const unsigned char head[STORED_HEAD] = {0, count & 0xFF, count >> 8, ~count & 0xFF, ~count >> 8 & 0xFF};
    memcpy(next, head, STORED_HEAD);
    memcpy(next + STORED_HEAD, bytes, count);
    next += STORED_HEAD + count;
    bytes += count;
    size -= count;
  }
  return (size_t)(next - out);
}

static size_t changes(const unsigned char *bytes, size_t size) {
  size_t count = 0;
  for (size_t i = 1; i < size; i++) count += bytes[i] != bytes[i - 1];
  return count;
}

/* By what becomes of a piece out of the middle: noise costs zlib most time, for nothing. */
static enum way choose(struct lsc_deflate *d) {
  const unsigned char *middle = d->plane + (d->rows - SAMPLE) / 2;
  if (changes(d->plane, d->rows) <= d->rows / FEW_CHANGES) return RUNS;
  if (d->rows < 4 * SAMPLE) return SEARCH;
  size_t searched = squeeze(d, SEARCH, middle, SAMPLE, d->sample, d->sample_most);
  size_t coded = squeeze(d, HUFFMAN, middle, SAMPLE, d->sample, d->sample_most);
  size_t best = searched < coded ? searched : coded;
  if (best * 100 >= (size_t)SAMPLE * WORTH) return STORED;
  return searched * 100 < coded * WORTH ? SEARCH : HUFFMAN;
}

static size_t put_plane(struct lsc_deflate *d, unsigned char *out) {
  enum way way = choose(d);
  size_t room = stored_size(d->rows), size = way == STORED ? 0 : squeeze(d, way, d->plane, d->rows, out, room);
  return size ? size : store(d->plane, d->rows, out);
}

static size_t put_constant(struct lsc_deflate *d, unsigned char value, unsigned char *out, uint32_t *adler) {
  struct kept *kept = &d->kept[value];
  if (!kept->size) {
    size_t room = stored_size(d->rows) < KEPT_MOST ? stored_size(d->rows) : KEPT_MOST;
    memset(d->plane, value, d->rows);
    size_t size = squeeze(d, RUNS, d->plane, d->rows, kept->bytes, room);
    *adler = (uint32_t)adler32_z(1, d->plane, d->rows);
    if (!size) return put_plane(d, out);
    kept->size = (unsigned)size;
    kept->adler = *adler;
  }
  memcpy(out, kept->bytes, kept->size);
  *adler = kept->adler;
  return kept->size;
}

static inline uint64_t value_at(const unsigned char *values, size_t width, size_t i) {
  switch (width) {
    case 1: return values[i];
    case 4: return ((const uint32_t *)(const void *)values)[i];
    default: return ((const uint64_t *)(const void *)values)[i];
  }
}

/* The bits in which some value differs from the first, for a width that the compiler knows. */
static inline uint64_t differing(const unsigned char *values, size_t width, size_t rows) {
  uint64_t first = value_at(values, width, 0), differs = 0;
  for (size_t i = 1; i < rows; i++) differs |= value_at(values, width, i) ^ first;
  return differs;
}

static inline void take_plane(const unsigned char *values, size_t width, size_t rows, int shift, unsigned char *plane) {
  for (size_t i = 0; i < rows; i++) plane[i] = (unsigned char)(value_at(values, width, i) >> shift);
}

/* The blocks of all planes; what is known at compile time makes the loops over the values short. */
__attribute__((always_inline)) static inline size_t put_planes(struct lsc_deflate *d, const unsigned char *values,
                                                               size_t width, unsigned char *out, uLong *adler) {
  uint64_t differs = differing(values, width, d->rows);
  size_t size = 0;
  for (size_t i = 0; i < width; i++) {
    uint32_t sum;
    int shift = 8 * (int)i;
    if (differs >> shift & 0xFF) {
      take_plane(values, width, d->rows, shift, d->plane);
      size += put_plane(d, out + size);
      sum = (uint32_t)adler32_z(1, d->plane, d->rows);
    } else {
      size += put_constant(d, (unsigned char)(value_at(values, width, 0) >> shift), out + size, &sum);
    }
    *adler = adler32_combine(*adler, sum, (z_off_t)d->rows);
  }
  return size;
}

static size_t put_all(struct lsc_deflate *d, const void *values, size_t width, unsigned char *out, uLong *adler) {
  switch (width) {
    case 1: return put_planes(d, values, 1, out, adler);
    case 4: return put_planes(d, values, 4, out, adler);
    default: return put_planes(d, values, 8, out, adler);
  }
}

/* The head says: deflate, a window of 32 KiB, the level's kind, and so that it is a multiple of 31 (RFC 1950, 2.2). */
lsc_status lsc_deflate_chunk(struct lsc_deflate *d, const void *values, size_t width, struct lsc_buffer *out) {
  uLong adler = adler32_z(0, NULL, 0);
  unsigned char *to = lsc_buffer_reserve(out, lsc_deflate_bound(width, d->rows));
  if (!to) return LSC_NO_MEMORY;
  size_t size = 2 + put_all(d, values, width, to + 2, &adler);
  unsigned kind = d->level == 1 ? 0 : d->level < 6 ? 1 : d->level == 6 ? 2 : 3;
  unsigned head = 0x7800u | kind << 6;
  head += 31 - head % 31;
  const unsigned char tail[] = {3, 0, adler >> 24 & 0xFF, adler >> 16 & 0xFF, adler >> 8 & 0xFF, adler & 0xFF};
  to[0] = (unsigned char)(head >> 8);
  to[1] = (unsigned char)head;
  memcpy(to + size, tail, sizeof tail);
  out->size += size + sizeof tail;
  return LSC_OK;
}
