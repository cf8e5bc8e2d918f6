# SPDX-License-Identifier: BSD-3-Clause
"""Every mistake of the user gives one line that names it, and an exit status."""

import os
import re
import subprocess
import tempfile

from weirtest import (MARK, TWO_NULL, Skip, Tap, Testpmd, check, lcores,
                      write_pcap)


# Arguments after "--", the exit status, what the line must contain.
OPTIONS = (
    (["--burst", "0"], 2, "--burst 0: must be 1 to 512"),
    (["--burst", "513"], 2, "--burst 513: must be 1 to 512"),
    (["--burst=-1"], 2, "--burst -1: must be 1 to 512"),
    (["--burst", "32k"], 2, "--burst 32k: must be 1 to 512"),
    (["--burst", ""], 2, "--burst : must be 1 to 512"),
    (["--park", "sleep"], 2,
     "--park sleep: must be one of poll, pause, interrupt, adaptive"),
    (["--park="], 2, "--park : must be one of poll"),
    (["--burst"], 2, "--burst: needs a value"),
    (["--burts", "32"], 2, "--burts: no such option"),
    (["-x"], 2, "-x: no such option"),
    (["-i"], 2, "-i: no such option"),
    (["--tx-first=1"], 2, "--tx-first=1: takes no value"),
    (["--tx-first-bursts", "0"], 2, "--tx-first-bursts 0: must be 1 to 1024"),
    (["--tx-first-bursts", "1025"], 2, "--tx-first-bursts 1025: must be"),
    (["--tx-first-bursts", "1000", "--total-num-mbufs", "30000"], 1,
     "--total-num-mbufs 30000: too few for the queues; must be at least "),
    (["io"], 2, "io: unexpected"),
    (["--forward-mode", "iox"], 2, "--forward-mode iox: must be one of io, "),
    (["--forward-mode="], 2, "--forward-mode : must be one of"),
    (["--rxq", "0"], 2, "--rxq 0: must be 1 to "),
    (["--rxq", "99999999999999999999"], 2,
     "--rxq 99999999999999999999: must be 1 to "),
    (["--txq", "0"], 2, "--txq 0: must be 1 to "),
    (["--rxq", "2", "--txq", "1"], 1, "--txq 1: must be at least 2"),
    (["--rxd", "0"], 2, "--rxd 0: must be"),
    (["--txd", "99999"], 2, "--txd 99999: must be"),
    (["--nb-cores", "0"], 2, "--nb-cores 0: must be 1 to "),
    (["--nb-cores", "3"], 1, "--nb-cores 3: --lcores "),
    (["--portmask", "0"], 2, "--portmask 0: must be"),
    (["--portmask", "0xg"], 2, "--portmask 0xg: must be"),
    (["--portmask", "0x5"], 1, "--portmask 0x5: there is no port 2"),
    (["--total-num-mbufs", "100"], 1,
     "--total-num-mbufs 100: too few for the queues; must be at least "),
    (["--total-num-mbufs", "1073741824"], 2,
     "--total-num-mbufs 1073741824: must be 1 to 1073741823"),
    (["--run-for", "0"], 2, "--run-for 0: must be seconds"),
    (["--run-for", "-1"], 2, "--run-for -1: must be seconds"),
    (["--run-for", "1\n2"], 2, "--run-for 1?2: must be seconds"),
    (["--run-for", "soon"], 2, "--run-for soon: must be seconds"),
    (["--run-for", "inf"], 2, "--run-for inf: must be seconds"),
    (["--run-for", "2000000000"], 2, "--run-for 2000000000: must be seconds, "
     "0.000000001 to 1000000000, "),
    (["--run-for", "0x1p-3"], 2, "--run-for 0x1p-3: must be seconds"),
    (["--run-for", "0X1"], 2, "--run-for 0X1: must be seconds"),
    (["--run-for", " 0.1"], 2, "--run-for  0.1: must be seconds"),
    (["--run-for", "+1"], 2, "--run-for +1: must be seconds"),
    (["--run-for", "."], 2, "--run-for .: must be seconds"),
    (["--run-for", "1e-30"], 2, "--run-for 1e-30: must be seconds"),
    (["--run-for", "0.0000000009"], 2, "--run-for 0.0000000009: must be"),
    (["--run-for", "1e-999"], 2, "--run-for 1e-999: must be seconds"),
    (["--stats-period", "1e-999"], 2, "--stats-period 1e-999: must be"),
    (["--stats-period", "1e-30"], 2, "--stats-period 1e-30: must be seconds, "
     "0 or 0.000000001 to 1000000000, "),
    (["--stats-period", "nan"], 2, "--stats-period nan: must be seconds"),
    (["--stats-period", "1000000001"], 2, "--stats-period 1000000001: must be "
     "seconds, 0 or 0.000000001 to 1000000000, "),
    (["--eth-peer", "0"], 2, "--eth-peer 0: must be like"),
    (["--eth-peer", "99,02:00:00:00:00:00"], 2, "--eth-peer 99,"),
    (["--eth-peer", "+0,02:00:00:00:00:00"], 2, "--eth-peer +0,02:"),
    (["--eth-peer", "0,02:00:00:00:00"], 2, "--eth-peer 0,02:00:00:00:00: "),
    (["--eth-peer", "2,02:00:00:00:00:01"], 1,
     "--eth-peer 2,02:00:00:00:00:01: port 2 does not exist or --portmask "),
    (["--eth-peer", "1,02:00:00:00:00:01", "--portmask", "1"], 1,
     "--eth-peer 1,02:00:00:00:00:01: port 1 does not exist or --portmask "),
    (["--config", ""], 2, "--config : must be like"),
    (["--config", "(0,0)"], 2, "--config (0,0): line 1: '(0,0)': must be "
     "(PORT,QUEUE,LCORE)"),
    (["--config", "(0,0, 1)"], 2, "--config (0,0, 1): must be like"),
    (["--config", "(0,0,-1)"], 2, "--config (0,0,-1): must be like"),
    (["--config", "(0,0,1),"], 2, "--config (0,0,1),: line 1: ',': must be "
     "followed"),
    (["--config", "(0,0,1)(1,0,1)"], 2, "'(1,0,1)': must be a comma"),
    (["--config", "(0,0,1),(0,0,2)"], 2, "'(0,0,2)': queue 0 of port 0 is "
     "given twice"),
    (["--config", "(0,0,1),(1,0,9)"], 1, "--config (0,0,1),(1,0,9): lcore 9: "
     "is not"),
    (["--config", "(0,0,1),(1,0,0)"], 1, "--config (0,0,1),(1,0,0): lcore 0: "
     "is the main lcore"),
    (["--config", "(0,0,1)"], 1, "--config (0,0,1): names no queue of "
     "port 1"),
    (["--config", "(0,0,1),(2,0,1)"], 1, "--config (2,0,1): port 2 does not"),
    (["--config", "(0,0,1),(1,0,1)", "--portmask", "1"], 1,
     "--config (1,0,1): port 1 does not exist or --portmask"),
    (["--config", "(0,0,1),(1,1,1)"], 1, "--config (1,1,1): a queue of port 1"),
    (["--config", "(0,0,1),(1,9999,1)"], 2, "'(1,9999,1)': must be (PORT"),
    (["--config", "(0,0,1),(1,0,2)", "--nb-cores", "1"], 1,
     "--nb-cores 1: --config names 2 lcores"),
    (["--config", "(0,0,1),(1,0,2)", "--rxq", "2"], 1,
     "--rxq 2: --config names 1 queues of port 0"),
    (["--map", "lcore 1 rx=0.0,1.0; lcore 2 spare", "--nb-cores", "2"], 1,
     "--nb-cores 2: --map has 1 spare lcores, which leaves 1 for workers"),
)


def expect(testpmd, status, text, others):
    """One line of ours, on stderr, and nothing else unless EAL may speak."""
    with testpmd:
        testpmd.wait_end(status)
        ours = testpmd.complaints()
        check(len(ours) == 1, f"not one line: {testpmd.errors}")
        check(text in ours[0], f"no '{text}' in: {ours[0]}")
        check(others or (testpmd.errors == ours and not testpmd.lines),
              f"there is more: {testpmd.lines + testpmd.errors}")


def bad_option(options, status, text):
    expect(Testpmd(options, TWO_NULL, 2), status, text, False)


def no_workers():
    cpu = min(os.sched_getaffinity(0))
    expect(Testpmd((), TWO_NULL, lcores_option=["--lcores", f"0@{cpu}"]), 1,
           f"--lcores 0@{cpu}: leaves no worker lcore", False)
    expect(Testpmd((), TWO_NULL, lcores_option=["-l", str(cpu)]), 1,
           f"-l {cpu}: leaves no worker lcore", False)


def no_ports():
    expect(Testpmd((), ()), 1, "no ports: ", False)


def too_many_queues():
    expect(Testpmd(("--rxq", "2"), ("net_pcap0,rx_pcap=/dev/null",)), 1,
           "--vdev net_pcap0,rx_pcap=/dev/null: EAL cannot start", True)
    expect(Testpmd(("--rxq", "17"), ("net_ring0",)), 1,
           "--rxq 17: port 0 (net_ring0) has at most 16 receive queues", False)
    expect(Testpmd(("--config", "(0,16,1)"), ("net_ring0",)), 1,
           "--config (0,16,1): port 0 (net_ring0) has at most 16 receive "
           "queues", False)
    expect(Testpmd(("--txq", "17"), ("net_ring0",)), 1,
           "--txq 17: port 0 (net_ring0) has at most 16 transmit queues",
           False)


def too_many_mbufs():
    """More than fit into a mempool's ring, or than 32 bits can count."""
    queues = ("--rxq", "1024", "--burst", "512", "--tx-first-bursts", "1024")
    vdevs = tuple(f"net_null{i}" for i in range(8))
    expect(Testpmd(queues), 1, "transmit queues need 108", False)
    testpmd = Testpmd(queues, vdevs)
    expect(testpmd, 1, "--rxq 1024: 8192 receive and 8192 transmit queues "
           "need 43", False)
    check("pool can have; lower --rxq 1024, --burst 512, --tx-first-bursts "
          "1024" in testpmd.errors[0], f"{testpmd.errors}")
    expect(Testpmd((*queues, "--total-num-mbufs", "1000000000"), vdevs), 1,
           "--total-num-mbufs 1000000000: too few for the queues; must be at "
           "least 43", False)


def mbufs_of_members():
    """Each port beneath another has mbufs in queues of its own."""
    least = []
    for n in (1, 3):
        nulls = tuple(f"net_null{i}" for i in range(n))
        # Of DPDK until 23.07, and from 23.11 on.
        for word in ("slave", "member"):
            bond = "net_bonding0,mode=0," + ",".join(
                f"{word}={null}" for null in nulls)
            with Testpmd(("--portmask", hex(1 << n), "--total-num-mbufs", "1"),
                         (*nulls, bond)) as testpmd:
                testpmd.wait_end(1)
            m = re.search("must be at least ([0-9]+)$", testpmd.complaints()[0])
            least += [int(m[1])] if m else []
    check(len(least) == 2, f"no bond: {testpmd.errors}")
    # Descriptors of a queue by default, in both directions.
    each = 2 * 1024
    check(least[1] - least[0] == 2 * each, f"two members more need {least}")


def too_few_to_send_on():
    """Whichever option it was that asked for so many."""
    with tempfile.NamedTemporaryFile() as file:
        write_pcap(file.name, [])
        vdevs = ("net_pcap0," + f"rx_pcap={file.name}," * 2
                 + "tx_pcap=/dev/null",)
        has = "port 0 (net_pcap0) has at most 1"
        for options, text in (
                (("--rxq", "2"), f"--rxq 2: {has} transmit queues"),
                (("--config", "(0,0,1),(0,1,1)"),
                 "--config (0,0,1),(0,1,1): names 2 queues of port 0, and "
                 f"each needs a transmit queue of its own; {has}")):
            expect(Testpmd(options, vdevs), 1, text, False)


def vdev(value):
    expect(Testpmd((), ("net_null0", value)), 1, f"--vdev {value}", True)


def vdev_unknown():
    expect(Testpmd((), ("net_nosuch0",)), 1,
           "--vdev net_nosuch0: EAL cannot start this device", True)


def has_hugepages():
    with open("/proc/meminfo", encoding="ascii") as f:
        return re.search(r"HugePages_Total: +[1-9]", f.read()) is not None


def no_memory():
    expect(Testpmd(("--total-num-mbufs", "99999999"), TWO_NULL), 1,
           "--total-num-mbufs 99999999: no pool of that size on node 0 "
           "(Cannot allocate memory); give EAL more memory with -m, or lower "
           "--total-num-mbufs", True)


def no_memory_for_what_is_needed(options):
    """By nobody who gave a number of mbufs."""
    given = " ".join(options).replace(" --", ", --") or "--rxd and --txd"
    eal = () if options else ("-m", "16")
    testpmd = Testpmd(options, TWO_NULL, eal=eal)
    if not options:
        at = testpmd.argv.index("-m")
        del testpmd.argv[at:at + 2]
    expect(testpmd, 1, " mbufs, and there is no pool of that size on node 0 "
           "(Cannot allocate memory); give EAL more memory with -m, or lower "
           + given, True)


def too_many_queues_for_the_memory():
    """Whichever option it was that asked for so many; --total-num-mbufs was
    not given."""
    config = ",".join(f"(0,{queue},1)" for queue in range(901)) + ",(1,0,1)"
    for options, text in (
            (("--map", "lcore 1 rx=0.0-900,1.0"), "--map: 902 receive and 902"),
            (("--config", config), "--config: 902 receive and 902"),
            (("--rxq", "900"), "--rxq 900: 1800 receive and 1800"),
            (("--txq", "900"), "--txq 900: 2 receive and 1800"),
            (("--map", "lcore 1", "--rxq", "900"), "--rxq 900: 1800 receive"),
            (("--config", config, "--forward-mode", "rxonly"),
             "--config: 902 receive and 902"),
            (("--config", "(0,0,1),(1,0,1)", "--txq", "900"),
             "--txq 900: 2 receive and 1800"),
            (("--config", "(0,0,1),(1,0,1)", "--forward-mode", "txonly",
              "--rxq", "900"), "--rxq 900: 1800 receive and 2"),
            (("--rxd", "32768", "--txd", "32768", "--burst", "512"),
             "2 receive and 2")):
        testpmd = Testpmd(options, TWO_NULL)
        expect(testpmd, 1, f"{MARK}{text}", True)
        line = testpmd.errors[-1]
        check(re.search(r" queues need \d+ mbufs, and there is no pool of that "
                        r"size on node \d+ \(.+\); give EAL more memory with -m",
                        line), line)


def no_hugepages():
    testpmd = Testpmd((), TWO_NULL, memory=False)
    testpmd.eal_cleans_up = False
    expect(testpmd, 1, "use --no-huge -m 512 or reserve hugepages", True)


def word_among_eal_options():
    """A blank for a comma, perhaps: EAL leaves such words to the program."""
    expect(Testpmd((), TWO_NULL, eal=["net_null2"]), 2,
           "net_null2: unexpected", True)


def no_such_nic():
    expect(Testpmd((), TWO_NULL, eal=["-a", "ffff:ff:1f.7"]), 1,
           "-a ffff:ff:1f.7: EAL has no such device", True)


def bad_eal_option():
    expect(Testpmd((), TWO_NULL, eal=["--no-such-option"]), 2,
           "EAL refuses its options", True)


def place_taken():
    if not Testpmd.shares:
        raise Skip("EAL has no files in common with others here")
    with Testpmd(()) as first:
        first.wait_started()
        second = Testpmd(())
        second.argv, second.runtime = first.argv, first.runtime
        second.eal_cleans_up = False
        expect(second, 1, "give each its own --file-prefix", True)
        first.stop().check_clean()


def no_threads():
    if not Testpmd.shares or "ASAN_OPTIONS" in os.environ:
        raise Skip("a sanitizer has threads of its own")
    wrapper = ["prlimit", "--nproc=1"]
    if os.geteuid() == 0:  # whom that does not bind
        wrapper[:0] = ["setpriv", "--reuid=65531", "--regid=65531",
                       "--clear-groups"]
    testpmd = Testpmd((), TWO_NULL, wrapper=wrapper)
    os.chmod(testpmd.runtime, 0o777)
    if subprocess.run([*wrapper, Testpmd.binary, "--help"], check=False,
                      capture_output=True).returncode != 0:
        raise Skip("the user who has no threads may not run it")
    testpmd.eal_cleans_up = False
    expect(testpmd, 1, "EAL cannot start its threads; see the limits of the "
           "process (ulimit -u)", True)


def no_secondary():
    """It would set up the ports of the process that runs."""
    if not Testpmd.shares:
        raise Skip("EAL has no files in common with others here")
    with Testpmd(()) as first:
        first.eal_cleans_up = False  # after those that did not start
        first.wait_started()
        for value in ("secondary", "auto"):
            second = Testpmd(())
            second.argv = [first.argv[0], "--proc-type", value, *first.argv[1:]]
            second.runtime = first.runtime
            second.eal_cleans_up = False
            expect(second, 1, f"--proc-type {value}: no secondary", True)
        first.stop().check_clean()


def main():
    tap = Tap()
    for options, status, text in OPTIONS:
        tap.run("'" + " ".join(options).replace("\n", "?") + "'", bad_option,
                options, status, text)
    tap.run(f"no worker lcore ({lcores(0)})", no_workers)
    tap.run("no ports", no_ports)
    tap.run("more queues than a port has", too_many_queues)
    tap.run("more than it has to send on", too_few_to_send_on)
    tap.run("more mbufs than a pool can have", too_many_mbufs)
    tap.run("mbufs of a bond's members", mbufs_of_members)
    tap.run("a virtual device of an unknown kind", vdev_unknown)
    for value in ("net_null1,nosuch=1", "net_af_packet0,iface=weir-nosuch0",
                  "net_pcap0,rx_pcap=/nosuch/file"):
        tap.run(f"a virtual device that fails: {value}", vdev, value)
    tap.run("no memory for a pool", no_memory)
    tap.run("no memory for the queues", too_many_queues_for_the_memory)
    for options in ((), ("--rxd", "32768"), ("--rxq", "17"),
                    ("--rxq", "9", "--txd", "9000"),
                    ("--tx-first-bursts", "1024")):
        tap.run("nor for as many as are needed" + "".join(
            " " + o for o in options), no_memory_for_what_is_needed, options)
    # Where there are some, it would just run.
    if not has_hugepages():
        tap.run("no hugepages", no_hugepages)
    tap.run("an EAL option that does not exist", bad_eal_option)
    tap.run("a word among EAL's options", word_among_eal_options)
    tap.run("a NIC that is not there", no_such_nic)
    tap.run("a place that is taken", place_taken)
    tap.run("no threads", no_threads)
    tap.run("a secondary process", no_secondary)
    tap.finish()


if __name__ == "__main__":
    main()
