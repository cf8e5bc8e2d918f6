/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef BASE_ASAN_H
#define BASE_ASAN_H

/* WEIR_ASAN is defined in a build for the address sanitizer. */
#if defined(__SANITIZE_ADDRESS__)
#define WEIR_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEIR_ASAN 1
#endif
#endif

#ifdef WEIR_ASAN
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) \
	((void)(address), (void)(size))
#endif

#endif
