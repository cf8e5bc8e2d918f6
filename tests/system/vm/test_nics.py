# SPDX-License-Identifier: BSD-3-Clause
"""Network cards behind an IOMMU, on NUMA nodes: what weir-testpmd forwards
between them, who polls them, and whether their interrupts wake it. In a virtual
machine; each card's other side is a tap of ours."""

import collections
import contextlib
import functools
import random
import struct
import time

from machine import Machine, MachineTestpmd, require, uniform
from netns import (ETH_P_IP, WINDOW, exchange, ip, quiet_namespace, socket_in)
from weirtest import Problem, Tap, check, make_packets, seed

NODES, CPUS = 4, 2
QUEUES = 4
FLOWS = 64
ROUNDS = 40
PACKETS = FLOWS + ROUNDS * (FLOWS + WINDOW)  # each way
SINGLES = 20
STRIKES = 40  # single frames until an interrupt that never comes is given up
IDLE_SECONDS = 2
# Of a CPU. A worker that sleeps uses a hundredth of that; the virtual CPU's
# time is counted while the host runs others.
MOST_IDLE = 0.25
LEAST_BUSY = 0.1  # one that polls, while the host has little time for it
TRIES = 5
SECONDS = 60

# (model, its node); port I of the machine is the tap port<I> of the namespace.
CARDS = (("e1000e", 0), ("virtio", 1), ("virtio", 2), ("vmxnet3", 3))


class Scene:
    """The machine and its network. Use as a context manager."""

    def __enter__(self):
        nodes = uniform(NODES, CPUS)
        for model, node in CARDS:
            nodes[node].nics = (*nodes[node].nics, model)
        with contextlib.ExitStack() as stack:
            self.namespace = stack.enter_context(quiet_namespace())
            self.machine = stack.enter_context(Machine(
                nodes, wrapper=("ip", "netns", "exec", self.namespace)))
            for i in range(len(CARDS)):
                ip("-n", self.namespace, "link", "set", f"port{i}", "up")
            self.cards = self.machine.bind_nics()
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *exc):
        return self.stack.__exit__(*exc)

    def testpmd(self, options, lcores, *cards):
        devices = [w for c in cards for w in ("-a", self.cards[c][0])]
        return MachineTestpmd(self.machine, options, lcores, devices)

    def socket(self, card, *protocol):
        return contextlib.closing(
            socket_in(self.namespace, f"port{card}", *protocol))


def lcores_of(nodes):
    """A main lcore on node 0, and one for each CPU of these: "0@0,1@2,..."."""
    cpus = [node * CPUS + i for node in nodes for i in range(CPUS)]
    return ",".join(["0@0"] + [f"{i + 1}@{c}" for i, c in enumerate(cpus)])


def cards_have_nodes(scene):
    nodes = [node for _, node in scene.cards]
    check(nodes == [node for _, node in CARDS], f"nodes: {nodes}")


# Flows, which RSS spreads over queues.

def udp_frame(flow, number):
    ports = struct.pack(">HH", 1000 + flow, 2000 + 7 * flow)
    data = ports + struct.pack(">HHII", 16, 0, flow, number)
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(data), 0, 0, 64, 17,
                       0, bytes((10, 0, 0, 1 + flow)), bytes((10, 0, 1, 1)))
    frame = bytes(6) + bytes((2, 0, 0, 0, 0, 1)) + b"\x08\x00" + head + data
    return frame.ljust(60, b"\0")


def flow_and_number(frame):
    return struct.unpack_from(">II", frame, 42)


def expect_flows(back, first, each):
    """That many frames of each flow, from this number on, in its order."""
    following = collections.Counter()
    for left in range(FLOWS * each, 0, -1):
        try:
            flow, number = flow_and_number(back.recv(65536))
        except TimeoutError:
            raise Problem(f"{left} frames do not arrive") from None
        wanted = first + following[flow]
        check(number == wanted,
              f"flow {flow}: {number} comes instead of {wanted}")
        following[flow] += 1
    check(set(following.values()) == {each}, f"flows: {following}")


def exchange_flows(one, two):
    """Both ways at once. All arrive, each flow in its order; queues may overtake each
    other. A tap has a queue for each flow by its hash or, for the three seconds behind
    what came of the flow from the other side, the one that this came by. So before
    frames of a flow follow each other one goes alone, and they stay in one queue."""
    # Of all the first, while nothing else is there: its queue's worker has to find it.
    for flow in range(FLOWS):
        for there, back in ((one, two), (two, one)):
            there.send(udp_frame(flow, 0))
            got = flow_and_number(back.recv(65536))
            check(got == (flow, 0), f"{got} comes instead of the first of {flow}")
    first = 1
    for _ in range(ROUNDS):
        for each in (1, WINDOW // FLOWS):
            for frame in [udp_frame(flow, first + i) for i in range(each)
                          for flow in range(FLOWS)]:
                one.send(frame)
                two.send(frame)
            for back in (two, one):
                expect_flows(back, first, each)
            first += each


def check_queues(testpmd, port):
    """Every queue had its share of the flows."""
    got = testpmd.telemetry(f"/ethdev/xstats,{port}")
    shares = [got[f"rx_q{q}_good_packets"] for q in range(QUEUES)]
    print(f"# port {port}: packets of its queues: {shares}")
    check(all(shares) and sum(shares) == PACKETS, f"shares: {shares}")


def check_workers(testpmd, near):
    """Workers on the cards' nodes found packets, and no other worker did. Which of a
    node's, the host may say: a neighbour polls for one that it keeps from running."""
    found = collections.Counter()
    for i in range(NODES * CPUS - 1):
        worker = testpmd.telemetry(f"/weir/worker,weir,{i}")
        node, events = worker["node"], worker["source_events"]
        print(f"# worker {i} of node {node}: {events} source events, "
              f"{worker['polls']} polls, "
              f"{worker['steals_remote']} steals from other nodes")
        found[node] += events
    check({node for node, events in found.items() if events > 0} == set(near),
          f"source events of nodes: {dict(found)}")


def forward_with_rss(scene, park):
    with contextlib.ExitStack() as stack:
        one = stack.enter_context(scene.socket(1, ETH_P_IP))
        two = stack.enter_context(scene.socket(2, ETH_P_IP))
        # All CPUs but the main lcore's are workers.
        lcores = ",".join(f"{i}@{i}" for i in range(NODES * CPUS))
        testpmd = stack.enter_context(scene.testpmd(
            (f"--park={park}", f"--rxq={QUEUES}", f"--txq={QUEUES}"), lcores,
            1, 2))
        testpmd.wait_started()
        exchange_flows(one, two)
        for port in (0, 1):
            check_queues(testpmd, port)
        check_workers(testpmd, (1, 2))
        account = testpmd.stop()
        account.check_clean()
        check(account.ports == {port: (PACKETS, PACKETS, 0)
                                for port in (0, 1)}, f"ports: {account.ports}")


# Interrupts. A port alone sends back what it gets.

def asleep(testpmd):
    """All worker threads are, in the kernel."""
    return all(
        testpmd.machine.ask("read", f"{w}/stat").rpartition(") ")[2][0] == "S"
        for w in testpmd.workers())


def wait_asleep(testpmd):
    deadline = time.monotonic() + SECONDS
    while not asleep(testpmd):
        check(time.monotonic() < deadline, "workers do not sleep")


def worker_seconds(testpmd):
    return sum(int(testpmd.machine.ask("read", f"{w}/schedstat").split()[0])
               for w in testpmd.workers()) / 1e9


def share_of_cpu(testpmd):
    began, used = time.monotonic(), worker_seconds(testpmd)
    time.sleep(IDLE_SECONDS)
    return ((worker_seconds(testpmd) - used) / (time.monotonic() - began))


def expect_idle(testpmd):
    shares = []
    while not shares or shares[-1] > MOST_IDLE:
        check(len(shares) < TRIES, "idle workers use "
              + ", ".join(f"{s:.2%}" for s in shares) + " of a CPU")
        shares.append(share_of_cpu(testpmd))
    print(f"# idle: {shares[-1]:.2%} of a CPU")


def given_up(lines, errors):
    return any("its interrupt does not come; polling it" in line
               for line in lines + errors)


def interrupt_wakes(scene, rng, card):
    """Each frame finds the worker asleep; it is back, and the worker is not
    counted as one that has to poll."""
    node = CARDS[card][1]
    lcores = f"0@0,1@{node * CPUS + 1}"
    with scene.testpmd(("--park=interrupt",), lcores, card) as testpmd, \
         scene.socket(card) as s:
        testpmd.wait_started()
        for frame in make_packets(rng, SINGLES, sizes=(60, 300)):
            wait_asleep(testpmd)
            exchange([frame], s, s)
        expect_idle(testpmd)
        exchange(make_packets(rng, WINDOW), s, s)
        check(not given_up(testpmd.lines, testpmd.errors),
              "it is polled: " + testpmd.describe())
        account = testpmd.stop()
        account.check_clean()
        check(account.forwarded == SINGLES + WINDOW,
              f"forwarded {account.forwarded}")


def interrupt_that_never_comes(scene, rng, card):
    """The driver says that it is enabled. Frames that find the worker asleep come
    late until the library has noticed, and none is lost; then it polls."""
    node = CARDS[card][1]
    lcores = f"0@{node * CPUS},1@{node * CPUS + 1}"
    sent, deadline = 0, time.monotonic() + SECONDS
    with scene.testpmd(("--park=interrupt",), lcores, card) as testpmd, \
         scene.socket(card) as s:
        noticed = functools.partial(given_up, testpmd.lines, testpmd.errors)
        testpmd.wait_started()
        for frame in make_packets(rng, STRIKES, sizes=(60, 300)):
            # One that comes sooner says nothing, and so may all of them.
            while not asleep(testpmd) and not noticed():
                check(time.monotonic() < deadline, "it neither sleeps nor polls")
            if noticed():
                break
            exchange([frame], s, s)
            sent += 1
        testpmd.wait_for(given_up, "line that it is polled from now on")
        print(f"# noticed after {sent} frames")
        share = share_of_cpu(testpmd)
        check(share > LEAST_BUSY, f"a worker that polls uses {share:.2%}")
        exchange(make_packets(rng, WINDOW), s, s)
        account = testpmd.stop()
        account.check_clean()
        check(account.forwarded == sent + WINDOW,
              f"forwarded {account.forwarded}")


def main():
    require()
    tap = Tap()
    rng = random.Random(seed())
    with Scene() as scene:
        tap.run("cards are on their nodes", cards_have_nodes, scene)
        for park in ("adaptive", "poll"):
            tap.run(f"{park}: four queues of each of two cards",
                    forward_with_rss, scene, park)
        for card, (model, _) in enumerate(CARDS):
            if model == "e1000e":
                tap.run(f"{model}: interrupts do not come, it is polled",
                        interrupt_that_never_comes, scene, rng, card)
            else:
                tap.run(f"{model} on node {CARDS[card][1]}: interrupts wake",
                        interrupt_wakes, scene, rng, card)
    tap.finish()


if __name__ == "__main__":
    main()
