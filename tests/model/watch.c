/* SPDX-License-Identifier: BSD-3-Clause */

/* Watches: the last value reaches everybody, whole. */

#include <errno.h>

#include "rig.h"
#include "waiter.h"
#include "weir_watch.h"

struct value {
	unsigned int number;
	unsigned int same;
};

/* One that follows the values. */
struct watcher {
	struct weir_watch_receiver receiver;
	unsigned int last;
	int rc;
};

static struct weir_watch *watch;
static struct value *memory;
static struct watcher *watchers;

static void
begin(unsigned int nb_workers)
{
	waiter_drops = 0;
	watch = model_alloc(sizeof(*watch));
	memory = model_alloc(sizeof(*memory));
	watchers = model_alloc(2 * sizeof(*watchers));
	model_check(weir_watch_init(watch, memory, sizeof(*memory)) == 0);
	weir_watch_subscribe(watch, &watchers[0].receiver);
	weir_watch_subscribe(watch, &watchers[1].receiver);
	scheduler_start(nb_workers);
}

static void
end(void)
{
	weir_watch_fini(watch);
	model_free(watch);
	model_free(memory);
	model_free(watchers);
}

static void
send(unsigned int number)
{
	struct value v = { .number = number, .same = number };

	model_check(weir_watch_send(watch, &v) == 0);
}

static int
changed(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct watcher *w = what;

	return weir_watch_changed(ctx, watch, &w->receiver, wait);
}

/* Takes what is new. */
static void
take(void *what, int rc)
{
	struct watcher *w = what;
	struct value v;

	w->rc = rc;
	if (rc != 0)
		return;
	model_check(weir_watch_get(watch, &w->receiver, &v) == 1);
	model_check(v.number == v.same && v.number > w->last);
	w->last = v.number;
}

/* Waits until it has seen number 2. */
static int
follow(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct watcher *w = what;
	int rc = 0;

	while (rc == 0 && w->last < 2) {
		rc = changed(ctx, w, wait);
		if (rc != WEIR_PENDING)
			take(w, rc);
	}
	return rc;
}

static void
follow_thread(void *what)
{
	model_check(follow(NULL, what, NULL) == 0);
}

MODEL(watch_task, "a task sees the last of two values", 3, 1)
{
	begin(1);
	waiter_detach(waiter_spawn(follow, &watchers[0], NULL));
	send(1);
	send(2);
	scheduler_end();
	model_check(watchers[0].last == 2 && waiter_drops == 1);
	end();
}

MODEL(watch_two, "a task and a thread see the last of two values", 1, 1)
{
	unsigned int thread;

	begin(1);
	waiter_detach(waiter_spawn(follow, &watchers[0], NULL));
	thread = model_thread("watcher", follow_thread, &watchers[1]);
	send(1);
	send(2);
	scheduler_end();
	model_join(thread);
	model_check(watchers[0].last == 2 && watchers[1].last == 2);
	end();
}

MODEL(watch_abort, "what a task that is aborted was told is new still", 2, 1)
{
	struct weir_join *join;

	begin(1);
	join = waiter_spawn(changed, &watchers[0], take);
	model_thread("aborter", waiter_abort, join);
	send(1);
	scheduler_end();
	if (watchers[0].last == 0)
		take(&watchers[0], changed(NULL, &watchers[0], NULL));
	model_check(watchers[0].last == 1);
	end();
}

MODEL(watch_close, "the last value comes before the end", 2, 1)
{
	begin(1);
	waiter_detach(waiter_spawn(changed, &watchers[0], take));
	send(1);
	weir_watch_close(watch);
	scheduler_end();
	model_check(watchers[0].rc == 0 && watchers[0].last == 1);
	take(&watchers[0], changed(NULL, &watchers[0], NULL));
	model_check(watchers[0].rc == -EPIPE);
	end();
}

MODEL(watch_closed, "a task waits while it is closed", 3, 1)
{
	begin(1);
	waiter_detach(waiter_spawn(changed, &watchers[0], take));
	weir_watch_close(watch);
	scheduler_end();
	model_check(watchers[0].rc == -EPIPE && waiter_drops == 1);
	end();
}
