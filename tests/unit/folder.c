/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* nftw */
#include "folder.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

char folder[PATH_MAX];

void enter_folder(void) {
  char name[] = "/tmp/lanescope-unit-XXXXXX";
  ck_assert_ptr_nonnull(mkdtemp(name));
  ck_assert_ptr_nonnull(realpath(name, folder));
  ck_assert_int_eq(chdir(folder), 0);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *place) {
  (void)info, (void)kind, (void)place;
  return remove(path);
}

void leave_folder(void) {
  ck_assert_int_eq(chdir("/"), 0);
  ck_assert_int_eq(nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

int temporaries(void) {
  int count = 0;
  DIR *entries = opendir(folder);
  ck_assert_ptr_nonnull(entries);
  for (struct dirent *entry; (entry = readdir(entries));) {
    if (strstr(entry->d_name, ".lanescope-tmp")) count++;
  }
  closedir(entries);
  return count;
}
