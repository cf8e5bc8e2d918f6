# SPDX-License-Identifier: BSD-3-Clause
"""What the system tests have in common: TAP, and running weir-testpmd."""

import contextlib
import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

SKIP = 77
START_SECONDS = 60
END_SECONDS = 60

LAST_LINE = re.compile(r"forwarded (\d+) packets, lost (\d+), "
                       r"tasks left (\d+), mbufs left (\d+)$")
PORT_LINE = re.compile(r"port (\d+): received (\d+), sent (\d+), dropped (\d+)")
TWO_NULL = ("net_null0", "net_null1")
# What is before its own lines on standard error.
MARK = "weir-testpmd: "
WARNING = MARK + "warning: "
# What is before a command to have its output go nowhere.
FULL_DISK = ("sh", "-c", 'exec "$@" >/dev/full', "sh")
# And to have none.
CLOSED = ("sh", "-c", 'exec "$@" >&-', "sh")
BAD_FILE = "standard output: Bad file descriptor"
NO_READER = "standard output: Broken pipe"
NO_SPACE = "standard output: No space left on device"


class Problem(Exception):
    """Why a test fails, in one line."""


def on_sigterm(number, _frame):
    # Once: tools/test waits for what is made to be removed.
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


signal.signal(signal.SIGTERM, on_sigterm)
# Programs that are tested would ignore it, too.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def check(condition, text):
    if not condition:
        raise Problem(text)


def check_eal_help_on_full_disk(binary):
    """EAL prints its help itself, and an application behind it."""
    done = subprocess.run([*FULL_DISK, binary, "--help"], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          check=False)
    check(done.returncode == 1, f"EAL's --help: status {done.returncode}")
    check(NO_SPACE in done.stderr, f"EAL's --help: {done.stderr}")


def skip_all(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(SKIP)


class Skip(Exception):
    """A test that cannot be made here; the argument says why."""


class Tap:
    """Runs test functions and prints what becomes of them."""

    def __init__(self):
        self.count = self.failures = 0

    def run(self, name, function, *args):
        self.count += 1
        try:
            function(*args)
        except Skip as reason:
            print(f"ok {self.count} - {name} # SKIP {reason}")
        except Exception as e:  # whatever it is, the other tests go on
            self.failures += 1
            print(f"not ok {self.count} - {name}")
            text = str(e) if isinstance(e, Problem) else traceback.format_exc()
            for line in text.splitlines():
                print(f"#   {line}")
        else:
            print(f"ok {self.count} - {name}")
        sys.stdout.flush()

    def finish(self):
        print(f"1..{self.count}")
        sys.exit(1 if self.failures else 0)


def seed():
    """Of this run's random numbers; printed, so that it can be repeated."""
    text = os.environ.get("WEIR_TEST_SEED")
    value = int(text, 0) if text else random.getrandbits(32)
    print(f"# WEIR_TEST_SEED={value:#x}")
    return value


def lcores(workers):
    """A main lcore and workers, on whatever CPUs there are."""
    cpus = sorted(os.sched_getaffinity(0))
    places = [f"0@{cpus[0]}"]
    places += [f"{i + 1}@{cpus[i % len(cpus)]}" for i in range(workers)]
    return ",".join(places)


class Account:
    """The lines in which weir-testpmd says what it did."""

    def __init__(self, lines):
        last = LAST_LINE.match(lines[-1]) if lines else None
        check(last, "no account at the end: " + " / ".join(lines[-3:]))
        (self.forwarded, self.lost, self.tasks_left,
         self.mbufs_left) = (int(n) for n in last.groups())
        ports = [PORT_LINE.match(line) for line in lines]
        self.ports = {int(m[1]): tuple(int(n) for n in m.groups()[1:])
                      for m in ports if m}

    def check_clean(self):
        check((self.lost, self.tasks_left, self.mbufs_left) == (0, 0, 0),
              f"lost {self.lost}, tasks left {self.tasks_left}, "
              f"mbufs left {self.mbufs_left}")


class Testpmd:
    """A running weir-testpmd. Use as a context manager."""

    binary = sys.argv[1] if len(sys.argv) > 1 else None
    # EAL cancels its thread for other processes at the end, in the middle of
    # what the thread sanitizer was told to ignore.
    shares = "TSAN_OPTIONS" not in os.environ
    number = 0

    def __init__(self, options=(), vdevs=TWO_NULL, workers=2, eal=(),
                 lcores_option=None, wrapper=(), memory=True,
                 telemetry=False):
        Testpmd.number += 1
        self.stack = contextlib.ExitStack()
        # EAL leaves files there, even after a clean end.
        self.runtime = self.stack.enter_context(
            tempfile.TemporaryDirectory(prefix="weir-system-"))
        self.prefix = f"weir-{os.getpid()}-{Testpmd.number}"
        self.argv = [*wrapper, self.binary, "--no-pci",
                     "--telemetry" if telemetry else "--no-telemetry",
                     "--log-level", "error", "--file-prefix", self.prefix]
        if memory:
            self.argv += ["--no-huge", "-m", "256"]
        if not self.shares:
            self.argv.append("--no-shconf")
        self.argv += lcores_option or ["--lcores", lcores(workers)]
        self.argv += eal
        for vdev in vdevs:
            self.argv += ["--vdev", vdev]
        self.argv += ["--", *options]
        self.lines, self.errors = [], []
        self.changed = threading.Condition()
        self.process, self.readers = None, []
        self.eal_cleans_up = True  # not when it did not start itself

    def open(self, stdout=subprocess.PIPE):
        return subprocess.Popen(
            self.argv, stdin=subprocess.DEVNULL, stdout=stdout,
            stderr=subprocess.PIPE, text=True,
            env={**os.environ, "RUNTIME_DIRECTORY": self.runtime})

    def __enter__(self):
        self.process = self.open()
        for stream, lines in ((self.process.stdout, self.lines),
                              (self.process.stderr, self.errors)):
            reader = threading.Thread(target=self._read, args=(stream, lines))
            reader.start()
            self.readers.append(reader)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for reader in self.readers:
            reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        self.stack.close()

    def _read(self, stream, lines):
        for line in stream:
            with self.changed:
                lines.append(line.rstrip())
                self.changed.notify_all()
        with self.changed:
            self.changed.notify_all()

    def _dead(self):
        return not any(r.is_alive() for r in self.readers)

    def wait_for(self, predicate, what, seconds=START_SECONDS):
        """Waits until predicate(lines of stdout, of stderr) is true."""
        deadline = time.monotonic() + seconds
        with self.changed:
            while not predicate(self.lines, self.errors):
                left = deadline - time.monotonic()
                check(left > 0, f"no {what} within {seconds} s: "
                      + self.describe())
                check(not self._dead(), f"no {what}, it has ended: "
                      + self.describe())
                self.changed.wait(min(left, 1))

    def wait_line(self, text, count=1):
        self.wait_for(lambda out, err: sum(
            text in line for line in out + err) >= count, f"line '{text}'")

    def wait_started(self):
        self.wait_line("forwarding started")

    def complaints(self):
        """What it says on standard error itself, but for warnings."""
        return [line for line in self.errors
                if line.startswith(MARK) and not line.startswith(WARNING)]

    def describe(self):
        return " / ".join(self.lines[-5:] + self.errors[-5:])

    def wait_end(self, status=0, seconds=END_SECONDS):
        """Waits for the end, and checks its status unless any will do (None)."""
        try:
            got = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Problem(f"no end within {seconds} s: " + self.describe()) \
                from None
        for reader in self.readers:
            reader.join()
        check(status in (None, got), f"exit status {got}, not {status}: "
              + self.describe())
        if not self.eal_cleans_up:
            return
        sockets = [name for _, _, names in os.walk(self.runtime)
                   for name in names if "socket" in name]
        check(not sockets, f"left behind: {sockets}")

    def stop(self, number=signal.SIGINT, status=0):
        self.process.send_signal(number)
        self.wait_end(status)
        return Account(self.lines)

    def run(self, status=0):
        """For a program that ends by itself."""
        with self:
            self.wait_end(status)
            return Account(self.lines)

    def sent(self):
        """Packets that each port has sent, in the latest statistics."""
        return self.counted("TX")

    def counted(self, direction):
        """Packets of each port, in the latest statistics."""
        found, port = {}, None
        with self.changed:
            lines = self.lines[-80:]
        for line in lines:
            m = re.match(r"port (\d+) statistics", line)
            port = int(m[1]) if m else port
            m = re.match(rf" +{direction}-packets: +(\d+)", line)
            if m and port is not None:
                found[port] = int(m[1])
        return found


class SmallProgram(Testpmd):
    """A running program with an account of its own, which account() reads."""

    def wait_started(self):
        self.wait_line("started on")

    def stop(self, number=signal.SIGINT, status=0):
        self.process.send_signal(number)
        self.wait_end(status)
        return self.account()


class Telemetry:
    """A connection to one that has it. Use as a context manager."""

    def __init__(self, testpmd):
        path = f"{testpmd.runtime}/dpdk/{testpmd.prefix}/dpdk_telemetry.v2"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with contextlib.ExitStack() as stack:
            stack.callback(self.socket.close)
            self.socket.connect(path)
            greeting = json.loads(self.socket.recv(1024))
            stack.pop_all()
        self.size = greeting["max_output_len"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def ask(self, request):
        self.socket.send(request.encode())
        answer = json.loads(self.socket.recv(self.size))
        check(len(answer) == 1, f"{request}: {answer}")
        return answer[request.split(",")[0]]

    def wait_for(self, asked, what):
        """Waits until asked() is true, which asks each time."""
        end = time.monotonic() + START_SECONDS
        while not asked():
            check(time.monotonic() < end,
                  f"no {what} within {START_SECONDS} s")


# Packets and files of packets.

def make_packets(rng, count, tag=0, sizes=(60, 1514)):
    """Ethernet frames that differ; they carry their number."""
    return [bytes(rng.choices(range(256), k=12)) + b"\x88\xb5"
            + struct.pack(">IB", i, tag)
            + rng.randbytes(rng.randint(*sizes) - 19) for i in range(count)]


def write_pcap(path, packets):
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for i, data in enumerate(packets):
            f.write(struct.pack("<IIII", i, 0, len(data), len(data)) + data)


def read_pcap(path):
    with open(path, "rb") as f:
        data = f.read()
    packets, at = [], 24
    while at + 16 <= len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        packets.append(data[at + 16:at + 16 + size])
        at += 16 + size
    return packets
