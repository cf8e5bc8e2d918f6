/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What is initialised once: by one at a time, until one succeeds; and whoever
 * goes on after that sees it.
 */

#include <errno.h>

#include "rig.h"
#include "waiter.h"
#include "weir_once.h"

static struct weir_once *once;
static unsigned int *value;
static unsigned int initialised, used, failed, failures;

static void
begin(unsigned int nb_workers)
{
	initialised = 0;
	used = 0;
	failed = 0;
	failures = 0;
	waiter_drops = 0;
	once = model_alloc(sizeof(*once));
	value = model_alloc(sizeof(*value));
	weir_once_init(once);
	scheduler_start(nb_workers);
}

static void
end(unsigned int tasks)
{
	scheduler_end();
	model_check(waiter_drops == tasks);
	model_check(weir_once_begin(NULL, once, NULL) == 0);
	model_check(initialised == 1 && *value == 1);
	weir_once_fini(once);
	model_free(once);
	model_free(value);
}

static int
begin_once(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	return weir_once_begin(ctx, what, wait);
}

/* Initialises it, or uses it; the first few fail. */
static void
go_on(void *what, int rc)
{
	if (rc == 0) {
		model_check(*value == 1);
		rig_count(&used);
		return;
	}
	model_check(rc == 1);
	if (failed < failures) {
		rig_count(&failed);
		model_check(weir_once_fail(what) == 0);
		return;
	}
	++*value;
	rig_count(&initialised);
	model_check(weir_once_done(what) == 0);
}

static void
go_on_thread(void *what)
{
	go_on(what, weir_once_begin(NULL, what, NULL));
}

MODEL(once_two, "a task and a thread come to it", 3, 2)
{
	begin(1);
	waiter_detach(waiter_spawn(begin_once, once, go_on));
	go_on_thread(once);
	end(1);
	model_check(used == 1);
}

MODEL(once_tasks, "two tasks and a thread come to it", 1, 1)
{
	begin(2);
	waiter_detach(waiter_spawn(begin_once, once, go_on));
	waiter_detach(waiter_spawn(begin_once, once, go_on));
	go_on_thread(once);
	end(2);
	model_check(used == 2);
}

MODEL(once_fail, "who fails leaves it to who waits", 2, 1)
{
	begin(1);
	failures = 1;
	waiter_detach(waiter_spawn(begin_once, once, go_on));
	go_on_thread(once);
	end(1);
	model_check(failed == 1 && used == 0);
}

MODEL(once_abort,
      "who is aborted in line, or when its turn has come, leaves it", 2, 1)
{
	struct weir_join *join;

	begin(1);
	model_check(weir_once_begin(NULL, once, NULL) == 1);
	join = waiter_spawn(begin_once, once, go_on);
	model_thread("aborter", waiter_abort, join);
	model_check(weir_once_fail(once) == 0);
	/* Be it the first or not. */
	go_on_thread(once);
	end(1);
	model_check(used <= 1);
}
