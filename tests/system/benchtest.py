# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of tools/bench have in common; makes its modules importable."""

import collections
import os
import sys
import xml.etree.ElementTree as xml

from weirtest import Tap, check

ROOT = os.path.normpath(os.path.join(os.path.dirname(
    os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))

from machine import Failure

SVG = "{http://www.w3.org/2000/svg}"
FakeMachine = collections.namedtuple("FakeMachine", "cpus")
MACHINE = FakeMachine(sorted(os.sched_getaffinity(0))[:1])


class QuietMachine:
    cpus = (0, 1)

    def wait_quiet(self, _seconds):
        return 0


def equal(got, wanted):
    check(got == wanted, f"{got!r}, not {wanted!r}")


def near(got, wanted):
    check(abs(got - wanted) < 1e-9, f"{got!r}, not {wanted!r}")


def expect_failure(part, function, *args):
    try:
        function(*args)
    except Failure as failure:
        check(part in str(failure), f"'{failure}' does not say '{part}'")
        check("\n" not in str(failure), f"'{failure}' is not one line")
    else:
        check(False, f"no failure; expected '{part}'")


def check_picture(text):
    """It is XML, without anything from elsewhere, and suits both schemes."""
    for part in ("href", "url(", "@import", "@font-face", "<script"):
        check(part not in text, f"the picture has {part}")
    check("prefers-color-scheme: dark" in text, "it knows no dark page")
    return xml.fromstring(text)


def report_of(**scenarios):
    """A report with these: {name: {peer: samples of the ratio}}."""
    return {"setup": {"commit": "abc", "date": "2026-01-02T03:04:05Z"},
            "scenarios": {name: {"ratios": {
                peer: {"samples": samples} for peer, samples in peers.items()}}
                for name, peers in scenarios.items()}}


def run_all(tests):
    # The tool's paths begin there.
    os.chdir(ROOT)
    tap = Tap()
    for test in tests:
        tap.run(test.__name__.replace("_", " "), test)
    tap.finish()
