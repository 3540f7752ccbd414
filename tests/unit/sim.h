/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A group of simulated ranks in one thread: each is a fiber with a small stack, and all share a virtual clock that
 * moves only when every rank waits, and then to the nearest moment at which one of them goes on. The same options give
 * the same run.
 */
#ifndef SIM_H
#define SIM_H

#include <stddef.h>
#include <stdint.h>

#include "coll.h"

/* One rank's lot. All zeros: there from the beginning, and stays. Times are virtual nanoseconds from the beginning. */
struct sim_rank {
  int64_t arrives;       /* when its body is called */
  int dead;              /* its body is never called */
  int64_t dies_at;       /* 0: never */
  uint64_t dies_after;   /* dies when it has sent that many messages; 0: never */
  int mute;              /* nothing that it sends arrives */
  int64_t hurries;       /* when all its waits end that are not firm; 0: never */
};

struct sim_stats {
  uint64_t messages, bytes; /* sent, also those that nobody took */
  uint64_t most_sent;       /* messages of the rank that sent most */
  uint64_t most_bytes;      /* bytes of the rank that sent most of them */
  /* Longest chain of rounds, in each of which a rank sends one message and receives one, and a message takes one. */
  uint64_t rounds;
  int64_t ended;            /* when the last rank came back */
};

struct sim_options {
  const struct sim_rank *rank; /* [size], or NULL: all zeros */
  unsigned seed;               /* 0: ranks go on in the order in which they became ready; else in an order made of it */
  int64_t latency;             /* of every message; with a seed from 0 to this */
  /* NULL, or the latency of a message, of a number that is drawn for it. */
  int64_t (*delay)(int from, int to, uint64_t drawn);
  int synchronous;             /* a send comes back when its message was received, or at its deadline */
  size_t stack;                /* bytes a rank; 0: 64 KiB */
  struct sim_stats *stats;     /* or NULL */
  uint64_t *bytes;             /* [size], or NULL: receives the bytes that each rank sent */
};

/*
 * Calls body on every rank. A rank that died gets LSC_TIMEOUT at once from every operation, so that its body comes to
 * its end, and sends nothing any more. 0; -1: out of memory, or some ranks waited for nothing without a deadline: these
 * were let go as dead. options: may be NULL.
 */
int sim_run(int size, void (*body)(struct lsc_coll *coll, void *arg), void *arg, const struct sim_options *options);

/* The rank whose body runs now; -1 within the simulation itself, and outside of it. */
int sim_running(void);

/* 1 once this rank died; what its body reports from then on counts for nothing. */
int sim_is_dead(const struct lsc_coll *coll);

/* Lets the virtual time pass for this rank. */
void sim_sleep(struct lsc_coll *coll, int64_t ns);

/* Binary logarithm, rounded up: the rounds of one sweep of a binomial tree over size ranks. */
unsigned sim_log2(int size);

#endif
