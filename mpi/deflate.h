/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chunks of a column as HDF5's filters shuffle and deflate make them: byte 0 of every value, then byte 1, and so on,
 * each a plane, in one zlib stream (RFC 1950). Planes are compressed each for itself, in the way that suits it: one
 * that holds a single value costs next to nothing, and noise is stored. What comes out is read by every inflater.
 */
#ifndef LSC_DEFLATE_H
#define LSC_DEFLATE_H

#include "buffer.h"

struct lsc_deflate;

/* For chunks of `rows` values (1 to 2^31). level: zlib's, 1 to 9. LSC_OK; LSC_NO_MEMORY, and *deflate is NULL. */
lsc_status lsc_deflate_new(struct lsc_deflate **deflate, int level, size_t rows);
void lsc_deflate_free(struct lsc_deflate *deflate);

/* The most bytes that a chunk of so many values of this width can take. */
size_t lsc_deflate_bound(size_t width, size_t rows);

/*
 * Appends the chunk of these values, integers of `width` 1, 4 or 8 bytes; little-endian in the chunk whatever they are
 * in memory. LSC_OK, LSC_NO_MEMORY.
 */
lsc_status lsc_deflate_chunk(struct lsc_deflate *deflate, const void *values, size_t width, struct lsc_buffer *out);

/* zlib's CRC-32. */
uint32_t lsc_deflate_crc(const void *bytes, size_t size);

#endif
