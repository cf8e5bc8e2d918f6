/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Every atomic operation and every call into the kernel is a step, before which
 * another thread may come in. A step moves the clock, and goes into the trace:
 * who made it, where, and what it read or wrote.
 */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "sim.h"

#define LAST 64
/* A run that takes more goes round in circles. */
#define STEPS_MAX UINT64_C(50000000)

struct step {
	unsigned int thread;
	const char *file;
	int line; /* 0: file is the name of a call */
	uint64_t value;
};

static struct step last[LAST];
static uint64_t nb_steps;
static uint64_t hash;

void
steps_reset(void)
{
	nb_steps = 0;
	hash = UINT64_C(0xcbf29ce484222325);
	memset(last, 0, sizeof(last));
}

uint64_t
steps_hash(void)
{
	return hash;
}

uint64_t
steps_count(void)
{
	return nb_steps;
}

static void
print_step(const struct step *s)
{
	const char *base = strrchr(s->file, '/');

	fprintf(stderr, "  %3u %-10s %s:%d %" PRIx64 "\n", s->thread,
		vthread_name(s->thread), base != NULL ? base + 1 : s->file,
		s->line, s->value);
}

void
steps_print(void)
{
	uint64_t i = nb_steps > LAST ? nb_steps - LAST : 0;

	for (; i < nb_steps; i++)
		if (last[i % LAST].file != NULL)
			print_step(&last[i % LAST]);
}

void
sim_fold(uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x100000001b3);
	hash ^= hash >> 29;
}

/* Before an operation. */
static struct step *
step(const char *file, int line)
{
	struct step *s;

	kernel_advance(sim.plan.step_cycles);
	traffic_advance();
	vthread_where(file, line);
	if (policy_quantum > 0)
		policy_quantum--;
	else
		vthread_point();
	if (nb_steps == STEPS_MAX)
		virtual_failed("the run does not end: %" PRIu64 " steps",
			       nb_steps);
	s = &last[nb_steps++ % LAST];
	s->thread = vthread_self();
	s->file = file;
	s->line = line;
	return s;
}

/* After it. */
static void
done(struct step *s, uint64_t value)
{
	s->value = arena_value(value);
	sim_fold((uint64_t)s->thread << 32 | (uint32_t)s->line);
	sim_fold(s->value);
	if (sim.trace)
		print_step(s);
	check_round();
}

void
sim_step(const char *what)
{
	if (vthreads_running())
		done(step(what, 0), 0);
}

/* What is being pushed, others do not see yet. */
static bool
is_halfway(const char *name)
{
	return strcmp(name, "ring enqueue") == 0;
}

void
virtual_call(const char *name)
{
	if (vthreads_running() && is_halfway(name))
		policy_stall_maybe(30);
	sim_step(name);
}

static uint64_t
get(const void *p, size_t size)
{
	uint32_t v;

	if (size == sizeof(uint64_t))
		return *(const uint64_t *)p;
	memcpy(&v, p, sizeof(v));
	return v;
}

static void
set(void *p, size_t size, uint64_t v)
{
	if (size == sizeof(uint64_t))
		*(uint64_t *)p = v;
	else
		*(uint32_t *)p = (uint32_t)v;
}

uint64_t
virtual_load(const void *p, size_t size, int order, struct virtual_site *site)
{
	struct step *s = step(site->file, site->line);
	uint64_t v = get(p, size);

	done(s, v);
	return v;
}

void
virtual_store(void *p, size_t size, uint64_t v, int order,
	      struct virtual_site *site)
{
	struct step *s = step(site->file, site->line);

	set(p, size, v);
	vthread_progress();
	done(s, v);
}

void
virtual_add_owner(void *p, size_t size, uint64_t v, struct virtual_site *site)
{
	uint64_t old = get(p, size);
	struct step *s = step(site->file, site->line);

	/* If it is not the only writer, another one's change is lost. */
	set(p, size, old + v);
	done(s, old + v);
}

uint64_t
virtual_rmw(void *p, size_t size, enum virtual_rmw op, uint64_t v, int order,
	    struct virtual_site *site)
{
	struct step *s = step(site->file, site->line);
	uint64_t old = get(p, size), to = v;

	switch (op) {
	case VIRTUAL_EXCHANGE:
		break;
	case VIRTUAL_ADD:
		to = old + v;
		break;
	case VIRTUAL_SUB:
		to = old - v;
		break;
	case VIRTUAL_OR:
		to = old | v;
		break;
	case VIRTUAL_AND:
		to = old & v;
		break;
	}
	set(p, size, to);
	vthread_progress();
	done(s, to);
	return old;
}

bool
virtual_cas(void *p, size_t size, uint64_t *expected, uint64_t v, int success,
	    int failure, struct virtual_site *site)
{
	struct step *s = step(site->file, site->line);
	uint64_t old = get(p, size);
	bool ok = old == *expected;

	if (ok) {
		set(p, size, v);
		vthread_progress();
	} else {
		*expected = old;
	}
	done(s, ok ? v : old);
	return ok;
}

void
virtual_fence(int order, struct virtual_site *site)
{
	done(step(site->file, site->line), 0);
}

void
virtual_light_fence(struct virtual_site *site)
{
	done(step(site->file, site->line), 0);
}

void
virtual_pause(struct virtual_site *site)
{
	struct step *s = step(site->file, site->line);

	done(s, 0);
	policy_step_back();
	vthread_pause(false);
}

/* Memory is in order here: the model checker is for the rest. */
void
virtual_membarrier(struct virtual_site *site)
{
}

void
virtual_release(const void *p)
{
}

void
virtual_acquire(const void *p)
{
}

/* What has been freed, the arena looks at. */
void
virtual_touch(const void *p)
{
}

void
virtual_saw(uint64_t v)
{
}

unsigned int
virtual_thread_start(const char *name, void (*main)(void *arg), void *arg)
{
	return vthread_start(name, main, arg);
}

void
virtual_thread_reap(unsigned int thread)
{
	vthread_reap(thread);
}
