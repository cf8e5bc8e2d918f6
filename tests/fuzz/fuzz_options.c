/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * weir_options_validate() against the bounds that weir_runtime.h promises. An
 * input is a list of fields and what they are set to.
 */

#include "fuzz.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_lcore.h>

#include "sched/options.h"

#define ERROR_SIZE 200
#define ARRAY_MAX 8u

/* As fuzz_eal_init() has it: main lcore 0, and these behind it. */
#define WORKER_LCORES 3u

/* Numbers, with the bounds of weir_runtime.h. */
static const struct number {
	const char *name;
	size_t offset;
	unsigned int min;
	unsigned int max;
} numbers[] = {
#define NUMBER(field, min, max)                                         \
	{                                                               \
#field, offsetof(struct weir_options, field), min, max, \
	}
	NUMBER(event_interval, 1, 100000),
	NUMBER(max_poll_gap_us, 1, 1000000),
	NUMBER(inject_interval, 0, 100000),
	NUMBER(budget, 1, 65535),
	NUMBER(inject_ring_size, 64, 1048576),
	NUMBER(task_cells, 64, 16777216),
	NUMBER(cross_node_backlog, 1, 256),
	NUMBER(cross_node_age_us, 1, 1000000),
	NUMBER(blocking_threads, 1, 4096),
	NUMBER(blocking_keep_alive_ms, 0, 86400000),
	NUMBER(histogram_precision, 1, 6),
	NUMBER(histogram_max_us, 1, 100000000),
	NUMBER(adaptive_poll_us, 0, 1000000),
	NUMBER(adaptive_pause_us, 0, 1000000),
};

/* The options, and what they point at: each in memory of exactly its size. */
static struct weir_options o;
static char *name;
static unsigned int *lcores, *spare_lcores;
static cpu_set_t *cpus;

static unsigned int
number_of(const struct number *n)
{
	unsigned int v;

	memcpy(&v, (const char *)&o + n->offset, sizeof(v));
	return v;
}

/* Near a bound more often than not. */
static void
set_number(struct fuzz_input *in)
{
	const struct number *n = &numbers[fuzz_below(in, RTE_DIM(numbers))];
	unsigned int v;

	switch (fuzz_below(in, 4)) {
	case 0:
		v = n->min + fuzz_below(in, 3) - 1;
		break;
	case 1:
		v = n->max + fuzz_below(in, 3) - 1;
		break;
	case 2:
		v = 1u << fuzz_below(in, 32);
		break;
	default:
		v = fuzz_u32(in);
	}
	memcpy((char *)&o + n->offset, &v, sizeof(v));
}

/* An array of lcores, which is as long as the count says up to some length. */
static unsigned int *
take_lcores(struct fuzz_input *in, unsigned int *count)
{
	unsigned int n, i, *array;

	n = fuzz_below(in, ARRAY_MAX);
	*count = n < ARRAY_MAX - 1 ? n : fuzz_u32(in);
	if (*count == 0)
		return NULL;
	n = RTE_MIN(*count, ARRAY_MAX);
	array = malloc(n * sizeof(*array));
	fuzz_check(array != NULL);
	for (i = 0; i < n; i++) {
		array[i] = fuzz_below(in, 8);
		if (array[i] > rte_lcore_count())
			array[i] = fuzz_u32(in);
	}
	return array;
}

static void
set_cpus(struct fuzz_input *in)
{
	free(cpus);
	cpus = calloc(1, sizeof(*cpus));
	fuzz_check(cpus != NULL);
	memcpy(cpus, &(uint64_t){ fuzz_u64(in) }, sizeof(uint64_t));
	o.blocking_cpus = cpus;
}

static void
set_field(struct fuzz_input *in)
{
	int n;

	switch (fuzz_below(in, 8)) {
	case 0:
		free(name);
		name = fuzz_string(in, fuzz_below(in, 200));
		o.name = name;
		break;
	case 1:
		free(lcores);
		lcores = take_lcores(in, &o.nb_workers);
		o.lcores = lcores;
		break;
	case 2:
		free(spare_lcores);
		spare_lcores = take_lcores(in, &o.nb_spare_lcores);
		o.spare_lcores = spare_lcores;
		break;
	case 3:
		o.nb_workers = fuzz_below(in, 8);
		/* Those given are as many. */
		if (o.nb_workers > 0)
			o.lcores = NULL;
		break;
	case 4:
		o.current_thread = fuzz_below(in, 2) != 0;
		break;
	case 5:
		o.park = (enum weir_park)(fuzz_below(in, 7) - 1);
		break;
	case 6:
		/* It takes a thread to find out: seldom. */
		n = (int)fuzz_below(in, 16);
		if (n == 0)
			set_cpus(in);
		else if (n < 5)
			o.on_failure = (enum weir_failure)(n - 2);
		break;
	case 7:
		set_number(in);
		break;
	}
}

static bool
is_valid_name(void)
{
	const char *c;

	if (o.name == NULL || o.name[0] == '\0' || strlen(o.name) > 8 ||
	    strchr(o.name, ',') != NULL)
		return false;
	for (c = o.name; *c != '\0'; c++)
		if (*c < ' ' || *c > '~')
			return false;
	return true;
}

static bool
is_valid_number(const struct number *n)
{
	unsigned int v = number_of(n);

	if (v < n->min || v > n->max)
		return false;
	if (n->offset == offsetof(struct weir_options, inject_ring_size))
		return __builtin_popcount(v) == 1;
	if (n->offset == offsetof(struct weir_options, inject_interval))
		return v != 1;
	return true;
}

/* Worker lcores of EAL's, none of them in `seen`. */
static bool
are_valid_lcores(const unsigned int *array, unsigned int n, uint64_t *seen)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (array[i] == 0 || array[i] > WORKER_LCORES ||
		    *seen >> array[i] & 1)
			return false;
		*seen |= UINT64_C(1) << array[i];
	}
	return true;
}

static unsigned int
count_workers(void)
{
	return o.nb_workers != 0 ? o.nb_workers : WORKER_LCORES;
}

static bool
is_valid_nb_workers(void)
{
	return o.nb_workers <= WORKER_LCORES &&
	       (o.lcores == NULL || o.nb_workers > 0);
}

/* Beside workers as many as there may be. */
static bool
is_valid_nb_spares(void)
{
	return o.nb_spare_lcores <= WORKER_LCORES - count_workers() &&
	       (o.nb_spare_lcores == 0 || o.spare_lcores != NULL);
}

/* Puts the workers' lcores into `seen`. */
static bool
are_valid_workers(uint64_t *seen)
{
	if (o.lcores != NULL)
		return are_valid_lcores(o.lcores, o.nb_workers, seen);
	*seen = ((UINT64_C(1) << count_workers()) - 1) << 1;
	return true;
}

static bool
are_valid_spares(uint64_t seen)
{
	return are_valid_lcores(o.spare_lcores, o.nb_spare_lcores, &seen);
}

/* Is the field that a line begins with out of its bounds? */
static bool
is_at_fault(const char *field, size_t length)
{
	uint64_t seen = 0;
	unsigned int i;

#define IS(text) (strlen(text) == length && memcmp(field, text, length) == 0)
	for (i = 0; i < RTE_DIM(numbers); i++)
		if (IS(numbers[i].name))
			return !is_valid_number(&numbers[i]);
	if (IS("name"))
		return !is_valid_name();
	if (IS("park"))
		return (unsigned int)o.park > WEIR_PARK_ADAPTIVE;
	if (IS("on_failure"))
		return (unsigned int)o.on_failure > WEIR_FAILURE_SHUTDOWN;
	if (IS("blocking_cpus"))
		return o.blocking_cpus != NULL;
	if (o.current_thread)
		return false;
	if (IS("nb_workers"))
		return !is_valid_nb_workers();
	if (!is_valid_nb_workers())
		return false;
	if (IS("nb_spare_lcores"))
		return !is_valid_nb_spares();
	if (!is_valid_nb_spares())
		return false;
	if (IS("lcores"))
		return !are_valid_workers(&seen);
	return IS("spare_lcores") && are_valid_workers(&seen) &&
	       !are_valid_spares(seen);
#undef IS
}

/* Everything but blocking_cpus, which this machine decides on. */
static bool
is_valid(void)
{
	uint64_t seen = 0;
	unsigned int i;

	for (i = 0; i < RTE_DIM(numbers); i++)
		if (!is_valid_number(&numbers[i]))
			return false;
	return is_valid_name() && (unsigned int)o.park <= WEIR_PARK_ADAPTIVE &&
	       (unsigned int)o.on_failure <= WEIR_FAILURE_SHUTDOWN &&
	       (o.current_thread ||
		(is_valid_nb_workers() && is_valid_nb_spares() &&
		 are_valid_workers(&seen) && are_valid_spares(seen)));
}

/* The places that the options mean. */
static void
check_places(void)
{
	struct place places[RTE_MAX_LCORE];
	unsigned int n = weir__options_places(&o, places), i;
	unsigned int workers = count_workers();
	uint64_t seen = 0;

	if (o.current_thread) {
		fuzz_check(n == 1 && places[0].lcore == LCORE_ID_ANY);
		return;
	}
	fuzz_check(n == workers + o.nb_spare_lcores);
	for (i = 0; i < n; i++) {
		fuzz_check(are_valid_lcores(&places[i].lcore, 1, &seen));
		if (i >= workers)
			fuzz_check(places[i].lcore ==
				   o.spare_lcores[i - workers]);
		else if (o.lcores != NULL)
			fuzz_check(places[i].lcore == o.lcores[i]);
	}
}

/* One line: a field that is at fault, and its value. */
static void
check_error(const char *error)
{
	size_t length = strcspn(error, ":"), i;
	char value[16];

	fuzz_check(error[length] == ':' && is_at_fault(error, length));
	for (i = 0; error[i] != '\0'; i++)
		fuzz_check((unsigned char)error[i] >= ' ' && error[i] != 0x7f);
	for (i = 0; i < RTE_DIM(numbers); i++) {
		if (strncmp(numbers[i].name, error, length) != 0)
			continue;
		snprintf(value, sizeof(value), ": %u ", number_of(&numbers[i]));
		fuzz_check(strstr(error, value) == error + length);
	}
}

/* A refusal does not depend on the room for its line. */
static void
check_room(const char *error, size_t room)
{
	char *small = malloc(room);

	fuzz_check(small != NULL);
	fuzz_check(weir_options_validate(&o, NULL, 0) == -EINVAL);
	fuzz_check(weir_options_validate(&o, small, room) == -EINVAL);
	fuzz_check(room == 0 ||
		   (strnlen(small, room) == RTE_MIN(strlen(error), room - 1) &&
		    strncmp(small, error, strlen(small)) == 0));
	free(small);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	fuzz_eal_init();
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	size_t room = fuzz_below(&in, 60);
	char error[ERROR_SIZE] = "";
	int rc;

	weir_options_init(&o);
	while (in.left > 0)
		set_field(&in);
	rc = weir_options_validate(&o, error, sizeof(error));
	if (rc == 0) {
		fuzz_check(is_valid() && error[0] == '\0');
		check_places();
	} else {
		fuzz_check(rc == -EINVAL);
		fuzz_check(!is_valid() || o.blocking_cpus != NULL);
		check_error(error);
		check_room(error, room);
	}
	free(name);
	free(lcores);
	free(spare_lcores);
	free(cpus);
	name = NULL;
	lcores = NULL;
	spare_lcores = NULL;
	cpus = NULL;
	return 0;
}
