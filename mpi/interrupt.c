/* SPDX-License-Identifier: BSD-3-Clause */
#include "interrupt.h"

#include "collect.h"
#include "lanescope.h"

#define EACH_NS 100000000

static _Thread_local struct lsc_interrupt *current;

void lsc_interrupt_begin(struct lsc_interrupt *interrupt, const lsc_save_options *options) {
  lsc_save_options leaving = *options;
  leaving.leaving = 1;
  *interrupt = (struct lsc_interrupt){.asked = options->interrupted,
                                      .context = options->interrupted_context,
                                      .grace = lsc_arrival_ns(&leaving),
                                      .next_look = lsc_now_ns() + EACH_NS,
                                      .latest = INT64_MAX,
                                      .outer = current};
  current = interrupt;
}

void lsc_interrupt_end(struct lsc_interrupt *interrupt) { current = interrupt->outer; }

void lsc_interrupt_firm(int is_firm) {
  if (!current || current->is_firm == is_firm) return;
  current->is_firm = is_firm;
  if (!is_firm && current->latest != INT64_MAX) current->latest = lsc_now_ns() + current->grace;
}

void lsc_interrupt_look(void) {
  struct lsc_interrupt *waiting = current;
  if (!waiting || !waiting->asked || waiting->is_firm || waiting->latest != INT64_MAX) return;
  if (lsc_now_ns() < waiting->next_look) return;
  if (waiting->asked(waiting->context)) waiting->latest = lsc_now_ns() + waiting->grace;
  waiting->next_look = lsc_now_ns() + EACH_NS;
}

int64_t lsc_interrupt_deadline(int64_t deadline) {
  if (!current || current->is_firm) return deadline;
  return deadline < current->latest ? deadline : current->latest;
}
