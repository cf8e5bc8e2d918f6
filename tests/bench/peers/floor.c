/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * No peer but a bound: what this machine takes for the memory and the atomics of
 * a scenario without a runtime. There are no queues that others look into, no
 * counters, clocks, budgets or sources here; nothing can be stolen, stopped or
 * listed.
 *
 *	floor SCENARIO WORKERS
 *
 * prints a sample as ../sched.c does. A task has the two cache lines of Weir's
 * smallest. Others may wake or cancel it at any time, so it takes a swap of its
 * state to be woken, to begin a turn, to wait and to end, and a channel one for
 * each operation: these are counted below, and made on words that nobody else
 * has. A task that yields keeps its turn, which takes no swap: a note that it does,
 * and a look at its state before it goes on. Who waits for what runs next needs
 * none of it.
 */

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CELLS 10000u
#define JOINS 50000u
#define DEPTH 1000u
#define YIELDERS 200u
#define YIELDS 1000u
#define PARTNERS 1000u
#define TRIPS 100u
#define TIMERS 100000u
#define SLEEP_WORDS 6u
#define LEAST_NS UINT64_C(100000000)
#define RANGE_NS UINT64_C(900000000)
#define WAITERS 1000000u
#define SPINS 99968u /* whole bunches */
#define BUNCH 64u
#define AHEAD 4u
#define FAN_ROUNDS 9u
#define SEED UINT64_C(88172645463325252)
#define SPIN_STEPS 470u
#define WAKES 100000u
#define ROUNDS_NS UINT64_C(400000000)
#define MOST_ROUNDS 10000u

struct cell {
	_Alignas(128) atomic_uint_fast64_t state;
	void (*run)(struct cell *);
	struct cell *next;
	atomic_uint_fast64_t kept; /* its turn, while it is in the queue */
	uint64_t rest[12];
};

_Static_assert(sizeof(struct cell) == 128, "two lines");

static struct cell cells[2 * CELLS];
static struct cell *unused;

static uint64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* One change of a state word that others might change too. */
static inline void
swap(atomic_uint_fast64_t *state)
{
	uint_fast64_t old = atomic_load_explicit(state, memory_order_acquire);

	while (!atomic_compare_exchange_weak(state, &old, old + 64))
		;
}

static inline void
swaps(atomic_uint_fast64_t *state, unsigned int n)
{
	while (n-- > 0)
		swap(state);
}

static void
nothing(struct cell *c)
{
	c->rest[11]++;
}

/* Fills in a new task. */
static inline void
begin(struct cell *c)
{
	/* In two: of more than 64 bytes gcc makes a string instruction, which is slower. */
	memset(c->rest, 0, 64);
	memset(&c->rest[8], 0, sizeof(c->rest) - 64);
	atomic_store_explicit(&c->state, 0, memory_order_relaxed);
	atomic_store_explicit(&c->kept, 0, memory_order_relaxed);
	/* The compiler is not to know what it runs. */
	*(void (*volatile *)(struct cell *)) & c->run = nothing;
}

static inline struct cell *
spawn(void)
{
	struct cell *c = unused;

	unused = c->next;
	begin(c);
	return c;
}

static inline void
end(struct cell *c)
{
	c->next = unused;
	unused = c;
}

/* Begins a turn, and ends. */
static inline void
run(struct cell *c)
{
	swap(&c->state);
	c->run(c);
	swap(&c->state);
}

static double
spawn_local(void)
{
	static struct cell *joins[CELLS];
	unsigned int i;

	for (i = 0; i < CELLS; i++)
		joins[i] = spawn();
	for (i = 0; i < CELLS; i++)
		run(joins[i]);
	for (i = 0; i < CELLS; i++)
		end(joins[i]);
	return CELLS;
}

/* The one that awaits looks again. */
static double
spawn_join(void)
{
	struct cell *driver = spawn(), *c;
	unsigned int i;

	for (i = 0; i < JOINS; i++) {
		c = spawn();
		run(c);
		driver->run(driver);
		end(c);
	}
	end(driver);
	return JOINS;
}

static double
chained_spawn(void)
{
	struct cell *c = spawn(), *next;
	unsigned int i;

	for (i = 0; i < DEPTH; i++) {
		next = spawn();
		run(c);
		end(c);
		c = next;
	}
	end(c);
	return DEPTH;
}

/* A turn of a task that yields: it goes on, and keeps the next. */
static inline void
run_again(struct cell *c)
{
	(void)atomic_load_explicit(&c->state, memory_order_acquire);
	c->run(c);
	atomic_store_explicit(&c->kept, 1, memory_order_relaxed);
}

static double
yield_many(void)
{
	static struct cell *tasks[YIELDERS];
	unsigned int i, j;

	for (i = 0; i < YIELDERS; i++)
		tasks[i] = spawn();
	for (j = 0; j < YIELDS; j++) {
		for (i = 0; i < YIELDERS; i++)
			run_again(tasks[i]);
	}
	for (i = 0; i < YIELDERS; i++)
		end(tasks[i]);
	return (double)YIELDERS * YIELDS;
}

/*
 * A and B, and two oneshots with a swap for one of their ends: who comes second
 * finds the other gone. A looks again.
 */
static double
ping_pong_oneshot(void)
{
	struct cell *a, *b, *there, *back;
	unsigned int i;

	for (i = 0; i < PARTNERS; i++) {
		a = spawn();
		there = spawn();
		back = spawn();
		b = spawn();
		swap(&a->state);
		a->run(a);
		swap(&there->state);
		run(b);
		swap(&back->state);
		a->run(a);
		swap(&a->state);
		end(there);
		end(back);
		end(b);
		end(a);
	}
	return PARTNERS;
}

/* Either side receives and sends, and looks again behind the other. */
static double
ping_pong_chan(void)
{
	struct cell *side[2], *channel[2];
	unsigned int i, j, k;

	for (i = 0; i < PARTNERS; i++) {
		for (k = 0; k < 2; k++) {
			side[k] = spawn();
			channel[k] = spawn();
		}
		for (j = 0; j < TRIPS; j++) {
			for (k = 0; k < 2; k++) {
				side[k]->run(side[k]);
				swap(&channel[!k]->state);
				swap(&channel[k]->state);
			}
		}
		for (k = 0; k < 2; k++) {
			end(side[k]);
			end(channel[k]);
		}
	}
	return (double)PARTNERS * TRIPS;
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

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Weir's task of this scenario has two lines, too: a timer lies in its state. */
static struct cell sleepers[TIMERS];
static uint64_t due[TIMERS];  /* ns from when all wait */
static uint64_t late[TIMERS]; /* cycles */

static int
by_due(const void *a, const void *b)
{
	uint64_t x = due[*(const uint32_t *)a], y = due[*(const uint32_t *)b];

	return (x > y) - (x < y);
}

/* The order in which timers of random times are due. */
static const uint32_t *
order_of_timers(void)
{
	static uint32_t order[TIMERS];
	uint64_t x = UINT64_C(88172645463325252);
	unsigned int i;

	for (i = 0; i < TIMERS; i++) {
		x = spin(x, 1);
		due[i] = LEAST_NS + x % RANGE_NS;
		order[i] = i;
	}
	qsort(order, TIMERS, sizeof(order[0]), by_due);
	return order;
}

/* What a CPU counts its time by. */
static uint64_t
cycles(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#else
	uint64_t n;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(n));
	return n;
#endif
}

static double
cycles_per_ns(void)
{
	uint64_t ns = now_ns(), began = cycles(), until = ns + ROUNDS_NS;
	uint64_t end;

	do
		end = now_ns();
	while (end < until);
	return (double)(cycles() - began) / (double)(end - ns);
}

static int
by_cycles(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Fetches what its turn will touch. */
static void
fetch(const struct cell *c)
{
	unsigned int i;

	for (i = 0; i < sizeof(*c); i += 64)
		__builtin_prefetch((const char *)c + i, 1);
}

/*
 * Each task begins a turn and waits, in the order in which they lie in memory;
 * at its time it is woken, begins another and ends. No wheel: the order in which
 * they are due is known before. Until a time comes this does nothing but look at
 * the clock, so how late it is then is how late the machine made it.
 */
static void
timers(void)
{
	const uint32_t *order = order_of_timers();
	const double rate = cycles_per_ns();
	uint64_t began, now, at, busy;
	struct cell *c;
	unsigned int i;

	/* The memory is there. */
	memset(sleepers, 1, sizeof(sleepers));
	memset(late, 1, sizeof(late));
	began = cycles();
	for (i = 0; i < TIMERS; i++) {
		begin(&sleepers[i]);
		swaps(&sleepers[i].state, 2);
	}
	now = cycles();
	busy = now - began;
	began = now;
	for (i = 0; i < TIMERS; i++) {
		c = &sleepers[order[i]];
		fetch(c);
		at = began + (uint64_t)((double)due[order[i]] * rate);
		while ((now = cycles()) < at)
			;
		late[i] = now - at;
		swaps(&c->state, 2);
		c->run(c);
		swap(&c->state);
		busy += cycles() - now;
	}
	qsort(late, TIMERS, sizeof(late[0]), by_cycles);
	printf("figures %.4f %.4f %.4f\n", (double)busy / rate / TIMERS,
	       (double)late[TIMERS / 2] / rate / 1e3,
	       (double)late[TIMERS / 100 * 99] / rate / 1e3);
}

/* A look at the clock, and a note where the deadline lies: nobody looks for it. */
static double
timer_reset(void)
{
	static atomic_uint_fast64_t deadlines[TIMERS][SLEEP_WORDS];
	uint64_t x = SEED;
	unsigned int i;

	for (i = 0; i < TIMERS; i++) {
		x = spin(x, 1);
		atomic_store_explicit(deadlines[x % TIMERS], cycles() + x,
				      memory_order_relaxed);
	}
	return TIMERS;
}

static double
rss_now(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	if (f == NULL || fscanf(f, "%*u %lu", &pages) != 1)
		exit(1);
	fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE);
}

/* Tasks that are there, and nothing else. */
static double
memory(void)
{
	double before = rss_now(), each;
	struct cell *all =
		aligned_alloc(_Alignof(struct cell), WAITERS * sizeof(*all));
	unsigned int i;

	if (all == NULL)
		exit(1);
	for (i = 0; i < WAITERS; i++)
		begin(&all[i]);
	each = (rss_now() - before) / WAITERS;
	free(all);
	return each;
}

static inline void
pause_cpu(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Of those that this program may use. */
static void
run_on_nth_cpu(unsigned int nth)
{
	cpu_set_t all, one;
	int cpu;

	if (sched_getaffinity(getpid(), sizeof(all), &all) < 0)
		exit(1);
	nth %= (unsigned int)CPU_COUNT(&all);
	CPU_ZERO(&one);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && nth-- == 0)
			CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		exit(1);
}

static struct cell *fan;
/* How many of them there are; how many have been taken, and how many have ended. */
static _Alignas(128) atomic_uint made;
static _Alignas(128) atomic_uint taken;
static _Alignas(128) atomic_uint ended;
/* Workers that have come to the start of a round. Of all rounds, as all of these. */
static _Alignas(128) atomic_uint ready;
static unsigned int nb_workers;
static double took[FAN_ROUNDS]; /* ns */

static uint64_t
spin_for(struct cell *c, uint64_t x)
{
	unsigned int i;

	for (i = 0; i < BUNCH; i++) {
		if (c != NULL)
			run(&c[i]);
		x = spin(x, SPIN_STEPS);
	}
	/* So that what is spun counts. */
	if (x == 0)
		exit(1);
	return x;
}

/* Takes a bunch and runs it. False: there is none. */
static bool
run_bunch(void)
{
	unsigned int i = atomic_load(&taken);

	do {
		if (i == atomic_load_explicit(&made, memory_order_acquire))
			return false;
	} while (!atomic_compare_exchange_weak(&taken, &i, i + BUNCH));
	spin_for(&fan[i % SPINS], SEED);
	atomic_fetch_add(&ended, BUNCH);
	return true;
}

static void
run_bunches(unsigned int round)
{
	while (atomic_load(&ended) != (round + 1) * SPINS)
		if (!run_bunch())
			pause_cpu();
}

/* Has some bunches ahead of those who run them, of whom it is one. */
static void
make_bunches(unsigned int round)
{
	unsigned int n = round * SPINS, end_of_round = n + SPINS, i;

	while (n < end_of_round) {
		if (n - atomic_load(&taken) >= AHEAD * BUNCH && run_bunch())
			continue;
		for (i = 0; i < BUNCH; i++)
			begin(&fan[n++ % SPINS]);
		atomic_store_explicit(&made, n, memory_order_release);
	}
	run_bunches(round);
	/* Each comes back. */
	for (i = 0; i < SPINS; i++) {
		(void)atomic_load_explicit(&fan[i].state, memory_order_acquire);
		end(&fan[i]);
	}
}

static void *
be_worker(void *arg)
{
	unsigned int me = (unsigned int)(uintptr_t)arg, i;
	uint64_t since;

	run_on_nth_cpu(me);
	for (i = 0; i < FAN_ROUNDS; i++) {
		atomic_fetch_add(&ready, 1);
		while (atomic_load(&ready) < (i + 1) * nb_workers)
			pause_cpu();
		since = now_ns();
		if (me == 0)
			make_bunches(i);
		else
			run_bunches(i);
		if (me == 0)
			took[i] = (double)(now_ns() - since);
	}
	return NULL;
}

static double
spin_alone(void)
{
	uint64_t since = now_ns(), x = SEED;
	unsigned int i;

	for (i = 0; i < SPINS; i += BUNCH)
		x = spin_for(NULL, x);
	return (double)(now_ns() - since);
}

/*
 * What is had of the CPUs at once, of what one gives for the spins alone. The worker
 * that makes the tasks is one of those that run them, and has each of them back.
 */
static double
fan_out_steal(unsigned int workers)
{
	double alone = spin_alone();
	pthread_t threads[8];
	unsigned int i;

	fan = aligned_alloc(_Alignof(struct cell), SPINS * sizeof(*fan));
	if (fan == NULL)
		exit(1);
	nb_workers = workers;
	for (i = 0; i < workers; i++)
		pthread_create(&threads[i], NULL, be_worker,
			       (void *)(uintptr_t)i);
	for (i = 0; i < workers; i++)
		pthread_join(threads[i], NULL);
	free(fan);
	qsort(took, FAN_ROUNDS, sizeof(took[0]), by_size);
	return alone / workers / took[FAN_ROUNDS / 2];
}

/* A task that is bound to a CPU, which looks at its state and at nothing else. */
static _Alignas(128) struct cell sides[2];
static _Alignas(128) atomic_uint_fast64_t turn;

/* In the state, whose other bits swap() changes. */
#define WOKEN UINT64_C(1)

static void
wake(struct cell *c)
{
	uint_fast64_t old =
		atomic_load_explicit(&c->state, memory_order_acquire);

	while (!atomic_compare_exchange_weak(&c->state, &old, old | WOKEN))
		;
}

/* Each turn wakes the other side. */
static void
take_turns(unsigned int me)
{
	struct cell *c = &sides[me];
	uint_fast64_t old;
	unsigned int i;

	for (i = 0; i < WAKES; i++) {
		/* Slower with a pause. */
		do
			old = atomic_load_explicit(&c->state,
						   memory_order_acquire);
		while (!(old & WOKEN));
		while (!atomic_compare_exchange_weak(&c->state, &old,
						     old & ~WOKEN))
			;
		atomic_store_explicit(&turn, turn + 1, memory_order_release);
		wake(&sides[!me]);
		/* It waits again, and is looked at. */
		swaps(&c->state, 2);
	}
}

static void *
be_side(void *arg)
{
	unsigned int me = (unsigned int)((struct cell *)arg - sides);

	run_on_nth_cpu(me);
	take_turns(me);
	return NULL;
}

/* The two ends of a trip. */
static double
cross_wake(void)
{
	pthread_t threads[2];
	unsigned int i;

	/* Or the last wake of the round before is still there. */
	wake(&sides[0]);
	for (i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, be_side, &sides[i]);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return WAKES;
}

static const struct {
	const char *name;
	double (*round)(void); /* returns how many of the unit it took */
} scenarios[] = {
	{ "spawn_local", spawn_local },
	{ "spawn_join", spawn_join },
	{ "chained_spawn", chained_spawn },
	{ "yield_many", yield_many },
	{ "ping_pong_oneshot", ping_pong_oneshot },
	{ "ping_pong_chan", ping_pong_chan },
	{ "cross_wake", cross_wake },
	{ "timer_reset", timer_reset },
};

static double
median_round(double (*round)(void))
{
	static double figures[MOST_ROUNDS];
	uint64_t until, begin;
	unsigned int n = 0;
	double units;

	round();
	until = now_ns() + ROUNDS_NS;
	do {
		begin = now_ns();
		units = round();
		figures[n++] = (double)(now_ns() - begin) / units;
	} while (now_ns() < until && n < MOST_ROUNDS);
	qsort(figures, n, sizeof(figures[0]), by_size);
	return figures[n / 2];
}

int
main(int argc, char **argv)
{
	unsigned int workers, i;

	if (argc != 3)
		return 2;
	workers = (unsigned int)strtoul(argv[2], NULL, 10);
	if (workers == 0 || workers > 8)
		return 2;
	if (strcmp(argv[1], "fan_out_steal") == 0) {
		printf("figures %.4f\n", fan_out_steal(workers));
		return 0;
	}
	if (strcmp(argv[1], "memory") == 0) {
		printf("figures %.4f\n", memory());
		return 0;
	}
	if (strcmp(argv[1], "timers") == 0) {
		timers();
		return 0;
	}
	for (i = 0; i < 2 * CELLS; i++)
		end(&cells[i]);
	for (i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		if (strcmp(scenarios[i].name, argv[1]) != 0)
			continue;
		printf("figures %.4f\n", median_round(scenarios[i].round));
		return 0;
	}
	return 2;
}
