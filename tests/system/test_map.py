# SPDX-License-Identifier: BSD-3-Clause
"""Lcore maps of weir-testpmd: --map, and changes under traffic."""

import os
import random
import re
import signal
import tempfile
import time

from weirtest import (END_SECONDS, MARK, WARNING, Tap, Telemetry, Testpmd,
                      check, make_packets, read_pcap, seed, write_pcap)

RINGS = ("net_ring0", "net_ring1")
# Lcores 1 to 3 are EAL's workers in each test.
START = "lcore 1 rx=0.0\nlcore 2 rx=1.0\nlcore 3 spare\n"
ROUNDS = 12


class MapFile:
    """A file with a map, that is rewritten as an editor does."""

    def __init__(self, folder, text):
        self.path = os.path.join(folder, "lcore.map")
        self.write(text)

    def write(self, text):
        with open(self.path + ".new", "w", encoding="utf-8") as f:
            f.write(text)
        os.rename(self.path + ".new", self.path)


def applied(testpmd):
    return [line for line in testpmd.lines if line.startswith("map applied")]


def change(testpmd, file, text):
    """Hands in a new map; gives the line that says what was done."""
    before = len(applied(testpmd)), len(testpmd.complaints())
    file.write(text)
    testpmd.process.send_signal(signal.SIGHUP)
    testpmd.wait_for(lambda out, err: (
        len(applied(testpmd)), len(testpmd.complaints())) != before,
        "answer to SIGHUP")
    if len(applied(testpmd)) != before[0]:
        return applied(testpmd)[-1]
    return testpmd.complaints()[-1]


def forwarded(testpmd):
    """Waits until both ports have sent more than they had when it was called."""
    seen = len(testpmd.lines)
    testpmd.wait_for(lambda out, err: sum(
        "port 1 statistics" in line
        for line in out[seen:]) >= 2, "statistics")
    before = testpmd.sent()
    testpmd.wait_for(lambda out, err: len(
        [p for p, n in testpmd.sent().items() if n > before.get(p, 0)]) == 2,
        "packets on both ports")


def polls_by_lcore(telemetry, workers):
    answers = (telemetry.ask(f"/weir/worker,weir,{i}") for i in range(workers))
    return {worker["lcore"]: worker["polls"] for worker in answers}


def wait_turns(testpmd, workers, lcores):
    """Waits until those on these lcores have had turns since it was called."""
    with Telemetry(testpmd) as telemetry:
        before = polls_by_lcore(telemetry, workers)
        telemetry.wait_for(
            lambda: all(n > before[lcore] for lcore, n in
                        polls_by_lcore(telemetry, workers).items()
                        if lcore in lcores),
            f"turn on each of lcores {lcores}")


def worker_lines(lines):
    return {int(m[1]): int(m[2]) for m in (re.match(
        r"worker \d+: lcore (\d+), polls (\d+)", line) for line in lines) if m}


def text_as_argument():
    with Testpmd(
            ("--map", "lcore 2 rx=1.0; # the other way round\nlcore 1 rx=0.0",
             "--stats-period", "0.1")) as testpmd:
        forwarded(testpmd)
        testpmd.stop().check_clean()


def tuples_as_argument():
    with Testpmd(("--map", "(0,0,2),(1,0,2)", "--run-for", "0.5")) as testpmd:
        testpmd.wait_end()
        check(list(worker_lines(testpmd.lines)) == [2],
              f"other workers: {testpmd.lines}")


def lcores_without_queues():
    """They are dealt out then."""
    with Testpmd(("--map", "lcore 2; lcore 1"), telemetry=True) as testpmd:
        testpmd.wait_started()
        wait_turns(testpmd, 2, (1, 2))
        testpmd.stop().check_clean()
        check(list(worker_lines(testpmd.lines)) == [2, 1],
              f"other workers: {testpmd.lines}")


def warnings():
    cpu = min(os.sched_getaffinity(0))
    with Testpmd(("--map", "(0,0,1),(1,0,2)", "--run-for", "0.1"),
                 lcores_option=["--lcores", f"(0-2)@{cpu}"]) as testpmd:
        testpmd.wait_end()
        check(any(line.startswith(WARNING) and "(cpu-shared)" in line
                  for line in testpmd.errors),
              f"no warning: {testpmd.errors}")
        check(not testpmd.complaints(), f"errors: {testpmd.errors}")


def live(folder):
    """Packets go round between two rings while all that can change does."""
    file = MapFile(folder, START)
    with Testpmd(("--map", file.path, "--tx-first", "--stats-period", "0.1"),
                 RINGS, 3, telemetry=True) as testpmd:
        testpmd.wait_started()
        forwarded(testpmd)
        wait_turns(testpmd, 3, (1, 2))
        line = change(testpmd, file, "lcore 3 rx=0.0,1.0 park=pause\n")
        check(line == "map applied: workers 1 (added 1, retired 2), "
              "queues moved 2", line)
        forwarded(testpmd)
        wait_turns(testpmd, 3, (3,))
        line = change(testpmd, file, "(0,0,2),(1,0,1)\nlcore 3\n")
        check(line == "map applied: workers 3 (added 2, retired 0), "
              "queues moved 2", line)
        forwarded(testpmd)
        wait_turns(testpmd, 3, (1, 2))
        testpmd.stop().check_clean()
        check(sorted(worker_lines(testpmd.lines)) == [1, 2, 3],
              f"other workers: {testpmd.lines}")
        # Three, then one, then three.
        mean = re.search(r"^average: .* on ([\d.]+) workers",
                         "\n".join(testpmd.lines), re.MULTILINE)
        check(mean and 1 < float(mean[1]) < 3,
              "not the mean of the workers: " + testpmd.describe())


def live_without_queues(folder):
    """They stay where they are, or go where they can."""
    text = "lcore 2\nlcore 1\nlcore 3 spare\n"
    file = MapFile(folder, text)
    with Testpmd(("--map", file.path, "--tx-first", "--stats-period", "0.1"),
                 RINGS, 3) as testpmd:
        testpmd.wait_started()
        forwarded(testpmd)
        line = change(testpmd, file, text)
        check(line == "map applied: workers 2 (added 0, retired 0), "
              "queues moved 0", line)
        line = change(testpmd, file, "lcore 3\nlcore 1\n")
        check(line == "map applied: workers 2 (added 1, retired 1), "
              "queues moved 1", line)
        forwarded(testpmd)
        testpmd.stop().check_clean()


def random_map(rng):
    workers = rng.sample((1, 2, 3), rng.randint(1, 3))
    queues = {lcore: [] for lcore in workers}
    for port in (0, 1):
        queues[rng.choice(workers)].append(f"{port}.0")
    lines = []
    for lcore in workers:
        rx = " rx=" + ",".join(queues[lcore]) if queues[lcore] else ""
        park = rng.choice(("", " park=poll", " park=pause", " park=adaptive"))
        lines.append(f"lcore {lcore}{rx}{park}\n")
    return "".join(lines)


def every_packet_in_order(folder, rng):
    """From packet file to packet file, all the while changing maps."""
    file = MapFile(folder, START)
    vdevs, packets = [], []
    for i in (0, 1):
        packets.append(make_packets(rng, 200_000, i, (60, 60)))
        write_pcap(f"{folder}/in{i}.pcap", packets[i])
        vdevs.append(f"net_pcap{i},rx_pcap={folder}/in{i}.pcap,"
                     f"tx_pcap={folder}/out{i}.pcap")
    with Testpmd(("--map", file.path, "--stats-period", "0.1"), vdevs,
                 3) as testpmd:
        testpmd.wait_started()
        for _ in range(ROUNDS):
            line = change(testpmd, file, random_map(rng))
            check(line.startswith("map applied"), line)
        testpmd.wait_for(lambda out, err: testpmd.sent() == {
            0: len(packets[1]), 1: len(packets[0])}, "all packets")
        testpmd.stop().check_clean()
    for i in (0, 1):
        check(read_pcap(f"{folder}/out{i}.pcap") == packets[1 - i],
              f"port {i} did not send the packets of port {1 - i} in order")


BAD_CHANGES = (
    ("lcore 1 rx=0.0\nlcore 1 rx=1.0\n", "line 2: '1': lcore 1 is described "
     "twice"),
    ("(0,0,1),(1,0,1),(2,0,1)", "queue 0 of port 2 is none of the program's"),
    ("(0,0,1)", "queue 0 of port 1 is missing"),
    ("(0,0,1),(1,1,1)", "queue 1 of port 1 is none of the program's"),
    ("(0,0,1)\nlcore 3 rx=1.0 cpus=1023", "CPU 1023, which the machine does "
     "not have (cpu-unknown)"),
    ("(0,0,1)\nlcore 3 rx=1.0 node=1023", "node 1023, which the machine does "
     "not have (node-unknown)"),
    ("(0,0,0),(1,0,1)", "lcore 0: is the main lcore"),
    ("(0,0,9),(1,0,1)", "lcore 9: is not among EAL's lcores"),
    ("lcore 9 rx=0.0,1.0", "lcore 9: is not among EAL's lcores"),
    ("(0,0,4),(1,0,1)", "lcore 4: the runtime has no place for it"),
    ("lcore 1 spare\n", "the map has no worker: nothing would run (no-worker)"),
    ("", "the map has no worker"),
    ("port 0 0000:00:00.0\n(0,0,1),(1,0,2)", "port 0 0000:00:00.0: "
     "is on no PCI bus, none"),
)


def bad_changes(folder):
    """One line each, and forwarding goes on as it was."""
    file = MapFile(folder, START)
    with Testpmd(("--map", file.path, "--tx-first", "--stats-period", "0.1"),
                 RINGS, 4) as testpmd:
        testpmd.wait_started()
        for text, expected in BAD_CHANGES:
            seen = len(testpmd.complaints())
            line = change(testpmd, file, text)
            check(line.startswith(
                f"{MARK}--map is not applied: {file.path}: ")
                and expected in line, f"for {text!r}: {line}")
            check(len(testpmd.complaints()) == seen + 1,
                  f"more than a line: {testpmd.complaints()[seen:]}")
        os.unlink(file.path)
        testpmd.process.send_signal(signal.SIGHUP)
        testpmd.wait_line("--map is not applied: " + file.path
                          + ": No such file or directory")
        os.mkfifo(file.path)
        testpmd.process.send_signal(signal.SIGHUP)
        testpmd.wait_line("--map is not applied: " + file.path
                          + ": is no regular file")
        os.unlink(file.path)
        # Nothing has changed: this changes nothing either.
        line = change(testpmd, file, START)
        check(line == "map applied: workers 2 (added 0, retired 0), "
              "queues moved 0", line)
        forwarded(testpmd)
        testpmd.stop().check_clean()


# Options, exit status, what the line has.
BAD_STARTS = (
    (("--map", ""), 2, "--map : must be an lcore map or the name of a file"),
    (("--map", "lcore 1\nlcore 1"), 2, "line 2: '1': lcore 1 is described"),
    (("--map", "lcore 1 rx=0"), 2, "line 1: 'rx=0': must be queues"),
    (("--map", "/nosuch/map"), 1, "--map /nosuch/map: No such file or dir"),
    (("--map", "(0,0,1)", "--config", "(0,0,1)"), 1, "--config (0,0,1): --map "
     "is given too"),
    (("--map", "(0,0,1),(7,0,1)"), 1, "--map (7,0,1): port 7 does not exist"),
    (("--map", "(0,0,1)"), 1,
     "--map (0,0,1): names no queue of port 1"),
    (("--map", "(0,0,1),(1,0,0)"), 1,
     "--map (0,0,1),(1,0,0): lcore 0: is the main lcore"),
    (("--map", "main 1; lcore 2"), 1,
     "--map main 1; lcore 2: main 1: EAL has another main"),
    (("--map", "lcore 1 spare"), 1,
     "--map lcore 1 spare: names no worker"),
    (("--map", "lcore 1 cpus=1023"), 1,
     "--map lcore 1 cpus=1023: lcore 1: EAL has it on other CPUs than "
     "cpus= says"),
    (("--map", "lcore 1 node=1023"), 1,
     "--map lcore 1 node=1023: lcore 1: is on node "),
    (("--map", "lcore 1; port 0 0000:00:00.0"), 1,
     "--map lcore 1; port 0 0000:00:00.0: port 0 "
     "0000:00:00.0: is on no PCI bus, none"),
    (("--map", "lcore 1; port 9 none"), 1,
     "--map lcore 1; port 9 none: port 9 none: there is no such port"),
)


def bad_start(options, status, expected):
    with Testpmd(options) as testpmd:
        testpmd.eal_cleans_up = False
        testpmd.wait_end(status)
        check(len(testpmd.errors) == 1 and expected in testpmd.errors[0]
              and testpmd.errors[0].startswith(MARK),
              f"not one line with '{expected}': {testpmd.errors}")
        check(not testpmd.lines, f"there is more: {testpmd.lines}")


def file_without_a_worker(folder):
    path = f"{folder}/empty.map"
    with open(path, "w", encoding="ascii"):
        pass
    bad_start(("--map", path), 1, f"--map {path}: names no worker")


def ended_before_there_is_a_map(folder):
    """It waits for whoever writes to a pipe, and for signals."""
    path = f"{folder}/pipe"
    os.mkfifo(path)
    with Testpmd(("--map", path)) as testpmd:
        testpmd.eal_cleans_up = False
        deadline = time.monotonic() + END_SECONDS
        while testpmd.process.poll() is None:
            check(time.monotonic() < deadline, "no end")
            testpmd.process.send_signal(signal.SIGINT)
            time.sleep(0.1)
        check(testpmd.process.returncode == -signal.SIGINT,
              f"status {testpmd.process.returncode}")


def hangup_without_a_file():
    """There is no map to read again: it ends the program as SIGTERM does."""
    with Testpmd(("--map", "(0,0,1),(1,0,2)")) as testpmd:
        testpmd.wait_started()
        testpmd.stop(signal.SIGHUP).check_clean()


def main():
    tap = Tap()
    rng = random.Random(seed())
    tap.run("text as argument", text_as_argument)
    tap.run("tuples as argument", tuples_as_argument)
    tap.run("lcores without queues", lcores_without_queues)
    tap.run("warnings at the start", warnings)
    for options, status, expected in BAD_STARTS:
        tap.run("'" + " ".join(options).replace("\n", "?") + "'", bad_start,
                options, status, expected)
    with tempfile.TemporaryDirectory(prefix="weir-map-") as folder:
        tap.run("change under traffic", live, folder)
        tap.run("change without queues", live_without_queues, folder)
        tap.run("every packet in order", every_packet_in_order, folder, rng)
        tap.run("a file that names no worker", file_without_a_worker, folder)
        tap.run("bad changes", bad_changes, folder)
        tap.run("a signal while there is no map yet",
                ended_before_there_is_a_map, folder)
    tap.run("hangup without a file", hangup_without_a_file)
    tap.finish()


if __name__ == "__main__":
    main()
