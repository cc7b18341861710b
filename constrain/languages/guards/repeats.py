"""The guard against repeated keys and items: vetoes the tokens that would complete a repetition in a JSON text.

The idea: the guard reads the text in parallel to the automaton (json_reader.py). Inside a string, a repetition is known
before it is complete: the seen values that begin with the string so far, and for each the tokens that spell its
remainder and the closing quote. A table of the vocabulary has these tokens (token_tables.py). Tokens that complete more
than one value are few, and are tried one by one.

Exact for keys, and for arrays whose items must differ whatever follows (`WatchedPlace.unique`). Arrays where that
depends on a choice between branches are left to the check of the finished text.

A value that can only become what was seen is vetoed too. What it can become is known to the engine alone, so the guard
says where there is a doubt (rivals.py), and after which tokens (`suspects`); the engine looks ahead.
Cost: only inside objects with undeclared keys and arrays with `uniqueItems`: a few µs a mask, 2 µs for each token that
is tried. Tokens that close the same brackets are tried together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, cast

import numpy as np

from constrain.languages.guards import Guard
from constrain.languages.guards.json_reader import (
    AFTER,
    COLON,
    NAME,
    SCALAR,
    TEXT,
    VALUE,
    WORDS,
    JsonState,
    OpenContainer,
    RepeatedName,
    Stack,
    WatchedPlace,
    decode,
    read,
    unescaped,
)
from constrain.languages.guards.rivals import (
    Rivals,
    digits_of,
    is_named,
    item_in_question,
    kind_of,
    rivals,
    spelled,
    watches,
)
from constrain.languages.guards.token_tables import BracketTokens, Row, TokenSet, TokenTables
from constrain.languages.vocab.bits import clear_bits, has_bit
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.limits import tick


class GuardedText(NamedTuple):
    """A JSON text that a guard reads. guard: the one that reads it; here: its state."""

    guard: Repeats
    here: JsonState

    @property
    def runs_out(self) -> bool:
        """True if a value may run out, so that the guard vetoes everything that the grammar leaves."""
        if self.guard.root is None:  # PERF: nearly all schemas
            return False
        return self.here.stack is None or watches(self.here.stack)


class Repeats(Guard):
    """A guard of JSON texts.

    Attributes:
        root: The conditions on the whole value; None: only keys must not repeat.
        always: See `Guard`.
    """

    layer = "keys and items that differ", "a key or an item would occur twice"

    def __init__(self, root: WatchedPlace | None, vocabulary: Vocabulary) -> None:
        self.root = root
        self.tables = TokenTables.of(vocabulary)
        self.always = self.tables.doubles.ids.size > 0
        self._latest: tuple[Stack, Rivals, int, str] = (None, Rivals([], [], []), VALUE, "")

    def start(self) -> JsonState:
        return JsonState(VALUE, None, b"", self.root)

    def step(self, state: JsonState, text: bytes) -> JsonState | None:
        tick()
        try:
            return read(state, text)
        except RepeatedName:
            return None

    def veto(self, state: JsonState, row: Row) -> None:
        tables = self.tables
        if state.mode == TEXT:
            self._veto_string_ends(state, row)
        if self.always:
            self._try(state, tables.doubles, row)
        if self.root is None:
            for tokens in self._whole_names(state):
                self._try(state, tokens, row)
        elif state.mode == TEXT:
            self._try(state, tables.after_string, row)
            if _may_veto_closing(state, tables):
                self._try_brackets(state, tables.after_string_brackets, row)
        else:
            self._veto_outside_strings(state, row)

    # -- for looking ahead ---------------------------------------------------------------------------------------------

    def reader(self, state: JsonState) -> GuardedText:
        return GuardedText(self, state)

    def suspects(self, here: JsonState, row: Row, names: bool = False) -> Iterator[Sequence[int]]:
        """The tokens after which a value may still become one that was seen, those together that behave alike.

        here: of a text that `reader` gives. row: uint32[>= ceil(V / 32)], the mask. names: with the tokens after which
        a name may, and the ones which end a name here.
        """
        yield from ([token] for token in self.tables.doubles.within(row))
        names = names and here.stack is not None and is_named(here.stack[0])
        if here.mode in (AFTER, COLON) or (item_in_question(here, every_kind=True) is None and not names):
            return
        rivals = self._rivals(here)
        if names:
            rivals = rivals._replace(names=[*rivals.names, *_texts_seen(here), *_text_so_far(here)])
        if here.mode == TEXT:
            yield from self._suspects_in_string(here, rivals, row)
        else:
            yield from self._suspects(here, rivals, row)

    def moving(self, here: JsonState, row: Row) -> Iterable[Sequence[int]]:
        """The tokens of a mask that move to another value or member, those together that behave alike."""
        return _alike(self.tables.renewing if here.mode == TEXT else self.tables.outside, row)

    def _rivals(self, state: JsonState) -> Rivals:
        """The rivals at a place. PERF: remembered, for the tokens of one string."""
        stack, found, mode, kind = self._latest
        if stack is not state.stack or mode != state.mode or kind != kind_of(state):
            found = rivals(state, every_kind=True)
            self._latest = state.stack, found, state.mode, kind_of(state)
        return found

    def _suspects_in_string(self, state: JsonState, found: Rivals, row: Row) -> Iterator[list[int]]:
        """The tokens after which the string may still become one that was seen, or that end it so."""
        tables = self.tables
        begun, cut = unescaped(state.raw)
        named = state.stack is not None and is_named(state.stack[0])
        texts = map(spelled, found.texts(named))
        endings = [text[len(begun) :] for text in texts if text.startswith(begun)]
        if endings and cut:  # the next characters complete an escape
            everything = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
            yield from ([token] for token in everything[everything < len(tables.tokens)].tolist())
        elif endings:
            beginnings = {text[:n] for text in endings for n in range(min(len(text), tables.longest) + 1)}
            yield from ([token] for text in beginnings for token in _within(tables.going_on(text), row))
            for text in endings:
                is_whole = not text or not 0x80 <= text[0] < 0xC0  # it begins with a whole character
                ended = tables.strings_ended_by.get(text.decode("utf-8", "surrogatepass")) if is_whole else None
                if ended is not None:
                    yield from ([token] for token in ended.within(row))

    def _suspects(self, state: JsonState, found: Rivals, row: Row) -> Iterator[list[int]]:
        """The tokens after which a number or a string may still become one that was seen."""
        tables = self.tables
        if state.mode in (VALUE, SCALAR):
            numbers = {digits_of(key) for key in found.values if key[0] == "number"}
            for group in tables.agreeing(state.raw, numbers):
                yield from ([token] for token in _within(group, row))
        if state.mode in (VALUE, NAME):
            texts = found.texts(state.mode == NAME)
            beginnings = {text[:n] for text in map(spelled, texts) for n in range(len(text) + 1)} or {b""}
            for text in beginnings:
                group = _within(tables.opening.get(text, ()), row)
                if group:
                    yield group

    # -- what is vetoed at once ----------------------------------------------------------------------------------------

    def _veto_outside_strings(self, state: JsonState, row: Row) -> None:
        tables = self.tables
        if state.mode == SCALAR and self.step(state, b" ") is None:
            tables.ending_number.clear(row)
        self._try(state, tables.structural.tried, row)
        self._try_brackets(state, tables.structural.empty_containers, row)
        if _may_veto_closing(state, tables):
            self._try_brackets(state, tables.structural.brackets, row)
        for text in _texts_seen(state, names=True):  # a token may end a number and begin the next name: `,"a"`
            if text in tables.structural.one_string:
                self._try(state, tables.structural.one_string[text], row)
        if state.mode == VALUE and _words_seen(state):
            self._try(state, tables.words, row)

    def _veto_string_ends(self, state: JsonState, row: Row) -> None:
        """Inside a string, veto the tokens that complete it to a text that was seen."""
        try:
            begun = decode(state.raw)
        except ValueError:  # inside an escape or a character
            self._try(state, self.tables.quoted, row)
            return
        for text in _texts_seen(state):
            if text.startswith(begun):
                tokens = self.tables.strings_ended_by.get(text[len(begun) :])
                if tokens is not None:
                    tokens.clear(row)

    def _whole_names(self, state: JsonState) -> Iterator[TokenSet]:
        """The tokens that contain a name of some open object with both of its quotes."""
        between = self.tables.texts_between
        for container in _within_reach(state, self.tables):
            if container.is_object and container.seen is not None:
                yield from (between[name] for name in container.seen if name in between)

    def _try(self, state: JsonState, tokens: TokenSet, row: Row) -> None:
        """Clear the tokens that `step` vetoes, trying them one by one."""
        spelled = self.tables.tokens
        clear_bits(row, (token for token in tokens.within(row) if self.step(state, spelled[token] or b"") is None))

    def _try_brackets(self, state: JsonState, tokens: BracketTokens, row: Row) -> None:
        """Clear the tokens that `step` vetoes, trying those with the same brackets once."""
        vetoed: dict[bytes, bool] = {}
        for token in tokens.within(row):
            text = tokens.short[token]
            if text not in vetoed:
                vetoed[text] = self.step(state, text) is None
            if vetoed[text]:
                clear_bits(row, (token,))


def _within_reach(state: JsonState, tables: TokenTables) -> Iterator[OpenContainer]:
    """The open containers, the innermost first, in which a token may write: those around which it cannot close.

    A text may be nested deeper than any token closes: without this bound each mask would cost its depth.
    """
    stack = state.stack
    for _ in range(tables.most_closed + 1):
        if stack is None:
            return
        container, stack = stack
        yield container


def _within(tokens: Iterable[int], row: Row) -> list[int]:
    """The tokens that a mask allows."""
    return [token for token in tokens if has_bit(row, token)]


def _alike(tokens: BracketTokens, row: Row) -> Iterable[list[int]]:
    """The tokens that a mask allows, those together that behave alike."""
    groups: defaultdict[bytes, list[int]] = defaultdict(list)
    for token in tokens.within(row):
        groups[tokens.short[token]].append(token)
    return groups.values()


def _may_veto_closing(state: JsonState, tables: TokenTables) -> bool:
    """True if a closing bracket may be vetoed: an array must contain a repetition, or a container must not equal
    another item of an array around it."""
    within = False
    for container in _within_reach(state, tables):
        place = container.place
        if not container.is_object and place is not None and (place.repeats or (within and container.unique)):
            return True
        within = True
    return False


def _words_seen(state: JsonState) -> bool:
    """True if `true`, `false` or `null` must not come as the next item."""
    container: OpenContainer | None = state.stack[0] if state.stack is not None else None
    if container is None or not container.unique or container.seen is None:
        return False
    return any(word in container.seen for word in WORDS.values())


def _text_so_far(state: JsonState) -> list[str]:
    """The text of the string under way, if it is whole."""
    try:
        return [decode(state.raw)]
    except ValueError:  # inside an escape or a character
        return []


def _texts_seen(state: JsonState, names: bool = False) -> Iterator[str]:
    """The texts that the current string must not equal. names: those of an object even while a value is read."""
    container: OpenContainer | None = state.stack[0] if state.stack is not None else None
    if container is None or container.seen is None:
        return
    if container.is_object:
        if names or container.name is None:
            yield from cast(Iterator[str], iter(container.seen))
        return
    for key in container.seen if container.unique else ():
        if isinstance(key, tuple) and key[0] == "string":
            yield key[1]
