/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef LCORES_PICTURE_H
#define LCORES_PICTURE_H

/*
 * Where things are in the picture. Nodes are boxes one below the other, with
 * their last-level caches in rows, in which the CPUs of a core are stacked;
 * network devices are at the left of their node. The lines from a device to
 * CPUs run through the channel beside the nodes, the gutter above a row of
 * cores, and the gap at the left of a core.
 */

#include "layout.h"

enum picture_size {
	PICTURE_MARGIN = 14,
	PICTURE_PAD = 8,
	PICTURE_TITLE = 34,
	PICTURE_NIC_W = 144,
	PICTURE_NIC_H = 50,
	PICTURE_NIC_LINE = 12, /* more for an interface's name */
	PICTURE_CHANNEL = 36,
	PICTURE_NODE_W = 880, /* at most */
	PICTURE_NODE_LEAST = 640,
	PICTURE_NODE_HEAD = 42,
	PICTURE_CACHE_HEAD = 17,
	PICTURE_GUTTER = 16,
	PICTURE_CPU_W = 38,
	PICTURE_CPU_H = 28,
	PICTURE_CORE_PITCH = 45,
	PICTURE_ROW_CORES = 16,
	PICTURE_LEGEND = 52,
};

struct picture_box {
	int x, y, w, h;
};

struct picture {
	const struct layout *layout;
	int width, height;
	int node_w;
	int legend_y;
	struct picture_box *cpus; /* by their place in the layout */
	/* By the place of their first CPU; others have no width. */
	struct picture_box *caches;
	/* By place in the machine; the last is for what is on no known node. */
	struct picture_box *nodes;
	struct picture_box *nics; /* by their place in the machine */
};

/* The layout stays the caller's. NULL: no memory. */
struct picture *
picture_create(const struct layout *layout);

void
picture_free(struct picture *picture);

#endif
