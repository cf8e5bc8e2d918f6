/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * To be preloaded under the thread sanitizer: EAL finds only those drivers that tests
 * use. It loads all that are installed, more than a hundred, and after each the
 * sanitizer looks at all libraries again; that is most of a short run.
 */

#define _GNU_SOURCE

#include <dirent.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define DRIVER "librte_"

static const char *const used[] = {
	"bus_pci",	"bus_vdev", "crypto_null",   "crypto_openssl",
	"dma_skeleton", "mempool_", "net_af_packet", "net_null",
	"net_pcap",	"net_ring", "net_tap",
};

static bool
is_used(const char *name)
{
	const size_t prefix = strlen(DRIVER);
	size_t i;

	if (strncmp(name, DRIVER, prefix) != 0)
		return true;
	for (i = 0; i < sizeof(used) / sizeof(used[0]); i++)
		if (strncmp(name + prefix, used[i], strlen(used[i])) == 0)
			return true;
	return false;
}

/* The one that EAL was compiled to call. */
struct dirent64 *
readdir64(DIR *dir)
{
	struct dirent64 *(*next)(DIR *) = NULL;
	struct dirent64 *entry;

	*(void **)&next = dlsym(RTLD_NEXT, "readdir64");
	do
		entry = next(dir);
	while (entry != NULL && !is_used(entry->d_name));
	return entry;
}
