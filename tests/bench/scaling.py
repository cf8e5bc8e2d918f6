# SPDX-License-Identifier: BSD-3-Clause
"""Scenarios of the scheduler by the number of workers, each of which has a CPU of its
own, beside the peers: tools/bench scaling."""

import functools
import os

import chart
import page
import peers
import report
import rounds
import sched_scenarios
import table
from machine import Machine
from scenario import FLOOR, Setup

PAGE = "doc/guides/scaling.md"
CHART = "doc/guides/scaling.svg"
FILES = (PAGE, CHART)
# What one task alone does is to cost the same beside idle workers; of the rest each
# worker is to have its share.
NAMES = ("spawn_join", "chained_spawn", "spawn_local", "yield_many",
         "ping_pong_chan", "fan_out_steal")

TEXT = """\
# Scaling

Written by

```sh
{command}
```

[benchmarks.md](benchmarks.md) says, under Scaling, what is measured, and how. Each
worker, or thread, has a CPU of its own.

| | |
|---|---|
{setup}

![What each scenario costs by the number of workers, and with the best peer]({chart})

Medians; of Weir also the least and the greatest sample. The ratio says how many times
as good as the best peer it was, the median of the pairs.{missing}

{scenarios}"""


def widths(nb_cpus):
    """Numbers of workers: powers of two, and all CPUs at last."""
    found = [1]
    while found[-1] * 2 <= nb_cpus:
        found.append(found[-1] * 2)
    return found if found[-1] == nb_cpus else [*found, nb_cpus]


def scenario_of(name, workers):
    """With any number of workers, without goals: those are for one or two."""
    like = sched_scenarios.SCENARIOS[f"{name}_2"]
    return like._replace(
        workers=workers, limit=None,
        measure=functools.partial(sched_scenarios.measure, name, workers),
        peers=[peer._replace(goal=None) for peer in like.peers
               if peer.name != FLOOR])


def ratio_cell(result):
    best = result["best_peer"]
    return (f"{result['ratios'][best]['median']:.2f} of {best}" if best
            else "-")


def scenario_text(name, measured):
    """measured: {workers: result}."""
    first = next(iter(measured.values()))
    programs = [p for p in first["programs"] if p != "weir"]
    rows = [page.row("workers", "Weir", *programs, "ratio"),
            page.row(*["---"] * (len(programs) + 3)).replace(" ", "")]
    for workers, result in measured.items():
        medians = [page.number(result["programs"][p]["median"])
                   for p in programs]
        rows.append(page.row(str(workers),
                             page.spread_of(result["programs"]["weir"]),
                             *medians, ratio_cell(result)))
    about = sched_scenarios.SCENARIOS[f"{name}_2"].about
    return "\n".join([f"## {name}", "", f"{about[0].upper()}{about[1:]}; "
                      f"{first['unit']}.", "", *rows, ""])


def missing_text(now):
    """What an interrupted run has not come to, or not to the end of."""
    missing = [f"`{name}`" for name in NAMES
               if list(now["scaling"].get(name, ())) != now["widths"]]
    return (f" The run ended before it had all of {', '.join(missing)}."
            if missing else "")


def text(now, command):
    """The page of a report; now["scaling"]: {name: {workers: result}}, with
    now["widths"] for workers if it is whole."""
    each = [result for measured in now["scaling"].values()
            for result in measured.values()]
    return TEXT.format(
        command=command, chart=os.path.basename(CHART),
        missing=missing_text(now),
        setup="\n".join(page.setup_rows(now["setup"], each)),
        scenarios="\n".join(scenario_text(name, measured)
                            for name, measured in now["scaling"].items()))


def series(measured):
    """What is drawn of a scenario: {label: [(workers, value), ...]}."""
    def median(result, program):
        return result["programs"][program]["median"]

    drawn = {"Weir": [(w, median(r, "weir")) for w, r in measured.items()]}
    best = [(w, median(r, r["best_peer"])) for w, r in measured.items()
            if r["best_peer"]]
    return {**drawn, "best peer": best} if best else drawn


def draw(now):
    origin = now["setup"]
    return chart.fields(
        f"Scaling, Weir {origin['commit']}, {origin['date'][:10]}",
        [(f"{name}: by workers", next(iter(measured.values()))["unit"],
          series(measured)) for name, measured in now["scaling"].items()])


def command_of(args):
    return (f"tools/bench scaling --peers --page --reps {args.reps} "
            f"--patience {args.patience}"
            + (f" --huge-dir {args.huge_dir}" if args.huge_dir else ""))


def measure(name, workers, setup, args, say):
    scenario = scenario_of(name, workers)
    result = rounds.run(scenario, setup, args.reps, rounds.Patience(
        setup.machine, args.patience, say))
    say()
    for line in table.rows(f"{name}_{workers}", scenario, result):
        say(line)
    return result


def write(args, now):
    """All that was asked for, of what has been measured."""
    if args.json:
        report.write(args.json, now)
    if args.svg:
        report.write_text(args.svg, draw(now))
    if args.page:
        report.write_text(PAGE, text(now, command_of(args)))
        report.write_text(CHART, draw(now))


def run(args, say):
    """scenarios of the scheduler with one worker up to one on each CPU"""
    machine = Machine(most=None)
    wanted = sorted({peer.name for name in NAMES
                     for peer in scenario_of(name, 2).peers})
    built = peers.prepare(wanted, say) if args.peers else frozenset()
    setup = Setup(machine, args.seconds, args.huge_dir, built)
    origin = {**report.origin(), "reps": args.reps,
              "memory": args.huge_dir or "no hugepages"}
    if args.page:
        page.check_built(built, wanted)
        page.check_commit(origin["commit"])
    say(f"{origin['cpu']}; up to {len(machine.cpus)} workers; {args.reps} rounds")
    now = {"setup": origin, "widths": widths(len(machine.cpus)), "scaling": {}}
    for name in NAMES:
        now["scaling"][name] = {}
        for workers in now["widths"]:
            now["scaling"][name][workers] = measure(name, workers, setup, args, say)
            # Each time: a run takes long, and may not come to its end.
            write(args, now)
    return 0
