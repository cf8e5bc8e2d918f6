# SPDX-License-Identifier: BSD-3-Clause
"""The traffic of tools/demo, which builds the program and calls this."""

import argparse
import contextlib
import hashlib
import os
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

SEED = 0x57656972
ADDRESSES = ("198.18.0.1", "198.18.0.2")
MACS = ("02:57:65:69:72:0a", "02:57:65:69:72:0b")
TCP_PORT = 5201
CHUNK = 1 << 16
PCAP_PACKETS = 100_000
START_SECONDS = 30  # until forwarding must have started
QUIET_SECONDS = 10  # until every packet under way must have been counted

# A ring of 32 MiB: on a machine whose CPUs all poll, the kernel may keep a
# worker from its CPU for some time, and TCP sends all the while.
RING = "framesz=2048,blocksz=65536,framecnt=16384"

# Its neighbour discovery comes when it likes. A kernel may lack it.
NO_IPV6 = """for i in all default; do
f=/proc/sys/net/ipv6/conf/$i/disable_ipv6; [ ! -e $f ] || echo 1 >$f; done"""

LAST_LINE = re.compile(r"forwarded (\d+) packets, lost (\d+), "
                       r"tasks left (\d+), mbufs left (\d+)$")
RECEIVED = re.compile(r"port (\d+): received (\d+), sent (\d+)")


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Failure(Exception):
    """What went wrong, in one line."""


class Stopped(Exception):
    """A signal asked for the end. No failure, which some can do without."""


def say(text):
    print(text, flush=True)


@contextlib.contextmanager
def later_signals():
    """Signals wait: none comes between a program's start and our knowing it.

    Gives a function that lets the program have them.
    """
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield lambda: signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


CHILDREN = []


def start(argv, **kwargs):
    """Starts a program, which end_children() ends if nobody else has."""
    with later_signals() as let_in:
        CHILDREN.append(subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            preexec_fn=let_in, **kwargs))
    return CHILDREN[-1]


def end_children():
    for child in CHILDREN:
        if child.poll() is None:
            child.kill()
            child.wait()


def run(*argv, **kwargs):
    """Runs a tool to its end and gives its output."""
    with later_signals() as let_in:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, check=False,
                              stderr=subprocess.STDOUT, preexec_fn=let_in,
                              **kwargs)
    if done.returncode != 0:
        raise Failure(f"{' '.join(argv)}: {done.stdout.strip()}")
    return done.stdout


def lcores():
    """A main lcore and two workers, on two of the CPUs that we may use."""
    cpus = sorted(os.sched_getaffinity(0))
    first, second = cpus[0], cpus[1 % len(cpus)]
    return f"0@{first},1@{first},2@{second}"


def lcore_map():
    """Which of them are workers, where, and which port each polls."""
    cpus = sorted(os.sched_getaffinity(0))
    first, second = cpus[0], cpus[1 % len(cpus)]
    return (f"main 0 cpus={first}; lcore 1 cpus={first} rx=0.0; "
            f"lcore 2 cpus={second} rx=1.0")


class Testpmd:
    """A running weir-testpmd, whose lines a thread collects."""

    def __init__(self, binary, vdevs, prefix=()):
        # DPDK leaves files behind; away with them afterwards.
        self.scratch = tempfile.TemporaryDirectory(prefix="weir-demo-")
        argv = [*prefix, binary, "--lcores", lcores(), "--no-huge", "-m", "256",
                "--no-pci", "--no-telemetry", "--log-level", "error",
                "--file-prefix", f"weir-demo-{os.getpid()}"]
        for vdev in vdevs:
            argv += ["--vdev", vdev]
        argv += ["--", "--map", lcore_map(), "--stats-period", "0.2"]
        say(f"demo: lcore map: {lcore_map()}")
        self.lines = []
        self.changed = threading.Condition()
        self.process = start(
            argv, stderr=subprocess.STDOUT,
            env={**os.environ, "RUNTIME_DIRECTORY": self.scratch.name})
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append(line.rstrip())
                self.changed.notify_all()
        with self.changed:
            self.lines.append(None)
            self.changed.notify_all()

    def wait_until(self, predicate, seconds):
        """Waits until predicate(lines) holds. False: it did not in time."""
        with self.changed:
            self.changed.wait_for(
                lambda: None in self.lines or predicate(self.lines), seconds)
            if None in self.lines:
                raise Failure("weir-testpmd has ended: " + " / ".join(
                    line for line in self.lines[-4:] if line))
            return predicate(self.lines)

    def wait_started(self):
        if not self.wait_until(lambda lines: any(
                line.startswith("forwarding started") for line in lines),
                START_SECONDS):
            raise Failure("weir-testpmd does not start forwarding")

    @staticmethod
    def port_counts(lines):
        """Packets received and sent by each port in the latest statistics."""
        found, port = {}, None
        for line in lines[-60:]:
            m = re.match(r"port (\d+) statistics", line or "")
            if m:
                port, received = int(m[1]), None
            m = re.search(r"([RT])X-packets: +(\d+)", line or "")
            if m and port is not None:
                if m[1] == "R":
                    received = int(m[2])
                elif received is not None:
                    found[port] = (received, int(m[2]))
        return found

    def stop(self):
        """Ends it as a user would; gives its account, and whether it was 0."""
        seen = len(self.lines)
        self.process.send_signal(signal.SIGINT)
        try:
            status = self.process.wait(60)
        except subprocess.TimeoutExpired:
            raise Failure("weir-testpmd does not end") from None
        self.reader.join()
        lines = [line for line in self.lines[seen:] if line]
        # The statistics of the last moment are not part of the account.
        account = [line for line in lines if re.match(
            r"(port \d+: r|worker|average|unaccounted|weir-testpmd:)", line)]
        # Behind its last line it may name what is left.
        totals = [m for m in map(LAST_LINE.match, lines) if m]
        if not totals:
            raise Failure("weir-testpmd ends without an account: "
                          + " / ".join(lines[-4:]))
        return account, [int(n) for n in totals[-1].groups()], status

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.scratch.cleanup()


def conclude(account, totals, status, extra_lost, problems):
    """Prints the account and the last line; gives the exit status."""
    for line in account:
        say("  " + line)
    forwarded, lost, tasks, mbufs = totals
    lost += extra_lost
    for problem in problems:
        say("demo: " + problem)
    say(f"forwarded {forwarded} packets, lost {lost}, tasks left {tasks}, "
        f"mbufs left {mbufs}")
    return int(bool(lost or tasks or mbufs or status or problems))


# Packet files.

def write_pcap(path, seed, count):
    rng = random.Random(seed)
    packets = [struct.pack(">QI", i, seed) + rng.randbytes(
        rng.randint(48, 1502)) for i in range(count)]
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for i, data in enumerate(packets):
            f.write(struct.pack("<IIII", i // 1000000, i % 1000000, len(data),
                                len(data)) + data)
    return packets


def read_pcap(path):
    with open(path, "rb") as f:
        data = f.read()
    packets, at = [], 24
    while at + 16 <= len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        packets.append(data[at + 16:at + 16 + size])
        at += 16 + size
    return packets


def demo_pcap(binary):
    say(f"demo: two ports that read and write packet files, {PCAP_PACKETS} "
        "packets each way, seeded; two workers")
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="weir-demo-"))
        sent = [write_pcap(f"{folder}/in{p}.pcap", SEED + p, PCAP_PACKETS)
                for p in (0, 1)]
        testpmd = Testpmd(binary, [
            f"net_pcap{p},rx_pcap={folder}/in{p}.pcap,"
            f"tx_pcap={folder}/out{p}.pcap" for p in (0, 1)])
        stack.callback(testpmd.close)
        testpmd.wait_started()
        testpmd.wait_until(lambda lines: testpmd.port_counts(lines)
                           == {p: (PCAP_PACKETS,) * 2 for p in (0, 1)}, 60)
        account, totals, status = testpmd.stop()
        problems, missing = [], 0
        for p in (0, 1):
            got = read_pcap(f"{folder}/out{1 - p}.pcap")
            missing += len(sent[p]) - len(got)
            if got != sent[p]:
                problems.append(f"what came from port {p} is not what went out "
                                f"of port {1 - p}")
        if not problems:
            say("demo: every packet came out as it went in, in order")
        return conclude(account, totals, status, max(missing - totals[1], 0),
                        problems)


# Network namespaces. One at each end, and one in the middle for the program.

def can_make_namespaces():
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return False
    try:
        with contextlib.ExitStack() as stack:
            name = f"weir-demo-{os.getpid()}-try"
            add_namespace(stack, name)
            run("ip", "netns", "exec", name, "true")
    except Failure:
        return False
    return True


def add_namespace(stack, name):
    # The removal first, since a signal may come between the two.
    stack.callback(remove_namespace, name)
    run("ip", "netns", "add", name)


def remove_namespace(name):
    with later_signals():
        subprocess.run(["ip", "netns", "del", name], check=False,
                       stderr=subprocess.DEVNULL)


class Network:
    """Ends a and b, and the middle, joined by two veth pairs."""

    def __init__(self, stack):
        base = f"weir-demo-{os.getpid()}"
        self.ends = (f"{base}-a", f"{base}-b")
        self.middle = f"{base}-m"
        for namespace in (*self.ends, self.middle):
            add_namespace(stack, namespace)
            # Nothing but our own traffic, so that every packet can be counted.
            self.within(namespace, "sh", "-c", NO_IPV6)
        for i, end in enumerate(self.ends):
            run("ip", "link", "add", "eth0", "netns", end, "address", MACS[i],
                "type", "veth", "peer", "name", f"port{i}", "netns",
                self.middle)
            # Frames as a wire carries them: no checksums left to do, none
            # larger than the MTU.
            for namespace, link in ((end, "eth0"), (self.middle, f"port{i}")):
                self.within(namespace, "ethtool", "-K", link, "tx", "off",
                            "rx", "off", "tso", "off", "gso", "off", "gro",
                            "off")
                self.within(namespace, "ip", "link", "set", link, "up")
            self.within(end, "ip", "address", "add", f"{ADDRESSES[i]}/24",
                        "dev", "eth0")
            self.within(end, "ip", "neigh", "add", ADDRESSES[1 - i], "lladdr",
                        MACS[1 - i], "dev", "eth0", "nud", "permanent")

    @staticmethod
    def command(namespace, *argv):
        return ["ip", "netns", "exec", namespace, *argv]

    def within(self, namespace, *argv):
        return run(*self.command(namespace, *argv))

    def counted(self):
        """What the kernel gave each port of the program, and took from it."""
        counts = {}
        for i in (0, 1):
            text = self.within(self.middle, "ip", "-s", "-o", "link", "show",
                               f"port{i}")
            counts[i] = tuple(
                int(re.search(way + r":[^\\]*\\ *\d+ +(\d+)", text)[1])
                for way in ("RX", "TX"))
        return counts


def echoes(network):
    """Requests that one end has sent and answers that it got, by its kernel."""
    text = network.within(network.ends[0], "cat", "/proc/net/snmp")
    names, values = (line.split() for line in text.splitlines()
                     if line.startswith("Icmp: "))
    counts = dict(zip(names, values))
    return int(counts["OutEchos"]), int(counts["InEchoReps"])


def ping(network):
    text = network.within(network.ends[0], "ping", "-q", "-c", "20", "-i",
                          "0.05", "-W", "2", ADDRESSES[1])
    times = re.search(r"= ([\d.]+)/([\d.]+)/([\d.]+)/", text)
    # ping itself waits some 50 ms for the last, less than a busy kernel may
    # keep a worker from its CPU.
    deadline = time.monotonic() + QUIET_SECONDS
    sent, answered = echoes(network)
    while answered < sent and time.monotonic() < deadline:
        time.sleep(0.1)
        sent, answered = echoes(network)
    say(f"demo: ping: {answered} of {sent} answered, round trip "
        f"{float(times[2]) * 1000:.0f} us (least {float(times[1]) * 1000:.0f},"
        f" most {float(times[3]) * 1000:.0f})")
    return answered == sent


def stream_main(role, seconds):
    """One end of the TCP transfer: prints bytes, seconds and digest."""
    digest, total = hashlib.sha256(), 0
    if role == "receive":
        with socket.create_server((ADDRESSES[1], TCP_PORT)) as server:
            server.settimeout(START_SECONDS)
            print("listening", flush=True)
            peer = server.accept()[0]
        began = time.monotonic()
        with peer:
            peer.settimeout(START_SECONDS)
            while data := peer.recv(CHUNK):
                digest.update(data)
                total += len(data)
    else:
        rng = random.Random(SEED)
        with socket.create_connection((ADDRESSES[1], TCP_PORT),
                                      START_SECONDS) as peer:
            began = time.monotonic()
            while time.monotonic() < began + seconds:
                data = rng.randbytes(CHUNK)
                peer.sendall(data)
                digest.update(data)
                total += len(data)
    print(total, time.monotonic() - began, digest.hexdigest())


def transfer(network, stack, seconds):
    def stream(end, role):
        process = start(network.command(
            network.ends[end], sys.executable, "-B", __file__,
            "--stream", role, "--seconds", str(seconds), "-"))
        stack.callback(lambda: process.poll() is None and process.kill())
        return process

    receiver = stream(1, "receive")
    if receiver.stdout.readline() != "listening\n":
        raise Failure("the receiver of the TCP transfer does not start")
    sender = stream(0, "send")
    results = []
    for process in (sender, receiver):
        try:
            out = process.communicate(timeout=seconds + 60)[0].split()
        except subprocess.TimeoutExpired:
            raise Failure("the TCP transfer does not end") from None
        if len(out) != 3:
            raise Failure("the TCP transfer fails")
        results.append((int(out[0]), float(out[1]), out[2]))
    (sent, _, sent_digest), (got, took, got_digest) = results
    say(f"demo: TCP: {got} bytes in {took:.2f} s, "
        f"{got * 8 / took / 1e6:.0f} Mbit/s, SHA-256 "
        f"{'equal' if got_digest == sent_digest else 'DIFFERS'} "
        f"({got_digest[:16]}...)")
    return got == sent and got_digest == sent_digest


def demo_network(binary, seconds):
    say("demo: two namespaces with nothing between them but weir-testpmd, on "
        "two workers;\ndemo: a ping, then a seeded TCP transfer of "
        f"{seconds:g} s, checked end to end")
    with contextlib.ExitStack() as stack:
        network = Network(stack)
        testpmd = Testpmd(
            binary,
            [f"net_af_packet{i},iface=port{i},{RING}" for i in (0, 1)],
            network.command(network.middle))
        stack.callback(testpmd.close)
        testpmd.wait_started()
        problems = []
        if not ping(network):
            problems.append("not every ping was answered")
        if not transfer(network, stack, seconds):
            problems.append("what TCP delivered is not what was sent")
        # DPDK 22.11 does not tell what the kernel's ring had no room for, nor
        # what the kernel did not send; the kernel's own counters do.
        testpmd.wait_until(
            lambda lines: testpmd.port_counts(lines) == network.counted(),
            QUIET_SECONDS)
        kernel = network.counted()
        account, totals, status = testpmd.stop()
        overflow = unsent = 0
        for line in account:
            m = RECEIVED.match(line)
            if m:
                port, received, sent = (int(n) for n in m.groups())
                overflow += max(kernel[port][0] - received, 0)
                unsent += max(sent - kernel[port][1], 0)
        say(f"demo: by the kernel's count, {sum(n for n, _ in kernel.values())}"
            f" packets came, {overflow} found the ring full, {unsent} were not"
            " sent on")
        return conclude(account, totals, status, overflow + unsent, problems)


def on_signal(number, _frame):
    # Once: what is made must be removed, however impatient the user.
    for other in SIGNALS:
        signal.signal(other, signal.SIG_IGN)
    raise Stopped(f"ended by {signal.Signals(number).name}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--pcap", action="store_true")
    parser.add_argument("--stream", choices=("send", "receive"))
    parser.add_argument("binary")
    args = parser.parse_args()
    if args.stream:
        stream_main(args.stream, args.seconds)
        return 0
    for number in SIGNALS:
        # As under nohup.
        if (number == signal.SIGHUP
                and signal.getsignal(number) == signal.SIG_IGN):
            continue
        signal.signal(number, on_signal)
    try:
        if args.pcap:
            return demo_pcap(args.binary)
        if can_make_namespaces():
            return demo_network(args.binary, args.seconds)
        say("demo: no network namespaces here (they need root); packet files "
            "do instead")
        return demo_pcap(args.binary)
    except (Failure, Stopped, OSError) as reason:
        # Nobody may be there to read it: a terminal that is gone is a reason. Nor what
        # is left of the rest, which would fail again at the end.
        with contextlib.suppress(OSError):
            print(f"tools/demo: {reason}", file=sys.stderr, flush=True)
        if sys.stdout:  # Python has None for one that is closed.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    finally:
        end_children()


if __name__ == "__main__":
    sys.exit(main())
