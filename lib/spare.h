/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A few blocks of static memory, so that the short messages by which ranks agree are sent and received also where there
 * is no other memory. Every function may be called from any thread.
 */
#ifndef LSC_SPARE_H
#define LSC_SPARE_H

#include <stddef.h>

#define LSC_SPARE_BYTES 2112

/* A block of LSC_SPARE_BYTES, or NULL: all are taken, or `size` is more. */
void *lsc_spare_take(size_t size);

/* 1 if it is one of the blocks, or within one. */
int lsc_spare_is(const void *memory);

/* Gives a block back, or frees memory that malloc gave. */
void lsc_spare_free(void *memory);

#endif
