/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef LCORES_ESCAPE_H
#define LCORES_ESCAPE_H

/*
 * Text from elsewhere, such as a recording, which may be anything: what is not
 * printable ASCII becomes a question mark.
 */

#include <stddef.h>
#include <stdio.h>

void
escape_plain(FILE *out, const char *text);

/* For XML, between tags and in attributes. */
void
escape_xml(FILE *out, const char *text);

/* For a string in JSON, whose quotes the caller prints. */
void
escape_json(FILE *out, const char *text);

/* Bytes with the largest unit that divides them: 2 MiB; `size` 32 does. */
const char *
escape_bytes(unsigned long long bytes, char *text, size_t size);

/* Bytes, rounded to a unit of which there is at least one: 62.7 GiB. */
const char *
escape_memory(unsigned long long bytes, char *text, size_t size);

#endif
