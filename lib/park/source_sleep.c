/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sources while their home worker sleeps in the kernel.
 *
 * Before it sleeps, each armed source is told to wake it, by an interrupt that
 * the driver adds to the worker's epoll fd, and is then polled once more: what
 * came before the interrupt was enabled raises none. Sources whose events are
 * posted by software need no preparation, since posting wakes the worker. Any
 * other source has to be polled, and keeps its worker from sleeping.
 *
 * A driver may refuse, for want of memory for example. Its source is polled then, and
 * unless it said that it never can the driver is asked again a second later, then two,
 * and so on.
 *
 * Some drivers say that their interrupts are enabled and never get one. So an
 * interrupt is not trusted before it has come once: until then sleeps are
 * short, and each that left packets lying is a strike.
 *
 * Invariants:
 * N1 sleep and wake are called by turns, under the lock, by the home worker: EAL
 *    looks at what sleep has added, and at the interrupt's fd, for as long as that
 *    is in the wait. So a source is awake before it moves, and before a closed one
 *    is its closer's again. A worker knows without the lock which of its own it
 *    sleeps on: nobody else says so.
 * N2 While the worker sleeps, each armed source is one that wakes it, or was
 *    armed, or moved there, after the worker said that it sleeps, and then the
 *    one who did so calls.
 */

#include <errno.h>
#include <inttypes.h>
#include <sched.h>

#include <rte_cycles.h>
#include <rte_errno.h>

#include "base/log.h"
#include "park/source.h"

/* How long a sleep is at most beside an interrupt that was never seen. */
#define UNTRUSTED_NS UINT64_C(10000000)
#define STRIKES 3
/*
 * So many refusals in a row double the time to the next question, to a quarter of an
 * hour: some drivers write a line each time.
 */
#define REFUSALS 10
#define FOR_GOOD UINT64_MAX

static bool
must_be_polled(const struct weir_source *src)
{
	uint64_t until;

	if (src->ops->flags & WEIR_SOURCE_NOTIFIES)
		return false;
	if (src->ops->sleep == NULL || atomic_u32_load(&src->leaves, RELAXED))
		return true;
	until = atomic_u64_load(&src->polled_until, RELAXED);
	return unlikely(until != 0) && rte_rdtsc() < until;
}

/*
 * Nothing but an event or another waiter would take one out that has ended, and
 * that may never come.
 */
static bool
keeps_awake(struct weir_source *src)
{
	if (!source_is_armed(src) || !must_be_polled(src))
		return false;
	weir__source_forget_ended(src);
	return source_is_armed(src);
}

bool
weir__source_set_may_sleep(const struct source_set *s)
{
	const struct source_array *a = weir__source_set_array(s);
	unsigned int i;

	for (i = 0; a != NULL && i < a->n; i++)
		if (keeps_awake(a->s[i]))
			return false;
	return true;
}

static bool
is_slept_on(const struct weir_source *src)
{
	return atomic_u32_load(&src->slept, RELAXED) != 0;
}

/* With the lock. */
static void
tell_polled(const struct weir_source *src, const char *why)
{
	char which[64] = "";

	if (src->ops->describe != NULL)
		src->ops->describe(src->priv, which, sizeof(which));
	WEIR_LOG(NOTICE, "source %s%s%s%s of worker %u: %s; polling it\n",
		 src->ops->name, which[0] != '\0' ? " (" : "", which,
		 which[0] != '\0' ? ")" : "", weir_source_worker(src), why);
}

/* Told once, until the driver agrees. With the lock. */
static void
note_refusal(struct weir_source *src, int rc)
{
	uint64_t wait = rte_get_tsc_hz() << src->refusals;

	if (src->refusals == 0)
		tell_polled(src, rte_strerror(-rc));
	if (src->refusals < REFUSALS)
		src->refusals++;
	atomic_u64_store(&src->polled_until,
			 rc == -ENOTSUP ? FOR_GOOD : rte_rdtsc() + wait,
			 RELAXED);
}

/* Returns for how long the worker may sleep. With the lock. */
static uint64_t
prepare(const struct source_set *s, struct weir_source *src,
	uint64_t timeout_ns)
{
	int rc;

	if (src->ops->flags & WEIR_SOURCE_NOTIFIES)
		return timeout_ns;
	if (must_be_polled(src))
		return 0;
	rc = src->ops->sleep(src->priv, s->sleeper->epoll_fd);
	if (rc < 0) {
		note_refusal(src, rc);
		return 0;
	}
	atomic_u64_store(&src->polled_until, 0, RELAXED);
	src->refusals = 0;
	atomic_u32_store(&src->slept, 1, RELAXED);
	return src->trusted ? timeout_ns : RTE_MIN(timeout_ns, UNTRUSTED_NS);
}

uint64_t
weir__source_set_sleep(struct source_set *s, uint64_t timeout_ns)
{
	const struct source_array *a = weir__source_set_array(s);
	bool found = timeout_ns == 0;
	struct weir_waker *w;
	unsigned int i;

	/* Where one refuses the others are asked still: the log names them, too. */
	for (i = 0; a != NULL && i < a->n && !found; i++) {
		struct weir_source *src = a->s[i];

		if (!source_is_armed(src))
			continue;
		w = NULL;
		lock_acquire(&src->lock);
		/* One that has moved away is another worker's to be told. */
		if (source_is_armed(src) && source_home(src) == s) {
			timeout_ns = prepare(s, src, timeout_ns);
			found = weir__source_look(src, false, &w);
		}
		lock_release(&src->lock);
		if (w != NULL)
			weir_waker_wake(w);
	}
	return found ? 0 : timeout_ns;
}

/* What this sleep says of the interrupt. With the lock. */
static void
judge(struct weir_source *src, bool fired, bool late, bool found)
{
	if (fired)
		src->trusted = true;
	if (fired || !late || !found || src->trusted ||
	    ++src->strikes < STRIKES)
		return;
	atomic_u64_store(&src->polled_until, FOR_GOOD, RELAXED);
	tell_polled(src, "its interrupt does not come");
}

static void
wake(struct weir_source *src)
{
	src->ops->wake(src->priv);
	atomic_u32_store(&src->slept, 0, RELAXED);
}

void
weir__source_set_wake(struct source_set *s, bool late)
{
	const struct source_array *a = weir__source_set_array(s);
	struct weir_waker *w;
	unsigned int i;
	bool found;

	for (i = 0; a != NULL && i < a->n; i++) {
		struct weir_source *src = a->s[i];

		/* N1 */
		if (!is_slept_on(src))
			continue;
		found = false;
		w = NULL;
		lock_acquire(&src->lock);
		if (is_slept_on(src) && source_home(src) == s) {
			wake(src);
			if (source_is_armed(src))
				found = weir__source_look(src, false, &w);
			judge(src, weir__sleeper_was_fired(s->sleeper, src),
			      late, found && src->error == 0);
		}
		lock_release(&src->lock);
		if (w != NULL)
			weir_waker_wake(w);
	}
}

void
weir__source_await_wake(struct weir_source *src)
{
	bool slept, called = false;

	for (;;) {
		lock_acquire(&src->lock);
		slept = is_slept_on(src);
		lock_release(&src->lock);
		if (!slept)
			return;
		/* N1: it said that it sleeps before, so this reaches it. */
		if (!called)
			weir__sleeper_signal(source_home(src)->sleeper);
		called = true;
		sched_yield();
	}
}

void
weir_source_notify(void *priv)
{
	/*
	 * [sleep:F1] between what was posted and our look: the worker sees the
	 * one, or we see that it sleeps.
	 */
	atomic_fence(SEQ_CST);
	sleeper_call(source_home(weir_source_of(priv))->sleeper, RELAXED);
}
