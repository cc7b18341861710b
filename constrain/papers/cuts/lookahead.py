"""Look-ahead of canonical tokens from a configuration: which tokens of its mask are asked of, and what is known.

The idea: the tokens of a mask that stay within a lexeme are shared by many masks. For each source of masks, the lexer
states and the place, those are found once after which little may follow; only these and the mask's own tokens are
looked ahead from. Kernels: papers/kernels/lookahead.py. Does not pay, as the cuts that it serves (docs/how-good.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.kernels.masks import fill
from constrain.kernels.records.arena import key_end
from constrain.kernels.records.configurations import PAIR, config_is_greedy, config_pairs
from constrain.kernels.records.masks import MASK, TOKENS, own_end, own_start, tokens_end
from constrain.kernels.records.masks import source as source_of
from constrain.languages.cuts.canonical import CutPlace
from constrain.languages.vocab.bits import has_bits, tokens_of
from constrain.lazily import EACH, Remembered
from constrain.masks.engine.matcher import Matcher
from constrain.masks.engine.rows import Row
from constrain.papers.cuts.following import FollowTables, Verdicts
from constrain.papers.kernels import lookahead

Ints = NDArray[np.int32]

if TYPE_CHECKING:
    from constrain.masks.engine.automaton import TokenAutomaton

FEW = 64  # tokens of a source that are all looked ahead from
SETTLED = -1  # in place of a source: tokens of a lexeme after which much may follow
MANY = 4096  # tokens that are not compared with those of another lexer state
MEMORY = 32 << 20  # bytes of look-aheads that are remembered in an epoch of an automaton


def look_ahead(
    matcher: Any, row: Row, cut: Row, following: FollowTables, place: CutPlace, guarded: bool
) -> Verdicts | None:
    """The tokens of a row after which no canonical completion is left, and those of which that is not known.

    Args:
        matcher: Before the tokens.
        row: Some of the tokens that its mask allows, and `cut`, no EOS.
        cut: The tokens that the tokenizer may write at the place.
        following: The tables of the tokenizer.
        place: The place before the tokens.
        guarded: Not all texts that the grammar accepts are valid.

    Returns:
        None for a matcher that is not the engine's.

    Raises:
        LimitError: A step does not fit into the automaton's memory.
    """
    if not isinstance(matcher, Matcher):
        return None
    automaton = matcher._automaton
    if matcher.ended or automaton.layout.offset:  # tokens that are read in two ways are not looked ahead from
        return Verdicts(*2 * [np.zeros(0, np.int32)])
    return matcher.locked(lambda c: PlaceLook(automaton, following, place, cut).of_mask(c, row, guarded))


def settle(matcher: Any, tokens: Sequence[int], place: CutPlace) -> None:
    """Take it for known that much may follow some tokens from here, and wherever else the lexer is in this state."""
    if isinstance(matcher, Matcher):
        matcher.locked(lambda c: _settle(matcher._automaton, c, tokens, place))


def known_of(automaton: TokenAutomaton) -> Remembered[Any, Any]:
    """(source of masks, lexer states, place) -> the look-ahead of its tokens, of the automaton's epoch."""
    kept: Remembered[Any, Any] = automaton.known.kept.setdefault(PlaceLook, Remembered(MEMORY, _bytes_of))
    return kept


def _bytes_of(_: Any, known: Any) -> int:
    return EACH + sum(each.nbytes for each in (known if isinstance(known, Verdicts) else [known]))


class PlaceLook(NamedTuple):
    """A look-ahead from a place."""

    automaton: TokenAutomaton
    following: FollowTables
    place: CutPlace
    cut: Row

    def of_mask(self, configuration: int, row: Row, guarded: bool) -> Verdicts:
        """The tokens of a row after which no canonical completion is left, and those of which that is not known."""
        memory = self.automaton.memory
        region = memory.call(fill.mask, configuration)
        A = memory.A
        tokens = [A[own_start(A, region) : own_end(A, region)].copy()]
        refused = [tokens[0][:0]]
        lexers = _lexers(A, configuration)
        settled = known_of(self.automaton).get((SETTLED, lexers, self.place))
        for source in [source_of(A, region, k) for k in range(MASK.N_SOURCES(A, region))]:
            if source < 0 and TOKENS.COUNT(A, -source) <= FEW:
                tokens.append(A[TOKENS.LIST(A, -source) : tokens_end(A, -source)].copy())
            else:
                dead, unsure = self.within(source, lexers)
                refused.append(dead)
                tokens.append(unsure if settled is None else unsure[~np.isin(unsure, settled)])
        some, dead = np.concatenate(tokens), np.concatenate(refused)
        answer = self.ahead(configuration, some[has_bits(row, some)], guarded)
        return Verdicts(np.append(answer.refused, dead[has_bits(row, dead)]), answer.unsure) if dead.size else answer

    def ahead(self, text: int, tokens: Ints, guarded: bool = False) -> Verdicts:
        """Tokens among some that have no canonical completion. text: a configuration; or a lexer state, negative."""
        kernel = partial(self.automaton.memory.call, lookahead.look_ahead)
        return self.following.ask(kernel, text, self.place, tokens, guarded=guarded)

    def within(self, source: int, lexers: tuple[int, ...]) -> Verdicts:
        """Verdicts on the tokens of a source of masks, as far as the lexer states in progress tell."""
        if not lexers:
            tokens = _tokens_of_source(self.automaton.memory.A, source, self.cut)
            return Verdicts(tokens, tokens[:0])
        known, key = known_of(self.automaton), (source, lexers, self.place)
        found: Verdicts | None = known.get(key)
        if found is None:
            before = self.within(source, lexers[:-1])
            dead, unsure = self.by_lexer(lexers[-1], np.concatenate(before))
            was_dead = np.zeros(self.automaton.vocabulary.size, bool)
            was_dead[before.refused] = True
            found = Verdicts(dead[was_dead[dead]], np.append(unsure, dead[~was_dead[dead]]))
            known.keep(key, found)
        return found

    def by_lexer(self, lexer: int, tokens: Ints) -> Verdicts:
        """Verdicts on some tokens of a lexeme, by its lexer state."""
        if lexer == 0:  # nothing is known of it yet
            return Verdicts(tokens[:0], tokens)
        if len(tokens) <= MANY:
            return self.ahead(-lexer, tokens)
        memory, known = self.automaton.memory, known_of(self.automaton)
        reference = memory.call(lookahead.reference_of, lexer)
        differing = np.empty(MANY, np.int32)
        count = memory.call(lookahead.tokens_that_differ, lexer, reference, differing) if reference else -1
        if count < 0:
            good = np.zeros_like(self.cut)
            blank = self.following.before_blanks(self.place, self.cut)
            memory.call(lookahead.tokens_before_blanks, lexer, blank, good)
            return self.ahead(-lexer, tokens[~has_bits(good, tokens)])
        of_reference: Verdicts | None = known.get((reference, self.place))
        if of_reference is None:
            of_reference = self.by_lexer(reference, tokens_of(self.cut).astype(np.int32))
            known.keep((reference, self.place), of_reference)
        kinds = np.zeros(32 * len(self.cut), np.uint8)
        for kind, some in enumerate(of_reference, 1):
            kinds[some] = kind
        kinds[differing[:count]] = 3
        kinds = kinds[tokens]
        dead, unsure = self.ahead(-lexer, tokens[kinds == 3])
        return Verdicts(np.append(dead, tokens[kinds == 1]), np.append(unsure, tokens[kinds == 2]))


def _settle(automaton: TokenAutomaton, configuration: int, tokens: Sequence[int], place: CutPlace) -> None:
    key = SETTLED, _lexers(automaton.memory.A, configuration), place
    known = known_of(automaton).get(key)
    settled = np.array(tokens, np.int32) if known is None else np.union1d(known, tokens).astype(np.int32)
    known_of(automaton).keep(key, settled)


def _tokens_of_source(A: Ints, source: int, cut: Row) -> Ints:
    """The tokens of a source of masks that are in a row."""
    if source < 0:
        tokens = A[TOKENS.LIST(A, -source) : tokens_end(A, -source)]
        return tokens[has_bits(cut, tokens)]
    return tokens_of(A[source : source + len(cut)].view(np.uint32) & cut).astype(np.int32)


def _lexers(A: Ints, configuration: int) -> tuple[int, ...]:
    """The lexer states in which a lexeme of a configuration goes on; 0: others are not known to."""
    lexers = A[config_pairs(configuration) + PAIR.LEXER : key_end(A, configuration) : PAIR.WORDS].tolist()
    if config_is_greedy(A, configuration) and len(lexers) > 1:
        return lexers[0], 0
    return tuple(lexers)
