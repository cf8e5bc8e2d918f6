# SPDX-License-Identifier: BSD-3-Clause
"""What weir-testpmd does when something that it needs to start fails, in each of its
calls by turns: it says so in one line, and undoes what it has done."""

import os
import sys

from weirtest import TWO_NULL, Account, Tap, Testpmd, check

# Those of testpmd_faults.c.
FUNCTIONS = sys.argv[2:]
# Not all of these are needed: who does not know the machine takes it for a flat one,
# and sources go without new arrays.
WITHOUT = ("calloc", "rte_zmalloc_socket")
MOST_CALLS = 100


def run_with(fault):
    """Its status, and whether the call that fails came."""
    os.environ["WEIR_FAULT"] = fault
    with Testpmd(("--run-for", "0.1"), TWO_NULL, 2) as testpmd:
        testpmd.wait_end(None)
    status = testpmd.process.returncode
    check(status in (0, 1) and len(testpmd.complaints()) == status,
          f"{fault}: status {status}: {testpmd.describe()}")
    if status == 0:
        Account(testpmd.lines).check_clean()
    return status, "fault" in testpmd.errors


def each_call(function):
    failed = goes_on = number = 0
    came = True
    while came:
        number += 1
        check(number < MOST_CALLS, "there is no end to it")
        status, came = run_with(f"{function}:{number}")
        failed += status
        goes_on += came and status == 0
    check(failed > 0, "it is not needed")
    check(function in WITHOUT or goes_on == 0, f"{goes_on} are not needed")


def main():
    tap = Tap()
    check(FUNCTIONS, "no functions are given")
    for function in FUNCTIONS:
        tap.run(f"{function} fails", each_call, function)
    tap.finish()


if __name__ == "__main__":
    main()
