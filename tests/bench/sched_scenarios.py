# SPDX-License-Identifier: BSD-3-Clause
"""The scheduler's scenarios: a program that measures one and ends, by Weir
(sched.c) and by its peers (peers/).

A sample is one process, which warms up and gives the medians of its rounds.
"""

import contextlib
import functools
import os
import re
import shutil
import tempfile

from forward import START_SECONDS
from machine import Account, Failure, Program
from scenario import FLOOR, Figure, Peer, Sample, Scenario

WEIR = "build/tests/bench/sched"
PEERS = "build-peers"
BUILT = re.compile(r"build(-peers)?/")
OF_DPDK = ("event_dsw", "rte_ring", "rte_timer")
OF_RUST = ("smol", "tokio")
JEMALLOC = "libjemalloc.so.2"
MEMORY_MB = 1024
FIGURES = re.compile(r"^figures((?: \d+\.\d+)+)$", re.MULTILINE)


def cpu_of(setup, lcore):
    cpus = setup.machine.cpus
    return cpus[lcore % len(cpus)]


def eal_arguments(setup, workers, memory_mb=MEMORY_MB):
    # The main lcore sleeps, so it may share a CPU with a worker.
    lcores = [f"{i}@{cpu_of(setup, i)}" for i in range(workers + 1)]
    memory = (["--huge-dir", setup.huge_dir, "--in-memory"] if setup.huge_dir
              else ["--no-huge"])
    return ["--lcores", ",".join(lcores), "-m", str(memory_mb), *memory,
            "--file-prefix", f"weir-bench-{os.getpid()}", "--no-pci",
            "--no-telemetry", "--log-level", "error"]


def cpus_of_peer(setup, scenario, workers):
    """Those of Weir's workers; and the main lcore's where that spawns."""
    first = 0 if scenario == "spawn_remote" else 1
    return sorted({cpu_of(setup, i) for i in range(first, workers + 1)})


def command(setup, program, scenario, workers):
    # It is about resident memory, of which hugepages are none.
    if scenario == "memory":
        setup = setup._replace(huge_dir=None)
    if program == "weir":
        return [WEIR, *eal_arguments(setup, workers), "--", scenario,
                str(workers)]
    if program in OF_DPDK:
        return [f"{PEERS}/{program}", *eal_arguments(setup, workers), "--",
                scenario]
    # malloc would cost them more than their schedulers do.
    preload = (["env", f"LD_PRELOAD={JEMALLOC}"] if program in OF_RUST else [])
    cpus = cpus_of_peer(setup, scenario, workers)
    return ["taskset", "-c", ",".join(map(str, cpus)), *preload,
            f"{PEERS}/{program}", scenario, str(workers)]


@contextlib.contextmanager
def in_a_file_of_its_own(argv):
    """The same command, with a copy of the program that was built here: how fast it
    is depends on where in memory its file lies, which no sample is to have in common
    with the others."""
    at = next((i for i, word in enumerate(argv) if BUILT.match(word)), None)
    if at is None:
        yield argv
        return
    with tempfile.TemporaryDirectory(dir=os.path.dirname(argv[at])) as folder:
        yield [*argv[:at], shutil.copy(argv[at], folder), *argv[at + 1:]]


def sample(setup, program, scenario, argv, seconds=2 * START_SECONDS,
           figures=FIGURES):
    """figures: what it prints, with the values in its groups."""
    with in_a_file_of_its_own(argv) as copied, Program(copied) as running:
        account = Account(setup.machine.cpus, running.process.pid)
        found = running.wait_output(figures.search, seconds)
        foreign = account.foreign()
        if running.end(START_SECONDS) != 0:
            raise Failure(f"{program}, {scenario}: {running.last_lines()}")
    value, *more = map(float, " ".join(found.groups()).split())
    return Sample(value, foreign, tuple(more))


def measure(scenario, workers, setup, program):
    return sample(setup, program, scenario,
                  command(setup, program, scenario, workers))


def peer(name, goal=None):
    return Peer(name, None, goal, built=True)


def peers(*names):
    return [peer(name) for name in names]


def scenarios(name, about, unit, beside, higher_is_better=False, limit=None,
              more=(), group=None):
    """One for each number of workers; beside: {workers: [peer, ...]}."""
    return {f"{name}_{workers}": Scenario(
        about=about, workers=workers, unit=unit,
        higher_is_better=higher_is_better,
        measure=functools.partial(measure, name, workers), peers=those,
        limit=limit, more=more, group=group) for workers, those in beside.items()}


SCENARIOS = {
    **scenarios("spawn_local", "a task spawns 10,000 tasks and awaits each",
                "ns/task",
                {1: [peer("tbb", 1.0), *peers("tokio", "smol", "go", FLOOR)],
                 2: [peer("tbb", 2.5), *peers("tokio", "smol", "go")]}),
    **scenarios("spawn_remote", "a thread spawns 10,000 tasks and blocks until "
                "the last has ended", "ns/task",
                {1: peers("tbb", "tokio", "smol"),
                 2: [peer("tbb", 4.0), *peers("tokio", "smol")]}),
    **scenarios("spawn_join", "a task spawns a task and awaits it", "ns/pair",
                {1: [peer("tbb", 1.5), *peers("tokio", "smol", "go", FLOOR)],
                 2: peers("tbb", "tokio", "smol", "go")}),
    **scenarios("chained_spawn", "a task spawns the next and ends", "ns/link",
                {1: [peer("tbb", 1.2), *peers("tokio", "smol", "go", FLOOR)],
                 2: peers("tbb", "tokio", "smol", "go")}),
    **scenarios("yield_many", "200 tasks yield 1,000 times each", "ns/yield",
                {1: [peer("event_dsw", 1.0),
                     *peers("tokio", "smol", "go", FLOOR)],
                 2: [peer("event_dsw", 1.0),
                     *peers("tokio", "smol", "go")]}),
    **scenarios("ping_pong_oneshot", "1,000 tasks, each with a partner and two "
                "oneshots", "ns/task", {1: [peer("tokio", 4.0), peer(FLOOR)],
                                        2: peers("tokio")}),
    **scenarios("ping_pong_chan", "1,000 pairs and their channels of capacity 1, "
                "100 trips", "ns/trip", {1: [peer("tokio", 4.0), *peers("smol", FLOOR)],
                                         2: peers("tokio", "smol")}),
    **scenarios("cross_wake", "tasks on two workers wake each other",
                "ns/trip", {2: [peer("rte_ring", 1 / 1.15), *peers("tokio", FLOOR)]}),
    **scenarios("fan_out_steal", "a task spawns 100,000 tasks of a "
                "microsecond; the share of CPU time that they get", "share",
                {2: peers("tbb", "tokio", "smol", "go", FLOOR)},
                higher_is_better=True, limit=0.97),
    **scenarios("mpsc", "two senders on a worker, a receiver on another",
                "ns/value", {2: [peer("go", 3.0), *peers("tokio", "smol")]}),
    **scenarios("timers", "100,000 tasks sleep for up to a second; what that "
                "costs, and how late they run", "ns/timer",
                {1: [peer("rte_timer", 4.0),
                     *peers("tokio", "smol", "go", FLOOR)],
                 2: peers("tokio", "smol", "go")},
                more=(Figure("us p50", None), Figure("us p99", 10))),
    **scenarios("timer_reset", "100,000 deadlines, each of which is put off "
                "again and again", "ns/reset",
                {1: peers("rte_timer", "tokio", "smol", "go", FLOOR)},
                group="timer_reset"),
    **scenarios("memory", "a million tasks that wait", "B/task",
                {2: peers("tokio", "smol", "go", FLOOR)}, limit=128),
}
