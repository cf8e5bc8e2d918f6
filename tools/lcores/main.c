/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * weir-lcores: shows the machine, checks lcore maps against it, suggests and
 * compares them. EAL is not started, so it needs neither hugepages nor rights.
 */

#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "commands.h"
#include "error.h"
#include "output.h"
#include "show.h"
#include "status.h"

/* Closes a file that was written; the line says which option named it. */
static int
close_output(FILE *out, const char *option, const char *name)
{
	bool failed = ferror(out) != 0;

	errno = 0;
	if (fclose(out) != 0 || failed)
		return REFUSE(STATUS_TROUBLE, "%s%s: %s", option, name,
			      errno != 0 ? strerror(errno) : "cannot write");
	return STATUS_OK;
}

static int
show_to(const struct options *o, const struct layout *layout)
{
	FILE *out = stdout;
	int rc = STATUS_OK;

	if (o->svg == NULL) {
		show_text(stdout, layout);
		return STATUS_OK;
	}
	if (strcmp(o->svg, "-") != 0)
		out = fopen(o->svg, "we");
	if (out == NULL)
		return REFUSE(STATUS_TROUBLE, "--svg %s: %s", o->svg,
			      strerror(errno));
	if (show_svg(out, layout) < 0)
		rc = REFUSE(STATUS_TROUBLE, "no memory for the picture");
	if (out == stdout)
		return rc;
	return RTE_MAX(close_output(out, "--svg ", o->svg), rc);
}

static int
show(const struct options *o, const struct weir_machine *machine)
{
	struct weir_lcore_map *map = NULL;
	struct layout *layout;
	int rc = STATUS_OK;

	if (o->map == NULL && o->ports.n != 0)
		return REFUSE(STATUS_TROUBLE,
			      "--ports %s: needs --map, whose ports they are",
			      o->ports.addresses[0]);
	if (o->map != NULL)
		rc = input_map(o, "--map", o->map, &map);
	if (rc != STATUS_OK)
		return rc;
	layout = layout_create(machine, map);
	if (layout == NULL)
		rc = REFUSE(STATUS_TROUBLE, "no memory to show the machine");
	else
		rc = show_to(o, layout);
	layout_free(layout);
	weir_lcore_map_free(map);
	return rc;
}

static int
check(const struct options *o, const struct weir_machine *machine)
{
	struct weir_lcore_map *map;
	int rc;

	rc = input_map(o, "", o->operands[0], &map);
	if (rc != STATUS_OK)
		return rc;
	rc = check_map(stdout, o, map, machine);
	weir_lcore_map_free(map);
	return rc;
}

static int
diff(const struct options *o, const struct weir_machine *machine)
{
	struct weir_lcore_map *before, *after;
	int rc;

	rc = input_map(o, "", o->operands[0], &before);
	if (rc != STATUS_OK)
		return rc;
	rc = input_map(o, "", o->operands[1], &after);
	if (rc == STATUS_OK) {
		rc = diff_maps(stdout, before, after, machine);
		weir_lcore_map_free(after);
	}
	weir_lcore_map_free(before);
	return rc;
}

static int
record(const char *file)
{
	int rc = weir_machine_record(file);

	if (rc < 0)
		return REFUSE(STATUS_TROUBLE, "record %s: %s", file,
			      strerror(-rc));
	return STATUS_OK;
}

static int
run(const struct options *o)
{
	struct weir_machine *machine = NULL;
	int rc = STATUS_OK;

	if (o->command == COMMAND_RECORD)
		return record(o->operands[0]);
	if (o->command != COMMAND_DIFF || o->from != NULL)
		rc = input_machine(o, &machine);
	if (rc != STATUS_OK)
		return rc;
	if (o->command == COMMAND_SHOW)
		rc = show(o, machine);
	else if (o->command == COMMAND_CHECK)
		rc = check(o, machine);
	else if (o->command == COMMAND_SUGGEST)
		rc = suggest_map(stdout, o, machine);
	else
		rc = diff(o, machine);
	weir_machine_free(machine);
	return rc;
}

int
main(int argc, char **argv)
{
	struct options options;
	int rc, close_rc;

	output_begin();
	rc = options_parse(argc, argv, &options);
	if (rc == STATUS_OK && options.help)
		options_print_help(&options);
	else if (rc == STATUS_OK)
		rc = run(&options);
	close_rc = close_output(stdout, "standard output", "");
	return close_rc != STATUS_OK ? close_rc : rc;
}
