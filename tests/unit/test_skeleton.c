/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The driver to copy: drivers/skeleton. These are the tests that a driver should
 * have.
 */

#include "unit.h"

#include <errno.h>
#include <string.h>

#include <rte_errno.h>

#include "kernel.h"
#include "park/source.h"
#include "weir_skeleton.h"

#define NUMBERS 2000u

static struct weir_skeleton *skeleton;
static struct atomic_u32 waits; /* PENDING */

/* Takes numbers `next` to `end` - 1, `burst` at a time. */
struct taker {
	uint64_t next;
	uint64_t end;
	unsigned int burst;
};

static int
take(struct weir_context *ctx, void *state)
{
	struct taker *t = state;
	uint64_t numbers[WEIR_SKELETON_BURST + 1];
	int n, i;

	while (t->next < t->end) {
		n = weir_skeleton_recv(ctx, skeleton, numbers, t->burst);
		if (n == WEIR_PENDING)
			rig_add(&waits, 1);
		if (n < 0)
			return n;
		for (i = 0; i < n; i++)
			if (numbers[i] != t->next++)
				return -EPROTO;
	}
	return WEIR_DONE;
}

static const struct weir_task_ops taker_ops = {
	.name = "taker",
	.state_size = sizeof(struct taker),
	.poll = take,
};

static struct weir_join *
spawn_taker(uint64_t next, uint64_t end, unsigned int burst)
{
	const struct taker t = { next, end, burst };
	struct weir_join *join = weir_task_spawn(rig.rt, &taker_ops, &t, NULL);

	assert_non_null(join);
	return join;
}

static struct weir_source *
source(void)
{
	return weir_skeleton_source(skeleton);
}

static unsigned int
last_worker(void)
{
	return weir_runtime_nb_workers(rig.rt) - 1;
}

static int
setup(void **state)
{
	kernel_reset();
	memset(&rig, 0, sizeof(rig));
	rig_set(&waits, 0);
	rig.told.log = &rig.log;
	rig.told.go = &rig.go;
	rig.rt = kernel_runtime((unsigned int)(uintptr_t)*state,
				WEIR_PARK_INTERRUPT);
	skeleton = weir_skeleton_create(rig.rt, last_worker());
	assert_non_null(skeleton);
	return 0;
}

static int
teardown(void **state)
{
	weir_skeleton_free(skeleton);
	return rig_teardown(state);
}

static void
await_armed(void)
{
	rig_wait_until(rig_get(&source()->armed));
}

static void
feed(uint64_t first, uint64_t end)
{
	for (; first < end; first++)
		rig_wait_until(weir_skeleton_feed(skeleton, first));
}

static void
numbers_are_received_in_order(void **state)
{
	const unsigned int bursts[] = { 1, 3, WEIR_SKELETON_BURST };
	struct weir_join *join;
	unsigned int i;

	for (i = 0; i < RTE_DIM(bursts); i++) {
		join = spawn_taker(0, NUMBERS, bursts[i]);
		feed(0, NUMBERS);
		assert_int_equal(rig_join(join, NULL), 0);
	}
}

/* Long sleeps have no end here but the interrupt. */
static void
interrupt_wakes_a_worker_that_sleeps(void **state)
{
	struct weir_join *join;
	uint64_t i;

	source()->trusted = true;
	join = spawn_taker(0, 50, 1);
	for (i = 0; i < 50; i++) {
		rig_wait_until(rig_get(&waits) > i);
		rig_wait_until(kernel_all_asleep(rig.rt));
		feed(i, i + 1);
	}
	assert_int_equal(rig_join(join, NULL), 0);
	assert_int_equal(atomic_u64_load(&source()->polled_until, RELAXED), 0);
}

/* The user has no epoll watches left. */
static void
device_that_cannot_be_watched_is_polled(void **state)
{
	struct weir_join *join;

	kernel.no_watches = true;
	join = spawn_taker(0, NUMBERS, 4);
	rig_wait_until(atomic_u64_load(&source()->polled_until, RELAXED) != 0);
	feed(0, NUMBERS);
	assert_int_equal(rig_join(join, NULL), 0);
}

/* K3 */
static void
what_a_poll_has_found_waits_for_the_next_task(void **state)
{
	struct weir_join *join = spawn_taker(0, 1, 1);

	await_armed();
	weir_join_abort(join);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	/* It is polled for one that is no more. */
	feed(0, 4);
	rig_wait_until(!rig_get(&source()->armed));
	weir_source_close(source(), ENODEV);
	assert_int_equal(rig_join(spawn_taker(0, 1, 1), NULL), 0);
	assert_int_equal(rig_join(spawn_taker(1, 5, 8), NULL), -ENODEV);
}

static void
unplugged_device_says_so_behind_what_came(void **state)
{
	struct weir_join *join = spawn_taker(0, 4, 2);

	await_armed();
	feed(0, 3);
	weir_skeleton_unplug(skeleton);
	assert_false(weir_skeleton_feed(skeleton, 3));
	assert_int_equal(rig_join(join, NULL), -ENODEV);
	assert_int_equal(rig_join(spawn_taker(3, 4, 1), NULL), -ENODEV);
}

static void
close_and_alert_wake_the_waiter(void **state)
{
	struct weir_join *join = spawn_taker(0, 1, 1);

	await_armed();
	weir_source_alert(source(), ENETDOWN);
	assert_int_equal(rig_join(join, NULL), -ENETDOWN);
	join = spawn_taker(0, 1, 1);
	await_armed();
	weir_source_close(source(), EIO);
	assert_int_equal(rig_join(join, NULL), -EIO);
}

static void
second_waiter_is_refused(void **state)
{
	struct weir_join *join = spawn_taker(0, 1, 1);

	await_armed();
	assert_int_equal(rig_join(spawn_taker(0, 1, 1), NULL), -EBUSY);
	feed(0, 1);
	assert_int_equal(rig_join(join, NULL), 0);
}

static void
source_moves_while_numbers_come(void **state)
{
	struct weir_join *join = spawn_taker(0, NUMBERS, 4);
	uint64_t i;

	for (i = 0; i < NUMBERS; i++) {
		if (i % 50 == 0)
			assert_int_equal(
				weir_source_move(source(), rig.rt, i / 50 % 2),
				0);
		feed(i, i + 1);
	}
	assert_int_equal(rig_join(join, NULL), 0);
	assert_int_equal(weir_source_move(source(), rig.rt, 1), 0);
	join = spawn_taker(0, 1, 1);
	await_armed();
	assert_int_equal(weir_worker_retire(rig.rt, 1, 0), 0);
	feed(0, 1);
	assert_int_equal(rig_join(join, NULL), 0);
}

static void
neighbour_polls_for_a_worker_that_is_stuck(void **state)
{
	struct weir_join *join = spawn_taker(0, 1, 1);
	struct weir_source_stats stats;
	struct rig_blockers b;

	await_armed();
	/* One that sleeps long has no end here to its sleep. */
	assert_int_equal(weir_worker_park_set(rig.rt, 0, WEIR_PARK_POLL), 0);
	rig_block_some(&b, rig.rt, 1u << last_worker());
	feed(0, 1);
	assert_int_equal(rig_join(join, NULL), 0);
	weir_source_stats_get(source(), &stats);
	assert_int_equal(stats.rescues, 1);
	rig_unblock(&b);
}

static void
shutdown_ends_the_waiter(void **state)
{
	struct weir_join *join = spawn_taker(0, 1, 1);

	await_armed();
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	rte_errno = 0;
	assert_null(weir_skeleton_create(rig.rt, 0));
	assert_int_equal(rte_errno, ESHUTDOWN);
}

static void *
make_device(void)
{
	return weir_skeleton_create(rig.rt, 0);
}

static void
device_without_a_fd_is_not_made(void **state)
{
	const unsigned int before = rig_open_fds();

	kernel_expect_none_without_fds(make_device);
	weir_skeleton_free(weir_skeleton_create(rig.rt, 0));
	assert_int_equal(rig_open_fds(), before);
}

static void
bad_arguments_are_refused(void **state)
{
	rte_errno = 0;
	assert_null(weir_skeleton_create(rig.rt, last_worker() + 1));
	assert_int_equal(rte_errno, EINVAL);
	weir_skeleton_free(NULL);
	assert_int_equal(rig_join(spawn_taker(0, 1, 0), NULL), -EINVAL);
	assert_int_equal(
		rig_join(spawn_taker(0, 1, WEIR_SKELETON_BURST + 1), NULL),
		-EINVAL);
}

#define TEST(name, workers) UNIT_TEST(name, setup, teardown, workers)
#define TESTS(name) TEST(name, 1), TEST(name, 2), TEST(name, 3)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TESTS(numbers_are_received_in_order),
		TESTS(interrupt_wakes_a_worker_that_sleeps),
		TESTS(device_that_cannot_be_watched_is_polled),
		TESTS(what_a_poll_has_found_waits_for_the_next_task),
		TESTS(unplugged_device_says_so_behind_what_came),
		TESTS(close_and_alert_wake_the_waiter),
		TESTS(second_waiter_is_refused),
		TEST(source_moves_while_numbers_come, 2),
		TEST(neighbour_polls_for_a_worker_that_is_stuck, 2),
		TESTS(shutdown_ends_the_waiter),
		TESTS(device_without_a_fd_is_not_made),
		TEST(bad_arguments_are_refused, 2),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
