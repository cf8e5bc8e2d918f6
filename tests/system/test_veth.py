# SPDX-License-Identifier: BSD-3-Clause
"""Real frames through kernel interfaces, in namespaces of our own; links that
go down, and ports that go away. Needs root."""

import contextlib
import os
import random
import re
import signal
import time

from netns import (SECONDS, await_up, check_accounted, exchange, flap, flush,
                   forget_error, ip, made_namespace, require_namespaces, sending,
                   socket_in)
from weirtest import (Account, Problem, Tap, Testpmd, check, make_packets,
                      seed)

FRAMES = 2000
FLAP_SECONDS = 0.5


class Network:
    """Ends, and a middle for weir-testpmd. Use as a context manager."""

    number = 0

    def __init__(self, ends=2):
        Network.number += 1
        base = f"weir-{os.getpid()}-{Network.number}"
        self.ends = tuple(f"{base}-{'abcd'[i]}" for i in range(ends))
        self.middle = f"{base}-m"

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            for namespace in (*self.ends, self.middle):
                stack.enter_context(made_namespace(namespace))
            for i, end in enumerate(self.ends):
                ip("link", "add", "eth0", "netns", end, "type", "veth", "peer",
                   "name", f"port{i}", "netns", self.middle)
                for n, link in ((end, "eth0"), (self.middle, f"port{i}")):
                    # Nothing but our frames: no IPv6 that talks by itself,
                    # where there is IPv6.
                    with contextlib.suppress(Problem):
                        ip("-n", n, "link", "set", link, "addrgenmode", "none")
                    ip("-n", n, "link", "set", link, "up")
            self.sockets = []
            for end in self.ends:
                s = socket_in(end, "eth0")
                stack.callback(s.close)
                self.sockets.append(s)
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def testpmd(self, workers, *options):
        return Testpmd(("--stats-period", "0.2", *options),
                       [f"net_af_packet{i},iface=port{i},framecnt=2048"
                        for i in range(len(self.ends))], workers,
                       wrapper=("ip", "netns", "exec", self.middle))

    def exchange(self, packets, there, back):
        """Sends from one end and checks what the other receives."""
        exchange(packets, self.sockets[there], self.sockets[back])


def both_ways(rng, workers):
    with Network() as network, network.testpmd(workers) as testpmd:
        testpmd.wait_started()
        for there in (0, 1):
            network.exchange(make_packets(rng, FRAMES, there), there, 1 - there)
        account = testpmd.stop()
        account.check_clean()
        check(account.ports == {0: (FRAMES, FRAMES, 0),
                                1: (FRAMES, FRAMES, 0)},
              f"ports: {account.ports}")


def link_down_and_up(rng):
    """While a link is down nothing ends; once it is up, packets go on."""
    with Network() as network, network.testpmd(2) as testpmd:
        testpmd.wait_started()
        network.exchange(make_packets(rng, 100), 0, 1)
        ip("-n", network.ends[0], "link", "set", "eth0", "down")
        testpmd.wait_line("port 0: link down")
        ip("-n", network.ends[0], "link", "set", "eth0", "up")
        testpmd.wait_line("port 0: link up")
        forget_error(network.sockets[0])
        for there in (0, 1):
            network.exchange(make_packets(rng, 100), there, 1 - there)
        account = testpmd.stop()
        account.check_clean()
        check(account.forwarded == 300, f"forwarded {account.forwarded}")


def links_flap(rng, workers):
    """Over and over, at both ends and in the middle, under load."""
    with Network() as network, network.testpmd(workers) as testpmd:
        testpmd.wait_started()
        places = [(end, "eth0") for end in network.ends]
        places += [(network.middle, f"port{i}") for i in (0, 1)]
        with sending(make_packets(rng, 64), *network.sockets):
            for namespace, link in rng.sample(places, len(places)):
                flap(rng, namespace, (link,), FLAP_SECONDS)
        for place in places:
            await_up(*place)
        flush(network.sockets)
        for there in (0, 1):
            network.exchange(make_packets(rng, 100), there, 1 - there)
        check_accounted(testpmd.stop())


def port_removed(rng, workers):
    """Both streams end, one for want of a port to receive from, the other for
    want of one to send to; then so does the program."""
    with Network() as network, network.testpmd(workers) as testpmd:
        testpmd.wait_started()
        network.exchange(make_packets(rng, 100), 0, 1)
        ip("-n", network.middle, "link", "del", "port1")
        testpmd.wait_end(1)
        account = Account(testpmd.lines)
        account.check_clean()
        check(account.forwarded == 100, f"forwarded {account.forwarded}")
        text = "\n".join(testpmd.errors)
        for part in ("port 1 (net_af_packet1): is gone",
                     "port 0 queue 0: its stream ends",
                     "port 1 queue 0: its stream ends",
                     "no stream is left"):
            check(part in text, f"no '{part}' in: {text}")


def removed_beside_others(rng):
    """Nobody else is said to be gone, and other pairs go on."""
    with Network(4) as network, network.testpmd(2) as testpmd:
        testpmd.wait_started()
        ip("-n", network.middle, "link", "del", "port1")
        for port in (0, 1):
            testpmd.wait_line(f"port {port} queue 0: its stream ends")
        # Ports are looked at in turn: this one after another look at port 0.
        ip("-n", network.ends[3], "link", "set", "eth0", "down")
        testpmd.wait_line("port 3: link down")
        ip("-n", network.ends[3], "link", "set", "eth0", "up")
        testpmd.wait_line("port 3: link up")
        forget_error(network.sockets[3])
        for there, back in ((2, 3), (3, 2)):
            network.exchange(make_packets(rng, 100), there, back)
        account = testpmd.stop()
        check(account.forwarded == 200, f"forwarded {account.forwarded}")
        gone = [line for line in testpmd.errors if "is gone" in line]
        check(len(gone) == 1 and "port 1 " in gone[0], f"gone: {gone}")


def removed_beside_a_receiver(rng):
    """Who sends nothing needs no other port: it goes on."""
    packets = make_packets(rng, 100)
    with Network() as network, \
            network.testpmd(2, "--forward-mode", "rxonly") as testpmd:
        testpmd.wait_started()
        ip("-n", network.middle, "link", "del", "port1")
        testpmd.wait_line("port 1 queue 0: its stream ends")
        for packet in packets:
            network.sockets[0].send(packet)
        testpmd.wait_for(
            lambda *_: testpmd.counted("RX").get(0) == len(packets),
            "frames at port 0")
        account = testpmd.stop()
        account.check_clean()
        check(account.forwarded == len(packets),
              f"forwarded {account.forwarded}")


def removed_under_load(rng):
    """Frames keep coming for a port that is not there any more."""
    with Network() as network, network.testpmd(2) as testpmd:
        testpmd.wait_started()
        packets = make_packets(rng, 64)
        network.exchange(packets, 0, 1)
        ip("-n", network.middle, "link", "del", "port1")
        deadline = time.monotonic() + SECONDS
        while testpmd.process.poll() is None:
            check(time.monotonic() < deadline, "no end: " + testpmd.describe())
            with contextlib.suppress(OSError):
                network.sockets[0].send(rng.choice(packets))
        testpmd.wait_end(1)
        account = Account(testpmd.lines)
        check((account.tasks_left, account.mbufs_left) == (0, 0),
              f"left: {account.tasks_left} tasks, {account.mbufs_left} mbufs")
        received = sum(p[0] for p in account.ports.values())
        check(received - account.forwarded <= account.lost,
              f"received {received}, forwarded {account.forwarded}, lost "
              f"{account.lost}")


def stop_under_load(rng, number):
    with Network() as network, network.testpmd(2) as testpmd:
        testpmd.wait_started()
        packets = make_packets(rng, 64)
        network.exchange(packets, 0, 1)
        testpmd.process.send_signal(number)
        while testpmd.process.poll() is None:
            network.sockets[0].send(rng.choice(packets))
        testpmd.wait_end()
        account = Account(testpmd.lines)
        account.check_clean()
        check(account.forwarded >= 64, f"forwarded {account.forwarded}")


def kernel_frames():
    """Our own check that the ends see nothing but frames of ours."""
    with Network() as network:
        text = ip("-n", network.middle, "-s", "-o", "link", "show", "port0")
        got = re.search(r"RX:[^\\]*\\ *\d+ +(\d+)", text)
        check(got and got[1] == "0", text)


def main():
    require_namespaces()
    tap = Tap()
    rng = random.Random(seed())
    tap.run("the namespaces are quiet", kernel_frames)
    for workers in (1, 2, 4):
        tap.run(f"both ways, {workers} workers", both_ways, rng, workers)
    tap.run("a link goes down and up", link_down_and_up, rng)
    for workers in (1, 2, 4):
        tap.run(f"links flap, {workers} workers", links_flap, rng, workers)
    for workers in (1, 2):
        tap.run(f"a port is removed, {workers} workers", port_removed, rng,
                workers)
    tap.run("a port is removed beside others", removed_beside_others, rng)
    tap.run("a port is removed beside one that only receives",
            removed_beside_a_receiver, rng)
    tap.run("a port is removed under load", removed_under_load, rng)
    for number in (signal.SIGINT, signal.SIGTERM):
        tap.run(f"{number.name} under load", stop_under_load, rng, number)
    tap.finish()


if __name__ == "__main__":
    main()
