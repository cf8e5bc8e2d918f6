# SPDX-License-Identifier: BSD-3-Clause
"""What Weir is measured against beside DPDK's own programs: tests/bench/peers.

They are built only when asked for. One whose packages cannot be had is left
out, with the reason."""

import subprocess

BUILD = "tests/bench/peers/build"


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "no reason given"


def attempt(argv):
    """What went wrong, or None."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace")
    return last_line(done.stdout) if done.returncode else None


def prepare(names, say):
    """Builds them; gives the names of those that can be run."""
    failure = attempt(["tools/setup", "peers"])
    if failure:
        say(f"note: {failure}")
    built = set()
    for name in names:
        failure = attempt([BUILD, name])
        if failure:
            say(f"note: no peer {name}: {failure}")
        else:
            built.add(name)
    return frozenset(built)
