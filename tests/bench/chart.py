# SPDX-License-Identifier: BSD-3-Clause
"""Charts as SVG: text and lines that adapt to a light or dark page, in the
fonts that the reader has."""

import math
from xml.sax.saxutils import escape

# Colours by name and not by variable: some viewers know no variables.
STYLE = """\
<style>
 text { font: 13px sans-serif; fill: #1b1f24; }
 .title { font-weight: bold; }
 .dim { fill: #656d76; }
 .end { text-anchor: end; }
 .middle { text-anchor: middle; }
 .axis { stroke: #d0d7de; stroke-width: 1; }
 .one { stroke: #1b1f24; stroke-width: 1; }
 .goal { stroke: #9a6700; stroke-width: 2; stroke-dasharray: 3 2; }
 .c0 { fill: #2f81f7; stroke: #2f81f7; }
 .c1 { fill: #db6d28; stroke: #db6d28; }
 .curve { fill: none; stroke-width: 2; }
 @media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .dim { fill: #9198a1; }
  .axis { stroke: #3d444d; }
  .one { stroke: #e6edf3; }
  .goal { stroke: #d29922; }
 }
</style>"""

WIDTH = 860
ROW = 24
TOP = 56
# Bars: where names end, and where the scale is.
NAMES = 230
SCALE = (240, 600)
# Lines: the field of one chart.
FIELD = (70, 660, 220)


def text(x, y, words, classes=""):
    of_class = f' class="{classes}"' if classes else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{of_class}>{escape(words)}</text>'


def line(x1, y1, x2, y2, classes):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'class="{classes}"/>')


def document(height, title, parts):
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
        f'height="{height}" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(title)}</title>", STYLE,
        text(10, 22, title, "title"), *parts, "</svg>"]) + "\n"


def bars(title, rows):
    """One row a scenario: (name, ratio, goal, words); a ratio of Weir to its
    best peer, on a scale of powers of two, or None for words alone."""
    known = [v for _, ratio, goal, _ in rows for v in (ratio, goal) if v]
    low = min(-1, math.floor(math.log2(min(known, default=1))))
    high = max(1, math.ceil(math.log2(max(known, default=1))))
    left, right = SCALE

    def at(ratio):
        return left + (math.log2(ratio) - low) / (high - low) * (right - left)

    bottom = TOP + ROW * len(rows)
    parts = [text(10, 42, "times as good as the best peer; dashes: the goal",
                  "dim")]
    for power in range(low, high + 1):
        x = at(2.0 ** power)
        parts += [line(x, TOP, x, bottom, "axis" if power else "one"),
                  text(x, bottom + 18, f"{2.0 ** power:g}", "dim middle")]
    for i, (name, ratio, goal, words) in enumerate(rows):
        y = TOP + ROW * i
        parts.append(text(NAMES, y + 16, name, "end"))
        if ratio:
            begin, end = sorted((at(1), at(ratio)))
            parts.append(f'<rect x="{begin:.1f}" y="{y + 5}" '
                         f'width="{max(end - begin, 1):.1f}" '
                         f'height="{ROW - 10}" '
                         f'class="{"c0" if ratio >= 1 else "c1"}"/>')
        if goal:
            parts.append(line(at(goal), y + 2, at(goal), y + ROW - 2, "goal"))
        parts.append(text(right + 12, y + 16, words, "dim"))
    return document(bottom + 30, title, parts)


def levels(least, most):
    """Where lines are drawn, on a scale of powers, so that all lies between."""
    steps = [m * 10.0 ** power for power in range(math.floor(
        math.log10(least)), math.ceil(math.log10(most)) + 1) for m in (1, 2, 5)]
    low = max(s for s in steps if s <= least)
    high = min(s for s in steps if s >= most and s > low)
    return [s for s in steps if low <= s <= high]


def share(value, least, most):
    """How far a value is from the least to the most, on a scale of powers."""
    return math.log(value / least) / math.log(most / least)


def curves(y, name, unit, series):
    """One field of two curves at most: {label: [(x, value), ...]}, both on
    scales of powers, so that a slope is a power of growth."""
    left, right, height = FIELD
    points = [p for those in series.values() for p in those]
    lines = levels(min(v for _, v in points), max(v for _, v in points))
    sizes = sorted({x for x, _ in points})

    def across(x):
        # One size alone has no scale.
        return (left + (right - left) * share(x, sizes[0], sizes[-1])
                if len(sizes) > 1 else left)

    def down(value):
        return y + height * (1 - share(value, lines[0], lines[-1]))

    parts = [text(10, y - 12, f"{name} ({unit})", "title")]
    for level in lines:
        parts += [line(left, down(level), right, down(level), "axis"),
                  text(left - 6, down(level) + 4, f"{level:,g}", "dim end")]
    for x in sizes:
        parts.append(text(across(x), y + height + 18, f"{x:,}", "dim middle"))
    for i, (label, those) in enumerate(series.items()):
        path = " ".join(f"{across(x):.1f},{down(v):.1f}" for x, v in those)
        parts += [f'<polyline points="{path}" class="c{i} curve"/>',
                  *(f'<circle cx="{across(x):.1f}" cy="{down(v):.1f}" r="3" '
                    f'class="c{i}"/>' for x, v in those),
                  f'<circle cx="{right + 14}" cy="{y + 12 + 20 * i}" r="4" '
                  f'class="c{i}"/>',
                  text(right + 24, y + 16 + 20 * i, label)]
    return parts


def fields(title, charts):
    """Charts below each other: (name, unit, series), see curves()."""
    step = FIELD[2] + 70
    parts = []
    for i, (name, unit, series) in enumerate(charts):
        parts += curves(70 + step * i, name, unit, series)
    return document(50 + step * len(charts), title, parts)
