/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_RUNTIME_H
#define WEIR_RUNTIME_H

/**
 * @file
 * The runtime: workers on EAL lcores that run tasks and poll sources.
 *
 * A plain thread that is cancelled (pthread_cancel(3)) in one of these functions that
 * waits, or makes a runtime, ends behind it. Who drives a current-thread runtime does
 * not end in a task's poll either.
 */

#include <limits.h>
#include <sched.h>

#include <weir_common.h>
#include <weir_hooks.h>
#include <weir_metrics.h>
#include <weir_task.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a runtime does about a failure that nobody awaits. */
enum weir_failure {
	/** One line in the log, with the task's name, id and errno. */
	WEIR_FAILURE_LOG,
	/**
	 * As above, and the runtime shuts down; weir_runtime_block_on() then
	 * returns the failure instead of -ECANCELED.
	 */
	WEIR_FAILURE_SHUTDOWN,
};

/**
 * How a worker waits when it has nothing to run. Whatever it does, a wake-up
 * reaches it; what differs is how soon, and what the waiting costs.
 */
enum weir_park {
	/** Polls its sources: wakes in about 1 us, uses its CPU fully. */
	WEIR_PARK_POLL,
	/**
	 * Polls, and rests its CPU in between, by TPAUSE or its like where there
	 * is one: a CPU that shares a core with another leaves it more. Adds up
	 * to half of max_poll_gap_us.
	 */
	WEIR_PARK_PAUSE,
	/**
	 * Sleeps in the kernel until an interrupt or a caller wakes it: uses next
	 * to no CPU. Adds what the kernel takes, tens of microseconds, and on
	 * virtual machines more.
	 */
	WEIR_PARK_INTERRUPT,
	/** Polls for adaptive_poll_us, pauses for adaptive_pause_us, sleeps. */
	WEIR_PARK_ADAPTIVE,
};

/** How a runtime is built. Fill with weir_options_init(), then change. */
struct weir_options {
	/**
	 * Begins the names of the runtime's rings and pools, and is what
	 * telemetry calls it, so it must be unique in the process. At most 8
	 * printable ASCII characters, none of them a comma. Default "weir".
	 */
	const char *name;

	/**
	 * nb_workers lcores to run workers on, one worker each, in this order.
	 * NULL: the first nb_workers EAL worker lcores. The main lcore cannot be
	 * one: it stays the application's.
	 */
	const unsigned int *lcores;

	/**
	 * Number of workers; 0, which is refused beside lcores: one for every EAL
	 * worker lcore. Default 0.
	 */
	unsigned int nb_workers;

	/**
	 * More lcores, on which weir_worker_add() can start workers later.
	 * Their places, and memory on their nodes, are made at once. They come
	 * after the others in the order of workers. Default none.
	 */
	const unsigned int *spare_lcores;
	unsigned int nb_spare_lcores;

	/**
	 * No worker threads: whoever calls weir_runtime_block_on() runs the
	 * tasks meanwhile, on one worker, of index 0, on whatever CPU it is on.
	 * While nobody does, nothing runs, no timer fires and no source is
	 * polled; weir_join_wait() and waits of plain threads only wait. A
	 * shutdown runs what is left on the calling thread, whatever its
	 * deadline is. For tests, tools and control planes. Of the options
	 * above only the name is used. Default false.
	 */
	bool current_thread;

	/**
	 * Ticks (tasks run) between two polls of the sources. Smaller: more
	 * polls that find nothing. Larger: longer bursts wait in the NIC.
	 * 1 to 100000, default 61.
	 */
	unsigned int event_interval;

	/**
	 * Microseconds that may pass between two polls of the sources while
	 * there is work; looked at, where one is waited for, before each task
	 * that a queue gives, so not between that and up to three that it has
	 * woken (lifo_slot), nor in the up to 17 turns in which these go on.
	 * While turns are short it is looked at before every 32nd only, so when
	 * they get long suddenly, up to 31 of those come first. Smaller: more
	 * time goes into polls. Larger: RX rings overflow (1,024 descriptors at
	 * 14.88 Mpps last 69 us). 1 to 1000000, default 20.
	 */
	unsigned int max_poll_gap_us;

	/**
	 * Ticks after which the inject queue is served before the worker's own
	 * queue. Smaller: outside work waits less. Larger: fewer looks at a
	 * shared cache line. 0: self-tuned, so that the looks are about 200 us
	 * apart, between 2 and 127 ticks. While a long list of what others have
	 * pushed is turned round, two, whatever is set. 0 or 2 to 100000, default 0.
	 */
	unsigned int inject_interval;

	/**
	 * Units a task may spend in one poll. Smaller: waits are fairer.
	 * Larger: less switching between tasks. 1 to 65535, default 128.
	 */
	unsigned int budget;

	/**
	 * Run the task woken or spawned last by a running task next, and let
	 * one that waits for what that will give go on behind it. Good for
	 * pairs that exchange messages; off, every wake-up waits its turn.
	 * Default true.
	 */
	bool lifo_slot;

	/**
	 * Entries, of 8 bytes, of the ring part of each node's inject queue. When it
	 * is full the queue goes on in a linked list, which is slower: who takes tasks
	 * from there waits for each of them to come from memory, or from the CPU that
	 * spawned it. A power of two, 64 to 1048576, default 131072.
	 */
	unsigned int inject_ring_size;

	/**
	 * Cells of each size class, from 128 to 512 bytes a task, that each node
	 * has from the start. When they are out, 1,024 more are taken from
	 * socket-local memory and kept, which makes one spawn slow. So are those
	 * of classes above, up to 2,304 bytes, when they are wanted, half a
	 * megabyte at a time. What a worker makes for tasks to share - channels,
	 * oneshots, tokens, join sets - takes cells, too. Smaller: less memory.
	 * Larger: no such spawns. 64 to 16777216, default 8192.
	 */
	unsigned int task_cells;

	/**
	 * Tasks that a run queue on another node must hold before an idle
	 * worker steals from it. Smaller: balances better. Larger: fewer tasks
	 * run far from their memory. 1 to 256, default 128.
	 */
	unsigned int cross_node_backlog;

	/**
	 * Microseconds that a worker on another node may be stuck in one task
	 * before its queue is stolen from whatever it holds, and its sources and timers
	 * are looked after.
	 * 1 to 1000000, default 200.
	 */
	unsigned int cross_node_age_us;

	/**
	 * Threads that run jobs of weir_blocking_spawn(), at most; each is
	 * started when a job needs it. Smaller: jobs wait for one another, for
	 * ever if one that runs awaits one that is queued. Larger: more stacks,
	 * and more threads that share the pool's CPUs. 1 to 4096, default 64.
	 */
	unsigned int blocking_threads;

	/**
	 * Milliseconds that such a thread waits for another job before it ends.
	 * Smaller: threads are started more often. Larger: their stacks are
	 * kept for longer. 0 to 86400000, default 10000.
	 */
	unsigned int blocking_keep_alive_ms;

	/**
	 * The CPUs of these threads, a rte_cpuset_t; copied. Where workers run
	 * as well, jobs take time from them. NULL: those of EAL's control
	 * threads, which are the CPUs that no lcore has or, if all have one,
	 * the main lcore's. Default NULL. CPU_SET() and the like want _GNU_SOURCE.
	 */
	const cpu_set_t *blocking_cpus;

	/**
	 * What becomes of a failure that nobody awaits: the task returned
	 * -errno, other than -ECANCELED, and its handle was detached. Default
	 * WEIR_FAILURE_LOG.
	 */
	enum weir_failure on_failure;

	/**
	 * Keep histograms of poll times and of the time from wake-up to turn,
	 * for weir_worker_histogram_get(). Takes up to two looks at the clock
	 * for each poll and one for each wake-up. Default false.
	 */
	bool histograms;

	/**
	 * Bits of precision of a histogram: values are right to one part in
	 * 2^histogram_precision. Smaller: coarser percentiles. Larger: more
	 * memory, 3.4 KB a histogram by default and twice that for each bit.
	 * 1 to 6, default 4.
	 */
	unsigned int histogram_precision;

	/**
	 * Microseconds up to which histograms tell values apart. Smaller: long
	 * waits all look the same but for the longest. Larger: a little more
	 * memory. 1 to 100000000, default 1000000.
	 */
	unsigned int histogram_max_us;

	/**
	 * How workers wait; see weir_worker_park_set(). Those that sleep need
	 * ports with RX interrupts (rte_eth_conf.intr_conf.rxq), or poll them as
	 * with WEIR_PARK_PAUSE. Default WEIR_PARK_POLL.
	 */
	enum weir_park park;

	/**
	 * Microseconds without work before WEIR_PARK_ADAPTIVE pauses. Smaller:
	 * less power; larger: work that comes again soon is met at once.
	 * 0 to 1000000, default 50.
	 */
	unsigned int adaptive_poll_us;

	/**
	 * Microseconds after that before it sleeps. Smaller: less CPU time;
	 * larger: fewer sleeps, each of which costs some system calls and a late
	 * wake-up. 0 to 1000000, default 150.
	 */
	unsigned int adaptive_pause_us;

	/** The application's hooks; copied. NULL: none. Default NULL. */
	const struct weir_hooks *hooks;

	/** Seed of victim choice, to repeat it; 0: from the TSC. Default 0. */
	uint64_t seed;
};

/** Sets every field to its default. Any thread. */
WEIR_API void
weir_options_init(struct weir_options *options);

/**
 * Checks options as weir_runtime_create() does. Call after rte_eal_init().
 *
 * @param options  NULL for the defaults.
 * @param error    Where one line goes that names the field, its value and what
 *                 would be right; may be NULL.
 * @return 0 or -EINVAL.
 *
 * Any thread.
 */
WEIR_API int
weir_options_validate(const struct weir_options *options, char *error,
		      size_t size);

/**
 * Builds a runtime and starts its workers. Call after rte_eal_init(), on the
 * main lcore; with current_thread, on any thread that stays on one node.
 *
 * @param options  NULL for the defaults; not kept.
 * @return NULL with rte_errno, and one line in the log (ENODEV before
 * rte_eal_init(), EINVAL for options, EPERM on another thread than it must be,
 * EEXIST when another runtime has the name, which it has until its memory is given
 * back, EBUSY when an lcore runs something already, E2BIG when the lcores are on
 * more than 64 nodes, ENOMEM, ENOSPC when EAL has no more memory zones or the user no
 * more epoll watches, EMFILE or ENFILE: each worker has two file descriptors).
 */
WEIR_API struct weir_runtime *
weir_runtime_create(const struct weir_options *options);

/**
 * Ends all tasks and blocking jobs, and stops the workers.
 *
 * No new one starts from here on; every live task is dropped at its next wait,
 * every job that has not started at once, and their join handles give
 * -ECANCELED. Jobs that run are awaited. Open sources are closed. A task that is in poll
 * meanwhile may find that another has been dropped already, as by -EPIPE of a channel,
 * and ends with what it returns; from here on the log does not tell of -EPIPE that
 * nobody awaits.
 *
 * @param timeout_ms  Milliseconds to wait for tasks that do not return from
 *                    poll, and for jobs; UINT64_MAX: for ever.
 * @param report      What is left; may be NULL. Not written with -EDEADLK.
 * @return 0: the lcores are EAL's again; -ETIMEDOUT: a task or a job has not
 * ended yet, or another call that began the end is not over (call again to go on
 * waiting), and the log names tasks that did not end; -EDEADLK on a worker, in a
 * blocking job of this runtime or in a function that a task of it blocks in, which
 * would wait for themselves.
 *
 * Any thread but those. Once it has returned 0, every other call does.
 */
WEIR_API int
weir_runtime_shutdown(struct weir_runtime *rt, uint64_t timeout_ms,
		      struct weir_shutdown_report *report);

/**
 * Begins what weir_runtime_shutdown() does and does not wait for it. In a
 * current-thread runtime that nobody drives, that one has to come for it to
 * happen. Any thread, tasks included. The runtime may be freed by whom this call
 * lets go: weir_runtime_free() waits until the call is over.
 */
WEIR_API void
weir_runtime_shutdown_begin(struct weir_runtime *rt);

/**
 * Shuts down, without a deadline, if that has not been done, and gives the memory
 * back. Where a task may not end, call weir_runtime_shutdown() first.
 *
 * Join handles and wakers that still exist stay valid, and so do oneshots of its, and
 * channels, tokens and join sets that its workers made; the last one to go takes the rest
 * of the memory with it, and the name. Its sources do not: free them first, since
 * they cannot be freed after it. A line in the log says how many were left, and a
 * build with asserts ends the program there. NULL is legal.
 *
 * Before rte_eal_cleanup(), which waits for the workers without end, and takes the memory
 * of whatever is left: no handle may be used after that, nor dropped. While it is
 * called, no other call on the runtime may be under way, nor begin, but for a
 * weir_runtime_block_on() whose task has been spawned.
 *
 * Any thread from which weir_runtime_shutdown() can be called; on the others it
 * does nothing, and a build with asserts ends the program.
 */
WEIR_API void
weir_runtime_free(struct weir_runtime *rt);

/**
 * Runs a task to its end while the calling thread waits; in a current-thread
 * runtime it runs that and the others while it waits. Several threads may then
 * be in this call: one runs tasks, and when its own has ended hands over to the
 * next.
 *
 * @return The outcome, as weir_join_wait(); the failure that shut the runtime
 * down, see weir_options.on_failure; -EDEADLK on a worker, -EINVAL or
 * -ENOMEM when it could not be started: in these three cases the state still
 * is the caller's. A task may also have been started and have failed with one of
 * these numbers, as a fiber does without memory for its stack: then it was dropped.
 * Where that matters, spawn it, and block on a task that awaits its handle.
 *
 * Any thread that is not a worker, also several at once.
 */
WEIR_API int
weir_runtime_block_on(struct weir_runtime *rt, const struct weir_task_ops *ops,
		      const void *state, void *result);

/**
 * Calls a function that may block, from a task's poll, while the worker goes on
 * without the calling thread: its tasks, the one woken last among them, and its
 * sources pass to another thread. When the function has returned, the thread
 * gets the worker back once the task that runs then has returned from poll, and
 * those, some twenty at most, whose turns come right behind it, and goes on with
 * the poll it is in.
 *
 * The function must not use the task's weir_context. It is no part of the
 * worker: it may call weir_runtime_block_on() and weir_join_wait(). It has no
 * lcore id (rte_lcore_id()); whoever drives the worker has that.
 *
 * On a thread that drives no worker, which includes a call from inside the
 * function, it is just called.
 *
 * @return 0 when it was called; else it was not: -ENOTSUP in a current-thread
 * runtime, -EPERM on a worker outside a poll, as in drop, -EAGAIN
 * when no thread could be had to go on with.
 */
WEIR_API int
weir_block_in_place(void (*fn)(void *arg), void *arg);

/**
 * Starts a worker on one of options.spare_lcores, or on an lcore whose worker
 * has retired. That one gets its bound tasks back, for which the task that runs
 * on the worker that has them has to return from poll, and tasks that block its
 * thread as well.
 *
 * @return The worker's index; -EINVAL for an lcore that is none of the
 * runtime's, -EEXIST when it is a worker, -EBUSY when it runs something else or
 * another runtime is adding it, -ESHUTDOWN, -ENOTSUP in a current-thread runtime,
 * -EDEADLK on a worker or in a function that a task of the runtime blocks in.
 *
 * Main lcore, or any thread while the main lcore launches nothing.
 */
WEIR_API int
weir_worker_add(struct weir_runtime *rt, unsigned int lcore);

/**
 * Stops a worker while the runtime goes on. Its sources go to the successor, and stay
 * there until weir_source_move(); so do the tasks bound to it, until a worker comes back
 * to its place. Its other tasks go to the node's inject queue. Nothing is lost.
 * Returns when the lcore is EAL's again, which takes as long as the task takes that
 * runs there and those that block its thread (weir_block_in_place()), those included
 * that begin to do so meanwhile; and, if it has ever had a source, until every worker
 * has passed its loop once.
 *
 * @return 0; -EINVAL when one of both is not a worker that runs, or they are the same;
 * -ENOMEM, and nothing has changed; -ESHUTDOWN; -ENOTSUP in a current-thread runtime;
 * -EDEADLK on a worker or in a function that a task of the runtime blocks in.
 *
 * Any thread that is not a worker; several calls wait for each other.
 */
WEIR_API int
weir_worker_retire(struct weir_runtime *rt, unsigned int worker,
		   unsigned int successor);

/**
 * Number of places for workers: those the runtime was created with, then the
 * spare ones. Any thread.
 */
WEIR_API unsigned int
weir_runtime_nb_workers(const struct weir_runtime *rt);

/**
 * Does a worker run at this place? What a shutdown stops has not retired: the answer
 * stays true after it. Any thread.
 */
WEIR_API bool
weir_worker_is_active(const struct weir_runtime *rt, unsigned int worker);

/**
 * The NUMA node of a worker, where its memory is: for weir_spawn_attr.node_plus_1
 * of a task that uses the worker's sources, and for what such a task uses.
 *
 * @return The kernel's number, also when no worker runs at this place, or -EINVAL if
 * there is no such place.
 *
 * Any thread.
 */
WEIR_API int
weir_worker_node(const struct weir_runtime *rt, unsigned int worker);

/**
 * The NUMA node of an EAL lcore, which is where a runtime has its worker: the
 * node of its CPUs, of the first if they are on several. EAL's
 * rte_lcore_to_socket_id() tells the node of the CPU with the lcore's number,
 * also when `--lcores` has put it elsewhere.
 *
 * Reads sysfs, which takes some milliseconds. Any thread.
 *
 * @return The kernel's number, or -EINVAL if EAL has no such lcore.
 */
WEIR_API int
weir_lcore_node(unsigned int lcore);

/**
 * The place of an EAL lcore, or -ENOENT: always in a current-thread runtime. Any
 * thread.
 */
WEIR_API int
weir_runtime_worker_of_lcore(const struct weir_runtime *rt, unsigned int lcore);

/**
 * Changes how a worker waits, from now on: one that sleeps is woken.
 *
 * @return 0, or -EINVAL for a worker or policy that does not exist.
 *
 * Any thread.
 */
WEIR_API int
weir_worker_park_set(struct weir_runtime *rt, unsigned int worker,
		     enum weir_park park);

/** No worker: see weir_worker_current(). */
#define WEIR_WORKER_NONE UINT_MAX

/** No task: see weir_task_current(). */
#define WEIR_TASK_NONE UINT64_C(0)

/** The runtime whose worker calls, or NULL on any other thread. */
WEIR_API struct weir_runtime *
weir_runtime_current(void);

/**
 * The index of the worker that the calling thread drives, or WEIR_WORKER_NONE
 * on any other thread. Tasks, drops and hooks of workers are inside one.
 */
WEIR_API unsigned int
weir_worker_current(void);

/**
 * The id of the task whose poll the calling thread is in, as weir_join_id(), or
 * WEIR_TASK_NONE. A task's drop is no part of its poll.
 */
WEIR_API uint64_t
weir_task_current(void);

#ifdef __cplusplus
}
#endif

#endif
