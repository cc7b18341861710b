"""Draft trees as flat arrays: what drafters propose, and what the builder makes of it.

The idea: a draft is a guess at several continuations at once. Node i says "token tokens[i] after node parents[i]"; a
parent comes before its children, so one pass over the arrays is a walk from the root, a chain is the tree with
parents = -1, 0, 1, ..., and a device can read the arrays as they are.

    node     an index into the arrays, 0 … n-1
    place    where a next token is chosen: place 0 follows the committed text (the root), place i + 1 follows node i.
             So a tree of n nodes has n + 1 places, and node i is proposed at place parents[i] + 1
    given    a node that its drafter simply names. drawn: one that it drew from a distribution that it can state

A `DraftTree` is a proposal. `TreeBuilder` (build.py) merges the proposals of several drafters into one `BuiltTree`:
what is legal, what one forward pass reads, and in which constraint state each place is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from constrain.errors import ConstrainError
from constrain.sampling.core.model import Ints
from constrain.sampling.fused import batch

ROOT = -1  # as a parent
NONE = -1  # no token, no row, no node


def _none(count: int) -> Ints:
    return np.full(count, NONE, np.int32)


@dataclass(frozen=True, eq=False)
class DraftTree:
    """n proposed tokens; node i follows node `parents[i]`.

    Drawn nodes stand in the order in which they were drawn. Whether a node was drawn at all may depend on earlier nodes
    only, and, with replacement, the number of siblings not on the siblings. No two given siblings have the same token.
    The distributions of the verifiers rest on this.

    Attributes:
        tokens: int32[n], token ids; any value is allowed here, the builder drops what is outside the vocabulary.
        parents: int32[n], the node before, or ROOT (-1); always less than the node's own index.
        log_probs: float64[n] ≤ 0, log of the chance that the target takes the node, given that it took the parent. For
            a drawn node log q(token), for a given one an estimate (0: certain). It ranks nodes; no distribution depends
            on it.
        draft_rows: int32[n], the row of `draft_probs` that the node was drawn from, or NONE (-1) for a given node.
        draft_probs: float[m, size], rows sum to 1: exactly what was drawn from, mask included. None: no node is drawn.
        replacement: how siblings with the same row were drawn. True: independently, so that equal tokens may be
            siblings. False: each from the row without its earlier siblings, renormalised. A chain is both.

    Raises:
        ConstrainError: arrays that do not fit together.

    Example:
        >>> import numpy as np
        >>> from constrain.speculative import DraftTree
        >>> tree = DraftTree(np.array([5, 6, 7], np.int32), np.array([-1, 0, 0], np.int32), np.zeros(3))
        >>> tree.depths.tolist(), tree.path(3)
        ([1, 2, 2], [0, 2])
    """

    tokens: Ints
    parents: Ints
    log_probs: NDArray[np.float64]
    draft_rows: Ints = field(default_factory=lambda: _none(0))
    draft_probs: torch.Tensor | None = None
    replacement: bool = False

    def __post_init__(self) -> None:
        n = len(self.tokens)
        if len(self.draft_rows) != n and self.draft_probs is None:
            object.__setattr__(self, "draft_rows", _none(n))
        lengths = {len(self.parents), len(self.log_probs), len(self.draft_rows)}
        if lengths != {n}:
            raise ConstrainError(f"the arrays of a draft tree of {n} tokens have lengths {sorted(lengths)}")
        if n and not ((self.parents >= ROOT) & (self.parents < np.arange(n))).all():
            bad = int(np.flatnonzero((self.parents < ROOT) | (self.parents >= np.arange(n)))[0])
            raise ConstrainError(
                f"node {bad} of a draft tree has parent {self.parents[bad]}", fix="parents come before their children"
            )
        rows = 0 if self.draft_probs is None else len(self.draft_probs)
        if n and int(self.draft_rows.max()) >= rows:
            raise ConstrainError(f"a node was drawn from row {self.draft_rows.max()} of {rows} draft distributions")

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def drawn(self) -> bool:
        """Some nodes were drawn from a stated distribution."""
        return bool((self.draft_rows != NONE).any())

    @cached_property
    def depths(self) -> Ints:
        """int32[n]: tokens from the root, 1 for its children."""
        depths = np.zeros(len(self), np.int32)
        for node, parent in enumerate(self.parents.tolist()):
            depths[node] = 1 if parent == ROOT else depths[parent] + 1
        return depths

    def children(self) -> list[list[int]]:
        """Nodes by place, in order: n + 1 lists."""
        found: list[list[int]] = [[] for _ in range(len(self) + 1)]
        for node, parent in enumerate(self.parents.tolist()):
            found[parent + 1].append(node)
        return found

    def path(self, place: int) -> list[int]:
        """The nodes from the root to a place."""
        nodes = []
        node = place - 1
        while node != ROOT:
            nodes.append(node)
            node = int(self.parents[node])
        return nodes[::-1]


EMPTY = DraftTree(_none(0), _none(0), np.zeros(0))


def given_chain(tokens: Sequence[int], log_probs: float | Sequence[float] = 0.0) -> DraftTree:
    """One continuation, named and not drawn.

    Args:
        tokens: its token ids.
        log_probs: log of the chance of each token given those before it, or the same for all.

    Returns:
        The tree, a single path.

    Example:
        >>> from constrain.speculative import given_chain
        >>> given_chain([5, 6, 7]).parents.tolist()
        [-1, 0, 1]
    """
    n = len(tokens)
    estimates = np.broadcast_to(np.asarray(log_probs, np.float64), (n,)).copy()
    return DraftTree(np.asarray(tokens, np.int32), np.arange(-1, n - 1, dtype=np.int32), estimates)


def given_paths(paths: Iterable[Sequence[int]], log_probs: float | Sequence[Sequence[float]] = 0.0) -> DraftTree:
    """Several continuations as one tree: common beginnings are merged, and the first estimate stands.

    Args:
        paths: the token ids of each continuation.
        log_probs: estimates by path and depth, or the same for all.

    Returns:
        The tree.

    Example:
        >>> from constrain.speculative import given_paths
        >>> tree = given_paths([[5, 6], [5, 7]])
        >>> tree.tokens.tolist(), tree.parents.tolist()
        ([5, 6, 7], [-1, 0, 0])
    """
    tokens: list[int] = []
    parents: list[int] = []
    estimates: list[float] = []
    known: dict[tuple[int, int], int] = {}
    for number, path in enumerate(paths):
        node = ROOT
        for depth, token in enumerate(path):
            child = known.get((node, token))
            if child is None:
                child = known[node, token] = len(tokens)
                tokens.append(token)
                parents.append(node)
                estimates.append(log_probs if isinstance(log_probs, (int, float)) else log_probs[number][depth])
            node = child
    return DraftTree(np.asarray(tokens, np.int32), np.asarray(parents, np.int32), np.asarray(estimates, np.float64))


@dataclass(frozen=True, eq=False)
class BuiltTree(DraftTree):
    """A merged tree, ready for a forward pass: every node that can be taken is legal under the constraint.

    Attributes:
        sources: int32[n], index of the drafter among those of the run, or NONE for forced tokens that the builder
            added.
        read: bool[n], the forward pass reads this node, so its place has logits. Not read are drawn nodes that are
            illegal, repeat a sibling, end the text (EOS) or lie beyond the length limit. They are kept because the
            rejection rules must see every draw, and have no children. A legal one may be taken as the last token of a
            step.
        same: int32[n], the node that stands for this token at this place: itself, or an earlier sibling with the same
            token (drawn with replacement); NONE: illegal, can never be taken.
        forced: int32[n + 1], by place: the only token that the constraint allows there, EOS included where there is one
            EOS id; NONE if there are several, or none.
        matchers: by place, the matcher there; None without a constraint, or where the place is not read. Not to be
            changed.
        refused: by source, the number of proposed nodes that were illegal or outside the vocabulary.

    Example:
        >>> from constrain.speculative import BuiltTree, given_chain
        >>> import numpy as np
        >>> chain = given_chain([5, 6])
        >>> BuiltTree(chain.tokens, chain.parents, chain.log_probs, read=np.array([True, False])).logits_rows.tolist()
        [0, 1, -1]
    """

    sources: Ints = field(default_factory=lambda: _none(0))
    read: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    same: Ints = field(default_factory=lambda: _none(0))
    forced: Ints = field(default_factory=lambda: _none(1))
    matchers: Sequence[Any] = (None,)
    refused: dict[int, int] = field(default_factory=dict)

    @cached_property
    def states(self) -> NDArray[np.int64]:
        """int64[n + 1]: the constraint's state by place: equal states allow the same texts; 0 without a constraint or
        where the place is not read. Valid until the engine flushes its states."""
        return np.array([state_of(matcher) for matcher in self.matchers], np.int64)

    @cached_property
    def logits_rows(self) -> Ints:
        """int32[n + 1]: by place, its row in the logits of a forward pass (0 for the root), NONE for what was not
        read."""
        rows: Ints = self.numbers[batch.AT]
        return rows

    @cached_property
    def numbers(self) -> Ints:
        """int32[COLUMNS, n + 1]: by place what kernels read of it, see `constrain.sampling.fused.batch`; rows of masks
        and drawn kids are those of a step. Not to be changed."""
        columns = (self.tokens, self.parents, self.draft_rows, self.read, self.same, self.forced)
        return numbers_of(*(column.tolist() for column in columns))

    @cached_property
    def deepest(self) -> int:
        """Tokens on its longest path."""
        return int(self.depths.max(initial=0))

    @cached_property
    def read_tokens(self) -> Ints:
        """int32[r]: the tokens that the forward pass reads, in order."""
        return self.tokens[self.read]

    @cached_property
    def read_parents(self) -> Ints:
        """int32[r]: their parents, as indices among the nodes that are read, or ROOT."""
        return self.logits_rows[self.parents[self.read] + 1] - 1


def state_of(matcher: Any) -> int:
    """The state of a matcher as an int; 0 for None. States that are no ints are hashed: good enough for statistics."""
    state = 0 if matcher is None else matcher.state
    return state if isinstance(state, int) else hash(state)


def numbers_of(
    tokens: list[int], parents: list[int], rows: list[int], read: list[bool], same: list[int], forced: list[int]
) -> Ints:
    """`BuiltTree.numbers` from its columns. PERF: one array of lists takes half the time of operations on arrays."""
    own, nothing = [0, *itertools.accumulate(read)], [NONE] * (len(tokens) + 1)
    columns = {
        batch.TOKENS: [NONE, *tokens],
        batch.PARENTS: [NONE, *(parent + 1 for parent in parents)],
        batch.AT: [0, *(row if is_read else NONE for row, is_read in zip(own[1:], read, strict=True))],
        batch.FORCED: forced if len(forced) == len(nothing) else nothing,
        batch.SAME: [NONE, *(NONE if node == NONE else node + 1 for node in same)] if same else nothing,
        batch.SOURCES: [NONE, *rows],
        **dict.fromkeys((batch.KIDS, batch.BEGINS, batch.ENDS), [0] * len(nothing)),
    }
    return np.array([columns.get(column, nothing) for column in range(batch.COLUMNS)], np.int32)
