# SPDX-License-Identifier: BSD-3-Clause
"""tools/bench: what it makes of samples, files and command lines. Nothing is
timed here; figures are made up, or instructions."""

import argparse
import collections
import contextlib
import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

from weirtest import Skip, Tap, check

ROOT = os.path.normpath(os.path.join(os.path.dirname(
    os.path.abspath(__file__)), "..", ".."))
PROGRAM = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))

import chart  # noqa: E402
import costs  # noqa: E402
import figures  # noqa: E402
import forward  # noqa: E402
import growth  # noqa: E402
import main as bench  # noqa: E402
import report  # noqa: E402
import rounds  # noqa: E402
import sched_scenarios  # noqa: E402
import table  # noqa: E402
from machine import FOREIGN_LIMIT, Failure  # noqa: E402
from scenario import Figure, Peer, Sample, Scenario, Setup  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
FakeMachine = collections.namedtuple("FakeMachine", "cpus")
MACHINE = FakeMachine(sorted(os.sched_getaffinity(0))[:1])


def equal(got, wanted):
    check(got == wanted, f"{got!r}, not {wanted!r}")


def near(got, wanted):
    check(abs(got - wanted) < 1e-9, f"{got!r}, not {wanted!r}")


def expect_failure(part, function, *args):
    try:
        function(*args)
    except Failure as failure:
        check(part in str(failure), f"'{failure}' does not say '{part}'")
        check("\n" not in str(failure), f"'{failure}' is not one line")
    else:
        check(False, f"no failure; expected '{part}'")


class NoWait:
    """Patience that never waits."""

    def wait(self):
        pass


def play(samples):
    """A measure() that gives these: {program: [sample, ...]}."""
    left = {program: iter(those) for program, those in samples.items()}
    return lambda _setup, program: next(left[program])


def made_up(weir, peer, **changed):
    """A scenario with one peer, and such values for both."""
    fields = {"about": "made up", "workers": 1, "unit": "ns",
              "higher_is_better": False,
              "measure": play({"weir": [Sample(v, 0.0) for v in weir],
                               "peer": [Sample(v, 0.0) for v in peer]}),
              "peers": [Peer("peer", None, 2.0)], **changed}
    return Scenario(**fields)


def run(scenario, reps=7, built=frozenset()):
    return rounds.run(scenario, Setup(MACHINE, 1, None, built), reps, NoWait())


def report_of(**scenarios):
    """A report with these: {name: {peer: samples of the ratio}}."""
    return {"setup": {"commit": "abc", "date": "2026-01-02T03:04:05Z"},
            "scenarios": {name: {"ratios": {
                peer: {"samples": samples} for peer, samples in peers.items()}}
                for name, peers in scenarios.items()}}


# Samples

def spread_is_between_the_quartiles():
    near(figures.spread([1, 2, 3, 4, 5]), 2 / 3)
    equal(figures.spread([4, 4, 4]), 0.0)
    equal(figures.spread([4]), 0.0)
    equal(figures.spread([0, 0]), 0.0)
    of = figures.summary([3, 1, 2])
    equal((of["median"], of["min"], of["max"], of["samples"]),
          (2, 1, 3, [3, 1, 2]))


def ratios_are_of_neighbours_and_more_is_better():
    equal(figures.ratios([1, 2], [2, 2], False), [2.0, 1.0])
    equal(figures.ratios([1, 2], [2, 2], True), [0.5, 1.0])


def noise_comes_from_both_spreads():
    calm, wild = [1.0] * 7, [0.9, 0.9, 0.9, 1.0, 1.1, 1.1, 1.1]
    equal(figures.noise(calm, calm), figures.LEAST_NOISE)
    near(figures.noise(calm, wild), figures.spread(wild))
    near(figures.noise(wild, wild), 2 ** 0.5 * figures.spread(wild))


def worse_is_beyond_the_noise():
    calm, wild = [1.0] * 7, [0.9, 0.9, 0.9, 1.0, 1.1, 1.1, 1.1]
    for new, old, worse in (([0.98] * 7, calm, True), ([0.995] * 7, calm, False),
                            ([0.98] * 7, wild, False), ([2.0] * 7, calm, False),
                            ([0.5] * 7, wild, True)):
        got = figures.change("s", "p", old, new)
        equal(got.worse, worse)
        equal((got.old, got.new), (1.0, new[0]))


def only_what_both_reports_have_is_compared():
    old = report_of(a={"p": [1.0], "q": [1.0]}, b={"p": [1.0]})
    new = report_of(a={"p": [0.5], "r": [0.5]}, c={"p": [0.5]})
    equal([(c.scenario, c.peer, c.worse) for c in figures.changes(old, new)],
          [("a", "p", True)])


def a_comparison_of_nothing_fails():
    args = argparse.Namespace(compare=report_of(a={"p": [1.0]}),
                              compare_file="old.json")
    expect_failure("--compare old.json", bench.compare, args,
                   report_of(b={"p": [1.0]}))


def a_comparison_says_what_got_worse():
    args = argparse.Namespace(compare=report_of(a={"p": [1.0] * 7}),
                              compare_file="old.json")
    for now, worse in ((0.9, True), (1.0, False), (1.2, False)):
        new = report_of(a={"p": [now] * 7})
        with contextlib.redirect_stdout(open(os.devnull, "w")) as null, null:
            equal(bench.compare(args, new), worse)
        lines = list(table.change_lines(figures.changes(args.compare, new)))
        equal(len(lines), 1)
        check(lines[0].endswith("WORSE" if worse else "ok"), lines[0])


# Rounds

def undisturbed_rounds_count_first():
    def round_with(foreign):
        return {"weir": Sample(1, foreign), "peer": Sample(1, 0.0)}
    busy, quiet = round_with(10 * FOREIGN_LIMIT), round_with(FOREIGN_LIMIT / 2)
    busier = round_with(20 * FOREIGN_LIMIT)
    equal(rounds.choose([busy, quiet, quiet], 2), [quiet, quiet])
    equal(rounds.choose([busier, busy, quiet], 2), [quiet, busy])


def disturbed_rounds_are_taken_again():
    busy = [Sample(9.0, 1.0)] * 3
    result = run(made_up([], [], measure=play({
        "weir": busy + [Sample(1.0, 0.0)] * 7, "peer": [Sample(2.0, 0.0)] * 10})))
    equal(result["rounds_dropped"], 3)
    equal(result["rounds_disturbed"], 0)
    equal(result["programs"]["weir"]["median"], 1.0)
    # But not for ever.
    result = run(made_up([], [], measure=play({
        "weir": [Sample(9.0, 1.0)] * 14, "peer": [Sample(2.0, 0.0)] * 14})))
    equal((result["rounds_dropped"], result["rounds_disturbed"]), (7, 7))


def peers_are_run_by_turns_if_they_are_there():
    order = []

    def measure(_setup, program):
        order.append(program)
        return Sample(1.0, 0.0)
    scenario = made_up([], [], measure=measure, peers=[
        Peer("always", None, None), Peer("built", None, None, built=True)])
    run(scenario)
    equal(order, ["weir", "always"] * 7)
    order.clear()
    run(scenario, built=frozenset(["built"]))
    equal(order, ["weir", "always", "built"] * 7)


def the_best_peer_depends_on_what_is_better():
    result = {"programs": {"weir": {"median": 1}, "a": {"median": 2},
                           "b": {"median": 3}}}
    equal(figures.best_peer(result, False), "a")
    equal(figures.best_peer(result, True), "b")
    equal(figures.best_peer({"programs": {"weir": {"median": 1}}}, True), None)


def a_ratio_below_what_is_required_is_not_ok():
    for required, ok in ((1.9, True), (2.1, False), (None, True)):
        result = run(made_up([1.0] * 7, [2.0] * 7,
                             peers=[Peer("peer", required, None)]))
        equal(result["ratios"]["peer"]["ok"], ok)


# What is printed, kept and drawn

def rows_have_ratio_and_goal():
    scenario = made_up([1.0] * 7, [2.5] * 7)
    result = run(scenario)
    head, weir, peer = list(table.rows("made_up", scenario, result))
    equal(head.split(), ["scenario", "w", "program", "median", "spread", "unit",
                         "ratio", "goal"])
    equal(weir.split(), ["made_up", "1", "weir", "1.00", "0.0%", "ns", "2.500",
                         "2.00"])
    equal(peer.split(), ["made_up", "1", "peer*", "2.50", "0.0%", "ns", "2.500",
                         "2.00"])
    note, = table.notes("made_up", scenario, result)
    check(note.endswith("goal 2.00, nothing required: ok"), note)


def rows_without_a_peer_have_no_ratio():
    scenario = made_up([1.0] * 7, [], peers=[], limit=0.5,
                       more=(Figure("us p99", 10), Figure("us p50", None)),
                       measure=play({"weir": [Sample(1.0, 0.0, (3.0, 4.0))] * 7}))
    result = run(scenario)
    rows = list(table.rows("made_up", scenario, result))
    equal(rows[1].split()[-1], "ns")
    equal([row.split() for row in rows[2:]],
          [["weir", "3.00", "0.0%", "us", "p99"],
           ["weir", "4.00", "0.0%", "us", "p50"]])
    equal([note.rpartition(": ")[2] for note in
           table.notes("made_up", scenario, result)], ["not reached", "ok"])
    equal(table.chart_row("made_up", result)[1:3], (None, None))


def check_picture(text):
    """It is XML, without anything from elsewhere, and suits both schemes."""
    for part in ("href", "url(", "@import", "@font-face", "<script"):
        check(part not in text, f"the picture has {part}")
    check("prefers-color-scheme: dark" in text, "it knows no dark page")
    return xml.fromstring(text)


def bars_are_well_formed():
    svg = check_picture(chart.bars("a <title> & more", [
        ("fast", 3.0, 2.0, "3.00 of peer"), ("slow", 0.4, 0.9, "0.40"),
        ("<alone>", None, None, "12 ns"), ("no goal", 1.0, None, "&")]))
    equal(len(svg.findall(f"{SVG}rect")), 3)
    equal(len([line for line in svg.findall(f"{SVG}line")
               if line.get("class") == "goal"]), 2)
    words = [t.text for t in svg.findall(f"{SVG}text")]
    for name in ("a <title> & more", "fast", "slow", "<alone>", "12 ns", "&"):
        check(name in words, f"no '{name}'")
    width = float(svg.get("width"))
    for rect in svg.findall(f"{SVG}rect"):
        check(0 <= float(rect.get("x")) and float(rect.get("x"))
              + float(rect.get("width")) <= width, "a bar leaves the picture")
    check_picture(chart.bars("nothing", []))
    check_picture(chart.bars("alone", [("x", None, None, "")]))


def a_report_is_drawn_with_a_row_for_each_scenario():
    results = {"one": run(made_up([1.0] * 7, [2.0] * 7)),
               "two": run(made_up([1.0] * 7, [], peers=[]))}
    svg = check_picture(table.draw({**report_of(), "scenarios": results}))
    words = [t.text for t in svg.findall(f"{SVG}text")]
    check("one" in words and "two" in words, "a scenario is missing")
    equal(len(svg.findall(f"{SVG}rect")), 1)


def reports_survive_the_file():
    now = {**report_of(), "scenarios": {
        "one": run(made_up([1.0, 1.1, 1.2], [2.0, 2.1, 2.2], ), reps=3)}}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        report.writable(path)
        report.write(path, now)
        report.writable(path)
        again = report.read(path)
    equal(again, now)
    equal([c.worse for c in figures.changes(again, now)], [False])


DAMAGED = {
    "": "not JSON", "{": "not JSON", '{"scenarios": ': "not JSON",
    "[" * 100000: "not JSON", "[]": "no scenarios", "{}": "no scenarios",
    '{"scenarios": []}': "no scenarios",
    '{"scenarios": {"a": 1}}': "'a' has no ratios",
    '{"scenarios": {"a": {}}}': "'a' has no ratios",
    '{"scenarios": {"a": {"ratios": []}}}': "'a' has no ratios",
    **{'{"scenarios": {"a": {"ratios": {"p": %s}}}}' % ratio:
       "'a' has no ratios" for ratio in (
           "1", "{}", '{"samples": 1}', '{"samples": []}', '{"samples": ["1"]}',
           '{"samples": [0]}', '{"samples": [-1]}', '{"samples": [NaN]}',
           '{"samples": [Infinity]}', '{"samples": [true]}')},
}


def damaged_reports_are_refused():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "old.json")
        for text, part in DAMAGED.items():
            report.write_text(path, text)
            expect_failure(part, report.read, path)
            expect_failure(path, report.read, path)
        with open(path, "wb") as f:
            f.write(b"\xff\xfe\x00")
        expect_failure("not JSON", report.read, path)
        expect_failure("No such file", report.read, path + ".not")
        expect_failure("directory", report.read, folder)


def a_report_says_where_it_comes_from():
    origin = report.origin()
    for key in ("date", "commit", "cpu", "memory_total", "kernel", "versions"):
        check(origin[key], f"no {key}")
    check(origin["versions"]["weir"], "no version")


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
                (["--compare", damaged.name], f"--compare {damaged.name}: not "
                 "JSON"),
                (["--compare", other.name, "forward_null"],
                 f"--compare {other.name}: has no scenario of this run"),
                (["growth", "spawn_local"], "growth: goes alone"),
                (["instructions", "growth"], "goes alone"),
                (["--compare", "x", "growth"], "--compare: not with growth"),
                (["--page"], "--page: only with instructions"),
                (["instructions", "--svg", "x"], "--svg: not with"),
                (["instructions", "--peers"], "--peers: not with instructions"),
                (["growth", "--peers"], "--peers: not with growth"),
                (["--nothing"], "--nothing")):
            status, out, errors = tool("--check", *args)
            equal((status, out, len(errors)), (2, "", 1))
            check(errors[0].startswith("tools/bench: ") and part in errors[0],
                  f"'{errors[0]}' does not say '{part}'")


def good_command_lines_pass():
    for args in ([], ["forward_null"], ["spawn_local", "--peers"],
                 ["forward_matrix"], ["forward_queues"], ["growth"],
                 ["instructions", "--page"], ["--reps", "7", "--svg", "x"]):
        equal(tool("--check", *args), (0, "", []))


def names_stand_for_scenarios():
    equal(bench.scenario_names("spawn_local"), ["spawn_local_1",
                                                "spawn_local_2"])
    equal(bench.scenario_names("forward_null"), ["forward_null"])
    matrix = bench.scenario_names("forward_matrix")
    wanted = {f"forward_{p}_{m}_b{b}_w{w}" for p, m, b, w in itertools.product(
        ("null", "ring"), ("io", "macswap"), (1, 4, 32, 256), (1, 2))}
    equal(set(matrix), wanted | {f"forward_queues_{n}" for n in (1, 8, 64)})
    by_default = bench.parse_arguments([]).scenarios
    check("forward_null" in by_default and "idle_fd" in by_default
          and not set(matrix) & set(by_default), "not what runs by default")


def the_list_has_all():
    status, out, errors = tool("--list")
    equal((status, errors), (0, []))
    equal([line.split()[0] for line in out.splitlines()],
          [*bench.SCENARIOS, *bench.OTHERS])


def a_file_that_cannot_be_written_is_known_first():
    try:
        report.writable("/not/there/report.json")
    except OSError as error:
        check("/not/there/report.json" in str(error), str(error))
    else:
        check(False, "it can be written")


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
        rates = forward.rates_when(forward.Traffic(("a", "b")), 1)
        equal(rates(output.format(0, 0)), None)
        equal(rates(text), [30])


def a_second_that_is_not_whole_does_not_count():
    half = WEIR_OUTPUT.format(10, 20).partition("port 1")[0]
    equal(forward.received(WEIR_OUTPUT.format(1, 2) + half, 2), [3])


def both_programs_get_the_same_traffic():
    traffic = forward.Traffic(("net_ring0", "net_ring1"), "macswap", 4, 2, 3, 64)
    options = forward.options(traffic)
    for name, value in (("--forward-mode", "macswap"), ("--burst", "4"),
                        ("--nb-cores", "2"), ("--rxq", "3"), ("--txq", "3"),
                        ("--rxd", "64"), ("--txd", "64")):
        equal(options[options.index(name) + 1], value)
    check("--tx-first" in options, "nothing is put in")
    check("--tx-first" not in forward.options(
        forward.Traffic(("net_null0", "net_null1"))), "null ports need no start")


def lcores_share_two_cpus():
    setup = Setup(FakeMachine((3, 5)), 1, None, frozenset())
    for workers, lcores in ((1, "0@3,1@5"), (2, "0@3,1@5,2@3"),
                            (4, "0@3,1@5,2@3,3@5,4@3")):
        eal = sched_scenarios.eal_arguments(setup, workers)
        equal(eal[eal.index("--lcores") + 1], lcores)
        if workers < 3:
            eal = forward.eal_arguments(setup, workers=workers)
            equal(eal[eal.index("--lcores") + 1], lcores)


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
    # One size, of no cost.
    check_picture(chart.fields("one", [("a", "ns", {"b": [(1, 0.0)]})]))


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


def need_valgrind():
    if shutil.which("valgrind") is None:
        raise Skip("valgrind is not installed")


def instructions_are_the_same_each_time():
    need_valgrind()
    for mechanism in ("yield", "complete"):
        equal(costs.count(PROGRAM, mechanism, 1280),
              costs.count(PROGRAM, mechanism, 1280))


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


TESTS = [
    spread_is_between_the_quartiles,
    ratios_are_of_neighbours_and_more_is_better,
    noise_comes_from_both_spreads,
    worse_is_beyond_the_noise,
    only_what_both_reports_have_is_compared,
    a_comparison_of_nothing_fails,
    a_comparison_says_what_got_worse,
    undisturbed_rounds_count_first,
    disturbed_rounds_are_taken_again,
    peers_are_run_by_turns_if_they_are_there,
    the_best_peer_depends_on_what_is_better,
    a_ratio_below_what_is_required_is_not_ok,
    rows_have_ratio_and_goal,
    rows_without_a_peer_have_no_ratio,
    bars_are_well_formed,
    a_report_is_drawn_with_a_row_for_each_scenario,
    reports_survive_the_file,
    damaged_reports_are_refused,
    a_report_says_where_it_comes_from,
    mistakes_are_named,
    good_command_lines_pass,
    names_stand_for_scenarios,
    the_list_has_all,
    a_file_that_cannot_be_written_is_known_first,
    rates_are_read_of_both_programs,
    a_second_that_is_not_whole_does_not_count,
    both_programs_get_the_same_traffic,
    lcores_share_two_cpus,
    figures_of_a_program_are_its_sample,
    programs_that_fail_are_failures,
    sizes_without_memory_are_left_out,
    growth_is_measured_by_curve,
    growth_is_drawn,
    setting_up_drops_out_of_the_difference,
    the_page_keeps_the_budgets,
    the_page_is_written_anew,
    instructions_are_the_same_each_time,
    every_mechanism_is_counted,
    a_program_that_fails_under_valgrind_is_named,
    too_many_instructions_fail,
]


def main():
    os.chdir(ROOT)
    tap = Tap()
    for test in TESTS:
        tap.run(test.__name__.replace("_", " "), test)
    tap.finish()


if __name__ == "__main__":
    main()
