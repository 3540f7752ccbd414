/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <stdlib.h>
#include <string.h>

#include "message.h"

struct lsc_report {
  struct lsc_table table[LSC_TABLE_COUNT];
};

lsc_report *lsc_report_take(struct lsc_table *tables) {
  lsc_report *report = malloc(sizeof *report);
  if (!report) return NULL;
  for (int i = 0; i < LSC_TABLE_COUNT; i++) {
    report->table[i] = tables[i];
    lsc_table_init(&tables[i], &lsc_table_descs[i]);
  }
  return report;
}

lsc_status lsc_report_column(const lsc_report *report, const char *table, const char *column, lsc_column_view *view) {
  if (!report || !table || !column || !view) return lsc_fail(LSC_INVALID, "lsc_report_column: an argument is NULL");
  for (int i = 0; i < LSC_TABLE_COUNT; i++) {
    const struct lsc_table_desc *desc = report->table[i].desc;
    if (strcmp(desc->group, table) != 0) continue;
    for (int k = 0; k < desc->columns; k++) {
      if (strcmp(desc->column[k].name, column) != 0) continue;
      *view = lsc_table_view(&report->table[i], k);
      return LSC_OK;
    }
  }
  return lsc_fail(LSC_INVALID, "a report has no column '%s' in a table '%s'", column, table);
}

void lsc_report_free(lsc_report *report) {
  if (!report) return;
  for (int i = 0; i < LSC_TABLE_COUNT; i++) lsc_table_free(&report->table[i]);
  free(report);
}
