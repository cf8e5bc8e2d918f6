/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_SKELETON_H
#define WEIR_SKELETON_H

/**
 * @file
 * A driver to copy. Its device is a queue of numbers in memory, with an
 * interrupt. See doc/guides/sources.md.
 */

#include <weir_source.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weir_skeleton;

/** Most numbers that one call receives. */
#define WEIR_SKELETON_BURST 8

/**
 * Makes a device and a source of it.
 *
 * @param worker  The home worker: it polls the device.
 * @return NULL with rte_errno: EINVAL (no such worker, or it does not run),
 * EMFILE, ENFILE, ENOMEM, ESHUTDOWN.
 *
 * Any thread.
 */
WEIR_API struct weir_skeleton *
weir_skeleton_create(struct weir_runtime *rt, unsigned int worker);

/**
 * Frees it. NULL is legal. Any thread, once no task uses it and nobody feeds; before the
 * runtime is freed.
 */
WEIR_API void
weir_skeleton_free(struct weir_skeleton *s);

/** The source, for weir_source_close(), moves and statistics. Any thread. */
WEIR_API struct weir_source *
weir_skeleton_source(struct weir_skeleton *s);

/**
 * Receives numbers, or arranges a wake-up. Spends a unit of budget each.
 *
 * @param numbers  Room for n.
 * @param n        1 to WEIR_SKELETON_BURST.
 * @return How many, 1 to n, in the order in which they came; WEIR_PENDING;
 * -EINVAL for another n; -ENODEV when the device was unplugged, or the error
 * that the source was closed with; -EBUSY when another task waits.
 *
 * The task that ctx belongs to. One task at a time.
 */
WEIR_API int
weir_skeleton_recv(struct weir_context *ctx, struct weir_skeleton *s,
		   uint64_t *numbers, unsigned int n);

/**
 * Plays the device: a number comes.
 *
 * @return False when the device has no room, or was unplugged.
 *
 * Any thread.
 */
WEIR_API bool
weir_skeleton_feed(struct weir_skeleton *s, uint64_t number);

/** Plays the device: it is pulled out. Any thread. */
WEIR_API void
weir_skeleton_unplug(struct weir_skeleton *s);

#ifdef __cplusplus
}
#endif

#endif
