# SPDX-License-Identifier: BSD-3-Clause
"""What samples say: medians, spreads, ratios, and whether one got worse."""

import collections
import math
import statistics

from scenario import FLOOR

# Less than this is noise, however much alike a few samples happened to be.
LEAST_NOISE = 0.01
# Of seven samples each of normal noise, one pair in some 500 looks worse that
# is not.
NOISE_FACTOR = 1.5

# old, new: medians of the ratio of Weir to a peer. worse: by more than noise.
Change = collections.namedtuple("Change", "scenario peer old new noise worse")


def spread(values):
    """The interquartile range, as a share of the median."""
    if len(values) < 2:
        return 0.0
    first, median, third = statistics.quantiles(values, n=4,
                                                method="inclusive")
    return (third - first) / median if median else 0.0


def summary(values):
    return {"median": statistics.median(values), "min": min(values),
            "max": max(values), "spread": spread(values), "samples": values}


def ratios(weir, peer, higher_is_better):
    """How many times as good as the peer Weir was, round by round."""
    if not higher_is_better:
        weir, peer = peer, weir
    return [a / b for a, b in zip(weir, peer)]


def best_peer(result, higher_is_better):
    """The name of the best of a scenario's peers, or None."""
    medians = {name: program["median"]
               for name, program in result["programs"].items()
               if name not in ("weir", FLOOR)}
    if not medians:
        return None
    return (max if higher_is_better else min)(medians, key=medians.get)


def noise(old, new):
    """How far two medians of such samples may lie apart, as a share of the
    older one."""
    return max(LEAST_NOISE,
               NOISE_FACTOR * math.hypot(spread(old), spread(new)))


def change(scenario, peer, old, new):
    """old, new: samples of the ratio."""
    before, after = statistics.median(old), statistics.median(new)
    limit = noise(old, new)
    return Change(scenario, peer, before, after, limit,
                  after < before * (1 - limit))


def changes(old, new):
    """What two reports have in common of peers; the floor is none."""
    found = []
    for name, scenario in new["scenarios"].items():
        before = old["scenarios"].get(name, {"ratios": {}})["ratios"]
        found += [change(name, peer, before[peer]["samples"], r["samples"])
                  for peer, r in scenario["ratios"].items()
                  if peer in before and peer != FLOOR]
    return found
