#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the made-up machines of this folder from short descriptions.

    generate.py [FOLDER]

Each is what weir_machine_record() would write on such a machine. Those that
were recorded on a real one are not written here.
"""

import itertools
import pathlib
import sys

CPUS = "/sys/devices/system/cpu"
NODES = "/sys/devices/system/node"
DEVICES = "/sys/bus/pci/devices"
GIB = 1 << 20  # in KiB
V2_MOUNT = "31 23 0:28 {} /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw"
V1_MOUNT = ("34 31 0:31 {} /sys/fs/cgroup/cpuset rw,nosuid - cgroup cgroup "
            "rw,cpuset")


def numbers(text):
    """The numbers of a list such as "0-3,8"."""
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def as_list(ids):
    """The opposite, as the kernel prints it."""
    runs = []
    for i in sorted(ids):
        if runs and runs[-1][1] == i - 1:
            runs[-1][1] = i
        else:
            runs.append([i, i])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


class Machine:
    """Files by their paths; those of folders end with a slash."""

    def __init__(self, about):
        self.about, self.files = about, {}

    def add(self, path, text):
        self.files[path] = str(text)

    def cpus(self, present, online=None, isolated="", tick_free=None):
        self.add(f"{CPUS}/present", present)
        self.add(f"{CPUS}/online", online or present)
        self.add(f"{CPUS}/isolated", isolated)
        # The kernel gives "(null)" a column for each CPU number.
        self.add(f"{CPUS}/nohz_full",
                 "(null)".rjust(max(numbers(present)) + 1)
                 if tick_free is None else tick_free)

    def core(self, cpus, package, siblings="core_cpus_list"):
        for cpu in numbers(cpus):
            topology = f"{CPUS}/cpu{cpu}/topology"
            self.add(f"{topology}/physical_package_id", package)
            self.add(f"{topology}/{siblings}", cpus)

    def caches(self, cpus, last=3):
        """These CPUs share the cache of the last level."""
        levels = [(1, "Data"), (1, "Instruction"), (2, "Unified"),
                  (3, "Unified")][:last + 1]
        for cpu in numbers(cpus):
            for i, (level, kind) in enumerate(levels):
                self.add(f"{CPUS}/cpu{cpu}/cache/index{i}/level", level)
                self.add(f"{CPUS}/cpu{cpu}/cache/index{i}/type", kind)
            self.add(f"{CPUS}/cpu{cpu}/cache/index{len(levels) - 1}"
                     "/shared_cpu_list", cpus)

    def grid(self, packages, caches, cores, threads):
        """So many caches a package, cores a cache and threads a core.

        As the kernel numbers them on most servers: first the cores of all
        packages, then once more for their second threads.
        """
        total = packages * caches * cores
        cpus = {}  # of each cache
        for core in range(total):
            package, cache = core // (caches * cores), core // cores
            ids = as_list(core + t * total for t in range(threads))
            self.core(ids, package)
            cpus.setdefault(cache, []).extend(numbers(ids))
        for ids in cpus.values():
            self.caches(as_list(ids))
        return [as_list(ids) for ids in cpus.values()]

    def node(self, number, cpus, gib, distances, pages=()):
        """pages: (KiB of one, how many, how many of them are free)"""
        node = f"{NODES}/node{number}"
        self.add(f"{node}/cpulist", cpus)
        self.add(f"{node}/distance", " ".join(map(str, distances)))
        self.add(f"{node}/meminfo",
                 f"Node {number} MemTotal:       {gib * GIB:8} kB")
        self.pages(f"{node}/hugepages", pages)

    def pages(self, folder, pages):
        self.add(f"{folder}/", "/".join(sorted(
            f"hugepages-{kib}kB" for kib, _, _ in pages)))
        for kib, total, free in pages:
            self.add(f"{folder}/hugepages-{kib}kB/nr_hugepages", total)
            self.add(f"{folder}/hugepages-{kib}kB/free_hugepages", free)

    def nodes(self, online):
        self.add(f"{NODES}/online", online)

    def devices(self, devices):
        """address -> (class, vendor, device, node, driver, interface)"""
        self.add(f"{DEVICES}/", "/".join(sorted(devices)))
        for address, (kind, vendor, device, node, driver, interface) in (
                devices.items()):
            folder = f"{DEVICES}/{address}"
            self.add(f"{folder}/class", f"0x{kind:06x}")
            if kind >> 8 != 0x0200:
                continue
            self.add(f"{folder}/vendor", f"0x{vendor:04x}")
            self.add(f"{folder}/device", f"0x{device:04x}")
            self.add(f"{folder}/numa_node", node)
            self.add(f"{folder}/uevent", f"DRIVER={driver}" if driver else "")
            if interface:
                self.add(f"{folder}/net/", interface)

    def cgroup2(self, path, cpus, mems, root="/"):
        """What is effective in the group that the process is in."""
        self.add("/proc/self/cgroup", f"0::{path}")
        self.add("/proc/self/mountinfo", V2_MOUNT.format(root))
        folder = f"/sys/fs/cgroup{path}".rstrip("/")
        self.add(f"{folder}/cpuset.cpus.effective", cpus)
        self.add(f"{folder}/cpuset.mems.effective", mems)

    def cgroup1(self, groups):
        """(path, CPUs, nodes) down to the group that the process is in."""
        self.add("/proc/self/cgroup", f"3:cpuset:{groups[-1][0]}")
        self.add("/proc/self/mountinfo", V1_MOUNT.format("/"))
        for path, cpus, mems in groups:
            folder = f"/sys/fs/cgroup/cpuset{path}".rstrip("/")
            self.add(f"{folder}/cpuset.cpus", cpus)
            self.add(f"{folder}/cpuset.mems", mems)

    def text(self):
        lines = ["weir-machine 1", f"# {self.about}",
                 "# Written by generate.py: change it there."]
        for path, text in self.files.items():
            text = (text.replace("\\", "\\\\").replace("\t", "\\t")
                    .replace("\n", "\\n"))
            lines.append(f"{path} = {text}".rstrip(" "))
        lines.append(f"end {len(self.files)}")
        return "\n".join(lines) + "\n"


def square(n, other):
    """Rows of distances, 10 to itself."""
    return [[10 if i == j else other for j in range(n)] for i in range(n)]


E810 = (0x020000, 0x8086, 0x159b)
X710 = (0x020000, 0x8086, 0x1572)
MLX5 = (0x020000, 0x15b3, 0x101d)
BRIDGE = (0x060400, 0x8086, 0x2030, -1, "pcieport", "")


def xeon():
    m = Machine("Two Xeons of 8 cores with SMT, a network card on each; most "
                "cores are set apart")
    m.cpus("0-31", isolated="2-7,10-15,18-23,26-31",
           tick_free="2-7,10-15,18-23,26-31")
    caches = m.grid(packages=2, caches=1, cores=8, threads=2)
    m.nodes("0-1")
    for i, row in enumerate(square(2, 21)):
        m.node(i, caches[i], 96, row, [(2048, 4096, 4096), (1048576, 8, 8)])
    m.devices({
        "0000:00:1c.0": BRIDGE,
        "0000:18:00.0": (*E810, 0, "ice", "ens1f0"),
        "0000:18:00.1": (*E810, 0, "vfio-pci", ""),
        "0000:af:00.0": (*E810, 1, "vfio-pci", ""),
        "0000:af:00.1": (*E810, 1, "vfio-pci", ""),
    })
    m.cgroup2("/", "0-31", "0-1")
    return m


def epyc():
    m = Machine("Two EPYCs with 8 last-level caches each, a node a socket")
    m.cpus("0-63")
    caches = m.grid(packages=2, caches=8, cores=2, threads=2)
    m.nodes("0-1")
    for i, row in enumerate(square(2, 32)):
        cpus = itertools.chain(*map(numbers, caches[8 * i:8 * i + 8]))
        m.node(i, as_list(cpus), 128, row, [(2048, 0, 0), (1048576, 16, 12)])
    m.devices({
        "0000:21:00.0": (*MLX5, 0, "mlx5_core", "enp33s0f0np0"),
        "0000:21:00.1": (*MLX5, 0, "mlx5_core", "enp33s0f1np1"),
        "0000:a1:00.0": (*MLX5, 1, "mlx5_core", "enp161s0f0np0"),
        "0000:a1:00.1": (*MLX5, 1, "mlx5_core", "enp161s0f1np1"),
    })
    m.cgroup2("/user.slice", "0-63", "0-1")
    return m


def nps4():
    m = Machine("An EPYC in four nodes of two last-level caches (NPS4)")
    m.cpus("0-31")
    caches = m.grid(packages=1, caches=8, cores=2, threads=2)
    m.nodes("0-3")
    for i, row in enumerate(square(4, 12)):
        cpus = itertools.chain(*map(numbers, caches[2 * i:2 * i + 2]))
        m.node(i, as_list(cpus), 32, row, [(2048, 1024, 1000)])
    m.devices({
        "0000:01:00.0": (*E810, 3, "vfio-pci", ""),
        "0000:01:00.1": (*E810, 3, "vfio-pci", ""),
        "0000:c1:00.0": (*MLX5, 0, "mlx5_core", "enp193s0np0"),
    })
    m.cgroup2("/", "0-31", "0-3")
    return m


def snc2():
    m = Machine("Two Xeons without SMT in sub-NUMA clusters (SNC2): a "
                "last-level cache has two nodes")
    m.cpus("0-15", isolated="1-3,5-7,9-11,13-15")
    m.grid(packages=2, caches=1, cores=8, threads=1)
    m.nodes("0-3")
    distances = [[10, 11, 21, 21], [11, 10, 21, 21],
                 [21, 21, 10, 11], [21, 21, 11, 10]]
    for i, row in enumerate(distances):
        m.node(i, f"{4 * i}-{4 * i + 3}", 48, row, [(2048, 2048, 2048)])
    m.devices({
        "0000:31:00.0": (*X710, 1, "i40e", "ens3f0"),
        "0000:b1:00.0": (*X710, 2, "vfio-pci", ""),
    })
    m.cgroup2("/", "0-15", "0-3")
    return m


def eight_nodes():
    m = Machine("Eight nodes whose distances differ by direction")
    m.cpus("0-15")
    m.grid(packages=8, caches=1, cores=2, threads=1)
    m.nodes("0-7")
    for i in range(8):
        # A ring, on which the way back is the longer one.
        row = [10 + 2 * ((j - i) % 8) if j >= i else 11 + 3 * ((i - j) % 8)
               for j in range(8)]
        m.node(i, f"{2 * i}-{2 * i + 1}", 16, row, [(2048, 512 * (i % 2), 0)])
    m.devices({"0000:05:00.0": (*X710, 4, "vfio-pci", ""),
               "10000:01:00.0": (*X710, 7, "i40e", "eth1")})
    m.cgroup2("/", "0-15", "0-7")
    return m


def one_cpu():
    m = Machine("One CPU, of a kernel that knows no nodes, without cgroups")
    m.add(f"{CPUS}/present", "0")
    m.add(f"{CPUS}/online", "0")
    m.core("0", 0)
    m.caches("0", last=2)
    m.add("/proc/meminfo", f"MemTotal:       {GIB:8} kB")
    m.pages("/sys/kernel/mm/hugepages", [(2048, 64, 60)])
    m.devices({"0000:00:03.0": (0x020000, 0x1af4, 0x1000, -1, "", "")})
    m.add("/proc/self/task/", "1")
    m.add("/proc/self/task/1/status",
          "Cpus_allowed_list:\t0\nMems_allowed_list:\t0")
    return m


def container():
    m = Machine("A container on a part of a machine of 16 CPUs (cgroup v2)")
    m.cpus("0-15", isolated="8-15", tick_free="8-15")
    caches = m.grid(packages=2, caches=1, cores=4, threads=2)
    m.nodes("0-1")
    for i, row in enumerate(square(2, 20)):
        m.node(i, caches[i], 32, row,
               [(2048, 1024, 512 - 512 * i), (1048576, 0, 0)])
    m.devices({"0000:3b:00.0": (*E810, 0, "vfio-pci", ""),
               "0000:3b:00.1": (*E810, 0, "ice", "eth0")})
    # The group has no cpuset of its own; that of the pod holds.
    m.cgroup2("/", "1-3,9-11", "0", root="/kubepods/pod7")
    m.add("/proc/self/cgroup", "0::/kubepods/pod7/main")
    return m


def groups():
    m = Machine("A process whose groups above it leave less than its own "
                "(cgroup v1)")
    m.cpus("0-7")
    for cpu in range(8):
        m.core(str(cpu), cpu // 4, siblings="thread_siblings_list")
        m.caches("0-3" if cpu < 4 else "4-7")
    m.nodes("0-1")
    for i, row in enumerate(square(2, 20)):
        m.node(i, f"{4 * i}-{4 * i + 3}", 8, row, [(2048, 256, 256)])
    m.devices({"0000:02:00.0": (*X710, 0, "i40e", "eth0"),
               "0000:82:00.0": (*X710, 1, "vfio-pci", "")})
    m.cgroup1([("", "0-7", "0-1"), ("/batch", "0-3,6", "0"),
               ("/batch/empty", "", ""), ("/batch/empty/job", "2-7", "0-1")])
    return m


def holes():
    m = Machine("Memory without CPUs (CXL), CPUs without memory, CPUs that "
                "are offline, gaps in all numbers")
    m.cpus("0-3,130-135,1100-1103", online="0-2,130-134,1100-1103",
           isolated="131-134,1101-1103", tick_free="131-134")
    for cpus, package in (("0-1", 0), ("2", 0), ("130-131", 2),
                          ("132-133", 2), ("134", 2), ("1100", 5),
                          ("1101", 5), ("1102", 5), ("1103", 5)):
        m.core(cpus, package)
    m.caches("0-2")
    m.caches("130-134")  # the others' firmware does not tell
    m.nodes("0,2,4,7")
    m.node(0, "0-2", 64, [10, 17, 21, 24], [(2048, 512, 512)])
    m.node(2, "130-134", 64, [17, 10, 21, 28], [(2048, 0, 0)])
    m.node(4, "1100-1103", 0, [21, 21, 10, 28])
    m.node(7, "", 256, [24, 28, 28, 10], [(2048, 128, 128)])
    m.devices({"0000:01:00.0": (*E810, 0, "ice", "eth0"),
               "0000:41:00.0": (*E810, 2, "vfio-pci", ""),
               "0000:81:00.0": (*E810, 4, "vfio-pci", ""),
               "0000:c1:00.0": (*E810, -1, "vfio-pci", "")})
    m.cgroup2("/", "0-2,130-134,1100-1103", "0,2,7")
    return m


MACHINES = [xeon, epyc, nps4, snc2, eight_nodes, one_cpu, container, groups,
            holes]


def main(folder):
    for make in MACHINES:
        (folder / f"{make.__name__}.machine").write_text(make().text(),
                                                         encoding="ascii")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1] if len(sys.argv) > 1
                      else pathlib.Path(__file__).parent))
