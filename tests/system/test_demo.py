# SPDX-License-Identifier: BSD-3-Clause
"""tools/demo: both kinds, interrupted, and asked for nonsense."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile

from weirtest import LAST_LINE, Skip, Tap, check

SECONDS = "1"
TOOLS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                     "tools")


def start(*arguments, binary=None, wrapper=(), **kwargs):
    return subprocess.Popen(
        [*wrapper, sys.executable, "-B", os.path.join(TOOLS, "demo.py"), *arguments,
         binary or sys.argv[1]], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs)


def finish(process):
    try:
        out, err = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.terminate()
        out, err = process.communicate()
    return process.returncode, out.splitlines(), err.splitlines()


def traces(pid, folder):
    """What a demo may have left behind."""
    found = os.listdir(folder)
    if shutil.which("ip"):
        listed = subprocess.run(["ip", "netns"], text=True, check=False,
                                capture_output=True).stdout
        found += [n for n in listed.split() if f"weir-demo-{pid}-" in n]
    listed = subprocess.run(["ps", "-eo", "args"], text=True, check=False,
                            capture_output=True).stdout
    return found + [line for line in listed.splitlines()
                    if f"weir-demo-{pid}" in line]


def check_result(process, folder):
    status, out, err = finish(process)
    last = LAST_LINE.match(out[-1]) if out else None
    check(last, f"no last line: {out[-3:]} {err}")
    check(status == 0, f"exit status {status}: {out} {err}")
    check(int(last[1]) > 0 and last.groups()[1:] == ("0",) * 3, out[-1])
    check(not err, f"on stderr: {err}")
    left = traces(process.pid, folder)
    check(not left, f"left behind: {left}")
    return out


def whole(*arguments):
    with tempfile.TemporaryDirectory(prefix="weir-system-") as folder:
        check_result(start(*arguments, env={**os.environ, "TMPDIR": folder}),
                     folder)


def two_at_once():
    with tempfile.TemporaryDirectory(prefix="weir-system-") as one, \
            tempfile.TemporaryDirectory(prefix="weir-system-") as two:
        processes = [(start("--seconds", SECONDS,
                            env={**os.environ, "TMPDIR": f}), f)
                     for f in (one, two)]
        for process, folder in processes:
            check_result(process, folder)


def interrupted(number):
    with tempfile.TemporaryDirectory(prefix="weir-system-") as folder:
        process = start("--seconds", "60",
                        env={**os.environ, "TMPDIR": folder})
        # Its second line tells that it is about to begin, the third that
        # packets have gone through.
        for _ in range(2):
            process.stdout.readline()
        process.send_signal(number)
        check_ended(process, number, folder)


def under_nohup():
    """Of two signals that are there it takes the lower first, which SIGHUP is."""
    wrapper = ("sh", "-c", 'trap "" HUP; exec "$@"', "sh")
    with tempfile.TemporaryDirectory(prefix="weir-system-") as folder:
        process = start("--seconds", "60", wrapper=wrapper,
                        env={**os.environ, "TMPDIR": folder})
        for _ in range(2):
            process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        check_ended(process, signal.SIGTERM, folder)


def check_ended(process, number, folder):
    status, _, err = finish(process)
    check(status == 1, f"exit status {status}")
    check(err == [f"tools/demo: ended by {number.name}"], f"stderr: {err}")
    left = traces(process.pid, folder)
    check(not left, f"left behind: {left}")


def nobody_reads():
    with tempfile.TemporaryDirectory(prefix="weir-system-") as folder:
        process = start("--seconds", SECONDS,
                        env={**os.environ, "TMPDIR": folder})
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read().splitlines()
        status = process.wait(120)
        check(status == 1, f"exit status {status}")
        check(err == ["tools/demo: [Errno 32] Broken pipe"], f"{err}")
        left = traces(process.pid, folder)
        check(not left, f"left behind: {left}")


def no_start():
    """EAL takes what is behind the comma for another argument of the device."""
    with tempfile.TemporaryDirectory(prefix="weir-system-,") as folder:
        process = start("--pcap", env={**os.environ, "TMPDIR": folder})
        status, _, err = finish(process)
        check(status == 1, f"exit status {status}")
        check(len(err) == 1 and err[0].startswith(
            "tools/demo: weir-testpmd has ended: "), f"stderr: {err}")
        left = traces(process.pid, folder)
        check(not left, f"left behind: {left}")


# weir-testpmd, but for a task that it says it has left.
# The file is there before tail looks for it, whichever of the two begins first.
LEAVES_ONE = """#!/bin/sh
trap 'kill -TERM $pid' INT
: >{folder}/out
{binary} "$@" >>{folder}/out &
pid=$!
tail -f --pid=$pid {folder}/out | sed -u 's/tasks left 0/tasks left 1/' &
while kill -0 $pid 2>/dev/null; do wait $pid; done
wait
echo weir-testpmd: left: task 1 >&2
exit 1
"""


def something_left():
    """It is part of the account, whose last line is the demo's."""
    with tempfile.TemporaryDirectory(prefix="weir-system-") as folder:
        binary = f"{folder}/weir-testpmd"
        with open(binary, "w", encoding="ascii") as f:
            f.write(LEAVES_ONE.format(binary=sys.argv[1], folder=folder))
        os.chmod(binary, 0o755)
        status, out, err = finish(start("--pcap", binary=binary))
    check(status == 1 and not err, f"exit status {status}: {out} {err}")
    check("  weir-testpmd: left: task 1" in out, f"{out}")
    last = LAST_LINE.match(out[-1])
    check(last and last.groups()[1:] == ("0", "1", "0"), out[-1])


# The first time it tells that it was started, and waits for leave to go on.
SLOW_IP = """#!/bin/sh
if [ "$1 $2" = "netns {command}" ] && rm {folder}/first 2>/dev/null; then
	echo >{folder}/began
	cat {folder}/go_on
fi
exec {ip} "$@"
"""


def make_slow_ip(folder, command):
    for name in ("began", "go_on"):
        os.mkfifo(f"{folder}/{name}")
    for name, text in (("first", ""), ("ip", SLOW_IP.format(
            command=command, folder=folder, ip=shutil.which("ip")))):
        with open(f"{folder}/{name}", "w", encoding="ascii") as f:
            f.write(text)
    os.chmod(f"{folder}/ip", 0o755)


def interrupted_while_it_tries(command):
    if os.geteuid() != 0 or shutil.which("ip") is None:
        raise Skip("no network namespaces: they need root and ip")
    with tempfile.TemporaryDirectory(prefix="weir-system-") as folder, \
            tempfile.TemporaryDirectory(prefix="weir-system-") as tools:
        make_slow_ip(tools, command)
        process = start("--seconds", SECONDS, env={
            **os.environ, "TMPDIR": folder,
            "PATH": f"{tools}:{os.environ['PATH']}"})
        with open(f"{tools}/began", encoding="ascii") as f:
            f.read()
        process.send_signal(signal.SIGTERM)
        with open(f"{tools}/go_on", "w", encoding="ascii"):
            pass
        check_ended(process, signal.SIGTERM, folder)


# Behind all others a request goes out that nobody forwards, and ping gives it up.
HASTY_PING = """#!/bin/sh
{ping} "$@" || exit
for address; do :; done
pid=$(pgrep -P $PPID -x weir-testpmd) || exit
kill -STOP $pid
while ps -L -o state= -p $pid | grep -q '[^T]'; do :; done
echo $pid >{folder}/stopped
! {ping} -q -c 1 -W 0.5 $address
"""
# What the kernel's counts are read with: the first time they lack that answer.
CAT = """#!/bin/sh
{cat} "$@"
if read pid 2>/dev/null <{folder}/stopped; then
	rm {folder}/stopped
	kill -CONT $pid
fi
"""


def late_answer():
    """Late is not lost."""
    if os.geteuid() != 0 or None in map(shutil.which, ("ip", "ping", "pgrep")):
        raise Skip("no network namespaces: they need root, ip, ping and pgrep")
    with tempfile.TemporaryDirectory(prefix="weir-system-") as folder, \
            tempfile.TemporaryDirectory(prefix="weir-system-") as tools:
        for name, text in (("ping", HASTY_PING), ("cat", CAT)):
            with open(f"{tools}/{name}", "w", encoding="ascii") as f:
                f.write(text.format(folder=tools, ping=shutil.which("ping"),
                                    cat=shutil.which("cat")))
            os.chmod(f"{tools}/{name}", 0o755)
        out = check_result(start("--seconds", SECONDS, env={
            **os.environ, "TMPDIR": folder,
            "PATH": f"{tools}:{os.environ['PATH']}"}), folder)
        check(any("ping: 21 of 21 answered" in line for line in out), f"{out}")
        check("stopped" not in os.listdir(tools), "nobody asked the kernel")


def bad_option(arguments, text):
    done = subprocess.run([os.path.join(TOOLS, "demo"), *arguments], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          check=False)
    err = done.stderr.splitlines()
    check(done.returncode == 2, f"exit status {done.returncode}")
    check(len(err) == 1 and text in err[0], f"stderr: {err}")
    check(not done.stdout, f"stdout: {done.stdout}")


def help_text(tool, *texts):
    done = subprocess.run([os.path.join(TOOLS, tool), "--help"], text=True,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          check=False)
    check(done.returncode == 0, f"exit status {done.returncode}")
    check(not done.stderr, f"stderr: {done.stderr}")
    for text in (f"usage: tools/{tool} ", *texts):
        check(text in done.stdout, f"no '{text}': {done.stdout}")


def main():
    tap = Tap()
    tap.run("packet files", whole, "--pcap")
    # Without root this is packet files once more.
    tap.run("whatever is possible here", whole, "--seconds", SECONDS)
    tap.run("an answer that comes late", late_answer)
    tap.run("two at once", two_at_once)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        tap.run(f"ended by {number.name}", interrupted, number)
    tap.run("SIGHUP under nohup", under_nohup)
    tap.run("nobody reads what it says", nobody_reads)
    tap.run("weir-testpmd does not start", no_start)
    tap.run("weir-testpmd leaves something", something_left)
    for command in ("add", "exec"):
        tap.run(f"ended while it tries ip netns {command}",
                interrupted_while_it_tries, command)
    tap.run("--seconds 0", bad_option, ["--seconds", "0"], "--seconds 0:")
    tap.run("--seconds x", bad_option, ["--seconds", "x"], "--seconds x:")
    tap.run("--seconds", bad_option, ["--seconds"], "--seconds needs")
    for arguments in (["--pcap", "--seconds", "1"], ["--seconds=1", "--pcap"]):
        tap.run(" ".join(arguments), bad_option, arguments,
                "--seconds 1: not with --pcap")
    tap.run("--help", help_text, "demo", "--seconds N", "--pcap")
    tap.run("--help of tools/setup", help_text, "setup", "arm64", "debian")
    tap.run("--bogus", bad_option, ["--bogus"], "--bogus")
    tap.finish()


if __name__ == "__main__":
    main()
