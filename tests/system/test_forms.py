# SPDX-License-Identifier: BSD-3-Clause
"""apps/forms: a job gives the same in each form that a task can have; and what
a debugger shows of a fiber.

Usage: test_forms.py FORMS
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile

from weirtest import Skip, Tap, Testpmd, check, lcores

FORMS = sys.argv[1]
SECONDS = 60


def arguments(workers=2, shares=False):
    return [FORMS, "--no-huge", "-m", "256", "--no-pci",
            *(() if shares else ("--no-shconf",)), "--no-telemetry",
            "--lcores", lcores(workers),
            f"--file-prefix=weir-forms-{os.getpid()}"]


def run(argv, **environment):
    # EAL leaves files there.
    with tempfile.TemporaryDirectory(prefix="weir-system-") as folder:
        return subprocess.run(
            argv, capture_output=True, text=True, timeout=SECONDS,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "RUNTIME_DIRECTORY": folder, **environment})


def same_result():
    done = run(arguments())
    lines = [line for line in done.stdout.splitlines()
             if not line.startswith("EAL")]
    check(done.returncode == 0 and
          lines == ["machine: 30", "stackless: 30", "fiber: 30"],
          f"exit {done.returncode}: {done.stdout} {done.stderr}")


def no_runtime():
    """Without a worker there is none; EAL is ended as ever."""
    if not Testpmd.shares:
        raise Skip("EAL's thread for other processes cannot be ended here")
    with tempfile.TemporaryDirectory(prefix="weir-system-") as folder:
        done = run(arguments(0, shares=True), RUNTIME_DIRECTORY=folder)
        check(done.returncode == 1 and "weir: nb_workers: " in done.stderr,
              f"exit {done.returncode}: {done.stdout} {done.stderr}")
        left = [name for _, _, names in os.walk(folder) for name in names
                if "socket" in name]
        check(not left, f"left behind: {left}")


def frames(where, *commands):
    """The functions of gdb's backtrace, innermost first."""
    gdb = shutil.which("gdb")
    if gdb is None:
        raise Skip("no gdb")
    done = run([gdb, "-nx", "-batch", "-ex", "set debuginfod enabled off",
                "-ex", "set breakpoint pending on", "-ex", f"break {where}",
                "-ex", "run", *commands, "-ex", "bt", "--args", *arguments()])
    found = re.findall(r"^#\d+ +(?:0x\w+ in )?(\S+) ", done.stdout,
                       re.MULTILINE)
    if not found and re.search(
            "ptrace|Cannot trace|Operation not permitted", done.stderr):
        raise Skip("may not trace a process")
    check(found, f"no backtrace: {done.stdout} {done.stderr}")
    return found


def expect_order(found, names):
    at = -1
    for name in names:
        check(name in found[at + 1:], f"no {name} in {' '.join(found)}")
        at = found.index(name, at + 1)


# What is between the fiber's functions and the worker's loop.
BELOW = ["fiber_main", "<signal", "weir__worker_main"]


def backtrace_at_first():
    expect_order(frames("fiber_run"), ["fiber_run", *BELOW])


def backtrace_after_waits():
    expect_order(frames("add_square if n == 3"),
                 ["add_square", "fiber_run", *BELOW])


def backtrace_inside_a_wait():
    expect_order(frames("weir_fiber_suspend"),
                 ["weir_fiber_suspend", "weir_fiber_sleep", "add_square",
                  "fiber_run", *BELOW])


def backtrace_at_its_end():
    """By then the thread is on the worker's stack."""
    found = frames("fiber_end")
    expect_order(found, ["fiber_end", "weir__worker_main"])
    check("fiber_main" not in found, f"still on it: {' '.join(found)}")


def main():
    tap = Tap()
    tap.run("a job gives the same in each form", same_result)
    tap.run("no runtime leaves nothing behind", no_runtime)
    tap.run("gdb sees through a fiber's first frame", backtrace_at_first)
    tap.run("and after waits", backtrace_after_waits)
    tap.run("and inside of one", backtrace_inside_a_wait)
    tap.run("and behind its last", backtrace_at_its_end)
    tap.finish()


if __name__ == "__main__":
    main()
