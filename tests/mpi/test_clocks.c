/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * usage: test_clocks record|apart FOLDER early|late, on several ranks, of which some have another CLOCK_MONOTONIC, by
 *        CLOCK_AHEAD seconds; test_clocks check|check-apart FOLDER early|late, on one rank.
 *
 * Ranks send messages around a ring. What every file says of that is compared with what each rank noted of its own
 * clock, and with how far the clocks were set apart.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "collect.h"
#include "compare.h"
#include "lanescope_mpi.h"

#define MESSAGES 100
#define STAGES 3
#define CALLS (2 * MESSAGES) /* in each stage: sent, received, and so on */
#define MOST_RANKS 8

/* Readings of the own clock around each call. */
struct bracket {
  int64_t before, after;
};

struct books_of_rank {
  int64_t ahead_ns, opened;
  struct bracket all, call[STAGES * CALLS];
};

static int rank, ranks, late;
static struct books_of_rank books;
static lsc_session session;
static lsc_region_id all, sent, received;

static const char *path_of(const char *folder, const char *name) {
  static char path[1024];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void pass_around(int stage) {
  for (int i = 0; i < MESSAGES; ++i) {
    struct bracket *call = &books.call[stage * CALLS + 2 * i];
    int number = i;
    call->before = lsc_now_ns();
    CHECK_STATUS(lsc_begin(session, sent), LSC_OK);
    MPI_Send(&number, 1, MPI_INT, (rank + 1) % ranks, 0, MPI_COMM_WORLD);
    CHECK_STATUS(lsc_end(session, sent), LSC_OK);
    call[0].after = call[1].before = lsc_now_ns();
    CHECK_STATUS(lsc_begin(session, received), LSC_OK);
    MPI_Recv(&number, 1, MPI_INT, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_STATUS(lsc_end(session, received), LSC_OK);
    call[1].after = lsc_now_ns();
    CHECK(number == i, "message %d came for %d", number, i);
  }
}

static void open_all(void) {
  const char *ahead = getenv("CLOCK_AHEAD");
  books.ahead_ns = ahead ? atoll(ahead) * 1000000000 : 0;
  CHECK_STATUS(lsc_region("all", &all), LSC_OK);
  CHECK_STATUS(lsc_region("sent", &sent), LSC_OK);
  CHECK_STATUS(lsc_region("received", &received), LSC_OK);
  CHECK_STATUS(lsc_session_open(NULL, &session), LSC_OK);
  books.opened = lsc_now_ns();
  if (!late) CHECK_STATUS(lsc_attach(session, MPI_COMM_WORLD, 60), LSC_OK);
}

/* first.h5 of all ranks, apart.rank<k>.h5 of each, last.h5 of all again: the call around everything spans them. */
static void record(const char *folder) {
  lsc_save_options options = {.size = sizeof options, .timeout = 60};
  open_all();
  books.all.before = lsc_now_ns();
  CHECK_STATUS(lsc_begin(session, all), LSC_OK);
  pass_around(0);
  CHECK_STATUS(lsc_collect(session, MPI_COMM_WORLD, path_of(folder, "first.h5"), &options), LSC_OK);
  pass_around(1);
  char *apart = lsc_rank_path(path_of(folder, "apart.h5"), rank);
  CHECK_STATUS(lsc_write_part(session, apart, rank, ranks, &options), LSC_OK);
  free(apart);
  pass_around(2);
  CHECK_STATUS(lsc_end(session, all), LSC_OK);
  books.all.after = lsc_now_ns();
  CHECK_STATUS(lsc_collect(session, MPI_COMM_WORLD, path_of(folder, "last.h5"), &options), LSC_OK);
  lsc_detach(session);
  CHECK_STATUS(lsc_session_close(session), LSC_OK);
}

/*
 * Without a collect of all: apart.rank<k>.h5, and later.rank<k>.h5 once more. The last rank comes too late, or, where
 * the session was never attached, nobody is waited for.
 */
static void record_apart(const char *folder) {
  lsc_save_options options = {.size = sizeof options, .timeout = 1, .quiet = 1};
  open_all();
  books.all.before = lsc_now_ns();
  CHECK_STATUS(lsc_begin(session, all), LSC_OK);
  for (int stage = 0; stage < 2; ++stage) {
    const char *path = path_of(folder, stage ? "later.h5" : "apart.h5");
    pass_around(stage);
    if (stage) CHECK_STATUS(lsc_end(session, all), LSC_OK);
    books.all.after = lsc_now_ns();
    if (late) {
      char *mine = lsc_rank_path(path, rank);
      CHECK_STATUS(lsc_write_part(session, mine, rank, ranks, &options), LSC_OK);
      free(mine);
      continue;
    }
    if (!stage && rank == ranks - 1) sleep(2);
    CHECK_STATUS(lsc_save(session, path, &options), LSC_APART);
  }
  CHECK_STATUS(lsc_session_close(session), LSC_OK);
}

static void keep_books(const char *folder) {
  struct books_of_rank *every = calloc((size_t)ranks, sizeof *every);
  MPI_Gather(&books, sizeof books, MPI_BYTE, every, sizeof books, MPI_BYTE, 0, MPI_COMM_WORLD);
  FILE *file = rank ? NULL : fopen(path_of(folder, "books"), "wb");
  if (!rank) CHECK(file && fwrite(every, sizeof books, (size_t)ranks, file) == (size_t)ranks, "no books in %s", folder);
  if (file) fclose(file);
  free(every);
}

static struct books_of_rank noted[MOST_RANKS];

static void read_books(const char *folder) {
  FILE *file = fopen(path_of(folder, "books"), "rb");
  if (file) ranks = (int)fread(noted, sizeof *noted, MOST_RANKS, file);
  if (file) fclose(file);
  CHECK(ranks > 1, "no books of several ranks in %s", folder);
}

/* A file of some stages, read back. */
struct seen {
  struct merged merged;
  const int64_t *offset, *error;
  struct stored *call[MOST_RANKS];
  size_t calls[MOST_RANKS];
  int is_detour; /* clocks were compared by that of another rank than 0: also one that is the same as its has a bound */
};

static void look_at(struct seen *seen, const char *path) {
  merged_open(&seen->merged, path);
  check_consistent(&seen->merged, ranks);
  seen->offset = readback_i64(seen->merged.file, "rank_table/clock_offset_ns");
  seen->error = readback_i64(seen->merged.file, "rank_table/clock_error_ns");
  for (int r = 0; r < ranks; ++r) seen->call[r] = merged_of_rank(&seen->merged, r, &seen->calls[r]);
}

static void leave(struct seen *seen) {
  for (int r = 0; r < ranks; ++r) free(seen->call[r]);
  merged_close(&seen->merged);
}

/* How far a rank's clock was set from rank 0's, and no more beside that than the bound. */
static void check_offset(const struct seen *seen, int r) {
  int64_t right = noted[0].ahead_ns - noted[r].ahead_ns, error = seen->error[r];
  CHECK(llabs(seen->offset[r] - right) <= error, "rank %d: offset %lld, the clock was set by %lld, error %lld", r,
        (long long)seen->offset[r], (long long)right, (long long)error);
  CHECK(error > 0 || right == 0, "rank %d: error %lld", r, (long long)error);
  CHECK(error == 0 || right != 0 || seen->is_detour, "rank %d: error %lld", r, (long long)error);
  int64_t time = noted[r].call[0].before - noted[r].opened;
  if (!late || !right) return;
  CHECK(error >= time / 10000, "rank %d: error %lld after %lld ns", r, (long long)error, (long long)time);
}

/* Within the readings of the rank's clock around the call, moved by how it was set. */
static void check_call(const struct seen *seen, int r, const struct stored *call, const struct bracket *bracket) {
  int64_t right = noted[0].ahead_ns - noted[r].ahead_ns, error = seen->error[r] + 2;
  CHECK(call->start >= bracket->before + right - error && call->start <= bracket->after + right + error,
        "rank %d: call %lld starts at %lld", r, (long long)call->id, (long long)call->start);
  if (call->end == 0) return;
  CHECK(call->end >= call->start && call->end <= bracket->after + right + error, "rank %d: call %lld ends at %lld", r,
        (long long)call->id, (long long)call->end);
  int64_t took = bracket->after - bracket->before;
  CHECK(call->end - call->start <= took + took / 900 + 2, "rank %d: call %lld took %lld of %lld ns", r,
        (long long)call->id, (long long)(call->end - call->start), (long long)took);
}

/* Stages first .. end - 1, behind the call around everything. */
static void check_stages(const struct seen *seen, int first, int end) {
  for (int r = 0; r < ranks; ++r) {
    size_t calls = 1 + (size_t)(end - first) * CALLS;
    CHECK(seen->calls[r] == calls, "rank %d has %zu calls, not %zu", r, seen->calls[r], calls);
    if (seen->calls[r] != calls) return;
    check_offset(seen, r);
    check_call(seen, r, &seen->call[r][0], &noted[r].all);
    for (size_t i = 1; i < calls; ++i) {
      check_call(seen, r, &seen->call[r][i], &noted[r].call[(size_t)first * CALLS + i - 1]);
    }
  }
}

/* No message was there before its sending began, by more than the bounds of both ranks. */
static void check_messages(const struct seen *seen) {
  for (int r = 0; r < ranks; ++r) {
    int to = (r + 1) % ranks;
    for (size_t i = 1; i + 1 < seen->calls[r] && i + 1 < seen->calls[to]; i += 2) {
      int64_t took = seen->call[to][i + 1].end - seen->call[r][i].start;
      CHECK(took >= -(seen->error[r] + seen->error[to]), "message %zu of rank %d came %lld ns too early", i / 2, r,
            (long long)-took);
    }
  }
}

static void check_file(const char *folder, const char *name, int first, int end, int is_open, int64_t *around) {
  struct seen seen;
  look_at(&seen, path_of(folder, name));
  seen.is_detour = strcmp(name, "steps.h5") == 0;
  check_stages(&seen, first, end);
  check_messages(&seen);
  for (int r = 0; r < ranks && seen.calls[r]; ++r) {
    CHECK((seen.call[r][0].end == 0) == is_open, "%s: rank %d: the call around everything", name, r);
    if (around[r]) CHECK(seen.call[r][0].start == around[r], "%s: rank %d: it starts elsewhere", name, r);
    around[r] = seen.call[r][0].start;
    CHECK(readback_i64(seen.merged.file, "rank_table/dropped_calls")[r] == 0, "%s: rank %d lost calls", name, r);
  }
  leave(&seen);
}

static void check(const char *folder) {
  int64_t around[MOST_RANKS] = {0};
  read_books(folder);
  check_file(folder, "first.h5", 0, 1, 1, around);
  check_file(folder, "two.h5", 0, 2, 1, around);
  check_file(folder, "last.h5", 2, 3, 0, around);
  check_file(folder, "merged.h5", 0, STAGES, 0, around);
}

/* Where the clocks were never compared, nothing is known of those that are not rank 0's. */
static void check_unknown(const char *folder) {
  struct seen seen;
  look_at(&seen, path_of(folder, "all.h5"));
  for (int r = 0; r < ranks; ++r) {
    int64_t error = noted[r].ahead_ns == noted[0].ahead_ns ? 0 : -1;
    CHECK(seen.calls[r] == 1 + 2 * CALLS, "rank %d has %zu calls", r, seen.calls[r]);
    CHECK(seen.error[r] == error, "rank %d: error %lld, not %lld", r, (long long)seen.error[r], (long long)error);
  }
  leave(&seen);
}

/* steps.h5: of the same files, those of rank 0 last. */
static void check_apart(const char *folder) {
  int64_t around[MOST_RANKS] = {0};
  read_books(folder);
  if (late) {
    check_unknown(folder);
    return;
  }
  check_file(folder, "all.h5", 0, 2, 0, around);
  check_file(folder, "steps.h5", 0, 2, 0, around);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  late = argc > 3 && strcmp(argv[3], "late") == 0;
  if (argc > 3 && strcmp(argv[1], "record") == 0) {
    record(argv[2]);
    keep_books(argv[2]);
  } else if (argc > 3 && strcmp(argv[1], "apart") == 0) {
    record_apart(argv[2]);
    keep_books(argv[2]);
  } else if (argc > 3 && strcmp(argv[1], "check") == 0) {
    check(argv[2]);
  } else if (argc > 3 && strcmp(argv[1], "check-apart") == 0) {
    check_apart(argv[2]);
  } else {
    CHECK(0, "usage: test_clocks record|apart|check|check-apart FOLDER early|late");
  }
  int result = check_result();
  MPI_Finalize();
  return result;
}
