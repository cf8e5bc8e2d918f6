/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The machine as a picture, in SVG. Colours are in one style sheet, which knows
 * dark pages too; what a colour says, a mark or a shape says as well.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "escape.h"
#include "picture.h"
#include "show.h"

#define NB_PORT_COLOURS 6
#define QUEUES_MOST 8 /* characters that fit into a CPU's box */

static const char style[] =
	"<style>\n"
	"text { font-family: system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif;"
	" fill: #24303c }\n"
	".h { font-size: 15px; font-weight: 600 }\n"
	".n { font-size: 13px; font-weight: 600 }\n"
	".l { font-size: 11px }\n"
	".s { font-size: 9.5px }\n"
	".q { font-size: 8px; text-anchor: middle }\n"
	".c { font-size: 11px; font-weight: 600; text-anchor: middle }\n"
	".page { fill: #ffffff; stroke: #c9d1d9 }\n"
	".node { fill: #eef2f6; stroke: #aab6c2 }\n"
	".cache { fill: #ffffff; stroke: #cfd7df }\n"
	".nic { fill: #ffffff; stroke: #8795a3 }\n"
	".cpu rect { fill: #dfe5eb; stroke: #c3ccd5 }\n"
	".worker rect { fill: #1a7f4e; stroke: #1a7f4e }\n"
	".worker text, .main text { fill: #ffffff }\n"
	".main rect { fill: #a8620a; stroke: #a8620a }\n"
	".spare rect { fill: #ffffff; stroke: #1a7f4e;"
	" stroke-dasharray: 3 2 }\n"
	".closed rect { fill: none; stroke: #c3ccd5 }\n"
	".closed text { fill: #77838f }\n"
	".offline rect { fill: none; stroke: #aab6c2;"
	" stroke-dasharray: 1.5 2.5 }\n"
	".offline text { fill: #77838f }\n"
	".wire { fill: none; stroke-width: 1.6; stroke-linejoin: round }\n"
	".far { stroke-dasharray: 5 3 }\n"
	".p0 { stroke: #2f81f7 } .p1 { stroke: #d6409f } "
	".p2 { stroke: #8e5bd8 }\n"
	".p3 { stroke: #0b93a8 } .p4 { stroke: #d9620f } "
	".p5 { stroke: #7d8b10 }\n"
	"@media (prefers-color-scheme: dark) {\n"
	"text { fill: #dbe3eb }\n"
	".page { fill: #12171c; stroke: #3a4550 }\n"
	".node { fill: #1b222a; stroke: #4a5764 }\n"
	".cache { fill: #12171c; stroke: #36414c }\n"
	".nic { fill: #12171c; stroke: #71808f }\n"
	".cpu rect { fill: #303b46; stroke: #44515e }\n"
	".worker rect { fill: #3fb27c; stroke: #3fb27c }\n"
	".worker text, .main text { fill: #06140d }\n"
	".main rect { fill: #e3a33d; stroke: #e3a33d }\n"
	".spare rect { fill: #12171c; stroke: #3fb27c }\n"
	".closed rect, .offline rect { fill: none; stroke: #44515e }\n"
	".closed text, .offline text { fill: #8c99a6 }\n"
	"}\n"
	"</style>\n";

static void
draw_box(FILE *out, const char *class, const struct picture_box *box, int round)
{
	fprintf(out,
		"<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" "
		"height=\"%d\" rx=\"%d\"/>\n",
		class, box->x, box->y, box->w, box->h, round);
}

static void
begin_text(FILE *out, const char *class, int x, int y)
{
	fprintf(out, "<text class=\"%s\" x=\"%d\" y=\"%d\">", class, x, y);
}

static void
end_text(FILE *out)
{
	fputs("</text>\n", out);
}

static void
draw_distances(FILE *out, const struct weir_machine *machine, unsigned int node)
{
	unsigned int i;

	if (machine->nb_nodes < 2)
		return;
	fputs(" &#183; distance", out);
	for (i = 0; i < machine->nb_nodes; i++)
		fprintf(out, "%s %u: %u", i == 0 ? " to" : ",",
			machine->nodes[i].id,
			weir_machine_distance(machine, (int)node,
					      (int)machine->nodes[i].id));
}

static void
draw_node(FILE *out, const struct picture *picture, unsigned int place)
{
	const struct layout *layout = picture->layout;
	const struct weir_machine *machine = layout->machine;
	const struct picture_box *box = &picture->nodes[place];
	const struct weir_machine_node *node;
	char memory[64];

	if (box->w == 0)
		return;
	draw_box(out, "node", box, 8);
	begin_text(out, "n", box->x + PICTURE_PAD, box->y + 17);
	if (place == machine->nb_nodes) {
		fputs("node not known", out);
		end_text(out);
		return;
	}
	node = &machine->nodes[place];
	fprintf(out, "node %u", node->id);
	end_text(out);
	begin_text(out, "l", box->x + PICTURE_PAD, box->y + 33);
	fputs(show_memory(layout, node, memory, sizeof(memory)), out);
	if (show_has_pages(layout, node)) {
		fputs(" &#183; ", out);
		show_pages(out, node);
	}
	draw_distances(out, machine, node->id);
	end_text(out);
}

static void
draw_cache(FILE *out, const struct picture *picture, unsigned int begin)
{
	const struct weir_machine_cpu *cpu = picture->layout->cpus[begin].cpu;
	const struct picture_box *box = &picture->caches[begin];

	draw_box(out, "cache", box, 5);
	begin_text(out, "s", box->x + PICTURE_PAD, box->y + 13);
	if (cpu->cache == WEIR_MACHINE_UNKNOWN)
		fputs("cores", out);
	else
		fprintf(out, "cache %d", cpu->cache);
	if (cpu->package != WEIR_MACHINE_UNKNOWN && box->w > 120)
		fprintf(out, " &#183; package %d", cpu->package);
	end_text(out);
}

static void
draw_nic(FILE *out, const struct picture *picture, unsigned int place)
{
	const struct layout *layout = picture->layout;
	const struct weir_machine_nic *nic = &layout->machine->nics[place];
	const struct picture_box *box = &picture->nics[place];
	int port = -1;

	if (layout->map != NULL)
		port = layout_port(layout->map, layout->machine, nic);
	draw_box(out, "nic", box, 5);
	begin_text(out, "n", box->x + PICTURE_PAD, box->y + 16);
	fputs(port < 0 ? "network device" : "", out);
	if (port >= 0)
		fprintf(out, "port %d", port);
	end_text(out);
	begin_text(out, "l", box->x + PICTURE_PAD, box->y + 30);
	escape_xml(out, nic->address);
	end_text(out);
	begin_text(out, "s", box->x + PICTURE_PAD, box->y + 43);
	fprintf(out, "%04x:%04x ", nic->vendor, nic->device);
	escape_xml(out, nic->driver);
	end_text(out);
	if (nic->interface[0] == '\0')
		return;
	begin_text(out, "s", box->x + PICTURE_PAD,
		   box->y + 43 + PICTURE_NIC_LINE);
	escape_xml(out, nic->interface);
	end_text(out);
}

static const char *
cpu_class(const struct layout_cpu *c)
{
	static const char *const roles[] = { "cpu", "cpu spare", "cpu main",
					     "cpu worker" };

	if (!c->cpu->online)
		return "cpu offline";
	if (c->role == LAYOUT_NONE && !c->cpu->allowed)
		return "cpu closed";
	return roles[c->role];
}

/* The number of queues where they do not fit. */
static void
draw_queues(FILE *out, const struct weir_lcore_map_lcore *lcore,
	    const struct picture_box *box)
{
	char *text = show_queues_text(lcore, -1);

	begin_text(out, "q", box->x + box->w / 2, box->y + 23);
	if (text != NULL && strlen(text) <= QUEUES_MOST)
		fputs(text, out);
	else
		fprintf(out, "%u rx", lcore->nb_queues);
	end_text(out);
	free(text);
}

static void
draw_cpu(FILE *out, const struct picture *picture, unsigned int place)
{
	const struct layout_cpu *c = &picture->layout->cpus[place];
	const struct picture_box *box = &picture->cpus[place];
	bool queues = c->lcore != NULL && c->lcore->nb_queues > 0;

	fprintf(out,
		"<g class=\"%s\"><rect x=\"%d\" y=\"%d\" width=\"%d\" "
		"height=\"%d\" rx=\"3\"/>",
		cpu_class(c), box->x, box->y, box->w, box->h);
	begin_text(out, "c", box->x + box->w / 2, box->y + (queues ? 13 : 18));
	fprintf(out, "%u", c->cpu->id);
	if (c->cpu->isolated || c->cpu->tick_free)
		fprintf(out, "<tspan class=\"q\" dy=\"-3\">%s%s</tspan>",
			c->cpu->isolated ? "i" : "",
			c->cpu->tick_free ? "t" : "");
	end_text(out);
	if (queues)
		draw_queues(out, c->lcore, box);
	fputs("</g>\n", out);
}

/* Is the CPU on another node than the device? */
static bool
is_far(const struct weir_machine_nic *nic, const struct weir_machine_cpu *cpu)
{
	return nic->node != cpu->node && nic->node != WEIR_MACHINE_UNKNOWN &&
	       cpu->node != WEIR_MACHINE_UNKNOWN;
}

/* From the device of a port to a CPU; neighbouring ports' lines lie apart. */
static void
draw_wire(FILE *out, const struct picture *picture, unsigned int port,
	  unsigned int place)
{
	const struct layout *layout = picture->layout;
	const struct layout_cpu *c = &layout->cpus[place];
	const struct picture_box *cpu = &picture->cpus[place], *nic;
	const struct weir_machine_nic *device;
	int shift = (int)(port % NB_PORT_COLOURS), gutter;
	unsigned int core = place;

	device = layout_nic(layout->map, layout->machine, port);
	if (device == NULL)
		return;
	nic = &picture->nics[device - layout->machine->nics];
	/* The top of the core, of which this CPU may not be the first. */
	while (core > 0 && layout_end(layout, core - 1, LAYOUT_CORE) > place)
		core--;
	gutter = picture->cpus[core].y - 3 - shift * 2;
	fprintf(out,
		"<path class=\"wire p%d%s\" d=\"M%d %dH%dV%dH%dV%dH%d\">"
		"<title>port %u: ",
		shift, is_far(device, c->cpu) ? " far" : "", nic->x + nic->w,
		nic->y + nic->h / 2, nic->x + nic->w + 5 + shift * 5, gutter,
		cpu->x - 5 + shift / 2, cpu->y + cpu->h / 2, cpu->x, port);
	show_queues(out, c->lcore, (int)port);
	fprintf(out, " on lcore %u</title></path>\n", c->lcore->lcore);
}

/* One for each of its ports. An lcore of several CPUs has them at the first. */
static void
draw_wires(FILE *out, const struct picture *picture, unsigned int place)
{
	const struct layout_cpu *c = &picture->layout->cpus[place];
	const struct weir_lcore_map_lcore *lcore = c->lcore;
	unsigned int i, j;

	if (lcore == NULL || layout_lcore_cpu(lcore) != c->cpu->id)
		return;
	for (i = 0; i < lcore->nb_queues; i++) {
		for (j = 0; j < i; j++)
			if (lcore->queues[j].port == lcore->queues[i].port)
				break;
		if (j == i)
			draw_wire(out, picture, lcore->queues[i].port, place);
	}
}

static void
draw_swatch(FILE *out, int *x, int y, const char *class, const char *text)
{
	fprintf(out,
		"<g class=\"cpu %s\"><rect x=\"%d\" y=\"%d\" width=\"22\" "
		"height=\"14\" rx=\"3\"/></g>\n",
		class, *x, y);
	begin_text(out, "l", *x + 28, y + 11);
	fprintf(out, "%s", text);
	end_text(out);
	*x += 28 + (int)strlen(text) * 6 + 22;
}

static void
draw_line(FILE *out, int *x, int y, const char *class, const char *text)
{
	fprintf(out, "<path class=\"wire p0%s\" d=\"M%d %dh22\"/>\n", class, *x,
		y + 7);
	begin_text(out, "l", *x + 28, y + 11);
	fprintf(out, "%s", text);
	end_text(out);
	*x += 28 + (int)strlen(text) * 6 + 22;
}

static void
draw_legend(FILE *out, const struct picture *picture)
{
	int x = PICTURE_MARGIN, y = picture->legend_y;

	if (picture->layout->map != NULL) {
		draw_swatch(out, &x, y, "worker", "worker");
		draw_swatch(out, &x, y, "main", "main lcore");
		draw_swatch(out, &x, y, "spare", "spare lcore");
	}
	draw_swatch(out, &x, y, "", "CPU that is free");
	draw_swatch(out, &x, y, "closed", "not allowed");
	draw_swatch(out, &x, y, "offline", "offline");
	x = PICTURE_MARGIN;
	y += 24;
	if (picture->layout->map != NULL) {
		draw_line(out, &x, y, "", "receive queues of a port");
		draw_line(out, &x, y, " far", "from another node");
	}
	begin_text(out, "l", x, y + 11);
	fputs("0.2-3: queues 2 to 3 of port 0 &#183; i: isolated &#183; "
	      "t: no tick (nohz_full)",
	      out);
	end_text(out);
}

static void
draw_head(FILE *out, const struct picture *picture)
{
	struct picture_box page = { 0, 0, picture->width, picture->height };

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" "
		"viewBox=\"-1 -1 %d %d\" width=\"%d\" role=\"img\">\n<title>",
		picture->width + 2, picture->height + 2, picture->width + 2);
	show_summary(out, picture->layout);
	fprintf(out, "</title>\n%s", style);
	draw_box(out, "page", &page, 10);
	begin_text(out, "h", PICTURE_MARGIN, 28);
	show_summary(out, picture->layout);
	end_text(out);
}

int
show_svg(FILE *out, const struct layout *layout)
{
	struct picture *picture = picture_create(layout);
	unsigned int i;

	if (picture == NULL)
		return -ENOMEM;
	draw_head(out, picture);
	for (i = 0; i <= layout->machine->nb_nodes; i++)
		draw_node(out, picture, i);
	for (i = 0; i < layout->nb_cpus; i++)
		if (picture->caches[i].w != 0)
			draw_cache(out, picture, i);
	for (i = 0; i < layout->nb_cpus; i++)
		draw_wires(out, picture, i);
	for (i = 0; i < layout->nb_cpus; i++)
		draw_cpu(out, picture, i);
	for (i = 0; i < layout->machine->nb_nics; i++)
		draw_nic(out, picture, i);
	draw_legend(out, picture);
	fputs("</svg>\n", out);
	picture_free(picture);
	return 0;
}
