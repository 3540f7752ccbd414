/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program wants a collect that waits for other ranks to come to its end: `interrupted` of lsc_save_options says so.
 * From then on the calling thread waits no longer than a rank that an exception sends to the collect, whatever the
 * deadlines are: each wait that is cut short times out, which the protocol knows. Not so where others count on this
 * rank (`firm` of struct lsc_coll): there nobody is asked, and the deadlines hold.
 */
#ifndef LSC_INTERRUPT_H
#define LSC_INTERRUPT_H

#include <stdint.h>

#include "lanescope_file.h"

/* Of one collect on one thread. */
struct lsc_interrupt {
  int (*asked)(void *context); /* NULL: nobody interrupts */
  void *context;
  int64_t grace, next_look; /* ns; next_look on lsc_now_ns's clock */
  int64_t latest;           /* when all waits end; INT64_MAX: not interrupted */
  int is_firm;
  struct lsc_interrupt *outer; /* of the collect in whose `interrupted` this one is made */
};

/* From here to the end the calling thread's waits can be interrupted. */
void lsc_interrupt_begin(struct lsc_interrupt *interrupt, const lsc_save_options *options);
void lsc_interrupt_end(struct lsc_interrupt *interrupt);

/* What comes next is firm, or is not. Behind what was firm all ranks are there: this one has the grace again. */
void lsc_interrupt_firm(int is_firm);

/* The calling thread waits: asks now and then. */
void lsc_interrupt_look(void);

/* The deadline, or the earlier time at which all waits end. */
int64_t lsc_interrupt_deadline(int64_t deadline);

#endif
