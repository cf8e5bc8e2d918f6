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

/* Returns the end of the cache's CPUs. */
static unsigned int
place_cache(struct picture *picture, struct flow *flow, unsigned int begin)
{
	const struct layout *layout = picture->layout;
	unsigned int end = layout_end(layout, begin, LAYOUT_CACHE);
	int cores = count_cores(layout, begin, end);
	int rows = (cores + PICTURE_ROW_CORES - 1) / PICTURE_ROW_CORES;
	int in_row = (cores + rows - 1) / rows;
	struct picture_box *box = &picture->caches[begin];

	box->w = in_row * PICTURE_CORE_PITCH + PICTURE_PAD + 2;
	box->h = PICTURE_CACHE_HEAD + PICTURE_PAD +
		 rows * (PICTURE_GUTTER +
			 (int)layout->core_cpus * PICTURE_CPU_H);
	if (flow->x > flow->left && flow->x + box->w > flow->right) {
		flow->x = flow->left;
		flow->y = flow->bottom + PICTURE_PAD;
	}
	box->x = flow->x;
	box->y = flow->y;
	flow->x += box->w + PICTURE_PAD;
	flow->bottom = RTE_MAX(flow->bottom, box->y + box->h);
	place_cores(picture, box, begin, end, in_row);
	return end;
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
		y += PICTURE_NIC_H + PICTURE_PAD;
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
	flow.right = box->x + PICTURE_NODE_W - PICTURE_PAD;
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
	box->w = PICTURE_NODE_W;
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
	picture->legend_y = y;
	picture->width = 2 * PICTURE_MARGIN + PICTURE_NIC_W + PICTURE_CHANNEL +
			 PICTURE_NODE_W;
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
