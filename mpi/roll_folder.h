/* SPDX-License-Identifier: BSD-3-Clause */
/* The folder of a roll: an empty file for each rank that is there, and files that only one of them can make. */
#ifndef LSC_ROLL_FOLDER_H
#define LSC_ROLL_FOLDER_H

#include <stddef.h>
#include <stdint.h>

/* All zeros: none. */
struct lsc_roll_folder {
  char *path;
  char entry[16]; /* this rank's file in it */
  int64_t ahead;  /* once entered: ns from lsc_now_ns's clock to that of the file server */
};

/* Names the folder of the file `path`, for a rank. job: as the launcher calls it, or NULL. 0: no memory. */
int lsc_roll_folder_name(struct lsc_roll_folder *folder, const char *path, const char *job, int rank);

int lsc_roll_folder_exists(const struct lsc_roll_folder *folder);

/* What the file server's clock shows, and the time there of a moment here. */
int64_t lsc_roll_folder_now(const struct lsc_roll_folder *folder);

/*
 * Makes this rank's entry, and the folder, or touches it. *time: receives when, by the file server's clock, in ns. 0:
 * that failed, or other machines of the job do not see this folder.
 */
int lsc_roll_folder_touch(struct lsc_roll_folder *folder, int64_t *time);

/* here[rank]: set to 1 for each rank below size with an entry not older than `since` (file server's clock). */
void lsc_roll_folder_list(const struct lsc_roll_folder *folder, int64_t since, int size, unsigned char *here);

/* Makes a file that only one rank can make. A descriptor, to be written and closed; -1: it was there; -2: an error. */
int lsc_roll_folder_claim(const struct lsc_roll_folder *folder, const char *name);

/* Removes a file that is older than that. */
void lsc_roll_folder_forget(const struct lsc_roll_folder *folder, const char *name, int64_t since);

/* The line that a rank wrote into such a file, without its end. 0: there is none yet. */
int lsc_roll_folder_read(const struct lsc_roll_folder *folder, const char *name, char *text, size_t size);

/* Removes this rank's entry; and the folder with all in it, unless another's entry is not older than `since`. */
void lsc_roll_folder_leave(const struct lsc_roll_folder *folder, int64_t since);

/* 1 if a hidden folder of that name is for ranks that wait for the file `name`, in whatever job. */
int lsc_roll_is_of(const char *hidden, const char *name);

/* Removes such a folder, if all in it is of a roll and was last touched an hour ago or longer. place: where it is. */
void lsc_roll_folder_clean(int place, const char *hidden);

/* When a file was written, in ns; INT64_MIN: there is none. */
int64_t lsc_roll_file_time(const char *path);

#endif
