# SPDX-License-Identifier: BSD-3-Clause
"""Runs benchmarks: the larger half of tools/bench, which builds first."""

import argparse
import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import costs
import fiber
import figures
import forward
import growth
import one_queue
import overhead
import page
import park
import peers
import report
import rounds
import scaling
import sched_scenarios
import table
from machine import Failure, Machine
from scenario import Setup

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SCENARIOS = {**forward.SCENARIOS, **one_queue.SCENARIOS,
             **overhead.SCENARIOS, **park.SCENARIOS,
             **sched_scenarios.SCENARIOS, **fiber.SCENARIOS}
# Those that are asked for alone; a function of the arguments and say().
OTHERS = {"instructions": costs.run, "growth": growth.run,
          "scaling": scaling.run}
# And the options that have no meaning there.
USELESS = {"instructions": ("compare", "huge_dir", "patience", "peers", "reps",
                            "seconds", "svg"),
           "growth": ("compare", "page", "peers", "seconds"),
           "scaling": ("compare", "seconds")}
# The pages that those write.
PAGES = {"instructions": (), "growth": (), "scaling": scaling.FILES}
LEAST_REPS = 7
# Of each number of workers.
LEAST_REPS_SCALING = 3
SAMPLE_SECONDS = 3
# Longest that a scenario waits for quiet, all its waits together.
PATIENCE_SECONDS = 120
BUILT_PEERS = sorted({peer.name for scenario in SCENARIOS.values()
                      for peer in scenario.peers if peer.built})


def say(text=""):
    print(text, flush=True)


def check_build(options):
    """Figures of another kind of build say nothing, nor beside those of peers that
    are built in another way."""
    if not options:
        raise Failure("build/ is not set up")
    for name, wanted in report.MEASURING.items():
        if options[name] != wanted:
            raise Failure(f"build/ is set up with {name}={options[name]}; "
                          "remove it, or set it up for measuring")


def describe(machine, args):
    memory = args.huge_dir or "no hugepages"
    setup = {**report.origin(), "cpus": machine.cpus, "memory": memory,
             "reps": args.reps, "seconds": args.seconds}
    say(f"{setup['cpu']}; CPU {machine.cpus[1]} works, CPU {machine.cpus[0]} "
        f"waits; {memory}; {args.reps} rounds of {args.seconds} s")
    return setup


def compare(args, now):
    """Says what changed since the older report; did something get worse?"""
    if args.compare is None:
        return False
    changes = figures.changes(args.compare, now)
    if not changes:
        raise Failure(f"--compare {args.compare_file}: no scenario and peer of "
                      "this run are in it; was it made with --peers?")
    say()
    for line in table.change_lines(changes):
        say(line)
    left_out = set(now["scenarios"]) - {c.scenario for c in changes}
    if left_out:
        say(f"note: not compared, for want of a peer or an older run: "
            f"{' '.join(sorted(left_out))}")
    return any(c.worse for c in changes)


def write_page(args, now):
    command = (f"tools/bench --peers --page --reps {args.reps} --seconds "
               f"{args.seconds} --patience {args.patience}"
               + (f" --huge-dir {args.huge_dir}" if args.huge_dir else ""))
    page.write(now, SCENARIOS, command, report.write_text)


def run_scenarios(args):
    machine = Machine()
    built = peers.prepare(BUILT_PEERS, say) if args.peers else frozenset()
    if args.page:
        page.check_built(built, BUILT_PEERS)
    setup = Setup(machine, args.seconds, args.huge_dir, built)
    now = {"setup": describe(machine, args), "scenarios": {}}
    if args.page:
        page.check_commit(now["setup"]["commit"])
    for name in args.scenarios:
        scenario = SCENARIOS[name]
        result = rounds.run(scenario, setup, args.reps,
                            rounds.Patience(machine, args.patience, say))
        now["scenarios"][name] = result
        say()
        for line in (*table.rows(name, scenario, result),
                     *table.notes(name, scenario, result)):
            say(line)
        # Each time: a run takes long, and may not come to its end.
        if args.json:
            report.write(args.json, now)
    if args.svg:
        report.write_text(args.svg, table.draw(now))
    if args.page:
        write_page(args, now)
    worse = compare(args, now)
    reached = all(r["ok"] for s in now["scenarios"].values()
                  for r in s["ratios"].values())
    return 0 if reached and not worse else 1


def run(args):
    check_build(report.build_options())
    alone = args.scenarios[0] in OTHERS
    pages = PAGES.get(args.scenarios[0], page.FILES)
    for path in pages if args.page else ():
        report.writable(path)
    if alone:
        return OTHERS[args.scenarios[0]](args, say)
    return run_scenarios(args)


class Parser(argparse.ArgumentParser):
    def error(self, message):
        print(f"tools/bench: {message}", file=sys.stderr)
        sys.exit(2)


def whole(text, least):
    if not text.isdecimal() or not least <= int(text) <= 9999:
        raise argparse.ArgumentTypeError(
            f"must be a whole number, {least} to 9999, not '{text}'")
    return int(text)


def groups():
    return sorted({s.group for s in SCENARIOS.values() if s.group})


def ungrouped():
    return [name for name, s in SCENARIOS.items() if not s.group]


def scenario_names(text):
    """Of one scenario; of several that differ in the number at their end only;
    of a group; or one of the others."""
    if text in SCENARIOS or text in OTHERS:
        return [text]
    found = [name for name, scenario in SCENARIOS.items()
             if scenario.group == text
             or (name.rpartition("_")[0] == text
                 and name.rpartition("_")[2].isdecimal())]
    if not found:
        raise argparse.ArgumentTypeError(
            f"no scenario '{text}'; there are: "
            f"{' '.join([*ungrouped(), *groups(), *OTHERS])}; --list has all")
    return found


def make_parser():
    parser = Parser(prog="tools/bench", allow_abbrev=False)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO",
                        type=scenario_names, help="default: every scenario but "
                        f"those of {', '.join(groups())}; without the number at "
                        f"its end: with each number; or {', '.join(OTHERS)}, "
                        "alone")
    # Those that one alone has no use for are refused there: None was not given.
    # How few there may be depends on the scenarios.
    parser.add_argument("--reps", metavar="N",
                        help="samples of each program; default and least: "
                        f"{LEAST_REPS}; of scaling the least is "
                        f"{LEAST_REPS_SCALING}")
    parser.add_argument("--seconds", type=lambda t: whole(t, 1), metavar="S",
                        help=f"length of a sample; default: {SAMPLE_SECONDS}")
    parser.add_argument("--patience", type=lambda t: whole(t, 0),
                        metavar="S",
                        help="longest wait of a scenario for quiet moments; "
                        f"default: {PATIENCE_SECONDS}")
    parser.add_argument("--peers", action="store_true",
                        help="beside other schedulers and timers too: "
                        f"{' '.join(BUILT_PEERS)}; installs what they need")
    parser.add_argument("--json", metavar="FILE", type=os.path.abspath,
                        help="where to keep it all")
    parser.add_argument("--svg", metavar="FILE", type=os.path.abspath,
                        help="where to draw it")
    parser.add_argument("--compare", metavar="FILE", type=os.path.abspath,
                        help="an older --json: "
                        "fails if a ratio has got worse by more than noise")
    parser.add_argument("--huge-dir", metavar="DIR", type=os.path.abspath,
                        help="hugetlbfs mount to use instead of --no-huge")
    parser.add_argument("--page", action="store_true",
                        help=f"writes {page.PAGE}, of every scenario with "
                        f"--peers; with instructions: {costs.PAGE}; with "
                        f"scaling and --peers: {scaling.PAGE}")
    parser.add_argument("--list", action="store_true",
                        help="name the scenarios and exit")
    parser.add_argument("--check", action="store_true",
                        help=argparse.SUPPRESS)
    return parser


def is_hugetlbfs(folder):
    """EAL takes a folder in a mount as well."""
    done = subprocess.run(["stat", "--file-system", "--format", "%T", folder],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, check=False)
    return done.stdout.strip() == "hugetlbfs"


def reps_of(parser, text, least):
    try:
        return LEAST_REPS if text is None else whole(text, least)
    except argparse.ArgumentTypeError as error:
        parser.error(f"argument --reps: {error}")


def parse_arguments(argv=None):
    parser = make_parser()
    args = parser.parse_args(argv)
    args.scenarios = (sum(args.scenarios, []) if args.scenarios
                      else ungrouped())
    alone = [name for name in args.scenarios if name in OTHERS]
    if alone and len(args.scenarios) > 1:
        parser.error(f"{alone[0]}: goes alone, without other scenarios")
    for name in alone:
        for option, given in vars(args).items():
            if (option in USELESS[name] and given is not None
                    and given is not False):
                parser.error(f"--{option.replace('_', '-')}: not with {name}")
    args.reps = reps_of(parser, args.reps,
                        LEAST_REPS_SCALING if alone == ["scaling"]
                        else LEAST_REPS)
    args.seconds = args.seconds or SAMPLE_SECONDS
    if args.patience is None:
        args.patience = PATIENCE_SECONDS
    if args.page and alone != ["instructions"] and not (
            args.peers and (alone == ["scaling"]
                            or args.scenarios == ungrouped())):
        parser.error("--page: only with instructions, or with --peers and every "
                     "scenario, or with --peers and scaling")
    if args.huge_dir and not is_hugetlbfs(args.huge_dir):
        parser.error(f"--huge-dir: not on hugetlbfs: '{args.huge_dir}'")
    for option, path in (("--json", args.json), ("--svg", args.svg)):
        try:
            if path:
                report.writable(path)
        except OSError as error:
            parser.error(f"{option} {path}: {error.strerror}")
    args.compare_file = args.compare
    if args.compare:
        try:
            args.compare = report.read(args.compare)
        except Failure as failure:
            parser.error(f"--compare {failure}")
        if not set(args.scenarios) & set(args.compare["scenarios"]):
            parser.error(f"--compare {args.compare_file}: has no scenario of "
                         "this run")
    return args


def on_signal(number, _frame):
    # Once: what was started must be ended, however impatient the user.
    for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(other, signal.SIG_IGN)
    raise Failure(f"ended by {signal.Signals(number).name}")


def give_up(error):
    print(f"tools/bench: {error}", file=sys.stderr)
    # What is left to say would fail again at the end.
    if sys.stdout:  # Python has None for one that is closed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1


def list_scenarios():
    if sys.stdout is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    # Whoever reads this may stop when he likes.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for name, scenario in SCENARIOS.items():
        say(f"{name:30}{scenario.about}")
    for name, function in OTHERS.items():
        say(f"{name:30}{function.__doc__.splitlines()[0]}")


def main():
    args = parse_arguments()
    os.chdir(TOP)
    if args.list:
        try:
            list_scenarios()
        except OSError as error:
            return give_up(error)
        return 0
    if args.check:
        return 0
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, on_signal)
    # DPDK keeps files of a process here, and testpmd leaves them behind.
    try:
        scratch = tempfile.mkdtemp(prefix="weir-bench-")
    except OSError as error:
        return give_up(error)
    os.environ["RUNTIME_DIRECTORY"] = scratch
    try:
        return run(args)
    except (Failure, OSError) as failure:
        return give_up(failure)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
