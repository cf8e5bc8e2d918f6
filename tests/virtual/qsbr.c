/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The end of a grace period. What it reads is DPDK's, and inline, so a policy
 * that watches accesses compiles this like the library.
 */

#include <rte_rcu_qsbr.h>

#include "base/atomic.h"
#include "kernel.h"
#include "wraps.h"

struct grace {
	struct rte_rcu_qsbr *qsbr;
	uint64_t token;
};

/* A look, and nobody's access. */
__attribute__((no_sanitize("thread"))) static bool
grace_is_over(const void *arg)
{
	const struct grace *grace = arg;

	return rte_rcu_qsbr_check(grace->qsbr, grace->token, false) == 1;
}

void
__wrap_rte_rcu_qsbr_synchronize(struct rte_rcu_qsbr *qsbr, unsigned int thread)
{
	struct grace grace = { .qsbr = qsbr };

	virtual_call("rte_rcu_qsbr_synchronize");
	grace.token = rte_rcu_qsbr_start(qsbr);
	if (thread != RTE_QSBR_THRID_INVALID)
		rte_rcu_qsbr_quiescent(qsbr, thread);
	vthread_progress();
	kernel_await(grace_is_over, &grace);
	while (rte_rcu_qsbr_check(qsbr, grace.token, false) != 1)
		atomic_pause();
}
