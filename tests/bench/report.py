# SPDX-License-Identifier: BSD-3-Clause
"""The report of a run: a JSON file with the machine, versions and samples."""

import json
import math
import os
import platform
import subprocess
import time

from machine import Failure

# Debian's packages whose versions say what was measured against what.
PACKAGES = ("gcc", "libdpdk-dev", "libtbb-dev", "librust-tokio-dev",
            "librust-smol-dev", "libjemalloc2", "golang-go", "valgrind")
# What stands for something that nobody tells.
UNKNOWN = "unknown"
BUILD_OPTIONS = "build/meson-info/intro-buildoptions.json"
# How a build for measuring is set up: as meson.build and peers/build have it.
MEASURING = {"optimization": "2", "c_args": [], "b_lto": False, "b_pgo": "off",
             "asserts": False, "b_sanitize": "none", "b_coverage": False}


def output_of(argv):
    """What a program prints, or UNKNOWN where it cannot be run."""
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    except OSError:
        return UNKNOWN
    return done.stdout.strip() if done.returncode == 0 else UNKNOWN


def packages():
    """Versions of those that are installed."""
    try:
        listed = subprocess.run(
            ["dpkg-query", "-W", "-f",
             "${Package} ${db:Status-Status} ${Version}\n", *PACKAGES],
            stdin=subprocess.DEVNULL, check=False, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True).stdout
    except OSError:
        return {}
    rows = [line.split() for line in listed.splitlines()]
    return {row[0]: row[2] for row in rows
            if len(row) == 3 and row[1] == "installed"}


def first_of(path, key):
    """The value behind the first "key: value" of a file in /proc."""
    with open(path, encoding="utf-8") as f:
        return next((line.partition(":")[2].strip() for line in f
                     if line.startswith(key)), UNKNOWN)


def build_options():
    """Those of build/ that decide what its programs' figures say; none where it is
    not set up."""
    try:
        with open(BUILD_OPTIONS, encoding="utf-8") as f:
            options = {o["name"]: o["value"] for o in json.load(f)}
    except FileNotFoundError:
        return {}
    return {name: options[name] for name in MEASURING}


def origin():
    """When, where and of what the figures of a report are."""
    with open("VERSION", encoding="ascii") as f:
        version = f.read().strip()
    return {
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": output_of(["git", "describe", "--always", "--dirty",
                             "--abbrev=12", "--exclude=*"]),
        "cpu": first_of("/proc/cpuinfo", "model name"),
        "memory_total": first_of("/proc/meminfo", "MemTotal"),
        "cpu_count": os.cpu_count(),
        "kernel": platform.release(),
        "versions": {"weir": version, **packages()},
        "build": build_options(),
    }


def writable(path):
    """A file that cannot be written is better known before the runs, which may not
    come to write it."""
    is_there = os.path.lexists(path)
    with open(path, "a", encoding="utf-8"):
        pass
    if not is_there:
        os.unlink(path)


def write_text(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def write(path, report):
    write_text(path, json.dumps(report, indent=1) + "\n")


def is_samples(value):
    return (isinstance(value, list) and len(value) > 0
            and all(isinstance(v, (int, float)) and not isinstance(v, bool)
                    and math.isfinite(v) and v > 0 for v in value))


def is_ratios(scenario):
    found = scenario.get("ratios") if isinstance(scenario, dict) else None
    return isinstance(found, dict) and all(
        isinstance(r, dict) and is_samples(r.get("samples"))
        for r in found.values())


def read(path):
    """A report that was written, with all that a comparison looks at."""
    try:
        with open(path, encoding="utf-8") as f:
            report = json.load(f)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise Failure(f"{path}: not JSON: {error}") from None
    scenarios = report.get("scenarios") if isinstance(report, dict) else None
    if not isinstance(scenarios, dict):
        raise Failure(f"{path}: not a report of tools/bench: no scenarios")
    for name, scenario in scenarios.items():
        if not is_ratios(scenario):
            raise Failure(f"{path}: not a report of tools/bench: scenario "
                          f"'{name}' has no ratios with samples")
    return report
