/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <stdlib.h>
#include <string.h>

#include "message.h"

/* Those of the file, in their order, and what is no table there. */
enum { EVENTS = LSC_TABLE_COUNT, TEXTS, NUMBERS, TABLES };

struct lsc_report {
  struct lsc_table table[TABLES];
  unsigned absent[TABLES]; /* a bit for each column that is not there */
};

static void note_absent(lsc_report *report, const struct lsc_fill *fill) {
  if (!report->table[LSC_TABLE_OPEN].rows) report->absent[LSC_TABLE_OPEN] = ~0u;
  if (!fill->threads) report->absent[LSC_TABLE_THREAD] = ~0u;
  for (int k = 0; k < LSC_OPEN_COLUMNS; k++) {
    if (!lsc_fill_has_open_column(fill, k)) report->absent[LSC_TABLE_OPEN] |= 1u << k;
  }
  for (int k = 0; k < LSC_EVENT_COLUMNS; k++) {
    if (!lsc_fill_has_event_column(fill, k)) report->absent[EVENTS] |= 1u << k;
  }
}

static int has_column(const lsc_report *report, int table, int column) {
  return !(report->absent[table] & 1u << column);
}

/* 1, or 0 without memory. */
static int keep_events(lsc_report *report, const struct lsc_fill *fill) {
  struct lsc_table *events = &report->table[EVENTS];
  size_t rows = fill->snapshot->completed;
  void *values[LSC_EVENT_COLUMNS] = {NULL};
  for (int k = 0; k < LSC_EVENT_COLUMNS && rows; k++) {
    struct lsc_buffer *data = &events->column[k].data;
    size_t size = rows * lsc_type_size(lsc_events_desc.column[k].type);
    if (!has_column(report, EVENTS, k)) continue;
    if (!(values[k] = lsc_buffer_reserve(data, size))) return 0;
    data->size = size;
  }
  if (lsc_snapshot_events(fill->snapshot)) return 0;
  lsc_fill_events(fill, 0, rows, values);
  events->rows = rows;
  return 1;
}

static void take(struct lsc_table *to, struct lsc_table *from) {
  *to = *from;
  lsc_table_init(from, to->desc);
}

lsc_report *lsc_report_take(struct lsc_table *tables, struct lsc_metadata *metadata, const struct lsc_fill *fill,
                            int events) {
  lsc_report *report = calloc(1, sizeof *report);
  if (!report) return NULL;
  for (int i = 0; i < LSC_TABLE_COUNT; i++) take(&report->table[i], &tables[i]);
  take(&report->table[TEXTS], &metadata->texts);
  take(&report->table[NUMBERS], &metadata->numbers);
  lsc_table_init(&report->table[EVENTS], &lsc_events_desc);
  note_absent(report, fill);
  if (events && keep_events(report, fill)) return report;
  report->absent[EVENTS] = ~0u;
  lsc_table_free(&report->table[EVENTS]);
  return report;
}

/* The number of a table, or -1. */
static int find_table(const lsc_report *report, const char *group) {
  for (int i = 0; i < TABLES; i++) {
    if (strcmp(report->table[i].desc->group, group) == 0) return i;
  }
  return -1;
}

lsc_status lsc_report_column(const lsc_report *report, const char *table, const char *column, lsc_column_view *view) {
  if (!report || !table || !column || !view) return lsc_fail(LSC_INVALID, "lsc_report_column: an argument is NULL");
  int i = find_table(report, table);
  for (int k = 0; i >= 0 && k < report->table[i].desc->columns; k++) {
    if (strcmp(report->table[i].desc->column[k].name, column) != 0 || !has_column(report, i, k)) continue;
    *view = lsc_table_view(&report->table[i], k);
    return LSC_OK;
  }
  return lsc_fail(LSC_INVALID, "a report has no column '%s' in a table '%s'", column, table);
}

const char *lsc_report_column_name(const lsc_report *report, const char *table, size_t number) {
  int i = report && table ? find_table(report, table) : -1;
  for (int k = 0; i >= 0 && k < report->table[i].desc->columns; k++) {
    if (has_column(report, i, k) && !number--) return report->table[i].desc->column[k].name;
  }
  return NULL;
}

void lsc_report_free(lsc_report *report) {
  if (!report) return;
  for (int i = 0; i < TABLES; i++) lsc_table_free(&report->table[i]);
  free(report);
}
