/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that were begun on a stack and ended from elsewhere. Who ends one writes its row; the frame stays on the stack
 * until the stack's owner looks, and as long keeps the row's chunk.
 */
#ifndef LSC_MARK_H
#define LSC_MARK_H

#include "chunk.h"

/* 1 if the frame of a call of this chunk that was ended by mark may still be on a stack. By the commit. */
int lsc_mark_holds(struct lsc_chunk *chunk);

#endif
