/* SPDX-License-Identifier: BSD-3-Clause */
#include "default.h"

#include "message.h"

LSC_HIDDEN _Atomic uint64_t lsc_default_word;

/* The handle of a session that was closed, or is the parent's of a fork, is left where it is: it leads nowhere. */
lsc_session lsc_session_default(void) {
  lsc_session session = lsc_default_session(atomic_load_explicit(&lsc_default_word, memory_order_acquire));
  return lsc_handle_is_open(session) ? session : 0;
}

static lsc_status check(lsc_session session, lsc_session now) {
  if (session && !lsc_handle_is_open(session))
    return lsc_fail(LSC_INACTIVE, "session %#llx is not open: it cannot be the default", (unsigned long long)session);
  if (session && session != now && lsc_handle_is_open(now))
    return lsc_fail(LSC_LIMIT, "another session is the default of this process: close it first, or record into it");
  return LSC_OK;
}

lsc_status lsc_session_set_default(lsc_session session) {
  uint64_t word = atomic_load_explicit(&lsc_default_word, memory_order_acquire), wanted;
  do {
    lsc_session now = lsc_default_session(word);
    lsc_status status = check(session, now);
    if (status != LSC_OK) return status;
    if (session && session == now) return LSC_OK;
    wanted = session ? session | LSC_API_FORTRAN : 0;
  } while (!atomic_compare_exchange_weak_explicit(&lsc_default_word, &word, wanted, memory_order_release,
                                                  memory_order_acquire));
  return LSC_OK;
}

lsc_status lsc_fortran_lanes(int thread_lanes) {
  uint64_t word = atomic_load_explicit(&lsc_default_word, memory_order_acquire), wanted;
  do {
    lsc_session session = lsc_default_session(word);
    if (!lsc_handle_is_open(session))
      return lsc_fail(LSC_INACTIVE, "no default session is open whose Fortran calls could have lanes");
    wanted = session | (thread_lanes ? LSC_API_FORTRAN_THREADS : LSC_API_FORTRAN);
  } while (!atomic_compare_exchange_weak_explicit(&lsc_default_word, &word, wanted, memory_order_release,
                                                  memory_order_acquire));
  return LSC_OK;
}
