"""Masks of the tokens that the tokenizer itself would write: a compiled constraint, of which only those count.

The idea: a mask is that of the constraint, less the tokens that no canonical sequence goes on with
(`constrain.languages.cuts`), less those after which the constraint leaves no canonical completion. The last needs a
look-ahead: after `{` a schema may ask for `"`, and the tokenizer writes `{"` as one token. A token is kept as soon as
one byte may follow that joins no token before it, or the text may end; else its continuations are tried. What a token
leads to does not depend on the token before it, so kernels answer once for each state of the constraint and of the
pieces (kernels/cuts/lookahead.py); what they leave open is tried here, token by token. Where the masks of a place have
one token, it is forced, so what is forced in bytes needs no forward.

Distribution: p conditioned on "a text of the language, and the tokens are as the tokenizer cuts it". Where the
language leaves only other writings (choices that begin in a token, a text that spells a special token), all tokens of
the constraint are allowed at that place, and `strays` finds it.

Cost: a look-up a token where the place is known; at a new place some 0.1 ms, most of it in Python (note 0040). Limit:
nothing is looked at after `DEPTH` tokens, where a completion counts as found. Where the language leaves nothing in the
end, the same rule allows all.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from constrain.errors import VocabularyError
from constrain.kernels.cuts.rows import NO_TOKEN, drop_tokens, only_token
from constrain.languages.cuts.canonical import DEAD, CanonicalTokens, CutState
from constrain.languages.cuts.following import Verdicts
from constrain.languages.vocab.bits import has_bit, has_bits, set_bits, tokens_of
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine.matcher import engine_of
from constrain.masks.engine.rows import Row

FEW = 64  # tokens of a mask that are all looked ahead from, where kernels do not do it
DEPTH = 6  # tokens ahead
MOST = 1 << 16  # answers of the look-ahead that are remembered
NO, YES, GRANTED = 0, 1, 2
ENDINGS = 8  # sets of ids that end a text, other than the vocabulary's, whose masks are remembered for a constraint

_numbers = itertools.count()


class CutMask(NamedTuple):
    """A mask. only: its one token, negative where there are more or none. stray: no canonical token was left."""

    row: Row
    only: int
    stray: bool


class CanonicalConstraint:
    """A compiled constraint, of which only canonical tokens count. Use it as `constraint=`.

    eos_ids: the ids that end a text; None: the vocabulary's
    """

    identity = "canonical"

    def __init__(self, compiled: Any, canonical: CanonicalTokens, eos_ids: tuple[int, ...] | None = None) -> None:
        self.compiled = compiled
        self.canonical = canonical
        self.vocabulary = compiled.vocabulary
        self.constraint = getattr(compiled, "constraint", None)
        self.eos_ids = self.vocabulary.eos_ids if eos_ids is None else eos_ids
        self.eos_row = np.zeros(self.vocabulary.words, np.uint32)
        set_bits(self.eos_row, self.eos_ids)
        self._number = next(_numbers)  # among the constraints whose places are remembered together
        self._ended_by: OrderedDict[tuple[int, ...], CanonicalConstraint] = OrderedDict()
        self._viable: dict[Any, int] = {}
        # Checks of whole texts, and guards that are always asked, tell texts apart that have one state.
        self.checks = bool(getattr(self.constraint, "residual", None))
        self.guards = bool(getattr(compiled, "always_guarded", False))

    @classmethod
    def of(cls, compiled: Any, canonical: CanonicalTokens) -> Self:
        """The one of a compiled constraint, which keeps it: its masks are known in the next call, too."""
        known: Self | None = compiled.derived.get((cls, canonical))
        return known or compiled.derived.setdefault((cls, canonical), cls(compiled, canonical))

    def matcher(self, inner: Any = None, *, eos_ids: Iterable[int] | None = None) -> Any:
        """A matcher at the beginning of the text.

        inner: a matcher of the constraint there, in another shape. eos_ids: the ids that end this text, instead of the
        vocabulary's. If one of them is text, it is a matcher of the constraint itself: a text whose own cut has that
        token can only be written in another one.
        """
        ends = self.eos_ids if eos_ids is None else tuple(sorted(set(eos_ids)))
        if ends == self.eos_ids:
            return self.make_matcher(self.compiled.matcher() if inner is None else inner)
        inner = self.compiled.matcher(eos_ids=ends)
        return inner if any(self.vocabulary.tokens[end] for end in ends) else self._ending(ends).matcher(inner)

    def make_matcher(self, inner: Any) -> CanonicalMatcher:
        """A matcher at the beginning of the text. inner: that of the constraint."""
        return CanonicalMatcher(self, inner, [self.canonical.start])

    def _ending(self, eos_ids: tuple[int, ...]) -> CanonicalConstraint:
        """The same, of texts that other ids end."""
        known = self._ended_by.get(eos_ids) or type(self)(self.compiled, self.canonical, eos_ids)
        self._ended_by[eos_ids] = known
        if len(self._ended_by) > ENDINGS:
            self._ended_by.popitem(last=False)
        return known

    def key(self, inner: Any, state: CutState) -> Any:
        """A key for what may follow: of a matcher of the constraint, and a state of the canonical tokens."""
        if not self.checks and not self.guards:
            return self._number, inner.state, state
        engine = engine_of(inner)
        return self._number, inner.state, state, inner.is_accepting(), engine and self.guards and engine.guard_state()

    def place(self, inner: Any, state: CutState) -> CutMask:
        """The mask at a place: where a matcher of the constraint stands, and a state of the canonical tokens."""
        key = self.key(inner, state)
        known: CutMask | None = self.canonical.places.get(key)
        if known is None:
            known = self.make_place(inner, state)
            known.row.flags.writeable = False
            self.canonical.places.keep(key, known, known.row.nbytes)
        return known

    def make_place(self, inner: Any, state: CutState) -> CutMask:
        """The mask at a place that is not remembered."""
        row = self.masked(inner)
        if state == DEAD:
            return CutMask(row, only_token(row), True)
        narrowed = row.copy()
        joined = self.canonical.narrow(state, narrowed)
        for unlinked, some in self._parts(state, joined):
            refused = self._refused(inner, unlinked, row)
            drop_tokens(narrowed, refused if some is None else refused[has_bits(some, refused)])
        only = only_token(narrowed)
        if only != NO_TOKEN:
            return CutMask(narrowed, only, False)
        only = only_token(row)
        return CutMask(row, only, only != NO_TOKEN)

    def _parts(self, state: CutState, joined: bool) -> list[tuple[CutState, Row | None]]:
        """The states without the token before by which to look ahead from tokens, and which these are, if not all.

        joined: there are some before which a border has to come.
        """
        unlinked = self.canonical.unlinked(state)
        if not joined:
            return [(unlinked, None)]
        row = self.canonical.joined(state)
        return [(unlinked, ~row), (self.canonical.unlinked(state, joined=True), row)]

    def _refused(self, inner: Any, state: CutState, row: Row) -> NDArray[np.int32]:
        """The tokens of a mask after which no canonical completion is left. state: nothing joins the token before."""
        key = self.key(inner, state)
        known: NDArray[np.int32] | None = self.canonical.refused.get(key)
        if known is None:
            refused, unsure = self._asked(inner, state, row)
            after = {token: self._after(inner, state, token, DEPTH) for token in unsure.tolist()}
            place = self.canonical.place(state)
            granted = [token for token, viable in after.items() if viable == GRANTED]
            if granted and place is not None and hasattr(inner, "settle"):
                inner.settle(granted, place)
            known = np.append(refused, np.array([token for token in after if after[token] == NO], np.int32))
            self.canonical.refused.keep(key, known, known.nbytes)
        return known

    def masked(self, inner: Any) -> Row:
        """The mask of the constraint itself."""
        row = np.zeros(self.vocabulary.words, np.uint32)
        inner.fill_mask(row)
        return row

    def _asked(self, inner: Any, state: CutState, row: Row) -> Verdicts:
        """The tokens of a mask after which no canonical completion is left, and those of which kernels do not know."""
        cut = self.canonical.row(state)
        row = row & cut & ~self.eos_row
        place = self.canonical.place(state)
        if place is not None and hasattr(inner, "look_ahead"):
            guarded = self.checks or self.guards
            answer: Verdicts = inner.look_ahead(row, cut, self.canonical.following, place, guarded)
            return answer
        unsure = tokens_of(row) if _count(row) <= FEW else ()
        return Verdicts(np.zeros(0, np.int32), np.array(unsure, np.int32))

    def _after(self, inner: Any, state: CutState, token: int, depth: int) -> int:
        """NO, YES or GRANTED, after one more token."""
        inner.advance(token)
        try:
            return self._is_viable(inner, self.canonical.step(state, token), depth)
        finally:
            inner.rollback(1)

    def _is_viable(self, inner: Any, state: CutState, depth: int) -> int:
        """NO, YES, or GRANTED, since nothing is looked at further on: there is a canonical completion from here."""
        if state == DEAD:
            return NO
        if inner.is_accepting() and self.canonical.may_end(state):
            return YES
        any_byte = getattr(inner, "any_byte", None)
        if any_byte is not None and any_byte(self.canonical.loose(state)):
            return YES
        if depth == 0:
            return GRANTED
        key = self.key(inner, state)
        known = self._viable.get(key)
        if known is None:
            known = self._goes_on(inner, state, depth - 1)
            if len(self._viable) > MOST:
                self._viable.clear()
            self._viable[key] = known
        return known

    def _goes_on(self, inner: Any, state: CutState, depth: int) -> int:
        """The same, by the tokens that may come next."""
        row = self.masked(inner) & ~self.eos_row
        joined = self.canonical.narrow(state, row)
        doubtful = []
        for unlinked, part in self._parts(state, joined):
            some = row if part is None else row & part
            refused, unsure = self._asked(inner, unlinked, some)
            drop_tokens(some, refused)
            drop_tokens(some, unsure)
            if some.any():
                return YES
            doubtful += [(unlinked, token) for token in unsure.tolist()]
        answers = (self._after(inner, unlinked, token, depth) for unlinked, token in doubtful)
        return next(filter(None, answers), NO)

    def strays(self, tokens: Sequence[int]) -> list[int]:
        """The places of a sequence at which the tokenizer writes another token; its length where it may not end."""
        return self.canonical.strays(tokens)


def canonical(compiled: Any, tokenizer: Any) -> CanonicalConstraint:
    """A compiled constraint of which only canonical tokens count: the tokenizer itself writes them for the text.

    `generate`, the processors and the backends do this by themselves; the function is for loops of your own.

    Args:
        compiled: of `constrain.compile`.
        tokenizer: of transformers, or a `tokenizers.Tokenizer`, that the constraint's vocabulary was made of.

    Returns:
        What `generate(constraint=...)` and `ConstraintProcessor` take.

    Raises:
        VocabularyError: the tokenizer cuts texts in a way that is not understood exactly.

    Source:
        Vieira et al. 2025, "Language models over canonical byte-pair encodings".

    Example:
        >>> import constrain
        >>> from constrain.sampling import canonical
        >>> ref = constrain.reference.load()
        >>> vocabulary = constrain.Vocabulary.from_huggingface(ref.tokenizer)
        >>> compiled = constrain.compile(constrain.regex("red|green"), vocabulary)
        >>> g = constrain.generate(ref, "A colour: ", constraint=canonical(compiled, ref.tokenizer), seed=1)
        >>> g.tokens[:-1] == ref.tokenizer(g.text)["input_ids"]
        True
    """
    tokens = canonical_tokens(tokenizer, compiled.vocabulary)
    if isinstance(tokens, str):
        raise VocabularyError(tokens, fix="decode over all tokens that spell a text: leave canonical out")
    return CanonicalConstraint.of(compiled, tokens)


def canonical_tokens(tokenizer: Any, vocabulary: Vocabulary) -> CanonicalTokens | str:
    """The canonical sequences of a tokenizer, made once for a vocabulary, or why they are not known.

    tokenizer: None: what the vocabulary was read from
    """
    source = vocabulary.tokenizer if tokenizer is None else tokenizer
    if source is None:
        return "the vocabulary does not say which tokenizer it is of"
    source = getattr(source, "backend_tokenizer", source)
    of, known = vocabulary.kept.get(CanonicalTokens, (None, None))
    if of is not source:
        try:
            known = CanonicalTokens.of(source, vocabulary)
        except VocabularyError as error:
            known = error.message
        if source is vocabulary.tokenizer or not isinstance(known, str):
            vocabulary.kept[CanonicalTokens] = source, known
    return known


class CanonicalMatcher:
    """One sequence under a `CanonicalConstraint`; the part of a matcher that samplers use.

    states: those of the canonical tokens, before each token and after the last
    """

    __slots__ = ("constraint", "inner", "states")

    def __init__(self, constraint: CanonicalConstraint, inner: Any, states: list[CutState]) -> None:
        self.constraint = constraint
        self.inner = inner
        self.states = states

    @property
    def state(self) -> tuple[Any, CutState]:
        """Equal states allow the same continuations."""
        return self.inner.state, self.cut()

    @property
    def text(self) -> bytes:
        """The bytes that were read so far."""
        text: bytes = self.inner.text
        return text

    @property
    def ended(self) -> bool:
        """True if an id that ends the text was read."""
        return bool(getattr(self.inner, "ended", False))

    def cut(self) -> CutState:
        """The state of the canonical tokens."""
        return self.states[-1]

    def only(self) -> int:
        """The one token that may come next; negative where there are more or none."""
        return self._here().only

    def _here(self) -> CutMask:
        return self.constraint.place(self.inner, self.cut())

    def fill_mask(self, row: Row) -> None:
        """Write the mask of the tokens that may come next, as `Matcher.fill_mask` does."""
        known = self._here().row
        words = row.view(np.uint32)
        words[: len(known)] = known
        words[len(known) :] = 0

    def mask(self) -> Row:
        """uint32[words], read-only: the mask of the tokens that may come next."""
        return self._here().row

    def allows(self, token_id: int) -> bool:
        """True if the mask allows the token."""
        return has_bit(self._here().row, token_id)

    def advance(self, token_id: int) -> bool:
        """Read a token. Returns False, and stays where it is, if it may not come next."""
        place = self._here()
        if not has_bit(place.row, token_id) or not self.inner.advance(token_id):
            return False
        go_on = self.constraint.canonical.stray if place.stray else self.constraint.canonical.after
        self.states.append(go_on(self.states[-1], token_id))
        return True

    def advance_tokens(self, token_ids: Iterable[int]) -> int:
        """Read tokens up to the first that is not allowed. Returns how many were read."""
        return sum(1 for _ in itertools.takewhile(self.advance, token_ids))

    def read_text(self, text: bytes, most: int = 1 << 16) -> list[int]:
        """Read tokens that spell a text, at each place the longest that may come next. Returns them.

        It ends where none may: what is left of a text in the middle of the output may become one with what follows.
        """
        read: list[int] = []
        tokens = self.constraint.vocabulary.tokens
        while text and len(read) < most:
            place = self._here()
            fitting = [place.only] if place.only >= 0 else tokens_of(place.row).tolist()
            found = max(fitting, key=lambda token: _fits(tokens[token], text), default=-1)
            if found < 0 or not _fits(tokens[found], text) or not self.advance(found):
                break
            read.append(found)
            text = text[len(tokens[found] or b"") :]
        return read

    def forced_tokens(self) -> list[int]:
        """The tokens that must follow: one is allowed at each position, and it is no EOS."""
        forced: list[int] = []
        try:
            while (only := self.only()) >= 0 and only not in self.constraint.eos_ids:
                if not self.advance(only):
                    break
                forced.append(only)
        finally:
            if forced:
                self.rollback(len(forced))
        return forced

    def longest_forced(self) -> int:
        """The longest token that may come next of the bytes that must follow; -1: there is none."""
        read = self.fork().read_text(self.inner.forced_bytes(), 1)
        return read[0] if read else -1

    def forced_text(self) -> bytes:
        """The bytes of the tokens that must follow, up to the last place where the text so far has its own cut."""
        canonical, state = self.constraint.canonical, self.cut()
        text = settled = b""
        for token in self.forced_tokens():
            state, text = canonical.step(state, token), text + (self.constraint.vocabulary.tokens[token] or b"")
            settled = text if canonical.may_end(state) else settled
        return settled

    def is_accepting(self) -> bool:
        """The text is a member, and its tokens are canonical, or no canonical ones can follow."""
        return bool(self.inner.is_accepting()) and bool((self._here().row & self.constraint.eos_row).any())

    def is_finished(self) -> bool:
        """EOS was read, or nothing but EOS can follow."""
        if self.ended:
            return True
        row, ends = self._here().row, self.constraint.eos_row
        return bool((row & ends).any()) and not (row & ~ends).any()

    def rollback(self, n_tokens: int) -> None:
        """Take back the last n tokens."""
        self.inner.rollback(n_tokens)
        del self.states[len(self.states) - n_tokens :]

    def fork(self) -> CanonicalMatcher:
        """An independent matcher at the same place."""
        return CanonicalMatcher(self.constraint, self.inner.fork(), list(self.states))


def _fits(token: bytes | None, text: bytes) -> int:
    """The length of a token that a text begins with; 0: it does not."""
    return len(token) if token and text.startswith(token) else 0


def _count(row: Row) -> int:
    """The number of tokens of a row, and more than `FEW` where there are more."""
    words = row[row != 0]
    return len(words) if len(words) > FEW else int(np.unpackbits(words.view(np.uint8)).sum())
