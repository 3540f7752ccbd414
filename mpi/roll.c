/* SPDX-License-Identifier: BSD-3-Clause */
#include "roll.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect.h"
#include "lanescope.h"
#include "words.h"

#define MS ((int64_t)1000000)
#define FIRST_LOOK (100 * MS)
#define LONGEST_SETTLE (200 * MS)
#define LONGEST_READ (1000 * MS)

/* An entry is touched four times within the time after which it counts as old. */
#define SHORTEST_SILENCE (2000 * MS)
#define LONGEST_SILENCE (16000 * MS)
#define TOUCHES 4

static _Thread_local struct lsc_roll *current;

static int64_t lower(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t higher(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t silence(const struct lsc_roll *roll) {
  return lower(higher(roll->timeout / 4, SHORTEST_SILENCE), LONGEST_SILENCE);
}

/* How long a rank waits until it enters: a quarter of its limit, but a second if that is within the limit. */
static int64_t patience(const struct lsc_roll *roll) {
  return higher(roll->limit / 4, lower(1000 * MS, roll->limit / 2));
}

static int64_t server_time(const struct lsc_roll *roll, int64_t ns) { return ns + roll->folder.ahead; }

static int64_t oldest_entry(const struct lsc_roll *roll) {
  return lsc_roll_folder_now(&roll->folder) - silence(roll);
}

void lsc_roll_begin(struct lsc_roll *roll) {
  int64_t now = lsc_now_ns();
  roll->step = "arrive";
  roll->step_began = roll->wait_began = now;
  roll->entered = 0;
  roll->folder = (struct lsc_roll_folder){0};
  roll->is_broken = !roll->path || !roll->path[0] || roll->size < 2;
  if (!roll->opened) roll->opened = now;
  roll->next_look = now + FIRST_LOOK;
  roll->outer = current;
  current = roll;
}

void lsc_roll_step(const char *step) {
  if (!current) return;
  current->step = step;
  current->step_began = lsc_now_ns();
}

static int has_name(struct lsc_roll *roll) {
  if (!roll->folder.path &&
      !lsc_roll_folder_name(&roll->folder, roll->path, lsc_launcher_job(), roll->rank)) {
    roll->is_broken = 1;
  }
  return !roll->is_broken;
}

/* Once it has entered, it touches its entry. */
static int enter(struct lsc_roll *roll) {
  int64_t time;
  if (!has_name(roll)) return 0;
  if (!lsc_roll_folder_touch(&roll->folder, &time)) {
    if (!roll->entered) roll->is_broken = 1;
    return 0;
  }
  if (!roll->entered) {
    roll->entered = time;
    lsc_roll_folder_forget(&roll->folder, "missing", server_time(roll, roll->opened));
    lsc_roll_folder_forget(&roll->folder, "spoken", server_time(roll, roll->opened));
  }
  return 1;
}

void lsc_roll_wait(int begins) {
  struct lsc_roll *roll = current;
  if (!roll || roll->is_broken) return;
  int64_t now = lsc_now_ns(), enters;
  if (begins) {
    roll->wait_began = now;
    if (!roll->entered) roll->next_look = now + FIRST_LOOK;
  }
  enters = roll->wait_began + patience(roll);
  if (now < roll->next_look && (roll->entered || now < enters)) return;
  roll->next_look = now + silence(roll) / TOUCHES;
  if (roll->entered || now >= enters || (has_name(roll) && lsc_roll_folder_exists(&roll->folder))) enter(roll);
}

static void sleep_for(int64_t ns) {
  struct timespec time = {ns / 1000000000, ns % 1000000000};
  nanosleep(&time, NULL);
}

/*
 * What is older was there before this rank came; with rank 0's verdict others may have gone before it entered, but not
 * before it came to the step. Some file systems keep seconds, and the kernel's clock for files goes by ticks.
 */
static int64_t coming(const struct lsc_roll *roll, int is_verdict) {
  if (!is_verdict) return roll->entered;
  int keeps_seconds = roll->entered % (1000 * MS) == 0;
  return server_time(roll, roll->step_began) - (keeps_seconds ? 1000 : 10) * MS;
}

/* Those without an entry that have given up have a file. 1 if one is from before this rank came: there was a line. */
static int find_files(const struct lsc_roll *roll, int is_verdict, unsigned char *here) {
  int is_late = 0;
  for (int rank = 0; rank < roll->size; rank++) {
    char *path = here[rank] ? NULL : lsc_rank_path(roll->path, rank);
    int64_t time = path ? lsc_roll_file_time(path) : INT64_MIN;
    free(path);
    if (time == INT64_MIN || time < server_time(roll, roll->opened)) continue;
    here[rank] = 1;
    if (time < coming(roll, is_verdict)) is_late = 1;
  }
  return is_late;
}

/* text: who is missing; as it was if everybody is there, or without memory. 1: others have gone before. */
static int find_missing(const struct lsc_roll *roll, int is_verdict, int64_t waited, char *text, size_t size) {
  struct lsc_ranks missing = {0};
  unsigned char *here = calloc((size_t)roll->size, 1);
  if (!here) return 0;
  lsc_roll_folder_list(&roll->folder, oldest_entry(roll), roll->size, here);
  here[roll->rank] = 1;
  int is_late = find_files(roll, is_verdict, here);
  for (int rank = 0; rank < roll->size; rank++) {
    if (!here[rank]) lsc_ranks_add(&missing, rank);
  }
  free(here);
  if (missing.total && !is_verdict) lsc_words_missing(&(struct lsc_words){text, size, 0}, &missing, roll->step, waited);
  return is_late;
}

static void write_down(int file, const char *text) {
  size_t length = strlen(text);
  char *line = malloc(length + 1);
  if (line) {
    memcpy(line, text, length);
    line[length] = '\n';
    if (write(file, line, length + 1) < 0) line[0] = 0; /* the others name nobody */
  }
  free(line);
  close(file);
}

/* What another rank has found, or finds at this moment. */
static void take_over(struct lsc_roll *roll, char *text, size_t size) {
  char found[1024];
  for (int64_t end = lsc_now_ns() + LONGEST_READ; lsc_now_ns() < end; sleep_for(5 * MS)) {
    if (!lsc_roll_folder_read(&roll->folder, "missing", found, sizeof found)) continue;
    snprintf(text, size, "%s", found);
    return;
  }
}

int lsc_roll_ask(struct lsc_roll *roll, int is_verdict, char *text, size_t size) {
  int64_t waited = lsc_now_ns() - roll->step_began;
  int was_there = roll->entered != 0;
  if (roll->is_broken || !enter(roll)) return 0;
  if (!was_there && !is_verdict) sleep_for(lower(roll->timeout, LONGEST_SETTLE));
  int file = lsc_roll_folder_claim(&roll->folder, "missing");
  if (file == -2) return 0;
  if (file == -1) {
    if (!is_verdict) take_over(roll, text, size);
    return 1;
  }
  if (find_missing(roll, is_verdict, waited, text, size)) lsc_roll_speaks(roll);
  write_down(file, text);
  return 1;
}

int lsc_roll_speaks(struct lsc_roll *roll) {
  int file = lsc_roll_folder_claim(&roll->folder, "spoken");
  if (file >= 0) close(file);
  return file != -1;
}

void lsc_roll_end(struct lsc_roll *roll) {
  if (current == roll) current = roll->outer;
  if (roll->entered) lsc_roll_folder_leave(&roll->folder, oldest_entry(roll));
  free(roll->folder.path);
  roll->folder.path = NULL;
}
