# SPDX-License-Identifier: BSD-3-Clause
"""weir-lcores: what it shows, finds, compares, records and refuses.

Usage: test_lcores.py WEIR_LCORES
"""

import json
import os
import random
import re
import shutil
import subprocess
import tempfile

import manual
from lcorestool import (BINARY, FAR, TOP, XEON_MAP, ask, machine, machines,
                        made, refused, run)
from weirtest import BAD_FILE, CLOSED, Skip, Tap, check, seed

NOBODY = 65534


# show

# What `show` has of the machine, among others.
SHOWN = (
    ("xeon", (), "2 packages, 2 nodes, 2 last-level caches, 16 cores, 32 CPUs,"
     " 4 network devices"),
    ("xeon", (), "node 1: package 1, 96.0 GiB, hugepages 4096 x 2 MiB, "
     "8 x 1 GiB\n"),
    # A cache of two nodes is one.
    ("snc2", (), "2 packages, 4 nodes, 2 last-level caches, 16 cores"),
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
    ("holes", (), "no memory\n"),
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


def packages_that_are_not_known_are_left_out():
    with made([range(4)], packages=(0, 0)) as path:
        out = ask("show", "--from", path)
    check("node 0: package 0, memory not known\n" in out, out)


def packages_are_shown_once_a_node():
    """CPUs that follow each other may be in several, as on virtual machines."""
    with made([range(6)], packages=(0, 1) * 3, hidden=True) as path:
        out = ask("show", "--from", path)
    check("node 0: package 0, package 1, memory not known\n" in out, out)
    with made([range(6)], nodes=[range(3), range(3, 6)], packages=(0, 1) * 3,
              hidden=True) as path:
        out = ask("show", "--from", path)
    check("node 0: package 0, package 1, memory not known\n" in out, out)
    check("node 1: package 1, package 0, memory not known\n" in out, out)


def memory_that_no_node_tells_of_is_not_known():
    """What is told of hugepages is shown all the same."""
    at = "/sys/devices/system/node/node0/hugepages/"
    pages = {at: "hugepages-2048kB",
             f"{at}hugepages-2048kB/nr_hugepages": "8",
             f"{at}hugepages-2048kB/free_hugepages": "8"}
    for more, text in (({}, "node 0: memory not known\n"),
                       (pages,
                        "node 0: memory not known, hugepages 8 x 2 MiB\n")):
        with made([range(2)], nodes=[range(2), []], more=more) as path:
            out = ask("show", "--from", path)
        check(text in out, out)
        check("node 1: memory not known\n  no CPUs\n" in out, out)


# check


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
            if name == "one_cpu" else FAR, "--from", machine(name))
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
    # What is on no PCI bus is none of them, and may be there.
    ask("check", "(0,0,2),(1,0,3); port 1 none", "--ports", "18:00.0",
        "--from", machine("xeon"))


def map_comes_from_a_file():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "map")
        with open(path, "w", encoding="ascii") as f:
            f.write("# two queues\n" + FAR + "\n")
        args = ("--from", machine("xeon"))
        check(ask("check", path, *args) == ask("check", FAR, *args),
              "the file says something else")


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


def recording_may_have_other_line_ends():
    with open(machine("xeon"), "rb") as f:
        data = f.read()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "crlf")
        with open(path, "wb") as f:
            f.write(data.replace(b"\n", b"\r\n"))
        check(ask("show", "--from", path)
              == ask("show", "--from", machine("xeon")), "another machine")


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
    (("check", "port 0 none", "--ports", "02:00.0"),
     "--ports 0000:02:00.0: the map says that port 0 is none"),
    (("check", "(0,0,2),(1,0,3)", "--ports", "18:00.0"),
     "--ports 18:00.0: the map has port 1, which is none of them"),
    (("show", "--map", "port 2 01:00.0", "--ports", "01:00.0,02:00.0"),
     "--ports 01:00.0,02:00.0: the map has port 2, which is none of them"),
    (("suggest",), "suggest: needs --ports"),
    (("suggest", "--ports", "0"), "--ports 0: must be 1 to 32"),
    (("suggest", "--ports", "33"), "--ports 33: must be 1 to 32"),
    (("suggest", "--ports", "99999999999999999999"), "must be 1 to 32"),
    (("suggest", "--ports="), "--ports : '' is no PCI address"),
    (("suggest", "--ports", "-1"), "--ports -1: '-1' is no PCI address"),
    (("suggest", "--ports", "01:00.0,"), "'' is no PCI address"),
    (("suggest", "--ports", "01:00.8"), "'01:00.8' is no PCI address"),
    (("suggest", "--ports", "18:.0"), "'18:.0' is no PCI address"),
    (("suggest", "--ports", ":00.0"), "':00.0' is no PCI address"),
    (("suggest", "--ports", "18:00."), "'18:00.' is no PCI address"),
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
    (("suggest", "--ports", "1", "--core-mpps", "5"),
     "suggest: needs --mpps with --core-mpps"),
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


def closed_output():
    """It matters where something is to be written there."""
    closed = (*CLOSED, BINARY)
    with tempfile.TemporaryDirectory(prefix="weir-system-") as folder:
        done = run(*closed[1:], "record", f"{folder}/m.machine",
                   binary=closed[0])
        check((done.returncode, done.stderr) == (0, ""), f"{done}")
        check(os.path.getsize(f"{folder}/m.machine") > 0, "it is empty")
    refused(run(*closed[1:], "show", "--from", machine("xeon"),
                binary=closed[0]), BAD_FILE)


def options_in_help(*command):
    return re.findall(r"^  --([a-z-]+)", ask(*command, "--help"), re.MULTILINE)


def help_of_a_command(command):
    """Each option is in the manual too."""
    out = ask(*command, "--help")
    check(out.startswith("usage: weir-lcores "), out)
    for name in command + options_in_help(*command):
        check(re.search(rf"^\.It (Fl Fl|Cm) {name}(?![a-z-])",
                        manual.text("weir-lcores"), re.MULTILINE),
              f"{name} is not in the manual")


def manual_has_the_options_of_the_help():
    """Of each command, and no others."""
    options = set()
    synopsis = manual.text("weir-lcores").split(".Sh DESCRIPTION")[0]
    for text in synopsis.split(".Nm\n.Cm ")[1:]:
        command = text.split()[0]
        there = set(options_in_help(command))
        named = manual.in_synopsis(text.split(".Nm")[0])
        check(named == there - {"help"}, f"{command}: {named}, not {there}")
        options |= there
    described = manual.described("weir-lcores")
    check(set(described) == options, f"{described}, not {options}")


# Around it

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
        tap.run(f"{name}: findings in JSON", json_says_the_same, name)
    tap.run("show this machine", show_this_machine)
    tap.run("packages not known", packages_that_are_not_known_are_left_out)
    tap.run("packages in turn", packages_are_shown_once_a_node)
    tap.run("memory not known", memory_that_no_node_tells_of_is_not_known)
    tap.run("findings", findings_are_lines)
    tap.run("errors", errors_end_with_1)
    tap.run("--strict", strict_minds_warnings)
    tap.run("--ports", ports_are_those_of_the_option)
    tap.run("a map in a file", map_comes_from_a_file)
    tap.run("diff", differences_are_told)
    tap.run("record", recorded_machine_is_this_one)
    tap.run("CR and LF", recording_may_have_other_line_ends)
    tap.run("bad recordings", bad_recordings_are_refused, rng)
    for args, text in BAD:
        tap.run("'" + " ".join(args).replace("\n", "?")[:60] + "'",
                bad_command, args, text)
    tap.run("a full disk", full_disk)
    tap.run("closed output", closed_output)
    for command in [], ["show"], ["check"], ["suggest"], ["record"], ["diff"]:
        tap.run(f"help {' '.join(command)}", help_of_a_command, command)
    tap.run("the manual", manual.is_well_formed, "weir-lcores")
    tap.run("its options", manual_has_the_options_of_the_help)
    tap.run("no rights", needs_no_rights)
    tap.run("the guide", guide_shows_what_its_commands_give)
    tap.finish()


if __name__ == "__main__":
    main()
