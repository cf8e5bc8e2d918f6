/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Several runtimes at once, whose tasks spawn tasks in each other and await
 * them. They end by themselves, or the runtimes are shut down under them, in
 * any order; handles and wakers outlive them all.
 */

#include "stress.h"

#include <errno.h>
#include <pthread.h>

#include <rte_common.h>
#include <rte_errno.h>

#define RUNTIMES 3u
#define LCORES 2u /* of each */
#define ROOTS 40u
#define DEPTH 6u

/* Awaits a chain of others; its result is how many there were with it. */
struct link {
	struct rand_state rand;
	struct weir_join *next;
	uint32_t entry;
	uint32_t depth; /* to go; then the result */
	bool waits;	/* the innermost one, for a waker */
};

static struct weir_runtime *runtimes[RUNTIMES];
static struct weir_join *roots[ROOTS];
static struct atomic_ptr wakers[ROOTS];
static struct atomic_u32 next_waker;

static struct weir_join *
spawn_link(struct rand_state *rand, uint32_t depth);

/* The innermost task waits for main once. */
static int
wait_once(struct weir_context *ctx, struct link *l)
{
	uint32_t i;

	if (l->waits)
		return WEIR_DONE;
	l->waits = true;
	i = atomic_u32_fetch_add(&next_waker, 1, RELAXED);
	stress_check(i < ROOTS);
	atomic_ptr_store(&wakers[i], weir_context_waker(ctx), RELEASE);
	return WEIR_PENDING;
}

static int
link_poll(struct weir_context *ctx, void *state)
{
	struct link *l = state;
	uint32_t n;
	int rc;

	if (l->next == NULL && l->depth == 1)
		return wait_once(ctx, l);
	if (l->next == NULL)
		l->next = spawn_link(&l->rand, l->depth - 1);
	rc = weir_join_poll(ctx, l->next, &n);
	if (rc == WEIR_PENDING)
		return rc;
	l->next = NULL;
	stress_check(rc == -ECANCELED || (rc == 0 && n == l->depth - 1));
	return rc;
}

static void
link_drop(void *state)
{
	struct link *l = state;

	if (l->next != NULL)
		weir_join_detach(l->next);
	stress_drop(l->entry);
}

static const struct weir_task_ops link_ops = {
	.name = "link",
	.state_size = sizeof(struct link),
	.poll = link_poll,
	.drop = link_drop,
	.result_offset = offsetof(struct link, depth),
	.result_size = sizeof(uint32_t),
};

static struct weir_join *
spawn_link(struct rand_state *rand, uint32_t depth)
{
	struct link l = { .entry = stress_born(), .depth = depth };
	struct weir_join *join;

	rand_seed(&l.rand, rand_u32(rand));
	join = weir_task_spawn(runtimes[rand_below(rand, RUNTIMES)], &link_ops,
			       &l, NULL);
	stress_check(join != NULL);
	return join;
}

static void
create_runtimes(void)
{
	static const char *const names[RUNTIMES] = { "weir", "two", "three" };
	unsigned int lcores[LCORES], i, k;
	struct weir_options o;

	for (i = 0; i < RUNTIMES; i++) {
		stress_options(&o, 1);
		for (k = 0; k < LCORES; k++)
			lcores[k] = stress_lcore(i * LCORES + k);
		o.name = names[i];
		o.lcores = lcores;
		o.nb_workers = LCORES;
		o.nb_spare_lcores = 0;
		runtimes[i] = weir_runtime_create(&o);
		stress_check(runtimes[i] != NULL);
	}
	stress_start_neighbours();
}

static void *
shutdown_main(void *runtime)
{
	struct rand_state rand;

	rand_seed(&rand, stress.seed + (uintptr_t)runtime);
	stress_stumble(&rand);
	stress_check(weir_runtime_shutdown(runtime, UINT64_MAX, NULL) == 0);
	return NULL;
}

/* One after another, or all at once. */
static void
shut_down(void)
{
	unsigned int first = rand_below(&stress.rand, RUNTIMES), i;
	bool at_once = rand_below(&stress.rand, 2) == 0;
	pthread_t threads[RUNTIMES];

	for (i = 0; i < RUNTIMES; i++) {
		pthread_create(&threads[i], NULL, shutdown_main,
			       runtimes[(first + i) % RUNTIMES]);
		if (!at_once)
			pthread_join(threads[i], NULL);
	}
	for (i = 0; at_once && i < RUNTIMES; i++)
		pthread_join(threads[i], NULL);
}

static void
wake_all(void)
{
	unsigned int i;

	for (i = 0; i < ROOTS; i++)
		weir_waker_wake(rig_take_waker(&wakers[i]));
}

/* Whatever is left refers to tasks whose runtimes have gone. */
static void
drop_the_rest(void)
{
	unsigned int i;
	int rc;

	for (i = 0; i < ROOTS; i++) {
		weir_waker_drop(atomic_ptr_exchange(&wakers[i], NULL, ACQ_REL));
		if (roots[i] == NULL)
			continue;
		rc = weir_join_try(roots[i], NULL);
		stress_check(rc == 0 || rc == -ECANCELED);
	}
}

static void
round_of_runtimes(void)
{
	unsigned int moment = rand_below(&stress.rand, 2 * ROOTS * DEPTH), i;
	struct weir_shutdown_report left;
	uint32_t n;

	create_runtimes();
	atomic_u32_store(&next_waker, 0, RELAXED);
	for (i = 0; i < ROOTS; i++)
		roots[i] = spawn_link(&stress.rand, DEPTH);
	if (moment < ROOTS * DEPTH) {
		rig_wait_until(rig_get(&stress.born) >= moment);
	} else {
		wake_all();
		for (i = 0; i < ROOTS; i++) {
			stress_check(rig_join(roots[i], &n) == 0);
			stress_check(n == DEPTH);
			roots[i] = NULL;
		}
	}
	shut_down();
	for (i = 0; i < RUNTIMES; i++) {
		stress_check(weir_runtime_shutdown(runtimes[i], 0, &left) == 0);
		stress_check(left.live_tasks + left.ring_entries == 0);
	}
	for (i = 0; i < RUNTIMES; i++)
		weir_runtime_free(runtimes[(moment + i) % RUNTIMES]);
	drop_the_rest();
	stress_stop_neighbours();
	stress_check(stress_all_dropped());
}

static void
runtimes_that_await_each_other_end_in_any_order(void **state)
{
	stress_rounds(round_of_runtimes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			runtimes_that_await_each_other_end_in_any_order),
	};

	return cmocka_run_group_tests_name("chains", tests, stress_setup,
					   unit_eal_teardown);
}
