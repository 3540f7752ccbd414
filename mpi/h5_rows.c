/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "h5_file.h"
#include "message.h"

static lsc_status write_attribute(struct lsc_h5 *h5, const char *name, lsc_type type, const void *value) {
  lsc_status status = LSC_OK;
  hid_t in_file = lsc_h5_make_type(type, 1), in_memory = lsc_h5_make_type(type, 0), space = H5Screate(H5S_SCALAR);
  hid_t attribute = H5Acreate2(h5->group, name, in_file, space, H5P_DEFAULT, H5P_DEFAULT);
  if (attribute < 0 || H5Awrite(attribute, in_memory, value) < 0) status = lsc_h5_fail(h5, "write attribute", name);
  if (attribute >= 0) H5Aclose(attribute);
  if (space >= 0) H5Sclose(space);
  if (in_memory >= 0) H5Tclose(in_memory);
  if (in_file >= 0) H5Tclose(in_file);
  return status;
}

lsc_status lsc_h5_attribute_int(struct lsc_h5 *h5, const char *name, int64_t value) {
  return write_attribute(h5, name, LSC_I64, &value);
}

lsc_status lsc_h5_attribute_text(struct lsc_h5 *h5, const char *name, const char *text) {
  return write_attribute(h5, name, LSC_STR, &text);
}

/* Every value with a NUL behind it, and where each begins; both in one block to be freed. */
static const char **terminate(const lsc_column_view *view) {
  uint64_t bytes = view->offsets[view->rows] - view->offsets[0];
  const char **start = malloc(view->rows * sizeof *start + bytes + view->rows);
  if (!start) return NULL;
  char *next = (char *)(start + view->rows);
  for (size_t i = 0; i < view->rows; i++) {
    size_t length = view->offsets[i + 1] - view->offsets[i];
    start[i] = next;
    if (length) memcpy(next, view->text + view->offsets[i], length);
    next[length] = 0;
    next += length + 1;
  }
  return start;
}

lsc_status lsc_h5_reserve(struct lsc_h5 *h5, const char *name, lsc_type type, uint64_t rows) {
  lsc_status status = LSC_OK;
  hsize_t size = rows;
  hid_t in_file = lsc_h5_make_type(type, 1), space = H5Screate_simple(1, &size, NULL);
  hid_t create = H5Pcreate(H5P_DATASET_CREATE), data = H5I_INVALID_HID;
  if (in_file < 0 || space < 0 || create < 0 || H5Pset_layout(create, H5D_CONTIGUOUS) < 0 ||
      H5Pset_alloc_time(create, H5D_ALLOC_TIME_EARLY) < 0 || H5Pset_obj_track_times(create, 0) < 0 ||
      (type != LSC_STR && H5Pset_fill_time(create, H5D_FILL_TIME_NEVER) < 0) ||
      (data = H5Dcreate2(h5->group, name, in_file, space, H5P_DEFAULT, create, H5P_DEFAULT)) < 0) {
    status = lsc_h5_fail(h5, "make column", name);
  }
  if (data >= 0) H5Dclose(data);
  if (create >= 0) H5Pclose(create);
  if (space >= 0) H5Sclose(space);
  if (in_file >= 0) H5Tclose(in_file);
  return status;
}

static lsc_status check_rows(struct lsc_h5 *h5, hid_t data, const char *path, uint64_t rows) {
  hid_t space = H5Dget_space(data);
  if (space < 0) return lsc_h5_fail(h5, "look at column", path);
  hssize_t found = H5Sget_simple_extent_npoints(space);
  H5Sclose(space);
  if (found >= 0 && (uint64_t)found == rows) return LSC_OK;
  return lsc_fail(LSC_IO, "'%s': column %s has %lld rows instead of %llu: this rank sees another state of the file",
                  h5->name, path, (long long)found, (unsigned long long)rows);
}

lsc_status lsc_h5_select(struct lsc_h5 *h5, int slot, const char *path, lsc_type type, uint64_t rows) {
  hid_t data = H5Dopen2(h5->file, path, H5P_DEFAULT);
  if (data < 0) return lsc_h5_fail(h5, "open column", path);
  lsc_status status = check_rows(h5, data, path, rows);
  hid_t in_memory = status ? H5I_INVALID_HID : lsc_h5_make_type(type, 0);
  if (!status && in_memory < 0) status = lsc_h5_fail(h5, "make the type of column", path);
  if (status) {
    H5Dclose(data);
    return status;
  }
  h5->slot[slot].data = data;
  h5->slot[slot].type = in_memory;
  snprintf(h5->slot[slot].path, sizeof h5->slot[slot].path, "%s", path);
  return LSC_OK;
}

size_t lsc_h5_most = (size_t)1 << 30;

#define CONVERSION_BYTES ((size_t)1 << 16) /* HDF5 takes a megabyte for each of two buffers otherwise */

/* Texts are converted on their way. */
static hid_t transfer_of(hid_t type) {
  hid_t transfer = H5Tget_class(type) == H5T_STRING ? H5Pcreate(H5P_DATASET_XFER) : H5P_DEFAULT;
  if (transfer > H5P_DEFAULT) H5Pset_buffer(transfer, CONVERSION_BYTES, NULL, NULL);
  return transfer;
}

static lsc_status move_piece(struct lsc_h5 *h5, int slot, hsize_t first, hsize_t count, const void *from, void *to) {
  lsc_status status = LSC_OK;
  hid_t data = h5->slot[slot].data, type = h5->slot[slot].type;
  hid_t in_file = H5Dget_space(data), in_memory = H5Screate_simple(1, &count, NULL), transfer = transfer_of(type);
  errno = 0;
  if (in_file < 0 || in_memory < 0 || transfer < 0 ||
      H5Sselect_hyperslab(in_file, H5S_SELECT_SET, &first, NULL, &count, NULL) < 0 ||
      (from ? H5Dwrite(data, type, in_memory, in_file, transfer, from)
            : H5Dread(data, type, in_memory, in_file, transfer, to)) < 0) {
    status = lsc_h5_fail_transfer(h5, from ? "write rows of" : "read back rows of", h5->slot[slot].path, errno);
  }
  if (transfer > H5P_DEFAULT) H5Pclose(transfer);
  if (in_memory >= 0) H5Sclose(in_memory);
  if (in_file >= 0) H5Sclose(in_file);
  return status;
}

static lsc_status move_rows(struct lsc_h5 *h5, int slot, uint64_t first, uint64_t count, const char *from, char *to) {
  lsc_status status = LSC_OK;
  size_t width = H5Tget_size(h5->slot[slot].type), most = lsc_h5_most / width;
  for (uint64_t done = 0, piece; done < count && !status; done += piece) {
    size_t at = done * width;
    piece = count - done < most ? count - done : most;
    status = move_piece(h5, slot, first + done, piece, from ? from + at : NULL, to ? to + at : NULL);
  }
  return status;
}

lsc_status lsc_h5_write_rows(struct lsc_h5 *h5, int slot, uint64_t first, uint64_t count, const void *data) {
  return move_rows(h5, slot, first, count, data, NULL);
}

lsc_status lsc_h5_read_rows(struct lsc_h5 *h5, int slot, uint64_t first, uint64_t count, void *data) {
  return move_rows(h5, slot, first, count, NULL, data);
}

lsc_status lsc_h5_write_view(struct lsc_h5 *h5, int slot, uint64_t first, const lsc_column_view *view) {
  if (view->type != LSC_STR || !view->rows) return lsc_h5_write_rows(h5, slot, first, view->rows, view->data);
  const char **texts = terminate(view);
  if (!texts) return lsc_fail(LSC_NO_MEMORY, "no memory for column %s of '%s'", h5->slot[slot].path, h5->name);
  lsc_status status = lsc_h5_write_rows(h5, slot, first, view->rows, texts);
  free(texts);
  return status;
}
