# SPDX-License-Identifier: BSD-3-Clause
"""What a forwarder pays for something beside its packets: with it ("weir") and
without it ("plain"), by turns in one process."""

import functools
import re

from forward import MATRIX, START_SECONDS, cycles_per_packet, eal_arguments
from machine import Account, Failure, Program
from scenario import Peer, Sample, Scenario

PROGRAM = "build/tests/bench/overhead"
# Packets a turn: as weir-testpmd asks for with bursts of 32, and what a runtime gives
# who asks for nothing.
TESTPMD_BUDGET = 1024
DEFAULT_BUDGET = 128
RATES = re.compile(r"^received (\d+\.\d+) Mpps, without (\d+\.\d+) Mpps$",
                   re.MULTILINE)


class Measure:
    """A run has the samples of both; which of them comes first in a round runs."""

    def __init__(self, form, budget):
        self._form = form
        self._budget = budget
        self._samples = {}

    def __call__(self, setup, name):
        if name not in self._samples:
            self._samples = self._run(setup)
        return self._samples.pop(name)

    def _run(self, setup):
        argv = [PROGRAM, *eal_arguments(setup), "--vdev", "net_null0",
                "--vdev", "net_null1", "--", self._form, str(setup.seconds),
                str(self._budget)]
        with Program(argv) as program:
            account = Account(setup.machine.cpus, program.process.pid)
            found = program.wait_output(
                RATES.search, START_SECONDS + 4 * setup.seconds)
            foreign = account.foreign()
            if program.end(START_SECONDS) != 0:
                raise Failure(f"overhead, {self._form}: "
                              f"{program.last_lines()}")
        return {"weir": Sample(float(found[1]), foreign),
                "plain": Sample(float(found[2]), foreign)}


def scenario(form, goal, about, budget=TESTPMD_BUDGET, group=None):
    return Scenario(about=about, workers=1, unit="Mpps", higher_is_better=True,
                    measure=Measure(form, budget),
                    peers=[Peer("plain", None, goal)],
                    cost=("cycles/packet",
                          functools.partial(cycles_per_packet, 1)),
                    group=group)


SCENARIOS = {
    "idle_fd": scenario(
        "fd", 0.99, "forwarding with a file descriptor that is waited for and "
        "never ready, beside the same without it"),
    "counters": scenario(
        "metrics", 0.98, "forwarding with histograms and all counts read ten "
        "times a second, beside the same without"),
    "counters_short_turns": scenario(
        "metrics", None, "the same, with turns of four bursts",
        DEFAULT_BUDGET, MATRIX),
}
