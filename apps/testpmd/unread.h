/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TESTPMD_UNREAD_H
#define TESTPMD_UNREAD_H

/*
 * Standard output whose reader may read no more: nobody waits for that one. What a pipe
 * or a terminal has no room for is kept, and when that is too much, lines are lost.
 */

#include <signal.h>
#include <stdbool.h>

/* From here on, for the thread that calls this and the following. */
void
unread_begin(void);

/* Does nothing of what was printed wait, and is there room for some more? */
bool
unread_has_room(void);

/*
 * From here on what is printed waits for its reader, and before that may last,
 * these signals are unblocked.
 */
void
unread_wait(const sigset_t *signals);

#endif
