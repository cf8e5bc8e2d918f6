# SPDX-License-Identifier: BSD-3-Clause
"""The machine under the benchmarks: its CPUs, who else uses them, and the
programs that are run on it."""

import collections
import contextlib
import os
import signal
import subprocess
import tempfile
import time

# Share of one CPU that others may use before a sample counts as disturbed.
FOREIGN_LIMIT = 0.05
QUIET_WINDOW = 0.25
TICK = os.sysconf("SC_CLK_TCK")


class Failure(Exception):
    """What went wrong, in one line."""


class Account:
    """CPU time that others use on our CPUs, from its creation on."""

    def __init__(self, cpus, pid=None):
        self._cpus = cpus
        self._pid = pid
        self._began = time.monotonic()
        self._foreign = self._read()

    def _read(self):
        busy = 0
        with open("/proc/stat", encoding="ascii") as f:
            for line in f:
                name, *times = line.split()
                if name in {f"cpu{cpu}" for cpu in self._cpus}:
                    # user nice system idle iowait irq softirq steal
                    times = [int(t) for t in times[:8]]
                    busy += sum(times) - times[3] - times[4]
        own = sum(os.times()[:2])
        if self._pid is not None:
            with open(f"/proc/{self._pid}/stat", encoding="utf-8") as f:
                fields = f.read().rpartition(")")[2].split()
            own += (int(fields[11]) + int(fields[12])) / TICK
        return busy / TICK - own

    def foreign(self):
        """Their share of one CPU since then; 0.0 is none."""
        took = time.monotonic() - self._began
        return max(0.0, (self._read() - self._foreign) / took)


def core_of(cpu):
    """What names the core that a CPU is a part of, as far as it is known."""
    topology = f"/sys/devices/system/cpu/cpu{cpu}/topology"
    try:
        with open(f"{topology}/physical_package_id", encoding="ascii") as f:
            package = f.read()
        with open(f"{topology}/core_id", encoding="ascii") as f:
            return package, f.read()
    except OSError:
        return cpu


def by_core(cpus, core=core_of):
    """One of each core first: two of one core share what it has."""
    seen = collections.Counter()
    order = []
    for cpu in cpus:
        name = core(cpu)
        order.append((seen[name], cpu))
        seen[name] += 1
    return tuple(cpu for _, cpu in sorted(order))


class Machine:
    """CPUs, two unless it says otherwise: the first is for what waits, the others for
    what works; a worker shares the first where there are as many as CPUs."""

    def __init__(self, most=2):
        cpus = by_core(sorted(os.sched_getaffinity(0)))
        if len(cpus) < 2:
            raise Failure("needs two CPUs: one that works and is not shared, "
                          "one for the rest; there is one")
        self.cpus = cpus[:most]
        # We belong to the rest.
        os.sched_setaffinity(0, self.cpus[:1])

    def wait_quiet(self, seconds):
        """Waits until others leave our CPUs alone, for so long at most. Gives
        the seconds until they began to; more than allowed: they did not."""
        began, waited = time.monotonic(), 0.0
        while waited <= seconds:
            account = Account(self.cpus)
            time.sleep(QUIET_WINDOW)
            if account.foreign() <= FOREIGN_LIMIT:
                break
            waited = time.monotonic() - began
        return waited


class Program:
    """A running program, whose output is kept. Use it in a `with`."""

    def __init__(self, argv, prompt=False):
        self.name = os.path.basename(argv[0])
        self._out = tempfile.TemporaryFile()
        # It polls for ever, so it must not outlive us, whatever ends us.
        # A session of its own: a terminal's Ctrl-C is for us to handle.
        self.process = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *argv],
            stdin=subprocess.PIPE if prompt else subprocess.DEVNULL,
            stdout=self._out,
            stderr=subprocess.STDOUT, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self._out.close()
        if self.process.stdin:
            self.process.stdin.close()

    def type(self, line):
        """At its prompt; if it has ended, whoever waits for it says so."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self.process.stdin.fileno(), f"{line}\n".encode())

    def output(self):
        # pread: the offset is shared with the program that writes.
        size = os.fstat(self._out.fileno()).st_size
        return os.pread(self._out.fileno(), size, 0).decode(errors="replace")

    def _has_ended(self):
        # It stays a zombie, of which the account can be taken.
        return os.waitid(os.P_PID, self.process.pid,
                         os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def wait_output(self, predicate, seconds):
        """Waits until predicate(output) is true, and gives what it gave."""
        deadline = time.monotonic() + seconds
        while True:
            # Before its output: what it wrote last is seen then.
            ended = self._has_ended()
            if found := predicate(self.output()):
                return found
            if ended:
                raise Failure(f"{self.name} has ended with status "
                              f"{self.process.wait()}: {self.last_lines()}")
            if time.monotonic() > deadline:
                raise Failure(f"{self.name} does not say what it should: "
                              f"{self.last_lines()}")
            time.sleep(0.02)

    def interrupt(self, seconds=20):
        """Ends it as a user would; gives its exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.end(seconds)

    def end(self, seconds):
        """Waits for its end; gives its exit status."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise Failure(f"{self.name} does not end") from None

    def last_lines(self):
        lines = [line.strip() for line in self.output().splitlines()]
        return " / ".join([line for line in lines if line][-3:])
