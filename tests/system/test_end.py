# SPDX-License-Identifier: BSD-3-Clause
"""Signals, and other ways to the end."""

import signal
import subprocess

from weirtest import (BAD_FILE, CLOSED, FULL_DISK, NO_SPACE, TWO_NULL,
                      Account, Tap, Testpmd, check,
                      check_eal_help_on_full_disk)


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
    tap.run("closed streams", closed_streams)
    tap.finish()


if __name__ == "__main__":
    main()
