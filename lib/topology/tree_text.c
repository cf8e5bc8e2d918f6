/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Recordings of a tree: text, so that people can read, compare and mail them.
 *
 *     weir-machine 1
 *     # a comment
 *     /sys/devices/system/cpu/online = 0-1
 *     /sys/bus/pci/devices/ = 0000:00:00.0/0000:00:01.0
 *     end 2
 *
 * An entry is a path, which of a folder ends with a slash, and a text: a file's
 * less the line end behind it, a folder's names with a slash between them. What
 * is no ASCII character that can be shown is escaped, as \n, \t, \\ or \x7f; in
 * a path, a space is too. Behind the last line is the end of the file, so one
 * that was cut off anywhere is known by it. Some that were sent or edited on
 * the way have lines that end with CR and LF.
 *
 * R1 What was formatted is parsed into the same entries.
 * R2 No beginning of a recording is a recording.
 */

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/tree.h"

#define FIRST_LINE "weir-machine 1"

/* Of the text of a recording: what is left, and the number of the line. */
struct reader {
	struct tree *t;
	const char *at;
	const char *end;
	unsigned int line;
};

static int
refuse(struct reader *r, const char *problem)
{
	r->t->problem = problem;
	r->t->problem_line = r->line;
	return -EINVAL;
}

/* The next line; both ends of it are within the text. */
static int
next_line(struct reader *r, const char **line, const char **end)
{
	const char *c;

	if (r->at == r->end) {
		r->line = 0;
		return refuse(r, "cut off: it has no line with the end");
	}
	r->line++;
	*line = r->at;
	*end = memchr(r->at, '\n', (size_t)(r->end - r->at));
	if (*end == NULL)
		return refuse(r, "cut off in the middle of a line");
	r->at = *end + 1;
	if (*end > *line && (*end)[-1] == '\r')
		(*end)--;
	for (c = *line; c < *end; c++)
		if (*c < ' ' || *c > '~')
			return refuse(r, "a character that has to be escaped");
	return 0;
}

/* The character behind a backslash, or -1; moves on behind it. */
static int
unescape_one(const char **at, const char *end)
{
	char digits[3] = "";
	char c;

	if (*at == end)
		return -1;
	c = *(*at)++;
	if (c == 'n')
		return '\n';
	if (c == 't')
		return '\t';
	if (c == '\\')
		return '\\';
	if (c != 'x' || end - *at < 2 || !isxdigit((unsigned char)(*at)[0]) ||
	    !isxdigit((unsigned char)(*at)[1]))
		return -1;
	memcpy(digits, *at, 2);
	*at += 2;
	return (int)strtoul(digits, NULL, 16);
}

static int
unescape(struct reader *r, const char *at, const char *end, char **text)
{
	char *to;
	int c;

	to = *text = malloc((size_t)(end - at) + 1);
	if (to == NULL)
		return -ENOMEM;
	while (at < end) {
		c = *at++;
		if (c == '\\')
			c = unescape_one(&at, end);
		if (c <= 0)
			return refuse(r, c < 0 ? "not an escape" :
						 "a zero in a text");
		*to++ = (char)c;
	}
	*to = '\0';
	return 0;
}

static int
parse_entry(struct reader *r, const char *line, const char *end)
{
	const char *path_end = memchr(line, ' ', (size_t)(end - line));
	struct tree_entry e = { .line = r->line };
	const char *text = path_end;
	int rc;

	if (text == NULL || end - text < 2 || text[1] != '=' ||
	    (end - text > 2 && text[2] != ' '))
		return refuse(r, "no \" = \" behind a path");
	text += end - text > 2 ? 3 : 2;
	rc = unescape(r, line, path_end, &e.path);
	if (rc == 0)
		rc = unescape(r, text, end, &e.text);
	if (rc == 0)
		return weir__tree_add(r->t, &e) != NULL ? 0 : -ENOMEM;
	free(e.path);
	free(e.text);
	return rc;
}

/* "end N" and nothing behind it. */
static int
parse_end(struct reader *r, const char *line, const char *end)
{
	char expected[32];
	int n;

	n = snprintf(expected, sizeof(expected), "end %zu", r->t->nb_entries);
	if (end - line != n || memcmp(line, expected, (size_t)n) != 0)
		return refuse(r, "another number of entries than there are");
	if (r->at != r->end)
		return refuse(r, "something follows the end");
	return 0;
}

static int
refuse_twice(struct reader *r)
{
	const struct tree_entry *e = r->t->entries;
	size_t i;

	for (i = 1; i < r->t->nb_entries; i++) {
		if (strcmp(e[i - 1].path, e[i].path) != 0)
			continue;
		r->line = RTE_MAX(e[i - 1].line, e[i].line);
		return refuse(r, "a path that was there before");
	}
	return 0;
}

static bool
has_first_line(const char *text, size_t length)
{
	size_t n = strlen(FIRST_LINE);

	if (length < n || memcmp(text, FIRST_LINE, n) != 0)
		return false;
	if (length > n && text[n] == '\r')
		n++;
	return length > n && text[n] == '\n';
}

int
weir__tree_parse(struct tree *t, const char *text, size_t length)
{
	struct reader r = { .t = t, .at = text, .end = text + length };
	const char *line, *end;
	int rc;

	weir__tree_init(t, NULL);
	if (!has_first_line(text, length)) {
		r.line = 1;
		return refuse(&r, "not \"" FIRST_LINE "\": no machine that "
				  "this version can read");
	}
	for (;;) {
		rc = next_line(&r, &line, &end);
		if (rc == 0 && end - line >= 3 && memcmp(line, "end", 3) == 0) {
			rc = parse_end(&r, line, end);
			break;
		}
		if (rc == 0 && *line == '/')
			rc = parse_entry(&r, line, end);
		else if (rc == 0 && *line != '#' && r.line > 1)
			rc = refuse(&r,
				    "neither a path, a comment nor the end");
		if (rc < 0)
			break;
	}
	weir__tree_sort(t);
	return rc == 0 ? refuse_twice(&r) : rc;
}

static bool
is_shown(char c)
{
	return c >= ' ' && c <= '~' && c != '\\';
}

static void
escape_one(FILE *f, char c)
{
	char hex[8];
	int n;

	if (c == '\n')
		n = snprintf(hex, sizeof(hex), "\\n");
	else if (c == '\t')
		n = snprintf(hex, sizeof(hex), "\\t");
	else if (c == '\\')
		n = snprintf(hex, sizeof(hex), "\\\\");
	else
		n = snprintf(hex, sizeof(hex), "\\x%02x", (unsigned char)c);
	fwrite(hex, 1, (size_t)n, f);
}

static void
escape(FILE *f, const char *text, bool path)
{
	for (; *text != '\0'; text++) {
		/* Editors take a space away that ends a line. */
		if (is_shown(*text) &&
		    (*text != ' ' || (!path && text[1] != '\0')))
			fputc(*text, f);
		else
			escape_one(f, *text);
	}
}

int
weir__tree_format(struct tree *t, char **text, size_t *length)
{
	FILE *f = open_memstream(text, length);
	const struct tree_entry *e;
	char last[32];
	size_t i, n = 0;
	bool failed;

	if (f == NULL)
		return -ENOMEM;
	weir__tree_sort(t);
	fwrite(FIRST_LINE "\n", 1, strlen(FIRST_LINE) + 1, f);
	for (i = 0; i < t->nb_entries; i++) {
		e = &t->entries[i];
		if (i > 0 && strcmp(e->path, e[-1].path) == 0)
			continue;
		escape(f, e->path, true);
		fwrite(" = ", 1, e->text[0] != '\0' ? 3 : 2, f);
		escape(f, e->text, false);
		fputc('\n', f);
		n++;
	}
	i = (size_t)snprintf(last, sizeof(last), "end %zu\n", n);
	fwrite(last, 1, i, f);
	failed = ferror(f) != 0;
	if (fclose(f) != 0 || failed) {
		free(*text);
		*text = NULL;
		return -ENOMEM;
	}
	return 0;
}
