# SPDX-License-Identifier: BSD-3-Clause
"""From packet files to packet files: every byte, and the order of a queue."""

import os
import random
import tempfile

from weirtest import (Tap, Testpmd, check, make_packets, read_pcap, seed,
                      write_pcap)

PACKETS = 5000
QUEUES = 2
PEER = "02:11:22:33:44:55"


def same(packets):
    return packets


def swapped(packets):
    return [p[6:12] + p[:6] + p[12:] for p in packets]


def forward(rng, mode, workers, expected):
    with tempfile.TemporaryDirectory(prefix="weir-system-") as folder:
        sent = {}
        vdevs = []
        for port in (0, 1):
            vdev = f"net_pcap{port}"
            for queue in range(QUEUES):
                name = os.path.join(folder, f"{port}-{queue}")
                sent[port, queue] = make_packets(rng, PACKETS, port * 16 + queue)
                write_pcap(name + "-in", sent[port, queue])
                vdev += f",rx_pcap={name}-in,tx_pcap={name}-out"
            vdevs.append(vdev)
        testpmd = Testpmd(
            ("--rxq", str(QUEUES), "--forward-mode", mode, "--eth-peer",
             f"0,{PEER}", "--eth-peer", f"1,{PEER}", "--stats-period", "0.05"),
            vdevs, workers)
        total = QUEUES * PACKETS
        with testpmd:
            testpmd.wait_for(lambda *_: testpmd.sent()
                             == {0: total, 1: total}, "end of the files")
            account = testpmd.stop()
        account.check_clean()
        check(account.forwarded == 2 * total, f"forwarded {account.forwarded}")
        for (port, queue), packets in sent.items():
            got = read_pcap(os.path.join(folder, f"{1 - port}-{queue}-out"))
            check(got == expected(packets), f"port {port} queue {queue}: what "
                  f"came out differs ({len(got)} packets)")


def forward_mac(rng):
    """The peer's address to all, from one that is the port's own."""
    with tempfile.TemporaryDirectory(prefix="weir-system-") as folder:
        packets = make_packets(rng, PACKETS)
        write_pcap(f"{folder}/in", packets)
        testpmd = Testpmd(
            ("--forward-mode", "mac", "--eth-peer", f"0,{PEER}",
             "--stats-period", "0.05"),
            (f"net_pcap0,rx_pcap={folder}/in,tx_pcap={folder}/out",), 1)
        with testpmd:
            testpmd.wait_for(lambda *_: testpmd.sent() == {0: PACKETS},
                             "end of the file")
            testpmd.stop().check_clean()
        got = read_pcap(f"{folder}/out")
        peer = bytes(int(x, 16) for x in PEER.split(":"))
        check({p[:6] for p in got} == {peer}, "destinations differ")
        check(len({p[6:12] for p in got}) == 1, "sources differ")
        check([p[12:] for p in got] == [p[12:] for p in packets],
              "what follows the addresses differs")


def main():
    tap = Tap()
    rng = random.Random(seed())
    for workers in (1, 2, 4):
        tap.run(f"io, {QUEUES} queues, {workers} workers", forward, rng, "io",
                workers, same)
        tap.run(f"macswap, {QUEUES} queues, {workers} workers", forward, rng,
                "macswap", workers, swapped)
    tap.run("mac", forward_mac, rng)
    tap.finish()


if __name__ == "__main__":
    main()
