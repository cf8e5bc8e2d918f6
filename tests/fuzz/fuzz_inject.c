/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The inject queue against an array. An input is the size of the ring, so small
 * that the queue spills, and then a program of pushes, pops, close and finish.
 */

#include "fuzz.h"

#include <string.h>

#define CHAIN_STEPS 3u
#include "queue/inject.c"

#define TASKS 1024
#define BURST_MAX 80 /* more than a push handles at once */

static struct task tasks[TASKS];
static unsigned int nb_tasks; /* used so far */
static struct inject queue;
static enum inject_state state;

/* What the queue must hold, oldest first: a window of the tasks pushed. */
static struct task *pushed[TASKS];
static unsigned int first, end;

static unsigned int
refs(const struct task *t)
{
	return (unsigned int)state_refs(state_load(&t->state));
}

static void
begin(struct fuzz_input *in)
{
	unsigned int size = 2u << fuzz_below(in, 6);

	fuzz_check(weir__inject_init(&queue, "fuzz", size, 0) == 0);
	state = INJECT_OPEN;
	nb_tasks = 0;
	first = 0;
	end = 0;
}

static void
push(unsigned int n)
{
	struct task *burst[BURST_MAX];
	unsigned int i, start = nb_tasks;
	bool taken;

	n = RTE_MIN(n, TASKS - start);
	for (i = 0; i < n; i++) {
		struct task *t = &tasks[nb_tasks++];

		atomic_u64_store(&t->state.word, 2 * STATE_REF_ONE, RELAXED);
		burst[i] = t;
	}
	taken = weir__inject_push(&queue, burst, n);
	fuzz_check(taken == (n == 0 || state == INJECT_OPEN));
	if (taken) {
		for (i = 0; i < n; i++)
			pushed[end++] = &tasks[start + i];
		return;
	}
	/* Still the caller's, as it was. */
	for (i = 0; i < n; i++)
		fuzz_check(refs(&tasks[start + i]) == 2);
}

static void
pop(unsigned int n)
{
	struct task *got[BURST_MAX];
	unsigned int nb_got, i;

	nb_got = weir__inject_pop(&queue, got, n);
	/* It may give less than there is, but not nothing if it need not turn more. */
	fuzz_check(nb_got <= RTE_MIN(n, end - first));
	fuzz_check(nb_got > 0 || n == 0 || first == end ||
		   queue.unturned != NULL);
	for (i = 0; i < nb_got; i++) {
		fuzz_check(got[i] == pushed[first++]);
		fuzz_check(refs(got[i]) == 2);
	}
}

/* I4: every notification that is left is dropped, once. */
static void
finish(void)
{
	weir__inject_finish(&queue);
	state = INJECT_FINISHED;
	for (; first < end; first++)
		fuzz_check(refs(pushed[first]) == 1);
}

static void
step(struct fuzz_input *in)
{
	uint8_t op = fuzz_u8(in);
	unsigned int n = op / 8 % 16;

	switch (op % 8) {
	case 0:
	case 1:
		push(n);
		break;
	case 2:
		push(fuzz_below(in, BURST_MAX + 1));
		break;
	case 3:
	case 4:
		pop(n);
		break;
	case 5:
		pop(fuzz_below(in, BURST_MAX + 1));
		break;
	case 6:
		/* Both are the end of most programs, so they are rare. */
		if (n == 15) {
			weir__inject_close(&queue);
			if (state == INJECT_OPEN)
				state = INJECT_CLOSED;
		}
		break;
	case 7:
		if (n == 15)
			finish();
		break;
	}
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	fuzz_eal_init();
	return 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	begin(&in);
	while (in.left > 0) {
		step(&in);
		fuzz_check(weir__inject_len(&queue) == end - first);
	}
	while (first < end)
		pop(BURST_MAX);
	pop(1);
	finish();
	weir__inject_fini(&queue);
	return 0;
}
