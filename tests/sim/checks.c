/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What must hold at each poll of a task, at each round, and whenever no thread
 * can go on. A round is over when each thread that does not wait has made
 * ROUND_STEPS steps: so bounds that are given in rounds hold under any policy.
 *
 * It looks at the library's data as it lies there, without a step.
 */

#include <inttypes.h>
#include <string.h>

#include "sim.h"

#define ROUND_STEPS 500
/* How often it is looked whether a round is over. */
#define ROUND_LOOK 64
/*
 * A task that is queued runs within so many rounds. The slowest place is the
 * inject queue of a node without workers, while the others' have tasks that
 * always yield: half a run queue leaves it every 254 ticks, some 12 rounds, and
 * a hundred tasks may have been there before.
 */
#define QUEUED_ROUNDS 500
/* No run needs so long. */
#define LONGEST (UINT64_C(30) * KERNEL_HZ)

/*
 * So many rounds a task may be queued while a worker of its node is asleep in the kernel
 * all along. The one that has been told may first have to get through a search, of some
 * ten steps for each other worker; and others on nodes that are far away may each have
 * taken the task meanwhile, and sent it back (steal.c, V5).
 */
#define BESIDE_ROUNDS(workers) (4 + (workers) / 8)
/*
 * So many rounds a task may sleep after its time. A worker with tasks looks at its timers
 * after event_interval of them, of which each may take a hundred steps and more.
 */
#define LATE_ROUNDS 100
/* Less than a worker sleeps for at most (park.c). */
#define HELD_BACK_MOST (KERNEL_HZ / 20)

static uint32_t steps_in_round[VTHREADS_MAX];
static uint32_t since_look;
static uint64_t round_nb;

/* By worker: who is in a poll; what it saw of its ticks and its source polls. */
static struct place_state {
	struct sim_task *polls;
	uint64_t source_polls;
	uint32_t tick_of_poll;
	uint32_t last_tick;
	unsigned int same_tick;
	bool known;
	/* Round since which it sleeps, and its source polls then; 0: it does not. */
	uint64_t asleep_since;
	uint64_t asleep_polls;
	/* Round since which it has gone and its inbox holds something; 0: not so. */
	uint64_t forgotten_since;
} places[RUNTIMES_MAX][RTE_MAX_LCORE];

/* By the worker that they are bound to: who is in a poll or a drop. */
static struct sim_task *bound_inside[RUNTIMES_MAX][RTE_MAX_LCORE];

void
checks_reset(void)
{
	memset(bound_inside, 0, sizeof(bound_inside));
	memset(steps_in_round, 0, sizeof(steps_in_round));
	memset(places, 0, sizeof(places));
	since_look = 0;
	round_nb = 1;
}

static uint64_t
peek64(const struct atomic_u64 *a)
{
	return a->v;
}

static uint32_t
peek32(const struct atomic_u32 *a)
{
	return a->v;
}

/* L1: the sources are polled in time, as far as tasks let the worker. */
static void
check_source_polls(const struct core *c, struct place_state *p)
{
	const struct worker *w = worker_of(c);
	uint64_t polls = peek64(&w->counters.source_polls);

	if (!p->known || polls != p->source_polls) {
		p->source_polls = polls;
		p->tick_of_poll = core_tick(c);
	}
	/* Between those of the LIFO slot nobody looks. */
	if (p->same_tick > 1)
		return;
	if (core_tick(c) - p->tick_of_poll > w->rt->options.event_interval)
		virtual_failed("L1: worker %u has not polled for %u ticks",
			       w->index, core_tick(c) - p->tick_of_poll);
	if (c->now > c->last_poll &&
	    c->now - c->last_poll > w->rt->max_poll_gap)
		virtual_failed("L1: worker %u has not polled for %" PRIu64
			       " cycles",
			       w->index, c->now - c->last_poll);
}

/* L2: the LIFO slot wins a few times in a row only, and so do those who look again. */
static void
check_lifo(const struct core *c, struct place_state *p)
{
	if (!p->known || p->last_tick != core_tick(c))
		p->same_tick = 0; /* so far */
	p->last_tick = core_tick(c);
	if (++p->same_tick > 1 + LIFO_MAX_POLLS + RESUMED_MAX + 1)
		virtual_failed("L2: worker %u polled %u tasks in one tick",
			       worker_of(c)->index, p->same_tick);
}

/* G6: no two tasks that are bound to one worker, in a poll or a drop. */
static void
enter_bound(struct sim_task *t, const struct worker *w)
{
	struct sim_task **inside = &bound_inside[t->rt][t->bound];
	const struct worker *bound =
		weir__worker_for(sim.rt[t->rt], (unsigned int)t->bound);

	if (bound != w)
		virtual_failed("G6: task %u, which is worker %u's, runs on %u",
			       t->id, bound->index, w->index);
	if (*inside != NULL)
		virtual_failed("G6: tasks %u and %u are bound to worker %d, "
			       "and both run",
			       (*inside)->id, t->id, t->bound);
	*inside = t;
}

static void
leave_bound(struct sim_task *t)
{
	bound_inside[t->rt][t->bound] = NULL;
}

static void
enter_place(struct sim_task *t, const struct core *c)
{
	struct place_state *p = &places[t->rt][worker_of(c)->index];

	if (p->polls != NULL)
		virtual_failed("C1: tasks %u and %u run on worker %u at once",
			       p->polls->id, t->id, worker_of(c)->index);
	p->polls = t;
	if (worker_of(c)->rt != sim.rt[t->rt])
		virtual_failed("task %u runs on another runtime", t->id);
	if (!sim.plan.current_thread[t->rt] &&
	    rte_lcore_id() != worker_of(c)->lcore)
		virtual_failed("C4: worker %u runs with lcore id %u",
			       worker_of(c)->index, rte_lcore_id());
	if (t->bound >= 0)
		enter_bound(t, worker_of(c));
}

static void
leave_place(struct sim_task *t)
{
	places[t->rt][worker_of(weir__core)->index].polls = NULL;
	if (t->bound >= 0)
		leave_bound(t);
}

void
check_poll_begins(const struct weir_context *ctx, struct sim_task *t)
{
	const struct core *c = ctx->core;
	struct place_state *p = &places[t->rt][worker_of(c)->index];

	if (t->running)
		virtual_failed("T1: task %u runs twice at once", t->id);
	if (t->drops > 0)
		virtual_failed("K1: task %u runs after its end", t->id);
	t->running = true;
	t->polls++;
	t->late_since = 0;
	policy_not_idle();
	enter_place(t, c);
	check_lifo(c, p);
	check_source_polls(c, p);
	p->known = true;
}

void
check_poll_ends(struct sim_task *t)
{
	leave_place(t);
	t->running = false;
}

void
check_poll_leaves(struct sim_task *t)
{
	leave_place(t);
}

void
check_poll_returns(struct sim_task *t)
{
	const struct core *c = weir__core;
	struct place_state *p = &places[t->rt][worker_of(c)->index];

	enter_place(t, c);
	/* Ticks have passed under another driver: it is the first of this. */
	p->last_tick = core_tick(c);
	p->same_tick = 1;
}

void
check_drop_begins(struct sim_task *t)
{
	if (t->running)
		virtual_failed("T1: task %u is dropped while it runs", t->id);
	if (t->drops > 0)
		virtual_failed("K1: task %u is dropped twice", t->id);
	t->running = true;
	policy_not_idle();
	/* One that is refused ends where it was spawned. */
	t->dropped_bound = t->bound >= 0 && (t->polls > 0 || t->task != NULL);
	if (t->dropped_bound)
		enter_bound(t, worker_of(weir__core));
}

void
check_drop_ends(struct sim_task *t)
{
	if (t->dropped_bound)
		leave_bound(t);
	t->running = false;
	t->drops++;
}

/* Is it in a queue, to be run by a worker? */
static bool
is_queued(const struct sim_task *t)
{
	uint64_t word;

	if (t->drops > 0 || t->task == NULL || t->job || t->running)
		return false;
	word = peek64(&t->task->state.word);
	if (word & STATE_COMPLETE)
		return false;
	return word & STATE_RUNNING ?
		       (peek32(&t->task->polls) & TASK_KEPT) != 0 :
		       (word & STATE_NOTIFIED) != 0;
}

/* Does somebody drive this runtime? */
static bool
is_driven(unsigned int rt)
{
	return sim.rt[rt] != NULL && !sim.plan.current_thread[rt];
}

static void
note_sleeper(unsigned int rt, const struct worker *w)
{
	struct place_state *p = &places[rt][w->index];
	uint64_t polls = peek64(&w->counters.source_polls);

	/* Who pauses may be called already, and comes when the pause is over. */
	if (!peek32(&w->active) || !peek32(&w->sleeper.asleep) ||
	    kernel_pausing() > 0) {
		p->asleep_since = 0;
	} else if (p->asleep_since == 0 || p->asleep_polls != polls) {
		p->asleep_since = round_nb;
		p->asleep_polls = polls;
	}
}

/* G1: what was pushed to a worker that has gone is sent on. */
static void
check_forwarded(unsigned int rt, const struct worker *w)
{
	struct place_state *p = &places[rt][w->index];

	if (peek32(&w->successor) == 0 || sim.ending[rt] ||
	    (w->inbox.top.v == NULL && w->inbox.unturned == NULL))
		p->forgotten_since = 0;
	else if (p->forgotten_since == 0)
		p->forgotten_since = round_nb;
	else if (round_nb - p->forgotten_since > 2)
		virtual_failed("G1: worker %u has retired, and its inbox is "
			       "not empty",
			       w->index);
}

static void
look_at_workers(unsigned int rt)
{
	unsigned int i;

	for (i = 0; sim.rt[rt] != NULL && i < sim.rt[rt]->nb_workers; i++) {
		note_sleeper(rt, sim.rt[rt]->workers[i]);
		check_forwarded(rt, sim.rt[rt]->workers[i]);
	}
}

static bool
in_chain(const struct task_chain *c, const struct task *t)
{
	const struct task *i = c->first;
	unsigned int n;

	for (n = peek32(&c->n); n > 0; n--, i = i->next)
		if (i == t)
			return true;
	return false;
}

static bool
in_run_queue(const struct run_queue *q, const struct task *t)
{
	uint32_t i;

	for (i = (uint32_t)peek64(&q->head); i != peek32(&q->tail); i++)
		if (q->slots[i % RUN_QUEUE_SIZE].v == t)
			return true;
	return false;
}

static bool
in_batch(const struct run_queue *q, const struct task *t)
{
	uint32_t i;

	for (i = peek32(&q->next); (int32_t)(peek32(&q->limit) - i) > 0; i++)
		if (q->slots[i % RUN_QUEUE_SIZE].v == t)
			return true;
	return false;
}

static bool
in_yielded(const struct core *c, const struct task *t)
{
	uint32_t i;

	for (i = 0; i < c->nb_yielded.v; i++)
		if (c->yielded[i] == t)
			return true;
	return false;
}

static bool
in_list(const struct task *first, const struct task *t)
{
	for (; first != NULL; first = first->next)
		if (first == t)
			return true;
	return false;
}

static bool
in_ring(const struct rte_ring *r, const struct task *t)
{
	struct task *const *entries = (struct task *const *)&r[1];
	uint32_t i;

	for (i = r->rts_cons.tail.val.pos; i != r->rts_prod.tail.val.pos; i++)
		if (entries[i & r->mask] == t)
			return true;
	return false;
}

static bool
in_inject(const struct inject *q, const struct task *t)
{
	return in_ring(q->ring, t) || in_list(q->spill.v, t) ||
	       in_list(q->stash, t) || in_list(q->unturned, t);
}

/*
 * Is it where no other worker of its node can take it from unless that worker is stuck,
 * or would do so only when it came by: on another node, whose worker has taken it, and
 * may have had no room for it?
 */
static bool
is_private(const struct sim_task *t)
{
	const struct weir_runtime *rt = sim.rt[t->rt];
	const struct node *home = node_of_home(t->task->home);
	unsigned int i;

	for (i = 0; i < rt->nb_workers; i++) {
		const struct worker *w = rt->workers[i];
		const struct core *c = &w->core;

		if (c->lifo.task.v == t->task || in_chain(&c->local, t->task) ||
		    in_chain(&c->deferred, t->task) || in_yielded(c, t->task) ||
		    in_batch(&w->queue, t->task) ||
		    (w->node != home && (in_run_queue(&w->queue, t->task) ||
					 in_inject(&w->node->inject, t->task))))
			return true;
	}
	return false;
}

/* H3: one that can be taken is not left beside a worker that sleeps. */
static void
check_beside(struct sim_task *t)
{
	const struct node *home = node_of_home(t->task->home);
	const unsigned int most = BESIDE_ROUNDS(home->rt->nb_workers);
	unsigned int i;

	if (t->bound >= 0 || is_private(t)) {
		t->private_at = round_nb;
		return;
	}
	for (i = 0; i < home->nb_places; i++) {
		const struct worker *w = home->workers[i];
		uint64_t since = places[t->rt][w->index].asleep_since;

		if (since == 0)
			continue;
		since = RTE_MAX(since, t->queued_since);
		since = RTE_MAX(since, t->private_at + 1);
		if (round_nb >= since + most)
			virtual_failed("H3: task %u (%s) is queued for %u "
				       "rounds, and worker %u sleeps beside it",
				       t->id, task_name(t), most, w->index);
	}
}

static void
check_queued(struct sim_task *t)
{
	if (!is_queued(t) || !is_driven(t->rt)) {
		t->queued_since = 0;
		return;
	}
	/* It has run meanwhile, and is queued again. */
	if (t->queued_since == 0 || t->polls != t->queued_polls) {
		t->queued_since = round_nb;
		t->queued_polls = t->polls;
	}
	if (round_nb - t->queued_since > QUEUED_ROUNDS)
		virtual_failed("L2: task %u (%s) is queued for %d rounds and "
			       "does not run",
			       t->id, task_name(t), QUEUED_ROUNDS);
	check_beside(t);
}

/*
 * When a task's sleep is over, in cycles of the kernel's clock; UINT64_MAX: it is in none,
 * or has been woken.
 */
static uint64_t
end_of_sleep(const struct sim_task *t)
{
	const struct clock *clock;
	uint64_t tick;

	if (t->until == 0 || t->task == NULL || t->drops > 0 || t->running ||
	    sim.rt[t->rt] == NULL || sim.ending[t->rt] ||
	    (sim.plan.current_thread[t->rt] && !sim.rt[t->rt]->core_taken) ||
	    (peek64(&t->task->state.word) &
	     (STATE_COMPLETE | STATE_RUNNING | STATE_NOTIFIED)) != 0)
		return UINT64_MAX;
	clock = weir__clock_of(sim.rt[t->rt]);
	tick = clock_tick_up(clock, weir__clock_cycles(clock, t->until));
	return peek64(&clock->begin) + (tick << clock->tick_shift);
}

/* L3: who sleeps is woken when the time has come, by whichever worker. */
static void
check_in_time(struct sim_task *t)
{
	if (end_of_sleep(t) > kernel_now())
		t->late_since = 0;
	else if (t->late_since == 0)
		t->late_since = round_nb;
	else if (round_nb - t->late_since > LATE_ROUNDS)
		virtual_failed("L3: task %u (%s) sleeps for %d rounds longer "
			       "than it was to",
			       t->id, task_name(t), LATE_ROUNDS);
}

static bool
round_is_over(void)
{
	unsigned int i;

	for (i = 0; i < vthread_count(); i++)
		if (steps_in_round[i] < ROUND_STEPS &&
		    (vthread_ready(i) || vthread_paused(i)))
			return false;
	return true;
}

void
check_round(void)
{
	unsigned int i;

	steps_in_round[vthread_self()]++;
	if (++since_look < ROUND_LOOK)
		return;
	since_look = 0;
	if (!round_is_over())
		return;
	memset(steps_in_round, 0, sizeof(steps_in_round));
	round_nb++;
	for (i = 0; i < sim.plan.nb_runtimes; i++)
		look_at_workers(i);
	for (i = 0; i < nb_sim_tasks; i++) {
		check_queued(&sim_tasks[i]);
		check_in_time(&sim_tasks[i]);
	}
	traffic_check_round(round_nb);
}

/* Does a worker of the node sleep, that nobody has called? */
static const struct worker *
sleeper_of(const struct node *node)
{
	unsigned int i;

	for (i = 0; i < node->nb_places; i++)
		if (peek32(&node->workers[i]->active) &&
		    peek32(&node->workers[i]->sleeper.asleep))
			return node->workers[i];
	return NULL;
}

static void
check_not_lost(const struct sim_task *t)
{
	const struct worker *w = NULL;

	if (!is_queued(t) || !is_driven(t->rt))
		return;
	if (t->bound < 0)
		w = sleeper_of(node_of_home(t->task->home));
	else if (peek32(&sim.rt[t->rt]->workers[t->bound]->sleeper.asleep))
		w = sim.rt[t->rt]->workers[t->bound];
	if (w != NULL)
		virtual_failed(
			"lost wake-up: task %u (%s) is queued, and worker "
			"%u sleeps beside it",
			t->id, task_name(t), w->index);
}

/* For something that can be done: the rest waits for the threads that are blocked. */
static bool
is_called(const struct worker *w)
{
	uint32_t wanted = peek32(&w->attention);

	return (wanted & (ATTENTION_STOP | ATTENTION_CLAIM)) != 0 ||
	       (wanted != 0 && w->handoff.nb_blocked == 0);
}

/* Q4: who sleeps has been called by nobody. */
static void
check_not_called(const struct worker *w)
{
	uint64_t bits = peek64(&w->node->idle.sleepers[w->idle_bit / 64]);

	if (!peek32(&w->sleeper.asleep))
		return;
	if (is_called(w))
		virtual_failed("lost call: worker %u sleeps, and others want "
			       "%#x of it",
			       w->index, peek32(&w->attention));
	if (!(bits >> w->idle_bit % 64 & 1))
		virtual_failed("lost call: worker %u sleeps, and a notifier "
			       "has claimed it",
			       w->index);
}

/* B2: a free core is taken by one of those who wait for it. */
static void
check_core_taken(const struct weir_runtime *rt)
{
	if (!rt->core_taken && !TAILQ_EMPTY(&rt->core_waiters) &&
	    rt->phase == RUNTIME_RUNNING)
		virtual_failed("B2: nobody drives the core, and threads wait "
			       "for it");
}

static void
check_quiet_runtime(unsigned int n)
{
	const struct weir_runtime *rt = sim.rt[n];
	unsigned int i;

	for (i = 0; i < rt->nb_workers; i++)
		check_not_called(rt->workers[i]);
	if (sim.plan.current_thread[n])
		check_core_taken(rt);
	task_check_event(n);
}

/*
 * Q4 of park.c: workers that sleep come back for the first that is to be woken. One that
 * is held back on its way to sleep, while others work, comes late by as much.
 */
static void
check_not_overslept(const struct sim_task *t, uint64_t next)
{
	if (end_of_sleep(t) < next - HELD_BACK_MOST)
		virtual_failed("Q4: task %u (%s) sleeps, and all workers do so "
			       "for %" PRIu64 " cycles longer",
			       t->id, task_name(t), next - end_of_sleep(t));
}

void
check_stuck(bool all, uint64_t next)
{
	unsigned int i;

	if (kernel_now() > LONGEST)
		virtual_failed("the run does not end: nothing has happened for "
			       "long");
	if (!all)
		return;
	seen[SEEN_SLEEPS]++;
	for (i = 0; i < nb_sim_tasks; i++) {
		check_not_lost(&sim_tasks[i]);
		check_not_overslept(&sim_tasks[i], next);
	}
	for (i = 0; i < sim.plan.nb_runtimes; i++)
		if (sim.rt[i] != NULL)
			check_quiet_runtime(i);
	traffic_check_quiet();
}
