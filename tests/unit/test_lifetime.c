/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The end of a runtime against threads that are still inside one of its
 * functions: this program stands in front of some, and holds threads up there.
 */

#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "queue/inject.h"
#include "rig.h"
#include "sched/scheduler.h"
#include "task/owned.h"

static struct atomic_u32 stop_pushes;
static struct atomic_u32 stopped;

bool
__real_weir__inject_push(struct inject *q, struct task *const *tasks,
			 unsigned int n);
bool
__wrap_weir__inject_push(struct inject *q, struct task *const *tasks,
			 unsigned int n);

bool
__wrap_weir__inject_push(struct inject *q, struct task *const *tasks,
			 unsigned int n)
{
	bool pushed = __real_weir__inject_push(q, tasks, n);

	if (rig_get(&stop_pushes)) {
		rig_set(&stopped, 1);
		rig_wait_until(!rig_get(&stop_pushes));
	}
	return pushed;
}

static void *
wake(void *w)
{
	weir_waker_wake(w);
	return NULL;
}

/* W2: it has let its reference go, or so it seems. */
static void
runtime_stays_until_the_last_wake_up_is_over(void **state)
{
	struct weir_join *join = rig_spawn(rig.rt, &rig_wait_ops, &rig.told);
	struct weir_waker *w = rig_take_waker(&rig.waker);
	const struct task *t = (const struct task *)join;
	pthread_t thread;

	/* Who wakes a task in the middle of its poll pushes nothing. */
	rig_wait_until(!(state_load(&t->state) & STATE_RUNNING));
	rig_set(&rig.go, 1);
	rig_set(&stopped, 0);
	rig_set(&stop_pushes, 1);
	assert_int_equal(pthread_create(&thread, NULL, wake, w), 0);
	rig_wait_until(rig_get(&stopped));
	assert_int_equal(rig_join(join, NULL), 0);
	weir_runtime_free(rig.rt);
	rig.rt = NULL;
	assert_true(rig_runtime_exists("weir"));
	rig_set(&stop_pushes, 0);
	pthread_join(thread, NULL);
	assert_false(rig_runtime_exists("weir"));
}

/* What a push that began before the close does after the end: see below. */
static struct atomic_ptr late_task;
static struct inject *late_queue;
static bool late;

void
__real_weir__inject_finish(struct inject *q);
void
__wrap_weir__inject_finish(struct inject *q);

void
__wrap_weir__inject_finish(struct inject *q)
{
	void *t = atomic_ptr_exchange(&late_task, NULL, ACQ_REL);

	__real_weir__inject_finish(q);
	if (t != NULL) {
		rte_ring_enqueue(q->ring, t);
		late_queue = q;
		late = true;
	}
}

unsigned int
__real_weir__inject_len(const struct inject *q);
unsigned int
__wrap_weir__inject_len(const struct inject *q);

unsigned int
__wrap_weir__inject_len(const struct inject *q)
{
	unsigned int n = __real_weir__inject_len(q);

	/* The other half of that push: behind the report's first look, it drains. */
	if (late && q == late_queue) {
		late = false;
		__real_weir__inject_finish(late_queue);
	}
	return n;
}

/* I4: a thread was preempted in the middle of a push, which it will undo. */
static void
push_across_the_end_is_not_reported_as_left_behind(void **state)
{
	struct weir_shutdown_report report = { .live_tasks = 7,
					       .ring_entries = 7,
					       .blocking = 7 };
	struct task *t = rig_tasks(1);

	atomic_ptr_store(&late_task, t, RELEASE);
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, &report), 0);
	assert_false(late);
	assert_int_equal(state_refs(state_load(&t->state)), 1);
	free(t);
	assert_int_equal(report.ring_entries, 0);
	assert_int_equal(weir_runtime_shutdown(rig.rt, 0, &report), 0);
	assert_int_equal(report.ring_entries, 0);
}

static struct atomic_u32 stop_waits;
/* Was the runtime gone when block_on asked it for the reason of its end? */
static struct atomic_u32 asked_the_dead;

int
__real_weir_join_wait(struct weir_join *join, void *result);
int
__wrap_weir_join_wait(struct weir_join *join, void *result);

int
__wrap_weir_join_wait(struct weir_join *join, void *result)
{
	rig_wait_until(!rig_get(&stop_waits));
	return __real_weir_join_wait(join, result);
}

int
__real_weir__shutdown_reason(struct weir_runtime *rt);
int
__wrap_weir__shutdown_reason(struct weir_runtime *rt);

int
__wrap_weir__shutdown_reason(struct weir_runtime *rt)
{
	if (rig_runtime_exists("weir"))
		return __real_weir__shutdown_reason(rt);
	rig_set(&asked_the_dead, 1);
	return -EFAULT;
}

static void *
block(void *rt)
{
	int rc = weir_runtime_block_on(rt, &rig_wait_ops, &rig.told, NULL);

	return (void *)(intptr_t)rc;
}

/* A thread that is late to leave block_on, in the middle of its return. */
static void
blocked_thread_leaves_a_runtime_that_was_freed(void **state)
{
	struct weir_waker *w;
	pthread_t thread;
	void *rc;

	rig_set(&asked_the_dead, 0);
	rig_set(&stop_waits, 1);
	assert_int_equal(pthread_create(&thread, NULL, block, rig.rt), 0);
	w = rig_take_waker(&rig.waker);
	weir_runtime_free(rig.rt);
	rig.rt = NULL;
	weir_waker_drop(w);
	rig_set(&stop_waits, 0);
	pthread_join(thread, &rc);
	assert_int_equal((int)(intptr_t)rc, -ECANCELED);
	assert_int_equal(rig_get(&asked_the_dead), 0);
	assert_false(rig_runtime_exists("weir"));
}

static struct atomic_u32 close_late;
static struct atomic_u32 seen_live;

bool
__real_weir__owned_closed_since(const struct owned *o);
bool
__wrap_weir__owned_closed_since(const struct owned *o);

/* As if a shutdown began just now, and all workers had looked already. */
bool
__wrap_weir__owned_closed_since(const struct owned *o)
{
	if (rig_get(&close_late))
		weir__owned_close((struct owned *)(uintptr_t)o);
	return __real_weir__owned_closed_since(o);
}

static int
late_poll(struct weir_context *ctx, void *state)
{
	return WEIR_PENDING;
}

static void
late_drop(void *state)
{
	rig_add(&seen_live, (uint32_t)rig_stats(rig.rt).live_tasks);
	rig_add(&rig.log.drops, 1);
}

static const struct weir_task_ops late_ops = {
	.name = "late",
	.poll = late_poll,
	.drop = late_drop,
};

/* And their handles say so at once. */
static void
expect_dropped(struct weir_join **joins, unsigned int n, unsigned int drops)
{
	unsigned int i;

	assert_int_equal(rig_get(&rig.log.drops), drops);
	for (i = 0; i < n; i++)
		assert_int_equal(weir_join_try(joins[i], NULL), -ECANCELED);
	assert_int_equal(rig_get(&seen_live), 0);
	assert_int_equal(rig_stats(rig.rt).live_tasks, 0);
}

/* Z3 */
static void
who_spawns_late_leaves_nothing_to_be_found(void **state)
{
	struct weir_join *joins[3];

	rig_set(&seen_live, 0);
	rig_set(&close_late, 1);
	joins[0] = weir_task_spawn(rig.rt, &late_ops, NULL, NULL);
	rig_set(&close_late, 0);
	expect_dropped(joins, 1, 1);
	/* From here on it is refused before it begins. */
	assert_int_equal(
		weir_task_spawn_burst(rig.rt, &late_ops, NULL, 3, NULL, joins),
		3);
	expect_dropped(joins, 3, 4);
}

static void
burst_that_is_late_leaves_nothing_to_be_found(void **state)
{
	struct weir_join *joins[3];

	rig_set(&seen_live, 0);
	rig_set(&close_late, 1);
	assert_int_equal(
		weir_task_spawn_burst(rig.rt, &late_ops, NULL, 3, NULL, joins),
		3);
	rig_set(&close_late, 0);
	expect_dropped(joins, 3, 3);
}

static void *
spawn_one(void *arg)
{
	weir_join_detach(rig_spawn(rig.rt, &rig_done_ops, &rig.told));
	return NULL;
}

static void
shutdown_does_not_wait_for_a_thread_that_spawns(void **state)
{
	struct weir_shutdown_report report = { .live_tasks = 7,
					       .ring_entries = 7,
					       .blocking = 7 };
	pthread_t thread;

	rig_set(&stopped, 0);
	rig_set(&stop_pushes, 1);
	assert_int_equal(pthread_create(&thread, NULL, spawn_one, NULL), 0);
	rig_wait_until(rig_get(&stopped));
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, &report), 0);
	assert_int_equal(report.live_tasks, 0);
	assert_int_equal(report.ring_entries, 0);
	rig_set(&stop_pushes, 0);
	pthread_join(thread, NULL);
	assert_int_equal(rig_get(&rig.log.drops), 1);
}

/* Holds one thread up that has begun the end, before it closes the pool. */
static struct atomic_u32 stop_close;
static struct atomic_u32 go_at_wait;

void
__real_weir__blocking_close(struct weir_runtime *rt);
void
__wrap_weir__blocking_close(struct weir_runtime *rt);
int
__real_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			      const struct timespec *deadline);
int
__wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			      const struct timespec *deadline);

void
__wrap_weir__blocking_close(struct weir_runtime *rt)
{
	if (atomic_u32_exchange(&stop_close, 0, ACQ_REL) != 0) {
		rig_set(&stopped, 1);
		rig_wait_until(!rig_get(&stopped));
	}
	__real_weir__blocking_close(rt);
}

/* It can go on once whoever waits has given the mutex back. */
int
__wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
			      const struct timespec *deadline)
{
	if (atomic_u32_exchange(&go_at_wait, 0, ACQ_REL) != 0)
		rig_set(&stopped, 0);
	return __real_pthread_cond_timedwait(cond, mutex, deadline);
}

static void *
begin_the_end(void *rt)
{
	weir_runtime_shutdown_begin(rt);
	return NULL;
}

/* Until it is about to close the pool of blocking threads. */
static pthread_t
begin_and_stop(void)
{
	pthread_t thread;

	rig_set(&stopped, 0);
	rig_set(&stop_close, 1);
	assert_int_equal(pthread_create(&thread, NULL, begin_the_end, rig.rt),
			 0);
	rig_wait_until(rig_get(&stopped));
	return thread;
}

static bool
has_phase(enum runtime_phase phase)
{
	bool has;

	pthread_mutex_lock(&rig.rt->mutex);
	has = rig.rt->phase == phase;
	pthread_mutex_unlock(&rig.rt->mutex);
	return has;
}

/* Its workers have ended by then, and so have the tasks that others waited for. */
static void
runtime_stays_until_who_began_its_end_is_through(void **state)
{
	pthread_t thread = begin_and_stop();

	rig_wait_until(has_phase(RUNTIME_STOPPED));
	assert_int_equal(weir_runtime_shutdown(rig.rt, 0, NULL), -ETIMEDOUT);
	rig_set(&go_at_wait, 1);
	weir_runtime_free(rig.rt);
	rig.rt = NULL;
	assert_int_equal(rig_get(&go_at_wait), 0);
	assert_false(rig_runtime_exists("weir"));
	pthread_join(thread, NULL);
}

static void
who_begins_the_end_after_it_keeps_nobody(void **state)
{
	pthread_t thread;

	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	thread = begin_and_stop();
	assert_int_equal(weir_runtime_shutdown(rig.rt, 0, NULL), 0);
	rig_set(&stopped, 0);
	pthread_join(thread, NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TESTS(runtime_stays_until_the_last_wake_up_is_over),
		RIG_TESTS(push_across_the_end_is_not_reported_as_left_behind),
		RIG_TESTS(blocked_thread_leaves_a_runtime_that_was_freed),
		RIG_TESTS(shutdown_does_not_wait_for_a_thread_that_spawns),
		RIG_TESTS(who_spawns_late_leaves_nothing_to_be_found),
		RIG_TESTS(burst_that_is_late_leaves_nothing_to_be_found),
		RIG_TESTS(runtime_stays_until_who_began_its_end_is_through),
		RIG_TESTS(who_begins_the_end_after_it_keeps_nobody),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
