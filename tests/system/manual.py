# SPDX-License-Identifier: BSD-3-Clause
"""Manual pages: what tests ask of each."""

import os
import re
import shutil
import subprocess

from weirtest import Skip, check

FOLDER = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..",
                                      "doc", "man"))


def path(program):
    return os.path.join(FOLDER, f"{program}.1")


def text(program):
    with open(path(program), encoding="ascii") as f:
        return f.read()


def described(program):
    """The options that have a paragraph."""
    return re.findall(r"^\.It Fl Fl ([a-z-]+)", text(program), re.MULTILINE)


def in_synopsis(part):
    """The options that a part of a synopsis names."""
    return set(re.findall(r"\bFl Fl ([a-z-]+)", part))


def is_well_formed(program):
    if shutil.which("mandoc"):
        argv = ["mandoc", "-T", "lint", "-W", "warning"]
    elif shutil.which("groff"):
        argv = ["groff", "-ww", "-mdoc", "-T", "utf8", "-z"]
    else:
        raise Skip("neither mandoc nor groff is installed")
    done = subprocess.run([*argv, path(program)], capture_output=True,
                          text=True, timeout=60)
    check(done.returncode == 0 and not done.stdout and not done.stderr,
          f"{done.returncode}: {done.stdout}{done.stderr}")
