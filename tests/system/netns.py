# SPDX-License-Identifier: BSD-3-Clause
"""Network namespaces of our own, and sockets in them. Needs root."""

import ctypes
import os
import socket
import subprocess

from weirtest import Problem, check, skip_all

WINDOW = 128  # frames on their way at once: far below what any ring holds
SECONDS = 30
CLONE_NEWNET = 0x40000000
SO_RCVBUFFORCE = 33
ETH_P_TEST = 0x88b5  # make_packets()


def ip(*argv):
    done = subprocess.run(("ip", *argv), stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False)
    check(done.returncode == 0, f"ip {' '.join(argv)}: {done.stdout}")
    return done.stdout


def require_namespaces():
    if os.geteuid() != 0:
        skip_all("network namespaces need root")
    name = f"weir-{os.getpid()}-try"
    try:
        ip("netns", "add", name)
        ip("netns", "del", name)
    except (Problem, OSError) as e:
        skip_all(f"no network namespaces here ({e})".replace("\n", " "))


def socket_in(namespace, interface):
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
                              socket.htons(ETH_P_TEST))
            s.bind((interface, ETH_P_TEST))
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
