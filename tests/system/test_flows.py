# SPDX-License-Identifier: BSD-3-Clause
"""weir-flows: one queue's packets through many tasks. None is lost, and a flow's come
in their order; where tasks work on bursts, all do.

Usage: test_flows.py WEIR_FLOWS
"""

import collections
import random
import re
import signal
import struct
import subprocess
import tempfile
import time

from weirtest import (TWO_NULL, SmallProgram, Tap, Telemetry, check, read_pcap,
                      seed, write_pcap)

SECONDS = 30
PACKETS = 4000
REPEATED = 500
TWICE_RUNS = 10
FLOWS = 60
DESCRIPTORS = 512  # of its receive queue
IPV4, IPV6, VLAN, OTHER = 0x0800, 0x86dd, 0x8100, 0x88b5
TCP, UDP, GRE = 6, 17, 47
MORE = 0x2000  # fragments behind this one, in IPv4
ORDERED = ("--schedule", "ordered")
ACCOUNT = re.compile(r"port (\d+): received (\d+), sent (\d+), dropped (\d+)$")


class Flows(SmallProgram):
    """A running weir-flows."""

    def account(self):
        """{port: (received, sent, dropped)}"""
        check(self.lines[-1] == "mbufs left 0", self.describe())
        found = [ACCOUNT.match(line) for line in self.lines]
        return {int(m[1]): tuple(map(int, m.groups()[1:])) for m in found if m}


# Headers of one flow each, of every kind that is told apart: those of a flow are equal
# but for what they have to be different in.

def ethernet(rng, kind):
    tags = rng.choice((b"", struct.pack(">HH", VLAN, rng.randrange(1, 4095))))
    return rng.randbytes(12) + tags + struct.pack(">H", kind)


def ipv4(rng, protocol, fragment=0):
    options = bytes(4 * rng.randrange(3))
    return (ethernet(rng, IPV4) + struct.pack(
        ">BBHHHBBH", 0x45 + len(options) // 4, 0, 0, 0, fragment, 64, protocol, 0)
        + rng.randbytes(8) + options)


def ipv6(rng, protocol):
    return (ethernet(rng, IPV6) + struct.pack(
        ">IHBB", 6 << 28, 0, protocol, 64) + rng.randbytes(32))


def ports(rng):
    return rng.randbytes(4) + bytes(16)


def make_flow(rng, number):
    """What its packets begin with; the place of its number is behind that."""
    kind = number % 6
    if kind < 2:
        return ipv4(rng, (TCP, UDP)[kind]) + ports(rng)
    if kind == 2:
        return ipv6(rng, UDP) + ports(rng)
    if kind == 3:
        return ipv4(rng, GRE)
    if kind == 4:
        # What stands where ports would be differs from one fragment to the next.
        return ipv4(rng, UDP, MORE)
    return ethernet(rng, OTHER)


def make_traffic(rng):
    flows = [make_flow(rng, i) for i in range(FLOWS)]
    packets = []
    for i in range(PACKETS):
        number = rng.randrange(FLOWS)
        packets.append(flows[number]
                       + struct.pack(">IHI", rng.getrandbits(32), number, i)
                       + bytes(rng.randrange(40, 400)))
    return packets, flows


def by_flow(packets, flows):
    found = collections.defaultdict(list)
    for p in packets:
        number = next(i for i, flow in enumerate(flows)
                      if p.startswith(flow)
                      and struct.unpack_from(">H", p, len(flow) + 4)[0] == i)
        found[number].append(p)
    return found


def wait_received(telemetry):
    telemetry.wait_for(
        lambda: telemetry.ask("/ethdev/stats,0")["ipackets"] == PACKETS,
        "end of the file")


def order_of_all(rng, workers):
    packets, _ = make_traffic(rng)
    with tempfile.TemporaryDirectory(prefix="weir-system-") as folder:
        write_pcap(f"{folder}/in", packets)
        vdev = f"net_pcap0,rx_pcap={folder}/in,tx_pcap={folder}/out"
        with Flows((*ORDERED, "--work", "100"), (vdev,), workers,
                   telemetry=True) as program:
            program.wait_started()
            with Telemetry(program) as telemetry:
                wait_received(telemetry)
                # The last of them is spawned behind that.
                telemetry.wait_for(
                    lambda: sum(
                        telemetry.ask(f"/weir/worker,weir,{i}")["spawned"]
                        for i in range(workers)) >= PACKETS / 32,
                    "a task for each burst")
            account = program.stop()
        got = read_pcap(f"{folder}/out")
    check(account == {0: (PACKETS, PACKETS, 0)}, f"{account}")
    check(got == packets, "packets are lost, changed or not in order")


def order(rng, workers, buckets):
    packets, flows = make_traffic(rng)
    with tempfile.TemporaryDirectory(prefix="weir-system-") as folder:
        write_pcap(f"{folder}/in", packets)
        vdev = f"net_pcap0,rx_pcap={folder}/in,tx_pcap={folder}/out"
        with Flows(("--buckets", str(buckets), "--work", "100"), (vdev,), workers,
                   telemetry=True) as program:
            program.wait_started()
            with Telemetry(program) as telemetry:
                wait_received(telemetry)
                polls = [task["polls"] for task
                         in telemetry.ask("/weir/tasks,weir,64").values()
                         if task["name"] == "bucket"]
            account = program.stop()
        got = read_pcap(f"{folder}/out")
    check(account == {0: (PACKETS, PACKETS, 0)}, f"{account}")
    check(by_flow(got, flows) == by_flow(packets, flows),
          "packets are lost, changed or not in order")
    # Of so many flows each has some.
    check(buckets > 4 or len(polls) == buckets and min(polls) > 1,
          f"polls {polls}")


def end_under_load(workers, options=()):
    """What has been received is sent, wherever it was."""
    with Flows(("--work", "100", *options), TWO_NULL, workers, telemetry=True) as program:
        program.wait_started()
        with Telemetry(program) as telemetry:
            telemetry.wait_for(
                lambda: all(telemetry.ask(f"/ethdev/stats,{port}")["opackets"]
                            for port in (0, 1)), "packets that are sent")
        account = program.stop()
    (received0, sent0, dropped0), (received1, sent1, dropped1) = (
        account[0], account[1])
    check((sent0, sent1) == (received1, received0)
          and (dropped0, dropped1) == (0, 0), f"{account}")


def end_behind_the_queue(rng, workers, options=()):
    """What lies in it when it is told to end is received, however slow the work is."""
    packets, _ = make_traffic(rng)
    with tempfile.TemporaryDirectory(prefix="weir-system-") as folder:
        write_pcap(f"{folder}/in", packets)
        vdev = f"net_pcap0,rx_pcap={folder}/in"
        with Flows(("--work", "300000", *options), (vdev,), workers) as program:
            program.wait_started()
            account = program.stop()
    received, sent, dropped = account[0]
    check(DESCRIPTORS <= received == sent and dropped == 0, f"{account}")


def rings_keep_none():
    """What lies in the ring of a port at the end is nobody's packet for good."""
    with Flows(ORDERED, ("net_null0", "net_ring0"), 1, telemetry=True) as program:
        program.wait_started()
        with Telemetry(program) as telemetry:
            telemetry.wait_for(
                lambda: telemetry.ask("/ethdev/stats,1")["opackets"], "a ring in use")
        account = program.stop()
    (received0, sent0, dropped0), (received1, sent1, dropped1) = (
        account[0], account[1])
    check((sent0 + dropped0, sent1 + dropped1) == (received1, received0),
          f"{account}")


def takes_signals(program, number):
    """Until the program has taken one that was sent to it."""
    deadline = time.monotonic() + SECONDS
    bit = 1 << (number - 1)
    while True:
        with open(f"/proc/{program.process.pid}/status", encoding="ascii") as f:
            mask = re.search(r"^ShdPnd:\s*(\w+)$", f.read(), re.MULTILINE)
        if mask and not int(mask[1], 16) & bit:
            return
        check(time.monotonic() < deadline, f"{number.name} is not taken")
        time.sleep(0.01)


def signalled_twice(packets, options):
    """Its account."""
    with tempfile.TemporaryDirectory(prefix="weir-system-") as folder:
        # The PMD has an mbuf for each.
        write_pcap(f"{folder}/in", packets[:REPEATED])
        vdev = f"net_pcap0,rx_pcap={folder}/in,infinite_rx=1"
        with Flows(("--work", "1000000", *options), (vdev,), 2,
                   telemetry=True) as program:
            program.wait_started()
            with Telemetry(program) as telemetry:
                telemetry.wait_for(
                    lambda: telemetry.ask("/ethdev/stats,0")["ipackets"] > FLOWS,
                    "packets for the tasks")
            program.process.send_signal(signal.SIGTERM)
            takes_signals(program, signal.SIGTERM)
            return program.stop()[0]


def second_signal(rng, options):
    """It ends at once, with packets in channels and tasks; unless they are sent before
    it comes, as they may be in some runs."""
    packets, _ = make_traffic(rng)
    for _ in range(TWICE_RUNS):
        received, sent, dropped = signalled_twice(packets, options)
        if received > sent + dropped:
            return
    check(False, f"all are sent, in {TWICE_RUNS} runs")


def rates():
    """They are those of ports that always have packets."""
    with Flows(("--stats-period", "1"), TWO_NULL, 2) as program:
        program.wait_for(
            lambda out, err: all(any(
                re.match(rf"port {port}: Rx-pps: [1-9]\d*, Tx-pps: [1-9]\d*$", line)
                for line in out) for port in (0, 1)), "rates of both ports")
        program.stop()


def bad_input():
    for options, text in (
            (("--buckets", "0"), "--buckets 0: must be 1 to 256"),
            (("--buckets=257",), "--buckets 257: must be 1 to 256"),
            (("--buckets", "1x"), "--buckets 1x: must be 1 to 256"),
            (("--schedule", "parallel"),
             "--schedule parallel: must be atomic or ordered"),
            ((*ORDERED, "--buckets", "3"), "--buckets 3: only if atomic"),
            (("--work", "-1"), "--work -1: must be 0 to 1000000"),
            (("--work", "1000001"), "--work 1000001: must be 0 to 1000000"),
            (("--work",), "--work: needs a value"),
            (("--stats-period", "0"), "--stats-period 0: must be 1 to 3600"),
            (("--nonsense",), "--nonsense: is no option"),
            (("word",), "word: is no option")):
        with Flows(options) as program:
            program.wait_end(2)
            check(program.errors == [f"weir-flows: {text}"],
                  f"{options}: {program.errors}")
    with Flows((), ()) as program:
        program.wait_end(1)
        check("weir-flows: no port: see --vdev and -a" in program.errors,
              f"{program.errors}")
    with Flows((), (), workers=0) as program:
        program.wait_end(1)
        check(any("leaves no worker lcore" in line for line in program.errors),
              f"{program.errors}")


def help_text():
    done = subprocess.run([Flows.binary, "--", "--help"], text=True, check=False,
                          stdin=subprocess.DEVNULL, capture_output=True)
    check(done.returncode == 0, f"status {done.returncode}")
    for text in ("usage: ", "--schedule S", "--buckets N", "--work N", "--stats-period N",
                 "--help"):
        check(text in done.stdout, f"no {text}")


def main():
    tap = Tap()
    rng = random.Random(seed())
    for workers in (1, 2, 4):
        for buckets in (1, 4, 256):
            tap.run(f"{workers} workers, {buckets} buckets", order, rng, workers,
                    buckets)
        tap.run(f"{workers} workers, ordered", order_of_all, rng, workers)
        tap.run(f"end under load, {workers} workers", end_under_load, workers)
        tap.run(f"end under load, {workers} workers, ordered", end_under_load,
                workers, ORDERED)
    for options in (("--buckets", "4"), ORDERED):
        tap.run(f"end behind the queue, {options[1]}", end_behind_the_queue, rng, 2,
                options)
    tap.run("a second signal", second_signal, rng, ("--buckets", "32"))
    tap.run("a second signal, ordered", second_signal, rng, ORDERED)
    tap.run("rings keep none", rings_keep_none)
    tap.run("--stats-period", rates)
    tap.run("bad input", bad_input)
    tap.run("help", help_text)
    tap.finish()


if __name__ == "__main__":
    main()
