/* SPDX-License-Identifier: BSD-3-Clause */

#include "commands.h"
#include "escape.h"
#include "show.h"
#include "status.h"

struct findings {
	FILE *out;
	bool json;
	unsigned int n;
	unsigned int counts[WEIR_LCORE_MAP_ERROR + 1];
};

/* -1 is none in particular. */
static void
print_number(FILE *out, const char *name, int number)
{
	if (number < 0)
		fprintf(out, ", \"%s\": null", name);
	else
		fprintf(out, ", \"%s\": %d", name, number);
}

static void
print_json(struct findings *f, const struct weir_lcore_map_finding *finding)
{
	fprintf(f->out, "%s\n  {\"severity\": \"%s\", \"rule\": \"",
		f->n > 0 ? "," : "", show_severity(finding->severity));
	escape_json(f->out, finding->rule);
	fputs("\", \"text\": \"", f->out);
	escape_json(f->out, finding->text);
	fputc('"', f->out);
	print_number(f->out, "lcore", finding->lcore);
	print_number(f->out, "port", finding->port);
	fputc('}', f->out);
}

static void
take_finding(void *arg, const struct weir_lcore_map_finding *finding)
{
	struct findings *f = arg;

	if (f->json)
		print_json(f, finding);
	else
		show_finding(f->out, finding);
	f->counts[finding->severity]++;
	f->n++;
}

int
check_map(FILE *out, const struct options *o, const struct weir_lcore_map *map,
	  const struct weir_machine *machine)
{
	struct findings f = { .out = out, .json = o->json };
	unsigned int errors, warnings, notes;

	if (o->json)
		fputs("{\"findings\": [", out);
	errors = weir_lcore_map_check(map, machine, take_finding, &f);
	warnings = f.counts[WEIR_LCORE_MAP_WARNING];
	notes = f.counts[WEIR_LCORE_MAP_NOTE];
	if (o->json)
		fprintf(out,
			"%s], \"errors\": %u, \"warnings\": %u, "
			"\"notes\": %u}\n",
			f.n > 0 ? "\n" : "", errors, warnings, notes);
	else
		fprintf(out, "%u error%s, %u warning%s, %u note%s\n", errors,
			errors == 1 ? "" : "s", warnings,
			warnings == 1 ? "" : "s", notes, notes == 1 ? "" : "s");
	if (errors > 0 || (o->strict && warnings > 0))
		return STATUS_NO;
	return STATUS_OK;
}
