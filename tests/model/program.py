# SPDX-License-Identifier: BSD-3-Clause
"""The model checker's programs, as the scripts beside this one call them."""

import collections
import concurrent.futures
import os
import re
import subprocess

LINE = re.compile(r"(not )?ok \d+ - (?P<text>(?P<name>[^:]+): .*?)"
                  r"(?P<undone>, time was up)?$")
PLACE = re.compile(r"# place (?:\.\./)*(\S+):(\d+)$")

# One model: held says that nothing was found and all was looked at; undone that
# nothing was found in the time there was. notes: the lines that follow.
Result = collections.namedtuple("Result", "name text held undone notes")


def models(paths):
    """The names of all models, each with its program."""
    found = {}
    for path in paths:
        out = subprocess.run([path, "--list"], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
        for line in out.splitlines():
            name = line.split()[0]
            if name in found:
                raise ValueError(f"two models are called {name}")
            found[name] = path
    return found


def run(path, arguments):
    """The results of one run of the program, of one model or more."""
    done = subprocess.run([path, *arguments], check=False, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE)
    results = []
    for line in done.stdout.splitlines():
        m = LINE.match(line)
        if m:
            held = not m[1]
            undone = m["undone"] is not None
            results.append(Result(m["name"], m["text"] + (m["undone"] or ""),
                                  held, undone, []))
        elif results:
            results[-1].notes.append(line)
    if done.returncode not in (0, 1):
        # It gave up, and says why: that shows nothing, and must be seen.
        why = (done.stderr.strip().splitlines() or ["no word"])[-1]
        results.append(Result("", f"{arguments[-1]}: status "
                              f"{done.returncode}: {why}", False, True, []))
    return results


def run_all(jobs):
    """Runs jobs, a program and its arguments each, of one model each, on all
    CPUs; their results, in order."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for results in pool.map(lambda job: run(*job), jobs):
            yield from results


def places(result):
    """Where the operations stand that the model came to: file and line."""
    return {(m[1], int(m[2])) for m in map(PLACE.match, result.notes) if m}
