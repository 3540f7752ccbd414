/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays with an element for each call. */
#ifndef LSC_ARRAY_H
#define LSC_ARRAY_H

#include <stddef.h>

/*
 * Room for `count` elements of `size` bytes and one more, of any content; NULL without memory or where the bytes cannot
 * be counted. Where it is large, in huge pages: the first touches of small ones would cost more than what is then done
 * with them. For free().
 */
void *lsc_array_new(size_t count, size_t size);

#endif
