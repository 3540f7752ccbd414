/* SPDX-License-Identifier: BSD-3-Clause */
#include "reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "ahead.h"
#include "message.h"
#include "signals.h"

#define FEWEST_BYTES (UINT64_C(1) << 20) /* for which a thread is worth its start */

/* posix_fallocate returns its error; where the file system has no way to reserve, the file may still be written. */
static int reserve_bytes(int file, uint64_t from, uint64_t bytes) {
  int error;
  do error = posix_fallocate(file, (off_t)from, (off_t)bytes);
  while (error == EINTR);
  return error == EOPNOTSUPP || error == EINVAL || error == ENOSYS ? 0 : error;
}

lsc_status lsc_reserve_space(int file, const char *name, uint64_t from, uint64_t bytes) {
  int error = bytes ? reserve_bytes(file, from, bytes) : 0;
  if (!error) return LSC_OK;
  return lsc_fail(LSC_IO, "cannot reserve %llu bytes for '%s': %s", (unsigned long long)bytes, name, strerror(error));
}

static void *run(void *argument) {
  struct lsc_reserve *reserve = argument;
  reserve->error = reserve_bytes(reserve->file, 0, reserve->bytes);
  return NULL;
}

void lsc_reserve_begin(struct lsc_reserve *reserve, const char *path, uint64_t bytes) {
  if (bytes < FEWEST_BYTES || !lsc_ahead_has_core()) return;
  *reserve = (struct lsc_reserve){.bytes = bytes, .file = open(path, O_RDWR | O_CLOEXEC)};
  if (reserve->file < 0) return;
  reserve->is_running = lsc_signals_thread(&reserve->thread, run, reserve);
  if (!reserve->is_running) close(reserve->file);
}

uint64_t lsc_reserve_end(struct lsc_reserve *reserve) {
  if (!reserve->is_running) return 0;
  pthread_join(reserve->thread, NULL);
  reserve->is_running = 0;
  int closed = close(reserve->file);
  return reserve->error || closed < 0 ? 0 : reserve->bytes;
}
