/* SPDX-License-Identifier: BSD-3-Clause */

/* Who searches and who sleeps: no wake-up is lost, and none hangs on a delay. */

#include "workers.h"

static struct idle idle;
static struct run_queue queue;

/* What was pushed before the claim is there for who was claimed. */
static void
check_pushed(void)
{
	model_check(weir__run_queue_len_any(&queue) > 0);
}

static void
push_and_notify(void *arg)
{
	unsigned int bit;

	(void)arg;
	model_check(run_queue_push_owner(&queue, rig_task(0)));
	weir__idle_notify(&idle, NULL, &bit);
}

static void
end(unsigned int searching, unsigned int sleeping)
{
	uint32_t state = atomic_u32_load(&idle.state, RELAXED);
	uint64_t bits = atomic_u64_load(&idle.sleepers[0], RELAXED);

	model_check(state >> 16 == searching);
	model_check((state & 0xffff) == sleeping);
	model_check(__builtin_popcountll(bits) == (int)sleeping);
}

MODEL(idle_claimed, "a sleeper that is claimed finds what it is claimed for", 3,
      3)
{
	weir__idle_init(&idle, 2);
	weir__run_queue_init(&queue, false, false);
	weir__idle_sleep(&idle, 0, false);
	model_thread("notifier", push_and_notify, NULL);
	while (!weir__idle_claimed(&idle, 0))
		atomic_pause();
	check_pushed();
	model_join_all();
	end(1, 0);
	rig_see(run_queue_pop_owner(&queue));
	rig_check_seen(1);
}

static void
rise(void *arg)
{
	unsigned int bit = *(const unsigned int *)arg;

	if (weir__idle_wake_self(&idle, bit)) {
		check_pushed();
		weir__idle_stop_searching(&idle);
	}
}

MODEL(idle_wake_self, "two get up by themselves beside a claim", 3, 3)
{
	static const unsigned int bits[] = { 0, 1 };

	weir__idle_init(&idle, 2);
	weir__run_queue_init(&queue, false, false);
	weir__idle_sleep(&idle, 0, false);
	weir__idle_sleep(&idle, 1, false);
	model_thread("notifier", push_and_notify, NULL);
	model_thread("sleeper", rise, (void *)(uintptr_t)&bits[0]);
	rise((void *)(uintptr_t)&bits[1]);
	model_join_all();
	end(0, 0);
	rig_see(run_queue_pop_owner(&queue));
	rig_check_seen(1);
}

static struct inject inject;

/* To the spill list: what the checker knows of rings is too good (race.c). */
static void
push_outside(void *arg)
{
	struct task *t = rig_task(1);
	unsigned int bit;

	(void)arg;
	weir__inject_push(&inject, &t, 1);
	weir__idle_notify(&idle, NULL, &bit);
}

/* One that goes to sleep, as the last searcher or alone without a search. */
static void
sleep_beside_push(bool searching)
{
	struct task *tasks[2] = { rig_task(0) };
	unsigned int n = 0;
	bool found;

	weir__idle_init(&idle, 1);
	workers_make_inject(&inject, 1);
	weir__inject_push(&inject, tasks, 1);
	if (searching)
		weir__idle_start_searching(&idle);
	model_thread("pusher", push_outside, NULL);
	model_check(weir__idle_sleep(&idle, 0, searching));
	found = inject_has_spilled(&inject);
	model_join_all();
	model_check(found || weir__idle_claimed(&idle, 0));
	while (n < 2)
		n += weir__inject_pop(&inject, tasks + n, 2 - n);
	rig_see(tasks[0]);
	rig_see(tasks[1]);
	rig_check_seen(2);
	model_free(inject.ring);
}

MODEL(idle_last, "who pushes sees a sleeper, or the last searcher the push", 3,
      3)
{
	sleep_beside_push(true);
}

MODEL(idle_alone, "who pushes sees a sleeper, or who is alone the push", 3, 3)
{
	sleep_beside_push(false);
}
