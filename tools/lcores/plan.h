/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef LCORES_PLAN_H
#define LCORES_PLAN_H

/*
 * What is suggested: which CPUs become the main lcore and workers, and which of
 * these polls which queue.
 */

#include <rte_config.h>

#include <weir_machine.h>

/* How good a CPU is for a worker: the next step is for when one is used up. */
enum plan_step {
	PLAN_CORE,	  /* a core of its own */
	PLAN_BESIDE_MAIN, /* the main lcore is on the core's other CPU */
	PLAN_SIBLING,	  /* another worker is */
	PLAN_ON_MAIN,	  /* the main lcore is on the same CPU */
	PLAN_STEPS,
};

struct plan_request {
	unsigned int workers; /* in all; 0: as many as are of use */
	unsigned int queues;  /* a port; 0: as many as are of use */
	double mpps;	      /* a port; 0: not known */
	double core_mpps;
};

struct plan_port {
	const struct weir_machine_nic *nic; /* NULL: on no PCI bus */
	int node;			    /* its own, or unknown */
	unsigned int group;		    /* whose workers poll it */
	unsigned int wanted; /* workers of its own, 0: shares the group's */
};

struct plan_worker {
	const struct weir_machine_cpu *cpu;
	enum plan_step step;
	unsigned int lcore;
	unsigned int group;
	int port; /* whose queues it is for; -1: the group's */
	unsigned int nb_queues;
};

/* The CPUs of a node, and what is wanted of them. */
struct plan_group {
	int node;
	unsigned int room[PLAN_STEPS]; /* CPUs by step, before any is taken */
	unsigned int apart; /* of PLAN_CORE, on CPUs that were set apart */
	unsigned int ports;
	unsigned int needed; /* workers, for the load or the queues */
	unsigned int workers;
};

/* A CPU that the process may use. */
struct plan_place {
	const struct weir_machine_cpu *cpu;
	unsigned int core;  /* first place of the same core */
	unsigned int cache; /* first place of the same cache, or node */
	bool used;
	bool has_zero; /* the core has CPU 0 */
	/* At the first place of a core: */
	bool has_main;
	unsigned int core_workers;
	/* At the first place of a cache: */
	unsigned int cache_workers;
	unsigned int cache_free; /* for the pick at hand */
};

struct plan {
	const struct weir_machine *machine;
	struct plan_request request;
	unsigned int nb_places;
	struct plan_place *places;
	unsigned int nb_groups;
	struct plan_group *groups;
	unsigned int nb_ports;
	struct plan_port ports[RTE_MAX_ETHPORTS];
	unsigned int main; /* its place */
	unsigned int main_lcore;
	unsigned int nb_workers;
	struct plan_worker workers[RTE_MAX_LCORE];
	unsigned int queues; /* a port */
	/* The worker of each queue. */
	uint16_t owner[RTE_MAX_ETHPORTS][RTE_MAX_QUEUES_PER_PORT];
};

/*
 * The CPUs by node, with one of them set aside for the main lcore.
 *
 * Returns NULL: no memory. There may be no places, then nothing else is done.
 */
struct plan *
plan_create(const struct weir_machine *machine,
	    const struct plan_request *request);

void
plan_free(struct plan *plan);

/* A port; NULL: on no PCI bus. At most RTE_MAX_ETHPORTS. */
void
plan_add_port(struct plan *plan, const struct weir_machine_nic *nic);

/* Workers that there can be, at most. */
unsigned int
plan_room(const struct plan *plan);

/* Queues that a core can do, by the load; 0: not even one. */
unsigned int
plan_queues_a_core(const struct plan *plan);

/* Decides on workers and queues, once all ports are there. */
void
plan_make(struct plan *plan);

/*
 * Makes the best free CPU of the group a worker, for a port that wants `need`
 * of them from here on. Returns -ENOENT: none is free.
 */
int
plan_pick(struct plan *plan, unsigned int group, enum plan_step most, int port,
	  unsigned int need);

#endif
