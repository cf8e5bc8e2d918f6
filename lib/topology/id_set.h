/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TOPOLOGY_ID_SET_H
#define TOPOLOGY_ID_SET_H

/*
 * A set of CPUs or nodes by the kernel's numbers. cpu_set_t ends at 1,023.
 */

#include "base/common.h"

/* No kernel is built for more CPUs. */
#define ID_SET_MAX 8192u

struct id_set {
	uint64_t words[ID_SET_MAX / 64];
};

static inline bool
id_set_has(const struct id_set *s, unsigned int id)
{
	return id < ID_SET_MAX && (s->words[id / 64] >> id % 64 & 1) != 0;
}

unsigned int
weir__id_set_count(const struct id_set *s);

/* The least member that is `from` or greater, or ID_SET_MAX. */
unsigned int
weir__id_set_next(const struct id_set *s, unsigned int from);

/* Leaves in s what is in both. */
void
weir__id_set_intersect(struct id_set *s, const struct id_set *other);

/* Puts into s what is in the other one. */
void
weir__id_set_unite(struct id_set *s, const struct id_set *other);

/*
 * Reads a list as the kernel prints it, "0-3,8": numbers rise, and nothing else
 * is in it. Returns 0 or -EINVAL.
 */
int
weir__id_set_parse(struct id_set *s, const char *text);

#define ID_SET_FOREACH(id, s)                                   \
	for ((id) = weir__id_set_next(s, 0); (id) < ID_SET_MAX; \
	     (id) = weir__id_set_next(s, (id) + 1))

#endif
