/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TOPOLOGY_WORD_H
#define TOPOLOGY_WORD_H

/*
 * Words of an lcore map's text, and what they are made of. Strict: numbers are
 * digits only. What takes something off a word moves its beginning, and may
 * have done so when it returns false.
 */

#include <stdbool.h>
#include <stddef.h>

#define WORD_QUOTED_SIZE 44

struct word {
	const char *at;
	const char *end;
};

/* For an error: it is cut, and has no control characters. */
void
weir__word_quote(const struct word *word, char *text);

bool
weir__word_is(const struct word *word, const char *text);

/* Is it all a number below the limit? */
bool
weir__word_is_number(const struct word *word, unsigned int limit,
		     unsigned int *number);

/*
 * A PCI address, [DOMAIN:]BUS:DEVICE.FUNCTION as EAL has it. It is written as
 * the kernel does, in 16 bytes at most.
 */
bool
weir__word_is_address(const struct word *word, char *address, size_t size);

/* Does it begin so, with "cpus=" for example? What follows is the value. */
bool
weir__word_has_name(const struct word *word, const char *name,
		    struct word *value);

bool
weir__word_take_char(struct word *word, char c);

/* Digits that are a number below the limit. */
bool
weir__word_take_number(struct word *word, unsigned int limit,
		       unsigned int *number);

/* A, or A-B with A at most B. */
bool
weir__word_take_range(struct word *word, unsigned int limit,
		      unsigned int *first, unsigned int *last);

#endif
