/* SPDX-License-Identifier: BSD-3-Clause */
/* Which simulated rank knows which names, and their union by its definition, with what the tree may cost. */
#ifndef KNOWLEDGE_H
#define KNOWLEDGE_H

#include <stddef.h>
#include <stdint.h>

/* SAME: all ranks the same. DISJOINT: each its own. MIXED: few out of some that many know. SKEWED: one rank has most.
 * EMPTY: as MIXED, but two of three ranks know none. NOTHING: nobody knows any. */
enum knowledge { SAME, DISJOINT, MIXED, SKEWED, EMPTY, NOTHING, KNOWLEDGES };
extern const char *const knowledge_names[KNOWLEDGES];

#define KNOWLEDGE_MOST 300     /* names of a rank */
#define KNOWLEDGE_LONGEST 4096 /* bytes of a name */

/* The text of the name with this number, and its length: several are beginnings of others, one is empty, one as long as
 * a name may be, one holds a NUL. */
size_t knowledge_text(int number, char *text);

/* The numbers of the names that a rank knows, all different: [KNOWLEDGE_MOST]. Returns how many. */
int knowledge_of(enum knowledge knowledge, int rank, int size, int *number);

/* Of the distinct names of the ranks of one subtree of lsc_coll_up. */
struct subtree {
  uint64_t names, text; /* text: bytes */
};

struct reference {
  enum knowledge knowledge;
  int size;            /* ranks */
  int count, *number;  /* the union: ranks in order, each name where it first appears */
  int *position;       /* by number: place in the union, or -1 */
  struct subtree *subtree; /* [size], by the subtree's first rank; NULL: not asked for */
};

void refer(struct reference *ref, enum knowledge knowledge, int size, int with_subtrees);
void forget(struct reference *ref);

/* The ranks that send up to `rank`: each rank's parent is itself without its lowest set bit. child: [31]. */
int children_of(int rank, int size, int *child);

/* Bytes that a rank sends for a union: its subtree's names up, and an id for each name of each child's down. */
uint64_t bytes_of_union(const struct reference *ref, int rank);

#endif
