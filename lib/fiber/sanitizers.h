/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef FIBER_SANITIZERS_H
#define FIBER_SANITIZERS_H

/*
 * Tells the address and thread sanitizers which stack the thread is on. In any
 * other build all of it is nothing.
 */

#include "base/asan.h"
#include "base/race.h"
#include "task/stack.h"

#ifdef WEIR_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

struct switch_sanitizers {
#ifdef WEIR_ASAN
	void *fake; /* the frames that it keeps elsewhere */
	void *caller_fake;
	const void *caller_low;
	size_t caller_size;
#endif
#ifdef WEIR_TSAN
	void *tsan;
	void *caller_tsan;
#endif
};

/* The stack is new. */
static inline void
sanitizers_create(struct switch_sanitizers *s)
{
#ifdef WEIR_TSAN
	s->tsan = __tsan_create_fiber(0);
#endif
	(void)s;
}

/* Nobody is on it any more. */
static inline void
sanitizers_destroy(struct switch_sanitizers *s)
{
#ifdef WEIR_TSAN
	__tsan_destroy_fiber(s->tsan);
#endif
	(void)s;
}

/* Around a switch to the stack, on the caller's. */
static inline void
sanitizers_enter(struct switch_sanitizers *s, const struct stack *to)
{
	(void)s;
	(void)to;
#ifdef WEIR_ASAN
	__sanitizer_start_switch_fiber(&s->caller_fake, to->low, to->size);
#endif
#ifdef WEIR_TSAN
	s->caller_tsan = __tsan_get_current_fiber();
	__tsan_switch_to_fiber(s->tsan, 0);
#endif
}

static inline void
sanitizers_entered(const struct switch_sanitizers *s)
{
	(void)s;
#ifdef WEIR_ASAN
	__sanitizer_finish_switch_fiber(s->caller_fake, NULL, NULL);
#endif
}

/* On the stack, when it was switched to. */
static inline void
sanitizers_resumed(struct switch_sanitizers *s)
{
	(void)s;
#ifdef WEIR_ASAN
	__sanitizer_finish_switch_fiber(s->fake, &s->caller_low,
					&s->caller_size);
#endif
}

/* And when it is about to be left, for ever or not. */
static inline void
sanitizers_leave(struct switch_sanitizers *s, bool for_ever)
{
	(void)s;
	(void)for_ever;
#ifdef WEIR_ASAN
	__sanitizer_start_switch_fiber(for_ever ? NULL : &s->fake,
				       s->caller_low, s->caller_size);
#endif
#ifdef WEIR_TSAN
	__tsan_switch_to_fiber(s->caller_tsan, 0);
#endif
}

#endif
