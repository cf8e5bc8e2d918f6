/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "topology/id_set.h"

unsigned int
weir__id_set_count(const struct id_set *s)
{
	unsigned int i, n = 0;

	for (i = 0; i < RTE_DIM(s->words); i++)
		n += (unsigned int)__builtin_popcountll(s->words[i]);
	return n;
}

unsigned int
weir__id_set_next(const struct id_set *s, unsigned int from)
{
	unsigned int i = from / 64;
	uint64_t word;

	if (from >= ID_SET_MAX)
		return ID_SET_MAX;
	word = s->words[i] & UINT64_MAX << from % 64;
	while (word == 0) {
		if (++i == RTE_DIM(s->words))
			return ID_SET_MAX;
		word = s->words[i];
	}
	return i * 64 + (unsigned int)__builtin_ctzll(word);
}

void
weir__id_set_intersect(struct id_set *s, const struct id_set *other)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(s->words); i++)
		s->words[i] &= other->words[i];
}

void
weir__id_set_unite(struct id_set *s, const struct id_set *other)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(s->words); i++)
		s->words[i] |= other->words[i];
}

/* A number of the list, at least `min`; moves on behind it. */
static int
parse_id(const char **at, unsigned int min, unsigned int *id)
{
	unsigned long v;
	char *end;

	if (!isdigit((unsigned char)**at))
		return -EINVAL;
	v = strtoul(*at, &end, 10);
	if (v < min || v >= ID_SET_MAX)
		return -EINVAL;
	*id = (unsigned int)v;
	*at = end;
	return 0;
}

/* As the numbers rise, each is added once, whatever the text. */
int
weir__id_set_parse(struct id_set *s, const char *text)
{
	unsigned int first, last, next = 0;
	const char *at = text;

	memset(s, 0, sizeof(*s));
	while (*at != '\0') {
		if (at != text && *at++ != ',')
			return -EINVAL;
		if (parse_id(&at, next, &first) < 0)
			return -EINVAL;
		last = first;
		if (*at == '-') {
			at++;
			if (parse_id(&at, first, &last) < 0)
				return -EINVAL;
		}
		for (; first <= last; first++)
			s->words[first / 64] |= UINT64_C(1) << first % 64;
		next = last + 1;
	}
	return 0;
}
