# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs inside the virtual machine, as the host asks.

    agent.py TTY

Requests and answers are lines of JSON on a serial port. The output of programs
goes into files of the folder that host and guest share.
"""

import json
import os
import socket
import subprocess
import sys
import termios

SHARE = "/run/share"
OUTPUT_FLAGS, LOCAL_FLAGS, INPUT_FLAGS = 1, 3, 0


def open_raw(path):
    """Neither echo nor signals: what is sent is what comes."""
    port = open(path, "r+b", buffering=0)
    attributes = termios.tcgetattr(port)
    for flags in (INPUT_FLAGS, OUTPUT_FLAGS, LOCAL_FLAGS):
        attributes[flags] = 0
    termios.tcsetattr(port, termios.TCSANOW, attributes)
    return port


class Agent:
    def __init__(self):
        self.programs = {}

    def start(self, argv, env, name):
        with open(f"{SHARE}/{name}.out", "wb") as out, \
             open(f"{SHARE}/{name}.err", "wb") as err:
            process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                env={**os.environ, **env})
        self.programs[process.pid] = process
        return process.pid

    def wait(self, pid, seconds):
        """The exit status, or None if it goes on."""
        try:
            return self.programs[pid].wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def signal(self, pid, number):
        self.programs[pid].send_signal(number)

    def read(self, path):
        """A file's text, of /proc and the like."""
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def listed(self, path):
        return sorted(os.listdir(path))

    def telemetry(self, path, request):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.connect(path)
            size = json.loads(s.recv(1024))["max_output_len"]
            s.send(request.encode())
            return json.loads(s.recv(size))[request.split(",")[0]]

    def answer(self, request):
        try:
            verb, *arguments = request
            return {"value": getattr(self, verb)(*arguments)}
        except Exception as e:  # the host decides what to do about it
            return {"error": f"{type(e).__name__}: {e}"}


def main():
    agent = Agent()
    with open_raw(sys.argv[1]) as port, os.fdopen(os.dup(port.fileno()),
                                                  "rb") as lines:
        port.write(b'{"value": "ready"}\n')
        for line in lines:
            request = json.loads(line)
            if request == ["end"]:
                break
            port.write(json.dumps(agent.answer(request)).encode() + b"\n")


if __name__ == "__main__":
    main()
