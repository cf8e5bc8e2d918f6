# SPDX-License-Identifier: BSD-3-Clause
"""Frames as nobody should send them, through every mode: what comes out is what
the mode says, byte by byte, and nothing of another packet."""

import os
import random
import re
import struct
import tempfile

from weirtest import (Tap, Testpmd, check, read_pcap, seed, write_pcap)

PEER = "02:11:22:33:44:55"
PEER_BYTES = bytes(int(x, 16) for x in PEER.split(":"))
ADDRESSES = 12  # bytes: below that, nothing of a frame is changed
SEGMENT = 2048  # what an mbuf holds
FRAMES = 600

# With these, the pool that the program insists on is small, and one burst of
# the frames below empties it.
STARVED = ("--burst", "512", "--rxd", "64", "--txd", "64")
GREEDY_BYTES = 60000
GREEDY = 300


def ipv4(rng):
    """Headers that lie about their lengths."""
    data = rng.randbytes(rng.randint(0, 40))
    header = struct.pack(">BBHHHBBHII", rng.choice((0x40, 0x45, 0x4f, 0xff)), 0,
                         rng.choice((0, 1, 19, 20, 1500, 65535)), 0,
                         rng.choice((0, 0x2000, 0x3fff, 0xffff)), 64,
                         rng.choice((1, 6, 17, 255)), 0, 0, 0)
    return rng.randbytes(ADDRESSES) + b"\x08\x00" + header + data


def ipv6(rng):
    """Extension headers without end."""
    return (rng.randbytes(ADDRESSES) + b"\x86\xdd"
            + struct.pack(">IHBB", 0x60000000, rng.choice((0, 7, 65535)), 0, 1)
            + rng.randbytes(32) + bytes((0, rng.randrange(256))) * 40)


def vlans(rng):
    """A stack of tags that may end in the middle of one."""
    tag = rng.choice((b"\x81\x00", b"\x88\xa8")) + rng.randbytes(2)
    return (rng.randbytes(ADDRESSES) + tag * rng.randint(1, 300)
            + rng.randbytes(rng.randint(0, 3)))


def runt(rng):
    return rng.randbytes(rng.randrange(ADDRESSES + 8))


def noise(rng):
    return rng.randbytes(rng.randint(14, 1514))


def edge(rng):
    """Around what one, two or more mbufs hold."""
    return rng.randbytes(rng.choice((1, 2, 4)) * SEGMENT
                         + rng.randint(-2, 2))


KINDS = (ipv4, ipv6, vlans, runt, noise, edge)


def hostile(rng):
    return [rng.choice(KINDS)(rng) for _ in range(FRAMES)]


def is_as_it_was(before, after):
    return after == before


def has_swapped(before, after):
    if len(before) < ADDRESSES:
        return after == before
    return after == before[6:12] + before[:6] + before[12:]


def is_from_port_to_peer(before, after):
    if len(before) < ADDRESSES:
        return after == before
    return after == PEER_BYTES + after[6:12] + before[12:]


def forward(rng, mode, workers, is_right):
    with tempfile.TemporaryDirectory(prefix="weir-system-") as folder:
        frames = [hostile(rng) for _ in (0, 1)]
        vdevs = []
        for port in (0, 1):
            name = os.path.join(folder, str(port))
            write_pcap(name + "-in", frames[port])
            vdevs.append(f"net_pcap{port},rx_pcap={name}-in,"
                         f"tx_pcap={name}-out")
        testpmd = Testpmd(
            ("--forward-mode", mode, "--eth-peer", f"0,{PEER}", "--eth-peer",
             f"1,{PEER}", "--stats-period", "0.05"), vdevs, workers)
        with testpmd:
            testpmd.wait_for(lambda *_: testpmd.sent()
                             == {0: FRAMES, 1: FRAMES}, "end of the files")
            account = testpmd.stop()
        account.check_clean()
        check(account.ports == {p: (FRAMES, FRAMES, 0) for p in (0, 1)},
              f"ports: {account.ports}")
        for port in (0, 1):
            got = read_pcap(f"{folder}/{1 - port}-out")
            check(len(got) == FRAMES, f"{len(got)} frames of port {port}")
            for i, (before, after) in enumerate(zip(frames[port], got)):
                check(is_right(before, after), f"frame {i} of port {port}: "
                      f"{before[:24].hex()} ({len(before)} bytes) became "
                      f"{after[:24].hex()} ({len(after)})")


def received(testpmd):
    """Frames that port 0 has received or lost."""
    with testpmd.changed:
        lines = testpmd.lines[-40:]
    found = 0
    for line in lines:
        m = re.match(r" +RX-packets: +(\d+) +RX-missed: +(\d+) +RX-errors: "
                     r"+(\d+) +RX-nombuf: +(\d+)", line)
        found = sum(map(int, m.groups())) if m else found
    return found


def consume(rng, workers):
    with tempfile.TemporaryDirectory(prefix="weir-system-") as folder:
        write_pcap(f"{folder}/in", hostile(rng))
        testpmd = Testpmd(("--forward-mode", "rxonly", "--stats-period",
                           "0.05"), (f"net_pcap0,rx_pcap={folder}/in",),
                          workers)
        with testpmd:
            testpmd.wait_for(lambda *_: received(testpmd) == FRAMES,
                             "end of the file")
            account = testpmd.stop()
        account.check_clean()
        check(account.forwarded == FRAMES, f"forwarded {account.forwarded}")


def least_mbufs(vdevs, workers):
    """The smallest pool that is not refused; the refusal names it."""
    testpmd = Testpmd((*STARVED, "--total-num-mbufs", "1"), vdevs, workers)
    with testpmd:
        testpmd.wait_end(1)
        m = re.search(r"must be at least (\d+)", "\n".join(testpmd.errors))
    check(m, f"no refusal: {testpmd.errors}")
    return m[1]


def starve(rng, mode, workers):
    """The pool runs empty in the middle of a burst: what has no mbufs is
    counted, and what comes later is forwarded."""
    with tempfile.TemporaryDirectory(prefix="weir-system-") as folder:
        frames = [struct.pack(">I", i) + rng.randbytes(GREEDY_BYTES)
                  for i in range(GREEDY)]
        write_pcap(f"{folder}/in", frames)
        vdevs = (f"net_pcap0,rx_pcap={folder}/in,tx_pcap={folder}/out",)
        testpmd = Testpmd(
            (*STARVED, "--total-num-mbufs", least_mbufs(vdevs, workers), "--forward-mode",
             mode, "--stats-period", "0.05"), vdevs, workers)
        with testpmd:
            testpmd.wait_for(lambda *_: received(testpmd) == GREEDY,
                             "end of the file")
            account = testpmd.stop()
        got, _, dropped = account.ports[0]
        print(f"# {mode}: received {got}, no mbufs for {dropped}")
        check(dropped > 0, "the pool did not run empty")
        check(got + dropped == GREEDY, f"received {got}, dropped {dropped}")
        check((account.forwarded, account.lost) == (got, dropped),
              f"forwarded {account.forwarded}, lost {account.lost}")
        check((account.tasks_left, account.mbufs_left) == (0, 0),
              f"tasks left {account.tasks_left}, mbufs left "
              f"{account.mbufs_left}")
        if mode == "io":
            numbers = [struct.unpack(">I", p[:4])[0]
                       for p in read_pcap(f"{folder}/out")]
            check(len(numbers) == got and numbers == sorted(set(numbers)),
                  f"frames that came out: {numbers}")
            check(numbers[-1] > numbers[0] + got - 1,
                  "nothing came through after the pool had run empty")


def main():
    tap = Tap()
    rng = random.Random(seed())
    for workers in (1, 2, 4):
        for mode, is_right in (("io", is_as_it_was), ("macswap", has_swapped),
                               ("mac", is_from_port_to_peer)):
            tap.run(f"hostile frames, {mode}, {workers} workers", forward, rng,
                    mode, workers, is_right)
        tap.run(f"hostile frames, rxonly, {workers} workers", consume, rng,
                workers)
        for mode in ("io", "rxonly"):
            tap.run(f"a pool that runs empty, {mode}, {workers} workers",
                    starve, rng, mode, workers)
    tap.finish()


if __name__ == "__main__":
    main()
