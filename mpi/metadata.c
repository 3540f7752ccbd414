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
#include "message.h"
#include "mpi_info.h"
#include "text.h"

extern char **environ;

static lsc_status put_bytes(struct lsc_h5 *h5, const char *name, const char *bytes, size_t length) {
  char *text = lsc_text_clean(bytes, length, LSC_METADATA_MOST);
  if (!text) return lsc_fail(LSC_NO_MEMORY, "no memory for attribute %s", name);
  lsc_status status = lsc_h5_attribute_text(h5, name, text);
  free(text);
  return status;
}

static lsc_status put(struct lsc_h5 *h5, const char *name, const char *text) {
  return put_bytes(h5, name, text, strlen(text));
}

static lsc_status put_optional(struct lsc_h5 *h5, const char *name, const char *text) {
  return text ? put(h5, name, text) : LSC_OK;
}

static lsc_status put_times(struct lsc_h5 *h5, const struct lsc_snapshot *snapshot) {
  char text[64], stamp[96];
  struct tm parts;
  time_t seconds = (time_t)(snapshot->open_unix_ns / 1000000000);
  gmtime_r(&seconds, &parts);
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  snprintf(stamp, sizeof stamp, "%s.%06d+00:00", text, (int)(snapshot->open_unix_ns % 1000000000 / 1000));
  lsc_status status = put(h5, "timestamp", stamp);
  if (!status) status = lsc_h5_attribute_int(h5, "start_time_unix_ns", snapshot->open_unix_ns);
  if (!status) status = lsc_h5_attribute_int(h5, "start_time_ns", snapshot->open_ns);
  if (!status) status = lsc_h5_attribute_int(h5, "finalize_time_ns", snapshot->taken_ns);
  return status;
}

static lsc_status put_user(struct lsc_h5 *h5) {
  struct passwd entry, *found = NULL;
  char space[4096], number[32];
  if (getpwuid_r(geteuid(), &entry, space, sizeof space, &found) == 0 && found) return put(h5, "user", found->pw_name);
  snprintf(number, sizeof number, "%u", (unsigned)geteuid());
  return put(h5, "user", number);
}

static lsc_status put_platform(struct lsc_h5 *h5) {
  struct utsname name;
  char text[sizeof name + 32];
  if (uname(&name) < 0) return put(h5, "platform", "unknown");
  snprintf(text, sizeof text, "%s-%s-%s-with-glibc%s", name.sysname, name.release, name.machine,
           gnu_get_libc_version());
  return put(h5, "platform", text);
}

static lsc_status put_machine(struct lsc_h5 *h5) {
  char host[256] = "";
  if (gethostname(host, sizeof host - 1) < 0) host[0] = 0;
  lsc_status status = put(h5, "hostname", host);
  if (!status) status = put_user(h5);
  if (!status) status = put_platform(h5);
  if (!status) status = lsc_h5_attribute_int(h5, "total_cores", sysconf(_SC_NPROCESSORS_ONLN));
  return status;
}

/* /proc/self/cmdline with a space between the arguments. */
static lsc_status put_own_command_line(struct lsc_h5 *h5) {
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
  if (!status) status = put_bytes(h5, "command_line", line.size ? (const char *)line.data : "", line.size);
  lsc_buffer_free(&line);
  return status;
}

/* 0 where the variable is not set; the first number where it is a list, one a nesting level. */
static int64_t omp_threads(void) {
  const char *text = getenv("OMP_NUM_THREADS");
  return text ? strtoll(text, NULL, 10) : 0;
}

static lsc_status put_program(struct lsc_h5 *h5, const char *label, const lsc_save_options *options) {
  const char *command = options ? options->command_line : NULL;
  char *folder = getcwd(NULL, 0);
  lsc_status status = put(h5, "working_directory", folder ? folder : "");
  free(folder);
  if (!status) status = command ? put(h5, "command_line", command) : put_own_command_line(h5);
  if (!status) status = put_optional(h5, "label", label);
  if (!status) status = put_optional(h5, "python_version", options ? options->python_version : NULL);
  if (!status) status = lsc_h5_attribute_int(h5, "omp_num_threads", omp_threads());
  return status;
}

static lsc_status put_libraries(struct lsc_h5 *h5) {
  char hdf5[32];
  lsc_h5_version(hdf5, sizeof hdf5);
  lsc_status status = put(h5, "lanescope_version", lsc_version());
  if (!status) status = put(h5, "mpi_library", lsc_mpi_library());
  if (!status) status = put(h5, "hdf5_library", hdf5);
  return status;
}

/* A name that stands twice in the environment is taken once, as getenv does. */
static lsc_status put_slurm(struct lsc_h5 *h5) {
  lsc_status status = LSC_OK;
  for (char **entry = environ; entry && *entry && !status; entry++) {
    const char *equals = strchr(*entry, '=');
    if (strncmp(*entry, "SLURM_", 6) != 0 || !equals || equals - *entry > LSC_MAX_NAME) continue;
    char *name = strndup(*entry, (size_t)(equals - *entry));
    if (!name) return lsc_fail(LSC_NO_MEMORY, "no memory for the SLURM_* variables");
    if (getenv(name) == equals + 1) status = put(h5, name, equals + 1);
    free(name);
  }
  return status;
}

lsc_status lsc_metadata_write(struct lsc_h5 *h5, const struct lsc_snapshot *snapshot, int ranks,
                              const lsc_save_options *options) {
  lsc_status status = put_times(h5, snapshot);
  if (!status) status = lsc_h5_attribute_int(h5, "mpi_size", ranks);
  if (!status) status = put_machine(h5);
  if (!status) status = put_program(h5, snapshot->label, options);
  if (!status) status = put_libraries(h5);
  if (!status) status = put_slurm(h5);
  return status;
}
