/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef BASE_LOG_H
#define BASE_LOG_H

/* The library's log goes through DPDK's, as type "lib.weir". */

#include <rte_log.h>

extern int weir__logtype;

#define WEIR_LOG(level, ...) \
	rte_log(RTE_LOG_##level, weir__logtype, "weir: " __VA_ARGS__)

#endif
