# SPDX-License-Identifier: BSD-3-Clause
"""forward_*: packets between ports, weir-testpmd beside dpdk-testpmd, and beside an
event device where queues have unlike loads.

Both have the same forwarding lcores, ports, memory, mbufs, descriptors and
bursts, and count the same: the PMD's counters of received packets, read each
second by the program itself. The first second is not looked at.
"""

import collections
import functools
import itertools
import os
import re
import shutil
import statistics
import time

from machine import Account, Failure, Program
from scenario import FLOOR, Peer, Sample, Scenario

WEIR = "build/apps/testpmd/weir-testpmd"
TESTPMD = "dpdk-testpmd"
FLOOR_RING = "build-peers/floor_ring"
EVENT_DSW = "event_dsw"
EVENT_DSW_FORWARD = "build-peers/event_dsw_forward"
MEMORY_MB = "512"
START_SECONDS = 30
RX_PPS = re.compile(r"port (\d+)\b(?:(?!port \d).)*?Rx-pps: +(\d+)", re.DOTALL)
NOTHING_LOST = re.compile(r"lost 0, tasks left 0, mbufs left 0\s*$")

# What the other has no option for, and does like this.
TESTPMD_OPTIONS = ["--mbcache", "256"]

BURSTS = (1, 4, 32, 256)
MATRIX = "forward_matrix"
BALANCE = "forward_balance"

# What is forwarded. vdevs: the ports. queues: of each port. descriptors: of each
# queue. first: bursts that are put into each queue, where packets go round.
Traffic = collections.namedtuple(
    "Traffic", "vdevs mode burst workers queues descriptors first",
    defaults=("io", 32, 1, 1, 1024, 1))


def eal_arguments(setup, log_level="error", workers=1):
    first, second = setup.machine.cpus
    # The main lcore sleeps, so it may share a CPU with a worker.
    lcores = [f"0@{first}", f"1@{second}", f"2@{first}"][:workers + 1]
    memory = (["--huge-dir", setup.huge_dir, "--in-memory"] if setup.huge_dir
              else ["--no-huge"])
    return ["--lcores", ",".join(lcores), "-m", MEMORY_MB, *memory,
            "--file-prefix", f"weir-bench-{os.getpid()}", "--no-pci",
            "--no-telemetry", "--log-level", log_level]


def mbufs(traffic):
    """What both take for enough; a few queues share a few."""
    queues = len(traffic.vdevs) * traffic.queues
    return max(8192, queues * (2 * traffic.descriptors + 1024))


def common_options(traffic):
    return ["--forward-mode", traffic.mode,
            "--nb-cores", str(traffic.workers),
            "--burst", str(traffic.burst),
            "--rxq", str(traffic.queues), "--txq", str(traffic.queues),
            "--rxd", str(traffic.descriptors),
            "--txd", str(traffic.descriptors),
            "--total-num-mbufs", str(mbufs(traffic))]


def goes_round(traffic):
    return traffic.vdevs[0].startswith("net_ring")


def has_prompt(traffic, name):
    """testpmd puts in more than a burst when it is told so at its prompt only."""
    return name == TESTPMD and traffic.first > 1


def options(traffic, name):
    """What a program is given behind EAL's options."""
    # These forward in one way.
    if name == FLOOR:
        return [str(traffic.first)]
    if name == EVENT_DSW:
        return []
    given = common_options(traffic)
    if name == TESTPMD:
        given += TESTPMD_OPTIONS
    if has_prompt(traffic, name):
        return [*given, "-i"]
    given += ["--stats-period", "1"]
    if goes_round(traffic):
        given += (["--tx-first"] if traffic.first == 1 else
                  ["--tx-first-bursts", str(traffic.first)])
    return given


def received(output, ports):
    """Packets per second, all ports together, for each full second."""
    found = {}
    for port, pps in RX_PPS.findall(output):
        found.setdefault(port, []).append(int(pps))
    return ([sum(pps) for pps in zip(*found.values())]
            if len(found) == ports else [])


def rates_when(ports, n):
    """A function that gives the rates in an output once there are n."""
    def rates(output):
        found = received(output, ports)
        # The first print may come before there was a second.
        while found and found[0] == 0:
            del found[0]
        return found if len(found) >= n else None
    return rates


def asking(program, rates):
    """The same for a program that has to be asked for them, once a second."""
    last = 0

    def ask(output):
        nonlocal last
        if time.monotonic() - last >= 1:
            last = time.monotonic()
            program.type("show port stats all")
        return rates(output)
    return ask


def wait_rates(program, ports, prompt, n, seconds):
    rates = rates_when(ports, n)
    return program.wait_output(asking(program, rates) if prompt else rates,
                               seconds)


def sample(argv, ports, setup, start=None, clean=None):
    """A program's median second. start: what it is told at its prompt, if it has one.
    clean: how it says at its end that nothing is left, if it does."""
    prompt = start is not None
    with Program(argv, prompt) as program:
        if prompt:
            program.type(start)
        wait_rates(program, ports, prompt, 1, START_SECONDS)
        account = Account(setup.machine.cpus, program.process.pid)
        rates = wait_rates(program, ports, prompt, 1 + setup.seconds,
                           START_SECONDS + 2 * setup.seconds)
        foreign = account.foreign()
        status = program.interrupt()
        if clean and (status != 0 or not clean.search(program.output())):
            raise Failure(f"{program.name} ends badly: {program.last_lines()}")
    pps = statistics.median(rates[1:])
    if pps == 0:
        raise Failure(f"{program.name} receives nothing")
    return Sample(pps / 1e6, foreign)


def measure(traffic, setup, name):
    programs = {"weir": WEIR, FLOOR: FLOOR_RING, EVENT_DSW: EVENT_DSW_FORWARD,
                TESTPMD: shutil.which(TESTPMD) or TESTPMD}
    argv = [programs[name], *eal_arguments(setup, workers=traffic.workers)]
    for vdev in traffic.vdevs:
        argv += ["--vdev", vdev]
    argv += ["--", *options(traffic, name)]
    start = f"start tx_first {traffic.first}"
    return sample(argv, len(traffic.vdevs), setup,
                  start if has_prompt(traffic, name) else None,
                  NOTHING_LOST if name == "weir" else None)


def cycles_per_packet(workers, setup, mpps):
    return workers * tsc_hz(setup) / (mpps * 1e6)


@functools.cache
def tsc_hz(setup):
    """The clock that EAL measures by, from its own log."""
    argv = [WEIR, *eal_arguments(setup, "lib.eal:debug"), "--vdev", "net_null0",
            "--", "--run-for", "0.1"]
    with Program(argv) as program:
        khz = program.wait_output(
            re.compile(r"TSC frequency is ~?(\d+) KHz").search, START_SECONDS)
    return int(khz[1]) * 1000


def pair(driver):
    return (f"{driver}0", f"{driver}1")


def scenario(about, traffic, required=None, goal=None, group=None, built=None):
    """built: one more program of tests/bench/peers."""
    return Scenario(
        about=about, workers=traffic.workers, unit="Mpps",
        higher_is_better=True, measure=functools.partial(measure, traffic),
        peers=[Peer(TESTPMD, required, goal),
               *([Peer(built, None, None, True)] if built else [])],
        cost=("cycles/packet",
              functools.partial(cycles_per_packet, traffic.workers)),
        group=group)


def matrix():
    """Every pair of ports, mode, burst and number of workers."""
    goals = {"null": 0.98, "ring": 0.90}
    return {
        f"forward_{ports}_{mode}_b{burst}_w{workers}": scenario(
            f"two {ports} ports, {mode}, bursts of {burst}, "
            f"{workers} worker{'s' * (workers > 1)}",
            Traffic(pair(f"net_{ports}"), mode, burst, workers),
            goal=goals[ports], group=MATRIX)
        for ports, mode, burst, workers in itertools.product(
            goals, ("io", "macswap"), BURSTS, (1, 2))}


def null_ports(n, busy):
    """The first ones receive for ever, the others never do."""
    return tuple(f"net_null{i}" if i < busy else f"net_null{i},no-rx=1"
                 for i in range(n))


def beside_idle(ports, queues):
    return scenario(
        f"{queues} busy and {(ports - 1) * queues} idle queues on one worker",
        Traffic(null_ports(ports, 1), queues=queues, descriptors=128), goal=0.98,
        group=MATRIX)


def two_workers(about, busy, goal):
    """Each is the home of four ports."""
    return scenario(about, Traffic(null_ports(8, busy), "macswap", workers=2),
                    goal=goal, group=BALANCE, built=EVENT_DSW)


SCENARIOS = {
    "forward_null": scenario(
        "ports that receive for ever and drop what is sent; packets untouched",
        Traffic(pair("net_null")), 0.90, 0.98),
    "forward_null_macswap": scenario(
        "the same, with each packet's addresses swapped",
        Traffic(pair("net_null"), "macswap"), 0.90, 0.98),
    "forward_ring": scenario(
        "a burst of packets for each of two ports goes round and round",
        Traffic(pair("net_ring")), None, 0.90, built=FLOOR),
    "forward_even": two_workers(
        "eight ports that receive for ever, half of them each worker's", 8, 0.98),
    "forward_uneven": two_workers(
        "the same, but that only the first worker's ports receive", 4, 1.90),
    "forward_ring_full": scenario(
        "the same with eight bursts for each port, which half fill a ring",
        Traffic(pair("net_ring"), first=8), goal=0.90, group=MATRIX,
        built=FLOOR),
    **matrix(),
    # A process has 32 ports at most, hence two queues each.
    "forward_queues_1": beside_idle(1, 1),
    "forward_queues_8": beside_idle(8, 1),
    "forward_queues_64": beside_idle(32, 2),
}
