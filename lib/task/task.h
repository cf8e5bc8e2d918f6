/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TASK_TASK_H
#define TASK_TASK_H

/*
 * The cell of a task, and what may be done to it.
 *
 * Fields by who may touch them:
 *	state          anyone, through state.h
 *	id, ops        written before the task is shared, read by all, and by who
 *		       goes through cells (owned.c) whatever they hold
 *	home, hooked   written before the task is shared, read by all; of what is
 *		       no task (object.c) home says that it is a cell
 *	size_class     the cell's
 *	next, reach    whoever holds the notification (state.h, T2)
 *	woken          written by whoever holds the notification, read by all
 *	join_waiter    see state.h, T4
 *	outcome        the completing thread before COMPLETE, all after it
 *	polls          written by the holder of RUNNING, read by all; TASK_KEPT
 *		       also by who takes the task from a queue
 *	bytes          see state.h, T3
 *
 * The scheduler above is reached through weir__schedule() and
 * weir__cell_put(), and some questions about the calling thread, so another one
 * can be linked under the same tasks.
 */

#include "base/common.h"
#include "task/slot.h"
#include "task/stamp.h"
#include "task/state.h"
#include "task/weir_task.h"

struct core;
struct owned_count;
struct task_home;

struct task {
	/*
	 * What there is to be read, by who goes through cells, also while the cell
	 * holds no task.
	 */
	struct task_state state;
	struct atomic_u64 id;
	struct atomic_ptr ops; /* const struct weir_task_ops */
	struct atomic_u32 polls;
	struct atomic_u32 woken; /* see stamp.h */
	/* A task's only. A cell without one has its links here. */
	struct task *next;
	struct task_home *home;
	struct weir_waker *join_waiter;
	int32_t outcome;
	uint8_t size_class;
	bool hooked;   /* home->hooks is not NULL */
	int16_t reach; /* of a batch in an inject queue's list: see inject.c */

	uint8_t bytes[] weir_cache_aligned;
} weir_cache_aligned;

static_assert(offsetof(struct task, bytes) == WEIR_CACHE_LINE,
	      "what wakers write shares no line with the caller's state");

/* In state.h's words: a worker's index, and an enum weir_affinity above it. */
#define PLACE_AFFINITY_SHIFT 14

static_assert(RTE_MAX_LCORE <= 1 << PLACE_AFFINITY_SHIFT,
	      "a worker's index fits");
static_assert(WEIR_AFFINITY_WORKER < 4, "an affinity fits");
static_assert((WEIR_AFFINITY_ANY | WEIR_AFFINITY_NODE) < WEIR_AFFINITY_WORKER,
	      "one bit tells who is bound");

static inline uint16_t
place_of(enum weir_affinity affinity, unsigned int worker)
{
	return (uint16_t)((unsigned int)affinity << PLACE_AFFINITY_SHIFT |
			  worker);
}

static inline enum weir_affinity
place_affinity(uint16_t place)
{
	return (enum weir_affinity)(place >> PLACE_AFFINITY_SHIFT);
}

static inline unsigned int
place_worker(uint16_t place)
{
	return place & ((1u << PLACE_AFFINITY_SHIFT) - 1);
}

static inline bool
place_is_local(uint16_t place)
{
	return (place & WEIR_AFFINITY_WORKER << PLACE_AFFINITY_SHIFT) != 0;
}

/* Of a task; who asks has a reference, or its RUNNING. */
static inline uint16_t
task_place(const struct task *t)
{
	return state_place(atomic_u64_load(&t->state.word, RELAXED));
}

static inline uint64_t
task_id(const struct task *t)
{
	return atomic_u64_load(&t->id, RELAXED);
}

/* A new cell is that task's from here on. */
static inline void
task_set_id(struct task *t, uint64_t id)
{
	/* [owned:A2] whoever sees it finds no task here that was there before. */
	atomic_u64_store(&t->id, id, RELEASE);
}

/* It has its id already, and is not shared yet. */
static inline void
task_set_ops(struct task *t, const struct weir_task_ops *ops)
{
	/* [owned:A3] who sees them sees that the id is that of their task. */
	atomic_ptr_store(&t->ops, (void *)(uintptr_t)ops, RELEASE);
}

static inline const struct weir_task_ops *
task_ops(const struct task *t)
{
	return atomic_ptr_load(&t->ops, RELAXED);
}

/*
 * In `polls`: the task has yielded, or has been spawned, and keeps RUNNING until its
 * next turn. See run.h.
 */
#define TASK_KEPT (UINT32_C(1) << 31)

static inline uint32_t
task_polls(const struct task *t)
{
	return atomic_u32_load(&t->polls, RELAXED);
}

static inline bool
task_is_kept(const struct task *t)
{
	return (task_polls(t) & TASK_KEPT) != 0;
}

static inline bool
task_is_local(const struct task *t)
{
	/* place_is_local(task_place(t)), in one comparison. */
	const uint64_t local = (uint64_t)place_of(WEIR_AFFINITY_WORKER, 0)
			       << STATE_PLACE_SHIFT;

	return (atomic_u64_load(&t->state.word, RELAXED) & local) != 0;
}

/* What a poll has asked for, beside what it gives: in weir_context.asked. */
#define ASKED_YIELD 1u	     /* back into the queue, behind the sources' poll */
#define ASKED_LOOK_AGAIN 2u  /* at once; they are polled before its turn */
#define ASKED_BEHIND_NEXT 4u /* a turn behind that of context.next */
#define ASKED_OUT_OF_BUDGET 8u /* to yield, since its budget was empty */
#define ASKED_SUSPENDED 16u    /* the budget is set aside, in `kept` */
#define ASKED_OWES 32u	       /* gave a reference away (state.h, T6) */

/* Its next turn needs no wake-up. */
#define ASKED_TURN (ASKED_YIELD | ASKED_LOOK_AGAIN | ASKED_BEHIND_NEXT)

/* What a poll function sees, and what it asked for. One for each core. */
struct weir_context {
	struct core *core;
	struct atomic_ptr task;		  /* NULL: nothing is being polled */
	struct owned_count *live;	  /* the core's */
	struct atomic_u64 *forced_yields; /* of its counters */
	uint32_t budget;
	uint32_t asked; /* ASKED_*, of one poll */
	uint32_t kept;
	uint32_t worker; /* the core's, by its index */
	/*
	 * Where the task is, if any, whose turn comes behind this poll unless others
	 * recall it.
	 */
	const struct slot *next;
};

static inline struct task *
context_task(const struct weir_context *ctx)
{
	return atomic_ptr_load(&ctx->task, RELAXED);
}

/* What the last poll asked for is forgotten. t: NULL if none is being polled. */
static inline void
context_begin(struct weir_context *ctx, struct task *t)
{
	/* [recall:A1] what the core has, before it is in a poll. */
	atomic_ptr_store(&ctx->task, t, RELEASE);
	ctx->asked = 0;
}

/* Does the calling thread drive this core? The scheduler knows. */
bool
weir__drives(const struct core *c);

/*
 * Is the calling thread in a drop from here on, and not in the poll that it may have come
 * from? Returns what was so before. The scheduler's.
 */
bool
weir__set_dropping(bool dropping);

/*
 * A context is for the poll that it was given to, and for its thread. Only that
 * thread may look at the rest of it.
 */
static inline void
context_check(const struct weir_context *ctx)
{
	WEIR_ASSERT(weir__drives(ctx->core) && context_task(ctx) != NULL,
		    "context: in its own poll only");
}

/* It has none left: its next wait makes the task yield. */
static inline bool
context_is_spent(const struct weir_context *ctx)
{
	context_check(ctx);
	return ctx->budget == 0;
}

/* Takes units off the budget, or what is left of it. */
static inline void
context_charge(struct weir_context *ctx, uint32_t units)
{
	ctx->budget = likely(units < ctx->budget) ? ctx->budget - units : 0;
}

/* As weir_context_spend(). */
static inline int
context_spend(struct weir_context *ctx, uint32_t units)
{
	if (unlikely(context_is_spent(ctx)))
		return weir_context_spend(ctx, units);
	context_charge(ctx, units);
	return 0;
}

/* The budget that was set aside is that of the poll again. */
static inline void
context_resume(struct weir_context *ctx)
{
	if (likely(!(ctx->asked & ASKED_SUSPENDED)))
		return;
	ctx->asked &= ~ASKED_SUSPENDED;
	ctx->budget = ctx->kept;
}

/*
 * The task looks again rather than wait: as a yield, but it is in the queue at
 * once, where others can take it if this worker gets stuck.
 */
static inline int
context_look_again(struct weir_context *ctx)
{
	context_check(ctx);
	ctx->asked |= ASKED_LOOK_AGAIN;
	return WEIR_PENDING;
}

/*
 * The task whose turn comes behind this poll, and then this one's again if it looks
 * behind it. NULL: there is none, or this one has to go where others are.
 */
static inline const struct task *
context_next(const struct weir_context *ctx)
{
	const struct task *next = slot_peek_owner(ctx->next);

	if (likely(next == NULL) || task_is_local(context_task(ctx)))
		return NULL;
	return next;
}

/*
 * The task lets the next one run, and then looks again rather than wait to be
 * woken.
 */
static inline int
context_look_behind_next(struct weir_context *ctx)
{
	context_check(ctx);
	ctx->asked |= ASKED_BEHIND_NEXT;
	return WEIR_PENDING;
}

/* A hook for the task, if there is one. */
#define task_hook(t, hook)                                                   \
	do {                                                                 \
		if (unlikely((t)->hooked) && (t)->home->hooks->hook != NULL) \
			(t)->home->hooks->hook(                              \
				(t)->home->hooks->arg,                       \
				&(struct weir_task_info){                    \
					task_id(t), task_ops(t)->name });    \
	} while (0)

/*
 * Ends a task, with what became of it. The caller holds RUNNING, and `refs`
 * references, which go. live: the calling thread's, or NULL.
 */
void
weir__task_end(struct task *t, int32_t outcome, unsigned int refs,
	       struct owned_count *live);

/* Polls one that has hooks. */
int
weir__task_poll_hooked(struct task *t, struct weir_context *ctx);

/* Runs a blocking job, or drops it if it was cancelled. */
void
weir__task_run_blocking(struct task *t);

/* Asks the task to end. The caller holds a reference: see waker.c, W2. */
void
weir__task_abort(struct task *t);

/*
 * What was in a queue, and nobody will run: gives its reference back. A task that kept
 * its turn there ends.
 */
void
weir__task_drop_notification(struct task *t);

/* For a task that was refused before anyone saw it; the join handle stays. */
void
weir__task_refuse(struct task *t);

void
weir__task_ref_dec(struct task *t);

/* Is told of a task's end, once, by the thread that ends it. */
struct task_watcher {
	void (*ended)(struct task_watcher *w);
};

/*
 * A waker for the task, for a thread that is blocked, or for a watcher; see
 * waker.c.
 */
#define WAKER_PARKER ((uintptr_t)1)
#define WAKER_WATCHER ((uintptr_t)2)
struct thread_parker;
struct weir_waker *
weir__waker_of_parker(struct thread_parker *p);
struct weir_waker *
weir__waker_of_watcher(struct task_watcher *w);
bool
weir__waker_same(const struct weir_waker *w, const struct task *t);
/* No thread's and no watcher's? */
static inline bool
waker_is_task(const struct weir_waker *w)
{
	return ((uintptr_t)w & (WAKER_PARKER | WAKER_WATCHER)) == 0;
}

/* Can it wake nobody any more? */
bool
weir__waker_ended(const struct weir_waker *w);

/*
 * For who waits for other things besides: the waker of a parker or a watcher is
 * used when the task ends, until unwatch, which must come before they go. Who
 * was told needs no unwatch.
 * watch: false if the task has ended already.
 */
bool
weir__join_watch(struct weir_join *join, struct weir_waker *waker);
void
weir__join_unwatch(struct weir_join *join);

/* A waker of the task that is being polled. The first one costs nothing (T6). */
static inline struct weir_waker *
context_waker(struct weir_context *ctx)
{
	if (ctx->asked & ASKED_OWES)
		state_ref_inc(&context_task(ctx)->state);
	ctx->asked |= ASKED_OWES;
	return (struct weir_waker *)context_task(ctx);
}

static inline bool
join_ended(const struct weir_join *join)
{
	const struct task *t = (const struct task *)join;

	return (state_load(&t->state) & STATE_COMPLETE) != 0;
}

/*
 * What the scheduler provides.
 */

/*
 * Queues a notification; the reference for it comes along. Any thread, see
 * waker.c, W2.
 */
void
weir__schedule(struct task *t);

/* A task failed and nobody will ask for its outcome. Any thread. */
void
weir__task_failed(const struct task *t);

/* Takes the memory of a cell back: weir__cell_free() with its worker's cache.
 */
void
weir__cell_put(struct task *t);

/* Is the calling thread a worker? It may not block then. */
bool
weir__on_worker(void);

/* Is it a worker of the task's runtime? */
bool
weir__on_worker_of(const struct task *t);

#endif
