/* SPDX-License-Identifier: BSD-3-Clause */

#include "unit.h"

#include <stdlib.h>

#include <rte_cycles.h>

#include "base/common.h"
#include "park/grace.h"

#define READERS 2u

/* Readers, which come by while the waiter sleeps: this thread's, all of them. */
static struct {
	struct rte_rcu_qsbr *qsbr;
	unsigned int naps;
	unsigned int after[READERS]; /* so many of them */
	bool leave;		     /* by going offline */
} readers;

void
__wrap_rte_delay_us_sleep(unsigned int us);

void
__wrap_rte_delay_us_sleep(unsigned int us)
{
	unsigned int i;

	assert_int_not_equal(us, 0);
	readers.naps++;
	for (i = 0; i < READERS; i++)
		if (readers.after[i] == readers.naps) {
			if (readers.leave)
				rte_rcu_qsbr_thread_offline(readers.qsbr, i);
			else
				rte_rcu_qsbr_quiescent(readers.qsbr, i);
		}
}

static int
setup(void **state)
{
	size_t size =
		RTE_ALIGN(rte_rcu_qsbr_get_memsize(READERS), WEIR_CACHE_LINE);
	unsigned int i;

	memset(&readers, 0, sizeof(readers));
	readers.qsbr = aligned_alloc(WEIR_CACHE_LINE, size);
	if (readers.qsbr == NULL ||
	    rte_rcu_qsbr_init(readers.qsbr, READERS) != 0)
		return -1;
	for (i = 0; i < READERS; i++) {
		rte_rcu_qsbr_thread_register(readers.qsbr, i);
		rte_rcu_qsbr_thread_online(readers.qsbr, i);
		/* From before the wait, so it does not count. */
		rte_rcu_qsbr_quiescent(readers.qsbr, i);
	}
	return 0;
}

static int
teardown(void **state)
{
	free(readers.qsbr);
	return 0;
}

static void
nobody_is_awaited_who_reads_nothing(void **state)
{
	unsigned int i;

	for (i = 0; i < READERS; i++)
		rte_rcu_qsbr_thread_offline(readers.qsbr, i);
	weir__grace_period(readers.qsbr);
	assert_int_equal(readers.naps, 0);
}

/* They could have the waiter's CPU. */
static void
waiter_sleeps_until_all_have_come_by(void **state)
{
	readers.after[0] = 5;
	readers.after[1] = 2;
	weir__grace_period(readers.qsbr);
	assert_int_equal(readers.naps, 5);
}

static void
waiter_sleeps_until_all_have_left(void **state)
{
	readers.after[0] = 1;
	readers.after[1] = 3;
	readers.leave = true;
	weir__grace_period(readers.qsbr);
	assert_int_equal(readers.naps, 3);
}

/* What one wait has come to is no answer to the next. */
static void
each_wait_awaits_them_anew(void **state)
{
	readers.after[0] = readers.after[1] = 1;
	weir__grace_period(readers.qsbr);
	readers.after[0] = readers.after[1] = 4;
	weir__grace_period(readers.qsbr);
	assert_int_equal(readers.naps, 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nobody_is_awaited_who_reads_nothing),
		TEST(waiter_sleeps_until_all_have_come_by),
		TEST(waiter_sleeps_until_all_have_left),
		TEST(each_wait_awaits_them_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
