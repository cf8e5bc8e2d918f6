# SPDX-License-Identifier: BSD-3-Clause
"""forward_*: packets between two ports, weir-testpmd beside dpdk-testpmd.

Both have one forwarding lcore, the same ports, memory, mbufs, descriptors and
bursts, and count the same: the PMD's counters of received packets, read each
second by the program itself. The first second is not looked at.
"""

import functools
import os
import re
import shutil
import statistics

from machine import Account, Failure, Program
from scenario import Peer, Sample, Scenario

WEIR = "build/apps/testpmd/weir-testpmd"
TESTPMD = "dpdk-testpmd"
MEMORY_MB = "512"
START_SECONDS = 30
RX_PPS = re.compile(r"port (\d+)\b(?:(?!port \d).)*?Rx-pps: +(\d+)", re.DOTALL)
NOTHING_LOST = re.compile(r"lost 0, tasks left 0, mbufs left 0\s*$")

OPTIONS = ["--nb-cores", "1", "--burst", "32", "--rxd", "1024", "--txd", "1024",
           "--total-num-mbufs", "8192", "--stats-period", "1"]
# What the other has no option for, and does like this.
TESTPMD_OPTIONS = ["--mbcache", "256"]


def eal_arguments(setup, log_level="error"):
    main, worker = setup.machine.cpus
    memory = (["--huge-dir", setup.huge_dir, "--in-memory"] if setup.huge_dir
              else ["--no-huge"])
    return ["--lcores", f"0@{main},1@{worker}", "-m", MEMORY_MB, *memory,
            "--file-prefix", f"weir-bench-{os.getpid()}", "--no-pci",
            "--no-telemetry", "--log-level", log_level]


def received(output):
    """Packets per second, both ports together, for each full second."""
    ports = {}
    for port, pps in RX_PPS.findall(output):
        ports.setdefault(port, []).append(int(pps))
    return [sum(pps) for pps in zip(*ports.values())] if len(ports) == 2 else []


def measure(driver, mode, setup, name):
    """One sample of one program: the median second."""
    argv = [WEIR if name == "weir" else shutil.which(TESTPMD) or TESTPMD,
            *eal_arguments(setup)]
    for port in (0, 1):
        argv += ["--vdev", f"{driver}{port}"]
    argv += ["--", "--forward-mode", mode, *OPTIONS]
    if name != "weir":
        argv += TESTPMD_OPTIONS
    if driver == "net_ring":
        # Where packets go round, some must be put in.
        argv.append("--tx-first")
    with Program(argv) as program:
        def seconds(n):
            def rates(output):
                # The first print may come before there was a second.
                rates = received(output)
                while rates and rates[0] == 0:
                    del rates[0]
                return rates if len(rates) >= n else None
            return rates

        program.wait_output(seconds(1), START_SECONDS)
        account = Account(setup.machine.cpus, program.process.pid)
        rates = program.wait_output(seconds(1 + setup.seconds),
                                    START_SECONDS + 2 * setup.seconds)
        foreign = account.foreign()
        status = program.interrupt()
        if name == "weir" and (status != 0 or
                               not NOTHING_LOST.search(program.output())):
            raise Failure(f"weir-testpmd ends badly: {program.last_lines()}")
    return Sample(statistics.median(rates[1:]) / 1e6, foreign)


def cycles_per_packet(setup, mpps):
    return tsc_hz(setup) / (mpps * 1e6)


@functools.cache
def tsc_hz(setup):
    """The clock that EAL measures by, from its own log."""
    argv = [WEIR, *eal_arguments(setup, "lib.eal:debug"), "--vdev", "net_null0",
            "--", "--run-for", "0.1"]
    with Program(argv) as program:
        khz = program.wait_output(
            re.compile(r"TSC frequency is ~?(\d+) KHz").search, START_SECONDS)
    return int(khz[1]) * 1000


def scenario(about, driver, mode, required, goal):
    return Scenario(
        about=about, workers=1, unit="Mpps", higher_is_better=True,
        measure=functools.partial(measure, driver, mode),
        peers=[Peer(TESTPMD, required, goal)],
        cost=("cycles/packet", cycles_per_packet))


SCENARIOS = {
    "forward_null": scenario(
        "ports that receive for ever and drop what is sent; packets untouched",
        "net_null", "io", 0.90, 0.98),
    "forward_null_macswap": scenario(
        "the same, with each packet's addresses swapped",
        "net_null", "macswap", 0.90, 0.98),
    "forward_ring": scenario(
        "a burst of packets for each of two ports goes round and round",
        "net_ring", "io", None, 0.90),
}
