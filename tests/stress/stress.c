/* SPDX-License-Identifier: BSD-3-Clause */

#include "stress.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#define DEFAULT_SECONDS 5
#define MAX_NEIGHBOURS 3u
/* Longer than what a stumble delays, shorter than a time slice. */
#define STUMBLE_NS 200000u

struct stress stress;

static pthread_t neighbours[MAX_NEIGHBOURS];
static unsigned int nb_neighbours;
static unsigned int lcores[STRESS_WORKERS];

void
stress_fail(const char *condition, const char *file, int line)
{
	fprintf(stderr, "# %s:%d: not true: %s (seed 0x%" PRIx64 ")\n", file,
		line, condition, stress.seed);
	abort();
}

/* What is allocated on all of DPDK's heaps. */
static uint64_t
heap_bytes(void)
{
	struct rte_malloc_socket_stats stats;
	uint64_t bytes = 0;
	unsigned int i;

	for (i = 0; i < rte_socket_count(); i++)
		if (rte_malloc_get_socket_stats(rte_socket_id_by_idx(i),
						&stats) == 0)
			bytes += stats.heap_allocsz_bytes;
	return bytes;
}

static void
begin_round(uint64_t seed)
{
	memset(&stress, 0, sizeof(stress));
	stress.seed = seed;
	rand_seed(&stress.rand, seed);
}

void
stress_rounds(void (*round)(void))
{
	const char *text = getenv("WEIR_STRESS_SECONDS");
	double seconds = text != NULL ? strtod(text, NULL) : DEFAULT_SECONDS;
	uint64_t end = rte_get_tsc_cycles() +
		       (uint64_t)(seconds * (double)rte_get_tsc_hz());
	uint64_t seed = unit_seed(), heap = 0;
	unsigned int rounds = 0;

	do {
		begin_round(seed + rounds);
		if (rounds > 0)
			printf("# seed 0x%" PRIx64 "\n", stress.seed);
		round();
		/* What is made once was made by the first. */
		if (rounds++ == 0)
			heap = heap_bytes();
		stress_check(heap_bytes() == heap);
	} while (rte_get_tsc_cycles() < end);
	printf("# %u rounds\n", rounds);
}

static void *
keep_busy(void *arg)
{
	while (!stress_is_over())
		;
	return NULL;
}

void
stress_options(struct weir_options *o, unsigned int min_workers)
{
	static const enum weir_park parks[] = {
		WEIR_PARK_POLL,
		WEIR_PARK_PAUSE,
		WEIR_PARK_INTERRUPT,
		WEIR_PARK_ADAPTIVE,
	};
	struct rand_state *rand = &stress.rand;

	rig_options(o, min_workers +
			       rand_below(rand, STRESS_WORKERS - min_workers));
	o->lcores = lcores;
	o->spare_lcores = &lcores[o->nb_workers];
	o->nb_spare_lcores = 1;
	o->park = parks[rand_below(rand, RTE_DIM(parks))];
	o->adaptive_poll_us = rand_below(rand, 2);
	o->adaptive_pause_us = rand_below(rand, 2);
	o->lifo_slot = rand_below(rand, 4) != 0;
	o->event_interval = rand_below(rand, 2) == 0 ? 61 : 2;
	o->inject_interval = rand_below(rand, 2) == 0 ? 0 : 2;
	o->histograms = rand_below(rand, 4) == 0;
	o->task_cells = 64;
	o->blocking_threads = 1 + rand_below(rand, 4);
	o->blocking_keep_alive_ms = rand_below(rand, 2);
	o->seed = stress.seed;
}

void
stress_create(unsigned int min_workers)
{
	struct weir_options o;

	stress_options(&o, min_workers);
	stress.rt = weir_runtime_create(&o);
	stress_check(stress.rt != NULL);
	stress_start_neighbours();
	printf("# workers %u, park %u, neighbours %u\n", o.nb_workers, o.park,
	       nb_neighbours);
}

void
stress_start_neighbours(void)
{
	unsigned int i;

	nb_neighbours = rand_below(&stress.rand, MAX_NEIGHBOURS + 1);
	for (i = 0; i < nb_neighbours; i++)
		stress_check(pthread_create(&neighbours[i], NULL, keep_busy,
					    NULL) == 0);
}

void
stress_stop_neighbours(void)
{
	rig_set(&stress.over, 1);
	while (nb_neighbours > 0)
		pthread_join(neighbours[--nb_neighbours], NULL);
}

unsigned int
stress_lcore(unsigned int place)
{
	return lcores[place];
}

void
stress_change(struct weir_runtime *rt, struct rand_state *rand)
{
	unsigned int n = weir_runtime_nb_workers(rt);
	unsigned int k = rand_below(rand, n);
	unsigned int other = (k + 1 + rand_below(rand, n - 1)) % n;
	int rc = 0;

	if (rand_below(rand, 3) == 0)
		rc = weir_worker_park_set(rt, k,
					  (enum weir_park)rand_below(rand, 4));
	else if (!weir_worker_is_active(rt, k))
		rc = weir_worker_add(rt, lcores[k]);
	else if (weir_worker_is_active(rt, other))
		rc = weir_worker_retire(rt, k, other);
	stress_check(rc >= 0 || rc == -ESHUTDOWN);
}

uint32_t
stress_born(void)
{
	uint32_t entry = atomic_u32_fetch_add(&stress.born, 1, RELAXED);

	stress_check(entry < STRESS_TASKS);
	return entry;
}

void
stress_drop(uint32_t entry)
{
	stress_check(atomic_u32_fetch_add(&stress.drops[entry], 1, RELAXED) ==
		     0);
	rig_add(&stress.dropped, 1);
}

bool
stress_all_dropped(void)
{
	return rig_get(&stress.dropped) == rig_get(&stress.born);
}

/* Sums over all workers: each is 0 once all tasks have ended. */
struct open_counts {
	uint64_t tasks;
	uint64_t queued;
	uint64_t injected; /* put into inject queues, not taken out */
	uint64_t stolen;   /* from nobody */
};

static struct open_counts
open_counts(const struct weir_runtime *rt)
{
	unsigned int n = weir_runtime_nb_workers(rt), i, k;
	struct weir_worker_stats workers[STRESS_WORKERS];
	struct weir_runtime_stats stats;
	struct open_counts c;

	weir_runtime_snapshot(rt, &stats, workers, n);
	c.tasks = stats.live_tasks;
	c.queued = stats.inject_depth;
	c.injected = stats.remote_schedules;
	c.stolen = 0;
	for (i = 0; i < n; i++) {
		c.queued += workers[i].queue_depth;
		c.injected -= workers[i].injected;
		c.stolen += workers[i].steals;
		for (k = 0; k < n; k++)
			c.stolen -= weir_worker_steals_from(rt, i, k);
	}
	return c;
}

/* Who dropped the last task may stand still before it counts that. */
void
stress_check_counters(const struct weir_runtime *rt)
{
	rig_wait_until(open_counts(rt).tasks == 0);
	rig_wait_until(open_counts(rt).injected == 0);
	rig_wait_until(open_counts(rt).stolen == 0);
	stress_check(open_counts(rt).queued == 0);
}

void
stress_end(void)
{
	struct weir_runtime *rt = stress.rt;

	stress.rt = NULL;
	rig_runtime_free(rt);
	stress_check(stress_all_dropped());
}

void
stress_stumble(struct rand_state *rand)
{
	struct timespec ts = { .tv_nsec = rand_below(rand, STUMBLE_NS) };

	switch (rand_below(rand, 16)) {
	case 0:
		nanosleep(&ts, NULL);
		break;
	case 1:
	case 2:
		sched_yield();
		break;
	default:
		break;
	}
}

int
stress_setup(void **state)
{
	unsigned int lcore, n = 0;

	unit_eal_init_workers(STRESS_WORKERS);
	RTE_LCORE_FOREACH_WORKER(lcore)
		lcores[n++] = lcore;
	return 0;
}
