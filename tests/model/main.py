#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the models, on all CPUs: the suite `model` of tools/test.

    main.py --program FILE [--program FILE]... [--mutate] [--seconds N] [WORD...]

Each program is the model checker with some models. Words choose models by a part of their names, or
with --mutate labelled orders, by a part of their label or file. --mutate
weakens each labelled order in turn, and says which model notices: mutate.py.
"""

import argparse
import os
import sys

import program
import mutate


def print_models(models, words, seconds):
    """TAP, a line for each model; True if all hold."""
    names = [n for n in models if not words or any(w in n for w in words)]
    print(f"1..{len(names)}", flush=True)
    jobs = [(models[name], ["-t", str(seconds), name]) for name in names]
    good = bool(names)
    for number, result in enumerate(program.run_all(jobs), 1):
        verdict = "ok" if result.held else "not ok"
        print(f"{verdict} {number} - {result.text}", *result.notes,
              sep="\n", flush=True)
        good = good and result.held
    return good


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--program", action="append", required=True)
    parser.add_argument("--mutate", action="store_true")
    parser.add_argument("--seconds", type=float,
                        help="most that one model may take of a CPU")
    parser.add_argument("words", nargs="*")
    args = parser.parse_intermixed_args()
    models = program.models([os.path.abspath(p) for p in args.program])
    if args.mutate:
        return mutate.print_table(models, args.words, args.seconds or 60)
    return print_models(models, args.words, args.seconds or 600)


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
