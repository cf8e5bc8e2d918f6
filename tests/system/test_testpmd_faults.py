# SPDX-License-Identifier: BSD-3-Clause
"""What weir-testpmd does when something that it needs to start fails, or an mbuf is left
at its end, in each of the calls by turns: it says so in one line, and undoes what it has
done."""

import os
import sys
import tempfile

from weirtest import TWO_NULL, WARNING, Account, Tap, Testpmd, check

# Those of faults.c.
FUNCTIONS = sys.argv[2:]
# Not all of these are needed: who does not know the machine takes it for a flat one,
# and sources go without new arrays.
WITHOUT = ("calloc", "rte_zmalloc_socket")
MOST_CALLS = 100


def run_with(fault, *options):
    """Its status, and whether the call that fails came."""
    os.environ["WEIR_FAULT"] = fault
    with Testpmd((*options, "--run-for", "0.1"), TWO_NULL, 2) as testpmd:
        testpmd.wait_end(None)
    status = testpmd.process.returncode
    check(status in (0, 1) and len(testpmd.complaints()) == status,
          f"{fault}: status {status}: {testpmd.describe()}")
    if status == 0:
        Account(testpmd.lines).check_clean()
    return status, "fault" in testpmd.errors


def each_call(function):
    failed = goes_on = number = 0
    came = True
    while came:
        number += 1
        check(number < MOST_CALLS, "there is no end to it")
        status, came = run_with(f"{function}:{number}")
        failed += status
        goes_on += came and status == 0
    check(failed > 0, "it is not needed")
    check(function in WITHOUT or goes_on == 0, f"{goes_on} are not needed")


def ended_by_eal():
    """The status is ours, and so is the line."""
    os.environ["WEIR_FAULT"] = "rte_eal_init:1"
    with Testpmd((), TWO_NULL, 2) as testpmd:
        testpmd.wait_end(2)
    said = testpmd.complaints()
    check(len(said) == 1 and "EAL refuses its options" in said[0],
          testpmd.describe())


def polled_instead():
    """A port does not start with interrupts, and does without."""
    for function in ("rte_eth_dev_configure", "rte_eth_rx_queue_setup",
                     "rte_eth_dev_start"):
        status, came = run_with(f"{function}:1", "--park", "adaptive")
        check(came and status == 0, f"{function}: status {status}")


def failsafe():
    """Its second try, without interrupts, would be the process's end."""
    os.environ["WEIR_FAULT"] = "none:1"
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("lcore 1 rx=0.0\nlcore 2 rx=2.0\n")
        file.flush()
        for park in ("poll", "pause"):
            with Testpmd(("--park", park, "--map", file.name, "--run-for", "0.1"),
                         ("net_failsafe0,dev(net_ring0)", "net_null0"), 2) as testpmd:
                testpmd.wait_end(0)
            check(Account(testpmd.lines).tasks_left == 0, testpmd.describe())


def not_promiscuous():
    """It is said, and the port is used all the same."""
    os.environ["WEIR_FAULT"] = "rte_eth_promiscuous_enable:2"
    with Testpmd(("--run-for", "0.1"), TWO_NULL, 2) as testpmd:
        testpmd.wait_end(0)
    check(any(line.startswith(WARNING + "port 1 (net_null1): promiscuous")
              for line in testpmd.errors), testpmd.describe())
    account = Account(testpmd.lines)
    account.check_clean()
    check(account.forwarded > 0, testpmd.describe())


def without_files():
    """Memory would not help: it is not what it is told to give."""
    with Testpmd((), TWO_NULL, 2) as testpmd:
        testpmd.wait_started()
        used = len(os.listdir(f"/proc/{testpmd.process.pid}/fd"))
        testpmd.stop()
    with Testpmd((), TWO_NULL, 2,
                 wrapper=("prlimit", f"--nofile={used - 2}")) as testpmd:
        testpmd.wait_end(None)
    said = " ".join(testpmd.complaints())
    check(said.endswith("no runtime on these lcores (Too many open files)"),
          testpmd.describe())


def fewer_descriptors():
    """It is said to who asked for more, and the port is used with what it has."""
    for options, told in (((), False), (("--rxd", "512"), True)):
        os.environ["WEIR_FAULT"] = "rte_eth_dev_adjust_nb_rx_tx_desc:2"
        with Testpmd((*options, "--run-for", "0.1"), TWO_NULL, 2) as testpmd:
            testpmd.wait_end(0)
        line = WARNING + "port 1 (net_null1): --rxd 512: it takes 96"
        check((line in testpmd.errors) == told and "fault" in testpmd.errors,
              testpmd.describe())
        check(told or not any(error.startswith(WARNING)
                              for error in testpmd.errors), testpmd.describe())
        Account(testpmd.lines).check_clean()


def removed(mode):
    """It is found at a look every 100 ms, by what the device says alone. What only
    sends goes on with the other port."""
    # Behind a look at each when it starts.
    os.environ["WEIR_FAULT"] = "rte_eth_dev_is_removed:3"
    with Testpmd(("--forward-mode", mode), TWO_NULL, 2) as testpmd:
        testpmd.wait_for(lambda out, err: any(
            "port 0 (net_null0): is gone" in line for line in err), "its end")
        if mode == "txonly":
            account = testpmd.stop()
        else:
            testpmd.wait_end(1)
            check(any("no stream is left" in line for line in testpmd.errors),
                  testpmd.describe())
            account = Account(testpmd.lines)
    check((account.tasks_left, account.mbufs_left) == (0, 0),
          f"tasks left {account.tasks_left}, mbufs left {account.mbufs_left}")


def main():
    tap = Tap()
    check(FUNCTIONS, "no functions are given")
    for function in FUNCTIONS:
        tap.run(f"{function} fails", each_call, function)
    tap.run("EAL that ends the process", ended_by_eal)
    tap.run("a port that starts without interrupts only", polled_instead)
    tap.run("net_failsafe and a map's file", failsafe)
    tap.run("a port that may not be promiscuous", not_promiscuous)
    tap.run("no files for the workers", without_files)
    tap.run("a port with fewer descriptors", fewer_descriptors)
    for mode in ("io", "txonly"):
        tap.run(f"a port that is removed, {mode}", removed, mode)
    tap.finish()


if __name__ == "__main__":
    main()
