/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TOPOLOGY_TREE_H
#define TOPOLOGY_TREE_H

/*
 * The files and folders that tell about a machine, whether they are this
 * machine's or were recorded on another; see tree.c and tree_text.c. One
 * thread at a time.
 */

#include "base/common.h"
#include "topology/id_set.h"

/* Longer paths are not there: several are on the stack at a time. */
#define TREE_PATH_MAX 1024

struct tree_entry {
	char *path; /* of a folder: with a slash at its end */
	char *text;
	unsigned int line; /* of the recording, or 0 */
};

struct tree {
	const char *root; /* real files are below it; NULL: recorded ones */
	struct tree_entry *entries;
	size_t nb_entries;
	size_t room;
	int lack; /* errno: something is missing in it for want of that; or 0 */
	const char *problem; /* the first one of a recording, or NULL */
	unsigned int problem_line;
};

/* The files below a folder; "" for this machine's. It stays the caller's. */
void
weir__tree_init(struct tree *t, const char *root);

/*
 * Reads a recording. Returns 0, -EINVAL with problem and its line, 0 if it is
 * of no line, or -ENOMEM. The tree is there in each case.
 */
int
weir__tree_parse(struct tree *t, const char *text, size_t length);

/*
 * Writes what has been read from a tree as a recording, and nothing else. The
 * caller frees the text. Returns 0 or -ENOMEM.
 */
int
weir__tree_format(struct tree *t, char **text, size_t *length);

void
weir__tree_fini(struct tree *t);

/*
 * The rest takes a path as printf() does. What it returns is the tree's.
 */

/*
 * A file's text less the line end behind it; NULL: there is none that can be
 * read. Given words, lines with none of them may be left out: what nobody asks
 * for is not recorded.
 */
__attribute__((format(printf, 3, 4))) const char *
weir__tree_read(struct tree *t, const char *const *words, const char *format,
		...);
#define TREE_LINES(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* The sorted names in a folder with a slash between them; NULL: none there. */
__attribute__((format(printf, 2, 3))) const char *
weir__tree_list(struct tree *t, const char *format, ...);

/*
 * A file that holds a number, decimal or hexadecimal with 0x, within bounds.
 * False: it is not there, or holds something else.
 */
__attribute__((format(printf, 5, 6))) bool
weir__tree_number(struct tree *t, int64_t min, int64_t max, int64_t *number,
		  const char *format, ...);

/* The same of a list of CPUs or nodes. */
__attribute__((format(printf, 3, 4))) bool
weir__tree_ids(struct tree *t, struct id_set *ids, const char *format, ...);

/*
 * Notes what is wrong with a text that a function above has returned. That
 * refuses a recording; of a real machine it is just not known then.
 */
void
weir__tree_complain(struct tree *t, const char *text, const char *problem);

/*
 * Copies the next item of a text whose items are separated by a character, and
 * moves on behind it; items that are too long are left out. False: no more.
 */
bool
weir__tree_item(const char **at, char separator, char *item, size_t size);

/*
 * For tree_text.c. Takes a path and a text over, both of malloc(), whatever
 * becomes of them. Returns the text or NULL.
 */
const char *
weir__tree_add(struct tree *t, const struct tree_entry *e);

/* Brings the entries into the order that they are found and written in. */
void
weir__tree_sort(struct tree *t);

/*
 * Reads a file of at most so many bytes. Returns 0 with a text to free, behind
 * which is a zero, -EFBIG, or another -errno.
 */
int
weir__file_read(const char *path, size_t max, char **text, size_t *length);

#endif
