/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef TESTPMD_WATCH_H
#define TESTPMD_WATCH_H

/*
 * Watches the links of ports whose PMD does not report changes, and tells the
 * streams; finds out when a port has gone.
 */

struct plan;
struct stream;

/* Notes how things stand, before forwarding. */
void
watch_init(struct plan *plan);

/* Looks once. The main lcore calls it a few times a second. */
void
watch_poll(struct plan *plan, struct stream **streams);

#endif
