/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* memfd_create */
#include "h5_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "h5_read.h"
#include "message.h"
#include "text.h"

#if H5_VERSION_GE(1, 10, 7) && !(H5_VERS_MINOR == 12 && H5_VERS_RELEASE == 0)
#define HAVE_FILE_LOCKING_PROPERTY 1
#endif

#define NEEDED ((size_t)8 << 20) /* bytes; several times what HDF5 and MPI-IO were seen to take to open a file */
#define CACHE_BYTES ((size_t)1 << 17) /* of metadata, to which the texts of the tables belong */
#define MEMORY_STEP (1u << 20) /* bytes by which a file in memory grows */

static void errors_set_aside(struct lsc_h5_errors *errors) {
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

static void errors_put_back(struct lsc_h5_errors *errors) {
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

/* The library also leaves other errors behind, of calls that did no harm. */
static int is_of_files(int error) {
  return error == EFBIG || error == ENOSPC || error == EDQUOT || error == EIO || error == ESTALE || error == ENOMEM;
}

lsc_status lsc_h5_fail_transfer(const struct lsc_h5 *h5, const char *doing, const char *part, int error) {
  struct cause cause = {"no cause given"};
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &cause);
  const char *system = is_of_files(error) ? strerror(error) : "";
  return lsc_fail(LSC_HDF5, "'%s': HDF5 could not %s%s%s: %s%s%s%s", h5->name, doing, *part ? " " : "", part,
                  cause.text, *system ? " (" : "", system, *system ? ")" : "");
}

lsc_status lsc_h5_fail(const struct lsc_h5 *h5, const char *doing, const char *part) {
  return lsc_h5_fail_transfer(h5, doing, part, 0);
}

void lsc_h5_version(char *text, size_t size) {
  struct lsc_h5_errors errors;
  unsigned major = 0, minor = 0, release = 0;
  errors_set_aside(&errors);
  H5get_libversion(&major, &minor, &release);
  errors_put_back(&errors);
  snprintf(text, size, "%u.%u.%u", major, minor, release);
}

/* HDF5 1.10 crashes where it finds no memory, so it is not asked where there is none. */
static int has_memory_for_hdf5(void) {
  void *memory = mmap(NULL, NEEDED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED && munmap(memory, NEEDED) == 0;
}

static struct lsc_h5 *h5_new(const char *path, const char *name) {
  struct lsc_h5 *h5 = has_memory_for_hdf5() ? calloc(1, sizeof *h5) : NULL;
  if (!h5 || !(h5->path = strdup(path)) || !(h5->name = strdup(name))) {
    if (h5) free(h5->path);
    free(h5);
    lsc_fail(LSC_NO_MEMORY, "no memory to open '%s'", name);
    return NULL;
  }
  h5->file = h5->group = h5->access = H5I_INVALID_HID;
  h5->descriptor = -1;
  for (int i = 0; i < LSC_H5_SLOTS; i++) h5->slot[i].data = h5->slot[i].type = H5I_INVALID_HID;
  errors_set_aside(&h5->errors);
  return h5;
}

static void release_prepared(struct lsc_h5 *h5) {
  if (h5->access >= 0) H5Pclose(h5->access);
  if (h5->descriptor >= 0) close(h5->descriptor);
  h5->access = H5I_INVALID_HID;
  h5->descriptor = -1;
}

static void h5_free(struct lsc_h5 *h5) {
  release_prepared(h5);
  errors_put_back(&h5->errors);
  free(h5->path);
  free(h5->name);
  free(h5);
}

enum place { IN_MEMORY, ON_DISK, TO_READ };

static lsc_status set_driver(struct lsc_h5 *h5, enum place place, void *comm) {
#ifdef H5_HAVE_PARALLEL
  if (comm) {
    herr_t shared = H5Pset_fapl_mpio(h5->access, *(MPI_Comm *)comm, MPI_INFO_NULL);
    return shared < 0 ? lsc_h5_fail(h5, "set the MPI driver", "") : LSC_OK;
  }
#else
  if (comm) return lsc_fail(LSC_HDF5, "'%s': this HDF5 has no MPI driver to write it from several ranks", h5->name);
#endif
  herr_t set = place == IN_MEMORY ? H5Pset_fapl_core(h5->access, MEMORY_STEP, 0) : H5Pset_fapl_sec2(h5->access);
  return set < 0 ? lsc_h5_fail(h5, "set the driver", "") : LSC_OK;
}

/* The sieve buffer would answer a read back without looking at the file. */
static lsc_status make_access(struct lsc_h5 *h5) {
  if ((h5->access = H5Pcreate(H5P_FILE_ACCESS)) < 0) return lsc_h5_fail(h5, "make the access properties", "");
  if (H5Pset_fclose_degree(h5->access, H5F_CLOSE_STRONG) < 0 || H5Pset_sieve_buf_size(h5->access, 0) < 0) {
    return lsc_h5_fail(h5, "set the access properties", "");
  }
#ifdef HAVE_FILE_LOCKING_PROPERTY
  if (H5Pset_file_locking(h5->access, 0, 1) < 0) return lsc_h5_fail(h5, "set the locking", "");
#endif
  return LSC_OK;
}

/* No more space of the file is taken than what is asked for, so that it can be reserved before. */
static lsc_status allocate_exactly(struct lsc_h5 *h5) {
  if (H5Pset_meta_block_size(h5->access, 0) >= 0 && H5Pset_small_data_block_size(h5->access, 0) >= 0) return LSC_OK;
  return lsc_h5_fail(h5, "set how space is allocated", "");
}

/* A text is written once and not looked at again, so that a cache that grows with them would be of no use. */
static lsc_status bound_cache(struct lsc_h5 *h5) {
  H5AC_cache_config_t cache = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
  if (H5Pget_mdc_config(h5->access, &cache) < 0) return lsc_h5_fail(h5, "look at the cache", "");
  cache.set_initial_size = 1;
  cache.initial_size = cache.max_size = cache.min_size = CACHE_BYTES;
  cache.incr_mode = H5C_incr__off;
  cache.flash_incr_mode = H5C_flash_incr__off;
  cache.decr_mode = H5C_decr__off;
  return H5Pset_mdc_config(h5->access, &cache) < 0 ? lsc_h5_fail(h5, "bound the cache", "") : LSC_OK;
}

/* A file in memory needs a name, too, and one that does not exist: HDF5 would read an existing file whole before. */
static lsc_status make_in_memory(struct lsc_h5 *h5) {
  char *name = lsc_text("%s/memory", h5->path);
  if (!name) return lsc_fail(LSC_NO_MEMORY, "no memory to make '%s'", h5->name);
  h5->file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, h5->access);
  free(name);
  return h5->file < 0 ? lsc_h5_fail(h5, "make the file", "") : LSC_OK;
}

static lsc_status open_there(struct lsc_h5 *h5, unsigned flags) {
  h5->file = H5Fopen(h5->path, flags, h5->access);
  return h5->file < 0 ? lsc_h5_fail(h5, "open the file", "") : LSC_OK;
}

static lsc_status open_file(struct lsc_h5 *h5, enum place place, void *comm) {
  lsc_status status = set_driver(h5, place, comm);
  if (!status && place == IN_MEMORY) status = make_in_memory(h5);
  else if (!status) status = open_there(h5, place == TO_READ ? H5F_ACC_RDONLY : H5F_ACC_RDWR);
  h5->group = h5->file;
  release_prepared(h5);
  return status;
}

/* Frees *h5 after a failure. */
static lsc_status checked(struct lsc_h5 **h5, lsc_status status) {
  if (!status) return LSC_OK;
  h5_free(*h5);
  *h5 = NULL;
  return status;
}

static lsc_status open_alone(struct lsc_h5 **h5, const char *path, const char *name, enum place place) {
  *h5 = h5_new(path, name);
  if (!*h5) return LSC_NO_MEMORY;
  lsc_status status = make_access(*h5);
  (*h5)->is_own = place == ON_DISK;
  if (!status && (*h5)->is_own) status = allocate_exactly(*h5);
  if (!status && (*h5)->is_own) status = bound_cache(*h5);
  return checked(h5, status ? status : open_file(*h5, place, NULL));
}

lsc_status lsc_h5_create(struct lsc_h5 **h5, const char *path, const char *name) {
  return open_alone(h5, path, name, IN_MEMORY);
}

lsc_status lsc_h5_open(struct lsc_h5 **h5, const char *path, const char *name) {
  return open_alone(h5, path, name, ON_DISK);
}

/* A file from elsewhere may name filters that are code to be loaded. */
lsc_status lsc_h5_open_read(struct lsc_h5 **h5, const char *path) {
  H5PLset_loading_state(0);
  return open_alone(h5, path, path, TO_READ);
}

lsc_status lsc_h5_prepare(struct lsc_h5 **h5, const char *path, const char *name) {
  *h5 = h5_new(path, name);
  if (!*h5) return LSC_NO_MEMORY;
  lsc_status status = make_access(*h5);
  if (status) return checked(h5, status);
  (*h5)->descriptor = open(path, O_RDWR | O_CLOEXEC);
  if ((*h5)->descriptor < 0) status = lsc_fail(LSC_IO, "cannot open '%s': %s", name, strerror(errno));
  return checked(h5, status);
}

lsc_status lsc_h5_open_prepared(struct lsc_h5 *h5, void *comm) {
  close(h5->descriptor);
  h5->descriptor = -1;
  return open_file(h5, ON_DISK, comm);
}

int lsc_h5_is_open(const struct lsc_h5 *h5) { return h5 && h5->file >= 0; }

lsc_status lsc_h5_image(struct lsc_h5 *h5, void **bytes, size_t *size) {
  ssize_t needed = H5Fflush(h5->file, H5F_SCOPE_LOCAL) < 0 ? -1 : H5Fget_file_image(h5->file, NULL, 0);
  if (needed < 0) return lsc_h5_fail(h5, "measure the file", "");
  *size = (size_t)needed;
  *bytes = malloc(*size);
  if (!*bytes) return lsc_fail(LSC_NO_MEMORY, "no memory for the %zu bytes of tables of '%s'", *size, h5->name);
  if (H5Fget_file_image(h5->file, *bytes, *size) == needed) return LSC_OK;
  lsc_status status = lsc_h5_fail(h5, "copy the file", "");
  free(*bytes);
  *bytes = NULL;
  return status;
}

/*
 * What HDF5 still has to write of a file that is not wanted goes into memory, which is let go at once: where the disk
 * has failed, the close would fail, too, after which HDF5 1.10 crashes at its end.
 */
static void give_up(struct lsc_h5 *h5) {
  void *handle = NULL;
  if (!h5->is_own || h5->file < 0 || H5Fget_vfd_handle(h5->file, H5P_DEFAULT, &handle) < 0) return;
  int nowhere = memfd_create("lanescope", MFD_CLOEXEC);
  if (nowhere < 0) return;
  dup3(nowhere, *(int *)handle, O_CLOEXEC);
  close(nowhere);
}

lsc_status lsc_h5_close(struct lsc_h5 *h5, lsc_status status) {
  if (!h5) return status;
  if (status) give_up(h5);
  for (int i = 0; i < LSC_H5_SLOTS; i++) {
    if (h5->slot[i].data >= 0) H5Dclose(h5->slot[i].data);
    if (h5->slot[i].type >= 0) H5Tclose(h5->slot[i].type);
  }
  if (h5->group != h5->file) H5Gclose(h5->group);
  if (h5->file >= 0 && H5Fclose(h5->file) < 0 && !status) status = lsc_h5_fail(h5, "close the file", "");
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
  if (group < 0) return lsc_h5_fail(h5, "make group", name);
  h5->group = group;
  return LSC_OK;
}
