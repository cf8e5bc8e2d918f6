/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef REFUSAL_H
#define REFUSAL_H

/* For tests that put themselves in front of weir__membarrier(), as meson.build says. */

#include <stdbool.h>

/* Whether the kernel, which has granted fences in all threads, does so no more. */
extern bool membarrier_refused;

#endif
