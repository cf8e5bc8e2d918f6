# SPDX-License-Identifier: BSD-3-Clause
"""one_queue_*: all packets come to one queue, and there is something to be done with
each. weir-flows on two workers, beside a program that leaves the queue to one lcore and
one that gives packets to an event device, as atomic flows: event_dsw knows no ordered
ones.

The packets are those of a file, again and again: of many flows, in UDP, 64 bytes each.
"""

import functools
import random
import re
import struct
import tempfile

import forward
from scenario import Peer, Scenario

WEIR = "build/apps/flows/weir-flows"
ONE_LCORE = "one_lcore"
PROGRAMS = {"weir": WEIR, forward.EVENT_DSW: forward.EVENT_DSW_FORWARD,
            ONE_LCORE: "build-peers/one_lcore"}
NOTHING_LEFT = re.compile(r"mbufs left 0\s*$")
PACKETS = 2048
FLOWS = 256
SEED = 1


def packet(flow):
    """flow: two addresses and two ports."""
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 50, 0, 0, 64, 17, 0) + flow[:8]
    udp = flow[8:] + struct.pack(">HH", 30, 0)
    return (bytes(12) + b"\x08\x00" + ip + udp).ljust(64, b"\0")


def write_packets(path):
    rng = random.Random(SEED)
    flows = [rng.randbytes(12) for _ in range(FLOWS)]
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for _ in range(PACKETS):
            data = packet(rng.choice(flows))
            f.write(struct.pack("<IIII", 0, 0, len(data), len(data)) + data)


def options(steps, schedule, name):
    """What a program is given behind EAL's options."""
    if name == "weir":
        return ["--schedule", schedule, "--work", str(steps), "--stats-period",
                "1"]
    return [str(steps)]


def measure(steps, schedule, setup, name):
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as folder:
        write_packets(f"{folder}/in.pcap")
        # The second is there to be sent to, by as many queues as are wanted.
        argv = [PROGRAMS[name], *forward.eal_arguments(setup, workers=2),
                "--vdev", f"net_pcap0,rx_pcap={folder}/in.pcap,infinite_rx=1",
                "--vdev", "net_null0,no-rx=1", "--",
                *options(steps, schedule, name)]
        return forward.sample(argv, 2, setup,
                              clean=NOTHING_LEFT if name == "weir" else None)


def scenario(about, steps, beside_one=None, beside_events=None, schedule="atomic"):
    """beside_*: the goal, beside one of the two."""
    return Scenario(
        about=about, workers=2, unit="Mpps", higher_is_better=True,
        measure=functools.partial(measure, steps, schedule),
        peers=[Peer(ONE_LCORE, None, beside_one, True),
               Peer(forward.EVENT_DSW, None, beside_events, True)],
        group=forward.BALANCE)


SCENARIOS = {
    "one_queue_short": scenario(
        "packets of one queue that take 100 xorshift steps each, in two workers",
        100, beside_events=1.00),
    "one_queue_long": scenario("the same with 1,000 steps", 1000, beside_one=1.80),
    "one_queue_ordered": scenario(
        "100 steps, and all packets in order, not only those of a flow", 100,
        beside_events=1.00, schedule="ordered"),
}
