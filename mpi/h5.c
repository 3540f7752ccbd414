/* SPDX-License-Identifier: BSD-3-Clause */
#include "h5.h"

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"

#if H5_VERSION_GE(1, 10, 7) && !(H5_VERS_MINOR == 12 && H5_VERS_RELEASE == 0)
#define HAVE_FILE_LOCKING_PROPERTY 1
#endif

#define MEMORY_STEP (1u << 20) /* bytes by which a file in memory grows */

/* What the program had set up for HDF5's errors on this thread. */
struct errors {
  hid_t stack;
  unsigned is_v2;
  H5E_auto2_t print_v2;
  H5E_auto1_t print_v1;
  void *data;
};

struct lsc_h5 {
  char *path;
  hid_t file, group; /* group is the file itself at the root */
  struct {
    hid_t data, type;
    char path[64]; /* cut where it is longer; for messages */
  } slot[LSC_H5_SLOTS];
  struct errors errors;
};

static void errors_set_aside(struct errors *errors) {
  H5open();
  errors->stack = H5Eget_current_stack();
  if (H5Eauto_is_v2(H5E_DEFAULT, &errors->is_v2) < 0) errors->is_v2 = 1;
  if (errors->is_v2) {
    H5Eget_auto2(H5E_DEFAULT, &errors->print_v2, &errors->data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  } else {
    H5Eget_auto1(&errors->print_v1, &errors->data);
    H5Eset_auto1(NULL, NULL);
  }
}

static void errors_put_back(struct errors *errors) {
  if (errors->is_v2) H5Eset_auto2(H5E_DEFAULT, errors->print_v2, errors->data);
  else H5Eset_auto1(errors->print_v1, errors->data);
  if (errors->stack >= 0) H5Eset_current_stack(errors->stack);
}

struct cause {
  char text[600];
};

static herr_t keep_first(unsigned n, const H5E_error2_t *error, void *data) {
  struct cause *cause = data;
  if (n == 0) snprintf(cause->text, sizeof cause->text, "%s", error->desc ? error->desc : "");
  return 0;
}

/* To be called before any other HDF5 function, which would empty the error stack. */
static lsc_status fail(const struct lsc_h5 *h5, const char *doing, const char *name) {
  struct cause cause = {"no cause given"};
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &cause);
  return lsc_fail(LSC_HDF5, "'%s': HDF5 could not %s%s%s: %s", h5->path, doing, *name ? " " : "", name, cause.text);
}

void lsc_h5_version(char *text, size_t size) {
  unsigned major = 0, minor = 0, release = 0;
  H5get_libversion(&major, &minor, &release);
  snprintf(text, size, "%u.%u.%u", major, minor, release);
}

static struct lsc_h5 *h5_new(const char *path) {
  struct lsc_h5 *h5 = calloc(1, sizeof *h5);
  if (!h5 || !(h5->path = strdup(path))) {
    free(h5);
    lsc_fail(LSC_NO_MEMORY, "no memory to open '%s'", path);
    return NULL;
  }
  h5->file = h5->group = H5I_INVALID_HID;
  for (int i = 0; i < LSC_H5_SLOTS; i++) h5->slot[i].data = h5->slot[i].type = H5I_INVALID_HID;
  errors_set_aside(&h5->errors);
  return h5;
}

static void h5_free(struct lsc_h5 *h5) {
  errors_put_back(&h5->errors);
  free(h5->path);
  free(h5);
}

enum place { IN_MEMORY, ON_DISK };

static lsc_status set_driver(struct lsc_h5 *h5, hid_t access, enum place place, void *comm) {
#ifdef H5_HAVE_PARALLEL
  if (comm) {
    if (H5Pset_fapl_mpio(access, *(MPI_Comm *)comm, MPI_INFO_NULL) < 0) return fail(h5, "set the MPI driver", "");
    return LSC_OK;
  }
#else
  if (comm) return lsc_fail(LSC_HDF5, "'%s': this HDF5 has no MPI driver to write it from several ranks", h5->path);
#endif
  herr_t set = place == IN_MEMORY ? H5Pset_fapl_core(access, MEMORY_STEP, 0) : H5Pset_fapl_sec2(access);
  return set < 0 ? fail(h5, "set the driver", "") : LSC_OK;
}

/* The sieve buffer would answer a read back without looking at the file. */
static lsc_status set_access(struct lsc_h5 *h5, hid_t access, enum place place, void *comm) {
  if (H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) < 0 || H5Pset_sieve_buf_size(access, 0) < 0) {
    return fail(h5, "set the access properties", "");
  }
#ifdef HAVE_FILE_LOCKING_PROPERTY
  if (H5Pset_file_locking(access, 0, 1) < 0) return fail(h5, "set the locking", "");
#endif
  return set_driver(h5, access, place, comm);
}

static lsc_status open_file(struct lsc_h5 **out, const char *path, enum place place, void *comm) {
  lsc_status status;
  hid_t access = H5I_INVALID_HID;
  struct lsc_h5 *h5 = *out = h5_new(path);
  if (!h5) return LSC_NO_MEMORY;
  if ((access = H5Pcreate(H5P_FILE_ACCESS)) < 0) {
    status = fail(h5, "make the access properties", "");
    goto out;
  }
  if ((status = set_access(h5, access, place, comm))) goto out;
  h5->file = place == IN_MEMORY ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access)
                                : H5Fopen(path, H5F_ACC_RDWR, access);
  if (h5->file < 0) status = fail(h5, place == IN_MEMORY ? "make the file" : "open the file", "");
  h5->group = h5->file;
out:
  if (access >= 0) H5Pclose(access);
  if (status) {
    h5_free(h5);
    *out = NULL;
  }
  return status;
}

lsc_status lsc_h5_create(struct lsc_h5 **h5, const char *path) { return open_file(h5, path, IN_MEMORY, NULL); }

lsc_status lsc_h5_open(struct lsc_h5 **h5, const char *path, void *comm) { return open_file(h5, path, ON_DISK, comm); }

lsc_status lsc_h5_image(struct lsc_h5 *h5, void **bytes, size_t *size) {
  ssize_t needed = H5Fflush(h5->file, H5F_SCOPE_LOCAL) < 0 ? -1 : H5Fget_file_image(h5->file, NULL, 0);
  if (needed < 0) return fail(h5, "measure the file", "");
  *size = (size_t)needed;
  *bytes = malloc(*size);
  if (!*bytes) return lsc_fail(LSC_NO_MEMORY, "no memory for the %zu bytes of tables of '%s'", *size, h5->path);
  if (H5Fget_file_image(h5->file, *bytes, *size) == needed) return LSC_OK;
  lsc_status status = fail(h5, "copy the file", "");
  free(*bytes);
  *bytes = NULL;
  return status;
}

lsc_status lsc_h5_close(struct lsc_h5 *h5, lsc_status status) {
  if (!h5) return status;
  for (int i = 0; i < LSC_H5_SLOTS; i++) {
    if (h5->slot[i].data >= 0) H5Dclose(h5->slot[i].data);
    if (h5->slot[i].type >= 0) H5Tclose(h5->slot[i].type);
  }
  if (h5->group != h5->file) H5Gclose(h5->group);
  if (H5Fclose(h5->file) < 0 && !status) status = fail(h5, "close the file", "");
  h5_free(h5);
  return status;
}

void lsc_h5_abandon(struct lsc_h5 *h5) {
  if (h5) h5_free(h5);
}

lsc_status lsc_h5_group(struct lsc_h5 *h5, const char *name) {
  if (h5->group != h5->file) H5Gclose(h5->group);
  h5->group = h5->file;
  if (!name) return LSC_OK;
  hid_t group = H5Gcreate2(h5->file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (group < 0) return fail(h5, "make group", name);
  h5->group = group;
  return LSC_OK;
}

static hid_t text_type(void) {
  hid_t type = H5Tcopy(H5T_C_S1);
  if (type >= 0 && H5Tset_size(type, H5T_VARIABLE) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0) return type;
  if (type >= 0) H5Tclose(type);
  return H5I_INVALID_HID;
}

/* A number's type, which HDF5 owns. */
static hid_t number_type(lsc_type type, int in_file) {
  switch (type) {
    case LSC_I8: return in_file ? H5T_STD_I8LE : H5T_NATIVE_INT8;
    case LSC_U8: return in_file ? H5T_STD_U8LE : H5T_NATIVE_UINT8;
    case LSC_U32: return in_file ? H5T_STD_U32LE : H5T_NATIVE_UINT32;
    case LSC_I64: return in_file ? H5T_STD_I64LE : H5T_NATIVE_INT64;
    case LSC_U64: return in_file ? H5T_STD_U64LE : H5T_NATIVE_UINT64;
    case LSC_F64: return in_file ? H5T_IEEE_F64LE : H5T_NATIVE_DOUBLE;
    default: return H5I_INVALID_HID;
  }
}

/* The members of lsc_stats in the order of the file; each is 8 bytes wide. */
static const struct {
  const char *name;
  size_t offset;
  lsc_type type;
} stats_members[] = {
    {"total", offsetof(lsc_stats, total), LSC_I64},
    {"minimum", offsetof(lsc_stats, minimum), LSC_I64},
    {"maximum", offsetof(lsc_stats, maximum), LSC_I64},
    {"first", offsetof(lsc_stats, first), LSC_I64},
    {"last", offsetof(lsc_stats, last), LSC_I64},
    {"start_minimum", offsetof(lsc_stats, start_minimum), LSC_I64},
    {"end_maximum", offsetof(lsc_stats, end_maximum), LSC_I64},
    {"gpu_count", offsetof(lsc_stats, gpu_count), LSC_U64},
    {"gpu_total", offsetof(lsc_stats, gpu_total), LSC_I64},
    {"mean", offsetof(lsc_stats, mean), LSC_F64},
    {"m2", offsetof(lsc_stats, m2), LSC_F64},
};
#define STATS_MEMBERS (sizeof stats_members / sizeof *stats_members)

static hid_t stats_type(int in_file) {
  hid_t type = H5Tcreate(H5T_COMPOUND, in_file ? STATS_MEMBERS * 8 : sizeof(lsc_stats));
  for (size_t i = 0; type >= 0 && i < STATS_MEMBERS; i++) {
    hid_t member = number_type(stats_members[i].type, in_file);
    if (H5Tinsert(type, stats_members[i].name, in_file ? i * 8 : stats_members[i].offset, member) < 0) {
      H5Tclose(type);
      return H5I_INVALID_HID;
    }
  }
  return type;
}

/* A type that the caller closes. */
static hid_t make_type(lsc_type type, int in_file) {
  if (type == LSC_STR) return text_type();
  if (type == LSC_STATS) return stats_type(in_file);
  return H5Tcopy(number_type(type, in_file));
}

static lsc_status write_attribute(struct lsc_h5 *h5, const char *name, lsc_type type, const void *value) {
  lsc_status status = LSC_OK;
  hid_t in_file = make_type(type, 1), in_memory = make_type(type, 0), space = H5Screate(H5S_SCALAR);
  hid_t attribute = H5Acreate2(h5->group, name, in_file, space, H5P_DEFAULT, H5P_DEFAULT);
  if (attribute < 0 || H5Awrite(attribute, in_memory, value) < 0) status = fail(h5, "write attribute", name);
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
  uint64_t bytes = view->rows ? view->offsets[view->rows] : 0;
  const char **start = malloc((view->rows + 1) * sizeof *start + bytes + view->rows);
  if (!start) return NULL;
  char *next = (char *)(start + view->rows + 1);
  for (size_t i = 0; i < view->rows; i++) {
    size_t length = view->offsets[i + 1] - view->offsets[i];
    start[i] = next;
    if (length) memcpy(next, view->text + view->offsets[i], length);
    next[length] = 0;
    next += length + 1;
  }
  return start;
}

/* A contiguous dataset, allocated at once and not filled; its handle in *data. */
static lsc_status make_dataset(struct lsc_h5 *h5, const char *name, lsc_type type, uint64_t rows, hid_t *data) {
  lsc_status status = LSC_OK;
  hsize_t size = rows;
  hid_t in_file = make_type(type, 1), space = H5Screate_simple(1, &size, NULL), create = H5Pcreate(H5P_DATASET_CREATE);
  *data = H5I_INVALID_HID;
  if (in_file < 0 || space < 0 || create < 0 || H5Pset_layout(create, H5D_CONTIGUOUS) < 0 ||
      H5Pset_alloc_time(create, H5D_ALLOC_TIME_EARLY) < 0 || H5Pset_obj_track_times(create, 0) < 0 ||
      (type != LSC_STR && H5Pset_fill_time(create, H5D_FILL_TIME_NEVER) < 0) ||
      (*data = H5Dcreate2(h5->group, name, in_file, space, H5P_DEFAULT, create, H5P_DEFAULT)) < 0) {
    status = fail(h5, "make column", name);
  }
  if (create >= 0) H5Pclose(create);
  if (space >= 0) H5Sclose(space);
  if (in_file >= 0) H5Tclose(in_file);
  return status;
}

lsc_status lsc_h5_reserve(struct lsc_h5 *h5, const char *name, lsc_type type, uint64_t rows) {
  hid_t data;
  lsc_status status = make_dataset(h5, name, type, rows, &data);
  if (data >= 0) H5Dclose(data);
  return status;
}

lsc_status lsc_h5_column(struct lsc_h5 *h5, const char *name, const lsc_column_view *view) {
  const char **texts = NULL;
  const void *values = view->data;
  hid_t in_memory = H5I_INVALID_HID, data;
  lsc_status status = make_dataset(h5, name, view->type, view->rows, &data);
  if (status || view->rows == 0) goto out;
  if (view->type == LSC_STR) {
    if (!(texts = terminate(view))) {
      status = lsc_fail(LSC_NO_MEMORY, "no memory for column %s of '%s'", name, h5->path);
      goto out;
    }
    values = texts;
  }
  in_memory = make_type(view->type, 0);
  if (in_memory < 0 || H5Dwrite(data, in_memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0) {
    status = fail(h5, "write column", name);
  }
out:
  if (in_memory >= 0) H5Tclose(in_memory);
  if (data >= 0) H5Dclose(data);
  free(texts);
  return status;
}

static lsc_status check_rows(struct lsc_h5 *h5, hid_t data, const char *path, uint64_t rows) {
  hid_t space = H5Dget_space(data);
  if (space < 0) return fail(h5, "look at column", path);
  hssize_t found = H5Sget_simple_extent_npoints(space);
  H5Sclose(space);
  if (found >= 0 && (uint64_t)found == rows) return LSC_OK;
  return lsc_fail(LSC_IO, "'%s': column %s has %lld rows instead of %llu: this rank sees another state of the file",
                  h5->path, path, (long long)found, (unsigned long long)rows);
}

lsc_status lsc_h5_select(struct lsc_h5 *h5, int slot, const char *path, lsc_type type, uint64_t rows) {
  hid_t data = H5Dopen2(h5->file, path, H5P_DEFAULT);
  if (data < 0) return fail(h5, "open column", path);
  lsc_status status = check_rows(h5, data, path, rows);
  hid_t in_memory = status ? H5I_INVALID_HID : make_type(type, 0);
  if (!status && in_memory < 0) status = fail(h5, "make the type of column", path);
  if (status) {
    H5Dclose(data);
    return status;
  }
  h5->slot[slot].data = data;
  h5->slot[slot].type = in_memory;
  snprintf(h5->slot[slot].path, sizeof h5->slot[slot].path, "%s", path);
  return LSC_OK;
}

static lsc_status move_rows(struct lsc_h5 *h5, int slot, uint64_t first, uint64_t count, const void *from, void *to) {
  lsc_status status = LSC_OK;
  hsize_t start = first, size = count;
  hid_t data = h5->slot[slot].data, type = h5->slot[slot].type;
  hid_t in_file = H5Dget_space(data), in_memory = H5Screate_simple(1, &size, NULL);
  if (in_file < 0 || in_memory < 0 || H5Sselect_hyperslab(in_file, H5S_SELECT_SET, &start, NULL, &size, NULL) < 0 ||
      (from ? H5Dwrite(data, type, in_memory, in_file, H5P_DEFAULT, from)
            : H5Dread(data, type, in_memory, in_file, H5P_DEFAULT, to)) < 0) {
    status = fail(h5, from ? "write rows of" : "read back rows of", h5->slot[slot].path);
  }
  if (in_memory >= 0) H5Sclose(in_memory);
  if (in_file >= 0) H5Sclose(in_file);
  return status;
}

lsc_status lsc_h5_write_rows(struct lsc_h5 *h5, int slot, uint64_t first, uint64_t count, const void *data) {
  return count ? move_rows(h5, slot, first, count, data, NULL) : LSC_OK;
}

lsc_status lsc_h5_read_rows(struct lsc_h5 *h5, int slot, uint64_t first, uint64_t count, void *data) {
  return count ? move_rows(h5, slot, first, count, NULL, data) : LSC_OK;
}
