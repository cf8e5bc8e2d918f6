/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Plain threads clone, use and drop wakers of tasks that end meanwhile, or are
 * ended by a shutdown. A task that lives sees each wake-up that it was sent.
 */

#include "stress.h"

#include <pthread.h>

#include <rte_common.h>
#include <rte_errno.h>

#define THREADS 6u
#define SLEEPERS 48u
#define KEPT 16u /* wakers that a thread has at hand */
#define STEPS 800u
#define MAX_POLLS 200u

/* What a task and those who wake it share. */
struct sleeper {
	struct atomic_ptr waker;
	struct atomic_u32 sent; /* wake-ups, counted before each is */
	struct atomic_u32 seen; /* of these, as of its last poll */
	struct atomic_u32 ended;
	struct atomic_u32 may_end;
};

struct sleeper_state {
	struct sleeper *s;
	uint32_t entry;
	unsigned int polls; /* to go */
};

/* A waker, and whose it is. */
struct kept {
	struct weir_waker *waker;
	struct sleeper *s;
};

static struct sleeper sleepers[SLEEPERS];

static int
sleeper_poll(struct weir_context *ctx, void *state)
{
	struct sleeper_state *t = state;
	struct sleeper *s = t->s;

	/* First, so that what is sent from here on wakes it again. */
	rig_set(&s->seen, rig_get(&s->sent));
	if (rig_get(&s->may_end) || t->polls-- == 0)
		return WEIR_DONE;
	weir_waker_drop(atomic_ptr_exchange(&s->waker, weir_context_waker(ctx),
					    ACQ_REL));
	return WEIR_PENDING;
}

static void
sleeper_drop(void *state)
{
	struct sleeper_state *t = state;

	rig_set(&t->s->ended, 1);
	stress_drop(t->entry);
}

static const struct weir_task_ops sleeper_ops = {
	.name = "sleeper",
	.state_size = sizeof(struct sleeper_state),
	.poll = sleeper_poll,
	.drop = sleeper_drop,
};

static void
start_sleepers(void)
{
	struct weir_spawn_attr attr;
	struct sleeper_state t;
	struct weir_join *join;
	unsigned int i;

	for (i = 0; i < SLEEPERS; i++) {
		sleepers[i] = (struct sleeper){ .ended = { 0 } };
		attr = (struct weir_spawn_attr){
			.affinity =
				(enum weir_affinity)rand_below(&stress.rand, 3),
		};
		t = (struct sleeper_state){
			.s = &sleepers[i],
			.entry = stress_born(),
			.polls = 1 + rand_below(&stress.rand, MAX_POLLS),
		};
		join = weir_task_spawn(stress.rt, &sleeper_ops, &t, &attr);
		stress_check(join != NULL);
		weir_join_detach(join);
	}
}

/* Takes the waker that a task has left, and leaves a clone. */
static void
keep(struct kept *k, struct rand_state *rand)
{
	struct sleeper *s = &sleepers[rand_below(rand, SLEEPERS)];
	struct weir_waker *w = atomic_ptr_exchange(&s->waker, NULL, ACQ_REL);

	if (w == NULL)
		return;
	k->s = s;
	k->waker = weir_waker_clone(w);
	stress_stumble(rand);
	/* The task may have left another meanwhile. */
	weir_waker_drop(atomic_ptr_exchange(&s->waker, w, ACQ_REL));
}

static void
use(struct kept *k, struct rand_state *rand)
{
	switch (rand_below(rand, 4)) {
	case 0:
		rig_add(&k->s->sent, 1);
		stress_stumble(rand);
		weir_waker_wake_by_ref(k->waker);
		return;
	case 1:
		rig_add(&k->s->sent, 1);
		stress_stumble(rand);
		weir_waker_wake(k->waker);
		break;
	default:
		weir_waker_drop(k->waker);
		break;
	}
	k->waker = NULL;
}

static void *
wake_main(void *arg)
{
	struct kept kept[KEPT] = { { NULL } }, *k;
	struct rand_state rand;
	unsigned int i;

	rand_seed(&rand, stress.seed + (uintptr_t)arg);
	for (i = 0; i < STEPS; i++) {
		stress_stumble(&rand);
		k = &kept[rand_below(&rand, KEPT)];
		if (k->waker == NULL)
			keep(k, &rand);
		else
			use(k, &rand);
	}
	/* Long after most of the tasks have ended. */
	for (i = 0; i < KEPT; i++)
		if (kept[i].waker != NULL)
			weir_waker_wake(kept[i].waker);
	return NULL;
}

static bool
is_quiet(const struct sleeper *s)
{
	return rig_get(&s->ended) || rig_get(&s->seen) == rig_get(&s->sent);
}

/* Nothing that was sent was lost; then they end, by a last wake-up. */
static void
end_sleepers(void)
{
	struct weir_waker *w;
	unsigned int i;

	for (i = 0; i < SLEEPERS; i++)
		rig_wait_until(is_quiet(&sleepers[i]));
	for (i = 0; i < SLEEPERS; i++) {
		rig_set(&sleepers[i].may_end, 1);
		w = atomic_ptr_exchange(&sleepers[i].waker, NULL, ACQ_REL);
		/* It runs, and may leave another that knows nothing. */
		rig_wait_until(w != NULL || rig_get(&sleepers[i].ended) ||
			       (w = atomic_ptr_exchange(&sleepers[i].waker,
							NULL, ACQ_REL)));
		if (w != NULL)
			weir_waker_wake(w);
		rig_wait_until(rig_get(&sleepers[i].ended));
	}
}

static void
round_of_wakes(void)
{
	bool cut_short;
	pthread_t threads[THREADS];
	uintptr_t i;

	stress_create(1);
	cut_short = rand_below(&stress.rand, 3) == 0;
	start_sleepers();
	for (i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, wake_main, (void *)(i + 10));
	if (cut_short) {
		stress_stumble(&stress.rand);
		stress_check(weir_runtime_shutdown(stress.rt, UINT64_MAX,
						   NULL) == 0);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (!cut_short) {
		end_sleepers();
		stress_check_counters(stress.rt);
	}
	stress_stop_neighbours();
	for (i = 0; i < SLEEPERS; i++)
		weir_waker_drop(
			atomic_ptr_exchange(&sleepers[i].waker, NULL, ACQ_REL));
	stress_end();
}

static void
no_wake_up_of_a_storm_is_lost(void **state)
{
	stress_rounds(round_of_wakes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_wake_up_of_a_storm_is_lost),
	};

	return cmocka_run_group_tests_name("wakes", tests, stress_setup,
					   unit_eal_teardown);
}
