/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing a session to a file, in one process or over the ranks of an MPI program, without naming an MPI type: for
 * programs and bindings that must not depend on mpi.h. The format of the file is in docs/format.md.
 */
#ifndef LANESCOPE_FILE_H
#define LANESCOPE_FILE_H

#include <lanescope.h>
#include <lanescope_binding.h>
#include <lanescope_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a collect gathered, kept in memory on the rank that wrote it: its small tables, and /events if that was asked
 * for. Opaque, owned by the caller. */
typedef struct lsc_report lsc_report;

typedef struct lsc_save_options {
  size_t size;                /* sizeof(lsc_save_options) */
  double timeout;             /* seconds to wait for a rank; 0: LANESCOPE_TIMEOUT or 600 */
  int replace;                /* 1: a path that this session was collected to before is written again */
  int quiet;                  /* 1: this rank writes no line to stderr when ranks write files of their own, and shows no
                                 progress on the terminal of rank 0 when this takes longer than two seconds */
  const char *python_version; /* goes into /metadata, or NULL */
  const char *command_line;   /* goes into /metadata; NULL: what the operating system knows */
  lsc_report **report;        /* if not NULL: receives the report on rank 0; NULL on the others, on failure, and
                                 where the small tables, which the file has, are large: more than 64 MiB, or more than
                                 1 MiB and, without keep_events, an eighth of what rank 0 recorded itself */
  char *written;              /* if not NULL: receives the path of the file that holds this rank's calls */
  size_t written_size;        /* bytes in written; a longer path is cut */
  int keep_events;            /* 1: where this is the only rank, the report holds /events, too */
  int leaving;                /* 1: this rank is here because something failed, and the others may never come: it waits
                                 for them LANESCOPE_GRACE seconds, or 10, and no longer than the timeout */
  int compress;               /* zlib's level, 1 to 9, for the columns of /events, rank 0's counts; 0: that of
                                 LANESCOPE_COMPRESS, or none */
  int (*interrupted)(void *); /* NULL, or asked about every 0.1 s, with interrupted_context and on the calling thread,
                                 while this waits for other ranks: 1 from it, and this rank waits no longer than with
                                 `leaving`, from then on. It may collect another session over another communicator */
  void *interrupted_context;
} lsc_save_options;

typedef struct lsc_init_options {
  size_t size;       /* sizeof(lsc_init_options) */
  const char *label; /* kept in the file, or NULL */
  const int *comm;   /* Fortran handle (MPI_Comm_c2f) of the communicator whose ranks share the file; NULL:
                        MPI_COMM_WORLD where MPI runs, else this process alone */
  double timeout;    /* as in lsc_save_options, likewise the rest; also for attaching */
  int replace;
  int quiet;
  int compress;
} lsc_init_options;

/*
 * Opens the default session of the process. Where MPI runs it is collective over the communicator, and the session is
 * collected at the start of MPI_Finalize at the latest. path: of the file, from the current folder of now; options: may
 * be NULL; both copied.
 *
 * If a default session is open already, opened by whatever language, this joins it: LSC_OK, not collective, and
 * path and options are the opener's. Who opened it collects it, once.
 *
 * LSC_OK; LSC_INVALID: path is NULL or empty, options->size is unknown, or compress is no level; and the statuses of
 * lsc_session_open, lsc_attach_fortran and lsc_collect_at_exit. After a failure no session is open.
 */
LSC_API lsc_status lsc_init(const char *path, const lsc_init_options *options);

/*
 * Of who opened the default session by lsc_init: writes what it holds, as lsc_save does, and closes it; collective
 * where MPI runs. If MPI_Finalize has written it already, calls that ended since go into
 * `<path without .h5>.late.h5`. Of who joined it, or where it was opened by other means: LSC_OK, and nothing happens.
 * Joining and leaving in one language are counted, so that calls of lsc_init and lsc_finalize pair up as brackets do.
 *
 * LSC_OK; LSC_APART: each rank that is there has written a file of its own, and the session is closed; LSC_INACTIVE: no
 * session is open, also the second time; LSC_BUSY: another thread does it; and those of lsc_save, after which the
 * session is open and holds what it held: lsc_save writes it elsewhere.
 */
LSC_API lsc_status lsc_finalize(void);

/*
 * Writes the calls that were completed since the last flush, and those that are open now, into a file of their own,
 * `<path without .h5>.<n>.h5` with n from 1 on, and goes on recording; lsc_finalize writes the rest. Collective where
 * MPI runs. LSC_OK; LSC_APART; LSC_INACTIVE: no session is open, or lsc_init did not open it; LSC_BUSY; and those of
 * lsc_save.
 */
LSC_API lsc_status lsc_flush(void);

/*
 * For bindings: lsc_init and lsc_finalize of another language. lsc_finalize_as: path: of another file than the one
 * given at the opening, or NULL. LSC_INVALID: among others, no such API, or path is empty.
 */
LSC_API lsc_status lsc_init_as(lsc_api api, const char *path, const lsc_init_options *options);
LSC_API lsc_status lsc_finalize_as(lsc_api api, const char *path);

/*
 * Writes what the session recorded since it was last collected into the one file `path`, in this process alone. Starts
 * no MPI. A file of that name is replaced at the end, whole, or left alone. options: may be NULL. LSC_OK; LSC_INACTIVE;
 * LSC_INVALID; LSC_BUSY; LSC_COLLECTED; LSC_IO; LSC_HDF5; LSC_NO_MEMORY; LSC_LIMIT. After a failure the session holds
 * what it held, and can be collected again, to another path; the message names the step that failed.
 */
LSC_API lsc_status lsc_write(lsc_session session, const char *path, const lsc_save_options *options);

/*
 * The right one of lsc_collect and lsc_write for where the process runs:
 *   MPI is initialized and not finalized: lsc_collect over the session's communicator (collective), MPI_COMM_WORLD if
 *     it has none (LSC_INVALID if the launcher started several programs); after LSC_APART each rank goes on apart;
 *   a launcher started several ranks, but MPI is not running: lsc_write to `<name>.rank<k>.h5`, and rank 0 says so in
 *     one line, with the command that merges them;
 *   else: lsc_write.
 * Statuses of both.
 */
LSC_API lsc_status lsc_save(lsc_session session, const char *path, const lsc_save_options *options);

/*
 * What the session still holds is saved at the start of MPI_Finalize, as by lsc_save, unless it was collected to this
 * path before or is closed. Call it on every rank of the session's communicator while MPI runs, after attaching it; a
 * later call replaces an earlier one, and path NULL takes it back, as lsc_detach does. options: may be NULL; copied,
 * with their strings; replace, report and written are not used. A relative path is taken from the current folder of
 * now. Without MPI nothing happens by itself. If nobody calls lsc_collected_at_exit, rank 0 says in one line which file
 * was written; quiet silences it. LSC_OK; LSC_INACTIVE; LSC_NO_MPI; LSC_INVALID; LSC_MPI; LSC_LIMIT; LSC_NO_MEMORY.
 */
LSC_API lsc_status lsc_collect_at_exit(lsc_session session, const char *path, const lsc_save_options *options);

/*
 * What became of it, until the session is closed or detached. report: receives the report on rank 0, the first time,
 * and is then the caller's. written: as in lsc_save_options. Both may be NULL. LSC_OK; LSC_APART; LSC_INACTIVE: nothing
 * was written at MPI_Finalize.
 */
LSC_API lsc_status lsc_collected_at_exit(lsc_session session, lsc_report **report, char *written, size_t written_size);

/* How many calls were completed since the last collect. LSC_OK; LSC_INACTIVE; LSC_INVALID: NULL; LSC_BUSY;
 * LSC_NO_MEMORY. */
LSC_API lsc_status lsc_uncollected(lsc_session session, uint64_t *calls);

/* 1 if MPI is initialized and not finalized, else 0. Starts nothing. */
LSC_API int lsc_mpi_is_active(void);

/*
 * Gives the session a communicator of its own, duplicated from the one with this Fortran handle (MPI_Comm_c2f;
 * LSC_COMM_WORLD: MPI_COMM_WORLD), which the caller may free at once. Collective over it; waits for the ranks until the
 * timeout (seconds; 0: as in lsc_save_options). LSC_OK; LSC_INACTIVE; LSC_NO_MPI; LSC_INVALID: null or
 * inter-communicator, or LSC_COMM_WORLD where the launcher started several programs (mpirun a : b), of which some may
 * have no session: give a communicator; LSC_MPI: among others, another thread than MPI was initialized for;
 * LSC_TIMEOUT: some rank did not come, and the communicator given is left with a collective operation that is not
 * complete, so that MPI may not be able to make others from it.
 */
#define LSC_COMM_WORLD (-1)
LSC_API lsc_status lsc_attach_fortran(lsc_session session, int comm, double timeout);

/*
 * The same for a session that is to be collected to `path` (NULL or empty: not known): after LSC_TIMEOUT the message names the ranks that
 * did not come, also where rank 0 is one of them. Those that wait for long find one another in a hidden folder beside
 * the file, which is gone afterwards.
 */
LSC_API lsc_status lsc_attach_for_file(lsc_session session, int comm, const char *path, double timeout);

/* This process's rank and the number of ranks of the session's communicator; else of what the launcher set; else 0
 * of 1. */
LSC_API void lsc_rank_of(lsc_session session, int *rank, int *size);

/*
 * Releases the session's communicator, if it has one and MPI still runs, and takes lsc_collect_at_exit back. Call
 * before lsc_session_close; not collective in effect.
 */
LSC_API void lsc_detach(lsc_session session);

/*
 * A column of a report, by the names of the file (`rank_region_index`, `event_counts`). The attributes of /metadata are
 * the tables metadata_texts and metadata_numbers, each with the columns names and values. `events` is there with
 * keep_events, unless memory ran out; what the file leaves out is not there. The view is valid until the report is
 * freed. LSC_OK; LSC_INVALID: a NULL, no such table or column.
 */
LSC_API lsc_status lsc_report_column(const lsc_report *report, const char *table, const char *column,
                                     lsc_column_view *view);
/* The name of column number i, from 0, of a table of a report; static. NULL: an argument is, no such table, no more. */
LSC_API const char *lsc_report_column_name(const lsc_report *report, const char *table, size_t i);
LSC_API void lsc_report_free(lsc_report *report);

#ifdef __cplusplus
}
#endif

#endif
