/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Files of a machine: this one's, or recorded ones.
 *
 * Whoever reads a tree cannot tell which. A real file is read when it is asked
 * for, and kept; so a tree that has been read holds all it takes to read it
 * once more, and that is what a recording consists of. A recorded tree holds
 * all from the beginning, and a file that it lacks is not there.
 *
 * T1 A recorded tree opens no file, whatever it holds.
 * T2 What a function returns stays until weir__tree_fini().
 */

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "topology/tree.h"

/* A mountinfo of ten thousand containers fits. */
#define FILE_MAX ((size_t)16 << 20)

void
weir__tree_init(struct tree *t, const char *root)
{
	memset(t, 0, sizeof(*t));
	t->root = root;
}

void
weir__tree_fini(struct tree *t)
{
	size_t i;

	for (i = 0; i < t->nb_entries; i++) {
		free(t->entries[i].path);
		free(t->entries[i].text);
	}
	free(t->entries);
}

const char *
weir__tree_add(struct tree *t, const struct tree_entry *e)
{
	size_t room = t->room == 0 ? 256 : 2 * t->room;
	struct tree_entry *entries = t->entries;

	if (e->path != NULL && e->text != NULL && t->nb_entries == t->room) {
		entries = realloc(entries, room * sizeof(*entries));
		if (entries != NULL) {
			t->entries = entries;
			t->room = room;
		}
	}
	if (e->path == NULL || e->text == NULL || t->nb_entries == t->room) {
		t->lack = ENOMEM;
		free(e->path);
		free(e->text);
		return NULL;
	}
	t->entries[t->nb_entries++] = *e;
	return e->text;
}

/* cpu2 before cpu10, since people read recordings. */
static int
compare(const void *a, const void *b)
{
	const struct tree_entry *left = a, *right = b;

	return strverscmp(left->path, right->path);
}

void
weir__tree_sort(struct tree *t)
{
	if (t->nb_entries > 0)
		qsort(t->entries, t->nb_entries, sizeof(*t->entries), compare);
}

static const char *
find(const struct tree *t, char *path)
{
	const struct tree_entry key = { .path = path }, *e = NULL;

	if (t->nb_entries > 0)
		e = bsearch(&key, t->entries, t->nb_entries, sizeof(key),
			    compare);
	return e != NULL ? e->text : NULL;
}

static int
read_all(int fd, size_t max, char **text, size_t *length)
{
	size_t room = 4096;
	char *larger;
	ssize_t n;

	*length = 0;
	*text = malloc(room);
	while (*text != NULL) {
		n = read(fd, *text + *length, room - *length - 1);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return 0;
		*length += n > 0 ? (size_t)n : 0;
		if (*length > max)
			return -EFBIG;
		if (*length < room - 1)
			continue;
		room *= 2;
		larger = realloc(*text, room);
		if (larger == NULL)
			return -ENOMEM;
		*text = larger;
	}
	return -ENOMEM;
}

int
weir__file_read(const char *path, size_t max, char **text, size_t *length)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), rc;

	*text = NULL;
	if (fd < 0)
		return -errno;
	rc = read_all(fd, max, text, length);
	close(fd);
	if (rc < 0) {
		free(*text);
		*text = NULL;
		return rc;
	}
	(*text)[*length] = '\0';
	return 0;
}

static bool
has_one(const char *line, size_t length, const char *const *words)
{
	for (; *words != NULL; words++)
		if (memmem(line, length, *words, strlen(*words)) != NULL)
			return true;
	return false;
}

/* Leaves the lines with one of the words. */
static void
keep_lines(char *text, const char *const *words)
{
	char *from = text, *to = text, *end;
	size_t length;

	for (; *from != '\0'; from = end) {
		end = strchrnul(from, '\n');
		length = (size_t)(end - from);
		end += *end == '\n';
		if (!has_one(from, length, words))
			continue;
		memmove(to, from, (size_t)(end - from));
		to += end - from;
	}
	*to = '\0';
}

/* It may be there, and was not read. */
static void
note_lack(struct tree *t, int error)
{
	if (error == ENOMEM || error == EMFILE || error == ENFILE)
		t->lack = error;
}

static const char *
read_real(struct tree *t, const char *const *words, const char *path)
{
	struct tree_entry e = { .line = 0 };
	char full[2 * TREE_PATH_MAX];
	char *smaller;
	size_t length;
	int rc;

	snprintf(full, sizeof(full), "%s%s", t->root, path);
	rc = weir__file_read(full, FILE_MAX, &e.text, &length);
	if (rc < 0) {
		note_lack(t, -rc);
		return NULL;
	}
	if (words != NULL)
		keep_lines(e.text, words);
	length = strlen(e.text);
	if (length > 0 && e.text[length - 1] == '\n')
		e.text[--length] = '\0';
	e.path = strdup(path);
	/* Most are a few bytes, and there are thousands. */
	smaller = realloc(e.text, length + 1);
	if (smaller != NULL)
		e.text = smaller;
	return weir__tree_add(t, &e);
}

static int
is_entry(const struct dirent *d)
{
	return strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0;
}

/* The user's locale, which alphasort() goes by, is not to matter. */
static int
by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static char *
join(struct dirent **names, int n)
{
	size_t size = 1;
	char *text, *at;
	int i;

	for (i = 0; i < n; i++)
		size += strlen(names[i]->d_name) + 1;
	at = text = calloc(1, size);
	for (i = 0; i < n && text != NULL; i++) {
		if (i > 0)
			*at++ = '/';
		at = stpcpy(at, names[i]->d_name);
	}
	return text;
}

static const char *
list_real(struct tree *t, const char *path)
{
	struct tree_entry e = { .line = 0 };
	char full[2 * TREE_PATH_MAX];
	struct dirent **names;
	int n, i;

	snprintf(full, sizeof(full), "%s%s", t->root, path);
	n = scandir(full, &names, is_entry, by_bytes);
	if (n < 0) {
		note_lack(t, errno);
		return NULL;
	}
	e.text = join(names, n);
	e.path = strdup(path);
	for (i = 0; i < n; i++)
		free(names[i]);
	free(names);
	return weir__tree_add(t, &e);
}

static const char *
read_path(struct tree *t, const char *const *words, const char *format,
	  va_list ap)
{
	char path[TREE_PATH_MAX];
	int n = vsnprintf(path, sizeof(path), format, ap);

	if (n < 0 || (size_t)n >= sizeof(path))
		return NULL;
	return t->root != NULL ? read_real(t, words, path) : find(t, path);
}

const char *
weir__tree_read(struct tree *t, const char *const *words, const char *format,
		...)
{
	const char *text;
	va_list ap;

	va_start(ap, format);
	text = read_path(t, words, format, ap);
	va_end(ap);
	return text;
}

const char *
weir__tree_list(struct tree *t, const char *format, ...)
{
	char path[TREE_PATH_MAX];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(path, sizeof(path) - 1, format, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(path) - 1)
		return NULL;
	strcpy(path + n, "/");
	return t->root != NULL ? list_real(t, path) : find(t, path);
}

bool
weir__tree_number(struct tree *t, int64_t min, int64_t max, int64_t *number,
		  const char *format, ...)
{
	const char *text;
	long long v;
	va_list ap;
	char *end;

	va_start(ap, format);
	text = read_path(t, NULL, format, ap);
	va_end(ap);
	if (text == NULL)
		return false;
	errno = 0;
	v = strtoll(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
	if (errno != 0 || end == text || *end != '\0' || v < min || v > max ||
	    isspace((unsigned char)*text) || *text == '+') {
		weir__tree_complain(t, text,
				    "not a number, or none that may be here");
		return false;
	}
	*number = v;
	return true;
}

bool
weir__tree_ids(struct tree *t, struct id_set *ids, const char *format, ...)
{
	const char *text;
	va_list ap;

	va_start(ap, format);
	text = read_path(t, NULL, format, ap);
	va_end(ap);
	if (text == NULL)
		return false;
	/*
	 * What nohz_full holds where the kernel was started without it, behind
	 * blanks that fill it up to a column for each CPU.
	 */
	if (strcmp(text + strspn(text, " "), "(null)") == 0)
		text = "";
	if (weir__id_set_parse(ids, text) == 0)
		return true;
	weir__tree_complain(
		t, text,
		"not a list of rising numbers below 8192, such as 0-3,8");
	return false;
}

void
weir__tree_complain(struct tree *t, const char *text, const char *problem)
{
	size_t i;

	if (t->root != NULL || t->problem != NULL)
		return;
	t->problem = problem;
	for (i = 0; i < t->nb_entries; i++)
		if (t->entries[i].text == text)
			t->problem_line = t->entries[i].line;
}

bool
weir__tree_item(const char **at, char separator, char *item, size_t size)
{
	const char *end;
	size_t length;

	while (**at != '\0') {
		end = strchrnul(*at, separator);
		length = (size_t)(end - *at);
		if (length > 0 && length < size) {
			memcpy(item, *at, length);
			item[length] = '\0';
		}
		*at = end + (*end != '\0');
		if (length > 0 && length < size)
			return true;
	}
	return false;
}
