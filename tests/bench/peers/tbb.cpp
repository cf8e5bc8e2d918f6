// SPDX-License-Identifier: BSD-3-Clause

// The scenarios of the scheduler that oneTBB has a like of: a sample, as
// ../sched.c prints it.
//
//	tbb SCENARIO WORKERS

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <semaphore.h>
#include <string>
#include <vector>

#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

using clock_type = std::chrono::steady_clock;

static double
ns_since(clock_type::time_point begin)
{
	return std::chrono::duration<double, std::nano>(clock_type::now() -
							begin)
		.count();
}

static uint64_t
spin(uint64_t x, unsigned int n)
{
	while (n-- > 0) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

static double
spawn_local(unsigned int)
{
	const unsigned int tasks = 10000;
	auto begin = clock_type::now();
	tbb::task_group group;

	for (unsigned int i = 0; i < tasks; i++)
		group.run([] {});
	group.wait();
	return ns_since(begin) / tasks;
}

static double
spawn_join(unsigned int)
{
	const unsigned int pairs = 50000;
	auto begin = clock_type::now();
	tbb::task_group group;

	for (unsigned int i = 0; i < pairs; i++) {
		group.run([] {});
		group.wait();
	}
	return ns_since(begin) / pairs;
}

static void
link(tbb::task_group &group, unsigned int left)
{
	if (left > 0)
		group.run([&group, left] { link(group, left - 1); });
}

static double
chained_spawn(unsigned int)
{
	const unsigned int links = 1000;
	auto begin = clock_type::now();
	tbb::task_group group;

	link(group, links);
	group.wait();
	return ns_since(begin) / links;
}

static double
fan_out_steal(unsigned int workers)
{
	const unsigned int tasks = 100000, steps = 470, spins = 2000;
	static std::atomic<uint64_t> kept;
	auto begin = clock_type::now();
	tbb::task_group group;
	uint64_t x = 1;
	double cost;

	for (unsigned int i = 0; i < spins; i++)
		x = spin(x, steps);
	kept = x;
	cost = ns_since(begin) / spins;
	begin = clock_type::now();
	for (uint64_t i = 1; i <= tasks; i++)
		group.run([i] {
			if (spin(i, steps) == 0)
				kept = 1;
		});
	group.wait();
	return tasks * cost / workers / ns_since(begin);
}

// Workers only: the thread that enqueues has no place in the arena.
static double
spawn_remote(unsigned int workers)
{
	const unsigned int tasks = 10000;
	static tbb::task_arena arena(static_cast<int>(workers), 0);
	static std::atomic<unsigned int> left;
	static sem_t done;

	sem_init(&done, 0, 0);
	left = tasks;
	auto begin = clock_type::now();
	for (unsigned int i = 0; i < tasks; i++)
		arena.enqueue([] {
			if (--left == 0)
				sem_post(&done);
		});
	while (sem_wait(&done) != 0)
		;
	return ns_since(begin) / tasks;
}

int
main(int argc, char **argv)
{
	const std::map<std::string, double (*)(unsigned int)> scenarios = {
		{ "spawn_local", spawn_local },
		{ "spawn_remote", spawn_remote },
		{ "spawn_join", spawn_join },
		{ "chained_spawn", chained_spawn },
		{ "fan_out_steal", fan_out_steal },
	};
	const double warm_up_ns = 1e8, measure_ns = 4e8;
	std::vector<double> values;

	if (argc != 3 || scenarios.count(argv[1]) == 0)
		return 2;
	auto round = scenarios.at(argv[1]);
	bool remote = strcmp(argv[1], "spawn_remote") == 0;
	unsigned int workers =
		static_cast<unsigned int>(strtoul(argv[2], nullptr, 10));
	// The thread that waits takes part, but where it is a stranger.
	tbb::global_control limit(
		tbb::global_control::max_allowed_parallelism,
		workers + (remote ? 1 : 0));
	tbb::task_arena arena(static_cast<int>(workers));
	auto rounds = [&](double least) {
		auto begin = clock_type::now();

		values.clear();
		do
			values.push_back(remote ? round(workers) :
						  arena.execute([&] {
							  return round(workers);
						  }));
		while (ns_since(begin) < least);
	};

	rounds(warm_up_ns);
	rounds(measure_ns);
	std::sort(values.begin(), values.end());
	printf("figures %.4f\n", values[values.size() / 2]);
	return 0;
}
