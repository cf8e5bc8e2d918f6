# SPDX-License-Identifier: BSD-3-Clause
"""weir-testpmd writes DPDK traces (CTF) of what the runtime does."""

import os
import re
import struct
import tempfile

from weirtest import Tap, Testpmd, check

# Ports that never receive: the workers park.
IDLE = ("net_null0,no-rx=1", "net_null1,no-rx=1")
NAMES = ("task.spawn", "task.wake", "poll.begin", "poll.end", "source.poll",
         "worker.park", "worker.unpark", "worker.steal")
STREAM_HEADER = 56
# Packets of a stream begin with this, in CTF.
MAGIC = 0xC1FC1FC1


def find(folder, name):
    return [os.path.join(where, n) for where, _, names in os.walk(folder)
            for n in names if n.startswith(name)]


def run_traced(folder):
    Testpmd(("--run-for", "0.2"), IDLE, 2,
            eal=("--trace=weir.*", f"--trace-dir={folder}")).run().check_clean()


def events(metadata):
    """What the metadata describes: names and ids."""
    return {m[2]: int(m[1]) for m in re.finditer(
        r"event \{\s*id = (\d+);\s*name = \"([^\"]+)\";", metadata)}


def first_ids(folder):
    """The id of the first event of each stream."""
    for path in find(folder, "channel"):
        with open(path, "rb") as f:
            data = f.read(STREAM_HEADER + 8)
        if len(data) < STREAM_HEADER + 8:
            continue
        check(struct.unpack_from("<I", data)[0] == MAGIC, f"{path}: no stream")
        yield struct.unpack_from("<Q", data, STREAM_HEADER)[0] >> 48


def described():
    with tempfile.TemporaryDirectory(prefix="weir-trace-") as folder:
        run_traced(folder)
        paths = find(folder, "metadata")
        check(len(paths) == 1, f"metadata: {paths}")
        with open(paths[0], encoding="ascii") as f:
            metadata = f.read()
        ids = events(metadata)
        for name in NAMES:
            check(f"weir.{name}" in ids, f"no weir.{name} among {list(ids)}")
        check("victim" in metadata, "a steal says not from whom")
        mine = {ids[name] for name in ids if name.startswith("weir.")}
        found = list(first_ids(folder))
        check(len(found) >= 2, f"{len(found)} streams with events")
        check(set(found) <= mine, f"events {found} are none of {mine}")


def main():
    tap = Tap()
    tap.run("events are described and written", described)
    tap.finish()


if __name__ == "__main__":
    main()
