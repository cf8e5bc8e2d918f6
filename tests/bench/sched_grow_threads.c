/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * `size` threads that are no workers spawn tasks at the same time; the last task
 * to end ends the round: ns a task.
 */

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "scenario.h"

#define TASKS 100000u

struct crew {
	struct weir_runtime *rt;
	pthread_barrier_t ready; /* the threads, and who takes the time */
	unsigned int tasks;	 /* of each thread */
};

static struct atomic_u64 left;
static sem_t all_done;

static int
count_down(struct weir_context *ctx, void *state)
{
	if (atomic_u64_fetch_sub(&left, 1, ACQ_REL) == 1)
		sem_post(&all_done);
	return WEIR_DONE;
}

static const struct weir_task_ops count_down_ops = {
	.name = "count_down",
	.poll = count_down,
};

static void *
spawn_share(void *arg)
{
	struct crew *crew = arg;
	unsigned int i;

	pthread_barrier_wait(&crew->ready);
	for (i = 0; i < crew->tasks; i++)
		start(crew->rt, &count_down_ops, NULL);
	return NULL;
}

static void
round_of(struct weir_runtime *rt, double *figures)
{
	struct crew crew = { .rt = rt, .tasks = RTE_MAX(TASKS / size, 1u) };
	pthread_t *threads = calloc(size, sizeof(threads[0]));
	uint64_t begin;
	unsigned int i;

	must(threads != NULL, "no memory for threads");
	sem_init(&all_done, 0, 0);
	pthread_barrier_init(&crew.ready, NULL, size + 1);
	atomic_u64_store(&left, crew.tasks * size, RELAXED);
	for (i = 0; i < size; i++)
		must(pthread_create(&threads[i], NULL, spawn_share, &crew) == 0,
		     "no thread");
	pthread_barrier_wait(&crew.ready);
	begin = rte_rdtsc();
	while (sem_wait(&all_done) != 0)
		;
	figures[0] = ns_of(rte_rdtsc() - begin) / (crew.tasks * size);
	for (i = 0; i < size; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&crew.ready);
	sem_destroy(&all_done);
	free(threads);
}

const struct scenario grow_threads = {
	.name = "grow_threads",
	.workers = 1,
	.figures = 1,
	.sized = true,
	.round = round_of,
};
