"""No key and no item twice: vetoes the tokens that would complete a repetition.

The idea: the text is read beside the automaton (`json_reader.py`). Inside a string, what would repeat is known before
it is complete: of the values seen, those that begin with what is there, and for each the tokens that spell its rest
and the closing quote. A table of the vocabulary gives these at once. Tokens that complete more than one value are few,
and are tried one by one.

Exact for keys, and for arrays that no item may repeat in whatever the rest of the text (`WatchedPlace.unique`); arrays
where that depends on a choice between branches are left to the check of the finished text.
Cost: only inside objects with undeclared keys and arrays with `uniqueItems`: some µs a mask, 2 µs a token
tried. Tokens that close the same brackets are tried together.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import cast

import numpy as np
from numpy.typing import NDArray

from constrain.guards.json_reader import (
    SCALAR,
    TEXT,
    VALUE,
    WORDS,
    JsonState,
    OpenContainer,
    Repeated,
    WatchedPlace,
    decode,
    read,
)
from constrain.vocab.tables import PerVocabulary
from constrain.vocab.vocabulary import Vocabulary

Row = NDArray[np.uint32]


class Repeats:
    """The guard (see `guards.Guard`) of texts that are JSON.

    root: what is known of the whole value; None: only keys must not repeat.
    """

    def __init__(self, root: WatchedPlace | None, vocabulary: Vocabulary) -> None:
        self.root = root
        self.tables = TokenTables.of(vocabulary)
        self.always = self.tables.doubles.ids.size > 0

    def start(self) -> JsonState:
        """Nothing was read."""
        return JsonState(VALUE, None, b"", self.root)

    def step(self, state: Hashable, text: bytes) -> JsonState | None:
        """See `Guard`."""
        try:
            return read(cast(JsonState, state), text)
        except Repeated:
            return None

    def veto(self, state: Hashable, row: Row) -> None:
        """See `Guard`."""
        here = cast(JsonState, state)
        tables = self.tables
        if here.mode == TEXT:
            self._veto_rests(here, row)
        if self.always:
            self._try(here, tables.doubles, row)
        if self.root is None:
            for tokens in self._whole_names(here):
                self._try(here, tokens, row)
        elif here.mode == TEXT:
            self._try(here, tables.after_quote, row)
            if _asks_when_closed(here):
                self._try_alike(here, tables.closing_after_quote, row)
        else:
            if here.mode == SCALAR and self.step(here, b" ") is None:
                tables.ending.clear(row)
            self._try(here, tables.structural, row)
            self._try_alike(here, tables.empty, row)
            if _asks_when_closed(here):
                self._try_alike(here, tables.closing, row)
            for text in _texts_seen(here):
                if text in tables.whole:
                    self._try(here, tables.whole[text], row)
            if here.mode == VALUE and _words_seen(here):
                self._try(here, tables.words, row)

    def _veto_rests(self, here: JsonState, row: Row) -> None:
        """Inside a string: the tokens that end it as a text that was seen."""
        try:
            begun = decode(here.raw)
        except ValueError:  # in the middle of an escape or a character
            self._try(here, self.tables.quoted, row)
            return
        for text in _texts_seen(here):
            if text.startswith(begun):
                rest = self.tables.heads.get(text[len(begun) :])
                if rest is not None:
                    rest.clear(row)

    def _whole_names(self, here: JsonState) -> Iterator[Tokens]:
        """The tokens that hold a name, with both of its quotes, that some open object has."""
        between = self.tables.between
        stack = here.stack
        while stack is not None:
            frame, stack = stack
            if frame.is_object:
                yield from (between[name] for name in frame.seen if name in between)

    def _try(self, here: JsonState, tokens: Tokens, row: Row) -> None:
        """Clear those of some tokens that `step` vetoes."""
        for token in tokens.within(row):
            if self.step(here, self.tables.tokens[token] or b"") is None:
                row[token >> 5] &= ~np.uint32(1 << (token & 31))

    def _try_alike(self, here: JsonState, tokens: ClosingTokens, row: Row) -> None:
        """`_try`, once for all tokens that open and close the same brackets after the same text."""
        vetoed: dict[bytes, bool] = {}
        for token in tokens.within(row):
            text = tokens.short[token]
            if text not in vetoed:
                vetoed[text] = self.step(here, text) is None
            if vetoed[text]:
                row[token >> 5] &= ~np.uint32(1 << (token & 31))


def _asks_when_closed(here: JsonState) -> bool:
    """Whether a bracket that closes may be vetoed: some array must hold a repetition, or its container must not be
    equal to another in an array around it."""
    stack, within = here.stack, False
    while stack is not None:
        frame, stack = stack
        if not frame.is_object and frame.place is not None and (frame.place.repeats or (within and frame.unique)):
            return True
        within = True
    return False


def _words_seen(here: JsonState) -> bool:
    """Whether `true`, `false` or `null` is no item that may come."""
    frame: OpenContainer | None = here.stack[0] if here.stack is not None else None
    return frame is not None and frame.unique and any(word in frame.seen for word in WORDS.values())  # type: ignore[operator]


def _texts_seen(here: JsonState) -> Iterator[str]:
    """The texts that the string in progress must not become."""
    frame: OpenContainer | None = here.stack[0] if here.stack is not None else None
    if frame is None or frame.seen is None:
        return
    if frame.is_object:
        if frame.name is None:
            yield from cast(Iterator[str], iter(frame.seen))
        return
    for key in frame.seen if frame.unique else ():
        if isinstance(key, tuple) and key[0] == "string":
            yield key[1]


# --------------------------------------------------------------------------------------------------------- tables


class Tokens:
    """Some token ids, ready to be looked up in masks."""

    def __init__(self, ids: Iterable[int]) -> None:
        self.ids = np.fromiter(ids, np.int64)
        self._words = self.ids >> 5
        self._bits = np.uint32(1) << (self.ids & 31).astype(np.uint32)

    def within(self, row: Row) -> list[int]:
        """Those that a mask allows."""
        hits = row[self._words] & self._bits
        return self.ids[hits != 0].tolist() if hits.any() else []

    def clear(self, row: Row) -> None:
        """Take them out of a mask."""
        np.bitwise_and.at(row, self._words, ~self._bits)


class ClosingTokens(Tokens):
    """Tokens of which only the brackets count, and the text before these. short: what does the same as each."""

    def __init__(self, short: dict[int, bytes]) -> None:
        super().__init__(short)
        self.short = short


_QUOTE = re.compile(rb'(?:[^"\\]|\\.)*"', re.DOTALL)  # up to the first quote that no backslash escapes
_AFTER_QUOTE = re.compile(rb'".*["\],}]', re.DOTALL)
_STRUCTURAL = re.compile(rb'".*"|[\],}]', re.DOTALL)
_TEXT = rb'(?:[^"\\]|\\.)*'  # of a string
_CLOSE = rb"([\s,:\]}]*)"
_OPEN = rb'[\s,:\[{]*(?:"' + _TEXT + rb"\\?)?"  # brackets open, and at most a string begins
_CLOSING = re.compile(_CLOSE + _OPEN, re.DOTALL)
_CLOSING_AFTER_QUOTE = re.compile(  # after the end of a string, and the whole value after a name
    _TEXT + rb'"(?:\s*:\s*"' + _TEXT + rb'")?' + _CLOSE + _OPEN, re.DOTALL
)
_WHOLE = re.compile(rb'[\s,:]*"(' + _TEXT + rb')"' + _CLOSE + _OPEN, re.DOTALL)
_EMPTY = re.compile(rb"([\s,:\]}]*[\[{][\s,:\[\]{}]*[\]}])" + _OPEN, re.DOTALL)  # containers without anything in them
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_WORD = re.compile(rb"\s*[tfn]")
_DOUBLE = re.compile(rb'"\s*:.*,\s*".*"|\[\s*["\d\-tfn\[{].*,.*[,\]]', re.DOTALL)
_ENDING = re.compile(rb"[\s,\]}]")


class TokenTables(PerVocabulary):
    """What guards ask about the tokens of a vocabulary.

    heads: for each text, the tokens that spell it and then a closing quote. between: for each text, those that have it
    between two quotes. quoted: with a quote. after_quote: with a quote and something after it that may complete another
    value. structural: with two quotes, a comma or a closing bracket. closing_after_quote, closing: those of the two
    that complete nothing but by closing brackets; they are not in the others. whole: for each text, the tokens that
    hold it as a string and complete nothing else, but by closing brackets. empty: that complete empty containers, and
    those around them. ending: that begin with what ends a number. words: that begin `true`, `false` or `null`. doubles:
    that may hold a repetition of their own.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.tokens: Sequence[bytes | None] = vocabulary.tokens
        spelled = [(i, token) for i, token in enumerate(vocabulary.tokens) if token]
        quoted = [(i, token) for i, token in spelled if b'"' in token]
        self.quoted = Tokens(i for i, _ in quoted)
        after_quote = [(i, token) for i, token in quoted if _AFTER_QUOTE.search(token) and _QUOTE.match(token)]
        self.after_quote, self.closing_after_quote = _sorted_out(after_quote, _CLOSING_AFTER_QUOTE)
        structural = [(i, token) for i, token in spelled if _STRUCTURAL.search(token)]
        whole = _whole_texts(structural)
        self.whole = {text: Tokens(ids) for text, ids in whole.items()}
        held = {i for ids in whole.values() for i in ids}
        _, closing = _sorted_out([each for each in structural if each[0] in held], _WHOLE)
        others, self.empty = _sorted_out([each for each in structural if each[0] not in held], _EMPTY)
        others, rest = _sorted_out([(i, vocabulary.tokens[i] or b"") for i in others.ids.tolist()], _CLOSING)
        self.structural, self.closing = others, ClosingTokens(rest.short | closing.short)
        self.ending = Tokens(i for i, token in spelled if _ENDING.match(token))
        self.words = Tokens(i for i, token in spelled if _WORD.match(token))
        self.doubles = Tokens(i for i, token in spelled if _DOUBLE.search(token))
        heads: defaultdict[str, list[int]] = defaultdict(list)
        between: defaultdict[str, list[int]] = defaultdict(list)
        for i, token in quoted:
            match = _QUOTE.match(token)
            if match is not None:
                with suppress(ValueError):  # begins in the middle of a character: never follows a text that is whole
                    heads[decode(match.group()[:-1])].append(i)
            for text in set(token.split(b'"')[1:-1]):
                with suppress(ValueError):
                    between[decode(text)].append(i)
        self.heads = {text: Tokens(ids) for text, ids in heads.items()}
        self.between = {text: Tokens(ids) for text, ids in between.items()}


def _sorted_out(tokens: list[tuple[int, bytes]], pattern: re.Pattern[bytes]) -> tuple[Tokens, ClosingTokens]:
    """(the tokens that have to be tried one by one, those that only close brackets); what closes none is in neither.

    pattern: its last group is what holds the brackets, and what stands before it counts too.
    """
    others, short = [], {}
    for i, token in tokens:
        match = pattern.fullmatch(token)
        if match is None:
            others.append(i)
        elif brackets := match[pattern.groups].translate(None, _NO_BRACKETS):
            short[i] = token[: match.start(pattern.groups)] + brackets
    return Tokens(others), ClosingTokens(short)


def _whole_texts(tokens: list[tuple[int, bytes]]) -> dict[str, list[int]]:
    """For each text, the tokens that hold it as a string and complete nothing else but by closing brackets."""
    found: defaultdict[str, list[int]] = defaultdict(list)
    for i, token in tokens:
        match = _WHOLE.fullmatch(token)
        if match is not None:
            with suppress(ValueError):
                found[decode(match[1])].append(i)
    return found
