/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef BASE_TSAN_H
#define BASE_TSAN_H

/* WEIR_TSAN is defined in a build for the thread sanitizer. */
#if defined(__SANITIZE_THREAD__)
#define WEIR_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define WEIR_TSAN 1
#endif
#endif

#endif
