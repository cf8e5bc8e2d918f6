/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The parameters of /weir/... in telemetry. An input picks a command, says how
 * far DPDK has memory for the answer, and is its parameters for the rest. Two
 * runtimes are there to be asked about.
 */

#include "fuzz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_telemetry.h>

#include "weir.h"

#define COMMANDS_MAX 16
#define TASKS 40u
#define FIELDS_MAX 4
#define PARAMS_MAX 128 /* one less, and a zero */
#define NEVER UINT_MAX

static struct {
	const char *name;
	telemetry_cb handle;
} commands[COMMANDS_MAX];
static unsigned int nb_commands;

/* One current-thread runtime with tasks and histograms, and one without. */
static struct weir_runtime *busy, *bare;

/* The answer that is being made. */
static struct rte_tel_data *answer;
static unsigned int starts;	/* of the answer */
static unsigned int rows_made;	/* and not freed */
static unsigned int rows_added; /* to the answer */
static struct rte_tel_data *rows[2 * TASKS];
/* How many calls go well before one fails. */
static unsigned int alloc_fails, add_fails;

int
__real_rte_telemetry_register_cmd(const char *cmd, telemetry_cb fn,
				  const char *help);
int
__wrap_rte_telemetry_register_cmd(const char *cmd, telemetry_cb fn,
				  const char *help);
int
__real_rte_tel_data_start_dict(struct rte_tel_data *d);
int
__wrap_rte_tel_data_start_dict(struct rte_tel_data *d);
int
__real_rte_tel_data_start_array(struct rte_tel_data *d,
				enum rte_tel_value_type type);
int
__wrap_rte_tel_data_start_array(struct rte_tel_data *d,
				enum rte_tel_value_type type);
struct rte_tel_data *
__real_rte_tel_data_alloc(void);
struct rte_tel_data *
__wrap_rte_tel_data_alloc(void);
void
__real_rte_tel_data_free(struct rte_tel_data *d);
void
__wrap_rte_tel_data_free(struct rte_tel_data *d);
int
__real_rte_tel_data_add_dict_container(struct rte_tel_data *d, const char *name,
				       struct rte_tel_data *row, int keep);
int
__wrap_rte_tel_data_add_dict_container(struct rte_tel_data *d, const char *name,
				       struct rte_tel_data *row, int keep);

int
__wrap_rte_telemetry_register_cmd(const char *cmd, telemetry_cb fn,
				  const char *help)
{
	fuzz_check(nb_commands < COMMANDS_MAX);
	commands[nb_commands].name = cmd;
	commands[nb_commands++].handle = fn;
	return __real_rte_telemetry_register_cmd(cmd, fn, help);
}

int
__wrap_rte_tel_data_start_dict(struct rte_tel_data *d)
{
	starts += d == answer;
	return __real_rte_tel_data_start_dict(d);
}

int
__wrap_rte_tel_data_start_array(struct rte_tel_data *d,
				enum rte_tel_value_type type)
{
	starts += d == answer;
	return __real_rte_tel_data_start_array(d, type);
}

struct rte_tel_data *
__wrap_rte_tel_data_alloc(void)
{
	struct rte_tel_data *row;

	if (rows_made == alloc_fails)
		return NULL;
	row = __real_rte_tel_data_alloc();
	fuzz_check(row != NULL);
	rows_made++;
	return row;
}

void
__wrap_rte_tel_data_free(struct rte_tel_data *d)
{
	rows_made--;
	__real_rte_tel_data_free(d);
}

int
__wrap_rte_tel_data_add_dict_container(struct rte_tel_data *d, const char *name,
				       struct rte_tel_data *row, int keep)
{
	int rc;

	fuzz_check(d == answer && keep == 0);
	if (rows_added == add_fails)
		return -ENOSPC;
	rc = __real_rte_tel_data_add_dict_container(d, name, row, keep);
	fuzz_check(rc == 0 && rows_added < RTE_DIM(rows));
	rows[rows_added++] = row;
	return rc;
}

/* What there is to say about a request. */
enum verdict {
	VERDICT_NULL,
	VERDICT_DATA,
	VERDICT_EITHER, /* fields that are empty: nothing is promised */
};

struct request {
	unsigned int nb_fields;
	char *fields[FIELDS_MAX];
};

/* Splits at each comma. */
static bool
split(char *text, struct request *r)
{
	bool has_empty = false;
	char *end;

	for (r->nb_fields = 0; r->nb_fields < FIELDS_MAX; text = end + 1) {
		r->fields[r->nb_fields++] = text;
		end = strchr(text, ',');
		has_empty |= *text == '\0' || *text == ',';
		if (end == NULL)
			break;
		*end = '\0';
		if (r->nb_fields == FIELDS_MAX)
			has_empty |= strstr(end + 1, ",,") != NULL ||
				     end[1] == ',' || end[1] == '\0' ||
				     end[strlen(end + 1)] == ',';
	}
	return !has_empty;
}

/* Digits only, and no more than `max`. */
static bool
is_number(const char *text, unsigned int min, unsigned int max, unsigned int *n)
{
	uint64_t v = 0;

	if (*text == '\0')
		return false;
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9')
			return false;
		v = RTE_MIN(v * 10 + (unsigned int)(*text - '0'),
			    (uint64_t)UINT32_MAX);
	}
	*n = (unsigned int)v;
	return v >= min && v <= max;
}

/* The fields behind the name; *nb_rows is how many the answer has. */
static bool
is_good(const char *command, const struct request *r, bool is_busy,
	unsigned int *nb_rows)
{
	unsigned int n = 32;

	*nb_rows = 0;
	if (strcmp(command, "/weir/info") == 0)
		return r->nb_fields == 1;
	if (strcmp(command, "/weir/steals") == 0) {
		*nb_rows = 1;
		return r->nb_fields == 1 ||
		       (r->nb_fields == 2 && is_number(r->fields[1], 0, 0, &n));
	}
	if (strcmp(command, "/weir/worker") == 0 ||
	    strcmp(command, "/weir/node") == 0)
		return r->nb_fields == 2 && is_number(r->fields[1], 0, 0, &n);
	if (strcmp(command, "/weir/tasks") == 0) {
		if (r->nb_fields > 2 ||
		    (r->nb_fields == 2 && !is_number(r->fields[1], 1, 64, &n)))
			return false;
		*nb_rows = is_busy ? RTE_MIN(n, TASKS) : 0;
		return true;
	}
	fuzz_check(strcmp(command, "/weir/histogram") == 0);
	if (r->nb_fields < 2 || r->nb_fields > 3 ||
	    (strcmp(r->fields[1], "poll") != 0 &&
	     strcmp(r->fields[1], "wake") != 0))
		return false;
	return is_busy &&
	       (r->nb_fields == 2 || is_number(r->fields[2], 0, 0, &n));
}

static enum verdict
judge(const char *command, const char *params, unsigned int *nb_rows)
{
	char text[2 * PARAMS_MAX];
	struct request r;
	bool is_busy;

	*nb_rows = 0;
	if (strcmp(command, "/weir/list") == 0)
		return VERDICT_DATA;
	if (params == NULL || strlen(params) >= PARAMS_MAX)
		return VERDICT_NULL;
	strcpy(text, params);
	if (!split(text, &r))
		return VERDICT_EITHER;
	is_busy = strcmp(r.fields[0], "busy") == 0;
	if (!is_busy && strcmp(r.fields[0], "bare") != 0)
		return VERDICT_NULL;
	return is_good(command, &r, is_busy, nb_rows) ? VERDICT_DATA :
							VERDICT_NULL;
}

static int
never(struct weir_context *ctx, void *state)
{
	return WEIR_PENDING;
}

static struct weir_runtime *
create(const char *name, bool histograms)
{
	struct weir_runtime *rt;
	struct weir_options o;

	weir_options_init(&o);
	o.name = name;
	o.current_thread = true;
	o.task_cells = 64;
	o.histograms = histograms;
	rt = weir_runtime_create(&o);
	fuzz_check(rt != NULL);
	return rt;
}

static void
free_runtimes(void)
{
	weir_runtime_free(busy);
	weir_runtime_free(bare);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	static const struct weir_task_ops ops = { .name = "fuzz",
						  .poll = never };
	struct weir_join *join;
	unsigned int i;

	fuzz_eal_init();
	busy = create("busy", true);
	bare = create("bare", false);
	atexit(free_runtimes);
	for (i = 0; i < TASKS; i++) {
		join = weir_task_spawn(busy, &ops, NULL, NULL);
		fuzz_check(join != NULL);
		weir_join_detach(join);
	}
	return 0;
}

/* N2: data or null, and every row is in the answer or freed. */
static void
check_answer(enum verdict verdict, int rc, unsigned int nb_rows)
{
	unsigned int i;

	fuzz_check(rc == 0 || rc < 0);
	fuzz_check(verdict == VERDICT_EITHER ||
		   (verdict == VERDICT_DATA) == (rc == 0));
	fuzz_check(starts == (rc == 0));
	fuzz_check(rows_made == rows_added);
	if (verdict == VERDICT_DATA)
		fuzz_check(rows_added ==
			   RTE_MIN(nb_rows, RTE_MIN(alloc_fails, add_fails)));
	for (i = 0; i < rows_added; i++)
		__real_rte_tel_data_free(rows[i]);
}

/* Few enough to be met, or never. */
static unsigned int
take_limit(struct fuzz_input *in)
{
	uint8_t n = fuzz_u8(in);

	return n < 64 ? n : NEVER;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	unsigned int command = fuzz_below(&in, nb_commands), nb_rows;
	char *params = NULL;
	enum verdict verdict;
	int rc;

	alloc_fails = take_limit(&in);
	add_fails = take_limit(&in);
	if (in.left > 0)
		params = fuzz_string(&in, 2 * PARAMS_MAX - 1);
	verdict = judge(commands[command].name, params, &nb_rows);
	starts = 0;
	rows_made = 0;
	rows_added = 0;
	answer = __real_rte_tel_data_alloc();
	fuzz_check(answer != NULL);
	rc = commands[command].handle(commands[command].name, params, answer);
	check_answer(verdict, rc, nb_rows);
	__real_rte_tel_data_free(answer);
	free(params);
	return 0;
}
