/* SPDX-License-Identifier: BSD-3-Clause */

/* How workers wait, and who wakes them: nobody sleeps beside work. */

#include "kernel.h"
#include "workers.h"

static void
place(unsigned int id)
{
	weir__place(workers_task(id));
}

static void
end(unsigned int n)
{
	workers_await(n);
	workers_end();
	rig_check_seen(n);
}

/* Until one is counted, which is on its way to the kernel then. */
static void
await_sleeper(void)
{
	while (idle_all_awake(&workers_rt->nodes[0]->idle))
		atomic_pause();
}

/*
 * Wake-ups of a worker in the kernel by who has a fence of his own, or an
 * operation that is SEQ_CST: certain without membarrier.
 */
static void
begin_in_kernel(void)
{
	workers_begin(1, WEIR_PARK_INTERRUPT, WORKERS_NO_MEMBARRIER);
	workers_drive(0);
}

MODEL(park_inject, "a worker in the kernel is woken for the inject queue", 2, 2)
{
	begin_in_kernel();
	place(0);
	end(1);
}

MODEL(park_inbox, "a worker in the kernel is woken for its inbox", 2, 2)
{
	begin_in_kernel();
	weir__place(workers_bound_task(0, 0));
	end(1);
}

MODEL(park_stop, "a worker in the kernel is woken for what others want", 3, 3)
{
	begin_in_kernel();
	end(0);
}

/* Less than a long sleep in the kernel. */
#define SLEEP_NS 5000000

static int
sleeping_poll(struct weir_context *ctx, void *state)
{
	static struct weir_sleep *sleep;
	int rc;

	(void)state;
	if (sleep == NULL)
		sleep = model_alloc(sizeof(*sleep));
	rc = weir_sleep_until(ctx, sleep, SLEEP_NS);
	if (rc != WEIR_PENDING) {
		model_free(sleep);
		sleep = NULL;
	}
	return rc;
}

static const struct weir_task_ops sleeping_ops = {
	.name = "sleeping",
	.poll = sleeping_poll,
};

MODEL(park_clock, "a worker in the kernel is woken when a test moves its clock",
      2, 2)
{
	workers_begin(1, WEIR_PARK_INTERRUPT, WORKERS_NO_MEMBARRIER);
	atomic_u64_store(&workers_rt->clock.held, 0, RELAXED);
	workers_enter(0);
	workers_poll(0, workers_polled_task(0, &sleeping_ops));
	weir__core = NULL;
	workers_drive(0);
	model_check(weir_clock_advance(workers_rt, SLEEP_NS) == 0);
	end(1);
}

/* A push that nobody tells is found by who does not sleep in the kernel. */
MODEL(park_policy, "a worker in the kernel is woken for a new policy", 2, 2)
{
	struct task *t;

	begin_in_kernel();
	await_sleeper();
	weir_worker_park_set(workers_rt, 0, WEIR_PARK_PAUSE);
	t = workers_task(0);
	weir__inject_push(&workers_rt->nodes[0]->inject, &t, 1);
	end(1);
}

/* The task may be missed by who goes to sleep, the claim may not. */
MODEL(park_claim, "a worker in the kernel is woken by who claims it", 2, 2)
{
	workers_begin(2, WEIR_PARK_INTERRUPT, WORKERS_NO_MEMBARRIER);
	workers_drive(1);
	await_sleeper();
	workers_enter(0);
	place(0);
	end(1);
}

/* Worker 0 has just come, which nobody's sleep depends on. */
MODEL(park_run_queue, "a worker in the kernel is woken for a run queue", 2, 2)
{
	workers_begin(2, WEIR_PARK_INTERRUPT, 0);
	weir__idle_remove_worker(&workers_rt->nodes[0]->idle);
	workers_drive(1);
	weir__idle_add_worker(&workers_rt->nodes[0]->idle);
	workers_enter(0);
	place(0);
	end(1);
}

/* Wake-ups of workers that poll. */

MODEL(park_poll, "a poller finds what is in a run queue, if late", 2, 2)
{
	workers_begin(2, WEIR_PARK_PAUSE, 0);
	workers_drive(1);
	workers_enter(0);
	place(0);
	end(1);
}

/* Q7: it is alone. */
MODEL(park_poll_inject, "a poller finds what is in the inject queue", 2, 2)
{
	workers_begin(1, WEIR_PARK_PAUSE, WORKERS_PATIENT);
	workers_drive(0);
	place(0);
	end(1);
}

/* Each of the tasks needs a worker. */
MODEL(park_half, "who may not search looks later", 2, 0)
{
	workers_begin(2, WEIR_PARK_PAUSE, 0);
	workers_run_until = 2;
	workers_drive(0);
	workers_drive(1);
	place(0);
	place(1);
	end(2);
}

/*
 * In these memory is of one order, and nobody looks again: that is needed for
 * the fence that notifiers do not have, and not for more.
 */
MODEL(park_last, "who gives up as the last one looks again", 3, 0)
{
	workers_begin(2, WEIR_PARK_PAUSE, WORKERS_PATIENT);
	workers_drive(1);
	workers_enter(0);
	place(0);
	end(1);
}

/* Q6 */
MODEL(park_linger,
      "who lingers is told of nothing, and looks again as the last one", 3, 0)
{
	workers_begin(2, WEIR_PARK_PAUSE, WORKERS_PATIENT | WORKERS_LINGER);
	workers_drive(1);
	workers_enter(0);
	place(0);
	end(1);
}

MODEL(park_linger_inbox, "who lingers and goes to the kernel finds its inbox",
      2, 2)
{
	workers_begin(1, WEIR_PARK_INTERRUPT,
		      WORKERS_NO_MEMBARRIER | WORKERS_LINGER);
	workers_drive(0);
	weir__place(workers_bound_task(0, 0));
	end(1);
}

MODEL(park_linger_on, "who goes on to linger finds its inbox, and is stopped",
      2, 2)
{
	workers_begin(1, WEIR_PARK_POLL,
		      WORKERS_PATIENT | WORKERS_LINGER | WORKERS_LINGER_ON);
	workers_drive(0);
	weir__place(workers_bound_task(0, 0));
	weir__place(workers_bound_task(1, 0));
	end(2);
}

/* Q9 */

static struct atomic_u32 mail[2];
static unsigned int letters;
static unsigned int letter;
static struct weir_waker *wakers[2];

/* Waits for so many letters, of which it is told by wake-ups. */
static int
reader_poll(struct weir_context *ctx, void *state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < letters && wakers[i] == NULL; i++)
		wakers[i] = weir_context_waker(ctx);
	for (i = 0; i < letters; i++)
		if (atomic_u32_load(&mail[i], RELAXED) == 0)
			return WEIR_PENDING;
	if (letters == 1)
		model_check(letter == 1);
	return WEIR_DONE;
}

static const struct weir_task_ops reader_ops = {
	.name = "reader",
	.poll = reader_poll,
};

/*
 * The last of so many workers is about to wait, whose only task does so already, for n
 * letters.
 */
static struct task *
begin_watch(unsigned int workers, unsigned int n)
{
	unsigned int i = workers - 1;
	struct task *t;

	letters = n;
	workers_begin(workers, WEIR_PARK_INTERRUPT,
		      WORKERS_NO_MEMBARRIER | WORKERS_LINGER);
	t = workers_polled_bound_task(0, &reader_ops, i);
	workers_enter(i);
	workers_poll(i, t);
	weir__core = NULL;
	workers_drive(i);
	return t;
}

static void
send_letter(void *arg)
{
	const unsigned int i = (unsigned int)(uintptr_t)arg;

	if (letters == 1)
		letter = 1;
	atomic_u32_store(&mail[i], 1, RELAXED);
	weir_waker_wake(wakers[i]);
}

MODEL(park_watch, "who lingers finds the wake-up of the task that it watches",
      3, 3)
{
	begin_watch(1, 1);
	send_letter((void *)0);
	end(1);
}

MODEL(park_watch_worker, "the same, where another worker wakes it", 2, 2)
{
	begin_watch(2, 1);
	workers_enter(0);
	send_letter((void *)0);
	end(1);
}

MODEL(park_watch_two, "the same, where two wake it", 2, 1)
{
	begin_watch(1, 2);
	model_thread("sender", send_letter, (void *)1);
	send_letter((void *)0);
	end(1);
}

MODEL(park_watch_abort, "the same, where one aborts it", 2, 1)
{
	struct task *t = begin_watch(1, 1);

	model_thread("sender", send_letter, (void *)0);
	weir__task_abort(t);
	end(1);
}

MODEL(park_wave, "who finds something has another one search on", 2, 0)
{
	workers_begin(3, WEIR_PARK_PAUSE, WORKERS_PATIENT);
	workers_run_until = 2;
	workers_drive(1);
	workers_drive(2);
	workers_enter(0);
	place(0);
	place(1);
	end(2);
}

/*
 * Worker 0 is busy, and there is nobody else on its node; worker 1 may sleep, on
 * another.
 */
static void
begin_far(enum weir_park park, unsigned int kind)
{
	workers_begin(2, park, WORKERS_APART | kind);
	workers_drive(1);
}

MODEL(far_outside, "a task from outside is taken by another node's sleeper", 3,
      2)
{
	begin_far(WEIR_PARK_INTERRUPT, WORKERS_NO_MEMBARRIER);
	place(0);
	end(1);
}

MODEL(far_run_queue, "a busy worker's task is taken by another node's sleeper",
      2, 2)
{
	begin_far(WEIR_PARK_INTERRUPT, 0);
	workers_enter(0);
	place(0);
	end(1);
}

MODEL(far_poller, "a task from outside is taken by another node's poller", 2, 2)
{
	begin_far(WEIR_PARK_PAUSE, 0);
	place(0);
	end(1);
}

static bool passed;

static bool
let_time_pass(void)
{
	if (passed)
		return false;
	passed = true;
	kernel_advance(SLEEP_NS + 1000);
	return true;
}

/* Worker 0 retires, as move_tasks() of workers.c has it, and is counted no more. */
MODEL(park_moved_timer, "a worker that goes to the kernel gets a timer", 3, 3)
{
	struct worker *from, *to;

	workers_begin(2, WEIR_PARK_INTERRUPT, 0);
	weir__clock_set_rate(&workers_rt->clock, KERNEL_HZ);
	atomic_u64_store(&workers_rt->clock.begin, kernel_now(), RELAXED);
	passed = false;
	model_when_stuck(let_time_pass);
	weir__idle_remove_worker(&workers_rt->nodes[0]->idle);
	from = workers_get(0);
	to = workers_get(1);
	workers_enter(0);
	workers_poll(0, workers_polled_task(0, &sleeping_ops));
	weir__core = NULL;
	workers_drive(1);
	weir__timers_move(&from->timers, &to->timers);
	atomic_fence(SEQ_CST);
	sleeper_call(&to->sleeper, RELAXED);
	end(1);
}
