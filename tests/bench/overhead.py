# SPDX-License-Identifier: BSD-3-Clause
"""What a forwarder pays for something beside its packets: the same program with
it ("weir") and without it ("plain"), by turns."""

import functools
import re

from forward import START_SECONDS, cycles_per_packet, eal_arguments
from machine import Account, Failure, Program
from scenario import Peer, Sample, Scenario

PROGRAM = "build/tests/bench/overhead"
RATE = re.compile(r"^received (\d+\.\d+) Mpps$", re.MULTILINE)


def measure(form, setup, name):
    argv = [PROGRAM, *eal_arguments(setup), "--vdev", "net_null0", "--vdev",
            "net_null1", "--", form if name == "weir" else name,
            str(setup.seconds)]
    with Program(argv) as program:
        account = Account(setup.machine.cpus, program.process.pid)
        found = program.wait_output(RATE.search,
                                    START_SECONDS + 2 * setup.seconds)
        foreign = account.foreign()
        if program.process.wait(START_SECONDS) != 0:
            raise Failure(f"overhead, {form}: {program.last_lines()}")
    return Sample(float(found[1]), foreign)


def scenario(form, goal, about):
    return Scenario(about=about, workers=1, unit="Mpps", higher_is_better=True,
                    measure=functools.partial(measure, form),
                    peers=[Peer("plain", None, goal)],
                    cost=("cycles/packet",
                          functools.partial(cycles_per_packet, 1)))


SCENARIOS = {
    "idle_fd": scenario(
        "fd", 0.99, "forwarding with a file descriptor that is waited for and "
        "never ready, beside the same without it"),
    "counters": scenario(
        "metrics", 0.98, "forwarding with histograms and all counts read ten "
        "times a second, beside the same without"),
}
