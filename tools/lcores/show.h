/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef LCORES_SHOW_H
#define LCORES_SHOW_H

#include <stdio.h>

#include "layout.h"

/* In 80 columns. */
void
show_text(FILE *out, const struct layout *layout);

/* A picture. Returns 0 or -ENOMEM. */
int
show_svg(FILE *out, const struct layout *layout);

/* "2 packages, 2 nodes, ...": what both begin with. */
void
show_summary(FILE *out, const struct layout *layout);

/* "96.0 GiB (not allowed)", "no memory" or "memory not known". */
const char *
show_memory(const struct layout *layout, const struct weir_machine_node *node,
	    char *text, size_t size);

/* Does it say something of hugepages that goes behind that? */
bool
show_has_pages(const struct layout *layout,
	       const struct weir_machine_node *node);

/* "hugepages 1024 x 2 MiB (1000 free), 4 x 1 GiB"; no number: all are. */
void
show_pages(FILE *out, const struct weir_machine_node *node);

/* "note", "warning" or "error". */
const char *
show_severity(enum weir_lcore_map_severity severity);

/* "warning queue-far: what, and what it costs", a line. */
void
show_finding(FILE *out, const struct weir_lcore_map_finding *finding);

/* An lcore's queues, "0.0-3,1.0"; those of one port if it is not -1. */
void
show_queues(FILE *out, const struct weir_lcore_map_lcore *lcore, int port);

/* As show_queues(), into memory that the caller frees; NULL: none there. */
char *
show_queues_text(const struct weir_lcore_map_lcore *lcore, int port);

#endif
