/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LSC_RANDOM_H
#define LSC_RANDOM_H

#include <stdint.h>

/* 64 bits that no other process is likely to draw; where the kernel has none to give yet, of the time and the process.
 */
uint64_t lsc_random_bits(void);

#endif
