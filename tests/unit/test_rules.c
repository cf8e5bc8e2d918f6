/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Functions of the library called where they must not be: each returns an error
 * or, where asserts are on, names the rule. This program puts itself in the
 * place of what ends the program then, and goes on behind the call.
 */

#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_log.h>

#include "rig.h"
#include "sync/channel.h"
#include "sync/oneshot.h"
#include "sync/permits.h"
#include "txq.h"
#include "weir_channel.h"
#include "weir_cond.h"
#include "weir_fd.h"
#include "weir_null.h"
#include "weir_oneshot.h"
#include "weir_source_driver.h"

static __thread jmp_buf *behind_call;
static __thread const char *broken;

void
__wrap_weir__assert_failed(const char *rule, const char *file, int line);

void
__wrap_weir__assert_failed(const char *rule, const char *file, int line)
{
	broken = rule;
	if (behind_call == NULL)
		fail_msg("%s:%d: broken rule: %s", file, line, rule);
	longjmp(*behind_call, 1);
}

/* The rule that a call breaks, or NULL. */
#define rule_broken_by(call)              \
	({                                \
		jmp_buf behind_;          \
		broken = NULL;            \
		behind_call = &behind_;   \
		if (setjmp(behind_) == 0) \
			(void)(call);     \
		behind_call = NULL;       \
		broken;                   \
	})

#define IN_POLL "context: in its own poll only"

/* Leaves its context behind, and uses it again when it is dropped. */
struct leaver {
	struct atomic_ptr *left;
	struct atomic_u32 *dropped;
	struct weir_context *ctx;
	const char **said; /* of its use in poll, and in drop */
};

static int
leave_context(struct weir_context *ctx, void *state)
{
	struct leaver *l = state;

	l->ctx = ctx;
	l->said[0] = rule_broken_by(weir_context_worker(ctx));
	atomic_ptr_store(l->left, ctx, RELEASE);
	return WEIR_PENDING;
}

static void
use_context_in_drop(void *state)
{
	struct leaver *l = state;

	l->said[1] = rule_broken_by(weir_context_yield(l->ctx));
	rig_set(l->dropped, 1);
}

static const struct weir_task_ops leaver_ops = {
	.name = "leaver",
	.state_size = sizeof(struct leaver),
	.poll = leave_context,
	.drop = use_context_in_drop,
};

/* A context of a task that waits, for all who should not have it. */
static struct weir_context *
leave(struct weir_join **join, const char **said, struct atomic_u32 *dropped)
{
	struct atomic_ptr left = { NULL };
	struct leaver l = { .left = &left, .dropped = dropped, .said = said };

	*join = weir_task_spawn(rig.rt, &leaver_ops, &l, NULL);
	rig_wait_until(atomic_ptr_load(&left, ACQUIRE) != NULL);
	/* Its poll has returned. */
	rig_wait_until(
		!(state_load(&((struct task *)*join)->state) & STATE_RUNNING));
	return atomic_ptr_load(&left, RELAXED);
}

static void
skip_without_asserts(void)
{
#ifndef WEIR_ASSERTS
	unit_skip("built without asserts");
#endif
}

static void
context_is_refused_on_another_thread(void **state)
{
	struct weir_join *join, *other;
	struct atomic_u32 dropped = { 0 };
	const char *said[2] = { 0 };
	struct weir_context *ctx;

	skip_without_asserts();
	ctx = leave(&join, said, &dropped);
	assert_null(said[0]);
	assert_string_equal(rule_broken_by(weir_context_waker(ctx)), IN_POLL);
	assert_string_equal(rule_broken_by(weir_context_yield(ctx)), IN_POLL);
	assert_string_equal(rule_broken_by(weir_context_spend(ctx, 1)),
			    IN_POLL);
	assert_string_equal(rule_broken_by(weir_context_budget_suspend(ctx)),
			    IN_POLL);
	assert_string_equal(rule_broken_by(weir_context_budget_resume(ctx)),
			    IN_POLL);
	assert_string_equal(rule_broken_by(weir_context_runtime(ctx)), IN_POLL);
	assert_string_equal(rule_broken_by(weir_context_worker(ctx)), IN_POLL);
	other = rig_spawn(rig.rt, &rig_done_ops, &rig.told);
	assert_string_equal(rule_broken_by(weir_join_poll(ctx, other, NULL)),
			    IN_POLL);
	/* The handle is still there. */
	assert_int_equal(rig_join(other, NULL), 0);
	weir_join_abort(join);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
}

/* Stays in its poll, with its context in others' hands. */
static int
leave_context_and_block(struct weir_context *ctx, void *state)
{
	struct leaver *l = state;

	atomic_ptr_store(l->left, ctx, RELEASE);
	rig_wait_until(rig_get(l->dropped));
	return WEIR_DONE;
}

static void
context_is_refused_beside_its_poll(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "blocks",
		.state_size = sizeof(struct leaver),
		.poll = leave_context_and_block,
	};
	struct atomic_ptr left = { NULL };
	struct atomic_u32 go = { 0 };
	struct leaver l = { .left = &left, .dropped = &go };
	struct weir_join *join;
	const char *rule;

	skip_without_asserts();
	join = weir_task_spawn(rig.rt, &ops, &l, NULL);
	rig_wait_until(atomic_ptr_load(&left, ACQUIRE) != NULL);
	rule = rule_broken_by(weir_context_yield(
		(struct weir_context *)atomic_ptr_load(&left, RELAXED)));
	rig_set(&go, 1);
	assert_int_equal(rig_join(join, NULL), 0);
	assert_string_equal(rule, IN_POLL);
}

static void
context_is_refused_after_its_poll(void **state)
{
	struct atomic_u32 dropped = { 0 };
	const char *said[2] = { 0 };
	struct weir_join *join;

	skip_without_asserts();
	leave(&join, said, &dropped);
	weir_join_abort(join);
	rig_wait_until(rig_get(&dropped));
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
	assert_string_equal(said[1], IN_POLL);
}

static const char *free_said;

static int
free_poll(struct weir_context *ctx, void *state)
{
	free_said = rule_broken_by(
		weir_runtime_free(*(struct weir_runtime **)state));
	return WEIR_DONE;
}

/* Without asserts it does nothing, which this shows as well. */
static void
runtime_is_not_freed_on_a_worker(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "free",
		.state_size = sizeof(struct weir_runtime *),
		.poll = free_poll,
	};

	free_said = NULL;
	assert_int_equal(weir_runtime_block_on(rig.rt, &ops, &rig.rt, NULL), 0);
#ifdef WEIR_ASSERTS
	assert_string_equal(
		free_said,
		"weir_runtime_free(): not on a worker, nor in a job");
#endif
	assert_int_equal(
		weir_runtime_block_on(rig.rt, &rig_done_ops, &rig.told, NULL),
		0);
}

/* Frees a runtime; what the library logs goes to *line. */
static const char *
free_logged(struct weir_runtime *rt, char *line, size_t size)
{
	FILE *log = fmemopen(line, size, "w");
	const char *rule;

	assert_non_null(log);
	memset(line, 0, size);
	rte_openlog_stream(log);
	rule = rule_broken_by(weir_runtime_free(rt));
	rte_openlog_stream(NULL);
	fclose(log);
	return rule;
}

/* With asserts it is not freed then; without, only the line tells. */
static void
runtime_is_freed_after_its_sources(void **state)
{
	struct weir_null *sources[2];
	char line[200];
	const char *rule;

	skip_without_asserts();
	sources[0] = weir_null_create(rig.rt, 0);
	sources[1] = weir_null_create(rig.rt, 1);
	assert_non_null(sources[0]);
	assert_non_null(sources[1]);
	rule = free_logged(rig.rt, line, sizeof(line));
	assert_string_equal(line, "weir: runtime \"weir\" is freed before 2 of "
				  "its sources, which cannot be freed any "
				  "more\n");
	assert_string_equal(rule, "weir_runtime_free(): its sources are freed");
	weir_null_free(sources[0]);
	rule = free_logged(rig.rt, line, sizeof(line));
	assert_non_null(strstr(line, "before 1 of"));
	assert_non_null(rule);
	weir_null_free(sources[1]);
}

/* What is said when a task gives no wait. */
static struct {
	struct weir_semaphore semaphore;
	struct weir_watch watch;
	struct weir_watch_receiver receiver;
	struct weir_sender *tx;
	struct weir_receiver *rx;
	struct weir_oneshot_rx *oneshot;
	const char *said[6];
} waitless;

static int
wait_without_wait(struct weir_context *ctx, void *state)
{
	void *value = NULL;

	waitless.said[0] = rule_broken_by(
		weir_semaphore_acquire(ctx, &waitless.semaphore, 1, NULL));
	waitless.said[1] = rule_broken_by(weir_watch_changed(
		ctx, &waitless.watch, &waitless.receiver, NULL));
	waitless.said[2] =
		rule_broken_by(weir_send(ctx, waitless.tx, &value, NULL));
	waitless.said[3] =
		rule_broken_by(weir_recv(ctx, waitless.rx, &value, NULL));
	waitless.said[4] = rule_broken_by(
		weir_recv_burst(ctx, waitless.rx, &value, 1, NULL));
	waitless.said[5] = rule_broken_by(
		weir_oneshot_recv(ctx, waitless.oneshot, &value, NULL));
	return WEIR_DONE;
}

static void
task_that_waits_gives_a_wait(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "waitless",
		.poll = wait_without_wait,
	};
	const char *const rule =
		"wait: who has a context gives a struct weir_wait";
	struct weir_oneshot_tx *oneshot;
	unsigned int i;
	int value = 0;

	skip_without_asserts();
	memset(&waitless, 0, sizeof(waitless));
	weir_semaphore_init(&waitless.semaphore, 0);
	assert_int_equal(
		weir_watch_init(&waitless.watch, &value, sizeof(value)), 0);
	weir_watch_subscribe(&waitless.watch, &waitless.receiver);
	assert_int_equal(weir_channel_create(4, sizeof(void *), NULL,
					     &waitless.tx, &waitless.rx),
			 0);
	assert_int_equal(weir_oneshot_create(rig.rt, sizeof(void *), NULL,
					     &oneshot, &waitless.oneshot),
			 0);
	assert_int_equal(weir_runtime_block_on(rig.rt, &ops, NULL, NULL), 0);
	for (i = 0; i < RTE_DIM(waitless.said); i++) {
		assert_non_null(waitless.said[i]);
		assert_string_equal(waitless.said[i], rule);
	}
	weir_sender_drop(waitless.tx);
	weir_receiver_drop(waitless.rx);
	weir_oneshot_tx_drop(oneshot);
	weir_oneshot_rx_drop(waitless.oneshot);
	weir_watch_fini(&waitless.watch);
	weir_semaphore_fini(&waitless.semaphore);
}

static void
set_of_fds_is_freed_after_them(void **state)
{
	struct weir_fd_set *set;
	struct weir_fd *f;
	const char *rule;
	int fd;

	skip_without_asserts();
	fd = eventfd(0, EFD_NONBLOCK);
	assert_return_code(fd, errno);
	set = weir_fd_set_create(rig.rt, 0, 0);
	assert_non_null(set);
	f = weir_fd_create(set, fd, 0);
	assert_non_null(f);
	rule = rule_broken_by(weir_fd_set_free(set));
	assert_non_null(rule);
	assert_string_equal(
		rule, "weir_fd_set_free(): what was in it has been freed");
	weir_fd_free(f);
	assert_null(rule_broken_by(weir_fd_set_free(set)));
	assert_null(rule_broken_by(weir_fd_set_free(NULL)));
	close(fd);
}

static void *
create_in_thread(void *options)
{
	bool created = weir_runtime_create(options) != NULL;

	return (void *)(intptr_t)(created ? 0 : rte_errno);
}

static int
create_poll(struct weir_context *ctx, void *state)
{
	return -(int)(intptr_t)create_in_thread(*(struct weir_options **)state);
}

static void
runtime_with_workers_is_created_on_the_main_lcore(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "create",
		.state_size = sizeof(struct weir_options *),
		.poll = create_poll,
	};
	const unsigned int lcores[] = { 3 };
	struct weir_options o, *options = &o;
	pthread_t thread;
	void *error;

	rig_options(&o, 1);
	o.name = "other";
	o.lcores = lcores;
	assert_int_equal(
		pthread_create(&thread, NULL, create_in_thread, options), 0);
	pthread_join(thread, &error);
	assert_int_equal((intptr_t)error, EPERM);
	assert_int_equal(weir_runtime_block_on(rig.rt, &ops, &options, NULL),
			 -EPERM);
	assert_false(rig_runtime_exists("other"));
}

/* It stops inside, with the lock of the mutex, so the two are of no more use. */
static void
condition_is_waited_for_with_its_mutex(void **state)
{
	static struct weir_mutex mutex;
	static struct weir_cond cond;

	skip_without_asserts();
	weir_mutex_init(&mutex);
	weir_cond_init(&cond, &mutex);
	assert_string_equal(rule_broken_by(weir_cond_wait(NULL, &cond, NULL)),
			    "cond: who waits has the mutex");
}

static void
locks_are_given_back_by_who_holds_them(void **state)
{
	const char *const rule = "unlock: only by who holds the lock";
	struct weir_rwlock lock;
	struct weir_mutex mutex;

	skip_without_asserts();
	weir_mutex_init(&mutex);
	weir_rwlock_init(&lock);
	assert_string_equal(rule_broken_by(weir_mutex_unlock(&mutex)), rule);
	assert_string_equal(rule_broken_by(weir_rwlock_read_unlock(&lock)),
			    rule);
	assert_string_equal(rule_broken_by(weir_rwlock_write_unlock(&lock)),
			    rule);
	assert_int_equal(weir_rwlock_try_read(&lock), 0);
	assert_string_equal(rule_broken_by(weir_rwlock_write_unlock(&lock)),
			    rule);
	weir_rwlock_read_unlock(&lock);
	weir_rwlock_fini(&lock);
	weir_mutex_fini(&mutex);
}

/* In line for a mutex and then, with it, for a condition. */
static struct {
	struct weir_mutex mutex;
	struct weir_cond cond;
	struct weir_wait wait;
	bool has_mutex;
	struct weir_oneshot_rx *oneshot;
} line;

static int
stand_in_line(struct weir_context *ctx, void *state)
{
	int rc;

	if (!line.has_mutex) {
		rc = weir_mutex_lock(ctx, &line.mutex, &line.wait);
		if (rc != 0)
			return rc;
		line.has_mutex = true;
	}
	rc = weir_cond_wait(ctx, &line.cond, &line.wait);
	if (rc == 0)
		weir_mutex_unlock(&line.mutex);
	return rc;
}

static bool
mutex_is_awaited(struct lock *lock)
{
	bool awaited;

	lock_acquire(lock);
	awaited = sync_awaited(&semaphore_of(&line.mutex.sem)->sync, 0);
	lock_release(lock);
	return awaited;
}

static void
lock_that_is_held_is_not_ended(void **state)
{
	const char *const rule = "fini: nobody may hold the lock any more";
	struct weir_mutex mutex;
	struct weir_rwlock lock;

	skip_without_asserts();
	weir_mutex_init(&mutex);
	weir_rwlock_init(&lock);
	assert_int_equal(weir_mutex_try_lock(&mutex), 0);
	assert_int_equal(weir_rwlock_try_read(&lock), 0);
	assert_string_equal(rule_broken_by(weir_mutex_fini(&mutex)), rule);
	assert_string_equal(rule_broken_by(weir_rwlock_fini(&lock)), rule);
	weir_rwlock_read_unlock(&lock);
	assert_int_equal(weir_rwlock_try_write(&lock), 0);
	assert_string_equal(rule_broken_by(weir_rwlock_fini(&lock)), rule);
	weir_mutex_unlock(&mutex);
	weir_rwlock_write_unlock(&lock);
	assert_null(rule_broken_by(weir_mutex_fini(&mutex)));
	assert_null(rule_broken_by(weir_rwlock_fini(&lock)));
}

/* Each stops inside, with the lock. */
static void
nobody_waits_for_what_is_ended(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "in line",
		.poll = stand_in_line,
	};
	const char *const rule = "fini: nobody may wait any more", *said;
	struct lock *lock = &semaphore_of(&line.mutex.sem)->sync.lock;
	struct weir_join *join;

	skip_without_asserts();
	memset(&line, 0, sizeof(line));
	weir_mutex_init(&line.mutex);
	weir_cond_init(&line.cond, &line.mutex);
	assert_int_equal(weir_mutex_try_lock(&line.mutex), 0);
	join = weir_task_spawn(rig.rt, &ops, NULL, NULL);
	rig_wait_until(mutex_is_awaited(lock));
	said = rule_broken_by(weir_mutex_fini(&line.mutex));
	lock_release(lock);
	assert_string_equal(said, rule);
	/* It has the mutex then, and gives it back as it waits again. */
	weir_mutex_unlock(&line.mutex);
	assert_int_equal(weir_mutex_lock(NULL, &line.mutex, NULL), 0);
	said = rule_broken_by(weir_cond_fini(&line.cond));
	lock_release(lock);
	assert_string_equal(said, rule);
	weir_cond_signal(&line.cond);
	weir_mutex_unlock(&line.mutex);
	assert_int_equal(rig_join(join, NULL), 0);
	assert_null(rule_broken_by(weir_cond_fini(&line.cond)));
	assert_null(rule_broken_by(weir_mutex_fini(&line.mutex)));
}

static int
await_oneshot(struct weir_context *ctx, void *state)
{
	int value;

	return weir_oneshot_recv(ctx, line.oneshot, &value, &line.wait);
}

static void
end_of_a_oneshot_is_given_up_by_nobody_who_waits(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "awaits",
		.poll = await_oneshot,
	};
	struct weir_oneshot_tx *tx;
	struct weir_join *join;
	const char *said;
	int value = 1;

	skip_without_asserts();
	memset(&line, 0, sizeof(line));
	assert_int_equal(weir_oneshot_create(rig.rt, sizeof(value), NULL, &tx,
					     &line.oneshot),
			 0);
	join = weir_task_spawn(rig.rt, &ops, NULL, NULL);
	rig_wait_until(oneshot_is_waker(atomic_u64_load(
		&((struct oneshot *)line.oneshot)->word, ACQUIRE)));
	said = rule_broken_by(weir_oneshot_rx_drop(line.oneshot));
	assert_non_null(said);
	assert_string_equal(said, "rx_drop: nobody may wait for it");
	assert_int_equal(weir_oneshot_send(tx, &value), 0);
	assert_int_equal(rig_join(join, NULL), 0);
}

static void
end_of_a_channel_is_dropped_once(void **state)
{
	const char *const rule =
		"channel: an end that was dropped is used no more";
	struct weir_sender *tx;
	struct weir_receiver *rx;
	struct channel *c;

	skip_without_asserts();
	assert_int_equal(weir_channel_create(4, sizeof(int), NULL, &tx, &rx),
			 0);
	c = (struct channel *)tx;
	assert_ptr_equal(weir_sender_clone(tx), tx);
	assert_null(rule_broken_by(weir_sender_drop(tx)));
	assert_null(rule_broken_by(weir_sender_drop(tx)));
	assert_string_equal(rule_broken_by(weir_sender_drop(tx)), rule);
	/* As what ends the program leaves it: with its lock. */
	lock_release(&c->sync.lock);
	assert_string_equal(rule_broken_by(weir_sender_clone(tx)), rule);
	lock_release(&c->sync.lock);
	weir_receiver_drop(rx);
}

static void
wait_that_fails_has_an_error(void **state)
{
	struct weir_null *source;

	skip_without_asserts();
	source = weir_null_create(rig.rt, 0);
	assert_non_null(source);
	weir_source_lock(source);
	assert_string_equal(rule_broken_by(weir_source_wait_fail(source)),
			    "weir_source_wait_fail(): no error to report");
	weir_source_unlock(source);
	weir_null_free(source);
}

static const char *again_said;

static int
take_twice(struct weir_context *ctx, void *state)
{
	struct weir_join *join = *(struct weir_join **)state;
	int rc = weir_join_poll(ctx, join, NULL);

	if (rc == 0)
		again_said = rule_broken_by(weir_join_poll(ctx, join, NULL));
	return rc;
}

static void
outcome_is_taken_once(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "twice",
		.state_size = sizeof(struct weir_join *),
		.poll = take_twice,
	};
	struct weir_join *join;

	skip_without_asserts();
	again_said = NULL;
	join = rig_spawn(rig.rt, &rig_done_ops, &rig.told);
	assert_int_equal(weir_runtime_block_on(rig.rt, &ops, &join, NULL), 0);
	assert_string_equal(
		again_said,
		"join: a handle is gone when it has given its outcome");
}

/* The join handle keeps the task, and its reference is nobody else's. */
static void
waker_is_used_up_once(void **state)
{
	const char *const rule =
		"task: a waker or an abort handle is used up once";
	struct weir_join *join;
	struct weir_waker *waker;
	struct weir_abort *abort;

	skip_without_asserts();
	join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	waker = rig_take_waker(&rig.waker);
	rig_wait_until(
		!(state_load(&((struct task *)join)->state) & STATE_RUNNING));
	abort = weir_join_abort_handle(join);
	weir_waker_drop(waker);
	assert_null(rule_broken_by(weir_abort_drop(abort)));
	assert_string_equal(rule_broken_by(weir_waker_wake(waker)), rule);
	/* These have taken it by then. */
	assert_string_equal(rule_broken_by(weir_waker_drop(waker)), rule);
	state_ref_inc(&((struct task *)join)->state);
	assert_string_equal(rule_broken_by(weir_abort_drop(abort)), rule);
	state_ref_inc(&((struct task *)join)->state);
	weir_join_abort(join);
	assert_int_equal(rig_join(join, NULL), -ECANCELED);
}

/* Where another task is in the midst of a call, or seems to be. */
static void
transmit_queue_has_one_task(void **state)
{
	skip_without_asserts();
#ifdef WEIR_ASSERTS
	const struct rte_eth_conf conf = { 0 };
	struct weir_txq *txq;
	struct rte_mbuf *pkts[1];
	uint16_t port;

	assert_int_equal(rte_eal_hotplug_add("vdev", "net_null0", ""), 0);
	assert_int_equal(rte_eth_dev_get_port_by_name("net_null0", &port), 0);
	assert_int_equal(rte_eth_dev_configure(port, 1, 1, &conf), 0);
	txq = weir_txq_create(port, 0, 0);
	assert_non_null(txq);
	rig_set(&txq->in_use, 1);
	assert_string_equal(rule_broken_by(weir_txq_send(txq, pkts, 1)),
			    "txq: of one task at a time");
	rig_set(&txq->in_use, 0);
	weir_txq_free(txq);
	assert_int_equal(rte_eal_hotplug_remove("vdev", "net_null0"), 0);
#endif
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(context_is_refused_on_another_thread, 2),
		RIG_TEST(context_is_refused_beside_its_poll, 2),
		RIG_TEST(context_is_refused_after_its_poll, 2),
		RIG_TEST(runtime_is_not_freed_on_a_worker, 2),
		RIG_TEST(runtime_is_freed_after_its_sources, 2),
		RIG_TEST(task_that_waits_gives_a_wait, 2),
		RIG_TEST(condition_is_waited_for_with_its_mutex, 1),
		RIG_TEST(locks_are_given_back_by_who_holds_them, 1),
		RIG_TEST(lock_that_is_held_is_not_ended, 1),
		RIG_TEST(nobody_waits_for_what_is_ended, 1),
		RIG_TEST(end_of_a_oneshot_is_given_up_by_nobody_who_waits, 1),
		RIG_TEST(end_of_a_channel_is_dropped_once, 1),
		RIG_TEST(wait_that_fails_has_an_error, 1),
		RIG_TEST(outcome_is_taken_once, 1),
		RIG_TEST(waker_is_used_up_once, 1),
		RIG_TEST(transmit_queue_has_one_task, 1),
		RIG_TEST(set_of_fds_is_freed_after_them, 2),
		RIG_TEST(runtime_with_workers_is_created_on_the_main_lcore, 2),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
