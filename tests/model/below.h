/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MODEL_BELOW_H
#define MODEL_BELOW_H

/*
 * What lies below the library, for models of workers: the linker puts it in
 * place of the functions that it is named after (--wrap, see meson.build). Time
 * stands still. Inline functions of DPDK's, such as those of its rings and of
 * rte_rcu_qsbr, are its own.
 */

#include <stdbool.h>
#include <stdint.h>

#define BELOW_FILES 4

/* A look at memory as it is, for vthread_wait(): no access of any thread's. */
#define BELOW_LOOK __attribute__((no_sanitize("thread")))

/* The fd of a file that can be written to, and be waited for, as an eventfd. */
int
below_file(unsigned int i);

/* Do short sleeps end by events only, as long ones? */
extern bool below_sleeps_last;

/* An interrupt: the next wait for that fd ends, and says `data`. */
void
below_interrupt(int fd, void *data);

/*
 * below_epoll.c: a file to be put into the one epoll set that there is, and it
 * becomes ready, for good.
 */
int
below_fd(unsigned int i);
void
below_fd_ready(int fd);

#endif
