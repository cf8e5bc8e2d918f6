/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef PEERS_LCORES_H
#define PEERS_LCORES_H

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#define LOOK_US 10000

/*
 * Waits until all worker lcores are done. EAL's own wait spins, on a CPU that is one of
 * theirs, too, where there are no more CPUs than of them.
 */
static inline void
wait_lcores(void)
{
	unsigned int id;

	RTE_LCORE_FOREACH_WORKER(id)
		while (rte_eal_get_lcore_state(id) == RUNNING)
			rte_delay_us_sleep(LOOK_US);
	rte_eal_mp_wait_lcore();
}

#endif
