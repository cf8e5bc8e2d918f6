/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * How a worker that found nothing to run waits: until a source, or a notifier,
 * has something.
 *
 * Between two looks at its sources it does what its policy says: goes on at
 * once, pauses, or sleeps in the kernel (sleeper.c).
 *
 * Q1 A worker parks only with nothing of its own to run, and gets up when it
 *    has something again.
 * Q2 It stays awake for what others have as idle.c says.
 * Q3 Idleness is counted from the last task that it ran, so that being woken
 *    for nothing starts no new round of polling.
 * Q4 It sleeps only after it has said so and found nothing then: no task, no
 *    work of others, no claim, no call, no event (sleeper.c, K1); and until its
 *    first timer at most, be it one that came here meanwhile.
 * Q5 A worker in the kernel guards nobody. So while another of its node is
 *    awake, and be it that it lingers, it sleeps no longer than a poller would go
 *    without a look at the others' queues; and never so long that a worker which got
 *    stuck meanwhile is left alone for good.
 * Q6 A worker whose last waits were short polls for as long as a short wait takes
 *    before it says that it sleeps: to say so and to take it back are changes of
 *    words that the workers of its node share. Nobody tells it of others' work
 *    meanwhile, so it looks by itself, after growing pauses; and waits that all end
 *    before that do not keep it from a search for longer than recheck_max. A wait that
 *    ends with what it polls for (events, timers, its inbox; while it lingers or is
 *    alone, the inject queue) may take longer, where its policy is to poll: workers to
 *    whom such work comes one by one would change those words all the time. Who lives
 *    on what it steals is to be told of it.
 * Q7 Who is alone on its runtime does not say that it sleeps while it polls: it looks
 *    at the inject queue each time, and who pushes to that has nobody to tell.
 * Q8 It looks after those who are stuck when it is time, however short its waits
 *    are: at the start of each, or of one in a while where it lingers, and whenever
 *    it has looked at others' queues there in vain.
 * Q9 Who lingers watches the bound task that had its turn last, if that waits (state.h,
 *    T8). Of two workers' tasks that wake each other, each changes the other's word,
 *    which says all there is to say: no inbox's line goes to and fro besides.
 */

#include <errno.h>

#include <rte_cycles.h>

#include "base/race.h"
#include "sched/scheduler.h"

/* recheck_max of runtime.c. */
#define SHORT_SLEEP_NS (1000 * 1000)
/*
 * Smaller: more wake-ups for nothing, each some 10 us. Larger: who gets stuck
 * while all others sleep waits longer to be rescued.
 */
#define LONG_SLEEP_NS (100 * 1000 * 1000)
/*
 * A sleep ends so long before a timer, and what is left is polled away. Larger: a worker
 * with many timers hardly sleeps. Smaller: the kernel, which adds up to 50 us, or a
 * thousandth of a sleep, and then what it takes to wake somebody, makes timers late.
 */
#define EARLY_NS (100 * 1000)
#define EARLY_PART 1000

/*
 * Short waits in a row. Smaller: more of those are lingered for that come by chance
 * and are the last. Larger: workers that wait for each other begin later.
 */
#define LINGER_AFTER 2

/*
 * The part of recheck_min after which one that lingers looks for the first time at what
 * others have. Larger: it takes lines that others write, who may be on the way to answer
 * it. Smaller: what others have, and nobody tells it of, waits longer.
 */
#define LINGER_PART 4u

/*
 * So many max_poll_gap late it looks after its neighbours. Smaller: it takes a line
 * from those who are at work more often. Larger: who gets stuck waits longer.
 */
#define LINGER_GAPS 8

static bool
has_tasks(const struct core *c)
{
	return slot_peek_owner(&c->lifo) != NULL ||
	       task_chain_len(&c->local) > 0 || core_nb_deferred(c) > 0 ||
	       run_queue_len_owner(&worker_of(c)->queue) > 0 ||
	       inbox_pending(&worker_of(c)->inbox);
}

/*
 * Do others want what can be done now? To retire, and to let another return, waits
 * for the threads that are blocked, each of which comes by a claim.
 */
static bool
is_called(struct core *c)
{
	uint32_t wanted = worker_attention(worker_of(c));

	if (likely(wanted == 0))
		return false;
	return (wanted & (ATTENTION_STOP | ATTENTION_CLAIM)) ||
	       weir__handoff_idle(c);
}

/* Has the task that it watches been notified (Q9)? watched: NULL if there is none. */
static inline bool
is_notified(const struct task *watched)
{
	return watched != NULL && !state_is_watched(&watched->state);
}

/* What a worker that waits does; true if it has something to do of its own. */
static bool
poll_waiting(struct core *c, const struct task *watched)
{
	unsigned int fired = 0;
	bool timers;

	weir__poll_sources(c, rte_rdtsc(), true);
	timers = fire_timers(worker_of(c), c->now, &fired);
	if (has_tasks(c) || is_notified(watched) || is_called(c))
		return true;
	/* It has moved some in the wheel, which is work. */
	if (timers) {
		timers_fetch(&worker_of(c)->timers);
		counter_add(&worker_of(c)->counters, busy,
			    rte_rdtsc() - c->now);
	}
	return false;
}

/* What its policy asks for now: POLL, PAUSE or INTERRUPT. */
static enum weir_park
policy_wanted(const struct core *c)
{
	const struct worker *w = worker_of(c);
	const struct weir_runtime *rt = w->rt;
	enum weir_park park = atomic_u32_load(&w->park, RELAXED);
	uint64_t idle = c->last_poll - c->idle_since;

	if (park != WEIR_PARK_ADAPTIVE)
		return park;
	return idle < rt->adaptive_poll	 ? WEIR_PARK_POLL :
	       idle < rt->adaptive_sleep ? WEIR_PARK_PAUSE :
					   WEIR_PARK_INTERRUPT;
}

/* What to do until the next poll. */
static enum weir_park
policy_now(const struct core *c)
{
	enum weir_park park = policy_wanted(c);

	if (park == WEIR_PARK_INTERRUPT &&
	    !weir__source_set_may_sleep(&worker_of(c)->sources))
		park = WEIR_PARK_PAUSE;
	return park;
}

/* Q4, but for the sources. */
static bool
has_reason_to_wake(struct core *c)
{
	struct worker *w = worker_of(c);

	if (has_tasks(c) || weir__idle_claimed(&w->node->idle, w->idle_bit) ||
	    is_called(c) || policy_now(c) != WEIR_PARK_INTERRUPT ||
	    timers_due(&w->timers, clock_now(&w->rt->clock)))
		return true;
	if (!weir__work_pending(w))
		return false;
	weir__notify(w->node, &w->queue);
	/* Someone searches, or is on the way to claim us. */
	if (!weir__idle_claimed(&w->node->idle, w->idle_bit))
		atomic_pause();
	return true;
}

/* For how many nanoseconds it may sleep for the sake of its first timer; 0: not at all. */
static uint64_t
time_to_timer(const struct worker *w, uint64_t most)
{
	const struct clock *clock = w->timers.clock;
	uint64_t due = atomic_u64_load(&w->timers.due, RELAXED);
	uint64_t now = clock_now(clock), ns, early;

	if (due <= now)
		return 0;
	/* Far, and maybe too many for nanoseconds. */
	if (due - now > clock->hz)
		return most;
	ns = clock_ns(clock, due - now);
	early = EARLY_NS + ns / EARLY_PART;
	return ns < 2 * early ? 0 : RTE_MIN(ns - early, most);
}

static uint64_t
sleep_bound(const struct worker *w)
{
	return time_to_timer(
		w, w->rt->membarrier && idle_all_asleep(&w->node->idle) &&
				   core_goes_far(&w->core) ?
			   LONG_SLEEP_NS :
			   SHORT_SLEEP_NS);
}

static void
pause_until_next_poll(struct core *c)
{
	const struct weir_runtime *rt = worker_of(c)->rt;

	/* The poll has moved only a part of a slot of the wheel: it goes on. */
	if (unlikely(worker_timers_due(worker_of(c), c->last_poll)))
		return;
	weir__pause(rt->power_pause, c->last_poll + rt->max_poll_gap / 2);
}

static void
sleep_in_kernel(struct core *c)
{
	struct worker *w = worker_of(c);
	struct rte_rcu_qsbr *qsbr = w->rt->sources.qsbr;
	uint64_t timeout_ns = sleep_bound(w);
	bool called = true;

	/* A timer is near. */
	if (timeout_ns == 0) {
		pause_until_next_poll(c);
		return;
	}
	/* A short one is a poller's pause: no need to disturb all threads. */
	if (!weir__sleeper_begin(&w->sleeper, timeout_ns > SHORT_SLEEP_NS))
		timeout_ns = SHORT_SLEEP_NS;
	/* Timers may have moved here before that, from a worker that retires. */
	timeout_ns = time_to_timer(w, timeout_ns);
	timeout_ns = weir__source_set_sleep(&w->sources, timeout_ns);
	if (timeout_ns > 0 && !has_reason_to_wake(c)) {
		/* Not stuck: nobody need poll our sources for us. */
		atomic_u64_store(&w->sources.last_poll, 0, RELAXED);
		/* We hold no array of sources: who frees one need not wait. */
		race_release(&w->rt->sources.qsbr); /* as in a poll */
		rte_rcu_qsbr_thread_offline(qsbr, w->index);
		called = weir__sleeper_wait(&w->sleeper, timeout_ns);
		/* [park:F1] its fence. */
		rte_rcu_qsbr_thread_online(qsbr, w->index);
	}
	weir__sleeper_end(&w->sleeper);
	weir__source_set_wake(&w->sources,
			      !called && timeout_ns >= SHORT_SLEEP_NS);
	/*
	 * A sleep is no gap between polls: nothing had to be polled. From here on
	 * we can be stuck again, be it in the first task.
	 */
	c->last_poll = rte_rdtsc();
	core_set_now(c, c->last_poll);
	atomic_u64_store(&w->sources.last_poll, c->last_poll, RELAXED);
}

/* Lets time pass until the next poll. */
static void
rest(struct core *c, enum weir_park park)
{
	switch (park) {
	case WEIR_PARK_POLL:
		atomic_pause();
		break;
	case WEIR_PARK_PAUSE:
		pause_until_next_poll(c);
		break;
	default:
		sleep_in_kernel(c);
	}
}

static void
note_idleness(struct core *c)
{
	uint64_t polls = counter_get(&worker_of(c)->counters, polls);

	if (polls == c->idle_polls)
		return;
	c->idle_polls = polls;
	c->idle_since = c->now;
}

/* What a short wait takes at most (Q6); polled: one that a poll ends. */
static uint64_t
short_wait(const struct core *c, bool polled)
{
	const struct weir_runtime *rt = worker_of(c)->rt;

	return polled && policy_wanted(c) == WEIR_PARK_POLL ?
		       rt->linger_polled :
		       rt->linger;
}

/* It waits no longer, since the last poll; polled: that has found something. */
static void
end_wait(struct core *c, uint64_t begin, bool polled)
{
	bool was_short = c->now - begin < short_wait(c, polled);

	c->short_waits = was_short ? c->short_waits + 1 : 0;
	/* Neither task time nor busy. */
	c->busy_since = c->now;
	c->tuned_at += c->now - begin;
	tell_of_queued(c);
}

/*
 * Looks after those who are stuck, when it is time. True: there is something to run, or
 * more to be done for them.
 */
static bool
rescue_others(struct core *c)
{
	const struct weir_runtime *rt = worker_of(c)->rt;
	bool left = false;

	if (likely(c->now < c->rescue_near && c->now < c->rescue_far))
		return false;
	if (c->now >= c->rescue_near) {
		left = weir__rescue_neighbours(c);
		if (likely(!left))
			c->rescue_near = c->now + rt->max_poll_gap;
	}
	if (c->now >= c->rescue_far) {
		if (likely(!weir__rescue_far(c)))
			c->rescue_far = c->now + rt->cross_node_age;
		else
			left = true;
	}
	return left || has_tasks(c);
}

/* Q9. NULL: there is none that it could watch. */
static struct task *
watch(struct core *c)
{
	const struct worker *w = worker_of(c);
	struct task *t = c->last_bound;

	/* Another's would come with its line each time. */
	if (t != NULL &&
	    !state_watch(&t->state, place_of(WEIR_AFFINITY_WORKER, w->index)))
		t = c->last_bound = NULL;
	return t;
}

/* It looks elsewhere from here on. True: the task has been notified. */
static bool
end_watch(struct core *c, struct task *t)
{
	const struct weir_runtime *rt = worker_of(c)->rt;

	if (t == NULL || state_unwatch(&t->state))
		return false;
	/* At the start of the last poll, behind the look before, or since. */
	note_woken_at(c, t,
		      rt->options.histograms ? stamp_fine(c->now) : c->stamp);
	task_chain_add(&c->local, t);
	return true;
}

/* Has it been so long without a search that it must not linger (Q6)? */
static bool
has_to_search(const struct core *c)
{
	const struct weir_runtime *rt = worker_of(c)->rt;

	return c->now >= c->search_after && !runtime_is_alone(rt);
}

/* True: there is something to be run, or to be done for one that is stuck. */
static bool
look_elsewhere(struct core *c, const struct task *watched)
{
	if (weir__work_pending(worker_of(c)) || rescue_others(c))
		return true;
	/* Woken by that, it was so before the next poll. */
	return is_notified(watched);
}

/* What came to the inject queue; of those that linger, one gets it. */
static bool
take_sent(struct core *c, struct task **t)
{
	if (likely(!inject_pending(&worker_of(c)->node->inject)))
		return false;
	*t = weir__take_inject(c);
	return *t != NULL;
}

/*
 * Polls for as long as a short wait takes, since `begin`. True: it has found something;
 * *t is what it has taken from the inject queue.
 */
static bool
poll_lingering(struct core *c, const struct task *watched, uint64_t begin,
	       struct task **t)
{
	uint64_t first = worker_of(c)->rt->recheck_min / LINGER_PART;
	uint64_t next = first, limit = short_wait(c, true), waited;

	while ((waited = c->now - begin) < limit) {
		if (waited < first) {
			atomic_spin();
		} else {
			if (waited >= next) {
				if (look_elsewhere(c, watched))
					break;
				next = 2 * waited;
				/* WEIR_PARK_ADAPTIVE may have come to pause. */
				limit = short_wait(c, true);
			}
			atomic_pause();
		}
		if (poll_waiting(c, watched) ||
		    (waited >= first && take_sent(c, t)))
			return true;
	}
	/*
	 * It may have come since. What is here already is told of, or comes first: who
	 * was woken for one that is stuck may be where nobody else finds it (schedule.c,
	 * H5).
	 */
	return has_tasks(c) || take_sent(c, t);
}

bool
weir__linger(struct core *c, struct task **t)
{
	struct worker *w = worker_of(c);
	struct task *watched;
	uint64_t begin;
	int64_t late;
	bool found;

	if (c->short_waits < LINGER_AFTER || unlikely(has_to_search(c)))
		return false;
	late = c->now - c->rescue_near;
	if (unlikely(c->now >= c->rescue_far ||
		     late > (int64_t)(LINGER_GAPS * w->rt->max_poll_gap)))
		rescue_others(c);
	watched = watch(c);
	found = poll_waiting(c, watched);
	begin = c->now;
	count_busy(c, begin);
	note_idleness(c);
	if (!found)
		found = poll_lingering(c, watched, begin, t);
	found |= end_watch(c, watched);
	core_looked(c, core_tick(c) + 1);
	end_wait(c, begin, found);
	return found;
}

/* Says that it sleeps, to be told of what others have. */
static void
say_asleep(struct core *c)
{
	struct worker *w = worker_of(c);
	bool last;

	/* Others read this line. */
	if (worker_is_quiet(w))
		atomic_u32_store(&w->quiet, 0, RELAXED);
	last = weir__idle_sleep(&w->node->idle, w->idle_bit, c->searching);
	c->searching = false;
	/* [idle:F1] D3: after we were uncounted. */
	if (last && weir__work_pending(w))
		weir__notify(w->node, &w->queue);
}

/* Is there something for it that it has not found by a poll? */
static bool
is_told(const struct worker *w)
{
	if (worker_is_quiet(w))
		return inject_pending(&w->node->inject);
	return weir__idle_claimed(&w->node->idle, w->idle_bit);
}

/* It waits no longer; told: see is_told(). */
static void
get_up(struct core *c, bool told)
{
	struct worker *w = worker_of(c);

	if (worker_is_quiet(w)) {
		atomic_u32_store(&w->quiet, 0, RELAXED);
	} else {
		c->searching = told || weir__idle_wake_self(&w->node->idle,
							    w->idle_bit);
		c->woken = told;
	}
}

/*
 * Parks until there is something to run here or a notifier calls.
 */
void
weir__park(struct core *c)
{
	struct worker *w = worker_of(c);
	const struct weir_runtime *rt = w->rt;
	uint64_t pause = rt->recheck_min, recheck, begin;
	enum weir_park park;
	bool told;

	counter_add(&w->counters, parks, 1);
	worker_hook(w, park);
	weir__trace_worker_park(w->index);
	if (c->woken)
		counter_add(&w->counters, noop_wakes, 1);
	c->woken = false;
	if (runtime_is_alone(rt))
		atomic_u32_store(&w->quiet, 1, RELAXED);
	else
		say_asleep(c);
	core_set_now(c, rte_rdtsc());
	count_busy(c, c->now);
	note_idleness(c);
	begin = c->now;
	recheck = c->now + pause;
	rescue_others(c);
	/*
	 * Who is quiet has just looked: what it would see now is a push that is half
	 * done, whose task cannot be taken yet, or the rest of a long list.
	 */
	told = !worker_is_quiet(w) && is_told(w);
	while (!told && !poll_waiting(c, NULL)) {
		if (c->last_poll >= recheck) {
			/* See idle.c for why a sleeper looks again. */
			if (weir__work_pending(w))
				weir__notify(w->node, &w->queue);
			pause = RTE_MIN(2 * pause, rt->recheck_max);
			recheck = c->last_poll + pause;
		}
		/* Who was rescued has waited for long enough: no rest. */
		if (likely(!rescue_others(c))) {
			/* Q7: once, since it may change at any time. */
			park = policy_now(c);
			if (worker_is_quiet(w) && park == WEIR_PARK_INTERRUPT)
				say_asleep(c);
			rest(c, park);
		}
		told = is_told(w);
	}
	get_up(c, told);
	/* Who was claimed has rested since its last poll, or has not polled. */
	if (told) {
		core_set_now(c, rte_rdtsc());
		core_look_at(c, core_tick(c) + 1);
	} else {
		core_looked(c, core_tick(c) + 1);
	}
	worker_hook(w, unpark);
	weir__trace_worker_unpark(w->index);
	end_wait(c, begin, !c->woken);
}

void
weir__worker_call(struct worker *w, uint32_t bit)
{
	/*
	 * What the bit is about comes before it. [sleep:F1] it comes before our
	 * look whether the worker sleeps.
	 */
	atomic_u32_fetch_or(&w->attention, bit, SEQ_CST);
	sleeper_call(&w->sleeper, SEQ_CST);
}

int
weir_worker_park_set(struct weir_runtime *rt, unsigned int worker,
		     enum weir_park park)
{
	struct worker *w;

	if (worker >= rt->nb_workers || !weir__park_valid(park))
		return -EINVAL;
	w = rt->workers[worker];
	atomic_u32_store(&w->park, park, RELAXED);
	/* [sleep:F1] */
	atomic_fence(SEQ_CST);
	sleeper_call(&w->sleeper, RELAXED);
	return 0;
}
