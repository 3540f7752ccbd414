/* SPDX-License-Identifier: BSD-3-Clause */
#include "metadata.h"

#include <fcntl.h>
#include <gnu/libc-version.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "buffer.h"
#include "collect.h"
#include "message.h"
#include "mpi_info.h"
#include "offset.h"
#include "text.h"

extern char **environ;

/* The columns of both tables of a lsc_metadata. */
enum { NAMES, VALUES };
static const struct lsc_column_desc text_columns[] = {{"names", LSC_STR}, {"values", LSC_STR}};
static const struct lsc_column_desc number_columns[] = {{"names", LSC_STR}, {"values", LSC_I64}};
static const struct lsc_table_desc texts_desc = {"metadata_texts", 2, text_columns};
static const struct lsc_table_desc numbers_desc = {"metadata_numbers", 2, number_columns};

void lsc_metadata_init(struct lsc_metadata *metadata) {
  lsc_table_init(&metadata->texts, &texts_desc);
  lsc_table_init(&metadata->numbers, &numbers_desc);
}

void lsc_metadata_free(struct lsc_metadata *metadata) {
  lsc_table_free(&metadata->texts);
  lsc_table_free(&metadata->numbers);
}

static lsc_status no_memory(const char *name) {
  return lsc_fail(LSC_NO_MEMORY, "no memory for attribute %s", name);
}

static lsc_status put_bytes(struct lsc_metadata *to, const char *name, const char *bytes, size_t length) {
  struct lsc_table *kept = &to->texts;
  char *text = lsc_text_clean(bytes, length, LSC_METADATA_MOST);
  if (!text) return no_memory(name);
  lsc_status status = lsc_table_put_text(kept, NAMES, name, strlen(name));
  if (!status) status = lsc_table_put_text(kept, VALUES, text, strlen(text));
  if (!status) lsc_table_end_row(kept);
  free(text);
  return status ? no_memory(name) : LSC_OK;
}

static lsc_status put(struct lsc_metadata *to, const char *name, const char *text) {
  return put_bytes(to, name, text, strlen(text));
}

static lsc_status put_optional(struct lsc_metadata *to, const char *name, const char *text) {
  return text ? put(to, name, text) : LSC_OK;
}

static lsc_status put_number(struct lsc_metadata *to, const char *name, int64_t value) {
  struct lsc_table *kept = &to->numbers;
  if (lsc_table_put_text(kept, NAMES, name, strlen(name)) || lsc_table_put_i64(kept, VALUES, value)) {
    return no_memory(name);
  }
  lsc_table_end_row(kept);
  return LSC_OK;
}

static lsc_status put_times(struct lsc_metadata *to, const struct lsc_snapshot *snapshot) {
  char text[64], stamp[96];
  struct tm parts;
  time_t seconds = (time_t)(snapshot->open_unix_ns / 1000000000);
  gmtime_r(&seconds, &parts);
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  snprintf(stamp, sizeof stamp, "%s.%06d+00:00", text, (int)(snapshot->open_unix_ns % 1000000000 / 1000));
  lsc_status status = put(to, "timestamp", stamp);
  if (!status) status = put_number(to, "start_time_unix_ns", snapshot->open_unix_ns);
  if (!status) status = put_number(to, "start_time_ns", snapshot->open_ns);
  if (!status) status = put_number(to, "finalize_time_ns", snapshot->taken_ns);
  return status;
}

static lsc_status put_user(struct lsc_metadata *to) {
  struct passwd entry, *found = NULL;
  char space[4096], number[32];
  if (getpwuid_r(geteuid(), &entry, space, sizeof space, &found) == 0 && found) return put(to, "user", found->pw_name);
  snprintf(number, sizeof number, "%u", (unsigned)geteuid());
  return put(to, "user", number);
}

static lsc_status put_platform(struct lsc_metadata *to) {
  struct utsname name;
  char text[sizeof name + 32];
  if (uname(&name) < 0) return put(to, "platform", "unknown");
  snprintf(text, sizeof text, "%s-%s-%s-with-glibc%s", name.sysname, name.release, name.machine,
           gnu_get_libc_version());
  return put(to, "platform", text);
}

static lsc_status put_machine(struct lsc_metadata *to) {
  char host[256] = "";
  if (gethostname(host, sizeof host - 1) < 0) host[0] = 0;
  lsc_status status = put(to, "hostname", host);
  if (!status) status = put_user(to);
  if (!status) status = put_platform(to);
  if (!status) status = put_number(to, "total_cores", sysconf(_SC_NPROCESSORS_ONLN));
  return status;
}

/* /proc/self/cmdline with a space between the arguments. */
static lsc_status put_own_command_line(struct lsc_metadata *to) {
  struct lsc_buffer line = {0};
  lsc_status status = LSC_OK;
  int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  for (ssize_t got = 1; file >= 0 && got > 0;) {
    void *space = lsc_buffer_reserve(&line, 4096);
    if (!space) {
      status = lsc_fail(LSC_NO_MEMORY, "no memory for the command line");
      break;
    }
    got = read(file, space, 4096);
    if (got > 0) line.size += (size_t)got;
  }
  if (file >= 0) close(file);
  while (line.size && !line.data[line.size - 1]) line.size--;
  for (size_t i = 0; i < line.size; i++) {
    if (!line.data[i]) line.data[i] = ' ';
  }
  if (!status) status = put_bytes(to, "command_line", line.size ? (const char *)line.data : "", line.size);
  lsc_buffer_free(&line);
  return status;
}

/* 0 where the variable is not set; the first number where it is a list, one a nesting level. */
static int64_t omp_threads(void) {
  const char *text = getenv("OMP_NUM_THREADS");
  return text ? strtoll(text, NULL, 10) : 0;
}

static lsc_status put_program(struct lsc_metadata *to, const char *label, const lsc_save_options *options) {
  const char *command = options ? options->command_line : NULL;
  char *folder = getcwd(NULL, 0);
  lsc_status status = put(to, "working_directory", folder ? folder : "");
  free(folder);
  if (!status) status = command ? put(to, "command_line", command) : put_own_command_line(to);
  if (!status) status = put_optional(to, "label", label);
  if (!status) status = put_optional(to, "python_version", options ? options->python_version : NULL);
  if (!status) status = put_number(to, "omp_num_threads", omp_threads());
  return status;
}

static lsc_status put_libraries(struct lsc_metadata *to) {
  char hdf5[32];
  lsc_h5_version(hdf5, sizeof hdf5);
  lsc_status status = put(to, "lanescope_version", lsc_version());
  if (!status) status = put(to, "mpi_library", lsc_mpi_library());
  if (!status) status = put(to, "hdf5_library", hdf5);
  return status;
}

/* A name that stands twice in the environment is taken once, as getenv does. */
static lsc_status put_slurm(struct lsc_metadata *to) {
  lsc_status status = LSC_OK;
  for (char **entry = environ; entry && *entry && !status; entry++) {
    const char *equals = strchr(*entry, '=');
    if (strncmp(*entry, "SLURM_", 6) != 0 || !equals || equals - *entry > LSC_MAX_NAME) continue;
    char *name = strndup(*entry, (size_t)(equals - *entry));
    if (!name) return lsc_fail(LSC_NO_MEMORY, "no memory for the SLURM_* variables");
    if (getenv(name) == equals + 1) status = put(to, name, equals + 1);
    free(name);
  }
  return status;
}

/* Which rank of which run this process was, for whoever brings the files of its ranks together. */
static lsc_status put_part(struct lsc_metadata *to, const struct lsc_metadata_run *run) {
  lsc_status status = put_number(to, "run_rank", run->part);
  if (!status) status = put_number(to, "run_size", run->part_of);
  if (!status && run->is_compared) status = put_number(to, "run_clock_offset_ns", run->offset_ns);
  if (!status && run->is_compared) status = put_number(to, "run_clock_error_ns", run->error_ns);
  return status ? status : put_optional(to, "run_job", lsc_launcher_job());
}

/* What two processes have in common that read the same clock; the kernel ends a part of it with a line end. */
static lsc_status put_clock(struct lsc_metadata *to) {
  struct lsc_offset_clock clock;
  lsc_offset_own_clock(&clock);
  clock.place[strcspn(clock.place, "\n")] = ' ';
  return put(to, "clock", clock.place);
}

/* Where one language made every call, so that the column apis is left out: which. */
static lsc_status put_api(struct lsc_metadata *to, unsigned apis) {
  if (!apis || (apis & (apis - 1))) return LSC_OK;
  return put_number(to, "api", __builtin_ctz(apis));
}

lsc_status lsc_metadata_fill(struct lsc_metadata *to, const struct lsc_snapshot *snapshot,
                             const struct lsc_metadata_run *run, const lsc_save_options *options) {
  lsc_status status = put_times(to, snapshot);
  if (!status) status = put_number(to, "mpi_size", run->ranks);
  if (!status) status = put_api(to, run->apis);
  if (!status) status = put_clock(to);
  if (!status && run->session_id) status = put_number(to, "session_id", (int64_t)run->session_id);
  if (!status && run->part_of) status = put_part(to, run);
  if (!status) status = put_machine(to);
  if (!status) status = put_program(to, snapshot->label, options);
  if (!status) status = put_libraries(to);
  if (!status) status = put_slurm(to);
  return status;
}

/* Texts in the table are not terminated. */
static lsc_status write_text(struct lsc_h5 *h5, const lsc_column_view *values, size_t row, const char *name) {
  uint64_t start = values->offsets[row];
  char *text = strndup(values->text + start, (size_t)(values->offsets[row + 1] - start));
  lsc_status status = text ? lsc_h5_attribute_text(h5, name, text) : no_memory(name);
  free(text);
  return status;
}

static lsc_status write_rows(struct lsc_h5 *h5, const struct lsc_table *table) {
  lsc_column_view names = lsc_table_view(table, NAMES), values = lsc_table_view(table, VALUES);
  lsc_status status = LSC_OK;
  for (size_t i = 0; i < table->rows && !status; i++) {
    size_t length = (size_t)(names.offsets[i + 1] - names.offsets[i]);
    char *name = strndup(names.text + names.offsets[i], length);
    if (!name) return no_memory("of /metadata");
    status = values.type == LSC_STR ? write_text(h5, &values, i, name)
                                    : lsc_h5_attribute_int(h5, name, ((const int64_t *)values.data)[i]);
    free(name);
  }
  return status;
}

lsc_status lsc_metadata_write(struct lsc_h5 *h5, const struct lsc_metadata *metadata) {
  lsc_status status = write_rows(h5, &metadata->numbers);
  return status ? status : write_rows(h5, &metadata->texts);
}
