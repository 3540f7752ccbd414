/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many collects, in each of which something may go wrong: a rank is late, comes when the others have given up, fails at
 * some step, or has nothing; half of them make compressed files. The status is the same everywhere, and no call is lost
 * or there twice. LANESCOPE_SEED repeats a run; LANESCOPE_STRESS=full makes 2,000 collects on 3 ranks.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "chunks.h"
#include "faults.h"
#include "message.h"

#define MOST_CALLS 200
#define MOST_RANKS 64

enum kind { WELL, EMPTY, LATE, FAILING, NOWHERE, SLOW, KINDS };

/* What all ranks know of one collect. */
static struct {
  enum kind kind;
  int rank; /* whose turn it is; -1: of all, for FAILING */
  enum lsc_step step;
  int level; /* of compression; 0: none */
} turn;

static uint64_t common; /* the state of the random numbers, the same on every rank */
static uint64_t pending; /* calls of this rank that no file has */
static unsigned long done[KINDS], compressed;
static int hits;
static lsc_session session;
static lsc_region_id region;

static uint64_t next_random(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state * 0x2545F4914F6CDD1Du >> 16;
}

static lsc_status fail_in_turn(enum lsc_step step) {
  if (step != turn.step || (turn.rank >= 0 && turn.rank != fault_rank)) return LSC_OK;
  hits++;
  return lsc_fail(LSC_NO_MEMORY, "the cause made up for rank %d", fault_rank);
}

static void begin(void) {
  if (session) return;
  CHECK_STATUS(lsc_session_open(NULL, &session), LSC_OK);
  CHECK_STATUS(lsc_attach(session, MPI_COMM_WORLD, 60), LSC_OK);
  pending = 0;
}

static void end(void) {
  if (session) lsc_detach(session);
  if (session) CHECK_STATUS(lsc_session_close(session), LSC_OK);
  session = 0;
}

static void choose(int number) {
  turn.kind = number % 17 == 9 ? SLOW : (enum kind)(next_random(&common) % SLOW);
  if (turn.kind == SLOW && fault_ranks == 1) turn.kind = WELL;
  turn.rank = (int)(next_random(&common) % (uint64_t)fault_ranks);
  turn.step = (enum lsc_step)(next_random(&common) % LSC_STEP_COUNT);
  turn.level = next_random(&common) % 2 ? (int)(next_random(&common) % 9) + 1 : 0;
  lsc_chunks_most_rows = next_random(&common) % MOST_CALLS + 1;
  compressed += turn.level != 0;
  if (turn.kind == FAILING && next_random(&common) % 4 == 0) turn.rank = -1;
  done[turn.kind]++;
}

static void record(void) {
  uint64_t own = common + (uint64_t)fault_rank * 0x9E3779B97F4A7C15u + 1;
  next_random(&own);
  uint64_t calls = next_random(&own) % MOST_CALLS;
  if (turn.kind == EMPTY && turn.rank == fault_rank) calls = 0;
  for (uint64_t i = 0; i < calls; i++) {
    lsc_begin(session, region);
    lsc_end(session, region);
  }
  pending += calls;
}

static void path_of_rank(const char *path, int rank, char *mine, size_t size) {
  snprintf(mine, size, "%.*s.rank%d.h5", (int)strlen(path) - 3, path, rank);
}

/* When all others have written their own, which is long after their timeout; no longer than a minute. */
static void wait_for_others(const char *path) {
  for (int rank = 0, tries = 0; rank < fault_ranks && tries < 6000;) {
    char mine[600];
    path_of_rank(path, rank, mine, sizeof mine);
    if (rank == fault_rank || access(mine, F_OK) == 0) {
      rank++;
      continue;
    }
    nanosleep(&(struct timespec){0, 10000000}, NULL);
    tries++;
  }
}

static void be_late(const char *path) {
  if (turn.rank != fault_rank) return;
  if (turn.kind == LATE) nanosleep(&(struct timespec){0, 20000000}, NULL);
  if (turn.kind == SLOW) wait_for_others(path);
}

static lsc_status collect(const char *path) {
  lsc_save_options options = {.size = sizeof options, .timeout = turn.kind == SLOW ? 0.2 : 60, .replace = 1};
  options.quiet = 1;
  options.compress = turn.level;
  hits = 0;
  fault_current = turn.kind == FAILING ? fail_in_turn : NULL;
  be_late(path);
  int status = (int)lsc_collect(session, MPI_COMM_WORLD, path, &options), low, high;
  fault_current = NULL;
  MPI_Allreduce(&status, &low, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&status, &high, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &hits, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK(low == high, "kind %d: statuses %d to %d", (int)turn.kind, low, high);
  return (lsc_status)status;
}

/* Calls of each rank in /events and in /rank_table. */
static void count_calls(const char *path, int ranks, const uint64_t *expected) {
  uint64_t found[MOST_RANKS] = {0};
  readback *file = readback_open(path);
  size_t rows = readback_rows(file, "events/ranks");
  const int64_t *rank = readback_i64(file, "events/ranks");
  for (size_t i = 0; i < rows; i++) {
    if (rank[i] >= 0 && rank[i] < ranks) found[rank[i]]++;
  }
  CHECK(readback_rows(file, "rank_table/ranks") == (size_t)ranks, "%s: not %d ranks", path, ranks);
  const int64_t *calls = readback_i64(file, "rank_table/calls");
  uint64_t all = 0;
  for (int i = 0; i < ranks; all += expected[i++]) {
    CHECK(found[i] == expected[i] && (uint64_t)calls[i] == expected[i],
          "%s: rank %d has %llu rows and %lld calls of %llu", path, i,
          (unsigned long long)found[i], (long long)calls[i], (unsigned long long)expected[i]);
  }
  CHECK(rows == all, "%s: %zu rows", path, rows);
  readback_close(file);
  unlink(path);
}

static void check_merged(const char *path) {
  uint64_t expected[MOST_RANKS] = {0};
  MPI_Gather(&pending, 1, MPI_UINT64_T, expected, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (fault_rank == 0) count_calls(path, fault_ranks, expected);
  pending = 0;
}

static void check_apart(const char *path) {
  char mine[600];
  path_of_rank(path, fault_rank, mine, sizeof mine);
  CHECK(access(path, F_OK) != 0, "%s is there", path);
  count_calls(mine, 1, &pending);
  end();
}

static void soak(int number) {
  char path[512], name[64];
  begin();
  choose(number);
  record();
  snprintf(name, sizeof name, turn.kind == NOWHERE ? "nowhere/%d.h5" : "%d.h5", number);
  snprintf(path, sizeof path, "%s", check_path(name));
  lsc_status status = collect(path);
  lsc_status expected = turn.kind == SLOW ? LSC_APART : turn.kind == NOWHERE ? LSC_IO : hits ? LSC_NO_MEMORY : LSC_OK;
  CHECK(status == expected, "collect %d, kind %d: %s: %s", number, (int)turn.kind, lsc_strerror(status), lsc_message());
  if (status == LSC_OK) check_merged(path);
  else if (status == LSC_APART) check_apart(path);
  else CHECK(access(path, F_OK) != 0, "%s is there", path);
  if (next_random(&common) % 16 == 0) {
    turn.kind = WELL;
    snprintf(path, sizeof path, "%s", check_path("last.h5"));
    if (session) CHECK_STATUS(collect(path), LSC_OK);
    if (session) check_merged(path);
    end();
  }
}

static int any_failed(void) {
  int failed = 0;
  MPI_Allreduce(&check_failures, &failed, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return failed > 0;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &fault_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &fault_ranks);
  const char *stress = getenv("LANESCOPE_STRESS"), *seed = getenv("LANESCOPE_SEED");
  int collects = stress && strcmp(stress, "full") == 0 && fault_ranks == 3 ? 2000 : 50;
  common = seed ? strtoull(seed, NULL, 10) : (uint64_t)time(NULL);
  MPI_Bcast(&common, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (fault_rank == 0) fprintf(stderr, "LANESCOPE_SEED=%llu\n", (unsigned long long)common);
  common = common * 2 + 1;
  CHECK(fault_ranks <= MOST_RANKS && lsc_region("soak", &region) == LSC_OK, "cannot begin");
  for (int number = 0; number < collects && !any_failed(); number++) soak(number);
  end();
  if (fault_rank == 0) {
    fprintf(stderr, "well %lu, empty %lu, late %lu, failing %lu, nowhere %lu, slow %lu; %lu compressed\n", done[WELL],
            done[EMPTY], done[LATE], done[FAILING], done[NOWHERE], done[SLOW], compressed);
  }
  int result = check_result();
  MPI_Finalize();
  return result;
}
