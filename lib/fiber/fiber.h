/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef FIBER_FIBER_H
#define FIBER_FIBER_H

#include "fiber/sanitizers.h"
#include "fiber/weir_fiber.h"
#include "task/stack.h"
#include "task/task.h"

/*
 * C++: which exceptions a thread handles, and how many are on their way. The C++ ABI for
 * Itanium, which others have taken over, has it so (2.2.2, Caught Exception Stack).
 */
struct exceptions {
	void *caught;
	unsigned int nb_uncaught;
};

/*
 * Where the calling thread's are. Not there in a program without C++: the library needs
 * none of it.
 */
struct exceptions *
__cxa_get_globals(void) __attribute__((weak));

/* A fiber that has begun and not ended. Lies at the upper end of its stack. */
struct fiber {
	struct weir_fiber *task;
	struct stack *stack;
	struct weir_context *ctx; /* of its last poll; NULL: cancelled */
	void *caller_sp;	  /* where whoever polled it goes on */
	struct fiber *outer;	  /* which the calling thread was in */
	unsigned int late;	  /* awaits since it was cancelled */
	int rc;
	/* Its own while nobody is in it; else its caller's. */
	struct exceptions exceptions;
	struct switch_sanitizers sanitizers;
};

/* What the calling thread is in, innermost; NULL: its own stack. */
extern __thread struct fiber *weir__fiber
	__attribute__((tls_model("initial-exec")));

static inline const struct task *
fiber_task(const struct fiber *f)
{
	return container_of((const uint8_t(*)[])f->task, const struct task,
			    bytes);
}

/* overflow.c: where an overflow is reported, plus 1; 0: nobody wants that. */
extern struct atomic_u32 weir__overflow_fd;

static inline bool
overflow_is_reported(void)
{
	return atomic_u32_load(&weir__overflow_fd, RELAXED) != 0;
}

/* The calling thread is about to go on with a fiber, and overflows may be reported. */
void
weir__overflow_prepare(void);

#endif
