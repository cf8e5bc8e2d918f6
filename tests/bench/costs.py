# SPDX-License-Identifier: BSD-3-Clause
"""What the scheduler's mechanisms cost in instructions, counted by callgrind.

A time depends on the machine and on who else uses it; instructions of the same
program do not. Each mechanism runs twice, with N and with 2N operations, and
what the second run has more is N operations' cost: all that happens once drops
out. doc/design/costs.md has the figures, and no budget is exceeded there.
"""

import collections
import os
import re
import subprocess
import tempfile

import report
from machine import Failure

PROGRAM = "build/tests/bench/instructions"
PAGE = "doc/design/costs.md"
OPERATIONS = 12800
LIMIT_SECONDS = 300
TOTAL = re.compile(r"^totals: (\d+)$", re.MULTILINE)
ROW = "{:14}{:>14}{:>9}{:>11}"
EAL = ["--lcores", "0@{cpu}", "-m", "64", "--no-huge", "--no-shconf", "--no-pci",
       "--no-telemetry", "--log-level", "error", "--file-prefix",
       "weir-bench-{pid}"]

# budget: instructions of one operation, at most.
Mechanism = collections.namedtuple("Mechanism", "name about budget")

MECHANISMS = [
    Mechanism("spawn", "a task spawns a task that has no state", 150),
    Mechanism("spawn_burst", "the same, of many at once", 80),
    Mechanism("complete", "a spawned task's turn, its end, and the look at its "
              "handle that takes the result", 250),
    Mechanism("wake", "a waker is woken, of a task that waits", 85),
    Mechanism("poll", "a woken task's turn: out of the run queue, polled, "
              "waiting again", 145),
    Mechanism("yield", "a turn of one of 128 tasks that yield, with its way back "
              "into the queue", 125),
    Mechanism("inject_push", "one task into an inject queue", 120),
    Mechanism("inject_pop", "a task out of an inject queue, 32 at a time", 10),
    Mechanism("steal", "half of a queue of 64 tasks goes to a thief", 440),
    Mechanism("source_poll", "a look at a source that is waited for and has "
              "nothing", 160),
]


def per_operation(once, twice, operations):
    """Totals of two runs, the second of twice as many operations."""
    if twice <= once:
        raise Failure(f"callgrind counts {once} instructions for {operations} "
                      f"operations, and {twice} for twice as many")
    return (twice - once) / operations


def count(program, mechanism, operations):
    """The instructions of one run that count."""
    cpu = min(os.sched_getaffinity(0))
    eal = [word.format(cpu=cpu, pid=os.getpid()) for word in EAL]
    with tempfile.TemporaryDirectory(prefix="weir-bench-") as folder:
        out = os.path.join(folder, "out")
        argv = ["setpriv", "--pdeathsig", "KILL", "valgrind",
                "--tool=callgrind", "--toggle-collect=measured",
                "--toggle-collect=aside", f"--callgrind-out-file={out}",
                program, *eal, "--", mechanism, str(operations)]
        try:
            done = subprocess.run(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, timeout=LIMIT_SECONDS, check=False,
                env={**os.environ, "RUNTIME_DIRECTORY": folder})
        except subprocess.TimeoutExpired:
            raise Failure(f"{mechanism} does not end under valgrind") from None
        lines = done.stdout.decode(errors="replace").strip().splitlines()
        if done.returncode != 0:
            raise Failure(f"{mechanism} under valgrind: status "
                          f"{done.returncode}: {' / '.join(lines[-3:])}")
        with open(out, encoding="utf-8", errors="replace") as f:
            total = TOTAL.search(f.read())
    if total is None:
        raise Failure(f"{mechanism}: callgrind's file has no total")
    return int(total[1])


def measure(program, mechanism, operations=OPERATIONS):
    return per_operation(count(program, mechanism, operations),
                         count(program, mechanism, 2 * operations), operations)


def page_row(mechanism, value):
    return (f"| `{mechanism.name}` | {mechanism.about} | {mechanism.budget} "
            f"| {value:.1f} |")


def on_page(text):
    """{name: (budget, now)} of the table in a page."""
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\| (\d+) \| (\d+\.\d) \|$", text,
                      re.MULTILINE)
    return {name: (int(budget), float(now)) for name, budget, now in rows}


def with_figures(text, values):
    """A page whose table has these figures: {name: instructions}."""
    rows = "\n".join(page_row(m, values[m.name]) for m in MECHANISMS)
    new, n = re.subn(r"^(\|-.*\n)(?:\| `.*\n)*",
                     lambda m: m[1] + rows + "\n", text, count=1,
                     flags=re.MULTILINE)
    if n == 0:
        raise Failure(f"{PAGE}: has no table")
    return new


def read_page():
    with open(PAGE, encoding="utf-8") as f:
        return f.read()


def run(args, say):
    """what each mechanism of the scheduler costs, in instructions"""
    page = read_page()
    known = on_page(page)
    values = {}
    say(ROW.format("mechanism", "instructions", "budget", "page").rstrip())
    for m in MECHANISMS:
        value = values[m.name] = measure(PROGRAM, m.name)
        now = f"{known[m.name][1]:.1f}" if m.name in known else "-"
        say(ROW.format(m.name, f"{value:.1f}", m.budget, now)
            + ("  TOO MANY" if value > m.budget else ""))
    if args.page:
        report.write_text(PAGE, with_figures(page, values))
    if args.json:
        report.write(args.json, {
            "setup": report.origin(),
            "instructions": {m.name: {"value": values[m.name],
                                      "budget": m.budget}
                             for m in MECHANISMS}})
    return int(any(values[m.name] > m.budget for m in MECHANISMS))
