/* SPDX-License-Identifier: BSD-3-Clause */
/* A list of names, and where each stands in it. */
#ifndef LSC_NAMES_H
#define LSC_NAMES_H

#include "buffer.h"

/* `count` names, not NUL-terminated: name i is text.data + ends[i - 1] .. + ends[i] (ends[-1] is 0). All zeros: empty.
 */
struct lsc_names {
  size_t count;
  struct lsc_buffer ends; /* uint64_t each */
  struct lsc_buffer text;
};

/* LSC_OK, LSC_NO_MEMORY: the list is as before. */
lsc_status lsc_names_add(struct lsc_names *names, const char *text, size_t length);
const char *lsc_names_get(const struct lsc_names *names, size_t index, size_t *length);
void lsc_names_free(struct lsc_names *names);

/* Where each of `names` stands, by its text. slot: position + 1, or 0; open addressing, at most half full. */
struct lsc_name_index {
  const struct lsc_names *names;
  uint32_t *slot;
  size_t slots; /* a power of two, or 0 */
};

#define LSC_NO_NAME UINT32_MAX /* no position */

/* Names that a list with an index holds at most, 2^32 - 1. Tests lower it. */
extern size_t lsc_most_names;

/* Indexes what is listed; of equal names the first. LSC_OK, LSC_NO_MEMORY: there is nothing to free. */
lsc_status lsc_name_index_init(struct lsc_name_index *index, const struct lsc_names *names);
/* The position of a name, or LSC_NO_NAME. */
uint32_t lsc_name_index_find(const struct lsc_name_index *index, const char *text, size_t length);
/* The same for a name that is added to `names`, the list of the index, if it is not there. LSC_OK, LSC_NO_MEMORY,
 * LSC_LIMIT: the list is full. */
lsc_status lsc_name_index_add(struct lsc_name_index *index, struct lsc_names *names, const char *text, size_t length,
                              uint32_t *position);
void lsc_name_index_free(struct lsc_name_index *index);

#endif
