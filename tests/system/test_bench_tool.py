# SPDX-License-Identifier: BSD-3-Clause
"""tools/bench: its command line, the programs that it runs, growth, and the
instructions that it counts. No time is looked at."""

import argparse
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile

from weirtest import Skip, check, read_pcap
from benchtest import (MACHINE, SVG, FakeMachine, QuietMachine, check_picture,
                       equal, expect_failure, report_of, run_all)

import chart
import costs
import fiber
import forward
import growth
import machine
import main as bench
import one_queue
import overhead
import page
import park
import peers
import report
import sched_scenarios
from scenario import Sample, Setup

PROGRAM = os.path.abspath(sys.argv[1])


# Command lines

def tool(*args):
    done = subprocess.run([sys.executable, "-B", "tests/bench/main.py", *args],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout, done.stderr.splitlines()


def mistakes_are_named():
    with tempfile.NamedTemporaryFile("w", suffix=".json") as damaged, \
         tempfile.NamedTemporaryFile("w", suffix=".json") as other:
        damaged.write("{")
        damaged.flush()
        json.dump(report_of(mpsc_2={"p": [1.0]}), other)
        other.flush()
        for args, part in (
                (["forward_nul"], "no scenario 'forward_nul'"),
                ([""], "no scenario ''"),
                (["--reps", "6"], "--reps: must be a whole number, 7 to 9999, "
                 "not '6'"),
                (["--seconds", "0"], "--seconds: must be"),
                (["--patience", "-1"], "--patience"),
                (["--compare", "/not/there"], "--compare /not/there: No such"),
                (["--json", "/not/there"], "--json /not/there: No such file"),
                (["--svg", "/proc"], "--svg /proc: Is a directory"),
                (["--compare", damaged.name], f"--compare {damaged.name}: not "
                 "JSON"),
                (["--compare", other.name, "forward_null"],
                 f"--compare {other.name}: has no scenario of this run"),
                (["growth", "spawn_local"], "growth: goes alone"),
                (["instructions", "growth"], "goes alone"),
                (["--compare", "x", "growth"], "--compare: not with growth"),
                (["--huge-dir", "/proc"], "--huge-dir: not on hugetlbfs: "
                 "'/proc'"),
                (["--huge-dir", "/not/there"], "--huge-dir: not on hugetlbfs"),
                (["--page"], "--page: only with instructions"),
                (["--page", "--peers", "timers"], "--page: only with"),
                (["instructions", "--svg", "x"], "--svg: not with"),
                (["instructions", "--peers"], "--peers: not with instructions"),
                (["instructions", "--reps", "9"], "--reps: not with"),
                (["instructions", "--patience", "0"], "--patience: not with"),
                (["instructions", "--huge-dir", "x"], "--huge-dir: not with"),
                (["growth", "--seconds", "2"], "--seconds: not with growth"),
                (["growth", "--peers"], "--peers: not with growth"),
                (["growth", "--page"], "--page: not with growth"),
                (["scaling", "growth"], "scaling: goes alone"),
                (["scaling", "--seconds", "2"], "--seconds: not with scaling"),
                (["scaling", "--page"], "--page: only with"),
                (["scaling", "--reps", "2"], "--reps: must be a whole number, 3 "
                 "to 9999, not '2'"),
                (["--nothing"], "--nothing")):
            status, out, errors = tool("--check", *args)
            equal((status, out, len(errors)), (2, "", 1))
            check(errors[0].startswith("tools/bench: ") and part in errors[0],
                  f"'{errors[0]}' does not say '{part}'")


def files_are_where_the_caller_is():
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/report.json", "w", encoding="ascii") as f:
            f.write("{")
        done = subprocess.run(
            [os.path.abspath("tools/bench"), "--compare", "report.json"],
            cwd=folder, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, check=False)
    equal(done.returncode, 2)
    check("report.json: not JSON" in done.stderr, done.stderr)
    args = bench.make_parser().parse_args(
        ["--json", "a", "--svg", "b", "--huge-dir", "c"])
    equal([args.json, args.svg, args.huge_dir],
          [os.path.abspath(name) for name in "abc"])


def good_command_lines_pass():
    for args in ([], ["forward_null"], ["spawn_local", "--peers"],
                 ["forward_matrix"], ["forward_queues"], ["growth"],
                 ["instructions", "--page"], ["--page", "--peers"],
                 ["scaling", "--peers", "--page", "--reps", "3"],
                 ["--reps", "7", "--svg", "x"]):
        equal(tool("--check", *args), (0, "", []))


def a_scenario_has_one_goal_beside_peers():
    for name, scenario in bench.SCENARIOS.items():
        goals = [peer.name for peer in scenario.peers if peer.goal is not None]
        check(len(goals) <= 1, f"{name} has goals for {goals}")


def names_stand_for_scenarios():
    equal(bench.scenario_names("spawn_local"), ["spawn_local_1",
                                                "spawn_local_2"])
    equal(bench.scenario_names("forward_null"), ["forward_null"])
    matrix = bench.scenario_names("forward_matrix")
    wanted = {f"forward_{p}_{m}_b{b}_w{w}" for p, m, b, w in itertools.product(
        ("null", "ring"), ("io", "macswap"), (1, 4, 32, 256), (1, 2))}
    equal(set(matrix), wanted | {f"forward_queues_{n}" for n in (1, 8, 64)}
          | {"forward_ring_full", "counters_short_turns"})
    equal(bench.scenario_names("forward_balance"), [
        "forward_even", "forward_uneven", "one_queue_short", "one_queue_long",
        "one_queue_ordered"])
    by_default = bench.parse_arguments([]).scenarios
    check("forward_null" in by_default and "idle_fd" in by_default
          and not set(matrix) & set(by_default), "not what runs by default")


def the_list_has_all():
    status, out, errors = tool("--list")
    equal((status, errors), (0, []))
    equal([line.split()[0] for line in out.splitlines()],
          [*bench.SCENARIOS, *bench.OTHERS])


def the_list_need_not_be_read():
    with subprocess.Popen(
            [sys.executable, "-B", "tests/bench/main.py", "--list"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        equal(process.stderr.read(), "")


def a_file_that_cannot_be_written_is_known_first():
    try:
        report.writable("/not/there/report.json")
    except OSError as error:
        check("/not/there/report.json" in str(error), str(error))
    else:
        check(False, "it can be written")
    with tempfile.TemporaryDirectory() as folder:
        report.writable(f"{folder}/report.json")
        equal(os.listdir(folder), [])


# Programs

WEIR_OUTPUT = """\
port 0 statistics
  RX-packets: 100          RX-missed: 0          RX-errors: 0
  Rx-pps:            {}
  Tx-pps:            7
port 1 statistics
  Rx-pps:            {}
"""
TESTPMD_OUTPUT = """
  ######################## NIC statistics for port 0  ########################
  RX-packets: 10 RX-missed: 0          RX-bytes:  2
  Throughput (since last show)
  Rx-pps:     {}          Rx-bps:  5
  ######################## NIC statistics for port 1  ########################
  Rx-pps:     {}          Rx-bps:  6
"""


def rates_are_read_of_both_programs():
    for output in (WEIR_OUTPUT, TESTPMD_OUTPUT):
        text = output.format(0, 0) + output.format(10, 20)
        equal(forward.received(text, 2), [0, 30])
        equal(forward.received(text, 3), [])
        equal(forward.received("", 2), [])
        rates = forward.rates_when(2, 1)
        equal(rates(output.format(0, 0)), None)
        equal(rates(text), [30])


def a_second_that_is_not_whole_does_not_count():
    half = WEIR_OUTPUT.format(10, 20).partition("port 1")[0]
    equal(forward.received(WEIR_OUTPUT.format(1, 2) + half, 2), [3])


def both_programs_get_the_same_traffic():
    traffic = forward.Traffic(("net_ring0", "net_ring1"), "macswap", 4, 2, 3, 64)
    for program in ("weir", forward.TESTPMD):
        has_traffic(forward.options(traffic, program))
    check("--tx-first" not in forward.options(
        forward.Traffic(("net_null0", "net_null1")), "weir"),
          "null ports need no start")
    more = traffic._replace(first=8)
    options = forward.options(more, "weir")
    equal(options[options.index("--tx-first-bursts") + 1], "8")
    check(forward.options(more, forward.TESTPMD)[-1] == "-i",
          "no prompt to say it at")
    equal(forward.options(more, forward.FLOOR), ["8"])
    equal(forward.options(traffic, forward.EVENT_DSW), [])


def all_have_the_same_work():
    for steps, schedule in itertools.product((100, 1000), ("atomic", "ordered")):
        options = one_queue.options(steps, schedule, "weir")
        equal(options[options.index("--work") + 1], str(steps))
        equal(options[options.index("--schedule") + 1], schedule)
        for program in (one_queue.ONE_LCORE, forward.EVENT_DSW):
            equal(one_queue.options(steps, schedule, program), [str(steps)])


def packets_of_one_queue_are_of_many_flows():
    with tempfile.TemporaryDirectory() as folder:
        one_queue.write_packets(f"{folder}/in")
        packets = read_pcap(f"{folder}/in")
    equal({len(p) for p in packets}, {64})
    equal((len(packets), len({p[26:38] for p in packets})),
          (one_queue.PACKETS, one_queue.FLOWS))


def idle_ports_come_last():
    equal(forward.null_ports(3, 2), ("net_null0", "net_null1",
                                     "net_null2,no-rx=1"))


def has_traffic(options):
    for name, value in (("--forward-mode", "macswap"), ("--burst", "4"),
                        ("--nb-cores", "2"), ("--rxq", "3"), ("--txq", "3"),
                        ("--rxd", "64"), ("--txd", "64")):
        equal(options[options.index(name) + 1], value)
    check("--tx-first" in options, "nothing is put in")


def lcores_share_two_cpus():
    setup = Setup(FakeMachine((3, 5)), 1, None, frozenset())
    for workers, lcores in ((1, "0@3,1@5"), (2, "0@3,1@5,2@3"),
                            (4, "0@3,1@5,2@3,3@5,4@3")):
        eal = sched_scenarios.eal_arguments(setup, workers)
        equal(eal[eal.index("--lcores") + 1], lcores)
        if workers < 3:
            eal = forward.eal_arguments(setup, workers=workers)
            equal(eal[eal.index("--lcores") + 1], lcores)


def cpus_of_other_cores_come_first():
    cores = {0: "a", 1: "a", 2: "b", 3: "b", 4: "b"}
    equal(machine.by_core([0, 1, 2, 3, 4], cores.get), (0, 2, 1, 3, 4))
    equal(machine.by_core([3, 5], lambda cpu: cpu), (3, 5))
    equal(machine.core_of(10 ** 9), 10 ** 9)
    check(machine.core_of(MACHINE.cpus[0]), "no core")


def each_worker_has_a_cpu_where_there_are_as_many():
    setup = Setup(FakeMachine((2, 4, 6, 8)), 1, None, frozenset())
    for workers, lcores, cpus in ((1, "0@2,1@4", "4"),
                                  (2, "0@2,1@4,2@6", "4,6"),
                                  (4, "0@2,1@4,2@6,3@8,4@2", "2,4,6,8")):
        eal = sched_scenarios.eal_arguments(setup, workers)
        equal(eal[eal.index("--lcores") + 1], lcores)
        argv = sched_scenarios.command(setup, "tokio", "spawn_local", workers)
        equal(argv[:3], ["taskset", "-c", cpus])


def peers_with_one_worker_have_the_cpu_of_weirs():
    setup = Setup(FakeMachine((3, 5)), 1, None, frozenset())
    for program, scenario, workers, cpus in (
            ("floor", "timers", 1, "5"), ("floor", "cross_wake", 2, "3,5"),
            ("tokio", "spawn_local", 1, "5"), ("go", "spawn_local", 2, "3,5"),
            # The thread that spawns is another.
            ("tbb", "spawn_remote", 1, "3,5")):
        argv = sched_scenarios.command(setup, program, scenario, workers)
        equal(argv[:3], ["taskset", "-c", cpus])
    for scenario in ("timers", "timer_reset"):
        argv = sched_scenarios.command(setup, "rte_timer", scenario, 1)
        equal(argv[-2:], ["--", scenario])


def memory_is_measured_on_pages_that_are_counted():
    """Resident memory has no hugepages in it."""
    setup = Setup(FakeMachine((0, 1)), 1, "/huge", frozenset())
    for scenario, huge in (("memory", False), ("spawn_local", True)):
        argv = sched_scenarios.command(setup, "weir", scenario, 2)
        equal(("--huge-dir" in argv, "--no-huge" in argv), (huge, not huge))


def shell(script):
    setup = Setup(MACHINE, 1, None, frozenset())
    return sched_scenarios.sample(setup, "peer", "scenario",
                                  ["sh", "-c", script])


def figures_of_a_program_are_its_sample():
    sample = shell("echo figures 1.5000 20.0000; exit 0")
    equal((sample.value, sample.more), (1.5, (20.0,)))


def programs_that_fail_are_failures():
    expect_failure("status 3: no runtime", shell, "echo no runtime >&2; exit 3")
    expect_failure("peer, scenario", shell, "echo figures 1.0000; exit 3")
    expect_failure("status 0", shell, "echo figures x")


@contextlib.contextmanager
def changed(module, **values):
    """A module with other values of these names."""
    kept = {name: getattr(module, name) for name in values}
    for name, value in values.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(module, name, value)


def write_program(path, script):
    with open(path, "w", encoding="ascii") as f:
        f.write(f"#!/bin/sh\n{script}\n")
    os.chmod(path, 0o700)
    return path


def each_sample_has_a_file_of_its_own():
    at_first = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            os.mkdir("build-peers")
            path = write_program("build-peers/peer",
                                 '[ "$0" != build-peers/peer ] && '
                                 '[ "$*" = "word 2" ] && echo figures 1.5000')
            setup = Setup(MACHINE, 1, None, frozenset())
            sample = sched_scenarios.sample(setup, "peer", "scenario", [
                "env", "X=1", path, "word", "2"])
            equal(sample.value, 1.5)
            equal(os.listdir("build-peers"), ["peer"])
        finally:
            os.chdir(at_first)


def programs_that_do_not_end_are_failures():
    with changed(sched_scenarios, START_SECONDS=0.1):
        expect_failure("sh does not end", shell,
                       "echo figures 1.0000; exec sleep 60")
    setup = Setup(FakeMachine((0, 1)), 1, None, frozenset())
    with tempfile.TemporaryDirectory() as folder:
        program = write_program(
            f"{folder}/forwards", "echo received 2.00 Mpps, without 1.00 Mpps\n"
            "exec sleep 60")
        with changed(overhead, PROGRAM=program, START_SECONDS=0.1):
            expect_failure("forwards does not end",
                           overhead.SCENARIOS["counters"].measure, setup,
                           "weir")


def a_run_has_both_of_a_forwarder_and_itself():
    setup = Setup(FakeMachine((0, 1)), 1, None, frozenset())
    measure = overhead.SCENARIOS["counters"].measure
    with tempfile.TemporaryDirectory() as folder:
        runs = f"{folder}/runs"
        program = write_program(
            f"{folder}/forwards", f"echo run >>{runs}\nn=$(wc -l <{runs})\n"
            "echo received 2.0$n Mpps, without 1.0$n Mpps")
        with changed(overhead, PROGRAM=program):
            equal([measure(setup, name).value for name in
                   ("weir", "plain", "plain", "weir", "weir", "plain")],
                  [2.01, 1.01, 1.02, 2.02, 2.03, 1.03])


def a_program_that_receives_nothing_is_a_failure():
    setup = Setup(FakeMachine((0, 1)), 2, None, frozenset())
    with tempfile.TemporaryDirectory() as folder:
        program = write_program(
            f"{folder}/floor_ring", "trap 'exit 0' INT\nfor pps in 7 0 0; do\n"
            "echo port 0 Rx-pps: $pps\necho port 1 Rx-pps: $pps\ndone\n"
            "while :; do sleep 0.05; done")
        with changed(forward, FLOOR_RING=program):
            expect_failure("floor_ring receives nothing",
                           forward.SCENARIOS["forward_ring"].measure, setup,
                           forward.FLOOR)


def programs_of_their_own_are_samples_and_failures():
    setup = Setup(FakeMachine((0, 1)), 1, None, frozenset())
    with tempfile.TemporaryDirectory() as folder:
        for module, name, line, wanted in (
                (park, "park_wake_poll", "wakes 9, p50 1.50 us, p99 20.00 us",
                 (1.5, (20.0,))),
                (fiber, "fiber_pair", "turns 9, 1.50 ns each", (1.5, ()))):
            scenario = module.SCENARIOS[name]
            equal(len(scenario.more), len(wanted[1]))
            with changed(module, PROGRAM=f"{folder}/{name}"):
                for status in (0, 3):
                    write_program(module.PROGRAM,
                                  f"echo {line}\nexit {status}")
                    if status:
                        expect_failure("weir, ", scenario.measure, setup,
                                       "weir")
                        continue
                    sample = scenario.measure(setup, "weir")
                    equal((sample.value, sample.more), wanted)


# Peers

SOURCES = {"tokio": "tokio/main.rs", "smol": "smol/main.rs", "go": "go/main.go",
           "tbb": "tbb.cpp"}


def peers_know_their_scenarios():
    for name, scenario in sched_scenarios.SCENARIOS.items():
        for peer in scenario.peers:
            if peer.name not in SOURCES:
                continue
            with open(f"tests/bench/peers/{SOURCES[peer.name]}",
                      encoding="utf-8") as f:
                check(f'"{name.rpartition("_")[0]}"' in f.read(),
                      f"{peer.name} does not know {name}")


def a_peer_that_cannot_be_had_is_left_out():
    def attempt(argv):
        return "no luck" if argv[-1] == "go" else None
    said = []
    kept, peers.attempt = peers.attempt, attempt
    try:
        equal(peers.prepare(["go", "tbb"], said.append), frozenset(["tbb"]))
    finally:
        peers.attempt = kept
    equal(said, ["note: no peer go: no luck"])
    equal(peers.attempt(["sh", "-c", "echo first; echo why; exit 1"]), "why")
    equal(peers.attempt(["true"]), None)
    equal(peers.attempt([peers.BUILD, "nobody"]),
          "tests/bench/peers/build: no peer 'nobody'")


def peers_of_rust_need_their_allocator():
    listed = subprocess.run(["/sbin/ldconfig", "-p"], stdout=subprocess.PIPE, text=True,
                            check=True).stdout.split()
    found = [word for word in listed
             if word.startswith("/") and word.endswith(sched_scenarios.JEMALLOC)]
    hidden = ["unshare", "--mount", "sh", "-ec",
              'for f; do mount --bind /dev/null "$f"; done', "sh", *found]
    build = [peers.BUILD, "smol"]
    if found:
        if peers.attempt(hidden):
            raise Skip("cannot hide libjemalloc.so.2: needs root")
        hidden[4] += f"\nexec {' '.join(build)}"
        build = hidden
    equal(peers.attempt(build),
          "tests/bench/peers/build: smol: libjemalloc.so.2 is missing")


# Growth

def sizes_without_memory_are_left_out():
    field = growth.FIELDS[0]
    few, many = growth.split_by_memory(field, 1 << 30)
    equal((few, many), (field.sizes, []))
    few, many = growth.split_by_memory(
        field, growth.memory_mb(field, 1000) + growth.SPARE_MB)
    check(1000 in few and 10000000 in many, f"{few}, {many}")
    equal(few + many, field.sizes)
    equal(growth.split_by_memory(field, 0), ([], field.sizes))
    check(growth.available_mb() > 0, "no memory")


def growth_is_measured_by_curve():
    field = growth.Field("made", "up", "ns", [1, 2], [
        growth.Curve("a", "one", 0), growth.Curve("b", "one", 1),
        growth.Curve("c", "two", 0)])
    samples = {"one": Sample(1.0, 0.0, (2.0,)), "two": Sample(3.0, 0.0)}
    equal([growth.value_of(samples, c) for c in field.curves], [1.0, 2.0, 3.0])
    setup = Setup(FakeMachine((0, 1)), 1, None, frozenset())
    equal(growth.command(setup, field, "one", 5)[-3:], ["one", "1", "5"])
    equal(growth.command(setup, field._replace(by_workers=True), "one", 5)[-2:],
          ["one", "5"])


def growth_says_what_was_disturbed():
    field = growth.Field("made", "up", "ns", [1],
                         [growth.Curve("a", "one", 0)])
    taken = iter([0.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    lines = []

    def say(line=""):
        lines.append(line)
    kept, growth.sample = growth.sample, lambda *_: {
        "one": Sample(5.0, next(taken))}
    try:
        setup = Setup(QuietMachine(), 1, None, frozenset())
        args = argparse.Namespace(reps=3, patience=1)
        equal(growth.run_field(setup, field, args, say)[1]["a"]["median"], 5.0)
    finally:
        growth.sample = kept
    equal(list(taken), [])
    equal(lines[-1], "note: 1 rounds count although others used our CPUs")
    check(not any("note" in line for line in lines[:-1]), lines)


def growth_is_drawn():
    origin = report_of()["setup"]
    fields = {f.name: {size: {c.label: {"median": float(size)}
                              for c in f.curves} for size in f.sizes}
              for f in growth.FIELDS}
    svg = check_picture(growth.draw(origin, fields))
    equal(len(svg.findall(f"{SVG}polyline")),
          sum(len(f.curves) for f in growth.FIELDS))
    # What there was no memory for is no chart.
    svg = check_picture(growth.draw(origin, {**fields, "tasks": {}}))
    equal(len(svg.findall(f"{SVG}polyline")),
          sum(len(f.curves) for f in growth.FIELDS[1:]))
    # One size.
    check_picture(chart.fields("one", [("a", "ns", {"b": [(1, 10.0)]})]))


def lines_are_around_all_values():
    equal(chart.levels(3.0, 40.0), [2, 5, 10, 20, 50])
    equal(chart.levels(20.0, 20.0), [20, 50])
    equal(chart.levels(99.0, 101.0), [50, 100, 200])
    equal(chart.levels(1.0, 1000.0)[::3], [1, 10, 100, 1000])


# Instructions

def setting_up_drops_out_of_the_difference():
    equal(costs.per_operation(1000 + 50 * 10, 1000 + 50 * 20, 10), 50.0)
    expect_failure("counts 5", costs.per_operation, 5, 5, 10)


def the_page_keeps_the_budgets():
    page = costs.on_page(costs.read_page())
    equal(list(page), [m.name for m in costs.MECHANISMS])
    for m in costs.MECHANISMS:
        budget, now = page[m.name]
        equal((m.name, budget), (m.name, m.budget))
        check(0 < now <= budget, f"{m.name}: {now} of {budget} instructions")
    # So the rest of the table is what would be written.
    values = {name: now for name, (_, now) in page.items()}
    equal(costs.with_figures(costs.read_page(), values), costs.read_page())


def the_page_is_written_anew():
    values = {m.name: 10.0 * i for i, m in enumerate(costs.MECHANISMS)}
    text = costs.with_figures("a\n\n| x |\n|---|\n| `old` | 1 |\n\nb\n", values)
    equal({name: now for name, (_, now) in costs.on_page(text).items()}, values)
    check(text.startswith("a\n") and text.endswith("|\n\nb\n")
          and "old" not in text, "the rest has changed")
    expect_failure("has no table", costs.with_figures, "a\n", values)


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def cells(text, *begin):
    """The cells of a table's row behind those that it begins with."""
    found = [line for line in text.splitlines()
             if line.startswith(page.row(*begin).rstrip("|"))]
    equal((begin, len(found)), (begin, 1))
    return found[0].strip("| ").split(" | ")[len(begin):]


def the_page_of_figures_has_every_scenario():
    text = read(page.PAGE)
    missing = [name for name in bench.ungrouped() if f"| `{name}` |" not in text]
    equal(missing, [])


def readme_has_the_figures_of_that_page():
    text, readme = read(page.PAGE), read(page.README)
    for name, label in page.IN_README.items():
        weir, best, ratios = cells(readme, label)
        value, unit = weir.split(" ", 1)
        of_weir, of_peers, _ = cells(text, f"`{name}`", unit)
        equal(of_weir.partition(" ")[0], value)
        check(best in of_peers.split(", "), f"{best} is not in: {of_peers}")
        ratio, least, most, *_ = cells(text, f"`{name}`", best.split(" ")[0])
        equal(ratios, f"{ratio} ({least} to {most})")


def need_valgrind():
    if shutil.which("valgrind") is None:
        raise Skip("valgrind is not installed")


def instructions_are_the_same_each_time():
    need_valgrind()
    equal(costs.count(PROGRAM, "yield", 1280),
          costs.count(PROGRAM, "yield", 1280))


def every_mechanism_is_counted():
    need_valgrind()
    for m in costs.MECHANISMS:
        check(costs.count(PROGRAM, m.name, 128) > 0, f"{m.name} takes nothing")


def a_program_that_fails_under_valgrind_is_named():
    need_valgrind()
    expect_failure("nothing under valgrind: status 2", costs.count, PROGRAM,
                   "nothing", 128)
    expect_failure("yield under valgrind: status 2", costs.count, PROGRAM,
                   "yield", 100)


def too_many_instructions_fail():
    args = argparse.Namespace(page=False, json=None)
    counted = costs.measure
    try:
        for more, status in ((0.0, 0), (0.5, 1)):
            costs.measure = lambda _p, name: more + next(
                m.budget for m in costs.MECHANISMS if m.name == name)
            lines = []
            equal(costs.run(args, lines.append), status)
            equal(sum("TOO MANY" in line for line in lines),
                  status * len(costs.MECHANISMS))
    finally:
        costs.measure = counted


if __name__ == "__main__":
    run_all([
        mistakes_are_named,
        files_are_where_the_caller_is,
        good_command_lines_pass,
        a_scenario_has_one_goal_beside_peers,
        names_stand_for_scenarios,
        the_list_has_all,
        the_list_need_not_be_read,
        a_file_that_cannot_be_written_is_known_first,
        rates_are_read_of_both_programs,
        a_second_that_is_not_whole_does_not_count,
        both_programs_get_the_same_traffic,
        all_have_the_same_work,
        packets_of_one_queue_are_of_many_flows,
        idle_ports_come_last,
        lcores_share_two_cpus,
        cpus_of_other_cores_come_first,
        each_worker_has_a_cpu_where_there_are_as_many,
        peers_with_one_worker_have_the_cpu_of_weirs,
        memory_is_measured_on_pages_that_are_counted,
        figures_of_a_program_are_its_sample,
        programs_that_fail_are_failures,
        each_sample_has_a_file_of_its_own,
        programs_that_do_not_end_are_failures,
        a_run_has_both_of_a_forwarder_and_itself,
        a_program_that_receives_nothing_is_a_failure,
        programs_of_their_own_are_samples_and_failures,
        peers_know_their_scenarios,
        a_peer_that_cannot_be_had_is_left_out,
        peers_of_rust_need_their_allocator,
        sizes_without_memory_are_left_out,
        growth_is_measured_by_curve,
        growth_says_what_was_disturbed,
        growth_is_drawn,
        lines_are_around_all_values,
        setting_up_drops_out_of_the_difference,
        the_page_keeps_the_budgets,
        the_page_is_written_anew,
        the_page_of_figures_has_every_scenario,
        readme_has_the_figures_of_that_page,
        instructions_are_the_same_each_time,
        every_mechanism_is_counted,
        a_program_that_fails_under_valgrind_is_named,
        too_many_instructions_fail,
    ])
