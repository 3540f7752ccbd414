/* SPDX-License-Identifier: BSD-3-Clause */
#include "table.h"

#include <string.h>

#include "message.h"

#define LSC_DESC(id, dataset, type) {#dataset, type},
#define LSC_ARRAY(id, group)                                                                \
  static const struct lsc_column_desc columns_##id[] = {LSC_COLUMNS_##id(LSC_DESC)};        \
  _Static_assert(sizeof columns_##id / sizeof *columns_##id <= LSC_MAX_COLUMNS, "LSC_MAX_COLUMNS holds every table");
LSC_TABLES(LSC_ARRAY)
LSC_ARRAY(EVENTS, events)

#define LSC_TABLE_FIELDS(id, group) #group, sizeof columns_##id / sizeof *columns_##id, columns_##id
#define LSC_TABLE(id, group) {LSC_TABLE_FIELDS(id, group)},
const struct lsc_table_desc lsc_table_descs[LSC_TABLE_COUNT] = {LSC_TABLES(LSC_TABLE)};
const struct lsc_table_desc lsc_events_desc = {LSC_TABLE_FIELDS(EVENTS, events)};
#undef LSC_TABLE
#undef LSC_TABLE_FIELDS
#undef LSC_ARRAY
#undef LSC_DESC

size_t lsc_type_size(lsc_type type) {
  switch (type) {
    case LSC_I8:
    case LSC_U8: return 1;
    case LSC_U32: return 4;
    case LSC_I64:
    case LSC_U64:
    case LSC_F64:
    case LSC_STR: return 8;
    case LSC_STATS: return sizeof(lsc_stats);
  }
  return 0;
}

void lsc_table_init(struct lsc_table *table, const struct lsc_table_desc *desc) {
  *table = (struct lsc_table){.desc = desc};
}

void lsc_table_free(struct lsc_table *table) {
  for (int c = 0; c < LSC_MAX_COLUMNS; c++) {
    lsc_buffer_free(&table->column[c].data);
    lsc_buffer_free(&table->column[c].text);
  }
  table->rows = 0;
}

void lsc_table_clear(struct lsc_table *table) {
  for (int c = 0; c < LSC_MAX_COLUMNS; c++) table->column[c].data.size = table->column[c].text.size = 0;
  table->rows = 0;
}

uint64_t lsc_table_text_bytes(const struct lsc_table *table) {
  uint64_t bytes = 0;
  for (int c = 0; c < table->desc->columns; c++) bytes += table->column[c].text.size;
  return bytes;
}

static lsc_status wrong_type(const struct lsc_table *table, int column, const char *what) {
  return lsc_fail(LSC_INVALID, "column %s of %s does not hold %s", table->desc->column[column].name, table->desc->group,
                  what);
}

lsc_status lsc_table_put(struct lsc_table *table, int column, const void *value) {
  lsc_type type = table->desc->column[column].type;
  if (type == LSC_STR) return wrong_type(table, column, "values of fixed size");
  return lsc_buffer_append(&table->column[column].data, value, lsc_type_size(type));
}

lsc_status lsc_table_put_i64(struct lsc_table *table, int column, int64_t value) {
  if (table->desc->column[column].type != LSC_I64) return wrong_type(table, column, "signed integers of 64 bits");
  return lsc_table_put(table, column, &value);
}

lsc_status lsc_table_put_int(struct lsc_table *table, int column, int64_t value) {
  uint8_t narrow = (uint8_t)value;
  uint32_t medium = (uint32_t)value;
  switch (table->desc->column[column].type) {
    case LSC_I8:
    case LSC_U8: return lsc_table_put(table, column, &narrow);
    case LSC_U32: return lsc_table_put(table, column, &medium);
    case LSC_I64:
    case LSC_U64: return lsc_table_put(table, column, &value);
    default: return wrong_type(table, column, "integers");
  }
}

/* The first offset of a column of texts, once there is one. */
static lsc_status begin_texts(struct lsc_column *to) {
  uint64_t zero = 0;
  return to->data.size ? LSC_OK : lsc_buffer_append(&to->data, &zero, sizeof zero);
}

lsc_status lsc_table_put_text(struct lsc_table *table, int column, const char *text, size_t length) {
  struct lsc_column *to = &table->column[column];
  uint64_t end = to->text.size + length;
  size_t before = to->data.size;
  if (table->desc->column[column].type != LSC_STR) return wrong_type(table, column, "text");
  if (begin_texts(to) || lsc_buffer_append(&to->data, &end, sizeof end) || lsc_buffer_append(&to->text, text, length)) {
    to->data.size = before;
    return LSC_NO_MEMORY;
  }
  return LSC_OK;
}

void lsc_table_end_row(struct lsc_table *table) { table->rows++; }

static size_t values_in(const struct lsc_table *table, int column) {
  lsc_type type = table->desc->column[column].type;
  size_t values = table->column[column].data.size / lsc_type_size(type);
  return type == LSC_STR && values ? values - 1 : values;
}

/*
 * On the wire: columns (u32), rows (u64), then for each column: type (u32), length of its texts (u64), values, texts.
 * Values of a column of texts are the offsets of their ends.
 */
static lsc_status encode_head(lsc_type type, uint64_t length, struct lsc_buffer *out) {
  uint32_t code = type;
  lsc_status status = lsc_buffer_append(out, &code, sizeof code);
  return status ? status : lsc_buffer_append(out, &length, sizeof length);
}

static lsc_status encode_texts(const struct lsc_column *from, size_t rows, struct lsc_buffer *out) {
  const uint64_t *offset = (const uint64_t *)(const void *)from->data.data;
  lsc_status status = encode_head(LSC_STR, from->text.size, out);
  if (!status && rows) status = lsc_buffer_append(out, offset + 1, rows * sizeof *offset);
  return status ? status : lsc_buffer_append(out, from->text.data, from->text.size);
}

static lsc_status encode_column(const struct lsc_table *table, int column, struct lsc_buffer *out) {
  const struct lsc_column *from = &table->column[column];
  lsc_type type = table->desc->column[column].type;
  if (values_in(table, column) != table->rows) {
    return lsc_fail(LSC_INVALID, "column %s of %s has %zu values in %zu rows", table->desc->column[column].name,
                    table->desc->group, values_in(table, column), table->rows);
  }
  if (type == LSC_STR) return encode_texts(from, table->rows, out);
  lsc_status status = encode_head(type, 0, out);
  return status ? status : lsc_buffer_append(out, from->data.data, table->rows * lsc_type_size(type));
}

lsc_status lsc_table_encode(const struct lsc_table *table, struct lsc_buffer *out) {
  uint32_t columns = (uint32_t)table->desc->columns;
  uint64_t rows = table->rows;
  size_t before = out->size;
  lsc_status status = lsc_buffer_append(out, &columns, sizeof columns);
  if (!status) status = lsc_buffer_append(out, &rows, sizeof rows);
  for (int c = 0; !status && c < table->desc->columns; c++) status = encode_column(table, c, out);
  if (status) out->size = before;
  return status;
}

/* Appends `rows` ends of texts of `length` bytes altogether, moved behind the texts that are there. */
static lsc_status decode_ends(struct lsc_column *to, const unsigned char *ends, uint64_t rows, uint64_t length) {
  uint64_t base = to->text.size, previous = 0;
  lsc_status status = rows ? begin_texts(to) : LSC_OK;
  for (uint64_t i = 0; !status && i < rows; i++) {
    uint64_t end, moved;
    memcpy(&end, ends + i * sizeof end, sizeof end);
    if (end < previous || end > length) return LSC_INVALID;
    previous = end;
    moved = base + end;
    status = lsc_buffer_append(&to->data, &moved, sizeof moved);
  }
  return !status && previous != length ? LSC_INVALID : status;
}

static lsc_status decode_column(struct lsc_table *table, int column, uint64_t rows, struct lsc_reader *in) {
  struct lsc_column *to = &table->column[column];
  lsc_type type = table->desc->column[column].type;
  size_t width = lsc_type_size(type);
  const unsigned char *values;
  const void *text;
  lsc_status status;
  uint32_t code;
  uint64_t length;
  lsc_read(in, &code, sizeof code);
  lsc_read(in, &length, sizeof length);
  if (in->failed || code != (uint32_t)type || rows > SIZE_MAX / width) return LSC_INVALID;
  if (type != LSC_STR && length) return LSC_INVALID;
  values = lsc_read_view(in, (size_t)rows * width);
  text = lsc_read_view(in, length);
  if (in->failed) return LSC_INVALID;
  if (type != LSC_STR) return lsc_buffer_append(&to->data, values, (size_t)rows * width);
  status = decode_ends(to, values, rows, length);
  return status ? status : lsc_buffer_append(&to->text, text, length);
}

lsc_status lsc_table_decode_append(struct lsc_table *table, struct lsc_reader *in) {
  size_t data[LSC_MAX_COLUMNS], text[LSC_MAX_COLUMNS];
  lsc_status status = LSC_OK;
  uint32_t columns;
  uint64_t rows;
  for (int c = 0; c < table->desc->columns; c++) {
    data[c] = table->column[c].data.size;
    text[c] = table->column[c].text.size;
  }
  lsc_read(in, &columns, sizeof columns);
  lsc_read(in, &rows, sizeof rows);
  if (in->failed || columns != (uint32_t)table->desc->columns) status = LSC_INVALID;
  for (int c = 0; !status && c < table->desc->columns; c++) status = decode_column(table, c, rows, in);
  if (!status) {
    table->rows += rows;
    return LSC_OK;
  }
  for (int c = 0; c < table->desc->columns; c++) {
    table->column[c].data.size = data[c];
    table->column[c].text.size = text[c];
  }
  if (status != LSC_INVALID) return status;
  return lsc_fail(LSC_INVALID, "the bytes of rows for %s are cut off or damaged", table->desc->group);
}

lsc_column_view lsc_table_view_rows(const struct lsc_table *table, int column, size_t first, size_t count) {
  static const uint64_t none = 0;
  const struct lsc_column *from = &table->column[column];
  lsc_column_view view = {.type = table->desc->column[column].type, .rows = count};
  const unsigned char *values = from->data.data ? from->data.data + first * lsc_type_size(view.type) : NULL;
  if (view.type == LSC_STR) {
    view.offsets = values ? (const uint64_t *)(const void *)values : &none;
    view.text = from->text.data ? (const char *)from->text.data : "";
  } else {
    view.data = values;
  }
  return view;
}

lsc_column_view lsc_table_view(const struct lsc_table *table, int column) {
  return lsc_table_view_rows(table, column, 0, table->rows);
}
