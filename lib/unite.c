/* SPDX-License-Identifier: BSD-3-Clause */
#include "unite.h"

#include <stdlib.h>
#include <string.h>

#include "message.h"

lsc_status lsc_names_add(struct lsc_names *names, const char *text, size_t length) {
  uint64_t end = names->text.size + length;
  size_t before = names->ends.size;
  if (lsc_buffer_append(&names->ends, &end, sizeof end) || lsc_buffer_append(&names->text, text, length)) {
    names->ends.size = before;
    return LSC_NO_MEMORY;
  }
  names->count++;
  return LSC_OK;
}

const char *lsc_names_get(const struct lsc_names *names, size_t index, size_t *length) {
  const uint64_t *ends = (const uint64_t *)(const void *)names->ends.data;
  uint64_t start = index ? ends[index - 1] : 0;
  *length = (size_t)(ends[index] - start);
  return *length ? (const char *)names->text.data + start : "";
}

void lsc_names_free(struct lsc_names *names) {
  lsc_buffer_free(&names->ends);
  lsc_buffer_free(&names->text);
  names->count = 0;
}

/* On the wire: count (u64), ends (u64 each), text. */
static lsc_status encode_names(const struct lsc_names *names, struct lsc_buffer *out) {
  uint64_t count = names->count;
  if (lsc_buffer_append(out, &count, sizeof count) || lsc_buffer_append(out, names->ends.data, names->ends.size) ||
      lsc_buffer_append(out, names->text.data, names->text.size)) {
    return LSC_NO_MEMORY;
  }
  return LSC_OK;
}

typedef lsc_status (*each_name)(void *ctx, const char *text, size_t length);

static lsc_status decode_names(struct lsc_reader *in, each_name each, void *ctx) {
  uint64_t count, start = 0;
  const unsigned char *ends;
  const char *text;
  lsc_read(in, &count, sizeof count);
  ends = count <= SIZE_MAX / sizeof count ? lsc_read_view(in, (size_t)count * sizeof count) : NULL;
  if (!ends) return lsc_fail(LSC_INVALID, "the bytes of a rank's names are cut off");
  text = (const char *)in->next;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t end;
    lsc_status status;
    memcpy(&end, ends + i * sizeof end, sizeof end);
    if (end < start || end > (uint64_t)(in->end - in->next)) {
      return lsc_fail(LSC_INVALID, "name %llu of a rank's names ends outside of their bytes", (unsigned long long)i);
    }
    status = each(ctx, text + start, (size_t)(end - start));
    if (status) return status;
    start = end;
  }
  return LSC_OK;
}

/* Where each of `names` stands, by its text. slot: position + 1, or 0; open addressing, at most half full. */
struct lookup {
  struct lsc_names *names;
  uint32_t *slot;
  size_t slots; /* a power of two, or 0 */
};

/* FNV-1a, 64 bits. */
static uint64_t hash_of(const char *text, size_t length) {
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
  return hash ^ (hash >> 32);
}

/* The slot that holds the name, or the empty one where it belongs. There is always an empty one. */
static uint32_t *slot_of(const struct lookup *lookup, const char *text, size_t length) {
  size_t at = (size_t)hash_of(text, length) & (lookup->slots - 1);
  for (;; at = (at + 1) & (lookup->slots - 1)) {
    size_t other;
    const char *name;
    if (!lookup->slot[at]) return &lookup->slot[at];
    name = lsc_names_get(lookup->names, lookup->slot[at] - 1, &other);
    if (other == length && !memcmp(name, text, length)) return &lookup->slot[at];
  }
}

static lsc_status grow(struct lookup *lookup) {
  struct lookup bigger = {lookup->names, NULL, lookup->slots ? lookup->slots * 2 : 64};
  bigger.slot = calloc(bigger.slots, sizeof *bigger.slot);
  if (!bigger.slot) return lsc_fail(LSC_NO_MEMORY, "no memory to look up %zu names", lookup->names->count);
  for (size_t i = 0; i < lookup->names->count; i++) {
    size_t length;
    const char *name = lsc_names_get(lookup->names, i, &length);
    *slot_of(&bigger, name, length) = (uint32_t)(i + 1);
  }
  free(lookup->slot);
  *lookup = bigger;
  return LSC_OK;
}

static lsc_status add_if_new(void *ctx, const char *text, size_t length) {
  struct lookup *lookup = ctx;
  uint32_t *slot;
  if (lookup->names->count >= lookup->slots / 2 && grow(lookup)) return LSC_NO_MEMORY;
  slot = slot_of(lookup, text, length);
  if (*slot) return LSC_OK;
  if (lookup->names->count >= UINT32_MAX) {
    return lsc_fail(LSC_LIMIT, "the ranks have more than %u distinct names; use fewer", UINT32_MAX);
  }
  if (lsc_names_add(lookup->names, text, length)) return LSC_NO_MEMORY;
  *slot = (uint32_t)lookup->names->count;
  return LSC_OK;
}

static lsc_status add_all(struct lookup *lookup, const struct lsc_names *names) {
  lsc_status status = LSC_OK;
  for (size_t i = 0; !status && i < names->count; i++) {
    size_t length;
    const char *name = lsc_names_get(names, i, &length);
    status = add_if_new(lookup, name, length);
  }
  return status;
}

static lsc_status unite_merge(void *ctx, struct lsc_reader *bytes) { return decode_names(bytes, add_if_new, ctx); }

static lsc_status unite_encode(void *ctx, struct lsc_buffer *out) {
  const struct lookup *lookup = ctx;
  return encode_names(lookup->names, out);
}

/* Elsewhere than on rank 0: forgets the subtree's union for that of all. */
static lsc_status take_union(struct lookup *lookup, const struct lsc_buffer *bytes) {
  struct lsc_reader reader = {bytes->data, bytes->data + bytes->size, 0};
  lsc_names_free(lookup->names);
  free(lookup->slot);
  lookup->slot = NULL;
  lookup->slots = 0;
  return decode_names(&reader, add_if_new, lookup);
}

static lsc_status find_ids(const struct lookup *lookup, const struct lsc_names *mine, uint32_t *ids) {
  for (size_t i = 0; i < mine->count; i++) {
    size_t length;
    const char *name = lsc_names_get(mine, i, &length);
    const uint32_t *slot = lookup->slots ? slot_of(lookup, name, length) : NULL;
    if (!slot || !*slot) return lsc_fail(LSC_INVALID, "name '%.*s' is not in the ranks' union", (int)length, name);
    ids[i] = *slot - 1;
  }
  return LSC_OK;
}

lsc_status lsc_unite_names(struct lsc_coll *coll, int tag, const struct lsc_names *mine, struct lsc_names *all,
                           uint32_t *ids, int64_t deadline) {
  struct lookup lookup = {.names = all};
  const struct lsc_sweep sweep = {unite_merge, unite_encode, &lookup};
  struct lsc_buffer bytes = {0};
  lsc_status status;
  *all = (struct lsc_names){0};
  status = lsc_coll_up(coll, tag, add_all(&lookup, mine), &sweep, deadline);
  if (!status && !coll->rank) status = encode_names(all, &bytes);
  status = lsc_coll_down(coll, tag, status, &bytes, deadline);
  if (!status && coll->rank) status = take_union(&lookup, &bytes);
  if (!status) status = find_ids(&lookup, mine, ids);
  if (status) lsc_names_free(all);
  free(lookup.slot);
  lsc_buffer_free(&bytes);
  return status;
}
