/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include <rte_common.h>

#include "escape.h"

static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };

/* Characters of `special` go out as the word at their place. */
static void
escape(FILE *out, const char *text, const char *special,
       const char *const *words)
{
	const char *found;

	for (; *text != '\0'; text++) {
		found = strchr(special, *text);
		if (found != NULL)
			fputs(words[found - special], out);
		else
			fputc(*text >= ' ' && *text <= '~' ? *text : '?', out);
	}
}

void
escape_plain(FILE *out, const char *text)
{
	escape(out, text, "", NULL);
}

void
escape_xml(FILE *out, const char *text)
{
	static const char *const words[] = { "&amp;", "&lt;", "&gt;", "&quot;",
					     "&#39;" };

	escape(out, text, "&<>\"'", words);
}

void
escape_json(FILE *out, const char *text)
{
	static const char *const words[] = { "\\\"", "\\\\" };

	escape(out, text, "\"\\", words);
}

const char *
escape_bytes(unsigned long long bytes, char *text, size_t size)
{
	unsigned int unit = 0;

	while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < RTE_DIM(units)) {
		bytes /= 1024;
		unit++;
	}
	snprintf(text, size, "%llu %s", bytes, units[unit]);
	return text;
}

const char *
escape_memory(unsigned long long bytes, char *text, size_t size)
{
	unsigned long long tenths;
	unsigned int unit = 0;

	while (bytes >> 20 != 0 && unit + 2 < RTE_DIM(units)) {
		bytes /= 1024;
		unit++;
	}
	if (bytes < 1024) {
		snprintf(text, size, "%llu %s", bytes, units[unit]);
		return text;
	}
	tenths = bytes * 10 / 1024;
	snprintf(text, size, "%llu.%llu %s", tenths / 10, tenths % 10,
		 units[unit + 1]);
	return text;
}
