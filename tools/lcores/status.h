/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef LCORES_STATUS_H
#define LCORES_STATUS_H

/* How the program ends. */
enum exit_status {
	STATUS_OK = 0,
	STATUS_NO = 1,	    /* it was done, and the answer is no */
	STATUS_TROUBLE = 2, /* it could not be done */
};

#endif
