"""Image: the masks of texts that a constraint met, as arrays that a file holds and processes share.

The idea: a mask depends on the constraint, the vocabulary and the tokens before it, and on nothing else. So the tokens
of some texts, as a tree, with the mask at each node, answer for every text that goes the same way, and neither the
constraint nor an automaton is there. Two things let other texts go on in the tree:

* A node is *open* if its mask depends on the state of the grammar alone. Open nodes of one state answer for each other,
  and the tokens that lead from it into one other state and stay there, as in a string, are a set: its *flow*.
* Where text is forced, the mask depends on that state and on the cut of what was read (`CutState`), which needs no
  constraint: a text whose cut is that of the node's own text has come to that node.

What the tree does not say is not guessed: `ImageCursor.advance` answers None, and the compiled constraint goes on.

Oracle: tests/engines/test_masks_on_disk.py walks texts with an image beside the compiled constraint.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain.languages.constraints.base import constraint_of
from constrain.languages.vocab.bits import clear_bits, has_bit
from constrain.languages.vocab.joined import JoinedTokens
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.lazily import lazily
from constrain.masks.derived.cuts import CompiledCuts
from constrain.masks.derived.forced import OPEN_PLACE, ForcedMatcher
from constrain.masks.engine.compiled import CompiledConstraint
from constrain.masks.engine.matcher import Matcher
from constrain.masks.engine.narrowed import engine_of

NODES, BYTES = 4096, 8 << 20  # of an image, at most: what is beyond them is left out
ASCII = 128
PROBES = b"a0 ,"  # bytes of most flows: a state from which none of them does is asked for no others
NONE, GUARDED = -1, -2
Int32 = NDArray[np.int32]
Rows = NDArray[np.uint32]
Cut = Callable[[list[int]], Any]


class Nodes(NamedTuple):
    """int32[n] each, by node; node 0 is the beginning of a text, and parents come before their children.

    Attributes:
        parent: The node before it.
        token: The token that leads there.
        row: Its mask, a row of `Image.rows`.
        state: The first node of its state; NONE: the cut counts, too; GUARDED: what a guard or a check has read counts.
        flow: The tokens of its flow, a row; NONE: it has none.
        into: The first node of the state where that leads.
    """

    parent: Int32
    token: Int32
    row: Int32
    state: Int32
    flow: Int32
    into: Int32


class Image:
    """The tree of some texts.

    Args:
        nodes: The tree.
        rows: uint32[k, words], masks and sets of tokens.
        vocabulary: That of the masks.
        cut: Tokens → their `CutState`; None: no node depends on it.

    Raises:
        ValueError: The arrays are not those of a tree.
    """

    def __init__(self, nodes: Nodes, rows: Rows, vocabulary: Vocabulary, cut: Cut | None) -> None:
        own = np.arange(len(nodes.parent))
        most = [own[1:] - 1, vocabulary.size - 1, len(rows) - 1, own, len(rows) - 1, len(own) - 1]
        least = [0, 0, 0, GUARDED, NONE, NONE]
        given = [nodes.parent[1:], nodes.token[1:], *nodes[2:]]
        if not len(own) or any(map(_is_outside, given, least, most)):
            raise ValueError("damaged (a node that is nowhere)")
        self.rows, self.vocabulary, self.cut, self.nodes = rows, vocabulary, cut, nodes

    @lazily
    def lists(self) -> Nodes:
        """The nodes as lists. PERF: numpy takes five times as long for one number."""
        return Nodes(*(each.tolist() for each in self.nodes))

    @lazily
    def edges(self) -> dict[int, int]:
        """node << 32 | token → the node behind it."""
        keys = self.nodes.parent[1:].astype(np.int64) << 32 | self.nodes.token[1:]
        return dict(zip(keys.tolist(), range(1, len(self.nodes.parent)), strict=True))

    @lazily
    def of_states(self) -> dict[int, int]:
        """state << 32 | token → a node behind it, where the state's nodes are open; an open one, if there is one."""
        nodes = self.nodes
        before = nodes.state[nodes.parent]
        known = 1 + np.flatnonzero((before[1:] >= 0) & (nodes.state[1:] != GUARDED))
        known = known[np.argsort(nodes.state[known] >= 0, kind="stable")]
        keys = before[known].astype(np.int64) << 32 | nodes.token[known]
        return dict(zip(keys.tolist(), known.tolist(), strict=True))

    def texts(self) -> list[list[int]]:
        """The tokens of the texts of which it was made, as far as they are in it."""
        leaves = np.setdiff1d(np.arange(len(self.nodes.parent)), self.nodes.parent)
        return [self.text_of(node) for node in leaves.tolist()]

    def text_of(self, node: int) -> list[int]:
        """The tokens that lead to a node."""
        tokens = []
        while node:
            tokens.append(self.lists.token[node])
            node = self.lists.parent[node]
        return tokens[::-1]


def _is_outside(given: Int32, least: int, most: Any) -> bool:
    return bool(((given < least) | (given > most)).any())


class ImageCursor:
    """One text, as far as an image knows it. The verbs are those of a matcher.

    Attributes:
        tokens: What was read.
        ended: Whether the last of them ends the text.
    """

    __slots__ = ("_image", "_places", "ended", "tokens")

    def __init__(self, image: Image) -> None:
        self._image = image
        self._places = [0]  # before each token and after the last: a node; ~node: another one of its state
        self.tokens: list[int] = []
        self.ended = False

    def fill_mask(self, row: Rows) -> None:
        """Write the mask of the next token."""
        image, place = self._image, self._places[-1]
        if self.ended:
            row[:] = 0
            return
        known = image.rows[image.lists.row[place if place >= 0 else ~place]]
        row[: known.size] = known
        row[known.size :] = 0

    def advance(self, token: int) -> bool | None:
        """Read a token. False: it is not allowed. None: the image does not know what follows it. Neither reads it."""
        image, place = self._image, self._places[-1]
        node = place if place >= 0 else ~place
        nodes, vocabulary = image.lists, image.vocabulary
        if self.ended or not 0 <= token < vocabulary.size or not has_bit(image.rows[nodes.row[node]], token):
            return False
        if token in vocabulary.eos_ids:
            self.ended, after = True, place
        else:
            found = self._after(image, place, node, token)
            if found is None:
                return None
            after = found
        self._places.append(after)
        self.tokens.append(token)
        return True

    def _after(self, image: Image, place: int, node: int, token: int) -> int | None:
        """The place behind a token that is allowed."""
        nodes = image.lists
        after = image.edges.get(node << 32 | token) if place >= 0 else None
        if after is not None or nodes.state[node] < 0:
            return after
        known = image.of_states.get(nodes.state[node] << 32 | token)
        if known is not None and nodes.state[known] >= 0:
            return ~known
        if nodes.flow[node] >= 0 and has_bit(image.rows[nodes.flow[node]], token):
            return ~nodes.into[node]
        is_there = (
            known is not None and image.cut and image.cut([*self.tokens, token]) == image.cut(image.text_of(known))
        )
        return known if is_there else None

    def rollback(self, n_tokens: int) -> None:
        """Take back the last tokens."""
        if n_tokens:
            del self.tokens[-n_tokens:], self._places[-n_tokens:]
            self.ended = False

    @property
    def text(self) -> bytes:
        """The bytes that were read."""
        return self._image.vocabulary.to_bytes(self.tokens)


# --- making one -------------------------------------------------------------------------------------------------------


def image_of(
    compiled: CompiledConstraint | CompiledCuts, texts: Iterable[Sequence[int]], cut: Cut | None = None
) -> Image:
    """The image of some texts, as far as there is room for it and they are members, or begin one.

    Args:
        compiled: The constraint; its own matchers read the texts.
        texts: The tokens of each.
        cut: As `Image` has it.
    """
    made = _Making(compiled)
    for tokens in texts:
        made.read(tokens)
    columns = zip(*made.finished(), strict=True)
    rows = np.frombuffer(b"".join(made.rows), np.uint32).reshape(len(made.rows), -1)
    return Image(Nodes(*(np.array(column, np.int32) for column in columns)), rows, compiled.vocabulary, cut)


class _Making:
    """A tree that grows: nodes as (parent, token, row, state), and rows by their content."""

    def __init__(self, compiled: CompiledConstraint | CompiledCuts) -> None:
        self.compiled = compiled
        constraint = constraint_of(compiled)
        self.is_checked = constraint is None or constraint.residual
        self.rows: dict[bytes, int] = {}
        self.nodes: list[tuple[int, int, int, int]] = []
        self.edges: dict[tuple[int, int], int] = {}
        self.states: dict[int, tuple[int, Matcher]] = {}  # place of the grammar → the first open node there
        self.others: dict[int, NDArray[np.int64]] = {}
        self.add(compiled.matcher(), 0, 0)

    def add(self, matcher: Any, parent: int, token: int) -> int | None:
        """The node behind a token, which a matcher has read. None: it would be one too many, or has no mask."""
        row = np.zeros(self.compiled.vocabulary.words, np.uint32)
        matcher.fill_mask(row)
        node = len(self.nodes)
        if (node and not row.any()) or node >= NODES or len(self.rows) * row.nbytes >= BYTES:
            return None
        engine = engine_of(matcher)
        state = GUARDED if engine is None or self.is_checked or self.is_guarded(engine) else NONE
        if engine is not None and state == NONE and (matcher is engine or self.is_open(matcher, engine)):
            known = self.states.get(engine.place)
            state, _ = known or self.states.setdefault(engine.place, (node, engine.fork()))
        self.nodes.append((parent, token, self.row(row), state))
        self.edges[parent, token] = node
        return node

    def row(self, row: Rows) -> int:
        return self.rows.setdefault(row.tobytes(), len(self.rows))

    @staticmethod
    def is_guarded(engine: Matcher) -> bool:
        """True where the mask depends on what a guard has read."""
        compiled = engine.compiled
        return compiled.guard is not None and (compiled.always_guarded or engine.is_watched())

    @staticmethod
    def is_open(matcher: Any, engine: Matcher) -> bool:
        """True where the mask is that of the engine's matcher, whatever the cut of the text."""
        return isinstance(matcher, ForcedMatcher) and matcher.inner is engine and matcher.place() is OPEN_PLACE

    def read(self, tokens: Sequence[int]) -> None:
        """Add a text."""
        matcher, node = self.compiled.matcher(), 0
        for token in tokens:
            if not matcher.advance(token) or matcher.ended:
                return
            after = self.edges.get((node, token))
            after = self.add(matcher, node, token) if after is None else after
            if after is None:
                return
            node = after
            time.sleep(0)  # another thread may run: an engine's loop

    def finished(self) -> list[tuple[int, ...]]:
        """The nodes with their flows."""
        flows = {NONE: (NONE, NONE), GUARDED: (NONE, NONE)}
        for node, matcher in list(self.states.values()):
            flows[node] = self.flow(node, matcher)
        return [(*node, *flows[node[-1]]) for node in self.nodes]

    def flow(self, node: int, matcher: Matcher) -> tuple[int, int]:
        """(row, node) of the flow of a state: by bytes, since a token is read as its bytes are."""
        into = next((known for known in map(self.states.get, stepped(matcher, PROBES)) if known), None)
        if into is None or into[1].place not in stepped(into[1], PROBES):
            return NONE, NONE
        number, other = into
        joined = JoinedTokens.of(self.compiled.vocabulary)
        others = self.others.get(number)  # before each byte of all tokens, how many do not stay in the state
        if others is None:
            is_later = flowing(other, other.place)
            others = self.others[number] = np.concatenate([[0], np.cumsum(~is_later[joined.text])])
        is_first = flowing(matcher, other.place)
        begins, ends = joined.starts[:-1], joined.starts[1:]
        flows = begins < ends
        flows[flows] &= is_first[joined.text[begins[flows]]]
        flows[flows] &= others[ends[flows]] == others[begins[flows] + 1]
        row = np.zeros(self.compiled.vocabulary.words, np.uint32)
        row.view(np.uint8)[: -(-len(flows) // 8)] = np.packbits(flows, bitorder="little")
        clear_bits(row, getattr(self.compiled, "begin", ()))  # after these more counts than the state
        time.sleep(0)
        return self.row(row), number


def flowing(matcher: Matcher, into: int) -> NDArray[np.bool_]:
    """bool[256]: the bytes that lead from the place of a matcher to another one. Those of longer characters do not:
    they lead into a character first."""
    return np.array([*(place == into for place in stepped(matcher, range(ASCII))), *[False] * (256 - ASCII)])


def stepped(matcher: Matcher, some: Iterable[int]) -> list[int]:
    """The place after each of some bytes; 0: none of the grammar follows it."""
    places = []
    for byte in some:
        is_read = matcher.advance_bytes(bytes([byte]))
        places.append(matcher.place if is_read else 0)
        matcher.rollback(int(is_read))
    return places
