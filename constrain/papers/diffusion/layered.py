"""The valid fillings of a canvas: positions between and within its tokens, and the derivations over them.

The idea is that of solution.py, with arcs of tokens in place of arcs of bytes (token_classes.py). What is on no path
from the beginning to an end is left out first. So a position where a token is set has a node or two, and an open one
the nodes that its neighbours leave.

Cost: rules x positions^3 / 32 at worst. Limit: see chart.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from constrain.gaps.chart import GapChart, Rows, too_large
from constrain.gaps.solution import GapLanguage
from constrain.kernels.records.schema import pack
from constrain.papers.diffusion.token_classes import TokenClasses
from constrain.papers.kernels import layers
from constrain.papers.kernels.records import ARCS

Int64 = NDArray[np.int64]


class LayeredSolution:
    """The valid fillings of a canvas.

    Args:
        language: The grammar.
        classes: The classes of the tokens.
        arcs: For each position, the arcs of the tokens that may stand there, sorted.
        ends: The seams where the text may end; seam i is before position i.
        most: The number of symbols times positions beyond which nothing is solved. Default: as the chart has it.

    Attributes:
        arcs: As given; after `live_arcs`, the live ones.
        ends: The seams where a filling ends; `tops` are their positions in the chart.
        masks: The masks of positions that were asked for.

    Raises:
        LimitError: The canvas is too large.
    """

    def __init__(
        self,
        language: GapLanguage,
        classes: TokenClasses,
        arcs: Sequence[Int64],
        ends: Sequence[int],
        most: int | None = None,
    ) -> None:
        self.language, self.classes, self.arcs = language, classes, list(arcs)
        self.masks: dict[int, NDArray[np.bool_]] = {}
        self._trim(ends)
        self._number()
        if most is not None and self.n * language.rules.size > most:
            raise too_large(f"{language.rules.size:,} symbols and {self.n:,} places where a lexeme may end")
        self._lex(ends)

    def _trim(self, ends: Sequence[int]) -> None:
        """Leave the arcs on a path from the beginning to an end."""
        classes, length = self.classes, len(self.arcs)
        layer = np.repeat(np.arange(length), [len(each) for each in self.arcs])
        number = np.concatenate([*self.arcs, np.zeros(0, np.int64)])
        source = (classes.source[number] + layer * classes.stride).astype(np.int32)
        target = (classes.target[number] + layer * classes.stride).astype(np.int32)
        self.cells = (length + 1) * classes.stride
        ahead, behind = np.zeros(self.cells, np.int32), np.zeros(self.cells, np.int32)
        ahead[classes.states] = 1
        behind[np.array(ends, np.int64) * classes.stride + classes.states] = 1
        layers.trim(source, target, ahead, behind)
        self.on_path = (ahead == 1) & (behind == 1)
        kept = self.on_path[source] & self.on_path[target]
        self.layer, self.arc_number, self.source, self.target = layer[kept], number[kept], source[kept], target[kept]

    def _number(self) -> None:
        """Number positions, and pairs, in their order."""
        used = np.flatnonzero(self.on_path)
        is_place = used % self.classes.stride >= self.classes.states
        self.place = np.full(self.cells, -1, np.int32)
        self.n, self.pairs = int(is_place.sum()), int(len(used) - is_place.sum())
        self.place[used[is_place]] = np.arange(self.n)
        self.place[used[~is_place]] = np.arange(self.pairs)

    def _lex(self, ends: Sequence[int]) -> None:
        classes = self.classes
        self.chart = GapChart(self.language, self.n)
        self.table, _ = pack(
            ARCS, COUNT=len(self.source), POSITIONS=self.n,
            SOURCE=self.place[self.source], TARGET=self.place[self.target],
            KIND=classes.kind[self.arc_number], LABEL=classes.label[self.arc_number],
        )  # fmt: skip
        self.begun = np.zeros((self.pairs, self.chart.width), np.uint32)
        layers.lex(self.table, self.begun, self.chart.R)
        self.chart.complete()
        seams = [(end, int(self.place[end * classes.stride + classes.states])) for end in ends]
        start = self.language.rules.start
        tops = [(end, place) for end, place in seams if place >= 0 and self.chart.has(start, 0, place)]
        self.ends, self.tops = [end for end, _ in tops], [place for _, place in tops]

    @property
    def is_empty(self) -> bool:
        """True if no filling is valid."""
        return not self.ends

    def live_arcs(self) -> list[Int64]:
        """For each position, the arcs that some filling uses, sorted."""
        return self._live

    @cached_property
    def live(self) -> Rows:
        """The items that are part of a derivation of a whole text; rows as in the chart."""
        return self.chart.live(self.tops)

    @cached_property
    def _live(self) -> list[Int64]:
        live = np.zeros(len(self.layer), np.int32)
        if self.tops:
            layers.relive(self.table, self.begun, np.zeros_like(self.begun), self.live, live)
        kept = live == 1
        splits = np.searchsorted(self.layer[kept], np.arange(1, len(self.arcs)))
        self.arcs = np.split(self.arc_number[kept], splits)
        return self.arcs
