# SPDX-License-Identifier: BSD-3-Clause
"""The suites of tests, and how they are run: the larger half of tools/test."""

import collections
import concurrent.futures
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HELP = """\
tools/test [SUITE [OPTION...]]...   sets up, builds and runs; all suites if none
tools/test --list                   names them

What follows a suite's name from the first argument that begins with "-" goes to
each of the suite's programs, up to the next suite's name:

    tools/test sim --seeds 5000
    tools/test unit sim --seed 42

Such a run has no limit of time, and the end of its output is shown."""

TAIL_LINES = 60  # a report of a sanitizer's
BUILD_SECONDS = 1200
# For a program that is told to end, and what it cleans up: where all CPUs poll, an ip
# may take half a minute.
GRACE_SECONDS = 60
SKIP_STATUS = 77
TAP_LINE = re.compile(r"(not )?ok\b(?: +\d+)?(?: +-)?(?: +(?P<name>[^#]*?))?"
                      r" *(?:# *(?P<directive>SKIP)\b *(?P<reason>.*))?$")
TAP_PLAN = re.compile(r"1\.\.(\d+) *(?:# *SKIP\b *(.*))?$")

# One test that was run; status is "passed", "failed" or "skipped", and note
# says why it was skipped, or what is wrong.
Case = collections.namedtuple("Case", "name status note", defaults=("",))

# One program to run. A program that speaks TAP holds many tests, others one.
Program = collections.namedtuple("Program", "name argv env timeout tap")

# groups: of packages, for tools/setup. tree: for tools/build, or None.
# programs: a function that gives them. env, wrapper: around each program.
# patience: how much longer than usual they may take. extras: groups without
# which the programs skip, and say so. at_once: how many of the programs run side
# by side; more than one where each keeps no more than one CPU busy.
Suite = collections.namedtuple(
    "Suite", "about groups tree programs env wrapper patience extras at_once",
    defaults=({}, [], 1, [], 1))

CPUS = len(os.sched_getaffinity(0))

# What a suite took, in seconds; the build is what came before its programs, and
# longest names the one of them that took most.
Times = collections.namedtuple("Times", "all build longest longest_name")


# What is before programs in the foreground under nohup: in our process group, they get
# the SIGHUP that others do not.
NOHUP = []


def in_foreground(argv, **kwargs):
    return subprocess.run([*NOHUP, *argv], **kwargs)


def check_programs(_suite):
    return [Program("check", ["tools/check"], {}, 120, True)]


def meson_programs(label):
    """Makes a function that gives the tests in a suite of Meson's."""
    def programs(suite):
        listed = in_foreground(
            ["meson", "introspect", "--tests", f"build-{suite.tree}"],
            check=True, stdout=subprocess.PIPE).stdout
        return [Program(t["name"], t["cmd"], t["env"], t["timeout"],
                        t["protocol"] == "tap")
                for t in json.loads(listed)
                if label in (s.split(":")[-1] for s in t["suite"])]
    return programs


def arm64_programs(suite):
    """What runs under qemu, and what looks at the code only."""
    qemu = ["qemu-aarch64", "-L", os.path.abspath("build-sysroot-arm64")]
    return [*meson_programs("compiled")(suite),
            *(p._replace(argv=qemu + p.argv)
              for p in meson_programs("emulable")(suite))]


def fuzz_programs(suite):
    """As Meson has them, with time for as much as is asked for."""
    seconds = int(os.environ.get("WEIR_FUZZ_SECONDS", 0))
    return [p._replace(timeout=p.timeout + seconds)
            for p in meson_programs("fuzz")(suite)]


def stress_programs(seconds):
    """As above, of the stress tests; each goes on for that long, or for
    WEIR_STRESS_SECONDS."""
    def programs(suite):
        share = os.environ.get("WEIR_STRESS_SECONDS", str(seconds))
        return [p._replace(env={**p.env, "WEIR_STRESS_SECONDS": share},
                           timeout=p.timeout + float(share))
                for p in meson_programs("stress")(suite)]
    return programs


# What they find ends a program with a status that no test expects, as 1 would be.
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1:"
                    "exitcode=99",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1:exitcode=99",
}

# Where it is, clang's own symbolizer comes first. The legend would push what a
# report is about out of its end.
FUZZ = {
    **SANITIZERS,
    "ASAN_OPTIONS": SANITIZERS["ASAN_OPTIONS"]
                    + ":allow_addr2line=1:print_legend=0",
}

TSAN = {
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:history_size=7:"
                    f"suppressions='{os.path.abspath('tests/tsan.supp')}'",
    "LD_PRELOAD": os.path.abspath("build-tsan/tests/used_drivers.so"),
}

# Some kernels pick random addresses where the thread sanitizer, or the address
# sanitizer of clang 14, has its shadow. EAL's memory, at 4 GiB, is clear of
# that. Some containers do not allow to turn this off; there the program runs as
# it is.
FIXED_ADDRESSES = ["sh", "-c", 'setarch -R true 2>/dev/null'
                   ' && exec setarch -R "$@" || exec "$@"', "sh"]

SUITES = {
    "check": Suite(
        "what tools/check looks at", ["build", "check"], None, check_programs),
    "unit": Suite(
        "parts of the library, asserts on", ["build", "test"], "test",
        meson_programs("unit")),
    "model": Suite(
        "the library under each interleaving (--mutate: with each memory "
        "order weakened)", ["build", "test"], "test",
        meson_programs("model")),
    "stress": Suite(
        "random storms for a while, asserts on", ["build", "test"], "test",
        stress_programs(20)),
    "numa": Suite(
        "where memory is and whose work is taken on this machine's NUMA nodes",
        ["build", "test"], "test", meson_programs("numa")),
    "system": Suite(
        "whole programs", ["build", "test", "demo"], "test",
        meson_programs("system")),
    "sanitize": Suite(
        "unit, under the address and undefined-behaviour sanitizers",
        ["build", "test"], "sanitize", meson_programs("unit"), SANITIZERS,
        patience=3),
    "sanitize-stress": Suite(
        "random storms, under the same", ["build", "test"], "sanitize",
        stress_programs(5), SANITIZERS, patience=3),
    "sanitize-system": Suite(
        "whole programs, under the same", ["build", "test", "demo"], "sanitize",
        meson_programs("sanitizable"), SANITIZERS, patience=3),
    "tsan": Suite(
        "unit, under the thread sanitizer", ["build", "test"], "tsan",
        meson_programs("unit"), TSAN, FIXED_ADDRESSES, patience=3),
    "tsan-stress": Suite(
        "random storms, under the same", ["build", "test"], "tsan",
        stress_programs(5), TSAN, FIXED_ADDRESSES, patience=3),
    "tsan-system": Suite(
        "whole programs, under the same", ["build", "test"], "tsan",
        meson_programs("tsanable"), TSAN, FIXED_ADDRESSES, patience=3),
    "sim": Suite(
        "the scheduler on virtual threads, seed by seed", ["build", "test"],
        "test", meson_programs("sim")),
    "fuzz": Suite(
        "fuzz targets, on the inputs kept for them and on new ones",
        ["build", "test", "fuzz"], "fuzz", fuzz_programs, FUZZ,
        FIXED_ADDRESSES, at_once=CPUS),
    "valgrind": Suite(
        "unit, under memcheck", ["build", "test"], "test",
        meson_programs("memcheckable"), wrapper=[
            "valgrind", "--quiet", "--fair-sched=yes", "--error-exitcode=99",
            "--suppressions=tests/valgrind.supp",
            "--leak-check=full", "--show-leak-kinds=definite",
            "--errors-for-leak-kinds=definite"], patience=10,
        # It runs one thread of theirs at a time, on one of two CPUs.
        at_once=min(2, CPUS)),
    "arm64": Suite(
        "unit, for arm64, under qemu; and the code of fibers",
        ["build", "test", "arm64"], "arm64", arm64_programs, patience=5),
    "vm": Suite(
        "on virtual machines of several NUMA nodes, with network cards",
        ["build", "test"], "test", meson_programs("vm"), extras=["vm"]),
}


class Stopped(Exception):
    """A signal asked for the end."""


class Running:
    """The programs that run, so that all of them can be ended at once."""

    def __init__(self):
        self.lock = threading.RLock()  # on_signal() may come anywhere
        self.processes = set()
        self.over = False

    def start(self, *args, **kwargs):
        with self.lock:
            if self.over:
                raise Stopped
            process = subprocess.Popen(*args, start_new_session=True, **kwargs)
            self.processes.add(process)
            return process

    def end(self, process):
        """With all that it started."""
        if process.poll() is None:
            self.ask([process])
        with self.lock:
            self.send(process, signal.SIGKILL)
            self.processes.discard(process)
        process.wait()

    def end_all(self):
        """None is started from now on."""
        with self.lock:
            self.over = True
            self.ask(self.processes)
            for process in self.processes:
                self.send(process, signal.SIGKILL)

    def ask(self, processes):
        """Tells them to end, and gives them time to clean up."""
        deadline = time.monotonic() + GRACE_SECONDS
        for process in processes:
            self.send(process, signal.SIGTERM)
        while (any([self.send(p, 0) for p in processes])
               and time.monotonic() < deadline):
            time.sleep(0.01)

    @staticmethod
    def send(process, number):
        """To it and all that it started. Is any of them there?"""
        process.poll()  # what has ended is there until then
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return False
        return True


RUNNING = Running()


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def ignore_signals():
    """What is made must be removed, however impatient the user. Not by SIG_IGN: a program
    that is just being started would ignore them too, and not end when it is told."""
    for number in SIGNALS:
        signal.signal(number, lambda *_: None)


def is_ignored(number):
    """As SIGHUP is under nohup: it then is no end."""
    return (number == signal.SIGHUP
            and signal.getsignal(number) == signal.SIG_IGN)


def take_signals():
    for number in SIGNALS:
        if is_ignored(number):
            # By a handler, for programs' sake, as above.
            signal.signal(number, lambda *_: None)
            NOHUP[:] = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh"]
        else:
            signal.signal(number, on_signal)


def on_signal(number, _frame):
    ignore_signals()
    RUNNING.end_all()
    raise Stopped(number)


def execute(argv, env, timeout):
    """Runs a program: its exit status (None: too slow), stdout and stderr."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = RUNNING.start(argv, stdin=subprocess.DEVNULL, stdout=out,
                                stderr=err, env={**os.environ, **env})
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            RUNNING.end(process)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode(errors="replace").splitlines())
        return status, *texts


def parse_tap(lines):
    """The cases in a program's output, and how many it had promised."""
    cases, promised, remark = [], None, ""
    for line in lines:
        plan, m = TAP_PLAN.match(line), TAP_LINE.match(line)
        if line.startswith("#"):
            remark = line.lstrip("# ")
            continue
        if plan:
            promised = int(plan[1])
            if promised == 0:
                cases.append(Case("", "skipped", plan[2] or remark))
        elif m and m["directive"]:
            # cmocka knows no reason, and before its version 2 puts the name in
            # its place; the remark before it then tells.
            name, reason = m["name"], m["reason"]
            if not name:
                name, reason = reason, ""
            cases.append(Case(name, "skipped", reason or remark))
        elif m:
            cases.append(Case(m["name"] or "", "failed" if m[1] else "passed"))
        remark = ""
    return cases, promised


def ending(status):
    if status is None:
        return "ran out of time"
    if status < 0:
        return f"ended by {signal.Signals(-status).name}"
    return f"exit status {status}"


def cause(status, err):
    """How a program ended, and what it said last: a sanitizer, its summary."""
    said = ([line for line in err if line.startswith("SUMMARY: ")]
            or [line for line in err if line.strip()])
    return "; ".join([ending(status), *said[-1:]])


def judge(program, status, out, err):
    """What a program's run says about its tests."""
    cases, promised = parse_tap(out) if program.tap else ([], None)
    failed = any(c.status == "failed" for c in cases)
    if status == SKIP_STATUS and not failed:
        last = ([line for line in out + err if line.strip()] or [""])[-1]
        return [Case("", "skipped", last.lstrip("# "))]
    if not program.tap:
        return [Case("", "passed") if status == 0 else
                Case("", "failed", cause(status, err))]
    if status is None or status < 0 or (status != 0 and not failed):
        cases.append(Case("", "failed", cause(status, err)))
    elif promised is None:
        # It may have ended in the middle, with success.
        cases.append(Case("", "failed", "no plan"))
    elif promised not in (0, len(cases)):
        cases.append(Case("", "failed",
                          f"{promised} tests planned, {len(cases)} run"))
    return cases


def describe(case):
    return case.name + (f" ({case.note})" if case.note else "")


def print_case(case):
    print(f"{case.status:8}{describe(case)}", flush=True)


def run_program(suite, program, options):
    """The cases, what is printed of the output, and the seconds it took."""
    # Whoever gives options decides how long it takes, and wants to read it.
    timeout = None if options else program.timeout * suite.patience
    begin = time.monotonic()
    status, out, err = execute(suite.wrapper + program.argv + options,
                               {**program.env, **suite.env}, timeout)
    cases = [c if c.status != "skipped" or c.note else
             Case(c.name, "failed", "skipped without a reason")
             for c in judge(program, status, out, err)]
    cases = [c._replace(name=": ".join(filter(None, (program.name, c.name))))
             for c in cases]
    shown = []
    if options or any(c.status == "failed" for c in cases):
        for title, lines in (("stdout", out), ("stderr", err)):
            if lines:
                shown += [f"-- end of {program.name}'s {title}:",
                          *lines[-TAIL_LINES:]]
        shown.append("--")
    return cases, shown, time.monotonic() - begin


def run_programs(suite, programs, options):
    """What run_program() gives, of each in turn."""
    with concurrent.futures.ThreadPoolExecutor(suite.at_once) as pool:
        yield from pool.map(lambda p: run_program(suite, p, options), programs)


def prepare(suite):
    """Packages and build; the case of a failure, or None."""
    # In the foreground, since it may ask for a password.
    if suite.extras:
        in_foreground(["tools/setup", *suite.extras], check=False)
    argv = ["tools/setup", *suite.groups]
    status = in_foreground(argv, check=False).returncode
    if suite.tree and status == 0:
        argv = ["tools/build", suite.tree]
        status, _, err = execute(argv, {}, BUILD_SECONDS)
        print(*err, sep="\n", end="\n" if err else "")
    return Case(" ".join(argv), "failed", ending(status)) if status else None


def run_suite(name, options):
    """The suite's cases, and what it took."""
    suite = SUITES[name]
    begin = time.monotonic()
    print(f"== {name}: {suite.about}", flush=True)
    failure = prepare(suite)
    build = time.monotonic() - begin
    programs = [] if failure else suite.programs(suite)
    if not programs:
        failure = failure or Case("programs", "failed", "there are none")
        print_case(failure)
        return [failure], Times(build, build, 0, "")
    cases, longest = [], (0, "")
    runs = run_programs(suite, programs, options)
    for program, (found, shown, took) in zip(programs, runs):
        for case in found:
            print_case(case)
        print(*shown, sep="\n", end="\n" if shown else "", flush=True)
        cases += found
        longest = max(longest, (took, program.name))
    return cases, Times(time.monotonic() - begin, build, *longest)


def print_times(times):
    print(f"{'seconds':>8} {'build':>6}  suite")
    for name, t in times:
        note = (f" (longest: {t.longest_name}, {t.longest:.0f})"
                if t.longest_name not in ("", name) else "")
        print(f"{t.all:8.0f} {t.build:6.0f}  {name}{note}")


def run_suites(wanted):
    counts = collections.Counter()
    failures, times = [], []
    for name, options in wanted:
        cases, took = run_suite(name, options)
        times.append((name, took))
        for case in cases:
            counts[case.status] += 1
            if case.status == "failed":
                failures.append(f"{name}: {describe(case)}")
    print("== times")
    print_times(times)
    if failures:
        print("== failed", *failures, sep="\n")
    print("{passed} passed, {failed} failed, {skipped} skipped".format_map(
        collections.defaultdict(int, counts)), flush=True)
    return 0 if counts["passed"] and not counts["failed"] else 1


def parse(arguments):
    """(suite, options) for each that is named, or None after a complaint.

    A suite's options begin behind its name with the first that looks like one,
    and end before the next suite's name.
    """
    wanted = []
    for argument in arguments:
        options = wanted[-1][1] if wanted else []
        if argument in SUITES:
            wanted.append((argument, []))
        elif wanted and (options or argument.startswith("-")):
            options.append(argument)
        else:
            print(f"tools/test: no suite '{argument}'; there are:", *SUITES,
                  file=sys.stderr)
            return None
    return wanted or [(name, []) for name in SUITES]


def durations_are_numbers():
    """Complains of one that is not."""
    for name, form, kind in (
            ("WEIR_FUZZ_SECONDS", r"[0-9]+", "whole number"),
            ("WEIR_STRESS_SECONDS", r"[0-9]+(\.[0-9]+)?", "number")):
        value = os.environ.get(name, "0")
        if not re.fullmatch(form, value):
            print(f"tools/test: {name}={value!r}: must be a {kind} of seconds",
                  file=sys.stderr)
            return False
    return True


def cannot_say(error):
    # What is left to say would fail again at the end.
    if sys.stdout:  # Python has None for one that is closed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    print(f"tools/test: {error}", file=sys.stderr)
    return 1


def say(text):
    # Whoever reads this may stop when he likes.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    if sys.stdout is None:
        return cannot_say(os.strerror(errno.EBADF))
    try:
        print(text, flush=True)
    except OSError as error:
        return cannot_say(error)
    return 0


def main(arguments):
    if arguments[:1] == ["--help"]:
        return say(HELP)
    if arguments[:1] == ["--list"]:
        return say("\n".join(f"{name:16}{suite.about}"
                             for name, suite in SUITES.items()))
    wanted = parse(arguments)
    if wanted is None or not durations_are_numbers():
        return 2
    take_signals()
    # DPDK keeps its files of a process here, and tests theirs; away with them,
    # and with those of processes that crashed, when all is over.
    try:
        scratch = tempfile.mkdtemp(prefix="weir-test-")
    except OSError as error:
        return cannot_say(error)
    # A test has programs of another user in there.
    os.chmod(scratch, 0o711)
    os.environ["RUNTIME_DIRECTORY"] = os.environ["TMPDIR"] = scratch
    try:
        return run_suites(wanted)
    except Stopped as stop:
        return 128 + stop.args[0]
    except OSError as error:
        # Nobody reads, it may be.
        ignore_signals()
        RUNNING.end_all()
        return cannot_say(error)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
