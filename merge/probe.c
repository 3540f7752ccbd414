/* SPDX-License-Identifier: BSD-3-Clause */
#include "probe.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls.h"
#include "message.h"

#define ALIVE 'a'
#define DONE 'd'

static void tell(int pipe, const void *bytes, size_t size) {
  ssize_t written;
  do written = write(pipe, bytes, size);
  while (written < 0 && errno == EINTR);
}

static void tell_alive(void *pipe) {
  static const char alive = ALIVE;
  tell(*(int *)pipe, &alive, 1);
}

/* A message as it goes through the pipe, at once. */
struct word {
  char kind;
  lsc_status status;
  char text[2000];
};

static lsc_status read_all(const char *path, int pipe) {
  struct lsc_input input;
  lsc_status status = lsc_input_read(&input, path);
  tell_alive(&pipe);
  for (int row = 0; row < input.ranks && !status; row++) {
    struct lsc_calls calls;
    status = lsc_calls_load(&calls, &input, row, tell_alive, &pipe);
    lsc_calls_free(&calls);
  }
  return status;
}

static void child(const char *path, int pipe) {
  struct word word = {.kind = DONE};
  struct rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  word.status = read_all(path, pipe);
  snprintf(word.text, sizeof word.text, "%s", word.status ? lsc_message() : "");
  tell(pipe, &word, sizeof word);
  _exit(0);
}

/* 1 once the last word is there; 0 at the end of the pipe, -1 after a silence. */
static int listen_to(int pipe, int silence_ms, struct word *word) {
  size_t got = 0;
  for (;;) {
    struct pollfd ready = {.fd = pipe, .events = POLLIN};
    int count = poll(&ready, 1, silence_ms);
    if (count == 0) return -1;
    if (count < 0) continue;
    ssize_t size = read(pipe, (char *)word + got, got ? sizeof *word - got : 1);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return 0;
    if (got == 0 && word->kind != DONE) continue;
    got += (size_t)size;
    if (got == sizeof *word) return 1;
  }
}

static lsc_status judge(const char *path, int heard, const struct word *word, int ended) {
  if (heard < 0) {
    return lsc_fail(LSC_INVALID, "'%s' is damaged: HDF5 did not come to an end of reading it", path);
  }
  if (heard > 0) return word->status ? lsc_fail(word->status, "%.*s", (int)sizeof word->text, word->text) : LSC_OK;
  if (WIFSIGNALED(ended)) {
    return lsc_fail(LSC_INVALID, "'%s' is damaged: HDF5 crashed over it (%s)", path, strsignal(WTERMSIG(ended)));
  }
  return lsc_fail(LSC_INVALID, "'%s' is damaged: HDF5 gave up over it (exit status %d)", path, WEXITSTATUS(ended));
}

static lsc_status check_file(const char *path) {
  struct stat info;
  if (stat(path, &info) < 0) return lsc_fail(LSC_IO, "'%s': %s", path, strerror(errno));
  if (!S_ISREG(info.st_mode)) return lsc_fail(LSC_IO, "'%s' is not a regular file", path);
  return LSC_OK;
}

lsc_status lsc_probe(const char *path, int silence_ms) {
  struct word word = {0};
  int ends[2], ended = 0;
  lsc_status status = check_file(path);
  if (status) return status;
  if (pipe(ends) < 0) return lsc_fail(LSC_IO, "'%s': no pipe to read it through: %s", path, strerror(errno));
  pid_t process = fork();
  if (process == 0) {
    close(ends[0]);
    child(path, ends[1]);
  }
  close(ends[1]);
  if (process < 0) {
    close(ends[0]);
    return lsc_fail(LSC_IO, "'%s': no process to read it in: %s", path, strerror(errno));
  }
  int heard = listen_to(ends[0], silence_ms, &word);
  close(ends[0]);
  if (heard < 0) kill(process, SIGKILL);
  while (waitpid(process, &ended, 0) < 0 && errno == EINTR) continue;
  return judge(path, heard, &word, ended);
}
