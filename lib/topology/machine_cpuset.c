/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Which CPUs and nodes the process's cpusets leave to it.
 *
 * The kernel tells in the process's cgroup, of version 1 or 2, where that is
 * mounted. Groups above it may leave less than it says itself; kernels since
 * Linux 3.15 have files with what is effective, which need no look further up.
 *
 * Where no cgroup tells, the affinity of the threads does. EAL ties its threads to
 * CPUs, each to others: what all of them may use together is what the kernel
 * has agreed to, and that is a part of the cpuset at least.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/machine.h"

/* Where a process's cpuset is. */
struct place {
	bool v1;
	char path[TREE_PATH_MAX]; /* in its hierarchy */
	char mount[TREE_PATH_MAX];
	char folder[2 * TREE_PATH_MAX]; /* below the mount */
};

/* Files of a group: what is effective, and what was asked for. */
struct files {
	const char *effective[2]; /* of version 2, of version 1 */
	const char *own;
	const char *affinity; /* a line of a thread's status */
};

static const struct files cpu_files = {
	{ "cpuset.cpus.effective", "cpuset.effective_cpus" },
	"cpuset.cpus",
	"Cpus_allowed_list:",
};

static const struct files node_files = {
	{ "cpuset.mems.effective", "cpuset.effective_mems" },
	"cpuset.mems",
	"Mems_allowed_list:",
};

static bool
is_among(const char *items, const char *wanted)
{
	char item[64];

	while (weir__tree_item(&items, ',', item, sizeof(item)))
		if (strcmp(item, wanted) == 0)
			return true;
	return false;
}

/* From "3:cpuset:/a/b", or "0::/a/b" of version 2 if there is none. */
static bool
find_path(struct tree *t, struct place *p)
{
	const char *text = weir__tree_read(t, TREE_LINES("cpuset", "0::"),
					   "/proc/self/cgroup");
	char line[TREE_PATH_MAX], *controllers, *path;
	bool found = false;

	while (text != NULL &&
	       weir__tree_item(&text, '\n', line, sizeof(line))) {
		controllers = strchr(line, ':');
		path = controllers != NULL ? strchr(controllers + 1, ':') :
					     NULL;
		if (path == NULL)
			continue;
		*path++ = '\0';
		controllers++;
		p->v1 = is_among(controllers, "cpuset");
		if (!p->v1 && controllers[0] != '\0')
			continue;
		strcpy(p->path, path);
		found = true;
		if (p->v1)
			break;
	}
	return found;
}

/* Octal escapes of spaces and the like. */
static void
unescape(char *text)
{
	char *to = text;
	unsigned int c;

	for (; *text != '\0'; text++) {
		if (*text == '\\' && sscanf(text + 1, "%3o", &c) == 1 &&
		    strspn(text + 1, "01234567") >= 3) {
			*to++ = (char)c;
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

/*
 * Splits a line of mountinfo. Returns false if that is no mount of the kind.
 * The root is the group that is shown at the mount.
 */
static bool
parse_mount(char *line, bool v1, char **root, char **mount)
{
	char *super = strstr(line, " - "), *field, *save, *type = NULL;
	unsigned int i = 0;

	if (super == NULL)
		return false;
	*super = '\0';
	*root = *mount = NULL;
	for (field = strtok_r(line, " ", &save); field != NULL;
	     field = strtok_r(NULL, " ", &save), i++) {
		if (i == 3)
			*root = field;
		if (i == 4)
			*mount = field;
	}
	if (*mount == NULL)
		return false;
	unescape(*root);
	unescape(*mount);
	type = strtok_r(super + 3, " ", &save);
	if (type == NULL || strcmp(type, v1 ? "cgroup" : "cgroup2") != 0)
		return false;
	strtok_r(NULL, " ", &save);
	field = strtok_r(NULL, " ", &save);
	return !v1 || (field != NULL && is_among(field, "cpuset"));
}

/* What is behind the root in a path; NULL: the path is elsewhere. */
static const char *
behind(const char *path, const char *root)
{
	size_t length = strlen(root);

	if (strcmp(root, "/") == 0)
		length = 0;
	if (strncmp(path, root, length) != 0 ||
	    (path[length] != '/' && path[length] != '\0'))
		return NULL;
	return strncmp(path, "/..", 3) == 0 ? NULL : path + length;
}

static bool
find_mount(struct tree *t, struct place *p)
{
	const char *text = weir__tree_read(
		t, TREE_LINES("cpuset", " - cgroup2 "), "/proc/self/mountinfo");
	char line[2 * TREE_PATH_MAX], *root, *mount;
	const char *rest;

	while (text != NULL &&
	       weir__tree_item(&text, '\n', line, sizeof(line))) {
		if (!parse_mount(line, p->v1, &root, &mount))
			continue;
		rest = behind(p->path, root);
		if (rest == NULL || strlen(mount) >= sizeof(p->mount))
			continue;
		strcpy(p->mount, mount);
		snprintf(p->folder, sizeof(p->folder), "%s%s", mount,
			 strcmp(rest, "/") == 0 ? "" : rest);
		return true;
	}
	return false;
}

/* A list of a group's; an empty one says nothing. */
static bool
read_list(struct tree *t, const char *folder, const char *file,
	  struct id_set *ids)
{
	return weir__tree_ids(t, ids, "%s/%s", folder, file) &&
	       weir__id_set_count(ids) > 0;
}

/*
 * From the group up. What is effective counts for all above it: they may even
 * have given up what they have set apart for it.
 */
static bool
read_groups(struct tree *t, const struct files *f, struct place *p,
	    struct id_set *ids)
{
	size_t end = strlen(p->mount);
	struct id_set here;
	bool effective, found = false;

	memset(ids, 0xff, sizeof(*ids));
	for (;;) {
		effective = read_list(t, p->folder, f->effective[p->v1], &here);
		if (effective || read_list(t, p->folder, f->own, &here)) {
			weir__id_set_intersect(ids, &here);
			found = true;
		}
		if (effective || strlen(p->folder) <= end)
			return found;
		*strrchr(p->folder, '/') = '\0';
	}
}

static bool
read_affinity(struct tree *t, const struct files *f, struct id_set *ids)
{
	const char *threads = weir__tree_list(t, "/proc/self/task"), *text;
	char thread[32], line[TREE_PATH_MAX];
	size_t length = strlen(f->affinity);
	struct id_set here;
	bool found = false;

	memset(ids, 0, sizeof(*ids));
	while (threads != NULL &&
	       weir__tree_item(&threads, '/', thread, sizeof(thread))) {
		text = weir__tree_read(t, TREE_LINES("_allowed_list:"),
				       "/proc/self/task/%s/status", thread);
		while (text != NULL &&
		       weir__tree_item(&text, '\n', line, sizeof(line))) {
			if (strncmp(line, f->affinity, length) != 0 ||
			    weir__id_set_parse(
				    &here,
				    line + length +
					    strspn(line + length, "\t ")) < 0)
				continue;
			weir__id_set_unite(ids, &here);
			found = true;
		}
	}
	return found;
}

static bool
read_allowed(struct tree *t, const struct files *f, struct id_set *ids)
{
	struct place p;

	if (find_path(t, &p) && find_mount(t, &p) && read_groups(t, f, &p, ids))
		return true;
	return read_affinity(t, f, ids);
}

bool
weir__machine_cpus_allowed(struct tree *t, struct id_set *cpus)
{
	return read_allowed(t, &cpu_files, cpus);
}

bool
weir__machine_nodes_allowed(struct tree *t, struct id_set *nodes)
{
	return read_allowed(t, &node_files, nodes);
}
