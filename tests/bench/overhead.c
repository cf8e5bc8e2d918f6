/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What does something cost that a forwarder has beside its packets?
 *
 *	overhead [EAL options with two ports] -- FORM SECONDS BUDGET
 *
 * One worker forwards between the two ports, so many packets a turn. FORM says what else
 * there is:
 *
 *	fd	a task that waits for a file descriptor which is never ready
 *	metrics	histograms, and a thread that reads all counts ten times a second
 *
 * Runtimes with it and without it take short turns, for so many seconds each, in
 * one process: two processes differ by more than what is looked for. So do some places
 * in a page that the stack may be at, with the packets' addresses on it: each pair of
 * turns is at another (Mytkowicz et al., ASPLOS 2009).
 *
 * Prints one line: the packets received a second with it, and without.
 */

#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "base/atomic.h"
#include <weir.h>
#include <weir_ethdev.h>
#include <weir_fd.h>

#define PORTS 2u
#define BURST 32u
#define DESCRIPTORS 1024u
#define MBUFS 8192u
#define MBUF_CACHE 256u
#define TX_TIMEOUT_US 100000u
#define WARM_UP_S 0.02
#define TURN_S 0.1

/* Lines of a page, and a step that has no divisor in common with them. */
#define PLACES (4096u / RTE_CACHE_LINE_SIZE)
#define PLACE_STEP 27u

static struct rte_mempool *pool;
/* Bytes by which the stack is deeper. Set while there is no runtime. */
static size_t depth;
static struct atomic_ptr deepest; /* for the compiler not to leave that out */

static void
must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "overhead: %s\n", what);
	exit(1);
}

static int
forward(struct weir_context *ctx, void *state)
{
	atomic_ptr_store(&deepest, alloca(depth), RELAXED);
	return weir_forward(ctx, state);
}

static const struct weir_task_ops forward_ops = {
	.name = "forward",
	.state_size = sizeof(struct weir_forward),
	.poll = forward,
};

static int
wait_ready(struct weir_context *ctx, void *state)
{
	struct weir_fd *f = *(struct weir_fd **)state;
	int rc = weir_fd_wait(ctx, f, EPOLLIN);

	return rc == WEIR_PENDING ? rc : WEIR_DONE;
}

static const struct weir_task_ops wait_ready_ops = {
	.name = "wait_ready",
	.state_size = sizeof(struct weir_fd *),
	.poll = wait_ready,
};

static void
port_start(uint16_t port)
{
	const struct rte_eth_conf conf = { 0 };

	must(rte_eth_dev_configure(port, 1, 1, &conf) == 0 &&
		     rte_eth_rx_queue_setup(port, 0, DESCRIPTORS, SOCKET_ID_ANY,
					    NULL, pool) == 0 &&
		     rte_eth_tx_queue_setup(port, 0, DESCRIPTORS, SOCKET_ID_ANY,
					    NULL) == 0 &&
		     rte_eth_dev_start(port) == 0,
	     "a port does not start");
}

static void
ports_start(void)
{
	uint16_t i;

	pool = rte_pktmbuf_pool_create("pool", MBUFS, MBUF_CACHE, 0,
				       RTE_MBUF_DEFAULT_BUF_SIZE,
				       SOCKET_ID_ANY);
	must(pool != NULL, "no pool");
	for (i = 0; i < PORTS; i++)
		port_start(i);
}

static void
spawn(struct weir_runtime *rt, const struct weir_task_ops *ops,
      const void *state)
{
	struct weir_join *join = weir_task_spawn(rt, ops, state, NULL);

	must(join != NULL, "no task");
	weir_join_detach(join);
}

static void
streams_start(struct weir_runtime *rt, struct weir_forward *streams)
{
	uint16_t i;

	for (i = 0; i < PORTS; i++) {
		streams[i] = (struct weir_forward){ .burst = BURST };
		streams[i].rxq = weir_rxq_create(rt, i, 0, 0, BURST);
		must(streams[i].rxq != NULL, "no receive queue");
	}
	for (i = 0; i < PORTS; i++) {
		streams[i].txq = weir_txq_create(i ^ 1, 0, TX_TIMEOUT_US);
		must(streams[i].txq != NULL, "no transmit queue");
		spawn(rt, &forward_ops, &streams[i]);
	}
}

static uint64_t
received(void)
{
	struct rte_eth_stats stats;
	uint64_t sum = 0;
	uint16_t i;

	for (i = 0; i < PORTS; i++) {
		must(rte_eth_stats_get(i, &stats) == 0, "no statistics");
		sum += stats.ipackets;
	}
	return sum;
}

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Looks at all that is counted, as whoever watches a runtime does. */
static void
look(struct weir_runtime *rt, struct weir_histogram *histogram)
{
	struct weir_worker_stats worker;
	struct weir_runtime_stats all;

	weir_runtime_stats_get(rt, &all);
	must(weir_worker_stats_get(rt, 0, &worker) == 0 &&
		     weir_worker_histogram_get(rt, 0, WEIR_HISTOGRAM_POLL,
					       histogram) == 0,
	     "no statistics");
}

/* The set and the fd of the form "fd"; all NULL in others. */
struct idle_fd {
	struct weir_fd_set *set;
	struct weir_fd *fd;
	int raw;
};

static void
idle_fd_start(struct weir_runtime *rt, struct idle_fd *idle)
{
	idle->raw = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	idle->set = weir_fd_set_create(rt, 0, 0);
	must(idle->raw >= 0 && idle->set != NULL, "no set of fds");
	idle->fd = weir_fd_create(idle->set, idle->raw, 0);
	must(idle->fd != NULL, "no fd");
	spawn(rt, &wait_ready_ops, &idle->fd);
}

static void
idle_fd_stop(struct idle_fd *idle)
{
	weir_fd_free(idle->fd);
	weir_fd_set_free(idle->set);
	if (idle->raw >= 0)
		close(idle->raw);
}

static struct weir_runtime *
runtime_create(bool histograms, unsigned int budget)
{
	struct weir_options options;
	struct weir_runtime *rt;

	weir_options_init(&options);
	options.nb_workers = 1;
	options.histograms = histograms;
	options.budget = budget;
	rt = weir_runtime_create(&options);
	must(rt != NULL, "no runtime");
	return rt;
}

static void
sleep_for(double seconds)
{
	const struct timespec pause = { .tv_nsec = (long)(seconds * 1e9) };

	nanosleep(&pause, NULL);
}

struct rate {
	uint64_t packets;
	double seconds;
};

static void
count(struct weir_runtime *rt, bool metrics, struct rate *rate)
{
	static struct weir_histogram histogram;
	uint64_t before;
	double begin;

	sleep_for(WARM_UP_S);
	before = received();
	begin = now();
	if (metrics)
		look(rt, &histogram);
	sleep_for(TURN_S);
	rate->packets += received() - before;
	rate->seconds += now() - begin;
}

static void
take_turn(bool fd, bool metrics, unsigned int budget, struct rate *rate)
{
	struct weir_forward streams[PORTS];
	struct idle_fd idle = { .raw = -1 };
	struct weir_runtime *rt = runtime_create(metrics, budget);
	uint16_t i;

	if (fd)
		idle_fd_start(rt, &idle);
	streams_start(rt, streams);
	count(rt, metrics, rate);
	must(weir_runtime_shutdown(rt, UINT64_MAX, NULL) == 0, "no clean end");
	idle_fd_stop(&idle);
	for (i = 0; i < PORTS; i++) {
		weir_txq_free(streams[i].txq);
		weir_rxq_free(streams[i].rxq);
	}
	weir_runtime_free(rt);
}

static double
mpps(const struct rate *rate)
{
	return (double)rate->packets / rate->seconds / 1e6;
}

int
main(int argc, char **argv)
{
	struct rate with = { 0 }, without = { 0 };
	bool fd, metrics;
	double seconds;
	unsigned int turn, budget;
	int used;
	uint16_t i;

	used = rte_eal_init(argc, argv);
	if (used < 0 || argc - used != 4)
		return 2;
	fd = strcmp(argv[used + 1], "fd") == 0;
	metrics = strcmp(argv[used + 1], "metrics") == 0;
	seconds = strtod(argv[used + 2], NULL);
	budget = (unsigned int)strtoul(argv[used + 3], NULL, 10);
	if ((!fd && !metrics) || !(seconds > 0) || budget == 0 ||
	    rte_eth_dev_count_avail() != PORTS)
		return 2;
	ports_start();
	for (turn = 0; with.seconds < seconds; turn++) {
		depth = (1 + turn * PLACE_STEP % PLACES) * RTE_CACHE_LINE_SIZE;
		take_turn(fd, metrics, budget, &with);
		take_turn(false, false, budget, &without);
	}
	printf("received %.4f Mpps, without %.4f Mpps\n", mpps(&with),
	       mpps(&without));
	for (i = 0; i < PORTS; i++)
		rte_eth_dev_stop(i);
	rte_eal_cleanup();
	return 0;
}
