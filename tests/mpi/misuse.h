/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of test_misuse share: the state of the moment, and what a call must give. */
#ifndef MISUSE_H
#define MISUSE_H

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lanescope_binding.h"
#include "lanescope_mpi.h"

enum misuse_phase { BEFORE_MPI, WITHIN_MPI, AFTER_MPI };

extern enum misuse_phase phase;
extern int failures;
extern lsc_session session; /* open */
extern lsc_session dead[4]; /* none, closed, never given out */
extern lsc_region_id region, other;
extern char folder[];
extern const char bad_text[];

/* One function, called wrongly. A part's rows end with one of NULL. */
struct misuse_row {
  const char *name;
  void (*try)(void);
};
#define ROW(name) {"lsc_" #name, try_##name}
extern const struct misuse_row misuse_record[], misuse_lanes[], misuse_files[], misuse_default[];

#define EXPECT(condition, ...)                                          \
  do {                                                                  \
    if (!(condition)) {                                                 \
      ++failures;                                                       \
      fprintf(stderr, "%s:%d: phase %d: ", __FILE__, __LINE__, phase);  \
      fprintf(stderr, __VA_ARGS__);                                     \
      fputc('\n', stderr);                                              \
    }                                                                   \
  } while (0)

void misuse_gives(lsc_status found, lsc_status expected, const char *call, const char *file, int line);
#define GIVES(call, expected) misuse_gives((call), (expected), #call, __FILE__, __LINE__)
/* `call` has a session `no`, which is in turn each that is not open. */
#define GIVES_FOR_DEAD(call, expected)          \
  for (size_t i = 0; i < sizeof dead / sizeof dead[0]; ++i) { \
    lsc_session no = dead[i];                   \
    GIVES(call, expected);                      \
  }

/* What a function over the communicator gives outside of MPI, and what within. */
static inline lsc_status within(lsc_status status) { return phase == WITHIN_MPI ? status : LSC_NO_MPI; }

/* Runs a function on a thread of its own. */
void on_thread(void *(*run)(void *), void *argument);

/* The path of a file in the folder of the test. Valid until the next. */
const char *path_of(const char *name);

/* What `call` gives while another thread collects the session. */
void misuse_begin_collect(void);
void misuse_end_collect(void);
#define GIVES_BUSY(call)    \
  do {                      \
    misuse_begin_collect(); \
    GIVES(call, LSC_BUSY);  \
    misuse_end_collect();   \
  } while (0)

#endif
