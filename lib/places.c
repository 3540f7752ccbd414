/* SPDX-License-Identifier: BSD-3-Clause */
#include "places.h"

#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "unite.h"

#define NOWHERE UINT32_MAX

/* Whether an operation is complete: a want of memory is passed on within it. */
static int came_through(lsc_status status) { return !status || status == LSC_NO_MEMORY || status == LSC_LIMIT; }

/* Rank 0's place and value to everybody. other: 1 where this rank is elsewhere. */
static lsc_status share_first(struct lsc_coll *coll, int tag, const char *place, int64_t *shared, uint64_t *other,
                              int64_t deadline) {
  struct lsc_buffer bytes = {0};
  lsc_status status = LSC_OK;
  if (!coll->rank && (lsc_buffer_append(&bytes, shared, sizeof *shared) ||
                      lsc_buffer_append(&bytes, place, strlen(place)))) {
    status = LSC_NO_MEMORY;
  }
  status = lsc_coll_down(coll, tag, status, &bytes, deadline);
  struct lsc_reader reader = {bytes.data, bytes.data + bytes.size, 0};
  if (!status) {
    size_t length = strlen(place);
    lsc_read(&reader, shared, sizeof *shared);
    *other = (size_t)(reader.end - reader.next) != length || memcmp(reader.next, place, length) != 0;
  }
  lsc_buffer_free(&bytes);
  return status;
}

/* The number of this rank's place: in the order of their lowest ranks. */
static lsc_status number_place(struct lsc_coll *coll, int tag, const char *place, uint32_t *number, int64_t deadline) {
  struct lsc_names mine = {0}, all;
  lsc_status added = lsc_names_add(&mine, place, strlen(place));
  *number = NOWHERE;
  lsc_status status = lsc_unite_names(coll, tag, &mine, &all, number, deadline);
  if (!status) lsc_names_free(&all);
  lsc_names_free(&mine);
  return status ? status : added;
}

static lsc_status keep_number(void *ctx, int rank, struct lsc_reader *bytes) {
  uint32_t number;
  (void)rank;
  lsc_read(bytes, &number, sizeof number);
  return lsc_buffer_append(ctx, &number, sizeof number);
}

/* Every rank's number to everybody: list becomes uint32_t[size]. */
static lsc_status list_numbers(struct lsc_coll *coll, int tag, uint32_t number, struct lsc_buffer *list,
                               int64_t deadline) {
  struct lsc_buffer mine = {0};
  lsc_status kept = lsc_buffer_append(&mine, &number, sizeof number);
  lsc_status status = lsc_coll_gather(coll, tag, &mine, keep_number, list, deadline);
  lsc_buffer_free(&mine);
  if (!came_through(status)) return status;
  if (!status) status = kept;
  lsc_status shared = lsc_coll_down(coll, tag, status, list, deadline);
  return status ? status : shared;
}

static lsc_status arrange(struct lsc_places *places, const struct lsc_buffer *list, int rank, int size) {
  const uint32_t *number = (const uint32_t *)(const void *)list->data;
  if (list->size != (size_t)size * sizeof *number || number[rank] == NOWHERE) return LSC_NO_MEMORY;
  places->mine = (int)number[rank];
  places->leader = malloc((size_t)size * sizeof *places->leader);
  places->member = malloc((size_t)size * sizeof *places->member);
  if (!places->leader || !places->member) return LSC_NO_MEMORY;
  for (int i = 0; i < size; i++) {
    if (number[i] == (uint32_t)places->count) places->leader[places->count++] = i;
    if (number[i] != number[rank]) continue;
    if (i == rank) places->position = places->members;
    places->member[places->members++] = i;
  }
  return LSC_OK;
}

/*
 * Where there are several. mine: how this rank fared before. A rank that fails alone says so at the end, and is in
 * everything until then.
 */
static lsc_status find_several(struct lsc_coll *coll, int tag, lsc_status mine, const char *place,
                               struct lsc_places *places, int64_t deadline) {
  struct lsc_buffer list = {0};
  uint32_t number;
  uint64_t failed;
  lsc_status status = number_place(coll, tag, place, &number, deadline);
  if (came_through(status)) {
    lsc_status listed = list_numbers(coll, tag, number, &list, deadline);
    if (!status || !came_through(listed)) status = listed;
  }
  if (!status) status = mine;
  if (!status) status = arrange(places, &list, coll->rank, coll->size);
  lsc_buffer_free(&list);
  if (!came_through(status)) return status;
  failed = status != LSC_OK;
  lsc_status agreed = lsc_coll_or(coll, tag, 1, &failed, deadline);
  if (status || agreed) return status ? status : agreed;
  if (!failed) return LSC_OK;
  coll->passed_on = 1;
  return lsc_fail(LSC_NO_MEMORY, "another rank had no memory to compare its clock");
}

lsc_status lsc_places_find(struct lsc_coll *coll, int tag, const char *place, int64_t *shared,
                           struct lsc_places *places, int64_t deadline) {
  uint64_t other = 0;
  *places = (struct lsc_places){0};
  lsc_status status = share_first(coll, tag, place, shared, &other, deadline);
  if (!came_through(status)) return status;
  lsc_status asked = lsc_coll_or(coll, tag, 1, &other, deadline);
  if (!came_through(asked)) return asked;
  if (!asked && other) {
    status = find_several(coll, tag, status, place, places, deadline);
  } else if (!status) {
    status = asked;
    places->count = 1;
  }
  if (status) lsc_places_free(places);
  return status;
}

void lsc_places_free(struct lsc_places *places) {
  free(places->leader);
  free(places->member);
  *places = (struct lsc_places){0};
}
