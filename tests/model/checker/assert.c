/* SPDX-License-Identifier: BSD-3-Clause */

#include "base/common.h"
#include "model.h"

void
__wrap_weir__assert_failed(const char *rule, const char *file, int line);

/* In the place of the library's, which would end the program. */
void
__wrap_weir__assert_failed(const char *rule, const char *file, int line)
{
	model_fail("%s:%d: broken rule: %s", file, line, rule);
}
