/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Poisson's equation on the unit square by Jacobi's method, rows spread over ranks and each rank's over threads.
 * Compared with the exact solution; recorded, every thread on its lane, into one file.
 *   mpicc jacobi.c -o jacobi $(pkg-config --cflags --libs lanescope-mpi) -lpthread -lm
 *   mpirun -n 4 ./jacobi [POINTS a side] [SWEEPS] [FILE]
 */
#include <lanescope_mpi.h>
#include <math.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 2

static const double pi = 3.14159265358979323846;

/* This rank's rows, from 1 on, between the rows 0 and rows + 1 of its neighbours; n + 2 points each. */
static struct {
  int n, sweeps, rank, ranks, first, rows;
  double h, *u, *old;
  pthread_barrier_t barrier;
} grid;

static double *row(double *of, int k) { return of + (size_t)k * ((size_t)grid.n + 2); }

static double exact(int k, int i) { return sin(pi * (grid.first + k) * grid.h) * sin(pi * i * grid.h); }

static void exchange(void) {
  LSC_REGION("halo");
  int above = grid.rank ? grid.rank - 1 : MPI_PROC_NULL;
  int below = grid.rank < grid.ranks - 1 ? grid.rank + 1 : MPI_PROC_NULL;
  int points = grid.n + 2;
  MPI_Sendrecv(row(grid.u, 1), points, MPI_DOUBLE, above, 0, row(grid.u, grid.rows + 1), points, MPI_DOUBLE, below, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(row(grid.u, grid.rows), points, MPI_DOUBLE, below, 1, row(grid.u, 0), points, MPI_DOUBLE, above, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* One thread's share of a sweep: from the old values into the new ones. */
static void relax(int thread) {
  LSC_REGION("rows");
  for (int k = 1 + thread; k <= grid.rows; k += THREADS) {
    const double *above = row(grid.old, k - 1), *here = row(grid.old, k), *below = row(grid.old, k + 1);
    double *to = row(grid.u, k);
    for (int i = 1; i <= grid.n; i++) {
      double f = 2 * pi * pi * exact(k, i);
      to[i] = (here[i - 1] + here[i + 1] + above[i] + below[i] + grid.h * grid.h * f) / 4;
    }
  }
}

/* Thread 0 is the one that may call MPI. */
static void *solve(void *argument) {
  int thread = *(int *)argument;
  char name[32];
  snprintf(name, sizeof name, "solver %d", thread);
  lsc_thread_describe(lsc_session_default(), name, thread, 0);
  LSC_REGION("solve");
  for (int k = 0; k < grid.sweeps; k++) {
    LSC_REGION("sweep");
    if (thread == 0) {
      exchange();
      double *old = grid.old;
      grid.old = grid.u;
      grid.u = old;
    }
    pthread_barrier_wait(&grid.barrier);
    relax(thread);
    pthread_barrier_wait(&grid.barrier);
  }
  return NULL;
}

static void start(int argc, char **argv) {
  grid.n = argc > 1 ? atoi(argv[1]) : 64;
  grid.sweeps = argc > 2 ? atoi(argv[2]) : 8000;
  MPI_Comm_rank(MPI_COMM_WORLD, &grid.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &grid.ranks);
  grid.first = grid.rank * grid.n / grid.ranks;
  grid.rows = (grid.rank + 1) * grid.n / grid.ranks - grid.first;
  grid.h = 1.0 / (grid.n + 1);
  grid.u = calloc((size_t)(grid.rows + 2) * ((size_t)grid.n + 2), sizeof *grid.u);
  grid.old = calloc((size_t)(grid.rows + 2) * ((size_t)grid.n + 2), sizeof *grid.old);
  if (!grid.u || !grid.old) MPI_Abort(MPI_COMM_WORLD, 1);
  pthread_barrier_init(&grid.barrier, NULL, THREADS);
}

static void run_threads(void) {
  pthread_t thread[THREADS];
  int number[THREADS];
  for (int i = 0; i < THREADS; i++) number[i] = i;
  for (int i = 1; i < THREADS; i++)
    if (pthread_create(&thread[i], NULL, solve, &number[i])) MPI_Abort(MPI_COMM_WORLD, 1);
  solve(&number[0]);
  for (int i = 1; i < THREADS; i++) pthread_join(thread[i], NULL);
}

/* From zero each sweep brings the error of this solution down by the factor cos(pi h), to that of the grid. */
static int is_right(const char *path) {
  double error = 0, discrete = pow(pi * grid.h, 2) / (2 * (1 - cos(pi * grid.h)));
  double bound = discrete - 1 + discrete * pow(cos(pi * grid.h), grid.sweeps) + 1e-12;
  for (int k = 1; k <= grid.rows; k++)
    for (int i = 1; i <= grid.n; i++) error = fmax(error, fabs(row(grid.u, k)[i] - exact(k, i)));
  MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  if (grid.rank == 0)
    printf("jacobi on %d ranks: error %.1e (bound %.1e), see %s\n", grid.ranks, error, bound, path);
  return error <= bound;
}

int main(int argc, char **argv) {
  int level;
  const char *path = argc > 3 ? argv[3] : "jacobi.h5";
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  start(argc, argv);
  lsc_status status = lsc_init(path, NULL);
  run_threads();
  int right = is_right(path);
  if (status == LSC_OK) status = lsc_finalize();
  if (status != LSC_OK) fprintf(stderr, "rank %d: %s: %s\n", grid.rank, lsc_strerror(status), lsc_message());
  MPI_Finalize();
  free(grid.u);
  free(grid.old);
  return status != LSC_OK || !right;
}
