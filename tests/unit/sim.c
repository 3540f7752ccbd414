/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "unit.h"

#if UNIT_THREAD_SANITIZED
/* Before main: no program that simulates ranks runs. */
__attribute__((constructor)) static void stand_back(void) {
  puts("skipped: ranks are simulated in one thread, on fibers whose stacks ThreadSanitizer would all keep in memory");
  fflush(stdout);
  _exit(UNIT_SKIPPED);
}
#endif

#define NEVER INT64_MAX
#define DEFAULT_STACK (64u << 10)

struct message {
  struct message *next;
  struct fiber *sender; /* who waits for it to be received, or NULL */
  int64_t arrives;
  uint64_t round;
  size_t size;
  int from, tag;
  unsigned char data[];
};

struct fiber {
  struct lsc_coll coll;
  struct world *world;
  struct sim_rank lot;
  ucontext_t context;
  enum { WAITING, READY, ENDED } state;
  int dead;
  int from, tag;    /* of the message it waits for; from -1: for none */
  int unreceived;   /* its synchronous message was not received yet */
  int64_t deadline; /* of its wait */
  uint64_t round, sent, bytes;
  struct message *mail;
};

struct world {
  int size;
  struct fiber *fiber;
  void (*body)(struct lsc_coll *, void *);
  void *arg;
  struct sim_options options;
  struct sim_stats stats;
  int64_t now;
  uint64_t random;
  ucontext_t scheduler;
  int *ready; /* a ring of ranks */
  int first, readies;
  char *stacks;
  size_t stack;
};

/* Of the body that runs; -1 while the simulation's own code does. Volatile: compilers do not expect malloc to look. */
static volatile int running = -1;

int sim_running(void) { return running; }

static uint64_t draw(struct world *world) {
  world->random ^= world->random << 13;
  world->random ^= world->random >> 7;
  world->random ^= world->random << 17;
  return world->random;
}

static void make_ready(struct fiber *fiber) {
  struct world *world = fiber->world;
  if (fiber->state != WAITING) return;
  fiber->state = READY;
  world->ready[(world->first + world->readies++) % world->size] = fiber->coll.rank;
}

static struct fiber *next_ready(struct world *world) {
  int *head = &world->ready[world->first];
  int rank = *head;
  if (world->options.seed) {
    int *other = &world->ready[(world->first + (int)(draw(world) % (unsigned)world->readies)) % world->size];
    rank = *other;
    *other = *head;
  }
  world->first = (world->first + 1) % world->size;
  world->readies--;
  return &world->fiber[rank];
}

static void wait_until(struct fiber *fiber, int from, int tag, int64_t deadline) {
  fiber->state = WAITING;
  fiber->from = from;
  fiber->tag = tag;
  fiber->deadline = deadline;
  swapcontext(&fiber->context, &fiber->world->scheduler);
}

static int is_gone(struct fiber *fiber) {
  if (fiber->lot.dies_at && fiber->world->now >= fiber->lot.dies_at) fiber->dead = 1;
  if (fiber->lot.dies_after && fiber->sent >= fiber->lot.dies_after) fiber->dead = 1;
  return fiber->dead;
}

static struct message **find(struct fiber *fiber, int from, int tag) {
  struct message **at = &fiber->mail;
  while (*at && ((*at)->from != from || (*at)->tag != tag)) at = &(*at)->next;
  return at;
}

static int64_t latency_of(struct world *world, int from, int to) {
  if (world->options.delay) return world->options.delay(from, to, draw(world));
  if (!world->options.seed || !world->options.latency) return world->options.latency;
  return (int64_t)(draw(world) % (uint64_t)(world->options.latency + 1));
}

static struct message *post(struct fiber *fiber, struct fiber *to, int tag, const void *data, size_t size) {
  struct world *world = fiber->world;
  struct message *message, **at = &to->mail;
  running = -1;
  message = malloc(sizeof *message + size);
  running = fiber->coll.rank;
  if (!message) return NULL;
  fiber->sent++;
  fiber->bytes += size;
  fiber->round++;
  world->stats.messages++;
  world->stats.bytes += size;
  int64_t latency = latency_of(world, fiber->coll.rank, to->coll.rank);
  *message = (struct message){.arrives = fiber->lot.mute ? NEVER : world->now + latency,
                              .round = fiber->round, .size = size, .from = fiber->coll.rank, .tag = tag};
  if (size) memcpy(message->data, data, size);
  while (*at) at = &(*at)->next;
  *at = message;
  if (to->from == message->from && to->tag == tag && message->arrives <= world->now) make_ready(to);
  return message;
}

static int64_t until(const struct fiber *fiber, int64_t deadline) {
  int64_t hurries = fiber->coll.firm ? 0 : fiber->lot.hurries;
  return hurries && hurries < deadline ? hurries : deadline;
}

static lsc_status sim_send(struct lsc_coll *coll, int to, int tag, const void *data, size_t size, int64_t deadline) {
  struct fiber *fiber = coll->ctx;
  struct message *message;
  if (is_gone(fiber)) return LSC_TIMEOUT;
  message = post(fiber, &fiber->world->fiber[to], tag, data, size);
  if (!message) return LSC_NO_MEMORY;
  if (!fiber->world->options.synchronous) return LSC_OK;
  message->sender = fiber;
  fiber->unreceived = 1;
  deadline = until(fiber, deadline);
  while (fiber->unreceived && !is_gone(fiber) && fiber->world->now < deadline) wait_until(fiber, -1, 0, deadline);
  if (!fiber->unreceived) return LSC_OK;
  message->sender = NULL;
  return LSC_TIMEOUT;
}

static lsc_status receive(struct fiber *fiber, struct message **at, struct lsc_buffer *out) {
  struct message *message = *at;
  lsc_status status;
  *at = message->next;
  fiber->round = fiber->round + 1 > message->round ? fiber->round + 1 : message->round;
  if (message->sender) {
    message->sender->unreceived = 0;
    make_ready(message->sender);
  }
  out->size = 0;
  status = lsc_buffer_append(out, message->data, message->size);
  running = -1;
  free(message);
  running = fiber->coll.rank;
  return status;
}

static lsc_status sim_recv(struct lsc_coll *coll, int from, int tag, struct lsc_buffer *out, int64_t deadline) {
  struct fiber *fiber = coll->ctx;
  deadline = until(fiber, deadline);
  for (;;) {
    struct message **at;
    if (is_gone(fiber)) return LSC_TIMEOUT;
    at = find(fiber, from, tag);
    if (*at && (*at)->arrives <= fiber->world->now) return receive(fiber, at, out);
    if (fiber->world->now >= deadline) return LSC_TIMEOUT;
    wait_until(fiber, from, tag, deadline);
  }
}

static int64_t sim_now(struct lsc_coll *coll) { return ((struct fiber *)coll->ctx)->world->now; }

int sim_is_dead(const struct lsc_coll *coll) { return is_gone(coll->ctx); }

void sim_sleep(struct lsc_coll *coll, int64_t ns) {
  struct fiber *fiber = coll->ctx;
  int64_t end = fiber->world->now + ns;
  while (!is_gone(fiber) && fiber->world->now < end) wait_until(fiber, -1, 0, end);
}

unsigned sim_log2(int size) {
  unsigned log = 0;
  while ((1ll << log) < size) log++;
  return log;
}

static void enter(unsigned high, unsigned low) {
  struct fiber *fiber = (struct fiber *)(((uintptr_t)high << 16 << 16) | low);
  if (!is_gone(fiber)) fiber->world->body(&fiber->coll, fiber->world->arg);
  fiber->state = ENDED;
  swapcontext(&fiber->context, &fiber->world->scheduler);
}

static void create(struct world *world, int rank) {
  struct fiber *fiber = &world->fiber[rank];
  uintptr_t address = (uintptr_t)fiber;
  fiber->coll = (struct lsc_coll){rank, world->size, fiber, sim_send, sim_recv, sim_now, 0, 0};
  fiber->world = world;
  if (world->options.rank) fiber->lot = world->options.rank[rank];
  fiber->dead = fiber->lot.dead;
  fiber->from = -1;
  fiber->deadline = fiber->lot.arrives;
  if (fiber->dead) {
    fiber->state = ENDED;
    return;
  }
  getcontext(&fiber->context);
  fiber->context.uc_stack.ss_sp = world->stacks + (size_t)rank * world->stack;
  fiber->context.uc_stack.ss_size = world->stack;
  makecontext(&fiber->context, (void (*)(void))enter, 2, (unsigned)(address >> 16 >> 16), (unsigned)address);
}

static int64_t goes_on_at(struct fiber *fiber) {
  int64_t at = fiber->deadline;
  if (fiber->from >= 0) {
    const struct message *message = *find(fiber, fiber->from, fiber->tag);
    if (message && message->arrives < at) at = message->arrives;
  }
  return at;
}

/* Moves the clock. 0: nobody waits; -1: nobody will ever go on, so that all were let go. */
static int advance(struct world *world) {
  int64_t next = NEVER;
  int waiting = 0;
  for (int i = 0; i < world->size; i++) {
    struct fiber *fiber = &world->fiber[i];
    if (fiber->state != WAITING) continue;
    int64_t at = goes_on_at(fiber);
    waiting = 1;
    if (at < next) next = at;
  }
  if (waiting && next != NEVER && next > world->now) world->now = next;
  for (int i = 0; waiting && i < world->size; i++) {
    struct fiber *fiber = &world->fiber[i];
    if (next == NEVER) fiber->dead = 1;
    if (next == NEVER || goes_on_at(fiber) <= next) make_ready(fiber);
  }
  return waiting && next == NEVER ? -1 : waiting;
}

static int schedule(struct world *world) {
  int result = 0, moved;
  while ((moved = advance(world))) {
    if (moved < 0) result = -1;
    while (world->readies) {
      struct fiber *fiber = next_ready(world);
      running = fiber->coll.rank;
      swapcontext(&world->scheduler, &fiber->context);
      running = -1;
      if (fiber->state == ENDED && !fiber->dead) world->stats.ended = world->now;
    }
  }
  return result;
}

static void collect_stats(struct world *world) {
  for (int i = 0; i < world->size; i++) {
    const struct fiber *fiber = &world->fiber[i];
    if (fiber->round > world->stats.rounds) world->stats.rounds = fiber->round;
    if (fiber->sent > world->stats.most_sent) world->stats.most_sent = fiber->sent;
    if (fiber->bytes > world->stats.most_bytes) world->stats.most_bytes = fiber->bytes;
    if (world->options.bytes) world->options.bytes[i] = fiber->bytes;
  }
}

static void drop_mail(struct fiber *fiber) {
  while (fiber->mail) {
    struct message *next = fiber->mail->next;
    free(fiber->mail);
    fiber->mail = next;
  }
}

int sim_run(int size, void (*body)(struct lsc_coll *coll, void *arg), void *arg, const struct sim_options *options) {
  struct world world = {.size = size, .body = body, .arg = arg};
  int result = -1;
  if (options) world.options = *options;
  world.random = 0x9e3779b97f4a7c15u * (world.options.seed + 1u);
  world.stack = world.options.stack ? world.options.stack : DEFAULT_STACK;
  world.fiber = calloc((size_t)size, sizeof *world.fiber);
  world.ready = calloc((size_t)size, sizeof *world.ready);
  world.stacks = mmap(NULL, (size_t)size * world.stack, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (!world.fiber || !world.ready || world.stacks == MAP_FAILED) goto done;
  for (int rank = 0; rank < size; rank++) create(&world, rank);
  result = schedule(&world);
  collect_stats(&world);
  for (int rank = 0; rank < size; rank++) drop_mail(&world.fiber[rank]);
  if (world.options.stats) *world.options.stats = world.stats;
done:
  if (world.stacks != MAP_FAILED) munmap(world.stacks, (size_t)size * world.stack);
  free(world.ready);
  free(world.fiber);
  return result;
}
