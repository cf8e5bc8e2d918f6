# SPDX-License-Identifier: BSD-3-Clause
"""Forwarding between software ports, in every mode and number of workers."""

import math

from weirtest import TWO_NULL, Tap, Telemetry, Testpmd, check

# Where nothing need happen meanwhile.
RUN = ("--run-for", "0.3")
TWO_RING = ("net_ring0", "net_ring1")
POLLS = 100
RING_SIZE = 1023  # of net_ring
BURST = 32
IN_FLIGHT = 2 * BURST  # of --tx-first on each of two ports
FIRST = 15  # bursts for each of two ports: a ring holds them all
BURST_RUNS = 10  # every other one may have counts with a divisor of their own


def run_until(packets, options, vdevs, workers):
    """Until each port has received or sent so many; the account of it."""
    def moved(testpmd):
        received, sent = testpmd.counted("RX"), testpmd.counted("TX")
        return all(max(received.get(port, 0), sent.get(port, 0)) >= packets
                   for port in range(len(vdevs)))

    options = (*options, "--stats-period", "0.1")
    with Testpmd(options, vdevs, workers) as testpmd:
        testpmd.wait_for(lambda *_: moved(testpmd),
                         f"{packets} packets on each port")
        return testpmd.stop()


def null(mode, workers):
    account = run_until(1, ("--forward-mode", mode), TWO_NULL, workers)
    account.check_clean()
    received = sum(p[0] for p in account.ports.values())
    sent = sum(p[1] for p in account.ports.values())
    expected = {"rxonly": (account.forwarded, 0),
                "txonly": (0, account.forwarded)}.get(
                    mode, (account.forwarded,) * 2)
    check((received, sent) == expected,
          f"received {received}, sent {sent}, not {expected}")
    check(all(any(p[:2]) for p in account.ports.values()),
          f"a port did nothing: {account.ports}")


def ring(workers):
    # More than there are: they go round.
    account = run_until(2 * IN_FLIGHT, ("--tx-first",), TWO_RING, workers)
    account.check_clean()
    received = sum(p[0] for p in account.ports.values())
    check(received == account.forwarded,
          f"received {received}, forwarded {account.forwarded}")


def many_first():
    """What was put in, and no more, lies in the rings at the end."""
    put_in = 2 * FIRST * BURST
    account = run_until(2 * put_in, ("--tx-first-bursts", str(FIRST)),
                        TWO_RING, 1)
    account.check_clean()
    received, sent, _ = map(sum, zip(*account.ports.values()))
    check(sent - received == put_in,
          f"sent {sent}, received {received}; {put_in} go round")


def first_that_are_not_taken():
    """Of more than a ring holds nobody takes any out before forwarding begins."""
    first = 2 * RING_SIZE // BURST
    options = ("--tx-first-bursts", str(first), "--forward-mode", "rxonly",
               "--stats-period", "0.1")
    with Testpmd(options, TWO_RING, 1) as testpmd:
        testpmd.wait_for(
            lambda *_: list(testpmd.counted("RX").values()) == 2 * [RING_SIZE],
            "all that are in the rings")
        account = testpmd.stop()
    dropped = first * BURST - RING_SIZE
    check(account.ports == {n: (RING_SIZE, RING_SIZE, dropped) for n in (0, 1)},
          f"{account.ports}")
    check((account.lost, account.tasks_left, account.mbufs_left)
          == (2 * dropped, 0, 0), f"lost {account.lost}")


def queues(workers):
    testpmd = Testpmd(("--rxq", "4", *RUN), TWO_NULL, workers)
    account = testpmd.run()
    account.check_clean()
    check("streams 8" in testpmd.lines[0], testpmd.lines[0])


def lone_port():
    """A port without a partner forwards to itself, here beside a pair."""
    account = run_until(1, (), (*TWO_NULL, "net_null2"), 1)
    account.check_clean()
    received, sent, _ = account.ports[2]
    check(received == sent > 0, f"port 2: {account.ports[2]}")


def config():
    """Named lcores become workers, in order; others join for --nb-cores."""
    testpmd = Testpmd(("--config", "(0,0,3),(0,1,2),(1,0,2),(1,1,3)",
                       "--nb-cores", "3", *RUN), TWO_NULL, 4)
    account = testpmd.run()
    account.check_clean()
    workers = [line.split(",")[0] for line in testpmd.lines
               if line.startswith("worker ")]
    check(workers == ["worker 0: lcore 3", "worker 1: lcore 2",
                      "worker 2: lcore 1"], f"workers are {workers}")


def nb_cores():
    testpmd = Testpmd(("--nb-cores", "1", *RUN), TWO_NULL, 4)
    testpmd.run().check_clean()
    check("workers 1" in testpmd.lines[0], testpmd.lines[0])


def portmask():
    testpmd = Testpmd(("--portmask", "0x5", *RUN), (*TWO_NULL, "net_null2"), 1)
    account = testpmd.run()
    account.check_clean()
    check(sorted(account.ports) == [0, 2], f"ports are {account.ports}")


def uneven():
    """Two ports are always ready, both of them worker 0's: the other takes one, by a
    steal or at the start from the queue of both. Those that never are have few polls."""
    vdevs = (*TWO_NULL, "net_null2,no-rx=1", "net_null3,no-rx=1")
    with Testpmd((), vdevs, 2, telemetry=True) as testpmd:
        testpmd.wait_started()
        with Telemetry(testpmd) as telemetry:
            telemetry.wait_for(
                lambda: telemetry.ask("/weir/worker,weir,1")["polls"] > POLLS,
                "polls of a ready port's task by worker 1")
        account = testpmd.stop()
    account.check_clean()
    received = {port: counts[0] for port, counts in account.ports.items()}
    check(received[0] > 0 and received[1] > 0
          and received[2] == received[3] == 0, f"received {received}")


def idle():
    """Ports that never receive: workers park, and the end is as clean."""
    account = Testpmd(RUN, ("net_null0,no-rx=1", "net_null1,no-rx=1"), 2).run()
    account.check_clean()
    check(account.forwarded == 0, f"forwarded {account.forwarded}")


def full_port():
    """A ring that nobody empties: it is filled, what it does not take in time
    is dropped and counted, and what is held back at the end is too."""
    # Ten times as long as a port has to take a burst; longer where it stood still.
    for seconds in ("1", "5", "20"):
        account = Testpmd(("--forward-mode", "txonly", "--run-for", seconds),
                          ("net_ring0",), 1).run()
        if account.lost > BURST:
            break
    check((account.tasks_left, account.mbufs_left) == (0, 0),
          f"tasks left {account.tasks_left}, mbufs left {account.mbufs_left}")
    check(account.forwarded == RING_SIZE, f"forwarded {account.forwarded}")
    # A burst is held back at the end: more than that was dropped before.
    check(account.lost > BURST and account.ports[0]
          == (0, RING_SIZE, account.lost), f"port 0: {account.ports[0]}")


def full_queues():
    """As above, and of more queues than are received from."""
    account = run_until(2 * RING_SIZE, ("--forward-mode", "txonly", "--txq",
                                        "2"), ("net_ring0",), 1)
    check((account.tasks_left, account.mbufs_left) == (0, 0),
          f"tasks left {account.tasks_left}, mbufs left {account.mbufs_left}")
    check(account.forwarded == 2 * RING_SIZE,
          f"forwarded {account.forwarded}")


def unread_queues(*options):
    """What such queues of a ring hold is freed at the end."""
    account = Testpmd((*options, "--tx-first", *RUN),
                      ("net_ring0", "net_ring1"), 1).run()
    account.check_clean()


def bursts(size):
    """It is what all counts can be divided by, of runs that end anywhere."""
    divisor, runs = 0, 0
    while divisor != size and divisor % size == 0 and runs < BURST_RUNS:
        account = run_until(1, ("--burst", str(size)), TWO_NULL, 2)
        account.check_clean()
        divisor = math.gcd(divisor, *(p[0] for p in account.ports.values()))
        runs += 1
    check(divisor == size, f"bursts of {divisor}, in {runs} runs")


def statistics():
    testpmd = Testpmd(("--stats-period", "0.1"), TWO_NULL, 1)
    with testpmd:
        testpmd.wait_line("port 1 statistics", 3)
        testpmd.stop().check_clean()
    for key in ("RX-packets:", "TX-packets:", "Rx-pps:", "Tx-pps:",
                "CPU cycles/packet"):
        check(any(key in line for line in testpmd.lines), f"no {key}")


def main():
    tap = Tap()
    for workers in (1, 2, 4):
        for mode in ("io", "mac", "macswap", "rxonly", "txonly"):
            tap.run(f"null, {mode}, {workers} workers", null, mode, workers)
        tap.run(f"ring, {workers} workers", ring, workers)
        tap.run(f"4 queues a port, {workers} workers", queues, workers)
    tap.run("--tx-first-bursts", many_first)
    tap.run("more of them than a ring holds", first_that_are_not_taken)
    tap.run("a port without a partner", lone_port)
    tap.run("--config and --nb-cores", config)
    tap.run("--nb-cores", nb_cores)
    tap.run("--portmask", portmask)
    tap.run("all packets come to one worker's ports", uneven)
    tap.run("ports that never receive", idle)
    tap.run("a port that takes nothing", full_port)
    tap.run("queues that take nothing", full_queues)
    tap.run("more transmit queues than receive queues", unread_queues,
            "--rxq", "1", "--txq", "2")
    tap.run("a queue that only one port of a pair has", unread_queues,
            "--config", "(0,0,1),(0,1,1),(1,0,1)")
    for size in (1, 512):
        tap.run(f"--burst {size}", bursts, size)
    tap.run("--stats-period", statistics)
    tap.finish()


if __name__ == "__main__":
    main()
