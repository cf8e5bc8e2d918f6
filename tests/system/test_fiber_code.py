# SPDX-License-Identifier: BSD-3-Clause
"""What weir_fiber.h says about threads: a function that awaits touches nothing that
is a thread's own, of which compilers keep the address. All that have fibers here are
compiled for arm64, whose code names the thread's register; x86-64's does not tell an
address that is kept from one that is not.

Usage: test_fiber_code.py BUILD
"""

import json
import os
import re
import shlex
import subprocess
import sys

from weirtest import Tap, check

BUILD = sys.argv[1]
TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
LEVELS = ["-Os", "-O2", "-O3"]
USE = re.compile(r"\bweir_fiber_(?:await|suspend|yield|sleep|join)\(")
AWAITS = {"weir_fiber_suspend", "weir_fiber_yield", "weir_fiber_sleep",
          "weir_fiber_join"}

FUNCTION = re.compile(r"^(\S+):\n(.*?)^\t\.size\t\1,",
                      re.MULTILINE | re.DOTALL)
CALL = re.compile(r"^\tbl?\t(\S+)$", re.MULTILINE)


def users():
    """How each file that has awaits is compiled, for the library if it is there."""
    found = {}
    with open(f"{BUILD}/compile_commands.json", encoding="utf-8") as commands:
        for entry in json.load(commands):
            name = os.path.join(entry["directory"], entry["file"])
            with open(name, encoding="utf-8") as source:
                if USE.search(source.read()):
                    found.setdefault(os.path.relpath(name, TOP),
                                     entry["command"])
    return found


def code_of(command, level):
    """The code of each function."""
    argv = shlex.split(command)
    argv = [*argv[:argv.index("-MD")], level, "-S", "-o", "-", argv[-1]]
    done = subprocess.run(argv, cwd=BUILD, capture_output=True, text=True,
                          timeout=60)
    check(done.returncode == 0, done.stderr)
    return dict(FUNCTION.findall(done.stdout))


def awaiting(code):
    """The functions that await, be it in another of the same file."""
    found, more = set(), set(AWAITS)
    while more - found:
        found |= more
        more = {name for name, text in code.items()
                if found.intersection(CALL.findall(text))}
    return found.intersection(code)


def what_is_a_threads_is_left_to_others(command):
    for level in LEVELS:
        code = code_of(command, level)
        functions = awaiting(code)
        check(functions, f"{level}: no function awaits")
        wrong = sorted(n for n in functions if "tpidr_el0" in code[n])
        check(not wrong, f"{level}: {', '.join(wrong)}")


def main():
    tap = Tap()
    for name, command in sorted(users().items()):
        tap.run(name, what_is_a_threads_is_left_to_others, command)
    tap.finish()


if __name__ == "__main__":
    main()
