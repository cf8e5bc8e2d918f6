# SPDX-License-Identifier: BSD-3-Clause
"""Tests of scheduling and placement on machines of one to four NUMA nodes, each
with hugepages of its own: in virtual machines."""

import glob
import os
import re
import sys

from machine import Machine, Node, require, uniform
from weirtest import Problem, Skip, Tap, check

TREE = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(sys.argv[1]))))
# Programs for one machine and the next; they find the nodes by themselves.
NUMA = "tests/numa/numa_*"
# Those of the unit and stress tests that say something about several nodes; they
# are told which CPUs to use.
SPREAD = ("unit/test_topology", "unit/test_wake", "unit/test_workers",
          "unit/test_shutdown", "unit/test_lifetime", "stress/stress_storm",
          "stress/stress_chains", "stress/stress_stops")
STRESS_SECONDS = 3
SECONDS = 300

MACHINES = {
    "one node": uniform(1, 2),
    "two nodes": uniform(2, 2),
    "four nodes in a ring": [
        Node(2, (10, 16, 22, 16)), Node(2, (16, 10, 16, 22)),
        Node(2, (22, 16, 10, 16)), Node(2, (16, 22, 16, 10))],
    # Farther one way than the other, and a node that has memory only. It is the
    # last, since the kernel numbers those with CPUs first.
    "four uneven nodes, one without CPUs": [
        Node(2, (10, 31, 40, 12)), Node(2, (20, 10, 17, 30)),
        Node(2, (25, 28, 10, 30)), Node(0, (12, 30, 30, 10))],
}

CASE = re.compile(r"(not )?ok \d+\b(?! *# SKIP)")
PLAN = re.compile(r"^1\.\.(\d+)", re.MULTILINE)
# cmocka gives no reason; the remark before it does.
SKIPPED = re.compile(r"^# (.*)\n(?:not )?ok \d+ *# SKIP", re.MULTILINE)


def programs(pattern):
    return sorted(p for p in glob.glob(f"{TREE}/{pattern}")
                  if os.path.isfile(p) and os.access(p, os.X_OK))


def spread(nodes):
    """One CPU of each node in turn: 0,2,4,1,3,5 with two on each of three."""
    first, cpu = [], 0
    for node in nodes:
        first.append((cpu, node.cpus))
        cpu += node.cpus
    most = max(n.cpus for n in nodes)
    return ",".join(str(start + i) for i in range(most)
                    for start, count in first if i < count)


def run_program(machine, path, env):
    """What it says: TAP, of which all may be skipped."""
    status, out, err = machine.run(
        [path], {"CMOCKA_MESSAGE_OUTPUT": "TAP", **env}, SECONDS)
    cases = [m for m in map(CASE.match, out.splitlines()) if m]
    failed = [m.string for m in cases if m[1]]
    reasons = SKIPPED.findall(out)
    promised = [int(n) for n in PLAN.findall(out)]
    # It may have ended in the middle, with success.
    if (status != 0 or failed or not cases + reasons
            or promised != [len(cases) + len(reasons)]):
        raise Problem(f"exit status {status}; failed: {failed}\n"
                      f"{out[-4000:]}{err[-2000:]}")
    print(f"# {os.path.basename(path)}: {len(cases)} passed,"
          f" {len(reasons)} skipped", *reasons)
    if not cases:
        raise Skip(reasons[0])


def check_nodes(machine, nodes):
    """The kernel has the machine as it was meant."""
    for i, node in enumerate(nodes):
        folder = f"/sys/devices/system/node/node{i}"
        distances = machine.ask("read", f"{folder}/distance").split()
        check([int(d) for d in distances] == list(node.distances),
              f"node {i}: distances {distances}")
        cpus = machine.ask("read", f"{folder}/cpulist").strip()
        check(bool(cpus) == bool(node.cpus), f"node {i}: CPUs '{cpus}'")


def run_all(tap, name, nodes):
    with Machine(nodes) as machine:
        tap.run(f"{name}: the kernel sees them", check_nodes, machine, nodes)
        found = programs(NUMA)
        check(found, f"no {NUMA} in {TREE}")
        for path in found:
            tap.run(f"{name}: {os.path.basename(path)}", run_program, machine,
                    path, {})
        if len(nodes) == 1:
            return
        env = {"WEIR_TEST_CPUS": spread(nodes),
               "WEIR_STRESS_SECONDS": str(STRESS_SECONDS)}
        for short in SPREAD:
            tap.run(f"{name}: {os.path.basename(short)}", run_program,
                    machine, f"{TREE}/tests/{short}", env)


def fail(problem):
    raise problem


def main():
    require()
    tap = Tap()
    for name, nodes in MACHINES.items():
        try:
            run_all(tap, name, nodes)
        except Problem as problem:  # the next machine may be better off
            tap.run(f"{name}: boots and powers off", fail, problem)
    tap.finish()


if __name__ == "__main__":
    main()
