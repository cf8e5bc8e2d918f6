# SPDX-License-Identifier: BSD-3-Clause
"""weir-testpmd under valgrind: no error and no leak with code of ours in it.

DPDK itself makes accesses and keeps memory that valgrind dislikes, so what it
reports counts only when a function of ours is on the stack."""

import os
import shutil
import signal
import tempfile
import xml.etree.ElementTree as xml

from weirtest import TWO_NULL, Tap, Testpmd, check, skip_all

# Where the sources of ours lie; the rest of the tree has none in the program.
SOURCES = ("/lib/", "/drivers/", "/apps/")
ROOT = os.path.normpath(os.path.join(os.path.dirname(
    os.path.abspath(__file__)), "..", ".."))


def is_ours(frame):
    folder = os.path.normpath(os.path.join(
        os.path.dirname(Testpmd.binary), frame.findtext("dir") or "/"))
    return folder.startswith(tuple(ROOT + s.rstrip("/") for s in SOURCES))


def complaints(path):
    found = []
    for error in xml.parse(path).getroot().iter("error"):
        frames = list(error.iter("frame"))
        if any(is_ours(f) for f in frames):
            what = error.findtext("what") or error.findtext("xwhat/text")
            found.append(what + ": " + " < ".join(
                f"{f.findtext('fn')} {f.findtext('file')}:{f.findtext('line')}"
                for f in frames[:8]))
    return found


def memcheck(options, vdevs, status):
    with tempfile.TemporaryDirectory(prefix="weir-system-") as folder:
        path = os.path.join(folder, "report.xml")
        wrapper = ["valgrind", "--quiet", "--fair-sched=yes",
                   "--leak-check=full", "--show-leak-kinds=definite",
                   "--errors-for-leak-kinds=definite", "--xml=yes",
                   f"--xml-file={path}"]
        with Testpmd(options, vdevs, 2, wrapper=wrapper) as testpmd:
            if status == 0:
                testpmd.wait_started()
                testpmd.wait_line("port 0 statistics", 2)
                testpmd.stop(signal.SIGINT).check_clean()
            else:
                testpmd.wait_end(status)
        found = complaints(path)
        check(not found, "\n".join(found))


def main():
    if shutil.which("valgrind") is None:
        skip_all("valgrind is not installed")
    tap = Tap()
    period = ("--stats-period", "0.5")
    tap.run("forwarding", memcheck, period, TWO_NULL, 0)
    tap.run("txonly", memcheck, (*period, "--forward-mode", "txonly"),
            TWO_NULL, 0)
    tap.run("rings", memcheck, (*period, "--tx-first", "--rxq", "2"),
            ("net_ring0", "net_ring1"), 0)
    tap.run("a refusal after the ports are known", memcheck,
            ("--total-num-mbufs", "100"), TWO_NULL, 1)
    tap.finish()


if __name__ == "__main__":
    main()
