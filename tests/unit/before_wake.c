/* SPDX-License-Identifier: BSD-3-Clause */

#include "before_wake.h"

#include <stddef.h>

#include "weir.h"

static __thread void (*pending)(void);

void
__real_weir_waker_wake(struct weir_waker *waker);
void
__wrap_weir_waker_wake(struct weir_waker *waker);

void
before_wake(void (*call)(void))
{
	pending = call;
}

bool
before_wake_called(void)
{
	return pending == NULL;
}

void
__wrap_weir_waker_wake(struct weir_waker *waker)
{
	void (*call)(void) = pending;

	pending = NULL;
	if (call != NULL)
		call();
	__real_weir_waker_wake(waker);
}
