# SPDX-License-Identifier: BSD-3-Clause
"""A run of everything as a page of the documentation: the machine, the chart, and
tables of what each program came to and of the goals."""

import os
import re

import rounds
import table
from machine import Failure
from report import UNKNOWN
from scenario import FLOOR

PAGE = "doc/guides/figures.md"
CHART = "doc/guides/figures.svg"
README = "README.md"
FILES = (PAGE, CHART, README)
# What stands in README's table for whom.
IN_README = {
    "forward_null": "forward, 2 x net_null, io",
    "forward_ring": "forward, 2 x net_ring, io",
    "spawn_join_1": "spawn a task and await it",
    "spawn_local_2": "spawn 10,000 tasks and await them, two lcores",
    "ping_pong_chan_1": "a round trip through two channels",
    "cross_wake_2": "two tasks on two lcores wake each other",
    "mpsc_2": "a value through a channel, from one lcore to another",
    "timers_1": "100,000 sleeping tasks, busy time for each",
}

TEXT = """\
# Figures

Written by

```sh
{command}
```

[benchmarks.md](benchmarks.md) says what is measured, and how. Times depend on the
machine and on who else uses it: what counts are ratios, which are those of
neighbours in time.

| | |
|---|---|
{setup}

![The ratio to the best peer of each scenario, with its goal]({chart})

## Each program

Medians; of Weir also the least and the greatest sample. `floor` is no peer but a
bound: what the machine takes for a scenario's memory and atomics without a runtime. It
is in brackets where Weir was better: there it bounds nothing.

| scenario | unit | Weir | peers | floor |
|---|---|---|---|---|
{values}

## Beside its peers

How many times as good as a peer Weir was, the median of the pairs, with the least and
the greatest; the best peer of each scenario, and the one that the goal is about.

| scenario | peer | ratio | from | to | goal | |
|---|---|---|---|---|---|---|
{ratios}

## Asked of Weir alone

| scenario | Weir | goal | floor | |
|---|---|---|---|---|
{limits}
"""


def row(*cells):
    return f"| {' | '.join(cells)} |"


def number(value):
    """With one digit or two behind the point, where those say something."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{1 if value >= 10 else 2}f}"


def spread_of(of):
    return (f"{number(of['median'])} ({number(of['min'])} to "
            f"{number(of['max'])})")


def setup_rows(setup, those):
    """Where the figures of some results are from, and what disturbed them."""
    taken = sum(len(r["programs"]["weir"]["samples"]) for r in those)
    disturbed = sum(r["rounds_disturbed"] for r in those)
    versions = ", ".join(f"{name} {version}" for name, version
                         in setup["versions"].items())
    yield row("CPUs", f"{setup['cpu_count']}, {setup['cpu']}")
    yield row("memory", f"{setup['memory_total']}, {setup['memory']}")
    yield row("kernel", setup["kernel"])
    yield row("versions", versions)
    yield row("commit", f"{setup['commit']}, {setup['date'][:10]}")
    yield row("samples", f"{setup['reps']} of each program; others used the CPUs "
              f"in {disturbed} of the {taken} rounds that count")


def floor_cell(scenario, unit, programs):
    if FLOOR not in programs:
        return "-"
    weir, floor = programs["weir"]["median"], programs[FLOOR]["median"]
    beaten = table.is_better(scenario, unit, weir, floor)
    return f"({number(floor)})" if beaten else number(floor)


def value_row(name, scenario, unit, programs, show):
    """programs: {name: what show() makes a cell of}."""
    peers = ", ".join(f"{p} {number(of['median'])}" for p, of in programs.items()
                      if p not in ("weir", FLOOR))
    return row(f"`{name}`", unit, show(programs["weir"]), peers or "-",
               floor_cell(scenario, unit, programs))


def value_rows(name, scenario, result):
    programs = result["programs"]
    yield value_row(name, scenario, scenario.unit, programs, spread_of)
    if scenario.cost:
        cost = scenario.cost[0]
        yield value_row(name, scenario, cost,
                        {p: {"median": of[cost]} for p, of in programs.items()},
                        lambda of: number(of["median"]))
    for unit in programs["weir"]["more"]:
        yield value_row(name, scenario, unit,
                        {p: of["more"][unit] for p, of in programs.items()
                         if unit in of["more"]}, spread_of)


def missed(beyond, share):
    # Not rounded: what is missed is not 100 %.
    return "beyond the floor" if beyond else f"{int(100 * share)} % of it"


def verdict(scenario, result, r):
    if r["goal"] is None:
        return ""
    if r["median"] >= r["goal"]:
        return "reached"
    return missed(table.beyond_floor(scenario, result), r["median"] / r["goal"])


def ratio_rows(name, scenario, result):
    for peer, r in result["ratios"].items():
        if peer == FLOOR or (r["goal"] is None and peer != result["best_peer"]):
            continue
        goal = "-" if r["goal"] is None else f"{r['goal']:.2f}"
        yield row(f"`{name}`", peer, f"{r['median']:.2f}", f"{r['min']:.2f}",
                  f"{r['max']:.2f}", goal, verdict(scenario, result, r))


def limit_rows(name, scenario, result):
    floors = dict(table.floors(scenario, result))
    for unit, limit, value, reached in rounds.limits_of(scenario, result):
        least, beyond = floors.get(unit, (None, False))
        share = (value / limit if scenario.higher_is_better
                 else limit / value)
        yield row(f"`{name}`", f"{number(value)} {unit}", number(limit),
                  "-" if least is None else number(least),
                  "reached" if reached else missed(beyond, share))


def text(report, scenarios, command):
    """The page of a report; scenarios: by name, those that were run and others."""
    def lines(of):
        return "\n".join(line for name, result in report["scenarios"].items()
                         for line in of(name, scenarios[name], result))
    return TEXT.format(command=command, chart=os.path.basename(CHART),
                       setup="\n".join(setup_rows(
                           report["setup"], report["scenarios"].values())),
                       values=lines(value_rows), ratios=lines(ratio_rows),
                       limits=lines(limit_rows))


def readme_row(name, result):
    weir, best = result["programs"]["weir"], result["best_peer"]
    peer, r = result["programs"][best], result["ratios"][best]
    return row(IN_README[name], f"{number(weir['median'])} {result['unit']}",
               f"{best} {number(peer['median'])}",
               f"{r['median']:.2f} ({r['min']:.2f} to {r['max']:.2f})")


def with_one(readme, pattern, new, what):
    """README.md with new in the place of the one part that is such."""
    readme, n = re.subn(pattern, lambda _: new, readme, flags=re.MULTILINE)
    if n != 1:
        raise Failure(f"{README}: has no {what}")
    return readme


def with_figures(readme, report):
    """README.md with a report's figures."""
    readme = with_one(readme, r"\bmedians of \d+ samples\b",
                      f"medians of {report['setup']['reps']} samples",
                      "'medians of N samples'")
    for name, label in IN_README.items():
        readme = with_one(readme, rf"^\| {re.escape(label)} \|.*$",
                          readme_row(name, report["scenarios"][name]),
                          f"row '{label}'")
    return readme


def check_built(built, wanted):
    if set(built) != set(wanted):
        raise Failure("--page: wants every peer, and some are left out")


def check_commit(commit):
    """A page names the commit that whoever doubts it can measure again."""
    if commit == UNKNOWN:
        raise Failure("--page: git does not say which commit this is")
    if commit.endswith("-dirty"):
        raise Failure(f"--page: {commit}: commit what has changed first")


def write(report, scenarios, command, write_text):
    """The page, its chart, and what README.md has of it."""
    with open(README, encoding="utf-8") as f:
        readme = with_figures(f.read(), report)
    write_text(PAGE, text(report, scenarios, command))
    write_text(CHART, table.draw(report))
    write_text(README, readme)
