/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef VIRTUAL_KEPT_H
#define VIRTUAL_KEPT_H

/*
 * A static variable of the tests' own machinery, which stays when all others
 * are put back to what they were before a run: see tests/model/checker/globals.c.
 */
#define KEPT __attribute__((section("kept")))

#endif
