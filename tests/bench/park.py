# SPDX-License-Identifier: BSD-3-Clause
"""park_wake_*: from the post of an event to the task that it wakes, on a worker
that was idle for a millisecond, by the way in which workers wait."""

import functools
import re

from forward import START_SECONDS, eal_arguments
from scenario import Figure, Scenario
from sched_scenarios import sample

PROGRAM = "build/tests/bench/park_wake"
LATENCY = re.compile(r"p50 ([\d.]+) us, p99 ([\d.]+) us")


def measure(policy, setup, program):
    argv = [PROGRAM, *eal_arguments(setup), "--", policy, str(setup.seconds)]
    return sample(setup, program, f"park_wake_{policy}", argv,
                  START_SECONDS + 2 * setup.seconds, LATENCY)


def scenario(policy, about):
    return Scenario(about=about, workers=1, unit="us p50",
                    higher_is_better=False,
                    measure=functools.partial(measure, policy), peers=[],
                    more=(Figure("us p99", None),))


SCENARIOS = {
    "park_wake_poll": scenario(
        "poll", "an event wakes a task on a worker that polls"),
    "park_wake_pause": scenario(
        "pause", "the same, pausing"),
    "park_wake_interrupt": scenario(
        "interrupt", "the same, asleep in the kernel"),
    "park_wake_adaptive": scenario(
        "adaptive", "the same, fallen asleep after it polled and paused"),
}
