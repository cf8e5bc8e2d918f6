# SPDX-License-Identifier: BSD-3-Clause
"""weir-testpmd writes DPDK traces (CTF) of what the runtime does."""

import os
import re
import struct
import tempfile

from weirtest import Tap, Testpmd, check

# Ports that never receive: the workers park.
IDLE = ("net_null0,no-rx=1", "net_null1,no-rx=1")
WORKERS = 2
NAMES = ("task.spawn", "task.wake", "poll.begin", "poll.end", "source.poll",
         "worker.park", "worker.unpark", "worker.steal")
STREAM_HEADER = 56
# Packets of a stream begin with this, in CTF.
MAGIC = 0xC1FC1FC1
TIME_BITS = 48  # of an event's first word; above them is its id
EVENT = re.compile(r'event \{\s*id = (\d+);\s*name = "([^"]+)";\s*'
                   r"fields := struct \{([^}]*)\};")
WORKER_LINE = re.compile(r"worker (\d+): .* steals (\d+), parks (\d+),")


def find(folder, name):
    return [os.path.join(where, n) for where, _, names in os.walk(folder)
            for n in names if n.startswith(name)]


def run_traced(folder):
    """What it says of each worker: steals and parks."""
    # Rare ones, of which the trace has all.
    testpmd = Testpmd(("--run-for", "0.2"), IDLE, WORKERS, eal=(
        "--trace=weir.worker.*", f"--trace-dir={folder}"))
    testpmd.run().check_clean()
    found = filter(None, map(WORKER_LINE.match, testpmd.lines))
    return {int(m[1]): (int(m[2]), int(m[3])) for m in found}


def described(folder):
    """What the metadata describes: names and fields by ids."""
    paths = find(folder, "metadata")
    check(len(paths) == 1, f"metadata: {paths}")
    with open(paths[0], encoding="ascii") as f:
        return {int(m[1]): (m[2], re.findall(r"(\w+) (\w+)(?:\[\d+\])?;", m[3]))
                for m in EVENT.finditer(f.read())}


def read_stream(path, kinds):
    """(time, name, values) of each event, which all begin at a multiple of 8."""
    with open(path, "rb") as f:
        data = f.read()
    check(struct.unpack_from("<I", data)[0] == MAGIC, f"{path}: no stream")
    at = STREAM_HEADER
    while at < len(data):
        word = struct.unpack_from("<Q", data, at)[0]
        at += 8
        name, fields = kinds.get(word >> TIME_BITS, (None, ()))
        check(name and name.startswith("weir.worker."), f"{path}: {name}")
        check({kind for kind, _ in fields} == {"uint32_t"}, f"{name}: {fields}")
        values = struct.unpack_from(f"<{len(fields)}I", data, at)
        at += (4 * len(fields) + 7) // 8 * 8
        yield (word & (1 << TIME_BITS) - 1, name[len("weir.worker."):],
               dict(zip((field for _, field in fields), values)))


def events_are_described_and_written():
    with tempfile.TemporaryDirectory(prefix="weir-trace-") as folder:
        counts = run_traced(folder)
        kinds = described(folder)
        fields = {name: [f for _, f in typed] for name, typed in kinds.values()}
        for name in NAMES:
            check(f"weir.{name}" in fields, f"no weir.{name} in {list(fields)}")
        check(fields["weir.worker.steal"] == ["thief", "victim", "tasks"],
              f"a steal: {fields['weir.worker.steal']}")
        events = sorted((e for path in find(folder, "channel")
                         for e in read_stream(path, kinds)),
                        key=lambda e: e[0])
    check(len(counts) == WORKERS, f"workers: {counts}")
    check(any(parks for _, parks in counts.values()), "nobody has parked")
    check({e[2]["worker"] for e in events if "worker" in e[2]}
          <= counts.keys(), f"events: {events}")
    for worker, (steals, parks) in counts.items():
        mine = [name for _, name, values in events
                if values.get("worker") == worker]
        check(mine == ["park", "unpark"] * parks,
              f"worker {worker} has parked {parks} times: {mine}")
        taken = [values for _, name, values in events
                 if name == "steal" and values["thief"] == worker]
        check(sum(v["tasks"] for v in taken) == steals
              and all(v["victim"] in counts.keys() - {worker} for v in taken),
              f"worker {worker} has stolen {steals} tasks: {taken}")


def main():
    tap = Tap()
    tap.run("events are described and written",
            events_are_described_and_written)
    tap.finish()


if __name__ == "__main__":
    main()
