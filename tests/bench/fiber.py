# SPDX-License-Identifier: BSD-3-Clause
"""fiber_*: pairs of tasks that wake each other by turns on one worker, with stacks
of their own ("weir") beside poll functions that do the same."""

import functools
import re

from forward import START_SECONDS, eal_arguments
from scenario import Peer, Scenario
from sched_scenarios import sample

PROGRAM = "build/tests/bench/fiber_switch"
TURN = re.compile(r"([\d.]+) ns each")


def measure(pairs, setup, name):
    argv = [PROGRAM, *eal_arguments(setup), "--",
            "fiber" if name == "weir" else name, str(pairs),
            str(setup.seconds)]
    return sample(setup, name, f"fibers, {pairs} pairs", argv,
                  START_SECONDS + 2 * setup.seconds, TURN)


def scenario(pairs, required, about):
    return Scenario(about=about, workers=1, unit="ns",
                    higher_is_better=False,
                    measure=functools.partial(measure, pairs),
                    peers=[Peer("stackless", required, 0.5)])


# A turn of a fiber costs at most twice the other's.
SCENARIOS = {
    "fiber_pair": scenario(
        1, 0.5, "two fibers wake each other by turns"),
    "fiber_many": scenario(
        500, None, "the same of 500 pairs"),
}
