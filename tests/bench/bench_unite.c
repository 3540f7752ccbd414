/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What it costs to unite the names of so many simulated ranks: rounds, bytes, and what rank 0 has on its heap at the
 * most, counted at its malloc, calloc, realloc and free (tests/unit/meter.h). Nothing here is a time: the same options
 * give the same figures on any machine.
 */
#include <stdio.h>
#include <stdlib.h>

#include "knowledge.h"
#include "meter.h"
#include "sim.h"
#include "unite.h"

#define MOST_RANKS 100000

static enum knowledge kind;
static int failed;

static void body(struct lsc_coll *coll, void *arg) {
  static char text[KNOWLEDGE_LONGEST];
  int number[KNOWLEDGE_MOST], count = knowledge_of(kind, coll->rank, coll->size, number);
  struct lsc_names mine = {0}, all = {0};
  uint32_t ids[KNOWLEDGE_MOST];
  for (int i = 0; i < count; i++) failed |= lsc_names_add(&mine, text, knowledge_text(number[i], text)) != LSC_OK;
  failed |= lsc_unite_names(coll, 1, &mine, &all, ids, 1) != LSC_OK;
  if (!coll->rank) *(size_t *)arg = all.count;
  lsc_names_free(&mine);
  lsc_names_free(&all);
}

static void run(int ranks) {
  struct sim_stats stats = {0};
  struct sim_options options = {.stats = &stats};
  struct meter *meter = calloc((size_t)ranks, sizeof *meter);
  size_t names = 0;
  meter_start(meter);
  failed |= !meter || sim_run(ranks, body, &names, &options) != 0;
  meter_start(NULL);
  if (!failed) {
    printf("| %-8s | %7d | %7zu | %6llu | %12llu | %12llu | %12lld |\n", knowledge_names[kind], ranks, names,
           (unsigned long long)stats.rounds, (unsigned long long)stats.bytes, (unsigned long long)stats.most_bytes,
           (long long)meter[0].peak);
  }
  free(meter);
}

int main(void) {
  printf("uniting the names of simulated ranks\n\n");
  printf("| names    |   ranks | in all  | rounds | bytes in all | most by one  | heap, rank 0 |\n");
  printf("|----------|---------|---------|--------|--------------|--------------|--------------|\n");
  for (kind = SAME; kind < NOTHING && !failed; kind++) {
    for (int ranks = 1; ranks <= MOST_RANKS && !failed; ranks *= 10) run(ranks);
  }
  printf("\n");
  return failed;
}
