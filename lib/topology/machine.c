/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The machine: its CPUs, and what users of the struct call.
 *
 * Numbers that are compared only, of cores and caches, are that of their first
 * CPU: the kernel's own are not unique among packages, or not there.
 *
 * M1 CPUs, nodes and network devices are in rising order, each there once.
 * M2 The node of a CPU or device is one of the machine's, or not known.
 * M3 A machine is the same whether read or recorded and loaded.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_errno.h>

#include "topology/machine.h"
#include "topology/topology.h"

#define CPUS "/sys/devices/system/cpu"

/* Ten times what a machine of the most CPUs takes. */
#define RECORDING_MAX ((size_t)64 << 20)

/* Kernels have three or four. */
#define MAX_CACHES 16

/* The least of a list that has the CPU in it. */
static int
first_of(const struct id_set *ids, unsigned int cpu)
{
	return id_set_has(ids, cpu) ? (int)weir__id_set_next(ids, 0) :
				      WEIR_MACHINE_UNKNOWN;
}

static int
read_core(struct tree *t, unsigned int cpu)
{
	struct id_set ids;

	/* The second is its name before Linux 5.2. */
	if (weir__tree_ids(t, &ids, CPUS "/cpu%u/topology/core_cpus_list",
			   cpu) ||
	    weir__tree_ids(t, &ids, CPUS "/cpu%u/topology/thread_siblings_list",
			   cpu))
		return first_of(&ids, cpu);
	return WEIR_MACHINE_UNKNOWN;
}

static int
read_package(struct tree *t, unsigned int cpu)
{
	int64_t v;

	/* -1 where the firmware does not tell. */
	if (weir__tree_number(t, -1, INT32_MAX, &v,
			      CPUS "/cpu%u/topology/physical_package_id", cpu))
		return (int)v;
	return WEIR_MACHINE_UNKNOWN;
}

/* The last level of what holds data; caches of instructions stand aside. */
static int
read_cache(struct tree *t, unsigned int cpu)
{
	unsigned int i, last = MAX_CACHES;
	int64_t level, highest = 0;
	struct id_set ids;
	const char *type;

	for (i = 0; i < MAX_CACHES; i++) {
		if (!weir__tree_number(t, 1, 16, &level,
				       CPUS "/cpu%u/cache/index%u/level", cpu,
				       i))
			break;
		type = weir__tree_read(
			t, NULL, CPUS "/cpu%u/cache/index%u/type", cpu, i);
		if (type == NULL || strcmp(type, "Instruction") == 0 ||
		    level <= highest)
			continue;
		highest = level;
		last = i;
	}
	if (last < MAX_CACHES &&
	    weir__tree_ids(t, &ids, CPUS "/cpu%u/cache/index%u/shared_cpu_list",
			   cpu, last))
		return first_of(&ids, cpu);
	return WEIR_MACHINE_UNKNOWN;
}

static void
read_cpu(struct tree *t, struct weir_machine_cpu *c)
{
	c->node = WEIR_MACHINE_UNKNOWN;
	c->package = read_package(t, c->id);
	c->core = read_core(t, c->id);
	c->cache = read_cache(t, c->id);
}

/* Those that are there, whether they are online or not. */
static bool
read_present(struct tree *t, struct id_set *present)
{
	return weir__tree_ids(t, present, CPUS "/present") ||
	       weir__tree_ids(t, present, CPUS "/possible") ||
	       weir__tree_ids(t, present, CPUS "/online");
}

/* Where there is no such list, all or none of the CPUs are in it. */
static void
read_set(struct tree *t, struct id_set *s, const char *name, bool all)
{
	if (!weir__tree_ids(t, s, CPUS "/%s", name))
		memset(s, all ? 0xff : 0, sizeof(*s));
}

static void
read_cpus(struct tree *t, struct weir_machine *m)
{
	struct id_set present, online, allowed, isolated, tick_free;
	struct weir_machine_cpu *c;
	unsigned int id;

	if (!read_present(t, &present))
		return;
	m->cpus = calloc(weir__id_set_count(&present), sizeof(*m->cpus));
	if (m->cpus == NULL) {
		t->lack = ENOMEM;
		return;
	}
	read_set(t, &online, "online", true);
	read_set(t, &isolated, "isolated", false);
	read_set(t, &tick_free, "nohz_full", false);
	if (!weir__machine_cpus_allowed(t, &allowed))
		allowed = online;
	ID_SET_FOREACH(id, &present) {
		c = &m->cpus[m->nb_cpus++];
		c->id = id;
		c->online = id_set_has(&online, id);
		c->allowed = c->online && id_set_has(&allowed, id);
		c->isolated = id_set_has(&isolated, id);
		c->tick_free = id_set_has(&tick_free, id);
		read_cpu(t, c);
	}
}

struct weir_machine *
weir__machine_of_tree(struct tree *t)
{
	struct weir_machine *m = calloc(1, sizeof(*m));

	if (m == NULL) {
		t->lack = ENOMEM;
		return NULL;
	}
	read_cpus(t, m);
	if (m->nb_cpus > 0)
		weir__machine_read_nodes(t, m);
	if (m->nb_nodes > 0)
		weir__machine_read_nics(t, m);
	if (m->nb_cpus == 0 || t->lack != 0 || t->problem != NULL) {
		weir_machine_free(m);
		return NULL;
	}
	return m;
}

struct weir_machine *
weir_machine_read(void)
{
	struct weir_machine *m;
	struct tree t;

	weir__tree_init(&t, "");
	m = weir__machine_of_tree(&t);
	if (m == NULL)
		rte_errno = t.lack != 0 ? t.lack : ENOENT;
	weir__tree_fini(&t);
	return m;
}

__attribute__((format(printf, 4, 5))) static struct weir_machine *
refuse(int rc, char *error, size_t size, const char *format, ...)
{
	va_list ap;

	rte_errno = -rc;
	if (error != NULL) {
		va_start(ap, format);
		vsnprintf(error, size, format, ap);
		va_end(ap);
	}
	return NULL;
}

struct weir_machine *
weir__machine_parse(const char *text, size_t length, const char *name,
		    char *error, size_t size)
{
	struct weir_machine *m = NULL;
	struct tree t;
	int rc;

	rc = weir__tree_parse(&t, text, length);
	if (rc == 0)
		m = weir__machine_of_tree(&t);
	if (rc == -ENOMEM || t.lack != 0)
		refuse(-ENOMEM, error, size, "%s: %s", name,
		       rte_strerror(ENOMEM));
	else if (t.problem != NULL && t.problem_line > 0)
		refuse(-EINVAL, error, size, "%s:%u: %s", name, t.problem_line,
		       t.problem);
	else if (m == NULL)
		refuse(-EINVAL, error, size, "%s: %s", name,
		       t.problem != NULL ? t.problem : "it has no CPUs");
	weir__tree_fini(&t);
	return m;
}

struct weir_machine *
weir_machine_load(const char *file, char *error, size_t size)
{
	struct weir_machine *m;
	size_t length;
	char *text;
	int rc;

	rc = weir__file_read(file, RECORDING_MAX, &text, &length);
	if (rc < 0)
		return refuse(rc, error, size, "%s: %s", file,
			      rte_strerror(-rc));
	m = weir__machine_parse(text, length, file, error, size);
	free(text);
	return m;
}

static int
write_all(int fd, const char *text, size_t length)
{
	ssize_t n;

	while (length > 0) {
		n = write(fd, text, length);
		if (n < 0 && errno != EINTR)
			return -errno;
		text += n > 0 ? n : 0;
		length -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

static int
write_file(const char *file, const char *text, size_t length)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666), rc;
	struct stat st;
	bool regular;

	if (fd < 0)
		return -errno;
	regular = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
	rc = write_all(fd, text, length);
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	/* A device or a pipe stays. */
	if (rc < 0 && regular)
		unlink(file);
	return rc;
}

int
weir_machine_record(const char *file)
{
	struct weir_machine *m;
	char *text = NULL;
	struct tree t;
	size_t length;
	int rc;

	weir__tree_init(&t, "");
	m = weir__machine_of_tree(&t);
	rc = t.lack != 0 ? -t.lack : m == NULL ? -ENOENT : 0;
	if (rc == 0)
		rc = weir__tree_format(&t, &text, &length);
	if (rc == 0)
		rc = write_file(file, text, length);
	free(text);
	weir_machine_free(m);
	weir__tree_fini(&t);
	return rc;
}

void
weir_machine_free(struct weir_machine *machine)
{
	if (machine == NULL)
		return;
	free(machine->cpus);
	free(machine->nodes);
	free(machine->distances);
	free(machine->nics);
	free(machine);
}

/* Ids come first in what is compared. */
static int
compare_id(const void *key, const void *element)
{
	unsigned int id;

	memcpy(&id, element, sizeof(id));
	return *(const unsigned int *)key < id ?
		       -1 :
		       *(const unsigned int *)key > id;
}

const struct weir_machine_cpu *
weir_machine_cpu_get(const struct weir_machine *machine, unsigned int id)
{
	return bsearch(&id, machine->cpus, machine->nb_cpus,
		       sizeof(*machine->cpus), compare_id);
}

const struct weir_machine_node *
weir_machine_node_get(const struct weir_machine *machine, int id)
{
	unsigned int wanted = (unsigned int)id;

	return bsearch(&wanted, machine->nodes, machine->nb_nodes,
		       sizeof(*machine->nodes), compare_id);
}

unsigned int
weir_machine_distance(const struct weir_machine *machine, int from, int to)
{
	const struct weir_machine_node *f =
		weir_machine_node_get(machine, from);
	const struct weir_machine_node *t = weir_machine_node_get(machine, to);

	if (f == NULL || t == NULL)
		return from == to ? TOPOLOGY_LOCAL_DISTANCE :
				    TOPOLOGY_REMOTE_DISTANCE;
	return machine
		->distances[(size_t)(f - machine->nodes) * machine->nb_nodes +
			    (size_t)(t - machine->nodes)];
}
