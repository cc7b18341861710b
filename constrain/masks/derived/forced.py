"""Masks with the tokenizer's own cut where the text is forced, and all tokens where the model has a choice.

The idea: where the constraint says which bytes follow, the model chooses nothing but how they are cut, and a cut that
it never saw misleads it (`<tool_call>` as `< t oo l`); there the token is the canonical one, and needs no forward.
Where the text is open a cut is part of the choice: a model that ends a string writes `"}` and then `}`, though its
tokenizer joins all three, and if only the joined token counts, the string goes on (note 0041).

The text of an added token is one token to its tokenizer, so one that takes part of it is refused, wherever the
constraint tells that text from an open one (kernels/parser/spelling.py), unless no other token may come next.

Distribution: p conditioned on "a text of the language; where one token alone is canonical for bytes that must follow,
it is that token; and no token that is not an added one takes part of such a text".

Cost: where the text is open the constraint's own matcher answers, after one question; a known forced place leads to the
next. How open tokens change what is canonical is computed when the next forced text is met.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from constrain.kernels.cuts.steps import SEVERAL_LEFT, only_token
from constrain.kernels.parser.forced import FORCED, NOT_FORCED
from constrain.languages.cuts.added import Begun
from constrain.languages.cuts.canonical import CutState
from constrain.languages.cuts.firsts import Firsts
from constrain.languages.vocab.bits import clear_bits, has_bit, set_bits
from constrain.lazily import Remembered
from constrain.masks.derived.cuts import CompiledCuts, CutsMatcher
from constrain.masks.engine.matcher import Matcher
from constrain.masks.engine.narrowed import Narrowed, engine_of, fill_narrowed
from constrain.masks.engine.rows import Row, checked_row

LEAST = 2  # bytes: one alone is one token, or one of the twins that a vocabulary with byte tokens has
MOST = 16  # bytes by which the first token is decided
WINDOW = 64  # forced bytes that are read at once beside an added token: those behind the first one find them known
MANY = 1 << 14  # places that a constraint remembers


class Forced(NamedTuple):
    """Bytes that must follow, at most a window of them; none where they are fewer than two: the place is open.

    is_end: nothing may follow them. is_all: no more of them must follow
    """

    text: bytes
    is_end: bool
    is_all: bool


NO_TEXT = Forced(b"", False, True)


class ForcedPlace:
    """A place where text is forced, or a token refused. Not to be changed but for `after`.

    only: the one token that may come next; negative: all that the constraint allows but for the refused ones
    state: of the canonical tokens; None where no text is forced. begun: of added tokens (languages/cuts/added.py)
    after: by token, the place after it, if it is known
    """

    __slots__ = ("after", "begun", "forced", "only", "refused", "state")

    def __init__(
        self, only: int, forced: Forced, state: CutState | None, begun: Begun = (), refused: Sequence[int] = ()
    ) -> None:
        self.only, self.forced, self.state, self.begun, self.refused = only, forced, state, begun, refused
        self.after: dict[int, ForcedPlace] = {}


OPEN_PLACE = ForcedPlace(SEVERAL_LEFT, NO_TEXT, None)


class ForcedCuts(CompiledCuts):
    """A compiled constraint whose forced texts are cut as the tokenizer cuts them. Use it as `constraint=`."""

    identity = "forced"

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.none: Row = self.canonical.none
        self._places: Remembered[Any, ForcedPlace] = Remembered(MANY)
        self._only: Remembered[Any, int] = Remembered(MANY)  # of open places, by the constraint's state
        self._added, self._spellings = self.canonical.added_tokens.texts, self.canonical.spellings
        self.begin, self.asks = self._spellings.begin, (self._added.rows[1], self._spellings.behind(()).rows)
        self.window = WINDOW + self._added.longest
        self.is_plain = not (self.checks or self.guards)  # what follows a place depends on nothing before it

    def make_matcher(self, inner: Any) -> ForcedMatcher:
        return ForcedMatcher(self, inner, [self.canonical.start])

    def forced_place(self, inner: Any, state: CutState, came: tuple[ForcedPlace, int] | None) -> ForcedPlace:
        """The place of a matcher of the constraint and a state of the canonical tokens, where text is forced.

        came: the place and the token before, if known
        """
        key = (inner.state, *state) if self.is_plain else self.key(inner, state)  # PERF: numbers alone
        known = self._places.get(key)
        if known is None:
            forced = (came and self._rest(*came)) or _forced(inner, self.window)
            known = self._found(inner, state, forced)
            self._places.keep(key, known)
        return known

    def _rest(self, before: ForcedPlace, token: int) -> Forced | None:
        """The text that is forced after a token of a place, if the one that is forced there says it."""
        length, forced = len(self.vocabulary.tokens[token] or b""), before.forced
        text = forced.text[length:]
        is_known = len(text) >= MOST + self._added.longest or (forced.is_all and len(text) >= LEAST)
        return forced._replace(text=text) if is_known else None

    def _found(self, inner: Any, state: CutState, forced: Forced) -> ForcedPlace:
        """The place. A token that goes on beyond the forced text is a choice of the model, if it may come next."""
        run = self._run(inner, state, forced)
        if run:
            return self._chained(run, forced)
        firsts = self._firsts(state, forced)
        if forced.text and not firsts.within and not firsts.longer:  # behind a token that is not cut so there
            firsts = self._firsts(self.canonical.unlinked(state)._replace(begun=()), forced)
        within = firsts.within
        if len(within) == 1 and not firsts.longer and inner.allows(within[0]):
            return ForcedPlace(within[0], forced, state, state.begun)
        row = self.masked(inner)
        refused = self._refused(inner, state.begun, row)
        clear_bits(row, refused)
        left = [token for token in within if has_bit(row, token)]
        if len(left) < 2 and firsts.longer:
            left += self.canonical.firsts.longer(firsts, row, 2 - len(left))
        only = left[0] if len(left) == 1 else SEVERAL_LEFT if left else only_token(row)
        return ForcedPlace(only, forced, state, state.begun, refused)

    def _run(self, inner: Any, state: CutState, forced: Forced) -> list[tuple[int, CutState]]:
        """The tokens that write a forced text, each with the state before it, as far as they are sure at once: nothing
        but the text decides, and no added token is near."""
        text = forced.text
        is_engine = isinstance(inner, Matcher) and self.is_plain and not inner.compiled.by_token
        if not text or not is_engine or self._added.is_likely(state.begun, text):
            return []
        stop = len(text) - (LEAST if forced.is_all else MOST + self._added.longest)
        run = self.canonical.firsts.run(state, text, MOST, stop, is_end=forced.is_end)
        return run if not any(token in self.eos_ids for token, _ in run) else []

    def _chained(self, run: list[tuple[int, CutState]], forced: Forced) -> ForcedPlace:
        """The places of tokens that are forced one after the other, the first of them."""
        places, (text, is_end, is_all) = list[ForcedPlace](), forced
        for token, state in run:
            places.append(ForcedPlace(token, Forced(text, is_end, is_all), state))
            text = text[len(self.vocabulary.tokens[token] or b"") :]
        for here, after in itertools.pairwise(places):
            here.after[here.only] = after
        if is_all and len(text) < LEAST and not self.begin:
            places[-1].after[places[-1].only] = OPEN_PLACE
        return places[0]

    def spelling_place(self, inner: Any, begun: Begun) -> ForcedPlace:
        """The place of a matcher of the constraint where no text is forced, behind beginnings of added tokens."""
        key = (inner.state, begun) if self.is_plain else self.key(inner, begun)
        known = self._places.get(key)
        if known is None:
            refused = self._refused(inner, begun)
            known = self._places.keep(key, ForcedPlace(SEVERAL_LEFT, NO_TEXT, None, begun, refused))
        return known

    def only_open(self, inner: Any) -> int:
        """The one token of the mask of a matcher of the constraint; negative where there are more or none."""
        state = inner.state
        known = self._only.get(state)
        return self._only.keep(state, only_token(self.masked(inner))) if known is None else known

    def _refused(self, inner: Any, begun: Begun, row: Row | None = None) -> list[int]:
        """The tokens of a mask that take part of an added text; none where no other may come next."""
        engine, spelling = engine_of(inner), self._spellings.behind(begun)
        nodes = engine.spelling_tokens(self.asks[0], spelling.rows) if engine and self.begin else []
        if not nodes:
            return []
        row = self.masked(inner) if row is None else row
        refused = sorted({token for node in nodes for token in spelling.tokens[node] if has_bit(row, token)})
        others = row.copy()
        clear_bits(others, refused)
        return refused if others.any() else []

    def _firsts(self, state: CutState, forced: Forced) -> Firsts:
        """The tokens with which the tokenizer may write a forced text. What is before an added token ends there."""
        text, is_end = forced.text, forced.is_end
        at, token = self._added.first(state.begun, text, is_end)
        if at == 0:
            return Firsts(state, text, [token], False)
        if at > 0:
            text, is_end = text[:at], True
        length = MOST
        while length < len(text) and self._added.is_begun(text[:length]):
            length += 1
        is_end = is_end and length >= len(text)
        return self.canonical.firsts.of(state, text[:length], is_end=is_end) if text else Firsts(state, text, [], False)


def _forced(inner: Any, window: int) -> Forced:
    """The text that must follow a matcher, up to so many bytes."""
    text, may_end = inner.forced_end(window)
    if len(text) < LEAST:
        return NO_TEXT
    if not may_end:
        return Forced(text, False, len(text) < window)
    after = (engine_of(inner) or inner).fork()  # a limit of tokens reads no bytes
    is_end = after.advance_bytes(text) and after.is_accepting() and after.is_finished()
    return Forced(text, is_end, is_end or len(text) < window)


class ForcedMatcher(CutsMatcher):
    """One sequence under a `ForcedCuts`.

    states: before each token and after the last; in place of one that was not needed stands the token before it
    here: the place, if it is known. came: the place and the token before it, if text was forced there
    is_begun: the text may end with the beginning of an added token
    is_narrowed: another layer is inside, which may refuse tokens at some places
    """

    __slots__ = ("came", "here", "is_begun", "is_narrowed")

    layer = "forced tokens"
    constraint: ForcedCuts
    states: list[Any]  # CutState | int

    def __init__(self, constraint: ForcedCuts, inner: Any, states: list[Any]) -> None:
        super().__init__(constraint, inner, states)
        self.here: ForcedPlace | None = None
        self.came: tuple[ForcedPlace, int] | None = None
        self.is_begun = False
        self.is_narrowed = isinstance(inner, Narrowed)

    def cut(self) -> CutState:
        states, known = self.states, len(self.states) - 1
        while not isinstance(states[known], CutState):
            known -= 1
        if states[known] is not states[-1]:
            states[-1] = self.constraint.canonical.firsts.after(states[known], states[known + 1 :])
        state: CutState = states[-1]
        return state

    def place(self) -> ForcedPlace:
        """The place; `OPEN_PLACE` where no text is forced, and no token refused."""
        here, came, inner = self.here, self.came, self.inner
        if here is None:
            constraint = self.constraint
            at = inner.at_this_place() if self.is_narrowed else inner
            forcing = at.forcing(*constraint.asks)
            if forcing == FORCED:
                here = constraint.forced_place(at, self.cut(), came)
            else:
                begun = self.cut().begun if self.is_begun else ()
                here = constraint.spelling_place(at, begun) if begun or forcing != NOT_FORCED else OPEN_PLACE
            self.here = here
            # Where the layer inside asks, the place is that of one text; it does not stop asking.
            if came is not None and constraint.is_plain and (at is not inner or not self.is_narrowed):
                came[0].after[came[1]] = here
        return here

    def is_open(self) -> bool:
        """True where the masks are those of the constraint's own matcher."""
        here = self.place()
        return here.only < 0 and not here.refused

    def only(self) -> int:
        here = self.place()
        if here.state is not None:
            return here.only
        inner = self.inner.at_this_place() if self.is_narrowed else self.inner
        if here.refused or not self.constraint.is_plain or isinstance(inner, Narrowed):
            row = self.constraint.masked(self.inner)
            clear_bits(row, here.refused)
            return only_token(row)
        return self.constraint.only_open(inner)

    def mask(self) -> Row:
        here = self.place()
        only = here.only
        if only < 0:
            row = self.constraint.masked(self.inner)
            clear_bits(row, here.refused)
        else:
            row = self.constraint.none.copy()
            set_bits(row, [only])
        row.flags.writeable = False
        return row

    def fill_mask(self, row: Row) -> None:
        here = self.here or self.place()
        only = here.only
        if only < 0:
            self.inner.fill_mask(row)
            if here.refused:
                clear_bits(row.view(np.uint32), here.refused)
            return
        words = row if row.dtype == np.uint32 else checked_row(row, self.constraint.vocabulary.size)
        none = self.constraint.none
        words[:] = none if words.size == none.size else 0  # PERF: numpy copies zeros in a quarter of the time
        words[only >> 5] = 1 << (only & 31)

    def allows(self, token_id: int) -> bool:
        here = self.place()
        return token_id == here.only if here.only >= 0 else token_id not in here.refused and self.inner.allows(token_id)

    def advance(self, token_id: int) -> bool:
        here = self.here or self.place()
        is_refused = token_id != here.only if here.only >= 0 else token_id in here.refused
        if is_refused or not self.inner.advance(token_id):
            return False
        after = here.after.get(token_id)
        if after is not None and self.is_narrowed and self.inner.at_this_place() is self.inner:
            after = None
        self.here = after
        self.came = (here, token_id) if after is None and here.state is not None else None
        self.states.append(token_id if after is None or after.state is None else after.state)
        self.is_begun = bool(here.begun) or token_id in self.constraint.begin
        return True

    def because(self, token_id: int) -> str:
        here = self.place()
        if here.only < 0 or not here.forced.text:
            return "it takes part of the text of an added token, which is one token"
        text, token = here.forced.text, f"token {here.only} = {self.constraint.vocabulary.tokens[here.only]!r}"
        return f"{text!r} must follow, and the tokenizer writes {token} first"

    def rollback(self, n_tokens: int) -> None:
        super().rollback(n_tokens)
        self.here = self.came = None
        self.is_begun = True  # it may be

    def fork(self) -> ForcedMatcher:
        copy = ForcedMatcher(self.constraint, self.inner.fork(), list(self.states))
        copy.here, copy.came, copy.is_begun = self.here, self.came, self.is_begun
        return copy


def fill_forced(matchers: Sequence[ForcedMatcher], out: np.ndarray) -> None:
    """The masks of a batch, those of open places in one call; out as for `fill_masks`, a row a matcher."""
    if len(matchers) == 1:
        matchers[0].fill_mask(out[0])
        return
    rows = [number for number, matcher in enumerate(matchers) if matcher.is_open()]
    fill_narrowed([matchers[row].inner for row in rows], out, rows)
    for number in set(range(len(matchers))).difference(rows):
        matchers[number].fill_mask(out[number])
