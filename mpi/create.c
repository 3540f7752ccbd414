/* SPDX-License-Identifier: BSD-3-Clause */
#include "create.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chunks.h"
#include "message.h"
#include "reserve.h"
#include "step.h"

#define MOST_HEADERS (256 << 10) /* bytes; more than HDF5 needs to describe groups and columns, and for heaps begun */
#define REFERENCE 16             /* bytes of a text's place in its column */

static lsc_status put_root(struct lsc_h5 *h5) {
  lsc_status status = lsc_h5_attribute_int(h5, "scope_profiler_schema", 2);
  if (!status) status = lsc_h5_attribute_text(h5, "storage_layout", "columnar");
  if (!status) status = lsc_h5_attribute_int(h5, "lanescope_format", 1);
  return status;
}

static int has_column(const struct lsc_fill *fill, enum lsc_table_id id, int column) {
  return id != LSC_TABLE_OPEN || lsc_fill_has_open_column(fill, column);
}

static int slot_of(enum lsc_table_id id, int column) {
  _Static_assert(LSC_EVENT_COLUMNS + LSC_TABLE_COUNT * LSC_MAX_COLUMNS <= LSC_H5_SLOTS, "a slot for every column");
  return LSC_EVENT_COLUMNS + (int)id * LSC_MAX_COLUMNS + column;
}

static lsc_status lay_out_table(struct lsc_h5 *h5, enum lsc_table_id id, const struct lsc_contents *contents) {
  const struct lsc_table_desc *desc = &lsc_table_descs[id];
  lsc_status status = lsc_h5_group(h5, desc->group);
  for (int k = 0; k < desc->columns && !status; k++) {
    char path[64];
    uint64_t rows = contents->sizes[id].rows;
    if (!has_column(contents->fill, id, k)) continue;
    snprintf(path, sizeof path, "%s/%s", desc->group, desc->column[k].name);
    status = lsc_h5_reserve(h5, desc->column[k].name, desc->column[k].type, rows);
    if (!status) status = lsc_h5_select(h5, slot_of(id, k), path, desc->column[k].type, rows);
  }
  return status;
}

static int has_table(const struct lsc_contents *contents, int id) {
  if (id == LSC_TABLE_OPEN) return contents->sizes[id].rows > 0;
  return id != LSC_TABLE_THREAD || contents->fill->threads;
}

static lsc_status lay_out_tables(struct lsc_h5 *h5, const struct lsc_contents *contents) {
  lsc_status status = LSC_OK;
  for (int id = 0; id < LSC_TABLE_COUNT && !status; id++) {
    if (has_table(contents, id)) status = lay_out_table(h5, (enum lsc_table_id)id, contents);
  }
  return status;
}

static lsc_status reserve_events(struct lsc_h5 *h5, const struct lsc_contents *contents) {
  lsc_status status = lsc_h5_group(h5, lsc_events_desc.group);
  for (int column = 0; column < lsc_events_desc.columns && !status; column++) {
    if (!lsc_fill_has_event_column(contents->fill, column)) continue;
    const struct lsc_column_desc *desc = &lsc_events_desc.column[column];
    status = contents->level && contents->events
                 ? lsc_h5_reserve_chunks(h5, desc->name, desc->type, contents->events,
                                         lsc_chunks_rows(contents->events), contents->level)
                 : lsc_h5_reserve(h5, desc->name, desc->type, contents->events);
  }
  return status;
}

/* The attributes, as the bytes of a file. */
static lsc_status make_image(const char *path, const struct lsc_contents *contents, void **image, size_t *size) {
  struct lsc_h5 *h5;
  lsc_status status = lsc_step(LSC_STEP_IMAGE);
  if (!status) status = lsc_h5_create(&h5, path, contents->name);
  if (status) return status;
  status = put_root(h5);
  if (!status) status = lsc_h5_group(h5, "metadata");
  if (!status) status = lsc_metadata_write(h5, contents->metadata);
  if (!status) status = lsc_h5_image(h5, image, size);
  return lsc_h5_close(h5, status);
}

static lsc_status write_all(int file, const char *name, const char *bytes, size_t size) {
  while (size) {
    ssize_t written = write(file, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return lsc_fail(LSC_IO, "cannot write '%s': %s", name, strerror(written < 0 ? errno : ENOSPC));
    bytes += written;
    size -= (size_t)written;
  }
  return LSC_OK;
}

/*
 * Of a table, at most. A text is an object of a heap, a header of 16 bytes and the text filled up to 8, in collections
 * of at least 4096 bytes that may be left half empty. Source: HDF5 File Format Specification 3.0, III.E.
 */
static uint64_t table_bytes(const struct lsc_contents *contents, int id) {
  const struct lsc_table_desc *desc = &lsc_table_descs[id];
  uint64_t width = 0, texts = 0, rows = contents->sizes[id].rows;
  for (int k = 0; k < desc->columns; k++) {
    width += desc->column[k].type == LSC_STR ? REFERENCE : lsc_type_size(desc->column[k].type);
    texts += desc->column[k].type == LSC_STR;
  }
  return rows * width + 2 * (contents->sizes[id].text + rows * texts * 24);
}

/* What HDF5 needs to find the chunks of a column. */
static uint64_t index_bytes(const struct lsc_contents *contents) {
  uint64_t rows = lsc_chunks_rows(contents->events);
  return rows ? lsc_h5_index_bound(contents->events / rows + 1) : 0;
}

static uint64_t rows_bytes(const struct lsc_contents *contents) {
  uint64_t bytes = 0;
  for (int id = 0; id < LSC_TABLE_COUNT; id++) bytes += table_bytes(contents, id);
  for (int column = 0; column < lsc_events_desc.columns; column++) {
    if (!lsc_fill_has_event_column(contents->fill, column)) continue;
    bytes += contents->level ? index_bytes(contents)
                             : contents->events * lsc_type_size(lsc_events_desc.column[column].type);
  }
  return bytes;
}

/* The image, and the space of all that HDF5 is going to put behind it, of which the beginning may be reserved. */
static lsc_status put_image(const char *path, const struct lsc_contents *contents, const void *image, size_t size) {
  const char *name = contents->name;
  uint64_t from = contents->reserved, bytes = size + rows_bytes(contents) + MOST_HEADERS;
  lsc_status status = lsc_step(LSC_STEP_PUT);
  int file = status ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return status ? status : lsc_fail(LSC_IO, "cannot open '%s': %s", path, strerror(errno));
  status = write_all(file, name, image, size);
  if (!status) status = lsc_step(LSC_STEP_RESERVE);
  if (!status) status = lsc_reserve_space(file, name, from, from < bytes ? bytes - from : 0);
  if (close(file) < 0 && !status) status = lsc_fail(LSC_IO, "cannot write '%s': %s", name, strerror(errno));
  return status;
}

static lsc_status lay_out(struct lsc_h5 *h5, const struct lsc_contents *contents) {
  lsc_status status = lay_out_tables(h5, contents);
  return status ? status : reserve_events(h5, contents);
}

lsc_status lsc_create(const char *path, const struct lsc_contents *contents, struct lsc_h5 **h5) {
  void *image = NULL;
  size_t size = 0;
  *h5 = NULL;
  lsc_status status = make_image(path, contents, &image, &size);
  if (!status) status = put_image(path, contents, image, size);
  free(image);
  if (!status) status = lsc_step(LSC_STEP_LAYOUT);
  if (!status) status = lsc_h5_open(h5, path, contents->name);
  if (!status && (status = lay_out(*h5, contents))) {
    lsc_h5_close(*h5, status);
    *h5 = NULL;
  }
  return status;
}

lsc_status lsc_create_rows(struct lsc_h5 *h5, const struct lsc_fill *fill, enum lsc_table_id id, uint64_t row,
                           const struct lsc_table_rows *rows) {
  lsc_status status = LSC_OK;
  for (int k = 0; k < rows->table->desc->columns && rows->count && !status; k++) {
    if (!has_column(fill, id, k)) continue;
    lsc_column_view view = lsc_table_view_rows(rows->table, k, rows->first, rows->count);
    status = lsc_h5_write_view(h5, slot_of(id, k), row, &view);
  }
  return status;
}

/* HDF5 takes space from the beginning on, so that what was not needed of the first reservation is used, too. */
lsc_status lsc_create_reserve(const char *path, const char *name, uint64_t packed) {
  struct stat info;
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return lsc_fail(LSC_IO, "cannot open '%s': %s", path, strerror(errno));
  lsc_status status = LSC_OK;
  if (fstat(file, &info) < 0) status = lsc_fail(LSC_IO, "cannot look at '%s': %s", path, strerror(errno));
  else status = lsc_reserve_space(file, name, (uint64_t)info.st_size, packed);
  if (close(file) < 0 && !status) status = lsc_fail(LSC_IO, "cannot write '%s': %s", name, strerror(errno));
  return status;
}

lsc_status lsc_create_select(struct lsc_h5 *h5, const struct lsc_fill *fill, uint64_t events) {
  lsc_status status = LSC_OK;
  for (int k = 0; k < LSC_EVENT_COLUMNS && !status; k++) {
    const struct lsc_column_desc *desc = &lsc_events_desc.column[k];
    char path[64];
    snprintf(path, sizeof path, "%s/%s", lsc_events_desc.group, desc->name);
    if (lsc_fill_has_event_column(fill, k)) status = lsc_h5_select(h5, k, path, desc->type, events);
  }
  return status;
}

/* The close cuts the file to what is used of it. */
lsc_status lsc_create_end(struct lsc_h5 *h5, const char *path, lsc_status status, uint64_t *bytes) {
  struct stat info;
  status = lsc_h5_close(h5, status);
  if (status) return status;
  if (stat(path, &info) < 0) return lsc_fail(LSC_IO, "cannot look at '%s': %s", path, strerror(errno));
  *bytes = (uint64_t)info.st_size;
  return LSC_OK;
}
