/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the line is seen, how wide it is there, and what stands in it. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect.h"
#include "lanescope.h"
#include "progress.h"

#define USUAL_COLUMNS 80
#define FEWEST_COLUMNS 16
#define FEWEST_FOR_NAME 12
#define OMISSION "..."

/* What a launcher on this host has for standard error: it gives its processes pipes. path: 40 bytes. */
static int launcher_has_terminal(char *path) {
  struct stat info;
  snprintf(path, 40, "/proc/%d/fd/2", (int)getppid());
  if (stat(path, &info) < 0 || !S_ISCHR(info.st_mode)) return 0;
  char target[64];
  ssize_t length = readlink(path, target, sizeof target - 1);
  target[length < 0 ? 0 : length] = 0;
  return strncmp(target, "/dev/pts/", 9) == 0 || strncmp(target, "/dev/tty", 8) == 0;
}

int lsc_progress_seen(void) {
  int rank, size;
  char path[40];
  struct stat info;
  if (isatty(STDERR_FILENO)) return 1;
  if (fstat(STDERR_FILENO, &info) < 0 || !S_ISFIFO(info.st_mode)) return 0;
  return lsc_launcher_rank(&rank, &size) && launcher_has_terminal(path);
}

int lsc_progress_columns(void) {
  char path[40];
  struct winsize size = {.ws_col = 0};
  int is_own = isatty(STDERR_FILENO), terminal = STDERR_FILENO;
  if (!is_own) terminal = launcher_has_terminal(path) ? open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC) : -1;
  int columns = ioctl(terminal, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : USUAL_COLUMNS;
  if (!is_own && terminal >= 0) close(terminal);
  return columns > FEWEST_COLUMNS ? columns : FEWEST_COLUMNS;
}

/* Columns of the character that begins at a byte of UTF-8, at most; 0: none begins there. */
static int width_at(unsigned char byte) { return (byte & 0xc0) == 0x80 ? 0 : byte < 0xe0 ? 1 : 2; }

static int width_of(const char *text) {
  int columns = 0;
  for (; *text; text++) columns += width_at((unsigned char)*text);
  return columns;
}

/* As many bytes of the text as fit. */
static size_t head_of(const char *text, int columns) {
  size_t i = 0;
  for (; text[i]; i++) {
    columns -= width_at((unsigned char)text[i]);
    if (columns < 0) break;
  }
  return i;
}

/* Where the last characters that fit begin. */
static size_t tail_of(const char *text, int columns) {
  size_t begin = strlen(text);
  for (size_t i = begin; i > 0;) {
    int width = width_at((unsigned char)text[--i]);
    columns -= width;
    if (columns < 0) break;
    if (width) begin = i;
  }
  return begin;
}

/* The name, or its begin and its end. */
static void fit(char *fitted, size_t size, const char *name, int columns) {
  if (width_of(name) <= columns) {
    snprintf(fitted, size, "%s", name);
    return;
  }
  int shown = columns - (int)strlen(OMISSION), head = shown / 2;
  snprintf(fitted, size, "%.*s" OMISSION "%s", (int)head_of(name, head), name, name + tail_of(name, shown - head));
}

int lsc_progress_line(char *line, size_t size, const char *name, const char *rest, int columns) {
  static const char begin[] = "lanescope: ";
  char fitted[LSC_PROGRESS_NAME + sizeof OMISSION];
  int room = columns - (int)sizeof begin + 1 - width_of(rest);
  fit(fitted, sizeof fitted, name, room > FEWEST_FOR_NAME ? room : FEWEST_FOR_NAME);
  snprintf(line, size, "%s%s%s", begin, fitted, rest);
  line[head_of(line, columns)] = 0;
  return width_of(line);
}
