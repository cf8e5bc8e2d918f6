/* SPDX-License-Identifier: BSD-3-Clause */

#include "rig.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_malloc.h>
#include <rte_ring.h>

#include "base/membarrier.h"
#include "sched/scheduler.h"

/* Shorter than the timeout of a test program. */
#define WAIT_SECONDS 40
#define MAX_THREADS 32

uint64_t
rig_deadline(void)
{
	return rte_get_tsc_cycles() + WAIT_SECONDS * rte_get_tsc_hz();
}

void
rig_wait(uint64_t end, const char *condition, const char *file, int line)
{
	if (rte_get_tsc_cycles() > end) {
		fprintf(stderr, "# %s:%d: still not true: %s\n", file, line,
			condition);
		abort();
	}
	rte_pause();
	sched_yield();
}

bool
rig_has_membarrier(void)
{
	return weir__membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
}

void
rig_need_membarrier(void)
{
	if (!rig_has_membarrier())
		unit_skip("the kernel has no membarrier");
}

void
rig_threads(unsigned int n, void *(*thread_main)(void *), void *arg)
{
	pthread_t threads[MAX_THREADS];
	unsigned int i;

	assert_uint_in_range(n, 1, MAX_THREADS);
	for (i = 0; i < n; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, thread_main, arg), 0);
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

struct task *
rig_tasks(unsigned int n)
{
	struct task *tasks;
	unsigned int i;

	tasks = aligned_alloc(WEIR_CACHE_LINE, n * sizeof(*tasks));
	assert_non_null(tasks);
	memset(tasks, 0, n * sizeof(*tasks));
	for (i = 0; i < n; i++) {
		atomic_u64_store(&tasks[i].id, i, RELAXED);
		atomic_u64_store(&tasks[i].state.word, 2 * STATE_REF_ONE,
				 RELAXED);
	}
	return tasks;
}

void
rig_expect_refs(const struct task *tasks, unsigned int first, unsigned int end,
		unsigned int refs)
{
	for (; first < end; first++)
		assert_int_equal(state_refs(state_load(&tasks[first].state)),
				 refs);
}

void
rig_options(struct weir_options *o, unsigned int nb_workers)
{
	weir_options_init(o);
	o->nb_workers = nb_workers;
	o->task_cells = 256;
	o->inject_ring_size = 64;
}

struct weir_runtime *
rig_runtime(unsigned int nb_workers)
{
	struct weir_options o;
	struct weir_runtime *rt;

	rig_options(&o, nb_workers);
	rt = weir_runtime_create(&o);
	if (rt == NULL)
		fail_msg("weir_runtime_create: %s", rte_strerror(rte_errno));
	return rt;
}

struct weir_runtime *
rig_runtime_logged(const struct weir_options *o, char *log, size_t size)
{
	FILE *f = fmemopen(log, size, "w");
	struct weir_runtime *rt;

	assert_non_null(f);
	memset(log, 0, size);
	rte_openlog_stream(f);
	rt = weir_runtime_create(o);
	rte_openlog_stream(NULL);
	fclose(f);
	return rt;
}

bool
rig_runtime_exists(const char *name)
{
	char text[RTE_RING_NAMESIZE];
	unsigned int node;

	/* A ring for each of its nodes. */
	for (node = 0; node < RTE_MAX_NUMA_NODES; node++) {
		snprintf(text, sizeof(text), "%s_n%u_%d", name, node,
			 (int)getpid());
		if (rte_ring_lookup(text) != NULL)
			return true;
	}
	return false;
}

void
rig_runtime_end(struct weir_runtime **rt)
{
	struct weir_shutdown_report report = { .live_tasks = UINT64_MAX,
					       .ring_entries = UINT64_MAX,
					       .blocking = UINT64_MAX,
					       .stacks = UINT64_MAX };
	int rc = weir_runtime_shutdown(*rt, UINT64_MAX, &report);

	/* First, so that the next test finds its lcores. */
	weir_runtime_free(*rt);
	/* Until now its tasks may have looked for it there. */
	*rt = NULL;
	assert_int_equal(rc, 0);
	assert_int_equal(report.live_tasks, 0);
	assert_int_equal(report.ring_entries, 0);
	assert_int_equal(report.blocking, 0);
	assert_int_equal(report.stacks, 0);
	/* Who wakes from elsewhere is in there until it is through (W2). */
	rig_wait_until(!rig_runtime_exists("weir"));
}

void
rig_runtime_free(struct weir_runtime *rt)
{
	rig_runtime_end(&rt);
}

struct rig rig;

int
rig_setup(void **state)
{
	memset(&rig, 0, sizeof(rig));
	rig.told.log = &rig.log;
	rig.told.go = &rig.go;
	rig.told.waker = &rig.waker;
	rig.rt = rig_runtime((unsigned int)(uintptr_t)*state);
	return 0;
}

int
rig_teardown(void **state)
{
	struct weir_runtime *rt = rig.rt;

	rig.rt = NULL;
	if (rt != NULL)
		rig_runtime_free(rt);
	return 0;
}

void
rig_expect_log(unsigned int polls, unsigned int drops, unsigned int results)
{
	assert_int_equal(rig_get(&rig.log.polls), polls);
	assert_int_equal(rig_get(&rig.log.drops), drops);
	assert_int_equal(rig_get(&rig.log.results_dropped), results);
}

static void
begin_poll(struct weir_context *ctx, struct rig_state *s)
{
	s->polls++;
	s->worker = weir_context_worker(ctx);
	rig_add(&s->log->polls, 1);
}

static int
done_poll(struct weir_context *ctx, void *state)
{
	begin_poll(ctx, state);
	return WEIR_DONE;
}

static int
block_poll(struct weir_context *ctx, void *state)
{
	struct rig_state *s = state;

	begin_poll(ctx, s);
	rig_wait_until(rig_get(s->go));
	return WEIR_DONE;
}

/* What the blocking pool runs of the first two kinds. */
static int
done_run(void *state)
{
	struct rig_state *s = state;

	s->polls++;
	rig_add(&s->log->polls, 1);
	return WEIR_DONE;
}

static int
block_run(void *state)
{
	struct rig_state *s = state;

	done_run(state);
	rig_wait_until(rig_get(s->go));
	return WEIR_DONE;
}

static int
yield_poll(struct weir_context *ctx, void *state)
{
	struct rig_state *s = state;

	begin_poll(ctx, s);
	return rig_get(s->go) ? WEIR_DONE : weir_context_yield(ctx);
}

static int
wait_poll(struct weir_context *ctx, void *state)
{
	struct rig_state *s = state;

	begin_poll(ctx, s);
	if (rig_get(s->go))
		return WEIR_DONE;
	weir_waker_drop(atomic_ptr_exchange(s->waker, weir_context_waker(ctx),
					    ACQ_REL));
	return WEIR_PENDING;
}

static void
count_drop(void *state)
{
	struct rig_state *s = state;

	rig_add(&s->log->drops, 1);
}

static void
count_result_drop(void *result)
{
	struct rig_state *s = container_of(result, struct rig_state, polls);

	rig_add(&s->log->results_dropped, 1);
}

#define RIG_OPS(kind, job)                                          \
	const struct weir_task_ops rig_##kind##_ops = {             \
		.name = #kind,                                      \
		.state_size = sizeof(struct rig_state),             \
		.poll = kind##_poll,                                \
		.run = job,                                         \
		.drop = count_drop,                                 \
		.result_offset = offsetof(struct rig_state, polls), \
		.result_size = sizeof(uint32_t),                    \
		.result_drop = count_result_drop,                   \
	}

RIG_OPS(done, done_run);
RIG_OPS(block, block_run);
RIG_OPS(yield, NULL);
RIG_OPS(wait, NULL);

/* Two tasks: the first has to leave the LIFO slot, where nobody can get it. */
static int
spread_poll(struct weir_context *ctx, void *state)
{
	struct weir_runtime *rt = weir_context_runtime(ctx);
	struct rig_state *s = state;
	unsigned int i;

	for (i = 0; i < 2; i++)
		weir_join_detach(weir_task_spawn(rt, &rig_done_ops, s, NULL));
	rig_wait_until(rig_get(&s->log->polls) > 0);
	return WEIR_DONE;
}

RIG_OPS(spread, NULL);

struct weir_join *
rig_spawn(struct weir_runtime *rt, const struct weir_task_ops *ops,
	  const struct rig_state *state)
{
	struct weir_join *join = weir_task_spawn(rt, ops, state, NULL);

	if (join == NULL)
		fail_msg("weir_task_spawn: %s", rte_strerror(rte_errno));
	return join;
}

static struct weir_join *
spawn_on(struct weir_runtime *rt, unsigned int worker,
	 const struct weir_task_ops *ops, const void *state)
{
	const struct weir_spawn_attr attr = {
		.affinity = WEIR_AFFINITY_WORKER,
		.worker = worker,
	};
	struct weir_join *join = weir_task_spawn(rt, ops, state, &attr);

	if (join == NULL)
		fail_msg("weir_task_spawn: %s", rte_strerror(rte_errno));
	return join;
}

struct weir_join *
rig_spawn_on(struct weir_runtime *rt, unsigned int worker,
	     const struct weir_task_ops *ops, const struct rig_state *state)
{
	return spawn_on(rt, worker, ops, state);
}

struct weir_join *
rig_spawn_job(struct weir_runtime *rt, const struct weir_task_ops *ops,
	      const struct rig_state *state)
{
	struct weir_join *join = weir_blocking_spawn(rt, ops, state);

	if (join == NULL)
		fail_msg("weir_blocking_spawn: %s", rte_strerror(rte_errno));
	return join;
}

void
rig_await_looks(unsigned int worker, uint64_t n)
{
	struct weir_worker_stats stats;

	weir_worker_stats_get(rig.rt, worker, &stats);
	n += stats.source_polls;
	rig_wait_until((weir_worker_stats_get(rig.rt, worker, &stats),
			stats.source_polls >= n));
}

struct weir_runtime_stats
rig_stats(const struct weir_runtime *rt)
{
	struct weir_runtime_stats stats;

	weir_runtime_stats_get(rt, &stats);
	return stats;
}

void
rig_block_some(struct rig_blockers *b, struct weir_runtime *rt,
	       unsigned int mask)
{
	struct rig_state s = { .log = &b->log, .go = &b->go };
	unsigned int i;

	memset(b, 0, sizeof(*b));
	for (i = 0; i < weir_runtime_nb_workers(rt); i++)
		if (mask & 1u << i)
			b->joins[b->n++] =
				rig_spawn_on(rt, i, &rig_block_ops, &s);
	rig_wait_until(rig_get(&b->log.polls) == b->n);
}

void
rig_block(struct rig_blockers *b, struct weir_runtime *rt)
{
	rig_block_some(b, rt, UINT32_MAX);
}

void
rig_unblock(struct rig_blockers *b)
{
	unsigned int i;

	rig_set(&b->go, 1);
	for (i = 0; i < b->n; i++)
		assert_int_equal(rig_join(b->joins[i], NULL), 0);
}

struct weir_runtime *
rig_closed_runtime(void)
{
	struct weir_options o;
	struct weir_runtime *closed;

	weir_options_init(&o);
	o.name = "closed";
	o.current_thread = true;
	closed = weir_runtime_create(&o);
	assert_non_null(closed);
	assert_int_equal(weir_runtime_shutdown(closed, UINT64_MAX, NULL), 0);
	return closed;
}

void
rig_stay_at(void *arg)
{
	struct rig_door *door = arg;

	rig_set(&door->in, 1);
	rig_wait_until(rig_get(&door->open));
}

static int
visit_poll(struct weir_context *ctx, void *state)
{
	return weir_block_in_place(rig_stay_at, *(struct rig_door **)state);
}

struct weir_join *
rig_block_thread(struct weir_runtime *rt, unsigned int worker,
		 struct rig_door *door)
{
	static const struct weir_task_ops ops = {
		.name = "visit",
		.state_size = sizeof(struct rig_door *),
		.poll = visit_poll,
	};
	struct weir_join *join;

	rig_set(&door->in, 0);
	rig_set(&door->open, 0);
	join = spawn_on(rt, worker, &ops, &door);
	rig_wait_until(rig_get(&door->in));
	return join;
}

unsigned int
rig_open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

size_t
rig_heap_in_use(void)
{
	struct rte_malloc_socket_stats stats;

	assert_int_equal(
		rte_malloc_get_socket_stats((int)rte_socket_id(), &stats), 0);
	return stats.heap_allocsz_bytes;
}

struct weir_waker *
rig_take_waker(struct atomic_ptr *waker)
{
	struct weir_waker *w;

	rig_wait_until((w = atomic_ptr_exchange(waker, NULL, ACQ_REL)) != NULL);
	return w;
}

int
rig_join(struct weir_join *join, void *result)
{
	int rc;

	rig_wait_until((rc = weir_join_try(join, result)) != WEIR_PENDING);
	return rc;
}

unsigned int
rig_timers(const struct weir_runtime *rt)
{
	unsigned int i, n = 0;

	for (i = 0; i < rt->nb_workers; i++) {
		struct timers *ts = &rt->workers[i]->timers;

		lock_acquire(&ts->lock);
		n += ts->wheel.n;
		lock_release(&ts->lock);
	}
	return n;
}
