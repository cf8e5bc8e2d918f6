# SPDX-License-Identifier: BSD-3-Clause
"""What a benchmark is, for those that define some and for what runs them."""

import collections

# measure: a function (setup, program) that runs "weir", or the peer of that
# name, once and gives a Sample. cost: a second figure, as its name and a
# function (setup, value), or None.
Scenario = collections.namedtuple(
    "Scenario", "about workers unit higher_is_better measure peers cost",
    defaults=(None,))

# required, goal: how many times as good as the peer Weir must, should be;
# required None: the goal is all there is yet.
Peer = collections.namedtuple("Peer", "name required goal")

# foreign: the share of one CPU that others used meanwhile.
Sample = collections.namedtuple("Sample", "value foreign")

# What a run was asked for. huge_dir: None for ordinary pages.
Setup = collections.namedtuple("Setup", "machine seconds huge_dir")
