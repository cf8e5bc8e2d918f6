# SPDX-License-Identifier: BSD-3-Clause
"""Faults of tap ports: links that flap, an interface that is deleted, frames
that it refuses. Needs root."""

import random
import re
import tempfile
import time

from netns import (SECONDS, check_accounted, exchange, flap, flush, ip,
                   quiet_namespace, require_taps, sending, two_taps)
from weirtest import (Account, Tap, Testpmd, check, make_packets, seed,
                      write_pcap)

FRAMES = 200
FLAP_SECONDS = 2
GOOD, BAD = 60, 5


def links_flap(rng, park, workers):
    with two_taps(park, workers) as (testpmd, sockets, namespace):
        exchange(make_packets(rng, FRAMES), *sockets)
        with sending(make_packets(rng, 64), *sockets):
            flaps = flap(rng, namespace, ("port0", "port1"), FLAP_SECONDS)
        print(f"# {flaps} flaps")
        flush(sockets)
        for there in (0, 1):
            exchange(make_packets(rng, FRAMES, there), sockets[there],
                     sockets[1 - there])
        check_accounted(testpmd.stop())


def removed_under_load(rng, park, workers):
    with two_taps(park, workers) as (testpmd, sockets, namespace):
        exchange(make_packets(rng, FRAMES), *sockets)
        with sending(make_packets(rng, 64), *sockets):
            ip("-n", namespace, "link", "del", "port1")
            testpmd.wait_end(1)
        check_accounted(Account(testpmd.lines))
        text = "\n".join(testpmd.errors)
        for part in ("port 1 (net_tap1): is gone",
                     "port 0 queue 0: its stream ends",
                     "port 1 queue 0: its stream ends",
                     "no stream is left"):
            check(part in text, f"no '{part}' in: {text}")


def as_many_queues(mode):
    """A tap has as many of each kind, or none; both are --rxq by default."""
    with quiet_namespace() as namespace:
        Testpmd(("--forward-mode", mode, "--rxq", "2", "--run-for", "0.1"),
                ("net_tap0",), 1,
                wrapper=("ip", "netns", "exec", namespace)).run()


def kernel_received(namespace, link):
    text = ip("-n", namespace, "-s", "-o", "link", "show", link)
    return int(re.search(r"RX:[^\\]*\\ *\d+ +(\d+)", text)[1])


def refused_frames(rng, workers):
    """Longer than the interface takes, or shorter than a frame can be: each
    costs itself and no other."""
    good = make_packets(rng, GOOD)
    bad = [rng.randbytes(rng.choice((0, 5, 13, 1600, 9000)))
           for _ in range(BAD)]
    frames = rng.sample(good + bad, GOOD + BAD)
    with tempfile.TemporaryDirectory(prefix="weir-system-") as folder, \
         quiet_namespace() as name:
        write_pcap(f"{folder}/in", frames)
        with Testpmd(("--stats-period", "0.05"),
                     (f"net_pcap0,rx_pcap={folder}/in,tx_pcap={folder}/out",
                      "net_tap1,iface=port1"), workers,
                     wrapper=("ip", "netns", "exec", name)) as testpmd:
            # The last of them may be bad ones.
            testpmd.wait_for(lambda *_: (
                testpmd.counted("RX").get(0) == GOOD + BAD and
                testpmd.sent().get(1) == GOOD), "sign of the frames")
            deadline = time.monotonic() + SECONDS
            while kernel_received(name, "port1") < GOOD:
                check(time.monotonic() < deadline, "frames do not arrive")
            account = testpmd.stop()
        check_accounted(account)
        check(account.ports[0][0] == GOOD + BAD
              and account.ports[1] == (0, GOOD, BAD),
              f"ports: {account.ports}")


def main():
    require_taps()
    tap = Tap()
    rng = random.Random(seed())
    for mode in ("io", "rxonly", "txonly"):
        tap.run(f"two queues, {mode}", as_many_queues, mode)
    for workers in (1, 2, 4):
        for park in ("poll", "interrupt"):
            tap.run(f"links flap, {park}, {workers} workers", links_flap, rng,
                    park, workers)
            tap.run(f"an interface is deleted, {park}, {workers} workers",
                    removed_under_load, rng, park, workers)
        tap.run(f"frames are refused, {workers} workers", refused_frames, rng,
                workers)
    tap.finish()


if __name__ == "__main__":
    main()
