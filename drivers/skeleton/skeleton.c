/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A driver to copy: doc/guides/sources.md goes through it.
 *
 * What a task asks for comes from the device directly. What a poll finds has to
 * stay somewhere until the task comes for it: that is the stash.
 *
 * K1 The device's receive function runs under the source's lock only: in the
 *    poll, and between the start and the end of a wait.
 * K2 The stash is emptied before the device is asked again, so numbers keep their
 *    order.
 * K3 A number that was received is with a task, or in the stash, and that is told
 *    before any error.
 */

#include <errno.h>

#include <rte_common.h>
#include <rte_errno.h>

#include "device.h"
#include "weir_skeleton.h"
#include "weir_source_driver.h"

struct weir_skeleton {
	struct device dev;
	/* The stash: numbers[first] to numbers[end - 1]. */
	unsigned int first;
	unsigned int end;
	uint64_t numbers[WEIR_SKELETON_BURST];
};

static int
skeleton_poll(void *priv)
{
	struct weir_skeleton *s = priv;
	int n;

	/* The task that it woke was cancelled, or has not come yet. */
	if (s->first != s->end)
		return 1;
	n = weir__device_receive(&s->dev, s->numbers, WEIR_SKELETON_BURST);
	s->first = 0;
	s->end = n > 0 ? (unsigned int)n : 0;
	return n;
}

static int
skeleton_sleep(void *priv, int epfd)
{
	struct weir_skeleton *s = priv;
	int rc;

	rc = weir_source_watch(s, epfd, s->dev.fd);
	if (rc == 0)
		weir__device_interrupts(&s->dev, true);
	return rc;
}

static void
skeleton_wake(void *priv)
{
	struct weir_skeleton *s = priv;

	weir__device_interrupts(&s->dev, false);
	weir_source_unwatch(s);
	/* What it was about, the poll that follows sees, or the next wait. */
	weir__device_acknowledge(&s->dev);
}

static void
skeleton_fini(void *priv)
{
	struct weir_skeleton *s = priv;

	weir__device_fini(&s->dev);
}

static const struct weir_source_ops skeleton_ops = {
	.name = "skeleton",
	/* A neighbour may receive for a worker that is stuck: see K1. */
	.flags = WEIR_SOURCE_ANY_THREAD,
	.poll = skeleton_poll,
	.sleep = skeleton_sleep,
	.wake = skeleton_wake,
	.fini = skeleton_fini,
};

struct weir_skeleton *
weir_skeleton_create(struct weir_runtime *rt, unsigned int worker)
{
	struct weir_skeleton *s;
	int rc;

	s = weir_source_create(rt, &skeleton_ops, worker, sizeof(*s));
	if (s == NULL)
		return NULL;
	/* No task waits yet, so nothing of the driver is called. */
	rc = weir__device_init(&s->dev);
	if (rc < 0) {
		weir_source_free(s);
		rte_errno = -rc;
		return NULL;
	}
	return s;
}

void
weir_skeleton_free(struct weir_skeleton *s)
{
	weir_source_free(s);
}

struct weir_source *
weir_skeleton_source(struct weir_skeleton *s)
{
	return weir_source_of(s);
}

static unsigned int
take_stash(struct weir_skeleton *s, uint64_t *numbers, unsigned int n)
{
	unsigned int i;

	n = RTE_MIN(n, s->end - s->first);
	for (i = 0; i < n; i++)
		numbers[i] = s->numbers[s->first++];
	return n;
}

int
weir_skeleton_recv(struct weir_context *ctx, struct weir_skeleton *s,
		   uint64_t *numbers, unsigned int n)
{
	int rc, got;

	if (n == 0 || n > WEIR_SKELETON_BURST)
		return -EINVAL;
	rc = weir_source_wait_begin(ctx, s);
	if (rc < 0)
		return rc;
	/* K2, K3 */
	got = (int)take_stash(s, numbers, n);
	if (got == 0) {
		/* Closed, or told something: the device is not touched. */
		if (rc > 0)
			return weir_source_wait_fail(s);
		got = weir__device_receive(&s->dev, numbers, n);
	}
	if (got == 0)
		return weir_source_wait_arm(ctx, s);
	weir_source_wait_ready(ctx, s, got > 0 ? (unsigned int)got : 1);
	return got;
}

bool
weir_skeleton_feed(struct weir_skeleton *s, uint64_t number)
{
	return weir__device_feed(&s->dev, number);
}

void
weir_skeleton_unplug(struct weir_skeleton *s)
{
	weir__device_unplug(&s->dev);
}
