# SPDX-License-Identifier: BSD-3-Clause
"""Runs benchmarks: the larger half of tools/bench, which builds first.

Weir and its peers take turns, so that what a busy host does to one it does to
the others. Only ratios of neighbours in time are compared with a target.
"""

import argparse
import json
import os
import shutil
import signal
import statistics
import sys
import tempfile

import fiber
import forward
import park
import peers
import sched_scenarios
from machine import FOREIGN_LIMIT, Failure, Machine
from scenario import Setup

SCENARIOS = {**forward.SCENARIOS, **park.SCENARIOS,
             **sched_scenarios.SCENARIOS, **fiber.SCENARIOS}
LEAST_REPS = 7
# Rounds that are tried, for each that is wanted, before disturbed ones count.
ROUNDS_PER_REP = 2
# Longest that a scenario waits for quiet, all its waits together.
PATIENCE_SECONDS = 120
BUILT_PEERS = sorted({peer.name for scenario in SCENARIOS.values()
                      for peer in scenario.peers if peer.built})
ROW = "{:22}{:>4}  {:14}{:>10}{:>10}{:>10}  {:6}{:>14}"


def say(text=""):
    print(text, flush=True)


class Patience:
    """Waits for quiet moments, until it has waited for too long."""

    def __init__(self, machine, seconds):
        self._machine = machine
        self._seconds = seconds
        self._left = seconds

    def wait(self):
        if self._left <= 0:
            return
        self._left -= self._machine.wait_quiet(self._left)
        if self._left <= 0:
            say(f"note: still busy after {self._seconds} s of waiting; "
                "not waiting any longer")


def disturbed(samples):
    return any(s.foreign > FOREIGN_LIMIT for s in samples.values())


def peers_of(scenario, setup):
    return [peer for peer in scenario.peers
            if not peer.built or peer.name in setup.peers]


def take_rounds(scenario, setup, reps, patience):
    """Samples of every program by turns: {program: sample} for each round."""
    programs = ["weir", *(peer.name for peer in peers_of(scenario, setup))]
    rounds, quiet = [], 0
    while quiet < reps and len(rounds) < ROUNDS_PER_REP * reps:
        samples = {}
        for program in programs:
            patience.wait()
            samples[program] = scenario.measure(setup, program)
        rounds.append(samples)
        quiet += not disturbed(samples)
    return rounds


def choose(rounds, reps):
    """The first undisturbed rounds; for want of them the least disturbed."""
    def disturbance(samples):
        return max(FOREIGN_LIMIT, *(s.foreign for s in samples.values()))
    return sorted(rounds, key=disturbance)[:reps]


def summary(values):
    return {"median": statistics.median(values), "min": min(values),
            "max": max(values), "samples": values}


def compare(scenario, peer, rounds):
    """How many times as good as the peer Weir was, round by round."""
    ratios = [r["weir"].value / r[peer.name].value for r in rounds]
    if not scenario.higher_is_better:
        ratios = [1 / ratio for ratio in ratios]
    result = summary(ratios)
    return {**result, "required": peer.required, "goal": peer.goal,
            "ok": (peer.required is None
                   or result["median"] >= peer.required)}


def more_of(scenario, rounds, program):
    """The further figures of a program, by unit."""
    return {figure.unit: summary([r[program].more[i] for r in rounds])
            for i, figure in enumerate(scenario.more)}


def run_scenario(scenario, setup, reps, patience):
    taken = take_rounds(scenario, setup, reps, patience)
    rounds = choose(taken, reps)
    programs = {}
    for program in rounds[0]:
        programs[program] = summary([r[program].value for r in rounds])
        programs[program]["foreign"] = [r[program].foreign for r in rounds]
        programs[program]["more"] = more_of(scenario, rounds, program)
        if scenario.cost:
            name, function = scenario.cost
            programs[program][name] = function(setup,
                                               programs[program]["median"])
    return {
        "workers": scenario.workers, "unit": scenario.unit,
        "programs": programs,
        "ratios": {peer.name: compare(scenario, peer, rounds)
                   for peer in peers_of(scenario, setup)},
        "rounds_dropped": len(taken) - len(rounds),
        "rounds_disturbed": sum(map(disturbed, rounds)),
    }


def print_rows(name, scenario, result):
    cost = scenario.cost[0] if scenario.cost else None
    say(ROW.format("scenario", "w", "program", "median", "min", "max", "unit",
                   cost or "").rstrip())
    for program, figures in result["programs"].items():
        say(ROW.format(name, scenario.workers, program,
                       *(f"{figures[key]:.2f}"
                         for key in ("median", "min", "max")), scenario.unit,
                       f"{figures[cost]:.2f}" if cost else "").rstrip())
        for unit, more in figures["more"].items():
            say(ROW.format("", "", program, *(f"{more[key]:.2f}" for key in
                                              ("median", "min", "max")),
                           unit, "").rstrip())


def print_limit(name, unit, limit, value, reached):
    if limit is not None:
        say(f"{name}: weir {value:.2f} {unit}; goal {limit:g}: "
            f"{'ok' if reached else 'not reached'}")


def print_limits(name, scenario, weir):
    value = weir["median"]
    print_limit(name, scenario.unit, scenario.limit, value,
                scenario.limit is not None
                and (value >= scenario.limit if scenario.higher_is_better
                     else value <= scenario.limit))
    for figure in scenario.more:
        value = weir["more"][figure.unit]["median"]
        print_limit(name, figure.unit, figure.limit, value,
                    figure.limit is not None and value <= figure.limit)


def verdict_of(r):
    if not r["ok"]:
        return "TOO LOW"
    if r["goal"] is None:
        return "no goal"
    return "ok" if r["median"] >= r["goal"] else "below the goal"


def print_notes(name, result):
    for peer, r in result["ratios"].items():
        required = ("nothing required" if r["required"] is None else
                    f"required {r['required']:.2f}")
        goal = "" if r["goal"] is None else f" goal {r['goal']:.2f},"
        say(f"{name}: weir/{peer} {r['median']:.3f} ({r['min']:.3f} to "
            f"{r['max']:.3f});{goal} {required}: {verdict_of(r)}")
    if result["rounds_dropped"]:
        say(f"note: {result['rounds_dropped']} rounds dropped: others used "
            "our CPUs")
    if result["rounds_disturbed"]:
        say(f"note: {result['rounds_disturbed']} rounds count although others "
            "used our CPUs")


def check_build():
    """Figures of another kind of build say nothing."""
    with open("build/meson-info/intro-buildoptions.json",
              encoding="utf-8") as f:
        options = {o["name"]: o["value"] for o in json.load(f)}
    for name, wanted in (("optimization", ("2", "3")), ("asserts", (False,)),
                         ("b_sanitize", ("none",)),
                         ("b_coverage", (False,))):
        if options[name] not in wanted:
            raise Failure(f"build/ is set up with {name}={options[name]}; "
                          "remove it, or set it up for measuring")


def describe(machine, args):
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        model = next((line.partition(":")[2].strip() for line in f
                      if line.startswith("model name")), "unknown")
    memory = args.huge_dir or "no hugepages"
    say(f"{model}; CPU {machine.cpus[1]} works, CPU {machine.cpus[0]} waits; "
        f"{memory}; {args.reps} rounds of {args.seconds} s")
    return {"cpu": model, "cpus": machine.cpus, "memory": memory,
            "reps": args.reps, "seconds": args.seconds}


def run(args):
    machine = Machine()
    check_build()
    if args.json:
        # A file that cannot be written is better known before the runs.
        with open(args.json, "w", encoding="utf-8"):
            pass
    built = peers.prepare(BUILT_PEERS, say) if args.peers else frozenset()
    setup = Setup(machine, args.seconds, args.huge_dir, built)
    report = {"setup": describe(machine, args), "scenarios": {}}
    for name in args.scenarios:
        result = run_scenario(SCENARIOS[name], setup, args.reps,
                              Patience(machine, args.patience))
        report["scenarios"][name] = result
        say()
        print_rows(name, SCENARIOS[name], result)
        print_limits(name, SCENARIOS[name], result["programs"]["weir"])
        print_notes(name, result)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump(report, f, indent=1)
            f.write("\n")
    return 0 if all(r["ok"] for s in report["scenarios"].values()
                    for r in s["ratios"].values()) else 1


class Parser(argparse.ArgumentParser):
    def error(self, message):
        print(f"tools/bench: {message}", file=sys.stderr)
        sys.exit(2)


def whole(text, least):
    if not text.isdecimal() or not least <= int(text) <= 9999:
        raise argparse.ArgumentTypeError(
            f"must be a whole number, {least} to 9999, not '{text}'")
    return int(text)


def scenario_names(text):
    """Of one scenario; or of several that differ in the workers only."""
    if text in SCENARIOS:
        return [text]
    found = [name for name in SCENARIOS
             if name.rpartition("_")[0] == text
             and name.rpartition("_")[2].isdecimal()]
    if not found:
        raise argparse.ArgumentTypeError(
            f"no scenario '{text}'; there are: {' '.join(SCENARIOS)}")
    return found


def parse_arguments():
    parser = Parser(prog="tools/bench", allow_abbrev=False)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO",
                        type=scenario_names, help="default: every scenario; "
                        "without the number at its end: with each number of "
                        "workers")
    parser.add_argument("--reps", type=lambda t: whole(t, LEAST_REPS),
                        default=LEAST_REPS, metavar="N",
                        help="samples of each program; default and least: "
                        f"{LEAST_REPS}")
    parser.add_argument("--seconds", type=lambda t: whole(t, 1), default=3,
                        metavar="S", help="length of a sample; default: 3")
    parser.add_argument("--patience", type=lambda t: whole(t, 0),
                        default=PATIENCE_SECONDS, metavar="S",
                        help="longest wait of a scenario for quiet moments; "
                        f"default: {PATIENCE_SECONDS}")
    parser.add_argument("--peers", action="store_true",
                        help="beside other schedulers and timers too: "
                        f"{' '.join(BUILT_PEERS)}; installs what they need")
    parser.add_argument("--json", metavar="FILE", help="where to keep it all")
    parser.add_argument("--huge-dir", metavar="DIR",
                        help="hugetlbfs mount to use instead of --no-huge")
    parser.add_argument("--list", action="store_true",
                        help="name the scenarios and exit")
    parser.add_argument("--check", action="store_true",
                        help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.scenarios = (sum(args.scenarios, []) if args.scenarios
                      else list(SCENARIOS))
    return args


def on_signal(number, _frame):
    # Once: what was started must be ended, however impatient the user.
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    raise Failure(f"ended by {signal.Signals(number).name}")


def main():
    args = parse_arguments()
    if args.list:
        for name, scenario in SCENARIOS.items():
            say(f"{name:22}{scenario.about}")
        return 0
    if args.check:
        return 0
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)
    # DPDK keeps files of a process here, and testpmd leaves them behind.
    scratch = tempfile.mkdtemp(prefix="weir-bench-")
    os.environ["RUNTIME_DIRECTORY"] = scratch
    try:
        return run(args)
    except (Failure, OSError) as failure:
        print(f"tools/bench: {failure}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
