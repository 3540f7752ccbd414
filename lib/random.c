/* SPDX-License-Identifier: BSD-3-Clause */
#include "random.h"

#include <sys/random.h>
#include <unistd.h>

#include "clock.h"

uint64_t lsc_random_bits(void) {
  uint64_t bits;
  if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) == sizeof bits) return bits;
  return ((uint64_t)lsc_monotonic_ns() ^ (uint64_t)getpid() << 40) * 0x9E3779B97F4A7C15u ^ (uint64_t)(uintptr_t)&bits;
}
