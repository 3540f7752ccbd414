/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "lanescope_binding.h"
#include "message.h"
#include "region.h"
#include "session.h"
#include "task.h"

static char *put_text(char **at, const char *text) {
  char *begin = *at;
  size_t length = strlen(text) + 1;
  memcpy(begin, text, length);
  *at += length;
  return begin;
}

static size_t label_bytes(const char *kind, const char *name, const char *coro_name) {
  return sizeof(struct lsc_task_label) + strlen(kind) + strlen(name) + strlen(coro_name) + 3;
}

static void fill_label(struct lsc_task_label *label, const char *kind, const char *name, const char *coro_name) {
  char *at = label->text;
  label->older = NULL;
  put_text(&at, kind);
  label->name = put_text(&at, name);
  label->coro_name = put_text(&at, coro_name);
}

/* The first label lies behind the record, unless it is too long to share memory with others. */
static struct lsc_task_record *new_record(struct lsc_chunk_source *source, const char *kind, const char *name,
                                          const char *coro_name) {
  size_t size = label_bytes(kind, name, coro_name), bytes = sizeof(struct lsc_task_record) + size;
  int is_long = bytes > LSC_CHUNK_SHARED;
  struct lsc_task_label *label = is_long ? malloc(size) : NULL;
  if (is_long && !label) return NULL;
  struct lsc_task_record *task = lsc_slab_keep(source, is_long ? sizeof *task : bytes);
  if (!task) {
    free(label);
    return NULL;
  }
  if (!is_long) label = lsc_task_own_label(task);
  fill_label(label, kind, name, coro_name);
  task->kind = label->text;
  atomic_init(&task->label, label);
  task->created = lsc_ticks();
  atomic_init(&task->thread, LSC_TASK_NO_THREAD);
  return task;
}

static lsc_status check_name(const char *what, const char *text) {
  if (!text) return lsc_fail(LSC_INVALID, "lsc_task_open: %s is NULL", what);
  if (lsc_name_is_valid(text, strlen(text))) return LSC_OK;
  return lsc_fail(LSC_BAD_NAME, "the %s of a task is not valid UTF-8 of at most %d bytes", what, LSC_MAX_NAME);
}

static lsc_status add_task(struct lsc_session_state *state, const char *kind, const char *name, const char *coro_name,
                           struct lsc_task_record **result) {
  struct lsc_task_record *task = new_record(state->source, kind, name, coro_name);
  if (!task) return lsc_fail(LSC_NO_MEMORY, "no memory for a task");
  lsc_status status = lsc_registry_take(&state->tasks, &task->index);
  if (status != LSC_OK) {
    lsc_task_free_labels(task);
    return lsc_fail(status, "%u tasks: %s", lsc_registry_count(&state->tasks), lsc_strerror(status));
  }
  lsc_registry_publish(&state->tasks, task->index, task);
  *result = task;
  return LSC_OK;
}

lsc_status lsc_task_open_at(lsc_session session, const char *kind, const char *name, const char *coro_name,
                            lsc_task *task, struct lsc_task_record **record) {
  if (!task || !record) return lsc_fail(LSC_INVALID, "lsc_task_open: task is NULL; pass where the handle goes");
  *task = (lsc_task){session, 0};
  *record = NULL;
  lsc_status status = check_name("kind", kind);
  if (status == LSC_OK) status = check_name("name", name);
  if (status == LSC_OK && coro_name) status = check_name("coro_name", coro_name);
  struct lsc_session_state *state = status == LSC_OK ? lsc_session_pin(session) : NULL;
  if (status == LSC_OK && !state)
    status = lsc_fail(LSC_INACTIVE, "session %#llx is not open", (unsigned long long)session);
  if (state && state->no_lanes) {
    status = lsc_fail(LSC_INVALID, "session %#llx was opened without lanes, so it has no tasks",
                      (unsigned long long)session);
    lsc_session_unpin(session);
  } else if (state) {
    status = add_task(state, kind, name, coro_name ? coro_name : "", record);
    if (status == LSC_OK) task->number = (*record)->index + 1;
    lsc_session_unpin(session);
  }
  if (status != LSC_OK) memset(task, 0, sizeof *task);
  return status;
}

lsc_status lsc_task_open(lsc_session session, const char *kind, const char *name, const char *coro_name,
                         lsc_task *task) {
  struct lsc_task_record *record;
  return lsc_task_open_at(session, kind, name, coro_name, task, &record);
}

struct lsc_task_record *lsc_task_of(struct lsc_session_state *state, lsc_task handle) {
  uint32_t count = lsc_registry_count(&state->tasks);
  return handle.number && handle.number <= count ? lsc_registry_get(&state->tasks, handle.number - 1) : NULL;
}

/* Several may name it at once: each puts its label on top of what it saw there. */
static lsc_status rename_task(struct lsc_task_record *task, const char *name, const char *coro_name) {
  struct lsc_task_label *seen = atomic_load_explicit(&task->label, memory_order_acquire);
  if ((!name || !strcmp(seen->name, name)) && (!coro_name || !strcmp(seen->coro_name, coro_name))) return LSC_OK;
  if (!name) name = seen->name;
  if (!coro_name) coro_name = seen->coro_name;
  struct lsc_task_label *label = malloc(label_bytes("", name, coro_name));
  if (!label) return lsc_fail(LSC_NO_MEMORY, "no memory for the name of a task");
  fill_label(label, "", name, coro_name);
  do label->older = seen;
  while (!atomic_compare_exchange_weak_explicit(&task->label, &seen, label, memory_order_acq_rel,
                                                memory_order_acquire));
  return LSC_OK;
}

lsc_status lsc_task_rename(lsc_task handle, const char *name, const char *coro_name) {
  lsc_status status = name ? check_name("name", name) : LSC_OK;
  if (status == LSC_OK && coro_name) status = check_name("coro_name", coro_name);
  if (status != LSC_OK) return status;
  struct lsc_session_state *state = lsc_session_pin(handle.session);
  if (!state) return LSC_INACTIVE;
  struct lsc_task_record *task = lsc_task_of(state, handle);
  status = task ? rename_task(task, name, coro_name) : LSC_INVALID;
  lsc_session_unpin(handle.session);
  return status;
}
