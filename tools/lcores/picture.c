/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include <rte_common.h>

#include "picture.h"

/* Where the next last-level cache goes. */
struct flow {
	int left, right;
	int x, y;
	int bottom; /* of the row */
};

/* The size of a cache's box. */
struct extent {
	int in_row; /* cores */
	int w, h;
};

static int
count_cores(const struct layout *layout, unsigned int begin, unsigned int end)
{
	int n = 0;

	for (; begin < end; begin = layout_end(layout, begin, LAYOUT_CORE))
		n++;
	return n;
}

static void
place_cores(struct picture *picture, const struct picture_box *cache,
	    unsigned int begin, unsigned int end, int in_row)
{
	const struct layout *layout = picture->layout;
	int row_h = PICTURE_GUTTER + (int)layout->core_cpus * PICTURE_CPU_H;
	unsigned int i, core_end;
	int n = 0, j;

	for (i = begin; i < end; n++) {
		core_end = layout_end(layout, i, LAYOUT_CORE);
		for (j = 0; i < core_end; i++, j++)
			picture->cpus[i] = (struct picture_box){
				cache->x + PICTURE_PAD + 1 +
					n % in_row * PICTURE_CORE_PITCH,
				cache->y + PICTURE_CACHE_HEAD +
					n / in_row * row_h + PICTURE_GUTTER +
					j * PICTURE_CPU_H,
				PICTURE_CPU_W,
				PICTURE_CPU_H - 1,
			};
	}
}

static struct extent
cache_extent(const struct layout *layout, unsigned int begin)
{
	unsigned int end = layout_end(layout, begin, LAYOUT_CACHE);
	int cores = count_cores(layout, begin, end);
	int rows = (cores + PICTURE_ROW_CORES - 1) / PICTURE_ROW_CORES;
	int in_row = (cores + rows - 1) / rows;

	return (struct extent){
		.in_row = in_row,
		.w = in_row * PICTURE_CORE_PITCH + PICTURE_PAD + 2,
		.h = PICTURE_CACHE_HEAD + PICTURE_PAD +
		     rows * (PICTURE_GUTTER +
			     (int)layout->core_cpus * PICTURE_CPU_H),
	};
}

/* Returns the end of the cache's CPUs. */
static unsigned int
place_cache(struct picture *picture, struct flow *flow, unsigned int begin)
{
	unsigned int end = layout_end(picture->layout, begin, LAYOUT_CACHE);
	struct extent extent = cache_extent(picture->layout, begin);
	struct picture_box *box = &picture->caches[begin];

	if (flow->x > flow->left && flow->x + extent.w > flow->right) {
		flow->x = flow->left;
		flow->y = flow->bottom + PICTURE_PAD;
	}
	*box = (struct picture_box){ flow->x, flow->y, extent.w, extent.h };
	flow->x += box->w + PICTURE_PAD;
	flow->bottom = RTE_MAX(flow->bottom, box->y + box->h);
	picture->node_w =
		RTE_MAX(picture->node_w, flow->x - flow->left + PICTURE_PAD);
	place_cores(picture, box, begin, end, extent.in_row);
	return end;
}

/* Rows of as many caches each as make their lengths much the same. */
static int
flow_width(const struct layout *layout, int node)
{
	const int most = PICTURE_NODE_W - 2 * PICTURE_PAD;
	unsigned int i;
	int n = 0, w = 0, fit, rows;

	for (i = 0; i < layout->nb_cpus;
	     i = layout_end(layout, i, LAYOUT_CACHE)) {
		if (layout->cpus[i].cpu->node != node)
			continue;
		w = RTE_MAX(w, cache_extent(layout, i).w + PICTURE_PAD);
		n++;
	}
	if (n == 0)
		return most;
	fit = RTE_MAX((most + PICTURE_PAD) / w, 1);
	rows = (n + fit - 1) / fit;
	return (n + rows - 1) / rows * w;
}

/* Returns where the last of the node's devices ends. */
static int
place_nics(struct picture *picture, int node, int y)
{
	const struct weir_machine *machine = picture->layout->machine;
	unsigned int i;

	for (i = 0; i < machine->nb_nics; i++) {
		if (machine->nics[i].node != node)
			continue;
		picture->nics[i] =
			(struct picture_box){ PICTURE_MARGIN, y, PICTURE_NIC_W,
					      PICTURE_NIC_H };
		if (machine->nics[i].interface[0] != '\0')
			picture->nics[i].h += PICTURE_NIC_LINE;
		y += picture->nics[i].h + PICTURE_PAD;
	}
	return y - PICTURE_PAD;
}

/* Returns where it ends; what has neither CPUs nor devices has no box. */
static int
place_node(struct picture *picture, unsigned int place, int node, int y)
{
	const struct layout *layout = picture->layout;
	struct picture_box *box = &picture->nodes[place];
	bool known = node != WEIR_MACHINE_UNKNOWN, some = known;
	struct flow flow;
	unsigned int i;
	int nics_end;

	box->x = PICTURE_MARGIN + PICTURE_NIC_W + PICTURE_CHANNEL;
	box->y = y;
	flow.left = flow.x = box->x + PICTURE_PAD;
	flow.right = flow.left + flow_width(layout, node);
	flow.y = flow.bottom = y + PICTURE_NODE_HEAD;
	for (i = 0; i < layout->nb_cpus;) {
		if (layout->cpus[i].cpu->node != node) {
			i++;
			continue;
		}
		some = true;
		i = place_cache(picture, &flow, i);
	}
	nics_end = place_nics(picture, node, y);
	if (!some && nics_end < y)
		return y;
	box->w = PICTURE_NODE_LEAST;
	box->h = RTE_MAX(flow.bottom + PICTURE_PAD, nics_end) - y;
	return y + box->h + PICTURE_MARGIN;
}

struct picture *
picture_create(const struct layout *layout)
{
	const struct weir_machine *machine = layout->machine;
	struct picture *picture = calloc(1, sizeof(*picture));
	unsigned int i;
	int y = PICTURE_TITLE + PICTURE_MARGIN;

	if (picture == NULL)
		return NULL;
	picture->layout = layout;
	picture->node_w = PICTURE_NODE_LEAST;
	picture->cpus = calloc(layout->nb_cpus, sizeof(*picture->cpus));
	picture->caches = calloc(layout->nb_cpus, sizeof(*picture->caches));
	picture->nodes = calloc(machine->nb_nodes + 1, sizeof(*picture->nodes));
	picture->nics = calloc(machine->nb_nics + 1, sizeof(*picture->nics));
	if (picture->cpus == NULL || picture->caches == NULL ||
	    picture->nodes == NULL || picture->nics == NULL) {
		picture_free(picture);
		return NULL;
	}
	for (i = 0; i < machine->nb_nodes; i++)
		y = place_node(picture, i, (int)machine->nodes[i].id, y);
	y = place_node(picture, machine->nb_nodes, WEIR_MACHINE_UNKNOWN, y);
	for (i = 0; i <= machine->nb_nodes; i++)
		if (picture->nodes[i].w != 0)
			picture->nodes[i].w = picture->node_w;
	picture->legend_y = y;
	picture->width = 2 * PICTURE_MARGIN + PICTURE_NIC_W + PICTURE_CHANNEL +
			 picture->node_w;
	picture->height = y + PICTURE_LEGEND;
	return picture;
}

void
picture_free(struct picture *picture)
{
	if (picture == NULL)
		return;
	free(picture->cpus);
	free(picture->caches);
	free(picture->nodes);
	free(picture->nics);
	free(picture);
}
