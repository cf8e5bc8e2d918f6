/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * weir-testpmd: forwards packets between ports, one task for each receive
 * queue. The main lcore sets everything up, waits, and undoes it in reverse.
 */

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include <weir_machine.h>
#include <weir_runtime.h>

#include "arguments.h"
#include "eal.h"
#include "error.h"
#include "forward.h"
#include "map.h"
#include "options.h"
#include "output.h"
#include "plan.h"
#include "stats.h"
#include "status.h"
#include "unread.h"
#include "watch.h"

#define SECOND_NS UINT64_C(1000000000)
#define WATCH_PERIOD_NS (SECOND_NS / 10)
#define SHUTDOWN_TIMEOUT_MS 10000

/*
 * Bursts that a stream may forward before others on its worker have their turn.
 * Fewer: the cost of changing over shows. More: the others' rings fill; this
 * many bursts of 32 take some 16 us, within the runtime's max_poll_gap.
 */
#define BURSTS_PER_POLL 32u

struct testpmd {
	struct options options;
	struct plan plan;
	struct weir_machine *machine; /* NULL: no --map to check */
	struct weir_runtime *rt;
	struct stream **streams;
	sigset_t signals; /* that are waited for; blocked in every thread */
	uint64_t elapsed_ns;
	struct account account;
};

/* What errno was when the account could not be written; 0: it was, or so far. */
static int account_errno;

static uint64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SECOND_NS + (uint64_t)ts.tv_nsec;
}

/* Waits for a signal. Returns 0 when none came. */
static int
wait_signal(const sigset_t *signals, uint64_t ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(ns / SECOND_NS),
		.tv_nsec = (long)(ns % SECOND_NS),
	};

	return RTE_MAX(sigtimedwait(signals, NULL, &ts), 0);
}

/*
 * Who does not read them goes without: links and signals do not wait for him. The
 * next ones are of all the time since the last.
 */
static void
print_period(struct testpmd *t, uint64_t now, uint64_t *last)
{
	if (!unread_has_room())
		return;
	stats_count_workers(&t->plan, now);
	stats_print_period(&t->plan, now - *last);
	*last = now;
}

/*
 * Sleeps most of the time: the main lcore may share its CPU with a worker.
 *
 * Returns STATUS_FAILED when all streams have ended by themselves, as they do
 * only when their ports are gone.
 */
static int
run(struct testpmd *t)
{
	struct plan *plan = &t->plan;
	const uint64_t start = now_ns(), period = t->options.stats_period_ns;
	const uint64_t end = t->options.run_for_ns == 0 ?
				     UINT64_MAX :
				     start + t->options.run_for_ns;
	uint64_t now = start, wake, last_stats = start;
	uint64_t next_stats = start + period, next_watch = start;
	int status = STATUS_OK, number;

	plan->worker_ns_at = start;
	while (now < end) {
		if (now >= next_watch) {
			watch_poll(plan, t->streams);
			next_watch = now + WATCH_PERIOD_NS;
		}
		if (streams_poll(t->streams, plan->nb_streams, false) == 0) {
			error_line("no stream is left to forward");
			status = STATUS_FAILED;
			break;
		}
		if (period != 0 && now >= next_stats) {
			print_period(t, now, &last_stats);
			next_stats = now + period;
		}
		wake = RTE_MIN(next_watch, end);
		if (period != 0)
			wake = RTE_MIN(wake, next_stats);
		number = wake > now ? wait_signal(&t->signals, wake - now) : 0;
		if (number == SIGHUP && t->options.map_file != NULL) {
			stats_count_workers(plan, now_ns());
			map_reload(&t->options, plan, t->machine, t->streams,
				   t->rt);
		} else if (number != 0) {
			break;
		}
		/* A map may take long: workers end what they are at. */
		now = now_ns();
	}
	now = now_ns();
	stats_count_workers(plan, now);
	t->elapsed_ns = now - start;
	return status;
}

static int
create_runtime(struct testpmd *t)
{
	struct weir_options options;
	char error[256];

	weir_options_init(&options);
	options.lcores = t->plan.lcores;
	options.nb_workers = t->plan.nb_workers;
	options.spare_lcores = t->plan.spare;
	options.nb_spare_lcores = t->plan.nb_spare;
	options.park = t->options.park;
	/* A unit is a packet: too small a budget would split bursts. */
	options.budget =
		RTE_MAX(options.budget,
			(unsigned int)t->options.burst * BURSTS_PER_POLL);
	if (weir_options_validate(&options, error, sizeof(error)) < 0)
		return REFUSE(STATUS_FAILED, "%s: %s", eal_lcores_option(),
			      error);
	t->rt = weir_runtime_create(&options);
	if (t->rt == NULL)
		return REFUSE(STATUS_FAILED,
			      "%s: no runtime on these lcores (%s)%s",
			      eal_lcores_option(), rte_strerror(rte_errno),
			      rte_errno == ENOMEM ?
				      "; give EAL more memory with -m, or "
				      "fewer lcores" :
				      "");
	map_park(&t->options, t->rt);
	return STATUS_OK;
}

static int
start(struct testpmd *t)
{
	int rc;

	unread_begin();
	rc = plan_make(&t->plan, &t->options);
	if (rc != STATUS_OK)
		return rc;
	rc = map_check(&t->options, &t->plan, t->machine);
	if (rc != STATUS_OK)
		return rc;
	rc = ports_start(&t->plan, &t->options);
	if (rc != STATUS_OK)
		return rc;
	rc = create_runtime(t);
	if (rc != STATUS_OK)
		return rc;
	t->streams = streams_create(&t->plan, &t->options, t->rt);
	if (t->streams == NULL)
		return STATUS_FAILED;
	if (t->options.tx_first > 0)
		ports_tx_first(&t->plan, &t->options);
	watch_init(&t->plan);
	if (streams_start(t->streams, t->plan.nb_streams, t->options.mode,
			  t->rt) < 0)
		return STATUS_FAILED;
	printf("forwarding started: mode %s, ports %u, streams %u, "
	       "workers %u, burst %u\n",
	       t->options.mode->name, t->plan.nb_ports, t->plan.nb_streams,
	       t->plan.nb_workers, t->options.burst);
	return STATUS_OK;
}

/* Lets the streams forward what they have, as long as that takes. */
static void
stop_streams(struct testpmd *t)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	const uint64_t end = now_ns() + SHUTDOWN_TIMEOUT_MS * 1000000ull;

	streams_stop(t->streams, t->plan.nb_streams);
	while (streams_poll(t->streams, t->plan.nb_streams, true) > 0 &&
	       now_ns() < end)
		nanosleep(&pause, NULL);
}

/* Its lines are written as they end, and what fails is not tried again. */
static void
print_account(const struct account *a)
{
	errno = 0;
	stats_print_account(a);
	if (ferror(stdout) != 0)
		account_errno = errno;
}

static void
flush_output(void)
{
	output_end(account_errno);
}

/* Ends the tasks. What does not end cannot be freed either. */
static int
shutdown_runtime(struct testpmd *t)
{
	struct weir_shutdown_report report = { 0 };
	int rc;

	rc = weir_runtime_shutdown(t->rt, SHUTDOWN_TIMEOUT_MS, &report);
	t->account.tasks_left = report.live_tasks;
	t->account.entries_left = report.ring_entries;
	if (rc < 0)
		return REFUSE(STATUS_FAILED,
			      "the runtime does not end within %u s (%s)",
			      SHUTDOWN_TIMEOUT_MS / 1000, strerror(-rc));
	return STATUS_OK;
}

static bool
left_nothing(const struct account *a)
{
	if (a->tasks_left == 0 && a->mbufs_left == 0 && a->entries_left == 0)
		return true;
	error_line("left: %llu tasks, %llu mbufs, %llu queue entries",
		   (unsigned long long)a->tasks_left,
		   (unsigned long long)a->mbufs_left,
		   (unsigned long long)a->entries_left);
	return false;
}

/* Undoes start(), however far it came. Returns the program's status. */
static int
finish(struct testpmd *t, int status)
{
	unsigned int nb_streams = t->plan.nb_streams;
	bool started = status == STATUS_OK || t->elapsed_ns != 0;

	/* The account is for somebody; a signal ends who waits for one in vain. */
	unread_wait(&t->signals);
	if (t->streams != NULL)
		stop_streams(t);
	if (t->rt != NULL && shutdown_runtime(t) != STATUS_OK) {
		/* Workers still run in this memory: leave it to the kernel. */
		print_account(&t->account);
		flush_output();
		_Exit(STATUS_FAILED);
	}
	if (started)
		stats_print_totals(&t->plan, t->streams, t->options.mode, t->rt,
				   t->elapsed_ns, &t->account);
	streams_free(t->streams, nb_streams);
	weir_runtime_free(t->rt);
	ports_close(&t->plan);
	t->account.mbufs_left = pools_free(&t->plan);
	plan_free(&t->plan);
	if (started)
		print_account(&t->account);
	return left_nothing(&t->account) ? status : STATUS_FAILED;
}

static void
print_usage(const char *program)
{
	printf("\n");
	options_print_help(program);
}

/* Either it reads the map again or, but under nohup, it ends the program. */
static bool
takes_hangup(const struct options *o)
{
	struct sigaction action;

	return o->map_file != NULL || sigaction(SIGHUP, NULL, &action) != 0 ||
	       action.sa_handler != SIG_IGN;
}

/* Before EAL makes threads, so that none of them takes a signal. */
static void
block_signals(struct testpmd *t)
{
	sigemptyset(&t->signals);
	sigaddset(&t->signals, SIGINT);
	sigaddset(&t->signals, SIGTERM);
	/* Whoever read its output has gone. */
	sigaddset(&t->signals, SIGPIPE);
	/* A shell's background jobs ignore SIGINT, blocked or not. */
	signal(SIGINT, SIG_DFL);
	if (takes_hangup(&t->options)) {
		sigaddset(&t->signals, SIGHUP);
		signal(SIGHUP, SIG_DFL);
	}
	pthread_sigmask(SIG_BLOCK, &t->signals, NULL);
}

static int
start_and_run(struct testpmd *t, int argc, char **argv)
{
	int status;

	/* Before signals are blocked: a file may be a pipe that nobody writes to. */
	status = map_open(&t->options, &t->machine);
	if (status != STATUS_OK)
		return status;
	block_signals(t);
	rte_set_application_usage_hook(print_usage);
	status = eal_start(argc, argv);
	if (status != STATUS_OK)
		return status;
	status = start(t);
	if (status == STATUS_OK)
		status = run(t);
	status = finish(t, status);
	rte_eal_cleanup();
	return status;
}

int
main(int argc, char **argv)
{
	static struct testpmd t; /* too large for a stack */
	int eal_argc = arguments_of_eal(argc, argv);
	int own_argc = argc - eal_argc;
	int status;

	output_begin();
	atexit(flush_output);
	/* With no "--", one argument is made of nothing: the program's name. */
	status = options_parse(own_argc > 0 ? own_argc : 1,
			       own_argc > 0 ? &argv[eal_argc] : argv,
			       &t.options);
	if (status == STATUS_OK && t.options.help)
		options_print_help(argv[0]);
	else if (status == STATUS_OK)
		status = start_and_run(&t, eal_argc, argv);
	weir_machine_free(t.machine);
	options_free(&t.options);
	return status;
}
