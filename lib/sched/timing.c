/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Histograms of what tasks make each other wait for: how long polls take, and
 * how long a task that was made runnable waits for its turn.
 *
 * Only when weir_options.histograms asks for them: two looks at the clock for
 * each poll and one for each wake-up are a good part of what those take. Where the
 * worker's loop looks, too, one look serves both.
 */

#include <errno.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include "base/heap.h"
#include "sched/scheduler.h"

/* More, which no poll should take, would overflow below. */
#define LONGEST_SECONDS 8000
#define NS_SHIFT 20

int
weir__timing_init(struct worker *w)
{
	const struct weir_options *o = &w->rt->options;
	uint64_t largest = o->histogram_max_us * UINT64_C(1000);
	unsigned int i;

	if (!o->histograms)
		return 0;
	w->timing.longest = LONGEST_SECONDS * rte_get_tsc_hz();
	w->timing.ns_per_cycle =
		(UINT64_C(1000000000) << NS_SHIFT) / rte_get_tsc_hz();
	for (i = 0; i < RTE_DIM(w->timing.histograms); i++) {
		struct histogram *h = heap_taken(rte_zmalloc_socket(
			"histogram",
			weir__histogram_size(o->histogram_precision, largest),
			WEIR_CACHE_LINE, (int)w->node->id));

		if (h == NULL)
			return -ENOMEM;
		weir__histogram_init(h, o->histogram_precision, largest);
		w->timing.histograms[i] = h;
	}
	return 0;
}

void
weir__timing_fini(struct worker *w)
{
	unsigned int i;

	for (i = 0; i < RTE_DIM(w->timing.histograms); i++)
		heap_free(w->timing.histograms[i]);
}

static void
record(struct timing *timing, enum weir_histogram_kind kind, uint64_t cycles)
{
	cycles = RTE_MIN(cycles, timing->longest);
	histogram_record(timing->histograms[kind],
			 cycles * timing->ns_per_cycle >> NS_SHIFT);
}

/*
 * What this tick has done since it looked at the clock takes less than another look. But
 * whoever made the task runnable may have done so behind that one.
 */
static inline uint64_t
begin_of_turn(const struct core *c, const struct task *t)
{
	if (c->recent != 0 && c->looked == core_tick(c) &&
	    !stamp_seems_later(atomic_u32_load(&t->woken, RELAXED), c->recent))
		return c->recent;
	return rte_rdtsc();
}

enum task_next
weir__task_run_timed(struct core *c, struct task *t, bool resumed)
{
	struct timing *timing = &worker_of(c)->timing;
	uint64_t begin = begin_of_turn(c, t), waited;
	enum task_next next;

	c->recent = 0;
	if (!resumed) {
		waited = stamp_age(atomic_u32_load(&t->woken, RELAXED), begin);
		/* From here on it may be looked at for longer than a fine one lasts. */
		atomic_u32_store(&t->woken, stamp_coarse(begin - waited),
				 RELAXED);
		record(timing, WEIR_HISTOGRAM_WAKE, waited);
	}
	next = task_run(t, &c->ctx, resumed);
	c->recent = rte_rdtsc();
	record(timing, WEIR_HISTOGRAM_POLL, c->recent - begin);
	return next;
}

static int
check(const struct weir_runtime *rt, enum weir_histogram_kind kind)
{
	if (kind != WEIR_HISTOGRAM_POLL && kind != WEIR_HISTOGRAM_WAKE)
		return -EINVAL;
	return rt->options.histograms ? 0 : -ENOTSUP;
}

int
weir_worker_histogram_get(const struct weir_runtime *rt, unsigned int worker,
			  enum weir_histogram_kind kind,
			  struct weir_histogram *histogram)
{
	int rc = check(rt, kind);

	if (worker >= rt->nb_workers)
		return -EINVAL;
	if (rc == 0)
		weir__histogram_read(
			rt->workers[worker]->timing.histograms[kind],
			histogram);
	return rc;
}

int
weir_runtime_histogram_get(const struct weir_runtime *rt,
			   enum weir_histogram_kind kind,
			   struct weir_histogram *histogram)
{
	struct weir_histogram one;
	unsigned int i;
	int rc = check(rt, kind);

	memset(histogram, 0, sizeof(*histogram));
	for (i = 0; rc == 0 && i < rt->nb_workers; i++) {
		rc = weir_worker_histogram_get(rt, i, kind, &one);
		if (rc == 0)
			rc = weir_histogram_merge(histogram, &one);
	}
	return rc;
}
