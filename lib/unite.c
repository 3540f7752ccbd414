/* SPDX-License-Identifier: BSD-3-Clause */
#include "unite.h"

#include <string.h>

#include "message.h"

/*
 * all: the union of this rank's subtree, on the way up. place: for the names of each part, which are this rank's own
 * and then those of its children as they came, one u32 each: the position in `all`. end[p]: bytes of `place` up to the
 * end of part p. id: on the way down, elsewhere than on rank 0, where the position is the id: of each position.
 */
struct unite {
  int is_root;
  struct lsc_names *all;
  struct lsc_name_index index;
  struct lsc_buffer place, id;
  size_t end[1 + LSC_MOST_CHILDREN];
  int parts;
};

static lsc_status add_name(struct unite *unite, const char *text, size_t length) {
  uint32_t position = 0;
  lsc_status status = lsc_name_index_add(&unite->index, unite->all, text, length, &position);
  return status ? status : lsc_buffer_append(&unite->place, &position, sizeof position);
}

static void end_part(struct unite *unite) { unite->end[unite->parts++] = unite->place.size; }

static lsc_status add_mine(struct unite *unite, const struct lsc_names *mine) {
  lsc_status status = LSC_OK;
  for (size_t i = 0; !status && i < mine->count; i++) {
    size_t length;
    const char *name = lsc_names_get(mine, i, &length);
    status = add_name(unite, name, length);
  }
  end_part(unite);
  return status;
}

/* On the wire: count (u64), ends (u64 each), text. */
static lsc_status unite_encode(void *ctx, struct lsc_buffer *out) {
  const struct lsc_names *names = ((const struct unite *)ctx)->all;
  uint64_t count = names->count;
  if (lsc_buffer_append(out, &count, sizeof count) || lsc_buffer_append(out, names->ends.data, names->ends.size) ||
      lsc_buffer_append(out, names->text.data, names->text.size)) {
    return LSC_NO_MEMORY;
  }
  return LSC_OK;
}

static lsc_status unite_merge(void *ctx, struct lsc_reader *in) {
  struct unite *unite = ctx;
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
    status = add_name(unite, text + start, (size_t)(end - start));
    if (status) return status;
    start = end;
  }
  end_part(unite);
  return LSC_OK;
}

static const uint32_t *words_of(const struct lsc_buffer *buffer) {
  return (const uint32_t *)(const void *)buffer->data;
}

/* The ids of a part's names, in their order. */
static void give_ids(const struct unite *unite, int part, uint32_t *ids) {
  const uint32_t *place = words_of(&unite->place), *id = words_of(&unite->id);
  size_t first = part ? unite->end[part - 1] / sizeof *place : 0, end = unite->end[part] / sizeof *place;
  for (size_t i = first; i < end; i++) ids[i - first] = unite->is_root ? place[i] : id[place[i]];
}

static lsc_status unite_give(void *ctx, size_t child, struct lsc_buffer *out) {
  const struct unite *unite = ctx;
  size_t size = unite->end[child + 1] - unite->end[child];
  void *ids = size ? lsc_buffer_reserve(out, size) : NULL;
  if (!size) return LSC_OK;
  if (!ids) return LSC_NO_MEMORY;
  give_ids(unite, (int)child + 1, ids);
  out->size += size;
  return LSC_OK;
}

static lsc_status unite_take(void *ctx, struct lsc_reader *bytes) {
  struct unite *unite = ctx;
  size_t came = (size_t)(bytes->end - bytes->next), count = unite->all->count;
  if (came != count * sizeof(uint32_t)) {
    return lsc_fail(LSC_INVALID, "%zu bytes came for the ids of %zu names", came, count);
  }
  return lsc_buffer_append(&unite->id, bytes->next, came);
}

/* What the way down does not need any more; of the names only their number. */
static void forget_names(struct unite *unite) {
  size_t count = unite->all->count;
  lsc_name_index_free(&unite->index);
  if (unite->is_root) return;
  lsc_names_free(unite->all);
  unite->all->count = count;
}

lsc_status lsc_unite_names(struct lsc_coll *coll, int tag, const struct lsc_names *mine, struct lsc_names *all,
                           uint32_t *ids, int64_t deadline) {
  struct unite unite = {.is_root = !coll->rank, .all = all, .index = {.names = all}};
  const struct lsc_sweep up = {unite_merge, unite_encode, &unite};
  const struct lsc_spread down = {unite_take, unite_give, &unite};
  lsc_status status;
  *all = (struct lsc_names){0};
  status = lsc_coll_up(coll, tag, add_mine(&unite, mine), &up, deadline);
  forget_names(&unite);
  status = lsc_coll_spread(coll, tag, status, &down, deadline);
  if (!status) give_ids(&unite, 0, ids);
  if (status || coll->rank) lsc_names_free(all);
  lsc_buffer_free(&unite.place);
  lsc_buffer_free(&unite.id);
  return status;
}
