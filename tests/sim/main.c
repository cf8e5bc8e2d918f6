/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * sim [--seeds N | --seed S | --soak SECONDS] [--first S] [--workers N]
 *     [--nodes N] [--trace]
 *
 * Runs seeds, by default five thousand from a first one that it prints, which
 * WEIR_TEST_SEED or --first sets. Ends with the first that fails.
 */

#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/time.h>
#include <unistd.h>

#include "sim.h"

#define SEEDS_DEFAULT 5000
/* So many tell whether all that is to happen does. */
#define SEEDS_TO_SEE_ALL 1000
/* Each so many-th seed is run twice. */
#define TWICE_EACH 50
/* Of CPU time, for a step that does not come to its end. */
#define SEED_SECONDS 120

static struct {
	uint64_t first;
	uint64_t seeds;
	uint64_t soak;
	bool trace;
	struct overrides overrides;
} options = { .seeds = SEEDS_DEFAULT };

static const char *program;

static void
print_thread(unsigned int i)
{
	const char *file;
	int line;

	vthread_where_get(i, &file, &line);
	if (file == NULL)
		file = "not begun";
	if (strrchr(file, '/') != NULL)
		file = strrchr(file, '/') + 1;
	fprintf(stderr, "  thread %u %s: %s:%d%s\n", i, vthread_name(i), file,
		line, vthread_ready(i) ? "" : ", waits");
}

static void
print_failure(void)
{
	unsigned int i;

	plan_print(&sim.plan);
	fprintf(stderr, "the last of %" PRIu64 " steps:\n", steps_count());
	steps_print();
	if (vthreads_running())
		for (i = 0; i < vthread_count(); i++)
			if (!vthread_ended(i))
				print_thread(i);
	fprintf(stderr, "repeat with: %s --seed %" PRIu64, program,
		sim.plan.seed);
	if (options.overrides.workers != 0)
		fprintf(stderr, " --workers %u", options.overrides.workers);
	if (options.overrides.nodes != 0)
		fprintf(stderr, " --nodes %u", options.overrides.nodes);
	fprintf(stderr, "\n");
}

void
virtual_failed(const char *format, ...)
{
	va_list ap;

	fprintf(stderr, "FAILED: seed %" PRIu64 ": ", sim.plan.seed);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fprintf(stderr, "\n");
	print_failure();
	exit(1);
}

/* The library crashed, or a step goes on for ever. */
static void
on_signal(int number)
{
	fprintf(stderr, "FAILED: seed %" PRIu64 ": %s\n", sim.plan.seed,
		number == SIGVTALRM ? "a step does not end" :
				      strsignal(number));
	print_failure();
	_exit(1);
}

static void
catch_signals(void)
{
	static const int numbers[] = { SIGSEGV, SIGBUS,	 SIGILL,
				       SIGFPE,	SIGABRT, SIGVTALRM };
	static uint8_t bytes[64 * 1024];
	const stack_t stack = { .ss_sp = bytes, .ss_size = sizeof(bytes) };
	struct sigaction action = { .sa_handler = on_signal,
				    .sa_flags = SA_ONSTACK };
	unsigned int i;

	sigaltstack(&stack, NULL);
	for (i = 0; i < RTE_DIM(numbers); i++)
		sigaction(numbers[i], &action, NULL);
}

/* A busy machine is no reason to fail. */
static void
limit_seed(void)
{
	const struct itimerval limit = { .it_value.tv_sec = SEED_SECONDS };

	setitimer(ITIMER_VIRTUAL, &limit, NULL);
}

/* True if the seed gives the same run each time. */
static bool
run(uint64_t seed, bool twice)
{
	uint64_t hash, again;

	limit_seed();
	if (!run_seed(seed, &options.overrides, options.trace, &hash))
		virtual_failed("no thread can go on, and nothing will come");
	if (options.seeds == 1)
		printf("seed %" PRIu64 ": %" PRIu64 " steps, trace %016" PRIx64
		       "\n",
		       seed, steps_count(), hash);
	if (!twice)
		return true;
	limit_seed();
	if (run_seed(seed, &options.overrides, false, &again) && again == hash)
		return true;
	fprintf(stderr,
		"FAILED: seed %" PRIu64 ": its run is not always the same\n",
		seed);
	return false;
}

/* Where everything lies at other addresses. */
static bool
same_in_another_process(uint64_t seed)
{
	uint64_t hash, there = 0;
	char command[64], line[128];
	FILE *out;

	snprintf(command, sizeof(command), "/proc/%d/exe --seed %" PRIu64,
		 (int)getpid(), seed);
	if (!run_seed(seed, &options.overrides, false, &hash))
		return false;
	fflush(stdout);
	out = popen(command, "r");
	while (out != NULL && fgets(line, sizeof(line), out) != NULL)
		if (strstr(line, "trace ") != NULL)
			there = strtoull(strstr(line, "trace ") + 6, NULL, 16);
	if (out == NULL || pclose(out) != 0 || there != hash) {
		fprintf(stderr,
			"FAILED: seed %" PRIu64 ": its run is another one in "
			"another process\n",
			seed);
		return false;
	}
	return true;
}

/* All that a seed may do has happened in so many of them. */
static bool
all_seen(void)
{
	bool all = true;
	unsigned int i;

	for (i = 0; i < SEENS; i++) {
		printf("%12" PRIu64 " %s\n", seen[i], seen_names[i]);
		all &= seen[i] > 0;
	}
	if (!all)
		fprintf(stderr, "FAILED: some of these never happened\n");
	return all;
}

static uint64_t
first_seed(void)
{
	const char *set = getenv("WEIR_TEST_SEED");
	struct timespec now;

	if (set != NULL)
		return strtoull(set, NULL, 0);
	timespec_get(&now, TIME_UTC);
	return (uint64_t)now.tv_sec * 1000;
}

static bool
run_seeds(void)
{
	bool whole = options.overrides.workers + options.overrides.nodes == 0;
	uint64_t i, steps = 0;
	time_t end = time(NULL) + (time_t)options.soak;

	printf("seeds from %" PRIu64 "\n", options.first);
	fflush(stdout);
	for (i = 0; options.soak != 0 ? time(NULL) < end : i < options.seeds;
	     i++) {
		if (!run(options.first + i, i % TWICE_EACH == 0))
			return false;
		steps += steps_count();
	}
	printf("%" PRIu64 " seeds, %" PRIu64 " steps\n", i, steps);
	if (i < SEEDS_TO_SEE_ALL || !whole)
		return true;
	return same_in_another_process(options.first) && all_seen();
}

static uint64_t
number(const char *text)
{
	char *end;
	uint64_t n = strtoull(text, &end, 0);

	if (*text == '\0' || *end != '\0') {
		fprintf(stderr, "%s: no number: %s\n", program, text);
		exit(2);
	}
	return n;
}

static void
parse(int argc, char **argv)
{
	static const struct option known[] = {
		{ "seeds", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },
		{ "first", required_argument, NULL, 'f' },
		{ "soak", required_argument, NULL, 't' },
		{ "workers", required_argument, NULL, 'w' },
		{ "nodes", required_argument, NULL, 'd' },
		{ "trace", no_argument, NULL, 'v' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (c) {
		case 'n':
			options.seeds = number(optarg);
			break;
		case 's':
			options.first = number(optarg);
			options.seeds = 1;
			break;
		case 'f':
			options.first = number(optarg);
			break;
		case 't':
			options.soak = number(optarg);
			break;
		case 'w':
			options.overrides.workers =
				(unsigned int)number(optarg);
			break;
		case 'd':
			options.overrides.nodes = (unsigned int)number(optarg);
			break;
		case 'v':
			options.trace = true;
			break;
		default:
			exit(2);
		}
	}
}

int
main(int argc, char **argv)
{
	program = argv[0];
	options.first = first_seed();
	parse(argc, argv);
	catch_signals();
	return run_seeds() ? 0 : 1;
}
