/* SPDX-License-Identifier: BSD-3-Clause */
#include "roll_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "collect.h"
#include "lanescope.h"
#include "text.h"

/* Of the names of file and job, so that the whole stays below 255 bytes. */
#define MOST_OF_NAME 150
#define MOST_OF_JOB 80

/* Two for each time that others remove the folder while this rank enters. */
#define TRIES 100

/* No rank that waits leaves its entry alone for so long, however wrong the clocks of machines are. */
#define LONG_AGO_S 3600

static const char suffix[] = ".waiting";
static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";

int lsc_roll_folder_name(struct lsc_roll_folder *folder, const char *path, const char *job, int rank) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  size_t length = strlen(name);
  char word[MOST_OF_JOB + 2] = "";
  if (job) snprintf(word, sizeof word, "-%s", job);
  for (size_t at = 0; word[at += strspn(word + at, safe)];) word[at] = '_';
  if (length > MOST_OF_NAME) name += length - MOST_OF_NAME; /* numbers stand at the end */
  snprintf(folder->entry, sizeof folder->entry, "%d", rank);
  folder->path = lsc_text("%.*s.%s%s%s", slash ? (int)(slash + 1 - path) : 0, path, name, suffix, word);
  return folder->path != NULL;
}

int lsc_roll_folder_exists(const struct lsc_roll_folder *folder) { return access(folder->path, F_OK) == 0; }

int64_t lsc_roll_folder_now(const struct lsc_roll_folder *folder) { return lsc_now_ns() + folder->ahead; }

static int64_t time_of(const struct stat *info) {
  return (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec;
}

int64_t lsc_roll_file_time(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 ? time_of(&info) : INT64_MIN;
}

static int64_t time_in(int folder, const char *name) {
  struct stat info;
  return fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) == 0 ? time_of(&info) : INT64_MIN;
}

static int open_folder(const struct lsc_roll_folder *folder) {
  return open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* 1 if the job runs on several machines and this folder is of a kind that each has for itself. */
static int is_local(int folder) {
  static const unsigned long kinds[] = {BTRFS_SUPER_MAGIC, EXT4_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC,
                                        RAMFS_MAGIC,       TMPFS_MAGIC,      XFS_SUPER_MAGIC};
  struct statfs info;
  int rank, size;
  lsc_launcher_rank(&rank, &size);
  if (lsc_launcher_neighbours() >= size || fstatfs(folder, &info) < 0) return 0;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if ((unsigned long)info.f_type == kinds[i]) return 1;
  }
  return 0;
}

static int touch_in(int place, struct lsc_roll_folder *folder, int64_t *time) {
  struct stat info;
  int file = openat(place, folder->entry, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
  if (file < 0) return 0;
  int done = futimens(file, NULL) == 0 && fstat(file, &info) == 0;
  int64_t now = lsc_now_ns();
  close(file);
  if (!done) return 0;
  *time = time_of(&info);
  folder->ahead = *time - now;
  return 1;
}

int lsc_roll_folder_touch(struct lsc_roll_folder *folder, int64_t *time) {
  for (int tries = 0; tries < TRIES; tries++) {
    int place = open_folder(folder);
    if (place < 0) {
      if (errno != ENOENT || (mkdir(folder->path, 0777) < 0 && errno != EEXIST)) return 0;
      continue;
    }
    int is_alone = is_local(place), done = !is_alone && touch_in(place, folder, time), is_gone = errno == ENOENT;
    close(place);
    if (is_alone) rmdir(folder->path);
    if (done) return 1;
    if (is_alone || !is_gone) return 0;
  }
  return 0;
}

/* The rank whose entry it is, or -1. */
static int rank_of(const char *name) {
  size_t digits = strspn(name, "0123456789");
  if (!digits || digits > 10 || name[digits]) return -1;
  long rank = strtol(name, NULL, 10);
  return rank <= INT_MAX ? (int)rank : -1;
}

/* A stream over the folder; NULL if it is gone. */
static DIR *entries_of(const struct lsc_roll_folder *folder) {
  int place = open_folder(folder);
  DIR *entries = place < 0 ? NULL : fdopendir(place);
  if (!entries && place >= 0) close(place);
  return entries;
}

void lsc_roll_folder_list(const struct lsc_roll_folder *folder, int64_t since, int size, unsigned char *here) {
  DIR *entries = entries_of(folder);
  if (!entries) return;
  for (struct dirent *entry; (entry = readdir(entries));) {
    int rank = rank_of(entry->d_name);
    if (rank >= 0 && rank < size && time_in(dirfd(entries), entry->d_name) >= since) here[rank] = 1;
  }
  closedir(entries);
}

int lsc_roll_folder_claim(const struct lsc_roll_folder *folder, const char *name) {
  int place = open_folder(folder);
  if (place < 0) return -2;
  int file = openat(place, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  int is_there = file < 0 && errno == EEXIST;
  close(place);
  return file >= 0 ? file : is_there ? -1 : -2;
}

void lsc_roll_folder_forget(const struct lsc_roll_folder *folder, const char *name, int64_t since) {
  int place = open_folder(folder);
  if (place < 0) return;
  int64_t time = time_in(place, name);
  if (time != INT64_MIN && time < since) unlinkat(place, name, 0);
  close(place);
}

int lsc_roll_folder_read(const struct lsc_roll_folder *folder, const char *name, char *text, size_t size) {
  int place = open_folder(folder);
  int file = place < 0 ? -1 : openat(place, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  ssize_t length = file < 0 ? -1 : read(file, text, size - 1);
  if (file >= 0) close(file);
  if (place >= 0) close(place);
  text[length < 0 ? 0 : length] = 0;
  char *end = strchr(text, '\n');
  if (end) *end = 0;
  return end != NULL;
}

/* 1 if a rank is still in the folder. */
static int is_inhabited(DIR *entries, int64_t since) {
  for (struct dirent *entry; (entry = readdir(entries));) {
    if (rank_of(entry->d_name) >= 0 && time_in(dirfd(entries), entry->d_name) >= since) return 1;
  }
  return 0;
}

void lsc_roll_folder_leave(const struct lsc_roll_folder *folder, int64_t since) {
  DIR *entries = entries_of(folder);
  if (!entries) return;
  unlinkat(dirfd(entries), folder->entry, 0);
  if (!is_inhabited(entries, since)) {
    rewinddir(entries);
    for (struct dirent *entry; (entry = readdir(entries));) {
      if (rank_of(entry->d_name) < 0 || time_in(dirfd(entries), entry->d_name) < since) {
        unlinkat(dirfd(entries), entry->d_name, 0);
      }
    }
    rmdir(folder->path);
  }
  closedir(entries);
}

int lsc_roll_is_of(const char *hidden, const char *name) {
  size_t length = strlen(name), more = sizeof suffix - 1;
  if (hidden[0] != '.' || strncmp(hidden + 1, name, length) != 0) return 0;
  const char *rest = hidden + 1 + length;
  return strncmp(rest, suffix, more) == 0 && (!rest[more] || rest[more] == '-');
}

/* 1 if nobody has used it for long, and it holds nothing else. */
static int is_abandoned(DIR *entries) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  int64_t since = (int64_t)(now.tv_sec - LONG_AGO_S) * 1000000000;
  for (struct dirent *entry; (entry = readdir(entries));) {
    const char *name = entry->d_name;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
    if (rank_of(name) < 0 && strcmp(name, "missing") != 0 && strcmp(name, "spoken") != 0) return 0;
    if (time_in(dirfd(entries), name) >= since) return 0;
  }
  return 1;
}

void lsc_roll_folder_clean(int place, const char *hidden) {
  int file = openat(place, hidden, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *entries = file < 0 ? NULL : fdopendir(file);
  if (!entries && file >= 0) close(file);
  if (!entries) return;
  if (is_abandoned(entries)) {
    rewinddir(entries);
    for (struct dirent *entry; (entry = readdir(entries));) unlinkat(file, entry->d_name, 0);
    unlinkat(place, hidden, AT_REMOVEDIR);
  }
  closedir(entries);
}
