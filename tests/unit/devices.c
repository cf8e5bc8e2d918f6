/* SPDX-License-Identifier: BSD-3-Clause */

/* DPDK 22.11 has pools of sessions and all of dmadev as experimental. */
#define ALLOW_EXPERIMENTAL_API

#include "unit.h"

#include <rte_cryptodev.h>
#include <rte_dev.h>
#include <rte_dmadev.h>

#include "devices.h"

bool
devices_open_crypto(const char *name, uint8_t *id)
{
	struct rte_cryptodev_config config = {
		.nb_queue_pairs = DEVICES_QUEUE_PAIRS,
	};
	struct rte_cryptodev_qp_conf qp = {
		.nb_descriptors = DEVICES_DESCRIPTORS,
	};
	int rc;
	uint16_t i;

	if (rte_eal_hotplug_add("vdev", name, "") != 0)
		return false;
	rc = rte_cryptodev_get_dev_id(name);
	assert_return_code(rc, -rc);
	*id = (uint8_t)rc;
	config.socket_id = rte_cryptodev_socket_id(*id);
	assert_int_equal(rte_cryptodev_configure(*id, &config), 0);
	qp.mp_session = rte_cryptodev_sym_session_pool_create(
		name, 16, rte_cryptodev_sym_get_private_session_size(*id), 0, 0,
		SOCKET_ID_ANY);
	assert_non_null(qp.mp_session);
	for (i = 0; i < DEVICES_QUEUE_PAIRS; i++)
		assert_int_equal(rte_cryptodev_queue_pair_setup(*id, i, &qp, 0),
				 0);
	assert_int_equal(rte_cryptodev_start(*id), 0);
	return true;
}

bool
devices_open_dma(const char *name, int16_t *id)
{
	const struct rte_dma_conf conf = { .nb_vchans = 1 };
	const struct rte_dma_vchan_conf channel = {
		.direction = RTE_DMA_DIR_MEM_TO_MEM,
		.nb_desc = DEVICES_DESCRIPTORS,
	};

	if (rte_eal_hotplug_add("vdev", name, "") != 0)
		return false;
	*id = (int16_t)rte_dma_get_dev_id_by_name(name);
	assert_int_equal(rte_dma_configure(*id, &conf), 0);
	assert_int_equal(rte_dma_vchan_setup(*id, 0, &channel), 0);
	return true;
}
