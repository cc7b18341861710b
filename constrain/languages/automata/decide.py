"""Decisions on regular languages without a vocabulary: emptiness, membership, a shortest member.

One store for the whole process holds the states, so repeated decisions are look-ups. Cost: a search over the states
that are reached; immediate for trees whose shape decides. Raises LimitError if a search needs too many states.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from constrain.kernels.records import arena
from constrain.kernels.records.arena import HEADER
from constrain.languages.automata.least import UNTAGGED, LeastTexts, Order, by_characters, shortlex
from constrain.languages.automata.lower import lower
from constrain.languages.automata.store import Store
from constrain.languages.automata.syntax import (
    Acyclic,
    Alternate,
    Begun,
    Chars,
    Complement,
    Concat,
    Intersect,
    JsonString,
    Literals,
    Node,
    Remainder,
    Repeat,
    Tokens,
    parts_first,
)

BUDGET = 256 << 20  # bytes; the store is made anew beyond it
ORDERS = shortlex, by_characters
SEARCHED_AT_ONCE = 16  # states of a search before the first look at the clock; doubled each time


class DecisionStore(Store):
    """The states of all decisions. steps: (state, byte) -> (state, is it nullable). least: least texts, by order."""

    def reset(self) -> None:
        super().reset()
        self.least: dict[Order, LeastTexts] = {order: LeastTexts(self, order=order) for order in ORDERS}
        self.steps: dict[tuple[int, int], tuple[int, bool]] = {}


_store: DecisionStore | None = None


def shared_store() -> DecisionStore:
    """The store of all decisions; replaced by a new one when it has grown beyond `BUDGET`."""
    global _store
    store = _store
    if store is None or store.memory.A.size * 4 > BUDGET:
        store = _store = DecisionStore()
    return store


def is_empty(node: Node) -> bool:
    """True if the language is empty. Exact. Raises LimitError."""
    try:
        return _is_empty(node)
    except RecursionError:  # a tree that is deeper than Python's stack
        return [_is_empty(part) for part in parts_first(node)][-1]


@lru_cache(maxsize=65536)
def _is_empty(node: Node) -> bool:
    if isinstance(node, Chars | Begun):
        return not node.ranges
    if isinstance(node, Literals):
        return not node.texts
    if isinstance(node, Acyclic):
        return not (node.edges[0] or node.accepting[0])
    if isinstance(node, Repeat):
        return node.low > 0 and _is_empty(node.node)
    if isinstance(node, Concat):
        return any(_is_empty(part) for part in node.args)
    if isinstance(node, Alternate):
        return all(_is_empty(part) for part in node.args)
    if isinstance(node, JsonString):
        return _is_empty(node.args[0])
    if isinstance(node, Remainder | Tokens):
        return False
    assert isinstance(node, Intersect | Complement)
    store = shared_store()
    with store.memory.lock:
        store.memory.A[HEADER.SEARCH_LIMIT] = SEARCHED_AT_ONCE
        return lower(store, node) == arena.NONE


def matches(node: Node, text: str) -> bool:
    """True if the text is in the language."""
    store = shared_store()
    with store.memory.lock:
        return store.is_nullable(store.run(lower(store, node), text.encode()))


def ends(node: Node, text: bytes, begin: int) -> list[int]:
    """The end indices of all members that begin at an index of a UTF-8 text; `begin` itself for the empty member."""
    store = shared_store()
    with store.memory.lock:
        state = lower(store, node)
        members = [begin] if state != arena.NONE and store.is_nullable(state) else []
        for index in range(begin, len(text) if state != arena.NONE else begin):
            step = store.steps.get((state, text[index]))
            if step is None:
                after = store.run(state, text[index : index + 1])
                step = store.steps[state, text[index]] = after, after != arena.NONE and store.is_nullable(after)
            state, nullable = step
            if state == arena.NONE:
                break
            if nullable:
                members.append(index + 1)
    return members


class AutomatonRun(NamedTuple):
    """A state of a language's automaton.

    Attributes:
        store: Where the state is; it may be replaced.
        state: The state.
    """

    store: DecisionStore
    state: int


def first_end(node: Node, run: AutomatonRun | None, before: bytes, text: bytes) -> tuple[AutomatonRun | None, int]:
    """(run after the text, index in the text after the first byte with which `before` and it are a member; else -1).

    run: What was returned for `before`, which no member begins; None: it is read again.
    """
    store = shared_store()
    with store.memory.lock:
        if run is None or run.store is not store:
            start = lower(store, node)
            run = AutomatonRun(store, store.run(start, before) if before else start)
        state = run.state
        for index, byte in enumerate(text):
            if state == arena.NONE:
                break
            step = store.steps.get((state, byte))
            if step is None:
                after = store.run(state, bytes((byte,)))
                step = store.steps[state, byte] = after, after != arena.NONE and store.is_nullable(after)
            state, nullable = step
            if nullable:
                return None, index + 1
        return AutomatonRun(store, state), -1


def shortest(node: Node, order: Order = shortlex) -> str | None:
    """The least member, in shortlex order of its bytes or another one; None for the empty language."""
    store = shared_store()
    with store.memory.lock:
        text = store.least[order].of(lower(store, node)).get(UNTAGGED)
    return None if text is None else text.decode("utf-8", "surrogateescape")  # bytes of `Tokens` are no text
