# SPDX-License-Identifier: BSD-3-Clause
"""How the cost of an operation grows with the number of tasks, idle sources,
workers and threads that spawn: tools/bench growth."""

import collections

import chart
import figures
import report
import rounds
import sched_scenarios
from machine import Failure, Machine
from scenario import Setup

# A curve is a figure of a program's run. index: which of its figures.
Curve = collections.namedtuple("Curve", "label scenario index")

# about: what the sizes are. bytes: of memory for each, beyond what any run
# takes. by_workers: a size is a number of workers, and no argument.
Field = collections.namedtuple("Field", "name about unit sizes curves bytes "
                               "by_workers", defaults=(0, False))

# A cell, what EAL's heap keeps beside it, and its handle.
TASK_BYTES = 320
SOURCE_BYTES = 1024
MB = 1 << 20
# What a run takes whatever its size, and others may need meanwhile.
SPARE_MB = 1024
# Ten million tasks take a while on a busy machine.
LIMIT_SECONDS = 600
ROW = "{:9}{:>12}  {:20}{:>12}{:>8}  {}"

FIELDS = [
    Field("tasks", "tasks alive at once, one worker", "ns",
          [10 ** i for i in range(1, 8)],
          [Curve("spawn", "grow_tasks", 0), Curve("turn", "grow_tasks", 1)],
          TASK_BYTES),
    Field("sources", "idle sources of one worker", "ns", [1, 10, 100, 1000],
          [Curve("turn, alone", "grow_sources", 0),
           Curve("turn, one of 200", "grow_sources", 1)], SOURCE_BYTES),
    Field("workers", "workers, which share two CPUs", "ns",
          [1, 2, 4, 8], [Curve("spawn and join", "spawn_local", 0),
                         Curve("yield", "yield_many", 0)], by_workers=True),
    Field("threads", "threads that spawn, on another CPU than the worker",
          "ns", [1, 2, 4, 8, 16], [Curve("spawn and run", "grow_threads", 0)]),
]


def memory_mb(field, size):
    """What EAL is given."""
    return sched_scenarios.MEMORY_MB + field.bytes * size // MB


def split_by_memory(field, available_mb):
    """The sizes that there is memory for, and those that there is not."""
    def fits(size):
        return memory_mb(field, size) + SPARE_MB <= available_mb
    return ([size for size in field.sizes if fits(size)],
            [size for size in field.sizes if not fits(size)])


def available_mb():
    try:
        return int(report.first_of("/proc/meminfo",
                                   "MemAvailable").split()[0]) // 1024
    except ValueError:
        raise Failure("/proc/meminfo does not say how much memory is "
                      "available") from None


def command(setup, field, scenario, size):
    workers = size if field.by_workers else 1
    argv = [sched_scenarios.WEIR,
            *sched_scenarios.eal_arguments(setup, workers,
                                           memory_mb(field, size)),
            "--", scenario, str(workers)]
    return argv if field.by_workers else [*argv, str(size)]


def sample(setup, field, size):
    """{program: sample} of each program that the curves need."""
    return {scenario: sched_scenarios.sample(
        setup, "weir", scenario, command(setup, field, scenario, size),
        LIMIT_SECONDS)
            for scenario in dict.fromkeys(c.scenario for c in field.curves)}


def value_of(samples, curve):
    taken = samples[curve.scenario]
    return (taken.value, *taken.more)[curve.index]


def measure(setup, field, size, reps, patience):
    """({label: summary}, how many rounds of those were disturbed) at one size."""
    taken, quiet = [], 0
    while quiet < reps and len(taken) < patience.rounds(reps):
        patience.wait()
        samples = sample(setup, field, size)
        taken.append(samples)
        quiet += not rounds.disturbed(samples)
    chosen = rounds.choose(taken, reps)
    return ({c.label: figures.summary([value_of(s, c) for s in chosen])
             for c in field.curves}, sum(map(rounds.disturbed, chosen)))


def series(field, measured):
    """What is drawn of a field: {label: [(size, median), ...]}."""
    return {c.label: [(size, of[c.label]["median"])
                      for size, of in measured.items()]
            for c in field.curves}


def run_field(setup, field, args, say):
    sizes, too_large = split_by_memory(field, available_mb())
    say()
    for size in too_large:
        say(f"note: {field.name} {size:,} left out: takes "
            f"{memory_mb(field, size) + SPARE_MB:,} MiB of memory, of which "
            f"{available_mb():,} are available")
    say(ROW.format(field.name, "number", "operation", "median", "spread",
                   field.unit))
    measured = {}
    for size in sizes:
        measured[size], nb_disturbed = measure(
            setup, field, size, args.reps,
            rounds.Patience(setup.machine, args.patience, say))
        for label, of in measured[size].items():
            say(ROW.format(field.name, f"{size:,}", label,
                           f"{of['median']:.1f}",
                           f"{100 * of['spread']:.1f}%", "").rstrip())
        for line in rounds.disturbed_notes(nb_disturbed):
            say(line)
    return measured


def draw(origin, fields):
    """fields: {name: {size: {label: summary}}}."""
    return chart.fields(
        f"Growth, Weir {origin['commit']}, {origin['date'][:10]}",
        [(f.about, f.unit, series(f, fields[f.name]))
         for f in FIELDS if fields[f.name]])


def run(args, say):
    """cost of an operation by number of tasks, sources, workers, threads"""
    machine = Machine()
    setup = Setup(machine, args.seconds, args.huge_dir, frozenset())
    origin = report.origin()
    say(f"{origin['cpu']}; {args.reps} rounds")
    fields = {field.name: run_field(setup, field, args, say)
              for field in FIELDS}
    if args.json:
        report.write(args.json, {"setup": origin, "growth": fields})
    if args.svg:
        report.write_text(args.svg, draw(origin, fields))
    return 0
