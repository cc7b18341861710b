"""Masks with the tokenizer's own cut where the text is forced, and all tokens where the model has a choice.

The idea: where the constraint says which bytes follow, the model chooses nothing but how they are cut, and a cut that
it never saw misleads it (`<tool_call>` as `< t oo l`); there the token is the canonical one, and needs no forward.
Where the text is open a cut is part of the choice: a model that ends a string writes `"}` and then `}`, though its
tokenizer joins all three, and if only the joined token counts, the string goes on (note 0041).

Distribution: p conditioned on "a text of the language, and where one token alone is canonical for bytes that must
follow, it is that token".

Cost: a look-up more than the constraint's own matcher, which answers where the text is open. How its tokens change what
is canonical is computed when the next forced text is met.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from constrain.kernels.cuts.rows import only_token
from constrain.languages.cuts.canonical import CutState
from constrain.languages.cuts.forced import NO_TOKENS, Firsts
from constrain.languages.vocab.bits import has_bit, has_bits, set_bits
from constrain.masks.derived.canonical import CanonicalConstraint, CanonicalMatcher, CutMask
from constrain.masks.engine import fill_masks
from constrain.masks.engine.matcher import engine_of
from constrain.masks.engine.rows import Row

LEAST = 2  # bytes: one alone is one token, or one of the twins that a vocabulary with byte tokens has
MOST = 16  # bytes by which the first token is decided
WINDOW = 64  # forced bytes that are read at once: the tokens of the first ones find the others known
MANY = 1 << 16  # places of which is known what is forced


class Forced(NamedTuple):
    """Bytes that must follow, at most `WINDOW`; none where they are fewer than two: the place is open.

    is_end: nothing may follow them. is_all: no more of them must follow
    """

    text: bytes
    is_end: bool
    is_all: bool


OPEN = Forced(b"", False, True)
NONE_FIRST = Firsts([], NO_TOKENS)


class ForcedPlace:
    """A place where text is forced: its mask, that text, and the state of the canonical tokens.

    after: by token, the place after it, if known and still remembered; None where the text after it is open
    """

    __slots__ = ("__weakref__", "after", "forced", "mask", "state")

    def __init__(self, mask: CutMask, forced: Forced, state: CutState) -> None:
        self.mask, self.forced, self.state = mask, forced, state
        self.after: dict[int, Callable[[], ForcedPlace | None] | None] = {}


class ForcedConstraint(CanonicalConstraint):
    """A compiled constraint whose forced texts are cut as the tokenizer cuts them. Use it as `constraint=`."""

    identity = "forced"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._forced: dict[Any, Forced] = {}
        self.is_plain = not (self.checks or self.guards)  # what follows a place depends on nothing before it

    def make_matcher(self, inner: Any) -> ForcedMatcher:
        return ForcedMatcher(self, inner, [self.canonical.start])

    def is_open(self, inner: Any) -> bool:
        """True where fewer than two bytes must follow. inner: a matcher of the constraint"""
        if hasattr(inner, "is_forced"):
            return not inner.is_forced()
        return not self.forced(inner).text

    def forced(self, inner: Any) -> Forced:
        """The bytes that must follow. inner: a matcher of the constraint"""
        key = self._key(inner)
        known = self._forced.get(key)
        if known is None:
            known = _forced(inner)
            self._note(key, known)
        return known

    def follows(self, inner: Any, before: Forced, token: int) -> None:
        """Note what is forced after a token of a forced text. inner: a matcher that has read it"""
        length = len(self.vocabulary.tokens[token] or b"")
        text = before.text[length:]
        if len(text) >= MOST or (before.is_all and length <= len(before.text)):
            self._note(self._key(inner), before._replace(text=text) if len(text) >= LEAST else OPEN)

    def _note(self, key: Any, forced: Forced) -> None:
        if len(self._forced) > MANY:
            self._forced.clear()
        self._forced[key] = forced

    def _key(self, inner: Any) -> Any:
        return inner.state if self.is_plain else self.key(inner, self.canonical.start)

    def forced_place(self, inner: Any, state: CutState) -> ForcedPlace:
        """The place of a matcher of the constraint and a state of the canonical tokens, where text is forced."""
        key = self.key(inner, state)
        known: ForcedPlace | None = self.canonical.places.get(key)
        if known is None:
            forced = self.forced(inner)
            known = ForcedPlace(self._mask(inner, state, forced), forced, state)
            known.mask.row.flags.writeable = False
            self.canonical.places.keep(key, known, known.mask.row.nbytes)
        return known

    def _mask(self, inner: Any, state: CutState, forced: Forced) -> CutMask:
        """A token that goes on beyond the forced text is a choice of the model, if it may come next."""
        text = forced.text[:MOST]
        is_end = forced.is_end and text == forced.text
        within, beyond = self.canonical.forced.firsts(state, text, is_end=is_end) if text else NONE_FIRST
        if text and not within and not beyond.size:  # behind a token that its tokenizer would not cut there
            within, beyond = self.canonical.forced.firsts(self.canonical.unlinked(state), text, is_end=is_end)
        if len(within) == 1 and not beyond.size and inner.allows(within[0]):
            row = np.zeros(self.vocabulary.words, np.uint32)
            set_bits(row, within)
            return CutMask(row, within[0], False)
        row = self.masked(inner)
        firsts = [token for token in within if has_bit(row, token)] + beyond[has_bits(row, beyond)].tolist()
        if len(firsts) == 1:
            row[:] = 0
            set_bits(row, firsts)
        return CutMask(row, only_token(row), False)


def _forced(inner: Any) -> Forced:
    if hasattr(inner, "forced_end"):
        text, may_end = inner.forced_end(WINDOW)
    else:
        text, may_end = inner.forced_bytes(WINDOW) if hasattr(inner, "forced_bytes") else b"", True
    if len(text) < LEAST:
        return OPEN
    if not may_end:
        return Forced(text, False, len(text) < WINDOW)
    after = (engine_of(inner) or inner).fork()  # a limit of tokens reads no bytes
    is_end = after.advance_bytes(text) and after.is_accepting() and after.is_finished()
    return Forced(text, is_end, is_end or len(text) < WINDOW)


class ForcedMatcher(CanonicalMatcher):
    """One sequence under a `ForcedConstraint`.

    read: the tokens. states: before each of them and after the last; None where it was not needed yet. is_here_open:
    what `is_open` said, if it was asked. here: the place, if it is known. came: the place and the token before it,
    which are to be told where they led
    """

    __slots__ = ("came", "here", "is_here_open", "read")
    constraint: ForcedConstraint
    states: list[CutState | None]  # type: ignore[assignment]

    def __init__(self, constraint: ForcedConstraint, inner: Any, states: list[Any]) -> None:
        super().__init__(constraint, inner, states)
        self.read: list[int] = []
        self._forget()

    def _forget(self) -> None:
        self.is_here_open: bool | None = None
        self.here: ForcedPlace | None = None
        self.came: tuple[ForcedPlace, int] | None = None

    def is_open(self) -> bool:
        """True where the masks are those of the constraint's own matcher."""
        known = self.is_here_open
        if known is None:
            known = self.is_here_open = self.constraint.is_open(self.inner)
            if known and self.came is not None:
                before, token = self.came
                before.after[token] = None
        return known

    def cut(self) -> CutState:
        states, known = self.states, len(self.states) - 1
        while (state := states[known]) is None:
            known -= 1
        for place in range(known, len(self.read)):
            state = states[place + 1] = self.constraint.canonical.after(state, self.read[place])
        return state

    def place(self) -> ForcedPlace:
        """The place, whose text is forced."""
        known = self.here
        if known is None:
            known = self.here = self.constraint.forced_place(self.inner, self.cut())
            if self.came is not None:
                before, token = self.came
                before.after[token] = weakref.ref(known)
        return known

    def _here(self) -> CutMask:
        if not self.is_open():
            return self.place().mask
        row = self.constraint.masked(self.inner)
        only = only_token(row)
        row.flags.writeable = False
        return CutMask(row, only, False)

    def fill_mask(self, row: Row) -> None:
        if self.is_here_open or self.is_open():
            self.inner.fill_mask(row)
        else:
            super().fill_mask(row)

    def allows(self, token_id: int) -> bool:
        return bool(self.inner.allows(token_id)) if self.is_open() else super().allows(token_id)

    def advance(self, token_id: int) -> bool:
        if self.is_open():
            if not self.inner.advance(token_id):
                return False
            self.states.append(None)
            self._forget()
        else:
            place = self.place()
            if not has_bit(place.mask.row, token_id) or not self.inner.advance(token_id):
                return False
            self._follow(place, token_id)
        self.read.append(token_id)
        return True

    def _follow(self, place: ForcedPlace, token_id: int) -> None:
        """Go to the place after a token of a forced text."""
        self._forget()
        state: CutState | None = None
        known = place.after.get(token_id, _gone)
        here = known and known()
        if known is None:
            self.is_here_open = True
        elif here is not None:
            self.is_here_open, self.here, state = False, here, here.state
        else:
            self.constraint.follows(self.inner, place.forced, token_id)
            self.came = (place, token_id) if self.constraint.is_plain else None
        self.states.append(state)

    def is_accepting(self) -> bool:
        return bool(self.inner.is_accepting())

    def is_finished(self) -> bool:
        return bool(self.inner.is_finished())

    def rollback(self, n_tokens: int) -> None:
        self.inner.rollback(n_tokens)
        del self.read[len(self.read) - n_tokens :]
        del self.states[len(self.states) - n_tokens :]
        self._forget()

    def fork(self) -> ForcedMatcher:
        copy = ForcedMatcher(self.constraint, self.inner.fork(), list(self.states))
        copy.read, copy.is_here_open, copy.here, copy.came = list(self.read), self.is_here_open, self.here, self.came
        return copy


def _gone() -> None:
    """A reference to a place that is not known: None, as of one that is forgotten."""


def fill_forced(matchers: Sequence[ForcedMatcher], out: np.ndarray) -> None:
    """The masks of a batch, those of open places in one call; out as for `fill_masks`, a row a matcher."""
    rows = [number for number, matcher in enumerate(matchers) if matcher.is_open()]
    fill_masks([matchers[row].inner for row in rows], out, rows=rows)
    for number in set(range(len(matchers))).difference(rows):
        matchers[number].fill_mask(out[number])
