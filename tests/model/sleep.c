/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A task that is polled while it sleeps: it looks at its timer, whose time may come just
 * then, and is woken for that all the same.
 */

#include "model.h"
#include "rig.h"
#include "scheduler.h"
#include "time/timers.h"

static struct timers *timers;
static unsigned int drops;
static unsigned int ends;

struct sleeper {
	struct timer *timer;
	bool begun;
};

static void
sleeper_drop(void *state)
{
	model_free(((struct sleeper *)state)->timer);
	rig_count(&drops);
}

/* As weir_sleep() does. */
static int
sleeper_poll(struct weir_context *ctx, void *state)
{
	struct sleeper *s = state;

	if (!s->begun) {
		s->begun = true;
		weir__timer_arm(timers, s->timer, 0, 1, context_waker(ctx));
		return WEIR_PENDING;
	}
	if (!timer_idle(s->timer) && weir__timer_watch(s->timer, ctx))
		return WEIR_PENDING;
	rig_count(&ends);
	return WEIR_DONE;
}

static const struct weir_task_ops sleeper_ops = {
	.name = "sleeper",
	.state_size = sizeof(struct sleeper),
	.poll = sleeper_poll,
	.drop = sleeper_drop,
};

static void
wake(void *waker)
{
	weir_waker_wake(waker);
}

MODEL(sleep_watched, "a task looks at its timer while its time comes", 2, 1)
{
	struct clock *clock = model_alloc(sizeof(*clock));
	struct weir_join *join;
	struct sleeper s = { 0 };

	clock->hz = 1000000;
	clock->tick_shift = 0;
	timers = model_alloc(sizeof(*timers));
	weir__timers_init(timers, clock);
	s.timer = model_alloc(sizeof(*s.timer));
	scheduler_start(1);
	join = scheduler_spawn(&sleeper_ops, &s);
	model_thread("waker", wake,
		     weir_waker_clone((struct weir_waker *)join));
	while (weir__timers_fire(timers, 1) == 0)
		atomic_pause();
	weir_join_detach(join);
	scheduler_end();
	model_check(drops == 1 && ends == 1);
	model_check(timers->wheel.n == 0);
	model_free(timers);
	model_free(clock);
}
