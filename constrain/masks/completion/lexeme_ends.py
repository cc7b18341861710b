"""The least texts that end an open lexeme.

    ends = LexemeEnds(store)
    ends.of(lexer_state)                    # {terminal: least text}, where a lexeme may end after it
    ends.search(lexer_state, is_end)        # the least text, one byte or more, to a state where `is_end` says so

The idea: the least text of a sequence is the sequence of least texts, also of expressions. So it is read off a lexer
state, and what two states have in common, which is mostly all but the beginning, is read once. Only an intersection, a
complement or a number of which a multiple is asked has its automaton searched, breadth-first, and that part alone: not
what stands behind it. Of an intersection, which has new states with each character that it counts, the one whose
counters have no ends is searched: up to `SHORT` bytes their texts are the same.

Cost: Python; some µs for each new expression, and 10 µs for each state that is searched.
Limit: a search gives up behind `SEARCHED` states; then there is no text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from constrain.kernels.lexer import counters
from constrain.kernels.records import arena, view
from constrain.kernels.records.arena import kind
from constrain.kernels.records.expressions import ALT, AND, CAT, LITERAL, REP, TAG
from constrain.languages.automata import decide
from constrain.languages.automata.store import Store

SHORT = 32  # bytes; a longer text may be one of those that a counter ends
SEARCHED = 20_000  # states that one search may visit
UNTAGGED = 0  # the key of the least text of what has no tags; no expression has this number

Ends = Mapping[int, bytes]


class LexemeEnds:
    """The least ends by lexer state. Valid in one epoch of the store; the caller of its methods holds its lock."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._known: dict[int, Ends] = {}
        self._loose: dict[int, int] = {}

    def of(self, lexer: int) -> Ends:
        """The least text by terminal (its expression) after which a lexeme of it is whole, from a lexer state."""
        pending = [lexer]  # what is deeper than Python's stack is not rare: a trie of keys
        while pending:
            expression = pending[-1]
            unknown = [part for part in self._parts(expression) if part not in self._known]
            if unknown:
                pending += unknown
            else:
                self._known[pending.pop()] = self._ends(expression)
        return self._known[lexer]

    def search(self, state: int, is_end: Callable[[int], bool]) -> bytes | None:
        """The least text of one byte or more that leads from a state to another one that is an end; None: none does."""
        reached = decide.reached_from(self.store, state, SEARCHED)
        return next((text for text, after in reached if is_end(after)), None)

    def by_terminals(self, lexer: int) -> Iterator[bytes]:
        """The least text of one byte or more for each set of terminals that may be whole after it, the least first."""
        found: set[frozenset[int]] = {frozenset()}
        for text, state in decide.reached_from(self.store, lexer, SEARCHED):
            terminals = view.terminals_within(self.store.memory.A, state, ended=True)
            if terminals not in found:
                found.add(terminals)
                yield text

    def _parts(self, e: int) -> list[int]:
        """The expressions whose least texts are asked for that of an expression."""
        A = self.store.memory.A
        what = kind(A, e)
        if what == CAT.KIND:
            return [int(CAT.HEAD(A, e)), int(CAT.TAIL(A, e))]
        if what == LITERAL.KIND:
            return [*self._characters(e), int(LITERAL.TAIL(A, e))]
        if what == ALT.KIND:
            parts: list[int] = view.key_words(A, e).tolist()
            return parts
        if what == AND.KIND and self._loosened(e) != e:
            return [self._loosened(e)]
        return [int(REP.UNIT(A, e))] if what == REP.KIND else []

    def _characters(self, e: int) -> list[int]:
        """The characters that a LITERAL begins with."""
        A = self.store.memory.A
        characters: list[int] = view.key_words(A, LITERAL.CHARACTERS(A, e))[LITERAL.AT(A, e) :].tolist()
        return characters

    def _loosened(self, e: int) -> int:
        """An intersection without the ends of counters that no text of `SHORT` bytes can reach."""
        if e not in self._loose:
            memory = self.store.memory
            parts = [memory.call(counters.loosened, part, SHORT) for part in view.key_words(memory.A, e).tolist()]
            self._loose[e] = self.store.intersection(parts)
        return self._loose[e]

    def _ends(self, e: int) -> Ends:
        """`of` an expression whose parts are known."""
        A, known = self.store.memory.A, self._known
        what = kind(A, e)
        if what == CAT.KIND:
            return _behind([known[CAT.HEAD(A, e)]], known[CAT.TAIL(A, e)])
        if what == LITERAL.KIND:
            return _behind([known[each] for each in self._characters(e)], known[LITERAL.TAIL(A, e)])
        if what == ALT.KIND:
            return _least_of(known[part] for part in view.key_words(A, e).tolist())
        if what == TAG.KIND:
            return {int(TAG.TERMINAL(A, e)): b""}
        if what == REP.KIND:
            low, unit = REP.LOW(A, e), known[REP.UNIT(A, e)]
            return {UNTAGGED: unit[UNTAGGED] * low} if not low or unit else {}
        text = self._least(e)
        return {} if text is None else {UNTAGGED: text}

    def _least(self, e: int) -> bytes | None:
        """The least text of an expression that is not read off others: a set of bytes, or one that is searched."""
        if e == arena.NONE or self.store.is_nullable(e):
            return None if e == arena.NONE else b""
        if kind(self.store.memory.A, e) == AND.KIND and self._loosened(e) != e:
            text = self._known[self._loosened(e)].get(UNTAGGED)
            if text is None or len(text) <= SHORT:
                return text
        return self.search(e, self.store.is_nullable)


def _behind(heads: Iterable[Ends], tail: Ends) -> Ends:
    """The ends behind texts without tags."""
    try:
        before = b"".join([head[UNTAGGED] for head in heads])
    except KeyError:  # one has no text
        return {}
    return {terminal: before + text for terminal, text in tail.items()}


def _least_of(parts: Iterable[Ends]) -> Ends:
    """The least end of each terminal."""
    least: dict[int, bytes] = {}
    for part in parts:
        for terminal, text in part.items():
            best = least.get(terminal)
            if best is None or (len(text), text) < (len(best), best):
                least[terminal] = text
    return least
