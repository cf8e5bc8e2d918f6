/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef DEVICES_H
#define DEVICES_H

/* Crypto and DMA devices that are programs, of which DPDK may lack some. */

#include <stdbool.h>
#include <stdint.h>

#define DEVICES_DESCRIPTORS 128
#define DEVICES_QUEUE_PAIRS 2

/*
 * Starts a crypto device with the name of its PMD, and makes a pool of sessions
 * of the same name. False: there is no such PMD.
 */
bool
devices_open_crypto(const char *name, uint8_t *id);

/* Configures a DMA device of one channel; who is to use it starts it. */
bool
devices_open_dma(const char *name, int16_t *id);

#endif
