/* SPDX-License-Identifier: BSD-3-Clause */
/* A folder of its own for each test, and ranks that wait in it, all in this process. */
#ifndef ROLLS_H
#define ROLLS_H

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "lanescope.h"
#include "roll.h"
#include "unit.h"

#define SECOND 1000000000ll
#define OWN "rank 1 heard nothing"

static char folder[64], path[96], waiting[128];
static int64_t opened; /* of all sessions */

static inline void enter_folder(void) {
  strcpy(folder, "/tmp/lanescope-roll-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/run.h5", folder);
  snprintf(waiting, sizeof waiting, "%s/.run.h5.waiting-job", folder);
  setenv("PMIX_NAMESPACE", "job", 1);
  opened = lsc_now_ns();
}

/* Nothing but that many files of ranks is left in it. */
static inline void leave_folder(int files) {
  DIR *entries = opendir(folder);
  for (struct dirent *entry; (entry = readdir(entries));) {
    if (entry->d_name[0] == '.' && (!entry->d_name[1] || !strcmp(entry->d_name, ".."))) continue;
    ck_assert_msg(strncmp(entry->d_name, "run.rank", 8) == 0, "%s is left", entry->d_name);
    ck_assert_int_eq(unlinkat(dirfd(entries), entry->d_name, 0), 0);
    files--;
  }
  closedir(entries);
  ck_assert_int_eq(files, 0);
  ck_assert_int_eq(rmdir(folder), 0);
}

static inline void begin(struct lsc_roll *roll, int rank, int size) {
  *roll = (struct lsc_roll){.path = path, .rank = rank, .size = size, .opened = opened};
  roll->limit = SECOND / 5;
  roll->timeout = 2 * SECOND;
  lsc_roll_begin(roll);
}

static inline void pause_ms(long ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL); }

/* Waits as a rank does, until it has entered; at most that long. */
static inline void wait_in(struct lsc_roll *roll, int ms) {
  for (int turn = 0; turn < ms && !roll->entered; turn++) {
    lsc_roll_wait(turn == 0);
    pause_ms(1);
  }
}

/* A rank that has waited for long. */
static inline void come(struct lsc_roll *roll, int rank, int size) {
  begin(roll, rank, size);
  wait_in(roll, 20000);
  ck_assert_int_ne(roll->entered, 0);
}

/* A file that was written `age` seconds ago; ago 0: now. */
static inline void put(const char *name, const char *text, int age) {
  FILE *file = fopen(name, "w");
  ck_assert_msg(file != NULL, "no file %s", name);
  ck_assert_int_ge(fputs(text, file), 0);
  ck_assert_int_eq(fclose(file), 0);
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  now.tv_sec -= age;
  if (age) ck_assert_int_eq(utimensat(AT_FDCWD, name, (struct timespec[]){now, now}, 0), 0);
}

static inline void put_in(const char *name, const char *text, int age) {
  char whole[160];
  snprintf(whole, sizeof whole, "%s/%s", waiting, name);
  put(whole, text, age);
}

static inline void put_rank(int rank, int age) {
  char name[160];
  snprintf(name, sizeof name, "%s/run.rank%d.h5", folder, rank);
  put(name, "", age);
}

static inline int is_there(const char *name) { return access(name, F_OK) == 0; }

static inline void check_asked(struct lsc_roll *roll, const char *expected) {
  char text[1024] = OWN;
  ck_assert_int_eq(lsc_roll_ask(roll, 0, text, sizeof text), 1);
  ck_assert_msg(strncmp(text, expected, strlen(expected)) == 0, "%s", text);
}

#endif
