/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What tests/virtual asks of whoever runs virtual threads. It is not watched:
 * what it does is told to the checker here.
 *
 * There is a point before what others may wait for or look at: not before an
 * unlock or a call of a condition, which the library makes with the mutex held,
 * nor where the checker's own steps are.
 */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "kernel.h"
#include "memory.h"
#include "model.h"
#include "race.h"

static bool
is_point(const char *name)
{
	static const char *const points[] = {
		"pthread_cond_wait ends",
		"pthread_mutex_lock",
		"ppoll",
		"write",
	};
	unsigned int i;

	for (i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		if (strcmp(name, points[i]) == 0)
			return true;
	return false;
}

void
virtual_call(const char *name)
{
	/* Before the first execution, too. */
	if (!vthreads_running())
		return;
	vthread_where(name, 0);
	if (is_point(name))
		vthread_point();
}

void
virtual_failed(const char *format, ...)
{
	char what[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(what, sizeof(what), format, ap);
	va_end(ap);
	model_fail("%s", what);
}

void
virtual_touch(const void *p)
{
	race_atomic(p, 1, false);
}

void
virtual_saw(uint64_t v)
{
	memory_saw(v);
}

void *
virtual_alloc(size_t size)
{
	return model_alloc(size);
}

void
virtual_free(void *p)
{
	model_free(p);
}

void
virtual_show(void *p, size_t begin, size_t size)
{
	alloc_show(p, begin, size);
}

void
virtual_retire(void *p)
{
	alloc_retire(p);
}

/* Who looks at what was given back is to be caught. */
const bool virtual_reuses_cells = false;

unsigned int
virtual_thread_start(const char *name, void (*main)(void *arg), void *arg)
{
	return model_thread(name, main, arg);
}

/* Each thread's clock is its own to the end. */
void
virtual_thread_reap(unsigned int thread)
{
	model_join(thread);
}
