/* SPDX-License-Identifier: BSD-3-Clause */

/* The machine as a whole, its clock, and what has no file of its own. */

#include <errno.h>
#include <link.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include <rte_cpuflags.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_log.h>
#include <rte_power_intrinsics.h>

#include "base/atomic.h"
#include "kept.h"
#include "kernel.h"
#include "wraps.h"

struct kernel_options kernel_options;
struct kernel_left kernel_counts;

static uint64_t now;
/* By thread: what it waits for, or UINT64_MAX. */
static uint64_t timeouts[VTHREADS_MAX];
static unsigned int pausing;

/*
 * The thread-local memory of the program, to which the library is linked, lies
 * in one piece.
 */
static int
find_locals(struct dl_phdr_info *info, size_t size, void *arg)
{
	unsigned int i;

	for (i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS)
			vthread_local(info->dlpi_tls_data,
				      info->dlpi_phdr[i].p_memsz);
	return 1; /* the program comes first */
}

void
kernel_reset(const struct kernel_options *options)
{
	static bool known KEPT;
	unsigned int i;

	if (!known) {
		dl_iterate_phdr(find_locals, NULL);
		vthread_local(&RTE_PER_LCORE(_lcore_id),
			      sizeof(RTE_PER_LCORE(_lcore_id)));
		vthread_local(&RTE_PER_LCORE(_rte_errno),
			      sizeof(RTE_PER_LCORE(_rte_errno)));
		vthread_local(&errno, sizeof(errno));
		known = true;
	}
	kernel_options = *options;
	memset(&kernel_counts, 0, sizeof(kernel_counts));
	/* 0 means "never" here and there. */
	now = KERNEL_HZ;
	pausing = 0;
	for (i = 0; i < VTHREADS_MAX; i++)
		timeouts[i] = UINT64_MAX;
	kernel_memory_reset();
	kernel_files_reset();
	kernel_lcores_reset();
}

void
kernel_left(struct kernel_left *left)
{
	*left = kernel_counts;
}

uint64_t
kernel_now(void)
{
	return now;
}

void
kernel_advance(uint64_t cycles)
{
	now += cycles;
}

uint64_t
kernel_next_timeout(void)
{
	uint64_t next = UINT64_MAX;
	unsigned int i;

	for (i = 0; i < vthread_count(); i++)
		next = RTE_MIN(next, timeouts[i]);
	return next;
}

unsigned int
kernel_pausing(void)
{
	return pausing;
}

bool
kernel_end_waits(uint64_t cycles)
{
	bool any = false;
	unsigned int i;

	for (i = 0; i < vthread_count(); i++) {
		if (timeouts[i] == UINT64_MAX || timeouts[i] > now + cycles)
			continue;
		timeouts[i] = 0;
		any = true;
	}
	return any;
}

struct timed_wait {
	bool (*ready)(const void *arg);
	const void *arg;
	const uint64_t *end;
};

static bool
ready_or_late(const void *arg)
{
	const struct timed_wait *w = arg;

	return now >= *w->end || w->ready(w->arg);
}

void
kernel_await_until(bool (*ready)(const void *arg), const void *arg,
		   uint64_t end)
{
	uint64_t *timeout = &timeouts[vthread_self()];
	const struct timed_wait w = { ready, arg, timeout };

	*timeout = end;
	kernel_await(ready_or_late, &w);
	*timeout = UINT64_MAX;
	virtual_saw(ready(arg));
}

uint64_t
virtual_rdtsc(void)
{
	return now;
}

uint64_t
__wrap_rte_get_tsc_hz(void)
{
	return KERNEL_HZ;
}

int
__wrap_clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (!vthreads_running())
		return __real_clock_gettime(clock, ts);
	ts->tv_sec = (time_t)(now / KERNEL_HZ);
	ts->tv_nsec = (long)(now % KERNEL_HZ);
	return 0;
}

int
__wrap_sched_yield(void)
{
	virtual_pause(VIRTUAL_SITE);
	return 0;
}

static bool
never(const void *arg)
{
	return false;
}

int
__wrap_rte_power_pause(uint64_t until)
{
	virtual_call("rte_power_pause");
	if (kernel_chance(KERNEL_SPURIOUS))
		return 0;
	pausing++;
	kernel_await_until(never, NULL, until);
	pausing--;
	return 0;
}

void
__wrap_rte_cpu_get_intrinsics_support(struct rte_cpu_intrinsics *intrinsics)
{
	memset(intrinsics, 0, sizeof(*intrinsics));
	intrinsics->power_pause = kernel_options.power_pause;
}

int
__wrap_weir__membarrier(int command)
{
	if (!kernel_options.membarrier)
		return -ENOSYS;
	if (command == MEMBARRIER_CMD_PRIVATE_EXPEDITED) {
		virtual_call("membarrier");
		virtual_membarrier(VIRTUAL_SITE);
	}
	return 0;
}

/* Whoever wants to know asks the library. */
int
__wrap_rte_log(uint32_t level, uint32_t type, const char *format, ...)
{
	return 0;
}

void
__wrap_weir__assert_failed(const char *rule, const char *file, int line)
{
	virtual_failed("broken rule: %s (%s:%d)", rule, file, line);
}

int
__wrap_weir__name_reserve(struct weir_runtime *rt)
{
	return 0;
}

void
__wrap_weir__name_release(struct weir_runtime *rt)
{
}

void
__wrap_weir__telemetry_add(struct weir_runtime *rt)
{
}

void
__wrap_weir__telemetry_remove(struct weir_runtime *rt)
{
}
