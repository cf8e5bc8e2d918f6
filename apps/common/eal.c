/* SPDX-License-Identifier: BSD-3-Clause */

/* For the iterator over devices: 22.11 has no other way to ask which failed. */
#define ALLOW_EXPERIMENTAL_API

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_eal.h>
#include <rte_errno.h>

#include "arguments.h"
#include "eal.h"
#include "error.h"
#include "status.h"

#define MAX_VDEVS 64

static char lcores_option[256];
/* The value of --proc-type, which is auto or this one where it matters. */
static const char *proc_type = "secondary";
static const char *vdevs[MAX_VDEVS]; /* the values of --vdev */
static unsigned int nb_vdevs;
static bool eal_starts;

/* Before EAL starts, since it moves the arguments about. */
static void
note_options(int argc, char **argv)
{
	const char *value;
	int i;

	argument_of_lcores(argc, argv, lcores_option, sizeof(lcores_option));
	for (i = 1; i < argc; i++) {
		value = argument_value(argc, argv, i, "--proc-type");
		if (value != NULL)
			proc_type = value;
		value = argument_value(argc, argv, i, "--vdev");
		if (value != NULL && nb_vdevs < MAX_VDEVS)
			vdevs[nb_vdevs++] = value;
	}
}

const char *
eal_lcores_option(void)
{
	return lcores_option;
}

int
eal_refuse_lcores(void)
{
	return REFUSE(STATUS_FAILED,
		      "%s: leaves no worker lcore beside the main one; name "
		      "two or more, for example --lcores 0@0,1@0",
		      lcores_option);
}

static int
refuse_vdev(const char *vdev)
{
	return REFUSE(STATUS_FAILED,
		      "--vdev %s: EAL cannot start this device; check its name "
		      "and arguments, and that its driver is installed",
		      vdev);
}

/* EAL's own line tells which one of several it is. */
static int
refuse_vdevs(void)
{
	char all[512] = "";
	size_t used = 0;
	unsigned int i;

	for (i = 0; i < nb_vdevs && used < sizeof(all); i++)
		used += (size_t)snprintf(all + used, sizeof(all) - used, "%s%s",
					 i == 0 ? "" : " --vdev ", vdevs[i]);
	return refuse_vdev(all);
}

static bool
is_secondary(void)
{
	return rte_eal_process_type() == RTE_PROC_SECONDARY;
}

/* It would set up once more what the primary process works with. */
static int
refuse_secondary(void)
{
	return REFUSE(STATUS_FAILED,
		      "--proc-type %s: no secondary process can set up ports; "
		      "leave it out, and give each program its own "
		      "--file-prefix",
		      proc_type);
}

static int
refuse_eal(int error)
{
	if (is_secondary())
		return refuse_secondary();
	switch (error) {
	case EACCES:
	case ENOMEM:
		return REFUSE(STATUS_FAILED,
			      "EAL has no memory: use --no-huge -m 512 or "
			      "reserve hugepages; if that is so, see the "
			      "limits of the process (ulimit -a)");
	case ENOTSUP:
	case ENODEV:
		if (nb_vdevs != 0)
			return refuse_vdevs();
		break;
	case EINVAL:
		return REFUSE(STATUS_USAGE,
			      "EAL refuses its options, which are those before "
			      "\"--\"; see the first line above and --help");
	case EAGAIN:
		return REFUSE(STATUS_FAILED,
			      "EAL cannot start its threads; see the limits of "
			      "the process (ulimit -u)");
	case 0: /* EAL leaves it so when it cannot lock its files. */
		return REFUSE(STATUS_FAILED,
			      "EAL cannot take its place: another program runs "
			      "there; give each its own --file-prefix");
	}
	return REFUSE(STATUS_FAILED,
		      "EAL does not start (%s); see the lines above",
		      strerror(error));
}

/* From DPDK 25.11 on EAL ends the process itself where it cannot read an option. */
static void
end_with_eal(int status, void *arg)
{
	if (!eal_starts || status == EXIT_SUCCESS)
		return;
	status = refuse_eal(EINVAL);
	fflush(stdout);
	_exit(status);
}

static bool
is_vdev(const char *vdev, const char *name)
{
	size_t length = strlen(name);

	return strncmp(vdev, name, length) == 0 &&
	       (vdev[length] == '\0' || vdev[length] == ',');
}

/* EAL starts without a virtual device that its driver refused; we do not. */
static int
check_vdevs(void)
{
	struct rte_dev_iterator it;
	struct rte_device *dev;
	const char *name;
	unsigned int i;

	RTE_DEV_FOREACH(dev, "bus=vdev", &it)
	{
		if (rte_dev_is_probed(dev))
			continue;
		name = rte_dev_name(dev);
		for (i = 0; i < nb_vdevs; i++)
			if (is_vdev(vdevs[i], name))
				return refuse_vdev(vdevs[i]);
	}
	return STATUS_OK;
}

/* Has it a driver? */
static bool
is_probed(const struct rte_devargs *allowed)
{
	struct rte_dev_iterator it;
	struct rte_device *dev;

	RTE_DEV_FOREACH(dev, "bus=pci", &it)
	{
		if (rte_dev_devargs(dev) == allowed && rte_dev_is_probed(dev))
			return true;
	}
	return false;
}

/* Nor without a NIC that was asked for. */
static int
check_allowed(void)
{
	const struct rte_devargs *d;

	RTE_EAL_DEVARGS_FOREACH("pci", d)
	{
		if (d->policy == RTE_DEV_ALLOWED && !is_probed(d))
			return REFUSE(STATUS_FAILED,
				      "-a %s: EAL has no such device, or no "
				      "driver for it; is it bound to vfio-pci?",
				      d->name);
	}
	return STATUS_OK;
}

int
eal_start(int argc, char **argv)
{
	int status, used;

	note_options(argc, argv);
	on_exit(end_with_eal, NULL);
	eal_starts = true;
	used = rte_eal_init(argc, argv);
	eal_starts = false;
	if (used < 0)
		return refuse_eal(rte_errno);
	/* EAL puts what is no option of its own behind those that are. */
	if (used + 1 < argc)
		status = REFUSE(STATUS_USAGE, "%s: unexpected; see --help",
				argv[used + 1]);
	else if (is_secondary())
		status = refuse_secondary();
	else
		status = check_vdevs();
	if (status == STATUS_OK)
		status = check_allowed();
	if (status != STATUS_OK)
		rte_eal_cleanup();
	return status;
}
