/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pi on every rank and two threads of each, recorded and written to run.h5.
 *   mpicc pi.c -o pi $(pkg-config --cflags --libs lanescope-mpi) -lpthread
 *   mpirun -n 4 ./pi
 */
#include <lanescope_mpi.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

#define THREADS 2
#define SLICES 20
#define STEPS 20000000L

static lsc_session session;
static lsc_region_id integrate, slice, reduce;

struct part {
  int number, of;
  double sum;
};

/* Every of-th step of the integral of 4 / (1 + x^2) from 0 to 1, in slices. */
static void *integrate_part(void *argument) {
  struct part *part = argument;
  char name[32];
  snprintf(name, sizeof name, "integrator %d", part->number % THREADS);
  lsc_thread_describe(session, name, part->number, 0);
  lsc_begin(session, integrate);
  for (long k = 0; k < SLICES; ++k) {
    lsc_begin(session, slice);
    for (long i = k * (STEPS / SLICES) + part->number; i < (k + 1) * (STEPS / SLICES); i += part->of) {
      double x = ((double)i + 0.5) / STEPS;
      part->sum += 4 / (1 + x * x) / STEPS;
    }
    lsc_end(session, slice);
  }
  lsc_end(session, integrate);
  return NULL;
}

int main(int argc, char **argv) {
  int rank, size, level;
  double sum = 0, pi = 0;
  pthread_t thread[THREADS];
  struct part part[THREADS];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  lsc_region("integrate", &integrate);
  lsc_region("slice", &slice);
  lsc_region("reduce", &reduce);
  lsc_session_open(NULL, &session);
  for (int i = 0; i < THREADS; ++i) {
    part[i] = (struct part){rank * THREADS + i, size * THREADS, 0};
    pthread_create(&thread[i], NULL, integrate_part, &part[i]);
  }
  for (int i = 0; i < THREADS; ++i) {
    pthread_join(thread[i], NULL);
    sum += part[i].sum;
  }
  lsc_begin(session, reduce);
  MPI_Reduce(&sum, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  lsc_end(session, reduce);

  lsc_status status = lsc_collect(session, MPI_COMM_WORLD, "run.h5", NULL);
  if (status != LSC_OK)
    fprintf(stderr, "rank %d: %s: %s\n", rank, lsc_strerror(status), lsc_message());
  else if (rank == 0)
    printf("pi is %.12f; see run.h5\n", pi);
  lsc_detach(session);
  lsc_session_close(session);
  MPI_Finalize();
  return status != LSC_OK;
}
