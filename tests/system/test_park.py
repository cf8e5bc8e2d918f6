# SPDX-License-Identifier: BSD-3-Clause
"""Workers that sleep, over tap ports, which have RX interrupts: they use next to
no CPU time without packets, and forward those that come. Needs root."""

import glob
import random
import time

from netns import exchange, require_taps, two_taps
from weirtest import Tap, check, make_packets, seed

FRAMES = 300
IDLE_SECONDS = 2
# Of a CPU. Usually a tenth of that; a busy machine makes each wake-up dearer.
MOST_IDLE = 0.05
TRIES = 5
# Of the time, on a CPU or waiting for one that others have.
LEAST_BUSY = 0.8


def worker_seconds(pid, fields):
    """CPU time that the worker threads have used, the first of two fields; the other
    is how long they have waited for a CPU."""
    total, found = 0, 0
    for task in glob.glob(f"/proc/{pid}/task/*"):
        with open(f"{task}/comm", encoding="ascii") as f:
            if "worker" not in f.read():
                continue
        with open(f"{task}/schedstat", encoding="ascii") as f:
            total += sum(int(n) for n in f.read().split()[:fields])
        found += 1
    check(found > 0, "no worker threads found")
    return total / 1e9


def share_of_cpu(pid, fields=1):
    began, used = time.monotonic(), worker_seconds(pid, fields)
    time.sleep(IDLE_SECONDS)
    return (worker_seconds(pid, fields) - used) / (time.monotonic() - began)


def expect_idle(testpmd, when):
    shares = []
    while not shares or shares[-1] > MOST_IDLE:
        check(len(shares) < TRIES, f"{when}, idle workers use "
              + ", ".join(f"{s:.2%}" for s in shares) + " of a CPU")
        shares.append(share_of_cpu(testpmd.process.pid))
    print(f"# {when}: {shares[-1]:.2%} of a CPU")


def idle_and_forward(rng, park, workers):
    with two_taps(park, workers) as (testpmd, sockets, _):
        expect_idle(testpmd, "before the first packet")
        for there in (0, 1):
            exchange(make_packets(rng, FRAMES, there), sockets[there],
                     sockets[1 - there])
        # One at a time: each has to wake a worker.
        for packet in make_packets(rng, FRAMES):
            exchange([packet], sockets[0], sockets[1])
        expect_idle(testpmd, "after the last one")
        account = testpmd.stop()
        account.check_clean()
        check(account.forwarded == 3 * FRAMES,
              f"forwarded {account.forwarded}")


def poll_is_not_idle(rng):
    """That the others' CPU time can be seen at all."""
    with two_taps("poll", 1) as (testpmd, sockets, _):
        exchange(make_packets(rng, FRAMES), *sockets)
        # It, or we, may stand still for a while.
        shares = []
        while not shares or shares[-1] <= LEAST_BUSY:
            check(len(shares) < TRIES, "a worker that polls is so for "
                  + ", ".join(f"{share:.2%}" for share in shares))
            shares.append(share_of_cpu(testpmd.process.pid, 2))
        testpmd.stop().check_clean()


def main():
    require_taps()
    tap = Tap()
    rng = random.Random(seed())
    for park in ("adaptive", "interrupt"):
        for workers in (1, 2):
            tap.run(f"{park} with {workers} workers: sleep and wake",
                    idle_and_forward, rng, park, workers)
    tap.run("poll: does not sleep", poll_is_not_idle, rng)
    tap.finish()


if __name__ == "__main__":
    main()
