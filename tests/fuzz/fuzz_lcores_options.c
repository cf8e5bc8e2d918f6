/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The command line of weir-lcores. An input is a command line as one would type
 * it: words with one space between. It is taken within all bounds, or refused
 * in one line that quotes a word of it or names what is missing.
 */

#include "fuzz.h"

#include <ctype.h>
#include <stdlib.h>

#define LINE_BEGIN "weir-lcores: "

#include "../../tools/lcores/options.h"
#include "../../tools/lcores/status.h"
#include "line.h"

#define WORDS_MAX 64
#define TEXT_MAX 4000
/* So much of a long list of ports is quoted. */
#define QUOTE_MAX 32

static bool
is_known_word(char **words, const char *text)
{
	for (; *words != NULL; words++)
		/* An option's value may follow a "=". */
		if (text >= *words && text <= *words + strlen(*words))
			return true;
	return false;
}

static void
check_pointers(const struct options *o, char **words)
{
	const char *const texts[] = { o->from, o->map, o->svg, o->operands[0],
				      o->operands[1] };
	unsigned int i;

	for (i = 0; i < RTE_DIM(texts); i++)
		fuzz_check(texts[i] == NULL || is_known_word(words, texts[i]));
}

static void
check_ports(const struct options *o)
{
	unsigned int i;

	fuzz_check(o->ports.n <= RTE_MAX_ETHPORTS);
	if (o->ports.counted) {
		fuzz_check(o->command == COMMAND_SUGGEST && o->ports.n > 0);
		return;
	}
	for (i = 0; i < o->ports.n; i++) {
		fuzz_check(strlen(o->ports.addresses[i]) >=
			   strlen("0000:00:00.0"));
		/* Those of a length are in the order of their text. */
		fuzz_check(i == 0 ||
			   strlen(o->ports.addresses[i - 1]) <
				   strlen(o->ports.addresses[i]) ||
			   strcmp(o->ports.addresses[i - 1],
				  o->ports.addresses[i]) < 0);
	}
}

static void
check_options(const struct options *o, char **words)
{
	static const unsigned int operands[] = {
		[COMMAND_SHOW] = 0,    [COMMAND_CHECK] = 1,
		[COMMAND_SUGGEST] = 0, [COMMAND_RECORD] = 1,
		[COMMAND_DIFF] = 2,
	};
	unsigned int i;

	fuzz_check((unsigned int)o->command < RTE_DIM(operands));
	for (i = 0; i < RTE_DIM(o->operands) && !o->help; i++)
		fuzz_check((o->operands[i] != NULL) ==
			   (i < operands[o->command]));
	check_pointers(o, words);
	check_ports(o);
	fuzz_check(o->queues <= RTE_MAX_QUEUES_PER_PORT);
	fuzz_check(o->workers <= OPTIONS_WORKERS_MAX);
	fuzz_check(o->mpps >= 0 && o->mpps <= 10000);
	fuzz_check((o->help || o->core_mpps > 0) && o->core_mpps <= 10000);
	fuzz_check(o->help || o->command != COMMAND_SUGGEST || o->ports.n > 0);
}

/* Is it at the text's begin, and the mark behind it? */
static bool
quotes(const char *text, const char *word, size_t most, const char *mark)
{
	for (; *word != '\0' && most > 0; word++, text++, most--)
		if (*text != *word &&
		    !(iscntrl((unsigned char)*word) && *text == '?'))
			return false;
	return strncmp(text, mark, strlen(mark)) == 0;
}

static bool
quotes_value(const char *text, const char *value)
{
	return quotes(text, value, SIZE_MAX, ": ") ||
	       quotes(text, value, QUOTE_MAX, "...: ");
}

/* "WORD: ", or "--NAME VALUE: ", whatever was written of the name. */
static bool
quotes_a_word(const char *text, char **words)
{
	const char *value =
		strncmp(text, "--", 2) == 0 ? strchr(text, ' ') : NULL;
	const char *equals;

	for (; *words != NULL; words++) {
		equals = strchr(*words, '=');
		if (quotes(text, *words, SIZE_MAX, ": ") ||
		    (value != NULL && quotes_value(value + 1, *words)) ||
		    (value != NULL && equals != NULL &&
		     quotes_value(value + 1, equals + 1)))
			return true;
	}
	return false;
}

static void
check_refusal(const char *line, char **words)
{
	line_check(line);
	line += strlen(LINE_BEGIN);
	if (words[1] == NULL)
		fuzz_check(strncmp(line, "needs a command: ", 17) == 0);
	else
		fuzz_check(quotes_a_word(line, words + 1));
}

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
	struct options options;
	int argc, status, i;

	if (size > TEXT_MAX)
		return 0;
	argc = take_words(&in, words);
	line_begin();
	status = options_parse(argc, words, &options);
	line = line_end();
	fuzz_check(status == STATUS_OK || status == STATUS_TROUBLE);
	if (status == STATUS_OK) {
		fuzz_check(line[0] == '\0');
		check_options(&options, words);
	} else {
		check_refusal(line, words);
	}
	free(line);
	for (i = 0; i < argc; i++)
		free(words[i]);
	return 0;
}
