# SPDX-License-Identifier: BSD-3-Clause
"""The picture that weir-lcores draws of a machine and a map.

Usage: test_picture.py WEIR_LCORES
"""

import os
import re
import tempfile
import xml.etree.ElementTree

from lcorestool import XEON_MAP, ask, machine, machines, made
from weirtest import Tap, check

SVG = "{http://www.w3.org/2000/svg}"


def picture(path, *options):
    text = ask("show", "--from", path, "--svg", "-", *options)
    check(not re.search(r"href|url\(|@import|https?://(?!www\.w3\.org)", text),
          "it needs something from elsewhere")
    return xml.etree.ElementTree.fromstring(text)


def boxes(root, name):
    """(x, y, right, bottom) of all boxes of a class."""
    found = []
    for rect in root.iter(SVG + "rect"):
        if rect.get("class") == name:
            x, y, w, h = (float(rect.get(k))
                          for k in ("x", "y", "width", "height"))
            found.append((x, y, x + w, y + h))
    return found


def cpus(root):
    """The boxes of CPUs by number; those of the legend have no text."""
    found = {}
    for group in root.iter(SVG + "g"):
        text = group.find(SVG + "text")
        if text is not None:
            rect = group.find(SVG + "rect")
            x, y, w, h = (float(rect.get(k))
                          for k in ("x", "y", "width", "height"))
            found[int(text.text)] = (x, y, x + w, y + h)
    return found


def inside(inner, outer):
    return (inner[0] >= outer[0] and inner[1] >= outer[1]
            and inner[2] <= outer[2] and inner[3] <= outer[3])


def apart(a, b):
    return a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


def picture_has_a_place_for_all(path):
    root = picture(path)
    page, = boxes(root, "page")
    nodes, caches, found = boxes(root, "node"), boxes(root, "cache"), cpus(root)
    for group in nodes, caches, list(found.values()), boxes(root, "nic"):
        for i, box in enumerate(group):
            check(inside(box, page), f"{box} is not on the page")
            check(all(apart(box, other) for other in group[:i]),
                  f"{box} is over another")
    check(all(sum(inside(c, n) for n in nodes) == 1 for c in caches),
          "a cache is not inside its node")
    check(all(sum(inside(c, n) for n in caches) == 1 for c in found.values()),
          "a CPU is not inside its cache")
    out = ask("show", "--from", path)
    expected = int(re.search(r"(\d+) CPUs?", out)[1])
    check(len(found) == expected, f"{len(found)} CPUs, not {expected}")
    check(len(boxes(root, "nic")) == out.count("  device  "),
          "not a box for each device")


def picture_of_many_caches():
    with made([[2 * i, 2 * i + 1] for i in range(20)]) as path:
        picture_has_a_place_for_all(path)
    with made([list(range(50))]) as path:
        picture_has_a_place_for_all(path)


def wires_run_between_cores():
    """Also those to the second CPU of a core."""
    root = picture(machine("xeon"), "--map", "(0,0,2),(1,0,18),(1,1,19)")
    found = cpus(root)
    for path in root.iter(SVG + "path"):
        m = re.fullmatch(r"M\d+ \d+H(\d+)V(\d+)H(\d+)V(\d+)H\d+",
                         path.get("d"))
        if m is None:
            continue  # the legend's
        begin, y, x, end = (int(n) for n in m.groups())
        for cpu, (left, top, right, bottom) in found.items():
            check(not (top <= y <= bottom and begin <= right and left <= x),
                  f"{path.get('d')} crosses CPU {cpu}")
            check(not (left <= x <= right and y <= bottom and top <= end),
                  f"{path.get('d')} runs down over CPU {cpu}")


def wires_lead_from_devices_to_workers():
    root = picture(machine("xeon"), "--map", XEON_MAP)
    wires = [(p.get("class"), p.find(SVG + "title").text, p.get("d"))
             for p in root.iter(SVG + "path")
             if p.find(SVG + "title") is not None]
    titles = sorted((title, "far" in kind) for kind, title, _ in wires)
    check(titles == [("port 0: 0.0-1 on lcore 2", False),
                     ("port 0: 0.2 on lcore 10", True),
                     ("port 1: 1.0 on lcore 10", False)], f"{titles}")
    found, devices = cpus(root), boxes(root, "nic")
    for _, title, d in wires:
        x, y, end_y, end_x = (float(n) for n in re.fullmatch(
            r"M(\d+) (\d+)H\d+V\d+H\d+V(\d+)H(\d+)", d).groups())
        check(any(right == x and top < y < bottom
                  for _, top, right, bottom in devices),
              f"{title}: begins at no device")
        left, top, _, bottom = found[int(title.split()[-1])]
        check(end_x == left and top < end_y < bottom,
              f"{title}: does not end at its CPU")


def picture_goes_to_a_file():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "machine.svg")
        out = ask("show", "--from", machine("xeon"), "--svg", path)
        check(out == "", f"there is text too: {out}")
        with open(path, encoding="ascii") as f:
            check(f.read() == ask("show", "--from", machine("xeon"), "--svg",
                                  "-"), "another picture")


def names_from_elsewhere_are_escaped():
    """An interface may have any name."""
    with open(machine("xeon"), encoding="utf-8") as f:
        text = f.read()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "hostile")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace("= ens1f0", "= <&\"'>]]>\\xfc\\x1b[2J"))
        root = xml.etree.ElementTree.fromstring(
            ask("show", "--from", path, "--svg", "-"))
        check(any(t.text.startswith("<&\"'>]]>??")
                  for t in root.iter(SVG + "text") if t.text),
              "not the interface's name")
        out = ask("show", "--from", path)
        check(out.isascii() and "\x1b" not in out, "it got through")


def memory_that_no_node_tells_of_is_not_known():
    def lines(path):
        return [t.text for t in picture(path).iter(SVG + "text")
                if t.text and "memory" in t.text]

    with made([range(4)]) as path:
        check(lines(path) == ["memory not known"], f"{lines(path)}")
    got = lines(machine("holes"))
    check(got and all(line.startswith("no memory") for line in got), f"{got}")


def main():
    tap = Tap()
    for name in machines():
        tap.run(name, picture_has_a_place_for_all, machine(name))
    tap.run("many caches", picture_of_many_caches)
    tap.run("ends of wires", wires_lead_from_devices_to_workers)
    tap.run("ways of wires", wires_run_between_cores)
    tap.run("picture in a file", picture_goes_to_a_file)
    tap.run("names from elsewhere", names_from_elsewhere_are_escaped)
    tap.run("memory not known", memory_that_no_node_tells_of_is_not_known)
    tap.finish()


if __name__ == "__main__":
    main()
