/* SPDX-License-Identifier: BSD-3-Clause */
/* Columns in chunks that are compressed before HDF5 sees them. */
#include <stdlib.h>

#include "h5_file.h"
#include "message.h"

lsc_status lsc_h5_reserve_chunks(struct lsc_h5 *h5, const char *name, lsc_type type, uint64_t rows, uint64_t chunk_rows,
                                 int level) {
  lsc_status status = LSC_OK;
  hsize_t size = rows, chunk = chunk_rows;
  hid_t in_file = lsc_h5_make_type(type, 1), space = H5Screate_simple(1, &size, NULL), data = H5I_INVALID_HID;
  hid_t create = H5Pcreate(H5P_DATASET_CREATE);
  if (in_file < 0 || space < 0 || create < 0 || H5Pset_chunk(create, 1, &chunk) < 0 || H5Pset_shuffle(create) < 0 ||
      H5Pset_deflate(create, (unsigned)level) < 0 || H5Pset_alloc_time(create, H5D_ALLOC_TIME_INCR) < 0 ||
      H5Pset_fill_time(create, H5D_FILL_TIME_NEVER) < 0 || H5Pset_obj_track_times(create, 0) < 0 ||
      (data = H5Dcreate2(h5->group, name, in_file, space, H5P_DEFAULT, create, H5P_DEFAULT)) < 0) {
    status = lsc_h5_fail(h5, "make compressed column", name);
  }
  if (data >= 0) H5Dclose(data);
  if (create >= 0) H5Pclose(create);
  if (space >= 0) H5Sclose(space);
  if (in_file >= 0) H5Tclose(in_file);
  return status;
}

lsc_status lsc_h5_write_chunk(struct lsc_h5 *h5, int slot, uint64_t row, const void *bytes, size_t size) {
  hsize_t at = row;
  if (H5Dwrite_chunk(h5->slot[slot].data, H5P_DEFAULT, 0, &at, size, bytes) >= 0) return LSC_OK;
  return lsc_h5_fail(h5, "write a chunk of", h5->slot[slot].path);
}

lsc_status lsc_h5_chunk_size(struct lsc_h5 *h5, int slot, uint64_t row, uint64_t *size) {
  hsize_t at = row, stored = 0;
  if (H5Dget_chunk_storage_size(h5->slot[slot].data, &at, &stored) < 0) {
    return lsc_h5_fail(h5, "look at a chunk of", h5->slot[slot].path);
  }
  *size = stored;
  return LSC_OK;
}

lsc_status lsc_h5_read_chunk(struct lsc_h5 *h5, int slot, uint64_t row, void *bytes) {
  hsize_t at = row;
  uint32_t filters = 0;
  if (H5Dread_chunk(h5->slot[slot].data, H5P_DEFAULT, &at, &filters, bytes) >= 0) return LSC_OK;
  return lsc_h5_fail(h5, "read back a chunk of", h5->slot[slot].path);
}

uint64_t lsc_h5_index_bound(uint64_t chunks) {
  /* A node has 64 places, 65 keys of 24 bytes and 24 of its own. Chunks come in order, so that a node is split where it
   * is full; were all half full, each level would have at most 1/32 of the nodes below. */
  const uint64_t node = 24 + 65 * 24 + 64 * 8, leaves = chunks / 32 + 2;
  return node * (leaves + leaves / 16 + 8);
}
