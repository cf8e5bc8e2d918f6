# SPDX-License-Identifier: BSD-3-Clause
"""A running weir-testpmd answers over DPDK's telemetry socket."""

import contextlib
import json
import socket
import time

from weirtest import TWO_NULL, Tap, Testpmd, check

WORKERS = 2


class Telemetry:
    """A connection. Use as a context manager."""

    def __init__(self, testpmd):
        path = f"{testpmd.runtime}/dpdk/{testpmd.prefix}/dpdk_telemetry.v2"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with contextlib.ExitStack() as stack:
            stack.callback(self.socket.close)
            self.socket.connect(path)
            greeting = json.loads(self.socket.recv(1024))
            stack.pop_all()
        self.size = greeting["max_output_len"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def ask(self, request):
        self.socket.send(request.encode())
        answer = json.loads(self.socket.recv(self.size))
        check(len(answer) == 1, f"{request}: {answer}")
        return answer[request.split(",")[0]]


def wait_polled(telemetry, seconds=30):
    """Until every task has had a turn."""
    end = time.monotonic() + seconds
    while not all(task["polls"] for task in
                  telemetry.ask("/weir/tasks,weir").values()):
        check(time.monotonic() < end, f"not polled within {seconds} s")


def running(function):
    with Testpmd((), TWO_NULL, WORKERS, telemetry=True) as testpmd:
        testpmd.wait_started()
        with Telemetry(testpmd) as telemetry:
            wait_polled(telemetry)
            function(telemetry)
        testpmd.stop().check_clean()


def commands(telemetry):
    known = telemetry.ask("/")
    for name in ("list", "info", "worker", "node", "steals", "tasks",
                 "histogram"):
        check(f"/weir/{name}" in known, f"no /weir/{name} among {known}")
        text = telemetry.ask(f"/help,/weir/{name}")
        check(text, f"no help for /weir/{name}")


def figures(telemetry):
    name, = telemetry.ask("/weir/list")
    info = telemetry.ask(f"/weir/info,{name}")
    check((info["name"], info["workers"]) == (name, WORKERS), f"info {info}")
    check(info["live_tasks"] == len(TWO_NULL), f"live {info['live_tasks']}")
    polls = [telemetry.ask(f"/weir/worker,{name},{i}")["polls"]
             for i in range(WORKERS)]
    check(sum(polls) >= info["polls"] > 0,
          f"polls {polls} after a sum of {info['polls']}")
    nodes = [telemetry.ask(f"/weir/node,{name},{i}")
             for i in range(info["nodes"])]
    check(sum(node["workers"] for node in nodes) == WORKERS, f"nodes {nodes}")
    steals = telemetry.ask(f"/weir/steals,{name}")
    check([len(steals[str(i)]) for i in range(WORKERS)] == [WORKERS] * WORKERS,
          f"steals {steals}")
    row = telemetry.ask(f"/weir/steals,{name},0")
    check(row.keys() == {"0"} and len(row["0"]) == WORKERS, f"row {row}")


def tasks(telemetry):
    before = telemetry.ask("/weir/tasks,weir")
    after = telemetry.ask("/weir/tasks,weir,64")
    check(len(before) == len(TWO_NULL), f"tasks {before}")
    check(before.keys() == after.keys(), f"tasks {before}, then {after}")
    check(all(after[i]["polls"] >= before[i]["polls"] > 0 for i in before),
          f"polls of {before}, then {after}")


def nonsense(telemetry):
    for request in ("/weir/info", "/weir/info,nobody", "/weir/worker,weir",
                    "/weir/worker,weir,2", "/weir/tasks,weir,many",
                    "/weir/histogram,weir,poll"):
        answer = telemetry.ask(request)
        check(answer is None, f"{request}: {answer}")


def main():
    tap = Tap()
    tap.run("commands and their help", running, commands)
    tap.run("figures", running, figures)
    tap.run("tasks", running, tasks)
    tap.run("nonsense is answered with null", running, nonsense)
    tap.finish()


if __name__ == "__main__":
    main()
