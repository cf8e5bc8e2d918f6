/* SPDX-License-Identifier: BSD-3-Clause */

/* A count that a task waits for. No lock: it may be posted in a handler. */

#include <rte_common.h>

#include "base/atomic.h"
#include "weir_event.h"
#include "weir_source_driver.h"

struct weir_event {
	struct atomic_u64 count;
};

static int
event_poll(void *priv)
{
	struct weir_event *event = priv;

	return atomic_u64_load(&event->count, RELAXED) > 0;
}

static const struct weir_source_ops event_ops = {
	.name = "event",
	.flags = WEIR_SOURCE_ANY_THREAD | WEIR_SOURCE_NOTIFIES,
	.poll = event_poll,
};

struct weir_event *
weir_event_create(struct weir_runtime *rt, unsigned int worker)
{
	return weir_source_create(rt, &event_ops, worker,
				  sizeof(struct weir_event));
}

void
weir_event_free(struct weir_event *event)
{
	weir_source_free(event);
}

struct weir_source *
weir_event_source(struct weir_event *event)
{
	return weir_source_of(event);
}

void
weir_event_post(struct weir_event *event)
{
	/* [event:A1] what the poster did before is the waiter's to see. */
	atomic_u64_fetch_add(&event->count, 1, RELEASE);
	weir_source_notify(event);
}

/* Takes as much as the caller can be told; the rest is for the next wait. */
static int
take(struct weir_event *event)
{
	/* [event:A1] */
	uint64_t n = atomic_u64_load(&event->count, ACQUIRE);

	n = RTE_MIN(n, (uint64_t)INT32_MAX);
	if (n > 0)
		atomic_u64_fetch_sub(&event->count, n, RELAXED);
	return (int)n;
}

int
weir_event_wait(struct weir_context *ctx, struct weir_event *event)
{
	int n, rc;

	rc = weir_source_wait_begin(ctx, event);
	if (rc < 0)
		return rc;
	n = take(event);
	if (n == 0)
		return rc > 0 ? weir_source_wait_fail(event) :
				weir_source_wait_arm(ctx, event);
	weir_source_wait_ready(ctx, event, 1);
	return n;
}
