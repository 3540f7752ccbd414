/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LSC_MESSAGE_H
#define LSC_MESSAGE_H

#include "lanescope.h"

/* Sets the calling thread's message and returns status, so that a failing function ends with `return lsc_fail(…)`. */
lsc_status lsc_fail(lsc_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
