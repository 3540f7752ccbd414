/* SPDX-License-Identifier: BSD-3-Clause */
#include "h5_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "h5_file.h"
#include "message.h"
#include "text.h"

#define MOST_COMPRESSION 1100 /* deflate reaches 1032 */
#define MOST_FILTERS 8
#define LONGEST_ATTRIBUTE 1000

static int is_hard(struct lsc_h5 *h5, const char *path) {
  H5L_info_t info;
  if (H5Lexists(h5->file, path, H5P_DEFAULT) <= 0) return 0;
  return H5Lget_info(h5->file, path, &info, H5P_DEFAULT) >= 0 && info.type == H5L_TYPE_HARD;
}

int lsc_h5_has(struct lsc_h5 *h5, const char *path) {
  char group[64];
  const char *slash = strchr(path, '/');
  if (slash) {
    snprintf(group, sizeof group, "%.*s", (int)(slash - path), path);
    if (!is_hard(h5, group)) return 0;
  }
  return is_hard(h5, path);
}

static lsc_status odd(const struct lsc_h5 *h5, const char *path, const char *what) {
  return lsc_fail(LSC_INVALID, "'%s': %s %s", h5->name, path, what);
}

/* The handle of an attribute that holds one value; negative after a message. */
static hid_t open_scalar(struct lsc_h5 *h5, const char *path, const char *name) {
  hid_t attribute = H5Aopen_by_name(h5->file, path, name, H5P_DEFAULT, H5P_DEFAULT);
  if (attribute < 0) {
    lsc_h5_fail(h5, "open attribute", name);
    return attribute;
  }
  hid_t space = H5Aget_space(attribute);
  int is_scalar = space >= 0 && H5Sget_simple_extent_type(space) == H5S_SCALAR;
  if (space >= 0) H5Sclose(space);
  if (is_scalar) return attribute;
  H5Aclose(attribute);
  odd(h5, name, "is not one value");
  return H5I_INVALID_HID;
}

static int holds(hid_t type, lsc_type wanted) {
  if (type < 0) return 0;
  if (wanted == LSC_STR) return H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) > 0;
  hid_t expected = lsc_h5_make_type(wanted, 1);
  int same = expected >= 0 && H5Tequal(type, expected) > 0;
  if (expected >= 0) H5Tclose(expected);
  return same;
}

static lsc_status get_int(struct lsc_h5 *h5, hid_t attribute, const char *name, int64_t *value) {
  hid_t type = H5Aget_type(attribute);
  lsc_status status = holds(type, LSC_I64) ? LSC_OK : odd(h5, name, "is not an integer of 64 bits");
  if (!status && H5Aread(attribute, H5T_NATIVE_INT64, value) < 0) status = lsc_h5_fail(h5, "read attribute", name);
  if (type >= 0) H5Tclose(type);
  return status;
}

lsc_status lsc_h5_read_int(struct lsc_h5 *h5, const char *path, const char *name, int64_t *value) {
  if (H5Aexists_by_name(h5->file, path, name, H5P_DEFAULT) <= 0) return odd(h5, name, "is missing");
  hid_t attribute = open_scalar(h5, path, name);
  if (attribute < 0) return LSC_INVALID;
  lsc_status status = get_int(h5, attribute, name, value);
  H5Aclose(attribute);
  return status;
}

/* A text of the file, which must be UTF-8, into a column. */
static lsc_status put_text(struct lsc_h5 *h5, const char *name, const char *text, struct lsc_table *table, int column) {
  size_t length = text ? strlen(text) : 0;
  char *clean = lsc_text_clean(text ? text : "", length, length);
  if (!clean) return lsc_fail(LSC_NO_MEMORY, "no memory for %s of '%s'", name, h5->name);
  lsc_status status = !text || strcmp(clean, text) == 0 ? LSC_OK : odd(h5, name, "has a text that is not UTF-8");
  if (!status) status = lsc_table_put_text(table, column, clean, length);
  free(clean);
  return status;
}

static lsc_status get_text(struct lsc_h5 *h5, hid_t attribute, const char *name, struct lsc_table *texts) {
  char *text = NULL;
  hid_t type = lsc_h5_make_type(LSC_STR, 0), space = H5Aget_space(attribute);
  lsc_status status = LSC_OK;
  if (type < 0 || space < 0 || H5Aread(attribute, type, &text) < 0) status = lsc_h5_fail(h5, "read attribute", name);
  if (!status) status = put_text(h5, name, name, texts, 0);
  if (!status) status = put_text(h5, name, text, texts, 1);
  if (!status) lsc_table_end_row(texts);
  if (text) H5Dvlen_reclaim(type, space, H5P_DEFAULT, &text);
  if (space >= 0) H5Sclose(space);
  if (type >= 0) H5Tclose(type);
  return status;
}

static lsc_status get_number(struct lsc_h5 *h5, hid_t attribute, const char *name, struct lsc_table *numbers) {
  int64_t value;
  lsc_status status = get_int(h5, attribute, name, &value);
  if (!status) status = put_text(h5, name, name, numbers, 0);
  if (!status) status = lsc_table_put_i64(numbers, 1, value);
  if (!status) lsc_table_end_row(numbers);
  return status;
}

struct attributes {
  struct lsc_h5 *h5;
  const char *path;
  struct lsc_table *texts, *numbers;
  lsc_status status;
};

static herr_t take_attribute(hid_t object, const char *name, const H5A_info_t *info, void *data) {
  struct attributes *to = data;
  (void)object, (void)info;
  if (strlen(name) > LONGEST_ATTRIBUTE) {
    to->status = odd(to->h5, to->path, "has an attribute whose name is too long");
    return -1;
  }
  hid_t attribute = open_scalar(to->h5, to->path, name);
  if (attribute < 0) {
    to->status = LSC_INVALID;
    return -1;
  }
  hid_t type = H5Aget_type(attribute);
  to->status = holds(type, LSC_STR) ? get_text(to->h5, attribute, name, to->texts)
                                    : get_number(to->h5, attribute, name, to->numbers);
  if (type >= 0) H5Tclose(type);
  H5Aclose(attribute);
  return to->status ? -1 : 0;
}

lsc_status lsc_h5_read_attributes(struct lsc_h5 *h5, const char *path, struct lsc_table *texts,
                                  struct lsc_table *numbers) {
  struct attributes to = {h5, path, texts, numbers, LSC_OK};
  hsize_t at = 0;
  herr_t done = H5Aiterate_by_name(h5->file, path, H5_INDEX_NAME, H5_ITER_NATIVE, &at, take_attribute, &to,
                                   H5P_DEFAULT);
  if (to.status) return to.status;
  return done < 0 ? lsc_h5_fail(h5, "read the attributes of", path) : LSC_OK;
}

/* Rows that lie in the file itself, plain or by HDF5's own filters; *compressed: whether by filters. */
static int is_stored_here(hid_t create, int *compressed) {
  int filters = H5Pget_nfilters(create);
  H5D_layout_t layout = H5Pget_layout(create);
  if (layout == H5D_VIRTUAL || layout < 0 || H5Pget_external_count(create) != 0) return 0;
  if (filters < 0 || filters > MOST_FILTERS) return 0;
  for (int i = 0; i < filters; i++) {
    unsigned flags, config;
    size_t values = 0;
    H5Z_filter_t filter = H5Pget_filter2(create, (unsigned)i, &flags, &values, NULL, 0, NULL, &config);
    if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32) return 0;
  }
  *compressed = layout == H5D_CHUNKED;
  return 1;
}

static lsc_status check_storage(struct lsc_h5 *h5, hid_t data, const char *path, uint64_t rows, size_t width) {
  hsize_t size = 0;
  int compressed = 0;
  hid_t create = H5Dget_create_plist(data);
  int here = create >= 0 && is_stored_here(create, &compressed);
  if (create >= 0) H5Pclose(create);
  if (!here) return odd(h5, path, "is not stored in the file itself, or by a filter that is not read");
  if (H5Fget_filesize(h5->file, &size) < 0) return lsc_h5_fail(h5, "measure the file for", path);
  uint64_t most = compressed ? size * MOST_COMPRESSION : size;
  if (rows > most / width) return odd(h5, path, "has more rows than the file has bytes for");
  if (!compressed && H5Dget_storage_size(data) < rows * width) return odd(h5, path, "has rows that are not there");
  return LSC_OK;
}

static lsc_status count_points(struct lsc_h5 *h5, hid_t data, const char *path, uint64_t *rows) {
  hsize_t size = 0;
  hid_t space = H5Dget_space(data);
  int flat = space >= 0 && H5Sget_simple_extent_ndims(space) == 1 &&
             H5Sget_simple_extent_dims(space, &size, NULL) == 1;
  if (space >= 0) H5Sclose(space);
  *rows = size;
  return flat ? LSC_OK : odd(h5, path, "is not one-dimensional");
}

lsc_status lsc_h5_count_rows(struct lsc_h5 *h5, const char *path, lsc_type type, uint64_t *rows) {
  *rows = 0;
  if (!lsc_h5_has(h5, path)) return odd(h5, path, "is missing");
  hid_t data = H5Dopen2(h5->file, path, H5P_DEFAULT);
  if (data < 0) return lsc_h5_fail(h5, "open column", path);
  hid_t found = H5Dget_type(data);
  lsc_status status = LSC_OK;
  size_t width = found >= 0 ? H5Tget_size(found) : 0;
  if (!width || !holds(found, type)) status = odd(h5, path, "has another type than the format");
  if (!status) status = count_points(h5, data, path, rows);
  if (!status) status = check_storage(h5, data, path, *rows, type == LSC_STR ? 16 : width);
  if (found >= 0) H5Tclose(found);
  H5Dclose(data);
  return status;
}

static lsc_status read_texts(struct lsc_h5 *h5, hid_t data, hid_t type, const char *path, uint64_t rows,
                             struct lsc_table *table, int column) {
  char **texts = calloc(rows, sizeof *texts);
  if (!texts) return lsc_fail(LSC_NO_MEMORY, "no memory for %s of '%s'", path, h5->name);
  hid_t space = H5Dget_space(data);
  lsc_status status = LSC_OK;
  if (space < 0 || H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, texts) < 0) {
    status = lsc_h5_fail(h5, "read column", path);
  }
  for (uint64_t i = 0; i < rows && !status; i++) status = put_text(h5, path, texts[i], table, column);
  if (space >= 0) {
    H5Dvlen_reclaim(type, space, H5P_DEFAULT, texts);
    H5Sclose(space);
  }
  free(texts);
  return status;
}

static lsc_status read_values(struct lsc_h5 *h5, hid_t data, hid_t type, const char *path, uint64_t rows,
                              struct lsc_table *table, int column) {
  struct lsc_buffer *to = &table->column[column].data;
  size_t size = (size_t)rows * lsc_type_size(table->desc->column[column].type);
  void *space = lsc_buffer_reserve(to, size);
  if (!space) return lsc_fail(LSC_NO_MEMORY, "no memory for %s of '%s'", path, h5->name);
  if (H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, space) < 0) return lsc_h5_fail(h5, "read column", path);
  to->size += size;
  return LSC_OK;
}

lsc_status lsc_h5_read_column(struct lsc_h5 *h5, const char *path, uint64_t rows, struct lsc_table *table, int column) {
  lsc_type kind = table->desc->column[column].type;
  if (!rows) return LSC_OK;
  hid_t data = H5Dopen2(h5->file, path, H5P_DEFAULT), type = lsc_h5_make_type(kind, 0);
  lsc_status status = LSC_OK;
  if (data < 0 || type < 0) status = lsc_h5_fail(h5, "open column", path);
  if (!status) {
    status = (kind == LSC_STR ? read_texts : read_values)(h5, data, type, path, rows, table, column);
  }
  if (type >= 0) H5Tclose(type);
  if (data >= 0) H5Dclose(data);
  return status;
}
