# SPDX-License-Identifier: BSD-3-Clause
"""What weir-flows does when something that it needs to start fails, or an mbuf is left
at its end, in each of the calls by turns: it says so, ends, and undoes what it has
done."""

import os
import re
import sys

from weirtest import TWO_NULL, Tap, Testpmd, check

# Those of faults.c.
FUNCTIONS = sys.argv[2:]
MOST_CALLS = 100
ATOMIC = ("--buckets", "3")
ORDERED = ("--schedule", "ordered")
# Each burst is a task: there is no end to them.
ORDERED_SPAWNS = 20


def run_with(fault, options, surely=False):
    """Whether the call that fails came, which is waited for if it surely does."""
    os.environ["WEIR_FAULT"] = fault
    with Testpmd(options, TWO_NULL, 2) as program:
        program.wait_for(lambda out, err: "fault" in err
                         or not surely and any("started on" in line
                                               for line in out),
                         "start or fault")
        # Where the fault is at its end, or there is none.
        if program.process.poll() is None:
            program.process.terminate()
        program.wait_end(None)
    status, came = program.process.returncode, "fault" in program.errors
    left = re.search(r"mbufs left (\d+)", "\n".join(program.lines))
    check(status == came, f"{fault}: status {status}: {program.describe()}")
    # But where there was no runtime to begin with.
    check(left is None or int(left[1]) == ("in_use" in fault and came),
          f"{fault}: {program.describe()}")
    return came


def each_call(function, options):
    number = 1
    while run_with(f"{function}:{number}", options):
        number += 1
        check(number < MOST_CALLS, "there is no end to it")
    check(number > 1, "it is not needed")


def first_spawns():
    for number in range(1, ORDERED_SPAWNS + 1):
        check(run_with(f"weir_task_spawn:{number}", ORDERED, surely=True),
              f"there are no {number} tasks")


def main():
    tap = Tap()
    check(FUNCTIONS, "no functions are given")
    for function in FUNCTIONS:
        tap.run(f"{function} fails", each_call, function, ATOMIC)
    tap.run("weir_channel_create fails, ordered", each_call,
            "weir_channel_create", ORDERED)
    tap.run("weir_task_spawn fails, ordered", first_spawns)
    tap.finish()


if __name__ == "__main__":
    main()
