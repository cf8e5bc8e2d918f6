/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A value and its version. Who waits is told that there is another version than
 * when it came, and looks for itself then: what is told is nobody's to lose.
 *
 * Y26 Each value has a version of its own, and the value is that of the version
 *     whenever the lock is free.
 * Y27 A value is new to a receiver until it has a copy of that or of a later
 *     one, be it told or not, and closed or not.
 */

#include <errno.h>
#include <string.h>

#include "sync/wait.h"
#include "sync/weir_watch.h"

/* The outcome of a wait: look again. */
#define TOLD 1

struct watch {
	struct sync sync;
	struct atomic_u64 version; /* from 1; written under the lock */
	void *value;
	uint32_t size;
	bool closed;
};

static_assert(sizeof(struct watch) <= sizeof(struct weir_watch),
	      "a watch is inside what the user has of it");

static struct watch *
watch_of(struct weir_watch *watch)
{
	return (struct watch *)watch;
}

static uint64_t
version_of(const struct watch *w)
{
	return atomic_u64_load(&w->version, RELAXED);
}

static bool
grant(struct sync *sync, struct wait *wait)
{
	const struct watch *w = (struct watch *)sync;

	wait->rc = TOLD;
	return w->closed || wait->n != (uint32_t)version_of(w);
}

static const struct sync_ops ops = {
	.grant = grant,
};

int
weir_watch_init(struct weir_watch *watch, void *value, size_t size)
{
	struct watch *w = watch_of(watch);

	if (size == 0 || size > WEIR_WATCH_SIZE_MAX)
		return -EINVAL;
	weir__sync_init(&w->sync, &ops);
	atomic_u64_store(&w->version, 1, RELAXED);
	w->value = value;
	w->size = size;
	w->closed = false;
	return 0;
}

void
weir_watch_fini(struct weir_watch *watch)
{
	weir__sync_fini(&watch_of(watch)->sync);
}

int
weir_watch_send(struct weir_watch *watch, const void *value)
{
	struct watch *w = watch_of(watch);

	lock_acquire(&w->sync.lock);
	if (unlikely(w->closed)) {
		lock_release(&w->sync.lock);
		return -EPIPE;
	}
	/* Y26 */
	memcpy(w->value, value, w->size);
	atomic_u64_store(&w->version, version_of(w) + 1, RELAXED);
	sync_settle(&w->sync);
	return 0;
}

void
weir_watch_subscribe(struct weir_watch *watch,
		     struct weir_watch_receiver *receiver)
{
	receiver->seen = version_of(watch_of(watch));
}

bool
weir_watch_has_changed(const struct weir_watch *watch,
		       const struct weir_watch_receiver *receiver)
{
	return version_of((const struct watch *)watch) != receiver->seen;
}

/* With the lock, which it gives back. */
static int
look(struct weir_context *ctx, struct watch *w,
     const struct weir_watch_receiver *receiver, struct weir_wait *wait)
{
	uint64_t version = version_of(w);
	int rc = 0;

	/* Y27 */
	if (receiver->seen == version) {
		if (!w->closed)
			return weir__wait_join(ctx, &w->sync, wait, 0,
					       (void *)(uintptr_t)receiver,
					       (uint32_t)version);
		rc = -EPIPE;
	}
	lock_release(&w->sync.lock);
	return rc;
}

int
weir_watch_changed(struct weir_context *ctx, struct weir_watch *watch,
		   const struct weir_watch_receiver *receiver,
		   struct weir_wait *wait)
{
	struct watch *w = watch_of(watch);
	int rc;

	do {
		if (wait_begin_at(ctx, &w->sync, wait, receiver, &rc))
			rc = look(ctx, w, receiver, wait);
	} while (rc == TOLD);
	return rc;
}

int
weir_watch_get(struct weir_watch *watch, struct weir_watch_receiver *receiver,
	       void *value)
{
	struct watch *w = watch_of(watch);
	uint64_t version;
	int is_new;

	lock_acquire(&w->sync.lock);
	version = version_of(w);
	memcpy(value, w->value, w->size);
	lock_release(&w->sync.lock);
	is_new = version != receiver->seen;
	receiver->seen = version;
	return is_new;
}

void
weir_watch_close(struct weir_watch *watch)
{
	struct watch *w = watch_of(watch);

	lock_acquire(&w->sync.lock);
	w->closed = true;
	sync_settle(&w->sync);
}
