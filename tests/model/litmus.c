/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Models of the checker itself: the litmus tests of the literature. What C11
 * forbids is never met, what it allows is met at least once, and what is wrong
 * is found. Names are those of Alglave, Maranget and Tautschnig, "Herding cats"
 * (TOPLAS 2014).
 *
 * An outcome is what the loads saw, as digits of a number: 10 is "the first saw
 * 1, the second 0".
 */

#include "base/atomic.h"
#include "model.h"

/* Outcomes of two, three and four loads of 0 or 1, in binary. */
#define ALL2 0xfu
#define ALL3 0xffu
#define ALL4 0xffffu
#define BUT(outcome) &~(1u << (outcome))

static struct atomic_u32 x, y;
static uint32_t saw[4];
/* Of the operations, in the order of the threads; fences where >= 0. */
static int order[4];
static int fence[4];

typedef void (*body)(void *arg);

static void
orders(int first, int second)
{
	order[0] = first;
	order[1] = second;
}

static void
fences(int first, int second)
{
	fence[0] = first;
	fence[1] = second;
}

/* A fence of relaxed order is none. */
static void
passes(unsigned int n)
{
	if (fence[n] != RELAXED)
		atomic_fence(fence[n]);
}

static void
together(body a, body b, body c, body d)
{
	body all[] = { a, b, c, d };
	unsigned int i;

	for (i = 0; i < 4 && all[i] != NULL; i++)
		model_thread("thread", all[i], NULL);
	model_join_all();
}

static void
show2(void)
{
	model_outcome(2 * saw[0] + saw[1]);
}

static void
show3(void)
{
	model_outcome(4 * saw[0] + 2 * saw[1] + saw[2]);
}

/* Message passing: x is the message, y says that it is there. */

static void
mp_writer(void *arg)
{
	(void)arg;
	atomic_u32_store(&x, 1, RELAXED);
	passes(0);
	atomic_u32_store(&y, 1, order[0]);
}

static void
mp_reader(void *arg)
{
	(void)arg;
	saw[0] = atomic_u32_load(&y, order[1]);
	passes(1);
	saw[1] = atomic_u32_load(&x, RELAXED);
}

static void
mp(void)
{
	together(mp_writer, mp_reader, NULL, NULL);
	show2();
}

MODEL_OUTCOMES(mp_release_acquire, "a message is there", ALL2 BUT(2))
{
	orders(RELEASE, ACQUIRE);
	mp();
}

MODEL_OUTCOMES(mp_relaxed_store, "acquire alone orders nothing", ALL2)
{
	orders(RELAXED, ACQUIRE);
	mp();
}

MODEL_OUTCOMES(mp_relaxed_load, "release alone orders nothing", ALL2)
{
	orders(RELEASE, RELAXED);
	mp();
}

MODEL_OUTCOMES(mp_fences, "fences of both kinds", ALL2 BUT(2))
{
	fences(RELEASE, ACQUIRE);
	mp();
}

MODEL_OUTCOMES(mp_fence_load, "release fence, acquire load", ALL2 BUT(2))
{
	orders(RELAXED, ACQUIRE);
	fences(RELEASE, RELAXED);
	mp();
}

MODEL_OUTCOMES(mp_store_fence, "release store, acquire fence", ALL2 BUT(2))
{
	orders(RELEASE, RELAXED);
	fences(RELAXED, ACQUIRE);
	mp();
}

MODEL_OUTCOMES(mp_fences_swapped, "fences of the wrong kinds", ALL2)
{
	fences(ACQUIRE, RELEASE);
	mp();
}

MODEL_OUTCOMES(mp_one_fence, "a fence on one side", ALL2)
{
	fences(SEQ_CST, RELAXED);
	mp();
}

MODEL_OUTCOMES(mp_seq_cst, "SEQ_CST has both sides", ALL2 BUT(2))
{
	orders(SEQ_CST, SEQ_CST);
	mp();
}

/* Store buffering: each stores its own and looks at the other's. */

static void
sb_first(void *arg)
{
	(void)arg;
	atomic_u32_store(&x, 1, order[0]);
	passes(0);
	saw[0] = atomic_u32_load(&y, order[1]);
}

static void
sb_second(void *arg)
{
	(void)arg;
	atomic_u32_store(&y, 1, order[2]);
	passes(1);
	saw[1] = atomic_u32_load(&x, order[3]);
}

static void
sb(void)
{
	together(sb_first, sb_second, NULL, NULL);
	show2();
}

MODEL_OUTCOMES(sb_relaxed, "neither sees the other", ALL2)
{
	sb();
}

MODEL_OUTCOMES(sb_release_acquire, "the same", ALL2)
{
	orders(RELEASE, ACQUIRE);
	order[2] = RELEASE;
	order[3] = ACQUIRE;
	sb();
}

MODEL_OUTCOMES(sb_acq_rel_fences, "the same", ALL2)
{
	fences(ACQ_REL, ACQ_REL);
	sb();
}

MODEL_OUTCOMES(sb_one_fence, "the same", ALL2)
{
	fences(SEQ_CST, RELAXED);
	sb();
}

MODEL_OUTCOMES(sb_fences, "one of them sees the other", ALL2 BUT(0))
{
	fences(SEQ_CST, SEQ_CST);
	sb();
}

MODEL_OUTCOMES(sb_seq_cst, "one of them sees the other", ALL2 BUT(0))
{
	orders(SEQ_CST, SEQ_CST);
	order[2] = order[3] = SEQ_CST;
	sb();
}

MODEL_OUTCOMES(sb_fence_seq_cst, "a fence, and SEQ_CST accesses", ALL2 BUT(0))
{
	fences(SEQ_CST, RELAXED);
	order[2] = order[3] = SEQ_CST;
	sb();
}

MODEL_OUTCOMES(sb_seq_cst_store, "a SEQ_CST store is no fence", ALL2)
{
	fences(SEQ_CST, RELAXED);
	order[2] = SEQ_CST;
	sb();
}

static void
sb_rmw(void *arg)
{
	(void)arg;
	atomic_u32_exchange(&y, 1, SEQ_CST);
	saw[1] = atomic_u32_load(&x, RELAXED);
}

MODEL_OUTCOMES(sb_seq_cst_rmw, "nor is a SEQ_CST exchange", ALL2)
{
	fences(SEQ_CST, RELAXED);
	together(sb_first, sb_rmw, NULL, NULL);
	show2();
}

static void
sb_light(void *arg)
{
	(void)arg;
	atomic_u32_store(&x, 1, RELAXED);
	atomic_light_fence();
	saw[0] = atomic_u32_load(&y, RELAXED);
}

static void
sb_heavy(void *arg)
{
	(void)arg;
	atomic_u32_store(&y, 1, RELAXED);
	virtual_membarrier(NULL);
	saw[1] = atomic_u32_load(&x, RELAXED);
}

MODEL_OUTCOMES(sb_membarrier, "a light fence and membarrier", ALL2 BUT(0))
{
	together(sb_light, sb_heavy, NULL, NULL);
	show2();
}

/* M1: C11 allows 3, and the checker does not claim to look at it. */

static void
lb_first(void *arg)
{
	(void)arg;
	saw[0] = atomic_u32_load(&x, RELAXED);
	atomic_u32_store(&y, 1, RELAXED);
}

static void
lb_second(void *arg)
{
	(void)arg;
	saw[1] = atomic_u32_load(&y, RELAXED);
	atomic_u32_store(&x, 1, RELAXED);
}

MODEL_OUTCOMES(lb_relaxed, "load buffering, all but what M1 leaves out",
	       ALL2 BUT(3))
{
	together(lb_first, lb_second, NULL, NULL);
	show2();
}

/* Independent reads of independent writes. */

static void
iriw_x(void *arg)
{
	(void)arg;
	atomic_u32_store(&x, 1, order[0]);
}

static void
iriw_y(void *arg)
{
	(void)arg;
	atomic_u32_store(&y, 1, order[0]);
}

static void
iriw_xy(void *arg)
{
	(void)arg;
	saw[0] = atomic_u32_load(&x, order[1]);
	passes(0);
	saw[1] = atomic_u32_load(&y, order[1]);
}

static void
iriw_yx(void *arg)
{
	(void)arg;
	saw[2] = atomic_u32_load(&y, order[1]);
	passes(0);
	saw[3] = atomic_u32_load(&x, order[1]);
}

static void
iriw(void)
{
	together(iriw_x, iriw_y, iriw_xy, iriw_yx);
	model_outcome(8 * saw[0] + 4 * saw[1] + 2 * saw[2] + saw[3]);
}

MODEL_OUTCOMES(iriw_release_acquire, "the readers disagree", ALL4)
{
	orders(RELEASE, ACQUIRE);
	iriw();
}

MODEL_OUTCOMES(iriw_seq_cst, "the readers agree", ALL4 BUT(10))
{
	orders(SEQ_CST, SEQ_CST);
	iriw();
}

MODEL_OUTCOMES(iriw_seq_cst_loads, "SEQ_CST loads of other stores disagree",
	       ALL4)
{
	orders(RELAXED, SEQ_CST);
	iriw();
}

MODEL_OUTCOMES(iriw_fences, "the readers agree", ALL4 BUT(10))
{
	fences(SEQ_CST, RELAXED);
	iriw();
}

/* Coherence: two loads of one location, two stores to it by one thread. */

static void
co_writer(void *arg)
{
	(void)arg;
	atomic_u32_store(&x, 1, RELAXED);
	atomic_u32_store(&x, 2, RELAXED);
}

static void
co_reader(void *arg)
{
	(void)arg;
	saw[0] = atomic_u32_load(&x, RELAXED);
	saw[1] = atomic_u32_load(&x, RELAXED);
}

/* 00 01 02 11 12 22, to base 3 */
MODEL_OUTCOMES(corr, "nobody sees a location go back",
	       1u << 0 | 1u << 1 | 1u << 2 | 1u << 4 | 1u << 5 | 1u << 8)
{
	together(co_writer, co_reader, NULL, NULL);
	model_outcome(3 * saw[0] + saw[1]);
}

static void
co_own(void *arg)
{
	(void)arg;
	atomic_u32_store(&x, 3, RELAXED);
	saw[0] = atomic_u32_load(&x, RELAXED);
}

MODEL_OUTCOMES(cowr, "a thread sees its own store or a later one",
	       1u << 1 | 1u << 2 | 1u << 3)
{
	together(co_writer, co_own, NULL, NULL);
	model_outcome(saw[0]);
}

/* From write to read causality: what the second saw, the third sees. */

static void
wrc_middle(void *arg)
{
	(void)arg;
	saw[0] = atomic_u32_load(&x, RELAXED);
	atomic_u32_store(&y, 1, order[0]);
}

static void
wrc_last(void *arg)
{
	(void)arg;
	saw[1] = atomic_u32_load(&y, order[1]);
	saw[2] = atomic_u32_load(&x, RELAXED);
}

static void
wrc_first(void *arg)
{
	(void)arg;
	atomic_u32_store(&x, 1, RELAXED);
}

MODEL_OUTCOMES(wrc_release_acquire, "a look is passed on", ALL3 BUT(6))
{
	orders(RELEASE, ACQUIRE);
	together(wrc_first, wrc_middle, wrc_last, NULL);
	show3();
}

MODEL_OUTCOMES(wrc_relaxed, "a look is not passed on", ALL3)
{
	together(wrc_first, wrc_middle, wrc_last, NULL);
	show3();
}

/* Release sequences: x is the message; y is 1, and something makes it 2. */

static void
rs_writer(void *arg)
{
	(void)arg;
	atomic_u32_store(&x, 1, RELAXED);
	atomic_u32_store(&y, 1, RELEASE);
}

static void
rs_add(void *arg)
{
	(void)arg;
	atomic_u32_fetch_add(&y, 1, order[0]);
}

static void
rs_store(void *arg)
{
	uint32_t one = 1;

	(void)arg;
	if (atomic_u32_load(&y, RELAXED) == one)
		atomic_u32_store(&y, 2, RELAXED);
}

static void
rs_same(void *arg)
{
	rs_writer(arg);
	atomic_u32_store(&y, 2, RELAXED);
}

/* Outcome 0: it did not see 2, 1: it saw 2 and no message, 2: both. */
static void
rs_reader(void *arg)
{
	(void)arg;
	saw[0] = 0;
	if (atomic_u32_load(&y, ACQUIRE) == 2)
		saw[0] = 1 + atomic_u32_load(&x, RELAXED);
}

MODEL_OUTCOMES(rs_rmw, "a read-modify-write goes on with a release sequence",
	       1u << 0 | 1u << 2)
{
	together(rs_writer, rs_add, rs_reader, NULL);
	model_outcome(saw[0]);
}

MODEL_OUTCOMES(rs_rmw_release, "also if it releases", 1u << 0 | 1u << 2)
{
	order[0] = RELEASE;
	together(rs_writer, rs_add, rs_reader, NULL);
	model_outcome(saw[0]);
}

MODEL_OUTCOMES(rs_other_store, "another thread's store ends it", 7)
{
	together(rs_writer, rs_store, rs_reader, NULL);
	model_outcome(saw[0]);
}

MODEL_OUTCOMES(rs_own_store, "so does the same thread's, since C++20", 7)
{
	together(rs_same, rs_reader, NULL, NULL);
	model_outcome(saw[0]);
}

/* Read-modify-writes. */

static void
add_twice(void *arg)
{
	(void)arg;
	atomic_u32_fetch_add(&x, 1, RELAXED);
	atomic_u32_fetch_add(&x, 1, RELAXED);
}

MODEL_OUTCOMES(rmw_atomic, "no addition is lost", 1u << 4)
{
	together(add_twice, add_twice, NULL, NULL);
	model_outcome(atomic_u32_load(&x, RELAXED));
}

static void
swap_first(void *arg)
{
	uint32_t zero = 0;

	(void)arg;
	saw[0] = atomic_u32_cas(&x, &zero, 1, RELAXED, RELAXED);
}

static void
swap_second(void *arg)
{
	uint32_t zero = 0;

	(void)arg;
	saw[1] = atomic_u32_cas(&x, &zero, 1, RELAXED, RELAXED);
}

MODEL_OUTCOMES(cas_one_wins, "one of two swaps succeeds", 1u << 1 | 1u << 2)
{
	together(swap_first, swap_second, NULL, NULL);
	show2();
}

static void
swap_back(void *arg)
{
	(void)arg;
	atomic_u32_store(&x, 1, RELAXED);
	atomic_u32_store(&x, 0, RELAXED);
}

static void
swap_old(void *arg)
{
	uint32_t zero = 0;

	(void)arg;
	passes(0);
	saw[0] = atomic_u32_load(&y, ACQUIRE);
	saw[1] = atomic_u32_cas(&x, &zero, 2, RELAXED, RELAXED);
}

static void
swap_back_tell(void *arg)
{
	swap_back(arg);
	atomic_u32_store(&y, 1, order[0]);
}

MODEL_OUTCOMES(cas_sees_old, "a swap fails on an old value", ALL2)
{
	together(swap_back_tell, swap_old, NULL, NULL);
	show2();
}

MODEL_OUTCOMES(cas_sees_new, "but not if it knows better", ALL2 BUT(2))
{
	order[0] = RELEASE;
	together(swap_back_tell, swap_old, NULL, NULL);
	show2();
}
