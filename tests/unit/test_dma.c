/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * DMA devices as sources: drivers/dmadev. Most tests need a device that does what
 * they say, so they put functions of their own in front of the skeleton PMD's.
 */

/* DPDK 22.11 has all of dmadev as experimental. */
#define ALLOW_EXPERIMENTAL_API

#include "unit.h"

#include <errno.h>
#include <string.h>

#include <rte_dmadev.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#include "base/race.h"
#include "devices.h"
#include "park/source.h"
#include "rig.h"
#include "weir_dma.h"

#define CAPACITY 64
/* Lengths that the tests' device takes as orders. */
#define LENGTH_FAILS 1u
#define LENGTH_REFUSED 2u
#define LENGTH_GOOD 3u

/* The tests' device. */
static struct {
	struct atomic_u32 inside; /* threads in its functions */
	struct atomic_u32 overlaps;
	struct atomic_u32 stopped; /* finishes nothing */
	struct atomic_u32 most;	   /* at a time */
	unsigned int capacity;
	unsigned int deaf;	/* so many submits fail */
	unsigned int submitted; /* of n */
	unsigned int n;
	uint32_t lengths[CAPACITY];
} device;

static int16_t dev;
static bool have_dev;
static bool started;
static struct rte_dma_fp_object pmd; /* what it has of its own */
static struct weir_dmaq *q;
static struct atomic_u32 waits;
static struct atomic_u32 released;

static void
enter_device(void)
{
	if (atomic_u32_exchange(&device.inside, 1, ACQ_REL) != 0)
		rig_add(&device.overlaps, 1);
}

static int
device_copy(void *priv, uint16_t channel, rte_iova_t src, rte_iova_t dst,
	    uint32_t length, uint64_t flags)
{
	int rc = -ENOSPC;

	enter_device();
	if (length == LENGTH_REFUSED)
		rc = -EINVAL;
	else if (device.n < device.capacity) {
		device.lengths[device.n++] = length;
		rc = 0;
	}
	if (device.n > rig_get(&device.most))
		rig_set(&device.most, device.n);
	rig_set(&device.inside, 0);
	return rc;
}

static int
device_submit(void *priv, uint16_t channel)
{
	int rc = 0;

	enter_device();
	if (device.deaf > 0) {
		device.deaf--;
		rc = -EBUSY;
	} else {
		device.submitted = device.n;
	}
	rig_set(&device.inside, 0);
	return rc;
}

static uint16_t
device_completed(void *priv, uint16_t channel, const uint16_t most,
		 uint16_t *last, enum rte_dma_status_code *status)
{
	uint16_t i, n;

	enter_device();
	n = rig_get(&device.stopped) ?
		    0 :
		    (uint16_t)RTE_MIN(most, device.submitted);
	for (i = 0; i < n; i++)
		status[i] = device.lengths[i] == LENGTH_FAILS ?
				    RTE_DMA_STATUS_BUS_ERROR :
				    RTE_DMA_STATUS_SUCCESSFUL;
	device.n -= n;
	device.submitted -= n;
	memmove(device.lengths, device.lengths + n,
		device.n * sizeof(device.lengths[0]));
	rig_set(&device.inside, 0);
	return n;
}

static int
start(void **state)
{
	unit_eal_setup(state);
	if (!devices_open_dma("dma_skeleton0", &dev))
		return 0;
#ifndef WEIR_TSAN
	/* The PMD's thread is cancelled at the end: TSan takes that ill. */
	assert_int_equal(rte_dma_start(dev), 0);
	started = true;
#endif
	pmd = rte_dma_fp_objs[dev];
	have_dev = true;
	return 0;
}

static int
finish(void **state)
{
	if (started)
		rte_dma_stop(dev);
	return unit_eal_teardown(state);
}

static unsigned int
last_worker(void)
{
	return weir_runtime_nb_workers(rig.rt) - 1;
}

static void
open_queue(unsigned int depth)
{
	weir_dmaq_free(q);
	q = weir_dmaq_create(rig.rt, dev, 0, last_worker(), depth);
	assert_non_null(q);
}

static int
setup(void **state)
{
	rig_setup(state);
	memset(&device, 0, sizeof(device));
	device.capacity = CAPACITY;
	rig_set(&waits, 0);
	rig_set(&released, 0);
	q = NULL;
	if (!have_dev)
		return 0;
	rte_dma_fp_objs[dev].copy = device_copy;
	rte_dma_fp_objs[dev].submit = device_submit;
	rte_dma_fp_objs[dev].completed_status = device_completed;
	open_queue(CAPACITY);
	return 0;
}

static int
teardown(void **state)
{
	weir_dmaq_free(q);
	assert_int_equal(rig_get(&device.overlaps), 0);
	return rig_teardown(state);
}

/* First thing in each test. */
static void
need_device(void)
{
	if (!have_dev)
		unit_skip("DPDK has no dma_skeleton here");
}

#define COPIES 40

/* A task that has its copies made, `rounds` times. */
struct runner {
	struct weir_dma_job *job;
	struct weir_dma_copy *copies;
	unsigned int n;
	unsigned int rounds;
	int good; /* of the last round */
};

static int
run(struct weir_context *ctx, void *state)
{
	struct runner *r = state;

	for (; r->rounds > 0; r->rounds--) {
		r->good = weir_dma_run(ctx, r->job, r->copies, r->n);
		if (r->good == WEIR_PENDING)
			rig_add(&waits, 1);
		if (r->good < 0)
			return r->good;
	}
	return WEIR_DONE;
}

static void
drop(void *state)
{
	weir_dma_job_free(((struct runner *)state)->job);
}

static const struct weir_task_ops runner_ops = {
	.name = "runner",
	.state_size = sizeof(struct runner),
	.poll = run,
	.drop = drop,
	.result_offset = offsetof(struct runner, good),
	.result_size = sizeof(int),
};

static void
release(void *arg)
{
	rig_add(arg, 1);
}

static struct weir_join *
spawn_runner(struct weir_dma_copy *copies, unsigned int n, unsigned int rounds)
{
	struct runner r = { weir_dma_job_create(q, COPIES, release, &released),
			    copies, n, rounds, 0 };
	struct weir_join *join;

	assert_non_null(r.job);
	join = weir_task_spawn(rig.rt, &runner_ops, &r, NULL);
	assert_non_null(join);
	return join;
}

static void
expect_good(struct weir_join *join, int good)
{
	int got = -1;

	assert_int_equal(rig_join(join, &got), 0);
	assert_int_equal(got, good);
}

/* All good. */
static void
fill(struct weir_dma_copy *copies, unsigned int n)
{
	unsigned int i;

	memset(copies, 0, n * sizeof(copies[0]));
	for (i = 0; i < n; i++)
		copies[i].length = LENGTH_GOOD;
}

/* A3: also one that does not get at the channel. */
static struct weir_join *
spawn_at_locked_channel(struct weir_dma_copy *c)
{
	struct weir_join *join;

	rig_set(&waits, 0);
	weir_source_lock(q);
	join = spawn_runner(c, COPIES, 1);
	rig_wait_until(rig_get(&waits) > 0);
	return join;
}

static void
first_call_takes_the_copies(void **state)
{
	struct weir_dma_copy c[COPIES];
	struct weir_join *join;
	unsigned int i;

	need_device();
	fill(c, COPIES);
	join = spawn_at_locked_channel(c);
	for (i = 0; i < COPIES; i++)
		c[i].length = LENGTH_FAILS;
	weir_source_unlock(q);
	expect_good(join, COPIES);
	rig_wait_until(rig_get(&released) == 1);
	join = spawn_at_locked_channel(c);
	weir_join_abort(join);
	weir_source_unlock(q);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	rig_wait_until(rig_get(&released) == 2);
}

#define TASKS 12

static struct weir_dma_copy copies[TASKS][COPIES + 1];
static struct weir_join *joins[TASKS];

/* Each has as many that fail, and that are refused, as its number. */
static void
errors_are_told_to_their_job(void **state)
{
	unsigned int i, k;

	need_device();
	for (i = 0; i < TASKS; i++) {
		fill(copies[i], COPIES);
		for (k = 0; k < i; k++) {
			copies[i][3 * k].length = LENGTH_FAILS;
			copies[i][3 * k + 1].length = LENGTH_REFUSED;
		}
		joins[i] = spawn_runner(copies[i], COPIES, 50);
	}
	for (i = 0; i < TASKS; i++) {
		expect_good(joins[i], COPIES - 2 * (int)i);
		for (k = 0; k < COPIES; k++)
			assert_int_equal(copies[i][k].status,
					 copies[i][k].length == LENGTH_FAILS ?
						 RTE_DMA_STATUS_BUS_ERROR :
					 copies[i][k].length == LENGTH_REFUSED ?
						 RTE_DMA_STATUS_ERROR_UNKNOWN :
						 RTE_DMA_STATUS_SUCCESSFUL);
	}
	assert_int_equal(device.n, 0);
	rig_wait_until(rig_get(&released) == TASKS);
}

static void
full_device_keeps_jobs_in_line(void **state)
{
	unsigned int i, turn;

	need_device();
	/* By the depth, and by what the device takes. */
	for (turn = 0; turn < 2; turn++) {
		open_queue(turn == 0 ? 4 : CAPACITY);
		device.capacity = turn == 0 ? CAPACITY : 4;
		rig_set(&device.most, 0);
		rig_set(&device.stopped, 1);
		for (i = 0; i < TASKS; i++) {
			fill(copies[i], COPIES);
			joins[i] = spawn_runner(copies[i], COPIES, 1);
		}
		rig_wait_until(rig_get(&weir_dmaq_source(q)->armed) == TASKS);
		rig_set(&device.stopped, 0);
		for (i = 0; i < TASKS; i++)
			expect_good(joins[i], COPIES);
		assert_int_equal(rig_get(&device.most), 4);
	}
}

/* A poll has found something if a job ends by what the device refuses. */
static void
refused_last_copy_is_an_event(void **state)
{
	struct weir_source_stats stats;
	struct weir_join *join;

	need_device();
	open_queue(4);
	fill(copies[0], 5);
	copies[0][4].length = LENGTH_REFUSED;
	rig_set(&device.stopped, 1);
	join = spawn_runner(copies[0], 5, 1);
	rig_wait_until(rig_get(&weir_dmaq_source(q)->armed) == 1);
	rig_set(&device.stopped, 0);
	expect_good(join, 4);
	rig_wait_until((weir_source_stats_get(weir_dmaq_source(q), &stats),
			stats.events == 1));
}

/* Nothing else is given to the channel meanwhile, which would submit again. */
static void
submit_that_fails_is_repeated(void **state)
{
	need_device();
	fill(copies[0], COPIES);
	device.deaf = 3;
	expect_good(spawn_runner(copies[0], COPIES, 1), COPIES);
	assert_int_equal(device.deaf, 0);
	rig_wait_until(rig_get(&released) == 1);
}

/* A3 */
static void
cancelled_job_is_released_when_the_device_is_done(void **state)
{
	struct weir_join *join;

	need_device();
	device.capacity = 10;
	rig_set(&device.stopped, 1);
	fill(copies[0], COPIES);
	join = spawn_runner(copies[0], COPIES, 1);
	rig_wait_until(rig_get(&waits) > 0);
	weir_join_abort(join);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	/* The next one stands behind it in line. */
	fill(copies[1], COPIES);
	join = spawn_runner(copies[1], COPIES, 1);
	rig_wait_until(rig_get(&waits) > 1);
	assert_int_equal(rig_get(&released), 0);
	rig_set(&device.stopped, 0);
	expect_good(join, COPIES);
	rig_wait_until(rig_get(&released) == 2);
}

/* A3: neither one whose task ends with it, nor one that was freed before. */
static void
alert_leaves_no_job_behind(void **state)
{
	struct weir_source *source;
	struct weir_join *join;

	need_device();
	source = weir_dmaq_source(q);
	rig_set(&device.stopped, 1);
	fill(copies[0], COPIES);
	join = spawn_runner(copies[0], COPIES, 1);
	rig_wait_until(rig_get(&source->armed) == 1);
	weir_source_alert(source, ENETDOWN);
	assert_int_equal(rig_join(join, NULL), -ENETDOWN);
	assert_int_equal(rig_get(&released), 0);
	weir_source_alert(source, ENETDOWN);
	rig_set(&device.stopped, 0);
	rig_wait_until(rig_get(&released) == 1);
	rig_wait_until(rig_get(&source->armed) == 0);
}

static int
run_fickle(struct weir_context *ctx, void *state)
{
	struct runner *r = state;
	int rc;

	rc = weir_dma_run(ctx, r->job, r->copies, r->n);
	if (rig_get(&weir_dmaq_source(q)->armed) == 0)
		return rc;
	return weir_dma_run(ctx, r->job, r->copies, r->n - 1);
}

/* A3 */
static void
another_n_leaves_no_job_behind(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "fickle",
		.state_size = sizeof(struct runner),
		.poll = run_fickle,
		.drop = drop,
	};
	struct runner r = { .copies = copies[0], .n = COPIES };

	need_device();
	rig_set(&device.stopped, 1);
	fill(copies[0], COPIES);
	r.job = weir_dma_job_create(q, COPIES, release, &released);
	assert_int_equal(weir_runtime_block_on(rig.rt, &ops, &r, NULL),
			 -EINVAL);
	rig_set(&device.stopped, 0);
	rig_wait_until(rig_get(&released) == 1);
}

static void
close_ends_the_waits_and_free_waits_for_the_device(void **state)
{
	unsigned int i;

	need_device();
	rig_set(&device.stopped, 1);
	for (i = 0; i < TASKS; i++) {
		fill(copies[i], COPIES);
		joins[i] = spawn_runner(copies[i], COPIES, 1);
	}
	rig_wait_until(rig_get(&weir_dmaq_source(q)->armed) == TASKS);
	weir_source_close(weir_dmaq_source(q), ENODEV);
	for (i = 0; i < TASKS; i++)
		assert_int_equal(rig_join(joins[i], NULL), -ENODEV);
	assert_int_equal(rig_join(spawn_runner(copies[0], 1, 1), NULL),
			 -ENODEV);
	assert_int_equal(device.n, CAPACITY);
	rig_set(&device.stopped, 0);
	weir_dmaq_free(q);
	q = NULL;
	assert_int_equal(device.n, 0);
	assert_int_equal(rig_get(&released), TASKS + 1);
}

static void
free_submits_what_could_not_be(void **state)
{
	need_device();
	fill(copies[0], COPIES);
	device.deaf = UINT_MAX;
	joins[0] = spawn_runner(copies[0], COPIES, 1);
	rig_wait_until(rig_get(&weir_dmaq_source(q)->armed) == 1);
	weir_source_close(weir_dmaq_source(q), ENODEV);
	assert_int_equal(rig_join(joins[0], NULL), -ENODEV);
	device.deaf = 2;
	weir_dmaq_free(q);
	q = NULL;
	assert_int_equal(device.n, 0);
	assert_int_equal(rig_get(&released), 1);
}

static void
shutdown_releases_what_tasks_had(void **state)
{
	unsigned int i;

	need_device();
	rig_set(&device.stopped, 1);
	for (i = 0; i < TASKS; i++) {
		fill(copies[i], COPIES);
		joins[i] = spawn_runner(copies[i], COPIES, 1);
	}
	rig_wait_until(rig_get(&weir_dmaq_source(q)->armed) == TASKS);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	for (i = 0; i < TASKS; i++)
		assert_int_equal(rig_join(joins[i], NULL), -ECANCELED);
	rig_set(&device.stopped, 0);
	weir_dmaq_free(q);
	q = NULL;
	assert_int_equal(rig_get(&released), TASKS);
	rte_errno = 0;
	assert_null(weir_dmaq_create(rig.rt, dev, 0, 0, 1));
	assert_int_equal(rte_errno, ESHUTDOWN);
}

static void
channel_moves_and_workers_go_while_tasks_run(void **state)
{
	unsigned int i;

	need_device();
	for (i = 0; i < TASKS; i++) {
		fill(copies[i], COPIES);
		joins[i] = spawn_runner(copies[i], COPIES, 200);
	}
	for (i = 0; i < 20; i++)
		assert_int_equal(
			weir_source_move(weir_dmaq_source(q), rig.rt, i % 2),
			0);
	assert_int_equal(weir_worker_retire(rig.rt, 1, 0), 0);
	for (i = 0; i < TASKS; i++)
		expect_good(joins[i], COPIES);
}

static int
run_same(struct weir_context *ctx, void *state)
{
	int rc =
		weir_dma_run(ctx, *(struct weir_dma_job **)state, copies[0], 2);

	return rc < 0 ? rc : WEIR_DONE;
}

static void
job_is_of_one_task(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "same job",
		.state_size = sizeof(struct weir_dma_job *),
		.poll = run_same,
	};
	struct weir_dma_job *job;
	struct weir_join *join;

	need_device();
	fill(copies[0], 2);
	job = weir_dma_job_create(q, 2, NULL, NULL);
	rig_set(&device.stopped, 1);
	join = weir_task_spawn(rig.rt, &ops, &job, NULL);
	rig_wait_until(rig_get(&weir_dmaq_source(q)->armed) == 1);
	assert_int_equal(weir_runtime_block_on(rig.rt, &ops, &job, NULL),
			 -EBUSY);
	rig_set(&device.stopped, 0);
	assert_int_equal(rig_join(join, NULL), 0);
	weir_dma_job_free(job);
}

static void
bad_arguments_are_refused(void **state)
{
	const struct {
		int dev;
		unsigned int channel, worker, depth;
	} rows[] = {
		{ -1, 0, 0, 1 },  { 60, 0, 0, 1 },
		{ dev, 1, 0, 1 }, { dev, 0, last_worker() + 1, 1 },
		{ dev, 0, 0, 0 }, { dev, 0, 0, WEIR_DMA_COPIES_MAX + 1 },
	};
	unsigned int i;

	need_device();
	for (i = 0; i < RTE_DIM(rows); i++) {
		rte_errno = 0;
		assert_null(weir_dmaq_create(rig.rt, (int16_t)rows[i].dev,
					     (uint16_t)rows[i].channel,
					     rows[i].worker, rows[i].depth));
		assert_int_equal(rte_errno, EINVAL);
	}
	rte_errno = 0;
	assert_null(weir_dma_job_create(q, 0, NULL, NULL));
	assert_int_equal(rte_errno, EINVAL);
	rte_errno = 0;
	assert_null(
		weir_dma_job_create(q, WEIR_DMA_COPIES_MAX + 1, NULL, NULL));
	assert_int_equal(rte_errno, EINVAL);
	weir_dma_job_free(NULL);
	weir_dmaq_free(NULL);
	assert_int_equal(rig_join(spawn_runner(copies[0], 0, 1), NULL),
			 -EINVAL);
	assert_int_equal(rig_join(spawn_runner(copies[0], COPIES + 1, 1), NULL),
			 -EINVAL);
}

/* Two of them would take what is each other's. */
static void
channel_has_one_source(void **state)
{
	struct weir_dma_copy c[COPIES];

	need_device();
	fill(c, COPIES);
	rte_errno = 0;
	assert_null(weir_dmaq_create(rig.rt, dev, 0, last_worker(), CAPACITY));
	assert_int_equal(rte_errno, EBUSY);
	expect_good(spawn_runner(c, COPIES, 1), COPIES);
	weir_dmaq_free(q);
	q = weir_dmaq_create(rig.rt, dev, 0, last_worker(), CAPACITY);
	assert_non_null(q);
	expect_good(spawn_runner(c, COPIES, 1), COPIES);
}

#define BLOCK 512u

/* The PMD itself: a thread of its makes the copies, by virtual addresses. */
static void
skeleton_pmd_copies(void **state)
{
	unsigned int i, k;
	uint8_t *from, *to;

	need_device();
	if (!started)
		unit_skip("the PMD's thread ends in a way unknown to TSan");
	rte_dma_fp_objs[dev] = pmd;
	open_queue(DEVICES_DESCRIPTORS - 1);
	from = rte_zmalloc(NULL, TASKS * COPIES * BLOCK, 0);
	to = rte_zmalloc(NULL, TASKS * COPIES * BLOCK, 0);
	assert_non_null(from);
	assert_non_null(to);
	for (i = 0; i < TASKS * COPIES * BLOCK; i++)
		from[i] = (uint8_t)(i * 7 >> 3);
	for (i = 0; i < TASKS; i++) {
		for (k = 0; k < COPIES; k++) {
			size_t at = (i * COPIES + k) * BLOCK;

			copies[i][k] = (struct weir_dma_copy){
				.src = (uintptr_t)(from + at),
				.dst = (uintptr_t)(to + at),
				.length = BLOCK,
			};
		}
		joins[i] = spawn_runner(copies[i], COPIES, 3);
	}
	for (i = 0; i < TASKS; i++)
		expect_good(joins[i], COPIES);
	assert_memory_equal(from, to, TASKS * COPIES * BLOCK);
	rte_free(from);
	rte_free(to);
}

#define TEST(name, workers) UNIT_TEST(name, setup, teardown, workers)
#define TESTS(name) TEST(name, 1), TEST(name, 2), TEST(name, 3)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TESTS(errors_are_told_to_their_job),
		TESTS(refused_last_copy_is_an_event),
		TESTS(submit_that_fails_is_repeated),
		TESTS(full_device_keeps_jobs_in_line),
		TESTS(cancelled_job_is_released_when_the_device_is_done),
		TESTS(first_call_takes_the_copies),
		TESTS(alert_leaves_no_job_behind),
		TESTS(another_n_leaves_no_job_behind),
		TESTS(close_ends_the_waits_and_free_waits_for_the_device),
		TESTS(free_submits_what_could_not_be),
		TESTS(shutdown_releases_what_tasks_had),
		TEST(channel_moves_and_workers_go_while_tasks_run, 2),
		TESTS(job_is_of_one_task),
		TEST(bad_arguments_are_refused, 2),
		TESTS(channel_has_one_source),
		TESTS(skeleton_pmd_copies),
	};

	return cmocka_run_group_tests(tests, start, finish);
}
