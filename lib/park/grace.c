/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Waiting for the workers, who are readers of the arrays of sources.
 *
 * Not rte_rcu_qsbr_synchronize(), which spins: where a worker shares the waiter's
 * CPU, it does not get there before the waiter has used up its time slice, nor the
 * waiter back before the worker has. Who has slept need not wait for that.
 */

#include <rte_cycles.h>

#include "base/atomic.h"
#include "park/grace.h"

#define LOOKS 256 /* a worker with a CPU to itself comes by meanwhile */
#define NAP_US 10

void
weir__grace_period(struct rte_rcu_qsbr *qsbr)
{
	uint64_t token = rte_rcu_qsbr_start(qsbr);
	unsigned int looks = 0;

	while (rte_rcu_qsbr_check(qsbr, token, false) == 0) {
		if (++looks < LOOKS)
			atomic_pause();
		else
			rte_delay_us_sleep(NAP_US);
	}
}
