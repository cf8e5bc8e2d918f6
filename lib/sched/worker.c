/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The worker's loop: tick; maintenance if due; next task; else steal; else
 * park.
 *
 * L1 Pending work never keeps a worker from its sources: maintenance comes
 *    after event_interval ticks, or when max_poll_gap is seen to have passed,
 *    whichever is first.
 * L2 A woken task waits for a bounded number of polls: the LIFO slot wins at
 *    most LIFO_MAX_POLLS times in a row where anything else is queued, at most
 *    RESUMED_MAX turns and one are resumed or looked behind meanwhile, the inject
 *    queues come first every inject_interval ticks, or sooner until a long list of
 *    theirs is turned round, those of nodes without workers every other time and by
 *    turns, and the local chain, where the inbox goes, has every other turn.
 * L3 Timers are looked at whenever the clock is: every tick while those take a
 *    microsecond, and every CLOCK_TICKS_MAX at most while they are so short that
 *    to read it would be a good part of each. Where there are none, and no source is
 *    waited for, it can wait for CALM times as long; a task that is about to arm one
 *    has the next look at its time.
 * L4 A worker parks only with nothing of its own to run; see park.c.
 * L5 A task that looks again behind another keeps RUNNING meanwhile. It is resumed
 *    when that one's turn is over, or goes to the queue: before the next tick, and
 *    before another thread has the core. Or it is recalled (recall.c).
 * L6 Sources are polled by a thread whose worker is a reader of their arrays
 *    (rte_rcu_qsbr). The first thread that sees the runtime stop ends that, so who
 *    gets the core after it goes straight to its end.
 * L7 `from_slot` is false between ticks. So a task that has its turn from the queue
 *    of a worker which does not search takes one look at what else there may be.
 */

#include <errno.h>

#include <rte_cycles.h>
#include <rte_lcore.h>

#include "base/race.h"
#include "sched/scheduler.h"

/* Bounds of the self-tuned interval, in ticks. */
#define INJECT_INTERVAL_MIN 2u
#define INJECT_INTERVAL_MAX 127u

/* Turns that are worth a new mean, if the next poll comes before its time. */
#define TUNE_TICKS 16u

/* Smaller: the clock is read more often. Larger: timers wait for more tasks. */
#define CLOCK_TICKS_MAX 32u

/* Smaller: the clock is read more often. Larger: who yielded waits for more tasks. */
#define CALM 4u

__thread struct core *weir__core __attribute__((tls_model("initial-exec")));

/* One round over the sources. */
void
weir__poll_sources(struct core *c, uint64_t now, bool idle)
{
	struct worker *w = worker_of(c);
	uint64_t gap = now - c->last_poll;
	unsigned int ready;

	WEIR_ASSERT(w->rt->sources.qsbr->qsbr_cnt[w->index].cnt !=
			    __RTE_QSBR_CNT_THR_OFFLINE,
		    "L6");
	if (unlikely(gap > counter_get(&w->counters, max_poll_gap)))
		atomic_u64_store(&w->counters.max_poll_gap, gap, RELAXED);
	core_set_now(c, now);
	c->last_poll = now;
	atomic_u64_store(&w->sources.last_poll, now, RELAXED);
	ready = weir__source_set_poll_owner(&w->sources, now, idle);
	TRACE_FP(source_poll, w->index, ready);
	counter_add(&w->counters, source_polls, 1);
	if (ready > 0)
		counter_add(&w->counters, source_events, ready);
	else
		counter_add(&w->counters, empty_polls, 1);
	race_release(&w->rt->sources.qsbr); /* weir__grace_period() */
	rte_rcu_qsbr_quiescent(w->rt->sources.qsbr, w->index);
}

static uint32_t
within(uint64_t n, uint32_t least, uint32_t most)
{
	return n < least ? least : (uint32_t)RTE_MIN(n, most);
}

/*
 * Sets how often the inject queues come first, so that it is about every
 * inject_target cycles, how often the clock is read (L3), how many tasks are claimed at
 * once (run_queue.c, R6), and how many are taken from an inject queue, which are to be
 * through within take_target cycles. The mean leans to the past by seven eighths.
 */
static void
tune(struct core *c, uint64_t now)
{
	const struct weir_runtime *rt = worker_of(c)->rt;
	uint32_t ticks = core_tick(c) - c->tuned_tick;
	uint64_t mean, calm, quick;

	/* Who looks at its sources all the time need not divide each time. */
	if (ticks == 0 ||
	    (ticks < TUNE_TICKS && now - c->tuned_at < rt->max_poll_gap))
		return;
	mean = (now - c->tuned_at) / ticks;
	c->mean_poll = (7 * c->mean_poll + mean) / 8;
	calm = CALM * rt->clock_target / (c->mean_poll + 1);
	quick = calm / CALM;
	c->calm_ticks = within(calm, 1, CLOCK_TICKS_MAX);
	c->clock_ticks = within(quick, 1, CLOCK_TICKS_MAX);
	weir__run_queue_expect_owner(&worker_of(c)->queue, quick);
	c->take_most = within(rt->take_target / (c->mean_poll + 1),
			      INJECT_TAKE_MIN, INJECT_TAKE_MAX);
	if (rt->options.inject_interval == 0)
		c->inject_interval =
			within(rt->inject_target / (c->mean_poll + 1),
			       INJECT_INTERVAL_MIN, INJECT_INTERVAL_MAX);
	/* What it was may have been for turns that were much shorter. */
	if ((int32_t)(c->next_inject - core_tick(c)) >
	    (int32_t)c->inject_interval)
		c->next_inject = core_tick(c) + c->inject_interval;
	c->tuned_at = now;
	c->tuned_tick = core_tick(c);
}

/* A zero-timeout park (L1): sources, then those who yielded. */
static void
maintenance(struct core *c, uint64_t now)
{
	c->next_event = core_tick(c) + worker_of(c)->rt->options.event_interval;
	c->recent = 0;
	tune(c, now);
	count_busy(c, now);
	weir__poll_sources(c, now, false);
	weir__schedule_deferred(c);
	tell_of_queued(c);
}

/* The same between two turns, by the clock of this tick. */
static void
maintain_now(struct core *c)
{
	if (c->looked != core_tick(c))
		core_set_now(c, rte_rdtsc());
	maintenance(c, c->now);
}

/*
 * Another's turn comes before the poll that those wait for who yielded. It may take
 * long: they have that now, and others can have them.
 */
static __rte_noinline void
give_way(struct core *c)
{
	if (core_nb_deferred(c) > 0) {
		c->looking = true;
		maintain_now(c);
		c->looking = false;
	}
	weir__queue_next(c);
}

/* L2: bound tasks have every other turn. */
static __rte_noinline struct task *
take_bound(struct core *c)
{
	struct task *t;

	c->local_first = !c->local_first;
	if (c->local_first)
		return core_pop_bound(c);
	t = run_queue_pop_owner(&worker_of(c)->queue);
	return t != NULL ? t : core_pop_bound(c);
}

static __rte_always_inline struct task *
take_local(struct core *c)
{
	struct task *t = slot_take_owner(&c->lifo);

	if (unlikely(t != NULL)) {
		c->from_slot = true;
		return t;
	}
	if (unlikely(task_chain_len(&c->local) > 0))
		return take_bound(c);
	return run_queue_pop_owner(&worker_of(c)->queue);
}

/* Is more of a long list of what others sent here to be turned round (inject.c, I6)? */
static bool
turns_lists(const struct worker *w)
{
	return inject_wants_turning(&w->node->inject) || inbox_turns(&w->inbox);
}

/* The same of what was sent to nodes without workers (G5). */
static bool
turns_deserted(const struct weir_runtime *rt)
{
	unsigned int i;

	if (likely(atomic_u32_load(&rt->deserted, RELAXED) == 0))
		return false;
	for (i = 0; i < rt->nb_nodes; i++)
		if (idle_workers(&rt->nodes[i]->idle) == 0 &&
		    inject_wants_turning(&rt->nodes[i]->inject))
			return true;
	return false;
}

/* From outside, though there is work at hand. */
static __rte_noinline struct task *
take_first(struct core *c)
{
	const struct worker *w = worker_of(c);
	const struct weir_runtime *rt = w->rt;
	struct task *t = NULL;

	/* A long list is turned round meanwhile: that is no part of its turn. */
	c->recent = 0;
	c->far_first = !c->far_first;
	/* Else they would wait until some worker had nothing to do (G5). */
	if (unlikely(atomic_u32_load(&rt->deserted, RELAXED) > 0) &&
	    c->far_first)
		t = weir__take_deserted(c);
	if (t == NULL)
		t = weir__take_inject(c);
	if (t != NULL)
		give_way(c);
	if (unlikely(turns_lists(w) || turns_deserted(rt))) {
		c->next_inject = core_tick(c) + INJECT_INTERVAL_MIN;
		if ((int32_t)(c->next_look - c->next_inject) > 0)
			core_look_at(c, c->next_inject);
	}
	return t;
}

/* Must a task that is bound run elsewhere? */
static bool
is_strange(const struct core *c, const struct task *t)
{
	const struct worker *w = worker_of(c);
	const struct node *home = node_of_home(t->home);
	const uint16_t place = task_place(t);

	/* Its worker has come back meanwhile (workers.c, G6). */
	if (place_is_local(place))
		return place_worker(place) != w->index &&
		       weir__worker_for(w->rt, place_worker(place)) != w;
	/* It crossed to another node, and somebody is at home (G5). */
	return home != w->node && idle_workers(&home->idle) > 0;
}

/* A task that got where it must not run goes home. */
static bool
sent_home(struct core *c, struct task *t)
{
	if (likely(place_affinity(task_place(t)) == WEIR_AFFINITY_ANY) ||
	    !is_strange(c, t))
		return false;
	/* Cancelled, it ends here. */
	if (!task_give_turn_back(t))
		return false;
	if (node_of_home(t->home) != worker_of(c)->node)
		c->far_after =
			c->now + worker_of(c)->rt->cross_node_age; /* V5 */
	c->from_slot = false;
	weir__place(t);
	return true;
}

void
weir__stop_searching(struct core *c)
{
	c->searching = false;
	c->woken = false;
	/* The next one goes on searching: there may be more. */
	if (weir__idle_stop_searching(&worker_of(c)->node->idle))
		weir__notify(worker_of(c)->node, &worker_of(c)->queue);
}

/*
 * The task goes to the back of the queue, and the sources are polled before its
 * turn, if anybody waits for one. If something else is to run first it is in the
 * queue at once: should that take long, others can take the task. If nothing is,
 * that poll comes next, and the task goes behind what it finds. True: in the queue.
 */
static bool
look_again(struct core *c, struct task *t)
{
	uint32_t ahead = run_queue_len_owner(&worker_of(c)->queue) +
			 task_chain_len(&c->local) +
			 (slot_peek_owner(&c->lifo) != NULL);

	if (ahead == 0) {
		core_defer(c, t);
	} else {
		weir__schedule_back(c, t);
		if (!source_set_is_awaited(&worker_of(c)->sources))
			return true;
	}
	if ((int32_t)(c->next_event - (core_tick(c) + ahead + 1)) > 0)
		c->next_event = core_tick(c) + ahead + 1;
	if ((int32_t)(c->next_look - c->next_event) > 0)
		core_look_at(c, c->next_event);
	return ahead > 0;
}

/*
 * The same where others wait in the queue and nobody for a source: as most of them find
 * it. False: it is not so. In the queue, and told of.
 */
static inline bool
look_again_behind(struct core *c, struct task *t)
{
	struct worker *w = worker_of(c);

	if (run_queue_shared_owner(&w->queue) == 0 || task_is_local(t) ||
	    source_set_is_awaited(&w->sources) ||
	    !run_queue_push_owner(&w->queue, t))
		return false;
	counter_add(&w->counters, local_schedules, 1);
	weir__notify(w->node, &w->queue);
	return true;
}

/* It was woken meanwhile, or looks again. */
static __rte_noinline void
queue_again(struct core *c, struct task *t, enum task_next next)
{
	bool alone;

	if (likely(next == TASK_NEXT_AGAIN) && likely(look_again_behind(c, t)))
		return;
	if (next == TASK_NEXT_QUEUE) {
		alone = nothing_queued(c) &&
			slot_peek_owner(&c->behind) == NULL;
		weir__schedule_back(c, t);
		if (alone)
			return;
	} else if (!look_again(c, t)) {
		return;
	}
	tell_of_all(c);
}

/* A task had its turn, at that time. True: it asks to be resumed. */
static __rte_always_inline bool
end_turn(struct core *c, struct task *t, enum task_next next, uint32_t stamp)
{
	TRACE_FP(poll_end, worker_of(c)->index);
	if (next == TASK_NEXT_RESUME)
		return true;
	if (next == TASK_NEXT_NOTHING)
		return false;
	note_woken_at(c, t, stamp);
	if (next == TASK_NEXT_DEFER)
		core_defer(c, t);
	else
		queue_again(c, t, next);
	return false;
}

static __rte_always_inline void
begin_turn(struct core *c, const struct task *t)
{
	struct worker *w = worker_of(c);

	TRACE_FP(poll_begin, task_id(t), task_ops(t)->name, w->index);
	counter_add(&w->counters, polls, 1);
}

/* The same, with its times. */
static __rte_noinline bool
run_one_timed(struct core *c, struct task *t, bool resumed)
{
	enum task_next next;

	begin_turn(c, t);
	next = weir__task_run_timed(c, t, resumed);
	return end_turn(c, t, next, stamp_fine(c->recent));
}

/* True: it asks to be resumed. */
static __rte_always_inline bool
run_untimed(struct core *c, struct task *t, bool resumed)
{
	enum task_next next;

	begin_turn(c, t);
	next = task_run(t, &c->ctx, resumed);
	return end_turn(c, t, next, c->stamp);
}

static __rte_always_inline bool
run_one(struct core *c, struct task *t, bool resumed)
{
	return likely(!c->timed) ? run_untimed(c, t, resumed) :
				   run_one_timed(c, t, resumed);
}

/* It is not resumed now: it waits for its turn as one that yielded does. */
static void
put_off_resumed(struct core *c, struct task *t)
{
	note_woken(worker_of(c)->rt, c, t);
	task_keep_turn(t, task_polls(t));
}

/* One that keeps its turn gives it back, or ends if it was cancelled. */
static void
settle(struct core *c, struct task *t)
{
	if (likely(task_give_turn_back(t))) {
		task_chain_add(&c->deferred, t);
		return;
	}
	task_take_turn(t);
	weir__task_end(t, -ECANCELED, 1, c->ctx.live);
}

void
weir__give_turns_back(struct core *c)
{
	unsigned int n;
	struct task *t;

	core_own_deferred(c);
	weir__chain_yielded(c);
	/* All of them first: an end wakes others, which find room in the queue. */
	if ((t = slot_take_owner(&c->lifo)) != NULL)
		task_chain_add(&c->deferred, t);
	while ((t = task_chain_pop(&c->local)) != NULL)
		task_chain_add(&c->deferred, t);
	while ((t = run_queue_pop_owner(&worker_of(c)->queue)) != NULL)
		task_chain_add(&c->deferred, t);
	for (n = task_chain_len(&c->deferred); n > 0; n--)
		settle(c, task_chain_pop(&c->deferred));
}

static void
queue_behind(struct core *c)
{
	struct task *behind = slot_take_owner(&c->behind);

	if (behind == NULL)
		return;
	put_off_resumed(c, behind);
	weir__schedule_back(c, behind);
}

void
weir__queue_next(struct core *c)
{
	struct task *slot = slot_take_owner(&c->lifo);

	c->from_slot = false;
	if (slot != NULL)
		weir__schedule_back(c, slot);
	queue_behind(c);
	tell_of_all(c);
}

/*
 * Enough: t, which would run next, and those behind it go to the queue. One that is
 * alone (schedule.c, H3) begins a tick of its own instead: who took it from the queue
 * would carry it to another worker for nothing. Who looks again behind it waits for it,
 * so nobody need be told of that one either.
 */
static __rte_noinline void
send_back(struct core *c, struct task *t, bool resumed)
{
	bool alone = c->lifo_slot && nothing_queued(c) && !task_is_local(t);

	if (resumed)
		put_off_resumed(c, t);
	if (alone) {
		slot_swap_owner(&c->lifo, t);
		queue_behind(c);
		return;
	}
	weir__schedule_back(c, t);
	weir__queue_next(c);
}

/*
 * What runs behind a task that had its turn: the one that looks again behind it,
 * or else what it woke. NULL: nothing. Who is resumed came as it came (H4).
 */
static inline struct task *
next_behind(struct core *c, struct task *looks_again, bool *resumed)
{
	bool from_slot = c->from_slot;
	struct task *t;

	if (looks_again != NULL) {
		/* It waits for its turn as one in a queue: who asks is told so. */
		task_keep_turn(looks_again, task_polls(looks_again));
		t = slot_swap_owner(&c->behind, looks_again);
	} else {
		t = slot_take_owner(&c->behind);
	}
	*resumed = t != NULL;
	if (t != NULL) {
		c->from_slot = c->behind_from_slot;
	} else {
		t = slot_take_owner(&c->lifo);
		c->from_slot = true;
	}
	c->behind_from_slot = from_slot;
	/* It has been recalled, or run by another thread which had the core (handoff.c). */
	if (unlikely(t == NULL && looks_again != NULL)) {
		t = slot_take_owner(&c->behind);
		c->from_slot = from_slot;
		*resumed = true;
	}
	return t;
}

/*
 * What a task woke through the LIFO slot has its turn, and the task again if it
 * looks behind that; all of them on one budget. looks_again: the task, or NULL.
 */
static __rte_noinline void
run_behind(struct core *c, struct task *looks_again)
{
	unsigned int lifo_polls = 0, nb_behind = 0;
	bool resumed;
	struct task *t;

	while ((t = next_behind(c, looks_again, &resumed)) != NULL) {
		nb_behind += resumed || looks_again != NULL;
		/* Not before who is looked behind: that would be two to queue. */
		if (c->ctx.budget == 0 ||
		    (resumed ? nb_behind > RESUMED_MAX :
			       looks_again == NULL &&
				       lifo_polls++ == LIFO_MAX_POLLS)) {
			send_back(c, t, resumed);
			break;
		}
		c->ctx.next = slot_peek_owner(&c->behind) != NULL ? &c->behind :
								    &c->lifo;
		looks_again = run_one(c, t, resumed) ? t : NULL;
	}
	c->ctx.next = &c->lifo; /* L5 */
	c->from_slot = false;
}

/* The same where there is something besides (L7). */
static __rte_noinline void
run_rare(struct core *c, struct task *t)
{
	bool looks_again;

	if (c->searching)
		weir__stop_searching(c);
	looks_again = run_one(c, t, false);
	if (slot_peek_owner(&c->lifo) != NULL || looks_again)
		run_behind(c, looks_again ? t : NULL);
	c->from_slot = false;
}

static inline void
run_task(struct core *c, struct task *t)
{
	bool looks_again;

	if (unlikely(sent_home(c, t)))
		return;
	/* A look costs less than a store, and many spend nothing. */
	if (c->ctx.budget != c->budget)
		c->ctx.budget = c->budget;
	if (unlikely(c->rare != 0)) {
		run_rare(c, t);
		return;
	}
	looks_again = run_untimed(c, t, false);
	if (slot_peek_owner(&c->lifo) != NULL || unlikely(looks_again))
		run_behind(c, looks_again ? t : NULL);
}

/* Others want something: does this thread's part end? */
static bool
attend(struct core *c, enum driver driver, uint32_t wanted)
{
	/* Its last tick may have been long. */
	c->recent = 0;
	c->looked = core_tick(c) - 1;
	if (wanted & ATTENTION_STOP)
		return true;
	if ((wanted & ATTENTION_RETURN) && weir__handoff_idle(c))
		weir__worker_let_go(c);
	if (wanted & ATTENTION_CLAIM) {
		/* A poll that goes on is not a search. */
		if (c->searching)
			weir__stop_searching(c);
		/* Nor does it end soon. */
		give_way(c);
		if (!weir__handoff_pass(c, driver))
			return true;
		/* L6: what was wanted since. */
		wanted = worker_attention(worker_of(c));
		if (wanted & ATTENTION_STOP)
			return true;
	}
	return (wanted & ATTENTION_RETIRE) && driver == DRIVER_HOME &&
	       weir__handoff_idle(c);
}

static bool
done(struct core *c, const struct weir_join *until, enum driver driver)
{
	uint32_t wanted = worker_attention(worker_of(c));

	if (unlikely(wanted != 0) && attend(c, driver, wanted))
		return true;
	return until != NULL && join_ended(until);
}

/*
 * Looks at the clock, for timers and for the sources (L1, L3), and at the inject
 * queues if it is their turn (L2): what they have, or NULL. Not inline, for a tick
 * without a look to be short.
 */
static __rte_noinline struct task *
look(struct core *c)
{
	bool inject = (int32_t)(core_tick(c) - c->next_inject) >= 0;
	unsigned int fired = 0;

	if (inject)
		c->next_inject = core_tick(c) + c->inject_interval;
	c->looking = true;
	core_set_now(c, unlikely(c->recent != 0) ? c->recent : rte_rdtsc());
	c->recent = c->timed ? c->now : 0;
	c->looked = core_tick(c);
	if (fire_timers(worker_of(c), c->now, &fired))
		c->recent = 0;
	if ((int32_t)(core_tick(c) - c->next_event) >= 0 ||
	    c->now - c->last_poll > worker_of(c)->rt->max_poll_gap)
		maintenance(c, c->now);
	else if (unlikely(fired > 0))
		tell_of_queued(c);
	core_looked(c, core_tick(c));
	c->looking = false;
	return inject ? take_first(c) : NULL;
}

static struct task *
search_or_park(struct core *c)
{
	struct task *t;

	c->search_after = c->now + worker_of(c)->rt->recheck_max;
	t = weir__search(c);
	if (t == NULL)
		weir__park(c);
	return t;
}

/* Nothing is queued here. NULL: there was nothing to be found either. */
static __rte_noinline struct task *
look_around(struct core *c)
{
	struct task *t = weir__take_inject(c);

	c->recent = 0;
	if (t != NULL) {
		if (unlikely(core_nb_deferred(c) > 0))
			give_way(c);
		return t;
	}
	/* Before the wait begins, so that it is counted. */
	timers_fetch(&worker_of(c)->timers);
	c->looking = true;
	/* Our own packets, and who yielded, before others' tasks. */
	if (core_nb_deferred(c) > 0 ||
	    source_set_is_awaited(&worker_of(c)->sources)) {
		maintain_now(c);
		t = take_local(c);
	}
	/* It goes on with that, behind a look at the clock each time. */
	if (t == NULL && !c->searching && turns_lists(worker_of(c)))
		core_look_at(c, core_tick(c) + 1);
	else if (t == NULL && !c->searching && weir__linger(c, &t))
		t = t != NULL ? t : take_local(c);
	else if (t == NULL)
		t = search_or_park(c);
	c->looking = false;
	return t;
}

/*
 * It begins a line, whatever comes before it: where its jumps lie in their lines makes
 * some 5 % of a turn that yields.
 */
static __rte_noinline void weir_cache_aligned
loop(struct core *c, const struct weir_join *until, enum driver driver)
{
	struct task *t;

	while (!done(c, until, driver)) {
		WEIR_ASSERT(!c->from_slot, "L7");
		t = NULL;
		if (unlikely(--c->ticks_left < 0))
			t = look(c);
		if (likely(t == NULL))
			t = take_local(c);
		if (unlikely(t == NULL))
			t = look_around(c);
		if (likely(t != NULL))
			run_task(c, t);
	}
}

void
weir__drive(struct core *c, const struct weir_join *until, enum driver driver)
{
	struct worker *w = worker_of(c);
	struct rte_rcu_qsbr *qsbr = w->rt->sources.qsbr;

	weir__core = c;
	core_set_now(c, rte_rdtsc());
	c->recent = 0;
	c->busy_since = c->now;
	c->tuned_at = c->now;
	c->tuned_tick = core_tick(c);
	core_look_at(c, core_tick(c) + 1);
	/* For a standby thread the gap began before. */
	if (driver == DRIVER_HOME) {
		c->last_poll = c->now;
		/* It can be stuck in its first task. */
		atomic_u64_store(&w->sources.last_poll, c->now, RELAXED);
	}
	/* A standby thread finds it registered: the reader is the worker. */
	rte_rcu_qsbr_thread_register(qsbr, w->index);
	/* [park:F1] its fence. */
	rte_rcu_qsbr_thread_online(qsbr, w->index);
	worker_hook(w, thread_start);
	loop(c, until, driver);
	if (weir__core != NULL) {
		count_busy(c, rte_rdtsc());
		/* weir__grace_period() */
		race_release(&w->rt->sources.qsbr);
		rte_rcu_qsbr_thread_offline(qsbr, w->index);
		rte_rcu_qsbr_thread_unregister(qsbr, w->index);
		if (worker_attention(w) & ATTENTION_STOP)
			weir__shutdown_worker(c, driver);
		else if (until == NULL)
			weir__retire_worker(c);
	}
	/* Who has given the core away called it before (handoff.c). */
	if (weir__core != NULL)
		worker_hook(w, thread_stop);
	weir__core = NULL;
}

int
weir__worker_main(void *arg)
{
	struct worker *w = arg;

	race_acquire(w); /* rte_eal_remote_launch() */
	weir__drive(&w->core, NULL, DRIVER_HOME);
	race_release(w); /* rte_eal_wait_lcore() */
	return 0;
}

bool
weir__reader_leave(void)
{
	const struct core *c = weir__core;
	struct rte_rcu_qsbr *qsbr;

	if (c == NULL)
		return false;
	qsbr = worker_of(c)->rt->sources.qsbr;
	/* Its runtime ends. */
	if (qsbr->qsbr_cnt[worker_of(c)->index].cnt ==
	    __RTE_QSBR_CNT_THR_OFFLINE)
		return false;
	race_release(&worker_of(c)->rt->sources.qsbr); /* as in a poll */
	rte_rcu_qsbr_thread_offline(qsbr, worker_of(c)->index);
	return true;
}

void
weir__reader_return(void)
{
	const struct worker *w = worker_of(weir__core);

	/* [park:F1] its fence. */
	rte_rcu_qsbr_thread_online(w->rt->sources.qsbr, w->index);
}

struct timers *
weir__timers_of(const struct weir_context *ctx)
{
	struct core *c = ctx->core;

	context_check(ctx);
	/* L3: one may come. */
	if (c->ticks_left > (int32_t)c->clock_ticks)
		core_look_at(c, core_tick(c) + c->clock_ticks);
	return &worker_of(c)->timers;
}

uint64_t
weir__last_look(const struct weir_context *ctx)
{
	context_check(ctx);
	return ctx->core->now;
}

struct weir_runtime *
weir_context_runtime(const struct weir_context *ctx)
{
	context_check(ctx);
	return worker_of(ctx->core)->rt;
}

unsigned int
weir_context_worker(const struct weir_context *ctx)
{
	context_check(ctx);
	return ctx->worker;
}

struct weir_runtime *
weir_runtime_current(void)
{
	return weir__core != NULL ? worker_of(weir__core)->rt : NULL;
}

unsigned int
weir_worker_current(void)
{
	return weir__core != NULL ? worker_of(weir__core)->index :
				    WEIR_WORKER_NONE;
}

const struct task *
weir__task_current(void)
{
	const struct core *c = weir__core;

	return c != NULL && !c->dropping ? context_task(&c->ctx) : NULL;
}

bool
weir__set_dropping(bool dropping)
{
	struct core *c = weir__core;
	bool before = c != NULL && c->dropping;

	if (c != NULL)
		c->dropping = dropping;
	return before;
}

uint64_t
weir_task_current(void)
{
	const struct task *t = weir__task_current();

	return t != NULL ? task_id(t) : WEIR_TASK_NONE;
}
