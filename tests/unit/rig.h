/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RIG_H
#define RIG_H

/* Runtimes, tasks and waiting, for tests of the library. */

#include "unit.h"

#include <sched.h>

#include "base/atomic.h"
#include "queue/run_queue.h"
#include "task/task.h"
#include "weir.h"

/*
 * Waits for other threads. When they take far too long the program ends, since
 * they cannot be stopped: the test has failed.
 */
#define rig_wait_until(condition)                                          \
	do {                                                               \
		uint64_t rig_end = rig_deadline();                         \
		while (!(condition))                                       \
			rig_wait(rig_end, #condition, __FILE__, __LINE__); \
	} while (0)
uint64_t
rig_deadline(void);
void
rig_wait(uint64_t end, const char *condition, const char *file, int line);

/* Can one have all threads pass a fence? */
bool
rig_has_membarrier(void);
/* Skips the test if not. */
void
rig_need_membarrier(void);

/* Runs main(arg) in n threads, all from the same moment, to their end. */
void
rig_threads(unsigned int n, void *(*thread_main)(void *), void *arg);

/*
 * n tasks that no scheduler knows, with ids from 0: idle, with two references,
 * of which a notification may use one. To be freed with free().
 */
struct task *
rig_tasks(unsigned int n);

/* Of those, tasks first to end - 1 have so many references each. */
void
rig_expect_refs(const struct task *tasks, unsigned int first, unsigned int end,
		unsigned int refs);

/* Options for small runtimes, with workers on the first lcores. */
void
rig_options(struct weir_options *o, unsigned int nb_workers);
struct weir_runtime *
rig_runtime(unsigned int nb_workers);
/* Makes one, or none; what the library logs meanwhile is a text in `log`. */
struct weir_runtime *
rig_runtime_logged(const struct weir_options *o, char *log, size_t size);
/* Does a runtime of this name hold rings or pools? */
bool
rig_runtime_exists(const char *name);
/* Shuts down and frees; nothing may be left of it. */
void
rig_runtime_free(struct weir_runtime *rt);
/* The same, and sets *rt to NULL, so that a teardown knows: it has to free no more. */
void
rig_runtime_end(struct weir_runtime **rt);

/* What the tasks of a test have been through. */
struct rig_log {
	struct atomic_u32 polls;
	struct atomic_u32 drops;
	struct atomic_u32 results_dropped;
};

static inline uint32_t
rig_get(const struct atomic_u32 *a)
{
	return atomic_u32_load(a, ACQUIRE);
}

static inline void
rig_set(struct atomic_u32 *a, uint32_t v)
{
	atomic_u32_store(a, v, RELEASE);
}

static inline void
rig_add(struct atomic_u32 *a, uint32_t v)
{
	atomic_u32_fetch_add(a, v, ACQ_REL);
}

/*
 * Tasks of some kinds. The first field of each state is the log, which counts
 * polls and drops. Their result is the number of polls the task had.
 */
struct rig_state {
	struct rig_log *log;
	struct atomic_u32 *go; /* for what it says below */
	struct atomic_ptr *waker;
	uint32_t polls;	 /* the result */
	uint32_t worker; /* which polled it last */
};

/* Done at once. This and the next are jobs of the blocking pool too. */
extern const struct weir_task_ops rig_done_ops;
/* Stays inside its poll until `go` is set: its worker is stuck. */
extern const struct weir_task_ops rig_block_ops;
/* Yields until `go` is set. */
extern const struct weir_task_ops rig_yield_ops;
/*
 * Spawns two that are done at once, of which others can have the first, and stays inside
 * its poll until one has been polled: by another worker, if they are there.
 */
extern const struct weir_task_ops rig_spread_ops;
/*
 * Leaves a waker in `waker` each time it waits; done when it finds `go` set. So
 * take the waker, set `go`, and use the waker up.
 */
extern const struct weir_task_ops rig_wait_ops;

struct weir_join *
rig_spawn(struct weir_runtime *rt, const struct weir_task_ops *ops,
	  const struct rig_state *state);
/* The same, bound to a worker. */
struct weir_join *
rig_spawn_on(struct weir_runtime *rt, unsigned int worker,
	     const struct weir_task_ops *ops, const struct rig_state *state);
/* A job of the blocking pool. */
struct weir_join *
rig_spawn_job(struct weir_runtime *rt, const struct weir_task_ops *ops,
	      const struct rig_state *state);
struct weir_runtime_stats
rig_stats(const struct weir_runtime *rt);
/* A worker looks at its sources n times more. */
void
rig_await_looks(unsigned int worker, uint64_t n);
/* One task on each worker that is stuck in its poll: nothing else runs. */
struct rig_blockers {
	struct rig_log log;
	struct atomic_u32 go;
	unsigned int n;
	struct weir_join *joins[8];
};
void
rig_block(struct rig_blockers *b, struct weir_runtime *rt);
/* Only some workers: those whose bit is set. */
void
rig_block_some(struct rig_blockers *b, struct weir_runtime *rt,
	       unsigned int mask);
void
rig_unblock(struct rig_blockers *b);

/* A second runtime, named "closed", that has ended: what is spawned there is dropped. */
struct weir_runtime *
rig_closed_runtime(void);

/* Where a thread stays until it is opened. */
struct rig_door {
	struct atomic_u32 in; /* it has come */
	struct atomic_u32 open;
};
void
rig_stay_at(void *door);
/*
 * A task bound to a worker blocks its thread at the door, which another stands in for
 * meanwhile. It has come there.
 */
struct weir_join *
rig_block_thread(struct weir_runtime *rt, unsigned int worker,
		 struct rig_door *door);

/* File descriptors that this process has. */
unsigned int
rig_open_fds(void);

/* Bytes of EAL's heap in use. */
size_t
rig_heap_in_use(void);

/*
 * What most tests need: a runtime of as many workers as the test is given, and
 * a state for its tasks. Nothing may be left of it at the end.
 */
struct rig {
	struct weir_runtime *rt; /* NULL: the test has freed it */
	struct rig_log log;
	struct atomic_u32 go;
	struct atomic_ptr waker;
	struct rig_state told; /* of the three above */
};
extern struct rig rig;
int
rig_setup(void **state);
int
rig_teardown(void **state);
void
rig_expect_log(unsigned int polls, unsigned int drops, unsigned int results);

#define RIG_TEST(name, workers) \
	UNIT_TEST(name, rig_setup, rig_teardown, workers)
#define RIG_TESTS(name) RIG_TEST(name, 1), RIG_TEST(name, 2), RIG_TEST(name, 3)

/* Takes a waker that a task of rig_wait_ops has left, once it has. */
struct weir_waker *
rig_take_waker(struct atomic_ptr *waker);
/* How many timers wait in a runtime. */
unsigned int
rig_timers(const struct weir_runtime *rt);
/* Waits for the outcome, which must come. */
int
rig_join(struct weir_join *join, void *result);

#endif
