# SPDX-License-Identifier: BSD-3-Clause
"""The lcore maps that weir-lcores suggests.

Usage: test_suggest.py WEIR_LCORES
"""

import os
import random
import re
import tempfile

from lcorestool import ask, items, machine, machines, made, refused, run
from weirtest import Tap, check, seed

# Machine, options, the map, and the rules that the check has warnings of.
SUGGESTED = (
    ("container", "--ports 1",
     "port 0 0000:3b:00.0; main 1; lcore 10 rx=0.0", ""),
    ("container", "--ports 2 --workers 3",
     "port 0 0000:3b:00.0; port 1 0000:3b:00.1; main 1; lcore 9 rx=1.0-1; "
     "lcore 10 rx=0.0; lcore 11 rx=0.1", "main-near"),
    ("eight_nodes", "--ports 2 --mpps 15",
     "port 0 0000:05:00.0; port 1 10000:01:00.0; main 0; lcore 8 rx=0.0; "
     "lcore 9 rx=0.1; lcore 14 rx=1.0; lcore 15 rx=1.1", "node-hugepages"),
    ("epyc", "--ports 2 --mpps 20",
     "port 0 0000:21:00.0; port 1 0000:21:00.1; main 0; lcore 2 rx=0.0; "
     "lcore 3 rx=0.1; lcore 4 rx=1.0; lcore 5 rx=1.1", ""),
    # A last-level cache has two cores: the third goes elsewhere.
    ("epyc", "--ports 2 --mpps 25",
     "port 0 0000:21:00.0; port 1 0000:21:00.1; main 0; lcore 2 rx=0.0; "
     "lcore 3 rx=0.1; lcore 4 rx=0.2; lcore 6 rx=1.0; lcore 7 rx=1.1; "
     "lcore 8 rx=1.2", ""),
    ("groups", "--ports 2",
     "port 0 0000:02:00.0; port 1 0000:82:00.0; main 2; lcore 3 rx=0.0; "
     "lcore 6 rx=1.0", "node-memory"),
    # EAL has no CPUs above 1023, which are all that node 4 has.
    ("holes", "--ports 2",
     "port 0 0000:41:00.0; port 1 0000:81:00.0; main 0; "
     "lcore 1 cpus=131 rx=0.0; lcore 2 cpus=132 rx=1.0",
     "queue-far port-alone node-hugepages"),
    ("nps4", "--ports 2 --mpps 20",
     "port 0 0000:01:00.0; port 1 0000:01:00.1; main 0; lcore 12 rx=0.0; "
     "lcore 13 rx=0.1; lcore 14 rx=1.0; lcore 15 rx=1.1", ""),
    # Fewer cores than the load needs: fewer queues, as many on each.
    ("nps4", "--ports 2 --mpps 25",
     "port 0 0000:01:00.0; port 1 0000:01:00.1; main 0; lcore 12 rx=0.0; "
     "lcore 13 rx=0.1; lcore 14 rx=1.0; lcore 15 rx=1.1", ""),
    # Both ports are too little for a core.
    ("nps4", "--ports 2 --mpps 3",
     "port 0 0000:01:00.0; port 1 0000:01:00.1; main 0; lcore 12 rx=0.0,1.0",
     ""),
    ("one_cpu", "--ports 1",
     "port 0 0000:00:03.0; main 0; lcore 1 cpus=0 rx=0.0", "main-near"),
    ("recorded", "--ports 1 --queues 4",
     "port 0 0000:00:03.0; main 0; lcore 1 rx=0.0-3", "node-hugepages"),
    ("snc2", "--ports 2 --mpps 15 --core-mpps 7.5",
     "port 0 0000:31:00.0; port 1 0000:b1:00.0; main 0; lcore 5 rx=0.0; "
     "lcore 6 rx=0.1; lcore 9 rx=1.0; lcore 10 rx=1.1", ""),
    # Bound devices first; isolated CPUs, no SMT siblings.
    ("xeon", "--ports 2 --mpps 20",
     "port 0 0000:18:00.1; port 1 0000:af:00.0; main 0; lcore 2 rx=0.0; "
     "lcore 3 rx=0.1; lcore 10 rx=1.0; lcore 11 rx=1.1", ""),
    ("xeon", "--ports af:00.0,18:00.0",
     "port 0 0000:18:00.0; port 1 0000:af:00.0; main 0; lcore 2 rx=0.0; "
     "lcore 10 rx=1.0", ""),
    # No more than the cores that were set apart, if nobody asks for more.
    ("xeon", "--ports af:00.0 --queues 8",
     "port 0 0000:af:00.0; main 0; lcore 10 rx=0.0-1; lcore 11 rx=0.2; "
     "lcore 12 rx=0.3; lcore 13 rx=0.4-5; lcore 14 rx=0.6; lcore 15 rx=0.7",
     ""),
    # More than the port's node has, SMT siblings too: the rest steals.
    ("container", "--ports 1 --workers 5",
     "port 0 0000:3b:00.0; main 1; lcore 2 rx=0.0; lcore 3 rx=0.1; "
     "lcore 9 rx=0.2; lcore 10 rx=0.3; lcore 11 rx=0.4",
     "core-shared main-near cpu-balanced cpu-tick"),
    # A core does two of a port's queues, and each port has its own cores.
    ("xeon", "--ports 18:00.0,18:00.1 --queues 3 --mpps 15",
     "port 0 0000:18:00.0; port 1 0000:18:00.1; main 0; lcore 2 rx=0.0-1; "
     "lcore 3 rx=0.2; lcore 4 rx=1.0-1; lcore 5 rx=1.2", ""),
    # 4.2 / 1.4 is more than 3 when it is rounded.
    ("xeon", "--ports 1 --mpps 4.2 --core-mpps 1.4",
     "port 0 0000:18:00.1; main 0; lcore 2 rx=0.0; lcore 3 rx=0.1; "
     "lcore 4 rx=0.2", ""),
    ("xeon", "--ports 1 --queues 1 --workers 2",
     "port 0 0000:18:00.1; main 0; lcore 2 rx=0.0; lcore 3", ""),
)


def is_short(out):
    return any(text in out for text in
               ("less than the load needs", "more than a core does"))


def suggested(name, args):
    """What it prints; its status and a line say whether it is enough."""
    done = run("suggest", *args, "--from", machine(name))
    said = f"{name} {' '.join(args)}:\n{done.stdout}"
    short = is_short(done.stdout)
    check(done.returncode == short, f"exit status {done.returncode}: {said}")
    check(bool(done.stderr) == short, f"{done.stderr}: {said}")
    return done.stdout


def suggest(name, options, expected, rules):
    out = suggested(name, options.split())
    check(items(out) == expected, f"another map:\n{items(out)}")
    found = set(re.findall(r"^# warning ([a-z-]+):", out, re.MULTILINE))
    check(found == set(rules.split()), f"warnings: {' '.join(found)}")
    check(not re.search("^# error", out, re.MULTILINE), "an error")


def choices_are_those_of_the_guide():
    def lcores(path, *args):
        out = items(ask("suggest", *args, "--from", path))
        return re.findall(r"(?:lcore|main) \d+(?: rx=[^;]+)?", out)

    # A port's queues stay in one cache, even beside another port's.
    with made([range(9), range(9, 11)], nic_nodes=(0, 0)) as path:
        got = lcores(path, "--ports", "2", "--queues", "4")
        check(got[1:] == [f"lcore {i} rx={(i - 1) // 4}.{(i - 1) % 4}"
                          for i in range(1, 9)], f"{got}")
    # Ports are in different ones, even if there is room in the larger.
    with made([range(16), range(16, 20)], nic_nodes=(0, 0)) as path:
        got = lcores(path, "--ports", "2", "--queues", "2")
        check(got[1:] == ["lcore 1 rx=0.0", "lcore 2 rx=0.1",
                          "lcore 16 rx=1.0", "lcore 17 rx=1.1"], f"{got}")
    # CPU 0 comes last of those that were set apart, and before others.
    with made([range(8)], isolated="0-3") as path:
        got = lcores(path, "--ports", "1", "--queues", "3")
        check(got == ["main 4", "lcore 1 rx=0.0", "lcore 2 rx=0.1",
                      "lcore 3 rx=0.2"], f"{got}")
        got = lcores(path, "--ports", "1", "--queues", "4")
        check(got[1] == "lcore 0 rx=0.0", f"{got}")
    # All that were set apart count, those without a tick come first.
    with made([range(8)], isolated="1-4", tick_free="3-4") as path:
        got = lcores(path, "--ports", "1", "--queues", "2")
        check(got == ["main 0", "lcore 3 rx=0.0", "lcore 4 rx=0.1"], f"{got}")
        got = lcores(path, "--ports", "1", "--queues", "8")
        check(got == ["main 0"] + [f"lcore {i + 1} rx=0.{2 * i}-{2 * i + 1}"
                                   for i in range(4)], f"{got}")
    # All that the port's node has is the main lcore's.
    with made([[0], [1]], nodes=[[0], [1]]) as path:
        got = lcores(path, "--ports", "1")
        check(got == ["main 0", "lcore 1 rx=0.0"], f"{got}")
    # No port tells its node.
    with made([range(2), range(2, 6)], nodes=[range(2), range(2, 6)],
              nic_nodes=(-1,)) as path:
        got = lcores(path, "--ports", "1", "--workers", "2")
        check(got == ["main 0", "lcore 2 rx=0.0", "lcore 3 rx=0.1"], f"{got}")
    # More workers than the port's node has: those elsewhere steal.
    with made([range(3), range(3, 6)], nodes=[range(3), range(3, 6)]) as path:
        got = lcores(path, "--ports", "1", "--workers", "3")
        check(got == ["main 0", "lcore 1 rx=0.0", "lcore 2 rx=0.1", "lcore 3"],
              f"{got}")


def checked_with_its_findings(name, options):
    """What it says of a map is what the check says of it."""
    out = suggested(name, options.split())
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "map")
        with open(path, "w", encoding="ascii") as f:
            f.write(out)
        found = ask("check", path, "--from", machine(name)).splitlines()[:-1]
    said = re.findall(r"^# ((?:error|warning|note) [a-z-]+: .*)$", out,
                      re.MULTILINE)
    check(found == said, f"{found} is not {said}")


def all_machines_have_a_map():
    check(set(machines()) == {row[0] for row in SUGGESTED}, "not all")


def options_to_paste():
    out = ask("suggest", "--ports", "2", "--from", machine("holes"))
    check("\n# EAL: --lcores 0@0,1@131,2@132 --main-lcore 0 "
          "-a 0000:41:00.0 -a 0000:81:00.0\n" in out, out)
    check("\n# application: --rxq 1 --config '(0,0,1),(1,0,2)'\n" in out, out)
    # What is to be pasted needs an option more there.
    check(re.search(r"\n# warning node-hugepages: .* only with --no-huge", out),
          out)


def reasons_are_given():
    out = suggested("container", ["--ports", "2", "--mpps", "40"])
    for text in ("# 40 Mpps a port, 10 Mpps a core",
                 "# node 0 has cores for 3 of 8 workers: less than the load",
                 "# a queue is more than a core does",
                 "its driver is ice: EAL may need vfio-pci",
                 "beside the main lcore on its core: no other was free",
                 "isolated, no tick"):
        check(text in out, f"no '{text}' in:\n{out}")
    out = suggested("xeon", "--ports 4 --mpps 10 --workers 1".split())
    for text in ("# node 0 has 1 of 2 workers: less than the load needs",
                 "# node 1 has 0 of 2 workers: less than the load needs"):
        check(text in out, f"no '{text}' in:\n{out}")


# Whatever is asked for, a CPU is used once, each queue has one worker, and the
# map has no errors.
def any_request_gives_a_sound_map(rng):
    for _ in range(150):
        name = rng.choice(machines())
        out = ask("show", "--from", machine(name))
        allowed = int((re.search(r"\((\d+) allowed\)", out)
                       or re.search(r"(\d+) CPUs?", out))[1])
        ports = rng.randint(1, out.count("  device  "))
        args = ["--ports", str(ports)]
        if rng.random() < 0.4:
            args += ["--queues", str(rng.randint(1, 12))]
        if rng.random() < 0.4:
            # Those above 1023 are not EAL's.
            most = max(allowed - 1 - 4 * (name == "holes"), 1)
            args += ["--workers", str(rng.randint(1, most))]
        if rng.random() < 0.5:
            args += ["--mpps", f"{rng.uniform(0.1, 90):.2f}"]
            if rng.random() < 0.3:
                args += ["--core-mpps", f"{rng.uniform(0.5, 40):.1f}"]
        sound(name, args, ports)


def mpps(args, option, otherwise):
    return (float(args[args.index(option) + 1]) if option in args
            else otherwise)


def sound(name, args, ports):
    out = suggested(name, args)
    said = f"{name} {' '.join(args)}:\n{out}"
    check("# error" not in out, said)
    used, owners = [], {}
    for item in items(out).split("; "):
        m = re.fullmatch(r"lcore (\d+)(?: cpus=(\d+))?(?: rx=(\S+))?", item)
        if m is None:
            check(item.startswith(("port ", "main ")), said)
            continue
        used.append(m[2] or m[1])
        for part in filter(None, (m[3] or "").split(",")):
            port, first, last = re.fullmatch(r"(\d+)\.(\d+)(?:-(\d+))?",
                                             part).groups()
            for q in range(int(first), int(last or first) + 1):
                check((port, q) not in owners, said)
                owners[port, q] = m[1]
    check(len(set(used)) == len(used), said)
    queues = int(re.search(r"--rxq (\d+)", out)[1])
    most = max(list(owners.values()).count(o) for o in owners.values())
    load = most * mpps(args, "--mpps", 0) / queues
    # Rounding is nobody's loss of packets.
    check(is_short(out)
          == (load > mpps(args, "--core-mpps", 10) * 1.000001), said)
    check(len(owners) == ports * queues, said)
    if "--workers" in args:
        check(len(used) == int(args[args.index("--workers") + 1]), said)
    config = re.search(r"--config '(.*)'", out)[1]
    check(sorted(re.findall(r"\((\d+),(\d+),(\d+)\)", config))
          == sorted((p, str(q), o) for (p, q), o in owners.items()), said)


def no_more_workers_than_lcores():
    """EAL has 128 of them; ports of a machine without devices are virtual."""
    with made([range(300)], nic_nodes=()) as path:
        out = ask("suggest", "--ports", "1", "--queues", "300", "--from", path)
        check(items(out).startswith("port 0 none; main 0; lcore 1 rx=0.0-2; "),
              out)
        check(out.count("\nlcore ") == 127, f"{out.count(chr(10) + 'lcore ')}")
        check("# node 0 has cores for 127 of 300 workers\n" in out, out)
        check(" -a " not in out, out)
        out = ask("suggest", "--ports", "1", "--workers", "127", "--from", path)
        check(items(out).endswith("lcore 127 rx=0.126"), out)


def more_than_there_is():
    for name, args, text in (
            ("one_cpu", ("--ports", "1", "--workers", "2"),
             "--workers 2: must be at most 1: one CPU of those allowed, 1, is "
             "the main lcore's"),
            ("container", ("--ports", "1", "--workers", "6"),
             "--workers 6: must be at most 5"),
            ("xeon", ("--ports", "2", "--mpps", "1000"),
             "--mpps 1000: more than the workers of the map do"),
            # Workers enough, but not for one queue.
            ("xeon", ("--ports", "1", "--mpps", "20", "--queues", "1"),
             "--mpps 20: more than the workers of the map do"),
            # No more workers than were asked for.
            ("xeon", ("--ports", "4", "--mpps", "10", "--workers", "1"),
             "--mpps 10: more than the workers of the map do")):
        refused(run("suggest", *args, "--from", machine(name)), text, 1)


def main():
    tap = Tap()
    rng = random.Random(seed())
    for name, options, expected, rules in SUGGESTED:
        tap.run(f"{options} on {name}", suggest, name, options, expected,
                rules)
        tap.run("and what it says of it", checked_with_its_findings, name,
                options)
    tap.run("all machines have a map", all_machines_have_a_map)
    tap.run("choices of the guide", choices_are_those_of_the_guide)
    tap.run("options to paste", options_to_paste)
    tap.run("reasons", reasons_are_given)
    tap.run("any request", any_request_gives_a_sound_map, rng)
    tap.run("as many as EAL has", no_more_workers_than_lcores)
    tap.run("more than there is", more_than_there_is)
    tap.finish()


if __name__ == "__main__":
    main()
