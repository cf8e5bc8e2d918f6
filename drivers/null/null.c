/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A source without a device. The events are a number under a mutex: this driver
 * is for tests. The one to copy is drivers/skeleton.
 */

#include <pthread.h>
#include <stdint.h>

#include <rte_common.h>

#include "weir_null.h"
#include "weir_source_driver.h"

struct weir_null {
	pthread_mutex_t mutex;
	uint64_t events;
};

static unsigned int
take(struct weir_null *null, bool keep)
{
	unsigned int n;

	pthread_mutex_lock(&null->mutex);
	/* What weir_null_recv() can return. */
	n = (unsigned int)RTE_MIN(null->events, (uint64_t)INT32_MAX);
	if (!keep)
		null->events -= n;
	pthread_mutex_unlock(&null->mutex);
	return n;
}

static int
null_poll(void *priv)
{
	return take(priv, true) > 0;
}

static void
null_fini(void *priv)
{
	struct weir_null *null = priv;

	pthread_mutex_destroy(&null->mutex);
}

static const struct weir_source_ops null_ops = {
	.name = "null",
	.flags = WEIR_SOURCE_ANY_THREAD,
	.poll = null_poll,
	.fini = null_fini,
};

struct weir_null *
weir_null_create(struct weir_runtime *rt, unsigned int worker)
{
	struct weir_null *null;

	null = weir_source_create(rt, &null_ops, worker, sizeof(*null));
	if (null != NULL)
		pthread_mutex_init(&null->mutex, NULL);
	return null;
}

void
weir_null_free(struct weir_null *null)
{
	weir_source_free(null);
}

struct weir_source *
weir_null_source(struct weir_null *null)
{
	return weir_source_of(null);
}

void
weir_null_post(struct weir_null *null, unsigned int events)
{
	pthread_mutex_lock(&null->mutex);
	null->events += events;
	pthread_mutex_unlock(&null->mutex);
}

int
weir_null_recv(struct weir_context *ctx, struct weir_null *null)
{
	unsigned int n;
	int rc;

	rc = weir_source_wait_begin(ctx, null);
	if (rc < 0)
		return rc;
	n = take(null, false);
	if (n == 0)
		return rc > 0 ? weir_source_wait_fail(null) :
				weir_source_wait_arm(ctx, null);
	weir_source_wait_ready(ctx, null, 1);
	return (int)n;
}
