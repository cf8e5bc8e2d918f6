/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Drivers beside a worker that polls or sleeps: what comes wakes the task that
 * waits for it, and what was done before is seen.
 */

#include <errno.h>

#include "epoll.h"
#include "weir_fd.h"
#include "weir_ring.h"
#include "park/source.h"
#include "workers.h"

#define RING_SIZE 4

static struct rte_ring *ring;
static struct weir_ring_rx *rx;
static unsigned int written[2];
static unsigned int taken;
static unsigned int wanted;
static int got;

static void
end(unsigned int n)
{
	workers_await(n);
	workers_stop();
	weir_ring_rx_free(rx);
	model_free(ring);
	workers_end();
	rig_check_seen(n);
}

static int
ring_task(struct weir_context *ctx, void *state)
{
	void *objs[2];
	int rc, i;

	(void)state;
	while (taken < wanted) {
		rc = weir_ring_recv(ctx, rx, objs, 2);
		if (rc == WEIR_PENDING)
			return rc;
		if (rc < 0) {
			got = rc;
			return WEIR_DONE;
		}
		for (i = 0; i < rc; i++)
			model_check(*(unsigned int *)objs[i] == 1);
		taken += (unsigned int)rc;
	}
	return WEIR_DONE;
}

static const struct weir_task_ops ring_ops = {
	.name = "ring",
	.poll = ring_task,
};

static void
begin(unsigned int n)
{
	workers_begin(1, WEIR_PARK_INTERRUPT, WORKERS_NO_MEMBARRIER);
	ring = model_alloc((size_t)rte_ring_get_memsize(RING_SIZE));
	/* Of the modes the one whose orders are not those of x86 alone. */
	rte_ring_init(ring, "ring", RING_SIZE,
		      RING_F_MP_RTS_ENQ | RING_F_MC_RTS_DEQ);
	rte_ring_set_prod_htd_max(ring, RING_SIZE - 1);
	rte_ring_set_cons_htd_max(ring, RING_SIZE - 1);
	rx = weir_ring_rx_create(workers_rt, ring, 0, WEIR_RING_NOTIFIES);
	wanted = n;
	workers_enter(0);
	workers_poll(0, workers_polled_task(0, &ring_ops));
	weir__core = NULL;
	workers_drive(0);
}

static void
post(void *arg)
{
	void *obj = &written[(uintptr_t)arg];

	written[(uintptr_t)arg] = 1;
	weir_ring_post_burst(rx, &obj, 1);
}

MODEL(ring_post, "a message wakes the worker, and what it points to is there",
      2, 2)
{
	begin(1);
	post(NULL);
	end(1);
	model_check(taken == 1);
}

/* In its own way, and then the call. */
MODEL(ring_notify, "a call behind a message wakes the worker", 2, 2)
{
	begin(1);
	written[0] = 1;
	rte_ring_enqueue(ring, &written[0]);
	weir_ring_notify(rx);
	end(1);
	model_check(taken == 1);
}

MODEL(ring_post_two, "two post beside each other", 2, 1)
{
	begin(2);
	model_thread("poster", post, (void *)1);
	post(NULL);
	end(1);
	model_check(taken == 2);
}

MODEL(ring_close, "a message, then a close, beside the worker", 2, 1)
{
	begin(2);
	post(NULL);
	weir_source_close(weir_ring_rx_source(rx), ESHUTDOWN);
	end(1);
	model_check(taken == 1 && got == -ESHUTDOWN);
}

/* Fds. */

static struct weir_fd_set *set;
static struct weir_fd *fd;

static int
fd_task(struct weir_context *ctx, void *state)
{
	int rc = weir_fd_wait(ctx, fd, EPOLLIN);

	(void)state;
	if (rc == WEIR_PENDING)
		return rc;
	got = rc;
	return WEIR_DONE;
}

static const struct weir_task_ops fd_ops = {
	.name = "fd",
	.poll = fd_task,
};

/* In a set of that worker, of which there are n. */
static void
begin_fd(unsigned int n, unsigned int worker, unsigned int flags)
{
	/* Only a wait on another worker needs the membarrier. */
	workers_begin(n, WEIR_PARK_INTERRUPT,
		      n == 1 ? WORKERS_NO_MEMBARRIER : 0);
	set = weir_fd_set_create(workers_rt, worker, 0);
	fd = weir_fd_create(set, epoll_file(), flags);
}

static void
end_fd(void)
{
	workers_await(1);
	workers_stop();
	weir_fd_free(fd);
	model_check(!source_is_armed(weir_fd_set_source(set)));
	weir_fd_set_free(set);
	workers_end();
	rig_check_seen(1);
}

/* Before the worker sleeps, or while it does. */
static void
wake_by_fd(unsigned int flags)
{
	begin_fd(1, 0, flags);
	workers_enter(0);
	workers_poll(0, workers_polled_task(0, &fd_ops));
	weir__core = NULL;
	workers_drive(0);
	epoll_file_ready();
	end_fd();
	model_check(got == EPOLLIN);
}

MODEL(fd_ready, "a fd that becomes ready wakes the worker", 2, 2)
{
	wake_by_fd(0);
}

MODEL(fd_ready_edge, "a fd that becomes ready once wakes the worker", 2, 2)
{
	wake_by_fd(WEIR_FD_EDGE);
}

/* The home worker, 1, may be asleep, and the fd is ready. */
MODEL(fd_arm, "a wait of another worker's task wakes the set's worker", 2, 1)
{
	struct task *t;

	begin_fd(2, 1, 0);
	t = workers_polled_task(0, &fd_ops);
	weir__idle_remove_worker(&workers_rt->nodes[0]->idle);
	workers_drive(1);
	weir__idle_add_worker(&workers_rt->nodes[0]->idle);
	workers_enter(0);
	workers_poll(0, t);
	epoll_file_ready();
	end_fd();
	model_check(got == EPOLLIN);
}

static void
close_fd(void *arg)
{
	(void)arg;
	weir_fd_close(fd, ESTALE);
}

/* Each wakes the waiter, and it is woken once. */
MODEL(fd_close, "a close beside an event and a worker that looks", 2, 1)
{
	begin_fd(1, 0, 0);
	workers_enter(0);
	workers_poll(0, workers_polled_task(0, &fd_ops));
	weir__core = NULL;
	workers_drive(0);
	model_thread("closer", close_fd, NULL);
	epoll_file_ready();
	end_fd();
	model_check(got == EPOLLIN || got == -ESTALE);
}

MODEL(fd_set_close, "a close of the set that its worker sleeps on", 2, 1)
{
	begin_fd(1, 0, 0);
	workers_enter(0);
	workers_poll(0, workers_polled_task(0, &fd_ops));
	weir__core = NULL;
	workers_drive(0);
	weir_source_close(weir_fd_set_source(set), ESHUTDOWN);
	end_fd();
	model_check(got == -ESHUTDOWN);
}
