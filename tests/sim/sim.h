/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef SIM_H
#define SIM_H

/*
 * A simulation: the shipped library with many workers on one thread, a virtual
 * clock, and a seed that decides everything.
 *
 *	main.c		options; one seed after the other
 *	steps.c		atomics, the clock, the trace
 *	policy.c	who goes on
 *	plan.c		what a seed means
 *	run.c		one run: start, workload, shutdown, what is left
 *	arena.c		the machine's memory
 *	traffic.c	sources, and packets that arrive by the clock
 *	tasks.c		tasks, and what becomes of them
 *	actors.c	what they do
 *	threads.c	plain threads: they use tasks, and change workers and sources
 *	checks.c	what must hold while it runs
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/rand.h"
#include "kernel.h"
#include "sched/scheduler.h"
#include "thread.h"
#include "weir.h"

#define RUNTIMES_MAX 2
#define SOURCES_MAX 8
#define FLOWS_MAX 4
#define TASKS_MAX 4096

enum policy {
	POLICY_UNIFORM, /* any, at each step */
	POLICY_PCT,	/* by priorities, which change a few times */
	POLICY_RUNS,	/* one for long, then another */
	POLICY_STARVE,	/* any but one, for long */
	POLICIES,
};

/* What a seed means: see plan.c. */
struct plan {
	uint64_t seed;
	enum policy policy;
	unsigned int policy_length; /* steps */
	unsigned int starve_max;    /* steps that a thread can be held back */
	uint64_t step_cycles;	    /* that the clock moves in a step */
	uint64_t idle_cycles;	    /* and when nobody has anything to do */
	unsigned int nb_runtimes;
	unsigned int nb_workers[RUNTIMES_MAX]; /* places, spare ones included */
	unsigned int nb_spares[RUNTIMES_MAX];
	bool current_thread[RUNTIMES_MAX];
	struct weir_options options[RUNTIMES_MAX];
	unsigned int lcores[RTE_MAX_LCORE]; /* of all runtimes */
	bool hooks;
	unsigned int linger_us;	       /* waits that are short */
	unsigned int linger_polled_us; /* that a poll ends */
	struct kernel_options kernel;
	unsigned int odds[KERNEL_CHANCES]; /* one in so many; 0: never */
	unsigned int nb_sources;
	unsigned int nb_actors;
	unsigned int nb_threads;
	unsigned int nb_changes; /* by each thread that changes things */
	bool aborts;
	bool early_end; /* the shutdown does not wait for the workload */
};

/* From the command line; 0: as the seed says. */
struct overrides {
	unsigned int workers;
	unsigned int nodes;
};

void
plan_make(struct plan *plan, uint64_t seed, const struct overrides *o);
void
plan_print(const struct plan *plan);

/* The run of now. */
struct sim {
	struct plan plan;
	struct weir_runtime *rt[RUNTIMES_MAX];
	struct rand_state choices; /* of the policy */
	struct rand_state rand;	   /* of all else */
	bool trace;		   /* print each step */
	bool ending[RUNTIMES_MAX]; /* its shutdown has begun */
};
extern struct sim sim;

/* 0..n-1 */
static inline unsigned int
any(unsigned int n)
{
	return rand_below(&sim.rand, n);
}

/* One in n; 0: never. */
static inline bool
one_in(unsigned int n)
{
	return n != 0 && any(n) == 0;
}

/* What has happened in all runs of the program, so that a check shows it. */
enum seen {
	SEEN_STEALS,
	SEEN_FAR_STEALS,
	SEEN_OVERFLOWS,
	SEEN_INJECTED,
	SEEN_RESCUES,
	SEEN_FORCED_YIELDS,
	SEEN_PARKS,
	SEEN_SLEEPS,
	SEEN_RETIRED,
	SEEN_ADDED,
	SEEN_MOVED,
	SEEN_CLOSED,
	SEEN_ABORTED,
	SEEN_REFUSED,
	SEEN_IN_PLACE,
	SEEN_JOBS,
	SEEN_NO_MEMORY,
	SEEN_NO_THREAD,
	SEEN_NO_RUNTIME,
	SEEN_TIMED_OUT,
	SEEN_TIMERS,
	SEEN_DROPPED_PACKETS,
	SEEN_DELIVERED,
	SEENS,
};
extern uint64_t seen[SEENS];
extern const char *const seen_names[SEENS];

struct sim_task;

/* run.c: its trace's hash, or false. */
bool
run_seed(uint64_t seed, const struct overrides *o, bool trace, uint64_t *hash);

/* steps.c */
void
steps_reset(void);
uint64_t
steps_hash(void);
uint64_t
steps_count(void);
/* The last ones. */
void
steps_print(void);
/* Something of the simulation's own that others may come in before. */
void
sim_step(const char *what);
/* A number that is a function of the seed. */
void
sim_fold(uint64_t value);

/* policy.c */
void
policy_reset(void);
extern const struct vthread_policy sim_policy;
/* The thread that goes on may take so many steps before it is asked again. */
extern unsigned int policy_quantum;
/* Something has run: the clock need not hurry. */
void
policy_not_idle(void);
/* One of them stays where it is, for as long as that can be. */
void
policy_stall_one(void);
/* The calling thread does, one time in so many: it is where that may hurt. */
void
policy_stall_maybe(unsigned int odds);
/* The calling thread waits for others in a loop. */
void
policy_step_back(void);

/* checks.c */
void
checks_reset(void);
/* Around each poll of a task. */
void
check_poll_begins(const struct weir_context *ctx, struct sim_task *t);
void
check_poll_ends(struct sim_task *t);
/* It gives the worker away meanwhile. */
void
check_poll_leaves(struct sim_task *t);
void
check_poll_returns(struct sim_task *t);
void
check_drop_begins(struct sim_task *t);
void
check_drop_ends(struct sim_task *t);
/* All threads but those that wait have made some steps. */
void
check_round(void);
/*
 * No thread can go on; all of them wait, or some in a loop. The clock will come to `next`
 * at once.
 */
void
check_stuck(bool all, uint64_t next);

/* traffic.c */
void
traffic_reset(void);
/* On a runtime; false: it is refused. */
bool
traffic_open(unsigned int i, unsigned int rt);
void
traffic_free(unsigned int i);
/* The port goes away under its users. */
void
traffic_close(unsigned int i);
/* Is the worker that polls it in the kernel? */
bool
source_home_sleeps(const struct weir_source *src);
unsigned int
traffic_rt(unsigned int i);
/* The clock has moved: what has come? */
void
traffic_advance(void);
/* When the next packet or interrupt comes; UINT64_MAX: none does. */
uint64_t
traffic_next(void);
struct packet {
	uint8_t flow;
	uint32_t seq;
};
/* Up to n packets; 0: there will be none; else as a receive function. */
int
traffic_recv(struct weir_context *ctx, unsigned int i, struct packet *packets,
	     unsigned int n);
void
traffic_deliver(unsigned int i, const struct packet *packet);
struct weir_source *
traffic_source(unsigned int i);
/* Is there something for a task that waits, which nobody will wake? */
void
traffic_check_round(uint64_t round);
void
traffic_check_quiet(void);
/* Each packet is somewhere; so many have been received and not delivered. */
void
traffic_check_end(unsigned int i, uint32_t between);

/* tasks.c */
struct kind;
struct sim_task {
	const struct kind *kind;
	unsigned int id;
	unsigned int rt;
	int bound; /* worker, or -1 */
	bool job;
	bool small; /* its state is the smallest */
	bool aborted;
	bool running;
	unsigned int drops;
	struct task *task; /* valid while drops is 0, once it is set */
	struct weir_join *join;
	struct weir_abort *abort;
	uint64_t result;   /* that it gave */
	unsigned int salt; /* how much of it there is */

	/* What its kind keeps. */
	unsigned int phase;
	unsigned int n;
	unsigned int source;
	struct sim_task *partner;
	struct weir_join *children[4];
	struct sim_task *child[4];
	struct weir_waker *waker; /* of a task that waits for its partner */
	unsigned int tokens;
	struct weir_sleep sleep;
	uint64_t until; /* ns of its runtime's clock; 0: it is not in a sleep */

	/* checks.c */
	uint32_t polls;
	uint64_t queued_since; /* round; 0: it is not */
	uint32_t queued_polls;
	uint64_t private_at; /* round */
	uint64_t late_since; /* round; 0: its sleep is not over */
	bool dropped_bound;
};
extern struct sim_task sim_tasks[TASKS_MAX];
extern unsigned int nb_sim_tasks;

enum actor {
	ACTOR_LEAF,
	ACTOR_YIELD,
	ACTOR_TREE,
	ACTOR_BURST,
	ACTOR_PAIR,
	ACTOR_BOUND,
	ACTOR_BUDGET,
	ACTOR_SLOW,
	ACTOR_IN_PLACE,
	ACTOR_JOBS,
	ACTOR_FAIL,
	ACTOR_SLEEPER, /* waits for task_wake_sleepers() */
	ACTOR_EVENT,   /* waits for task_post_event() */
	ACTOR_TIMER,
	ACTOR_FORWARDER,
	ACTORS,
};

void
tasks_reset(void);
/* A task of this kind; NULL: it was not started. */
struct sim_task *
task_start(unsigned int rt, enum actor actor, int worker);
/* Receives from a source, and hands to another task or not. */
struct sim_task *
task_start_forwarder(unsigned int rt, unsigned int source);
/* One that ends when the other has. */
struct sim_task *
task_start_awaiter(unsigned int rt, struct sim_task *other);
/* A task of the kind, in the calling thread's block_on. */
void
task_block_on(unsigned int rt, enum actor actor);
/* The same, until the other has ended. */
void
task_block_on_end(unsigned int rt, struct sim_task *other);
/* A job of the blocking pool. */
struct sim_task *
task_start_job(unsigned int rt);
/* By the calling thread; checks the outcome. */
void
task_wait(struct sim_task *t);
void
task_check_outcome(struct sim_task *t, int rc, uint64_t result);
const char *
task_name(const struct sim_task *t);
enum actor
task_actor(const struct sim_task *t);
void
task_detach(struct sim_task *t);
void
task_abort(struct sim_task *t);
/* Wakes one in so many. */
void
task_wake_sleepers(unsigned int share);
/* An event of a runtime's, which may be refused. */
void
task_events_open(unsigned int rt);
bool
task_has_event(unsigned int rt);
void
task_post_event(unsigned int rt);
/* Is one posted that nobody will tell its waiter of? All threads wait. */
void
task_check_event(unsigned int rt);
void
task_events_free(unsigned int rt);
/* Received and not delivered. */
uint32_t
task_packets_between(unsigned int source);
/* Each has been dropped once. */
void
tasks_check_end(void);
/* References that are older than their runtime. */
void
tasks_drop_references(void);

/* arena.c */
void
arena_reset(void);
/* Has nobody written to what was freed? */
void
arena_check(void);
/*
 * An address in it, or in the program, as one that is the same in every run, and any
 * other number as it is.
 */
uint64_t
arena_value(uint64_t value);

/* threads.c */
void
threads_start(void);
void
threads_join(void);
/* Those that need no runtime. */
void
threads_join_last(void);
/* The calling thread sleeps, by the clock. */
void
sim_sleep(uint64_t cycles);

#endif
