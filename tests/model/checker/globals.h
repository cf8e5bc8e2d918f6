/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MODEL_GLOBALS_H
#define MODEL_GLOBALS_H

/*
 * The library's own static variables, which each execution finds as the first
 * one did. The checker's are kept: see globals.c.
 */

void
globals_save(void);
void
globals_restore(void);

#endif
