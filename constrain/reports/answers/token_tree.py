"""Token sequences as one tree, and the log-probability of every node from one forward.

The idea: options begin alike, and all of them follow the same prompt. So the prompt and every token of the tree are
read once, in one forward under a mask that shows each node its ancestors (Miao et al. 2024, "SpecInfer", section 4,
which reads drafts so). The logits of a node score all tokens after it.

Cost: one forward for a prompt and up to `NODES` nodes; beyond that one for each further part, the prompt read again.
Limit: trees need a model of transformers that reads them (`HFModel.branching`). For any other model the prompt is one
forward, and the paths of the tree a second one, as rows of a batch (one for each length where rows cannot differ).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from constrain.errors import ConstrainError
from constrain.sampling.core.logits import LogitRows

NODES = 1024  # of a forward
ROOT = -1


@dataclass
class TokenTree:
    """A trie of token sequences. tokens, parents: of each node; a parent comes before its children, ROOT is none."""

    tokens: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    _children: dict[tuple[int, int], int] = field(default_factory=dict)
    _after: dict[int, list[int]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.tokens)

    def child(self, node: int, token: int) -> int:
        """The node that a token leads to, made if need be."""
        found = self._children.get((node, token))
        if found is None:
            found = self._children[node, token] = len(self)
            self._after.setdefault(node, []).append(found)
            self.tokens.append(token)
            self.parents.append(node)
            self.depths.append(1 if node == ROOT else self.depths[node] + 1)
        return found

    def add(self, tokens: Iterable[int], node: int = ROOT) -> int:
        """The node at the end of a sequence that goes on from a node."""
        for token in tokens:
            node = self.child(node, token)
        return node

    def path(self, node: int) -> list[int]:
        """The nodes from the root's child to a node."""
        found = []
        while node != ROOT:
            found.append(node)
            node = self.parents[node]
        return found[::-1]

    def after(self, node: int) -> list[int]:
        """The children of a node, or of the root."""
        return self._after.get(node, [])

    def leaves(self) -> list[int]:
        """The nodes without children."""
        return [node for node in range(len(self)) if node not in self._after]


@dataclass
class TreeScores:
    """The log-probabilities of a tree after one prompt.

    Attributes:
        log_probs: float64[nodes], log p(token of the node | prompt, its ancestors).
        log_ends: float64[1 + nodes], log of the mass of `ends` at each place; place 0 is the end of the prompt, place
            i + 1 the end of node i.
        forwards: The number of forward passes.
    """

    log_probs: np.ndarray
    log_ends: np.ndarray
    forwards: int = 0

    def total(self, tree: TokenTree, node: int, start: int = ROOT) -> float:
        """log p of the tokens from after `start` to a node."""
        total = 0.0
        while node not in (start, ROOT):
            total += float(self.log_probs[node])
            node = tree.parents[node]
        return total


def read_tree(
    handle: Any, prompts: Sequence[Sequence[int]], tree: TokenTree, ends: Sequence[int] = (), temperature: float = 1.0
) -> list[TreeScores]:
    """Read a tree after every prompt.

    Args:
        handle: of `generation.handles.handle_of`.
        prompts: token ids, at least one each.
        tree: of token ids.
        ends: ids whose mass is wanted at every place.
        temperature: divides the logits.

    Returns:
        One for each prompt.

    Raises:
        ConstrainError: the model has too few positions, or its logits are no numbers.
    """
    deepest = max(tree.depths, default=0)
    for place, prompt in enumerate(prompts):
        if handle.context is not None and len(prompt) + deepest > handle.context:
            raise ConstrainError(
                f"prompt and option have {len(prompt) + deepest} tokens, and the model has {handle.context} positions",
                place=f"prompt {place}",
                fix="shorten the prompt or the option",
            )
    found = [TreeScores(np.full(len(tree), math.nan), np.full(len(tree) + 1, math.nan)) for _ in prompts]
    reader = _as_trees if getattr(handle, "branching", False) else _as_paths
    reader(handle, prompts, tree, found, list(ends), temperature)
    return found


def _as_trees(
    handle: Any,
    prompts: Sequence[Sequence[int]],
    tree: TokenTree,
    found: list[TreeScores],
    ends: list[int],
    temperature: float,
) -> None:
    for nodes in _parts(tree):
        new = {node: i for i, node in enumerate(nodes)}
        tokens = np.array([tree.tokens[node] for node in nodes], np.int32)
        parents = np.array([new.get(tree.parents[node], ROOT) for node in nodes], np.int32)
        session = handle.open(len(prompts))
        count = len(prompts)
        logits = session.forward(list(map(list, prompts)), [1] * count, [tokens] * count, [parents] * count)
        for scores, rows in zip(found, logits, strict=True):  # float[1 + nodes, W]
            scores.forwards += 1
            note(scores, tree, [ROOT, *nodes], rows, ends, temperature)


def _parts(tree: TokenTree) -> list[list[int]]:
    """The nodes of the trees that are read, in order: parents first; what two trees share is in both."""
    if len(tree) <= NODES:
        return [list(range(len(tree)))]
    parts: list[set[int]] = [set()]
    for leaf in tree.leaves():
        path = tree.path(leaf)
        if parts[-1] and len(parts[-1].union(path)) > NODES:
            parts.append(set())
        parts[-1].update(path)
    return [sorted(part) for part in parts]


def _as_paths(
    handle: Any,
    prompts: Sequence[Sequence[int]],
    tree: TokenTree,
    found: list[TreeScores],
    ends: list[int],
    temperature: float,
) -> None:
    """Rows of a batch: the prompts, then every path that ends in a leaf."""
    session, logits = handle.start(list(map(list, prompts)), [1] * len(prompts))
    for scores, rows in zip(found, logits, strict=True):
        scores.forwards += 1
        note(scores, tree, [ROOT], rows, ends, temperature)
    paths = [(row, tree.path(leaf)) for row in range(len(prompts)) for leaf in tree.leaves()]
    groups = [paths]
    if not handle.ragged:
        lengths = sorted({len(path) for _, path in paths})
        groups = [[each for each in paths if len(each[1]) == length] for length in lengths]
    for group in groups:
        if not group:
            continue
        chunks = [[tree.tokens[node] for node in path] for _, path in group]
        branch = session.fork([row for row, _ in group])
        for (row, path), rows in zip(group, branch.feed(chunks, list(map(len, chunks))), strict=True):
            note(found[row], tree, path, rows, ends, temperature)
        for row in {row for row, _ in group}:
            found[row].forwards += 1


def note(
    scores: TreeScores,
    tree: TokenTree,
    places: Sequence[int],
    logits: torch.Tensor,
    ends: list[int],
    temperature: float,
) -> None:
    """Note what float[len(places), W] says of the nodes after these places; ROOT is the end of the prompt."""
    rows = LogitRows(logits, temperature, [(0, place + 1) for place in places])
    values, totals = rows.tensor(rows.values), rows.tensor(rows.log_total).double().cpu()
    if ends:
        mass = values[:, ends].double().logsumexp(-1).cpu() - totals
        scores.log_ends[[place + 1 for place in places]] = mass.numpy()
    after = [(row, node) for row, place in enumerate(places) for node in tree.after(place)]
    if after:
        at, nodes = [row for row, _ in after], [node for _, node in after]
        chosen = values[at, [tree.tokens[node] for node in nodes]].double().cpu() - totals[at]
        scores.log_probs[nodes] = chosen.numpy()
