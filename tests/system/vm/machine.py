# SPDX-License-Identifier: BSD-3-Clause
"""A virtual machine of several NUMA nodes, in QEMU without KVM.

It sees the host's files, read only; what it changes is in its memory. Programs
run in it as they do here. Its network cards, behind an IOMMU, are taps of the
host.
"""

import contextlib
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import kernel  # noqa: E402
from netns import require_taps  # noqa: E402
from weirtest import Problem, Testpmd, check, skip_all  # noqa: E402

QEMU = "qemu-system-x86_64"
AGENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "agent.py")
# All are long: the host may be busy, and waits that end early cost nothing.
BOOT_SECONDS = 150
BOOTS = 3
ANSWER_SECONDS = 120
RUN_SECONDS = 300
OFF_SECONDS = 60
CONSOLE_CHARACTERS = 4000
NODE_MIB = 768
NODE_HUGEPAGES = 200  # of 2 MiB
NEAR, FAR = 10, 20

COMMAND_LINE = (
    "console=ttyS0 loglevel=6 panic=-1 mitigations=off random.trust_cpu=on "
    "lpj=5000000 tsc=reliable clocksource=tsc nowatchdog cryptomgr.notests "
    # A host that is busy fails the kernel's test of its timer.
    "no_timer_check intel_iommu=on")


def cache_folder():
    """Beside the programs that are tested; it is not made again each time."""
    folder = os.path.dirname(os.path.abspath(sys.argv[1]))
    while "meson-info" not in os.listdir(folder):
        folder = os.path.dirname(folder)
    return os.path.join(folder, "vm")


def require():
    """Skips all where the machine cannot be had."""
    require_taps()
    if platform.machine() != "x86_64":
        skip_all("the machine runs programs of x86-64, as this host does not")
    if shutil.which(QEMU) is None:
        skip_all(f"no {QEMU} here; package qemu-system-x86 has it")
    try:
        kernel.files(cache_folder(), AGENT)
    except kernel.Lacking as e:
        skip_all(str(e))


class Node:
    """CPUs, network cards (their models), and distances to the nodes."""

    def __init__(self, cpus, distances, nics=()):
        self.cpus, self.distances, self.nics = cpus, distances, nics


def uniform(nodes, cpus):
    return [Node(cpus, [NEAR if i == j else FAR for j in range(nodes)])
            for i in range(nodes)]


def numa_arguments(nodes):
    count = sum(n.cpus for n in nodes)
    sockets = max(1, len([n for n in nodes if n.cpus]))
    argv = ["-smp", f"{count},sockets={sockets},cores={count // sockets},"
                    "threads=1", "-m", str(NODE_MIB * len(nodes))]
    cpu = 0
    for i, node in enumerate(nodes):
        cpus = f",cpus={cpu}-{cpu + node.cpus - 1}" if node.cpus else ""
        argv += ["-object", f"memory-backend-ram,id=mem{i},size={NODE_MIB}M",
                 "-numa", f"node,nodeid={i},memdev=mem{i}{cpus}"]
        cpu += node.cpus
    for i, node in enumerate(nodes):
        for j, distance in enumerate(node.distances):
            argv += ["-numa", f"dist,src={i},dst={j},val={distance}"]
    return argv


# With what a model is told beside its place. RSS needs a tap of many queues.
MODELS = {
    "virtio": ("virtio-net-pci", ",mq=on,vectors=10,rss=on,hash=on,"
               "disable-legacy=on,iommu_platform=on,ats=on", ",queues=4"),
    "vmxnet3": ("vmxnet3", "", ""),
    "e1000e": ("e1000e", "", ""),
}


def nic_arguments(nodes):
    """Bus numbers rise, so that cards are found in this order."""
    argv, number = [], 0
    for i, node in enumerate(nodes):
        if not node.nics:
            continue
        argv += ["-device", f"pxb-pcie,id=pxb{i},bus=pcie.0,numa_node={i},"
                            f"bus_nr={32 + 32 * i}"]
        for model in node.nics:
            device, more, queues = MODELS[model]
            argv += ["-device", f"pcie-root-port,id=root{number},bus=pxb{i},"
                                f"chassis={number + 1},slot={number}",
                     "-netdev", f"tap,id=net{number},ifname=port{number},"
                                f"script=no,downscript=no{queues}",
                     "-device", f"{device},netdev=net{number},"
                                f"bus=root{number}{more}"]
            number += 1
    return argv


def qemu_arguments(nodes, image, share, port):
    return [
        QEMU, "-accel", "tcg,thread=multi,tb-size=512",
        "-machine", "q35,smbus=off,sata=off,usb=off,kernel-irqchip=off",
        "-cpu", "Nehalem", "-nodefaults", "-no-user-config", "-no-reboot",
        "-display", "none", *numa_arguments(nodes),
        # The IOMMU comes before whatever it is to guard.
        "-device", "intel-iommu,intremap=on,caching-mode=on,device-iotlb=on",
        "-kernel", image, "-initrd", f"{share}/initrd", "-append", COMMAND_LINE,
        "-virtfs", "local,path=/,mount_tag=host,security_model=none,"
                   "readonly=on,multidevs=remap",
        "-virtfs", f"local,path={share},mount_tag=share,security_model=none",
        "-serial", f"file:{share}/console",
        "-chardev", f"socket,id=agent,fd={port}", "-serial", "chardev:agent",
        *nic_arguments(nodes)]


class Machine:
    """A machine that runs. Use as a context manager."""

    def __init__(self, nodes, wrapper=()):
        self.nodes, self.wrapper = nodes, list(wrapper)
        self.qemu = self.port = None
        self.number = 0

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self.share = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="weir-vm-"))
            image, initrd = kernel.files(cache_folder(), AGENT)
            with open(f"{self.share}/initrd", "wb") as f:
                f.write(initrd)
            stack.callback(self._end)
            self._boot(image)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self._power_off()
        finally:
            self.stack.close()

    def _boot(self, image):
        """More than once if need be: on a busy host the kernel has hung as it
        started, or soon after, with a virtual CPU that took no timer interrupts."""
        for attempt in range(BOOTS):
            self._start_qemu(image)
            try:
                self._answer(BOOT_SECONDS)
                self.reserve_hugepages()
                return
            except Problem as problem:
                self._end()
                if attempt == BOOTS - 1:
                    raise
                print("# it does not boot, once more:",
                      str(problem).partition("\n")[0], flush=True)

    def _start_qemu(self, image):
        ours, theirs = socket.socketpair()
        with theirs, open(f"{self.share}/qemu", "wb") as log:
            self.qemu = subprocess.Popen(
                self.wrapper + qemu_arguments(self.nodes, image, self.share,
                                              theirs.fileno()),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                pass_fds=(theirs.fileno(),))
        self.port = ours
        self.lines = ours.makefile("rb")

    def trouble(self, what):
        """With the ends of what the kernel and init, and QEMU, said."""
        for name in ("console", "qemu"):
            with contextlib.suppress(FileNotFoundError), \
                 open(f"{self.share}/{name}", errors="replace",
                      encoding="utf-8") as f:
                what += f"\n{name}:\n{f.read()[-CONSOLE_CHARACTERS:]}"
        return Problem(what)

    def _answer(self, seconds):
        self.port.settimeout(seconds)
        try:
            line = self.lines.readline()
        except TimeoutError:
            raise self.trouble(f"no answer within {seconds} s") from None
        if not line:
            self.qemu.wait()
            raise self.trouble(f"QEMU ended: {self.qemu.returncode}")
        try:
            answer = json.loads(line)
        except ValueError:
            raise self.trouble(f"an answer that is none: {line}") from None
        check("error" not in answer, answer.get("error", ""))
        return answer["value"]

    def ask(self, *request):
        self.port.sendall(json.dumps(request).encode() + b"\n")
        return self._answer(ANSWER_SECONDS)

    def _power_off(self):
        self.port.sendall(b'["end"]\n')
        try:
            status = self.qemu.wait(OFF_SECONDS)
        except subprocess.TimeoutExpired:
            raise self.trouble("it does not power off") from None
        if status != 0:
            raise self.trouble(f"QEMU's exit status is {status}")

    def _end(self):
        if self.qemu is not None and self.qemu.poll() is None:
            self.qemu.kill()
            self.qemu.wait()
        if self.port is not None:
            self.lines.close()
            self.port.close()

    def start(self, argv, env=()):
        self.number += 1
        return Process(self, argv, dict(env), f"program{self.number}")

    def run(self, argv, env=(), seconds=RUN_SECONDS):
        """Runs a program: its exit status, None if that takes too long, and the
        texts of both outputs."""
        process = self.start(argv, env)
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            status = None
        return status, *process.texts()

    def shell(self, script):
        """The output of a script that must succeed."""
        status, out, err = self.run(["sh", "-ec", script])
        check(status == 0, f"in the machine: {status} {out}{err}")
        return out

    def reserve_hugepages(self):
        self.shell(
            "mount -t hugetlbfs none /dev/hugepages\n"
            "for n in /sys/devices/system/node/node[0-9]*; do\n"
            f"  f=$n/hugepages/hugepages-2048kB; echo {NODE_HUGEPAGES}"
            " >$f/nr_hugepages\n"
            f"  test $(cat $f/free_hugepages) -eq {NODE_HUGEPAGES}\n"
            "done")

    def bind_nics(self):
        """Gives all cards to vfio-pci; (address, node) of each, in order."""
        out = self.shell(
            "for d in /sys/bus/pci/devices/*; do\n"
            "  test $(cat $d/class) = 0x020000 || continue\n"
            "  a=${d##*/}\n"
            "  if test -e $d/driver; then echo $a >$d/driver/unbind; fi\n"
            "  echo vfio-pci >$d/driver_override\n"
            "  echo $a >/sys/bus/pci/drivers_probe\n"
            "  test $(basename $(readlink $d/driver)) = vfio-pci\n"
            "  echo $a $(cat $d/numa_node)\n"
            "done")
        return [(line.split()[0], int(line.split()[1]))
                for line in out.splitlines()]


class Process:
    """A program in the machine, with the methods of a Popen."""

    def __init__(self, machine, argv, env, name):
        self.machine, self.returncode = machine, None
        self.paths = [f"{machine.share}/{name}.{end}" for end in ("out", "err")]
        self.pid = machine.ask("start", argv, env, name)

    def follow(self):
        """From now on its outputs can be read while it runs."""
        self.stdout, self.stderr = (Follower(self, p) for p in self.paths)
        return self

    def poll(self):
        if self.returncode is None:
            self.returncode = self.machine.ask("wait", self.pid, 0)
        return self.returncode

    def wait(self, seconds=RUN_SECONDS):
        deadline = time.monotonic() + seconds
        while self.poll() is None:
            if time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(str(self.pid), seconds)
            time.sleep(0.05)
        return self.returncode

    def send_signal(self, number):
        if self.poll() is None:
            self.machine.ask("signal", self.pid, int(number))

    def kill(self):
        self.send_signal(9)

    def texts(self):
        texts = []
        for path in self.paths:
            with open(path, encoding="utf-8", errors="replace") as f:
                texts.append(f.read())
        return texts


class MachineTestpmd(Testpmd):
    """A weir-testpmd in the machine, on some of its cards or devices."""

    def __init__(self, machine, options, lcores, devices):
        super().__init__(options)
        self.machine, self.eal_cleans_up = machine, False
        self.argv = [os.path.abspath(self.binary), "--file-prefix", self.prefix,
                     # A pattern: a bare level would be the most for all.
                     "--log-level", "*:error", "--log-level", "lib.weir:notice",
                     "--lcores", lcores, *devices, "--", *options]

    def open(self):
        return self.machine.start(self.argv).follow()

    def _dead(self):
        # The outputs end once it is known to have ended.
        self.process.poll()
        return super()._dead()

    def telemetry(self, request):
        return self.machine.ask(
            "telemetry", f"/run/dpdk/{self.prefix}/dpdk_telemetry.v2", request)

    def workers(self):
        """Folders of the worker threads."""
        tasks = f"/proc/{self.process.pid}/task"
        folders = [f"{tasks}/{t}" for t in self.machine.ask("listed", tasks)]
        found = [f for f in folders
                 if "worker" in self.machine.ask("read", f"{f}/comm")]
        check(found, "no worker threads found")
        return found


class Follower:
    """The lines of a file that a program is writing, until that has ended."""

    def __init__(self, process, path):
        self.process = process
        self.file = open(path, encoding="utf-8", errors="replace")

    def __iter__(self):
        rest, last = "", False
        while True:
            text = self.file.read()
            if not text:
                if last:
                    yield from filter(None, [rest])
                    return
                # What it wrote before its end is there to be read now.
                last = self.process.returncode is not None
                time.sleep(0.02)
                continue
            *lines, rest = (rest + text).split("\n")
            yield from lines

    def close(self):
        self.file.close()
