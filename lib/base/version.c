/* SPDX-License-Identifier: BSD-3-Clause */

#include <rte_common.h>

#include "weir_version.h"

const char *
weir_version(void)
{
	return RTE_STR(WEIR_VERSION_MAJOR) "." RTE_STR(
		WEIR_VERSION_MINOR) "." RTE_STR(WEIR_VERSION_PATCH);
}
