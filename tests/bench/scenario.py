# SPDX-License-Identifier: BSD-3-Clause
"""What a benchmark is, for those that define some and for what runs them."""

import collections

# measure: a function (setup, program) that runs "weir", or the peer of that
# name, once and gives a Sample. cost: a second figure, as its name and a
# function (setup, value), or None. limit: what Weir's value should reach, or
# None. more: a Figure for each value beyond the first that a sample has. group:
# runs only when this name, or its own, is asked for; None: whenever all do.
Scenario = collections.namedtuple(
    "Scenario", "about workers unit higher_is_better measure peers cost limit "
    "more group", defaults=(None, None, (), None))

# A value of which less is better. limit: as of a scenario.
Figure = collections.namedtuple("Figure", "unit limit")

# required, goal: how many times as good as the peer Weir must, should be;
# required None: the goal is all there is yet; goal None: there is none. One peer
# of a scenario has a goal: the one that is the best where nothing disturbs.
# built: a program of tests/bench/peers, which --peers adds.
Peer = collections.namedtuple("Peer", "name required goal built",
                              defaults=(False,))

# The peer that is none but a bound: peers/floor.c.
FLOOR = "floor"

# foreign: the share of one CPU that others used meanwhile. more: further
# values.
Sample = collections.namedtuple("Sample", "value foreign more", defaults=((),))

# What a run was asked for. huge_dir: None for ordinary pages. peers: the names
# of those in tests/bench/peers that can be run.
Setup = collections.namedtuple("Setup", "machine seconds huge_dir peers")
