# SPDX-License-Identifier: BSD-3-Clause
"""Runs programs that fill a terminal."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

from weirtest import check

SECONDS = 60  # until what must come has come
LEAVES_SCREEN = b"\x1b[?1049l"


class Terminal:
    """A program in a terminal of ours. Use as a context manager."""

    def __init__(self, argv, size=(40, 132), env=None, term="xterm",
                 controlling=True, stderr=None):
        self.argv, self.size = argv, size
        self.controlling, self.stderr = controlling, stderr
        self.env = {**os.environ, **(env or {}), "TERM": term}
        for name in ("LINES", "COLUMNS"):
            self.env.pop(name, None)
        self.seen = b""

    def __enter__(self):
        self.ours, self.theirs = pty.openpty()
        self.resize(*self.size)
        self.modes = termios.tcgetattr(self.theirs)

        def take_terminal():
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(
            self.argv, stdin=self.theirs, stdout=self.theirs,
            stderr=self.stderr or self.theirs, env=self.env,
            start_new_session=True,
            preexec_fn=take_terminal if self.controlling else None)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        if self.ours is not None:
            os.close(self.ours)
        os.close(self.theirs)

    def hang_up(self):
        os.close(self.ours)
        self.ours = None

    def resize(self, height, width):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ,
                    struct.pack("HHHH", height, width, 0, 0))

    def press(self, key):
        os.write(self.ours, key)

    def _read(self, seconds):
        ready, _, _ = select.select([self.ours], [], [], seconds)
        if ready:
            self.seen += os.read(self.ours, 65536)
        return bool(ready)

    def wait_text(self, text):
        """Until it has been drawn since the last call."""
        deadline = time.monotonic() + SECONDS
        while text not in self.seen:
            over = time.monotonic() > deadline or \
                self.process.poll() is not None
            check(self._read(1) or not over,
                  f"no {text} on the screen: {self.seen}")
        self.seen = b""

    def wait_end(self, status=0):
        """Until it has ended. Gives what it wrote after the last frame."""
        deadline = time.monotonic() + SECONDS
        while self.process.poll() is None:
            check(time.monotonic() < deadline, "it does not end")
            self._read(0.1)
        while self._read(0):
            pass
        check(self.process.returncode == status,
              f"exit status {self.process.returncode}: {self.seen}")
        check(termios.tcgetattr(self.theirs) == self.modes,
              "the terminal is not as it was")
        screen, left, rest = self.seen.rpartition(LEAVES_SCREEN)
        check(left, f"the screen is not given back: {screen}")
        return re.sub(r"\x1b\[[?\d;]*[a-zA-Z]|\x1b[>=]", "",
                      rest.decode()).strip()
