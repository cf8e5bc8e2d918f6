/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef WEIR_H
#define WEIR_H

/**
 * @file
 * All but the kinds of sources, whose headers are included one by one:
 * weir_ethdev.h, weir_ring.h, weir_fd.h, weir_event.h, weir_crypto.h, weir_dma.h;
 * and weir_null.h, whose events a test posts, and weir_skeleton.h, whose driver is
 * there to be copied. Both are installed, since the guide to sources and tests of
 * drivers elsewhere begin with them. Only drivers include weir_source_driver.h.
 */

#include <weir_barrier.h>
#include <weir_broadcast.h>
#include <weir_channel.h>
#include <weir_common.h>
#include <weir_cond.h>
#include <weir_dump.h>
#include <weir_fiber.h>
#include <weir_hooks.h>
#include <weir_join_set.h>
#include <weir_lcore_apply.h>
#include <weir_lcore_map.h>
#include <weir_machine.h>
#include <weir_metrics.h>
#include <weir_notify.h>
#include <weir_once.h>
#include <weir_oneshot.h>
#include <weir_runtime.h>
#include <weir_select.h>
#include <weir_semaphore.h>
#include <weir_source.h>
#include <weir_stackless.h>
#include <weir_task.h>
#include <weir_time.h>
#include <weir_token.h>
#include <weir_version.h>
#include <weir_wait.h>
#include <weir_wait_group.h>
#include <weir_watch.h>

#endif
