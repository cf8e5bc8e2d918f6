# SPDX-License-Identifier: BSD-3-Clause
"""park_wake_*: from the post of an event to the task that it wakes, on a worker
that was idle for a millisecond, by the way in which workers wait."""

import re
import statistics

from forward import START_SECONDS, eal_arguments
from machine import Account, Program
from scenario import Sample, Scenario

PROGRAM = "build/tests/bench/park_wake"
LATENCY = re.compile(r"p50 ([\d.]+) us, p99 ([\d.]+) us")


class Wake:
    """The samples of one policy; their values are medians."""

    def __init__(self, policy):
        self._policy = policy
        self._p99 = []

    def measure(self, setup, _program):
        argv = [PROGRAM, *eal_arguments(setup), "--", self._policy,
                str(setup.seconds)]
        with Program(argv) as program:
            account = Account(setup.machine.cpus, program.process.pid)
            found = program.wait_output(LATENCY.search,
                                        START_SECONDS + 2 * setup.seconds)
            foreign = account.foreign()
            program.process.wait(START_SECONDS)
        self._p99.append(float(found[2]))
        return Sample(float(found[1]), foreign)

    def p99(self, _setup, _median):
        return statistics.median(self._p99)


def scenario(policy, about):
    wake = Wake(policy)
    return Scenario(about=about, workers=1, unit="us p50",
                    higher_is_better=False, measure=wake.measure, peers=[],
                    cost=("us p99", wake.p99))


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
