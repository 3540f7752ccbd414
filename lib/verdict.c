/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Why nobody goes on while another is apart. A rank's last word to rank 0 is either HERE, after which it takes whatever
 * verdict comes, or LEFT, after which its verdict is APART. Rank 0 says GO or FAIL only after everybody's HERE, and
 * only within twice the grace of the first CALL, while a rank that said HERE waits for three times the grace from its
 * CALL on. So these waits are firm, while those for the reports and for the CALL may be cut short. What is left is a
 * rank 0 that dies, or is stopped for as long as the grace, while it sends out its verdict.
 */
#include "verdict.h"

#include <string.h>

#include "message.h"
#include "words.h"

/* How long rank 0 stays with a rank that does not take a message, and a rank that gives up with rank 0. */
#define SEND_NS 20000000

enum word { SILENCE, REPORT, HERE, LEFT, CALL, VERDICT };

/* What rank 0 knows. rank of the two verdicts: -1 while there is none. */
struct ballot {
  struct lsc_verdict failed;    /* of the lowest rank that failed */
  struct lsc_verdict followed;  /* of the lowest rank that failed because of another */
  struct lsc_verdict timed_out; /* of the lowest rank that reported LSC_TIMEOUT */
  struct lsc_ranks missing;         /* sent no report */
  struct lsc_ranks gone;            /* sent one, but did not wait for the rest */
  int late;                     /* rank 0 itself was held up, so that others may have left since they answered */
};

struct message {
  uint32_t word;
  int32_t status, rank;
  uint32_t length;
  char text[sizeof((struct lsc_verdict *)0)->text];
};

static int64_t later(int64_t time, int64_t by) { return time > INT64_MAX - by ? INT64_MAX : time + by; }
static int64_t sooner(int64_t a, int64_t b) { return a < b ? a : b; }

/* Cut where a character of UTF-8 begins. */
static void set_text(struct lsc_verdict *verdict, const char *text) {
  size_t length = strnlen(text, sizeof verdict->text);
  if (length == sizeof verdict->text) {
    length--;
    while (length && ((unsigned char)text[length] & 0xc0) == 0x80) length--;
  }
  memcpy(verdict->text, text, length);
  verdict->text[length] = 0;
}

static struct lsc_verdict verdict_of(lsc_status status, int rank, const char *text) {
  struct lsc_verdict verdict = {.status = status, .rank = status ? rank : -1};
  if (status) set_text(&verdict, text ? text : lsc_strerror(status));
  return verdict;
}

static lsc_status say(struct lsc_coll *coll, int to, enum word word, const struct lsc_verdict *what, int64_t deadline) {
  struct message message = {.word = word};
  if (what) {
    message.status = what->status;
    message.rank = what->rank;
    message.length = (uint32_t)strlen(what->text);
    memcpy(message.text, what->text, message.length);
  }
  return coll->send(coll, to, LSC_AGREE_TAG, &message, offsetof(struct message, text) + message.length, deadline);
}

static enum word parse(const struct lsc_buffer *bytes, struct lsc_verdict *what) {
  struct lsc_reader reader = {bytes->data, bytes->data + bytes->size, 0};
  struct message message = {0};
  lsc_read(&reader, &message, offsetof(struct message, text));
  if (reader.failed || message.length >= sizeof message.text) return SILENCE;
  lsc_read(&reader, what->text, message.length);
  if (reader.failed || reader.next != reader.end) return SILENCE;
  what->text[message.length] = 0;
  what->status = (lsc_status)message.status;
  what->rank = message.rank;
  return (enum word)message.word;
}

/* The next word of that rank, and what came with it; SILENCE when none came, or none that can be read. */
static enum word hear(struct lsc_coll *coll, int from, struct lsc_verdict *what, int64_t deadline) {
  struct lsc_buffer bytes = {0};
  enum word word = SILENCE;
  if (!coll->recv(coll, from, LSC_AGREE_TAG, &bytes, deadline) && bytes.size) word = parse(&bytes, what);
  lsc_buffer_free(&bytes);
  return word;
}

static struct lsc_words words_of(struct lsc_verdict *verdict) {
  return (struct lsc_words){verdict->text, sizeof verdict->text, 0};
}

static void count_report(struct ballot *ballot, int rank, const struct lsc_verdict *report) {
  int apart = report->status == LSC_TIMEOUT || report->status == LSC_APART;
  struct lsc_verdict *to = apart ? &ballot->timed_out : report->rank < 0 ? &ballot->followed : &ballot->failed;
  if (!report->status || to->rank >= 0) return;
  *to = *report;
  to->rank = rank;
}

static void take_reports(struct lsc_coll *coll, int64_t deadline, struct ballot *ballot) {
  for (int rank = 1; rank < coll->size; rank++) {
    struct lsc_verdict report;
    if (hear(coll, rank, &report, deadline) == REPORT) count_report(ballot, rank, &report);
    else lsc_ranks_add(&ballot->missing, rank);
  }
}

static void call_roll(struct lsc_coll *coll, int64_t grace, struct ballot *ballot) {
  int64_t start = coll->now(coll), end = later(start, grace);
  struct lsc_verdict none;
  for (int rank = 1; rank < coll->size; rank++) {
    say(coll, rank, CALL, NULL, sooner(end, later(coll->now(coll), SEND_NS)));
  }
  for (int rank = 1; rank < coll->size; rank++) {
    if (hear(coll, rank, &none, end) != HERE) lsc_ranks_add(&ballot->gone, rank);
  }
  ballot->late = coll->now(coll) > later(end, grace);
}

static int is_apart(const struct ballot *ballot) {
  return ballot->missing.total || ballot->gone.total || ballot->late || ballot->timed_out.rank >= 0;
}

static void explain_apart(const struct ballot *ballot, const char *step, int64_t waited, struct lsc_verdict *verdict) {
  *verdict = (struct lsc_verdict){.status = LSC_APART};
  struct lsc_words words = words_of(verdict);
  if (ballot->missing.total) {
    verdict->rank = ballot->missing.first[0];
    lsc_words_missing(&words, &ballot->missing, step, waited);
  } else if (ballot->timed_out.rank >= 0) {
    verdict->rank = ballot->timed_out.rank;
    set_text(verdict, ballot->timed_out.text);
  } else if (ballot->gone.total) {
    verdict->rank = ballot->gone.first[0];
    lsc_words_ranks(&words, &ballot->gone);
    lsc_words_add(&words, " left step '%s' before every rank had arrived", step);
  } else {
    lsc_words_add(&words, "rank 0 was held up for too long at step '%s'", step);
  }
}

/* APART is what a rank makes of silence too, so it is worth no wait; the others find everybody there to take them. */
static void announce(struct lsc_coll *coll, const struct lsc_verdict *verdict, int64_t grace) {
  int64_t end = later(coll->now(coll), grace);
  for (int rank = 1; rank < coll->size; rank++) {
    int64_t limit = verdict->status == LSC_APART ? sooner(end, later(coll->now(coll), SEND_NS)) : end;
    say(coll, rank, VERDICT, verdict, limit);
  }
}

static void lead(struct lsc_coll *coll, const char *step, const struct lsc_verdict *mine, int64_t deadline,
                 int64_t grace, struct lsc_verdict *verdict) {
  struct ballot ballot = {.failed.rank = -1, .followed.rank = -1, .timed_out.rank = -1};
  int64_t start = coll->now(coll);
  count_report(&ballot, 0, mine);
  take_reports(coll, deadline, &ballot);
  int64_t waited = sooner(deadline, coll->now(coll)) - start;
  coll->firm = 1;
  if (!is_apart(&ballot)) call_roll(coll, grace, &ballot);
  if (is_apart(&ballot)) explain_apart(&ballot, step, waited, verdict);
  else *verdict = ballot.failed.rank >= 0 ? ballot.failed : ballot.followed;
  announce(coll, verdict, grace);
}

static void give_up(struct lsc_coll *coll, const char *step, int64_t waited, struct lsc_verdict *verdict) {
  *verdict = (struct lsc_verdict){.status = LSC_APART, .rank = 0};
  struct lsc_words words = words_of(verdict);
  coll->firm = 1;
  say(coll, 0, LEFT, NULL, later(coll->now(coll), SEND_NS));
  lsc_words_add(&words, "rank %d heard nothing from rank 0 at step '%s' for ", coll->rank, step);
  lsc_words_seconds(&words, waited);
}

static void follow(struct lsc_coll *coll, const char *step, const struct lsc_verdict *mine, int64_t deadline,
                   int64_t grace, struct lsc_verdict *verdict) {
  int64_t start = coll->now(coll), limit = later(deadline, grace);
  lsc_status sent = say(coll, 0, REPORT, mine, limit);
  enum word word = SILENCE;
  if (!sent || sent == LSC_TIMEOUT) word = hear(coll, 0, verdict, limit);
  if (word == CALL) {
    coll->firm = 1;
    limit = later(coll->now(coll), 3 * grace);
    say(coll, 0, HERE, NULL, limit);
    word = hear(coll, 0, verdict, limit);
  }
  if (word != VERDICT) give_up(coll, step, coll->now(coll) - start, verdict);
}

lsc_status lsc_agree(struct lsc_coll *coll, const char *step, lsc_status mine, const char *message, int64_t deadline,
                     int64_t grace, struct lsc_verdict *verdict) {
  struct lsc_verdict report = verdict_of(mine, message ? coll->rank : -1, message);
  if (coll->rank) follow(coll, step, &report, deadline, grace, verdict);
  else lead(coll, step, &report, deadline, grace, verdict);
  coll->firm = 0;
  if (verdict->status) return lsc_fail(verdict->status, "%s", verdict->text);
  return LSC_OK;
}
