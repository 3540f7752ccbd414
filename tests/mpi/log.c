/* SPDX-License-Identifier: BSD-3-Clause */
#include "log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "lanescope_mpi.h"

static void *grow(void *memory, size_t count, size_t size) {
  memory = realloc(memory, count * size);
  if (!memory) abort();
  return memory;
}

void log_start(struct log *log, lsc_session session, lsc_api api, const char *lane) {
  *log = (struct log){.session = session, .api = api};
  snprintf(log->lane, sizeof log->lane, "%s", lane);
  if (strcmp(lane, LOG_NO_THREAD) != 0) CHECK_STATUS(lsc_thread_describe(session, lane, 1234, 0), LSC_OK);
}

void log_begin(struct log *log, const char *region) {
  lsc_region_id id;
  CHECK_STATUS(lsc_region(region, &id), LSC_OK);
  if (log->calls == log->capacity) {
    log->capacity = log->capacity ? 2 * log->capacity : 16;
    log->call = grow(log->call, log->capacity, sizeof *log->call);
  }
  struct logged *call = &log->call[log->calls];
  *call = (struct logged){.api = log->api == LSC_API_FORTRAN_THREADS ? 2 : (int)log->api, .depth = log->depth};
  memcpy(call->lane, log->lane, sizeof call->lane);
  snprintf(call->region, sizeof call->region, "%s", region);
  call->parent = log->depth > 0 ? log->open[log->depth - 1] : -1;
  log->open[log->depth++] = (int32_t)log->calls++;
  call->start_low = lsc_now_ns();
  lsc_status status = lsc_begin_as(log->session, log->api, id);
  call->start_high = lsc_now_ns();
  CHECK_STATUS(status, LSC_OK);
}

void log_end(struct log *log) {
  struct logged *call = &log->call[log->open[--log->depth]];
  lsc_region_id id;
  CHECK_STATUS(lsc_region(call->region, &id), LSC_OK);
  call->end_low = lsc_now_ns();
  lsc_status status = lsc_end_as(log->session, log->api, id);
  call->end_high = lsc_now_ns();
  CHECK_STATUS(status, LSC_OK);
}

void log_collected(struct log *log) {
  for (int32_t i = 0; i < log->depth; ++i) {
    log->call[i] = log->call[log->open[i]];
    log->call[i].parent = i - 1;
    log->open[i] = i;
  }
  log->calls = (size_t)log->depth;
}

void log_free(struct log *log) {
  free(log->call);
  *log = (struct log){0};
}

/* Parents are counted within the lane. */
static int32_t calls_of_lane(const struct books *books, const char *lane) {
  int32_t count = 0;
  for (size_t i = 0; i < books->calls; ++i) count += strcmp(books->call[i].lane, lane) == 0;
  return count;
}

void books_add(struct books *books, const struct log *log) {
  int32_t before = calls_of_lane(books, log->lane);
  if (log->calls > 0) books->call = grow(books->call, books->calls + log->calls, sizeof *books->call);
  for (size_t i = 0; i < log->calls; ++i) {
    struct logged *call = &books->call[books->calls++];
    *call = log->call[i];
    if (call->parent >= 0) call->parent += before;
  }
  if (strcmp(log->lane, LOG_NO_THREAD) != 0) books_add_thread(books, log->lane);
}

void books_add_thread(struct books *books, const char *name) {
  for (size_t i = 0; i < books->threads; ++i) {
    if (strcmp(books->thread[i], name) == 0) return;
  }
  books->thread = grow(books->thread, books->threads + 1, sizeof *books->thread);
  memset(books->thread[books->threads], 0, LOG_NAME);
  snprintf(books->thread[books->threads++], LOG_NAME, "%s", name);
}

void books_free(struct books *books) {
  free(books->call);
  free(books->thread);
  *books = (struct books){0};
}

void log_close(lsc_session session, struct log *log, struct books *books) {
  log_free(log);
  books_free(books);
  lsc_detach(session);
  CHECK_STATUS(lsc_session_close(session), LSC_OK);
}
