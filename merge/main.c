/* SPDX-License-Identifier: BSD-3-Clause */
/* lanescope-merge: one file out of several of the same run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collect.h"
#include "probe.h"
#include "write.h"

#define LONGEST_SILENCE 60000 /* ms */

enum { ALL_MERGED, SOME_SKIPPED, NOTHING_WRITTEN };

static const char usage[] = "usage: lanescope-merge [-q] [-z LEVEL] [--] OUT IN...\n";
static const char help[] =
    "\n"
    "Merges files of one run of lanescope into the file OUT:\n"
    "  - the files of single ranks (run.rank0.h5, run.rank1.h5, ...) that a run leaves whose ranks could not be\n"
    "    brought together: OUT is the file that the collect would have written;\n"
    "  - what was collected in the middle of a run (run.1.h5, run.2.h5, ..., run.h5): OUT is the whole run. A call\n"
    "    that is open in one file and has ended in a later one is there once. Lanes are as in the last file;\n"
    "  - both together, and files that were merged before.\n"
    "The order of the inputs does not matter.\n"
    "\n"
    "Ranks of which no input has anything are named, and have status 2 in rank_table; those of which some collect is\n"
    "missing are, too, and have status 1. An input that is damaged, cut off, of another run or session, or not of\n"
    "lanescope, or that holds what another does, is named and left out. OUT appears whole or not at all, and replaces\n"
    "a file of that name, but none of the inputs. No MPI is needed; under a launcher the first process does it all.\n"
    "\n"
    "  -q, --quiet           say only what is wrong\n"
    "  -z, --compress LEVEL  compress OUT: zlib's level, 1 to 9\n"
    "  -h, --help            print this\n"
    "  -V, --version         print the version\n"
    "\n"
    "Exit status: 0: all inputs are in OUT; 1: OUT was written, but some input was left out; 2: nothing was written.\n"
    "\n"
    "Example: lanescope-merge run.h5 run.rank*.h5\n";

struct arguments {
  int quiet, level;
  const char *out;
  char **in;
  int inputs;
};

static void complain(const char *text) { fprintf(stderr, "lanescope-merge: %s\n", text); }

/* text: NULL behind the last argument. */
static int take_level(const char *text, struct arguments *arguments) {
  if (!text || text[0] < '1' || text[0] > '9' || text[1]) {
    fprintf(stderr, "lanescope-merge: --compress takes a level from 1 to 9%s%s\n", text ? ", not " : "",
            text ? text : "");
    return 0;
  }
  arguments->level = text[0] - '0';
  return 1;
}

/* -1: go on; else the exit status. */
static int parse(int argc, char **argv, struct arguments *arguments) {
  int at = 1;
  for (; at < argc && argv[at][0] == '-' && argv[at][1]; at++) {
    const char *option = argv[at];
    if (strcmp(option, "--") == 0) {
      at++;
      break;
    }
    if (strcmp(option, "-h") == 0 || strcmp(option, "--help") == 0) {
      printf("%s%s", usage, help);
      return ALL_MERGED;
    }
    if (strcmp(option, "-V") == 0 || strcmp(option, "--version") == 0) {
      printf("lanescope-merge %s\n", lsc_version());
      return ALL_MERGED;
    }
    if (strcmp(option, "-z") == 0 || strcmp(option, "--compress") == 0) {
      if (!take_level(argv[++at], arguments)) return NOTHING_WRITTEN;
      continue;
    }
    if (strcmp(option, "-q") != 0 && strcmp(option, "--quiet") != 0) {
      fprintf(stderr, "lanescope-merge: there is no option %s\n%s", option, usage);
      return NOTHING_WRITTEN;
    }
    arguments->quiet = 1;
  }
  if (argc - at < 2) {
    fprintf(stderr, "%slanescope-merge --help says more\n", usage);
    return NOTHING_WRITTEN;
  }
  arguments->out = argv[at];
  arguments->in = argv + at + 1;
  arguments->inputs = argc - at - 1;
  return -1;
}

/* 1 if the file that is to be written is one of the inputs. */
static int would_replace(const struct arguments *arguments) {
  struct stat out, in;
  if (stat(arguments->out, &out) < 0) return 0;
  for (int i = 0; i < arguments->inputs; i++) {
    if (stat(arguments->in[i], &in) < 0 || in.st_dev != out.st_dev || in.st_ino != out.st_ino) continue;
    fprintf(stderr, "lanescope-merge: '%s' is an input, too: give another name for the merged file\n", arguments->out);
    return 1;
  }
  return 0;
}

/* 1 if the input was taken. */
static int take(struct lsc_run *run, const char *path, lsc_status *status) {
  struct lsc_input input = {0};
  int taken = 0;
  *status = lsc_probe(path, LONGEST_SILENCE);
  if (!*status) *status = lsc_input_read(&input, path);
  if (!*status) taken = lsc_run_admit(run, &input, status);
  if (!taken) fprintf(stderr, "lanescope-merge: left out: %s\n", lsc_message());
  lsc_input_free(&input);
  return taken;
}

/* Numbers as people write them: 1, 3-5. */
static void say_missing(const struct lsc_run *run) {
  int missing = 0;
  for (int rank = 0, end; rank < run->size; rank = end) {
    size_t count;
    lsc_run_parts(run, rank, &count);
    end = rank + 1;
    if (count) continue;
    while (end < run->size && (lsc_run_parts(run, end, &count), !count)) end++;
    fprintf(stderr, "%s%d", missing ? ", " : "lanescope-merge: no input has anything of rank ", rank);
    if (end > rank + 1) fprintf(stderr, "-%d", end - 1);
    missing += end - rank;
  }
  if (missing) fprintf(stderr, ": %d of %d ranks are missing\n", missing, run->size);
}

/* The same of several ranks in one line. */
static void say_incomplete(const struct lsc_run *run) {
  struct lsc_buffer said = {0}, next = {0};
  lsc_status status = LSC_OK;
  for (int rank = 0, first = 0; rank <= run->size && !status; rank++) {
    next.size = 0;
    if (rank < run->size) status = lsc_run_say_gaps(run, rank, &next);
    int same = next.size == said.size && (!next.size || !memcmp(next.data, said.data, next.size));
    if (rank < run->size && same) continue;
    if (said.size && rank == first + 1) fprintf(stderr, "lanescope-merge: rank %d: ", first);
    if (said.size && rank > first + 1) fprintf(stderr, "lanescope-merge: ranks %d-%d: ", first, rank - 1);
    if (said.size) fprintf(stderr, "%.*s\n", (int)said.size, (const char *)said.data);
    said.size = 0;
    if (!status) status = lsc_buffer_append(&said, next.data, next.size);
    first = rank;
  }
  lsc_buffer_free(&said);
  lsc_buffer_free(&next);
}

static void say_lost(const struct lsc_union *all, const struct lsc_run *run) {
  for (int rank = 0; rank < run->size; rank++) {
    if (!all->lost[rank]) continue;
    fprintf(stderr,
            "lanescope-merge: %llu calls of rank %d that were open in one input are in no later one: an input is "
            "missing\n",
            (unsigned long long)all->lost[rank], rank);
  }
}

static lsc_status merge(const struct arguments *arguments, struct lsc_run *run) {
  struct lsc_union all = {0};
  lsc_status status = lsc_run_arrange(run);
  if (!status) status = lsc_union_make(&all, run);
  if (!status) status = lsc_union_write(&all, run, arguments->out, arguments->level);
  if (!status) {
    say_missing(run);
    say_incomplete(run);
    say_lost(&all, run);
    if (run->guessed) {
      complain("some ranks' clocks were never compared: their times are by the time of day (clock_error_ns is -1)");
    }
    if (!arguments->quiet) {
      printf("%s: %d ranks, %llu calls, of %d files\n", arguments->out, run->size, (unsigned long long)all.events,
             run->inputs);
    }
  }
  lsc_union_free(&all);
  return status;
}

static int run_all(const struct arguments *arguments) {
  struct lsc_run run = {0};
  lsc_status status = LSC_OK;
  int skipped = 0;
  for (int i = 0; i < arguments->inputs; i++) skipped += !take(&run, arguments->in[i], &status);
  if (!run.inputs) {
    complain("no input is left: nothing was written");
    return NOTHING_WRITTEN;
  }
  status = merge(arguments, &run);
  if (status) fprintf(stderr, "lanescope-merge: nothing was written: %s\n", lsc_message());
  lsc_run_free(&run);
  if (status) return NOTHING_WRITTEN;
  return skipped ? SOME_SKIPPED : ALL_MERGED;
}

int main(int argc, char **argv) {
  struct arguments arguments = {0};
  int rank, size, status = parse(argc, argv, &arguments);
  if (status >= 0) return status;
  if (lsc_launcher_rank(&rank, &size) && rank > 0) return ALL_MERGED;
  return would_replace(&arguments) ? NOTHING_WRITTEN : run_all(&arguments);
}
