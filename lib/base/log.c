/* SPDX-License-Identifier: BSD-3-Clause */

#include "base/common.h"
#include "base/log.h"

RTE_LOG_REGISTER(weir__logtype, lib.weir, NOTICE);

#ifdef WEIR_ASSERTS
void
weir__assert_failed(const char *rule, const char *file, int line)
{
	WEIR_LOG(CRIT, "broken rule: %s (%s:%d)\n", rule, file, line);
	__builtin_trap();
}
#endif
