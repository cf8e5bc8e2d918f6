/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * DPDK's rings in the models' memory. What they do is DPDK's own, inline code:
 * the checker sees its atomic operations and its plain accesses as it does the
 * library's.
 */

#include <rte_errno.h>
#include <rte_ring.h>

#include "model.h"

struct rte_ring *
__wrap_rte_ring_create(const char *name, unsigned int count, int socket,
		       unsigned int flags);
struct rte_ring *
__wrap_rte_ring_create(const char *name, unsigned int count, int socket,
		       unsigned int flags)
{
	ssize_t size = rte_ring_get_memsize(count);
	struct rte_ring *r = NULL;

	(void)socket;
	if (size > 0)
		r = model_alloc((size_t)size);
	if (r == NULL || rte_ring_init(r, name, count, flags) != 0) {
		model_free(r);
		rte_errno = EINVAL;
		return NULL;
	}
	return r;
}

void
__wrap_rte_ring_free(struct rte_ring *r);
void
__wrap_rte_ring_free(struct rte_ring *r)
{
	model_free(r);
}
