/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Virtual threads over ucontext(3).
 *
 * V1 A switch happens only in switch_to(), so whatever stands between two calls
 *    of this file is one step.
 * V2 A thread's stack and its number are a function of the order of starts and
 *    of when those before it were reaped.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "kept.h"
#include "thread.h"

#define STACK_SIZE (128 * 1024)
#define LOCALS_MAX 8
#define LOCAL_BYTES 128

enum state {
	READY,
	WAITING,
	PAUSED,
	ENDED,
	REAPED
};

struct vthread {
	ucontext_t context;
	void (*main)(void *arg);
	void *arg;
	char name[VTHREAD_NAME_LEN + 1];
	enum state state;
	bool (*ready)(const void *arg);
	const void *ready_arg;
	uint64_t turn_began; /* the others' progress then */
	uint64_t steps_of_progress;
	const char *file;
	int line;
	uint8_t locals[LOCALS_MAX][LOCAL_BYTES];
};

static struct {
	const struct vthread_policy *policy;
	ucontext_t outside;
	struct vthread threads[VTHREADS_MAX];
	unsigned int n;
	unsigned int current;
	bool running;
	bool abandoned;
	uint64_t progress; /* of all threads */
	char *stacks;
} * world KEPT;

static struct {
	void *p;
	size_t size;
	uint8_t initial[LOCAL_BYTES];
} locals[LOCALS_MAX] KEPT;
static unsigned int nb_locals KEPT;

static void
die(const char *what)
{
	fprintf(stderr, "virtual threads: %s\n", what);
	abort();
}

void
vthread_local(void *p, size_t size)
{
	if (nb_locals == LOCALS_MAX || size > LOCAL_BYTES)
		die("too much thread-local memory");
	locals[nb_locals].p = p;
	locals[nb_locals].size = size;
	memcpy(locals[nb_locals++].initial, p, size);
}

bool
vthread_is_local(const void *p)
{
	unsigned int i;

	for (i = 0; i < nb_locals; i++)
		if ((uintptr_t)p - (uintptr_t)locals[i].p < locals[i].size)
			return true;
	return false;
}

static void
locals_save(struct vthread *t)
{
	unsigned int i;

	for (i = 0; i < nb_locals; i++)
		memcpy(t->locals[i], locals[i].p, locals[i].size);
}

static void
locals_load(const struct vthread *t)
{
	unsigned int i;

	for (i = 0; i < nb_locals; i++)
		memcpy(locals[i].p, t->locals[i], locals[i].size);
}

static bool
can_go_on(const struct vthread *t)
{
	switch (t->state) {
	case READY:
		return true;
	case WAITING:
		return t->ready(t->ready_arg);
	case PAUSED:
		return world->progress - t->steps_of_progress != t->turn_began;
	case ENDED:
	case REAPED:
		break;
	}
	return false;
}

static bool
has_ended(const struct vthread *t)
{
	return t->state == ENDED || t->state == REAPED;
}

/* Back to vthreads_run(). */
static void
leave(void)
{
	setcontext(&world->outside);
	die("setcontext");
}

static void
switch_to(unsigned int next)
{
	struct vthread *from = &world->threads[world->current];
	struct vthread *to = &world->threads[next];

	if (to == from)
		return;
	locals_save(from);
	world->current = next;
	locals_load(to);
	if (swapcontext(&from->context, &to->context) != 0)
		die("swapcontext");
}

/* Lets the policy choose who goes on; the caller is `state` now. */
static void
reschedule(enum state state)
{
	struct vthread *t = &world->threads[world->current];
	unsigned int ready[VTHREADS_MAX], n, i, next;
	int current;

	t->state = state;
	for (;;) {
		current = -1;
		for (n = 0, i = 0; i < world->n; i++) {
			if (!can_go_on(&world->threads[i]))
				continue;
			if (i == world->current)
				current = (int)n;
			ready[n++] = i;
		}
		if (n > 0)
			break;
		for (i = 0; i < world->n; i++)
			if (!has_ended(&world->threads[i]))
				break;
		if (i == world->n)
			leave();
		if (!world->policy->stuck(world->policy->arg)) {
			world->abandoned = true;
			leave();
		}
	}
	/* Who waits gives way without its will: no choice of the policy's. */
	if (state != READY)
		current = -1;
	next = world->policy->choose(world->policy->arg, ready, n, current);
	world->threads[ready[next]].state = READY;
	switch_to(ready[next]);
}

static void
entry(void)
{
	struct vthread *t = &world->threads[world->current];

	t->main(t->arg);
	vthread_progress();
	reschedule(ENDED);
	die("an ended thread went on");
}

/* The first number that nobody has. */
static unsigned int
new_id(void)
{
	unsigned int id;

	for (id = 0; id < world->n && world->threads[id].state != REAPED; id++)
		;
	if (id == VTHREADS_MAX)
		die("too many threads");
	if (id == world->n)
		world->n++;
	return id;
}

/* A function of its own: getcontext() returns twice, as compilers see it. */
static void
prepare_context(ucontext_t *context, char *stack)
{
	getcontext(context);
	context->uc_stack.ss_sp = stack;
	context->uc_stack.ss_size = STACK_SIZE;
	context->uc_link = NULL;
	makecontext(context, entry, 0);
}

unsigned int
vthread_start(const char *name, void (*main)(void *arg), void *arg)
{
	const unsigned int id = new_id();
	struct vthread *t = &world->threads[id];
	unsigned int i;

	memset(t, 0, sizeof(*t));
	t->main = main;
	t->arg = arg;
	t->turn_began = world->progress;
	snprintf(t->name, sizeof(t->name), "%s", name);
	for (i = 0; i < nb_locals; i++)
		memcpy(t->locals[i], locals[i].initial, locals[i].size);
	prepare_context(&t->context, world->stacks + (size_t)id * STACK_SIZE);
	return id;
}

bool
vthreads_run(const struct vthread_policy *policy, void (*main)(void *arg),
	     void *arg)
{
	static char *stacks KEPT;

	if (world == NULL) {
		world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		stacks = mmap(NULL, (size_t)VTHREADS_MAX * STACK_SIZE,
			      PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			      0);
		if (world == MAP_FAILED || stacks == MAP_FAILED)
			die("no memory");
		world->stacks = stacks;
	}
	world->policy = policy;
	world->n = 0;
	world->current = 0;
	world->abandoned = false;
	world->progress = 0;
	vthread_start("main", main, arg);
	locals_load(&world->threads[0]);
	world->running = true;
	/* Comes back here when all have ended, or by vthreads_abandon(). */
	if (swapcontext(&world->outside, &world->threads[0].context) != 0)
		die("swapcontext");
	world->running = false;
	return !world->abandoned;
}

void
vthreads_abandon(void)
{
	world->abandoned = true;
	leave();
	__builtin_unreachable();
}

unsigned int
vthread_self(void)
{
	return world->current;
}

unsigned int
vthread_count(void)
{
	return world->n;
}

const char *
vthread_name(unsigned int thread)
{
	return world->threads[thread].name;
}

bool
vthread_ended(unsigned int thread)
{
	return has_ended(&world->threads[thread]);
}

void
vthread_reap(unsigned int thread)
{
	if (world->threads[thread].state != ENDED)
		die("only what has ended can be reaped, once");
	world->threads[thread].state = REAPED;
}

bool
vthreads_running(void)
{
	return world != NULL && world->running;
}

void
vthread_point(void)
{
	reschedule(READY);
}

void
vthread_wait(bool (*ready)(const void *arg), const void *arg)
{
	struct vthread *t = &world->threads[world->current];

	t->ready = ready;
	t->ready_arg = arg;
	reschedule(ready(arg) ? READY : WAITING);
}

void
vthread_pause(bool at_once)
{
	struct vthread *t = &world->threads[world->current];

	/*
	 * Not since now: what others did after this turn had looked for it would
	 * be missed.
	 */
	if (at_once)
		t->turn_began--;
	reschedule(PAUSED);
	t->turn_began = world->progress - t->steps_of_progress;
}

void
vthread_progress(void)
{
	world->progress++;
	world->threads[world->current].steps_of_progress++;
}

void
vthreads_progress(void)
{
	world->progress++;
}

void
vthread_where(const char *file, int line)
{
	world->threads[world->current].file = file;
	world->threads[world->current].line = line;
}

void
vthread_where_get(unsigned int thread, const char **file, int *line)
{
	*file = world->threads[thread].file;
	*line = world->threads[thread].line;
}

bool
vthread_ready(unsigned int thread)
{
	return can_go_on(&world->threads[thread]);
}

bool
vthread_paused(unsigned int thread)
{
	return world->threads[thread].state == PAUSED;
}

bool
vthread_owns_stack(unsigned int thread, uintptr_t address)
{
	uintptr_t base = (uintptr_t)world->stacks + thread * STACK_SIZE;

	return address - base < STACK_SIZE;
}
