/* SPDX-License-Identifier: BSD-3-Clause */

/* The model checker's command line. Speaks TAP: one line for each model. */

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "explore.h"
#include "kept.h"
#include "memory.h"

extern const struct model *const __start_models[], *const __stop_models[];

static struct explored result KEPT;

static void
usage(void)
{
	puts("usage: model [MODEL...]\n"
	     "  -l, --list            list the models\n"
	     "  -r, --replay CHOICES  go one way of one model, and print its steps\n"
	     "  -w, --weaken FILE:FIRST-LAST:ORDER\n"
	     "                        as if the orders at these lines were ORDER:\n"
	     "                        relaxed, acquire, release or acq_rel; or\n"
	     "                        failure: that of a failing swap is relaxed\n"
	     "  -f, --first           end with the first model that fails\n"
	     "  -P, --places          print where the operations stand\n"
	     "  -p, --preemptions N   other bounds than the models' own\n"
	     "  -s, --stale N\n"
	     "  -t, --seconds N       give up on a model after that time of a CPU");
}

static const struct model *
find_model(const char *name)
{
	const struct model *const *m;

	for (m = __start_models; m < __stop_models; m++)
		if (strcmp((*m)->name, name) == 0)
			return *m;
	fprintf(stderr, "model: no model '%s'; see --list\n", name);
	exit(2);
}

static int
order_of(const char *name)
{
	static const struct {
		const char *name;
		int order;
	} orders[] = {
		{ "relaxed", RELAXED },	       { "acquire", ACQUIRE },
		{ "release", RELEASE },	       { "acq_rel", ACQ_REL },
		{ "failure", MEMORY_FAILURE },
	};
	unsigned int i;

	for (i = 0; i < sizeof(orders) / sizeof(orders[0]); i++)
		if (strcmp(orders[i].name, name) == 0)
			return orders[i].order;
	fprintf(stderr, "model: no order '%s'\n", name);
	exit(2);
}

static void
parse_weaken(const char *s)
{
	static char file[256], order[16];
	int first, last;

	if (sscanf(s, "%255[^:]:%d-%d:%15s", file, &first, &last, order) != 4) {
		fprintf(stderr,
			"model: --weaken %s: not FILE:FIRST-LAST:ORDER\n", s);
		exit(2);
	}
	memory_weaken(file, first, last, order_of(order));
}

static bool
report(const struct model *model, unsigned int number)
{
	static const char *const outcomes[] = { "ok", "not ok", "not ok",
						"not ok" };
	const char *rest =
		result.outcome == OUTCOME_UNDONE ? ", time was up" : "";

	printf("%s %u - %s: %lu states, %lu executions, %lu steps, %.1f s%s\n",
	       outcomes[result.outcome], number, model->name, result.states,
	       result.executions, result.steps, result.seconds, rest);
	if (result.outcome == OUTCOME_FAILS)
		printf("# %s\n# repeat: model --replay '%s' %s\n",
		       result.failure, result.choices, model->name);
	if (result.outcome == OUTCOME_MISSED)
		printf("# %s\n", result.failure);
	fflush(stdout);
	return result.outcome == OUTCOME_HOLDS;
}

int
main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "first", no_argument, NULL, 'f' },
		{ "help", no_argument, NULL, 'h' },
		{ "list", no_argument, NULL, 'l' },
		{ "places", no_argument, NULL, 'P' },
		{ "preemptions", required_argument, NULL, 'p' },
		{ "replay", required_argument, NULL, 'r' },
		{ "seconds", required_argument, NULL, 't' },
		{ "stale", required_argument, NULL, 's' },
		{ "weaken", required_argument, NULL, 'w' },
		{ NULL, 0, NULL, 0 },
	};
	const char *replay = NULL, *weaken = NULL;
	int preemptions = -1, stale = -1, c;
	double seconds = 0;
	unsigned int all = (unsigned int)(__stop_models - __start_models);
	unsigned int i, n;
	bool good = true, first = false, places = false;
	struct model m;

	while ((c = getopt_long(argc, argv, "fhlPp:r:s:t:w:", options, NULL)) !=
	       -1) {
		switch (c) {
		case 'f':
			first = true;
			break;
		case 'P':
			places = true;
			break;
		case 'l':
			for (i = 0; i < all; i++)
				printf("%-24s %s\n", __start_models[i]->name,
				       __start_models[i]->about);
			return 0;
		case 'p':
			preemptions = atoi(optarg);
			break;
		case 'r':
			replay = optarg;
			break;
		case 's':
			stale = atoi(optarg);
			break;
		case 't':
			seconds = atof(optarg);
			break;
		case 'w':
			weaken = optarg;
			parse_weaken(weaken);
			break;
		default:
			usage();
			return c == 'h' ? 0 : 2;
		}
	}
	n = optind < argc ? (unsigned int)(argc - optind) : all;
	printf("1..%u\n", n);
	for (i = 0; i < n && (good || !first); i++) {
		m = optind < argc ? *find_model(argv[optind + (int)i]) :
				    *__start_models[i];
		if (preemptions >= 0)
			m.preemptions = (unsigned int)preemptions;
		if (stale >= 0)
			m.stale = (unsigned int)stale;
		if (places)
			memory_places_note();
		if (replay != NULL)
			explore_replay(&m, replay, &result);
		else
			explore(&m, seconds, &result);
		good &= report(&m, i + 1);
		if (places)
			memory_places_print();
	}
	if (weaken != NULL && !memory_weaken_met()) {
		fprintf(stderr,
			"model: --weaken %s: nothing that ran stands there\n",
			weaken);
		return 2;
	}
	return good ? 0 : 1;
}
