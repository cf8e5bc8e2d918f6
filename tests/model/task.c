/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Tasks that are woken, cancelled and shut down while they run, wait and end: no
 * wake-up is lost, each task is dropped once, and its cell goes when nobody can
 * come to it any more.
 */

#include <errno.h>

#include "model.h"
#include "rig.h"
#include "scheduler.h"
#include "task/task.h"

static struct atomic_u32 mail[2];
static struct atomic_ptr handed;
static unsigned int letter;
static unsigned int drops;
static unsigned int ends; /* with WEIR_DONE */

struct reader {
	unsigned int letters; /* that it waits for */
	unsigned int polls;
};

static void
reader_drop(void *state)
{
	(void)state;
	rig_count(&drops);
}

/* Until all its mail is there, which is said to it by wake-ups only. */
static int
reader_poll(struct weir_context *ctx, void *state)
{
	struct reader *r = state;
	unsigned int i;

	(void)ctx;
	r->polls++;
	for (i = 0; i < r->letters; i++)
		if (atomic_u32_load(&mail[i], RELAXED) == 0)
			return WEIR_PENDING;
	rig_count(&ends);
	return WEIR_DONE;
}

static const struct weir_task_ops reader_ops = {
	.name = "reader",
	.state_size = sizeof(struct reader),
	.poll = reader_poll,
	.drop = reader_drop,
};

static struct weir_join *
spawn_reader(unsigned int letters)
{
	const struct reader r = { .letters = letters };

	return scheduler_spawn(&reader_ops, &r);
}

static struct weir_waker *
waker_of(struct weir_join *join)
{
	return weir_waker_clone((struct weir_waker *)join);
}

static void
write_mail(unsigned int i)
{
	atomic_u32_store(&mail[i], 1, RELAXED);
}

static void
write_and_wake(void *waker)
{
	write_mail(1);
	weir_waker_wake(waker);
}

static void
write_and_wake_by_ref(void *waker)
{
	write_mail(1);
	weir_waker_wake_by_ref(waker);
	weir_waker_drop(waker);
}

MODEL(task_wake, "two wake a task that waits for both", 2, 1)
{
	struct weir_join *join;

	scheduler_start(2);
	join = spawn_reader(2);
	model_thread("waker", write_and_wake, waker_of(join));
	write_mail(0);
	weir_waker_wake(waker_of(join));
	weir_join_detach(join);
	scheduler_end();
	model_check(drops == 1 && ends == 1);
}

MODEL(task_wake_by_ref, "the same, by wakers that are kept", 2, 2)
{
	struct weir_waker *waker;
	struct weir_join *join;

	scheduler_start(1);
	join = spawn_reader(2);
	waker = waker_of(join);
	model_thread("waker", write_and_wake_by_ref, weir_waker_clone(waker));
	weir_join_detach(join);
	write_mail(0);
	weir_waker_wake_by_ref(waker);
	weir_waker_drop(waker);
	scheduler_end();
	model_check(drops == 1 && ends == 1);
}

/* Wakes from one task to another, on workers. */
static int
waking_poll(struct weir_context *ctx, void *state)
{
	(void)ctx;
	write_and_wake(*(struct weir_waker **)state);
	return WEIR_DONE;
}

static const struct weir_task_ops waking_ops = {
	.name = "waking",
	.state_size = sizeof(struct weir_waker *),
	.poll = waking_poll,
	.drop = reader_drop,
};

MODEL(task_wake_on_worker, "a task wakes another, by value on a worker", 2, 1)
{
	struct weir_waker *waker;
	struct weir_join *join;

	scheduler_start(2);
	join = spawn_reader(2);
	waker = waker_of(join);
	weir_join_detach(scheduler_spawn(&waking_ops, &waker));
	write_mail(0);
	weir_waker_wake(waker_of(join));
	weir_join_detach(join);
	scheduler_end();
	model_check(drops == 2 && ends == 1);
}

/* Hands its waker out and reads what comes with the wake-up. */
static int
handing_poll(struct weir_context *ctx, void *state)
{
	struct reader *r = state;

	if (r->polls++ == 0) {
		atomic_ptr_store(&handed, weir_context_waker(ctx), RELEASE);
		return WEIR_PENDING;
	}
	model_check(letter == 1);
	rig_count(&ends);
	return WEIR_DONE;
}

static const struct weir_task_ops handing_ops = {
	.name = "handing",
	.state_size = sizeof(struct reader),
	.poll = handing_poll,
	.drop = reader_drop,
};

static struct weir_waker *
take_handed(void)
{
	void *waker;

	while ((waker = atomic_ptr_load(&handed, ACQUIRE)) == NULL)
		atomic_pause();
	return waker;
}

MODEL(task_letter, "what is written before a wake-up is read after it", 2, 2)
{
	struct weir_waker *waker;

	scheduler_start(2);
	weir_join_detach(scheduler_spawn(&handing_ops, NULL));
	waker = take_handed();
	letter = 1;
	weir_waker_wake(waker);
	scheduler_end();
	model_check(drops == 1 && ends == 1);
}

static void
abort_and_drop(void *abort)
{
	weir_abort_task(abort);
	weir_abort_drop(abort);
}

MODEL(task_abort, "a task is aborted beside its wake-up", 2, 2)
{
	struct weir_join *join;

	scheduler_start(1);
	join = spawn_reader(1);
	model_thread("aborter", abort_and_drop, weir_join_abort_handle(join));
	write_mail(0);
	weir_waker_wake(waker_of(join));
	weir_join_detach(join);
	scheduler_end();
	model_check(drops == 1 && ends <= 1);
}

MODEL(task_abort_waiting, "two abort a task that nobody will wake", 2, 2)
{
	struct weir_join *join;
	int rc;

	scheduler_start(1);
	join = spawn_reader(1);
	model_thread("aborter", abort_and_drop, weir_join_abort_handle(join));
	weir_join_abort(join);
	rc = weir_join_wait(join, NULL);
	model_check(rc == -ECANCELED);
	scheduler_end();
	model_check(drops == 1 && ends == 0);
}

static int
yielding_poll(struct weir_context *ctx, void *state)
{
	struct reader *r = state;

	return r->polls++ < 1 ? weir_context_yield(ctx) : WEIR_DONE;
}

static const struct weir_task_ops yielding_ops = {
	.name = "yielding",
	.state_size = sizeof(struct reader),
	.poll = yielding_poll,
	.drop = reader_drop,
};

MODEL(task_yield, "a task that yields is woken and aborted", 2, 2)
{
	struct weir_join *join;

	scheduler_start(1);
	join = scheduler_spawn(&yielding_ops, NULL);
	model_thread("aborter", abort_and_drop, weir_join_abort_handle(join));
	weir_waker_wake(waker_of(join));
	weir_join_detach(join);
	scheduler_end();
	model_check(drops == 1);
}

/* Looks again behind another task, once, before it waits for its mail. */
static int
looking_poll(struct weir_context *ctx, void *state)
{
	struct reader *r = state;

	if (atomic_u32_load(&mail[0], RELAXED) == 0 && r->polls++ == 0)
		return context_look_behind_next(ctx);
	return reader_poll(ctx, state);
}

static const struct weir_task_ops looking_ops = {
	.name = "looking",
	.state_size = sizeof(struct reader),
	.poll = looking_poll,
	.drop = reader_drop,
};

static struct weir_join *
spawn_looking(void)
{
	const struct reader r = { .letters = 1 };

	return scheduler_spawn(&looking_ops, &r);
}

MODEL(task_look, "a task that looks again is woken and aborted", 2, 2)
{
	struct weir_join *join;

	scheduler_start(1);
	join = spawn_looking();
	model_thread("aborter", abort_and_drop, weir_join_abort_handle(join));
	write_mail(0);
	weir_waker_wake(waker_of(join));
	weir_join_detach(join);
	scheduler_end();
	model_check(drops == 1);
}

static void
spawn_and_wait(void *arg)
{
	struct weir_join *join = spawn_reader(1);
	int rc = weir_join_wait(join, NULL);

	(void)arg;
	model_check(rc == -ECANCELED);
}

MODEL(task_close_spawn, "shutdown beside a spawn", 2, 2)
{
	unsigned int spawner;

	scheduler_start(1);
	spawner = model_thread("spawner", spawn_and_wait, NULL);
	scheduler_close();
	model_join(spawner);
	scheduler_end();
	model_check(drops == 1 && ends == 0);
}

MODEL(task_close_wake, "shutdown beside a wake-up", 2, 2)
{
	struct weir_join *join;

	scheduler_start(1);
	join = spawn_reader(1);
	model_thread("waker", write_and_wake, waker_of(join));
	weir_join_detach(join);
	scheduler_close();
	scheduler_end();
	model_check(drops == 1 && ends == 0);
}

static void
close_all(void *arg)
{
	(void)arg;
	scheduler_close();
}

MODEL(task_close_run, "shutdown by one worker beside the turn of another", 2, 1)
{
	scheduler_start(2);
	weir_join_detach(spawn_reader(1));
	model_thread("closer", close_all, NULL);
	scheduler_end();
	model_check(drops == 1 && ends == 0);
}

MODEL(task_close_look, "the same, of one that looks again", 2, 1)
{
	scheduler_start(2);
	weir_join_detach(spawn_looking());
	model_thread("closer", close_all, NULL);
	scheduler_end();
	model_check(drops == 1 && ends == 0);
}

MODEL(task_close_yield, "the same, of one that yields", 2, 1)
{
	unsigned int closer;

	scheduler_start(2);
	weir_join_detach(scheduler_spawn(&yielding_ops, NULL));
	closer = model_thread("closer", close_all, NULL);
	model_join(closer);
	scheduler_end();
	model_check(drops == 1);
}

MODEL(task_close_abort, "two workers shut down beside an abort", 2, 1)
{
	struct weir_join *join;

	scheduler_start(2);
	join = spawn_reader(1);
	model_thread("aborter", abort_and_drop, weir_join_abort_handle(join));
	weir_join_detach(join);
	scheduler_close();
	scheduler_end();
	model_check(drops == 1 && ends == 0);
}

MODEL(task_gone, "a waker outlives the task and its home", 2, 2)
{
	struct weir_join *join;

	scheduler_start(1);
	join = spawn_reader(2);
	model_thread("waker", write_and_wake, waker_of(join));
	write_mail(0);
	weir_waker_wake(waker_of(join));
	weir_join_detach(join);
	scheduler_end();
	model_check(drops == 1 && ends == 1);
}
