"""The trie of a vocabulary: all token bytes with shared prefixes stored once, as flat depth-first arrays.

The idea: in byte order, each token adds to the trie exactly the bytes that it does not share with the previous token,
and these nodes come out in depth-first order. So sorting and comparing neighbours builds the whole trie, without node
objects. A walk is one loop over an index: `i + 1` descends, `end[i]` skips the subtree (llguidance, docs/toktrie.md,
derives the loop).

Cost: 13 bytes a node and 4 bytes a token; about 0.2 s for 131,000 tokens (275,000 nodes), most of it for sorting.
Limit: token ids and node numbers are int32.

    byte    uint8[n]   the node's byte
    depth   int32[n]   1 for the first byte of a token; the root is not stored
    end     int32[n]   the index after the node's subtree
    token   int32[n]   the lowest token id that ends here, or -1
    next_same  int32[V]  the next higher token id with the same bytes, or -1
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int32]
DEEP = 64  # PERF: down to this depth one operation of numpy handles a level; few tokens are longer, each is its own


@dataclass(frozen=True, eq=False)
class Trie:
    """The trie, depth first, with siblings in byte order. The module describes the arrays; they are read-only."""

    byte: Bytes
    depth: Ints
    end: Ints
    token: Ints
    next_same: Ints
    max_depth: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_depth", int(self.depth.max(initial=0)))
        for array in (self.byte, self.depth, self.end, self.token, self.next_same):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.byte)

    def __repr__(self) -> str:
        return f"Trie({len(self)} nodes, {int((self.token >= 0).sum())} distinct tokens)"

    def nodes_of_tokens(self, size: int) -> Ints:
        """int32[size]: the node where each token ends; -1: it has no bytes. size: at least the number of tokens."""
        node = np.full(size, -1, np.int32)
        at = np.flatnonzero(self.token >= 0).astype(np.int32)
        tokens = self.token[at]
        while len(at):
            node[tokens] = at
            tokens = self.next_same[tokens]
            at, tokens = at[tokens >= 0], tokens[tokens >= 0]
        return node

    @classmethod
    def of(cls, tokens: Iterable[tuple[int, bytes]], size: int | None = None) -> Trie:
        """The trie of (token id, bytes) pairs. Tokens without bytes are left out: they would match without progress.

        size: V, the number of token ids; by default one more than the highest id.
        """
        pairs = [(text, token_id) for token_id, text in tokens if text]
        if size is None:
            size = max((token_id for _, token_id in pairs), default=-1) + 1
        pairs.sort()
        table = SortedTokens.of([text for text, _ in pairs], [token_id for _, token_id in pairs])
        return table.trie(table.next_same(size))


@dataclass(frozen=True, eq=False)
class SortedTokens:
    """Token bytes in byte order, equal ones by id. Tries and slices are built from it.

    Attributes:
        text: uint8[total], all bytes concatenated.
        start: int64[T + 1]; token k is `text[start[k] : start[k + 1]]`.
        ids: int32[T], token ids.
        shared: int64[T], the number of leading bytes that token k shares with token k - 1.
    """

    text: Bytes
    start: NDArray[np.int64]
    ids: Ints
    shared: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[bytes], ids: Sequence[int] | Ints) -> SortedTokens:
        """Build from texts that are not empty and sorted; ids ascend among equal texts."""
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        start = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        text = np.frombuffer(b"".join(texts), np.uint8)
        return cls(text, start, np.asarray(ids, np.int32), _shared_with_previous(text, start))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64[T]: the number of bytes of each token."""
        return np.diff(self.start)

    def where(self, keep: NDArray[np.bool_]) -> SortedTokens:
        """The tokens k with keep[k], in the same order. keep: bool[T]."""
        lengths = self.lengths
        text = self.text[np.repeat(keep, lengths)]
        start = np.concatenate([[0], np.cumsum(lengths[keep])]).astype(np.int64)
        return SortedTokens(text, start, self.ids[keep], self._shared_among(np.flatnonzero(keep)))

    def _shared_among(self, kept: NDArray[np.int64]) -> NDArray[np.int64]:
        """`shared` of some of the tokens: two texts share what all neighbours from one to the other share."""
        if not len(kept):
            return self.shared[:0]
        shared = np.minimum.reduceat(self.shared[: kept[-1] + 1], np.concatenate([[0], kept[:-1] + 1]))
        shared[0] = 0
        return shared

    def repeats(self) -> NDArray[np.bool_]:
        """bool[T]: whether token k has the same bytes as token k - 1."""
        return self.shared == self.lengths

    def next_same(self, size: int) -> Ints:
        """int32[size]: for each token id the next higher one with the same bytes, or -1."""
        following = np.full(size, -1, np.int32)
        (again,) = np.nonzero(self.repeats())
        following[self.ids[again - 1]] = self.ids[again]
        return following

    def trie(self, next_same: Ints) -> Trie:
        """The trie of these tokens. next_same may be that of a larger vocabulary if equal tokens were kept together."""
        lengths = self.lengths
        added = lengths - self.shared  # the number of nodes that each token adds
        last = np.cumsum(added)
        nodes = int(last[-1]) if len(last) else 0
        first = np.repeat(last - added, added)  # for each node, the first node that the same token adds
        depth = np.arange(nodes) - first + np.repeat(self.shared, added) + 1
        byte = self.text[np.repeat(self.start[:-1], added) + depth - 1]
        token = np.full(nodes, -1, np.int32)
        fresh = ~self.repeats()  # of several equal tokens the first, which has the lowest id
        token[last[fresh] - 1] = self.ids[fresh]
        depth = depth.astype(np.int32)
        end = np.arange(1, nodes + 1, dtype=np.int32)
        _set_deep_ends(end, last, lengths, self.shared)
        _set_ends(end, depth)
        return Trie(byte, depth, end, token, next_same)


def _shared_with_previous(text: Bytes, start: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[T]: the length of the longest common prefix of each token with the one before it; 0 for the first.

    One pass a byte position, over the pairs that still agree: the work is the sum of the results. Pairs that share more
    than `DEEP` bytes are compared one by one.
    """
    lengths = np.diff(start)
    shared = np.zeros(len(lengths), np.int64)
    if len(lengths) < 2:
        return shared
    at_most = np.minimum(lengths[1:], lengths[:-1])
    live = np.arange(1, len(lengths))
    k = 0
    while len(live) and k < DEEP:
        live = live[at_most[live - 1] > k]
        live = live[text[start[live] + k] == text[start[live - 1] + k]]
        k += 1
        shared[live] = k
    for pair in live:
        most = int(at_most[pair - 1])
        one, other = (text[at + k : at + most] for at in start[pair - 1 : pair + 1])
        differs = one != other
        shared[pair] = k + int(differs.argmax()) if differs.any() else most
    return shared


def _set_deep_ends(end: Ints, last: NDArray[np.int64], lengths: NDArray[np.int64], shared: NDArray[np.int64]) -> None:
    """Write `end` of the nodes deeper than `DEEP`: where the next token begins that shares less than their depth.

    last: for each token the number of nodes up to its end.
    """
    for token in np.flatnonzero(lengths > DEEP):
        least, depth, after = max(int(shared[token]), DEEP), int(lengths[token]), token + 1
        node = int(last[token]) - depth - 1  # of this token at depth 0
        while depth > least:
            above = max(int(shared[after]) if after < len(shared) else 0, least)
            end[node + above + 1 : node + depth + 1] = last[after - 1]
            depth, after = min(depth, above), after + 1


def _set_ends(end: Ints, depth: Ints) -> None:
    """Write `end` of the other nodes of a depth-first list: the index after the subtree of each.

    Computed from the deepest level up: a subtree ends where the subtree of its last child ends, and the parent of a
    node is the last node before it on the level above.
    """
    (nodes,) = np.nonzero(depth <= DEEP + 1)
    shallow = depth[nodes]
    by_level = nodes[np.argsort(shallow.astype(np.uint16), kind="stable")]  # PERF: numpy sorts 16 bits by radix
    bounds = np.concatenate([[0], np.cumsum(np.bincount(shallow, minlength=1)[1:])])  # no node has depth 0
    for level in range(len(bounds) - 2, 0, -1):
        children = by_level[bounds[level] : bounds[level + 1]]
        parents = by_level[bounds[level - 1] : bounds[level]]
        parent = parents[np.searchsorted(parents, children) - 1]
        end[parent] = end[children]  # of repeated indices numpy keeps the last: the last child
