/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VIRTUAL_KERNEL_H
#define VIRTUAL_KERNEL_H

/*
 * What is below the library, for virtual threads: the machine, its clock and
 * memory, and what the C library and DPDK make of them. The linker puts it in
 * place of those (--wrap, see virtual_wraps in meson.build). No EAL is started.
 *
 *	sync.c		mutexes, condition variables, threads
 *	lcores.c	lcores, NUMA nodes, launching
 *	memory.c	rte_malloc, rings
 *	cells.c		memory of tasks
 *	files.c		eventfd and epoll
 *	qsbr.c		the end of a grace period
 *	kernel.c	clock, and the rest
 *
 * A call blocks through vthread_wait(), so it works under any policy.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_lcore.h>

#include "base/race.h"
#include "thread.h"

/* A cycle is a nanosecond. */
#define KERNEL_HZ UINT64_C(1000000000)
/* It leaves all that the library has room for to the workers. */
#define KERNEL_MAIN_LCORE RTE_MAX_LCORE
/* Of threads that are no lcore's. */
#define KERNEL_OTHER_CPU 1000

/* What goes wrong at the whim of whoever runs the machine. */
enum kernel_chance {
	KERNEL_NO_MEMORY, /* rte_malloc() and its like give NULL */
	KERNEL_NO_THREAD, /* a thread cannot be started */
	KERNEL_SPURIOUS,  /* a wait ends for nothing */
	KERNEL_LATE,	  /* a wait with an end near by has come to it */
	KERNEL_CHANCES,
};

struct kernel_options {
	unsigned int
		nb_lcores;     /* besides the main one, RTE_MAX_LCORE at most */
	unsigned int nb_nodes; /* the lcores are spread over them evenly */
	/* Of each node's lcores so many share a core, or cache; 0: not known. */
	unsigned int lcores_per_core;
	unsigned int lcores_per_cache;
	unsigned int
		ring_size; /* of rings, whoever asks for more; 0: as asked */
	bool membarrier;   /* there is that system call */
	bool power_pause;  /* the CPU has such an instruction */
	bool no_launch;	   /* whoever runs it plays the lcores' threads */
	/*
	 * A wait for a millisecond at most, which is a turn of a loop that polls,
	 * ends with anybody's next step.
	 */
	bool short_waits_poll;
	bool (*chance)(enum kernel_chance what, void *arg); /* NULL: never */
	void *arg;
};

/* What has not been given back. */
struct kernel_left {
	unsigned int blocks; /* of rte_malloc() */
	unsigned int cells;  /* of tasks */
	unsigned int rings;
	unsigned int files;
	unsigned int mutexes;
	unsigned int conds;
	unsigned int threads; /* that have not been joined, but for lcores' */
};

/* A machine as new, before each run. */
void
kernel_reset(const struct kernel_options *options);

/* Those of this run. */
extern struct kernel_options kernel_options;

/* Makes the calling thread that of the main lcore. */
void
kernel_main_lcore(void);

/* Nothing is left, all of it 0, when a runtime is gone and its threads have ended. */
void
kernel_left(struct kernel_left *left);

/* The clock, in cycles. It moves only so. */
uint64_t
kernel_now(void);
void
kernel_advance(uint64_t cycles);
/* The earliest time that a thread waits for; UINT64_MAX: none does. */
uint64_t
kernel_next_timeout(void);
/* Ends the waits that would end in so many cycles, at once; false: there is none. */
bool
kernel_end_waits(uint64_t cycles);

/* How many threads are in rte_power_pause(), and not asleep. */
unsigned int
kernel_pausing(void);

/* A file that a driver may watch with rte_epoll_ctl(), and the event on it. */
int
kernel_file_open(void);
void
kernel_file_signal(int fd);

/*
 * Provided by whoever links this, beside virtual_release() and
 * virtual_acquire().
 */

/*
 * Before a call into the kernel or DPDK: others may come in. Need they not, if
 * what the call does is not seen by who has no lock, a policy may pass it over.
 */
void
virtual_call(const char *name);
/* The call uses what lies there, which must not be gone. */
void
virtual_touch(const void *p);
/* The calling thread has learned this from others, and from no acquire. */
void
virtual_saw(uint64_t v);
/* Memory at an address that the run decides, aligned as cache lines. */
void *
virtual_alloc(size_t size);
void
virtual_free(void *p);
/*
 * The bytes from begin on are for everybody, by atomic operations, from the beginning to
 * the end.
 */
void
virtual_show(void *p, size_t begin, size_t size);
/* Nothing but those may be looked at until it is free or used again. */
void
virtual_retire(void *p);
/* Is a cell that is retired used again? */
extern const bool virtual_reuses_cells;
/* As vthread_start() and vthread_reap(), at least. */
unsigned int
virtual_thread_start(const char *name, void (*main)(void *arg), void *arg);
void
virtual_thread_reap(unsigned int thread);
/* A rule is broken, by the library or of the machine. */
void
virtual_failed(const char *format, ...)
	__attribute__((noreturn, format(printf, 1, 2)));

/*
 * Between the files.
 */

extern struct kernel_left kernel_counts;

static inline bool
kernel_chance(enum kernel_chance what)
{
	return kernel_options.chance != NULL &&
	       kernel_options.chance(what, kernel_options.arg);
}

/* Waits until it is so: no other thread has come in between then. */
static inline void
kernel_await(bool (*ready)(const void *arg), const void *arg)
{
	while (!ready(arg))
		vthread_wait(ready, arg);
}

/* The same, until the clock has come there at the latest. */
void
kernel_await_until(bool (*ready)(const void *arg), const void *arg,
		   uint64_t end);

/* Starts a thread on that CPU; returns its number. */
unsigned int
kernel_thread_start(const char *name, void *(*main)(void *arg), void *arg,
		    unsigned int cpu);

void
kernel_memory_reset(void);
void
kernel_files_reset(void);
void
kernel_lcores_reset(void);

#endif
