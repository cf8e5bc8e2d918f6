# SPDX-License-Identifier: BSD-3-Clause
"""The mutation table: is each order that the library asks for needed, and does
a model show it?

Each operation with an order stronger than relaxed is weakened by one step, one
place at a time, without a rebuild (model --weaken), and the models that come to
that place are run, those that are named after its file first, until one fails.
"""

import collections
import concurrent.futures
import functools
import os
import pathlib
import re
import sys

import program

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
ROOTS = ("lib", "drivers")
NOT_LOOKED_AT = ("lib/base/atomic.h",)
# How far above an operation its label may stand: as tools/check has it.
LABEL_REACH = 6
PLACES_SECONDS = 2

COMMENT = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
LABEL = re.compile(r"\[[a-z_]+:[A-Z]\d+\]")
ORDER = re.compile(r"\b(?:RELAXED|ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)\b")
CALL = re.compile(r"\b(\w+)\s*\(")

# The steps down from an order: what model --weaken calls it, and for people.
WEAKER = {
    "ACQUIRE": [("relaxed", "RELAXED")],
    "RELEASE": [("relaxed", "RELAXED")],
    "ACQ_REL": [("acquire", "ACQUIRE"), ("release", "RELEASE")],
    "SEQ_CST": [("acq_rel", "ACQ_REL")],
    # These have no order to name.
    "light fence": [("relaxed", "none")],
    "membarrier": [("relaxed", "none")],
}

# Places that no model shows, and why they are as they are: (file, label, order
# and what it is weakened to, a part of the operation's line) -> reason.
EXCEPTIONS = {
    ("lib/queue/run_queue.c", "[queue:A4]", "ACQUIRE -> RELAXED",
     "&q->limit"):
        "membarrier is behind it, of which ThreadSanitizer does not know",
    ("lib/park/source.c", "[park:A1]", "RELEASE -> RELAXED",
     "&from->array"):
        "of the array that sources leave: their new worker's fence is before it, "
        "of which ThreadSanitizer does not know",
}

# One operation. where: the file and the line to show; sites: (file, first, last)
# of the atomic operations that the checker sees; orders: as written.
Place = collections.namedtuple("Place", "labels file line sites orders")
# A model: its program, how long it took, and the places it came to by then.
Passed = collections.namedtuple("Passed", "path seconds places")
Mutation = collections.namedtuple("Mutation", "place change to")


def blank(m):
    return re.sub(r"[^\n]", " ", m[0])


@functools.cache
def parts(name):
    """The text of a file without comments and strings, and the comments."""
    text = (TOP / name).read_text(encoding="utf-8")
    comments, end = [], 0
    for m in COMMENT.finditer(text):
        comments += [re.sub(r"[^\n]", " ", text[end:m.start()]), m[0]]
        end = m.end()
    comments.append(re.sub(r"[^\n]", " ", text[end:]))
    return COMMENT.sub(blank, text), "".join(comments).split("\n")


def call_end(code, opening):
    """The index behind the parenthesis that closes this one."""
    depth = 0
    for i in range(opening, len(code)):
        depth += {"(": 1, ")": -1}.get(code[i], 0)
        if depth == 0:
            return i + 1
    return len(code)


def lines_of(code, begin, end):
    return code.count("\n", 0, begin) + 1, code.count("\n", 0, end) + 1


def sources(*roots):
    return sorted(str(p.relative_to(TOP)) for root in roots
                  for p in (TOP / root).rglob("*.[ch]")
                  if str(p.relative_to(TOP)) not in NOT_LOOKED_AT)


def operations_in(name, function):
    """Sites of the operations in a function to which an order is passed, or
    which stands in another's place in the models."""
    code, _ = parts(name)
    sites = []
    for m in re.finditer(rf"^(?:__wrap_)?{function}\(", code, re.MULTILINE):
        body = code.find("\n{", m.end())
        if body < 0 or ";" in code[m.end():body]:
            continue
        end = code.find("\n}", body)
        for op in re.finditer(r"\b(?:atomic|virtual)_\w+\s*\(",
                              code[body:end]):
            begin = body + op.start()
            after = call_end(code, body + op.end() - 1)
            if re.search(r"\border\b|VIRTUAL_SITE", code[begin:after]):
                sites.append((name, *lines_of(code, begin, after - 1)))
    return sites


@functools.cache
def behind(function):
    """Sites behind a call of a function that is no atomic operation itself."""
    return [site for name in sources("lib", "tests/model", "tests/virtual")
            for site in operations_in(name, function)]


def labels_above(comments, line):
    """The labels next above a line, of one line of comment or several."""
    for i in range(line - 1, max(-1, line - 2 - LABEL_REACH), -1):
        found = LABEL.findall(comments[i])
        if not found:
            continue
        while i > 0 and comments[i - 1].strip():
            i -= 1
            found += LABEL.findall(comments[i])
        return sorted(set(found))
    return []


def places_in(name):
    code, comments = parts(name)
    for m in CALL.finditer(code):
        if m[1] in ("if", "while", "for", "switch", "return"):
            continue
        end = call_end(code, m.end() - 1)
        inside = code[m.end():end]
        orders = ORDER.findall(inside)
        if m[1] == "atomic_light_fence":
            orders = ["light fence"]
        elif m[1] == "weir__membarrier" and "PRIVATE" in inside and \
                "REGISTER" not in inside:
            orders = ["membarrier"]
        elif CALL.search(inside) and \
                not ORDER.search(re.sub(r"\w+\s*\([^()]*\)", "", inside)):
            continue  # they are those of a call within
        if not any(o in WEAKER for o in orders):
            continue
        first, last = lines_of(code, m.start(), end - 1)
        if re.match(r"atomic_|virtual_", m[1]):
            sites = [(name, first, last)]
        else:
            sites = behind(m[1])
        yield Place(labels_above(comments, first), name, first, sites, orders)


def mutations_of(place):
    order = place.orders[0]
    shown = ", ".join(place.orders)
    for to, name in WEAKER.get(order, []):
        weaker = ", ".join([name, *place.orders[1:]])
        yield Mutation(place, f"{shown} -> {weaker}", to)
    if len(place.orders) > 1 and place.orders[1] in WEAKER:
        yield Mutation(place, f"{shown} -> {order}, RELAXED", "failure")


def passed_by(models):
    """What is known of each model, and those that fail as they are."""
    jobs = [(path, ["-P", "-t", str(PLACES_SECONDS), name])
            for name, path in models.items()]
    found, broken = {}, []
    for result in program.run_all(jobs):
        if not result.held and (not result.undone or not result.name):
            broken.append(result.text)
        m = re.search(r"([\d.]+) s(?:,|$)", result.text)
        found[result.name] = Passed(models.get(result.name),
                                    float(m[1]) if m else 0,
                                    program.places(result))
    return found, broken


def stem(name):
    return pathlib.PurePath(name).stem


def candidates(site, models):
    """Those that come to a site, most likely ones first."""
    name, first, last = site
    hits = [(not model.startswith(stem(name)), passed.seconds, model)
            for model, passed in models.items()
            if any(f == name and first <= line <= last
                   for f, line in passed.places)]
    return [model for *_, model in sorted(hits)]


def try_out(models, seconds, mutation):
    """Which model notices, or how many were asked."""
    asked = 0
    for site in mutation.place.sites:
        name, first, last = site
        for model in candidates(site, models):
            asked += 1
            argument = f"/{name}:{first}-{last}:{mutation.to}"
            result = program.run(models[model].path,
                                 ["-w", argument, "-t", str(seconds),
                                  model])[-1]
            if not result.held and not result.undone:
                return f"caught by {model}", True
    if asked == 0:
        return "NOT CAUGHT: no model comes here", False
    return f"NOT CAUGHT: by {asked} models", False


def judge(models, seconds, mutation):
    verdict, caught = try_out(models, seconds, mutation)
    if caught:
        return verdict, True
    place = mutation.place
    line = parts(place.file)[0].split("\n")[place.line - 1]
    for (file, label, change, text), reason in EXCEPTIONS.items():
        if (file == place.file and label in place.labels
                and change == mutation.change and text in line):
            return f"excepted: {reason}", True
    return verdict, False


def print_table(models, words, seconds):
    """TAP, a line for each mutation; True if each order is seen to be needed, or
    excepted with a reason."""
    wanted = [m for name in sources(*ROOTS) for p in places_in(name)
              for m in mutations_of(p)
              if not words or any(w in text for w in words
                                  for text in (name, *p.labels))]
    passed, broken = passed_by(models)
    if broken:
        print("these fail as they are:", *broken, sep="\n", file=sys.stderr)
        return False
    print(f"1..{len(wanted)}", flush=True)
    good = bool(wanted)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        verdicts = pool.map(lambda m: judge(passed, seconds, m), wanted)
        for n, (mutation, (verdict, fine)) in enumerate(zip(wanted, verdicts),
                                                        1):
            place = mutation.place
            print(f"{'ok' if fine else 'not ok'} {n} - "
                  f"{' '.join(place.labels) or '(no label)'} "
                  f"{place.file}:{place.line} {mutation.change}: {verdict}",
                  flush=True)
            good = good and fine
    return good
