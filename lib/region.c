/* SPDX-License-Identifier: BSD-3-Clause */
#include "region.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "chunk.h"
#include "message.h"
#include "registry.h"
#include "test_point.h"

/*
 * A hash table of all regions that readers walk without a lock: an entry is complete before its pointer is stored,
 * buckets are chains that grow at their head, and a larger table replaces the old one, which stays since somebody may
 * be walking it. Additions take the lock.
 */
struct entry {
  struct entry *next; /* in its chain of one table; a larger table has links of its own */
  struct lsc_region_record *record;
};

struct table {
  uint32_t mask;
  struct table *older;
  _Atomic(struct entry *) bucket[]; /* release by who adds; acquire by who looks up */
};

/* Strings after the name are set once, under the lock, with release, which pairs with the acquire in lsc_region_get and
 * publishes their bytes. The line is a number alone: relaxed. */
struct lsc_region_record {
  lsc_region_id id;
  uint32_t hash;
  size_t name_length;
  _Atomic(const char *) source_file, source_text, tags;
  _Atomic int64_t source_line;
  char name[];
};

#define FIRST_BUCKETS 256

LSC_HIDDEN _Atomic uint32_t lsc_regions_used;
static _Atomic(struct table *) table; /* release by who installs it, acquire by who looks up */
static struct lsc_registry records;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* FNV-1a. Source: Fowler, Noll, Vo; draft-eastlake-fnv. */
static uint32_t hash_of(const char *text, size_t length) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 16777619u;
  return hash;
}

static size_t utf8_length(const unsigned char *p, size_t left) {
  size_t n = *p < 0x80 ? 1 : *p >= 0xC2 && *p < 0xE0 ? 2 : (*p & 0xF0) == 0xE0 ? 3 : *p >= 0xF0 && *p < 0xF5 ? 4 : 0;
  if (!n || n > left) return 0;
  for (size_t i = 1; i < n; i++)
    if ((p[i] & 0xC0) != 0x80) return 0;
  if ((*p == 0xE0 && p[1] < 0xA0) || (*p == 0xED && p[1] > 0x9F) || (*p == 0xF0 && p[1] < 0x90) ||
      (*p == 0xF4 && p[1] > 0x8F))
    return 0;
  return n;
}

/* How many bytes at the beginning are ASCII without a NUL: eight at a time, as far as that goes. */
static size_t ascii_words(const char *text, size_t length) {
  const uint64_t ones = 0x0101010101010101u, tops = ones << 7;
  size_t i = 0;
  for (uint64_t word; i + sizeof word <= length; i += sizeof word) {
    memcpy(&word, text + i, sizeof word);
    if ((word | (word - ones)) & tops) break;
  }
  return i;
}

int lsc_name_is_valid(const char *text, size_t length) {
  if (length > LSC_MAX_NAME) return 0;
  for (size_t i = ascii_words(text, length), n; i < length; i += n) {
    n = text[i] ? utf8_length((const unsigned char *)text + i, length - i) : 0;
    if (!n) return 0;
  }
  return 1;
}

static struct lsc_region_record *find(const char *name, size_t length, uint32_t hash) {
  struct table *now = atomic_load_explicit(&table, memory_order_acquire);
  if (!now) return NULL;
  struct entry *entry = atomic_load_explicit(&now->bucket[hash & now->mask], memory_order_acquire);
  for (; entry; entry = entry->next)
    if (entry->record->hash == hash && entry->record->name_length == length &&
        !memcmp(entry->record->name, name, length))
      return entry->record;
  return NULL;
}

static void link_record(struct table *into, struct entry *entry, struct lsc_region_record *record) {
  _Atomic(struct entry *) *bucket = &into->bucket[record->hash & into->mask];
  *entry = (struct entry){atomic_load_explicit(bucket, memory_order_relaxed), record};
  atomic_store_explicit(bucket, entry, memory_order_release);
}

static void free_table(struct table *old) {
  for (uint32_t i = 0; i <= old->mask; i++) {
    struct entry *entry = atomic_load_explicit(&old->bucket[i], memory_order_relaxed), *next;
    for (; entry; entry = next) {
      next = entry->next;
      free(entry);
    }
  }
  free(old);
}

/* A table of at least as many buckets as regions, so that a look-up takes constant time. */
static struct table *roomy_table(uint32_t count) {
  struct table *now = atomic_load_explicit(&table, memory_order_relaxed);
  if (now && count <= now->mask) return now;
  uint32_t buckets = now ? 2 * (now->mask + 1) : FIRST_BUCKETS;
  struct table *larger = calloc(1, sizeof *larger + buckets * sizeof larger->bucket[0]);
  if (!larger) return NULL;
  larger->mask = buckets - 1;
  for (uint32_t i = 0; i < count; i++) {
    struct entry *entry = malloc(sizeof *entry);
    if (!entry) {
      free_table(larger);
      return NULL;
    }
    link_record(larger, entry, lsc_registry_get(&records, i));
  }
  larger->older = now;
  atomic_store_explicit(&table, larger, memory_order_release);
  return larger;
}

static struct lsc_region_record *new_record(const char *name, size_t length, uint32_t hash) {
  struct lsc_region_record *record = calloc(1, sizeof *record + length + 1);
  if (!record) return NULL;
  record->hash = hash;
  record->name_length = length;
  atomic_init(&record->source_line, -1);
  memcpy(record->name, name, length);
  return record;
}

static lsc_status add(const char *name, size_t length, uint32_t hash, struct lsc_region_record **result) {
  uint32_t count = atomic_load_explicit(&lsc_regions_used, memory_order_relaxed), index;
  if (count > LSC_ROW_REGION_MASK) return lsc_fail(LSC_LIMIT, "%u regions are the most that a process can have", count);
  struct table *into = roomy_table(count);
  struct lsc_region_record *record = into ? new_record(name, length, hash) : NULL;
  struct entry *entry = malloc(sizeof *entry);
  if (!record || !entry || lsc_registry_take(&records, &index) != LSC_OK) {
    free(record);
    free(entry);
    return lsc_fail(LSC_NO_MEMORY, "no memory for region %u", count);
  }
  record->id = index;
  lsc_registry_publish(&records, index, record);
  LSC_TEST_POINT("region published");
  atomic_store_explicit(&lsc_regions_used, index + 1, memory_order_relaxed);
  link_record(into, entry, record);
  *result = record;
  return LSC_OK;
}

/* The first registration that gives a text decides it. */
static lsc_status set_text(_Atomic(const char *) *text, const char *value) {
  if (!value || atomic_load_explicit(text, memory_order_relaxed)) return LSC_OK;
  char *copy = strdup(value);
  if (!copy) return lsc_fail(LSC_NO_MEMORY, "no memory for a region's source");
  atomic_store_explicit(text, copy, memory_order_release);
  return LSC_OK;
}

static lsc_status set_fields(struct lsc_region_record *record, const lsc_region_info *info) {
  if (info->source_line > 0 && atomic_load_explicit(&record->source_line, memory_order_relaxed) < 0)
    atomic_store_explicit(&record->source_line, info->source_line, memory_order_relaxed);
  lsc_status status = set_text(&record->source_file, info->source_file);
  if (status == LSC_OK) status = set_text(&record->source_text, info->source_text);
  if (status == LSC_OK) status = set_text(&record->tags, info->tags);
  return status;
}

static lsc_status check_text(const char *what, const char *text, size_t length) {
  if (!text || lsc_name_is_valid(text, length)) return LSC_OK;
  return lsc_fail(LSC_BAD_NAME, "a region's %s of %zu bytes is not valid UTF-8 without NUL of at most %d bytes", what,
                  length, LSC_MAX_NAME);
}

static lsc_status check_info(const lsc_region_info *info, size_t length) {
  lsc_status status = check_text("name", info->name, length);
  if (status == LSC_OK && info->source_file)
    status = check_text("source_file", info->source_file, strlen(info->source_file));
  if (status == LSC_OK && info->source_text)
    status = check_text("source_text", info->source_text, strlen(info->source_text));
  if (status == LSC_OK && info->tags) status = check_text("tags", info->tags, strlen(info->tags));
  return status;
}

/* 1 if the region has all that info could give it. */
static int has_fields(const struct lsc_region_record *record, const lsc_region_info *info) {
  return (info->source_line <= 0 || atomic_load_explicit(&record->source_line, memory_order_relaxed) > 0) &&
         (!info->source_file || atomic_load_explicit(&record->source_file, memory_order_relaxed)) &&
         (!info->source_text || atomic_load_explicit(&record->source_text, memory_order_relaxed)) &&
         (!info->tags || atomic_load_explicit(&record->tags, memory_order_relaxed));
}

static struct lsc_region_record *find_whole(const lsc_region_info *info, size_t length) {
  if (length > LSC_MAX_NAME) return NULL;
  struct lsc_region_record *record = find(info->name, length, hash_of(info->name, length));
  return record && has_fields(record, info) ? record : NULL;
}

static lsc_status add_or_fill(const lsc_region_info *info, size_t length, struct lsc_region_record **record) {
  lsc_status status = check_info(info, length);
  if (status != LSC_OK) return status;
  uint32_t hash = hash_of(info->name, length);
  pthread_mutex_lock(&lock);
  *record = find(info->name, length, hash);
  if (!*record) status = add(info->name, length, hash, record);
  if (status == LSC_OK) status = set_fields(*record, info);
  pthread_mutex_unlock(&lock);
  return status;
}

lsc_status lsc_region_define(const lsc_region_info *info, lsc_region_id *region) {
  if (region) *region = LSC_NO_REGION;
  if (!info || !region || !info->name)
    return lsc_fail(LSC_INVALID, "a region needs a name and a place for its handle; one is NULL");
  if (info->size != sizeof *info)
    return lsc_fail(LSC_INVALID, "lsc_region_info.size is %zu; this library knows %zu: set it to sizeof", info->size,
                    sizeof *info);
  size_t length = info->name_length == (size_t)-1 ? strlen(info->name) : info->name_length;
  struct lsc_region_record *record = find_whole(info, length);
  lsc_status status = record ? LSC_OK : add_or_fill(info, length, &record);
  if (status == LSC_OK) *region = record->id;
  return status;
}

lsc_status lsc_region(const char *name, lsc_region_id *region) {
  if (region) *region = LSC_NO_REGION;
  if (!name || !region)
    return lsc_fail(LSC_INVALID, "lsc_region: a region needs a name and a place for its handle; one is NULL");
  size_t length = strlen(name);
  struct lsc_region_record *known = length > LSC_MAX_NAME ? NULL : find(name, length, hash_of(name, length));
  if (known) {
    *region = known->id;
    return LSC_OK;
  }
  return lsc_region_define(&(lsc_region_info){.size = sizeof(lsc_region_info), .name = name, .name_length = length},
                           region);
}

struct lsc_region_view lsc_region_get(lsc_region_id region) {
  struct lsc_region_record *record = lsc_registry_get(&records, region);
  return (struct lsc_region_view){record->name,
                                  record->name_length,
                                  atomic_load_explicit(&record->source_file, memory_order_acquire),
                                  atomic_load_explicit(&record->source_text, memory_order_acquire),
                                  atomic_load_explicit(&record->tags, memory_order_acquire),
                                  atomic_load_explicit(&record->source_line, memory_order_relaxed)};
}

void lsc_region_lock(void) { pthread_mutex_lock(&lock); }
void lsc_region_unlock(void) { pthread_mutex_unlock(&lock); }
