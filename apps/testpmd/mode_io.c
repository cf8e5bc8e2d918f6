/* SPDX-License-Identifier: BSD-3-Clause */

/* io: packets go on as they are; their data is not touched. */

#include "forward.h"

const struct forward_mode forward_mode_io = {
	.name = "io",
	.receives = true,
	.sends = true,
	.task = FORWARD_TASK("io", stream_forward),
};
