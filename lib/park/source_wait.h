/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef PARK_SOURCE_WAIT_H
#define PARK_SOURCE_WAIT_H

/*
 * How a task waits on a source: the part that a burst of packets comes through. In a
 * header, since calls and the registers that they save made a tenth of a burst. Other
 * drivers, those of applications among them, call it by weir_source_driver.h, which
 * says what each function is for. See source_wait.c.
 */

#include "park/source.h"

/* A wait that does not begin: there is no budget left, or somebody has the lock. */
__rte_cold int
weir__source_wait_later(struct weir_context *ctx);

static __rte_always_inline int
source_wait_begin(struct weir_context *ctx, struct weir_source *src)
{
	if (unlikely(context_is_spent(ctx)) ||
	    unlikely(!lock_try_blind(&src->lock)))
		return weir__source_wait_later(ctx);
	return src->told != 0;
}

/*
 * The wait is over, and the next one begins at once: with the lock, which need not be
 * taken anew. False: it cannot, so the lock is to be released.
 */
static __rte_always_inline bool
source_wait_next(struct weir_context *ctx, struct weir_source *src,
		 uint32_t units)
{
	context_charge(ctx, units);
	src->again = false;
	return likely(!context_is_spent(ctx)) &&
	       likely(!lock_is_wanted(&src->lock));
}

static __rte_always_inline void
source_wait_ready(struct weir_context *ctx, struct weir_source *src,
		  uint32_t units)
{
	context_charge(ctx, units);
	src->again = false;
	lock_release(&src->lock);
}

/* U1, U2: is the task to yield and look again, rather than wait? With the lock. */
static __rte_always_inline bool
source_looks_again(const struct weir_context *ctx, struct weir_source *src)
{
	if (!src->quick || src->again ||
	    source_home(src)->worker != ctx->worker)
		return false;
	src->again = true;
	return true;
}

static __rte_always_inline int
source_wait_arm(struct weir_context *ctx, struct weir_source *src)
{
	if (unlikely(src->waiter != NULL) || !source_looks_again(ctx, src))
		return weir_source_wait_arm(ctx, src->priv);
	lock_release(&src->lock);
	return context_look_again(ctx);
}

#endif
