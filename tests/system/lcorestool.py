# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of weir-lcores have in common: running it, and machines."""

import contextlib
import glob
import os
import subprocess
import sys
import tempfile

from weirtest import check

BINARY = sys.argv[1]
MARK = "weir-lcores: "
TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
MACHINES = os.path.join(TOP, "tests", "data", "topology")

# Maps for the machine "xeon".
FAR = "(0,0,2),(0,1,10)"
XEON_MAP = ("main 0; lcore 2 rx=0.0-1; lcore 10 rx=0.2,1.0 park=adaptive; "
            "lcore 3 spare; port 1 0000:af:00.0")


def machine(name):
    return os.path.join(MACHINES, name + ".machine")


def machines():
    return sorted(os.path.basename(path)[:-len(".machine")]
                  for path in glob.glob(machine("*")))


def run(*args, binary=BINARY, text=True, **kwargs):
    return subprocess.run([binary, *args], stdin=subprocess.DEVNULL,
                          stdout=kwargs.pop("stdout", subprocess.PIPE),
                          stderr=subprocess.PIPE, text=text, timeout=60,
                          **kwargs)


def ask(*args, status=0):
    """What it prints; to stderr it prints nothing."""
    done = run(*args)
    check(done.returncode == status and not done.stderr,
          f"{args}: exit status {done.returncode}: {done.stderr}")
    return done.stdout


def refused(done, text, status=2):
    """One line, on stderr, in which that is."""
    check(done.returncode == status,
          f"exit status {done.returncode}, not {status}: {done.stderr}")
    lines = done.stderr.splitlines()
    check(len(lines) == 1 and lines[0].startswith(MARK),
          f"not one line: {lines}")
    check(text in lines[0], f"no '{text}' in: {lines[0]}")
    check(lines[0].isprintable(), f"not printable: {lines[0]!r}")


@contextlib.contextmanager
def made(caches, nodes=None, isolated="", tick_free="", nic_nodes=(0,),
         packages=(), hidden=False, more=None):
    """A recording of a machine: lists of CPUs by last-level cache and by node,
    of the nodes of network devices, and of the packages of the first CPUs.
    What is hidden are the caches; more are entries of any kind."""
    nodes = nodes or [[cpu for cache in caches for cpu in cache]]
    here, nics = "/sys/devices/system", "/sys/bus/pci/devices"
    every = ",".join(str(cpu) for node in nodes for cpu in node)
    entries = {f"{here}/cpu/present": every, f"{here}/cpu/online": every,
               f"{here}/cpu/isolated": isolated,
               f"{here}/cpu/nohz_full": tick_free,
               f"{here}/node/online": f"0-{len(nodes) - 1}",
               f"{nics}/": "/".join(f"0000:{i + 1:02x}:00.0"
                                    for i in range(len(nic_nodes)))}
    for cache in caches:
        for cpu in cache:
            entries[f"{here}/cpu/cpu{cpu}/topology/core_cpus_list"] = str(cpu)
            if hidden:
                continue
            at = f"{here}/cpu/cpu{cpu}/cache/index0"
            entries |= {f"{at}/level": "3", f"{at}/type": "Unified",
                        f"{at}/shared_cpu_list": ",".join(map(str, cache))}
    for i, package in enumerate(packages):
        entries[f"{here}/cpu/cpu{i}/topology/physical_package_id"] = (
            str(package))
    for i, node in enumerate(nodes):
        entries[f"{here}/node/node{i}/cpulist"] = ",".join(map(str, node))
    for i, node in enumerate(nic_nodes):
        at = f"{nics}/0000:{i + 1:02x}:00.0"
        entries |= {f"{at}/class": "0x020000", f"{at}/vendor": "0x8086",
                    f"{at}/device": "0x1572", f"{at}/numa_node": str(node)}
    entries |= more or {}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "made")
        with open(path, "w", encoding="ascii") as f:
            f.write("weir-machine 1\n")
            f.writelines(f"{k} = {v}\n" if v else f"{k} =\n"
                         for k, v in entries.items())
            f.write(f"end {len(entries)}\n")
        yield path


def items(text):
    """A map without its comments."""
    lines = [line.split("#")[0].strip() for line in text.splitlines()]
    return "; ".join(line for line in lines if line)
