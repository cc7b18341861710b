"""The least text of each expression, in an order of texts; of a lexer state, that of each terminal.

    least = LeastTexts(store)
    least.of(state)                  # {UNTAGGED: text}; of a lexer state {terminal: text}, where a lexeme ends after it
    least.search(state, is_end)      # the least text, one byte or more, to a state where `is_end` says so

The idea: the least text of a sequence is the sequence of least texts. So it is read off an expression, and what two
states have in common, which is mostly all but the beginning, is read once. Only an intersection, a complement or a
number of which a multiple is asked has its automaton searched, breadth-first, and that part alone: not what stands
behind it. An intersection has new states with each character that it counts. So the one whose counters have no ends is
searched first: if its least text is one of the other's, it is the least of that, too.

The orders are *shortlex*, bytes first, and that of characters. Both agree with concatenation.

Cost: Python; some µs for each new expression, and some tens for each state that is searched.
Limit: a search gives up behind `most` states; then there is no text.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Mapping

from constrain.kernels.records import arena, view
from constrain.kernels.records.arena import kind
from constrain.kernels.records.expressions import ALT, AND, CAT, LITERAL, REP, TAG
from constrain.languages.automata.store import Store

UNTAGGED = 0  # the key of the least text of what has no tags; no expression has this number

FOLLOWING = bytes(range(0x80, 0xC0))  # the bytes that begin no character

Ends = Mapping[int, bytes]
Order = Callable[[bytes], tuple[int, int, bytes]]


def count_characters(text: bytes) -> int:
    """The characters that begin in a text, which may itself begin inside of one."""
    return len(text.translate(None, FOLLOWING))


def shortlex(text: bytes) -> tuple[int, int, bytes]:
    """The order of texts by bytes: the shorter one first."""
    return len(text), 0, text


def by_characters(text: bytes) -> tuple[int, int, bytes]:
    """The order of texts with the fewest characters first."""
    return count_characters(text), len(text), text


class LeastTexts:
    """The least texts by expression. Valid in one epoch of the store; the caller of its methods holds its lock.

    most: the states that one search may visit
    """

    def __init__(self, store: Store, most: float = math.inf, order: Order = shortlex) -> None:
        self.store, self.most, self.order = store, most, order
        self._known: dict[int, Ends] = {}
        self._loose: dict[int, int] = {}

    def of(self, e: int) -> Ends:
        """The least text of a pruned expression; of a lexer state by terminal (its expression) that is whole then."""
        pending = [(e, self._parts(e))] if e not in self._known else []
        while pending:  # a trie of keys may be deeper than Python's stack
            expression, parts = pending[-1]
            unknown = [part for part in parts if part not in self._known]
            if unknown:
                pending += [(part, self._parts(part)) for part in unknown]
            else:
                self._known[expression] = self._ends(expression, [self._known[part] for part in parts])
                pending.pop()
        return self._known[e]

    def search(self, state: int, is_end: Callable[[int], bool]) -> bytes | None:
        """The least text of one byte or more that leads from a state to another one that is an end; None: none does."""
        reached = reached_from(self.store, state, self.most, self.order)
        return next((text for text, after in reached if is_end(after)), None)

    def by_terminals(self, lexer: int) -> Iterator[bytes]:
        """The least text of one byte or more for each set of terminals that may be whole after it, the least first."""
        found: set[frozenset[int]] = {frozenset()}
        for text, state in reached_from(self.store, lexer, self.most):
            terminals = view.terminals_within(self.store.memory.A, state, ended=True)
            if terminals not in found:
                found.add(terminals)
                yield text

    def _parts(self, e: int) -> list[int]:
        """The expressions whose ends are asked for those of an expression."""
        A = self.store.memory.A
        what = kind(A, e)
        if what == CAT.KIND:
            return [int(CAT.HEAD(A, e)), int(CAT.TAIL(A, e))]
        if what == LITERAL.KIND:
            characters: list[int] = view.key_words(A, LITERAL.CHARACTERS(A, e))[LITERAL.AT(A, e) :].tolist()
            return [*characters, int(LITERAL.TAIL(A, e))]
        if what == ALT.KIND:
            parts: list[int] = view.key_words(A, e).tolist()
            return parts
        if what == AND.KIND:
            loose = self._loosened(e)
            return [loose] if loose != e else []
        return [int(REP.UNIT(A, e))] if what == REP.KIND else []

    def _ends(self, e: int, parts: list[Ends]) -> Ends:
        """`of` an expression, by those of its parts."""
        A = self.store.memory.A
        what = kind(A, e)
        if what in (CAT.KIND, LITERAL.KIND):
            return _behind(parts[:-1], parts[-1])
        if what == ALT.KIND:
            return self._least_of(parts)
        if what == TAG.KIND:
            return {int(TAG.TERMINAL(A, e)): b""}
        if what == REP.KIND:
            low = REP.LOW(A, e)
            return {UNTAGGED: parts[0][UNTAGGED] * low if low else b""} if not low or parts[0] else {}
        if e == arena.NONE or self.store.is_nullable(e):
            return {} if e == arena.NONE else {UNTAGGED: b""}
        if parts and (not parts[0] or self._is_text(e, parts[0][UNTAGGED])):
            return parts[0]
        text = self.search(e, self.store.is_nullable)
        return {} if text is None else {UNTAGGED: text}

    def _least_of(self, parts: Iterable[Ends]) -> Ends:
        """The least end of each terminal."""
        least: dict[int, bytes] = {}
        for part in parts:
            for terminal, text in part.items():
                best = least.get(terminal)
                if best is None or self.order(text) < self.order(best):
                    least[terminal] = text
        return least

    def _is_text(self, e: int, text: bytes) -> bool:
        after = self.store.run(e, text)
        return after != arena.NONE and self.store.is_nullable(after)

    def _loosened(self, e: int) -> int:
        """An expression without the ends of its counters: all of its texts, and longer ones."""
        if e not in self._loose:
            self._loose[e] = self._without_ends(e)
        return self._loose[e]

    def _without_ends(self, e: int) -> int:
        A, store = self.store.memory.A, self.store
        what = kind(A, e)
        if what == REP.KIND:
            return store.repeat(REP.UNIT(A, e), REP.LOW(A, e), None) if REP.HIGH(A, e) > 1 else e
        if what == CAT.KIND:
            parts = []
            while kind(A, e) == CAT.KIND:
                parts.append(self._loosened(int(CAT.HEAD(A, e))))
                e = int(CAT.TAIL(A, e))
            return store.concat([*parts, self._loosened(e)])
        if what in (ALT.KIND, AND.KIND):
            parts = list(map(self._loosened, view.key_words(A, e).tolist()))
            return store.union(parts) if what == ALT.KIND else store.intersection(parts)
        return e


def _behind(heads: Iterable[Ends], tail: Ends) -> Ends:
    """The ends behind texts without tags."""
    try:
        before = b"".join([head[UNTAGGED] for head in heads])
    except KeyError:  # one has no text
        return {}
    return {terminal: before + text for terminal, text in tail.items()}


def reached_from(
    store: Store, state: int, most: float = math.inf, order: Order = shortlex
) -> Iterator[tuple[bytes, int]]:
    """The states that others lead to, each with the least text that leads to it: breadth-first, or as Dijkstra does.

    Args:
        store: Where the state is. The caller holds its lock.
        state: A pruned expression; it is not among what is reached.
        most: The states after which the search gives up.
        order: Of texts.

    Returns:
        Pairs (text, state), the least texts first.
    """
    if order is not shortlex:
        yield from _in_order(store, state, most, order)
        return
    seen, level = {state}, [(b"", state)]
    while level and len(seen) < most:
        following: list[tuple[bytes, int]] = []
        for text, before in level:
            for byte, after in store.successors(before):
                if after not in seen:
                    seen.add(after)
                    following.append((text + bytes((byte,)), after))
                    yield following[-1]
        level = following


def _in_order(store: Store, state: int, most: float, order: Order) -> Iterator[tuple[bytes, int]]:
    """`reached_from` for an order in which a longer text may come first."""
    settled: set[int] = set()
    heap = [(order(b""), state)]
    while heap and len(settled) < most:
        (*_, text), before = heapq.heappop(heap)
        if before in settled:
            continue
        settled.add(before)
        if text:
            yield text, before
        for byte, after in store.successors(before):
            if after not in settled:
                heapq.heappush(heap, (order(text + bytes((byte,))), after))
