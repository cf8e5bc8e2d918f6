/* SPDX-License-Identifier: BSD-3-Clause */

#include "crowd.h"

#include <errno.h>
#include <pthread.h>

#include <rte_common.h>
#include <rte_errno.h>

#define MAILBOXES 16u
#define HANDLES 12u
#define STEPS 6u
#define UNITS 100u /* of the budget, which is 128 */

struct member {
	struct rand_state rand;
	struct weir_join *child; /* awaited, or NULL */
	uint32_t entry;
	uint32_t steps;
};

/* For cells of other classes. */
struct large_member {
	struct member m;
	uint8_t rest[600];
};

struct job {
	uint32_t entry;
};

static struct {
	unsigned int members; /* for each of the actors */
	pthread_t actors[CROWD_ACTORS];
	pthread_t waker;
	struct atomic_u32 waking;
	struct atomic_ptr mailboxes[MAILBOXES];
} crowd;

static struct weir_waker *
take_waker(unsigned int i)
{
	return atomic_ptr_exchange(&crowd.mailboxes[i], NULL, ACQ_REL);
}

static void
pass_by(void *arg)
{
	sched_yield();
}

static int
job_run(void *state)
{
	pass_by(NULL);
	return 0;
}

static void
job_drop(void *state)
{
	struct job *j = state;

	stress_drop(j->entry);
}

static const struct weir_task_ops job_ops = {
	.name = "job",
	.state_size = sizeof(struct job),
	.run = job_run,
	.drop = job_drop,
};

static struct weir_join *
spawn_job(struct weir_runtime *rt)
{
	struct job j = { .entry = stress_born() };
	struct weir_join *join = weir_blocking_spawn(rt, &job_ops, &j);

	if (join == NULL) {
		stress_check(rte_errno == EAGAIN || rte_errno == ENOMEM);
		stress_drop(j.entry);
	}
	return join;
}

/* Leaves a waker to be found. One that was there has waited long enough. */
static int
wait_for_a_waker(struct weir_context *ctx, struct member *m)
{
	struct weir_waker *w;
	unsigned int i;

	i = rand_below(&m->rand, MAILBOXES);
	w = atomic_ptr_exchange(&crowd.mailboxes[i], weir_context_waker(ctx),
				ACQ_REL);
	if (w != NULL)
		weir_waker_wake(w);
	return WEIR_PENDING;
}

/* 0: go on; else what poll returns. */
static int
step(struct weir_context *ctx, struct member *m)
{
	struct weir_runtime *rt = weir_context_runtime(ctx);
	struct weir_join *join;

	switch (rand_below(&m->rand, 8)) {
	case 0:
		return weir_context_yield(ctx);
	case 1:
		join = crowd_spawn(rt, &m->rand, m->steps / 2);
		if (rand_below(&m->rand, 2) == 0)
			weir_join_abort(join);
		weir_join_detach(join);
		return 0;
	case 2:
		m->child = crowd_spawn(rt, &m->rand, m->steps / 2);
		return 0;
	case 3:
		m->child = spawn_job(rt);
		if (m->child != NULL && rand_below(&m->rand, 4) == 0)
			weir_join_abort(m->child);
		return 0;
	case 4:
		stress_check(weir_block_in_place(pass_by, NULL) != -EPERM);
		return 0;
	case 5:
		return weir_context_spend(ctx, UNITS);
	default:
		return wait_for_a_waker(ctx, m);
	}
}

static int
await_child(struct weir_context *ctx, struct member *m)
{
	int rc = weir_join_poll(ctx, m->child, NULL);

	if (rc == WEIR_PENDING)
		return rc;
	m->child = NULL;
	stress_check(rc == 0 || rc == -ECANCELED);
	return 0;
}

static int
member_poll(struct weir_context *ctx, void *state)
{
	struct member *m = state;
	int rc = 0;

	while (rc == 0) {
		if (m->child != NULL) {
			rc = await_child(ctx, m);
			continue;
		}
		if (m->steps == 0)
			return WEIR_DONE;
		m->steps--;
		rc = step(ctx, m);
	}
	return rc;
}

static void
member_drop(void *state)
{
	struct member *m = state;

	if (m->child != NULL)
		weir_join_detach(m->child);
	stress_drop(m->entry);
}

static const struct weir_task_ops member_ops = {
	.name = "member",
	.state_size = sizeof(struct member),
	.poll = member_poll,
	.drop = member_drop,
};

static const struct weir_task_ops large_member_ops = {
	.name = "large member",
	.state_size = sizeof(struct large_member),
	.poll = member_poll,
	.drop = member_drop,
};

struct weir_join *
crowd_spawn(struct weir_runtime *rt, struct rand_state *rand,
	    unsigned int steps)
{
	struct weir_spawn_attr attr = {
		.affinity = (enum weir_affinity)rand_below(rand, 3),
		/* The spare place, which is the last, may never be settled. */
		.worker = rand_below(rand, weir_runtime_nb_workers(rt) - 1),
	};
	struct large_member l = {
		.m = { .entry = stress_born(), .steps = steps },
	};
	struct weir_join *join;

	rand_seed(&l.m.rand, rand_u32(rand));
	join = weir_task_spawn(
		rt, rand_below(rand, 8) == 0 ? &large_member_ops : &member_ops,
		&l, &attr);
	stress_check(join != NULL);
	return join;
}

static void *
wake_main(void *arg)
{
	struct weir_waker *w;
	unsigned int i;

	while (rig_get(&crowd.waking)) {
		for (i = 0; i < MAILBOXES; i++) {
			w = take_waker(i);
			if (w != NULL)
				weir_waker_wake(w);
		}
		sched_yield();
	}
	return NULL;
}

/* What a thread may do with a handle. True: it is gone. */
static bool
handle(struct weir_join *join, struct rand_state *rand)
{
	struct weir_abort *abort;
	int rc;

	switch (rand_below(rand, 5)) {
	case 0:
		abort = weir_join_abort_handle(join);
		weir_join_detach(join);
		stress_stumble(rand);
		weir_abort_task(abort);
		weir_abort_drop(abort);
		return true;
	case 1:
		weir_join_abort(join);
		return false;
	case 2:
		weir_join_detach(join);
		return true;
	case 3:
		rc = weir_join_wait(join, NULL);
		break;
	default:
		rc = weir_join_try(join, NULL);
		if (rc == WEIR_PENDING)
			return false;
		break;
	}
	stress_check(rc == 0 || rc == -ECANCELED);
	return true;
}

static void *
act_main(void *arg)
{
	struct weir_join *joins[HANDLES] = { NULL };
	struct rand_state rand;
	unsigned int i, n = 0;

	rand_seed(&rand, stress.seed + (uintptr_t)arg);
	while (n < crowd.members && !stress_is_over()) {
		stress_stumble(&rand);
		i = rand_below(&rand, HANDLES);
		if (joins[i] == NULL) {
			joins[i] = crowd_spawn(stress.rt, &rand,
					       rand_below(&rand, STEPS));
			n++;
		} else if (handle(joins[i], &rand)) {
			joins[i] = NULL;
		}
	}
	for (i = 0; i < HANDLES; i++)
		weir_join_detach(joins[i]);
	return NULL;
}

void
crowd_start(unsigned int members)
{
	uintptr_t i;

	crowd.members = members;
	rig_set(&crowd.waking, 1);
	pthread_create(&crowd.waker, NULL, wake_main, NULL);
	for (i = 0; i < CROWD_ACTORS; i++)
		pthread_create(&crowd.actors[i], NULL, act_main,
			       (void *)(i + 100));
}

void
crowd_await(void)
{
	unsigned int i;

	for (i = 0; i < CROWD_ACTORS; i++)
		pthread_join(crowd.actors[i], NULL);
}

void
crowd_stop(void)
{
	unsigned int i;

	rig_set(&crowd.waking, 0);
	pthread_join(crowd.waker, NULL);
	/* Of members that were dropped, or woken by others. */
	for (i = 0; i < MAILBOXES; i++)
		weir_waker_drop(take_waker(i));
}
