/* SPDX-License-Identifier: BSD-3-Clause */
/* The collect over any group of ranks, and the parts that it is made of. */
#ifndef LSC_COLLECT_H
#define LSC_COLLECT_H

#include "coll.h"
#include "correction.h"
#include "lanescope_file.h"

/* What a rank knows of the group of ranks that its session is attached to. */
struct lsc_membership {
  struct lsc_comparison clocks; /* group and open */
  uint64_t session_id;          /* of rank 0's session, which stands for all; 0: unknown */
};

/*
 * Collects the session over the group. comm: a pointer to the MPI_Comm of the same ranks, for the parallel HDF5 driver,
 * or NULL when coll has one rank, whose file is then written without MPI. of: its clocks are not read for
 * one rank. Every rank of the group gets the same status.
 * After a failure the session holds what it held and the file that was there before is untouched. On LSC_APART the
 * group must not be used again: the caller writes apart. Only where a rank was lost after it had said that its rows are
 * written may the file of all stand beside those.
 */
lsc_status lsc_collect_over(lsc_session session, struct lsc_coll *coll, void *comm, const struct lsc_membership *of,
                            const char *path, const lsc_save_options *options);

/* lsc_write of a file that says that it is that of `rank` in a run of `size` ranks, for lanescope-merge. */
lsc_status lsc_write_part(lsc_session session, const char *path, int rank, int size, const lsc_save_options *options);

/*
 * lsc_write_part of a rank of a group. The file says which session of the group it is of, and how far its times are
 * from the clock of the group's rank 0, if that was measured. of: NULL: no group.
 */
lsc_status lsc_write_apart(lsc_session session, const char *path, int rank, int size,
                           const struct lsc_membership *of, const lsc_save_options *options);

/* How long to wait for a rank, in ns: `seconds` if above 0, else LANESCOPE_TIMEOUT (seconds), else 600 s. */
int64_t lsc_timeout_ns(double seconds);

/* How long this rank waits for the others to arrive, in ns: as long, or less if it is leaving. */
int64_t lsc_arrival_ns(const lsc_save_options *options);

/* The command that merges what the ranks wrote apart, as a shell takes it; malloc'd, or NULL without memory. */
char *lsc_merge_command(const char *path);

/* `<path without .h5>.<part>.h5`, malloc'd, or NULL without memory. */
char *lsc_path_with(const char *path, const char *part);

/* The path from the current folder of now, malloc'd, or NULL without memory. */
char *lsc_absolute_path(const char *path);

/* `<path without .h5>.rank<rank>.h5`, malloc'd, or NULL without memory. */
char *lsc_rank_path(const char *path, int rank);

/*
 * What lies within the given options, which an older program may have built shorter; the rest is 0. LSC_OK,
 * LSC_INVALID.
 */
lsc_status lsc_options_take(const lsc_save_options *given, lsc_save_options *taken);

/*
 * The level of compression, 0 for none: options->compress if that is not 0, else LANESCOPE_COMPRESS if that is a level.
 * LSC_OK; LSC_INVALID: options->compress is none.
 */
lsc_status lsc_options_level(const lsc_save_options *options, int *level);

/*
 * What the launcher told this process: 1 and rank, size if several were started, else 0 (rank 0 of 1). mpi/launcher.c.
 */
int lsc_launcher_rank(int *rank, int *size);

/* How many ranks of the job run on this machine, this one among them; all of them where the launcher does not say. */
int lsc_launcher_neighbours(void);

/* What the launcher calls this job, the same in all its processes, in the environment; NULL if unknown. */
const char *lsc_launcher_job(void);

/* LSC_OK; LSC_INVALID: the launcher started several programs, so MPI_COMM_WORLD may hold ranks that know no session. */
lsc_status lsc_launcher_check_program(void);

#endif
