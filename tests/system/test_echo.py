# SPDX-License-Identifier: BSD-3-Clause
"""weir-echo against the kernel's ping and UDP sockets, over veth in namespaces
of our own; and frames that nobody should answer. Needs root for most.

Usage: test_echo.py WEIR_ECHO
"""

import contextlib
import os
import random
import re
import signal
import struct
import subprocess
import sys
import time

from netns import (drain, ip, lack_of_namespaces, lack_of_taps,
                   made_namespace, quiet_namespace, socket_in)
from weirtest import (BAD_FILE, CLOSED, FULL_DISK, NO_SPACE, Problem, SmallProgram,
                      Skip, Tap, Testpmd, check, check_eal_help_on_full_disk, seed)

IP, CLIENT = "10.0.0.1", "10.0.0.2"
MAC, CLIENT_MAC = "02:00:00:00:00:01", "02:00:00:00:00:02"
SECONDS = 30

# Sends datagrams of some sizes and prints how many came back as they were; but first one
# from where another echo server answers, which is not to come back (one less if it does).
CLIENT_PROGRAM = """
import random, select, socket, sys
rng = random.Random(int(sys.argv[3]))
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("", 7))
server.connect((sys.argv[1], int(sys.argv[2])))
server.send(b"weir")
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(20)
s.connect((sys.argv[1], int(sys.argv[2])))
back = 0
for size in [0, 1, 2, 64, 1471, 1472] + [rng.randrange(1473) for _ in range(200)]:
    data = rng.randbytes(size)
    s.send(data)
    back += s.recv(65536) == data
print(back - len(select.select([server], [], [], 0)[0]))
"""
DATAGRAMS = 206


class Echo(SmallProgram):
    """A running weir-echo."""

    def account(self):
        """Of the first port: received, answered."""
        check(self.lines[-1] == "mbufs left 0", self.describe())
        found = [re.match(r"port 0: received (\d+), answered (\d+)$", line)
                 for line in self.lines]
        counts = [tuple(map(int, m.groups())) for m in found if m]
        check(len(counts) == 1, self.describe())
        return counts[0]


class Network:
    """The kernel as client, and weir-echo on the other end of its cable."""

    number = 0

    def __init__(self, address=True):
        self.address = address

    def __enter__(self):
        if lack_of_namespaces():
            raise Skip(lack_of_namespaces())
        Network.number += 1
        base = f"weir-{os.getpid()}-echo{Network.number}"
        self.client, server = f"{base}-c", f"{base}-s"
        with contextlib.ExitStack() as stack:
            for namespace in (self.client, server):
                stack.enter_context(made_namespace(namespace))
            ip("link", "add", "eth0", "netns", self.client, "address",
               CLIENT_MAC, "type", "veth", "peer", "name", "port0", "netns",
               server, "address", MAC)
            for namespace, link in ((self.client, "eth0"), (server, "port0")):
                with contextlib.suppress(Problem):
                    ip("-n", namespace, "link", "set", link, "addrgenmode",
                       "none")
                ip("-n", namespace, "link", "set", link, "up")
            if self.address:
                ip("-n", self.client, "address", "add", f"{CLIENT}/24", "dev",
                   "eth0")
            self.wrapper = ("ip", "netns", "exec", server)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def echo(self, *options, workers=2):
        return Echo(options, ["net_af_packet0,iface=port0"], workers,
                    wrapper=self.wrapper)

    def run(self, *argv):
        """In the client's namespace."""
        done = subprocess.run(
            ("ip", "netns", "exec", self.client, *argv), text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, check=False, timeout=2 * SECONDS)
        check(done.returncode == 0, f"{' '.join(argv[:2])}: {done.stdout}")
        return done.stdout

    def await_echoes(self, text):
        """As many answers as requests, by the client's kernel."""
        deadline = time.monotonic() + SECONDS
        sent, answered = 1, 0
        while answered < sent:
            check(time.monotonic() < deadline, f"{answered} of {sent}: {text}")
            sent, answered = echoes(self.run("cat", "/proc/net/snmp"))

    def socket(self):
        s = socket_in(self.client, "eth0")
        s.bind(("eth0", 3))  # ETH_P_ALL
        return s


def echoes(text):
    """Requests and answers in what a kernel counts of its protocols."""
    names, values = (line.split() for line in text.splitlines()
                     if line.startswith("Icmp: "))
    counts = dict(zip(names, values))
    return int(counts["OutEchos"]), int(counts["InEchoReps"])


def ping(workers):
    with Network() as network, network.echo(workers=workers) as echo:
        echo.wait_started()
        for size in (0, 56, 1472):
            # All five have come; it may have sent more, for want of patience.
            text = network.run("ping", "-n", "-c", "5", "-i", "0.2", "-s",
                               str(size), "-w", str(SECONDS), IP)
            network.await_echoes(text)
        text = ip("-n", network.client, "neighbour", "show", IP)
        check(MAC in text, text)
        received, answered = echo.stop()
        # The ARP request is one more, and may be asked again.
        check(received >= answered >= 16, f"{received}, {answered}")


def datagrams(rng, workers):
    with Network() as network, \
            network.echo("--udp-port", "4242", workers=workers) as echo:
        echo.wait_started()
        back = network.run(sys.executable, "-c", CLIENT_PROGRAM, IP, "4242",
                           str(rng.getrandbits(32)))
        check(int(back) == DATAGRAMS, f"{back} of {DATAGRAMS}")
        received, answered = echo.stop(signal.SIGTERM)
        check(received >= answered > DATAGRAMS, f"{received}, {answered}")


# Frames.

def raw(mac):
    return bytes.fromhex(mac.replace(":", ""))


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def address(text):
    return bytes(map(int, text.split(".")))


def ipv4(payload, protocol=17, source=CLIENT, to=IP, fragment=0, total=None,
         first=0x45, sum_=None, options=b"", number=1):
    total = 20 + len(options + payload) if total is None else total
    head = struct.pack(">BBHHHBBH", first, 0, total, number, fragment,
                       64, protocol, 0) + address(source) + address(to)
    sum_ = checksum(head + options) if sum_ is None else sum_
    head = head[:10] + struct.pack(">H", sum_) + head[12:]
    return ethernet(head + options + payload)


def ethernet(payload, kind=0x0800, source=CLIENT_MAC, to=MAC):
    frame = raw(to) + raw(source) + struct.pack(">H", kind) + payload
    return frame.ljust(60, b"\0")


def udp(data=b"weir", source=5555, to=7, length=None, sum_=0):
    length = 8 + len(data) if length is None else length
    return struct.pack(">HHHH", source, to, length, sum_) + data


def udp_sum(data):
    return checksum(address(CLIENT) + address(IP)
                    + struct.pack(">HH", 17, len(data)) + data)


def icmp(kind=8, code=0, right=True):
    message = struct.pack(">BBHHH", kind, code, 0, 1, 1) + b"weir"
    sum_ = checksum(message) ^ (not right)
    return message[:2] + struct.pack(">H", sum_) + message[4:]


def arp(operation=1, target=IP, hardware=6):
    return ethernet(struct.pack(">HHBBH", 1, 0x0800, hardware, 4, operation)
                    + raw(CLIENT_MAC) + address(CLIENT) + bytes(6)
                    + address(target), 0x0806, to="ff:ff:ff:ff:ff:ff")


SUM = udp_sum(udp())
ANSWERED = {
    "a datagram": ipv4(udp()),
    "one with padding": ipv4(udp(b"")),
    "one with a sum": ipv4(udp(sum_=SUM)),
    "one with a sum, and more behind it": ipv4(udp(sum_=SUM) + b"more"),
    "one whose sum a NIC has to add": ipv4(udp(
        sum_=0xffff ^ udp_sum(bytes(12)))),
    "one with options": ipv4(udp(), first=0x46, options=b"\1" * 4),
    "an echo request": ipv4(icmp(), 1),
    "an ARP request": arp(),
}
UNANSWERED = {
    "another's ARP": arp(target="10.0.0.3"),
    "an ARP reply": arp(operation=2),
    "ARP of something else": arp(hardware=8),
    "a wrong sum": ipv4(udp(), sum_=0x1234),
    "a first fragment": ipv4(udp(), fragment=0x2000),
    # Of another datagram: the PMD has the kernel put fragments together.
    "a later fragment": ipv4(udp(), fragment=1, number=2),
    "more than there is": ipv4(udp(), total=1000),
    "less than a header": ipv4(udp(), total=19),
    "a header too short": ipv4(udp(), first=0x44),
    "a header too long": ipv4(udp(), first=0x4f),
    "version 6": ipv4(udp(), first=0x65),
    "another's address": ipv4(udp(), to="10.0.0.3"),
    "our own address": ipv4(udp(), source=IP),
    "from a group's address": ipv4(udp(), source="224.0.0.1"),
    "from everybody's address": ipv4(udp(), source="255.255.255.255"),
    "from no address": ipv4(udp(), source="0.0.0.0"),
    "from a host that it does not tell": ipv4(icmp(), 1, source="0.0.0.2"),
    "from a host's own address": ipv4(icmp(), 1, source="127.0.0.1"),
    "another port": ipv4(udp(to=9)),
    "from the echo port": ipv4(udp(source=7)),
    "from no port": ipv4(udp(source=0)),
    "a datagram too long": ipv4(udp(length=13)),
    "a datagram too short": ipv4(udp(length=7)),
    "a datagram with a wrong sum": ipv4(udp(sum_=SUM ^ 1)),
    "half a UDP header": ipv4(udp()[:4]),
    "an echo reply": ipv4(icmp(0), 1),
    "an echo of a code": ipv4(icmp(code=1), 1),
    "an echo with a wrong sum": ipv4(icmp(right=False), 1),
    "half an ICMP header": ipv4(icmp()[:4], 1),
    "TCP": ipv4(udp(), 6),
    "another MAC": ethernet(ipv4(udp())[14:], to="02:00:00:00:00:03"),
    "everybody's MAC": ethernet(ipv4(udp())[14:], to="ff:ff:ff:ff:ff:ff"),
    "from a group": ethernet(ipv4(udp())[14:], source="01:00:5e:00:00:01"),
    "another protocol": ethernet(b"weir", 0x88b5),
    "the least": ethernet(b"")[:14],
}


def frames(rng):
    """Each alone: what is answered is so before the next frame's answer. The
    kernel has no address here, so that it says nothing."""
    with Network(address=False) as network, network.echo() as echo, \
            network.socket() as s:
        echo.wait_started()
        drain(s)
        answered = 0
        names = list(ANSWERED) + list(UNANSWERED)
        for name in rng.sample(names, len(names)):
            for frame in ((ANSWERED | UNANSWERED)[name], arp()):
                s.send(frame)
            wanted = 1 + (name in ANSWERED)
            try:
                got = [s.recv(65536) for _ in range(wanted)]
            except TimeoutError:
                raise Problem(f"{name}: is not answered") from None
            check(got[-1][12:14] == b"\x08\x06", f"{name}: is answered")
            if "sum" in name and name in ANSWERED:
                check(got[0][40:42] in (b"\0\0", struct.pack(">H", SUM)),
                      f"{name}: its answer has a wrong one")
            check(all(g[:12] == raw(CLIENT_MAC) + raw(MAC) for g in got),
                  f"{name}: to or from somebody else")
            answered += wanted
        for _ in range(500):
            s.send(rng.randbytes(rng.randint(14, 1514)))
        s.send(arp())
        check(s.recv(65536)[12:14] == b"\x08\x06", "noise is answered")
        received, counted = echo.stop()
        check(counted == answered + 1, f"{counted}, not {answered + 1}")
        # The kernel keeps the fragments.
        check(received >= 2 * len(names) + 499, f"received {received}")


def bad_input():
    for options, text in (
            (("--ip", "10.0.0"), "--ip 10.0.0: must be"),
            (("--ip", "224.0.0.1"), "--ip 224.0.0.1: must be"),
            (("--ip", "127.0.0.1"), "--ip 127.0.0.1: must be"),
            (("--udp-port", "0"), "--udp-port 0: must be 1 to 65535"),
            (("--udp-port", "65536"), "--udp-port 65536: must be"),
            (("--udp-port", "7x"), "--udp-port 7x: must be"),
            (("word",), "word: is no option"),
            (("word", "--udp-port"), "word: is no option"),
            (("--nonsense",), "--nonsense: is no option"),
            (("--ip", "10.0.0.3", "-x"), "-x: is no option"),
            (("--help=3",), "--help=3: takes no value"),
            (("--he=3",), "--he=3: takes no value"),
            (("--nonsense=3",), "--nonsense=3: is no option"),
            (("--ip=10.0.0.3", "--udp-port"), "--udp-port: needs a value"),
            # A line, whatever it quotes.
            (("--ip", "10.0.0\n3\x1b"), "--ip 10.0.0?3?: must be"),
            (("--udp-port", "7\n"), "--udp-port 7?: must be"),
            (("wo\nrd",), "wo?rd: is no option"),
            (("--non\nsense",), "--non?sense: is no option")):
        with Echo(options) as echo:
            echo.wait_end(2)
            check(len(echo.errors) == 1 and text in echo.errors[0],
                  f"{options}: {echo.errors}")
    with Echo((), (), eal=("word",)) as echo:
        echo.wait_end(2)
        check("weir-echo: word: unexpected; see --help" in echo.errors,
              f"{echo.errors}")
    with Echo((), ("net_nosuch0",)) as echo:
        echo.wait_end(1)
        check("weir-echo: --vdev net_nosuch0: EAL cannot start this device; "
              "check its name and arguments, and that its driver is installed"
              in echo.errors, f"{echo.errors}")
    with Echo((), (), eal=("--no-such-option",)) as echo:
        echo.wait_end(2)
        check('weir-echo: EAL refuses its options, which are those before '
              '"--"; see the first line above and --help' in echo.errors,
              f"{echo.errors}")
    cpu = min(os.sched_getaffinity(0))
    for option in (("-l", f"{cpu}"), ("--lcores", f"0@{cpu}")):
        joined = ("=" if option[0].startswith("--") else "").join(option)
        for words in (option, (joined,)):
            with Echo((), lcores_option=words) as echo:
                echo.wait_end(1)
                check(len(echo.errors) == 1 and echo.errors[0].startswith(
                    f"weir-echo: {' '.join(option)}: leaves no worker lcore "
                    "beside the main one; name two"), f"{echo.errors}")
    with Echo((), ()) as echo:
        echo.wait_end(1)
        check("weir-echo: no port: see --vdev and -a" in echo.errors,
              f"{echo.errors}")


def beside_another():
    """Its files are EAL's, and its ports are its own."""
    if not Testpmd.shares:
        raise Skip("EAL has no files in common with others here")
    with Echo() as first:
        first.eal_cleans_up = False  # after those that did not start
        first.wait_started()
        for options, line in (
                ((), "EAL cannot take its place: another program runs there; "
                 "give each its own --file-prefix"),
                (("--proc-type", "secondary"), "--proc-type secondary: no "
                 "secondary process can set up ports; leave it out, and give "
                 "each program its own --file-prefix")):
            echo = Echo()
            echo.runtime, echo.eal_cleans_up = first.runtime, False
            echo.argv = [Echo.binary, *options, *first.argv[1:]]
            with echo:
                echo.wait_end(1)
                check(f"weir-echo: {line}" in echo.errors, f"{echo.errors}")
        first.stop()


def help_text():
    for argv in (["--", "--help"], ["--help"]):
        done = subprocess.run([Echo.binary, *argv], text=True, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True)
        check(done.returncode == 0, f"{argv}: status {done.returncode}")
        for text in ("usage: ", "--ip ADDRESS", "--udp-port N", "--help"):
            check(text in done.stdout, f"{argv}: no {text}")


def wait_blocked(process, number):
    """From then on the signal ends the program as it should."""
    deadline = time.monotonic() + SECONDS
    bit = 1 << (number - 1)
    while True:
        with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
            mask = re.search(r"^SigBlk:\s*(\w+)$", f.read(), re.MULTILINE)
        if mask and int(mask[1], 16) & bit:
            return
        check(process.poll() is None and time.monotonic() < deadline,
              f"{number.name} is not blocked")
        time.sleep(0.01)


def full_disk():
    """The account, and the help, cannot be written."""
    for options, wrapper, why in (((), FULL_DISK, NO_SPACE),
                                  ((), CLOSED, BAD_FILE),
                                  (("--help",), FULL_DISK, NO_SPACE)):
        with Echo(options, wrapper=wrapper) as echo:
            if not options:
                wait_blocked(echo.process, signal.SIGINT)
                echo.process.send_signal(signal.SIGINT)
            echo.wait_end(1)
            check(echo.errors == [f"weir-echo: {why}"],
                  f"{options}: {echo.errors}")
    check_eal_help_on_full_disk(Echo.binary)


@contextlib.contextmanager
def echo_on_taps(n):
    """A weir-echo, and how to take one of its ports away."""
    if lack_of_namespaces() or lack_of_taps():
        raise Skip(lack_of_namespaces() or lack_of_taps())
    with quiet_namespace() as name, Echo(
            (), [f"net_tap{i},iface=port{i}" for i in range(n)],
            wrapper=("ip", "netns", "exec", name)) as echo:
        echo.wait_started()
        yield echo, lambda i: ip("-n", name, "link", "del", f"port{i}")


def port_removed():
    """With the last port goes the program."""
    with echo_on_taps(2) as (echo, remove):
        remove(1)
        echo.wait_line("port 1: its fiber ends (No such device)")
        check(echo.process.poll() is None, "it has ended with one port of two")
        remove(0)
        echo.wait_end(1)
        echo.account()
        for line in ("port 0: its fiber ends (No such device)",
                     "no port is left to answer"):
            check(f"weir-echo: {line}" in echo.errors, f"{echo.errors}")


def port_removed_beside_another():
    """That a port was lost, the status of a later end still says."""
    with echo_on_taps(2) as (echo, remove):
        remove(1)
        echo.wait_line("port 1: its fiber ends")
        echo.stop(status=1)
        check(not any("port 0" in line for line in echo.errors),
              f"{echo.errors}")


def no_traffic():
    for number in (signal.SIGINT, signal.SIGHUP):
        with Echo() as echo:
            echo.wait_started()
            check(echo.stop(number)[1] == 0, echo.describe())


def main():
    tap = Tap()
    rng = random.Random(seed())
    tap.run("bad options are refused", bad_input)
    tap.run("beside another", beside_another)
    tap.run("--help", help_text)
    tap.run("a full disk, closed output", full_disk)
    tap.run("what is no packet of ours", no_traffic)
    tap.run("ports are removed", port_removed)
    tap.run("a port is removed beside another", port_removed_beside_another)
    for workers in (1, 2):
        tap.run(f"ping, {workers} workers", ping, workers)
        tap.run(f"datagrams, {workers} workers", datagrams, rng, workers)
    tap.run("frames, right and wrong", frames, rng)
    tap.finish()


if __name__ == "__main__":
    main()
