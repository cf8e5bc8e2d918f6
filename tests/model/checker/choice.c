/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choice.h"
#include "kept.h"

struct chosen {
	uint16_t way;
	uint16_t ways; /* 0: given by choices_parse() and not met yet */
};

static struct chosen path[CHOICES_MAX] KEPT;
static unsigned int length KEPT, at KEPT;

void
choices_reset(void)
{
	length = 0;
	at = 0;
}

void
choices_rewind(void)
{
	at = 0;
}

unsigned int
choice(unsigned int n)
{
	struct chosen *c = &path[at];

	if (n == 1)
		return 0;
	if (at == CHOICES_MAX) {
		fprintf(stderr, "model: more than %u choices\n", CHOICES_MAX);
		abort();
	}
	if (at == length) {
		*c = (struct chosen){ .way = 0, .ways = (uint16_t)n };
		length++;
	} else if (c->ways == 0) {
		c->ways = (uint16_t)n;
	}
	/* The execution is a function of its choices, or all of this is vain. */
	if (c->ways != n || c->way >= n) {
		fprintf(stderr,
			"model: choice %u has %u ways and had %u: "
			"the model depends on something else\n",
			at, n, c->ways);
		abort();
	}
	at++;
	return c->way;
}

bool
choices_replayed(void)
{
	return at < length;
}

bool
choices_next(void)
{
	/* What was chosen after a pruned execution's end is no more. */
	length = at;
	while (length > 0 && path[length - 1].way + 1 == path[length - 1].ways)
		length--;
	if (length == 0)
		return false;
	path[length - 1].way++;
	return true;
}

void
choices_print(char *s, unsigned int size)
{
	unsigned int i, end = at;
	int n;

	while (end > 0 && path[end - 1].way == 0)
		end--;
	*s = '\0';
	for (i = 0; i < end && size > 1; i++) {
		n = snprintf(s, size, i > 0 ? ".%u" : "%u", path[i].way);
		if (n < 0 || (unsigned int)n >= size)
			return;
		s += n;
		size -= (unsigned int)n;
	}
}

bool
choices_parse(const char *s)
{
	char *end;

	choices_reset();
	while (*s != '\0' && length < CHOICES_MAX) {
		path[length].way = (uint16_t)strtoul(s, &end, 10);
		path[length++].ways = 0;
		if (end == s || (*end != '.' && *end != '\0'))
			return false;
		s = *end == '.' ? end + 1 : end;
	}
	return true;
}
