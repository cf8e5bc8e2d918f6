/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_STACKLESS_H
#define WEIR_STACKLESS_H

/**
 * @file
 * Poll functions that read from top to bottom, without a stack of their own.
 *
 * A poll function begins from its first line each time. Between WEIR_BEGIN and
 * WEIR_END it goes on from the wait that it was in:
 *
 * @code
 * struct blink {
 *	struct weir_place place;
 *	struct weir_sleep sleep;
 *	unsigned int i;
 * };
 *
 * static int
 * blink_poll(struct weir_context *ctx, void *state)
 * {
 *	struct blink *b = state;
 *	int rc;
 *
 *	WEIR_BEGIN(&b->place);
 *	for (b->i = 0; b->i < 10; b->i++) {
 *		toggle_led();
 *		WEIR_AWAIT(rc, weir_sleep(ctx, &b->sleep, 500 * 1000 * 1000));
 *		if (rc < 0)
 *			return rc;
 *	}
 *	WEIR_END;
 *	return WEIR_DONE;
 * }
 * @endcode
 *
 * What is to be there after a wait lies in the state: local variables do not
 * outlive it. Those that are set before WEIR_BEGIN, like b, are set in each poll.
 *
 * The compiler refuses, unless it is told to hide all warnings (-w),
 * - an await outside of WEIR_BEGIN and WEIR_END, and one without the other;
 * - two awaits in one line;
 * - an await in a switch;
 * - an await behind a variable that was set when it was declared, in the same
 *   block or one around it (GCC, unless this is a system header for it), and
 *   behind an array of variable length;
 * and GCC warns of others that are read without having been set
 * (-Wmaybe-uninitialized, if it optimises).
 *
 * It is a switch over the line, whose number is what struct weir_place keeps.
 */

#include <errno.h>

#include <weir_common.h>
#include <weir_task.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where a function goes on; zero: at its first line. In the task's state. */
struct weir_place {
	uint32_t line;
};

/*
 * Labels lie where no other switch has any: beyond the values of its type, which
 * makes the compiler speak.
 */
__extension__ typedef unsigned __int128 weir_label_;
#ifdef __cplusplus
#define WEIR_LABEL_(line) ((static_cast<weir_label_>(1) << 64) + (line))
#else
#define WEIR_LABEL_(line) (((weir_label_)1 << 64) + (line))
#endif

/* What it would only warn of, if anything, is an error in between. */
#ifdef __clang__
#define WEIR_ERRORS_                     \
	_Pragma("clang diagnostic push") \
		_Pragma("clang diagnostic error \"-Wswitch\"")
#define WEIR_ERRORS_END_ _Pragma("clang diagnostic pop")
#elif defined(__cplusplus)
#define WEIR_ERRORS_                   \
	_Pragma("GCC diagnostic push") \
		_Pragma("GCC diagnostic error \"-Woverflow\"")
#define WEIR_ERRORS_END_ _Pragma("GCC diagnostic pop")
#else
#define WEIR_ERRORS_                                           \
	_Pragma("GCC diagnostic push")                         \
		_Pragma("GCC diagnostic error \"-Woverflow\"") \
			_Pragma("GCC diagnostic error \"-Wjump-misses-init\"")
#define WEIR_ERRORS_END_ _Pragma("GCC diagnostic pop")
#endif

/**
 * From here on the function goes on where it was.
 *
 * @param place  A struct weir_place of the state: this function's alone.
 */
#define WEIR_BEGIN(place)                                       \
	{                                                       \
		WEIR_ERRORS_                                    \
		struct weir_place *const weir_place_ = (place); \
		switch (WEIR_LABEL_(weir_place_->line)) {       \
		default:                                        \
			return -EPROTO;                         \
		case WEIR_LABEL_(0):

/**
 * Where it ends: the next call, if there is one, begins anew. After a return before
 * this, as upon an error, it goes on at its last wait instead: whoever calls the
 * function again zeroes the place first. A poll that failed is not called again.
 */
#define WEIR_END               \
	WEIR_ERRORS_END_       \
	}                      \
	weir_place_->line = 0; \
	}                      \
	do {                   \
	} while (0)

/**
 * Makes a call until it returns something else than WEIR_PENDING; meanwhile the
 * function returns that.
 *
 * @param rc   Where goes what the call returned.
 * @param ...  The call: a wait of the task's, or another function of this kind.
 *             Evaluated anew each time. In C++ it may name a template with several
 *             arguments.
 */
#define WEIR_AWAIT(rc, ...)                   \
	do {                                  \
		weir_place_->line = __LINE__; \
		__attribute__((fallthrough)); \
	case WEIR_LABEL_(__LINE__):           \
		(rc) = (__VA_ARGS__);         \
		if ((rc) == WEIR_PENDING)     \
			return WEIR_PENDING;  \
	} while (0)

/**
 * Returns WEIR_PENDING once, when a wake-up has been arranged through
 * weir_context_waker(), and goes on behind it. There may be wake-ups for other
 * reasons.
 */
#define WEIR_SUSPEND()                        \
	do {                                  \
		weir_place_->line = __LINE__; \
		return WEIR_PENDING;          \
	case WEIR_LABEL_(__LINE__):;          \
	} while (0)

/** As weir_context_yield(), and goes on behind it. */
#define WEIR_YIELD(ctx)                    \
	do {                               \
		weir_context_yield((ctx)); \
		WEIR_SUSPEND();            \
	} while (0)

#ifdef __cplusplus
}
#endif

#endif
