/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sources whose home worker sleeps: lib/park/source_sleep.c, and events, which
 * also signal handlers post: drivers/event.
 */

#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_epoll.h>
#include <rte_errno.h>

#include "kernel.h"
#include "park/source.h"
#include "sched/scheduler.h"
#include "weir_event.h"
#include "weir_null.h"
#include "weir_source_driver.h"

static int
setup(void **state)
{
	kernel_reset();
	memset(&rig, 0, sizeof(rig));
	rig.told.log = &rig.log;
	rig.told.go = &rig.go;
	rig.rt = kernel_runtime((unsigned int)(uintptr_t)*state,
				WEIR_PARK_INTERRUPT);
	return 0;
}

static void
await_all_asleep(void)
{
	rig_wait_until(kernel_all_asleep(rig.rt));
}

/* Lets a worker go round once more, whatever it does. */
static void
nudge(unsigned int worker)
{
	assert_int_equal(
		rig_join(rig_spawn_on(rig.rt, worker, &rig_done_ops, &rig.told),
			 NULL),
		0);
}

/*
 * A device: events are there when the test says so, and its interrupt, if it
 * has one, comes when the test says so.
 */
struct device {
	int fd;	      /* the interrupt, or -1: it never comes */
	int sleep_rc; /* what sleep returns */
	struct rte_epoll_event event;
	struct atomic_u32 events;
	struct atomic_u32 polls;
	struct atomic_u32 sleeps;
	struct atomic_u32 wakes;
	struct atomic_u32 woken_by; /* which worker */
};

static int
device_poll(void *priv)
{
	struct device *d = priv;

	rig_add(&d->polls, 1);
	return rig_get(&d->events) > 0;
}

static int
device_sleep(void *priv, int epfd)
{
	struct device *d = priv;

	rig_add(&d->sleeps, 1);
	if (d->sleep_rc < 0)
		return d->sleep_rc;
	if (d->fd < 0)
		return 0;
	d->event.epdata.event = EPOLLIN | EPOLLET;
	d->event.epdata.data = weir_source_of(d);
	return rte_epoll_ctl(epfd, EPOLL_CTL_ADD, d->fd, &d->event);
}

static void
device_wake(void *priv)
{
	struct device *d = priv;
	uint64_t count;

	rig_set(&d->woken_by, weir_worker_current());
	rig_add(&d->wakes, 1);
	if (d->fd < 0)
		return;
	rte_epoll_ctl(d->event.epfd, EPOLL_CTL_DEL, d->fd, &d->event);
	/* As EAL does: an interrupt comes once. */
	if (read(d->fd, &count, sizeof(count)) < 0)
		assert_int_equal(errno, EAGAIN);
}

static const struct weir_source_ops device_ops = {
	.name = "device",
	.poll = device_poll,
	.sleep = device_sleep,
	.wake = device_wake,
};

static struct device *
open_device(unsigned int worker, int fd)
{
	struct device *d;

	d = weir_source_create(rig.rt, &device_ops, worker, sizeof(*d));
	assert_non_null(d);
	d->fd = fd;
	return d;
}

/* By turns, and at its end awake (N1). */
static void
close_device(struct device *d)
{
	int fd = d->fd;

	weir_source_close(weir_source_of(d), ENODEV);
	if (d->sleep_rc == 0)
		assert_int_equal(rig_get(&d->sleeps), rig_get(&d->wakes));
	weir_source_free(d);
	if (fd >= 0)
		close(fd);
}

/* The device's events come, and its interrupt if it has one. */
static void
raise_events(struct device *d, uint32_t n)
{
	const uint64_t one = 1;

	rig_add(&d->events, n);
	if (d->fd >= 0)
		assert_int_equal(write(d->fd, &one, sizeof(one)), sizeof(one));
}

/* Its worker sleeps, or is about to, and will look once more. */
static bool
is_slept_on(const struct device *d)
{
	return rig_get(&d->sleeps) != rig_get(&d->wakes);
}

/* Takes all events at once. */
static int
take_events(struct weir_context *ctx, void *state)
{
	struct device *d = *(struct device **)state;
	int rc = weir_source_wait_begin(ctx, d);

	if (rc < 0)
		return rc;
	if (rc > 0)
		return weir_source_wait_fail(d);
	if (atomic_u32_exchange(&d->events, 0, ACQ_REL) == 0)
		return weir_source_wait_arm(ctx, d);
	weir_source_wait_ready(ctx, d, 1);
	return WEIR_DONE;
}

static const struct weir_task_ops taker_ops = {
	.name = "taker",
	.state_size = sizeof(struct device *),
	.poll = take_events,
};

static struct weir_join *
spawn_taker(struct device *d, unsigned int worker)
{
	const struct weir_spawn_attr attr = {
		.affinity = WEIR_AFFINITY_WORKER,
		.worker = worker,
	};
	struct weir_join *join = weir_task_spawn(rig.rt, &taker_ops, &d, &attr);

	assert_non_null(join);
	rig_wait_until(rig_get(&weir_source_of(d)->armed));
	return join;
}

static void
interrupt_wakes_and_is_trusted_from_then_on(void **state)
{
	struct weir_join *join;
	struct device *d;
	unsigned int i;

	rig_need_membarrier();
	d = open_device(0, eventfd(0, EFD_NONBLOCK));
	/* Until it has come once, no sleep beside it is long. */
	for (i = 0; i < 1000 && !weir_source_of(d)->trusted; i++) {
		join = spawn_taker(d, 0);
		kernel_await_sleep();
		raise_events(d, 1);
		assert_int_equal(rig_join(join, NULL), 0);
	}
	assert_true(weir_source_of(d)->trusted);
	for (i = 0; i < 50; i++) {
		join = spawn_taker(d, 0);
		await_all_asleep();
		raise_events(d, 1);
		assert_int_equal(rig_join(join, NULL), 0);
	}
	join = spawn_taker(d, 0);
	atomic_u64_store(&kernel.longest_ns, 0, RELAXED);
	nudge(0);
	rig_wait_until(kernel_longest_ns() > 10000000);
	raise_events(d, 1);
	assert_int_equal(rig_join(join, NULL), 0);
	close_device(d);
}

/* Armed by a task of another worker, while the home worker sleeps (N2). */
static void
source_armed_elsewhere_wakes_its_home_worker(void **state)
{
	struct device *d = open_device(0, eventfd(0, EFD_NONBLOCK));
	struct weir_join *join;
	unsigned int i;

	for (i = 0; i < 100; i++) {
		await_all_asleep();
		join = spawn_taker(d, 1);
		rig_wait_until(is_slept_on(d));
		raise_events(d, 1);
		assert_int_equal(rig_join(join, NULL), 0);
	}
	close_device(d);
}

/* Whoever is in a source that nobody waits for holds its worker up in nothing. */
static void
worker_gets_up_past_a_source_that_it_does_not_sleep_on(void **state)
{
	struct device *d = open_device(0, -1);

	await_all_asleep();
	weir_source_lock(d);
	nudge(0);
	weir_source_unlock(d);
	close_device(d);
}

static struct atomic_ptr unnoticed;

static void
come_unnoticed(void)
{
	struct device *d = atomic_ptr_exchange(&unnoticed, NULL, ACQ_REL);

	if (d != NULL)
		rig_add(&d->events, 1);
}

static struct kernel_hook coming = { come_unnoticed };

/* An event from before the interrupt was enabled, so that none is raised. */
static void
last_poll_finds_what_came_before(void **state)
{
	struct weir_join *join;
	struct device *d;

	rig_need_membarrier();
	d = open_device(0, eventfd(0, EFD_NONBLOCK));
	/* No end to the sleep: nothing but the last poll finds it. */
	weir_source_of(d)->trusted = true;
	join = spawn_taker(d, 0);
	await_all_asleep();
	atomic_ptr_store(&unnoticed, d, RELEASE);
	atomic_ptr_store(&kernel.at_membarrier, &coming, RELEASE);
	nudge(0);
	assert_int_equal(rig_join(join, NULL), 0);
	close_device(d);
}

static void
interrupt_that_never_comes_is_noticed(void **state)
{
	struct device *d = open_device(0, -1);
	struct weir_source *src = weir_source_of(d);
	struct weir_join *join;
	uint32_t sleeps, polls, before;
	unsigned int i;

	/* More than three rounds when something else woke the worker. */
	for (i = 0; i < 100 && !atomic_u64_load(&src->polled_until, RELAXED);
	     i++) {
		join = spawn_taker(d, 0);
		/* The spawn's call may end the first before its time. */
		kernel_await_sleep();
		kernel_await_sleep();
		raise_events(d, 1);
		assert_int_equal(rig_join(join, NULL), 0);
	}
	assert_int_equal(src->strikes, 3);
	assert_false(src->trusted);
	/* Now it is polled: no more sleeps while a task waits for it. */
	join = spawn_taker(d, 0);
	polls = rig_get(&d->polls);
	rig_wait_until(rig_get(&d->polls) > polls + 10);
	before = rig_get(&kernel.sleeps);
	sleeps = rig_get(&d->sleeps);
	polls = rig_get(&d->polls);
	rig_wait_until(rig_get(&d->polls) > polls + 100);
	assert_int_equal(rig_get(&kernel.sleeps), before);
	assert_int_equal(rig_get(&d->sleeps), sleeps);
	raise_events(d, 1);
	assert_int_equal(rig_join(join, NULL), 0);
	close_device(d);
}

static int
sleep_a_moment(struct weir_context *ctx, void *state)
{
	return weir_sleep(ctx, state, 500000);
}

static void
sleep_no_more(void *state)
{
	weir_sleep_cancel(state);
}

/* An interrupt may be on its way when a sleep ends for a timer: the clock is held. */
static void
interrupt_has_no_time_to_come_beside_a_timer(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "moment",
		.state_size = sizeof(struct weir_sleep),
		.poll = sleep_a_moment,
		.drop = sleep_no_more,
	};
	struct device *d = open_device(0, -1);
	struct weir_source *src = weir_source_of(d);
	struct weir_join *sleeper, *join;
	unsigned int i;

	assert_int_equal(weir_clock_pause(rig.rt), 0);
	sleeper = weir_task_spawn(rig.rt, &ops, NULL, NULL);
	rig_wait_until(rig_timers(rig.rt) == 1);
	for (i = 0; i < 20; i++) {
		join = spawn_taker(d, 0);
		kernel_await_sleep();
		kernel_await_sleep();
		raise_events(d, 1);
		assert_int_equal(rig_join(join, NULL), 0);
	}
	assert_int_equal(src->strikes, 0);
	weir_join_abort(sleeper);
	assert_int_equal(rig_join(sleeper, NULL), -ECANCELED);
	close_device(d);
}

static uint64_t
polled_until(const struct device *d)
{
	return atomic_u64_load(&weir_source_of(d)->polled_until, RELAXED);
}

static void
set_polled_until(struct device *d, uint64_t tsc)
{
	weir_source_lock(d);
	atomic_u64_store(&weir_source_of(d)->polled_until, tsc, RELAXED);
	weir_source_unlock(d);
}

/* The time is over until which it was polled. */
static void
refuse_again(struct device *d, unsigned int doublings)
{
	uint64_t begin = rte_rdtsc();

	set_polled_until(d, 1);
	rig_wait_until(polled_until(d) > 1);
	assert_true(polled_until(d) - begin >= rte_get_tsc_hz() << doublings);
}

static void
device_that_cannot_is_asked_again_later(void **state)
{
	struct device *d = open_device(0, -1);
	struct weir_join *join;
	uint32_t sleeps;
	unsigned int i;

	d->sleep_rc = -ENOMEM;
	join = spawn_taker(d, 0);
	rig_wait_until(polled_until(d) > 0);
	for (i = 1; i < 15; i++)
		refuse_again(d, RTE_MIN(i, 10u));
	assert_true(polled_until(d) - rte_rdtsc() <= rte_get_tsc_hz() << 10);
	raise_events(d, 1);
	assert_int_equal(rig_join(join, NULL), 0);
	set_polled_until(d, UINT64_MAX / 2);
	sleeps = rig_get(&d->sleeps);
	for (i = 0; i < 10; i++) {
		join = spawn_taker(d, 0);
		nudge(0);
		raise_events(d, 1);
		assert_int_equal(rig_join(join, NULL), 0);
	}
	assert_int_equal(rig_get(&d->sleeps), sleeps);
	assert_int_equal(rig_get(&d->wakes), 0);
	/* Now it can, and is as one that never refused. */
	join = spawn_taker(d, 0);
	weir_source_lock(d);
	d->sleep_rc = 0;
	weir_source_unlock(d);
	set_polled_until(d, 1);
	rig_wait_until(rig_get(&d->wakes) > 0);
	assert_int_equal(polled_until(d), 0);
	weir_source_lock(d);
	assert_int_equal(weir_source_of(d)->refusals, 0);
	d->sleep_rc = -ENOMEM;
	weir_source_unlock(d);
	refuse_again(d, 0);
	/* And now it never will. */
	weir_source_lock(d);
	d->sleep_rc = -ENOTSUP;
	weir_source_unlock(d);
	set_polled_until(d, 1);
	rig_wait_until(polled_until(d) == UINT64_MAX);
	raise_events(d, 1);
	assert_int_equal(rig_join(join, NULL), 0);
	close_device(d);
}

static int
take_null(struct weir_context *ctx, void *state)
{
	int n = weir_null_recv(ctx, *(struct weir_null **)state);

	return n < 0 ? n : WEIR_DONE;
}

static const struct weir_task_ops null_taker_ops = {
	.name = "take null",
	.state_size = sizeof(struct weir_null *),
	.poll = take_null,
};

static void
source_that_has_to_be_polled_is_polled(void **state)
{
	struct weir_null *null = weir_null_create(rig.rt, 0);
	struct weir_source *src = weir_null_source(null);
	struct weir_source_stats stats;
	struct weir_join *join;

	await_all_asleep();
	join = weir_task_spawn(rig.rt, &null_taker_ops, &null, NULL);
	rig_wait_until((weir_source_stats_get(src, &stats), stats.polls > 100));
	kernel_await_awake(rig.rt, 0);
	weir_null_post(null, 1);
	assert_int_equal(rig_join(join, NULL), 0);
	/* With nobody waiting for it, it is not in the way. */
	await_all_asleep();
	weir_null_free(null);
}

/* Who waits is gone, and no event comes. */
static void
worker_sleeps_once_who_had_it_poll_has_ended(void **state)
{
	struct weir_null *null = weir_null_create(rig.rt, 0);
	struct weir_source *src = weir_null_source(null);
	struct weir_join *join;
	unsigned int i;

	for (i = 0; i < 3; i++) {
		join = weir_task_spawn(rig.rt, &null_taker_ops, &null, NULL);
		assert_non_null(join);
		rig_wait_until(rig_get(&src->armed));
		weir_join_abort(join);
		assert_int_equal(rig_join(join, NULL), -ECANCELED);
		rig_wait_until(!rig_get(&src->armed));
		await_all_asleep();
	}
	/* The next is waited for as ever. */
	join = weir_task_spawn(rig.rt, &null_taker_ops, &null, NULL);
	assert_non_null(join);
	rig_wait_until(rig_get(&src->armed));
	weir_null_post(null, 1);
	assert_int_equal(rig_join(join, NULL), 0);
	weir_null_free(null);
}

static void
close_wakes_the_waiter_and_lets_the_device_go(void **state)
{
	struct device *d;
	struct weir_join *join;
	unsigned int i;

	for (i = 0; i < 20; i++) {
		d = open_device(0, eventfd(0, EFD_NONBLOCK));
		join = spawn_taker(d, 0);
		/* In the kernel, and not just on its way to it. */
		kernel_await_sleep();
		rig_wait_until(is_slept_on(d));
		weir_source_close(weir_source_of(d), ENODEV);
		assert_false(is_slept_on(d));
		assert_int_equal(rig_join(join, NULL), -ENODEV);
		close_device(d);
	}
}

/* Workers in the kernel have no part in rte_rcu_qsbr's waiting. */
static void
sources_come_and_go_while_all_sleep(void **state)
{
	struct weir_event *other;
	unsigned int i;

	await_all_asleep();
	for (i = 0; i < 20; i++) {
		other = weir_event_create(rig.rt,
					  i % weir_runtime_nb_workers(rig.rt));
		assert_non_null(other);
		weir_event_free(other);
	}
}

/* While all sleep, and the device's interrupt is in one worker's epoll set. */
static void
moved_source_is_slept_on_by_its_new_worker(void **state)
{
	struct device *d = open_device(0, eventfd(0, EFD_NONBLOCK));
	struct weir_source *source = weir_source_of(d);
	struct weir_join *join;
	uint32_t sleeps;
	unsigned int i;

	for (i = 0; i < 50; i++) {
		join = spawn_taker(d, i % 2);
		await_all_asleep();
		rig_wait_until(is_slept_on(d));
		sleeps = rig_get(&d->sleeps);
		assert_int_equal(weir_source_move(source, rig.rt, (i + 1) % 2),
				 0);
		rig_wait_until(rig_get(&d->sleeps) > sleeps);
		raise_events(d, 1);
		assert_int_equal(rig_join(join, NULL), 0);
	}
	close_device(d);
}

static void
retiring_wakes_the_worker_and_its_successor(void **state)
{
	struct device *d = open_device(0, eventfd(0, EFD_NONBLOCK));
	struct weir_join *join = spawn_taker(d, 0);

	await_all_asleep();
	rig_wait_until(is_slept_on(d));
	assert_int_equal(weir_worker_retire(rig.rt, 0, 1), 0);
	rig_wait_until(is_slept_on(d));
	raise_events(d, 1);
	assert_int_equal(rig_join(join, NULL), 0);
	close_device(d);
}

static void
half_of_a_sleep_is_refused(void **state)
{
	struct weir_source_ops ops = device_ops;

	ops.wake = NULL;
	rte_errno = 0;
	assert_null(weir_source_create(rig.rt, &ops, 0, 8));
	assert_int_equal(rte_errno, EINVAL);
	ops = device_ops;
	ops.sleep = NULL;
	rte_errno = 0;
	assert_null(weir_source_create(rig.rt, &ops, 0, 8));
	assert_int_equal(rte_errno, EINVAL);
}

/* A task that counts events until it has enough. */
struct counter {
	struct weir_event *event;
	struct atomic_u32 *seen;
	uint32_t wanted;
};

static int
count_events(struct weir_context *ctx, void *state)
{
	struct counter *c = state;
	int n;

	while (rig_get(c->seen) < c->wanted) {
		n = weir_event_wait(ctx, c->event);
		if (n < 0)
			return n;
		rig_add(c->seen, (uint32_t)n);
	}
	return WEIR_DONE;
}

static const struct weir_task_ops counter_ops = {
	.name = "counter",
	.state_size = sizeof(struct counter),
	.poll = count_events,
};

static struct weir_event *event;
static struct atomic_u32 seen;

static struct weir_join *
spawn_counter(uint32_t wanted)
{
	const struct counter c = { event, &seen, wanted };
	struct weir_join *join =
		weir_task_spawn(rig.rt, &counter_ops, &c, NULL);

	assert_non_null(join);
	return join;
}

static int
setup_event(void **state)
{
	setup(state);
	rig_set(&seen, 0);
	event = weir_event_create(rig.rt, 0);
	assert_non_null(event);
	return 0;
}

static int
teardown_event(void **state)
{
	weir_event_free(event);
	return rig_teardown(state);
}

static void
event_that_was_posted_is_taken_at_once(void **state)
{
	weir_event_post(event);
	weir_event_post(event);
	assert_int_equal(rig_join(spawn_counter(2), NULL), 0);
	assert_int_equal(rig_get(&seen), 2);
}

static void
post_wakes_a_worker_that_sleeps(void **state)
{
	struct weir_join *join = spawn_counter(100);
	uint32_t i;

	for (i = 0; i < 100; i++) {
		rig_wait_until(rig_get(&weir_event_source(event)->armed));
		await_all_asleep();
		weir_event_post(event);
		rig_wait_until(rig_get(&seen) == i + 1);
	}
	assert_int_equal(rig_join(join, NULL), 0);
}

static void
post_in_handler(int number)
{
	weir_event_post(event);
}

static void
handle_signals(void (*handler)(int))
{
	const struct sigaction action = { .sa_handler = handler };

	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
}

static void
signal_handler_of_a_plain_thread_wakes(void **state)
{
	struct weir_join *join = spawn_counter(100);
	uint32_t i;

	handle_signals(post_in_handler);
	for (i = 0; i < 100; i++) {
		rig_wait_until(rig_get(&weir_event_source(event)->armed));
		await_all_asleep();
		errno = 4711;
		raise(SIGUSR1);
		assert_int_equal(errno, 4711);
		rig_wait_until(rig_get(&seen) == i + 1);
	}
	assert_int_equal(rig_join(join, NULL), 0);
	handle_signals(SIG_DFL);
}

static int
tell_thread(struct weir_context *ctx, void *state)
{
	*(pthread_t *)state = pthread_self();
	return WEIR_DONE;
}

/* The handler runs on the thread that sleeps. */
static void
signal_handler_of_the_worker_itself_wakes(void **state)
{
	static const struct weir_task_ops ops = {
		.name = "tell thread",
		.state_size = sizeof(pthread_t),
		.poll = tell_thread,
		.result_size = sizeof(pthread_t),
	};
	struct weir_join *join = spawn_counter(100);
	pthread_t worker;
	uint32_t i;

#ifdef WEIR_TSAN
	/*
	 * It puts a handler off that comes just before a call of DPDK's that waits,
	 * and does not see that call (tests/tsan.supp): the time has to end it.
	 */
	rig_set(&kernel.patient, 0);
#endif
	assert_int_equal(weir_runtime_block_on(rig.rt, &ops, NULL, &worker), 0);
	handle_signals(post_in_handler);
	for (i = 0; i < 100; i++) {
		rig_wait_until(rig_get(&weir_event_source(event)->armed));
		await_all_asleep();
		assert_int_equal(pthread_kill(worker, SIGUSR1), 0);
		rig_wait_until(rig_get(&seen) == i + 1);
	}
	assert_int_equal(rig_join(join, NULL), 0);
	handle_signals(SIG_DFL);
}

#define POSTERS 3
#define POSTS 2000u

static void *
post_many(void *arg)
{
	unsigned int i;

	for (i = 0; i < POSTS; i++) {
		weir_event_post(event);
		if (i % 64 == 0)
			sched_yield();
	}
	return NULL;
}

static void
no_post_is_lost(void **state)
{
	struct weir_join *join = spawn_counter(POSTERS * POSTS);

	rig_threads(POSTERS, post_many, NULL);
	assert_int_equal(rig_join(join, NULL), 0);
	assert_int_equal(rig_get(&seen), POSTERS * POSTS);
}

static void
event_that_is_closed_says_so_behind_what_was_posted(void **state)
{
	struct weir_join *join = spawn_counter(2);

	rig_wait_until(rig_get(&weir_event_source(event)->armed));
	assert_int_equal(rig_join(spawn_counter(1), NULL), -EBUSY);
	await_all_asleep();
	weir_source_close(weir_event_source(event), ENODEV);
	assert_int_equal(rig_join(join, NULL), -ENODEV);
	weir_event_post(event);
	assert_int_equal(rig_join(spawn_counter(1), NULL), 0);
	assert_int_equal(rig_join(spawn_counter(2), NULL), -ENODEV);
}

static void
event_without_a_worker_is_refused(void **state)
{
	rte_errno = 0;
	assert_null(weir_event_create(rig.rt, weir_runtime_nb_workers(rig.rt)));
	assert_int_equal(rte_errno, EINVAL);
	weir_event_free(NULL);
}

static void
event_of_a_runtime_that_has_ended_is_refused(void **state)
{
	assert_int_equal(weir_runtime_shutdown(rig.rt, UINT64_MAX, NULL), 0);
	rte_errno = 0;
	assert_null(weir_event_create(rig.rt, 0));
	assert_int_equal(rte_errno, ESHUTDOWN);
}

/* Its new worker, which is awake, has nothing to undo (N1). */
static void
moved_source_is_awake(void **state)
{
	struct device *d = open_device(0, eventfd(0, EFD_NONBLOCK));
	struct weir_join *join = spawn_taker(d, 1);

	assert_int_equal(weir_worker_park_set(rig.rt, 1, WEIR_PARK_POLL), 0);
	rig_wait_until(is_slept_on(d));
	assert_int_equal(weir_source_move(weir_source_of(d), rig.rt, 1), 0);
	assert_false(is_slept_on(d));
	raise_events(d, 1);
	assert_int_equal(rig_join(join, NULL), 0);
	close_device(d);
}

/* The waiter is another worker's: nothing but the closer wakes this one. */
static void
close_wakes_the_home_worker(void **state)
{
	struct device *d = open_device(0, eventfd(0, EFD_NONBLOCK));
	struct weir_join *join;

	weir_source_of(d)->trusted = true;
	join = spawn_taker(d, 1);
	rig_wait_until(is_slept_on(d));
	await_all_asleep();
	weir_source_close(weir_source_of(d), ENODEV);
	assert_false(is_slept_on(d));
	assert_int_equal(rig_join(join, NULL), -ENODEV);
	close_device(d);
}

static struct atomic_u32 moved;

static void *
move_to_1(void *arg)
{
	assert_int_equal(weir_source_move(weir_source_of(arg), rig.rt, 1), 0);
	rig_set(&moved, 1);
	return NULL;
}

/* N1: EAL may be looking at its interrupt there. */
static void
move_waits_for_the_worker_that_gets_up(void **state)
{
	struct device *d = open_device(0, eventfd(0, EFD_NONBLOCK));
	struct weir_join *join = spawn_taker(d, 1);
	pthread_t mover;

	/* It does not sleep on it, nor get up. */
	assert_int_equal(weir_worker_park_set(rig.rt, 1, WEIR_PARK_POLL), 0);
	rig_set(&moved, 0);
	rig_set(&kernel.hold, 1);
	rig_wait_until(is_slept_on(d));
	/* Who has just got up takes what is raised with it. */
	rig_wait_until((raise_events(d, 0), rig_get(&kernel.held)));
	assert_int_equal(pthread_create(&mover, NULL, move_to_1, d), 0);
	rig_wait_until(rig_get(&weir_source_of(d)->leaves));
	assert_true(is_slept_on(d));
	assert_int_equal(rig_get(&moved), 0);
	rig_set(&kernel.hold, 0);
	rig_wait_until(rig_get(&moved));
	pthread_join(mover, NULL);
	assert_int_equal(rig_get(&d->woken_by), 0);
	assert_int_equal(weir_source_worker(weir_source_of(d)), 1);
	raise_events(d, 1);
	assert_int_equal(rig_join(join, NULL), 0);
	close_device(d);
}

#define TEST(name, workers) UNIT_TEST(name, setup, rig_teardown, workers)
#define TESTS(name) TEST(name, 1), TEST(name, 2)
#define EVENT_TEST(name, workers) \
	UNIT_TEST(name, setup_event, teardown_event, workers)
#define EVENT_TESTS(name) \
	EVENT_TEST(name, 1), EVENT_TEST(name, 2), EVENT_TEST(name, 3)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(interrupt_wakes_and_is_trusted_from_then_on, 1),
		TEST(source_armed_elsewhere_wakes_its_home_worker, 2),
		TEST(worker_gets_up_past_a_source_that_it_does_not_sleep_on, 1),
		TEST(last_poll_finds_what_came_before, 1),
		TEST(interrupt_that_never_comes_is_noticed, 1),
		TEST(interrupt_has_no_time_to_come_beside_a_timer, 1),
		TEST(device_that_cannot_is_asked_again_later, 1),
		TEST(source_that_has_to_be_polled_is_polled, 1),
		TESTS(worker_sleeps_once_who_had_it_poll_has_ended),
		TESTS(close_wakes_the_waiter_and_lets_the_device_go),
		TESTS(sources_come_and_go_while_all_sleep),
		TEST(half_of_a_sleep_is_refused, 1),
		TEST(moved_source_is_slept_on_by_its_new_worker, 2),
		TEST(moved_source_is_awake, 2),
		TEST(close_wakes_the_home_worker, 2),
		TEST(retiring_wakes_the_worker_and_its_successor, 2),
		TEST(move_waits_for_the_worker_that_gets_up, 2),
		EVENT_TESTS(event_that_was_posted_is_taken_at_once),
		EVENT_TESTS(post_wakes_a_worker_that_sleeps),
		EVENT_TESTS(signal_handler_of_a_plain_thread_wakes),
		EVENT_TEST(signal_handler_of_the_worker_itself_wakes, 1),
		EVENT_TESTS(no_post_is_lost),
		EVENT_TESTS(
			event_that_is_closed_says_so_behind_what_was_posted),
		EVENT_TEST(event_without_a_worker_is_refused, 2),
		EVENT_TESTS(event_of_a_runtime_that_has_ended_is_refused),
	};

	return cmocka_run_group_tests(tests, unit_eal_setup, unit_eal_teardown);
}
