/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A queue's push and pop are one step each. It orders no more than those of
 * lib/queue do: whoever pops an entry sees what its pusher did before, and
 * nobody else sees anything. Nor does the count of cells (lib/sched/runtime.c,
 * M1), which tells when the home may go.
 *
 * What the queue knows is not watched; what the library's scheduler would touch
 * of a task or of its home is.
 */

#include <errno.h>
#include <string.h>

#include "checker/memory.h"
#include "kernel.h"
#include "scheduler.h"
#include "task/run.h"
#include "thread.h"

#define ENTRIES_MAX 32
#define WORKERS_MAX 3
#define BUDGET 128

static struct {
	bool on;
	struct task_home *home;
	unsigned int nb_workers;
	struct {
		struct task *task;
		int worker; /* that it is bound to, or -1 */
	} entries[ENTRIES_MAX];
	unsigned int pushed;
	uint64_t spawned;
	unsigned int cells; /* and one for the owner */
	unsigned int nb_out;
	unsigned int failures;
	bool closed; /* the queue is */
	bool ending; /* nothing is spawned any more */
	bool awoken; /* for nothing, once */
} s;

UNWATCHED int
scheduler_self(void)
{
	unsigned int self = vthread_self();

	return self >= 1 && self <= s.nb_workers ? (int)self - 1 : -1;
}

UNWATCHED unsigned int
scheduler_failures(void)
{
	return s.failures;
}

/* False if the queue is closed. */
static UNWATCHED bool
push(struct task *t, int worker)
{
	vthread_point();
	if (s.closed) {
		memory_saw(0);
		return false;
	}
	if (s.pushed == ENTRIES_MAX)
		model_fail("the scheduler has no room");
	s.entries[s.pushed].task = t;
	s.entries[s.pushed].worker = worker;
	virtual_release(&s.entries[s.pushed++]);
	return true;
}

/* Is there an entry for that worker, or for any? Where? */
static UNWATCHED bool
find(int worker, unsigned int *at)
{
	unsigned int i;

	for (i = 0; i < s.pushed; i++) {
		if (s.entries[i].task == NULL)
			continue;
		if (worker < 0 || s.entries[i].worker < 0 ||
		    s.entries[i].worker == worker) {
			*at = i;
			return true;
		}
	}
	return false;
}

static UNWATCHED struct task *
pop(int worker)
{
	struct task *t;
	unsigned int at;

	if (!find(worker, &at))
		return NULL;
	t = s.entries[at].task;
	s.entries[at].task = NULL;
	virtual_acquire(&s.entries[at]);
	return t;
}

/* Tasks that have not ended, without a step of the checker's. */
static UNWATCHED uint64_t
tasks_left(void)
{
	return s.home->owned.elsewhere.v;
}

static UNWATCHED bool
has_work(const void *arg)
{
	unsigned int at;

	return s.closed || find(*(const int *)arg, &at) ||
	       (s.ending && tasks_left() == 0);
}

/* NULL: there will be none. */
static UNWATCHED struct task *
next(void)
{
	int self = scheduler_self();
	struct task *t = NULL;

	do
		vthread_wait(has_work, &self);
	while (!has_work(&self));
	if (s.closed)
		virtual_acquire(&s.closed);
	else
		t = pop(self);
	memory_saw(t != NULL);
	return t;
}

/* The last worker drops the notifications that are left. */
static UNWATCHED void
leave(void)
{
	struct task *t;

	vthread_point();
	virtual_release(&s.nb_out);
	if (++s.nb_out < s.nb_workers)
		return;
	virtual_acquire(&s.nb_out);
	/* What was spawned since another looked for it. */
	if (s.closed)
		weir__owned_shutdown(s.home, OWNED_ALL_WORKERS, NULL);
	while ((t = pop(-1)) != NULL)
		weir__task_drop_notification(t);
}

/* That the task is bound to, or -1. */
static int
worker_of(const struct task *t)
{
	uint16_t place = task_place(t);

	return place_is_local(place) ? (int)place_worker(place) : -1;
}

static void
place(struct task *t)
{
	t->next = NULL;
	if (!push(t, worker_of(t)))
		weir__task_drop_notification(t);
}

/* As the library does with a task that leaves a worker's queues. */
static void
settle(struct task *t)
{
	if (task_give_turn_back(t))
		weir__task_drop_notification(t);
	else
		weir__task_end(t, -ECANCELED, 1, NULL);
}

static void
place_again(struct task *t)
{
	t->next = NULL;
	if (!push(t, worker_of(t)))
		settle(t);
}

/* One of those that keep their turns in the worker's queue. */
static UNWATCHED struct task *
take_kept(int worker)
{
	struct task *t;
	unsigned int i;

	for (i = 0; i < s.pushed; i++) {
		t = s.entries[i].task;
		if (t == NULL || !(t->polls.v & TASK_KEPT) ||
		    (s.entries[i].worker >= 0 && s.entries[i].worker != worker))
			continue;
		s.entries[i].task = NULL;
		virtual_acquire(&s.entries[i]);
		return t;
	}
	return NULL;
}

/* Whether it is resumed or queued is up to what else runs on a worker. */
static enum task_next
run(struct task *t, struct weir_context *ctx)
{
	enum task_next next = task_run(t, ctx, false);

	while (next == TASK_NEXT_RESUME) {
		if (model_choose(2) == 0) {
			next = task_run(t, ctx, true);
		} else {
			task_keep_turn(t, task_polls(t));
			next = TASK_NEXT_QUEUE;
		}
	}
	return next;
}

static void
worker_main(void *arg)
{
	static struct slot none;
	struct atomic_u64 forced_yields = { 0 };
	struct weir_context ctx = { .core = arg,
				    .next = &none,
				    .forced_yields = &forced_yields };
	unsigned int self = (unsigned int)scheduler_self();
	struct task *t;

	while ((t = next()) != NULL) {
		model_check(t->next == NULL);
		ctx.budget = BUDGET;
		if (run(t, &ctx) != TASK_NEXT_NOTHING)
			place_again(t);
		context_begin(&ctx, NULL);
	}
	while ((t = take_kept((int)self)) != NULL)
		settle(t);
	weir__owned_shutdown(s.home, self, NULL);
	leave();
}

/* Threads and cores are numbered alike, and no core is looked into. */
static struct core *
core_of_thread(unsigned int thread)
{
	return (struct core *)(uintptr_t)(thread + 1);
}

static UNWATCHED bool
chance(enum kernel_chance what, void *arg)
{
	(void)arg;
	if (what != KERNEL_SPURIOUS || s.awoken || model_choose(2) == 0)
		return false;
	s.awoken = true;
	return true;
}

UNWATCHED void
scheduler_start(unsigned int nb_workers)
{
	unsigned int i;

	kernel_options.chance = chance;

	s.on = true;
	s.nb_workers = nb_workers;
	s.cells = 1;
	s.home = model_alloc(sizeof(*s.home));
	model_check(weir__cell_pools_init(&s.home->cells, 0, 0) == 0);
	weir__owned_init(&s.home->owned);
	for (i = 1; i <= nb_workers; i++)
		model_thread("worker", worker_main, core_of_thread(i));
}

static UNWATCHED struct task *
new_task(const struct weir_task_ops *ops, const void *state)
{
	struct task *t =
		weir__cell_alloc(&s.home->cells, NULL, ops->state_size);

	s.cells++;
	atomic_u64_store(&t->id, ++s.spawned, RELEASE);
	task_set_ops(t, ops);
	t->home = s.home;
	if (state != NULL)
		memcpy(t->bytes, state, ops->state_size);
	return t;
}

/* As the library's spawns do (owned.c, O2). */
static bool
must_look_again(uint16_t place_bits)
{
	return scheduler_self() < 0 || place_is_local(place_bits);
}

static struct weir_join *
spawn(struct task *t, uint16_t place_bits)
{
	struct owned *o = &t->home->owned;

	if (owned_is_closed(o)) {
		weir__task_refuse(t);
		return (struct weir_join *)t;
	}
	owned_add(o, NULL, 1);
	state_begin(&t->state, place_bits, false, false);
	if (!must_look_again(place_bits) || !weir__owned_closed_since(o)) {
		place(t);
	} else {
		weir__owned_end(t, NULL);
		weir__task_drop_notification(t);
	}
	return (struct weir_join *)t;
}

struct weir_join *
scheduler_spawn(const struct weir_task_ops *ops, const void *state)
{
	return spawn(new_task(ops, state), place_of(WEIR_AFFINITY_ANY, 0));
}

struct weir_join *
scheduler_spawn_on(unsigned int worker, const struct weir_task_ops *ops,
		   const void *state)
{
	return spawn(new_task(ops, state),
		     place_of(WEIR_AFFINITY_WORKER, worker));
}

UNWATCHED struct weir_join *
scheduler_new_job(const struct weir_task_ops *ops, const void *state)
{
	struct task *t = new_task(ops, state);

	state_begin_job(&t->state);
	return (struct weir_join *)t;
}

UNWATCHED void
scheduler_close(void)
{
	weir__owned_close(&s.home->owned);
	vthread_point();
	virtual_release(&s.closed);
	s.closed = true;
}

/* The order of the runtime's count of cells ([runtime:A1]). */
static UNWATCHED void
put_home(void)
{
	virtual_release(&s.cells);
	if (--s.cells > 0)
		return;
	virtual_acquire(&s.cells);
	weir__cell_pools_fini(&s.home->cells);
	model_free(s.home);
}

UNWATCHED void
scheduler_end(void)
{
	unsigned int i;

	vthread_point();
	memory_saw(0);
	s.ending = true;
	for (i = 1; i <= s.nb_workers; i++)
		model_join(i);
	if (s.nb_workers == 0)
		leave();
	model_check(weir__owned_count(&s.home->owned) == 0);
	put_home();
	model_join_all();
}

UNWATCHED void
scheduler_end_tasks(unsigned int worker)
{
	weir__owned_shutdown(s.home, worker, NULL);
}

UNWATCHED void
scheduler_walk(owned_visit *visit, void *arg)
{
	weir__owned_walk(s.home, visit, arg);
}

uint64_t
scheduler_count(void)
{
	return weir__owned_count(&s.home->owned);
}

/* What lib/task calls. */

void
__real_weir__schedule(struct task *t);
void
__wrap_weir__schedule(struct task *t);
void
__wrap_weir__schedule(struct task *t)
{
	struct task_home *home = t->home;

	if (!s.on) {
		__real_weir__schedule(t);
		return;
	}
	place(t);
	/* The library's looks at the node now, for a sleeper. */
	vthread_point();
	memory_saw(0);
	model_check(home->hooks == NULL);
}

void
__real_weir__cell_put(struct task *t);
void
__wrap_weir__cell_put(struct task *t);
UNWATCHED void
__wrap_weir__cell_put(struct task *t)
{
	if (!s.on) {
		__real_weir__cell_put(t);
		return;
	}
	weir__cell_free(&t->home->cells, NULL, t);
	put_home();
}

void
__real_weir__task_failed(const struct task *t);
void
__wrap_weir__task_failed(const struct task *t);
UNWATCHED void
__wrap_weir__task_failed(const struct task *t)
{
	if (!s.on)
		__real_weir__task_failed(t);
	else
		s.failures++;
}

bool
__real_weir__on_worker(void);
bool
__wrap_weir__on_worker(void);
UNWATCHED bool
__wrap_weir__on_worker(void)
{
	return s.on ? scheduler_self() >= 0 : __real_weir__on_worker();
}

bool
__real_weir__on_worker_of(const struct task *t);
bool
__wrap_weir__on_worker_of(const struct task *t);
UNWATCHED bool
__wrap_weir__on_worker_of(const struct task *t)
{
	return s.on ? scheduler_self() >= 0 : __real_weir__on_worker_of(t);
}

bool
__real_weir__drives(const struct core *c);
bool
__wrap_weir__drives(const struct core *c);
UNWATCHED bool
__wrap_weir__drives(const struct core *c)
{
	return s.on ? c == core_of_thread(vthread_self()) :
		      __real_weir__drives(c);
}
