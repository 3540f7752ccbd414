/* SPDX-License-Identifier: BSD-3-Clause */
/* A file under its name: whole or not at all, wherever the path leads. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "folder.h"
#include "publish.h"
#include "temporary.h"
#include "unit.h"

#define NOBODY 65534

static void put(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  ck_assert_int_ge(fputs(text, file), 0);
  ck_assert_int_eq(fclose(file), 0);
}

static void check_holds(const char *path, const char *text) {
  char found[64] = "";
  FILE *file = fopen(path, "r");
  ck_assert_msg(file != NULL, "no file %s", path);
  found[fread(found, 1, sizeof found - 1, file)] = 0;
  fclose(file);
  ck_assert_str_eq(found, text);
}

static unsigned mode_of(const char *path) {
  struct stat info;
  ck_assert_int_eq(lstat(path, &info), 0);
  return info.st_mode & 07777;
}

static int is_link(const char *path) {
  struct stat info;
  return lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
}

/* Writes `text` to a path as a collect does. */
static void publish(const char *path, const char *text) {
  struct lsc_target target;
  ck_assert_int_eq(lsc_target_open(&target, path), LSC_OK);
  put(target.temporary, text);
  ck_assert_int_eq(lsc_target_publish(&target), LSC_OK);
  lsc_target_close(&target);
  ck_assert_int_eq(temporaries(), 0);
}

/* The path is refused with a message that holds `part`, and nothing is left behind. */
static void check_refused(const char *path, lsc_status expected, const char *part) {
  struct lsc_target target;
  lsc_status status = lsc_target_open(&target, path);
  ck_assert_msg(status == expected, "%s: %s", lsc_strerror(status), lsc_message());
  ck_assert_ptr_null(target.path);
  ck_assert_ptr_null(target.temporary);
  ck_assert_msg(strstr(lsc_message(), part) != NULL, "no '%s' in: %s", part, lsc_message());
  ck_assert_int_eq(temporaries(), 0);
}

START_TEST(a_new_file_follows_the_umask) {
  umask(027);
  publish("new.h5", "new");
  check_holds("new.h5", "new");
  ck_assert_uint_eq(mode_of("new.h5"), 0640);
}
END_TEST

START_TEST(an_old_file_stays_until_the_new_one_is_whole) {
  struct lsc_target target;
  put("run.h5", "old");
  ck_assert_int_eq(lsc_target_open(&target, "run.h5"), LSC_OK);
  put(target.temporary, "half");
  check_holds("run.h5", "old");
  lsc_target_close(&target);
  check_holds("run.h5", "old");
  ck_assert_int_eq(temporaries(), 0);
}
END_TEST

START_TEST(an_old_file_gives_its_mode) {
  put("run.h5", "old");
  ck_assert_int_eq(chmod("run.h5", 0604), 0);
  umask(077);
  publish("run.h5", "new");
  check_holds("run.h5", "new");
  ck_assert_uint_eq(mode_of("run.h5"), 0604);
}
END_TEST

START_TEST(who_reads_the_old_file_goes_on) {
  char text[8] = "";
  put("run.h5", "old");
  int reader = open("run.h5", O_RDONLY);
  publish("run.h5", "new");
  ck_assert_int_eq(read(reader, text, sizeof text), 3);
  ck_assert_str_eq(text, "old");
  close(reader);
  check_holds("run.h5", "new");
}
END_TEST

START_TEST(links_are_followed) {
  char absolute[PATH_MAX + 16];
  ck_assert_int_eq(mkdir("sub", 0777), 0);
  put("sub/real.h5", "old");
  ck_assert_int_eq(symlink("sub/real.h5", "relative.h5"), 0);
  snprintf(absolute, sizeof absolute, "%s/relative.h5", folder);
  ck_assert_int_eq(symlink(absolute, "twice.h5"), 0);
  publish("twice.h5", "new");
  check_holds("sub/real.h5", "new");
  ck_assert_int_eq(symlink("sub/later.h5", "dangling.h5"), 0);
  publish("dangling.h5", "later");
  check_holds("sub/later.h5", "later");
  ck_assert(is_link("twice.h5") && is_link("relative.h5") && is_link("dangling.h5"));
  ck_assert_int_eq(symlink("loop.h5", "loop.h5"), 0);
  check_refused("loop.h5", LSC_IO, "loop.h5");
  unlink("sub/real.h5");
  unlink("sub/later.h5");
}
END_TEST

START_TEST(the_target_is_absolute) {
  char expected[PATH_MAX + 16];
  struct lsc_target target;
  ck_assert_int_eq(lsc_target_open(&target, "./run.h5"), LSC_OK);
  snprintf(expected, sizeof expected, "%s/run.h5", folder);
  ck_assert_str_eq(target.path, expected);
  ck_assert_int_eq(chdir("/"), 0);
  put(target.temporary, "text");
  ck_assert_int_eq(lsc_target_publish(&target), LSC_OK);
  check_holds(expected, "text");
  lsc_target_close(&target);
}
END_TEST

START_TEST(what_is_no_file_is_refused) {
  ck_assert_int_eq(mkdir("sub", 0777), 0);
  ck_assert_int_eq(mkfifo("pipe.h5", 0666), 0);
  put("file", "text");
  check_refused("sub", LSC_IO, "is a folder");
  check_refused("sub/", LSC_IO, "is a folder");
  check_refused("fresh/", LSC_IO, "names a folder");
  check_refused("pipe.h5", LSC_IO, "not a regular file");
  check_refused("file/run.h5", LSC_IO, "file/run.h5");
  check_refused("nowhere/run.h5", LSC_IO, "there is no folder 'nowhere'");
  check_refused("/proc/run.h5", LSC_IO, "/proc/run.h5");
  check_refused("", LSC_INVALID, "empty");
  check_refused(NULL, LSC_INVALID, "empty");
}
END_TEST

START_TEST(a_folder_without_permission_is_named) {
  char path[PATH_MAX + 16];
  ck_assert_int_eq(mkdir("closed", 0555), 0);
  snprintf(path, sizeof path, "%s/closed/run.h5", folder);
  ck_assert_int_eq(chmod(folder, 0755), 0);
  pid_t child = fork();
  if (child == 0) {
    struct lsc_target target;
    if (geteuid() == 0 && setuid(NOBODY) < 0) _exit(2);
    if (lsc_target_open(&target, path) != LSC_IO) _exit(3);
    _exit(strstr(lsc_message(), "closed': Permission denied") ? 0 : 4);
  }
  int how = 0;
  ck_assert_int_eq(waitpid(child, &how, 0), child);
  ck_assert(WIFEXITED(how));
  ck_assert_int_eq(WEXITSTATUS(how), 0);
}
END_TEST

/* A process that leaves its temporary file behind, and lives until the pipe is closed. */
static pid_t leave_temporary(int until[2]) {
  char word;
  int ready[2];
  ck_assert_int_eq(pipe(until), 0);
  ck_assert_int_eq(pipe(ready), 0);
  pid_t child = fork();
  if (child == 0) {
    struct lsc_target target;
    close(until[1]);
    if (lsc_target_open(&target, "run.h5") != LSC_OK || write(ready[1], "x", 1) != 1) _exit(1);
    _exit(read(until[0], &word, 1) == 0 ? 0 : 1);
  }
  close(until[0]);
  ck_assert_int_eq(read(ready[0], &word, 1), 1);
  close(ready[0]);
  close(ready[1]);
  return child;
}

START_TEST(only_dead_processes_lose_their_temporaries) {
  int until[2], how;
  put(".run.h5.elsewhere-1-1-0123456789abcdef.lanescope-tmp", "of another host");
  pid_t child = leave_temporary(until);
  ck_assert_int_eq(temporaries(), 2);
  lsc_temporary_clean(folder, "run.h5");
  ck_assert_int_eq(temporaries(), 2);
  close(until[1]);
  ck_assert_int_eq(waitpid(child, &how, 0), child);
  ck_assert(WIFEXITED(how) && WEXITSTATUS(how) == 0);
  lsc_temporary_clean(folder, "run.h5");
  ck_assert_int_eq(temporaries(), 1);
  check_holds(".run.h5.elsewhere-1-1-0123456789abcdef.lanescope-tmp", "of another host");
}
END_TEST

START_TEST(a_long_name_has_room_for_a_temporary_one) {
  char name[256];
  memset(name, 'n', 255);
  name[255] = 0;
  publish(name, "long");
  check_holds(name, "long");
}
END_TEST

START_TEST(a_publish_that_fails_leaves_the_old_file) {
  struct lsc_target target;
  put("run.h5", "old");
  ck_assert_int_eq(lsc_target_open(&target, "run.h5"), LSC_OK);
  ck_assert_int_eq(unlink(target.temporary), 0);
  ck_assert_int_eq(lsc_target_publish(&target), LSC_IO);
  check_holds("run.h5", "old");
  lsc_target_close(&target);
}
END_TEST

UNIT_MAIN_AROUND("publish", enter_folder, leave_folder, a_new_file_follows_the_umask,
          an_old_file_stays_until_the_new_one_is_whole, an_old_file_gives_its_mode, who_reads_the_old_file_goes_on,
          links_are_followed, the_target_is_absolute, what_is_no_file_is_refused, a_folder_without_permission_is_named,
          only_dead_processes_lose_their_temporaries, a_long_name_has_room_for_a_temporary_one,
          a_publish_that_fails_leaves_the_old_file)
