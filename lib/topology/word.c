/* SPDX-License-Identifier: BSD-3-Clause */

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "topology/word.h"

#define QUOTE_MOST 40

static_assert(QUOTE_MOST + sizeof("...") == WORD_QUOTED_SIZE,
	      "a quote that is cut fits");

void
weir__word_quote(const struct word *word, char *text)
{
	size_t length = (size_t)(word->end - word->at), i;
	bool cut = length > QUOTE_MOST;

	if (cut)
		length = QUOTE_MOST;
	for (i = 0; i < length; i++)
		text[i] =
			iscntrl((unsigned char)word->at[i]) ? '?' : word->at[i];
	strcpy(text + i, cut ? "..." : "");
}

bool
weir__word_is(const struct word *word, const char *text)
{
	size_t length = strlen(text);

	return (size_t)(word->end - word->at) == length &&
	       memcmp(word->at, text, length) == 0;
}

bool
weir__word_has_name(const struct word *word, const char *name,
		    struct word *value)
{
	size_t length = strlen(name);

	if ((size_t)(word->end - word->at) < length ||
	    memcmp(word->at, name, length) != 0)
		return false;
	*value = (struct word){ word->at + length, word->end };
	return true;
}

bool
weir__word_take_number(struct word *word, unsigned int limit,
		       unsigned int *number)
{
	const char *begin = word->at;
	unsigned int n = 0;

	for (; word->at < word->end && isdigit((unsigned char)*word->at);
	     word->at++) {
		n = n * 10 + (unsigned int)(*word->at - '0');
		if (n >= limit)
			return false;
	}
	*number = n;
	return word->at != begin;
}

bool
weir__word_take_char(struct word *word, char c)
{
	if (word->at == word->end || *word->at != c)
		return false;
	word->at++;
	return true;
}

bool
weir__word_take_range(struct word *word, unsigned int limit,
		      unsigned int *first, unsigned int *last)
{
	if (!weir__word_take_number(word, limit, first))
		return false;
	*last = *first;
	if (!weir__word_take_char(word, '-'))
		return true;
	return weir__word_take_number(word, limit, last) && *last >= *first;
}

bool
weir__word_is_number(const struct word *word, unsigned int limit,
		     unsigned int *number)
{
	struct word rest = *word;

	return weir__word_take_number(&rest, limit, number) &&
	       rest.at == rest.end;
}

static bool
take_hex(struct word *word, size_t least, size_t most, unsigned int limit,
	 unsigned int *number)
{
	size_t n;

	*number = 0;
	for (n = 0; word->at < word->end && isxdigit((unsigned char)*word->at);
	     n++, word->at++)
		if (n < most)
			*number = *number * 16 +
				  (unsigned int)(isdigit((unsigned char)*word
								 ->at) ?
							 *word->at - '0' :
							 tolower(*word->at) -
								 'a' + 10);
	return n >= least && n <= most && *number < limit;
}

bool
weir__word_is_address(const struct word *word, char *address, size_t size)
{
	unsigned int domain = 0, bus, device, function;
	struct word rest = *word;
	const char *c;
	int colons = 0;

	for (c = word->at; c < word->end; c++)
		colons += *c == ':';
	if (colons == 2 && (!take_hex(&rest, 4, 7, 1u << 28, &domain) ||
			    !weir__word_take_char(&rest, ':')))
		return false;
	if (!take_hex(&rest, 2, 2, 256, &bus) ||
	    !weir__word_take_char(&rest, ':') ||
	    !take_hex(&rest, 2, 2, 32, &device) ||
	    !weir__word_take_char(&rest, '.') ||
	    !take_hex(&rest, 1, 1, 8, &function) || rest.at != rest.end)
		return false;
	snprintf(address, size, "%04x:%02x:%02x.%x", domain, bus, device,
		 function);
	return true;
}
