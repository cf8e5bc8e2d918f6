# SPDX-License-Identifier: BSD-3-Clause
"""Plays a process with a Weir, as far as DPDK's telemetry shows it."""

import contextlib
import json
import os
import socket
import tempfile
import threading

WORKERS = 2
PID = 4711


class Played:
    """A process with DPDK's telemetry. `answer` gives None, or an answer, to
    each request, or raises EOFError to end; use as a context manager."""

    SIZE = 16384  # of an answer, at most
    GREETING = json.dumps({"version": "DPDK", "pid": PID,
                           "max_output_len": SIZE}).encode()

    def __init__(self, answer, greeting=GREETING):
        self.answer, self.greeting = answer, greeting
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        folder = self.stack.enter_context(
            tempfile.TemporaryDirectory(prefix="weir-system-"))
        self.path = os.path.join(folder, "telemetry")
        self.socket = self.stack.enter_context(
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET))
        self.socket.bind(self.path)
        self.socket.listen()
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()
        return self

    def __exit__(self, *_):
        # To a thread that still waits for a connection, this is its end.
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.stack.close()

    def _serve(self):
        with contextlib.suppress(OSError, EOFError):
            peer, _ = self.socket.accept()
            with peer:
                if self.greeting:
                    peer.send(self.greeting)
                while request := peer.recv(1024).decode():
                    command, *rest = request.split(",")
                    peer.send(json.dumps(
                        {command: self.answer(command, *rest)}).encode())


class Scene:
    """The answers of a Weir whose counts grow by `step` with each sample."""

    def __init__(self, step=1000, names=("weir",), **others):
        self.step, self.names, self.others = step, names, others
        self.samples = 0  # and a list before the first, to find the runtime

    def count(self, start=10 ** 6):
        return start + self.step * self.samples

    def __call__(self, request, name=None, *rest):
        if request in self.others:
            return self.others[request](self, *rest)
        return getattr(self, request.rpartition("/")[2])(name, *rest)

    def list(self, _):
        self.samples += 1
        return self.names

    def info(self, name):
        return {"name": name, "workers": WORKERS, "nodes": 1, "live_tasks": 2,
                "inject_depth": 7, "blocking_threads": 3,
                "blocking_queued": 5, "blocking_running": 1,
                **dict.fromkeys(("spawned", "polls", "forced_yields"),
                                self.count())}

    def worker(self, _, index):
        # The second one is as retired as it can be.
        grows = self.count() if index == "0" else 0
        return {"active": int(index == "0"), "lcore": int(index) + 1,
                "node": 0, "queue_depth": 9, "max_poll_gap_ns": 218000,
                "empty_polls": grows // 2,
                **dict.fromkeys(("polls", "parks", "steals", "busy_ns",
                                 "source_polls"), grows)}

    def steals(self, _, thief):
        return {thief: [0, 0]}

    def histogram(self, *_):
        return None

    def tasks(self, *_):
        return {f"{i:x}": {"name": f"task-{i}", "state": "waiting",
                           "cancelled": 0, "node": 0, "since_wake_us": 12,
                           "polls": self.count(0) * i} for i in (1, 2)}
