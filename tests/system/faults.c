/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Linked into a program of which one call fails, as it does where there is no memory, or
 * a device refuses: WEIR_FAULT=FUNCTION:N names the Nth call of a function,
 * and a line on standard error says that it came.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include <weir.h>
#include <weir_channel.h>
#include <weir_ethdev.h>

#include "base/atomic.h"

static struct atomic_u32 calls;

/* Is this the call that fails? */
static bool
fails(const char *function)
{
	static const char came[] = "fault\n";
	const char *fault = getenv("WEIR_FAULT");
	size_t len = strlen(function);
	uint32_t n;

	if (fault == NULL || strncmp(fault, function, len) != 0 ||
	    fault[len] != ':')
		return false;
	n = atomic_u32_fetch_add(&calls, 1, RELAXED) + 1;
	if (n != strtoul(fault + len + 1, NULL, 10))
		return false;
	if (write(STDERR_FILENO, came, sizeof(came) - 1) < 0)
		abort();
	errno = ENOMEM;
	rte_errno = ENOMEM;
	return true;
}

/* A function, and what it returns when it fails. */
#define FAULT(type, failed, name, parameters, arguments)                  \
	type __real_##name parameters;                                    \
	type __wrap_##name parameters;                                    \
	type __wrap_##name parameters                                     \
	{                                                                 \
		return fails(#name) ? (failed) : __real_##name arguments; \
	}

/* From DPDK 25.11 on, where it cannot read an option. */
FAULT(int, (exit(-EINVAL), -1), rte_eal_init, (int argc, char **argv),
      (argc, argv))
FAULT(void *, NULL, calloc, (size_t n, size_t size), (n, size))
FAULT(void *, NULL, rte_zmalloc_socket,
      (const char *type, size_t size, unsigned int align, int socket),
      (type, size, align, socket))
FAULT(struct rte_mempool *, NULL, rte_pktmbuf_pool_create,
      (const char *name, unsigned int n, unsigned int cache, uint16_t priv_size,
       uint16_t room, int socket),
      (name, n, cache, priv_size, room, socket))
/* There is one left. */
FAULT(unsigned int, 1, rte_mempool_in_use_count,
      (const struct rte_mempool *pool), (pool))
FAULT(int, -EIO, rte_eth_dev_configure,
      (uint16_t port, uint16_t nb_rxq, uint16_t nb_txq,
       const struct rte_eth_conf *conf),
      (port, nb_rxq, nb_txq, conf))
FAULT(int, -EIO, rte_eth_rx_queue_setup,
      (uint16_t port, uint16_t queue, uint16_t nb_desc, unsigned int socket,
       const struct rte_eth_rxconf *conf, struct rte_mempool *pool),
      (port, queue, nb_desc, socket, conf, pool))
FAULT(int, -EIO, rte_eth_tx_queue_setup,
      (uint16_t port, uint16_t queue, uint16_t nb_desc, unsigned int socket,
       const struct rte_eth_txconf *conf),
      (port, queue, nb_desc, socket, conf))
/* The port has fewer to receive with. */
FAULT(int, (*rxd = 96, 0), rte_eth_dev_adjust_nb_rx_tx_desc,
      (uint16_t port, uint16_t *rxd, uint16_t *txd), (port, rxd, txd))
FAULT(int, -EIO, rte_eth_dev_start, (uint16_t port), (port))
FAULT(int, -EPERM, rte_eth_promiscuous_enable, (uint16_t port), (port))
FAULT(int, 1, rte_eth_dev_is_removed, (uint16_t port), (port))
FAULT(struct weir_runtime *, NULL, weir_runtime_create,
      (const struct weir_options *options), (options))
FAULT(struct weir_rxq *, NULL, weir_rxq_create,
      (struct weir_runtime * rt, uint16_t port, uint16_t queue,
       unsigned int worker, uint16_t burst),
      (rt, port, queue, worker, burst))
FAULT(struct weir_txq *, NULL, weir_txq_create,
      (uint16_t port, uint16_t queue, unsigned int timeout_us),
      (port, queue, timeout_us))
FAULT(int, -ENOMEM, weir_channel_create,
      (size_t capacity, size_t size, void (*drop)(void *value),
       struct weir_sender **sender, struct weir_receiver **receiver),
      (capacity, size, drop, sender, receiver))
FAULT(int, -ENOMEM, weir_task_spawn_detached,
      (struct weir_runtime * rt, const struct weir_task_ops *ops,
       const void *state, const struct weir_spawn_attr *attr),
      (rt, ops, state, attr))
FAULT(struct weir_join *, NULL, weir_task_spawn,
      (struct weir_runtime * rt, const struct weir_task_ops *ops,
       const void *state, const struct weir_spawn_attr *attr),
      (rt, ops, state, attr))
