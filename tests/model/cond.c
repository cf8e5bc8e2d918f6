/* SPDX-License-Identifier: BSD-3-Clause */

/* Condition variables: whoever waits under the mutex learns of what comes behind it. */

#include <errno.h>

#include "rig.h"
#include "waiter.h"
#include "weir_cond.h"

static struct weir_mutex *mutex;
static struct weir_cond *cond;
/* With the mutex. */
static unsigned int *items;
/* Who finds one leaves it, and tells the next. */
static bool left;
static unsigned int taken;

/* What takes an item, and where it has come to. */
struct taker {
	bool waits; /* on the condition */
};
static struct taker takers[2];

static void
begin(unsigned int nb_workers)
{
	taken = 0;
	left = false;
	waiter_drops = 0;
	takers[0].waits = false;
	takers[1].waits = false;
	mutex = model_alloc(sizeof(*mutex));
	cond = model_alloc(sizeof(*cond));
	items = model_alloc(sizeof(*items));
	*items = 0;
	weir_mutex_init(mutex);
	weir_cond_init(cond, mutex);
	scheduler_start(nb_workers);
}

/* Nobody has the mutex. */
static void
end(void)
{
	scheduler_end();
	model_check(weir_mutex_try_lock(mutex) == 0);
	model_check(*items == (left ? 1 : 0));
	weir_mutex_unlock(mutex);
	weir_cond_fini(cond);
	weir_mutex_fini(mutex);
	model_free(cond);
	model_free(mutex);
	model_free(items);
}

static int
take_item(struct weir_context *ctx, void *what, struct weir_wait *wait)
{
	struct taker *t = what;
	int rc;

	if (!t->waits) {
		rc = weir_mutex_lock(ctx, mutex, wait);
		if (rc < 0)
			return rc;
	}
	while (t->waits || *items == 0) {
		t->waits = true;
		rc = weir_cond_wait(ctx, cond, wait);
		if (rc < 0)
			return rc;
		t->waits = false;
	}
	if (left)
		weir_cond_signal(cond);
	else
		--*items;
	weir_mutex_unlock(mutex);
	return 0;
}

static void
count(void *what, int rc)
{
	(void)what;
	model_check(rc == 0);
	rig_count(&taken);
}

static void
add_items(unsigned int n)
{
	model_check(weir_mutex_lock(NULL, mutex, NULL) == 0);
	*items += n;
	weir_mutex_unlock(mutex);
}

static void
give_one(void *arg)
{
	(void)arg;
	add_items(1);
	weir_cond_signal(cond);
}

static void
give_two(void *arg)
{
	(void)arg;
	model_check(weir_mutex_lock(NULL, mutex, NULL) == 0);
	*items += 2;
	weir_cond_broadcast(cond);
	weir_mutex_unlock(mutex);
}

static struct weir_join *
spawn(unsigned int i)
{
	return waiter_spawn(take_item, &takers[i], count);
}

MODEL(cond_signal, "what a task waits for comes while it begins to wait", 3, 2)
{
	begin(1);
	model_thread("giver", give_one, NULL);
	waiter_detach(spawn(0));
	end();
	model_check(taken == 1);
}

MODEL(cond_thread, "a plain thread waits", 3, 2)
{
	begin(0);
	model_thread("giver", give_one, NULL);
	count(NULL, take_item(NULL, &takers[0], NULL));
	end();
	model_check(taken == 1);
}

MODEL(cond_broadcast, "a task and a plain thread are told at once", 2, 1)
{
	begin(1);
	model_thread("giver", give_two, NULL);
	waiter_detach(spawn(0));
	count(NULL, take_item(NULL, &takers[1], NULL));
	end();
	model_check(taken == 2);
}

MODEL(cond_abort, "one that is told is aborted, and the next is told", 1, 1)
{
	struct weir_join *join;

	begin(1);
	left = true;
	join = spawn(0);
	model_thread("aborter", waiter_abort, join);
	model_thread("giver", give_one, NULL);
	count(NULL, take_item(NULL, &takers[1], NULL));
	end();
}
