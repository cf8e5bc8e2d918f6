/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The run queue against arrays. An input is where the indices begin, and which owners
 * claim batches, and then a program of pushes, pops, steals and recalls between three
 * queues of eight slots, whose batches change in size. A thief may stop in the middle
 * of a steal, with its claim made, while owners and other thieves go on.
 */

#include "fuzz.h"

#include <string.h>

#define RUN_QUEUE_SHARE 4u
#define RUN_QUEUE_BATCH 2u
#define RUN_QUEUE_SHARE_SHORT 2u
#define RUN_QUEUE_BATCH_SHORT 4u
#define RUN_QUEUE_SIZE 8
#include "queue/run_queue.c"

int
weir__membarrier(int command)
{
	return 0;
}

#define QUEUES 3
#define TASKS 4096

/* What a queue must hold. */
struct model {
	struct task *tasks[RUN_QUEUE_SIZE];
	unsigned int n;
	/* A thief at work: what it has claimed, and its head. */
	struct task *claimed[HALF];
	unsigned int nb_claimed;
	uint64_t claim;
	/* Slots in front of the first task that are not free yet (R1). */
	unsigned int lag;
	/*
	 * The first of them are the owner's batch. Behind it is a gap of slots without
	 * tasks, which are not free until the owner finds no more of its batch (R6).
	 */
	bool batches;
	unsigned int most;
	bool holds; /* a batch, as it thinks */
	unsigned int batch;
	unsigned int gap;
};

static struct task tasks[TASKS];
static unsigned int nb_tasks; /* used so far */
static struct run_queue queues[QUEUES];
static struct model models[QUEUES];

static unsigned int
model_room(const struct model *m)
{
	return RUN_QUEUE_SIZE - m->n - (m->holds ? m->gap : m->lag);
}

/* Those from first on. */
static void
model_take_at(struct model *m, unsigned int first, unsigned int n,
	      struct task **to)
{
	fuzz_check(first + n <= m->n);
	memcpy(to, m->tasks + first, n * sizeof(to[0]));
	m->n -= n;
	memmove(m->tasks + first, m->tasks + first + n,
		(m->n - first) * sizeof(to[0]));
}

static void
model_take(struct model *m, unsigned int n, struct task **to)
{
	model_take_at(m, 0, n, to);
}

/* Those that can be stolen, half of them. */
static unsigned int
model_half(const struct model *m)
{
	return (m->n - m->batch + 1) / 2;
}

static void
model_steal(struct model *m, unsigned int n, struct task **to)
{
	model_take_at(m, m->batch, n, to);
	m->gap += n;
}

/* The owner takes the next one, and a batch if it has none. */
static void
model_pop(struct model *m, struct task **to)
{
	unsigned int share = RTE_MIN(m->n / (m->most > 2 ? 2 : 4), m->most);

	if (m->batch > 0) {
		m->batch--;
		m->holds = m->batch > 0;
	} else {
		m->holds = m->batches && m->nb_claimed == 0 && share > 1;
		if (m->holds) {
			m->batch = share - 1;
			m->gap = 0;
		}
		if (m->nb_claimed > 0)
			m->lag++;
	}
	model_take(m, 1, to);
}

static void
begin(struct fuzz_input *in)
{
	unsigned int i;
	uint32_t first;

	nb_tasks = 0;
	memset(models, 0, sizeof(models));
	for (i = 0; i < QUEUES; i++) {
		first = 0u - fuzz_u8(in);
		models[i].batches = fuzz_u8(in) % 2 != 0;
		models[i].most = 2;
		weir__run_queue_init(&queues[i], false, models[i].batches);
		atomic_u64_store(&queues[i].head, run_queue_pack(first, first),
				 RELAXED);
		atomic_u32_store(&queues[i].tail, first, RELAXED);
		/* R8: the owner looks. */
		fuzz_check(weir__run_queue_room_owner(&queues[i]) ==
			   RUN_QUEUE_SIZE);
	}
}

static void
push(unsigned int i)
{
	struct task *t = &tasks[nb_tasks++], *expected[HALF + 1];
	struct task *overflow[RUN_QUEUE_OVERFLOW];
	struct model *m = &models[i];
	unsigned int n = 0, k, got = 0, more = 0, used;
	bool full;

	if (!run_queue_push_owner(&queues[i], t))
		got = weir__run_queue_push_owner(&queues[i], t, overflow);
	if (model_room(m) == 0) {
		n = m->batch;
		model_take(m, n, expected);
		m->batch = 0;
		m->holds = false;
		/* With the batch, the older half. */
		used = RUN_QUEUE_SIZE - model_room(m);
		if (m->lag == 0 && used > HALF &&
		    (n > 0 || used == RUN_QUEUE_SIZE)) {
			more = used - HALF;
			model_take(m, more, expected + n);
			n += more;
		}
	}
	full = more > 0 || model_room(m) == 0;
	if (full)
		expected[n++] = t;
	else
		m->tasks[m->n++] = t;
	fuzz_check(got == n);
	for (k = 0; k < n; k++)
		fuzz_check(overflow[k] == expected[k]);
}

static void
append(unsigned int i, unsigned int n)
{
	struct model *m = &models[i];
	struct task *burst[RUN_QUEUE_SIZE];
	unsigned int k;

	n = RTE_MIN(RTE_MIN(n, model_room(m)), TASKS - nb_tasks);
	for (k = 0; k < n; k++) {
		burst[k] = &tasks[nb_tasks++];
		m->tasks[m->n++] = burst[k];
	}
	weir__run_queue_append_owner(&queues[i], burst, n);
}

static void
pop(unsigned int i)
{
	struct task *t = run_queue_pop_owner(&queues[i]), *expected;
	struct model *m = &models[i];

	if (m->n == 0) {
		fuzz_check(t == NULL);
		m->holds = false;
		return;
	}
	model_pop(m, &expected);
	fuzz_check(t == expected);
}

static void
steal(unsigned int from, unsigned int to)
{
	struct model *src = &models[from], *dst = &models[to];
	struct task *half[HALF], *t;
	unsigned int untouched = 77, n = untouched, k;

	if (from == to)
		return;
	t = weir__run_queue_steal(&queues[from], &queues[to], &n);
	/* R2 */
	if (src->n == src->batch || src->nb_claimed > 0 ||
	    model_room(dst) < HALF) {
		fuzz_check(t == NULL && n == untouched);
		return;
	}
	fuzz_check(n == model_half(src));
	model_steal(src, n, half);
	fuzz_check(t == half[n - 1]);
	for (k = 0; k + 1 < n; k++)
		dst->tasks[dst->n++] = half[k];
}

static void
recall(unsigned int from, unsigned int to)
{
	struct model *src = &models[from], *dst = &models[to];
	unsigned int n = src->batch;

	if (from == to)
		return;
	if (model_room(dst) < RUN_QUEUE_BATCH_SHORT)
		n = 0;
	fuzz_check(weir__run_queue_recall(&queues[from], &queues[to]) == n);
	if (n == 0)
		return;
	model_take(src, n, dst->tasks + dst->n);
	dst->n += n;
	src->batch = 0;
	/* It has not seen that yet. */
	src->gap += n;
}

static void
expect(unsigned int i, unsigned int turns)
{
	struct model *m = &models[i];

	weir__run_queue_expect_owner(&queues[i], turns);
	m->most = RTE_MAX(2u, RTE_MIN(turns, 4u));
}

/* The first half of a steal. */
static void
begin_steal(unsigned int i)
{
	struct model *m = &models[i];
	uint64_t head;
	uint32_t n;

	n = claim_half(&queues[i], &head);
	if (m->n == m->batch || m->nb_claimed > 0) {
		fuzz_check(n == 0);
		return;
	}
	fuzz_check(n == model_half(m));
	model_steal(m, n, m->claimed);
	m->nb_claimed = n;
	m->lag = n;
	m->claim = head;
}

/* The second: the slots must be as they were. */
static void
end_steal(unsigned int i)
{
	struct model *m = &models[i];
	uint32_t first = run_queue_real_of(m->claim);
	unsigned int k;

	if (m->nb_claimed == 0)
		return;
	for (k = 0; k < m->nb_claimed; k++)
		fuzz_check(run_queue_slot(&queues[i], first + k) ==
			   m->claimed[k]);
	end_claim(&queues[i], run_queue_pack(first, first + m->nb_claimed));
	m->nb_claimed = 0;
	m->lag = 0;
}

static void
step(struct fuzz_input *in)
{
	uint8_t op = fuzz_u8(in);
	unsigned int i = op / 8 % QUEUES, n = 1 + op / 32;

	switch (op % 8) {
	case 0:
	case 1:
		for (; n > 0 && nb_tasks < TASKS; n--)
			push(i);
		break;
	case 2:
		if (n > 4)
			recall(i, n % QUEUES);
		else
			pop(i);
		break;
	case 3:
		for (; n > 0; n--)
			pop(i);
		break;
	case 4:
		steal(i, n % QUEUES);
		break;
	case 5:
		append(i, n);
		break;
	case 6:
		begin_steal(i);
		break;
	case 7:
		if (n > 4)
			expect(i, n - 4);
		else
			end_steal(i);
		break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	unsigned int i;

	begin(&in);
	while (in.left > 0) {
		step(&in);
		for (i = 0; i < QUEUES; i++) {
			fuzz_check(weir__run_queue_len_any(&queues[i]) ==
				   models[i].n - models[i].batch);
			fuzz_check(run_queue_batch(&queues[i]) ==
				   models[i].batch);
			fuzz_check(weir__run_queue_room_owner(&queues[i]) ==
				   model_room(&models[i]));
		}
	}
	for (i = 0; i < QUEUES; i++) {
		end_steal(i);
		while (models[i].n > 0)
			pop(i);
		pop(i);
		fuzz_check(weir__run_queue_room_owner(&queues[i]) ==
			   RUN_QUEUE_SIZE);
	}
	return 0;
}
