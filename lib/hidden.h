/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LSC_HIDDEN_H
#define LSC_HIDDEN_H

/* Data of the hot path: reached without the global offset table. */
#define LSC_HIDDEN __attribute__((visibility("hidden")))
#define LSC_LIKELY(x) __builtin_expect(!!(x), 1)
#define LSC_UNLIKELY(x) __builtin_expect(!!(x), 0)

#endif
