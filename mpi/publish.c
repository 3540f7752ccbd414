/* SPDX-License-Identifier: BSD-3-Clause */
#include "publish.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "message.h"
#include "step.h"
#include "temporary.h"
#include "text.h"

#define MAX_LINKS 40

/* The folder part of a path as a new string: "." for a bare name, "/" for one in the root. */
static char *folder_of(const char *path) {
  const char *slash = strrchr(path, '/');
  if (!slash) return strdup(".");
  return slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

static const char *name_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static char *join(const char *folder, const char *name) {
  return lsc_text("%s%s%s", folder, strcmp(folder, "/") == 0 ? "" : "/", name);
}

static lsc_status no_memory(const char *path) { return lsc_fail(LSC_NO_MEMORY, "no memory to write '%s'", path); }

/* Where a symbolic link points, seen from the folder of the link; NULL with errno. */
static char *follow(const char *path) {
  char value[PATH_MAX];
  ssize_t length = readlink(path, value, sizeof value - 1);
  if (length < 0) return NULL;
  value[length] = 0;
  if (value[0] == '/') return strdup(value);
  char *folder = folder_of(path);
  char *next = folder ? join(folder, value) : NULL;
  free(folder);
  return next;
}

/* Follows symbolic links of the last part of the path, also to a file that is not there yet. NULL with errno. */
static char *follow_all(const char *path) {
  char *at = strdup(path);
  for (int links = 0; at; links++) {
    struct stat info;
    if (lstat(at, &info) < 0 || !S_ISLNK(info.st_mode)) return at;
    char *next = links < MAX_LINKS ? follow(at) : NULL;
    if (links == MAX_LINKS) errno = ELOOP;
    free(at);
    at = next;
  }
  return NULL;
}

static lsc_status check_existing(const char *path) {
  struct stat info;
  if (stat(path, &info) < 0) {
    if (errno == ENOENT) return LSC_OK;
    return lsc_fail(LSC_IO, "cannot look at '%s': %s", path, strerror(errno));
  }
  if (S_ISDIR(info.st_mode)) return lsc_fail(LSC_IO, "'%s' is a folder: give the name of a file in it", path);
  if (!S_ISREG(info.st_mode)) return lsc_fail(LSC_IO, "'%s' is not a regular file: give another name", path);
  return LSC_OK;
}

static lsc_status check_folder(const char *folder, const char *path) {
  struct stat info;
  if (stat(folder, &info) < 0) {
    if (errno == ENOENT) {
      return lsc_fail(LSC_IO, "cannot write '%s': there is no folder '%s'; make it first", path, folder);
    }
    return lsc_fail(LSC_IO, "cannot write '%s': folder '%s': %s", path, folder, strerror(errno));
  }
  if (!S_ISDIR(info.st_mode)) return lsc_fail(LSC_IO, "cannot write '%s': '%s' is not a folder", path, folder);
  return LSC_OK;
}

static lsc_status make_temporary(struct lsc_target *target, const char *path, const char *folder) {
  lsc_status status = lsc_step(LSC_STEP_TEMPORARY);
  int file = status ? -1 : open(target->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file < 0) {
    if (!status) {
      status = lsc_fail(LSC_IO, "cannot write '%s': no file can be made in folder '%s': %s", path, folder,
                        strerror(errno));
    }
    free(target->temporary);
    target->temporary = NULL;
    return status;
  }
  close(file);
  return LSC_OK;
}

/* found: the path that is to be replaced, no longer a link, maybe relative. */
static lsc_status choose_names(struct lsc_target *target, const char *found) {
  lsc_status status = LSC_OK;
  char *absolute = NULL, *folder = folder_of(found);
  if (!folder) return no_memory(found);
  if ((status = check_folder(folder, found))) goto out;
  if (!(absolute = realpath(folder, NULL))) {
    status = lsc_fail(LSC_IO, "cannot write '%s': folder '%s': %s", found, folder, strerror(errno));
    goto out;
  }
  target->path = join(absolute, name_of(found));
  target->temporary = lsc_temporary_name(absolute, name_of(found));
  if (!target->path || !target->temporary) {
    status = no_memory(found);
    goto out;
  }
  lsc_temporary_clean(absolute, name_of(found));
  status = make_temporary(target, found, absolute);
out:
  free(absolute);
  free(folder);
  return status;
}

lsc_status lsc_target_open(struct lsc_target *target, const char *path) {
  lsc_status status = lsc_step(LSC_STEP_TARGET);
  memset(target, 0, sizeof *target);
  if (status) return status;
  if (!path || !*path) return lsc_fail(LSC_INVALID, "the path of the file is empty");
  char *found = follow_all(path);
  if (!found) return lsc_fail(LSC_IO, "cannot follow the link '%s': %s", path, strerror(errno));
  status = check_existing(found);
  if (!status && !*name_of(found)) {
    status = lsc_fail(LSC_IO, "'%s' names a folder: give the name of a file in it", path);
  }
  if (!status) status = choose_names(target, found);
  free(found);
  if (status) lsc_target_close(target);
  return status;
}

/* Some file systems cannot sync, which is no reason to give up the file. */
static lsc_status sync_file(const char *path, mode_t *mode) {
  struct stat info;
  lsc_status status = LSC_OK;
  int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return lsc_fail(LSC_IO, "cannot open '%s' to sync it: %s", path, strerror(errno));
  if (mode && fchmod(file, *mode) < 0 && fstat(file, &info) == 0 && (info.st_mode & 0777) != *mode) {
    status = lsc_fail(LSC_IO, "cannot set the mode of '%s' to %o: %s", path, (unsigned)*mode, strerror(errno));
  } else if (fsync(file) < 0 && errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) {
    status = lsc_fail(LSC_IO, "cannot sync '%s': %s", path, strerror(errno));
  }
  close(file);
  return status;
}

lsc_status lsc_file_sync(const char *path) { return sync_file(path, NULL); }

/* What the rename did becomes durable. Too late to fail: the file stands under its name. */
static void sync_folder(const char *path) {
  char *folder = folder_of(path);
  int file = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  if (file >= 0) {
    fsync(file);
    close(file);
  }
  free(folder);
}

lsc_status lsc_target_publish(struct lsc_target *target) {
  struct stat old;
  int exists = stat(target->path, &old) == 0;
  mode_t mode = exists ? old.st_mode & 0777 : 0;
  lsc_status status = lsc_step(LSC_STEP_SYNC);
  if (!status) status = sync_file(target->temporary, exists ? &mode : NULL);
  if (!status) status = lsc_step(LSC_STEP_RENAME);
  if (status) return status;
  if (rename(target->temporary, target->path) < 0) {
    return lsc_fail(LSC_IO, "cannot put '%s' in its place: %s", target->path, strerror(errno));
  }
  sync_folder(target->path);
  free(target->temporary);
  target->temporary = NULL;
  return LSC_OK;
}

void lsc_target_close(struct lsc_target *target) {
  if (target->temporary) unlink(target->temporary);
  free(target->temporary);
  free(target->path);
  memset(target, 0, sizeof *target);
}
