/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The command line of weir-testpmd against its own rules, read once more. An
 * input is a command line as one would type it: words with one space between.
 */

#include "fuzz.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "forward.h"
#include "line.h"
#include "options.h"
#include "status.h"

#define WORDS_MAX 64
#define TEXT_MAX 40000 /* more than the longest --config */
#define SECOND_NS 1000000000.0

/* What a command line, or a part of it, should come to. */
enum verdict {
	VERDICT_GOOD,
	VERDICT_BAD,
	VERDICT_CLASH,	/* each by itself is good */
	VERDICT_EITHER, /* nothing is promised */
};

/* What was read, and what should have been. */
static struct options got, expected;

/* The two that are times, in seconds; less than 0: not given. */
static double stats_period, run_for;

/* Digits, `most` of them; what is beyond 2^58 is taken as that. */
static bool
read_digits(const char **text, size_t most, uint64_t *number)
{
	const char *begin = *text;

	*number = 0;
	for (; isdigit((unsigned char)**text) && most > 0; (*text)++, most--)
		*number = RTE_MIN(*number * 10 + (uint64_t)(**text - '0'),
				  UINT64_C(1) << 58);
	return *text != begin;
}

static const struct number {
	const char *name;
	size_t offset;
	size_t size;
	uint64_t max;
} numbers[] = {
#define NUMBER(name, field, max)                                   \
	{                                                          \
		name, offsetof(struct options, field),             \
			sizeof(((struct options *)0)->field), max, \
	}
	NUMBER("nb-cores", nb_cores, RTE_MAX_LCORE),
	NUMBER("rxq", rxq, RTE_MAX_QUEUES_PER_PORT),
	NUMBER("txq", txq, RTE_MAX_QUEUES_PER_PORT),
	NUMBER("rxd", rxd, 32768),
	NUMBER("txd", txd, 32768),
	NUMBER("burst", burst, 512),
	NUMBER("tx-first-bursts", tx_first, 1024),
	NUMBER("total-num-mbufs", nb_mbufs, (1u << 30) - 1),
};

static enum verdict
judge_number(const char *name, const char *value)
{
	const struct number *n = numbers;
	uint64_t number;

	while (strcmp(n->name, name) != 0)
		n++;
	if (!read_digits(&value, SIZE_MAX, &number) || *value != '\0' ||
	    number == 0 || number > n->max)
		return VERDICT_BAD;
	/* Little-endian, as the fuzz builds are. */
	memcpy((char *)&expected + n->offset, &number, n->size);
	return VERDICT_GOOD;
}

/* Digits and one point at most. */
static bool
is_plain_decimal(const char *text)
{
	const char *fraction;
	uint64_t unused;

	if (!read_digits(&text, SIZE_MAX, &unused))
		return false;
	if (*text != '.')
		return *text == '\0';
	fraction = ++text;
	return read_digits(&text, SIZE_MAX, &unused) && *text == '\0' &&
	       text != fraction;
}

static enum verdict
judge_seconds(const char *name, const char *value)
{
	bool is_period = strcmp(name, "stats-period") == 0;
	double seconds = strtod(value, NULL);

	if (strpbrk(value, "0123456789") == NULL ||
	    strchr("0123456789.", value[0]) == NULL ||
	    strpbrk(value, "xX") != NULL)
		return VERDICT_BAD;
	if (!is_plain_decimal(value))
		return VERDICT_EITHER;
	if (seconds > 1e9 || (seconds == 0 && !is_period) ||
	    (seconds * SECOND_NS < 1 && strpbrk(value, "123456789") != NULL))
		return VERDICT_BAD;
	*(is_period ? &stats_period : &run_for) = seconds;
	return VERDICT_GOOD;
}

/* 0 has a meaning of its own, which no other time may get. */
static void
check_seconds(double seconds, uint64_t ns)
{
	if (seconds < 0)
		seconds = 0;
	fuzz_check((seconds == 0) == (ns == 0));
	fuzz_check(fabs((double)ns - seconds * SECOND_NS) <= 1);
}

static enum verdict
judge_forward_mode(const char *name, const char *value)
{
	static const struct forward_mode *const modes[] = {
		&forward_mode_io,      &forward_mode_mac,
		&forward_mode_macswap, &forward_mode_rxonly,
		&forward_mode_txonly,
	};
	unsigned int i;

	for (i = 0; i < RTE_DIM(modes); i++) {
		if (strcmp(modes[i]->name, value) == 0) {
			expected.mode = modes[i];
			return VERDICT_GOOD;
		}
	}
	return VERDICT_BAD;
}

static enum verdict
judge_park(const char *name, const char *value)
{
	if (strcmp(value, "poll") == 0)
		expected.park = WEIR_PARK_POLL;
	else if (strcmp(value, "pause") == 0)
		expected.park = WEIR_PARK_PAUSE;
	else if (strcmp(value, "interrupt") == 0)
		expected.park = WEIR_PARK_INTERRUPT;
	else if (strcmp(value, "adaptive") == 0)
		expected.park = WEIR_PARK_ADAPTIVE;
	else
		return VERDICT_BAD;
	return VERDICT_GOOD;
}

static enum verdict
judge_portmask(const char *name, const char *value)
{
	uint64_t mask = 0;

	if (value[0] == '0' && tolower(value[1]) == 'x')
		value += 2;
	if (*value == '\0')
		return VERDICT_BAD;
	for (; *value != '\0'; value++) {
		if (!isxdigit((unsigned char)*value) || mask >> 60 != 0)
			return VERDICT_BAD;
		mask = mask << 4 |
		       (unsigned int)(isdigit((unsigned char)*value) ?
					      *value - '0' :
					      tolower(*value) - 'a' + 10);
	}
	expected.portmask = mask;
	return mask != 0 ? VERDICT_GOOD : VERDICT_BAD;
}

/* One (port,queue,lcore), added to the map that is expected. */
static bool
read_config_entry(const char **text)
{
	struct weir_lcore_map *map = expected.map;
	struct weir_lcore_map_lcore *l;
	uint64_t n[3];
	unsigned int i, j;

	if (*(*text)++ != '(')
		return false;
	for (i = 0; i < 3; i++)
		if (!read_digits(text, SIZE_MAX, &n[i]) ||
		    *(*text)++ != (i < 2 ? ',' : ')'))
			return false;
	if (n[0] >= RTE_MAX_ETHPORTS || n[1] >= RTE_MAX_QUEUES_PER_PORT ||
	    n[2] >= RTE_MAX_LCORE)
		return false;
	for (i = 0; i < map->nb_lcores; i++)
		for (j = 0; j < map->lcores[i].nb_queues; j++)
			if (map->lcores[i].queues[j].port == n[0] &&
			    map->lcores[i].queues[j].queue == n[1])
				return false;
	for (i = 0; i < map->nb_lcores; i++)
		if (map->lcores[i].lcore == n[2])
			break;
	l = &map->lcores[i];
	if (i == map->nb_lcores) {
		map->nb_lcores++;
		*l = (struct weir_lcore_map_lcore){ .lcore = (unsigned int)n[2],
						    .node = -1,
						    .park = -1 };
		l->queues = calloc(TEXT_MAX / 7, sizeof(*l->queues));
		fuzz_check(l->queues != NULL);
	}
	l->queues[l->nb_queues++] =
		(struct weir_lcore_map_queue){ (uint16_t)n[0], (uint16_t)n[1] };
	return true;
}

/* The one option that gave a map may do so again, the other not. */
static bool
begin_map(const char *name, const char *value)
{
	if (expected.map_option != NULL &&
	    strcmp(expected.map_option, name) != 0)
		return false;
	expected.map_option = name;
	expected.map_value = value;
	expected.map_file = NULL;
	options_free(&expected);
	return true;
}

static enum verdict
judge_config(const char *name, const char *value)
{
	struct weir_lcore_map *map;

	if (value[0] != '(' || value[strspn(value, "(),0123456789")] != '\0')
		return VERDICT_BAD;
	if (!begin_map(name, value))
		return VERDICT_CLASH;
	map = calloc(1, sizeof(*map));
	fuzz_check(map != NULL);
	map->lcores = calloc(RTE_MAX_LCORE, sizeof(*map->lcores));
	fuzz_check(map->lcores != NULL);
	expected.map = map;
	for (;;) {
		if (!read_config_entry(&value))
			return VERDICT_BAD;
		if (*value == '\0')
			return VERDICT_GOOD;
		if (*value++ != ',')
			return VERDICT_BAD;
	}
}

/* What the text of a map may be is for fuzz_lcore_map.c to say. */
static enum verdict
judge_map(const char *name, const char *value)
{
	if (value[0] == '\0')
		return VERDICT_BAD;
	if (!begin_map(name, value))
		return VERDICT_CLASH;
	if (!weir_lcore_map_is_text(value)) {
		expected.map_file = value;
		return VERDICT_GOOD;
	}
	expected.map = weir_lcore_map_parse(value, NULL, 0);
	return expected.map != NULL ? VERDICT_GOOD : VERDICT_BAD;
}

/* They are equal, and then no part of the comparison any more. */
static void
check_maps(void)
{
	static char texts[2][4 * TEXT_MAX];

	fuzz_check((got.map != NULL) == (expected.map != NULL));
	fuzz_check((got.map_option != NULL) == (expected.map_option != NULL));
	if (got.map_option != NULL)
		fuzz_check(strcmp(got.map_option, expected.map_option) == 0);
	got.map_option = expected.map_option = NULL;
	if (got.map == NULL)
		return;
	weir_lcore_map_format(got.map, texts[0], sizeof(texts[0]));
	weir_lcore_map_format(expected.map, texts[1], sizeof(texts[1]));
	fuzz_check(strcmp(texts[0], texts[1]) == 0);
	options_free(&got);
	options_free(&expected);
}

static enum verdict
judge_eth_peer(const char *name, const char *value)
{
	struct rte_ether_addr addr;
	uint64_t port;

	if (!read_digits(&value, 5, &port) || *value++ != ',' ||
	    port >= RTE_MAX_ETHPORTS ||
	    rte_ether_unformat_addr(value, &addr) != 0)
		return VERDICT_BAD;
	expected.eth_peer[port] = addr;
	expected.has_peer[port] = true;
	return VERDICT_GOOD;
}

static enum verdict
judge_flag(const char *name, const char *value)
{
	if (strcmp(name, "tx-first") == 0)
		expected.tx_first = RTE_MAX(expected.tx_first, 1);
	if (strcmp(name, "help") == 0)
		expected.help = true;
	return VERDICT_GOOD;
}

static const struct rule {
	const char *name;
	enum verdict (*judge)(const char *name, const char *value);
} rules[] = {
	{ "forward-mode", judge_forward_mode },
	{ "nb-cores", judge_number },
	{ "rxq", judge_number },
	{ "txq", judge_number },
	{ "rxd", judge_number },
	{ "txd", judge_number },
	{ "burst", judge_number },
	{ "park", judge_park },
	{ "config", judge_config },
	{ "map", judge_map },
	{ "portmask", judge_portmask },
	{ "total-num-mbufs", judge_number },
	{ "eth-peer", judge_eth_peer },
	{ "tx-first", judge_flag },
	{ "tx-first-bursts", judge_number },
	{ "stats-period", judge_seconds },
	{ "run-for", judge_seconds },
	{ "auto-start", judge_flag },
	{ "help", judge_flag },
};

/* The option of that name, or of which that is the beginning and of no other. */
static const struct rule *
find_rule(const char *name, size_t length)
{
	const struct rule *found = NULL;
	unsigned int i, n = 0;

	for (i = 0; i < RTE_DIM(rules); i++) {
		if (strncmp(rules[i].name, name, length) != 0)
			continue;
		if (rules[i].name[length] == '\0')
			return &rules[i];
		found = &rules[i];
		n++;
	}
	return n == 1 ? found : NULL;
}

/* What a refusal has to begin with. */
struct fault {
	const char *name; /* NULL: the text is all there is */
	const char *text;
};

/* Judges the option at words[*i], and leaves *i behind it. */
static enum verdict
judge_option(char **words, int *i, struct fault *fault)
{
	const char *word = words[(*i)++], *name, *value;
	const struct rule *rule;
	size_t length;

	*fault = (struct fault){ NULL, word };
	if (strncmp(word, "--", 2) != 0)
		return VERDICT_BAD;
	name = word + 2;
	length = strcspn(name, "=");
	rule = find_rule(name, length);
	if (rule == NULL)
		return VERDICT_BAD;
	value = name[length] == '=' ? name + length + 1 : NULL;
	if (rule->judge == judge_flag) {
		if (value != NULL)
			return VERDICT_BAD;
	} else if (value == NULL) {
		value = words[*i];
		if (value == NULL)
			return VERDICT_BAD;
		(*i)++;
	}
	*fault = (struct fault){ rule->name, value };
	return rule->judge(rule->name, value);
}

static enum verdict
judge_words(char **words, struct fault *fault)
{
	enum verdict verdict;
	int i = 1;

	while (words[i] != NULL) {
		if (strcmp(words[i], "--") == 0) {
			*fault = (struct fault){ NULL, words[i + 1] };
			return words[i + 1] == NULL ? VERDICT_GOOD :
						      VERDICT_BAD;
		}
		verdict = judge_option(words, &i, fault);
		if (verdict != VERDICT_GOOD)
			return verdict;
	}
	return VERDICT_GOOD;
}

/* Skips the text, in which a line shows unprintable characters as others. */
static const char *
skip_text(const char *line, const char *text)
{
	for (; *text != '\0'; text++, line++)
		fuzz_check(*line == *text ||
			   (iscntrl((unsigned char)*text) && *line == '?'));
	return line;
}

/* It names the option and the value. */
static void
check_fault(const char *line, const struct fault *fault)
{
	line += strlen(LINE_BEGIN);
	if (fault->name != NULL) {
		line = skip_text(line, "--");
		line = skip_text(line, fault->name);
		line = skip_text(line, " ");
	}
	line = skip_text(line, fault->text);
	fuzz_check(strncmp(line, ": ", 2) == 0);
}

static void
check_bounds(void)
{
	fuzz_check(got.mode != NULL);
	fuzz_check((unsigned int)got.park <= WEIR_PARK_ADAPTIVE);
	fuzz_check(got.nb_cores <= RTE_MAX_LCORE);
	fuzz_check(got.rxq <= RTE_MAX_QUEUES_PER_PORT);
	fuzz_check(got.txq <= RTE_MAX_QUEUES_PER_PORT);
	fuzz_check(got.rxd >= 1 && got.rxd <= 32768);
	fuzz_check(got.txd >= 1 && got.txd <= 32768);
	fuzz_check(got.burst >= 1 && got.burst <= WEIR_BURST_MAX);
	fuzz_check(got.nb_mbufs < 1u << 30);
	fuzz_check(got.map == NULL || got.map_file == NULL);
}

static void
check(char **words, int status, const char *line)
{
	struct fault fault = { NULL, "" };
	enum verdict verdict = judge_words(words, &fault);

	fuzz_check((verdict == VERDICT_CLASH) == (status == STATUS_FAILED));
	fuzz_check(verdict != VERDICT_GOOD || status == STATUS_OK);
	fuzz_check(verdict != VERDICT_BAD || status == STATUS_USAGE);
	if (status == STATUS_OK) {
		fuzz_check(line[0] == '\0');
		check_bounds();
	} else {
		line_check(line);
	}
	if (verdict == VERDICT_GOOD) {
		check_seconds(stats_period, got.stats_period_ns);
		check_seconds(run_for, got.run_for_ns);
		expected.stats_period_ns = got.stats_period_ns;
		expected.run_for_ns = got.run_for_ns;
		check_maps();
		fuzz_check(memcmp(&got, &expected, sizeof(got)) == 0);
	}
	if (verdict == VERDICT_BAD || verdict == VERDICT_CLASH)
		check_fault(line, &fault);
}

/* A copy of the words, each in memory of exactly its size. */
static int
take_words(struct fuzz_input *in, char **words)
{
	const char *space;
	int n = 0;

	words[n++] = fuzz_string(in, 0);
	while (in->left > 0 && n < WORDS_MAX) {
		space = memchr(in->at, ' ', in->left);
		words[n++] = fuzz_string(
			in, space != NULL ?
				    (size_t)((const uint8_t *)space - in->at) :
				    in->left);
		if (in->left > 0 && *in->at == ' ')
			fuzz_u8(in);
	}
	words[n] = NULL;
	return n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	char *words[WORDS_MAX + 1], *line;
	int argc, status, i;

	if (size > TEXT_MAX)
		return 0;
	argc = take_words(&in, words);
	fuzz_check(options_parse(1, words, &expected) == STATUS_OK);
	stats_period = -1;
	run_for = -1;
	line_begin();
	status = options_parse(argc, words, &got);
	line = line_end();
	check(words, status, line);
	free(line);
	options_free(&got);
	options_free(&expected);
	for (i = 0; i < argc; i++)
		free(words[i]);
	return 0;
}
