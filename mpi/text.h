/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LSC_TEXT_H
#define LSC_TEXT_H

#include <stddef.h>

/* A new string, printed as by printf; NULL without memory. */
char *lsc_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Makes any bytes fit for a text of the file: what is not UTF-8 becomes '?', and beyond `most` bytes it is cut between
 * characters and ends with a note that says so and how long it was. A new string; NULL without memory.
 */
char *lsc_text_clean(const char *bytes, size_t length, size_t most);

#endif
