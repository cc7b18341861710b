"""The first token of a text that must follow, if its cut does not depend on what comes after it.

The idea: all ways are tried to cut the text into tokens that may stand behind one another. The last token of a way may
go on beyond the text, and what follows is not asked for. If all ways begin with one token, the cut is known so far.
A kernel searches; where its tables do not say enough (characters in bytes, tokens that are taken out of texts), the
same search is made in Python.

Cost: some microseconds for a text that is new, a look-up for others; texts of JSON recur in all schemas.
Reference: all sequences of tokens (tests/languages/cuts/test_forced_texts.py).
"""

from __future__ import annotations

import bisect
import itertools
import weakref
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.kernels.cuts.firsts import first_tokens, longer_tokens, read_cuts, token_run
from constrain.kernels.cuts.tables import CUT, FIRSTS, GOOD, LEVEL, MISSES, STEP, TOKEN_TRIE
from constrain.kernels.records.schema import pack
from constrain.languages.vocab.bits import Row, has_bits
from constrain.lazily import EACH, Remembered

if TYPE_CHECKING:
    from constrain.languages.cuts.canonical import CanonicalTokens, CutState
    from constrain.languages.vocab.trie import Trie

MEMORY = 8 << 20  # bytes of answers
MANY = 1 << 14  # runs of tokens whose state is remembered
LAST = b"\xff" * 64  # after all continuations of a text, since no byte of UTF-8 is ff


class Firsts(NamedTuple):
    """The tokens that write the beginning of a text in a state. longer: longer ones than the text may come, too."""

    state: CutState
    text: bytes
    within: list[int]
    longer: bool


def _at(state: CutState, cut: list[int]) -> CutState:
    """The state at a CUT behind another one of which kernels know enough."""
    pieces, ends, owed, last, *_ = cut
    return type(state)(last, pieces, ends, owed)


class FirstTokens:
    """The first tokens of texts. Threads may share it.

    Args:
        canonical (CanonicalTokens): The canonical sequences of tokens.
        trie (Trie): That of their vocabulary.

    Example:
        >>> import constrain
        >>> from constrain.languages.cuts import CanonicalTokens
        >>> tokenizer = constrain.reference.load().tokenizer
        >>> canonical = CanonicalTokens.of(tokenizer, constrain.Vocabulary.from_huggingface(tokenizer))
        >>> firsts = canonical.firsts.of(canonical.start, b"return the")
        >>> [tokenizer.decode(token) for token in firsts.within], firsts.longer
        (['return'], False)
    """

    def __init__(self, canonical: CanonicalTokens, trie: Trie) -> None:
        self._canonical = weakref.proxy(canonical)  # which has this
        self._trie = trie
        self._known: Remembered[tuple[CutState, bytes, bool], Firsts] = Remembered(
            MEMORY, lambda key, found: EACH + 8 * len(found.within) + len(key[1])
        )
        self._runs: Remembered[tuple[Any, ...], list[tuple[int, CutState]]] = Remembered(
            MEMORY, lambda _, found: EACH * (1 + len(found))
        )
        self._after: Remembered[tuple[Any, ...], CutState] = Remembered(MANY)

    @cached_property
    def _ordered(self) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
        """TOKEN_TRIE; its tokens; the most of them that have the same bytes."""
        trie, size = self._trie, len(self._trie)
        nodes = trie.nodes_of_tokens(len(trie.next_same))
        order = np.argsort(nodes, kind="stable")[np.count_nonzero(nodes < 0) :].astype(np.int32)
        ends = np.bincount(nodes[nodes >= 0], minlength=size)
        before = np.concatenate([[0], np.cumsum(ends)])
        by_level = np.argsort(trie.depth, kind="stable")
        place = np.empty(size + 1, np.int64)  # of a node in `by_level`, behind the root
        place[by_level] = np.arange(1, size + 1)
        child = np.where(trie.end > np.arange(1, size + 1), place[1:], size + 1)[by_level]
        children = np.minimum.accumulate(np.concatenate([[1], child, [size + 1]])[::-1])[::-1]
        columns = {
            "CHILDREN": children,
            "BYTE": np.concatenate([[0], trie.byte[by_level]]),
            "LOW": np.concatenate([[0], before[by_level]]),
            "HIGH": np.concatenate([[len(order)], before[trie.end[by_level]]]),
            "TOKENS": order,
        }
        packed, views = pack(TOKEN_TRIE, **columns)
        return packed, views["TOKENS"], int(ends.max(initial=1))

    def of(self, state: CutState, text: bytes, *, is_end: bool = False) -> Firsts:
        """The tokens that may come next, in a state of the canonical tokens, where a text of a byte or more follows.

        is_end: nothing follows the text
        """
        known = self._known.get((state, text, is_end))
        if known is None:
            known = self._searched(state, text, is_end) or self._plain(state, text, is_end)
            self._known.keep((state, text, is_end), known)
        return known

    def longer(self, firsts: Firsts, mask: Row, most: int) -> list[int]:
        """The tokens of a mask that begin with a text that was asked about, are longer and may come next.

        PERF: a text may begin half of a vocabulary, of which a mask has few, and one or two settle the question.

        Args:
            firsts (Firsts): The text and the state before it.
            mask (np.ndarray): uint32[words], a bit for each token.
            most (int): How many are enough; of more, any.
        """
        place = self._place(firsts.state)
        if place is not None:
            question, found = self._searching(place, firsts.text), np.empty(most, np.int32)
            question[FIRSTS.MOST] = most
            if self._is_sure(longer_tokens, question, found, mask):
                return found[: question[FIRSTS.BEYOND]].tolist()
        return self._plain_longer(firsts, mask, most)

    def run(self, state: CutState, text: bytes, most: int, stop: int, *, is_end: bool) -> list[tuple[int, CutState]]:
        """The tokens that write a text which must follow, as far as each is the only one; each with the state before.

        most: the bytes that are looked at for a token. stop: where the last one may begin; the first one always may
        """
        key = (*state, text, stop, is_end)
        known = self._runs.get(key)
        if known is None:
            known = self._run(state, text, most, stop, is_end)
            self._runs.keep(key, known)
        return known

    def _run(self, state: CutState, text: bytes, most: int, stop: int, is_end: bool) -> list[tuple[int, CutState]]:
        found: list[tuple[int, CutState]] = []
        at, tokens = 0, self._canonical.tokens
        while at < len(text) and at <= max(0, stop) and (place := self._place(state)) is not None:
            for token, after in self._settled(state, place, text[at:], most, stop - at):
                found.append((token, state))
                state, at = after, at + len(tokens[token] or b"")
            if at == len(text) or at > max(0, stop):
                break
            window = text[at : at + most]  # PERF: what stands before a value is that of others, so it is known
            firsts = self.of(state, window, is_end=is_end and at + len(window) == len(text))
            if len(firsts.within) != 1 or firsts.longer:
                break
            token = firsts.within[0]
            found.append((token, state))
            state, at = self.after(state, [token]), at + len(tokens[token] or b"")
        return found

    def _settled(
        self, state: CutState, place: list[int], text: bytes, most: int, stop: int
    ) -> list[tuple[int, CutState]]:
        """The tokens of a text as far as borders of pieces settle them; each with the state behind it."""
        question = self._question(min(len(text), most), False)
        question[FIRSTS.STOP], question[FIRSTS.SIZE] = stop, len(text)
        run = np.empty((len(text) + 1) * STEP.WORDS + len(text), np.int32)
        run[STEP.CUT : len(place)], run[len(run) - len(text) :] = place, np.frombuffer(text, np.uint8)
        arrays = *self._canonical.tables(), self._ordered[0], question, run
        count = token_run(*arrays)
        steps = run[: STEP.WORDS * (count + 1)].tolist()
        return [
            (steps[at - STEP.WORDS + STEP.TOKEN], _at(state, steps[at : at + CUT.WORDS]))
            for at in range(STEP.WORDS, len(steps), STEP.WORDS)
        ]

    def after(self, state: CutState, tokens: list[int]) -> CutState:
        """The state after some tokens, canonical or not."""
        key = (*state, *tokens)  # PERF: no tuples in it, which the garbage collector would look at
        known = self._after.get(key)
        return self._after.keep(key, self._read(state, tokens)) if known is None else known

    def _read(self, state: CutState, tokens: list[int]) -> CutState:
        at, level = 0, FIRSTS.LEVELS + LEVEL.CUT
        while at < len(tokens):
            place = self._place(state) if len(tokens) > at + 1 else None
            if place is not None:
                question = np.zeros(FIRSTS.WORDS + 2 * LEVEL.WORDS, np.int32)
                question[level : level + len(place)] = place
                arrays = *self._canonical.tables(), question, np.array(tokens[at:], np.int32)
                at += read_cuts(*arrays)
                state = _at(state, question[level : level + CUT.WORDS].tolist())
            if at < len(tokens):
                state = self._canonical.after(state, tokens[at])
                at += 1
        return state

    def _searched(self, state: CutState, text: bytes, is_end: bool) -> Firsts | None:
        """The answer of the kernel; None where its tables do not say enough."""
        place = self._place(state)
        if place is None:
            return None
        question = self._searching(place, text, is_end)
        found = np.empty(self._ordered[2] * len(text) + 1, np.int32)  # those within the text, and a longer one
        question[FIRSTS.MOST] = 1
        if not self._is_sure(first_tokens, question, found):
            return None
        return Firsts(state, text, found[: question[FIRSTS.WITHIN]].tolist(), bool(question[FIRSTS.BEYOND]))

    def _place(self, state: CutState) -> list[int] | None:
        """The CUT of a state, up to LAST; None where the tables do not say enough of it."""
        last, pieces, ends, owed, partial, begun = state
        is_enough = pieces and not partial and not begun and not self._canonical.is_unknown(last)
        return [pieces, ends, owed, last] if is_enough else None

    def _question(self, length: int, is_end: bool) -> NDArray[np.int32]:
        """The FIRSTS of a text."""
        tokens = self._ordered[2] * length * (length + 1) // 2
        question = np.zeros(FIRSTS.WORDS + length + (length + 2) * LEVEL.WORDS + tokens, np.int32)
        question[FIRSTS.LENGTH], question[FIRSTS.IS_END] = length, is_end
        return question

    def _searching(self, place: list[int], text: bytes, is_end: bool = False) -> NDArray[np.int32]:
        """The FIRSTS of a text and the place before it."""
        question = self._question(len(text), is_end)
        question[FIRSTS.TEXT : FIRSTS.TEXT + len(text)] = np.frombuffer(text, np.uint8)
        first = FIRSTS.LEVELS + len(text) + LEVEL.CUT
        question[first : first + len(place)] = place
        return question

    def _is_sure(self, kernel: Callable[..., int], question: NDArray[np.int32], *more: NDArray[Any]) -> bool:
        """Ask a kernel. Returns False where its tables do not say enough."""
        canonical, verdict = self._canonical, MISSES
        while verdict == MISSES:
            verdict = kernel(*canonical.tables(), self._ordered[0], question, *more)
            if verdict == MISSES:
                canonical.pieces.expand(int(question[FIRSTS.EXPAND]))
        return verdict == GOOD

    # --- the same in Python -------------------------------------------------------------------------------------------

    def _plain(self, state: CutState, text: bytes, is_end: bool) -> Firsts:
        seen: dict[tuple[int, CutState], bool] = {}
        within = [token for token in self._within(text) if self._has_cut(state, token, text, 0, is_end, seen)]
        longer = not is_end and any(True for _ in self._canonical.among(state, self._beyond(text)))
        return Firsts(state, text, within, longer)

    def _plain_longer(self, firsts: Firsts, mask: Row, most: int) -> list[int]:
        tokens = self._beyond(firsts.text)
        return [*itertools.islice(self._canonical.among(firsts.state, tokens[has_bits(mask, tokens)]), most)]

    def _has_cut(
        self, state: CutState, token: int, text: bytes, at: int, is_end: bool, seen: dict[tuple[int, CutState], bool]
    ) -> bool:
        """True if the text can be written from `at` on, the token first. seen: the answers so far, without it."""
        state, at = self._canonical.step(state, token), at + len(self._text(token))
        if state.pieces == 0 or at == len(text):
            return bool(state.pieces) and (not is_end or self._canonical.may_end(state))
        key = at, state
        if key not in seen:
            rest = text[at:]
            seen[key] = any(self._has_cut(state, token, text, at, is_end, seen) for token in self._within(rest))
            if not seen[key] and not is_end:
                seen[key] = any(True for _ in self._canonical.among(state, self._beyond(rest)))
        return seen[key]

    def _text(self, token: int) -> bytes:
        return self._canonical.tokens[token] or b""

    def _within(self, text: bytes) -> list[int]:
        """The tokens that a text begins with, the longest first."""
        order, found = self._ordered[1], list[int]()
        for length in range(len(text), 0, -1):
            low = bisect.bisect_left(order, text[:length], key=self._text)
            found += order[low : bisect.bisect_right(order, text[:length], low, key=self._text)].tolist()
        return found

    def _beyond(self, text: bytes) -> NDArray[np.int64]:
        """The tokens that begin with a text and are longer."""
        order = self._ordered[1]
        low = bisect.bisect_right(order, text, key=self._text)
        return order[low : bisect.bisect_left(order, text + LAST, low, key=self._text)].astype(np.int64)
