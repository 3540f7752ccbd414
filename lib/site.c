/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions of places in the source, whose handles are looked up once. */
#include "default.h"
#include "hidden.h"

static __attribute__((noinline)) lsc_status look_up(lsc_site *site, lsc_region_id *region) {
  lsc_region_info info = {.size = sizeof info,
                          .name = site->name,
                          .name_length = (size_t)-1,
                          .source_file = site->file,
                          .source_line = site->line};
  lsc_status status = lsc_region_define(&info, region);
  /* Release: whoever finds the handle here finds the region among those of the process. */
  if (status == LSC_OK) __atomic_store_n(&site->known, *region + 1, __ATOMIC_RELEASE);
  return status;
}

static inline lsc_status find(lsc_site *site, lsc_region_id *region) {
  /* Acquire: pairs with the release of who looked the handle up, perhaps on another thread. */
  uint32_t known = __atomic_load_n(&site->known, __ATOMIC_ACQUIRE);
  *region = known - 1;
  return LSC_LIKELY(known) ? LSC_OK : look_up(site, region);
}

lsc_entered lsc_site_enter(lsc_site *site) {
  lsc_entered entered = {lsc_default_session(lsc_default_now()), LSC_NO_REGION};
  if (!lsc_handle_is_open(entered.session)) return (lsc_entered){0, LSC_NO_REGION};
  lsc_status status = find(site, &entered.region);
  if (status == LSC_OK) status = lsc_begin(entered.session, entered.region);
  /* The end of a call that was dropped must come. */
  if (status != LSC_OK && status != LSC_NO_MEMORY) entered.session = 0;
  return entered;
}

lsc_status lsc_site_begin(lsc_site *site) {
  lsc_region_id region;
  lsc_session session = lsc_default_session(lsc_default_now());
  if (!lsc_handle_is_open(session)) return LSC_INACTIVE;
  lsc_status status = find(site, &region);
  return status == LSC_OK ? lsc_begin(session, region) : status;
}

lsc_status lsc_site_end(lsc_site *site) {
  lsc_region_id region;
  lsc_session session = lsc_default_session(lsc_default_now());
  if (!lsc_handle_is_open(session)) return LSC_INACTIVE;
  lsc_status status = find(site, &region);
  return status == LSC_OK ? lsc_end(session, region) : status;
}
