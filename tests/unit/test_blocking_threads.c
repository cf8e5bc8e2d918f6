/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Threads of the blocking pool: lib/sched/blocking.c. This program stands in
 * front of functions that fail when the system has no more of something.
 *
 * The main lcore has the first CPU of this process, and the workers share the
 * second.
 */

#include "rig.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_lcore.h>

#include "sched/blocking.h"

/* The longest keep-alive. */
#define FOR_EVER 86400000

static struct atomic_u32 no_threads;
static struct atomic_u32 no_memory;

/* Threads that were created and not joined yet. */
static struct atomic_u32 not_joined;

/* EAL calls this one, in its own library. */
int
pthread_create(pthread_t *thread, const pthread_attr_t *attr,
	       void *(*thread_main)(void *), void *arg)
{
	int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
		    void *);

	if (rig_get(&no_threads))
		return EAGAIN;
	*(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
	rig_add(&not_joined, 1);
	return next(thread, attr, thread_main, arg);
}

int
pthread_join(pthread_t thread, void **result)
{
	int (*next)(pthread_t, void **);

	*(void **)&next = dlsym(RTLD_NEXT, "pthread_join");
	atomic_u32_fetch_sub(&not_joined, 1, ACQ_REL);
	return next(thread, result);
}

void *
__real_rte_zmalloc(const char *type, size_t size, unsigned int align);
void *
__wrap_rte_zmalloc(const char *type, size_t size, unsigned int align);

void *
__wrap_rte_zmalloc(const char *type, size_t size, unsigned int align)
{
	return rig_get(&no_memory) ? NULL :
				     __real_rte_zmalloc(type, size, align);
}

/* The CPUs of the main lcore and of the workers. */
static unsigned int cpus[2];

static int
setup_eal(void **state)
{
	unsigned int n = 0, cpu;
	char lcores[64];
	cpu_set_t set;

	sched_getaffinity(0, sizeof(set), &set);
	for (cpu = 0; cpu < CPU_SETSIZE && n < RTE_DIM(cpus); cpu++)
		if (CPU_ISSET(cpu, &set))
			cpus[n++] = cpu;
	if (n == 1)
		cpus[1] = cpus[0];
	snprintf(lcores, sizeof(lcores), "0@%u,(1-3)@%u", cpus[0], cpus[1]);
	unit_eal_init(lcores);
	return 0;
}

/* In place of the test's runtime, one with these options. */
static void
restart(unsigned int threads, unsigned int keep_alive_ms,
	const cpu_set_t *blocking_cpus)
{
	struct weir_options o;

	rig_runtime_free(rig.rt);
	rig_options(&o, 1);
	o.blocking_threads = threads;
	o.blocking_keep_alive_ms = keep_alive_ms;
	o.blocking_cpus = blocking_cpus;
	rig.rt = weir_runtime_create(&o);
	assert_non_null(rig.rt);
}

/* What a job finds out about its thread. */
struct seen {
	pid_t tid;
	cpu_set_t cpus;
	char name[16];
};

static int
look_around(void *state)
{
	struct seen *seen = state;

	seen->tid = gettid();
	if (sched_getaffinity(0, sizeof(seen->cpus), &seen->cpus) < 0)
		return -errno;
	return -pthread_getname_np(pthread_self(), seen->name,
				   sizeof(seen->name));
}

static const struct weir_task_ops look_ops = {
	.name = "looks",
	.state_size = sizeof(struct seen),
	.run = look_around,
	.result_size = sizeof(struct seen),
};

/* Runs such a job, until its thread is done with it and others still run. */
static struct seen
look_beside(unsigned int others)
{
	struct weir_join *join = weir_blocking_spawn(rig.rt, &look_ops, NULL);
	struct seen seen;

	assert_non_null(join);
	assert_int_equal(weir_join_wait(join, &seen), 0);
	rig_wait_until(rig_stats(rig.rt).blocking_running == others);
	return seen;
}

static struct seen
look(void)
{
	return look_beside(0);
}

static void
jobs_beyond_the_limit_wait(void **state)
{
	struct weir_join *joins[8];
	unsigned int i;

	restart(3, FOR_EVER, NULL);
	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = rig_spawn_job(rig.rt, &rig_block_ops, &rig.told);
	rig_wait_until(rig_get(&rig.log.polls) == 3);
	assert_int_equal(rig_stats(rig.rt).blocking_threads, 3);
	assert_int_equal(rig_stats(rig.rt).blocking_running, 3);
	assert_int_equal(rig_stats(rig.rt).blocking_queued, 5);
	rig_set(&rig.go, 1);
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(weir_join_wait(joins[i], NULL), 0);
	rig_expect_log(8, 8, 8);
	assert_int_equal(rig_stats(rig.rt).blocking_threads, 3);
	rig_wait_until(rig_stats(rig.rt).blocking_running == 0);
	assert_int_equal(rig_stats(rig.rt).blocking_queued, 0);
}

static struct atomic_u32 turn;

static int
take_turn(void *state)
{
	uint32_t expected = *(uint32_t *)state;

	return atomic_u32_fetch_add(&turn, 1, ACQ_REL) == expected ? WEIR_DONE :
								     -EBADMSG;
}

static void
jobs_start_in_the_order_they_came(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "turn",
		.state_size = sizeof(uint32_t),
		.run = take_turn,
	};
	struct weir_join *joins[100], *first;
	uint32_t i;

	restart(1, FOR_EVER, NULL);
	rig_set(&turn, 0);
	first = rig_spawn_job(rig.rt, &rig_block_ops, &rig.told);
	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = weir_blocking_spawn(rig.rt, &ops, &i);
	rig_set(&rig.go, 1);
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(weir_join_wait(joins[i], NULL), 0);
	assert_int_equal(weir_join_wait(first, NULL), 0);
}

static void
idle_thread_serves_the_next_job(void **state)
{
	pid_t tid = look().tid;
	unsigned int i;

	for (i = 0; i < 50; i++)
		assert_int_equal(look().tid, tid);
	assert_int_equal(rig_stats(rig.rt).blocking_threads, 1);
}

static void
thread_that_idled_last_is_called_first(void **state)
{
	struct weir_join *join;
	pid_t idle;

	join = rig_spawn_job(rig.rt, &rig_block_ops, &rig.told);
	rig_wait_until(rig_get(&rig.log.polls) == 1);
	idle = look_beside(1).tid;
	rig_set(&rig.go, 1);
	assert_int_equal(weir_join_wait(join, NULL), 0);
	rig_wait_until(rig_stats(rig.rt).blocking_running == 0);
	assert_int_equal(rig_stats(rig.rt).blocking_threads, 2);
	assert_int_not_equal(look().tid, idle);
}

static void
idle_threads_leave_after_keep_alive(void **state)
{
	struct weir_join *joins[3];
	unsigned int ms, i;

	for (ms = 0; ms < 3; ms++) {
		restart(3, ms, NULL);
		rig_set(&rig.go, 0);
		for (i = 0; i < RTE_DIM(joins); i++)
			joins[i] = rig_spawn_job(rig.rt, &rig_block_ops,
						 &rig.told);
		assert_int_equal(rig_stats(rig.rt).blocking_threads, 3);
		rig_set(&rig.go, 1);
		for (i = 0; i < RTE_DIM(joins); i++)
			assert_int_equal(weir_join_wait(joins[i], NULL), 0);
		rig_wait_until(rig_stats(rig.rt).blocking_threads == 0);
		/* And others come when they are needed. */
		look();
	}
}

static void
threads_are_joined_whenever_they_leave(void **state)
{
	struct weir_join *joins[4];
	unsigned int ms, i;
	uint32_t before;

	/* At once, or when the runtime ends. */
	for (ms = 0; ms < 2; ms++) {
		before = rig_get(&not_joined);
		restart(4, ms * FOR_EVER, NULL);
		rig_set(&rig.go, 0);
		for (i = 0; i < RTE_DIM(joins); i++)
			joins[i] = rig_spawn_job(rig.rt, &rig_block_ops,
						 &rig.told);
		rig_set(&rig.go, 1);
		for (i = 0; i < RTE_DIM(joins); i++)
			assert_int_equal(weir_join_wait(joins[i], NULL), 0);
		assert_int_equal(
			weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
		assert_int_equal(rig_get(&not_joined), before);
	}
}

/* A worker's: whoever it starts would by default be where it is. */
static int
spawn_looker(struct weir_context *ctx, void *state)
{
	*(struct weir_join **)state =
		weir_blocking_spawn(weir_context_runtime(ctx), &look_ops, NULL);
	return WEIR_DONE;
}

static void
threads_keep_off_the_workers_cpus(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "spawns",
		.state_size = sizeof(void *),
		.poll = spawn_looker,
		.result_size = sizeof(void *),
	};
	struct weir_join *job;
	struct seen seen;

	if (cpus[0] == cpus[1])
		unit_skip("needs two CPUs");
	assert_int_equal(weir_runtime_block_on(rig.rt, &ops, NULL, &job), 0);
	assert_non_null(job);
	assert_int_equal(weir_join_wait(job, &seen), 0);
	assert_false(CPU_ISSET(cpus[1], &seen.cpus));
	assert_int_not_equal(CPU_COUNT(&seen.cpus), 0);
}

static void
threads_are_on_the_cpus_they_are_given(void **state)
{
	cpu_set_t given;
	struct seen seen;
	unsigned int i;

	for (i = 0; i < RTE_DIM(cpus); i++) {
		CPU_ZERO(&given);
		CPU_SET(cpus[i], &given);
		restart(2, FOR_EVER, &given);
		/* The runtime has a copy. */
		CPU_ZERO(&given);
		seen = look();
		assert_true(CPU_ISSET(cpus[i], &seen.cpus));
		assert_int_equal(CPU_COUNT(&seen.cpus), 1);
	}
}

static void
threads_have_the_runtimes_name(void **state)
{
	struct weir_options o;
	char name[9];

	assert_string_equal(look().name, "weir_b0");
	rig_runtime_free(rig.rt);
	rig_options(&o, 1);
	snprintf(name, sizeof(name), "12345678");
	o.name = name;
	rig.rt = weir_runtime_create(&o);
	assert_non_null(rig.rt);
	/* Not theirs to read any more. */
	memset(name, 'x', sizeof(name) - 1);
	assert_string_equal(look().name, "12345678_b0");
}

static void
expect_no_thread(struct atomic_u32 *what)
{
	struct weir_runtime_stats stats;
	struct weir_join *join;

	rig_set(what, 1);
	rte_errno = 0;
	join = weir_blocking_spawn(rig.rt, &rig_done_ops, &rig.told);
	rig_set(what, 0);
	assert_null(join);
	assert_int_equal(rte_errno, EAGAIN);
	rig_expect_log(0, 0, 0);
	stats = rig_stats(rig.rt);
	assert_int_equal(stats.spawned, 0);
	assert_int_equal(stats.blocking_threads, 0);
	assert_int_equal(stats.blocking_queued, 0);
	assert_int_equal(stats.blocking_running, 0);
}

static void
job_that_no_thread_would_come_to_is_refused_whole(void **state)
{
	expect_no_thread(&no_threads);
	expect_no_thread(&no_memory);
	assert_int_equal(
		weir_join_wait(rig_spawn_job(rig.rt, &rig_done_ops, &rig.told),
			       NULL),
		0);
}

static void
job_waits_for_a_busy_thread_when_no_other_can_be_had(void **state)
{
	struct weir_join *first, *second;

	first = rig_spawn_job(rig.rt, &rig_block_ops, &rig.told);
	rig_set(&no_threads, 1);
	second = rig_spawn_job(rig.rt, &rig_done_ops, &rig.told);
	rig_set(&no_threads, 0);
	assert_int_equal(rig_stats(rig.rt).blocking_threads, 1);
	assert_int_equal(weir_join_try(second, NULL), WEIR_PENDING);
	rig_set(&rig.go, 1);
	assert_int_equal(weir_join_wait(second, NULL), 0);
	assert_int_equal(weir_join_wait(first, NULL), 0);
	assert_int_equal(rig_stats(rig.rt).blocking_threads, 1);
}

/* What weir__blocking_drive() is told to call. */
struct drive {
	struct atomic_u32 called;
	struct atomic_u32 go;
	struct atomic_u32 over; /* it will not be touched again */
};

static void
drive_on(void *arg)
{
	struct drive *d = arg;

	rig_set(&d->called, (uint32_t)gettid());
	rig_wait_until(rig_get(&d->go));
	rig_set(&d->over, 1);
}

static void
end_drive(struct drive *d)
{
	rig_set(&d->go, 1);
	rig_wait_until(rig_get(&d->over));
}

static void
call_is_made_at_once_by_a_thread_beyond_the_limit(void **state)
{
	struct weir_join *joins[2];
	struct drive d = { 0 };
	unsigned int i;

	restart(1, FOR_EVER, NULL);
	for (i = 0; i < RTE_DIM(joins); i++)
		joins[i] = rig_spawn_job(rig.rt, &rig_block_ops, &rig.told);
	rig_wait_until(rig_get(&rig.log.polls) == 1);
	assert_int_equal(weir__blocking_drive(rig.rt, drive_on, &d), 0);
	rig_wait_until(rig_get(&d.called));
	assert_int_equal(rig_stats(rig.rt).blocking_threads, 2);
	end_drive(&d);
	/* P2: it takes no job, but leaves. */
	rig_wait_until(rig_stats(rig.rt).blocking_threads == 1);
	assert_int_equal(rig_get(&rig.log.polls), 1);
	assert_int_equal(rig_stats(rig.rt).blocking_queued, 1);
	rig_set(&rig.go, 1);
	for (i = 0; i < RTE_DIM(joins); i++)
		assert_int_equal(weir_join_wait(joins[i], NULL), 0);
}

static void
thread_that_drives_takes_no_jobs_place(void **state)
{
	struct drive d = { 0 };
	pid_t tid;

	restart(1, FOR_EVER, NULL);
	tid = look().tid;
	assert_int_equal(weir__blocking_drive(rig.rt, drive_on, &d), 0);
	rig_wait_until(rig_get(&d.called));
	/* The idle one was called. */
	assert_int_equal(rig_get(&d.called), tid);
	/* A job is served all the same: P1. */
	assert_int_not_equal(look().tid, tid);
	assert_int_equal(rig_stats(rig.rt).blocking_threads, 2);
	end_drive(&d);
	rig_wait_until(rig_stats(rig.rt).blocking_threads == 1);
	look();
}

static void
job_is_refused_when_all_threads_drive_and_no_other_can_be_had(void **state)
{
	struct drive d = { 0 };

	assert_int_equal(weir__blocking_drive(rig.rt, drive_on, &d), 0);
	rig_set(&no_threads, 1);
	assert_null(weir_blocking_spawn(rig.rt, &rig_done_ops, &rig.told));
	assert_int_equal(rte_errno, EAGAIN);
	assert_int_equal(weir__blocking_drive(rig.rt, drive_on, &d), -EAGAIN);
	rig_set(&no_threads, 0);
	end_drive(&d);
	look();
}

static void
calls_are_made_until_the_pool_is_finished(void **state)
{
	struct weir_shutdown_report report = { 0 };
	struct drive d = { 0 };

	weir_runtime_shutdown_begin(rig.rt);
	assert_int_equal(weir__blocking_drive(rig.rt, drive_on, &d), 0);
	rig_wait_until(rig_get(&d.called));
	/* It is awaited, though it is no job. */
	assert_int_equal(weir_runtime_shutdown(rig.rt, 5, &report), -ETIMEDOUT);
	assert_int_equal(report.blocking, 0);
	end_drive(&d);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	assert_int_equal(rig_stats(rig.rt).blocking_threads, 0);
	assert_int_equal(weir__blocking_drive(rig.rt, drive_on, &d), -EAGAIN);
}

#define THREAD_TEST(name) RIG_TEST(name, 1)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		THREAD_TEST(jobs_beyond_the_limit_wait),
		THREAD_TEST(jobs_start_in_the_order_they_came),
		THREAD_TEST(idle_thread_serves_the_next_job),
		THREAD_TEST(thread_that_idled_last_is_called_first),
		THREAD_TEST(idle_threads_leave_after_keep_alive),
		THREAD_TEST(threads_are_joined_whenever_they_leave),
		THREAD_TEST(threads_keep_off_the_workers_cpus),
		THREAD_TEST(threads_are_on_the_cpus_they_are_given),
		THREAD_TEST(threads_have_the_runtimes_name),
		THREAD_TEST(job_that_no_thread_would_come_to_is_refused_whole),
		THREAD_TEST(
			job_waits_for_a_busy_thread_when_no_other_can_be_had),
		THREAD_TEST(call_is_made_at_once_by_a_thread_beyond_the_limit),
		THREAD_TEST(thread_that_drives_takes_no_jobs_place),
		THREAD_TEST(
			job_is_refused_when_all_threads_drive_and_no_other_can_be_had),
		THREAD_TEST(calls_are_made_until_the_pool_is_finished),
	};

	return cmocka_run_group_tests(tests, setup_eal, unit_eal_teardown);
}
