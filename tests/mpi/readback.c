/* SPDX-License-Identifier: BSD-3-Clause */
#include "readback.h"

#include <hdf5.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct block {
  struct block *next;
  char dataset[64]; /* whose values it holds, or empty */
  H5T_class_t kind;
  void *memory;
};

struct readback {
  hid_t file;
  const char *path;
  struct block *blocks;
};

static void __attribute__((noreturn, format(printf, 1, 2))) give_up(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  exit(1);
}

static hid_t need(hid_t id, const readback *file, const char *name) {
  if (id < 0) give_up("%s: no %s", file->path, name);
  return id;
}

static void *keep(readback *file, size_t size) {
  struct block *block = malloc(sizeof *block);
  void *memory = calloc(1, size > 0 ? size : 1);
  if (!block || !memory) give_up("%s: out of memory", file->path);
  *block = (struct block){.next = file->blocks, .memory = memory};
  file->blocks = block;
  return memory;
}

readback *readback_open(const char *path) {
  readback *file = calloc(1, sizeof *file);
  if (!file) give_up("out of memory");
  file->path = path;
  file->file = need(H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), file, "HDF5 file");
  return file;
}

void readback_close(readback *file) {
  while (file->blocks) {
    struct block *block = file->blocks;
    file->blocks = block->next;
    free(block->memory);
    free(block);
  }
  H5Fclose(file->file);
  free(file);
}

int readback_has(const readback *file, const char *name) {
  char part[256];
  for (size_t i = 1; i <= strlen(name); ++i) {
    if (name[i] != '/' && name[i] != '\0') continue;
    snprintf(part, sizeof part, "%.*s", (int)i, name);
    if (H5Lexists(file->file, part, H5P_DEFAULT) <= 0) return 0;
  }
  return 1;
}

static size_t rows_of(hid_t dataset, const readback *file, const char *name) {
  hsize_t rows = 0;
  hid_t space = need(H5Dget_space(dataset), file, name);
  if (H5Sget_simple_extent_ndims(space) != 1) give_up("%s: %s is not one-dimensional", file->path, name);
  H5Sget_simple_extent_dims(space, &rows, NULL);
  H5Sclose(space);
  return (size_t)rows;
}

size_t readback_rows(const readback *file, const char *name) {
  hid_t dataset = need(H5Dopen2(file->file, name, H5P_DEFAULT), file, name);
  size_t rows = rows_of(dataset, file, name);
  H5Dclose(dataset);
  return rows;
}

/* What was read before. kind: the type class that it was read as. */
int readback_is_compressed(const readback *file, const char *name) {
  static const H5Z_filter_t wanted[] = {H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE};
  hid_t dataset = need(H5Dopen2(file->file, name, H5P_DEFAULT), file, name);
  hid_t create = need(H5Dget_create_plist(dataset), file, name);
  int compressed = H5Pget_layout(create) == H5D_CHUNKED && H5Pget_nfilters(create) == 2;
  for (unsigned i = 0; compressed && i < 2; i++) {
    unsigned flags, config;
    size_t values = 0;
    compressed = H5Pget_filter2(create, i, &flags, &values, NULL, 0, NULL, &config) == wanted[i];
  }
  H5Pclose(create);
  H5Dclose(dataset);
  return compressed;
}

static void *find_read(const readback *file, const char *name, H5T_class_t kind) {
  for (struct block *block = file->blocks; block; block = block->next) {
    if (block->kind == kind && strcmp(block->dataset, name) == 0) return block->memory;
  }
  return NULL;
}

static void *read_all(readback *file, const char *name, H5T_class_t kind, hid_t type, size_t size) {
  hid_t dataset = need(H5Dopen2(file->file, name, H5P_DEFAULT), file, name);
  hid_t stored = need(H5Dget_type(dataset), file, name);
  if (H5Tget_class(stored) != kind) give_up("%s: %s has another type class", file->path, name);
  void *values = keep(file, rows_of(dataset, file, name) * size);
  if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0)
    give_up("%s: cannot read %s", file->path, name);
  H5Tclose(stored);
  H5Dclose(dataset);
  snprintf(file->blocks->dataset, sizeof file->blocks->dataset, "%s", name);
  file->blocks->kind = kind;
  return values;
}

const int64_t *readback_i64(readback *file, const char *name) {
  void *before = find_read(file, name, H5T_INTEGER);
  if (before) return before;
  return read_all(file, name, H5T_INTEGER, H5T_NATIVE_INT64, sizeof(int64_t));
}

const double *readback_f64(readback *file, const char *name) {
  void *before = find_read(file, name, H5T_FLOAT);
  if (before) return before;
  return read_all(file, name, H5T_FLOAT, H5T_NATIVE_DOUBLE, sizeof(double));
}

static hid_t string_type(void) {
  hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, H5T_VARIABLE);
  H5Tset_cset(type, H5T_CSET_UTF8);
  return type;
}

const char *const *readback_str(readback *file, const char *name) {
  void *before = find_read(file, name, H5T_STRING);
  if (before) return before;
  hid_t type = string_type();
  char **values = read_all(file, name, H5T_STRING, type, sizeof *values);
  size_t rows = readback_rows(file, name);
  for (size_t i = 0; i < rows; ++i) {
    char *text = values[i];
    values[i] = strcpy(keep(file, text ? strlen(text) + 1 : 1), text ? text : "");
    H5free_memory(text);
  }
  H5Tclose(type);
  return (const char *const *)values;
}

const lsc_stats *readback_stats(readback *file, const char *name) {
  void *before = find_read(file, name, H5T_COMPOUND);
  if (before) return before;
  hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(lsc_stats));
#define FIELD(field, native) H5Tinsert(type, #field, HOFFSET(lsc_stats, field), native)
  FIELD(total, H5T_NATIVE_INT64);
  FIELD(minimum, H5T_NATIVE_INT64);
  FIELD(maximum, H5T_NATIVE_INT64);
  FIELD(first, H5T_NATIVE_INT64);
  FIELD(last, H5T_NATIVE_INT64);
  FIELD(start_minimum, H5T_NATIVE_INT64);
  FIELD(end_maximum, H5T_NATIVE_INT64);
  FIELD(gpu_count, H5T_NATIVE_UINT64);
  FIELD(gpu_total, H5T_NATIVE_INT64);
  FIELD(mean, H5T_NATIVE_DOUBLE);
  FIELD(m2, H5T_NATIVE_DOUBLE);
#undef FIELD
  const lsc_stats *stats = read_all(file, name, H5T_COMPOUND, type, sizeof *stats);
  H5Tclose(type);
  return stats;
}

static void read_attribute(const readback *file, const char *object, const char *name, hid_t type, void *value) {
  hid_t attribute = need(H5Aopen_by_name(file->file, object, name, H5P_DEFAULT, H5P_DEFAULT), file, name);
  hid_t space = need(H5Aget_space(attribute), file, name);
  if (H5Sget_simple_extent_type(space) != H5S_SCALAR) give_up("%s: attribute %s is not scalar", file->path, name);
  if (H5Aread(attribute, type, value) < 0) give_up("%s: cannot read attribute %s", file->path, name);
  H5Sclose(space);
  H5Aclose(attribute);
}

int64_t readback_attribute_i64(const readback *file, const char *object, const char *name) {
  int64_t value = 0;
  read_attribute(file, object, name, H5T_NATIVE_INT64, &value);
  return value;
}

const char *readback_attribute_str(readback *file, const char *object, const char *name) {
  char *text = NULL;
  hid_t type = string_type();
  read_attribute(file, object, name, type, &text);
  H5Tclose(type);
  const char *kept = text ? strcpy(keep(file, strlen(text) + 1), text) : NULL;
  H5free_memory(text);
  return kept;
}
