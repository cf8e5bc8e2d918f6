/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_lcore.h>
#include <rte_telemetry.h>

#include "rig.h"

static struct sockaddr_un address = { .sun_family = AF_UNIX };

/* Of the calling thread: EAL admits few at a time. */
static __thread int connection = -1;

static void
open_connection(void)
{
	char greeting[1024];

	connection = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	if (connection < 0 ||
	    connect(connection, (struct sockaddr *)&address, sizeof(address)) <
		    0 ||
	    read(connection, greeting, sizeof(greeting)) <= 0)
		fail_msg("no telemetry at %s", address.sun_path);
}

/* Sends one request and returns the answer, up to the next call. */
static const char *
ask(const char *request)
{
	static __thread char answer[20000];
	ssize_t n;

	assert_true(write(connection, request, strlen(request)) > 0);
	n = read(connection, answer, sizeof(answer) - 1);
	assert_true(n > 0);
	answer[n] = '\0';
	return answer;
}

static void
expect(const char *request, const char *part)
{
	const char *answer = ask(request);

	if (strstr(answer, part) == NULL)
		fail_msg("%s: no %s in %s", request, part, answer);
}

static void
expect_null(const char *request)
{
	expect(request, "\":null}");
}

static void
runtimes_are_listed_by_name(void **state)
{
	const unsigned int lcores[] = { 2 };
	char name[] = "other";
	struct weir_runtime *other;
	struct weir_options o;

	expect("/weir/list", "{\"/weir/list\":[\"weir\"]}");
	rig_options(&o, 1);
	o.name = name;
	o.lcores = lcores;
	other = weir_runtime_create(&o);
	assert_non_null(other);
	/* The options were the caller's. */
	memset(name, 'x', strlen(name));
	expect("/weir/list", "[\"weir\",\"other\"]");
	expect("/weir/info,other", "\"name\":\"other\",\"workers\":1,");
	rig_runtime_free(rig.rt);
	rig.rt = NULL;
	expect("/weir/list", "[\"other\"]");
	expect_null("/weir/info,weir");
	weir_runtime_free(other);
	expect("/weir/list", "{\"/weir/list\":[]}");
}

static void
counts_are_given(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	struct weir_waker *w = rig_take_waker(&rig.waker);
	uint64_t id = weir_join_id(join);
	char text[80];

	expect("/weir/info,weir",
	       "\"workers\":2,\"nodes\":1,\"live_tasks\":1,\"spawned\":1,"
	       "\"polls\":1,");
	expect("/weir/worker,weir,0", "\"active\":1,\"lcore\":1,");
	expect("/weir/worker,weir,1", "\"active\":1,\"lcore\":2,");
	expect("/weir/node,weir,0", "\"workers\":2,");
	expect("/weir/node,weir,0", "\"outside_schedules\":1}");
	expect("/weir/steals,weir", "{\"0\":[0,0],\"1\":[0,0]}");
	snprintf(text, sizeof(text), "\"%" PRIx64 "\":{\"name\":\"wait\",", id);
	expect("/weir/tasks,weir", text);
	rig_wait_until(strstr(ask("/weir/tasks,weir,1"),
			      "\"state\":\"waiting\",\"cancelled\":0,"));
	expect("/weir/tasks,weir", "\"polls\":1,");
	weir_join_detach(join);
	weir_waker_drop(w);
}

static struct weir_runtime *
one_blocking_thread(void)
{
	struct weir_runtime *rt;
	struct weir_options o;

	rig_options(&o, 1);
	o.blocking_threads = 1;
	rt = weir_runtime_create(&o);
	assert_non_null(rt);
	return rt;
}

static void
worker_that_retired_is_told(void **state)
{
	assert_int_equal(weir_worker_retire(rig.rt, 1, 0), 0);
	expect("/weir/worker,weir,0", "\"active\":1,");
	expect("/weir/worker,weir,1", "\"active\":0,");
	assert_int_equal(weir_worker_add(rig.rt, 2), 1);
	expect("/weir/worker,weir,1", "\"active\":1,");
}

static void
blocking_pool_is_counted(void **state)
{
	struct weir_join *first, *second;

	rig_runtime_free(rig.rt);
	rig.rt = one_blocking_thread();
	expect("/weir/info,weir",
	       "\"blocking_threads\":0,\"blocking_queued\":0,"
	       "\"blocking_running\":0}");
	first = rig_spawn_job(rig.rt, &rig_block_ops, &rig.told);
	rig_wait_until(rig_get(&rig.log.polls) == 1);
	second = rig_spawn_job(rig.rt, &rig_done_ops, &rig.told);
	expect("/weir/info,weir",
	       "\"blocking_threads\":1,\"blocking_queued\":1,"
	       "\"blocking_running\":1}");
	rig_set(&rig.go, 1);
	assert_int_equal(rig_join(first, NULL), 0);
	assert_int_equal(rig_join(second, NULL), 0);
}

static void
tasks_are_listed_up_to_a_limit(void **state)
{
	const struct {
		const char *request;
		unsigned int tasks;
	} rows[] = {
		{ "/weir/tasks,weir", 32 },
		{ "/weir/tasks,weir,1", 1 },
		{ "/weir/tasks,weir,64", 64 },
	};
	const char *at;
	unsigned int i, n;

	for (i = 0; i < 100; i++)
		weir_join_detach(rig_spawn(rig.rt, &rig_yield_ops, &rig.told));
	for (i = 0; i < RTE_DIM(rows); i++) {
		n = 0;
		for (at = ask(rows[i].request); at != NULL;
		     at = strstr(at + 1, "\"name\":\"yield\""))
			n++;
		assert_int_equal(n - 1, rows[i].tasks);
	}
}

/* What a task that was cancelled has left, if it had its turn before. */
static void
drop_waker(void)
{
	weir_waker_drop(atomic_ptr_exchange(&rig.waker, NULL, ACQUIRE));
}

/* N2 */
/* Whatever it is, the answer is JSON: what is no printable ASCII is a '?'. */
static void
name_of_a_task_spoils_no_answer(void **state)
{
	static struct weir_task_ops ops;
	char name[RTE_TEL_MAX_STRING_LEN + 20];
	struct weir_join *join;

	ops = rig_wait_ops;
	ops.name = "d\xc3\xa9 \x7f\n~";
	join = rig_spawn(rig.rt, &ops, &rig.told);
	expect("/weir/tasks,weir", ":{\"name\":\"d?? ??~\",\"state\"");
	weir_join_abort(join);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	drop_waker();
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	ops.name = name;
	join = rig_spawn(rig.rt, &ops, &rig.told);
	name[RTE_TEL_MAX_STRING_LEN - 1] = '\0';
	expect("/weir/tasks,weir", name);
	weir_join_abort(join);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	drop_waker();
}

static void
bad_parameters_are_answered_with_null(void **state)
{
	const char *const requests[] = {
		"/weir/info",
		"/weir/info,",
		"/weir/info,nobody",
		"/weir/info,weir,0",
		"/weir/info,weirweirweirweirweirweirweirweirweirweirweirweir"
		"weirweirweirweirweirweirweirweirweirweirweirweirweirweirweir"
		"weirweirweirweirweirweir",
		"/weir/worker",
		"/weir/worker,weir",
		"/weir/worker,weir,2",
		"/weir/worker,weir,-1",
		"/weir/worker,weir,x",
		"/weir/worker,weir,0x",
		"/weir/worker,weir,99999999999999999999",
		"/weir/worker,weir,4294967296",
		"/weir/worker,weir,0,0",
		"/weir/node,weir,1",
		"/weir/steals,nobody",
		"/weir/steals,weir,x",
		"/weir/steals,weir,0,0",
		"/weir/tasks,weir,0",
		"/weir/tasks,weir,65",
		"/weir/histogram,weir",
		"/weir/histogram,weir,sleep",
		"/weir/histogram,weir,poll,2",
		"/weir/histogram,weir,poll,x",
		"/weir/nothing,weir",
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(requests); i++)
		expect_null(requests[i]);
}

/* More than an answer has room for, were it all of them. */
static void
every_thief_can_be_asked_for(void **state)
{
	unsigned int thief, victim, n = rte_lcore_count() - 1;
	char request[32], row[1024];
	struct weir_options o;
	size_t used;

	rig_runtime_free(rig.rt);
	rig_options(&o, n);
	o.park = WEIR_PARK_INTERRUPT;
	rig.rt = weir_runtime_create(&o);
	assert_non_null(rig.rt);
	for (thief = 0; thief < n; thief++) {
		snprintf(request, sizeof(request), "/weir/steals,weir,%u",
			 thief);
		used = (size_t)snprintf(row, sizeof(row), ":{\"%u\":[0", thief);
		for (victim = 1; victim < n; victim++)
			used += (size_t)snprintf(row + used, sizeof(row) - used,
						 ",0");
		snprintf(row + used, sizeof(row) - used, "]}}");
		expect(request, row);
	}
	snprintf(request, sizeof(request), "/weir/steals,weir,%u", n);
	expect_null(request);
}

static void
histograms_are_given_when_there_are_some(void **state)
{
	struct weir_options o;

	expect_null("/weir/histogram,weir,poll");
	rig_runtime_free(rig.rt);
	rig_options(&o, 2);
	o.histograms = true;
	rig.rt = weir_runtime_create(&o);
	assert_non_null(rig.rt);
	expect("/weir/histogram,weir,poll", "{\"count\":0,\"p50_ns\":0,");
	assert_int_equal(
		weir_runtime_block_on(rig.rt, &rig_done_ops, &rig.told, NULL),
		0);
	rig_wait_until(
		strstr(ask("/weir/histogram,weir,poll"), "\"count\":1,"));
	expect("/weir/histogram,weir,wake", "\"count\":1,");
	expect("/weir/histogram,weir,wake,0", "\"p999_ns\":");
	expect_null("/weir/histogram,weir,sleep");
	expect_null("/weir/histogram,weir,poll,2");
}

static struct atomic_u32 over, answers;

static void *
keep_asking(void *arg)
{
	const char *const requests[] = { "/weir/list", "/weir/info,weir",
					 "/weir/tasks,weir",
					 "/weir/steals,weir",
					 "/weir/worker,weir,1" };
	unsigned int i = 0;

	open_connection();
	while (!rig_get(&over)) {
		ask(requests[i++ % RTE_DIM(requests)]);
		if (i % RTE_DIM(requests) == 0)
			rig_add(&answers, 1);
	}
	close(connection);
	return NULL;
}

/* N1 */
static void
runtimes_come_and_go_under_requests(void **state)
{
	pthread_t thread;
	unsigned int i, k, before;

	rig_teardown(state);
	rig_set(&over, 0);
	assert_int_equal(pthread_create(&thread, NULL, keep_asking, NULL), 0);
	for (i = 0; i < 20; i++) {
		before = rig_get(&answers);
		rig_setup(state);
		for (k = 0; k < 10; k++)
			weir_join_detach(
				rig_spawn(rig.rt, &rig_yield_ops, &rig.told));
		/* Some with requests in the middle, some as fast as it goes. */
		if (i % 2 == 0)
			rig_wait_until(rig_get(&answers) > before);
		rig_teardown(state);
	}
	rig_set(&over, 1);
	pthread_join(thread, NULL);
}

static int
setup(void **state)
{
	unit_eal_telemetry_setup(state);
	snprintf(address.sun_path, sizeof(address.sun_path),
		 "%.80s/dpdk_telemetry.v2", rte_eal_get_runtime_dir());
	open_connection();
	return 0;
}

static int
teardown(void **state)
{
	close(connection);
	unlink(address.sun_path);
	return unit_eal_teardown(state);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(runtimes_are_listed_by_name, 1),
		RIG_TEST(counts_are_given, 2),
		RIG_TEST(worker_that_retired_is_told, 2),
		RIG_TEST(blocking_pool_is_counted, 1),
		RIG_TEST(tasks_are_listed_up_to_a_limit, 2),
		RIG_TEST(name_of_a_task_spoils_no_answer, 2),
		RIG_TEST(bad_parameters_are_answered_with_null, 2),
		RIG_TEST(every_thief_can_be_asked_for, 1),
		RIG_TEST(histograms_are_given_when_there_are_some, 2),
		RIG_TEST(runtimes_come_and_go_under_requests, 2),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
