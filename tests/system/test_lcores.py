# SPDX-License-Identifier: BSD-3-Clause
"""weir-lcores: what it shows, finds, suggests and refuses.

Usage: test_lcores.py WEIR_LCORES
"""

import contextlib
import glob
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

from weirtest import Skip, Tap, check, seed

BINARY = sys.argv[1]
MARK = "weir-lcores: "
TOP = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
MACHINES = os.path.join(TOP, "tests", "data", "topology")
NOBODY = 65534
ONE_CPU, RECORDED = "one_cpu", "recorded"


def machine(name):
    return os.path.join(MACHINES, name + ".machine")


def machines():
    return sorted(os.path.basename(path)[:-len(".machine")]
                  for path in glob.glob(machine("*")))


def run(*args, binary=BINARY, text=True, **kwargs):
    return subprocess.run([binary, *args], stdin=subprocess.DEVNULL,
                          stdout=kwargs.pop("stdout", subprocess.PIPE),
                          stderr=subprocess.PIPE, text=text, timeout=60,
                          **kwargs)


def ask(*args, status=0):
    """What it prints; to stderr it prints nothing."""
    done = run(*args)
    check(done.returncode == status and not done.stderr,
          f"{args}: exit status {done.returncode}: {done.stderr}")
    return done.stdout


def refused(done, text, status=2):
    """One line, on stderr, in which that is."""
    check(done.returncode == status,
          f"exit status {done.returncode}, not {status}: {done.stderr}")
    lines = done.stderr.splitlines()
    check(len(lines) == 1 and lines[0].startswith(MARK),
          f"not one line: {lines}")
    check(text in lines[0], f"no '{text}' in: {lines[0]}")
    check(lines[0].isprintable(), f"not printable: {lines[0]!r}")


@contextlib.contextmanager
def made(caches, nodes=None, isolated="", nic_nodes=(0,)):
    """A recording of a machine: lists of CPUs by last-level cache and by node,
    and of the nodes of network devices."""
    nodes = nodes or [[cpu for cache in caches for cpu in cache]]
    here, nics = "/sys/devices/system", "/sys/bus/pci/devices"
    every = ",".join(str(cpu) for node in nodes for cpu in node)
    entries = {f"{here}/cpu/present": every, f"{here}/cpu/online": every,
               f"{here}/cpu/isolated": isolated,
               f"{here}/node/online": f"0-{len(nodes) - 1}",
               f"{nics}/": "/".join(f"0000:{i + 1:02x}:00.0"
                                    for i in range(len(nic_nodes)))}
    for cache in caches:
        for cpu in cache:
            entries[f"{here}/cpu/cpu{cpu}/topology/core_cpus_list"] = str(cpu)
            at = f"{here}/cpu/cpu{cpu}/cache/index0"
            entries |= {f"{at}/level": "3", f"{at}/type": "Unified",
                        f"{at}/shared_cpu_list": ",".join(map(str, cache))}
    for i, node in enumerate(nodes):
        entries[f"{here}/node/node{i}/cpulist"] = ",".join(map(str, node))
    for i, node in enumerate(nic_nodes):
        at = f"{nics}/0000:{i + 1:02x}:00.0"
        entries |= {f"{at}/class": "0x020000", f"{at}/vendor": "0x8086",
                    f"{at}/device": "0x1572", f"{at}/numa_node": str(node)}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "made")
        with open(path, "w", encoding="ascii") as f:
            f.write("weir-machine 1\n")
            f.writelines(f"{k} = {v}\n" if v else f"{k} =\n"
                         for k, v in entries.items())
            f.write(f"end {len(entries)}\n")
        yield path


def items(text):
    """A map without its comments."""
    lines = [line.split("#")[0].strip() for line in text.splitlines()]
    return "; ".join(line for line in lines if line)


# show

XEON_MAP = ("main 0; lcore 2 rx=0.0-1; lcore 10 rx=0.2,1.0 park=adaptive; "
            "lcore 3 spare; port 1 0000:af:00.0")

# What `show` has of the machine, among others.
SHOWN = (
    ("xeon", (), "2 packages, 2 nodes, 2 last-level caches, 16 cores, 32 CPUs,"
     " 4 network devices"),
    ("xeon", (), "node 1: package 1, 96.0 GiB, hugepages 4096 x 2 MiB, "
     "8 x 1 GiB\n"),
    ("container", (), "1024 x 2 MiB (512 free)"),
    ("xeon", (), "  device    0000:18:00.0 8086:159b ice ens1f0"),
    ("xeon", (), " 2it/18it "),
    ("xeon", (), "  from 0     10  21"),
    ("xeon", (), "marks:  i isolated  t no tick"),
    ("xeon", ("--map", "lcore 2"), "  lcore 2   worker CPU 2 node 0"),
    ("xeon", ("--map", XEON_MAP), " 10Wit/26it "),
    ("xeon", ("--map", XEON_MAP), "0M/16"),
    ("xeon", ("--map", XEON_MAP), "  lcore 10  worker CPU 10 node 1 park "
     "adaptive rx 0.2 1.0"),
    ("xeon", ("--map", XEON_MAP), "0000:af:00.0 8086:159b vfio-pci = port 1"),
    ("xeon", ("--map", "lcore 2 cpus=2,4"), "worker CPU 2 4 node 0"),
    ("xeon", ("--map", "lcore 99"), "worker CPU 99 (not there)"),
    ("xeon", ("--map", "(0,0,2)", "--ports", "af:00.1"),
     "0000:af:00.1 8086:159b vfio-pci = port 0"),
    ("container", (), "16 CPUs (6 allowed)"),
    ("container", (), "node 1: package 1, 32.0 GiB (not allowed)"),
    ("container", (), "8it-"),
    # Whoever works hardest on a CPU is shown.
    ("one_cpu", ("--map", "lcore 1 cpus=0; main 0"), "  cache 0   0W\n"),
    ("holes", (), "  no CPUs"),
    ("holes", (), "3x"),
    ("holes", (), "no memory"),
    ("holes", (), "node not known:"),
)


def show(name, options, text):
    out = ask("show", "--from", machine(name), *options)
    check(text in out, f"no '{text}' in:\n{out}")


def shown_in_80_columns(name):
    out = ask("show", "--from", machine(name), "--map", "lcore 1 rx=" +
              ",".join(f"0.{i}" for i in range(0, 200, 2)))
    for line in out.splitlines():
        check(len(line) <= 80, f"{len(line)} columns: {line}")
        check(line == line.rstrip(), f"blanks at the end: {line}")


def show_this_machine():
    check("CPU" in ask("show"), "no CPU")


# The picture

SVG = "{http://www.w3.org/2000/svg}"


def picture(path, *options):
    text = ask("show", "--from", path, "--svg", "-", *options)
    check(not re.search(r"href|url\(|@import|https?://(?!www\.w3\.org)", text),
          "it needs something from elsewhere")
    return xml.etree.ElementTree.fromstring(text)


def boxes(root, name):
    """(x, y, right, bottom) of all boxes of a class."""
    found = []
    for rect in root.iter(SVG + "rect"):
        if rect.get("class") == name:
            x, y, w, h = (float(rect.get(k))
                          for k in ("x", "y", "width", "height"))
            found.append((x, y, x + w, y + h))
    return found


def cpus(root):
    """The boxes of CPUs by number; those of the legend have no text."""
    found = {}
    for group in root.iter(SVG + "g"):
        text = group.find(SVG + "text")
        if text is not None:
            rect = group.find(SVG + "rect")
            x, y, w, h = (float(rect.get(k))
                          for k in ("x", "y", "width", "height"))
            found[int(text.text)] = (x, y, x + w, y + h)
    return found


def inside(inner, outer):
    return (inner[0] >= outer[0] and inner[1] >= outer[1]
            and inner[2] <= outer[2] and inner[3] <= outer[3])


def apart(a, b):
    return a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def picture_has_a_place_for_all(path):
    root = picture(path)
    page, = boxes(root, "page")
    nodes, caches, found = boxes(root, "node"), boxes(root, "cache"), cpus(root)
    for group in nodes, caches, list(found.values()), boxes(root, "nic"):
        for i, box in enumerate(group):
            check(inside(box, page), f"{box} is not on the page")
            check(all(apart(box, other) for other in group[:i]),
                  f"{box} is over another")
    check(all(sum(inside(c, n) for n in nodes) == 1 for c in caches),
          "a cache is not inside its node")
    check(all(sum(inside(c, n) for n in caches) == 1 for c in found.values()),
          "a CPU is not inside its cache")
    out = ask("show", "--from", path)
    expected = int(re.search(r"(\d+) CPUs?", out)[1])
    check(len(found) == expected, f"{len(found)} CPUs, not {expected}")
    check(len(boxes(root, "nic")) == out.count("  device  "),
          "not a box for each device")


def picture_of_many_caches():
    with made([[2 * i, 2 * i + 1] for i in range(20)]) as path:
        picture_has_a_place_for_all(path)
    with made([list(range(50))]) as path:
        picture_has_a_place_for_all(path)


def wires_run_between_cores():
    """Also those to the second CPU of a core."""
    root = picture(machine("xeon"), "--map", "(0,0,2),(1,0,18),(1,1,19)")
    found = cpus(root)
    for path in root.iter(SVG + "path"):
        m = re.fullmatch(r"M\d+ \d+H(\d+)V(\d+)H(\d+)V(\d+)H\d+",
                         path.get("d"))
        if m is None:
            continue  # the legend's
        begin, y, x, end = (int(n) for n in m.groups())
        for cpu, (left, top, right, bottom) in found.items():
            check(not (top <= y <= bottom and begin <= right and left <= x),
                  f"{path.get('d')} crosses CPU {cpu}")
            check(not (left <= x <= right and y <= bottom and top <= end),
                  f"{path.get('d')} runs down over CPU {cpu}")


def wires_lead_from_devices_to_workers():
    root = picture(machine("xeon"), "--map", XEON_MAP)
    wires = [(p.get("class"), p.find(SVG + "title").text, p.get("d"))
             for p in root.iter(SVG + "path")
             if p.find(SVG + "title") is not None]
    titles = sorted((title, "far" in kind) for kind, title, _ in wires)
    check(titles == [("port 0: 0.0-1 on lcore 2", False),
                     ("port 0: 0.2 on lcore 10", True),
                     ("port 1: 1.0 on lcore 10", False)], f"{titles}")
    found, devices = cpus(root), boxes(root, "nic")
    for _, title, d in wires:
        x, y, end_y, end_x = (float(n) for n in re.fullmatch(
            r"M(\d+) (\d+)H\d+V\d+H\d+V(\d+)H(\d+)", d).groups())
        check(any(right == x and top < y < bottom
                  for _, top, right, bottom in devices),
              f"{title}: begins at no device")
        left, top, _, bottom = found[int(title.split()[-1])]
        check(end_x == left and top < end_y < bottom,
              f"{title}: does not end at its CPU")


def picture_goes_to_a_file():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "machine.svg")
        out = ask("show", "--from", machine("xeon"), "--svg", path)
        check(out == "", f"there is text too: {out}")
        with open(path, encoding="ascii") as f:
            check(f.read() == ask("show", "--from", machine("xeon"), "--svg",
                                  "-"), "another picture")


def names_from_elsewhere_are_escaped():
    """An interface may have any name."""
    with open(machine("xeon"), encoding="utf-8") as f:
        text = f.read()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "hostile")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace("= ens1f0", "= <&\"'>]]>\\xfc\\x1b[2J"))
        root = xml.etree.ElementTree.fromstring(
            ask("show", "--from", path, "--svg", "-"))
        check(any(t.text.startswith("<&\"'>]]>??")
                  for t in root.iter(SVG + "text") if t.text),
              "not the interface's name")
        out = ask("show", "--from", path)
        check(out.isascii() and "\x1b" not in out, "it got through")


# check

FAR = "(0,0,2),(0,1,10)"


def findings_are_lines():
    out = ask("check", FAR, "--from", machine("xeon")).splitlines()
    check(all(re.fullmatch(r"(error|warning|note) [a-z-]+: .+", line)
              for line in out[:-1]), f"{out}")
    check(out[0].startswith("warning queue-far: port 0 "), f"{out}")
    check(re.fullmatch(r"0 errors, 1 warning, \d notes?", out[-1]),
          f"{out[-1]}")


def errors_end_with_1():
    out = ask("check", "lcore 99", "--from", machine("xeon"), status=1)
    check(out.startswith("error ") and "\n1 error, " in out, out)


def strict_minds_warnings():
    ask("check", "--strict", FAR, "--from", machine("xeon"), status=1)
    ask("check", FAR, "--strict", "--from", machine("xeon"), status=1)
    fine = "main 0; (0,0,2); port 0 0000:18:00.0"
    ask("check", "--strict", fine, "--from", machine("xeon"))


def json_says_the_same(name):
    args = ("check", "main 0; lcore 1 cpus=0"
            if name == ONE_CPU else FAR, "--from", machine(name))
    plain = run(*args)
    done = run(*args, "--json")
    check(done.returncode == plain.returncode, "another status")
    found = json.loads(done.stdout)
    lines = [f"{f['severity']} {f['rule']}: {f['text']}"
             for f in found["findings"]]
    check(lines == plain.stdout.splitlines()[:-1], f"{lines}")
    for kind in "error", "warning", "note":
        check(found[kind + "s"] == sum(line.startswith(kind)
                                       for line in lines), kind)
    for f in found["findings"]:
        for key in "lcore", "port":
            check(f[key] is None or f[key] >= 0, f"{f}")


def ports_are_those_of_the_option():
    """Which EAL numbers by rising address, whatever their order."""
    args = ("check", "(0,0,2),(1,0,10)", "--from", machine("xeon"))
    near = "af:00.1,0000:18:00.1"
    check("queue-far" not in ask(*args, "--ports", near), "near is far")
    check("queue-far" in ask(*args, "--ports", "18:00.0,18:00.1"),
          "far is near")


def map_comes_from_a_file():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "map")
        with open(path, "w", encoding="ascii") as f:
            f.write("# two queues\n" + FAR + "\n")
        args = ("--from", machine("xeon"))
        check(ask("check", path, *args) == ask("check", FAR, *args),
              "the file says something else")


# suggest

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
    ("xeon", "--ports 1 --queues 1 --workers 2",
     "port 0 0000:18:00.1; main 0; lcore 2 rx=0.0; lcore 3", ""),
)


def suggest(name, options, expected, rules):
    out = ask("suggest", *options.split(), "--from", machine(name))
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
    out = ask("suggest", *options.split(), "--from", machine(name))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "map")
        with open(path, "w", encoding="ascii") as f:
            f.write(out)
        found = ask("check", path, "--from", machine(name)).splitlines()[:-1]
    said = re.findall(r"^# ((?:error|warning|note) [a-z-]+: .*)$", out,
                      re.MULTILINE)
    check(found == said, f"{found} is not {said}")


def options_to_paste():
    out = ask("suggest", "--ports", "2", "--from", machine("holes"))
    check("\n# EAL: --lcores 0@0,1@131,2@132 --main-lcore 0 "
          "-a 0000:41:00.0 -a 0000:81:00.0\n" in out, out)
    check("\n# application: --rxq 1 --config '(0,0,1),(1,0,2)'\n" in out, out)


def reasons_are_given():
    out = ask("suggest", "--ports", "2", "--mpps", "40", "--from",
              machine("container"))
    for text in ("# 40 Mpps a port, 10 Mpps a core",
                 "# node 0 has cores for 3 of 8 workers: less than the load",
                 "# a queue is more than a core does",
                 "its driver is ice: EAL may need vfio-pci",
                 "beside the main lcore on its core: no other was free",
                 "isolated, no tick"):
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


def sound(name, args, ports):
    out = ask("suggest", *args, "--from", machine(name))
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
             "--workers 6: must be at most 5")):
        refused(run("suggest", *args, "--from", machine(name)), text, 1)


# diff

BEFORE = "main 0; lcore 2 rx=0.0-1 park=adaptive; lcore 3 rx=0.2; lcore 4 spare"
AFTER = ("port 0 0000:18:00.1; lcore 4; lcore 2 cpus=2,5 node=0 rx=0.0; "
         "lcore 10 rx=0.2,0.1; main 0")

DIFFERENCES = """\
port 0: default -> 0000:18:00.1
lcore 2: CPUs 2 -> 2,5
lcore 2: node any -> 0
lcore 2: park adaptive -> default
lcore 3: worker -> none
lcore 4: spare -> worker
lcore 10: none -> worker
queue 0.1: lcore 2 -> lcore 10
queue 0.2: lcore 3 -> lcore 10
"""


def differences_are_told():
    out = ask("diff", "lcore 1 cpus=1; (0,0,2); port 1 none",
              "lcore 1; port 1 none; lcore 2 rx=0.0")
    check(out == "", out)
    out = ask("diff", BEFORE, AFTER, status=1)
    check(out == DIFFERENCES, out)
    out = ask("diff", BEFORE, AFTER, "--from", machine("xeon"), status=1)
    check("queue 0.1: lcore 2 (node 0) -> lcore 10 (node 1)\n" in out, out)
    out = ask("diff", "lcore 2", "lcore 2 rx=1.1", status=1)
    check(out == "queue 1.1: none -> lcore 2\n", out)
    out = ask("diff", "(1,1,2)", "lcore 2", status=1)
    check(out == "queue 1.1: lcore 2 -> none\n", out)


# record

def without_hugepages(text):
    """Which others may reserve and use meanwhile."""
    return re.sub(r",\s+(no\s)?hugepages.*(\n {8}.*)*", "", text)


def recorded_machine_is_this_one():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "here")
        check(ask("record", path) == "", "it prints")
        check(without_hugepages(ask("show", "--from", path))
              == without_hugepages(ask("show")), "another machine")


# Recordings that are none, or only half.
def bad_recordings_are_refused(rng):
    with open(machine("xeon"), "rb") as f:
        data = f.read()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bad")
        for cut in [0, 1] + [rng.randrange(len(data) - 1) for _ in range(40)]:
            with open(path, "wb") as f:
                f.write(data[:cut])
            refused(run("show", "--from", path), f"--from {path}")
        for _ in range(60):
            damaged = bytearray(data)
            for _ in range(rng.randint(1, 20)):
                damaged[rng.randrange(len(data))] = rng.randrange(256)
            with open(path, "wb") as f:
                f.write(damaged)
            for args in (("show",), ("show", "--svg", "-", "--map", FAR),
                         ("check", FAR), ("suggest", "--ports", "2")):
                done = run(*args, "--from", path, text=False)
                check(done.returncode in (0, 1, 2), f"{done.returncode}")
                lines = done.stderr.decode("ascii", "replace").splitlines()
                check(len(lines) == (done.returncode == 2) or
                      (args[0] == "suggest" and len(lines) <= 1),
                      f"{done.returncode}: {lines}")


# The command line

BAD = (
    ((), "needs a command: show, check, suggest, record or diff"),
    (("shw",), "shw: must be one of show, check, "),
    (("--from", "x"), "--from: must be one of show, check, "),
    (("show", "x"), "x: unexpected; see weir-lcores show --help"),
    (("show", "--svgs"), "--svgs: no such option of show"),
    (("show", "--json"), "--json: no such option of show"),
    (("show", "-x"), "-x: no such option of show"),
    (("show", "--from"), "--from: needs a value"),
    (("show", "--from", "/nosuch"), "--from /nosuch: No such file"),
    (("show", "--from", "/etc/passwd"), "--from /etc/passwd:1: "),
    (("show", "--from", "/nosuch\n/x"), "--from /nosuch?/x: "),
    (("show", "--map", "/nosuch"), "--map /nosuch: No such file"),
    (("show", "--map", "(0,0"), "--map (0,0: line 1: "),
    (("show", "--map="), "--map "),
    (("show", "--svg", "/nosuch/x"), "--svg /nosuch/x: No such file"),
    (("show", "--svg", "/dev/full"), "--svg /dev/full: No space"),
    (("show", "--ports", "01:00.0"), "--ports 0000:01:00.0: needs --map"),
    (("check",), "check: needs MAP"),
    (("check", "a", "b"), "b: unexpected; see weir-lcores check --help"),
    (("check", "/nosuch"), "/nosuch: No such file"),
    (("check", "lcore x"), "lcore x: line 1: 'x': must be the lcore's number"),
    (("check", "lcore 1; lcore 1"), "lcore 1 is described twice"),
    (("check", "--json=1", "lcore 1"), "--json=1: takes no value"),
    (("check", "lcore 1", "--ports", "2"), "--ports 2: '2' is no PCI address"),
    (("check", "port 0 01:00.0", "--ports", "02:00.0"),
     "--ports 0000:02:00.0: the map says that port 0 is 0000:01:00.0"),
    (("suggest",), "suggest: needs --ports"),
    (("suggest", "--ports", "0"), "--ports 0: must be 1 to 32"),
    (("suggest", "--ports", "33"), "--ports 33: must be 1 to 32"),
    (("suggest", "--ports", "99999999999999999999"), "must be 1 to 32"),
    (("suggest", "--ports="), "--ports : '' is no PCI address"),
    (("suggest", "--ports", "-1"), "--ports -1: '-1' is no PCI address"),
    (("suggest", "--ports", "01:00.0,"), "'' is no PCI address"),
    (("suggest", "--ports", "01:00.8"), "'01:00.8' is no PCI address"),
    (("suggest", "--ports", "01:20.0"), "'01:20.0' is no PCI address"),
    (("suggest", "--ports", "+1:00.0"), "'+1:00.0' is no PCI address"),
    (("suggest", "--ports", "01:00.0,0000:01:00.0"),
     "0000:01:00.0 is given twice"),
    (("suggest", "--ports", ",".join(f"{i:02x}:00.0" for i in range(33))),
     "...: must be at most 32 ports"),
    (("suggest", "--ports", "77:00.0", "--from", machine("xeon")),
     "--ports 0000:77:00.0: no such network device"),
    (("suggest", "--ports", "5", "--from", machine("xeon")),
     "--ports 5: must be at most 4, the network devices of the machine"),
    (("suggest", "--ports", "1", "--queues", "0"), "--queues 0: must be 1 to"),
    (("suggest", "--ports", "1", "--queues", "1 "), "--queues 1 : must be 1 "),
    (("suggest", "--ports", "1", "--workers", "128"),
     "--workers 128: must be 1 to 127"),
    (("suggest", "--ports", "1", "--mpps", "0"),
     "--mpps 0: must be million packets a second, more than 0"),
    (("suggest", "--ports", "1", "--mpps", "nan"), "--mpps nan: must be"),
    (("suggest", "--ports", "1", "--mpps", "-1"), "--mpps -1: must be"),
    (("suggest", "--ports", "1", "--mpps", "1.2.3"), "--mpps 1.2.3: must be"),
    (("suggest", "--ports", "1", "--core-mpps", "10001"),
     "--core-mpps 10001: must be"),
    (("suggest", "--ports", "1", "MAP"), "MAP: unexpected"),
    (("record",), "record: needs FILE"),
    (("record", "/nosuch/x"), "record /nosuch/x: No such file"),
    (("record", "--from", "x", "y"), "--from: no such option of record"),
    (("diff", "lcore 1"), "diff: needs MAP MAP"),
    (("diff", "lcore 1", "/nosuch"), "/nosuch: No such file"),
    (("diff", "/nosuch", "lcore 1"), "/nosuch: No such file"),
    (("diff", "--", "lcore 1", "--from"), "--from: No such file"),
    (("diff", "lcore 1", "lcore 1", "--from", "/nosuch"), "--from /nosuch: "),
)


def bad_command(args, text):
    refused(run(*args), text)


def full_disk():
    with open("/dev/full", "w", encoding="ascii") as full:
        refused(run("show", "--from", machine("xeon"), stdout=full),
                "standard output: No space left")


def help_of_a_command(command):
    """Each option is in the manual too."""
    out = ask(*command, "--help")
    check(out.startswith("usage: weir-lcores "), out)
    with open(os.path.join(TOP, "doc", "man", "weir-lcores.1"),
              encoding="ascii") as f:
        manual = f.read()
    for name in command + re.findall(r"^  --([a-z-]+)", out, re.MULTILINE):
        check(re.search(rf"^\.It (Fl Fl|Cm) {name}\b", manual, re.MULTILINE),
              f"{name} is not in the manual")


# Around it

def manual_is_well_formed():
    page = os.path.join(TOP, "doc", "man", "weir-lcores.1")
    if shutil.which("mandoc"):
        argv = ["mandoc", "-T", "lint", "-W", "warning", page]
    elif shutil.which("groff"):
        argv = ["groff", "-ww", "-mdoc", "-T", "utf8", "-z", page]
    else:
        raise Skip("neither mandoc nor groff is installed")
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    check(done.returncode == 0 and not done.stdout and not done.stderr,
          f"{done.returncode}: {done.stdout}{done.stderr}")


def needs_no_rights():
    if os.getuid() != 0:
        raise Skip("it has none: not run by root")
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        binary = shutil.copy(BINARY, folder)
        recorded = os.path.join(folder, "here")
        for args in (("show",), ("show", "--svg", "-"), ("check", "lcore 1"),
                     ("suggest", "--ports", "1"), ("record", recorded),
                     ("diff", "lcore 1", "lcore 1")):
            done = run(*args, binary=binary, user=NOBODY, group=NOBODY,
                       extra_groups=[], cwd=folder)
            check(done.returncode == 0 or
                  (args[0] in ("check", "suggest") and done.returncode == 1)
                  or "must be at most" in done.stderr,
                  f"{args}: {done.returncode}: {done.stderr}")
        check(without_hugepages(ask("show", "--from", recorded))
              == without_hugepages(ask("show")), "it sees another machine")


def guide():
    path = os.path.join(TOP, "doc", "guides", "lcores.md")
    with open(path, encoding="utf-8") as f:
        return f.read()


def guide_shows_what_its_commands_give():
    """The commands are run as they stand, where they find what they name."""
    blocks = re.findall(r"^```sh\n(.*?)^```\n(?:\n?^```(?:text)?\n(.*?)^```)?",
                        guide(), re.DOTALL | re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.join(TOP, "tests"), os.path.join(folder, "tests"))
        os.makedirs(os.path.join(folder, "doc", "guides"))
        os.symlink(os.path.abspath(BINARY), os.path.join(folder, "weir-lcores"))
        env = dict(os.environ, PATH=folder + ":" + os.environ["PATH"])
        ran = 0
        for commands, output in blocks:
            if "tests/data/topology" not in commands:
                continue
            done = subprocess.run(["sh", "-c", commands], cwd=folder, env=env,
                                  capture_output=True, text=True, timeout=60)
            check(done.returncode in (0, 1) and not done.stderr,
                  f"{commands}: {done.stderr}")
            check(done.stdout == output, f"{commands} gives\n{done.stdout}")
            ran += 1
        check(ran > 2, "the guide has no commands")
        with open(os.path.join(folder, "doc/guides/lcores.svg"), "rb") as f:
            made = f.read()
    with open(os.path.join(TOP, "doc", "guides", "lcores.svg"), "rb") as f:
        check(f.read() == made, "doc/guides/lcores.svg: make it anew")


def main():
    tap = Tap()
    rng = random.Random(seed())
    for name, options, text in SHOWN:
        tap.run(f"show {name} {' '.join(options)}: {text.strip()}", show, name,
                options, text)
    for name in machines():
        tap.run(f"{name} in 80 columns", shown_in_80_columns, name)
        tap.run(f"{name} as a picture", picture_has_a_place_for_all,
                machine(name))
        tap.run(f"{name}: findings in JSON", json_says_the_same, name)
    tap.run("show this machine", show_this_machine)
    tap.run("many caches as a picture", picture_of_many_caches)
    tap.run("ends of wires", wires_lead_from_devices_to_workers)
    tap.run("ways of wires", wires_run_between_cores)
    tap.run("picture in a file", picture_goes_to_a_file)
    tap.run("names from elsewhere", names_from_elsewhere_are_escaped)
    tap.run("findings", findings_are_lines)
    tap.run("errors", errors_end_with_1)
    tap.run("--strict", strict_minds_warnings)
    tap.run("--ports", ports_are_those_of_the_option)
    tap.run("a map in a file", map_comes_from_a_file)
    for name, options, expected, rules in SUGGESTED:
        tap.run(f"suggest {options} on {name}", suggest, name, options,
                expected, rules)
        tap.run(f"and what it says of it", checked_with_its_findings, name,
                options)
    tap.run("choices of the guide", choices_are_those_of_the_guide)
    tap.run("all machines have a map", lambda: check(
        set(machines()) == {row[0] for row in SUGGESTED}, "not all"))
    tap.run("options to paste", options_to_paste)
    tap.run("reasons", reasons_are_given)
    tap.run("any request", any_request_gives_a_sound_map, rng)
    tap.run("as many as EAL has", no_more_workers_than_lcores)
    tap.run("more than there is", more_than_there_is)
    tap.run("diff", differences_are_told)
    tap.run("record", recorded_machine_is_this_one)
    tap.run("bad recordings", bad_recordings_are_refused, rng)
    for args, text in BAD:
        tap.run("'" + " ".join(args).replace("\n", "?")[:60] + "'",
                bad_command, args, text)
    tap.run("a full disk", full_disk)
    for command in [], ["show"], ["check"], ["suggest"], ["record"], ["diff"]:
        tap.run(f"help {' '.join(command)}", help_of_a_command, command)
    tap.run("the manual", manual_is_well_formed)
    tap.run("no rights", needs_no_rights)
    tap.run("the guide", guide_shows_what_its_commands_give)
    tap.finish()


if __name__ == "__main__":
    main()
