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
 * S2 A waiter is woken after it was taken out of its place, once for each time
 *    it was put there, unless it takes itself out or has ended. The place is
 *    `waiter`, and it is woken outside the lock; or one of the driver's, which wakes
 *    it itself, and may leave it there when it tells of an alert.
 * S3 `armed` is the number of waiters. A poller that misses it comes back in its
 *    next round: no wake-up hangs on one look.
 * S4 After close, the error is in place before the waiter is woken.
 * S5 Who waits for the readers of a runtime is a reader of none.
 * S6 One waits for them at a time. DPDK keeps what the last wait has come to, and
 *    does not look at the readers again for one that began before: of two at a
 *    time, one would miss a reader that came online behind the other's look.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "base/heap.h"
#include "base/race.h"
#include "park/grace.h"
#include "park/source.h"

static_assert(offsetof(struct weir_source, polled_until) == WEIR_CACHE_LINE &&
		      offsetof(struct weir_source, priv) == 2 * WEIR_CACHE_LINE,
	      "one line of ours, one for sleeps, then the driver's");

static void *
allocate(const struct source_set *s, const char *name, size_t size)
{
	return heap_taken(rte_zmalloc_socket(name, size, WEIR_CACHE_LINE,
					     (int)s->socket));
}

void
weir__source_set_init(struct source_set *s, struct source_registry *r,
		      struct sleeper *sleeper, unsigned int worker,
		      unsigned int socket)
{
	atomic_ptr_store(&s->array, NULL, RELAXED);
	atomic_u64_store(&s->last_poll, 0, RELAXED);
	atomic_u32_store(&s->awaited, 0, RELAXED);
	s->registry = r;
	s->closed = true;
	s->sleeper = sleeper;
	s->worker = worker;
	s->socket = socket;
}

void
weir__source_set_open(struct source_set *s)
{
	pthread_mutex_lock(&s->registry->mutex);
	s->closed = false;
	pthread_mutex_unlock(&s->registry->mutex);
}

/* Closed, awake and unarmed: whoever still looks at it stays out of the driver. */
static void
end_driver(struct weir_source *src)
{
	if (src->ops->fini == NULL)
		return;
	lock_acquire(&src->lock);
	src->ops->fini(src->priv);
	lock_release(&src->lock);
}

/* Nobody looks at it any more. */
static void
destroy(struct weir_source *src)
{
	free(src->watch);
	heap_free(src);
}

void
weir__source_set_fini(struct source_set *s)
{
	struct source_array *a = atomic_ptr_load(&s->array, RELAXED);
	unsigned int i;

	for (i = 0; a != NULL && i < a->n; i++)
		if (a->s[i]->freed)
			destroy(a->s[i]);
	heap_free(a);
}

const struct source_array *
weir__source_set_array(const struct source_set *s)
{
	/* [park:A1] the array's contents before its address. */
	return atomic_ptr_load(&s->array, ACQUIRE);
}

/* Takes the one waiter out, if there is one. With the lock. */
static struct weir_waker *
disarm(struct weir_source *src)
{
	struct weir_waker *w = src->waiter;

	if (w == NULL)
		return NULL;
	src->waiter = NULL;
	source_count_waiters(src, -1);
	return w;
}

/* All waiters are to be woken: gives back the one that the caller wakes. */
static struct weir_waker *
disarm_all(struct weir_source *src)
{
	if (src->ops->wake_all != NULL)
		src->ops->wake_all(src->priv);
	return disarm(src);
}

bool
weir__source_look(struct weir_source *src, bool rescue, struct weir_waker **w)
{
	int rc;

	rc = src->ops->poll(src->priv);
	atomic_u64_add_owner(&src->polls, 1);
	*w = NULL;
	if (rc == 0) {
		if (src->looks < SOURCE_FEW_LOOKS)
			src->looks++;
		return false;
	}
	src->quick = src->looks < SOURCE_FEW_LOOKS;
	atomic_u64_add_owner(&src->events, 1);
	if (rescue)
		atomic_u64_add_owner(&src->rescues, 1);
	if (likely(rc > 0)) {
		*w = disarm(src);
		return true;
	}
	/* Of what is beyond, the opposite may not be there. */
	src->error = (int16_t)errno_or_einval(rc > WEIR_PENDING ? -rc : 0);
	*w = disarm_all(src);
	return true;
}

/* Read too late, it is right in the next round (S3). */
static bool
is_to_rest(const struct weir_source *src, uint64_t now, bool idle)
{
	return now <
	       atomic_u64_load(idle ? &src->idle_not_before : &src->not_before,
			       RELAXED);
}

/* Polls one source; true if a task was woken. */
static bool
poll_source(struct weir_source *src, bool rescue)
{
	struct weir_waker *w = NULL;
	bool found = false;

	/* Whoever holds the lock sees to the source itself (S3). */
	if (!lock_try(&src->lock))
		return false;
	if (source_is_armed(src))
		found = weir__source_look(src, rescue, &w);
	lock_release(&src->lock);
	if (w != NULL)
		weir_waker_wake(w);
	return found;
}

unsigned int
weir__source_set_poll_owner(struct source_set *s, uint64_t now, bool idle)
{
	const struct source_array *a = weir__source_set_array(s);
	unsigned int i, ready = 0;
	bool any = false;

	if (a == NULL)
		return 0;
	for (i = 0; i < a->n; i++) {
		if (!source_is_armed(a->s[i]))
			continue;
		any = true;
		if (!is_to_rest(a->s[i], now, idle))
			ready += poll_source(a->s[i], false);
	}
	if (!any && source_set_is_awaited(s))
		atomic_u32_store(&s->awaited, 0, RELAXED);
	return ready;
}

unsigned int
weir__source_set_rescue(struct source_set *s, uint64_t now)
{
	const struct source_array *a = weir__source_set_array(s);
	unsigned int i, ready = 0;

	if (a == NULL)
		return 0;
	/* Of one that is not armed the ops may have gone with its driver. */
	for (i = 0; i < a->n; i++)
		if (source_is_armed(a->s[i]) &&
		    (a->s[i]->ops->flags & WEIR_SOURCE_ANY_THREAD) &&
		    !is_to_rest(a->s[i], now, false))
			ready += poll_source(a->s[i], true);
	return ready;
}

static struct source_array *
alloc_array(const struct source_set *s, unsigned int n)
{
	struct source_array *a;

	return allocate(s, NULL, sizeof(*a) + n * sizeof(a->s[0]));
}

/*
 * Publishes an array without `gone` and with `added`. With the registry's
 * mutex. Returns 0 and the old array, for retire_arrays(); or -ENOMEM.
 */
static int
replace_array(struct source_set *s, const struct weir_source *gone,
	      struct weir_source *added, struct source_array **retired)
{
	struct source_array *old = atomic_ptr_load(&s->array, RELAXED), *next;
	unsigned int i, n = old != NULL ? old->n : 0;

	next = alloc_array(s, n + 1);
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
 * worker that waited for it would never come to a quiescent state. Nor may a
 * worker that waits here be waited for, by another that does so: what it runs is
 * a task, which holds no array, so it leaves the readers meanwhile (S5).
 */
static void
retire_arrays(struct source_registry *r, struct source_array **old,
	      unsigned int n)
{
	bool any = false, left;
	unsigned int i;

	for (i = 0; i < n; i++)
		any |= old[i] != NULL;
	if (!any)
		return;
	/*
	 * [park:F1] between unpublishing and the look who is online. DPDK has a
	 * release there, which does not order the two: without the fence we could
	 * miss a worker that comes online, and it what we unpublished.
	 */
	atomic_fence(SEQ_CST);
	left = weir__reader_leave();
	/* S6; whoever waits for it is no reader. */
	pthread_mutex_lock(&r->waits);
	weir__grace_period(r->qsbr);
	pthread_mutex_unlock(&r->waits);
	if (left)
		weir__reader_return();
	/* It waited for the readers' quiescent states. */
	race_acquire(&r->qsbr);
	for (i = 0; i < n; i++)
		heap_free(old[i]);
}

static int
add_source(struct source_set *s, struct weir_source *src)
{
	struct source_array *old = NULL;
	int rc = 0;

	pthread_mutex_lock(&s->registry->mutex);
	if (s->registry->closed)
		rc = -ESHUTDOWN;
	else if (s->closed)
		rc = -EINVAL;
	if (rc == 0)
		rc = replace_array(s, NULL, src, &old);
	pthread_mutex_unlock(&s->registry->mutex);
	if (rc == 0)
		retire_arrays(s->registry, &old, 1);
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
	if (set == NULL || ops == NULL || ops->poll == NULL ||
	    (ops->sleep == NULL) != (ops->wake == NULL)) {
		rte_errno = EINVAL;
		return NULL;
	}
	/* EAL's heap rounds sizes up, and would wrap one near the end. */
	src = priv_size < SIZE_MAX / 2 ?
		      allocate(set, ops->name, sizeof(*src) + priv_size) :
		      NULL;
	if (src == NULL) {
		rte_errno = ENOMEM;
		return NULL;
	}
	src->ops = ops;
	atomic_ptr_store(&src->set, set, RELAXED);
	lock_init(&src->lock);
	rc = add_source(set, src);
	if (rc < 0) {
		heap_free(src);
		rte_errno = -rc;
		return NULL;
	}
	return src->priv;
}

void
weir_source_free(void *priv)
{
	struct source_registry *registry;
	struct source_array *old;
	struct weir_source *src;
	struct source_set *set;
	int rc;

	if (priv == NULL)
		return;
	src = weir_source_of(priv);
	registry = source_home(src)->registry;
	weir_source_close(src, ESHUTDOWN);
	pthread_mutex_lock(&registry->mutex);
	set = source_home(src);
	rc = replace_array(set, src, NULL, &old);
	src->freed = true;
	pthread_mutex_unlock(&registry->mutex);
	if (rc == 0)
		retire_arrays(registry, &old, 1);
	end_driver(src);
	/* Without memory, the rest of it stays in the array until that goes. */
	if (rc == 0)
		destroy(src);
}

/* N1. One that leaves: a sleep on it that has not begun by now sees that. */
static void
change_home(struct weir_source *src, struct source_set *to)
{
	weir__source_await_wake(src);
	lock_acquire(&src->lock);
	atomic_u32_store(&src->leaves, 0, RELAXED);
	atomic_ptr_store(&src->set, to, RELAXED);
	if (source_is_armed(src))
		atomic_u32_store(&to->awaited, 1, RELAXED);
	lock_release(&src->lock);
	/* [sleep:F1] what the new worker has to poll, before our look. */
	atomic_fence(SEQ_CST);
	sleeper_call(to->sleeper, RELAXED);
}

/*
 * Moves one source to another set, or all if it is NULL. With the mutex.
 * Returns 0 and the old arrays, for retire_arrays(); or -ENOMEM.
 */
static int
move_sources(struct source_set *from, struct source_set *to,
	     const struct weir_source *only, struct source_array *retired[2])
{
	struct source_array *a = atomic_ptr_load(&from->array, RELAXED);
	struct source_array *b = atomic_ptr_load(&to->array, RELAXED);
	struct source_array *rest, *joined;
	unsigned int i;

	rest = alloc_array(from, a->n);
	joined = alloc_array(to, a->n + (b != NULL ? b->n : 0));
	if (rest == NULL || joined == NULL) {
		heap_free(rest);
		heap_free(joined);
		return -ENOMEM;
	}
	for (i = 0; b != NULL && i < b->n; i++)
		joined->s[joined->n++] = b->s[i];
	for (i = 0; i < a->n; i++) {
		if (only != NULL && a->s[i] != only) {
			rest->s[rest->n++] = a->s[i];
			continue;
		}
		joined->s[joined->n++] = a->s[i];
	}
	/* For a moment both poll it, one at a time (S1), rather than nobody. */
	/* [park:A1] */
	atomic_ptr_store(&to->array, joined, RELEASE);
	/*
	 * The worker gets up once for all of them. Whoever has a source's lock after
	 * change_home() looked with it whether it is slept on sees this.
	 */
	for (i = 0; i < a->n; i++)
		if (only == NULL || a->s[i] == only)
			atomic_u32_store(&a->s[i]->leaves, 1, RELAXED);
	for (i = 0; i < a->n; i++)
		if (only == NULL || a->s[i] == only)
			change_home(a->s[i], to);
	/* [park:A1] */
	atomic_ptr_store(&from->array, rest, RELEASE);
	retired[0] = a;
	retired[1] = b;
	return 0;
}

int
weir__source_set_hand_over(struct source_set *from, struct source_set *to)
{
	struct source_array *retired[2] = { NULL, NULL };
	int rc = 0;

	pthread_mutex_lock(&from->registry->mutex);
	/* Who closes all sets goes from one to the next. */
	if (from->registry->closed)
		rc = -ESHUTDOWN;
	else if (atomic_ptr_load(&from->array, RELAXED) != NULL)
		rc = move_sources(from, to, NULL, retired);
	if (rc == 0)
		from->closed = true;
	pthread_mutex_unlock(&from->registry->mutex);
	retire_arrays(from->registry, retired, 2);
	return rc;
}

int
weir_source_move(struct weir_source *source, struct weir_runtime *rt,
		 unsigned int worker)
{
	struct source_set *from = source_home(source);
	struct source_set *to = weir__runtime_source_set(rt, worker);
	struct source_registry *registry = from->registry;
	struct source_array *retired[2] = { NULL, NULL };
	int rc = 0;

	if (to == NULL || to->registry != registry)
		return -EINVAL;
	pthread_mutex_lock(&registry->mutex);
	from = source_home(source);
	if (registry->closed)
		rc = -ESHUTDOWN;
	else if (to->closed)
		rc = -EINVAL;
	else if (from != to)
		rc = move_sources(from, to, source, retired);
	pthread_mutex_unlock(&registry->mutex);
	retire_arrays(registry, retired, 2);
	return rc;
}

void
weir_source_poll_after(void *priv, uint64_t tsc, uint64_t idle_tsc)
{
	struct weir_source *src = source_of(priv);

	atomic_u64_store(&src->not_before, tsc, RELAXED);
	atomic_u64_store(&src->idle_not_before, idle_tsc, RELAXED);
}

struct weir_source *
weir_source_of(const void *priv)
{
	return source_of(priv);
}

unsigned int
weir_source_worker(const struct weir_source *source)
{
	return source_home(source)->worker;
}

void
weir_source_stats_get(const struct weir_source *source,
		      struct weir_source_stats *stats)
{
	stats->polls = atomic_u64_load(&source->polls, RELAXED);
	stats->events = atomic_u64_load(&source->events, RELAXED);
	stats->rescues = atomic_u64_load(&source->rescues, RELAXED);
}

/* Wakes the waiters to an error. */
static void
tell(struct weir_source *src, int error, bool close)
{
	struct weir_waker *w;

	error = errno_or_einval(error);
	lock_acquire(&src->lock);
	if (!close)
		src->alert = (int16_t)error;
	else if (src->error == 0)
		src->error = (int16_t)error;
	w = disarm_all(src);
	lock_release(&src->lock);
	if (w != NULL)
		weir_waker_wake(w);
}

void
weir_source_close(struct weir_source *source, int error)
{
	tell(source, error, true);
	weir__source_await_wake(source);
}

void
weir_source_alert(struct weir_source *source, int error)
{
	tell(source, error, false);
}

void
weir__source_registry_close(struct source_registry *r)
{
	pthread_mutex_lock(&r->mutex);
	r->closed = true;
	pthread_mutex_unlock(&r->mutex);
}

void
weir__source_set_close(struct source_set *s)
{
	const struct source_array *a;
	unsigned int i;

	pthread_mutex_lock(&s->registry->mutex);
	s->registry->closed = true;
	a = weir__source_set_array(s);
	for (i = 0; a != NULL && i < a->n; i++)
		if (!a->s[i]->freed)
			weir_source_close(a->s[i], ESHUTDOWN);
	pthread_mutex_unlock(&s->registry->mutex);
}

unsigned int
weir__source_set_count(struct source_set *s)
{
	const struct source_array *a;
	unsigned int i, n = 0;

	pthread_mutex_lock(&s->registry->mutex);
	a = weir__source_set_array(s);
	for (i = 0; a != NULL && i < a->n; i++)
		n += !a->s[i]->freed;
	pthread_mutex_unlock(&s->registry->mutex);
	return n;
}
