/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Ports with a receive queue: packets of some flows arrive by the clock, wait
 * in a queue of a few places, and raise interrupts if asked to. A packet gets
 * its number when there was room for it, so from there on none may be missing
 * and none may overtake another of its flow.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <rte_epoll.h>

#include "sim.h"
#include "weir_source_driver.h"

#define QUEUE_MAX 32
#define ROUNDS_MAX 400
/*
 * A worker that believes in an interrupt which never comes sleeps for so long
 * (UNTRUSTED_NS of source_sleep.c), and as long again while others keep it from
 * its step.
 */
#define BELIEF_CYCLES (2 * 10 * (KERNEL_HZ / 1000))

struct port {
	unsigned int rt;
	void *priv; /* NULL: there is none */
	bool gone;  /* nothing comes any more */
	unsigned int to_come;
	uint64_t next; /* when */
	uint64_t gap;  /* between two bursts, on average */
	struct packet queue[QUEUE_MAX];
	unsigned int first, n, room;
	unsigned int nb_flows;
	uint32_t accepted[FLOWS_MAX];
	uint32_t delivered[FLOWS_MAX];
	uint64_t dropped;
	bool inside; /* its driver's functions */

	int fd;
	struct rte_epoll_event event;
	bool enabled; /* the interrupt */
	bool liar;    /* it never comes */
	uint64_t lateness;
	uint64_t raise_at;	 /* UINT64_MAX: not raised */
	uint64_t ready_since;	 /* round */
	uint64_t believed_since; /* UINT64_MAX: nobody sleeps beside its lie */
};

static struct port ports[SOURCES_MAX];
static uint64_t next_at; /* see traffic_next() */

void
traffic_reset(void)
{
	memset(ports, 0, sizeof(ports));
	next_at = UINT64_MAX;
}

static struct port *
port_of(void *priv)
{
	return &ports[*(unsigned int *)priv];
}

/* There will be nothing more. */
static bool
is_dry(const struct port *p)
{
	return p->to_come == 0;
}

static void
enter(struct port *p)
{
	if (p->inside)
		virtual_failed("S1: two threads are in a source's driver");
	p->inside = true;
	sim_step("rx");
}

static int
port_poll(void *priv)
{
	struct port *p = port_of(priv);
	int ready;

	enter(p);
	ready = p->n > 0 || is_dry(p);
	p->inside = false;
	return ready;
}

static int
port_sleep(void *priv, int epfd)
{
	struct port *p = port_of(priv);
	int rc;

	enter(p);
	p->event.epdata.event = EPOLLIN;
	p->event.epdata.data = weir_source_of(priv);
	rc = rte_epoll_ctl(epfd, EPOLL_CTL_ADD, p->fd, &p->event);
	if (rc != 0 || p->enabled)
		virtual_failed("N1: a source sleeps twice");
	p->enabled = true;
	p->raise_at = UINT64_MAX;
	p->inside = false;
	return 0;
}

static void
port_wake(void *priv)
{
	struct port *p = port_of(priv);

	enter(p);
	if (!p->enabled)
		virtual_failed("N1: a source wakes that has not slept");
	p->enabled = false;
	rte_epoll_ctl(p->event.epfd, EPOLL_CTL_DEL, p->fd, &p->event);
	p->inside = false;
}

/* Some let others than their worker poll them, some cannot wake it. */
#define PORT_OPS(flags_, sleep_, wake_)                             \
	{                                                           \
		.name = "port", .flags = flags_, .poll = port_poll, \
		.sleep = sleep_, .wake = wake_                      \
	}
static const struct weir_source_ops port_ops[] = {
	PORT_OPS(WEIR_SOURCE_ANY_THREAD, port_sleep, port_wake),
	PORT_OPS(0, port_sleep, port_wake),
	PORT_OPS(WEIR_SOURCE_ANY_THREAD, NULL, NULL),
};

struct weir_source *
traffic_source(unsigned int i)
{
	return ports[i].priv != NULL ? weir_source_of(ports[i].priv) : NULL;
}

unsigned int
traffic_rt(unsigned int i)
{
	return ports[i].rt;
}

void
traffic_close(unsigned int i)
{
	struct port *p = &ports[i];

	p->gone = true;
	weir_source_close(weir_source_of(p->priv), ENODEV);
	if (p->enabled)
		virtual_failed("N1: port %u is closed, and a worker sleeps on "
			       "it",
			       i);
}

static void
arrive(struct port *p)
{
	unsigned int flow = any(p->nb_flows);

	p->to_come--;
	if (p->gone || p->n == p->room) {
		p->dropped++;
		seen[SEEN_DROPPED_PACKETS]++;
		return;
	}
	p->queue[(p->first + p->n++) % QUEUE_MAX] =
		(struct packet){ (uint8_t)flow, p->accepted[flow]++ };
}

static void
raise_interrupt(struct port *p)
{
	if (p->enabled && !p->liar && p->raise_at == UINT64_MAX)
		p->raise_at = kernel_now() + p->lateness;
}

static void
advance_port(struct port *p, uint64_t now)
{
	unsigned int burst;

	if (p->to_come > 0 && now >= p->next) {
		for (burst = 1 + any(8); burst > 0 && p->to_come > 0; burst--)
			arrive(p);
		p->next = now + 1 + any((unsigned int)(2 * p->gap));
		raise_interrupt(p);
	}
	if (now >= p->raise_at) {
		p->raise_at = UINT64_MAX;
		if (p->enabled)
			kernel_file_signal(p->fd);
	}
}

static void
find_next(void)
{
	unsigned int i;

	next_at = UINT64_MAX;
	for (i = 0; i < sim.plan.nb_sources; i++) {
		if (ports[i].priv == NULL)
			continue;
		if (ports[i].to_come > 0)
			next_at = RTE_MIN(next_at, ports[i].next);
		next_at = RTE_MIN(next_at, ports[i].raise_at);
	}
}

uint64_t
traffic_next(void)
{
	return next_at;
}

void
traffic_advance(void)
{
	uint64_t now = kernel_now();
	unsigned int i;

	if (now < next_at)
		return;
	for (i = 0; i < sim.plan.nb_sources; i++)
		if (ports[i].priv != NULL)
			advance_port(&ports[i], now);
	find_next();
}

bool
traffic_open(unsigned int i, unsigned int rt)
{
	struct port *p = &ports[i];
	unsigned int *priv;

	p->rt = rt;
	p->to_come = 5 + any(100);
	p->gap = 1 + any(3) * any(20000) + any(2000);
	p->next = kernel_now() + any(20000);
	p->room = 1u << any(6);
	p->nb_flows = 1 + any(FLOWS_MAX);
	p->liar = one_in(8);
	p->lateness = one_in(2) ? 0 : any(50000);
	p->raise_at = UINT64_MAX;
	p->ready_since = UINT64_MAX;
	p->believed_since = UINT64_MAX;
	p->fd = kernel_file_open();
	priv = weir_source_create(sim.rt[rt], &port_ops[any(3)],
				  any(sim.plan.nb_workers[rt]), sizeof(*priv));
	if (priv == NULL) {
		close(p->fd);
		return false;
	}
	*priv = i;
	p->priv = priv;
	find_next();
	return true;
}

static bool
is_for_any_thread(const struct port *p)
{
	return (weir_source_of(p->priv)->ops->flags & WEIR_SOURCE_ANY_THREAD) !=
	       0;
}

void
traffic_free(unsigned int i)
{
	struct port *p = &ports[i];
	struct weir_source_stats stats;

	if (p->priv == NULL)
		return;
	if (weir_source_of(p->priv)->error == 0)
		virtual_failed("port %u is open after the shutdown", i);
	weir_source_stats_get(weir_source_of(p->priv), &stats);
	if (stats.rescues != 0 && !is_for_any_thread(p))
		virtual_failed("port %u: another worker has served it", i);
	p->gone = true;
	weir_source_free(p->priv);
	p->priv = NULL;
	find_next();
	if (p->enabled)
		virtual_failed("N1: a source is freed that sleeps");
	close(p->fd);
}

int
traffic_recv(struct weir_context *ctx, unsigned int i, struct packet *packets,
	     unsigned int n)
{
	struct port *p = &ports[i];
	unsigned int got = 0;
	int rc;

	rc = weir_source_wait_begin(ctx, p->priv);
	if (rc < 0 && rc != WEIR_PENDING)
		virtual_failed("a wait ends with %d before it looks", rc);
	if (rc < 0)
		return rc;
	if (rc == 0)
		enter(p);
	while (got < n && p->n > 0) {
		packets[got++] = p->queue[p->first];
		p->first = (p->first + 1) % QUEUE_MAX;
		p->n--;
	}
	p->inside = false;
	if (got == 0 && rc > 0)
		return weir_source_wait_fail(p->priv);
	if (got == 0 && !is_dry(p))
		return weir_source_wait_arm(ctx, p->priv);
	weir_source_wait_ready(ctx, p->priv, got + 1);
	return (int)got;
}

void
traffic_deliver(unsigned int i, const struct packet *packet)
{
	struct port *p = &ports[i];
	uint32_t expected = p->delivered[packet->flow]++;

	seen[SEEN_DELIVERED]++;
	if (packet->seq != expected)
		virtual_failed("order: port %u, flow %u: packet %u where %u "
			       "was due",
			       i, packet->flow, packet->seq, expected);
}

/* Does a task wait for what is there? */
static bool
is_awaited(const struct port *p)
{
	return p->priv != NULL && !sim.ending[p->rt] &&
	       weir_source_of(p->priv)->waiter != NULL &&
	       (p->n > 0 || is_dry(p));
}

bool
source_home_sleeps(const struct weir_source *src)
{
	const struct source_set *home = src->set.v;

	return home->sleeper->asleep.v != 0;
}

/* Its worker sleeps, and nothing but the time will wake it. */
static bool
is_believed(struct port *p)
{
	if (!p->liar || !source_home_sleeps(weir_source_of(p->priv))) {
		p->believed_since = UINT64_MAX;
		return false;
	}
	if (p->believed_since == UINT64_MAX)
		p->believed_since = kernel_now();
	return kernel_now() - p->believed_since < BELIEF_CYCLES;
}

void
traffic_check_round(uint64_t round)
{
	unsigned int i;

	for (i = 0; i < sim.plan.nb_sources; i++) {
		struct port *p = &ports[i];

		if (!is_awaited(p) || sim.plan.current_thread[p->rt])
			p->ready_since = UINT64_MAX;
		else if (is_believed(p) || p->ready_since == UINT64_MAX)
			p->ready_since = round;
		else if (round - p->ready_since > ROUNDS_MAX)
			virtual_failed("L1: port %u has %u packets, and its "
				       "waiter sleeps since %d rounds",
				       i, p->n, ROUNDS_MAX);
	}
}

void
traffic_check_quiet(void)
{
	unsigned int i;

	for (i = 0; i < sim.plan.nb_sources; i++) {
		const struct port *p = &ports[i];

		if (is_awaited(p) && !p->liar && p->raise_at == UINT64_MAX &&
		    source_home_sleeps(weir_source_of(p->priv)))
			virtual_failed("N2: port %u has %u packets for its "
				       "waiter, and its worker sleeps",
				       i, p->n);
	}
}

/* All packets that were accepted have come to the end, or lie in the queue. */
void
traffic_check_end(unsigned int i, uint32_t between)
{
	const struct port *p = &ports[i];
	uint32_t accepted = 0, delivered = 0;
	unsigned int f;

	for (f = 0; f < p->nb_flows; f++) {
		accepted += p->accepted[f];
		delivered += p->delivered[f];
	}
	if (accepted != delivered + p->n + between)
		virtual_failed("port %u: of %u packets, %u were delivered, "
			       "%u are in its queue, %u under way",
			       i, accepted, delivered, p->n, between);
}
