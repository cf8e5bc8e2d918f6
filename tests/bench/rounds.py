# SPDX-License-Identifier: BSD-3-Clause
"""The samples of a scenario, Weir's and its peers' by turns, in quiet moments.

They take turns so that what a busy host does to one it does to the others, and
each round begins with the next of them, so that none is always the first.
Only ratios of neighbours in time are compared with a target.
"""

import figures
from machine import FOREIGN_LIMIT

# Rounds that are tried, for each that is wanted, before disturbed ones count; without
# patience they count at once.
ROUNDS_PER_REP = 2


class Patience:
    """Waits for quiet moments, until it has waited for too long."""

    def __init__(self, machine, seconds, say):
        self._machine = machine
        self._seconds = seconds
        self._left = seconds
        self._say = say

    def rounds(self, reps):
        """How many to try at most for so many that are wanted."""
        return ROUNDS_PER_REP * reps if self._seconds else reps

    def wait(self):
        if self._left <= 0:
            return
        self._left -= self._machine.wait_quiet(self._left)
        if self._left <= 0:
            self._say(f"note: still busy after {self._seconds} s of waiting; "
                      "not waiting any longer")


def disturbed(samples):
    return any(s.foreign > FOREIGN_LIMIT for s in samples.values())


def disturbed_notes(nb_disturbed):
    """The lines that say how many of the rounds that count are."""
    if nb_disturbed:
        yield (f"note: {nb_disturbed} rounds count although others used our "
               "CPUs")


def peers_of(scenario, setup):
    return [peer for peer in scenario.peers
            if not peer.built or peer.name in setup.peers]


def take(scenario, setup, reps, patience):
    """Samples of every program by turns: {program: sample} for each round."""
    programs = ["weir", *(peer.name for peer in peers_of(scenario, setup))]
    rounds, quiet = [], 0
    while quiet < reps and len(rounds) < patience.rounds(reps):
        # In the order in which they are shown.
        samples = dict.fromkeys(programs)
        first = len(rounds) % len(programs)
        for program in programs[first:] + programs[:first]:
            patience.wait()
            samples[program] = scenario.measure(setup, program)
        rounds.append(samples)
        quiet += not disturbed(samples)
    return rounds


def choose(rounds, reps):
    """The first undisturbed rounds; for want of them the least disturbed."""
    def disturbance(samples):
        return max(FOREIGN_LIMIT, *(s.foreign for s in samples.values()))
    return sorted(rounds, key=disturbance)[:reps]


def compare(scenario, peer, rounds):
    result = figures.summary(figures.ratios(
        [r["weir"].value for r in rounds], [r[peer.name].value for r in rounds],
        scenario.higher_is_better))
    return {**result, "required": peer.required, "goal": peer.goal,
            "ok": (peer.required is None
                   or result["median"] >= peer.required)}


def more_of(scenario, rounds, program):
    """The further figures of a program, by unit."""
    return {figure.unit: figures.summary([r[program].more[i] for r in rounds])
            for i, figure in enumerate(scenario.more)
            if i < len(rounds[0][program].more)}


def program_of(scenario, setup, rounds, program):
    result = figures.summary([r[program].value for r in rounds])
    result["foreign"] = [r[program].foreign for r in rounds]
    result["more"] = more_of(scenario, rounds, program)
    if scenario.cost:
        name, function = scenario.cost
        result[name] = function(setup, result["median"])
    return result


def run(scenario, setup, reps, patience):
    """A scenario's part of the report."""
    taken = take(scenario, setup, reps, patience)
    rounds = choose(taken, reps)
    result = {
        "workers": scenario.workers, "unit": scenario.unit,
        "programs": {program: program_of(scenario, setup, rounds, program)
                     for program in rounds[0]},
        "ratios": {peer.name: compare(scenario, peer, rounds)
                   for peer in peers_of(scenario, setup)},
        "rounds_dropped": len(taken) - len(rounds),
        "rounds_disturbed": sum(map(disturbed, rounds)),
    }
    result["best_peer"] = figures.best_peer(result, scenario.higher_is_better)
    return result


def limits_of(scenario, result):
    """(unit, limit, median, reached) for each figure of Weir's that has one."""
    weir = result["programs"]["weir"]
    found = []
    if scenario.limit is not None:
        value = weir["median"]
        found.append((scenario.unit, scenario.limit, value,
                      value >= scenario.limit if scenario.higher_is_better
                      else value <= scenario.limit))
    for figure in scenario.more:
        if figure.limit is not None:
            value = weir["more"][figure.unit]["median"]
            found.append((figure.unit, figure.limit, value,
                          value <= figure.limit))
    return found
