/* SPDX-License-Identifier: BSD-3-Clause */

#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../unit/unit.h"

uint8_t
fuzz_u8(struct fuzz_input *in)
{
	if (in->left == 0)
		return 0;
	in->left--;
	return *in->at++;
}

uint32_t
fuzz_u32(struct fuzz_input *in)
{
	uint32_t v = 0;
	unsigned int i;

	for (i = 0; i < 4; i++)
		v |= (uint32_t)fuzz_u8(in) << (8 * i);
	return v;
}

uint64_t
fuzz_u64(struct fuzz_input *in)
{
	uint64_t low = fuzz_u32(in);

	return low | (uint64_t)fuzz_u32(in) << 32;
}

char *
fuzz_string(struct fuzz_input *in, size_t n)
{
	size_t length = strnlen((const char *)in->at, RTE_MIN(n, in->left));
	char *text = malloc(length + 1);

	fuzz_check(text != NULL);
	memcpy(text, in->at, length);
	text[length] = '\0';
	/* The zero goes as well. */
	n = length < RTE_MIN(n, in->left) ? length + 1 : length;
	in->at += n;
	in->left -= n;
	return text;
}

void
fuzz_failed(const char *condition, const char *file, int line)
{
	/* Not through stderr, which targets may have put elsewhere. */
	dprintf(STDERR_FILENO, "%s:%d: does not hold: %s\n", file, line,
		condition);
	abort();
}

static void
eal_teardown(void)
{
	unit_eal_teardown(NULL);
}

void
fuzz_eal_init(void)
{
	unit_eal_init(NULL);
	atexit(eal_teardown);
}
