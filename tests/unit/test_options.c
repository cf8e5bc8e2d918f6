/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_ring.h>

#include "rig.h"

static void
expect_valid(const struct weir_options *o)
{
	char error[200] = "";

	if (weir_options_validate(o, error, sizeof(error)) != 0)
		fail_msg("refused: %s", error);
}

/* Refused with a line that begins with the field and has the value. */
static void
expect_invalid(const struct weir_options *o, const char *field,
	       const char *value)
{
	char error[200] = "", begin[40];

	assert_int_equal(weir_options_validate(o, error, sizeof(error)),
			 -EINVAL);
	snprintf(begin, sizeof(begin), "%s: ", field);
	if (strncmp(error, begin, strlen(begin)) != 0 ||
	    strstr(error, value) == NULL)
		fail_msg("\"%s\" names not both %s and %s", error, field,
			 value);
	assert_null(strchr(error, '\n'));
	/* Neither place nor room for the line is needed. */
	assert_int_equal(weir_options_validate(o, NULL, 0), -EINVAL);
	assert_int_equal(weir_options_validate(o, error, 5), -EINVAL);
	assert_uint_in_range(strlen(error), 1, 4);
}

static void
defaults_are_valid(void **state)
{
	struct weir_options o;

	memset(&o, 0xff, sizeof(o));
	weir_options_init(&o);
	expect_valid(&o);
	assert_string_equal(o.name, "weir");
	assert_null(o.lcores);
	assert_int_equal(o.nb_workers, 0);
	assert_int_equal(o.event_interval, 61);
	assert_int_equal(o.max_poll_gap_us, 20);
	assert_int_equal(o.inject_interval, 0);
	assert_int_equal(o.budget, 128);
	assert_true(o.lifo_slot);
	assert_int_equal(o.inject_ring_size, 131072);
	assert_int_equal(o.task_cells, 8192);
	assert_int_equal(o.cross_node_backlog, 128);
	assert_int_equal(o.cross_node_age_us, 200);
	assert_int_equal(o.blocking_threads, 64);
	assert_int_equal(o.blocking_keep_alive_ms, 10000);
	assert_int_equal(o.on_failure, WEIR_FAILURE_LOG);
	assert_null(o.blocking_cpus);
	assert_false(o.histograms);
	assert_int_equal(o.histogram_precision, 4);
	assert_int_equal(o.histogram_max_us, 1000000);
	assert_int_equal(o.park, WEIR_PARK_POLL);
	assert_int_equal(o.adaptive_poll_us, 50);
	assert_int_equal(o.adaptive_pause_us, 150);
	assert_int_equal(o.seed, 0);
}

static void
every_number_has_its_bounds(void **state)
{
	struct weir_options o;
	const struct {
		const char *name;
		unsigned int *field;
		unsigned int min;
		unsigned int max;
	} rows[] = {
		{ "event_interval", &o.event_interval, 1, 100000 },
		{ "max_poll_gap_us", &o.max_poll_gap_us, 1, 1000000 },
		{ "inject_interval", &o.inject_interval, 0, 100000 },
		{ "budget", &o.budget, 1, 65535 },
		{ "inject_ring_size", &o.inject_ring_size, 64, 1048576 },
		{ "task_cells", &o.task_cells, 64, 16777216 },
		{ "cross_node_backlog", &o.cross_node_backlog, 1, 256 },
		{ "cross_node_age_us", &o.cross_node_age_us, 1, 1000000 },
		{ "blocking_threads", &o.blocking_threads, 1, 4096 },
		{ "blocking_keep_alive_ms", &o.blocking_keep_alive_ms, 0,
		  86400000 },
		{ "histogram_precision", &o.histogram_precision, 1, 6 },
		{ "histogram_max_us", &o.histogram_max_us, 1, 100000000 },
		{ "adaptive_poll_us", &o.adaptive_poll_us, 0, 1000000 },
		{ "adaptive_pause_us", &o.adaptive_pause_us, 0, 1000000 },
		{ "nb_workers", &o.nb_workers, 0, rte_lcore_count() - 1 },
	};
	char value[20];
	unsigned int i;

	for (i = 0; i < RTE_DIM(rows); i++) {
		weir_options_init(&o);
		*rows[i].field = rows[i].min;
		expect_valid(&o);
		*rows[i].field = rows[i].max;
		expect_valid(&o);
		*rows[i].field = rows[i].max + 1;
		snprintf(value, sizeof(value), "%u", rows[i].max + 1);
		expect_invalid(&o, rows[i].name, value);
		*rows[i].field = UINT_MAX;
		expect_invalid(&o, rows[i].name, "4294967295");
		if (rows[i].min == 0)
			continue;
		*rows[i].field = rows[i].min - 1;
		snprintf(value, sizeof(value), "%u", rows[i].min - 1);
		expect_invalid(&o, rows[i].name, value);
	}
}

static void
ring_size_is_a_power_of_two(void **state)
{
	struct weir_options o;

	weir_options_init(&o);
	o.inject_ring_size = 4097;
	expect_invalid(&o, "inject_ring_size", "4097");
	o.inject_ring_size = 96;
	expect_invalid(&o, "inject_ring_size", "96");
}

static void
name_has_one_to_eight_characters(void **state)
{
	struct weir_options o;

	weir_options_init(&o);
	o.name = "a";
	expect_valid(&o);
	o.name = "12345678";
	expect_valid(&o);
	o.name = "123456789";
	expect_invalid(&o, "name", "123456789");
	o.name = "";
	expect_invalid(&o, "name", "empty");
	o.name = NULL;
	expect_invalid(&o, "name", "empty");
}

static void
name_can_be_shown_and_asked_for(void **state)
{
	struct weir_options o;

	weir_options_init(&o);
	o.name = "a\nb";
	expect_invalid(&o, "name", "0x0a");
	o.name = "\x7f";
	expect_invalid(&o, "name", "0x7f");
	o.name = "too long\n to be one";
	expect_invalid(&o, "name", "0x0a");
	o.name = "a,b";
	expect_invalid(&o, "name", "a,b");
	o.name = "a\xc3\xa9";
	expect_invalid(&o, "name", "0xc3");
	o.name = "a \"b\"~";
	expect_valid(&o);
}

static void
inject_interval_leaves_the_own_queue_its_turn(void **state)
{
	struct weir_options o;

	weir_options_init(&o);
	o.inject_interval = 1;
	expect_invalid(&o, "inject_interval", "1 would starve");
	o.inject_interval = 2;
	expect_valid(&o);
}

static void
park_is_one_of_the_policies(void **state)
{
	struct weir_options o;

	weir_options_init(&o);
	for (o.park = WEIR_PARK_POLL; o.park <= WEIR_PARK_ADAPTIVE; o.park++)
		expect_valid(&o);
	expect_invalid(&o, "park", "4");
	o.park = (enum weir_park) - 1;
	expect_invalid(&o, "park", "-1");
}

static void
on_failure_is_one_of_the_reactions(void **state)
{
	struct weir_options o;

	weir_options_init(&o);
	o.on_failure = WEIR_FAILURE_SHUTDOWN;
	expect_valid(&o);
	o.on_failure = (enum weir_failure)7;
	expect_invalid(&o, "on_failure", "7 is none of enum weir_failure");
	o.on_failure = (enum weir_failure) - 1;
	expect_invalid(&o, "on_failure", "-1");
}

static void
no_options_are_the_defaults(void **state)
{
	expect_valid(NULL);
}

static void
lcores_are_worker_lcores_each_once(void **state)
{
	unsigned int main_lcore = rte_get_main_lcore();
	unsigned int lcores[3] = { 1, 2, 3 };
	struct weir_options o;
	char value[20];

	weir_options_init(&o);
	o.lcores = lcores;
	o.nb_workers = 3;
	expect_valid(&o);
	lcores[2] = 1;
	expect_invalid(&o, "lcores", "1 is given twice");
	lcores[2] = main_lcore;
	snprintf(value, sizeof(value), "%u is the main", main_lcore);
	expect_invalid(&o, "lcores", value);
	lcores[2] = 77;
	expect_invalid(&o, "lcores", "77");
	lcores[2] = RTE_MAX_LCORE;
	snprintf(value, sizeof(value), "%u", RTE_MAX_LCORE);
	expect_invalid(&o, "lcores", value);
	lcores[2] = UINT_MAX;
	expect_invalid(&o, "lcores", "4294967295");
	o.nb_workers = 2;
	expect_valid(&o);
	o.nb_workers = 0;
	expect_invalid(&o, "nb_workers", "0");
}

/* Sets of which the process has some CPU will do: it has none so far up. */
static void
blocking_cpus_are_some_that_the_process_has(void **state)
{
	const unsigned int none = CPU_SETSIZE - 1;
	cpu_set_t before, cpus;
	struct weir_options o;

	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	weir_options_init(&o);
	cpus = before;
	o.blocking_cpus = &cpus;
	expect_valid(&o);
	if (CPU_ISSET(none, &before))
		unit_skip("this machine has every CPU there could be");
	CPU_SET(none, &cpus);
	expect_valid(&o);
	CPU_ZERO(&cpus);
	expect_invalid(&o, "blocking_cpus", "0 are set");
	CPU_SET(none, &cpus);
	expect_invalid(&o, "blocking_cpus", "1 are set");
	/* Nobody has moved for it. */
	assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	assert_true(CPU_EQUAL(&cpus, &before));
}

static void
spare_lcores_are_others_than_those_of_workers(void **state)
{
	unsigned int lcores[2] = { 1, 2 }, spare[2] = { 3, 3 };
	struct weir_options o;

	weir_options_init(&o);
	o.lcores = lcores;
	o.nb_workers = 2;
	o.spare_lcores = spare;
	o.nb_spare_lcores = 1;
	expect_valid(&o);
	spare[0] = 2;
	expect_invalid(&o, "spare_lcores", "2 is given twice");
	spare[0] = rte_get_main_lcore();
	expect_invalid(&o, "spare_lcores", "main lcore");
	spare[0] = UINT_MAX;
	expect_invalid(&o, "spare_lcores", "4294967295");
	o.nb_spare_lcores = 2;
	expect_invalid(&o, "nb_spare_lcores", "2 beside 2 workers");
	o.nb_spare_lcores = UINT_MAX;
	expect_invalid(&o, "nb_spare_lcores", "4294967295");
	o.nb_spare_lcores = 1;
	o.spare_lcores = NULL;
	expect_invalid(&o, "nb_spare_lcores", "1, but no spare_lcores");
	/* By default all lcores are workers'. */
	o.lcores = NULL;
	o.nb_workers = 0;
	o.spare_lcores = spare;
	expect_invalid(&o, "nb_spare_lcores", "1 beside 3 workers");
}

static void
expect_no_runtime(const struct weir_options *o, int error)
{
	size_t before = rig_heap_in_use();

	rte_errno = 0;
	assert_null(weir_runtime_create(o));
	assert_int_equal(rte_errno, error);
	assert_int_equal(rig_heap_in_use(), before);
	assert_false(rig_runtime_exists(o->name));
}

static void
failed_create_says_why_and_leaks_nothing(void **state)
{
	struct weir_options o;

	/* What a first runtime leaves for good is EAL's. */
	rig_runtime_free(rig_runtime(3));
	rig_options(&o, 3);
	o.budget = 0;
	expect_no_runtime(&o, EINVAL);
	rig_options(&o, 3);
	o.task_cells = 16777216;
	expect_no_runtime(&o, ENOMEM);
	expect_no_runtime(&o, ENOMEM);
}

static void
memory_that_ends_at_any_point_leaks_nothing(void **state)
{
	struct weir_runtime *rt;
	struct weir_options o;
	size_t before;

	rig_runtime_free(rig_runtime(3));
	before = rig_heap_in_use();
	rig_options(&o, 3);
	/* Large enough for the rings to make a difference too. */
	o.inject_ring_size = 1048576;
	o.histograms = true;
	o.histogram_precision = 6;
	o.histogram_max_us = 100000000;
	for (o.task_cells = 150000;; o.task_cells += 7000) {
		rt = weir_runtime_create(&o);
		if (rt == NULL)
			assert_int_equal(rte_errno, ENOMEM);
		else
			weir_runtime_free(rt);
		assert_int_equal(rig_heap_in_use(), before);
		assert_false(rig_runtime_exists(o.name));
		if (rt == NULL && o.task_cells > 250000)
			break;
	}
}

static void
runtime_gives_all_its_memory_back(void **state)
{
	struct weir_runtime *rt;
	size_t before;
	unsigned int i;

	rig_runtime_free(rig_runtime(3));
	before = rig_heap_in_use();
	for (i = 0; i < 5; i++) {
		rt = rig_runtime(1 + i % 3);
		weir_join_detach(weir_task_spawn(
			rt, &rig_done_ops,
			&(struct rig_state){ .log = &rig.log }, NULL));
		weir_runtime_free(rt);
		assert_int_equal(rig_heap_in_use(), before);
	}
	weir_runtime_free(NULL);
}

static void *
be_registered(void *arg)
{
	int *rc = arg;
	struct weir_options o;

	if (rte_thread_register() < 0)
		return NULL;
	weir_options_init(&o);
	o.nb_workers = rte_lcore_count() - 1;
	*rc = weir_options_validate(&o, NULL, 0);
	rte_thread_unregister();
	return NULL;
}

/* EAL counts it as an lcore. */
static void
thread_that_is_registered_is_no_lcore_for_a_worker(void **state)
{
	int rc = 0;

	rig_threads(1, be_registered, &rc);
	assert_int_equal(rc, -EINVAL);
}

static void
create_without_options_takes_all_lcores(void **state)
{
	struct weir_runtime *rt = weir_runtime_create(NULL);
	unsigned int lcore, worker = 0;

	assert_non_null(rt);
	assert_int_equal(weir_runtime_nb_workers(rt), rte_lcore_count() - 1);
	RTE_LCORE_FOREACH_WORKER(lcore)
		assert_int_equal(weir_runtime_worker_of_lcore(rt, lcore),
				 worker++);
	rig_runtime_free(rt);
}

static void
workers_are_in_the_order_of_the_lcores(void **state)
{
	const unsigned int lcores[] = { 3, 1 };
	struct weir_options o;
	struct weir_runtime *rt;

	rig_options(&o, 2);
	o.lcores = lcores;
	rt = weir_runtime_create(&o);
	assert_non_null(rt);
	assert_int_equal(weir_runtime_worker_of_lcore(rt, 3), 0);
	assert_int_equal(weir_runtime_worker_of_lcore(rt, 1), 1);
	assert_int_equal(weir_runtime_worker_of_lcore(rt, 2), -ENOENT);
	rig_runtime_free(rt);
}

/* A task of one runtime that runs one of another. */
static int
spawn_there(struct weir_context *ctx, void *state)
{
	struct weir_runtime *there = *(struct weir_runtime **)state;
	struct rig_state s = { .log = &rig.log };

	if (weir_runtime_current() == there)
		return -EINVAL;
	*(struct weir_join **)state =
		weir_task_spawn(there, &rig_done_ops, &s, NULL);
	return WEIR_DONE;
}

static void
two_runtimes_run_on_their_own_lcores(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "there",
		.state_size = sizeof(void *),
		.poll = spawn_there,
		.result_size = sizeof(void *),
	};
	const unsigned int first[] = { 1 }, second[] = { 2, 3 };
	struct weir_runtime *a, *b;
	struct weir_options o;
	struct weir_join *join;
	unsigned int i;

	memset(&rig.log, 0, sizeof(rig.log));
	rig_options(&o, 1);
	o.name = "a";
	o.lcores = first;
	a = weir_runtime_create(&o);
	rig_options(&o, 2);
	o.name = "b";
	o.lcores = second;
	b = weir_runtime_create(&o);
	assert_non_null(a);
	assert_non_null(b);
	for (i = 0; i < 300; i++) {
		assert_int_equal(weir_runtime_block_on(i % 2 ? a : b, &ops,
						       i % 2 ? &b : &a, &join),
				 0);
		assert_int_equal(weir_join_wait(join, NULL), 0);
	}
	assert_int_equal(rig_get(&rig.log.drops), 300);
	weir_runtime_free(a);
	assert_false(rig_runtime_exists("a"));
	rig_runtime_free(b);
	assert_false(rig_runtime_exists("b"));
}

static void
name_of_a_living_runtime_is_refused(void **state)
{
	const unsigned int first[] = { 1 }, second[] = { 2 };
	struct weir_runtime *rt;
	struct weir_options o;

	rig_options(&o, 1);
	o.lcores = first;
	rt = weir_runtime_create(&o);
	assert_non_null(rt);
	o.lcores = second;
	assert_null(weir_runtime_create(&o));
	assert_int_equal(rte_errno, EEXIST);
	/* The first one has lost nothing by it. */
	assert_true(rig_runtime_exists("weir"));
	assert_int_equal(weir_runtime_block_on(
				 rt, &rig_done_ops,
				 &(struct rig_state){ .log = &rig.log }, NULL),
			 0);
	rig_runtime_free(rt);
}

/* A ring that stays, as of a process that was killed. */
static struct rte_ring *
leave_ring(unsigned int lcore, int process)
{
	char name[RTE_RING_NAMESIZE];
	struct rte_ring *ring;

	snprintf(name, sizeof(name), "weir_n%u_%d", weir_lcore_node(lcore),
		 process);
	ring = rte_ring_create(name, 64, SOCKET_ID_ANY, 0);
	assert_non_null(ring);
	return ring;
}

static void
name_of_a_killed_process_is_free(void **state)
{
	const unsigned int first[] = { 1 };
	struct rte_ring *other = leave_ring(first[0], getpid() + 1), *same;
	struct weir_options o;
	char log[200];

	rig_options(&o, 1);
	o.lcores = first;
	rig_runtime_free(weir_runtime_create(&o));
	/* But for one that has this one's number. */
	same = leave_ring(first[0], getpid());
	assert_null(rig_runtime_logged(&o, log, sizeof(log)));
	assert_int_equal(rte_errno, EEXIST);
	assert_non_null(strstr(log, "name: \"weir\" is that of a runtime of "
				    "another process of the number "));
	rte_ring_free(same);
	rte_ring_free(other);
}

static struct atomic_u32 lcore_may_go;

static int
keep_lcore(void *arg)
{
	rig_wait_until(rig_get(&lcore_may_go));
	return 0;
}

static void
busy_lcore_is_refused(void **state)
{
	struct weir_options o;
	struct weir_runtime *rt;

	rig_options(&o, 3);
	rig_set(&lcore_may_go, 0);
	assert_int_equal(rte_eal_remote_launch(keep_lcore, NULL, 2), 0);
	expect_no_runtime(&o, EBUSY);
	rig_set(&lcore_may_go, 1);
	rte_eal_wait_lcore(2);
	/* Another runtime's lcore. */
	rt = rig_runtime(1);
	o.name = "other";
	expect_no_runtime(&o, EBUSY);
	rig_runtime_free(rt);
}

static struct atomic_u32 freed;

static void *
free_runtime(void *rt)
{
	weir_runtime_free(rt);
	rig_set(&freed, 1);
	return NULL;
}

/* After its shutdown a runtime has no lcores any more. */
static void
free_does_not_wait_for_the_lcores_next_user(void **state)
{
	struct weir_runtime *first = rig_runtime(2), *second;
	struct weir_options o;
	pthread_t thread;

	assert_int_equal(weir_runtime_shutdown(first, UINT64_MAX, NULL), 0);
	assert_int_equal(rte_eal_get_lcore_state(1), WAIT);
	assert_int_equal(rte_eal_get_lcore_state(2), WAIT);
	rig_options(&o, 2);
	o.name = "second";
	second = weir_runtime_create(&o);
	assert_non_null(second);
	rig_set(&freed, 0);
	assert_int_equal(pthread_create(&thread, NULL, free_runtime, first), 0);
	rig_wait_until(rig_get(&freed));
	pthread_join(thread, NULL);
	weir_runtime_free(second);
	assert_false(rig_runtime_exists("second"));
}

/* What weir_runtime_create() did before EAL was there. */
static struct {
	struct weir_runtime *rt;
	int error;
	char line[200];
} early;

static int
setup(void **state)
{
	FILE *log = fmemopen(early.line, sizeof(early.line), "w");

	assert_non_null(log);
	rte_openlog_stream(log);
	early.rt = weir_runtime_create(NULL);
	early.error = rte_errno;
	rte_openlog_stream(NULL);
	fclose(log);
	return unit_eal_setup(state);
}

static void
without_eal_create_says_so(void **state)
{
	assert_null(early.rt);
	assert_int_equal(early.error, ENODEV);
	assert_string_equal(early.line,
			    "weir: EAL is not initialised: call "
			    "rte_eal_init() before weir_runtime_create()\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_eal_create_says_so),
		cmocka_unit_test(defaults_are_valid),
		cmocka_unit_test(every_number_has_its_bounds),
		cmocka_unit_test(ring_size_is_a_power_of_two),
		cmocka_unit_test(name_has_one_to_eight_characters),
		cmocka_unit_test(name_can_be_shown_and_asked_for),
		cmocka_unit_test(inject_interval_leaves_the_own_queue_its_turn),
		cmocka_unit_test(park_is_one_of_the_policies),
		cmocka_unit_test(on_failure_is_one_of_the_reactions),
		cmocka_unit_test(no_options_are_the_defaults),
		cmocka_unit_test(lcores_are_worker_lcores_each_once),
		cmocka_unit_test(blocking_cpus_are_some_that_the_process_has),
		cmocka_unit_test(spare_lcores_are_others_than_those_of_workers),
		cmocka_unit_test(failed_create_says_why_and_leaks_nothing),
		cmocka_unit_test(memory_that_ends_at_any_point_leaks_nothing),
		cmocka_unit_test(runtime_gives_all_its_memory_back),
		cmocka_unit_test(
			thread_that_is_registered_is_no_lcore_for_a_worker),
		cmocka_unit_test(create_without_options_takes_all_lcores),
		cmocka_unit_test(workers_are_in_the_order_of_the_lcores),
		cmocka_unit_test(two_runtimes_run_on_their_own_lcores),
		cmocka_unit_test(name_of_a_living_runtime_is_refused),
		cmocka_unit_test(name_of_a_killed_process_is_free),
		cmocka_unit_test(busy_lcore_is_refused),
		cmocka_unit_test(free_does_not_wait_for_the_lcores_next_user),
	};

	return cmocka_run_group_tests(tests, setup, unit_eal_teardown);
}
