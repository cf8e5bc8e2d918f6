# SPDX-License-Identifier: BSD-3-Clause
"""What is printed of a scenario, and drawn of all."""

import chart
import rounds
from scenario import FLOOR

ROW = "{:29}{:>3}  {:14}{:>10}{:>8}  {:8}{:>8}{:>7}{:>15}"


def percent(share):
    return f"{100 * share:.1f}%"


def goal_of(result):
    """What a scenario asks for of Weir beside its best peer, whichever of them
    that is today; None: nothing."""
    return next((r["goal"] for r in result["ratios"].values()
                 if r["goal"] is not None), None)


def ratio_cells(result, program):
    """Weir's ratio to a peer and the goal; of Weir itself, to the best one."""
    is_weir = program == "weir"
    r = result["ratios"].get(result["best_peer"] if is_weir else program)
    if r is None:
        return ["", ""]
    goal = goal_of(result) if is_weir else r["goal"]
    return [f"{r['median']:.3f}", "-" if goal is None else f"{goal:.2f}"]


def rows(name, scenario, result):
    """The table: a row for each program, and for each further figure."""
    cost = scenario.cost[0] if scenario.cost else None
    yield ROW.format("scenario", "w", "program", "median", "spread", "unit",
                     "ratio", "goal", cost or "").rstrip()
    for program, of in result["programs"].items():
        # By the star one finds the best.
        mark = "*" if program == result["best_peer"] else ""
        yield ROW.format(name, scenario.workers, program + mark,
                         f"{of['median']:.2f}", percent(of["spread"]),
                         scenario.unit, *ratio_cells(result, program),
                         f"{of[cost]:.2f}" if cost else "").rstrip()
        for unit, more in of["more"].items():
            yield ROW.format("", "", program, f"{more['median']:.2f}",
                             percent(more["spread"]), unit, "", "",
                             "").rstrip()


def needed(scenario, result):
    """What Weir's value would be with its goal reached, or None."""
    goal, best = goal_of(result), result["best_peer"]
    if goal is None or best is None:
        return scenario.limit
    best = result["programs"][best]["median"]
    return best * goal if scenario.higher_is_better else best / goal


def asked(scenario, result):
    """{unit: the value that a goal asks for} of Weir, the scenario's own first."""
    value = needed(scenario, result)
    own = {} if value is None else {scenario.unit: value}
    return {**own, **{f.unit: f.limit for f in scenario.more
                      if f.limit is not None}}


def is_better(scenario, unit, value, than):
    more_is_better = scenario.higher_is_better and unit == scenario.unit
    return value > than if more_is_better else value < than


def floors(scenario, result):
    """(unit, (the floor's value, is the goal beyond it?)) of those with a goal. A
    floor that Weir is beyond itself is no bound."""
    floor, weir = result["programs"].get(FLOOR), result["programs"]["weir"]
    if floor is None:
        return
    values = {scenario.unit: (floor, weir),
              **{unit: (of, weir["more"][unit])
                 for unit, of in floor["more"].items()}}
    for unit, value in asked(scenario, result).items():
        if unit not in values:
            continue
        least, reached = (of["median"] for of in values[unit])
        if not is_better(scenario, unit, reached, least):
            yield unit, (least, is_better(scenario, unit, value, least))


def beyond_floor(scenario, result):
    """Is the goal of the first value beyond what the machine gives without a
    runtime?"""
    return dict(floors(scenario, result)).get(scenario.unit, (0, False))[1]


def floor_lines(name, scenario, result):
    """Whether the goals can be reached on this machine at all."""
    values = asked(scenario, result)
    for unit, (least, beyond) in floors(scenario, result):
        yield (f"{name}: the goal asks for {values[unit]:.2f} {unit}, without a "
               f"runtime it is {least:.2f}: "
               f"{'out of reach' if beyond else 'within reach'}")


def verdict_of(r):
    if not r["ok"]:
        return "TOO LOW"
    if r["goal"] is None:
        return "no goal"
    return "ok" if r["median"] >= r["goal"] else "below the goal"


def notes(name, scenario, result):
    """The lines below the table: goals, and what disturbed the run."""
    for unit, limit, value, reached in rounds.limits_of(scenario, result):
        yield (f"{name}: weir {value:.2f} {unit}; goal {limit:g}: "
               f"{'ok' if reached else 'not reached'}")
    for peer, r in result["ratios"].items():
        if peer == FLOOR:
            continue
        required = ("nothing required" if r["required"] is None else
                    f"required {r['required']:.2f}")
        goal = "" if r["goal"] is None else f" goal {r['goal']:.2f},"
        yield (f"{name}: weir/{peer} {r['median']:.3f} ({r['min']:.3f} to "
               f"{r['max']:.3f});{goal} {required}: {verdict_of(r)}")
    yield from floor_lines(name, scenario, result)
    if result["rounds_dropped"]:
        yield (f"note: {result['rounds_dropped']} rounds dropped: others used "
               "our CPUs")
    yield from rounds.disturbed_notes(result["rounds_disturbed"])


def chart_row(name, result):
    weir, best = result["programs"]["weir"], result["best_peer"]
    if best is None:
        return name, None, None, f"{weir['median']:.2f} {result['unit']}"
    r = result["ratios"][best]
    return (name, r["median"], goal_of(result),
            f"{r['median']:.2f} of {best}; spread {percent(r['spread'])}")


def draw(report):
    """The chart of a report: bars, one row a scenario."""
    setup = report["setup"]
    return chart.bars(f"Weir {setup['commit']}, {setup['date'][:10]}",
                      [chart_row(name, result)
                       for name, result in report["scenarios"].items()])


def change_lines(changes):
    """What came of a comparison with an older report."""
    for c in changes:
        yield (f"{c.scenario}: weir/{c.peer} {c.old:.3f} before, "
               f"{c.new:.3f} now ({100 * (c.new / c.old - 1):+.1f}%, noise "
               f"{percent(c.noise)}): {'WORSE' if c.worse else 'ok'}")
