/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One value from one sender to one receiver.
 *
 * Both ends meet in one word, which they change by swaps: the sender once, puts in
 * that it has gone, and gets out who waits; the receiver puts in its waker, which it
 * may take back and put in again, or that it has gone. Who finds that the other end
 * has gone has all for itself, and needs no swap. The waker is the word, and not
 * beside it, so that it is read and taken in one step: a receiver may be polled for
 * some other reason, find the value, and free the memory while the sender is about
 * to wake it.
 *
 * Y12 The value is written once, before the sender goes, and read or dropped
 *     once, by whoever ends the receiver after that.
 * Y13 The memory goes with the second end, which is the one that finds the other
 *     gone. Whose swap did not find that touches it no more.
 * Y49 A waker in the word is used or dropped once, by who takes it out: the
 *     sender, or the task that gives its wait up.
 */

#include "sched/scheduler.h"
#include "sync/memory.h"
#include "sync/oneshot.h"
#include "sync/weir_oneshot.h"
#include "task/parker.h"

/* The smallest cell has room for a pointer. */
static_assert(offsetof(struct oneshot, value) + sizeof(void *) <=
		      CELL_MIN_SIZE - offsetof(struct task, bytes),
	      "one of the usual size takes no more than the least");

static struct oneshot *
oneshot_of(const void *end)
{
	return (struct oneshot *)(uintptr_t)end;
}

static struct weir_waker *
waker_of(uint64_t word)
{
	return (struct weir_waker *)(uintptr_t)word;
}

/* Y49. The wait of this task may still be in. */
static void
cancel(struct awaited *a, struct wait *w)
{
	struct oneshot *o = (struct oneshot *)a;
	/* The task's own words: it learns nothing here. */
	uint64_t word = atomic_u64_load(&o->word, RELAXED);

	(void)w;
	if (oneshot_is_waker(word) &&
	    atomic_u64_cas(&o->word, &word, ONESHOT_EMPTY, RELAXED, RELAXED))
		weir_waker_drop(waker_of(word));
}

static const struct sync_ops ops = {
	.cancel = cancel,
};

int
weir_oneshot_create(struct weir_runtime *rt, size_t size,
		    void (*drop)(void *value), struct weir_oneshot_tx **tx,
		    struct weir_oneshot_rx **rx)
{
	struct oneshot *o;

	if (size > WEIR_ONESHOT_SIZE_MAX)
		return -EINVAL;
	o = weir__object_alloc(rt, sizeof(*o) + size);
	if (o == NULL)
		return -ENOMEM;
	o->awaited.ops = &ops;
	atomic_u64_store(&o->word, ONESHOT_EMPTY, RELAXED);
	o->drop = drop;
	o->size = (uint32_t)size;
	*tx = (struct weir_oneshot_tx *)o;
	*rx = (struct weir_oneshot_rx *)o;
	return 0;
}

/* A plain look is enough where the receiver has gone before. */
static bool
is_alone(const struct oneshot *o)
{
	/* [oneshot:A3] as in end_sender(). */
	return atomic_u64_load(&o->word, ACQUIRE) == ONESHOT_RX_GONE;
}

/* The sender goes. 0, or -EPIPE: the receiver has gone (Y13). */
static int
end_sender(struct oneshot *o, enum oneshot_word how)
{
	/*
	 * [oneshot:A1] The receiver acquires our last use of the memory, and the
	 * value: without it it could read what was there before.
	 * [oneshot:A2] The waker comes with what its owner did before: without it
	 * a parker is used that is not there yet.
	 * [oneshot:A3] So does the end of the receiver: without it memory is
	 * freed that it still uses.
	 */
	uint64_t word = atomic_u64_exchange(&o->word, how, ACQ_REL);

	if (oneshot_is_waker(word)) {
		weir_waker_wake(waker_of(word));
		return 0;
	}
	if (likely(word == ONESHOT_EMPTY))
		return 0;
	weir__object_free(o);
	return -EPIPE;
}

int
weir_oneshot_send(struct weir_oneshot_tx *tx, const void *value)
{
	struct oneshot *o = oneshot_of(tx);

	if (unlikely(is_alone(o))) {
		weir__object_free(o);
		return -EPIPE;
	}
	sync_copy(o->value, value, o->size);
	return end_sender(o, ONESHOT_SENT);
}

bool
weir_oneshot_is_closed(const struct weir_oneshot_tx *tx)
{
	return is_alone(oneshot_of(tx));
}

void
weir_oneshot_tx_drop(struct weir_oneshot_tx *tx)
{
	struct oneshot *o = oneshot_of(tx);

	if (tx == NULL)
		return;
	if (is_alone(o))
		weir__object_free(o);
	else
		end_sender(o, ONESHOT_TX_GONE);
}

static uint64_t
look(const struct oneshot *o)
{
	/* [oneshot:A1] whoever sees that the sender has gone has all (Y13). */
	return atomic_u64_load(&o->word, ACQUIRE);
}

/* The sender has gone: the receiver takes what there is, and goes. */
static __rte_noinline int
take(struct oneshot *o, uint64_t word, void *value)
{
	int rc = -EPIPE;

	if (likely(word == ONESHOT_SENT)) {
		sync_copy(value, o->value, o->size);
		rc = 0;
	}
	weir__object_free(o);
	return rc;
}

/* ONESHOT_EMPTY: the waker is in the word now, or else is not. */
static uint64_t
put_waker(struct oneshot *o, struct weir_waker *waker)
{
	uint64_t word = ONESHOT_EMPTY;

	/*
	 * [oneshot:A2] the waker is the sender's from now on. [oneshot:A1] if this
	 * fails the sender may have gone.
	 */
	atomic_u64_cas(&o->word, &word, (uintptr_t)waker, RELEASE, ACQUIRE);
	return word;
}

/* What is in the word when the thread need not wait any more. */
static uint64_t
block(struct oneshot *o)
{
	struct thread_parker parker;
	uint64_t word;

	parker_init(&parker);
	word = put_waker(o, weir__waker_of_parker(&parker));
	if (word == ONESHOT_EMPTY) {
		parker_park(&parker);
		word = look(o);
	}
	parker_fini(&parker);
	return word;
}

/* As put_waker(). */
static uint64_t
put_task(struct weir_context *ctx, struct oneshot *o, struct wait *w)
{
	struct weir_waker *waker = context_waker(ctx);
	uint64_t word = put_waker(o, waker);

	if (likely(word == ONESHOT_EMPTY)) {
		w->awaited = &o->awaited;
		/* The waker is in the word: this says whose the wait is. */
		atomic_u64_store(&w->waiter, (uintptr_t)context_task(ctx),
				 RELAXED);
	} else {
		weir_waker_drop(waker);
	}
	return word;
}

/* Whoever it is, and whatever it finds. */
static __rte_noinline int
receive(struct weir_context *ctx, struct oneshot *o, void *value,
	struct weir_wait *wait)
{
	struct wait *w = (struct wait *)wait;
	uint64_t word;
	int rc;

	rc = wait_enter(ctx, &o->awaited, wait);
	if (rc < 0)
		return rc;
	word = look(o);
	if (word == ONESHOT_EMPTY)
		word = ctx != NULL ? put_task(ctx, o, w) : block(o);
	if (word == ONESHOT_EMPTY || (rc > 0 && oneshot_is_waker(word)))
		return WEIR_PENDING;
	/* Somebody else's: one at a time. */
	if (unlikely(oneshot_is_waker(word)))
		return -EBUSY;
	if (w != NULL) {
		w->awaited = NULL;
		w->tried = 0;
	}
	return take(o, word, value);
}

int
weir_oneshot_recv(struct weir_context *ctx, struct weir_oneshot_rx *rx,
		  void *value, struct weir_wait *wait)
{
	struct oneshot *o = oneshot_of(rx);
	struct wait *w = (struct wait *)wait;
	uint64_t word;

	wait_check(ctx, wait);
	/* A task that need not get in line: no registers are saved for it. */
	if (likely(ctx != NULL && wait_is_idle(wait) &&
		   !context_is_spent(ctx))) {
		word = look(o);
		if (word == ONESHOT_SENT) {
			ctx->budget--;
			w->tried = 0;
			return take(o, word, value);
		}
		if (word == ONESHOT_EMPTY && wait_looks_again(ctx, wait)) {
			ctx->budget--;
			return context_look_behind_next(ctx);
		}
	}
	return receive(ctx, o, value, wait);
}

int
weir_oneshot_try_recv(struct weir_oneshot_rx *rx, void *value)
{
	struct oneshot *o = oneshot_of(rx);
	uint64_t word = look(o);

	if (word == ONESHOT_EMPTY || oneshot_is_waker(word))
		return -EAGAIN;
	return take(o, word, value);
}

void
weir_oneshot_rx_drop(struct weir_oneshot_rx *rx)
{
	struct oneshot *o = oneshot_of(rx);
	uint64_t word;

	if (rx == NULL)
		return;
	word = look(o);
	WEIR_ASSERT(!oneshot_is_waker(word), "rx_drop: nobody may wait for it");
	if (word == ONESHOT_EMPTY) {
		/*
		 * [oneshot:A3] our last use, if the sender is there.
		 * [oneshot:A1] if it is not, what it sent is ours.
		 */
		word = atomic_u64_exchange(&o->word, ONESHOT_RX_GONE, ACQ_REL);
		if (word == ONESHOT_EMPTY)
			return;
	}
	/* Y12 */
	if (word == ONESHOT_SENT && o->drop != NULL)
		o->drop(o->value);
	weir__object_free(o);
}
