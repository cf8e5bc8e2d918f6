/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef FIBER_SWITCH_H
#define FIBER_SWITCH_H

/*
 * From one stack to another: switch.S has the code, and this what it leaves on a
 * stack: the registers that a function must not change.
 */

#include <stdint.h>

#if defined(__x86_64__)
struct switch_frame {
	uint32_t mxcsr;
	uint32_t x87;
	uint64_t r15, r14, r13, r12, rbx, rbp, rip;
};
#elif defined(__aarch64__)
struct switch_frame {
	uint64_t x19, x20, x21, x22, x23, x24, x25, x26, x27, x28, x29, x30;
	uint64_t d[8];
	uint64_t fpcr;
	uint64_t pad;
};
#else
#error "fibers: no switch for this architecture"
#endif

/*
 * Saves the caller's registers on its stack, and where they are in *save; goes
 * on where the other stack was left, with that value as what this call returned
 * there.
 *
 * The CPU expects calls to return in the order in which they were made, and a
 * switch is a surprise to it. On x86 this one leaves with a jump, which it can
 * foresee. But what a caller returns by after it is a surprise again, so that
 * both who enter and who leave a stack had best call this last: then the
 * compiler makes that a jump, too, and it is their callers that are returned to.
 */
int
weir__fiber_switch(void **save, void *to, int value);

/*
 * Goes on where the other stack was left, for ever, and there, on that stack,
 * calls a function; what that returns is what the switch returned there. So it
 * may give away the stack that this is called on.
 */
void
weir__fiber_finish(void *to, int (*fn)(void *arg), void *arg);

/* Calls a function with an argument, both in registers. It never returns. */
void
weir__fiber_start(void);

/*
 * How numbers are computed here: a fiber begins with that, as any task does. No call is
 * moved over it: "memory".
 */
static inline void
switch_save_computing(struct switch_frame *frame)
{
#if defined(__x86_64__)
	__asm__("stmxcsr %0" : "=m"(frame->mxcsr) : : "memory");
	/* The lower half. */
	__asm__("fnstcw %0" : "+m"(frame->x87) : : "memory");
#else
	__asm__("mrs %0, fpcr" : "=r"(frame->fpcr) : : "memory");
#endif
}

/*
 * What to switch to for main(arg) to begin below `top`, which is aligned to 16
 * bytes. Debuggers find there, in *caller, who has switched to it.
 */
static inline void *
switch_prepare(void *top, void (*main)(void *arg), void *arg, void **caller)
{
	uint64_t *bottom = (uint64_t *)top - 2;
	struct switch_frame *frame = (struct switch_frame *)bottom - 1;

	bottom[0] = (uintptr_t)caller;
	bottom[1] = 0;
#if defined(__x86_64__)
	*frame = (struct switch_frame){
		.rbx = (uintptr_t)main,
		.r12 = (uintptr_t)arg,
		.rip = (uintptr_t)weir__fiber_start,
	};
#else
	*frame = (struct switch_frame){
		.x19 = (uintptr_t)main,
		.x20 = (uintptr_t)arg,
		.x30 = (uintptr_t)weir__fiber_start,
	};
#endif
	switch_save_computing(frame);
	return frame;
}

#endif
