#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a fuzz target on the inputs kept for it, and then looks for new ones.

    run.py TARGET CORPUS

Prints TAP. WEIR_FUZZ_SECONDS is how long to look, WEIR_TEST_SEED where to
begin. What a target fails on is kept beside it, and how to repeat that is said.
"""

import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

SECONDS = 10
INPUT_SECONDS = 20  # for one input, on a machine that has other things to do

# What a report has besides what it is about.
NOISE = re.compile(r"INFO:|#\d+\t|stat::|Shadow|(=>|  )0x| *#\d+ .* in fuzzer::"
                   r"|NOTE:|      Combine|\tNEW_FUNC|Executed |\s*$")


def run(target, arguments):
    """Runs the target: whether it went well, and the lines that it printed."""
    result = subprocess.run(
        [target, f"-timeout={INPUT_SECONDS}", f"-artifact_prefix={target}-",
         *arguments],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, check=False)
    text = result.stdout.decode(errors="replace")
    lines = text.splitlines()
    if result.returncode:
        print(*(line for line in lines if not NOISE.match(line)), sep="\n",
              file=sys.stderr)
        # The one it was at, or the one that it has kept.
        named = re.findall(r"^Running: (.*)$|Test unit written to (.*)$", text,
                           re.MULTILINE)
        if named:
            print(f"to repeat: {target} {''.join(named[-1])}", file=sys.stderr)
    return result.returncode == 0, lines


def main(target, corpus):
    target = pathlib.Path(target).resolve()
    # To libFuzzer, 0 is for ever.
    seconds = max(1, int(os.environ.get("WEIR_FUZZ_SECONDS", SECONDS)))
    # libFuzzer takes 32 bits, and 0 for any.
    seed = int(os.environ.get("WEIR_TEST_SEED")
               or str(random.randrange(1, 2 ** 32)), 0) % 2 ** 32 or 1
    inputs = sorted(pathlib.Path(corpus).iterdir())
    if not inputs:
        sys.exit(f"{corpus} holds no input")
    good, _ = run(target, inputs)
    print("ok" if good else "not ok", "1 - kept inputs")
    if not good:
        # The rest begins with them, and would say the same again.
        print("1..1")
        return
    print(f"# seed {seed:#x}", flush=True)
    with tempfile.TemporaryDirectory(prefix="weir-fuzz-") as found:
        good, lines = run(target, [f"-seed={seed}", "-print_final_stats=1",
                                   f"-max_total_time={seconds}", found, corpus])
    for line in lines:
        if line.startswith("stat::number_of_executed_units"):
            print("#", line.split()[-1], "runs")
    print("ok" if good else "not ok", "2 - new inputs")
    print("1..2")


if __name__ == "__main__":
    main(*sys.argv[1:])
