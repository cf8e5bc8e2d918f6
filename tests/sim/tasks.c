/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What tasks do. Each has an entry in sim_tasks, which outlives it; its state
 * holds the entry's address, its result, and filler that nobody else may touch.
 *
 * A task waits for its partner with a waker: it takes one, then looks, and
 * leaves the waker there. Between the look and that no other thread comes in.
 */

#include <errno.h>
#include <string.h>

#include <rte_errno.h>

#include "sim.h"
#include "weir_event.h"

#define FAN_OUT 4
#define DEPTH 3
#define BOX_SIZE 1024
#define BURST 8
#define SIZES 4

struct kind {
	const char *name;
	int (*poll)(struct weir_context *ctx, struct sim_task *t);
	void (*drop)(struct sim_task *t);
};

struct state {
	struct sim_task *t;
	uint64_t result;
	uint8_t filler[];
};

struct sim_task sim_tasks[TASKS_MAX];
unsigned int nb_sim_tasks;

/* Packets on their way from one task to another, by source. */
static struct box {
	struct packet packets[BOX_SIZE];
	unsigned int first, n;
	bool closed; /* nothing comes any more */
} boxes[SOURCES_MAX];

static struct weir_event *events[RUNTIMES_MAX];
static unsigned int nb_jobs_running[RUNTIMES_MAX];

static const size_t sizes[SIZES] = { 0, 30, 300, 1500 };

void
tasks_reset(void)
{
	nb_sim_tasks = 0;
	memset(boxes, 0, sizeof(boxes));
	memset(events, 0, sizeof(events));
	memset(nb_jobs_running, 0, sizeof(nb_jobs_running));
}

/* So long does the polling thread take. */
static void
work(unsigned int steps, uint64_t cycles)
{
	for (; steps > 0; steps--) {
		kernel_advance(cycles);
		sim_step("work");
	}
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
	work(any(3), 0);
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
	work(any(one_in(4) ? 2000 : 100), 0);
	/* These wait behind it, unless other workers take them. */
	for (i = any(4); i > 0; i--) {
		other = task_start(t->rt, ACTOR_LEAF, -1);
		if (other != NULL)
			task_detach(other);
	}
	work(1 + any(one_in(4) ? 4000 : 400), one_in(2) ? 0 : any(4000));
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
	work(1 + any(one_in(4) ? 300 : 5), 0);
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
		work(any(500), any(100));
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
			work(any(100), any(1000));
	}
}

static void
forwarder_drop(struct sim_task *t)
{
	boxes[t->source].closed = true;
	if (t->partner != NULL)
		wake(t->partner);
}

static const struct kind kinds[ACTORS] = {
	[ACTOR_LEAF] = { "leaf", leaf_poll, NULL },
	[ACTOR_YIELD] = { "yield", yield_poll, NULL },
	[ACTOR_TREE] = { "tree", tree_poll, detach_children },
	[ACTOR_BURST] = { "burst", burst_poll, NULL },
	[ACTOR_PAIR] = { "pair", pair_poll, pair_drop },
	[ACTOR_BOUND] = { "bound", bound_poll, NULL },
	[ACTOR_BUDGET] = { "budget", budget_poll, NULL },
	[ACTOR_SLOW] = { "slow", slow_poll, NULL },
	[ACTOR_IN_PLACE] = { "in_place", in_place_poll, NULL },
	[ACTOR_JOBS] = { "jobs", jobs_poll, detach_children },
	[ACTOR_FAIL] = { "fail", fail_poll, NULL },
	[ACTOR_SLEEPER] = { "sleeper", sleeper_poll, NULL },
	[ACTOR_EVENT] = { "event", event_poll, NULL },
	[ACTOR_FORWARDER] = { "forwarder", forwarder_poll, forwarder_drop },
};
static const struct kind consumer = { "consumer", consumer_poll, NULL };
static const struct kind awaiter = { "awaiter", awaiter_poll, NULL };
static const struct kind job = { "job", leaf_poll, NULL };

static void
fill(struct state *s, struct sim_task *t, size_t filler)
{
	s->t = t;
	s->result = 0;
	memset(s->filler, (int)(t->id & 0xff), filler);
}

static unsigned int
size_of(const struct sim_task *t)
{
	return t->small ? 0 : t->id % SIZES;
}

static void
check_filler(const struct state *s)
{
	size_t i, n = sizes[size_of(s->t)];

	for (i = 0; i < n; i++)
		if (s->filler[i] != (s->t->id & 0xff))
			virtual_failed("the state of task %u has changed",
				       s->t->id);
}

static int
task_poll(struct weir_context *ctx, void *state)
{
	struct state *s = state;
	struct sim_task *t = s->t;
	int rc;

	check_poll_begins(ctx, t);
	check_filler(s);
	rc = t->kind->poll(ctx, t);
	s->result = t->result;
	check_poll_ends(t);
	return rc;
}

static int
job_run(void *state)
{
	struct state *s = state;
	struct sim_task *t = s->t;

	if (t->running || t->drops > 0)
		virtual_failed("P3: a job runs twice");
	t->running = true;
	if (++nb_jobs_running[t->rt] > sim.plan.options[t->rt].blocking_threads)
		virtual_failed("P2: %u jobs run at once",
			       nb_jobs_running[t->rt]);
	seen[SEEN_JOBS]++;
	check_filler(s);
	if (weir_runtime_current() != NULL)
		virtual_failed("a job is on a worker");
	work(any(50), any(500));
	if (one_in(4))
		sim_sleep(any(200000));
	t->result = t->id;
	s->result = t->id;
	t->running = false;
	nb_jobs_running[t->rt]--;
	return WEIR_DONE;
}

static void
task_drop(void *state)
{
	struct state *s = state;
	struct sim_task *t = s->t;

	check_filler(s);
	check_drop_begins(t);
	work(any(4), 0);
	if (t->kind->drop != NULL)
		t->kind->drop(t);
	check_drop_ends(t);
}

#define TASK_OPS(filler)                                                    \
	{                                                                   \
		.name = "sim", .state_size = sizeof(struct state) + filler, \
		.poll = task_poll, .run = job_run, .drop = task_drop,       \
		.result_offset = offsetof(struct state, result),            \
		.result_size = sizeof(uint64_t)                             \
	}
/* As `sizes` has it. */
static const struct weir_task_ops ops[SIZES] = { TASK_OPS(0), TASK_OPS(30),
						 TASK_OPS(300),
						 TASK_OPS(1500) };

static struct sim_task *
new_task(unsigned int rt, const struct kind *kind)
{
	struct sim_task *t;

	if (nb_sim_tasks == TASKS_MAX)
		return NULL;
	t = &sim_tasks[nb_sim_tasks];
	memset(t, 0, sizeof(*t));
	t->id = nb_sim_tasks++;
	t->rt = rt;
	t->kind = kind;
	t->bound = -1;
	t->n = any(6);
	return t;
}

/* It could not be started, which has to have a reason. */
static struct sim_task *
not_started(struct sim_task *t)
{
	if (rte_errno != ENOMEM && !(t->job && rte_errno == EAGAIN) &&
	    !(t->bound >= 0 && rte_errno == EINVAL))
		virtual_failed("a task cannot be started: errno %d", rte_errno);
	if (rte_errno == ENOMEM)
		seen[SEEN_NO_MEMORY]++;
	if (rte_errno == EAGAIN)
		seen[SEEN_NO_THREAD]++;
	t->drops = 1;
	t->partner = NULL;
	return NULL;
}

static struct sim_task *
spawn(struct sim_task *t, const struct weir_spawn_attr *attr)
{
	union {
		struct state state;
		uint8_t bytes[sizeof(struct state) + 1500];
	} u;
	struct weir_runtime *rt = sim.rt[t->rt];

	fill(&u.state, t, sizes[size_of(t)]);
	t->join = t->job ? weir_blocking_spawn(rt, &ops[size_of(t)], &u) :
			   weir_task_spawn(rt, &ops[size_of(t)], &u, attr);
	if (t->join == NULL)
		return not_started(t);
	t->task = (struct task *)t->join;
	if (t->drops > 0)
		seen[SEEN_REFUSED]++;
	if (one_in(8) && t->join != NULL)
		t->abort = weir_join_abort_handle(t->join);
	return t;
}

static struct sim_task *
spawn_any(struct sim_task *t)
{
	struct weir_spawn_attr attr = { .affinity = WEIR_AFFINITY_ANY };

	if (t->bound >= 0) {
		attr.affinity = WEIR_AFFINITY_WORKER;
		attr.worker = (unsigned int)t->bound;
	} else if (one_in(3)) {
		attr.affinity = WEIR_AFFINITY_NODE;
		attr.node_plus_1 =
			sim.rt[t->rt]->nodes[any(sim.rt[t->rt]->nb_nodes)]->id +
			1;
	}
	return spawn(t, &attr);
}

static struct sim_task *
start_pair(unsigned int rt)
{
	struct sim_task *a = new_task(rt, &kinds[ACTOR_PAIR]);
	struct sim_task *b = new_task(rt, &kinds[ACTOR_PAIR]);

	if (a == NULL || b == NULL)
		return NULL;
	a->n = b->n = 1 + any(20);
	a->tokens = 1;
	a->partner = b;
	b->partner = a;
	if (spawn_any(b) == NULL) {
		a->drops = 1;
		return NULL;
	}
	if (spawn_any(a) == NULL) {
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
	t = new_task(rt, &kinds[actor]);
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
	return spawn_any(t);
}

struct sim_task *
task_start_forwarder(unsigned int rt, unsigned int source)
{
	struct sim_task *f, *c = NULL;

	if (one_in(2))
		c = new_task(rt, &consumer);
	if (c != NULL) {
		c->source = source;
		c = spawn_any(c);
	}
	f = new_task(rt, &kinds[ACTOR_FORWARDER]);
	if (f != NULL) {
		f->source = source;
		f->partner = c;
		f = spawn_any(f);
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
	struct sim_task *t = new_task(rt, &awaiter);

	if (t == NULL)
		return NULL;
	t->partner = other;
	return spawn_any(t);
}

struct sim_task *
task_start_job(unsigned int rt)
{
	struct sim_task *t = new_task(rt, &job);

	if (t == NULL)
		return NULL;
	t->job = true;
	return spawn(t, NULL);
}

static void
block_on(struct sim_task *t)
{
	struct state state;
	uint64_t result = 0;
	int rc;

	/* The smallest, which needs no filler. */
	t->small = true;
	fill(&state, t, 0);
	rc = weir_runtime_block_on(sim.rt[t->rt], &ops[0], &state, &result);
	if (t->drops == 0) {
		rte_errno = -rc;
		not_started(t);
	} else {
		task_check_outcome(t, rc, result);
	}
	/* Those who call this in a loop need no more than one. */
	if (t == &sim_tasks[nb_sim_tasks - 1])
		nb_sim_tasks--;
}

void
task_block_on(unsigned int rt, enum actor actor)
{
	struct sim_task *t = new_task(rt, &kinds[actor]);

	if (t != NULL)
		block_on(t);
}

void
task_block_on_end(unsigned int rt, struct sim_task *other)
{
	struct sim_task *t = new_task(rt, &awaiter);

	if (t == NULL)
		return;
	t->partner = other;
	block_on(t);
}

static bool
may_fail(const struct sim_task *t)
{
	return t->kind == &kinds[ACTOR_FAIL] ||
	       sim.plan.options[t->rt].on_failure == WEIR_FAILURE_SHUTDOWN;
}

void
task_check_outcome(struct sim_task *t, int rc, uint64_t result)
{
	if (t->drops != 1)
		virtual_failed("K1: task %u (%s) has ended, and was dropped "
			       "%u times",
			       t->id, t->kind->name, t->drops);
	if (rc == 0 && result == t->result)
		return;
	if (rc == 0)
		virtual_failed("task %u (%s): the result is not its own", t->id,
			       t->kind->name);
	if (rc == -ECANCELED && (t->aborted || sim.ending[t->rt]))
		return;
	if (rc == -EIO && may_fail(t))
		return;
	virtual_failed("task %u (%s): outcome %d", t->id, t->kind->name, rc);
}

const char *
task_name(const struct sim_task *t)
{
	return t->kind->name;
}

enum actor
task_actor(const struct sim_task *t)
{
	return (enum actor)(t->kind - kinds);
}

void
task_wait(struct sim_task *t)
{
	struct weir_join *join = t->join;
	uint64_t result = 0;
	int rc;

	if (join == NULL)
		return;
	t->join = NULL;
	rc = weir_join_wait(join, &result);
	task_check_outcome(t, rc, result);
}

void
task_detach(struct sim_task *t)
{
	struct weir_join *join = t->join;

	t->join = NULL;
	weir_join_detach(join);
}

void
task_abort(struct sim_task *t)
{
	if (t->join == NULL && t->abort == NULL)
		return;
	t->aborted = true;
	seen[SEEN_ABORTED]++;
	if (t->abort != NULL)
		weir_abort_task(t->abort);
	else
		weir_join_abort(t->join);
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

void
tasks_drop_references(void)
{
	unsigned int i;

	for (i = 0; i < nb_sim_tasks; i++) {
		struct sim_task *t = &sim_tasks[i];

		weir_waker_drop(t->waker);
		weir_abort_drop(t->abort);
		if (t->join != NULL)
			task_detach(t);
		t->waker = NULL;
		t->abort = NULL;
	}
}

void
tasks_check_end(void)
{
	unsigned int i;

	for (i = 0; i < nb_sim_tasks; i++)
		if (sim_tasks[i].drops != 1)
			virtual_failed("K1: task %u (%s) was dropped %u times",
				       i, sim_tasks[i].kind->name,
				       sim_tasks[i].drops);
}
