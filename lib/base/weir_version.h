/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_VERSION_H
#define WEIR_VERSION_H

/**
 * @file
 * Which version this is. Until 1.0 each minor one may change the API and the ABI.
 */

#include <weir_common.h>

#ifdef __cplusplus
extern "C" {
#endif

/** X of a version X.Y.Z. */
#define WEIR_VERSION_MAJOR 0
/** Y of a version X.Y.Z. */
#define WEIR_VERSION_MINOR 1
/** Z of a version X.Y.Z. */
#define WEIR_VERSION_PATCH 0

/** A version as a number that grows; each part is at most 255. */
#define WEIR_VERSION_NUM(major, minor, patch) \
	((major) << 16 | (minor) << 8 | (patch))

/** That of these headers, also for `#if`: as RTE_VERSION is DPDK's. */
#define WEIR_VERSION                                             \
	WEIR_VERSION_NUM(WEIR_VERSION_MAJOR, WEIR_VERSION_MINOR, \
			 WEIR_VERSION_PATCH)

/**
 * The version of the library that the program runs with, "0.1.0" for example.
 *
 * Any thread; never freed.
 */
WEIR_API const char *
weir_version(void);

#ifdef __cplusplus
}
#endif

#endif
