"""The automata of all terminals as one table, with bytes in classes that no terminal tells apart.

A terminal's automaton has one state more than needed: FRESH, its beginning, to which no arc leads back. So a lexeme has
at least one byte, and a state says whether its terminal may end here.

Cost: 0.2 ms for each state, once a terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from constrain.errors import LimitError
from constrain.gaps.kernels.lexemes import ACCEPTING, FRESH
from constrain.languages.automata.paths import Language
from constrain.languages.automata.syntax import Node

MOST_STATES = 50_000
Int32 = NDArray[np.int32]


class LexerTable:
    """The automata of some languages.

    Args:
        languages: The languages of the terminals, in the order of their numbers.

    Attributes:
        classes: int32[256], the class of each byte.
        representatives: A byte of each class.
        n_classes: The number of classes.
        moves: int32[states * n_classes], the state after a byte of a class; -1 for none.
        kinds: int32[states], FRESH, ACCEPTING or 0.
        owners: int32[states], the terminal of each state.
        starts: int32[terminals], the FRESH state of each terminal.

    Raises:
        LimitError: There are too many states.
    """

    def __init__(self, languages: Sequence[Node]) -> None:
        rows: list[NDArray[np.int64]] = []
        kinds: list[int] = []
        owners: list[int] = []
        starts: list[int] = []
        for terminal, node in enumerate(languages):
            table, accepting = automaton_of(node)
            base = len(owners) + 1  # behind the FRESH state
            starts.append(len(owners))
            rows += [_shifted(table[:1], base), _shifted(table, base)]
            kinds += [FRESH, *(ACCEPTING if accepts else 0 for accepts in accepting)]
            owners += [terminal] * (1 + len(table))
            if len(owners) > MOST_STATES:
                raise LimitError(
                    f"the terminals of a text with gaps have more than {MOST_STATES:,} states together",
                    fix="simplify the terminals, or lower their counted repetitions",
                )
        table = np.concatenate(rows) if rows else np.zeros((0, 256), np.int64)
        _, least, classes = np.unique(table, axis=1, return_index=True, return_inverse=True)
        self.representatives: list[int] = least.tolist()
        self.classes: Int32 = np.asarray(classes).reshape(256).astype(np.int32)
        self.n_classes = len(self.representatives)
        self.moves: Int32 = np.ascontiguousarray(table[:, least]).astype(np.int32).reshape(-1)
        self.kinds: Int32 = np.array(kinds, np.int32)
        self.owners: Int32 = np.array(owners, np.int32)
        self.starts: Int32 = np.array(starts, np.int32)

    def class_word(self, text: bytes) -> tuple[int, ...]:
        """The classes of the bytes of a text: texts with equal ones are lexed alike."""
        return tuple(self.classes[list(text)].tolist())


@lru_cache(maxsize=4096)
def automaton_of(node: Node) -> tuple[NDArray[np.int64], list[bool]]:
    """(the state after each byte, -1 for none, int64[states, 256]; whether each accepts). Raises LimitError."""
    language = Language(node)
    if language.is_empty:
        return np.full((1, 256), -1), [False]
    language.explore()
    states = range(language.size)
    return np.array([language.row(state) for state in states], np.int64), [language.accepts(s) for s in states]


def _shifted(row: NDArray[np.int64], base: int) -> NDArray[np.int64]:
    return np.where(row >= 0, row + base, -1)
