/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every public function, called wrongly: with NULL, on sessions that are closed or never were, on the wrong thread, in
 * the wrong order, before MPI_Init, between, and after MPI_Finalize. Each gives a status, and no function is left out.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "misuse.h"
#include "snapshot.h"

enum misuse_phase phase;
int failures;
lsc_session session, dead[4];
lsc_region_id region, other;
char folder[] = "/tmp/lanescope-misuse-XXXXXX";
const char bad_text[] = "\xff\xfe";

static const struct misuse_row *const parts[] = {misuse_record, misuse_lanes, misuse_files, misuse_default};
#define PARTS (sizeof parts / sizeof parts[0])

void misuse_gives(lsc_status found, lsc_status expected, const char *call, const char *file, int line) {
  if (found == expected) return;
  ++failures;
  fprintf(stderr, "%s:%d: phase %d: %s gave %s, not %s: %s\n", file, line, phase, call, lsc_strerror(found),
          lsc_strerror(expected), lsc_message());
}

void on_thread(void *(*run)(void *), void *argument) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, argument) == 0) pthread_join(thread, NULL);
}

const char *path_of(const char *name) {
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static struct lsc_snapshot held; /* a collect of the session that does not come to its end */

static void *begin_collect(void *unused) {
  GIVES(lsc_snapshot_take(session, &held), LSC_OK);
  return unused;
}

void misuse_begin_collect(void) { on_thread(begin_collect, NULL); }
void misuse_end_collect(void) { lsc_snapshot_drop(&held); }

static int has_row(const char *name) {
  for (size_t part = 0; part < PARTS; ++part) {
    for (const struct misuse_row *row = parts[part]; row->name; ++row) {
      if (strcmp(row->name, name) == 0) return 1;
    }
  }
  return 0;
}

static int count_rows(void) {
  int rows = 0;
  for (size_t part = 0; part < PARTS; ++part) {
    for (const struct misuse_row *row = parts[part]; row->name; ++row) ++rows;
  }
  return rows;
}

/* How many functions the library that has this one gives to programs; each must have a row. */
static int check_exports(const char *function) {
  Dl_info info;
  char command[1024], line[512];
  int found = 0;
  void *address = dlsym(RTLD_DEFAULT, function);
  if (!address || !dladdr(address, &info)) return 0;
  snprintf(command, sizeof command, "nm -D --defined-only '%s'", info.dli_fname);
  FILE *symbols = popen(command, "r");
  while (symbols && fgets(line, sizeof line, symbols)) {
    char *name = strstr(line, " lsc_"), *end = strstr(line, "@@LANESCOPE_0.1\n");
    if (!name || !end) continue;
    *end = '\0';
    EXPECT(has_row(name + 1), "the table has no row for %s", name + 1);
    ++found;
  }
  if (symbols) pclose(symbols);
  return found;
}

/* The session is as good as new after each. */
static void try_part(const struct misuse_row *row) {
  for (; row->name; ++row) {
    uint64_t calls = 0;
    row->try();
    GIVES(lsc_uncollected(session, &calls), LSC_OK);
  }
}

static void try_all(enum misuse_phase now) {
  phase = now;
  GIVES(lsc_session_open(NULL, &session), LSC_OK);
  GIVES(lsc_session_open(NULL, &dead[1]), LSC_OK);
  GIVES(lsc_session_close(dead[1]), LSC_OK);
  for (size_t part = 0; part < PARTS; ++part) try_part(parts[part]);
  lsc_detach(session);
  GIVES(lsc_session_close(session), LSC_OK);
}

int main(void) {
  char command[128];
  dead[2] = 123456789;
  dead[3] = UINT64_MAX;
  if (!mkdtemp(folder) || lsc_region("misuse", &region) != LSC_OK || lsc_region("other", &other) != LSC_OK) return 1;
  try_all(BEFORE_MPI);
  MPI_Init(NULL, NULL);
  try_all(WITHIN_MPI);
  EXPECT(check_exports("lsc_version") + check_exports("lsc_collect") == count_rows(), "not every row is exported");
  MPI_Finalize();
  try_all(AFTER_MPI);
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  if (system(command) != 0) fprintf(stderr, "%s is left\n", folder);
  return failures > 0;
}
