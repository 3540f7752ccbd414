/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The default session of the process in one word: its handle, and in the two bits that a handle leaves free the API by
 * which calls of Fortran are recorded into it. 0: none was set.
 */
#ifndef LSC_DEFAULT_H
#define LSC_DEFAULT_H

#include "lanescope_binding.h"
#include "session.h"

/*
 * Release by who sets it; acquire where the handle is handed out: whoever finds the handle finds the session open.
 * Relaxed where a call is recorded, as the check of the handle itself: it decides whether to record, and what is
 * recorded into is the thread's own.
 */
extern LSC_HIDDEN _Atomic uint64_t lsc_default_word;

static inline uint64_t lsc_default_now(void) { return atomic_load_explicit(&lsc_default_word, memory_order_relaxed); }

static inline lsc_session lsc_default_session(uint64_t word) { return word & ~(uint64_t)3; }
static inline lsc_api lsc_default_fortran(uint64_t word) { return (lsc_api)(word & 3); }

#endif
