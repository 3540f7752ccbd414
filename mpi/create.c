/* SPDX-License-Identifier: BSD-3-Clause */
#include "create.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "h5.h"
#include "message.h"
#include "step.h"

#define MOST_HEADERS 65536 /* bytes; more than HDF5 needs to describe the group and the columns of /events */

static lsc_status put_root(struct lsc_h5 *h5) {
  lsc_status status = lsc_h5_attribute_int(h5, "scope_profiler_schema", 2);
  if (!status) status = lsc_h5_attribute_text(h5, "storage_layout", "columnar");
  if (!status) status = lsc_h5_attribute_int(h5, "lanescope_format", 1);
  return status;
}

static lsc_status put_table(struct lsc_h5 *h5, enum lsc_table_id id, const struct lsc_contents *contents) {
  const struct lsc_table *table = &contents->tables[id];
  lsc_status status = lsc_h5_group(h5, table->desc->group);
  for (int column = 0; column < table->desc->columns && !status; column++) {
    if (id == LSC_TABLE_OPEN && !lsc_fill_has_open_column(contents->fill, column)) continue;
    lsc_column_view view = lsc_table_view(table, column);
    status = lsc_h5_column(h5, table->desc->column[column].name, &view);
  }
  return status;
}

static lsc_status put_tables(struct lsc_h5 *h5, const struct lsc_contents *contents) {
  lsc_status status = LSC_OK;
  for (int id = 0; id < LSC_TABLE_COUNT && !status; id++) {
    if (id == LSC_TABLE_OPEN && contents->tables[id].rows == 0) continue;
    if (id == LSC_TABLE_THREAD && !contents->fill->threads) continue;
    status = put_table(h5, id, contents);
  }
  return status;
}

static lsc_status reserve_events(struct lsc_h5 *h5, const struct lsc_contents *contents) {
  lsc_status status = lsc_h5_group(h5, lsc_events_desc.group);
  for (int column = 0; column < lsc_events_desc.columns && !status; column++) {
    if (!lsc_fill_has_event_column(contents->fill, column)) continue;
    const struct lsc_column_desc *desc = &lsc_events_desc.column[column];
    status = lsc_h5_reserve(h5, desc->name, desc->type, contents->events);
  }
  return status;
}

/* Everything but /events, as the bytes of a file. */
static lsc_status make_image(const char *path, const struct lsc_contents *contents, void **image, size_t *size) {
  struct lsc_h5 *h5;
  lsc_status status = lsc_step(LSC_STEP_IMAGE);
  if (!status) status = lsc_h5_create(&h5, path);
  if (status) return status;
  status = put_root(h5);
  if (!status) status = lsc_h5_group(h5, "metadata");
  if (!status) status = lsc_metadata_write(h5, contents->metadata);
  if (!status) status = put_tables(h5, contents);
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

/* posix_fallocate returns its error; where the file system has no way to reserve, the file may still be written. */
static lsc_status reserve_space(int file, const char *name, uint64_t bytes) {
  int error;
  lsc_status status = lsc_step(LSC_STEP_RESERVE);
  if (status) return status;
  do error = posix_fallocate(file, 0, (off_t)bytes);
  while (error == EINTR);
  if (!error || error == EOPNOTSUPP || error == EINVAL || error == ENOSYS) return LSC_OK;
  return lsc_fail(LSC_IO, "cannot reserve %llu bytes for '%s': %s", (unsigned long long)bytes, name, strerror(error));
}

static uint64_t events_bytes(const struct lsc_contents *contents) {
  uint64_t bytes = 0;
  for (int column = 0; column < lsc_events_desc.columns; column++) {
    if (!lsc_fill_has_event_column(contents->fill, column)) continue;
    bytes += contents->events * lsc_type_size(lsc_events_desc.column[column].type);
  }
  return bytes;
}

/* The image, and the space of all that HDF5 is going to put behind it. */
static lsc_status put_image(const char *path, const char *name, const void *image, size_t size, uint64_t events) {
  lsc_status status = lsc_step(LSC_STEP_PUT);
  int file = status ? -1 : open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return status ? status : lsc_fail(LSC_IO, "cannot open '%s': %s", path, strerror(errno));
  status = write_all(file, name, image, size);
  if (!status) status = reserve_space(file, name, size + events + MOST_HEADERS);
  if (close(file) < 0 && !status) status = lsc_fail(LSC_IO, "cannot write '%s': %s", name, strerror(errno));
  return status;
}

/* The close cuts the file to what is used of it. */
static lsc_status add_events(const char *path, const struct lsc_contents *contents, uint64_t *bytes) {
  struct lsc_h5 *h5;
  struct stat info;
  lsc_status status = lsc_step(LSC_STEP_LAYOUT);
  if (!status) status = lsc_h5_open(&h5, path);
  if (!status) status = lsc_h5_close(h5, reserve_events(h5, contents));
  if (status) return status;
  if (stat(path, &info) < 0) return lsc_fail(LSC_IO, "cannot look at '%s': %s", path, strerror(errno));
  *bytes = (uint64_t)info.st_size;
  return LSC_OK;
}

lsc_status lsc_create(const char *path, const struct lsc_contents *contents, uint64_t *bytes) {
  void *image = NULL;
  size_t size = 0;
  lsc_status status = make_image(path, contents, &image, &size);
  if (!status) status = put_image(path, contents->name, image, size, events_bytes(contents));
  free(image);
  return status ? status : add_events(path, contents, bytes);
}
