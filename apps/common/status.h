/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef COMMON_STATUS_H
#define COMMON_STATUS_H

/* How a program ends. */
enum exit_status {
	STATUS_OK = 0,
	STATUS_FAILED = 1, /* the machine did not give what was asked for */
	STATUS_USAGE = 2,  /* an option or a value cannot be read */
};

#endif
