/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is needed of HDF5, and the only module (mpi/h5*.c) that knows it. One thread at a time; while a file is open,
 * HDF5's error stack and its printing, as the program had them, are put aside, and they are back after the close.
 *
 * A failing function sets a message that names the file, the thing and HDF5's own cause, and leaves no handle open but
 * the file's.
 */
#ifndef LSC_H5_H
#define LSC_H5_H

#include "lanescope_types.h"
#include "lanescope.h"

struct lsc_h5;

/* The version of the HDF5 library that runs: "1.10.8". */
void lsc_h5_version(char *text, size_t size);

/*
 * Of all that open a file: name: of the file that it is going to be, for messages, where `path` is a temporary one.
 * LSC_NO_MEMORY also where HDF5 would not find what it needs.
 */

/*
 * Makes a file in memory; path: where it is going to be. A close that cannot write leaves HDF5 in a state
 * in which the process dies at its end, so nothing is written through HDF5 before its space is there. LSC_OK, LSC_HDF5,
 * LSC_NO_MEMORY; on failure *h5 is NULL.
 */
lsc_status lsc_h5_create(struct lsc_h5 **h5, const char *path, const char *name);

/* The bytes of a file made in memory, malloc'd. LSC_OK, LSC_HDF5, LSC_NO_MEMORY. */
lsc_status lsc_h5_image(struct lsc_h5 *h5, void **bytes, size_t *size);

/* Opens a file to change it. LSC_OK, LSC_HDF5, LSC_NO_MEMORY; on failure *h5 is NULL. */
lsc_status lsc_h5_open(struct lsc_h5 **h5, const char *path, const char *name);

/*
 * The same in two parts, for a file that several ranks open. All that can fail on one rank alone is in the first, which
 * is not collective and holds a descriptor of the file, for MPI-IO to find a free one. comm: a pointer to an MPI_Comm,
 * over which the second part and lsc_h5_close are collective, and which HDF5 duplicates until the close; or NULL for
 * the serial driver. LSC_OK; LSC_IO: the file cannot be opened here; LSC_HDF5; LSC_NO_MEMORY. After a failure of the
 * second part h5 is closed or abandoned as ever.
 */
lsc_status lsc_h5_prepare(struct lsc_h5 **h5, const char *path, const char *name);
lsc_status lsc_h5_open_prepared(struct lsc_h5 *h5, void *comm);

/* 1 if the file is open. */
int lsc_h5_is_open(const struct lsc_h5 *h5);

/*
 * Closes everything and frees h5, also on failure; NULL is fine. Returns status, with its message, if that is a
 * failure, after which nothing more is written to a file that lsc_h5_open has opened; else LSC_OK, LSC_HDF5.
 */
lsc_status lsc_h5_close(struct lsc_h5 *h5, lsc_status status);

/* Frees h5 and leaves a shared file open: for a rank that may not enter the collective close any more. */
void lsc_h5_abandon(struct lsc_h5 *h5);

/* Makes a group below the root; what follows is made in it. NULL: what follows is made in the root. */
lsc_status lsc_h5_group(struct lsc_h5 *h5, const char *name);

/* Scalar attributes of the current group: i64, or UTF-8 of variable length. */
lsc_status lsc_h5_attribute_int(struct lsc_h5 *h5, const char *name, int64_t value);
lsc_status lsc_h5_attribute_text(struct lsc_h5 *h5, const char *name, const char *text);

/* A dataset of the current group whose space is allocated now and whose rows are written later. */
lsc_status lsc_h5_reserve(struct lsc_h5 *h5, const char *name, lsc_type type, uint64_t rows);

/*
 * Opens dataset `path`, which must have `rows` rows, as number `slot` (0 to LSC_H5_SLOTS - 1) of this file. Not
 * collective.
 */
#define LSC_H5_SLOTS 128
lsc_status lsc_h5_select(struct lsc_h5 *h5, int slot, const char *path, lsc_type type, uint64_t rows);

/* Rows first … first + count - 1 of a selected dataset, in its type in memory. Independent of the other ranks. */
lsc_status lsc_h5_write_rows(struct lsc_h5 *h5, int slot, uint64_t first, uint64_t count, const void *data);
lsc_status lsc_h5_read_rows(struct lsc_h5 *h5, int slot, uint64_t first, uint64_t count, void *data);
/* Bytes that these two give to HDF5 at a time: its MPI driver refuses 2^31 (1.10.8). At least 8; tests lower it. */
extern size_t lsc_h5_most;

/* Rows from `first` on of a selected dataset, of any type. With the serial driver, if they are texts. */
lsc_status lsc_h5_write_view(struct lsc_h5 *h5, int slot, uint64_t first, const lsc_column_view *view);

/*
 * A dataset of the current group in chunks of so many rows, shuffled and deflated (level: 1 to 9), whose chunks are
 * written later, each whole and as the filters would make it. row: the first of the chunk. slot: as lsc_h5_select has
 * it. Not collective, with the serial driver.
 */
lsc_status lsc_h5_reserve_chunks(struct lsc_h5 *h5, const char *name, lsc_type type, uint64_t rows, uint64_t chunk_rows,
                                 int level);
lsc_status lsc_h5_write_chunk(struct lsc_h5 *h5, int slot, uint64_t row, const void *bytes, size_t size);
/* Bytes of a chunk as it lies in the file, and the bytes. */
lsc_status lsc_h5_chunk_size(struct lsc_h5 *h5, int slot, uint64_t row, uint64_t *size);
lsc_status lsc_h5_read_chunk(struct lsc_h5 *h5, int slot, uint64_t row, void *bytes);
/* The most bytes that HDF5 takes to find so many chunks of one dataset, written in order. */
uint64_t lsc_h5_index_bound(uint64_t chunks);

#endif
