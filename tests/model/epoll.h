/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef MODEL_EPOLL_H
#define MODEL_EPOLL_H

/* A file to be put into the one epoll set that there is; see epoll.c. */
int
epoll_file(void);

/* It becomes ready, for good. */
void
epoll_file_ready(void);

#endif
