/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sources: whoever polls, moves, closes or frees one, and wherever its worker
 * is, its waiter is woken, once, and nobody looks at what is gone.
 */

#include <errno.h>

#include <sys/epoll.h>

#include <rte_epoll.h>

#include "kernel.h"
#include "weir_event.h"
#include "workers.h"

/* Of a device that has something from some time on, and stays so. */
static struct atomic_u32 device;
/* Written under the source's lock, and by nobody else. */
static unsigned int polls;
static void *source;
static int got;

static int
source_poll(void *priv)
{
	(void)priv;
	polls++;
	return atomic_u32_load(&device, RELAXED) > 0;
}

/* A source that has to be polled. */
static const struct weir_source_ops polled = {
	.name = "polled",
	.flags = WEIR_SOURCE_ANY_THREAD,
	.poll = source_poll,
};

/* What a driver's receive function does. */
static int
wait_poll(struct weir_context *ctx, void *state)
{
	int rc = weir_source_wait_begin(ctx, source);

	(void)state;
	if (rc < 0)
		return rc;
	if (rc > 0) {
		got = weir_source_wait_fail(source);
		return got;
	}
	if (source_poll(source) == 0)
		return weir_source_wait_arm(ctx, source);
	weir_source_wait_ready(ctx, source, 1);
	return WEIR_DONE;
}

static const struct weir_task_ops waits = {
	.name = "waits",
	.poll = wait_poll,
};

static void
end(unsigned int n)
{
	workers_await(n);
	workers_end();
	rig_check_seen(n);
}

/*
 * Worker 0 arms what worker 1 has to poll, and may be about to sleep. Worker 0
 * has just come: nothing else tells it of the other.
 */
MODEL(source_arm, "arming a source wakes its worker in the kernel", 2, 2)
{
	struct task *t;

	workers_begin(2, WEIR_PARK_INTERRUPT, 0);
	source = weir_source_create(workers_rt, &polled, 1, 0);
	t = workers_polled_task(0, &waits);
	weir__idle_remove_worker(&workers_rt->nodes[0]->idle);
	workers_drive(1);
	weir__idle_add_worker(&workers_rt->nodes[0]->idle);
	workers_enter(0);
	workers_poll(0, t);
	atomic_u32_store(&device, 1, RELAXED);
	workers_await(1);
	workers_stop();
	weir_source_free(source);
	end(1);
}

/* Worker 1 does not come to it. */
MODEL(source_move, "moving a source wakes its new worker in the kernel", 2, 2)
{
	workers_begin(2, WEIR_PARK_INTERRUPT, WORKERS_NO_MEMBARRIER);
	source = weir_source_create(workers_rt, &polled, 1, 0);
	weir__idle_remove_worker(&workers_rt->nodes[0]->idle);
	workers_enter(1);
	workers_poll(1, workers_polled_task(0, &waits));
	atomic_u32_store(&device, 1, RELAXED);
	weir__core = NULL;
	workers_drive(0);
	weir_source_move(weir_source_of(source), workers_rt, 0);
	workers_await(1);
	workers_stop();
	weir_source_free(source);
	end(1);
}

MODEL(source_leave, "moving a source beside its old worker's polls", 2, 2)
{
	workers_begin(2, WEIR_PARK_PAUSE, 0);
	source = weir_source_create(workers_rt, &polled, 0, 0);
	workers_drive(0);
	weir_source_move(weir_source_of(source), workers_rt, 1);
	workers_stop();
	weir_source_free(source);
	end(0);
}

/* Its worker polls meanwhile, and what it held is freed. */
MODEL(source_array, "sources come and go beside their worker's polls", 2, 2)
{
	void *other;

	workers_begin(1, WEIR_PARK_PAUSE, 0);
	other = weir_source_create(workers_rt, &polled, 0, 0);
	workers_drive(0);
	source = weir_source_create(workers_rt, &polled, 0, 0);
	weir_source_free(other);
	workers_stop();
	weir_source_free(source);
	end(0);
}

/* A task of worker 0 waits, and the device has something. */
static void
begin_armed(void)
{
	workers_begin(2, WEIR_PARK_PAUSE, 0);
	source = weir_source_create(workers_rt, &polled, 0, 0);
	workers_enter(0);
	workers_poll(0, workers_polled_task(0, &waits));
	atomic_u32_store(&device, 1, RELAXED);
	weir__core = NULL;
}

/* That it is woken once, the task's state and its one place show. */
static void
end_armed(void)
{
	workers_await(1);
	workers_stop();
	weir_source_free(source);
	end(1);
}

static void
rescue(void *arg)
{
	(void)arg;
	weir__source_set_rescue(&workers_get(0)->sources, 1);
}

MODEL(source_rescue, "a rescuer beside the home worker", 2, 2)
{
	begin_armed();
	model_thread("rescuer", rescue, NULL);
	workers_drive(0);
	end_armed();
	model_check(got == 0);
}

MODEL(source_close, "a close beside the home worker", 2, 2)
{
	begin_armed();
	workers_drive(0);
	weir_source_close(weir_source_of(source), ESHUTDOWN);
	end_armed();
	model_check(got == 0 || got == -ESHUTDOWN);
}

static void
hand_over(void)
{
	model_check(weir__source_set_hand_over(&workers_get(0)->sources,
					       &workers_get(1)->sources) == 0);
}

/*
 * A worker's sources go to its successor when it retires (workers.c, G3). The
 * one polls until they are gone, the other one from then on; between them they
 * miss nothing.
 */
MODEL(source_hand_over, "an event beside the retirement of its worker", 1, 1)
{
	begin_armed();
	workers_drive(0);
	hand_over();
	workers_drive(1);
	end_armed();
	model_check(got == 0);
}

/* A source with an interrupt, on memory of its own. */

struct nic {
	struct atomic_u32 packets;
	struct atomic_u32 armed;
	int interrupt; /* a file */
	struct rte_epoll_event event;
};

static struct nic *nic;

static int
nic_poll(void *priv)
{
	(void)priv;
	return atomic_u32_load(&nic->packets, RELAXED) > 0;
}

static int
nic_sleep(void *priv, int epfd)
{
	(void)priv;
	model_check(atomic_u32_load(&nic->armed, RELAXED) == 0);
	/* The kernel's call. */
	rte_epoll_ctl(epfd, EPOLL_CTL_ADD, nic->interrupt, &nic->event);
	atomic_u32_exchange(&nic->armed, 1, SEQ_CST);
	atomic_fence(SEQ_CST);
	return 0;
}

static void
nic_wake(void *priv)
{
	(void)priv;
	model_check(atomic_u32_load(&nic->armed, RELAXED) != 0);
	rte_epoll_ctl(nic->event.epfd, EPOLL_CTL_DEL, nic->interrupt,
		      &nic->event);
	atomic_u32_exchange(&nic->armed, 0, SEQ_CST);
}

static const struct weir_source_ops nic_ops = {
	.name = "nic",
	.poll = nic_poll,
	.sleep = nic_sleep,
	.wake = nic_wake,
};

static int
nic_wait(struct weir_context *ctx, void *state)
{
	int rc = weir_source_wait_begin(ctx, source);

	(void)state;
	if (rc < 0)
		return rc;
	if (rc > 0) {
		got = weir_source_wait_fail(source);
		return got;
	}
	if (nic_poll(source) == 0)
		return weir_source_wait_arm(ctx, source);
	weir_source_wait_ready(ctx, source, 1);
	return WEIR_DONE;
}

static const struct weir_task_ops nic_waits = {
	.name = "waits for a nic",
	.poll = nic_wait,
};

static void
create_nic(void)
{
	nic = model_alloc(sizeof(*nic));
	source = weir_source_create(workers_rt, &nic_ops, 0, 0);
	nic->interrupt = kernel_file_open();
	nic->event.epdata.data = weir_source_of(source);
}

static void
begin_nic(void)
{
	workers_begin(1, WEIR_PARK_INTERRUPT, WORKERS_NO_MEMBARRIER);
	create_nic();
	workers_enter(0);
	workers_poll(0, workers_polled_task(0, &nic_waits));
	weir__core = NULL;
	workers_drive(0);
}

/* The device: writes the packet, and then looks at its mask. */
static void
write_packet(void *arg)
{
	(void)arg;
	atomic_u32_store(&nic->packets, 1, RELAXED);
	atomic_fence(SEQ_CST);
	if (atomic_u32_load(&nic->armed, RELAXED) != 0)
		kernel_file_signal(nic->interrupt);
}

MODEL(source_interrupt, "a packet, before the interrupt is armed or after it",
      2, 2)
{
	begin_nic();
	write_packet(NULL);
	workers_await(1);
	workers_stop();
	weir_source_free(source);
	model_free(nic);
	end(1);
}

/* The worker that goes is stuck, the new one may sleep without end. */
MODEL(source_hand_over_asleep, "a packet beside a hand-over to who sleeps", 2,
      0)
{
	workers_begin(2, WEIR_PARK_INTERRUPT, WORKERS_NO_MEMBARRIER);
	create_nic();
	workers_enter(0);
	workers_poll(0, workers_polled_task(0, &nic_waits));
	weir__core = NULL;
	workers_drive(1);
	model_thread("device", write_packet, NULL);
	hand_over();
	workers_await(1);
	workers_stop();
	weir_source_free(source);
	model_free(nic);
	end(1);
}

/* N1: it is awake for the worker that it leaves. The new one does not come. */
MODEL(source_move_asleep, "a move of a source that its worker sleeps on", 2, 1)
{
	workers_begin(2, WEIR_PARK_INTERRUPT, WORKERS_NO_MEMBARRIER);
	create_nic();
	workers_enter(0);
	workers_poll(0, workers_polled_task(0, &nic_waits));
	weir__core = NULL;
	workers_drive(0);
	weir_source_move(weir_source_of(source), workers_rt, 1);
	model_check(atomic_u32_load(&nic->armed, RELAXED) == 0);
	weir_source_close(weir_source_of(source), ESHUTDOWN);
	model_free(nic);
	workers_await(1);
	workers_stop();
	weir_source_free(source);
	end(1);
}

/* N1: after the close the device is its closer's. */
MODEL(source_close_asleep, "a close of a source that its worker sleeps on", 2,
      2)
{
	begin_nic();
	weir_source_close(weir_source_of(source), ESHUTDOWN);
	model_free(nic);
	workers_await(1);
	workers_stop();
	weir_source_free(source);
	end(1);
	model_check(got == -ESHUTDOWN);
}

/* Events. */

static struct weir_event *event;
static unsigned int written[2];
static unsigned int taken;
static unsigned int wanted;

static int
event_task(struct weir_context *ctx, void *state)
{
	int rc;

	(void)state;
	while (taken < wanted) {
		rc = weir_event_wait(ctx, event);
		if (rc == WEIR_PENDING)
			return rc;
		if (rc < 0) {
			got = rc;
			return WEIR_DONE;
		}
		taken += (unsigned int)rc;
	}
	/* [event:A1] */
	model_check(written[0] == 1 && written[wanted - 1] == 1);
	return WEIR_DONE;
}

static const struct weir_task_ops event_ops = {
	.name = "event",
	.poll = event_task,
};

static void
post(void *arg)
{
	written[(uintptr_t)arg] = 1;
	weir_event_post(event);
}

static void
begin_event(unsigned int n)
{
	workers_begin(1, WEIR_PARK_INTERRUPT, WORKERS_NO_MEMBARRIER);
	event = weir_event_create(workers_rt, 0);
	wanted = n;
	workers_enter(0);
	workers_poll(0, workers_polled_task(0, &event_ops));
	weir__core = NULL;
	workers_drive(0);
}

MODEL(event_post, "a post wakes the worker, and says what was written", 2, 2)
{
	begin_event(1);
	post(NULL);
	workers_await(1);
	workers_stop();
	weir_event_free(event);
	end(1);
	model_check(taken == 1);
}

static void
shut(void *arg)
{
	(void)arg;
	weir_source_close(weir_event_source(event), ESHUTDOWN);
}

/* The worker that goes is stuck, and is told in vain. */
MODEL(event_hand_over, "a post beside a hand-over to who sleeps", 2, 0)
{
	workers_begin(2, WEIR_PARK_INTERRUPT, WORKERS_NO_MEMBARRIER);
	event = weir_event_create(workers_rt, 0);
	wanted = 1;
	workers_enter(0);
	workers_poll(0, workers_polled_task(0, &event_ops));
	weir__core = NULL;
	workers_drive(1);
	model_thread("poster", post, NULL);
	hand_over();
	workers_await(1);
	workers_stop();
	weir_event_free(event);
	end(1);
	model_check(taken == 1);
}

/* What was posted before the close is taken before the error. */
MODEL(event_close, "a post, then a close, beside the worker", 2, 1)
{
	begin_event(2);
	post(NULL);
	shut(NULL);
	workers_await(1);
	workers_stop();
	weir_event_free(event);
	end(1);
	model_check(taken == 1 && got == -ESHUTDOWN);
}

MODEL(event_two, "two post beside each other", 2, 1)
{
	begin_event(2);
	model_thread("poster", post, (void *)1);
	post(NULL);
	workers_await(1);
	workers_stop();
	weir_event_free(event);
	end(1);
	model_check(taken == 2);
}
