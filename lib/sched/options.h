/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef SCHED_OPTIONS_H
#define SCHED_OPTIONS_H

#include "sched/weir_runtime.h"

/*
 * The lcores that valid options mean, in order of worker. Returns how many;
 * there is room for RTE_MAX_LCORE.
 */
unsigned int
weir__options_lcores(const struct weir_options *o, unsigned int *lcores);

#endif
