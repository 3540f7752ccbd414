/* SPDX-License-Identifier: BSD-3-Clause */
#include "temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "random.h"
#include "roll_folder.h"
#include "text.h"

#define SUFFIX ".lanescope-tmp"
#define MAX_NAME_PART 100 /* bytes of the target's name, so that the whole stays below 255 */
#define MAX_TAG 120

/* `.<host>-<pid namespace>-`: where a pid means the same process as here. */
static void make_tag(char tag[MAX_TAG]) {
  char host[65] = "", space[64] = "";
  if (gethostname(host, sizeof host - 1) < 0) host[0] = 0;
  for (char *c = host; *c; c++) {
    if (*c == '/') *c = '_';
  }
  ssize_t length = readlink("/proc/self/ns/pid", space, sizeof space - 1);
  space[length < 0 ? 0 : length] = 0;
  unsigned long long number = 0;
  sscanf(space, "pid:[%llu]", &number);
  snprintf(tag, MAX_TAG, ".%s-%llu-", host, number);
}

char *lsc_temporary_name(const char *folder, const char *name) {
  char tag[MAX_TAG];
  make_tag(tag);
  return lsc_text("%s%s.%.*s%s%ld-%016llx" SUFFIX, folder, strcmp(folder, "/") == 0 ? "" : "/", MAX_NAME_PART, name,
                  tag, (long)getpid(), (unsigned long long)lsc_random_bits());
}

/* 1 if the name is that of a temporary file of a process that is gone, of this host and pid namespace. */
static int is_stale(const char *name, const char *tag) {
  const char *at = name[0] == '.' ? strstr(name + 1, tag) : NULL;
  if (!at) return 0;
  char *end;
  errno = 0;
  long pid = strtol(at + strlen(tag), &end, 10);
  if (errno || pid <= 0 || *end != '-') return 0;
  if (strspn(end + 1, "0123456789abcdef") != 16 || strcmp(end + 17, SUFFIX) != 0) return 0;
  return kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

void lsc_temporary_clean(const char *folder, const char *name) {
  char tag[MAX_TAG];
  make_tag(tag);
  DIR *entries = opendir(folder);
  if (!entries) return;
  for (struct dirent *entry; (entry = readdir(entries));) {
    if (is_stale(entry->d_name, tag)) unlinkat(dirfd(entries), entry->d_name, 0);
    else if (lsc_roll_is_of(entry->d_name, name)) lsc_roll_folder_clean(dirfd(entries), entry->d_name);
  }
  closedir(entries);
}
