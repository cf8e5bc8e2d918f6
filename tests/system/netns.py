# SPDX-License-Identifier: BSD-3-Clause
"""Network namespaces of our own, and sockets in them. Needs root."""

import contextlib
import ctypes
import functools
import os
import signal
import socket
import struct
import subprocess
import threading
import time

from weirtest import Problem, Testpmd, check, skip_all

WINDOW = 128  # frames on their way at once: far below what any ring holds
SECONDS = 30
TUN = "/dev/net/tun"
CLONE_NEWNET = 0x40000000
SO_RCVBUFFORCE = 33
ETH_P_IP = 0x0800
ETH_P_TEST = 0x88b5  # make_packets()


def ip(*argv):
    done = subprocess.run(("ip", *argv), stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    check(done.returncode == 0, f"ip {' '.join(argv)}: {done.stdout}")
    return done.stdout


@contextlib.contextmanager
def made_namespace(name):
    """Removed in any case: a signal may come just as it is made."""
    try:
        ip("netns", "add", name)
        yield
    finally:
        # One that comes meanwhile waits, and ends neither this nor ip.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK,
                                      (signal.SIGINT, signal.SIGTERM))
        try:
            subprocess.run(("ip", "netns", "del", name), check=False,
                           stderr=subprocess.DEVNULL)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@functools.cache
def lack_of_namespaces():
    """Why we cannot have any, or None."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    try:
        with made_namespace(f"weir-{os.getpid()}-try"):
            return None
    except (Problem, OSError) as e:
        return f"no network namespaces here ({e})".replace("\n", " ")


def require_namespaces():
    if lack_of_namespaces():
        skip_all(lack_of_namespaces())


def lack_of_taps():
    """Why we cannot have any beside namespaces, or None."""
    if os.access(TUN, os.R_OK | os.W_OK):
        return None
    return f"tap ports need {TUN}"


def require_taps():
    require_namespaces()
    if lack_of_taps():
        skip_all(lack_of_taps())


def socket_in(namespace, interface, protocol=ETH_P_TEST):
    """A packet socket in another namespace, where it stays."""
    libc = ctypes.CDLL(None, use_errno=True)

    def enter(path):
        fd = os.open(path, os.O_RDONLY)
        try:
            check(libc.setns(fd, CLONE_NEWNET) == 0,
                  f"setns: {os.strerror(ctypes.get_errno())}")
        finally:
            os.close(fd)

    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        enter(f"/run/netns/{namespace}")
        try:
            s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                              socket.htons(protocol))
            s.bind((interface, protocol))
        finally:
            check(libc.setns(home, CLONE_NEWNET) == 0, "setns back")
    finally:
        os.close(home)
    # The kernel counts some 2 KiB for a small frame; it must hold a window.
    s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 4096 * WINDOW)
    s.settimeout(SECONDS)
    return s


def exchange(packets, sender, receiver):
    """Sends on one socket and checks what the other receives."""
    for at in range(0, len(packets), WINDOW):
        window = packets[at:at + WINDOW]
        for packet in window:
            sender.send(packet)
        for i, packet in enumerate(window):
            try:
                got = receiver.recv(65536)
            except TimeoutError:
                raise Problem(f"frame {at + i} does not arrive") from None
            check(got == packet, f"frame {at + i} differs or is out of order")


@contextlib.contextmanager
def quiet_namespace():
    """The name of a namespace in which the kernel sends nothing by itself."""
    quiet_namespace.number += 1
    name = f"weir-{os.getpid()}-{quiet_namespace.number}-tap"
    with made_namespace(name):
        ip("netns", "exec", name, "sh", "-c",
           "echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6 || true")
        yield name


quiet_namespace.number = 0


@contextlib.contextmanager
def two_taps(park, workers):
    """A weir-testpmd, a socket on the kernel's side of each port, and the
    namespace of all."""
    with quiet_namespace() as name, Testpmd(
            (f"--park={park}",),
            [f"net_tap{i},iface=port{i}" for i in (0, 1)], workers,
            wrapper=("ip", "netns", "exec", name)) as testpmd:
        testpmd.wait_started()
        with socket_in(name, "port0") as one, socket_in(name, "port1") as two:
            yield testpmd, (one, two), name


def forget_error(s):
    """A packet socket tells once that its interface was down."""
    s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)


def drain(s):
    """Until nothing has come for a while."""
    forget_error(s)
    s.settimeout(0.5)
    with contextlib.suppress(TimeoutError):
        while True:
            s.recv(65536)
    s.settimeout(SECONDS)


def flush(sockets):
    """Until what two ends have sent each other has come: what is sent now comes
    behind it. That may be lost itself, while a link is not quite up."""
    for sender, receiver in (sockets, sockets[::-1]):
        forget_error(sender)
        forget_error(receiver)
        deadline = time.monotonic() + SECONDS
        number, seconds = 0, 0.05
        while not _comes(_marker(number), sender, receiver, seconds):
            check(time.monotonic() < deadline, "nothing comes any more")
            number += 1
            seconds *= 2
    for s in sockets:
        s.settimeout(SECONDS)


def _marker(number):
    return (b"\x02" * 12 + struct.pack(">H", ETH_P_TEST)
            + b"marker %d" % number).ljust(60, b"\0")


def _comes(frame, sender, receiver, seconds):
    # In a receiver that is full of what came before, there is no room for it.
    receiver.setblocking(False)
    with contextlib.suppress(OSError):
        while True:
            receiver.recv(65536)
    sender.settimeout(seconds)
    with contextlib.suppress(OSError):
        sender.send(frame)
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        receiver.settimeout(left)
        with contextlib.suppress(OSError):
            if receiver.recv(65536) == frame:
                return True
    return False


def await_up(namespace, link):
    deadline = time.monotonic() + SECONDS
    while "state UP" not in ip("-n", namespace, "link", "show", link):
        check(time.monotonic() < deadline, f"{link} does not come up")
        time.sleep(0.01)


def flap(rng, namespace, links, seconds):
    """Takes links down and up again, one after another, all in the end."""
    deadline = time.monotonic() + seconds
    flaps = 0
    while time.monotonic() < deadline:
        link = rng.choice(links)
        for state in ("down", "up"):
            ip("-n", namespace, "link", "set", link, state)
            time.sleep(rng.random() * 0.2)
        flaps += 1
    return flaps


@contextlib.contextmanager
def sending(packets, *sockets):
    """Meanwhile each socket sends packets, as fast as it may."""
    over = threading.Event()

    def send(s):
        while not over.is_set():
            for packet in packets:
                with contextlib.suppress(OSError):
                    s.send(packet)
                over.wait(0.0005)

    threads = [threading.Thread(target=send, args=(s,)) for s in sockets]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def check_accounted(account):
    """What was received was sent, or is known to be lost."""
    received = sum(port[0] for port in account.ports.values())
    check(received == account.forwarded + account.lost,
          f"received {received}, forwarded {account.forwarded}, lost "
          f"{account.lost}")
    check((account.tasks_left, account.mbufs_left) == (0, 0),
          f"left: {account.tasks_left} tasks, {account.mbufs_left} mbufs")
