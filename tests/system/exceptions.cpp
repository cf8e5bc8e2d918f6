/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Fibers in C++ that wait while they handle exceptions, and while these are on their
 * way: each goes on with its own. Says so at the end, or fails.
 *
 * Usage: exceptions EAL-OPTIONS
 */

#include <cerrno>
#include <cstdio>
#include <exception>

#include <rte_eal.h>
#include <weir.h>

namespace
{

constexpr int FIBERS = 32;
constexpr int ROUNDS = 10;

struct thrower {
	struct weir_fiber fiber;
	int id;
};

/* Waits in the middle of being unwound. */
struct waits_at_its_end {
	struct weir_fiber *fiber;
	int *wrong;

	~waits_at_its_end()
	{
		if (std::uncaught_exceptions() != 1 ||
		    weir_fiber_yield(fiber) < 0 ||
		    std::uncaught_exceptions() != 1)
			++*wrong;
	}
};

/* Those of one round: of them, the inner is handled while the outer still is. */
int
handle_two(struct weir_fiber *f, int outer)
{
	int wrong = 0;

	try {
		waits_at_its_end on_the_way = { f, &wrong };
		throw outer;
	} catch (int first) {
		if (weir_fiber_yield(f) < 0)
			wrong++;
		try {
			try {
				throw outer + 1;
			} catch (int) {
				if (weir_fiber_yield(f) < 0)
					wrong++;
				throw;
			}
		} catch (int second) {
			wrong += second != outer + 1;
		}
		if (weir_fiber_yield(f) < 0)
			wrong++;
		try {
			throw;
		} catch (int again) {
			wrong += again != first || again != outer;
		}
	}
	return wrong + (std::current_exception() != nullptr);
}

int
run(struct weir_fiber *f, void *state)
{
	const thrower *t = static_cast<thrower *>(state);

	for (int i = 0; i < ROUNDS; i++) {
		if (handle_two(f, 1000 * t->id + 10 * i) != 0)
			return -EILSEQ;
	}
	return 0;
}

struct weir_task_ops
thrower_ops()
{
	struct weir_task_ops ops = {};

	ops.name = "thrower";
	ops.state_size = sizeof(thrower);
	ops.poll = weir_fiber_poll;
	ops.drop = weir_fiber_drop;
	return ops;
}

const struct weir_task_ops ops = thrower_ops();

int
throw_in_all(struct weir_runtime *rt)
{
	struct weir_join *joins[FIBERS];
	int failed = 0;

	for (int i = 0; i < FIBERS; i++) {
		thrower t = {};

		t.fiber.run = run;
		t.id = i;
		joins[i] = weir_task_spawn(rt, &ops, &t, nullptr);
		failed += joins[i] == nullptr;
	}
	for (struct weir_join *join : joins)
		failed += join != nullptr &&
			  weir_join_wait(join, nullptr) != 0;
	return failed;
}

} // namespace

int
main(int argc, char **argv)
{
	struct weir_runtime *rt;
	int failed;

	if (rte_eal_init(argc, argv) < 0)
		return 2;
	rt = weir_runtime_create(nullptr);
	if (rt == nullptr)
		return 2;
	failed = throw_in_all(rt);
	weir_runtime_free(rt);
	rte_eal_cleanup();
	if (failed == 0)
		std::printf("exceptions: each fiber had its own\n");
	else
		std::fprintf(stderr, "exceptions: %d fibers lost theirs\n",
			     failed);
	return failed != 0;
}
