/* SPDX-License-Identifier: BSD-3-Clause */
/* Who waits for the others: entries in a folder, one that finds out who is missing, and one that speaks. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "lanescope.h"
#include "roll.h"
#include "temporary.h"
#include "unit.h"

#define SECOND 1000000000ll
#define NOBODY 65534
#define OWN "rank 1 heard nothing"

static char folder[64], path[96], waiting[128];
static int64_t opened; /* of all sessions */

static void enter_folder(void) {
  strcpy(folder, "/tmp/lanescope-roll-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/run.h5", folder);
  snprintf(waiting, sizeof waiting, "%s/.run.h5.waiting-job", folder);
  setenv("PMIX_NAMESPACE", "job", 1);
  opened = lsc_now_ns();
}

/* Nothing but that many files of ranks is left in it. */
static void leave_folder(int files) {
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

static void begin(struct lsc_roll *roll, int rank, int size) {
  *roll = (struct lsc_roll){.path = path, .rank = rank, .size = size, .opened = opened};
  roll->limit = SECOND / 5;
  roll->timeout = 2 * SECOND;
  lsc_roll_begin(roll);
}

static void pause_ms(long ms) { nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL); }

/* Waits as a rank does, until it has entered; at most that long. */
static void wait_in(struct lsc_roll *roll, int ms) {
  for (int turn = 0; turn < ms && !roll->entered; turn++) {
    lsc_roll_wait(turn == 0);
    pause_ms(1);
  }
}

/* A rank that has waited for long. */
static void come(struct lsc_roll *roll, int rank, int size) {
  begin(roll, rank, size);
  wait_in(roll, 20000);
  ck_assert_int_ne(roll->entered, 0);
}

/* A file that was written `age` seconds ago; ago 0: now. */
static void put(const char *name, const char *text, int age) {
  FILE *file = fopen(name, "w");
  ck_assert_msg(file != NULL, "no file %s", name);
  ck_assert_int_ge(fputs(text, file), 0);
  ck_assert_int_eq(fclose(file), 0);
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  now.tv_sec -= age;
  if (age) ck_assert_int_eq(utimensat(AT_FDCWD, name, (struct timespec[]){now, now}, 0), 0);
}

static void put_in(const char *name, const char *text, int age) {
  char whole[160];
  snprintf(whole, sizeof whole, "%s/%s", waiting, name);
  put(whole, text, age);
}

static void put_rank(int rank, int age) {
  char name[160];
  snprintf(name, sizeof name, "%s/run.rank%d.h5", folder, rank);
  put(name, "", age);
}

static int is_there(const char *name) { return access(name, F_OK) == 0; }

static void check_asked(struct lsc_roll *roll, const char *expected) {
  char text[1024] = OWN;
  ck_assert_int_eq(lsc_roll_ask(roll, 0, text, sizeof text), 1);
  ck_assert_msg(strncmp(text, expected, strlen(expected)) == 0, "%s", text);
}

START_TEST(who_waits_shortly_makes_nothing) {
  enter_folder();
  struct lsc_roll roll;
  begin(&roll, 0, 3);
  roll.limit = 3600 * SECOND;
  wait_in(&roll, 300);
  ck_assert(!is_there(waiting));
  lsc_roll_end(&roll);
  begin(&roll, 0, 1);
  roll.limit = SECOND / 100;
  wait_in(&roll, 300);
  ck_assert_int_eq(roll.entered, 0);
  lsc_roll_end(&roll);
  leave_folder(0);
}
END_TEST

START_TEST(who_sees_others_wait_enters) {
  enter_folder();
  struct lsc_roll first, second;
  come(&first, 2, 3);
  begin(&second, 0, 3);
  second.limit = second.timeout = 3600 * SECOND;
  wait_in(&second, 20000);
  ck_assert_int_ne(second.entered, 0);
  char name[160];
  snprintf(name, sizeof name, "%s/0", waiting);
  ck_assert(is_there(name));
  lsc_roll_end(&second);
  ck_assert(!is_there(name) && is_there(waiting));
  lsc_roll_end(&first);
  ck_assert(!is_there(waiting));
  leave_folder(0);
}
END_TEST

START_TEST(the_first_finds_out_for_all) {
  enter_folder();
  struct lsc_roll one, three;
  come(&one, 1, 6);
  come(&three, 3, 6);
  check_asked(&one, "ranks 0, 2 and 4-5 did not arrive at step 'arrive' within ");
  struct lsc_roll four;
  come(&four, 4, 6);
  check_asked(&three, "ranks 0, 2 and 4-5 did not arrive at step 'arrive' within ");
  check_asked(&four, "ranks 0, 2 and 4-5 did");
  ck_assert_int_eq(lsc_roll_speaks(&three), 1);
  ck_assert_int_eq(lsc_roll_speaks(&one), 0);
  ck_assert_int_eq(lsc_roll_speaks(&four), 0);
  lsc_roll_end(&one);
  lsc_roll_end(&three);
  ck_assert(is_there(waiting));
  lsc_roll_end(&four);
  leave_folder(0);
}
END_TEST

static void (*in_sleep)(void);

int __real_nanosleep(const struct timespec *wanted, struct timespec *left);
int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left);
int __wrap_nanosleep(const struct timespec *wanted, struct timespec *left) {
  if (in_sleep) in_sleep();
  return __real_nanosleep(wanted, left);
}

static void rank_2_enters(void) { put_in("2", "", 0); }

/* A limit so short that nobody has entered: this one gives the others a moment to do so. */
START_TEST(who_comes_at_the_last_moment_counts) {
  enter_folder();
  struct lsc_roll roll;
  begin(&roll, 1, 4);
  in_sleep = rank_2_enters;
  check_asked(&roll, "ranks 0 and 3 did not arrive");
  in_sleep = NULL;
  lsc_roll_end(&roll);
  put_in("2", "", 60);
  come(&roll, 1, 4);
  lsc_roll_end(&roll);
  leave_folder(0);
}
END_TEST

START_TEST(the_step_is_named) {
  enter_folder();
  struct lsc_roll roll;
  begin(&roll, 1, 2);
  lsc_roll_step("create");
  check_asked(&roll, "rank 0 did not arrive at step 'create' within 0");
  lsc_roll_end(&roll);
  leave_folder(0);
}
END_TEST

START_TEST(everybody_is_there) {
  enter_folder();
  struct lsc_roll zero, one;
  come(&zero, 0, 2);
  come(&one, 1, 2);
  check_asked(&one, OWN);
  ck_assert_int_eq(lsc_roll_speaks(&one), 1);
  lsc_roll_end(&one);
  lsc_roll_end(&zero);
  leave_folder(0);
}
END_TEST

START_TEST(what_is_old_does_not_count) {
  enter_folder();
  ck_assert_int_eq(mkdir(waiting, 0777), 0);
  put_in("0", "", 60);
  put_in("2", "", 3);
  put_in("missing", "rank 9 did not arrive\n", 60);
  put_in("spoken", "", 60);
  put_rank(3, 60);
  struct lsc_roll roll;
  come(&roll, 1, 5);
  put_in("4", "", 0);
  check_asked(&roll, "ranks 0 and 2-3 did not arrive");
  ck_assert_int_eq(lsc_roll_speaks(&roll), 1);
  lsc_roll_end(&roll);
  ck_assert(is_there(waiting));
  put_in("4", "", 60);
  come(&roll, 1, 5);
  lsc_roll_end(&roll);
  leave_folder(1);
}
END_TEST

START_TEST(an_entry_is_touched_while_its_rank_waits) {
  enter_folder();
  struct lsc_roll one;
  come(&one, 1, 2);
  put_in("1", "", 60);
  for (int turn = 0; turn < 1000; turn++) {
    lsc_roll_wait(turn == 0);
    pause_ms(1);
  }
  struct lsc_roll zero;
  come(&zero, 0, 2);
  check_asked(&zero, OWN);
  lsc_roll_end(&one);
  lsc_roll_end(&zero);
  leave_folder(0);
}
END_TEST

/* What ranks that are gone have left: others were there before this one came, or gave up while it waited. */
START_TEST(files_of_ranks_count) {
  enter_folder();
  for (int turn = 0; turn < 3; turn++) {
    struct lsc_roll roll, other;
    pause_ms(50);
    if (turn == 0) put_rank(2, 0);
    pause_ms(50);
    begin(&roll, 1, 4);
    if (turn == 1) put_rank(2, 0);
    pause_ms(50);
    wait_in(&roll, 20000);
    pause_ms(50);
    if (turn == 2) put_rank(2, 0);
    check_asked(&roll, "ranks 0 and 3 did not arrive");
    come(&other, 3, 4);
    check_asked(&other, "ranks 0 and 3 did not arrive");
    ck_assert_int_eq(lsc_roll_speaks(&other), turn == 2);
    ck_assert_int_eq(lsc_roll_speaks(&roll), 0);
    lsc_roll_end(&roll);
    lsc_roll_end(&other);
  }
  leave_folder(1);
}
END_TEST

/* Rank 0 knows by itself who is missing; it is silent if others had gone when it came. */
START_TEST(a_verdict_stays) {
  enter_folder();
  for (int is_late = 0; is_late < 2; is_late++) {
    char text[1024] = "the verdict";
    struct lsc_roll roll = {.path = path, .size = 4, .opened = opened, .limit = SECOND, .timeout = SECOND};
    if (is_late) pause_ms(100);
    lsc_roll_begin(&roll);
    if (!is_late) pause_ms(100);
    if (!is_late) put_rank(2, 0);
    pause_ms(50);
    ck_assert_int_eq(lsc_roll_ask(&roll, 1, text, sizeof text), 1);
    ck_assert_str_eq(text, "the verdict");
    struct lsc_roll other;
    come(&other, 1, 4);
    check_asked(&other, "the verdict");
    ck_assert_int_eq(lsc_roll_speaks(&roll), !is_late);
    lsc_roll_end(&other);
    lsc_roll_end(&roll);
  }
  leave_folder(1);
}
END_TEST

START_TEST(nobody_writes_down_who_is_missing) {
  enter_folder();
  struct lsc_roll roll;
  come(&roll, 1, 2);
  put_in("missing", "rank 0 did not arr", 0);
  check_asked(&roll, OWN);
  ck_assert_int_eq(lsc_roll_speaks(&roll), 1);
  lsc_roll_end(&roll);
  leave_folder(0);
}
END_TEST

START_TEST(a_folder_that_is_gone_is_made_again) {
  enter_folder();
  struct lsc_roll roll;
  come(&roll, 1, 2);
  char name[160];
  snprintf(name, sizeof name, "%s/1", waiting);
  ck_assert_int_eq(unlink(name), 0);
  ck_assert_int_eq(rmdir(waiting), 0);
  check_asked(&roll, "rank 0 did not arrive");
  ck_assert_int_eq(lsc_roll_speaks(&roll), 1);
  lsc_roll_end(&roll);
  leave_folder(0);
}
END_TEST

/* 1 if there is no roll, whatever is asked, and nothing is left of it. */
static int has_no_roll(void) {
  char text[1024] = OWN;
  struct lsc_roll roll;
  begin(&roll, 1, 2);
  roll.limit = SECOND / 10;
  wait_in(&roll, 300);
  int has_none = !lsc_roll_ask(&roll, 0, text, sizeof text) && strcmp(text, OWN) == 0 && !roll.entered;
  lsc_roll_end(&roll);
  return has_none;
}

START_TEST(there_can_be_no_folder) {
  enter_folder();
  put(waiting, "", 0);
  ck_assert(has_no_roll());
  ck_assert_int_eq(unlink(waiting), 0);
  ck_assert_int_eq(symlink("/tmp", waiting), 0);
  ck_assert(has_no_roll());
  ck_assert_int_eq(unlink(waiting), 0);
  snprintf(path, sizeof path, "%s/none/run.h5", folder);
  ck_assert(has_no_roll());
  path[0] = 0;
  ck_assert(has_no_roll());
  leave_folder(0);
}
END_TEST

START_TEST(the_folder_is_somebody_elses) {
  int status = 0;
  if (getuid() != 0) return;
  enter_folder();
  ck_assert_int_eq(chmod(folder, 0755), 0);
  pid_t child = fork();
  if (child == 0) _exit(setuid(NOBODY) < 0 || !has_no_roll());
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  leave_folder(0);
}
END_TEST

/* /dev/shm is a folder that every machine has for itself. */
START_TEST(other_machines_do_not_see_it) {
  if (access("/dev/shm", W_OK) != 0) return;
  setenv("OMPI_COMM_WORLD_RANK", "1", 1);
  setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
  setenv("PMIX_NAMESPACE", "job", 1);
  snprintf(path, sizeof path, "/dev/shm/lanescope-roll-%ld.h5", (long)getpid());
  snprintf(waiting, sizeof waiting, "/dev/shm/.lanescope-roll-%ld.h5.waiting-job", (long)getpid());
  setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "1", 1);
  ck_assert(has_no_roll());
  ck_assert(!is_there(waiting));
  setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "2", 1);
  ck_assert(!has_no_roll());
  ck_assert(!is_there(waiting));
}
END_TEST

static void check_name(const char *file, const char *job, const char *expected) {
  struct lsc_roll_folder found = {0};
  ck_assert_int_eq(lsc_roll_folder_name(&found, file, job, 17), 1);
  ck_assert_str_eq(found.path, expected);
  ck_assert_str_eq(found.entry, "17");
  free(found.path);
}

START_TEST(the_folder_has_a_name_that_fits) {
  char long_path[400], expected[400], digits[301];
  check_name("run.h5", NULL, ".run.h5.waiting");
  check_name("/run.h5", "12.3", "/.run.h5.waiting-12.3");
  check_name("a/b/run", "prte-vm@1/2:3", "a/b/.run.waiting-prte-vm_1_2_3");
  memset(digits, '7', 300);
  digits[300] = 0;
  snprintf(long_path, sizeof long_path, "/data/%.240s-0001.h5", digits);
  snprintf(expected, sizeof expected, "/data/.%.142s-0001.h5.waiting-%.80s", digits, digits);
  check_name(long_path, digits, expected);
}
END_TEST

/* Of jobs that were killed; but nothing that was used lately, is another file's, or holds what is not of a roll. */
START_TEST(what_dead_jobs_left_goes) {
  static const struct {
    const char *folder, *file;
    int age, stays;
  } left[] = {{".run.h5.waiting-a", "0", 7200, 0},      {".run.h5.waiting", "missing", 7200, 0},
              {".run.h5.waiting-b", "0", 60, 1},        {".run.h5.waiting-c", "notes.txt", 7200, 1},
              {".run.h5.waitingroom", "0", 7200, 1},    {".other.h5.waiting-a", "0", 7200, 1},
              {".run.h5.waiting-d", NULL, 0, 0}};
  enter_folder();
  for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
    snprintf(waiting, sizeof waiting, "%s/%s", folder, left[i].folder);
    ck_assert_int_eq(mkdir(waiting, 0777), 0);
    if (left[i].file) put_in(left[i].file, "", left[i].age);
  }
  lsc_temporary_clean(folder, "run.h5");
  for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
    char name[160];
    snprintf(waiting, sizeof waiting, "%s/%s", folder, left[i].folder);
    ck_assert_msg(is_there(waiting) == left[i].stays, "%s", waiting);
    if (!left[i].stays) continue;
    snprintf(name, sizeof name, "%s/%s", waiting, left[i].file);
    ck_assert_int_eq(unlink(name), 0);
    ck_assert_int_eq(rmdir(waiting), 0);
  }
  leave_folder(0);
}
END_TEST

#define THREADS 8

struct crowd {
  pthread_barrier_t barrier;
  int rank, spoke;
  char text[1024];
};

static void *one_of_many(void *argument) {
  struct crowd *me = argument;
  pthread_barrier_t *together = &(me - me->rank)->barrier;
  struct lsc_roll roll;
  begin(&roll, me->rank, THREADS + 1);
  roll.limit = SECOND / 100;
  while (!roll.entered) {
    lsc_roll_wait(0);
    pause_ms(1);
  }
  pthread_barrier_wait(together);
  strcpy(me->text, OWN);
  me->spoke = lsc_roll_ask(&roll, 0, me->text, sizeof me->text) ? lsc_roll_speaks(&roll) : 100;
  lsc_roll_end(&roll);
  return NULL;
}

START_TEST(many_give_up_together) {
  enter_folder();
  long rounds = unit_amount(500, 50, 10);
  for (long round = 0; round < rounds; round++) {
    struct crowd crowd[THREADS] = {0};
    pthread_t threads[THREADS];
    int spoke = 0;
    pthread_barrier_init(&crowd[0].barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
      crowd[i].rank = i;
      ck_assert_int_eq(pthread_create(&threads[i], NULL, one_of_many, &crowd[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
      spoke += crowd[i].spoke;
      ck_assert_msg(strncmp(crowd[i].text, "rank 8 did not arrive at step 'arrive'", 38) == 0, "%s", crowd[i].text);
    }
    ck_assert_int_eq(spoke, 1);
    ck_assert(!is_there(waiting));
    pthread_barrier_destroy(&crowd[0].barrier);
  }
  leave_folder(0);
}
END_TEST

/* Each removes the folder that the others enter. */
static void *comes_and_goes(void *argument) {
  struct crowd *me = argument;
  struct lsc_roll_folder mine = {0};
  if (!lsc_roll_folder_name(&mine, path, "job", me->rank)) return NULL;
  for (long round = unit_amount(20000, 2000, 500); round; round--) {
    int64_t time;
    me->spoke += !lsc_roll_folder_touch(&mine, &time);
    lsc_roll_folder_leave(&mine, lsc_roll_folder_now(&mine) - 2 * SECOND);
  }
  free(mine.path);
  return NULL;
}

START_TEST(many_come_and_go) {
  struct crowd crowd[THREADS] = {0};
  pthread_t threads[THREADS];
  enter_folder();
  for (int i = 0; i < THREADS; i++) {
    crowd[i].rank = i;
    ck_assert_int_eq(pthread_create(&threads[i], NULL, comes_and_goes, &crowd[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    ck_assert_msg(!crowd[i].spoke, "%d times there was no place", crowd[i].spoke);
  }
  leave_folder(0);
}
END_TEST

UNIT_MAIN("roll", who_waits_shortly_makes_nothing, who_sees_others_wait_enters, the_first_finds_out_for_all,
          who_comes_at_the_last_moment_counts, the_step_is_named, everybody_is_there, what_is_old_does_not_count,
          an_entry_is_touched_while_its_rank_waits, files_of_ranks_count, a_verdict_stays,
          nobody_writes_down_who_is_missing, a_folder_that_is_gone_is_made_again, there_can_be_no_folder,
          the_folder_is_somebody_elses, other_machines_do_not_see_it, the_folder_has_a_name_that_fits,
          what_dead_jobs_left_goes, many_give_up_together, many_come_and_go)
