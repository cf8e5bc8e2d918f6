# SPDX-License-Identifier: BSD-3-Clause
"""tools/top: beside weir-testpmd, and beside a process that we play."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

import manual
import terminal
from played import PID, WORKERS, Played, Scene
from weirtest import (BAD_FILE, CLOSED, FULL_DISK, NO_SPACE, TWO_NULL, Tap,
                      Testpmd, check)

SECONDS = 60  # until what must come has come
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                   "tools", "top")
CONNECTIONS = 10  # that EAL admits
INTERVAL = ("--interval", "0.1")
UNITS = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}


def command(*arguments):
    return [sys.executable, "-B", TOP, *arguments]


def run(*arguments, env=None, stdout=subprocess.PIPE, wrapper=()):
    """Runs tools/top: exit status, lines of stdout and of stderr."""
    done = subprocess.run([*wrapper, *command(*arguments)],
                          stdin=subprocess.DEVNULL, stdout=stdout,
                          stderr=subprocess.PIPE, text=True, check=False,
                          timeout=SECONDS,
                          env={**os.environ, **(env or {})})
    return (done.returncode, (done.stdout or "").splitlines(),
            done.stderr.splitlines())


def in_terminal(*arguments, **kwargs):
    return terminal.Terminal(command(*arguments), **kwargs)


def once(*arguments, env=None):
    """The lines of a frame."""
    status, out, err = run("--once", *arguments, env=env)
    check(status == 0 and not err, f"exit status {status}: {out} {err}")
    return out


def tables(lines):
    """The rows of each table, by the first word of its header."""
    found, rows = {}, None
    for before, line in zip(lines, lines[1:]):
        cells = re.split(r" {2,}", line.strip())
        if not before:
            rows = found[cells[0]] = []
            header = cells
        elif line and rows is not None:
            rows.append(dict(zip(header, cells)))
    return found


def number(text):
    m = re.fullmatch(r"([\d.]+)([kMG]?)", text)
    check(m, f"no number: {text}")
    return float(m[1]) * UNITS[m[2]]


def refused(arguments, status, *texts, env=None):
    got, out, err = run("--once", *arguments, env=env)
    check(got == status, f"exit status {got}, not {status}: {err}")
    check(not out, f"stdout: {out}")
    check(len(err) == 1 and err[0].startswith("tools/top: ")
          and all(text in err[0] for text in texts), f"stderr: {err}")


def played(scene, *arguments):
    with Played(scene) as process:
        return once("--socket", process.path, *INTERVAL, *arguments)


# A real process.

@contextlib.contextmanager
def real():
    """A weir-testpmd and how to get at it."""
    with Testpmd((), TWO_NULL, WORKERS, telemetry=True) as testpmd:
        testpmd.wait_started()
        yield (testpmd, ("--file-prefix", testpmd.prefix),
               {"RUNTIME_DIRECTORY": testpmd.runtime})


def figures():
    with real() as (testpmd, place, env):
        lines = once(*place, env=env)
        testpmd.stop().check_clean()
    check(f"of process {testpmd.process.pid}," in lines[0], lines[0])
    found = tables(lines)
    runtime, = found["runtime"]
    check(number(runtime["tasks"]) == len(TWO_NULL), f"{runtime}")
    check(number(runtime["polls/s"]) > 0, f"{runtime}")
    workers = found["worker"]
    check([w["lcore"] for w in workers] == ["1", "2"], f"{workers}")
    check(all(w["state"] == "active" for w in workers), f"{workers}")
    check(sum(number(w["polls/s"]) for w in workers) > 0, f"{workers}")
    check(any(w["busy"] not in ("-", "0%") for w in workers), f"{workers}")
    check(sum(number(w["source polls/s"]) for w in workers) > 0, f"{workers}")
    tasks = found["task"]
    check(len(tasks) == len(TWO_NULL) and number(tasks[0]["polls/s"]) > 0,
          f"{tasks}")
    check("times" not in found, f"histograms that are off: {lines}")


def keys_end_it():
    with real() as (testpmd, place, env):
        for key in (b"q", b"\x03"):
            with in_terminal(*place, env=env) as screen:
                screen.wait_text(b"runtime weir of process "
                                 b"%d" % testpmd.process.pid)
                screen.press(key)
                rest = screen.wait_end()
                check(not rest, f"{key}: {rest}")
        testpmd.stop().check_clean()


def process_ends():
    with real() as (testpmd, place, env), \
         in_terminal(*place, *INTERVAL, env=env) as screen:
        screen.wait_text(b"runtime weir")
        testpmd.stop().check_clean()
        rest = screen.wait_end()
        check(rest == f"tools/top: runtime weir of process "
              f"{testpmd.process.pid} has ended", rest)


# A process that we play.

def all_columns():
    found = tables(played(Scene()))
    runtime, = found["runtime"]
    check([runtime[k] for k in ("tasks", "inject", "blocking threads", "jobs",
                                "queued")] == ["2", "7", "3", "1", "5"],
          f"{runtime}")
    check(all(number(runtime[k]) > 0 for k in
              ("spawns/s", "polls/s", "forced yields/s")), f"{runtime}")
    active, retired = found["worker"]
    check(all(number(active[k]) > 0 for k in
              ("polls/s", "parks/s", "steals/s", "source polls/s")),
          f"{active}")
    check((active["state"], active["queue"], active["empty"],
           active["longest gap"]) == ("active", "9", "50%", "218 us"),
          f"{active}")
    check((retired["state"], retired["busy"], retired["polls/s"],
           retired["empty"]) == ("off", "0%", "0", "-"), f"{retired}")
    check([t["name"] for t in found["task"]] == ["task-2", "task-1"],
          f"{found['task']}")
    check("thief" not in found and "times" not in found, f"{found}")


def worker_of_no_lcore():
    """A current-thread runtime's has LCORE_ID_ANY."""
    def worker(scene, index):
        return {**scene.worker("weir", index), "lcore": 2 ** 32 - 1}
    rows = tables(played(Scene(**{"/weir/worker": worker})))["worker"]
    check([row["lcore"] for row in rows] == ["-", "-"], f"{rows}")


def steals_and_times():
    found = tables(played(Scene(**{
        # All of them at once there may be no room for.
        "/weir/steals": lambda _, thief: {
            thief: {"0": [0, 3], "1": [0, 0]}[thief]},
        "/weir/histogram": lambda *_: {
            "count": 12345, "p50_ns": 999, "p90_ns": 1000, "p99_ns": 25500,
            "p999_ns": 1234567, "p9999_ns": 2 * 10 ** 9, "max_ns": 0}})))
    check(found["thief"] == [{"thief": "0", "0": "0", "1": "3"}],
          f"{found['thief']}")
    row = {"count": "12.3k", "50%": "999 ns", "90%": "1 us", "99%": "25.5 us",
           "99.9%": "1.23 ms", "99.99%": "2 s", "longest": "0 ns"}
    check(found["times"] == [{"times": "polls", **row},
                             {"times": "wake to run", **row}],
          f"{found['times']}")


def counts_begin_again():
    lines = played(Scene(step=-1000))
    runtime, = tables(lines)["runtime"]
    active = tables(lines)["worker"][0]
    check((runtime["polls/s"], active["polls/s"], active["busy"],
           active["empty"]) == ("-",) * 4, f"{lines}")
    check(not re.search(r"-\d", "\n".join(
        line for line in lines if "task-" not in line)), f"negative: {lines}")


def new_task_has_no_rate():
    def tasks(scene, *_):
        return {} if scene.samples < 3 else Scene.tasks(scene)
    rows = tables(played(Scene(**{"/weir/tasks": tasks})))["task"]
    check([t["polls/s"] for t in rows] == ["-", "-"], f"{rows}")


def many_tasks():
    def tasks(scene, limit):
        return {str(i): {**scene.tasks(None)["1"], "polls": scene.count(0) * i}
                for i in range(int(limit))}

    def info(scene):
        return {**scene.info("weir"), "live_tasks": 1000}
    lines = played(Scene(**{"/weir/tasks": tasks, "/weir/info": info}))
    rows = tables(lines)["task"][:-1]
    check([row["task"] for row in rows] ==
          [str(i) for i in range(63, 53, -1)], f"{rows}")
    check(lines[-1] == "the busiest of 64; the other 936 are not listed",
          lines[-1])


def long_names():
    """What an answer has no room for is left out, below the limit too."""
    def tasks(scene, _):
        rows = {}
        for i in range(60):
            row = {**scene.tasks(None)["1"], "name": '"' * 127}
            more = {**rows, str(i): row}
            if len(json.dumps({"/weir/tasks": more})) <= Played.SIZE:
                rows = more
        listed.add(len(rows))
        return rows

    def info(scene):
        return {**scene.info("weir"), "live_tasks": 60}
    listed = set()
    lines = played(Scene(**{"/weir/tasks": tasks, "/weir/info": info}))
    n, = listed
    check(n < 60 and lines[-1] == f"the busiest of {n}; the other {60 - n} "
          "are not listed", lines[-1])


def tasks_end_meanwhile():
    """Those that have ended are none that are not listed."""
    def info(scene):
        return {**scene.info("weir"), "live_tasks": 100}
    lines = played(Scene(**{"/weir/info": info}))
    check("task-1" in lines[-1], lines[-1])


def names_move_no_cursor():
    def tasks(scene, *_):
        return {"1": {**scene.tasks(None)["1"], "name": "a\n\x1b[2J\0\u20ac"}}
    lines = played(Scene(**{"/weir/tasks": tasks}))
    check("  a??[2J??  " in lines[-1], f"{lines}")


def several_runtimes():
    with Played(Scene(names=("one", "two"))) as process:
        refused(("--socket", process.path), 1,
                "--runtime: which one? There are: one two")
    with Played(Scene(names=("one", "\n\x1b[2J"))) as process:
        refused(("--socket", process.path), 1, "There are: one ??[2J")
    lines = played(Scene(names=("one", "two")), "--runtime", "two")
    check(lines[0] == f"runtime two of process {PID}, every 0.1 s", lines[0])
    check([r["runtime"] for r in tables(lines)["runtime"]] == ["one", "two"],
          f"{lines}")


def other_runtime_ends():
    def info(scene, *_):
        return None if scene.samples > 2 else scene.info("two")

    class Two(Scene):
        def __call__(self, request, name=None, *rest):
            if (request, name) == ("/weir/info", "two"):
                return info(self)
            return super().__call__(request, name, *rest)
    lines = played(Two(names=("one", "two")), "--runtime", "one")
    check([r["runtime"] for r in tables(lines)["runtime"]] == ["one"],
          f"{lines}")


def ends_meanwhile(ending):
    """Between two samples, or in the middle of one."""
    with Played(Scene(**ending)) as process:
        status, out, err = run("--once", "--socket", process.path, *INTERVAL)
    check((status, out, err) == (0, [f"tools/top: runtime weir of process "
                                     f"{PID} has ended"], []),
          f"{status} {out} {err}")


def after_first_sample(result):
    """An answer of None, or an end, once one sample has been taken."""
    def answer(scene, *rest):
        if scene.samples < 3:
            return Scene.worker(scene, "weir", *rest)
        if result is EOFError:
            raise EOFError
        return result
    return answer


def list_ends(scene, *_):
    names = Scene.list(scene, None)
    return names if scene.samples < 3 else []


def refreshed():
    """It looks again and again, and shows what it then finds."""
    def tasks(scene, *_):
        return {"1": {**scene.tasks(None)["1"],
                      "name": ("uvw", "xyz")[scene.samples // 4 % 2]}}
    with Played(Scene(**{"/weir/tasks": tasks})) as process, \
         in_terminal("--socket", process.path, *INTERVAL) as screen:
        for name in (b"uvw", b"xyz", b"uvw"):
            screen.wait_text(name)
        screen.press(b"q")
        screen.wait_end()


def resized():
    with Played(Scene()) as process, \
         in_terminal("--socket", process.path) as screen:
        screen.wait_text(b"task-1")
        screen.resize(6, 40)
        screen.wait_text(b"lines more)")
        screen.resize(40, 132)
        screen.wait_text(b"task-1")
        screen.press(b"q")
        screen.wait_end()


def small_terminals():
    for size in ((1, 1), (1, 80), (40, 1), (2, 2), (3, 7)):
        with Played(Scene()) as process, \
             in_terminal("--socket", process.path, size=size) as screen:
            # It is read after the first frame has been drawn.
            screen.press(b"q")
            screen.wait_end()


def signals_give_the_terminal_back():
    for which in (signal.SIGTERM, signal.SIGHUP):
        with Played(Scene()) as process, \
             in_terminal("--socket", process.path) as screen:
            screen.wait_text(b"task-1")
            screen.process.send_signal(which)
            screen.wait_end(128 + which)
    with Played(Scene()) as process, \
         in_terminal("--socket", process.path) as screen:
        screen.wait_text(b"task-1")
        screen.press(b"\x1c")
        screen.wait_end(128 + signal.SIGQUIT)


def terminal_goes_away():
    """With SIGHUP, which a controlling terminal sends, and without."""
    for controlling in (True, False):
        with Played(Scene()) as process, \
             in_terminal("--socket", process.path, controlling=controlling,
                         stderr=subprocess.PIPE) as screen:
            screen.wait_text(b"task-1")
            screen.hang_up()
            _, err = screen.process.communicate(timeout=SECONDS)
            got = screen.process.returncode, err
            check(got == (128 + signal.SIGHUP, b""), f"{controlling}: {got}")


def stop_in_interval(*numbers, wrapper=()):
    """The exit status of one that gets these signals between its two samples."""
    with Played(Scene()) as process:
        top = subprocess.Popen(
            [*wrapper, *command("--once", "--socket", process.path,
                                "--interval", "3600")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        deadline = time.monotonic() + SECONDS
        while process.answer.samples < 2:
            check(time.monotonic() < deadline, "it takes no sample")
            time.sleep(0.01)
        for number in numbers:
            top.send_signal(number)
        said = top.communicate(timeout=SECONDS)
        check(said == (b"", b""), f"{said}")
        return top.returncode


def under_nohup():
    """Of two signals that are there it takes the lower first, which SIGHUP is."""
    wrapper = ("sh", "-c", 'trap "" HUP; exec "$@"', "sh")
    got = stop_in_interval(signal.SIGHUP, signal.SIGTERM, wrapper=wrapper)
    check(got == 128 + signal.SIGTERM, f"exit status {got}")


def stopped_once():
    """SIGINT, and a reader that has gone."""
    got = stop_in_interval(signal.SIGINT)
    check(got == 130, f"exit status {got}")
    with Played(Scene()) as process:
        top = subprocess.Popen(
            command("--once", "--socket", process.path, *INTERVAL),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        top.stdout.close()
        _, err = top.communicate(timeout=SECONDS)
        check((err, top.returncode) == (b"", -signal.SIGPIPE),
              f"{err} {top.returncode}")


# What goes wrong.

def full_output():
    """Of a frame, and of the line that tells of an end."""
    for scene in (Scene(), Scene(**{"/weir/list": list_ends})):
        with Played(scene) as process, open("/dev/full", "wb") as full:
            got = run("--once", "--socket", process.path, *INTERVAL,
                      stdout=full)
        check(got == (1, [], [f"tools/top: {NO_SPACE}"]), f"{got}")
    got = run("--help", wrapper=FULL_DISK)
    check(got == (1, [], [f"tools/top: {NO_SPACE}"]), f"{got}")


def closed_streams():
    alone = "needs a terminal; --once does without"
    for options, wrapper, why in (
            (("--once",), CLOSED, BAD_FILE), ((), CLOSED, alone),
            ((), ("sh", "-c", 'exec "$@" <&-', "sh"), alone)):
        with Played(Scene()) as process:
            got = run(*options, "--socket", process.path, *INTERVAL,
                      wrapper=wrapper)
        check(got == (1, [], [f"tools/top: {why}"]), f"{got}")


def bad_terminal():
    with Played(Scene()) as process:
        status, out, err = run("--socket", process.path)
        check((status, out, err) == (
            1, [], ["tools/top: needs a terminal; --once does without"]),
            f"{status} {out} {err}")
    with Played(Scene()) as process, \
         in_terminal("--socket", process.path, term="bogus") as screen:
        screen.wait_text(b"tools/top: TERM bogus: no such terminal")
        check(screen.process.wait(SECONDS) == 1, "exit status not 1")


def no_socket():
    with tempfile.TemporaryDirectory(prefix="weir-system-") as folder:
        env = {"RUNTIME_DIRECTORY": folder}
        refused((), 1, "--file-prefix rte: ", f"{folder}/dpdk/rte/",
                "No such file", env=env)
        refused(("--file-prefix", "nix"), 1, "--file-prefix nix: ", env=env)
        refused(("--socket", f"{folder}/none"), 1, f"--socket {folder}/none: "
                "No such file")
        refused(("--socket", folder + "/x" * 60), 1, "AF_UNIX path too long")
        dead = f"{folder}/dead"
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.bind(dead)
        refused(("--socket", dead), 1, f"--socket {dead}: Connection refused")


def wrong_peers():
    def other_version(_, *__):
        return {"name": "weir"}

    for scene, greeting, text in (
            (lambda *_: None, Played.GREETING, f"no Weir in process {PID}"),
            (Scene(names=()), Played.GREETING, f"no runtime in process {PID}"),
            (None, b"{}", "not DPDK's telemetry"),
            (None, b"7", "not DPDK's telemetry"),
            (None, b"hello", "the answer is no JSON"),
            (Scene(**{"/weir/info": other_version}), Played.GREETING,
             "no 'workers' in the answer: is its Weir of another version?"),
            (None, None, "no answer within 5 s")):
        with Played(scene, greeting) as process:
            refused(("--socket", process.path), 1,
                    f"--socket {process.path}: ", text)


def wrong_sizes():
    for size in ("16384", None, 0, -1, 10 ** 30):
        greeting = json.dumps({"pid": PID, "max_output_len": size}).encode()
        with Played(Scene(), greeting) as process:
            refused(("--socket", process.path), 1, "not DPDK's telemetry")


def wrong_answers():
    """Of another kind than what is asked for."""
    for request, answer in (
            ("/weir/info", [1]), ("/weir/info", "x"), ("/weir/list", 7),
            ("/weir/worker", [1]), ("/weir/steals", [1]),
            ("/weir/steals", {"0": 1}), ("/weir/histogram", [1]),
            ("/weir/tasks", {"1": 7})):
        with Played(Scene(**{request: lambda *_, a=answer: a})) as process:
            refused(("--socket", process.path, *INTERVAL), 1,
                    f"--socket {process.path}: the answer is of another kind: "
                    "is its Weir of another version?")


def too_many_connections():
    with real() as (testpmd, place, env), contextlib.ExitStack() as stack:
        path = os.path.join(testpmd.runtime, "dpdk", testpmd.prefix,
                            "dpdk_telemetry.v2")
        for _ in range(CONNECTIONS):
            s = stack.enter_context(
                socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
            s.connect(path)
            check(s.recv(1024), "no greeting")
        refused(place, 1, f"{path}: hangs up", env=env)
        stack.close()
        testpmd.stop().check_clean()


def unknown_runtime():
    with real() as (testpmd, place, env):
        refused((*place, "--runtime", "nobody"), 1,
                "--runtime nobody: no such runtime; there are: weir", env=env)
        testpmd.stop().check_clean()


def bad_options():
    for value in ("0", "-1", "0.01", "3601", "nan", "inf", "soon", "", "1_0",
                  " 1", "."):
        refused((f"--interval={value}",), 2,
                f"--interval: must be seconds, 0.1 to 3600, not '{value}'")
    refused(("--interval",), 2, "--interval: expected one argument")
    refused(("--bogus",), 2, "--bogus")
    refused(("--bogus\n\x1b[2J",), 2, "--bogus??[2J")
    # With nowhere to say it.
    for where in (">/dev/full", ">&-"):
        got = run("--bogus", wrapper=("sh", "-c", f'exec "$@" 2{where}', "sh"))
        check(got == (2, [], []), f"stderr {where}: {got}")
    refused(("--socket", "a\n\x1b[2J\x9b"), 1, "--socket a??[2J?: No such")
    refused(("--socket", "x", "--file-prefix", "y"), 2, "--file-prefix",
            "not allowed with", "--socket")
    status, out, err = run("--help")
    check(status == 0 and not err and any("--interval" in o for o in out),
          f"{status} {out} {err}")


def manual_has_the_options_of_the_help():
    """And no others."""
    _, out, _ = run("--help")
    there = set(re.findall(r"^  (?:-h, )?--([a-z-]+)", "\n".join(out),
                           re.MULTILINE))
    synopsis = manual.text("weir-top").split(".Sh DESCRIPTION")[0]
    check(manual.in_synopsis(synopsis) == there,
          f"synopsis: {manual.in_synopsis(synopsis)}, not {there}")
    check(set(manual.described("weir-top")) == there,
          f"options: {manual.described('weir-top')}, not {there}")


def main():
    tap = Tap()
    tap.run("figures of weir-testpmd", figures)
    tap.run("q and Ctrl-C", keys_end_it)
    tap.run("the process ends", process_ends)
    tap.run("all columns", all_columns)
    tap.run("no lcore", worker_of_no_lcore)
    tap.run("steals and times", steals_and_times)
    tap.run("counts begin again", counts_begin_again)
    tap.run("new task", new_task_has_no_rate)
    tap.run("many tasks", many_tasks)
    tap.run("tasks with long names", long_names)
    tap.run("tasks end meanwhile", tasks_end_meanwhile)
    tap.run("strange names", names_move_no_cursor)
    tap.run("several runtimes", several_runtimes)
    tap.run("another runtime ends", other_runtime_ends)
    for what, ending in (
            ("runtime ends", {"/weir/list": list_ends}),
            ("runtime ends in the middle",
             {"/weir/worker": after_first_sample(None)}),
            ("process ends in the middle",
             {"/weir/worker": after_first_sample(EOFError)})):
        tap.run(what, ends_meanwhile, ending)
    tap.run("refreshed", refreshed)
    tap.run("resized", resized)
    tap.run("small terminals", small_terminals)
    tap.run("SIGTERM, SIGHUP and Ctrl-\\", signals_give_the_terminal_back)
    tap.run("SIGHUP under nohup", under_nohup)
    tap.run("the terminal goes away", terminal_goes_away)
    tap.run("--once is stopped", stopped_once)
    tap.run("no space for the output", full_output)
    tap.run("closed streams", closed_streams)
    tap.run("bad terminal", bad_terminal)
    tap.run("no socket", no_socket)
    tap.run("not what it should be", wrong_peers)
    tap.run("no size of answers", wrong_sizes)
    tap.run("answers of another kind", wrong_answers)
    tap.run("too many connections", too_many_connections)
    tap.run("unknown runtime", unknown_runtime)
    tap.run("bad options", bad_options)
    tap.run("options of the manual", manual_has_the_options_of_the_help)
    tap.run("the manual", manual.is_well_formed, "weir-top")
    tap.finish()


if __name__ == "__main__":
    main()
