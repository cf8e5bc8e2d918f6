/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef FIBERS_H
#define FIBERS_H

/* Fibers for tests of the library. */

#include "rig.h"

typedef int
fiber_run(struct weir_fiber *f, void *state);

/* State of a fiber; what is in it, each test says. */
struct job {
	struct weir_fiber fiber;
	struct rig_log *log;
	struct atomic_u32 *go;
	struct atomic_ptr *waker;
	void *arg;
	uint64_t n;
	uint64_t result;
};

/* Drops are counted in the log. */
extern const struct weir_task_ops fiber_job_ops;

struct job
fiber_job(fiber_run *run, void *arg, uint64_t n);
struct weir_join *
fiber_spawn(fiber_run *run, void *arg, uint64_t n);
int
fiber_outcome(fiber_run *run, void *arg, uint64_t n);

/* 1 + 2 + ... + n, with a wait in each frame; 0 when it has to end. */
uint64_t
fiber_sum(struct weir_fiber *f, uint64_t n);
/* The same of a job's n, as its result. */
int
fiber_sum_run(struct weir_fiber *f, void *state);

struct weir_runtime *
fiber_current_thread_runtime(void);

#endif
