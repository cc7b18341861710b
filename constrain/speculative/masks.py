"""The bitmasks of the places of a step: all in one call where a device computes meanwhile, else when a verifier looks.

The idea: a place whose token is forced needs no mask. Of the others a verifier sees the root and the few that it goes
down to. On an accelerator the masks of all places are filled while the forward pass runs, and cost nothing; on a CPU
they would cost what they take, so there only the roots are filled ahead, and the others one by one as they are asked
for.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.errors import ConstrainError
from constrain.masks.engine.matcher import Matcher
from constrain.sampling.core.job import Job, Sample
from constrain.speculative.tree import NONE, BuiltTree

Words = NDArray[np.uint32]
FEW = 2  # PERF: so many matchers are asked one by one: 25 µs each between two forward passes, a batch of one 155 µs


class TreeMasks:
    """The bitmasks of one tree.

    bitmask: uint32[N, words] of several trees, or None. rows: by place, its row there; NONE: not filled
    complete: every place that wants a mask has it
    """

    def __init__(self, job: Job, tree: BuiltTree, sample: Sample, ends: Words, last: int = NONE) -> None:
        """sample: counts the masks. ends: uint32[words] with EOS only. last: depth at which only EOS may follow"""
        self.job, self.tree, self.sample, self.ends, self.last = job, tree, sample, ends, last
        self.bitmask: Words | None = None
        self.rows = np.full(len(tree) + 1, NONE, np.int32)
        self.complete = False
        self.asked = 0.0  # seconds spent on masks that were asked for one by one
        self._single: dict[int, Words] = {}

    @cached_property
    def wanted(self) -> NDArray[np.bool_]:
        """bool[n + 1], by place: it was read, and leaves a choice that is not everything."""
        open_places: NDArray[np.bool_] = (self.tree.logits_rows != NONE) & (self.tree.forced == NONE)
        if self.job.matchers is None:
            open_places &= self.ending
        return open_places

    def words(self, place: int) -> Words | None:
        """uint32[1, words] of a place; None: nothing is masked, or a token is forced."""
        row = self.rows[place]
        if row != NONE and self.bitmask is not None:
            return self.bitmask[row : row + 1]
        if place not in self._single:
            if not self.wanted[place]:
                return None
            start = time.perf_counter()
            self._single[place] = _filled(self.job, [(self, place)])
            self.asked += time.perf_counter() - start
        return self._single[place]

    @cached_property
    def ending(self) -> NDArray[np.bool_]:
        """bool[n + 1], by place: only EOS may follow."""
        ending: NDArray[np.bool_] = np.append(0, self.tree.depths) == self.last
        return ending


def fill(trees: Sequence[TreeMasks], *, roots: bool = False) -> None:
    """Fill the masks of all places of all trees in one call; of their roots only, if only these are wanted.

    A mask below a root that cannot be computed (`LimitError`) may never be needed: then the roots alone are filled.
    """
    try:
        _fill(trees, roots)
    except ConstrainError:
        if roots:
            raise
        _fill(trees, roots=True)


def _fill(trees: Sequence[TreeMasks], roots: bool) -> None:
    places = [tree.wanted[: 1 if roots else None].nonzero()[0] for tree in trees]
    asked = [(tree, place) for tree, own in zip(trees, places, strict=True) for place in own.tolist()]
    bitmask, row = _filled(trees[0].job, asked) if asked else None, 0
    for tree, own in zip(trees, places, strict=True):
        tree.bitmask, tree.complete = bitmask, not roots
        tree.rows.fill(NONE)
        tree.rows[own] = np.arange(row, row + len(own))
        row += len(own)


def _filled(job: Job, asked: Sequence[tuple[TreeMasks, int]]) -> Words:
    """uint32[N, words] for N places."""
    if job.matchers is None:
        bitmask = np.full((len(asked), job.words), np.uint32(0xFFFFFFFF), np.uint32)
    else:
        bitmask = np.empty((len(asked), job.words), np.uint32)
        matchers = [tree.tree.matchers[place] for tree, place in asked]
        if len(asked) > FEW:
            job.fill_masks(matchers, bitmask)
        else:
            for words, matcher in zip(bitmask, matchers, strict=True):
                _fill_one(matcher, words)
    for row, (tree, place) in enumerate(asked):
        tree.sample.masks += job.matchers is not None
        if tree.last != NONE and tree.ending[place]:
            bitmask[row] &= tree.ends
    return bitmask


def _fill_one(matcher: Any, row: Words) -> None:
    """Of the engine's matcher by `mask`: it looks at less than `fill_mask`."""
    if isinstance(matcher, Matcher):
        row[:] = matcher.mask()
    else:
        matcher.fill_mask(row)
