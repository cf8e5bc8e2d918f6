/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef KERNEL_H
#define KERNEL_H

/*
 * The kernel and the CPU under workers that wait. A test that links this wraps
 * the functions in kernel_wraps of meson.build.
 */

#include "rig.h"

struct kernel_hook {
	void (*call)(void);
};

struct kernel {
	/* Long sleeps have no end: a wake-up that is lost stays lost. */
	struct atomic_u32 patient;
	bool no_membarrier;
	bool no_barriers; /* it is there, but refused when it is to be used */
	bool power_pause; /* the CPU has TPAUSE */
	/* Called once, when a worker has said that it sleeps, before it looks. */
	struct atomic_ptr at_membarrier; /* a struct kernel_hook */
	/* fds to be had before EMFILE; negative: all there are */
	int fds;
	bool table_full; /* ENFILE instead: all processes have too many */
	bool no_watches; /* the user has no epoll watches left */

	/* Who is woken by an interrupt is held until this is 0 again. */
	struct atomic_u32 hold;
	struct atomic_u32 held; /* one is */

	struct atomic_u32 sleeps; /* begun */
	struct atomic_u64 longest_ns;
	struct atomic_u32 membarriers;
	struct atomic_u32 pauses;
	struct atomic_u32 busy_pauses;	 /* beside tasks to run */
	struct atomic_u64 longest_pause; /* TSC cycles */
};
extern struct kernel kernel;

/* The longest sleep that was asked for since that was set to 0. */
static inline uint64_t
kernel_longest_ns(void)
{
	return atomic_u64_load(&kernel.longest_ns, RELAXED);
}

/* As a real one is, but patient. */
void
kernel_reset(void);

/* Without fds to be had, of this process or of all, nothing is made or left open. */
void
kernel_expect_none_without_fds(void *(*make)(void));

/* A runtime whose workers wait so, with adaptive phases of no length. */
struct weir_runtime *
kernel_runtime(unsigned int nb_workers, enum weir_park park);

/* Has the worker said that it sleeps? */
bool
kernel_asleep(const struct weir_runtime *rt, unsigned int worker);
bool
kernel_all_asleep(const struct weir_runtime *rt);

/*
 * Waits until the worker does not say that it sleeps. It says so, and looks at all
 * once more, before it finds what it must poll; a long sleep beside that has no end.
 */
void
kernel_await_awake(const struct weir_runtime *rt, unsigned int worker);

/* Waits until a worker has begun another sleep. */
void
kernel_await_sleep(void);

#endif
