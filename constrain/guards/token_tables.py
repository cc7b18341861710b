r"""Which tokens of a vocabulary can complete a repetition in a JSON text, sorted by what the guard has to do for them.

The idea: regexes classify the tokens once for each vocabulary. Then most masks need no look at tokens that cannot
repeat a key or an item. Three kinds of work, cheapest first:

* *Known by text*: the token completes exactly one string, so the guard clears it if that string was seen.
* *Known by brackets*: the token only closes (and opens) containers. Tokens with the same brackets behave alike, so one
  of them is tried for all.
* *Tried one by one*: the token may complete more than one value.

Cost: about ten regex searches a token, 0.3 s for 131,000 tokens. Each kind is made when it is first asked for: few
constraints need them all.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.guards.json_reader import decode
from constrain.vocab.bits import clear_bits
from constrain.vocab.tables import PerVocabulary
from constrain.vocab.vocabulary import Vocabulary

Row = NDArray[np.uint32]
Spelled = list[tuple[int, bytes]]  # token ids with their bytes


class Tokens:
    """A set of token ids, prepared for looking them up in masks."""

    def __init__(self, ids: Iterable[int]) -> None:
        self.ids = np.fromiter(ids, np.int64)
        self._words = self.ids >> 5
        self._bits = np.uint32(1) << (self.ids & 31).astype(np.uint32)

    def within(self, row: Row) -> list[int]:
        """The tokens of the set that a mask allows."""
        hits = row[self._words] & self._bits
        return self.ids[hits != 0].tolist() if hits.any() else []

    def clear(self, row: Row) -> None:
        """Remove the tokens of the set from a mask."""
        np.bitwise_and.at(row, self._words, ~self._bits)


class BracketTokens(Tokens):
    """Tokens of which only a first part and the brackets matter.

    Attributes:
        short: The bytes to try instead of each token: its first part, then its brackets.
    """

    def __init__(self, short: dict[int, bytes]) -> None:
        super().__init__(short)
        self.short = short


# --- the shapes of tokens ---------------------------------------------------------------------------------------------

_TEXT = rb'(?:[^"\\]|\\.)*'  # the inside of a string
_CLOSE = rb"([\s,:\]}]*)"  # closing brackets, as a group
_OPEN = rb'[\s,:\[{]*(?:"' + _TEXT + rb"\\?)?"  # opening brackets, then at most the beginning of a string


def _shape(*parts: bytes) -> re.Pattern[bytes]:
    return re.compile(b"".join(parts), re.DOTALL)


_ENDS_STRING = _shape(_TEXT, b'"')  # up to the first quote that is not escaped
_ENDS_STRING_AND_MORE = _shape(rb'".*["\],}]')  # a quote, and later something that may complete another value
_COMPLETES_VALUE = _shape(rb'".*"|[\],}]')  # a whole string, a comma or a closing bracket
_BEGINS_WORD = _shape(rb"\s*[tfn]")  # begins `true`, `false` or `null`
_ENDS_NUMBER = _shape(rb"[\s,\]}]")  # begins with a character that ends a number
# Two names of one object, or two items of one array.
_HOLDS_TWO = _shape(rb'"\s*:.*,\s*".*"|\[\s*["\d\-tfn\[{].*,.*[,\]]')

# Whole tokens whose last group holds the brackets:
_CLOSES = _shape(_CLOSE, _OPEN)
_CLOSES_AFTER_STRING = _shape(_TEXT, rb'"(?:\s*:\s*"', _TEXT, rb'")?', _CLOSE, _OPEN)  # maybe a name and its value
_ONE_STRING = _shape(rb'[\s,:]*"(', _TEXT, rb')"', _CLOSE, _OPEN)
_EMPTY_CONTAINERS = _shape(rb"([\s,:\]}]*[\[{][\s,:\[\]{}]*[\]}])", _OPEN)

_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class _Structural(NamedTuple):
    """What `TokenTables` says of tokens outside of strings, since it is found in one go."""

    tried: Tokens
    brackets: BracketTokens
    empty_containers: BracketTokens
    one_string: dict[str, Tokens]


class TokenTables(PerVocabulary):
    """The tokens of a vocabulary, classified for the guards.

    Attributes:
        tokens: The bytes of each token; None for special ones.
        most_closed: The most brackets that a token may close.
        doubles: Tokens that may contain a repetition by themselves.
        quoted: Tokens with a quote.
        strings_ended_by: Text -> tokens that spell it and then the closing quote.
        texts_between: Text -> tokens that contain it between two quotes.
        ending_number: Tokens that begin with a character that ends a number.
        words: Tokens that begin `true`, `false` or `null`.

        In a string, the tokens that end it and may complete another value:
        after_string: To be tried one by one.
        after_string_brackets: Tokens that complete other values only by closing brackets.

        Outside of strings, the tokens that complete a value:
        structural: To be tried one by one.
        brackets: Tokens that complete values only by closing brackets, maybe after one string.
        empty_containers: Tokens that complete only empty containers, and containers around these.
        one_string: Text -> tokens that contain it as a whole string, and complete other values only by closing
            brackets.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.tokens: Sequence[bytes | None] = vocabulary.tokens
        self.most_closed = max((token.count(b"]") + token.count(b"}") for _, token in self._spelled()), default=0)
        self.doubles = Tokens(i for i, token in self._spelled() if b"," in token and _HOLDS_TWO.search(token))

    def veto_doubles(self, row: Row, step: Callable[[bytes], object | None]) -> None:
        """Remove the tokens from a mask that contain a repetition by themselves and that a guard vetoes.

        step: The guard's step from where it stands.
        """
        clear_bits(row, (token for token in self.doubles.within(row) if step(self.tokens[token] or b"") is None))

    def _spelled(self) -> Iterator[tuple[int, bytes]]:
        return ((i, token) for i, token in enumerate(self.tokens) if token)

    @cached_property
    def ending_number(self) -> Tokens:
        return Tokens(i for i, token in self._spelled() if _ENDS_NUMBER.match(token))

    @cached_property
    def words(self) -> Tokens:
        return Tokens(i for i, token in self._spelled() if _BEGINS_WORD.match(token))

    @cached_property
    def quoted(self) -> Tokens:
        return _ids(self._with_quote)

    @cached_property
    def _with_quote(self) -> Spelled:
        return [(i, token) for i, token in self._spelled() if b'"' in token]

    @cached_property
    def strings_ended_by(self) -> dict[str, Tokens]:
        ended_by: defaultdict[str, list[int]] = defaultdict(list)
        for i, token in self._with_quote:
            match = _ENDS_STRING.match(token)
            if match is not None:
                with suppress(ValueError):  # it begins inside a character, so it never follows a whole text
                    ended_by[decode(match.group()[:-1])].append(i)
        return {text: Tokens(ids) for text, ids in ended_by.items()}

    @cached_property
    def texts_between(self) -> dict[str, Tokens]:
        between: defaultdict[str, list[int]] = defaultdict(list)
        for i, token in self._with_quote:
            for text in set(token.split(b'"')[1:-1]):
                with suppress(ValueError):
                    between[decode(text)].append(i)
        return {text: Tokens(ids) for text, ids in between.items()}

    @cached_property
    def _ending_more(self) -> tuple[Spelled, dict[int, bytes]]:
        ends_more = [(i, t) for i, t in self._with_quote if _ENDS_STRING_AND_MORE.search(t) and _ENDS_STRING.match(t)]
        return _by_brackets(ends_more, _CLOSES_AFTER_STRING)

    @cached_property
    def after_string(self) -> Tokens:
        return _ids(self._ending_more[0])

    @cached_property
    def after_string_brackets(self) -> BracketTokens:
        return BracketTokens(self._ending_more[1])

    @cached_property
    def _structural(self) -> _Structural:
        tokens = [(i, token) for i, token in self._spelled() if _COMPLETES_VALUE.search(token)]
        by_text = _by_string(tokens)
        with_string = {i for ids in by_text.values() for i in ids}
        _, after_one = _by_brackets([(i, token) for i, token in tokens if i in with_string], _ONE_STRING)
        others = [(i, token) for i, token in tokens if i not in with_string]
        others, empty = _by_brackets(others, _EMPTY_CONTAINERS)
        others, closing = _by_brackets(others, _CLOSES)
        one_string = {text: Tokens(ids) for text, ids in by_text.items()}
        return _Structural(_ids(others), BracketTokens(closing | after_one), BracketTokens(empty), one_string)

    @property
    def structural(self) -> Tokens:
        return self._structural.tried

    @property
    def brackets(self) -> BracketTokens:
        return self._structural.brackets

    @property
    def empty_containers(self) -> BracketTokens:
        return self._structural.empty_containers

    @property
    def one_string(self) -> dict[str, Tokens]:
        return self._structural.one_string


def _ids(tokens: Spelled) -> Tokens:
    return Tokens(i for i, _ in tokens)


def _by_brackets(tokens: Spelled, shape: re.Pattern[bytes]) -> tuple[Spelled, dict[int, bytes]]:
    """(the tokens that do not have a shape, id -> bytes to try for the tokens that do).

    A token that has the shape but closes no bracket completes nothing, and is in neither. shape: its last group holds
    the brackets; the bytes before that group are tried too.
    """
    others: Spelled = []
    short: dict[int, bytes] = {}
    for i, token in tokens:
        match = shape.fullmatch(token)
        if match is None:
            others.append((i, token))
        elif brackets := match[shape.groups].translate(None, _NO_BRACKETS):
            short[i] = token[: match.start(shape.groups)] + brackets
    return others, short


def _by_string(tokens: Spelled) -> dict[str, list[int]]:
    """Text -> the tokens that contain it as their only whole string."""
    by_text: defaultdict[str, list[int]] = defaultdict(list)
    for i, token in tokens:
        match = _ONE_STRING.fullmatch(token)
        if match is not None:
            with suppress(ValueError):
                by_text[decode(match[1])].append(i)
    return by_text
