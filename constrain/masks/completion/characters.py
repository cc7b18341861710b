"""A bound of the characters of a text, as a guard beside its grammar.

    constrain.json_schema(schema) & constrain.regex("(.|\\n){0,500}")

The idea: a token is allowed if the characters that are left do for the token and for the text of the fewest characters
that completes the grammar's behind it. Those are found as the fewest tokens are under a budget (tokens_to_end.py), with
characters in place of tokens, and the least texts in the order of characters in place of bytes.

Exact for the grammar alone, which has `lexer="dynamic"`. Another guard beside it is asked by itself: where it refuses
all short completions (items that must differ, names that a monitor knows), a text may still run into a dead end.
Cost: far from its end a look-up for each place; else `TokensToEnd.after`. LimitError where a grammar has so many rules
that least texts are not known (`Shortest.is_read`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.errors import LimitError, UnsatisfiableError
from constrain.languages.automata.least import by_characters, count_characters
from constrain.languages.cfg.rules import Grammar
from constrain.languages.cfg.transform.walk import nearest, plainest_of
from constrain.languages.guards import Before, Guard
from constrain.languages.guards.product import Product
from constrain.languages.vocab.bits import Row, set_bits, tokens_of
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.completion.least import least_texts
from constrain.masks.completion.shortest import ENOUGH
from constrain.masks.completion.spellings import CharacterCounts
from constrain.masks.completion.tokens_to_end import TokensToEnd
from constrain.masks.engine.lookahead import GuardLookahead

PLACE = "an intersection of a grammar and a regular language"


class CharactersToEnd(TokensToEnd):
    """The characters to the end for one grammar, and one more."""

    counted = CharacterCounts

    def _search(self, configuration: int) -> int:
        return 1  # no completion was found: it is not known to be too long


class CharacterBound(Guard):
    """The guard of texts of at most so many characters; its state is how many are left.

    Args:
        most: The characters of a text.
        vocabulary: The vocabulary.
    """

    layer = "bound of characters", "the text may not have so many characters"

    def __init__(self, most: int, vocabulary: Vocabulary) -> None:
        self.most, self.vocabulary = most, vocabulary

    def start(self) -> int:
        return self.most

    def step(self, state: int, text: bytes) -> int | None:
        left = state - count_characters(text)
        return left if left >= 0 else None

    def veto(self, state: int, row: Row) -> None:
        """Leave all tokens: `CharacterEnds` knows which are too long."""

    def labels(self, state: int) -> NDArray[np.int64]:
        return CharacterCounts.of(self.vocabulary).counts.astype(np.int64)

    def ends(self, grammar: GuardLookahead, may_end: Callable[[Any], bool] | None = None) -> CharacterEnds:
        return CharacterEnds(grammar, self.vocabulary)


class CharacterEnds:
    """The `GuardEnds` of a bound of characters."""

    def __init__(self, grammar: GuardLookahead, vocabulary: Vocabulary) -> None:
        self.grammar = grammar
        self.characters = CharacterCounts.of(vocabulary)
        self._longer: dict[int, Row] = {}

    @property
    def to_end(self) -> CharactersToEnd:
        """The characters to the end. The caller holds the automaton's lock."""
        automaton = self.grammar.automaton
        return CharactersToEnd.of(automaton, self.grammar.rules, automaton.vocabulary)

    def doubts(self, state: int) -> bool:
        """True: only the grammar knows how much is missing."""
        return True

    def lives(self, configuration: int, state: int, before: Before | None = None) -> bool:
        """True if the characters that are left do for the grammar."""
        return self.to_end.needs(configuration) - 1 <= state

    def dead(self, configuration: int, state: int, row: Row) -> list[int]:
        """The tokens of a mask behind which too few characters are left."""
        to_end, characters = self.to_end, self.characters
        # n bytes later the grammar needs at most n characters more, and the bytes have at most n characters.
        words = self._longer_than((state - to_end.most(configuration)) // 2)
        tokens = tokens_of(row[: len(words)] & words)
        if not len(tokens):
            return []
        needed = to_end.after(configuration)[tokens] - 1 + characters.counts[tokens]
        late: list[int] = tokens[needed > state].tolist()
        return late

    def _longer_than(self, size: int) -> Row:
        """uint32[ceil(V / 32)]: the tokens of text that have more bytes."""
        size = min(max(size, 0), self.characters.longest)
        if size not in self._longer:
            row = np.zeros(-(-len(self.characters.sizes) // 32), np.uint32)
            set_bits(row, np.flatnonzero(self.characters.sizes > size).tolist())
            self._longer[size] = row
        return self._longer[size]


def guard_of(guard: Guard | None, most: int, vocabulary: Vocabulary) -> Guard:
    """The guard of texts of at most so many characters that another guard allows, too."""
    bound = CharacterBound(most, vocabulary)
    return bound if guard is None else Product(guard, bound)


def bound_of(guard: Guard) -> CharacterBound | None:
    """The bound of characters that a guard of `guard_of` has; None: it has none."""
    bound = guard.second if isinstance(guard, Product) else guard
    return bound if isinstance(bound, CharacterBound) else None


def refuse_longer(grammar: Grammar, most: int) -> None:
    """Refuse a grammar all of whose texts have more characters.

    Raises:
        UnsatisfiableError: No text has so few.
        LimitError: It has too many rules.
    """
    from constrain.languages.cfg.transform.product import FIX  # only where a bound is read

    table, is_whole = nearest(grammar.start, ENOUGH, expand=plainest_of)
    if not is_whole:
        raise LimitError(f"how long its texts are is not known: it has more than {ENOUGH} rules", place=PLACE, fix=FIX)
    least = least_texts(table, order=by_characters).get(grammar.start)
    if least is None or count_characters(least) > most:
        needed = "" if least is None else f": the shortest has {count_characters(least)}"
        raise UnsatisfiableError(f"no text of the grammar has {most} characters or fewer{needed}", fix="allow more")
