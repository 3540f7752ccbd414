/* SPDX-License-Identifier: BSD-3-Clause */
/* Collects that a test makes fail at a step, and what must hold afterwards. Every function is collective. */
#ifndef FAULTS_H
#define FAULTS_H

#include "compare.h"
#include "lanescope_mpi.h"
#include "step.h"

#define FAULT_CALLS 40

extern int fault_rank, fault_ranks;

/* Of the collects from now on: lsc_save_options.compress; and rows of a chunk, so few that every rank has some. */
#define FAULT_CHUNK_ROWS 16
extern int fault_level;

/* Called when this rank enters the step; what it returns is what the step does. */
typedef lsc_status (*fault_hook)(enum lsc_step step);

/* The hook of the steps, or NULL. Every step that was entered since has its bit in fault_seen. */
extern fault_hook fault_current;
extern unsigned long fault_seen;

struct fault_run {
  lsc_session session;
  struct log log;
  struct books books;
};

/* A session with FAULT_CALLS calls on every rank. */
void fault_record(struct fault_run *run);

/* Collects to a path that can be written, finds every call there, and closes the session. */
void fault_finish(struct fault_run *run, const char *name);

/* A file of an earlier run under check_path(name), whose bytes rank 0 keeps. */
void fault_yesterday(const char *name);

/* That it is as it was, and that no temporary file is beside it. */
void fault_check_yesterday(const char *name, const char *what);

/* Collects to check_path(name): a failure that is the same on every rank. The status. */
lsc_status fault_collect(struct fault_run *run, const char *name, const char *what);

/* That the message of the last collect is the same everywhere and has each of these parts. Up to NULL. */
void fault_check_message(const char *what, ...);

#endif
