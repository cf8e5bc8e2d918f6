/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef COMMON_DRAIN_H
#define COMMON_DRAIN_H

#include <stdint.h>

/*
 * Throws away what lies in the first receive queues of a port that has been started,
 * once nobody receives from it. Of all ports before the first is closed: rings join
 * them, and keep packets that nobody else would free.
 */
void
port_drain(uint16_t port, uint16_t nb_queues);

#endif
