/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows around row 2^31 and 2^32, and bytes around byte 2^31 and 2^32 of a column: they are as long as those of a run of
 * four thousand million calls, and hold nothing but what is written here, so that the file takes little of the disk.
 */
#include <fcntl.h>
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "h5.h"

#define ROWS ((1ull << 32) + 100000)
#define PIECE 20000 /* rows that a rank writes at one place */

static const struct column {
  const char *name;
  lsc_type type;
  size_t width;
} columns[] = {{"narrow", LSC_U8, 1}, {"medium", LSC_U32, 4}, {"wide", LSC_I64, 8}};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* The middle of what all ranks write together: rows at which a count in 31 or 32 bits of rows or bytes runs over. */
static const uint64_t middles[] = {1ull << 28, 1ull << 29, 1ull << 30, 1ull << 31, 1ull << 32};
enum { MIDDLES = sizeof middles / sizeof *middles };

static int rank, ranks;

static void make_file(const char *path) {
  struct lsc_h5 *h5 = NULL;
  void *bytes = NULL;
  size_t size = 0;
  CHECK_STATUS(lsc_h5_create(&h5, path, path), LSC_OK);
  lsc_status status = lsc_h5_image(h5, &bytes, &size);
  CHECK_STATUS(lsc_h5_close(h5, status), LSC_OK);
  FILE *file = fopen(path, "wb");
  CHECK(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0, "cannot write %s", path);
  free(bytes);
  CHECK_STATUS(lsc_h5_open(&h5, path, path), LSC_OK);
  status = lsc_h5_group(h5, "rows");
  for (int k = 0; k < COLUMNS && !status; k++) status = lsc_h5_reserve(h5, columns[k].name, columns[k].type, ROWS);
  CHECK_STATUS(lsc_h5_close(h5, status), LSC_OK);
}

/* Different for each row and byte of it. */
static unsigned char byte_of(uint64_t row, size_t byte) {
  return (unsigned char)((row * 2654435761u + byte * 40503u + (row >> 20)) >> 7);
}

static void fill(unsigned char *values, uint64_t first, size_t width) {
  for (size_t i = 0; i < PIECE * width; i++) values[i] = byte_of(first + i / width, i % width);
}

static uint64_t first_of(int middle, int of_rank) {
  return middles[middle] - PIECE * (uint64_t)ranks / 2 + PIECE * (uint64_t)of_rank;
}

static void write_rows(struct lsc_h5 *h5, unsigned char *values, unsigned char *found) {
  for (int k = 0; k < COLUMNS; k++) {
    for (int m = 0; m < MIDDLES; m++) {
      size_t width = columns[k].width;
      fill(values, first_of(m, rank), width);
      CHECK_STATUS(lsc_h5_write_rows(h5, k, first_of(m, rank), PIECE, values), LSC_OK);
      CHECK_STATUS(lsc_h5_read_rows(h5, k, first_of(m, rank), PIECE, found), LSC_OK);
      CHECK(memcmp(values, found, PIECE * width) == 0, "%s around row %llu is not what was written",
            columns[k].name, (unsigned long long)middles[m]);
    }
  }
}

/* The bytes of the file itself, at the place that HDF5 says. */
static void check_bytes(const char *path, unsigned char *values, unsigned char *found) {
  hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
  haddr_t place[COLUMNS];
  for (int k = 0; k < COLUMNS; k++) {
    char name[32];
    snprintf(name, sizeof name, "rows/%s", columns[k].name);
    hid_t data = H5Dopen2(file, name, H5P_DEFAULT);
    place[k] = H5Dget_offset(data);
    CHECK(place[k] != HADDR_UNDEF && H5Dget_storage_size(data) == ROWS * columns[k].width, "%s", name);
    H5Dclose(data);
  }
  H5Fclose(file);
  int bytes = open(path, O_RDONLY);
  for (int k = 0; k < COLUMNS; k++) {
    for (int m = 0; m < MIDDLES; m++) {
      for (int r = 0; r < ranks; r++) {
        size_t width = columns[k].width;
        off_t at = (off_t)(place[k] + first_of(m, r) * width);
        fill(values, first_of(m, r), width);
        CHECK(pread(bytes, found, PIECE * width, at) == (ssize_t)(PIECE * width), "%s is short", path);
        CHECK(memcmp(values, found, PIECE * width) == 0, "%s of rank %d around row %llu", columns[k].name, r,
              (unsigned long long)middles[m]);
      }
    }
  }
  close(bytes);
}

static void write_shared(const char *path, unsigned char *values, unsigned char *found) {
  struct lsc_h5 *h5 = NULL;
  MPI_Comm comm = MPI_COMM_WORLD;
  lsc_status status = lsc_h5_prepare(&h5, path, path);
  CHECK_STATUS(status, LSC_OK);
  if (status == LSC_OK) status = lsc_h5_open_prepared(h5, &comm);
  for (int k = 0; k < COLUMNS && status == LSC_OK; k++) {
    char name[32];
    snprintf(name, sizeof name, "rows/%s", columns[k].name);
    status = lsc_h5_select(h5, k, name, columns[k].type, ROWS);
  }
  if (status == LSC_OK) write_rows(h5, values, found);
  CHECK_STATUS(lsc_h5_close(h5, status), LSC_OK);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  char path[512];
  snprintf(path, sizeof path, "%s", check_path("rows.h5"));
  unsigned char *values = malloc(PIECE * 8), *found = malloc(PIECE * 8);
  if (rank == 0) make_file(path);
  MPI_Barrier(MPI_COMM_WORLD);
  write_shared(path, values, found);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    check_bytes(path, values, found);
    unlink(path);
  }
  free(values);
  free(found);
  int result = check_result();
  MPI_Finalize();
  return result;
}
