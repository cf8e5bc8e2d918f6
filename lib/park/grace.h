/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef PARK_GRACE_H
#define PARK_GRACE_H

#include <rte_rcu_qsbr.h>

/* Waits until each reader has passed a quiescent state. See grace.c. */
void
weir__grace_period(struct rte_rcu_qsbr *qsbr);

#endif
