# SPDX-License-Identifier: BSD-3-Clause
"""tools/bench: what it makes of samples, and of reports of older runs. Nothing is
timed here; the figures are made up."""

import argparse
import contextlib
import io
import os
import random
import tempfile

from weirtest import check, seed
from benchtest import (MACHINE, SVG, QuietMachine, check_picture, equal,
                       expect_failure, near, report_of, run_all)

import chart
import figures
import machine
import main as bench
import page
import report
import rounds
import scaling
import table
from machine import FOREIGN_LIMIT
from scenario import FLOOR, Figure, Peer, Sample, Scenario, Setup


class NoWait(rounds.Patience):
    """Is patient, though nothing takes time."""

    def __init__(self, seconds=1):
        super().__init__(MACHINE, seconds, None)

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


def run(scenario, reps=7, built=frozenset(), patience=1):
    return rounds.run(scenario, Setup(MACHINE, 1, None, built), reps,
                      NoWait(patience))


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
    near(figures.noise(calm, wild),
         figures.NOISE_FACTOR * figures.spread(wild))
    near(figures.noise(wild, wild),
         figures.NOISE_FACTOR * 2 ** 0.5 * figures.spread(wild))


def what_is_the_same_seldom_looks_worse():
    rng = random.Random(seed())

    def samples():
        return [rng.gauss(1, 0.03) for _ in range(7)]
    worse = sum(figures.change("s", "p", samples(), samples()).worse
                for _ in range(2000))
    # About 4; the bound is one that no seed in a lifetime reaches.
    check(worse <= 25, f"{worse} of 2000")


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


def the_floor_is_not_compared():
    old = report_of(a={"p": [1.0], FLOOR: [1.0]}, b={FLOOR: [1.0]})
    new = report_of(a={"p": [1.0], FLOOR: [0.5]}, b={FLOOR: [0.5]})
    equal([(c.scenario, c.peer) for c in figures.changes(old, new)],
          [("a", "p")])


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


def run_tool(folder, scenarios, *options):
    """Status, output and report of a run with scenarios of ours."""
    path = os.path.join(folder, "now.json")
    kept = bench.SCENARIOS, bench.Machine
    bench.SCENARIOS, bench.Machine = scenarios, QuietMachine
    try:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            status = bench.run_scenarios(bench.parse_arguments(
                [*scenarios, "--json", path, *options]))
    finally:
        bench.SCENARIOS, bench.Machine = kept
    return status, out.getvalue(), report.read(path)


def a_whole_run_is_kept_drawn_and_compared():
    def both(value):
        return {"fast": made_up([value] * 7, [4.0] * 7),
                "alone": made_up([value] * 7, [], peers=[])}

    with tempfile.TemporaryDirectory() as folder:
        old = os.path.join(folder, "old.json")
        svg = os.path.join(folder, "now.svg")
        status, out, first = run_tool(folder, both(1.0), "--svg", svg)
        equal(status, 0)
        equal(first["scenarios"]["fast"]["ratios"]["peer"]["median"], 4.0)
        equal(first["setup"]["reps"], 7)
        with open(svg, encoding="utf-8") as f:
            check_picture(f.read())
        check("4.000" in out, "no ratio in the table")
        report.write(old, first)
        for value, status in ((1.0, 0), (0.5, 0), (1.1, 1)):
            got, out, _ = run_tool(folder, both(value), "--compare", old)
            equal(got, status)
            check("note: not compared" in out and "alone" in out,
                  "it is not said what was not compared")
            equal("WORSE" in out, bool(status))
        # What is required fails a run on its own.
        got, _, _ = run_tool(folder, {"fast": made_up(
            [1.0] * 7, [4.0] * 7, peers=[Peer("peer", 5.0, None)])})
        equal(got, 1)


# Rounds

def patience_ends():
    class Busy:
        """A machine that is never quiet, and takes ten seconds to say so."""
        asked = []

        def wait_quiet(self, seconds):
            self.asked.append(seconds)
            return 10

    said = []
    patience = rounds.Patience(Busy(), 15, said.append)
    for _ in range(4):
        patience.wait()
    equal(Busy.asked, [15, 5])
    equal(len(said), 1)
    check("after 15 s" in said[0], said[0])


class MadeUpClock:
    """A clock on which nothing takes time but sleep()."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def waited_for_quiet(shares, seconds):
    """What wait_quiet() gives, and how long it takes, when others use so much of
    a CPU in one window after another."""
    left, clock = iter(shares), MadeUpClock()

    class Window:
        def __init__(self, _cpus):
            self._foreign = next(left)

        def foreign(self):
            return self._foreign
    kept = machine.Account, machine.time
    machine.Account, machine.time = Window, clock
    try:
        # No Machine(): that would bind this program to a CPU.
        given = machine.Machine.wait_quiet(MACHINE, seconds)
    finally:
        machine.Account, machine.time = kept
    return given, clock.now - 100


def quiet_moments_use_no_patience_up():
    window = machine.QUIET_WINDOW
    equal(waited_for_quiet([0.0], 10), (0.0, window))
    equal(waited_for_quiet([1.0, FOREIGN_LIMIT], 10), (window, 2 * window))
    # Quiet at the last moment is quiet.
    equal(waited_for_quiet([1.0, 1.0, 0.0], 2 * window),
          (2 * window, 3 * window))
    equal(waited_for_quiet([1.0] * 9, 2 * window), (3 * window, 3 * window))


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
    # And not at all without patience.
    result = run(made_up([], [], measure=play({
        "weir": [Sample(9.0, 1.0)] * 7, "peer": [Sample(2.0, 0.0)] * 7})),
        patience=0)
    equal((result["rounds_dropped"], result["rounds_disturbed"]), (0, 7))


def peers_are_run_by_turns_if_they_are_there():
    order = []

    def measure(_setup, program):
        order.append(program)
        return Sample(1.0, 0.0)
    scenario = made_up([], [], measure=measure, peers=[
        Peer("always", None, None), Peer("built", None, None, built=True)])
    run(scenario, reps=3)
    equal(order, ["weir", "always", "always", "weir", "weir", "always"])
    order.clear()
    result = run(scenario, reps=4, built=frozenset(["built"]))
    equal(order, ["weir", "always", "built", "always", "built", "weir",
                  "built", "weir", "always", "weir", "always", "built"])
    # What is printed has its own order.
    result = run(made_up([], [], measure=play({
        "weir": [Sample(1.0, 1.0)] + [Sample(1.0, 0.0)] * 7,
        "peer": [Sample(2.0, 0.0)] * 8})))
    equal(list(result["programs"]), ["weir", "peer"])


def the_best_peer_depends_on_what_is_better():
    result = {"programs": {"weir": {"median": 1}, "a": {"median": 2},
                           "b": {"median": 3}}}
    equal(figures.best_peer(result, False), "a")
    equal(figures.best_peer(result, True), "b")
    equal(figures.best_peer({"programs": {"weir": {"median": 1}}}, True), None)


def the_floor_is_no_peer_and_says_whether_a_goal_can_be_reached():
    def lines(floor):
        scenario = made_up([], [], peers=[Peer("a", None, 2.0),
                                          Peer(FLOOR, None, None)],
                           measure=lambda _s, program: Sample(
                               {"weir": 3.0, "a": 4.0}.get(program, floor),
                               0.0))
        result = run(scenario)
        equal(result["best_peer"], "a")
        return list(table.notes("x", scenario, result))
    of_a, of_floor = lines(1.0)
    check("weir/a 1.333" in of_a, of_a)
    equal(of_floor, "x: the goal asks for 2.00 ns, without a runtime it is "
          "1.00: within reach")
    check(lines(2.5)[1].endswith("2.50: out of reach"), lines(2.5))


def the_floor_of_further_figures_is_that_of_their_limits():
    def measure(_setup, program):
        return Sample(1.0, 0.0, (5.0, 20.0) if program == FLOOR else
                      (5.0, 30.0))
    scenario = made_up([], [], peers=[Peer(FLOOR, None, None)],
                       measure=measure, more=(Figure("us p50", None),
                                              Figure("us p99", 10)))
    notes = list(table.notes("x", scenario, run(scenario)))
    equal(notes, ["x: weir 30.00 us p99; goal 10: not reached",
                  "x: the goal asks for 10.00 us p99, without a runtime it is "
                  "20.00: out of reach"])
    better = scenario._replace(measure=lambda _s, program: Sample(
        1.0, 0.0, (5.0, 20.0 if program == FLOOR else 5.0)))
    equal(list(table.notes("x", better, run(better))),
          ["x: weir 5.00 us p99; goal 10: ok"])


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


def the_goal_is_for_the_best_peer_whichever_it_is():
    def measured(best):
        scenario = made_up([], [], peers=[Peer("a", None, 1.5),
                                          Peer("b", None, None)],
                           measure=lambda _s, program: Sample(
                               {"weir": 1.0, best: 2.0}.get(program, 3.0), 0.0))
        result = run(scenario)
        weir = list(table.rows("made_up", scenario, result))[1].split()
        return result["best_peer"], weir[-2:], table.chart_row("x", result)[1:3]
    equal(measured("a"), ("a", ["2.000", "1.50"], (2.0, 1.5)))
    equal(measured("b"), ("b", ["2.000", "1.50"], (2.0, 1.5)))


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


SETUP = {"cpu": "a CPU", "cpu_count": 2, "memory_total": "1 kB",
         "memory": "no hugepages", "kernel": "6.1", "commit": "abc",
         "versions": {"weir": "0.1.0", "gcc": "12"}, "reps": 7,
         "date": "2026-01-02T03:04:05Z"}


def reported(scenarios):
    return {"setup": SETUP,
            "scenarios": {name: run(s) for name, s in scenarios.items()}}


def expect_lines(text, *lines):
    for line in lines:
        check(line in text.splitlines(), f"no line '{line}' in:\n{text}")


def a_page_has_machine_values_ratios_and_limits():
    floor = Peer(FLOOR, None, None)

    def beside(peer, of_floor, **changed):
        return made_up([], [], peers=[Peer("peer", None, 2.0), floor],
                       measure=lambda _s, program: Sample(
                           {"weir": 1234.0, "peer": peer, FLOOR: of_floor}[program],
                           0.0), **changed)
    scenarios = {
        "fast": beside(2468.0, 1.5), "slow": beside(1234.0, 12.25),
        "never": beside(1234.0, 1000.0),
        "alone": made_up([], [], peers=[floor], limit=0.5, unit="share",
                         higher_is_better=True, cost=("cycles", lambda *_: 3.0),
                         more=(Figure("us p99", 10),),
                         measure=lambda *_: Sample(0.25, 1.0, (20.0,))),
        "beyond": made_up([], [], peers=[floor], more=(Figure("us p99", 10),),
                          measure=lambda _s, program: Sample(
                              1.0, 0.0, (5.0 + 7 * (program == FLOOR),)))}
    text = page.text(reported(scenarios), scenarios, "tools/bench made-up")
    expect_lines(
        text, "tools/bench made-up", "| CPUs | 2, a CPU |",
        "| versions | weir 0.1.0, gcc 12 |", "| commit | abc, 2026-01-02 |",
        "| samples | 7 of each program; others used the CPUs in 7 of the 35 "
        "rounds that count |",
        "| `fast` | ns | 1,234 (1,234 to 1,234) | peer 2,468 | 1.50 |",
        "| `slow` | ns | 1,234 (1,234 to 1,234) | peer 1,234 | 12.2 |",
        "| `alone` | share | 0.25 (0.25 to 0.25) | - | 0.25 |",
        "| `alone` | cycles | 3.00 | - | 3.00 |",
        "| `alone` | us p99 | 20.0 (20.0 to 20.0) | - | 20.0 |",
        # What Weir is better than is no bound.
        "| `beyond` | us p99 | 5.00 (5.00 to 5.00) | - | (12.0) |",
        "| `beyond` | 5.00 us p99 | 10.0 | - | reached |",
        "| `fast` | peer | 2.00 | 2.00 | 2.00 | 2.00 | reached |",
        "| `slow` | peer | 1.00 | 1.00 | 1.00 | 2.00 | 50 % of it |",
        "| `never` | peer | 1.00 | 1.00 | 1.00 | 2.00 | beyond the floor |",
        "| `alone` | 0.25 share | 0.50 | 0.25 | beyond the floor |",
        "| `alone` | 20.0 us p99 | 10.0 | 20.0 | beyond the floor |")


def numbers_of_workers_end_with_all_cpus():
    for nb_cpus, wanted in ((1, [1]), (2, [1, 2]), (6, [1, 2, 4, 6]),
                            (16, [1, 2, 4, 8, 16])):
        equal(scaling.widths(nb_cpus), wanted)


def scenarios_have_any_number_of_workers():
    for name in scaling.NAMES:
        scenario = scaling.scenario_of(name, 16)
        equal((scenario.workers, scenario.limit), (16, None))
        check(scenario.peers and all(
            peer.goal is None and peer.name != FLOOR
            for peer in scenario.peers), f"{name} beside {scenario.peers}")


def scaling_is_a_table_and_a_chart_by_workers():
    def measured(peer, *, alone=False):
        return {workers: run(made_up(
            [], [], workers=workers, unit="ns/task",
            peers=[] if alone else [Peer("peer", None, None)],
            measure=lambda _s, program, value=10.0 / workers: Sample(
                value if program == "weir" else peer, 0.0)))
                for workers in (1, 4)}
    now = {"setup": SETUP, "widths": [1, 4], "scaling": {
        "spawn_local": measured(5.0), "yield_many": measured(5.0, alone=True)}}
    expect_lines(
        scaling.text(now, "tools/bench made-up"), "tools/bench made-up",
        "| CPUs | 2, a CPU |", "## spawn_local",
        "A task spawns 10,000 tasks and awaits each; ns/task.",
        "| workers | Weir | peer | ratio |", "|---|---|---|---|",
        "| 1 | 10.0 (10.0 to 10.0) | 5.00 | 0.50 of peer |",
        "| 4 | 2.50 (2.50 to 2.50) | 5.00 | 2.00 of peer |",
        "| workers | Weir | ratio |", "| 4 | 2.50 (2.50 to 2.50) | - |")
    svg = check_picture(scaling.draw(now))
    equal(len(svg.findall(f"{SVG}polyline")), 3)
    check("The run ended before it had all of `spawn_join`, `chained_spawn`, "
          "`ping_pong_chan`, `fan_out_steal`." in scaling.text(now, ""),
          "nothing is missing")
    whole = {**now, "scaling": {name: measured(5.0) for name in scaling.NAMES}}
    check("ended before" not in scaling.text(whole, ""), "something is missing")
    # It ended inside its last scenario.
    del whole["scaling"][scaling.NAMES[-1]][4]
    check("before it had all of `fan_out_steal`." in scaling.text(whole, ""),
          "nothing is missing")


def readme_gets_its_rows_from_a_report():
    now = reported({name: made_up([2.0] * 7, [4.0] * 7)
                    for name in page.IN_README})
    now["setup"] = {**SETUP, "reps": 21}
    rows = [f"| {label} | old |" for label in page.IN_README.values()]
    text = page.with_figures(
        "\n".join(["a medians of 7 samples, b", *rows, "c"]), now)
    expect_lines(text, "a medians of 21 samples, b", "c", *(
        f"| {label} | 2.00 ns | peer 4.00 | 2.00 (2.00 to 2.00) |"
        for label in page.IN_README.values()))
    check("old" not in text, text)
    expect_failure("has no row", page.with_figures, "medians of 7 samples", now)
    expect_failure("has no 'medians of", page.with_figures, "\n".join(rows), now)


def a_page_goes_with_its_chart_and_readme():
    scenarios = {name: made_up([2.0] * 7, [4.0] * 7) for name in page.IN_README}
    written = {}
    page.write(reported(scenarios), scenarios, "tools/bench made-up",
               written.__setitem__)
    equal(set(written), set(page.FILES))
    check_picture(written[page.CHART])
    check(f"({os.path.basename(page.CHART)})" in written[page.PAGE], "no chart")


def expect_no_page(part, built, commit):
    kept = bench.peers.prepare, bench.Machine, report.origin
    bench.peers.prepare = lambda _names, _say: frozenset(built)
    bench.Machine = QuietMachine
    report.origin = lambda: {**SETUP, "commit": commit}
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            expect_failure(part, bench.run_scenarios,
                           bench.parse_arguments(["--page", "--peers"]))
    finally:
        bench.peers.prepare, bench.Machine, report.origin = kept


def a_page_wants_every_peer():
    expect_no_page("--page: wants every peer", [], "abc")


def a_page_wants_a_commit():
    expect_no_page("--page: abc-dirty: commit", bench.BUILT_PEERS, "abc-dirty")
    expect_no_page("--page: git does not say which commit this is",
                   bench.BUILT_PEERS, report.UNKNOWN)


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
    equal(origin["build"], report.build_options())


def builds_that_are_not_for_measuring_are_refused():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "options.json")
        kept, report.BUILD_OPTIONS = report.BUILD_OPTIONS, path
        try:
            equal(report.build_options(), {})
            expect_failure("not set up", bench.check_build, {})
            for name, value in ((None, None), ("optimization", "3"),
                                ("optimization", "0"), ("b_pgo", "use"),
                                ("c_args", ["-march=native"]), ("b_lto", True),
                                ("asserts", True)):
                options = {"prefix": "/usr", **report.MEASURING}
                options.update({name: value} if name else {})
                report.write(path, [{"name": n, "value": v}
                                    for n, v in options.items()])
                if name is None:
                    bench.check_build(report.build_options())
                    continue
                expect_failure(f"{name}={value}", bench.check_build,
                               report.build_options())
        finally:
            report.BUILD_OPTIONS = kept


if __name__ == "__main__":
    run_all([
        spread_is_between_the_quartiles,
        ratios_are_of_neighbours_and_more_is_better,
        noise_comes_from_both_spreads,
        what_is_the_same_seldom_looks_worse,
        worse_is_beyond_the_noise,
        only_what_both_reports_have_is_compared,
        the_floor_is_not_compared,
        a_comparison_of_nothing_fails,
        a_comparison_says_what_got_worse,
        a_whole_run_is_kept_drawn_and_compared,
        patience_ends,
        quiet_moments_use_no_patience_up,
        undisturbed_rounds_count_first,
        disturbed_rounds_are_taken_again,
        peers_are_run_by_turns_if_they_are_there,
        the_best_peer_depends_on_what_is_better,
        the_floor_is_no_peer_and_says_whether_a_goal_can_be_reached,
        the_floor_of_further_figures_is_that_of_their_limits,
        a_ratio_below_what_is_required_is_not_ok,
        rows_have_ratio_and_goal,
        the_goal_is_for_the_best_peer_whichever_it_is,
        rows_without_a_peer_have_no_ratio,
        a_page_has_machine_values_ratios_and_limits,
        numbers_of_workers_end_with_all_cpus,
        scenarios_have_any_number_of_workers,
        scaling_is_a_table_and_a_chart_by_workers,
        readme_gets_its_rows_from_a_report,
        a_page_goes_with_its_chart_and_readme,
        a_page_wants_every_peer,
        a_page_wants_a_commit,
        bars_are_well_formed,
        a_report_is_drawn_with_a_row_for_each_scenario,
        reports_survive_the_file,
        damaged_reports_are_refused,
        a_report_says_where_it_comes_from,
        builds_that_are_not_for_measuring_are_refused,
    ])
