# SPDX-License-Identifier: BSD-3-Clause
"""Signals, and other ways to the end."""

import contextlib
import fcntl
import os
import pty
import select
import signal
import subprocess
import time

from weirtest import (BAD_FILE, CLOSED, FULL_DISK, NO_READER, NO_SPACE,
                      TWO_NULL, Account, Tap, Testpmd, check,
                      check_eal_help_on_full_disk)

SECONDS = 60
PAGE = 4096


def stop(number, workers, mode):
    with Testpmd(("--forward-mode", mode), TWO_NULL, workers) as testpmd:
        testpmd.wait_started()
        account = testpmd.stop(number)
        account.check_clean()
        workers_said = [line for line in testpmd.lines
                        if line.startswith("worker ")]
        check(len(workers_said) == workers, "the account names "
              f"{len(workers_said)} workers of {workers}")
        check(not testpmd.errors, f"on stderr: {testpmd.errors}")


def impatient():
    """More signals while it is already ending."""
    with Testpmd((), TWO_NULL, 2) as testpmd:
        testpmd.wait_started()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
            testpmd.process.send_signal(number)
        testpmd.wait_end()


def background_job():
    """A shell without job control starts its jobs with SIGINT ignored."""
    wrapper = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
    with Testpmd((), TWO_NULL, 1, wrapper=wrapper) as testpmd:
        testpmd.wait_started()
        testpmd.stop(signal.SIGINT).check_clean()


def nohup():
    wrapper = ("sh", "-c", 'trap "" HUP; exec "$@"', "sh")
    with Testpmd(("--stats-period", "0.1"), TWO_NULL, 1,
                 wrapper=wrapper) as testpmd:
        testpmd.wait_started()
        testpmd.process.send_signal(signal.SIGHUP)
        seen = len(testpmd.lines)
        testpmd.wait_for(lambda out, _: len(out) > seen + 20, "statistics")
        testpmd.stop().check_clean()


def again_and_again():
    """Whatever one run leaves behind, the next would stumble over."""
    for _ in range(5):
        Testpmd(("--run-for", "0.01"), TWO_NULL, 2).run().check_clean()


def least_time():
    """A nanosecond is not 0, which is for ever."""
    for seconds in ("1e-9", ".000000001"):
        Testpmd(("--run-for", seconds), TWO_NULL, 2).run().check_clean()


def two_at_once():
    with Testpmd(()) as one, Testpmd(()) as two:
        one.wait_started()
        two.wait_started()
        one.stop().check_clean()
        two.stop().check_clean()


def help_text():
    for argv in (["--", "--help"], ["--help"]):
        done = subprocess.run([Testpmd.binary, *argv], text=True, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True)
        check(done.returncode == 0, f"{argv}: status {done.returncode}")
        for option in ("--forward-mode", "--config", "--run-for",
                       "--total-num-mbufs"):
            check(option in done.stdout, f"{argv}: no {option}")


def full_disk():
    """The account, and the help, cannot be written."""
    for options in (("--run-for", "0.1"), ("--help",)):
        with Testpmd(options, TWO_NULL, 2, wrapper=FULL_DISK) as testpmd:
            testpmd.wait_end(1)
            check(testpmd.errors == [f"weir-testpmd: {NO_SPACE}"],
                  f"{options}: {testpmd.errors}")
    check_eal_help_on_full_disk(Testpmd.binary)


def closed_streams():
    """Their numbers are not those of EAL's files, which would be written to."""
    with Testpmd(("--run-for", "0.5", "--stats-period", "0.1"), TWO_NULL, 2,
                 wrapper=CLOSED) as testpmd:
        testpmd.wait_end(1)
        check(testpmd.errors == [f"weir-testpmd: {BAD_FILE}"],
              f"{testpmd.errors}")
    wrapper = ("sh", "-c", 'exec "$@" <&- 2>&-', "sh")
    with Testpmd(("--run-for", "0.5"), TWO_NULL, 2,
                 wrapper=wrapper) as testpmd:
        testpmd.wait_end()
        Account(testpmd.lines).check_clean()


@contextlib.contextmanager
def unread(*options, vdevs=TWO_NULL, pages=1):
    """Its output is a pipe that has room for so much and is not read from."""
    testpmd = Testpmd(options, vdevs)
    with testpmd.stack, testpmd.open() as process:
        fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, pages * PAGE)
        try:
            yield process
        finally:
            process.kill()


def statistics_unread():
    with unread("--run-for", "0.5", "--stats-period", "0.001") as process:
        check(process.wait(SECONDS) == 0, f"status {process.returncode}")
        Account(process.stdout.read().splitlines()).check_clean()


def fill(process):
    """The pipe that it writes to, once it runs."""
    check(select.select([process.stdout], [], [], SECONDS)[0], "no start")
    pipe = os.open(f"/proc/{process.pid}/fd/1", os.O_WRONLY | os.O_NONBLOCK)
    with open(pipe, "wb", 0) as f:
        while f.write(b"\n") is not None:
            pass


def account_unread():
    """It waits for its reader until it is told once more to end."""
    with unread() as process:
        fill(process)
        end_impatiently(process)
        check(process.returncode == -signal.SIGTERM,
              f"status {process.returncode}")


def account_reader_gone():
    """One who goes while it waits for him is told of as at any other time."""
    with unread() as process:
        fill(process)
        process.send_signal(signal.SIGTERM)
        wait_unblocked(process, signal.SIGTERM)
        process.stdout.close()
        check(process.wait(SECONDS) == 1, f"status {process.returncode}")
        errors = process.stderr.read()
        check(errors == f"weir-testpmd: {NO_READER}\n", errors)


def wait_unblocked(process, number):
    """Until the main thread has not blocked this signal, as it does to wait."""
    deadline = time.monotonic() + SECONDS
    while True:
        with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
            mask = next(line for line in f if line.startswith("SigBlk:"))
        if not int(mask.split()[1], 16) >> (number - 1) & 1:
            return
        check(time.monotonic() < deadline, "it does not wait")
        time.sleep(0.01)


def end_impatiently(process):
    """Sends signals until it has ended."""
    deadline = time.monotonic() + SECONDS
    while process.poll() is None:
        check(time.monotonic() < deadline, "no end")
        process.send_signal(signal.SIGTERM)
        time.sleep(0.1)


def wait_full(path):
    """Until there is no room in a pipe or terminal for who writes to it."""
    deadline = time.monotonic() + SECONDS
    with open(path, "wb", 0) as f:
        while select.select([], [f], [], 0)[1]:
            check(time.monotonic() < deadline, "nothing is written")
            time.sleep(0.01)


def long_statistics_unread():
    """A page is free, and not enough: each takes some 5900 bytes, so two leave one."""
    vdevs = [f"net_null{i}" for i in range(31)]
    with unread("--stats-period", "0.001", "--rxd", "64", "--txd", "64",
                vdevs=vdevs, pages=4) as process:
        wait_full(f"/proc/{process.pid}/fd/1")
        end_impatiently(process)


def terminal_unread():
    """A terminal may have room for a byte only."""
    ours, its = pty.openpty()
    testpmd = Testpmd(("--stats-period", "0.001"))
    with testpmd.stack, testpmd.open(stdout=its) as process:
        try:
            wait_full(os.ttyname(its))
            end_impatiently(process)
        finally:
            process.kill()
            os.close(its)
            os.close(ours)


def reader_gone():
    """As head does: it ends like with any signal, and says so."""
    testpmd = Testpmd(("--stats-period", "0.05"))
    with testpmd.stack, testpmd.open() as process:
        check(process.stdout.readline() != "", "no start")
        process.stdout.close()
        check(process.wait(SECONDS) == 1, f"status {process.returncode}")
        errors = process.stderr.read()
        check(errors == f"weir-testpmd: {NO_READER}\n", errors)


def main():
    tap = Tap()
    for number in (signal.SIGINT, signal.SIGTERM):
        for workers in (1, 2, 4):
            tap.run(f"{number.name}, {workers} workers", stop, number, workers,
                    "io")
    tap.run("SIGHUP, as of a terminal that closes", stop, signal.SIGHUP, 2,
            "io")
    tap.run("SIGINT, txonly", stop, signal.SIGINT, 2, "txonly")
    tap.run("SIGINT, rxonly", stop, signal.SIGINT, 2, "rxonly")
    tap.run("three signals at once", impatient)
    tap.run("SIGINT that was ignored before", background_job)
    tap.run("SIGHUP under nohup", nohup)
    tap.run("one after another", again_and_again)
    tap.run("a run of no time to speak of", least_time)
    tap.run("two at once", two_at_once)
    tap.run("--help", help_text)
    tap.run("a full disk", full_disk)
    tap.run("nobody reads the statistics", statistics_unread)
    tap.run("nobody reads long statistics", long_statistics_unread)
    tap.run("nobody reads a terminal", terminal_unread)
    tap.run("nobody reads the account", account_unread)
    tap.run("a reader that goes", reader_gone)
    tap.run("a reader of the account who goes", account_reader_gone)
    tap.run("closed streams", closed_streams)
    tap.finish()


if __name__ == "__main__":
    main()
