# SPDX-License-Identifier: BSD-3-Clause
"""tools/test: what it makes of programs that end well, badly, late, or when it is
told to stop. The programs are lines for a shell. Also tools/setup's lists."""

import contextlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from weirtest import Tap, check

TOP = os.path.abspath(
    os.path.join(os.path.dirname(__file__), "..", ".."))
TOOLS = os.path.join(TOP, "tools")
# Of the program that every test is given.
BUILD = os.path.abspath(sys.argv[1]).partition("/apps/")[0]
sys.path.insert(0, TOOLS)

import suites  # pylint: disable=wrong-import-position

LONG = 600  # seconds: nobody waits for it to end by itself

# Has a child that makes the file $0 and, told to end, $0.clean; ends first.
CLEANS_UP = f"""(trap 'echo >"$0.clean"; exit' TERM
echo $$ >"$0"; sleep {LONG} & wait) & wait"""

# A tools/test of two programs that tell when they run, by a file each.
STOPPED = f"""
import sys
sys.path.insert(0, {TOOLS!r})
import suites
line = "mktemp -d >/dev/null;" + {CLEANS_UP!r}
programs = [suites.Program(n, ["sh", "-c", line, sys.argv[1] + "/" + n], {{}},
                           {LONG}, False)
            for n in "abc"]
suites.SUITES = {{"s": suites.Suite("", ["build"], None, lambda _: programs,
                                  at_once=2)}}
sys.exit(suites.main(["s"]))
"""

# What it runs in the foreground gets SIGHUP, as from a terminal that ends.
FOREGROUND = f"""
import sys
sys.path.insert(0, {TOOLS!r})
import suites
suites.take_signals()
suites.in_foreground(["sh", "-c", "kill -HUP $$; echo on"], check=True)
"""

# As STOPPED, of one that waits for $0.go, and two behind it.
UNREAD = f"""
import sys
sys.path.insert(0, {TOOLS!r})
import suites
lines = ['echo >"$0"; until [ -e "$0.go" ]; do sleep 0.01; done',
         *2 * [{CLEANS_UP!r}]]
programs = [suites.Program(n, ["sh", "-c", line, sys.argv[1] + "/" + n], {{}},
                           {LONG}, False)
            for n, line in zip("abc", lines)]
suites.SUITES = {{"s": suites.Suite("", ["build"], None, lambda _: programs)}}
sys.exit(suites.main(["s"]))
"""

# A test that takes long.
TOLD = f"""
import sys, tempfile, time
import weirtest
def test():
    with tempfile.TemporaryDirectory(dir=sys.argv[1]):
        print("begun", flush=True)
        time.sleep({LONG})
weirtest.Tap().run("long", test)
"""

# A tools/test that has nothing to do.
NO_SUITES = """
import sys, suites
suites.SUITES = {}
sys.exit(suites.main([]))
"""

# What tools/build makes something of.
SMALL_TREE = {
    "meson.build": """project('small', 'c')
test('t', executable('t', 't.c'))
""",
    "meson_options.txt": "option('asserts', type: 'boolean')\n",
    "t.c": "int main(void) { return 0; }\n",
}

# Runs a script as if by somebody else.
WITHOUT_ROOT = """
import os, runpy, sys
os.geteuid = lambda: 1
del sys.argv[0]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
"""

# Runs ./p as tools/test does.
TSAN = """
import os, sys
sys.path.insert(0, sys.argv[1])
import suites
suite = suites.SUITES["tsan"]
argv = [*suite.wrapper, "./p"]
os.execvpe(argv[0], argv, {**os.environ, **suite.env})
"""


def program(name, line, tap=False, seconds=LONG):
    return suites.Program(name, ["sh", "-c", line], {}, seconds, tap)


def run(programs, **fields):
    """The exit status, and the lines that are printed."""
    suite = suites.Suite("made up", ["build"], None, lambda _: programs, **fields)
    before, suites.SUITES = suites.SUITES, {"s": suite}
    try:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            status = suites.run_suites([("s", [])])
    finally:
        suites.SUITES = before
    return status, out.getvalue().splitlines()


def verdict(line, **fields):
    """What is printed of a program that is no other's neighbour."""
    _, lines = run([program("p", line, **fields)])
    return lines[1]


def an_exit_status_tells():
    check(verdict("true") == "passed  p", "0 passes")
    check(verdict("exit 3") == "failed  p (exit status 3)", "3 fails")
    check(verdict("kill -SEGV $$") == "failed  p (ended by SIGSEGV)",
          "a signal fails")
    check(verdict("echo no cards; exit 77") == "skipped p (no cards)",
          "77 skips")


def what_it_said_last_tells_why():
    """A log is long: the cause is beside the name, in its last lines, too."""
    for said, last in (("one; two", "two"), ("SUMMARY: race; ABORTING", "SUMMARY: race")):
        script = "".join(f"echo '{line}' >&2; " for line in said.split("; "))
        _, lines = run([program("p", script + "kill -SEGV $$")])
        why = f"p (ended by SIGSEGV; {last})"
        check(f"failed  {why}" in lines, f"where it ends: {lines}")
        check(f"s: {why}" in lines, f"at the end: {lines}")


def who_skips_after_a_failure_fails():
    _, lines = run([program("p", "echo not ok 1 - a; exit 77", tap=True)])
    check(lines[1] == "failed  p: a", lines)
    _, lines = run([program("p", "echo ok 1 - a; echo no b; exit 77", tap=True)])
    check(lines[1] == "skipped p (no b)", lines)


def a_skipped_case_has_a_reason():
    for case, reason in (("ok 1 - a # SKIP no b", "no b"),
                         ("# no b\nnot ok 1 # SKIP a", "no b"),
                         ("# no b\nok 1 - a # SKIP", "no b"),
                         ("# no b\nok 1 - a # SKIP no c", "no c")):
        line = f"echo 1..1; printf '{case}\\n'"
        check(verdict(line, tap=True) == f"skipped p: a ({reason})", case)
    check(verdict("echo 1..1; echo 'ok 1 - a # SKIP'", tap=True)
          == "failed  p: a (skipped without a reason)", "no reason fails")


def who_does_not_run_all_that_was_planned_fails():
    for line, expected in (
            ("echo 1..1; echo ok 1 - a", "passed  p: a"),
            ("echo ok 1 - a; echo 1..1", "passed  p: a"),
            ("echo '1..0 # SKIP no cards'", "skipped p (no cards)"),
            ("echo 1..2; echo ok 1 - a", "failed  p (2 tests planned, 1 run)"),
            ("echo ok 1 - a", "failed  p (no plan)"),
            ("true", "failed  p (no plan)")):
        _, lines = run([program("p", line, tap=True)])
        check(expected in lines, f"{line}: {lines}")


def what_needs_root_skips_without():
    """Each of its tests, or all at once."""
    for name, tested in (("echo", "echo/weir-echo"),
                         ("veth", "testpmd/weir-testpmd")):
        argv = [sys.executable, "-B", "-c", WITHOUT_ROOT,
                f"{TOP}/tests/system/test_{name}.py",
                f"{BUILD}/apps/{tested}"]
        status, lines = run([suites.Program("p", argv, {}, LONG, True)])
        check(not any(line.startswith("failed") for line in lines), lines)
        check(any(line.startswith("skipped")
                  and "network namespaces need root)" in line
                  for line in lines), lines)


def durations_that_are_no_numbers_are_refused():
    for name, kind in (("WEIR_FUZZ_SECONDS", "whole number"),
                       ("WEIR_STRESS_SECONDS", "number")):
        for value in ("x", "", "1\n", "-1", "inf"):
            done = subprocess.run(
                [sys.executable, "-B", "-c", NO_SUITES], cwd=TOOLS,
                check=False, capture_output=True, text=True,
                env={**os.environ, name: value})
            check((done.returncode, done.stdout, done.stderr)
                  == (2, "", f"tools/test: {name}={value!r}: must be a {kind} "
                      "of seconds\n"), f"{name}={value!r}: {done}")


def who_is_late_fails():
    for tap in (False, True):
        text = verdict(f"sleep {LONG}", tap=tap, seconds=0.1)
        check(text == "failed  p (ran out of time)", text)


def who_is_late_cleans_up():
    with tempfile.TemporaryDirectory() as folder:
        late = suites.Program("p", ["sh", "-c", CLEANS_UP, f"{folder}/p"], {},
                              1, False)
        _, lines = run([late])
        check(lines[1] == "failed  p (ran out of time)", lines)
        # Unless it got no further than to its start.
        check(os.listdir(folder) in ([], ["p", "p.clean"], ["p.clean", "p"]),
              f"{os.listdir(folder)}")


def who_does_not_end_when_told_is_ended():
    before, suites.GRACE_SECONDS = suites.GRACE_SECONDS, 0.1
    try:
        text = verdict(f"trap '' TERM; sleep {LONG}", seconds=0.5)
    finally:
        suites.GRACE_SECONDS = before
    check(text == "failed  p (ran out of time)", text)


def a_test_that_is_told_to_end_cleans_up():
    """One of those here: with what it is in the middle of."""
    with tempfile.TemporaryDirectory() as folder, subprocess.Popen(
            [sys.executable, "-B", "-c", TOLD, folder],
            cwd=os.path.dirname(os.path.abspath(__file__)),
            stdout=subprocess.PIPE, text=True) as told:
        check(told.stdout.readline() == "begun\n", "it does not begin")
        told.send_signal(signal.SIGTERM)
        check(told.wait() == 128 + signal.SIGTERM, "its exit status")
        check(not os.listdir(folder), f"left: {os.listdir(folder)}")


def side_by_side_the_order_stays():
    with tempfile.TemporaryDirectory() as folder:
        # The first one ends only after the second.
        status, lines = run([
            program("a", f"until [ -e {folder}/b ]; do sleep 0.01; done"),
            program("b", f"touch {folder}/b")], at_once=2)
    check(status == 0, lines)
    check(lines[1:3] == ["passed  a", "passed  b"], lines)


def the_end_says_how_long_it_took():
    run_program, measured = suites.run_program, {}

    def run_and_pretend(suite, what, options):
        cases, shown, measured[what.name] = run_program(suite, what, options)
        # A machine that is busy may hold up either for longer than they take.
        return cases, shown, {"a": 0.2, "b": 0.6}[what.name]

    suites.run_program, begin = run_and_pretend, time.monotonic()
    try:
        _, lines = run([program("a", "true"), program("b", "sleep 0.1")])
    finally:
        suites.run_program = run_program
    check(0 < measured["a"] and 0.1 <= measured["b"]
          and sum(measured.values()) <= time.monotonic() - begin, measured)
    check(lines[-4] == "== times", lines)
    check(lines[-2].split()[2:] == ["s", "(longest:", "b,", "1)"], lines)
    check(lines[-1] == "2 passed, 0 failed, 0 skipped", lines)


def ignores(pid, number):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        mask = next(line for line in f if line.startswith("SigIgn:"))
    return bool(int(mask.split()[1], 16) >> (number - 1) & 1)


def runs(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().split()[2] != "Z"
    except FileNotFoundError:
        return False


def stop_while_two_run(*numbers, wrapper=()):
    """By these signals, of which the last is the one that ends it."""
    with tempfile.TemporaryDirectory() as folder, \
            tempfile.TemporaryDirectory() as scratch, subprocess.Popen(
                [*wrapper, sys.executable, "-B", "-c", STOPPED, folder],
                stdout=subprocess.DEVNULL,
                env={**os.environ, "TMPDIR": scratch}) as stopped:
        pids = []
        while len(pids) < 2:
            check(stopped.poll() is None, "it has ended by itself")
            pids = [int(open(f"{folder}/{n}", encoding="ascii").read() or 0)
                    for n in os.listdir(folder)]
            pids = [p for p in pids if p != 0]
            time.sleep(0.01)
        check(not any(ignores(p, signal.SIGHUP) for p in pids),
              "what it starts ignores SIGHUP")
        for number in numbers[:-1]:
            stopped.send_signal(number)
        # Again and again: Python may find one that comes right behind another only
        # when it next wakes.
        while stopped.poll() is None:
            stopped.send_signal(numbers[-1])
            time.sleep(0.1)
        # When all is done Python leaves its signals to the kernel; a shell takes the one
        # for the other.
        check(stopped.wait() in (128 + numbers[-1], -numbers[-1]),
              f"its exit status: {stopped.wait()}")
        check(not any(map(runs, pids)), f"{pids} are left")
        check(sorted(os.listdir(folder)) == ["a", "a.clean", "b", "b.clean"],
              f"neither cleaned up nor begun: {os.listdir(folder)}")
        check(not os.listdir(scratch), f"left: {os.listdir(scratch)}")


def who_is_stopped_leaves_nothing_behind():
    stop_while_two_run(signal.SIGTERM)


def under_nohup_the_end_of_a_terminal_is_none():
    """Of two signals that are there it takes the lower first, which SIGHUP is. What it
    starts knows of no nohup: a test may be about SIGHUP."""
    stop_while_two_run(signal.SIGHUP, signal.SIGTERM, wrapper=(
        "sh", "-c", 'trap "" HUP; exec "$@"', "sh"))


def under_nohup_it_is_none_in_the_foreground_either():
    done = subprocess.run(
        ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", sys.executable, "-B", "-c",
         FOREGROUND], stdout=subprocess.PIPE, text=True, check=False)
    check((done.returncode, done.stdout) == (0, "on\n"), f"{done}")


def who_is_not_read_ends():
    with tempfile.TemporaryDirectory() as folder, \
            tempfile.TemporaryDirectory() as scratch, subprocess.Popen(
                [sys.executable, "-B", "-c", UNREAD, folder], text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env={**os.environ, "TMPDIR": scratch}) as unread:
        while not os.path.exists(f"{folder}/a"):
            check(unread.poll() is None, "it has ended by itself")
            time.sleep(0.01)
        unread.stdout.close()
        with open(f"{folder}/a.go", "w", encoding="ascii"):
            pass
        err = unread.stderr.read()
        check(unread.wait() == 1, "its exit status")
        check(err == "tools/test: [Errno 32] Broken pipe\n", err)
        left = set(os.listdir(folder)) - {"a", "a.go"}
        # The next may have begun.
        check(left <= {"b", "b.clean"} and left != {"b"}, f"{left}")
        check(not os.listdir(scratch), f"left: {os.listdir(scratch)}")


def tsan_runs_in_a_folder_with_a_space():
    with tempfile.TemporaryDirectory() as parent:
        folder = f"{parent}/a folder"
        os.makedirs(f"{folder}/tests")
        shutil.copy("tests/tsan.supp", f"{folder}/tests")
        with open(f"{folder}/p.c", "w", encoding="ascii") as f:
            f.write("int main(void) { return 0; }")
        subprocess.run(["gcc", "-fsanitize=thread", "-o", "p", "p.c"],
                       cwd=folder, check=True)
        done = subprocess.run(
            [sys.executable, "-B", "-c", TSAN, TOOLS], cwd=folder, check=False,
            stderr=subprocess.PIPE, text=True)
    check(done.returncode == 0, done.stderr)


def a_list_that_cannot_be_written_fails():
    for option in ("--help", "--list"):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([f"{TOOLS}/test", option], stdout=full,
                                  stderr=subprocess.PIPE, text=True,
                                  check=False)
        check((done.returncode, done.stderr) == (
            1, "tools/test: [Errno 28] No space left on device\n"), f"{done}")
        done = subprocess.run(["sh", "-c", 'exec "$0" "$1" >&-',
                               f"{TOOLS}/test", option], check=False,
                              stderr=subprocess.PIPE, text=True)
        check((done.returncode, done.stderr) == (
            1, "tools/test: Bad file descriptor\n"), f"{done}")


def output(*argv):
    return subprocess.run(argv, check=True, capture_output=True,
                          text=True).stdout


def a_tree_that_was_copied_tests_itself():
    with tempfile.TemporaryDirectory() as folder:
        folder = os.path.realpath(folder)
        os.makedirs(f"{folder}/first/tools")
        shutil.copy(f"{TOOLS}/build", f"{folder}/first/tools")
        for name, text in SMALL_TREE.items():
            with open(f"{folder}/first/{name}", "w", encoding="ascii") as f:
                f.write(text)
        output(f"{folder}/first/tools/build", "test")
        shutil.copytree(f"{folder}/first", f"{folder}/copy")
        for tree in ("first", "copy"):
            output(f"{folder}/{tree}/tools/build", "test")
            listed = json.loads(output("meson", "introspect", "--tests",
                                       f"{folder}/{tree}/build-test"))
            check([t["cmd"] for t in listed]
                  == [[f"{folder}/{tree}/build-test/t"]], f"{tree}: {listed}")


def what_meson_asks_for_is_in_the_group_of_the_build():
    with open(f"{TOOLS}/setup", encoding="utf-8") as f:
        group = re.search(r'\[build\]="([^"]*)"', f.read())[1].split()
    asked = json.loads(output("meson", "introspect", "--dependencies", BUILD))
    folders = {d["name"]: subprocess.run(
        ["pkgconf", "--variable=pcfiledir", d["name"]], check=False,
        capture_output=True, text=True).stdout.strip() for d in asked}
    check(folders["libdpdk"], folders)
    for name, folder in folders.items():
        if folder:  # it is in a package, not the compiler's
            package = output("dpkg", "-S", f"{folder}/{name}.pc").split(":")[0]
            check(package in group, f"{name}: {package} is not in the group")


def main():
    os.chdir(TOP)
    tap = Tap()
    for test in (an_exit_status_tells, what_it_said_last_tells_why,
                 who_skips_after_a_failure_fails,
                 a_skipped_case_has_a_reason,
                 who_does_not_run_all_that_was_planned_fails,
                 what_needs_root_skips_without,
                 durations_that_are_no_numbers_are_refused, who_is_late_fails,
                 who_is_late_cleans_up, who_does_not_end_when_told_is_ended,
                 a_test_that_is_told_to_end_cleans_up,
                 side_by_side_the_order_stays, the_end_says_how_long_it_took,
                 who_is_stopped_leaves_nothing_behind,
                 under_nohup_the_end_of_a_terminal_is_none,
                 under_nohup_it_is_none_in_the_foreground_either,
                 who_is_not_read_ends,
                 a_list_that_cannot_be_written_fails,
                 tsan_runs_in_a_folder_with_a_space,
                 a_tree_that_was_copied_tests_itself,
                 what_meson_asks_for_is_in_the_group_of_the_build):
        tap.run(test.__name__.replace("_", " "), test)
    tap.finish()


if __name__ == "__main__":
    main()
