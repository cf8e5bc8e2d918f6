# SPDX-License-Identifier: BSD-3-Clause
"""A running weir-testpmd answers over DPDK's telemetry socket."""

from weirtest import TWO_NULL, Tap, Telemetry, Testpmd, check

WORKERS = 2


def running(function):
    with Testpmd((), TWO_NULL, WORKERS, telemetry=True) as testpmd:
        testpmd.wait_started()
        with Telemetry(testpmd) as telemetry:
            telemetry.wait_for(
                lambda: all(task["polls"] for task in
                            telemetry.ask("/weir/tasks,weir").values()),
                "turn of each task")
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
