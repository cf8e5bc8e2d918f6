/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sources: who polls them, who waits on them.
 *
 * Each worker has an array of sources. It is replaced as a whole when a source
 * comes or goes; the old one, and a source that went, are freed once every
 * worker has passed a quiescent state (rte_rcu_qsbr), so the polling side takes
 * no lock for the array. Each source has a try-lock, which whoever polls or
 * receives holds.
 *
 * Invariants:
 * S1 The driver's poll and the waits of its receive function run under the
 *    source's lock, so a queue of a NIC is never entered twice.
 * S2 A waiter is woken after it was taken out of `waiter`, once for each time
 *    it was armed, and outside the lock.
 * S3 `armed` is set exactly while there is a waiter. A poller that misses it
 *    comes back in its next round: no wake-up hangs on one look.
 * S4 After close, the error is in place before the waiter is woken.
 */

#include <errno.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "park/source.h"

struct source_array {
	unsigned int n;
	struct weir_source *s[];
};

static_assert(offsetof(struct weir_source, priv) == WEIR_CACHE_LINE,
	      "one line of ours, then the driver's");

void
weir__source_set_init(struct source_set *s, struct source_registry *r,
		      unsigned int worker, unsigned int socket)
{
	atomic_ptr_store(&s->array, NULL, RELAXED);
	atomic_u64_store(&s->last_poll, 0, RELAXED);
	s->registry = r;
	s->worker = worker;
	s->socket = socket;
}

void
weir__source_set_fini(struct source_set *s)
{
	rte_free(atomic_ptr_load(&s->array, RELAXED));
}

static const struct source_array *
sources(const struct source_set *s)
{
	/* [park:A1] the array's contents before its address. */
	return atomic_ptr_load(&s->array, ACQUIRE);
}

/* Takes the waiter out. With the lock. */
static struct weir_waker *
disarm(struct weir_source *src)
{
	struct weir_waker *w = src->waiter;

	src->waiter = NULL;
	atomic_u32_store(&src->armed, 0, RELAXED);
	return w;
}

/* Polls one source; true if its waiter was woken. */
static bool
poll_source(struct weir_source *src, bool rescue)
{
	struct weir_waker *w = NULL;
	int rc;

	/* Whoever holds the lock sees to the source itself (S3). */
	if (!lock_try(&src->lock))
		return false;
	if (src->waiter != NULL) {
		rc = src->ops->poll(src->priv);
		atomic_u64_add_owner(&src->polls, 1);
		if (unlikely(rc < 0))
			src->error = (int16_t)-rc;
		if (rc != 0) {
			atomic_u64_add_owner(&src->events, 1);
			if (rescue)
				atomic_u64_add_owner(&src->rescues, 1);
			w = disarm(src);
		}
	}
	lock_release(&src->lock);
	if (w == NULL)
		return false;
	weir_waker_wake(w);
	return true;
}

unsigned int
weir__source_set_poll_owner(struct source_set *s)
{
	const struct source_array *a = sources(s);
	unsigned int i, ready = 0;

	if (a == NULL)
		return 0;
	for (i = 0; i < a->n; i++)
		if (atomic_u32_load(&a->s[i]->armed, RELAXED))
			ready += poll_source(a->s[i], false);
	return ready;
}

unsigned int
weir__source_set_rescue(struct source_set *s)
{
	const struct source_array *a = sources(s);
	unsigned int i, ready = 0;

	if (a == NULL)
		return 0;
	for (i = 0; i < a->n; i++)
		if ((a->s[i]->ops->flags & WEIR_SOURCE_ANY_THREAD) &&
		    atomic_u32_load(&a->s[i]->armed, RELAXED))
			ready += poll_source(a->s[i], true);
	return ready;
}

/*
 * Publishes an array without `gone` and with `added`. With the registry's
 * mutex. Returns 0 and the old array, for retire_array(); or -ENOMEM.
 */
static int
replace_array(struct source_set *s, const struct weir_source *gone,
	      struct weir_source *added, struct source_array **retired)
{
	struct source_array *old = atomic_ptr_load(&s->array, RELAXED), *next;
	unsigned int i, n = old != NULL ? old->n : 0;

	next = rte_zmalloc_socket(NULL,
				  sizeof(*next) + (n + 1) * sizeof(next->s[0]),
				  WEIR_CACHE_LINE, (int)s->socket);
	if (next == NULL)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		if (old->s[i] != gone)
			next->s[next->n++] = old->s[i];
	if (added != NULL)
		next->s[next->n++] = added;
	/* [park:A1] */
	atomic_ptr_store(&s->array, next, RELEASE);
	*retired = old;
	return 0;
}

/*
 * Waits until nobody looks at what was unpublished. Without the mutex: a
 * worker that waited for it would never come to a quiescent state.
 */
static void
retire_array(struct source_set *s, struct source_array *old)
{
	rte_rcu_qsbr_synchronize(s->registry->qsbr, weir__qsbr_id(s->registry));
	rte_free(old);
}

static int
add_source(struct source_set *s, struct weir_source *src)
{
	struct source_array *old = NULL;
	int rc = -ESHUTDOWN;

	pthread_mutex_lock(&s->registry->mutex);
	if (!s->registry->closed)
		rc = replace_array(s, NULL, src, &old);
	pthread_mutex_unlock(&s->registry->mutex);
	if (rc == 0)
		retire_array(s, old);
	return rc;
}

void *
weir_source_create(struct weir_runtime *rt, const struct weir_source_ops *ops,
		   unsigned int worker, size_t priv_size)
{
	struct source_set *set;
	struct weir_source *src;
	int rc;

	set = weir__runtime_source_set(rt, worker);
	if (set == NULL || ops == NULL || ops->poll == NULL) {
		rte_errno = EINVAL;
		return NULL;
	}
	src = rte_zmalloc_socket(ops->name, sizeof(*src) + priv_size,
				 WEIR_CACHE_LINE, (int)set->socket);
	if (src == NULL) {
		rte_errno = ENOMEM;
		return NULL;
	}
	src->ops = ops;
	src->set = set;
	lock_init(&src->lock);
	rc = add_source(set, src);
	if (rc < 0) {
		rte_free(src);
		rte_errno = -rc;
		return NULL;
	}
	return src->priv;
}

void
weir_source_free(void *priv)
{
	struct source_array *old;
	struct weir_source *src;
	struct source_set *set;
	int rc;

	if (priv == NULL)
		return;
	src = weir_source_of(priv);
	set = src->set;
	weir_source_close(src, ESHUTDOWN);
	pthread_mutex_lock(&set->registry->mutex);
	rc = replace_array(set, src, NULL, &old);
	pthread_mutex_unlock(&set->registry->mutex);
	/*
	 * Out of memory, the source stays in the array and is not freed: it is
	 * closed and unarmed, so nobody enters the driver again.
	 */
	if (rc < 0)
		return;
	retire_array(set, old);
	if (src->ops->fini != NULL)
		src->ops->fini(priv);
	rte_free(src);
}

struct weir_source *
weir_source_of(const void *priv)
{
	uintptr_t p = (uintptr_t)priv;

	return (struct weir_source *)(p - offsetof(struct weir_source, priv));
}

unsigned int
weir_source_worker(const struct weir_source *source)
{
	return source->set->worker;
}

void
weir_source_stats_get(const struct weir_source *source,
		      struct weir_source_stats *stats)
{
	stats->polls = atomic_u64_load(&source->polls, RELAXED);
	stats->events = atomic_u64_load(&source->events, RELAXED);
	stats->rescues = atomic_u64_load(&source->rescues, RELAXED);
}

/* Wakes the waiter to an error. */
static void
tell(struct weir_source *src, int error, bool close)
{
	struct weir_waker *w;

	lock_acquire(&src->lock);
	if (!close)
		src->alert = (int16_t)error;
	else if (src->error == 0)
		src->error = (int16_t)error;
	w = disarm(src);
	lock_release(&src->lock);
	if (w != NULL)
		weir_waker_wake(w);
}

void
weir_source_close(struct weir_source *source, int error)
{
	tell(source, error, true);
}

void
weir_source_alert(struct weir_source *source, int error)
{
	tell(source, error, false);
}

void
weir__source_set_close(struct source_set *s)
{
	const struct source_array *a;
	unsigned int i;

	pthread_mutex_lock(&s->registry->mutex);
	s->registry->closed = true;
	a = sources(s);
	for (i = 0; a != NULL && i < a->n; i++)
		weir_source_close(a->s[i], ESHUTDOWN);
	pthread_mutex_unlock(&s->registry->mutex);
}

int
weir_source_wait_begin(struct weir_context *ctx, void *priv)
{
	struct weir_source *src = weir_source_of(priv);
	int rc;

	rc = weir_context_spend(ctx, 0);
	if (unlikely(rc < 0))
		return rc;
	/* A rescuer is in it and will be gone in a moment. */
	if (unlikely(!lock_try(&src->lock)))
		return weir_context_yield(ctx);
	return (src->error | src->alert) != 0;
}

int
weir_source_wait_fail(void *priv)
{
	struct weir_source *src = weir_source_of(priv);
	int error = src->error;

	if (error == 0) {
		error = src->alert;
		src->alert = 0;
	}
	WEIR_ASSERT(error != 0, "weir_source_wait_fail(): no error to report");
	lock_release(&src->lock);
	return -error;
}

void
weir_source_wait_ready(struct weir_context *ctx, void *priv, unsigned int units)
{
	context_charge(ctx, units);
	lock_release(&weir_source_of(priv)->lock);
}

int
weir_source_wait_arm(struct weir_context *ctx, void *priv)
{
	struct weir_source *src = weir_source_of(priv);
	struct weir_waker *gone = NULL;
	int rc = WEIR_PENDING;

	if (src->waiter == NULL || weir__waker_ended(src->waiter)) {
		/* A waiter that was cancelled leaves its place to the next. */
		gone = src->waiter;
		src->waiter = weir__waker_of_task(ctx->task);
		atomic_u32_store(&src->armed, 1, RELAXED);
	} else if (!weir__waker_same(src->waiter, ctx->task)) {
		rc = -EBUSY;
	}
	lock_release(&src->lock);
	weir_waker_drop(gone);
	return rc;
}
