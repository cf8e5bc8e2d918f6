/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef FUZZ_H
#define FUZZ_H

/*
 * What the fuzz targets share. A target is a program around
 * LLVMFuzzerTestOneInput(), which libFuzzer calls with one input after another;
 * see CONTRIBUTING.md.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>

/* What is left of an input. Where it has ended, zeros follow. */
struct fuzz_input {
	const uint8_t *at;
	size_t left;
};

uint8_t
fuzz_u8(struct fuzz_input *in);

/* Little-endian. */
uint32_t
fuzz_u32(struct fuzz_input *in);
uint64_t
fuzz_u64(struct fuzz_input *in);

/* 0 to n - 1, from one byte: n is at most 256. */
static inline unsigned int
fuzz_below(struct fuzz_input *in, unsigned int n)
{
	return fuzz_u8(in) % n;
}

/*
 * A string of the next bytes, n at most, in memory of exactly its size; a zero
 * byte ends it early. The caller frees it.
 */
char *
fuzz_string(struct fuzz_input *in, size_t n);

/* A property that holds for every input: libFuzzer keeps one that breaks it. */
#define fuzz_check(condition)                                        \
	do {                                                         \
		if (!(condition))                                    \
			fuzz_failed(#condition, __FILE__, __LINE__); \
	} while (0)
void
fuzz_failed(const char *condition, const char *file, int line)
	__attribute__((noreturn));

/*
 * Starts EAL as the unit tests have it, with main lcore 0 and worker lcores 1
 * to 3. For LLVMFuzzerInitialize().
 */
void
fuzz_eal_init(void);

/* Called by libFuzzer: once, if it is there, and with each input. */
int
LLVMFuzzerInitialize(int *argc, char ***argv);
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
