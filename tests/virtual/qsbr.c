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
__wrap_weir__grace_period(struct rte_rcu_qsbr *qsbr)
{
	struct grace grace = { .qsbr = qsbr };

	virtual_call("weir__grace_period");
	grace.token = rte_rcu_qsbr_start(qsbr);
	vthread_progress();
	kernel_await(grace_is_over, &grace);
	while (rte_rcu_qsbr_check(qsbr, grace.token, false) != 1)
		atomic_pause();
}
