/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What tasks do.
 *
 * A task waits for its partner with a waker: it takes one, then looks, and
 * leaves the waker there. Between the look and that no other thread comes in.
 */

#include <errno.h>
#include <string.h>

#include "tasks.h"
#include "weir_event.h"

#define FAN_OUT 4
#define DEPTH 3
#define BOX_SIZE 1024
#define BURST 8

/* Packets on their way from one task to another, by source. */
static struct box {
	struct packet packets[BOX_SIZE];
	unsigned int first, n;
	bool closed; /* nothing comes any more */
} boxes[SOURCES_MAX];

static struct weir_event *events[RUNTIMES_MAX];

void
actors_reset(void)
{
	memset(boxes, 0, sizeof(boxes));
	memset(events, 0, sizeof(events));
}

static int
finish(struct sim_task *t, uint64_t result)
{
	t->result = result;
	return WEIR_DONE;
}

static int
leaf_poll(struct weir_context *ctx, struct sim_task *t)
{
	sim_work(any(3), 0);
	return finish(t, t->id);
}

static int
yield_poll(struct weir_context *ctx, struct sim_task *t)
{
	if (t->n-- > 0)
		return weir_context_yield(ctx);
	return finish(t, t->id);
}

static int
slow_poll(struct weir_context *ctx, struct sim_task *t)
{
	struct sim_task *other;
	unsigned int i;

	/* Meanwhile the other workers may go to sleep. */
	sim_work(any(one_in(4) ? 2000 : 100), 0);
	/* These wait behind it, unless other workers take them. */
	for (i = any(4); i > 0; i--) {
		other = task_start(t->rt, ACTOR_LEAF, -1);
		if (other != NULL)
			task_detach(other);
	}
	sim_work(1 + any(one_in(4) ? 4000 : 400), one_in(2) ? 0 : any(4000));
	return yield_poll(ctx, t);
}

static int
fail_poll(struct weir_context *ctx, struct sim_task *t)
{
	return -EIO;
}

/* Spends units until there are none, so many times. */
static int
budget_poll(struct weir_context *ctx, struct sim_task *t)
{
	unsigned int spent = 0;
	int rc;

	while ((rc = weir_context_spend(ctx, 1)) == 0)
		if (++spent > sim.plan.options[t->rt].budget)
			virtual_failed("budget: %u units in one poll", spent);
	return t->n-- > 0 ? rc : finish(t, t->id);
}

static struct sim_task *
spawn_child(struct sim_task *t, unsigned int i)
{
	struct sim_task *child;

	child = task_start(t->rt, t->salt > 0 ? ACTOR_TREE : ACTOR_LEAF, -1);
	if (child == NULL)
		return NULL;
	child->salt = t->salt > 0 ? t->salt - 1 : 0;
	t->child[i] = child;
	return child;
}

/* More than its queue holds, time and again. */
static int
burst_poll(struct weir_context *ctx, struct sim_task *t)
{
	struct sim_task *other;
	unsigned int i;

	for (i = any(3 * RUN_QUEUE_SIZE); i > 0; i--) {
		other = task_start(t->rt, ACTOR_LEAF, -1);
		if (other != NULL)
			task_detach(other);
	}
	return yield_poll(ctx, t);
}

/* Spawns, then awaits some in turn and lets the others go. */
static int
tree_poll(struct weir_context *ctx, struct sim_task *t)
{
	uint64_t result;
	int rc;

	for (; t->phase < t->n; t->phase++)
		if (spawn_child(t, t->phase) != NULL && one_in(4))
			task_abort(t->child[t->phase]);
	for (; t->phase < 2 * t->n; t->phase++) {
		struct sim_task *child = t->child[t->phase - t->n];

		if (child == NULL)
			continue;
		if (one_in(8)) {
			task_detach(child);
			continue;
		}
		rc = weir_join_poll(ctx, child->join, &result);
		if (rc == WEIR_PENDING)
			return rc;
		child->join = NULL;
		task_check_outcome(child, rc, result);
	}
	return finish(t, t->id);
}

static void
detach_children(struct sim_task *t)
{
	unsigned int i;

	for (i = 0; i < FAN_OUT; i++)
		if (t->child[i] != NULL && t->child[i]->join != NULL)
			task_detach(t->child[i]);
}

static int
awaiter_poll(struct weir_context *ctx, struct sim_task *t)
{
	uint64_t result;
	int rc;

	if (t->partner->join == NULL)
		return finish(t, t->id);
	rc = weir_join_poll(ctx, t->partner->join, &result);
	if (rc == WEIR_PENDING)
		return rc;
	t->partner->join = NULL;
	task_check_outcome(t->partner, rc, result);
	return finish(t, t->id);
}

/* Wakes a task that has left its waker. */
static void
wake(struct sim_task *t)
{
	struct weir_waker *w = t->waker;

	t->waker = NULL;
	if (w == NULL)
		return;
	if (one_in(2)) {
		weir_waker_wake(w);
	} else {
		weir_waker_wake_by_ref(w);
		weir_waker_drop(w);
	}
}

/* Leaves a waker unless there is something already; see above. */
static bool
must_wait(struct weir_context *ctx, struct sim_task *t,
	  bool (*ready)(const struct sim_task *t))
{
	struct weir_waker *w = weir_context_waker(ctx), *old;

	if (ready(t)) {
		weir_waker_drop(w);
		return false;
	}
	old = t->waker;
	t->waker = w;
	weir_waker_drop(old);
	return true;
}

static bool
has_token(const struct sim_task *t)
{
	return t->tokens > 0 || t->partner == NULL;
}

/* Two that hand a token back and forth: each wakes the other. */
static int
pair_poll(struct weir_context *ctx, struct sim_task *t)
{
	while (t->n > 0) {
		if (must_wait(ctx, t, has_token))
			return WEIR_PENDING;
		if (t->partner == NULL)
			break;
		t->tokens--;
		t->n--;
		t->partner->tokens++;
		wake(t->partner);
	}
	return finish(t, t->id);
}

static void
pair_drop(struct sim_task *t)
{
	struct sim_task *partner = t->partner;

	if (partner == NULL)
		return;
	t->partner = NULL;
	partner->partner = NULL;
	wake(partner);
}

static int
bound_poll(struct weir_context *ctx, struct sim_task *t)
{
	/* Another that is bound to the same worker had better not come in. */
	sim_work(1 + any(one_in(4) ? 300 : 5), 0);
	if (t->n-- == 0)
		return finish(t, t->id);
	if (one_in(2))
		return weir_context_yield(ctx);
	/* To itself: it is queued again behind this poll. */
	weir_waker_wake(weir_context_waker(ctx));
	return WEIR_PENDING;
}

static void
in_place(void *arg)
{
	struct sim_task *t = arg;

	seen[SEEN_IN_PLACE]++;
	switch (any(4)) {
	case 0:
		sim_sleep(any(100000));
		break;
	case 1:
		task_block_on(t->rt, ACTOR_LEAF);
		break;
	case 2:
		sim_work(any(500), any(100));
		break;
	default:
		break;
	}
}

static int
in_place_poll(struct weir_context *ctx, struct sim_task *t)
{
	unsigned int worker = weir_context_worker(ctx);
	int rc;

	check_poll_leaves(t);
	rc = weir_block_in_place(in_place, t);
	check_poll_returns(t);
	if (rc != 0 && rc != -EAGAIN &&
	    !(rc == -ENOTSUP && sim.plan.current_thread[t->rt]))
		virtual_failed("weir_block_in_place: %d", rc);
	if (weir_context_worker(ctx) != worker)
		virtual_failed("weir_block_in_place: back on another worker");
	return yield_poll(ctx, t);
}

static int
jobs_poll(struct weir_context *ctx, struct sim_task *t)
{
	uint64_t result;
	int rc;

	while (t->n > 0) {
		if (t->child[0] == NULL)
			t->child[0] = task_start_job(t->rt);
		if (t->child[0] == NULL)
			break;
		if (one_in(10)) {
			task_detach(t->child[0]);
		} else {
			rc = weir_join_poll(ctx, t->child[0]->join, &result);
			if (rc == WEIR_PENDING)
				return rc;
			t->child[0]->join = NULL;
			task_check_outcome(t->child[0], rc, result);
		}
		t->child[0] = NULL;
		t->n--;
	}
	return finish(t, t->id);
}

static bool
is_woken(const struct sim_task *t)
{
	return t->tokens > 0;
}

/* Sleeps so many times. */
static int
sleeper_poll(struct weir_context *ctx, struct sim_task *t)
{
	while (t->n > 0) {
		if (must_wait(ctx, t, is_woken))
			return WEIR_PENDING;
		t->tokens--;
		t->n--;
	}
	return finish(t, t->id);
}

static int
event_poll(struct weir_context *ctx, struct sim_task *t)
{
	int rc;

	while (t->n > 0) {
		rc = weir_event_wait(ctx, events[t->rt]);
		if (rc == WEIR_PENDING)
			return rc;
		/* Another waits, or it is closed. */
		if (rc < 0)
			break;
		t->n--;
	}
	return finish(t, t->id);
}

static bool
box_ready(const struct sim_task *t)
{
	return boxes[t->source].n > 0 || boxes[t->source].closed;
}

static int
consumer_poll(struct weir_context *ctx, struct sim_task *t)
{
	struct box *b = &boxes[t->source];
	int rc;

	for (;;) {
		rc = weir_context_spend(ctx, 1);
		if (rc < 0)
			return rc;
		if (must_wait(ctx, t, box_ready))
			return WEIR_PENDING;
		if (b->n == 0)
			return finish(t, t->id);
		traffic_deliver(t->source, &b->packets[b->first]);
		b->first = (b->first + 1) % BOX_SIZE;
		b->n--;
	}
}

static void
hand_on(struct sim_task *t, const struct packet *packet)
{
	struct box *b = &boxes[t->source];

	if (t->partner == NULL) {
		traffic_deliver(t->source, packet);
		return;
	}
	if (b->n == BOX_SIZE)
		virtual_failed("more packets under way than there are");
	b->packets[(b->first + b->n++) % BOX_SIZE] = *packet;
	wake(t->partner);
}

static int
forwarder_poll(struct weir_context *ctx, struct sim_task *t)
{
	struct packet packets[BURST];
	int i, n;

	for (;;) {
		n = traffic_recv(ctx, t->source, packets, 1 + any(BURST));
		if (n == WEIR_PENDING)
			return n;
		if (n == -ENETDOWN)
			continue;
		/* Dry, or closed. */
		if (n <= 0)
			return finish(t, t->id);
		for (i = 0; i < n; i++)
			hand_on(t, &packets[i]);
		if (one_in(16))
			sim_work(any(100), any(1000));
	}
}

/* How long a sleep may take: most end among others, some alone. */
static uint64_t
any_ns(void)
{
	return one_in(4) ? any(5000000) : any(50000);
}

/* By either function, from one poll to the next: it is the same wait. */
static int
wait_until(struct weir_context *ctx, struct sim_task *t)
{
	int rc;

	if (one_in(2))
		return weir_sleep_until(ctx, &t->sleep, t->until);
	rc = weir_timeout_until(ctx, &t->sleep, t->until, WEIR_PENDING);
	return rc == -ETIMEDOUT ? 0 : rc;
}

static int
timer_poll(struct weir_context *ctx, struct sim_task *t)
{
	struct weir_runtime *rt = weir_context_runtime(ctx);
	int rc;

	do {
		if (t->until == 0)
			t->until = weir_clock_now(rt) + 1 + any_ns();
		rc = wait_until(ctx, t);
		/* Later than it was, or sooner. */
		if (rc == WEIR_PENDING && one_in(4)) {
			t->until = weir_clock_now(rt) + 1 + any_ns();
			rc = wait_until(ctx, t);
		}
		if (rc < 0)
			return rc;
		if (weir_clock_now(rt) < t->until)
			virtual_failed("task %u: its sleep ends too early",
				       t->id);
		seen[SEEN_TIMERS]++;
		t->until = 0;
	} while (t->n-- > 0);
	return finish(t, t->id);
}

static void
timer_drop(struct sim_task *t)
{
	weir_sleep_cancel(&t->sleep);
}

static void
forwarder_drop(struct sim_task *t)
{
	boxes[t->source].closed = true;
	if (t->partner != NULL)
		wake(t->partner);
}

static const struct kind kinds[ACTORS] = {
	[ACTOR_LEAF] = { "leaf", leaf_poll, NULL, false },
	[ACTOR_YIELD] = { "yield", yield_poll, NULL, false },
	[ACTOR_TREE] = { "tree", tree_poll, detach_children, false },
	[ACTOR_BURST] = { "burst", burst_poll, NULL, false },
	[ACTOR_PAIR] = { "pair", pair_poll, pair_drop, false },
	[ACTOR_BOUND] = { "bound", bound_poll, NULL, false },
	[ACTOR_BUDGET] = { "budget", budget_poll, NULL, false },
	[ACTOR_SLOW] = { "slow", slow_poll, NULL, false },
	[ACTOR_IN_PLACE] = { "in_place", in_place_poll, NULL, false },
	[ACTOR_JOBS] = { "jobs", jobs_poll, detach_children, false },
	[ACTOR_FAIL] = { "fail", fail_poll, NULL, true },
	[ACTOR_SLEEPER] = { "sleeper", sleeper_poll, NULL, false },
	[ACTOR_EVENT] = { "event", event_poll, NULL, false },
	[ACTOR_TIMER] = { "timer", timer_poll, timer_drop, false },
	[ACTOR_FORWARDER] = { "forwarder", forwarder_poll, forwarder_drop,
			      false },
};
static const struct kind consumer = { "consumer", consumer_poll, NULL, false };
static const struct kind awaiter = { "awaiter", awaiter_poll, NULL, false };
static const struct kind job = { "job", leaf_poll, NULL, false };

static struct sim_task *
start_pair(unsigned int rt)
{
	struct sim_task *a = task_new(rt, &kinds[ACTOR_PAIR]);
	struct sim_task *b = task_new(rt, &kinds[ACTOR_PAIR]);

	if (a == NULL || b == NULL)
		return NULL;
	a->n = b->n = 1 + any(20);
	a->tokens = 1;
	a->partner = b;
	b->partner = a;
	if (task_spawn(b) == NULL) {
		a->drops = 1;
		return NULL;
	}
	if (task_spawn(a) == NULL) {
		b->partner = NULL;
		wake(b);
	}
	/* Whoever starts it awaits both. */
	return b;
}

struct sim_task *
task_start(unsigned int rt, enum actor actor, int worker)
{
	struct sim_task *t;

	if (actor == ACTOR_PAIR)
		return start_pair(rt);
	t = task_new(rt, &kinds[actor]);
	if (t == NULL)
		return NULL;
	t->bound = worker;
	if (actor == ACTOR_SLEEPER)
		t->n = any(60);
	/* Some starve others if they can. */
	if (actor == ACTOR_YIELD && one_in(10))
		t->n = 3000;
	if (actor == ACTOR_TREE) {
		t->n = any(FAN_OUT + 1);
		t->salt = any(DEPTH);
	}
	return task_spawn(t);
}

struct sim_task *
task_start_forwarder(unsigned int rt, unsigned int source)
{
	struct sim_task *f, *c = NULL;

	if (one_in(2))
		c = task_new(rt, &consumer);
	if (c != NULL) {
		c->source = source;
		c = task_spawn(c);
	}
	f = task_new(rt, &kinds[ACTOR_FORWARDER]);
	if (f != NULL) {
		f->source = source;
		f->partner = c;
		f = task_spawn(f);
	}
	if (f == NULL) {
		boxes[source].closed = true;
		if (c != NULL)
			wake(c);
	}
	return f;
}

uint32_t
task_packets_between(unsigned int source)
{
	return boxes[source].n;
}

struct sim_task *
task_start_awaiter(unsigned int rt, struct sim_task *other)
{
	struct sim_task *t = task_new(rt, &awaiter);

	if (t == NULL)
		return NULL;
	t->partner = other;
	return task_spawn(t);
}

struct sim_task *
task_start_job(unsigned int rt)
{
	struct sim_task *t = task_new(rt, &job);

	if (t == NULL)
		return NULL;
	return task_spawn_job(t);
}

void
task_block_on(unsigned int rt, enum actor actor)
{
	struct sim_task *t = task_new(rt, &kinds[actor]);

	if (t != NULL)
		task_spawn_and_wait(t);
}

void
task_block_on_end(unsigned int rt, struct sim_task *other)
{
	struct sim_task *t = task_new(rt, &awaiter);

	if (t == NULL)
		return;
	t->partner = other;
	task_spawn_and_wait(t);
}

enum actor
task_actor(const struct sim_task *t)
{
	return (enum actor)(t->kind - kinds);
}

void
task_wake_sleepers(unsigned int share)
{
	unsigned int i;

	for (i = 0; i < nb_sim_tasks; i++) {
		if (sim_tasks[i].kind != &kinds[ACTOR_SLEEPER] ||
		    !one_in(share))
			continue;
		sim_tasks[i].tokens++;
		wake(&sim_tasks[i]);
	}
}

void
task_events_open(unsigned int rt)
{
	events[rt] =
		weir_event_create(sim.rt[rt], any(sim.plan.nb_workers[rt]));
}

void
task_events_free(unsigned int rt)
{
	weir_event_free(events[rt]);
	events[rt] = NULL;
}

bool
task_has_event(unsigned int rt)
{
	return events[rt] != NULL;
}

void
task_check_event(unsigned int rt)
{
	const struct weir_source *src;
	const struct atomic_u64 *count;

	if (events[rt] == NULL)
		return;
	src = weir_event_source(events[rt]);
	count = (const struct atomic_u64 *)src->priv;
	if (src->waiter != NULL && count->v > 0 && source_home_sleeps(src))
		virtual_failed("N2: an event was posted, and the worker of who "
			       "waits for it sleeps");
}

void
task_post_event(unsigned int rt)
{
	if (events[rt] != NULL)
		weir_event_post(events[rt]);
}
