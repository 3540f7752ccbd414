/* SPDX-License-Identifier: BSD-3-Clause */
/* The folder in which ranks wait: where there can be none, what is left of others, and many at a time. */
#include <sys/wait.h>

#include "rolls.h"
#include "temporary.h"

#define NOBODY 65534

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

UNIT_MAIN("roll_folder", there_can_be_no_folder, the_folder_is_somebody_elses, other_machines_do_not_see_it,
          the_folder_has_a_name_that_fits, what_dead_jobs_left_goes, many_give_up_together, many_come_and_go)
