/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What happens to a whole port: it disappears, or its link changes. The PMD
 * reports that on EAL's interrupt thread, or the application by calling the
 * same functions.
 *
 * P1 An entry is on the list from creation to the beginning of its queue's
 *    end; both take the mutex, so a report never meets a freed source.
 * P2 Of queues whose interrupt is the same fd, the first sleeps by it and the
 *    others are polled: it is in one worker's epoll set at a time, and ethdev says
 *    to the second that all is well.
 * P3 Nobody waits for the mutex or for a source in a PMD's receive function, whose
 *    caller has a source, nor in a transmit function, whose caller may have one
 *    (forward.c). PMDs report events there too.
 */

/* For rte_eth_dev_conf_get(). */
#define ALLOW_EXPERIMENTAL_API

#include <errno.h>
#include <pthread.h>

#include <rte_alarm.h>
#include <rte_ethdev.h>

#include "port.h"
#include "weir_ethdev.h"
#include "weir_runtime.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static TAILQ_HEAD(, rxq_entry) entries = TAILQ_HEAD_INITIALIZER(entries);
static TAILQ_HEAD(, txq_entry) tx_entries = TAILQ_HEAD_INITIALIZER(tx_entries);

/* Tells the sources of a port; with `close` they end. */
static void
tell(uint16_t port, int error, bool close)
{
	struct rxq_entry *e;

	pthread_mutex_lock(&mutex);
	TAILQ_FOREACH(e, &entries, link) {
		if (e->port != port)
			continue;
		if (close)
			weir_source_close(e->source, error);
		else
			weir_source_alert(e->source, error);
	}
	pthread_mutex_unlock(&mutex);
}

static void
tell_gone(void *port)
{
	weir_port_gone((uint16_t)(uintptr_t)port);
}

static void
tell_down(void *port)
{
	weir_port_link((uint16_t)(uintptr_t)port, false);
}

/* P3. Without memory for the alarm it goes untold. */
static void
tell_outside(void (*tell_of)(void *port), uint16_t port)
{
	void *arg = (void *)(uintptr_t)port;

	if (weir_worker_current() != WEIR_WORKER_NONE)
		rte_eal_alarm_set(1, tell_of, arg);
	else
		tell_of(arg);
}

static int
on_removal(uint16_t port, enum rte_eth_event_type event, void *arg, void *ret)
{
	RTE_SET_USED(event);
	RTE_SET_USED(arg);
	RTE_SET_USED(ret);
	tell_outside(tell_gone, port);
	return 0;
}

static int
on_link(uint16_t port, enum rte_eth_event_type event, void *arg, void *ret)
{
	struct rte_eth_link link;

	RTE_SET_USED(event);
	RTE_SET_USED(arg);
	RTE_SET_USED(ret);
	if (rte_eth_link_get_nowait(port, &link) == 0 &&
	    link.link_status != RTE_ETH_LINK_UP)
		tell_outside(tell_down, port);
	return 0;
}

static bool
is_first_of_port(uint16_t port)
{
	struct rxq_entry *e;

	TAILQ_FOREACH(e, &entries, link)
		if (e->port == port)
			return false;
	return true;
}

static bool
is_known(uint16_t port, uint16_t queue)
{
	struct rxq_entry *e;

	TAILQ_FOREACH(e, &entries, link)
		if (e->port == port && e->queue == queue)
			return true;
	return false;
}

/* P2 */
static bool
is_others_interrupt(const struct rxq_entry *e)
{
	const struct rxq_entry *other;
	int fd;

	TAILQ_FOREACH(other, &entries, link) {
		if (other->port != e->port || other->no_interrupt != NULL)
			continue;
		fd = rte_eth_dev_rx_intr_ctl_q_get_fd(e->port, e->queue);
		if (fd >= 0 && fd == rte_eth_dev_rx_intr_ctl_q_get_fd(
					     e->port, other->queue))
			return true;
	}
	return false;
}

static const char *
look_for_interrupt(const struct rxq_entry *e)
{
	struct rte_eth_conf conf;

	if (rte_eth_dev_conf_get(e->port, &conf) < 0 || conf.intr_conf.rxq == 0)
		return "without intr_conf.rxq";
	return is_others_interrupt(e) ? "with another's interrupt" : NULL;
}

static void
stop_watching(uint16_t port)
{
	rte_eth_dev_callback_unregister(port, RTE_ETH_EVENT_INTR_RMV,
					on_removal, NULL);
	rte_eth_dev_callback_unregister(port, RTE_ETH_EVENT_INTR_LSC, on_link,
					NULL);
}

static int
start_watching(uint16_t port)
{
	int rc;

	rc = rte_eth_dev_callback_register(port, RTE_ETH_EVENT_INTR_RMV,
					   on_removal, NULL);
	if (rc == 0)
		rc = rte_eth_dev_callback_register(port, RTE_ETH_EVENT_INTR_LSC,
						   on_link, NULL);
	if (rc < 0)
		stop_watching(port);
	return rc;
}

int
weir__port_add(struct rxq_entry *e, struct weir_source *source, uint16_t port,
	       uint16_t queue)
{
	int rc = 0;

	e->source = source;
	e->port = port;
	e->queue = queue;
	pthread_mutex_lock(&mutex);
	if (is_known(port, queue))
		rc = -EBUSY;
	else if (is_first_of_port(port))
		rc = start_watching(port);
	if (rc == 0) {
		e->no_interrupt = look_for_interrupt(e);
		TAILQ_INSERT_TAIL(&entries, e, link);
	}
	pthread_mutex_unlock(&mutex);
	return rc;
}

void
weir__port_remove(struct rxq_entry *e)
{
	pthread_mutex_lock(&mutex);
	TAILQ_REMOVE(&entries, e, link);
	if (is_first_of_port(e->port))
		stop_watching(e->port);
	pthread_mutex_unlock(&mutex);
}

static bool
is_shared(uint16_t port)
{
	struct rte_eth_conf conf;

	return rte_eth_dev_conf_get(port, &conf) == 0 &&
	       (conf.txmode.offloads & RTE_ETH_TX_OFFLOAD_MT_LOCKFREE) != 0;
}

static bool
is_known_tx(uint16_t port, uint16_t queue)
{
	struct txq_entry *e;

	TAILQ_FOREACH(e, &tx_entries, link)
		if (e->port == port && e->queue == queue)
			return true;
	return false;
}

int
weir__port_add_tx(struct txq_entry *e, uint16_t port, uint16_t queue)
{
	int rc = 0;

	e->port = port;
	e->queue = queue;
	pthread_mutex_lock(&mutex);
	if (is_known_tx(port, queue) && !is_shared(port))
		rc = -EBUSY;
	else
		TAILQ_INSERT_TAIL(&tx_entries, e, link);
	pthread_mutex_unlock(&mutex);
	return rc;
}

void
weir__port_remove_tx(struct txq_entry *e)
{
	pthread_mutex_lock(&mutex);
	TAILQ_REMOVE(&tx_entries, e, link);
	pthread_mutex_unlock(&mutex);
}

void
weir_port_gone(uint16_t port)
{
	tell(port, ENODEV, true);
}

void
weir_port_link(uint16_t port, bool up)
{
	/* Tasks find out that a link is back by receiving packets. */
	if (!up)
		tell(port, ENETDOWN, false);
}
