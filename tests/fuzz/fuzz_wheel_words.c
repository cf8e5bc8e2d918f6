/* SPDX-License-Identifier: BSD-3-Clause */

/* The same as fuzz_wheel.c where a level's slots take several words. */

#define WHEEL_BITS 7
#include "fuzz_wheel.c"
