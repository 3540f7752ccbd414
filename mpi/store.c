/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collection.h"
#include "create.h"
#include "message.h"
#include "rows.h"

static void create_file(struct lsc_collection *c) {
  const struct lsc_contents contents = {.sizes = c->sizes,
                                        .fill = &c->fill,
                                        .events = c->events,
                                        .level = c->level,
                                        .reserved = lsc_reserve_end(&c->reserve),
                                        .name = c->target.path,
                                        .metadata = &c->metadata};
  struct lsc_metadata_run run = {.ranks = c->coll->size,
                                 .apis = c->fill.apis,
                                 .session_id = c->session_id,
                                 .part = c->part,
                                 .part_of = c->part_of};
  if (c->part_of) run.is_compared = lsc_snapshot_to_group(&c->snapshot, &c->clocks, &run.offset_ns, &run.error_ns);
  lsc_status status = lsc_metadata_fill(&c->metadata, &c->snapshot, &run, &c->options);
  lsc_collection_note(c, status ? status : lsc_create(c->target.temporary, &contents, &c->file));
}

/* The tables are in the file, or it is no longer wanted. A compressed one stays open. */
static void end_file(struct lsc_collection *c) {
  if (!c->file || (c->level && !c->status)) return;
  lsc_status status = c->status ? c->status : lsc_step(LSC_STEP_FILE_END);
  lsc_collection_note(c, lsc_create_end(c->file, c->target.temporary, status, &c->bytes));
  c->file = NULL;
}

static lsc_status append_text(struct lsc_buffer *bytes, const char *text) {
  return lsc_buffer_append(bytes, text, strlen(text) + 1);
}

static char *copy_text(struct lsc_reader *reader) {
  const char *text = (const char *)reader->next;
  size_t length = text ? strnlen(text, (size_t)(reader->end - reader->next)) : 0;
  if (!lsc_read_view(reader, length + 1)) return NULL;
  return strdup(text);
}

/* Rank 0's names, level and size of the file to everybody; nothing where it has failed. */
static void share_file(struct lsc_collection *c) {
  struct lsc_buffer bytes = {0};
  lsc_status status = LSC_OK;
  lsc_collection_enter(c, LSC_STEP_SHARE);
  if (!c->coll->rank && !c->status) {
    status = lsc_buffer_append(&bytes, &c->bytes, sizeof c->bytes);
    if (!status) status = lsc_buffer_append(&bytes, &c->level, sizeof c->level);
    if (!status) status = append_text(&bytes, c->target.temporary);
    if (!status) status = append_text(&bytes, c->target.path);
  }
  status = lsc_collection_came(c, lsc_coll_down(c->coll, LSC_TAG_FILE, status, &bytes, lsc_collection_deadline(c)));
  if (!status && bytes.size) {
    struct lsc_reader reader = {bytes.data, bytes.data + bytes.size, 0};
    lsc_read(&reader, &c->bytes, sizeof c->bytes);
    lsc_read(&reader, &c->level, sizeof c->level);
    c->temporary = copy_text(&reader);
    c->final = copy_text(&reader);
    if (!c->temporary || !c->final) {
      lsc_collection_note(c, lsc_fail(LSC_NO_MEMORY, "no memory for the name of the file"));
    }
  }
  lsc_buffer_free(&bytes);
}

/* MPI-IO would make a file of its own where a rank does not share rank 0's folder. */
static lsc_status check_visible(const struct lsc_collection *c) {
  struct stat info;
  if (stat(c->temporary, &info) < 0) {
    return lsc_fail(LSC_IO, "host %s does not see rank 0's '%s': %s; give a path in a folder that all ranks share",
                    c->hostname, c->temporary, strerror(errno));
  }
  if ((uint64_t)info.st_size == c->bytes) return LSC_OK;
  return lsc_fail(LSC_IO, "host %s sees '%s' with %lld bytes, rank 0 with %llu", c->hostname, c->temporary,
                  (long long)info.st_size, (unsigned long long)c->bytes);
}

/* Every rank knows that it failed, and maybe some opened the file that others could not: a close needs all of them. */
static lsc_status leave_open(struct lsc_collection *c, struct lsc_h5 *h5, lsc_status status) {
  char why[sizeof c->text];
  if (!c->comm) return lsc_h5_close(h5, status);
  snprintf(why, sizeof why, "%s", lsc_message());
  if (status != LSC_APART) {
    if (!lsc_h5_is_open(h5)) lsc_collection_note(c, lsc_fail(LSC_HDF5, "'%s' is not open", c->temporary));
    lsc_status shared = lsc_collection_agree(c, LSC_AGREE_LEAVE);
    if (!shared) return lsc_h5_close(h5, lsc_fail(status, "%s", why));
    if (shared == LSC_APART) status = shared;
    else lsc_fail(status, "%s", why);
  }
  lsc_h5_abandon(h5);
  return status;
}

static lsc_status leave_written(struct lsc_collection *c, struct lsc_h5 *h5, lsc_status status) {
  if (!c->comm || status != LSC_APART) return lsc_h5_close(h5, status);
  lsc_h5_abandon(h5);
  return status;
}

/* The rows of every rank, between an open and a close that are collective and cannot time out. */
static lsc_status write_shared(struct lsc_collection *c, struct lsc_h5 *h5) {
  lsc_step_enter(LSC_STEP_OPEN);
  lsc_collection_note(c, lsc_h5_open_prepared(h5, c->comm));
  lsc_collection_note(c, lsc_step_result());
  lsc_status status = lsc_collection_agree(c, LSC_AGREE_OPEN);
  if (status) return leave_open(c, h5, status);

  lsc_collection_note(c, lsc_rows_write(h5, &c->fill, c->events));
  status = lsc_collection_agree(c, LSC_AGREE_WRITE);
  if (status) return leave_written(c, h5, status);
  lsc_step_enter(LSC_STEP_CLOSE);
  lsc_collection_note(c, lsc_h5_close(h5, LSC_OK));
  lsc_collection_note(c, lsc_step_result());
  return LSC_OK;
}

/*
 * What this rank wrote reaches the disk from this host; rank 0 does so when it publishes. A close that failed may have
 * cut the file.
 */
static void check_written(struct lsc_collection *c) {
  if (c->status) return;
  if (c->coll->rank && c->snapshot.completed && !lsc_collection_enter(c, LSC_STEP_SYNC_ROWS)) {
    lsc_collection_note(c, lsc_file_sync(c->temporary));
  }
  if (!lsc_collection_enter(c, LSC_STEP_LOOK)) lsc_collection_note(c, check_visible(c));
}

/* What each rank can find out alone before the shared file is opened. */
static void prepare_open(struct lsc_collection *c, struct lsc_h5 **h5) {
  if (c->status || !c->temporary || c->level) return;
  if (!lsc_collection_enter(c, LSC_STEP_SEE)) lsc_collection_note(c, check_visible(c));
  if (!c->status && !lsc_collection_enter(c, LSC_STEP_PREPARE)) {
    lsc_collection_note(c, lsc_h5_prepare(h5, c->temporary, c->final));
  }
}

lsc_status lsc_collection_store(struct lsc_collection *c) {
  struct lsc_h5 *h5 = NULL;
  if (!c->coll->rank && !c->status && !c->broken) create_file(c);
  if (!c->broken) lsc_collection_gather(c);
  end_file(c);
  if (!c->broken) share_file(c);
  prepare_open(c, &h5);
  lsc_status status = lsc_collection_agree(c, LSC_AGREE_CREATE);
  if (status) {
    lsc_h5_close(h5, status);
    lsc_h5_close(c->file, status);
    c->file = NULL;
    return status;
  }
  if (c->level) return lsc_collection_store_compressed(c);
  if ((status = write_shared(c, h5))) return status;
  check_written(c);
  return lsc_collection_agree(c, LSC_AGREE_CLOSE);
}
