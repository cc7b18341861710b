r"""Tables of the tokens that can complete a repetition in a JSON text, sorted by what the guard has to do for them.

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
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.languages.guards.json_reader import decode, unescaped
from constrain.languages.vocab.bits import clear_bits
from constrain.languages.vocab.joined import JoinedTokens
from constrain.languages.vocab.tables import PerVocabulary
from constrain.languages.vocab.vocabulary import Vocabulary

Row = NDArray[np.uint32]
Spelled = list[tuple[int, bytes]]  # token ids with their bytes


class TokenSet:
    """A set of token ids, prepared for looking them up in masks."""

    def __init__(self, ids: Iterable[int]) -> None:
        self.ids = ids.astype(np.int64) if isinstance(ids, np.ndarray) else np.fromiter(ids, np.int64)
        self._words = self.ids >> 5
        self._bits = np.uint32(1) << (self.ids & 31).astype(np.uint32)

    def within(self, row: Row) -> list[int]:
        """The tokens of the set that a mask allows."""
        hits = row[self._words] & self._bits
        return self.ids[hits != 0].tolist() if hits.any() else []

    def clear(self, row: Row) -> None:
        """Remove the tokens of the set from a mask."""
        np.bitwise_and.at(row, self._words, ~self._bits)


class BracketTokens(TokenSet):
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
# Two names of one object, or two items of one array.
_HOLDS_TWO = _shape(rb'"\s*:.*,\s*".*"|\[\s*["\d\-tfn\[{].*,.*[,\]]')

# Whole tokens whose last group holds the brackets:
_CLOSES = _shape(_CLOSE, _OPEN)
_CLOSES_AFTER_STRING = _shape(_TEXT, rb'"(?:\s*:\s*"', _TEXT, rb'")?', _CLOSE, _OPEN)  # maybe a name and its value
_ONE_STRING = _shape(rb'[\s,:]*"(', _TEXT, rb')"', _CLOSE, _OPEN)
_EMPTY_CONTAINERS = _shape(rb"([\s,:\]}]*[\[{][\s,:\[\]{}]*[\]}])", _OPEN)

_UNCLOSED = _shape(_TEXT, rb"(?:\\)?")  # inside of a string, to its end
_OPENS_STRING = _shape(rb"\s*\"(", _TEXT, rb"(?:\\)?)")
_RENEWS = _shape(_TEXT, rb'"(.*,.*)')  # ends a string, and a comma comes later
_STRUCTURAL = _shape(rb'\s*[-+.\w]*\s*[,:\[\]{}"]')  # maybe the rest of a scalar, then the beginning of something else
_NUMERIC = _shape(rb"\s*[-+.\deE]+")
_WORDS = frozenset(word[i:j] for word in (b"true", b"false", b"null") for j in range(6) for i in range(j))
_SPACE = b" \t\n\r"
_ANY_SPACE = _SPACE + b"\v\f"  # as `\s` in the shapes above
MAX_LOOKED_UP = 1 << 14  # texts whose tokens are remembered

_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class _Structural(NamedTuple):
    """The tables of tokens outside of strings, which are made together."""

    tried: TokenSet
    brackets: BracketTokens
    empty_containers: BracketTokens
    one_string: dict[str, TokenSet]


class _Numeric(NamedTuple):
    """Tokens of numbers. Each list of tokens behaves alike.

    Attributes:
        others: Those with more than digits.
        right: Digits without zeros at the end -> tokens.
        both: Digits without zeros at either end -> tokens.
    """

    others: list[list[int]]
    right: dict[bytes, list[int]]
    both: dict[bytes, list[int]]


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

        For looking ahead (`Repeats.suspects`). Tokens that are written alike but for space outside of strings behave
        alike:
        opening: The bytes that a token stands for behind the quote -> tokens that open a string, after space only. An
            escape that is cut counts as nothing.
        renewing: Tokens that end a string and hold a comma behind it; with what to compare: the string's end and more.
        outside: Other tokens outside of strings; with what to compare.
        longest: The greatest number of bytes of a token.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.tokens: Sequence[bytes | None] = vocabulary.tokens
        self._joined = JoinedTokens.of(vocabulary)
        self.most_closed = max((token.count(b"]") + token.count(b"}") for _, token in self._holding(b"]}")), default=0)
        trie = vocabulary.trie
        self._next_same = trie.next_same
        self._sorted = trie.token[trie.token >= 0]  # by their bytes; of equal ones the lowest
        self._lowest = lru_cache(MAX_LOOKED_UP)(self._spelling)
        self.doubles = TokenSet(i for i, token in self._holding(b",") if _HOLDS_TWO.search(token))

    def veto_doubles(self, row: Row, step: Callable[[bytes], object | None]) -> None:
        """Remove the tokens from a mask that contain a repetition by themselves and that a guard vetoes.

        step: The guard's step from where it stands.
        """
        clear_bits(row, (token for token in self.doubles.within(row) if step(self.tokens[token] or b"") is None))

    def _spelled(self, ids: Iterable[int]) -> Spelled:
        return [(i, self.tokens[i] or b"") for i in ids]

    def _holding(self, some: bytes) -> Spelled:
        """The tokens with at least one of some bytes."""
        return self._spelled(self._joined.holding(some))

    def _within(self, some: bytes) -> Spelled:
        """The tokens of which every byte is one of some."""
        return self._spelled(self._joined.within(some))

    @cached_property
    def ending_number(self) -> TokenSet:
        return TokenSet(np.flatnonzero(np.isin(self._joined.first(), list(_ANY_SPACE + b",]}"))))

    @cached_property
    def words(self) -> TokenSet:
        return TokenSet(np.flatnonzero(np.isin(self._joined.first_but(_ANY_SPACE), list(b"tfn"))))

    @cached_property
    def quoted(self) -> TokenSet:
        return _ids(self._with_quote)

    @cached_property
    def _with_quote(self) -> Spelled:
        return self._holding(b'"')

    @cached_property
    def strings_ended_by(self) -> dict[str, TokenSet]:
        ended_by: defaultdict[str, list[int]] = defaultdict(list)
        for i, token in self._with_quote:
            match = _ENDS_STRING.match(token)
            if match is not None:
                with suppress(ValueError):  # it begins inside a character, so it never follows a whole text
                    ended_by[decode(match.group()[:-1])].append(i)
        return {text: TokenSet(ids) for text, ids in ended_by.items()}

    @cached_property
    def texts_between(self) -> dict[str, TokenSet]:
        between: defaultdict[str, list[int]] = defaultdict(list)
        for i, token in self._with_quote:
            for text in set(token.split(b'"')[1:-1]):
                with suppress(ValueError):
                    between[decode(text)].append(i)
        return {text: TokenSet(ids) for text, ids in between.items()}

    @cached_property
    def _ending_more(self) -> tuple[Spelled, dict[int, bytes]]:
        ends_more = [(i, t) for i, t in self._with_quote if _ENDS_STRING_AND_MORE.search(t) and _ENDS_STRING.match(t)]
        return _by_brackets(ends_more, _CLOSES_AFTER_STRING)

    @cached_property
    def after_string(self) -> TokenSet:
        return _ids(self._ending_more[0])

    @cached_property
    def after_string_brackets(self) -> BracketTokens:
        return BracketTokens(self._ending_more[1])

    def going_on(self, text: bytes) -> Iterator[int]:
        """The tokens that stand for some bytes and begin and end inside a string. text: of a string, so without quotes.

        An escape that is cut counts as nothing.
        """
        token = self._lowest(text)
        while token >= 0:
            yield token
            token = int(self._next_same[token])
        yield from self._escaped.get(text, ())

    def _spelling(self, text: bytes) -> int:
        """The lowest token with these bytes; -1: none. PERF: a dictionary of 262,000 tokens takes 50 ms to make."""
        at = bisect_left(self._sorted, text, key=lambda token: self.tokens[token] or b"")
        token = int(self._sorted[at]) if at < len(self._sorted) else -1
        return token if token >= 0 and self.tokens[token] == text else -1

    @cached_property
    def _escaped(self) -> dict[bytes, list[int]]:
        return _by_beginning((i, token) for i, token in self._holding(b"\\") if _UNCLOSED.fullmatch(token))

    @cached_property
    def opening(self) -> dict[bytes, list[int]]:
        return _by_beginning((i, m[1]) for i, token in self._with_quote if (m := _OPENS_STRING.fullmatch(token)))

    @cached_property
    def renewing(self) -> BracketTokens:
        found = {}
        for i, token in self._with_quote:
            match = _RENEWS.fullmatch(token)
            if match is not None:
                tail = without_space(b'"' + match[1], inside=True)
                alike = tail.strip(b'",:[]{}') == b"" and tail.count(b'"') < 3
                found[i] = tail if alike else without_space(token, inside=True)
        return BracketTokens(found)

    @cached_property
    def outside(self) -> BracketTokens:
        found = {}
        for i, token in self._holding(b',:[]{}"'):
            if _STRUCTURAL.match(token) and not _OPENS_STRING.fullmatch(token):
                found[i] = without_space(token)
        for i, token in self._within(_SPACE + b"truefalsn"):
            bare = token.strip(_SPACE)
            if not bare or bare in _WORDS:
                found[i] = without_space(token)
        return BracketTokens(found)

    @cached_property
    def longest(self) -> int:
        return int(self._joined.lengths.max(initial=0))

    @cached_property
    def _numeric(self) -> _Numeric:
        others, right, both = [], defaultdict(list), defaultdict(list)
        for i, token in self._within(_ANY_SPACE + b"0123456789+-.eE"):
            bare = token.lstrip(_SPACE)
            if bare.isdigit():
                right[bare.rstrip(b"0")].append(i)
                both[bare.strip(b"0")].append(i)
            elif _NUMERIC.fullmatch(token):
                others.append(i)
        return _Numeric([[i] for i in others], dict(right), dict(both))

    def agreeing(self, raw: bytes, numbers: set[bytes | None]) -> Iterator[list[int]]:
        """The tokens after which the digits of a number may begin like those of another one, each once.

        raw: The beginning of the number. numbers: The digits of the others without zeros in front; None: unknown.
        """
        others, right, both = self._numeric
        if numbers:
            yield from others
        if None in numbers or (numbers and (b"e" in raw or b"E" in raw)):
            yield from right.values()
            return
        begun = bytes(byte for byte in raw if byte in b"0123456789").lstrip(b"0")
        bare, texts = begun.rstrip(b"0"), set()
        for digits in numbers:
            assert digits is not None
            if digits.startswith(bare):
                following = digits[len(begun) :] if digits.startswith(begun) else b""
                texts |= {following[:n].rstrip(b"0") for n in range(len(following) + 1)}
        spelled = right if begun else both
        yield from (spelled.get(text, []) for text in texts)

    @cached_property
    def structural(self) -> _Structural:
        """The tokens that complete values and close containers."""
        tokens = [(i, token) for i, token in self._holding(b'"],}') if _COMPLETES_VALUE.search(token)]
        by_text = _by_string(tokens)
        with_string = {i for ids in by_text.values() for i in ids}
        _, after_one = _by_brackets([(i, token) for i, token in tokens if i in with_string], _ONE_STRING)
        others = [(i, token) for i, token in tokens if i not in with_string]
        others, empty = _by_brackets(others, _EMPTY_CONTAINERS)
        others, closing = _by_brackets(others, _CLOSES)
        one_string = {text: TokenSet(ids) for text, ids in by_text.items()}
        return _Structural(_ids(others), BracketTokens(closing | after_one), BracketTokens(empty), one_string)


def without_space(token: bytes, inside: bool = False) -> bytes:
    """A token without the space outside of strings that changes nothing. inside: it begins inside a string.

    One space is left in front, where it may end a number, and one behind a number or a word.
    """
    if b"\\" in token:
        return token
    parts = token.split(b'"')
    for i in range(inside, len(parts), 2):
        part = parts[i]
        bare = part.translate(None, _SPACE)
        front = b" " if i == 0 and part[:1] and part[0] in _SPACE else b""
        back = b" " if i == len(parts) - 1 and bare and part[-1] in _SPACE and bare[-1] not in b",:[]{}" else b""
        parts[i] = front + bare + back
    return b'"'.join(parts)


def _by_beginning(tokens: Iterable[tuple[int, bytes]]) -> dict[bytes, list[int]]:
    """Bytes -> the tokens inside strings that stand for them."""
    found: defaultdict[bytes, list[int]] = defaultdict(list)
    for i, token in tokens:
        with suppress(ValueError):  # an escape that no JSON has
            found[unescaped(token)[0]].append(i)
    return dict(found)


def _ids(tokens: Spelled) -> TokenSet:
    return TokenSet(i for i, _ in tokens)


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
