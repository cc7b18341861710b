"""A table of logits that reads trees (by definition, prefix by prefix), and drafters for tests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from constrain.speculative import EMPTY, NONE, Context, DraftBudget, Drafter, DraftTree, given_chain
from toy_model import TableModel


class TreeTable(TableModel):
    """A `Target`: TableModel, which checks what its sessions are told."""

    branching = True

    def open(self, rows: int) -> TreeTableSession:
        return TreeTableSession(self, rows)


class TreeTableSession:
    def __init__(self, model: TreeTable, rows: int) -> None:
        self.model = model
        self.rows: list[list[int]] = [[] for _ in range(rows)]
        self.tried: list[tuple[list[int], list[int]]] | None = None
        self.forwards: list[int] = []

    def forward(self, chunks: Any, keep: Any, tokens: Any, parents: Any) -> list[torch.Tensor]:
        assert self.tried is None, "commit must come first"
        assert len(chunks) == len(keep) == len(tokens) == len(parents) == len(self.rows)
        self.model.forwards += 1
        assert any(chunks)
        self.forwards, self.tried = [int(len(chunk) > 0) for chunk in chunks], []
        found = []
        for row, chunk, kept, nodes, before in zip(self.rows, chunks, keep, tokens, parents, strict=True):
            if not chunk:
                assert kept == len(nodes) == 0
                self.tried.append(([], []))
                found.append(torch.zeros(0, self.model.width, dtype=torch.float64))
                continue
            assert 0 < kept <= len(chunk)
            row += chunk
            prefixes = [row[: len(row) - i] for i in range(kept - 1, -1, -1)]
            for token, parent in zip(nodes.tolist(), before.tolist(), strict=True):
                prefixes.append([*prefixes[parent + kept], token])
            self.tried.append((nodes.tolist(), before.tolist()))
            found.append(torch.tensor(np.stack([self.model.logits(prefix) for prefix in prefixes])))
        return found

    def commit(self, paths: Any) -> None:
        assert self.tried is not None
        for row, path, (tokens, parents) in zip(self.rows, paths, self.tried, strict=True):
            assert [parents[node] for node in path] == [-1, *path[:-1]][: len(path)]
            row += [tokens[node] for node in path]
        self.tried = None

    def select(self, rows: Sequence[int]) -> None:
        assert self.tried is None
        self.rows = [list(self.rows[row]) for row in rows]

    def fork(self, rows: Sequence[int]) -> TreeTableSession:
        assert self.tried is None
        twin = TreeTableSession(self.model, 0)
        twin.rows = [list(self.rows[row]) for row in rows]
        return twin


def table_probs(seed: int, prefix: Sequence[int], size: int, spread: float) -> np.ndarray:
    """Some distribution, the same for the same prefix; some entries are zero."""
    return _table_probs(seed, tuple(prefix), size, spread)


@lru_cache(maxsize=100_000)
def _table_probs(seed: int, prefix: tuple[int, ...], size: int, spread: float) -> np.ndarray:
    rng = np.random.default_rng([seed, 11, *(token + 1 for token in prefix)])
    weights = np.exp(rng.normal(scale=spread, size=size))
    weights[rng.random(size) < 0.15] = 0
    return weights / weights.sum() if weights.sum() else np.full(size, 1 / size)


class Given(Drafter):
    """A random tree for each text, good and bad ids among its tokens."""

    name = "given"

    def __init__(self, seed: int = 0, nodes: int = 5) -> None:
        self.seed, self.nodes = seed, nodes

    def draft(self, context: Context, budget: DraftBudget) -> DraftTree:
        rng = np.random.default_rng([self.seed, 13, *(token + 1 for token in context.tokens)])
        n = int(rng.integers(0, self.nodes + 1))
        parents = np.array([rng.integers(-1, i) if i else -1 for i in range(n)], np.int32)
        tokens = rng.integers(-1, context.setting.size + 1, n).astype(np.int32)
        return DraftTree(tokens, parents, -rng.random(n))


class Drawn(Drafter):
    """Draws `width` children for each node down to a depth, from a random distribution for each text.

    masked: under the constraint's mask. replacement: siblings are independent. spine: only first children have children
    """

    name = "drawn"

    def __init__(
        self,
        seed: int,
        width: int = 2,
        depth: int = 2,
        *,
        replacement: bool = False,
        masked: bool = True,
        spine: bool = False,
    ) -> None:
        self.seed, self.width, self.depth = seed, width, depth
        self.replacement, self.masked, self.spine = replacement, masked, spine

    def draft(self, context: Context, budget: DraftBudget) -> DraftTree:
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self.rows: list[int] = []
        self.probs: list[torch.Tensor] = []
        self.stated: list[float] = []
        self._grow(context, [], NONE, context.matcher)
        if not self.tokens:
            return EMPTY
        arrays = (np.asarray(each, np.int32) for each in (self.tokens, self.parents))
        probs, rows = torch.stack(self.probs), np.asarray(self.rows, np.int32)
        return DraftTree(*arrays, np.log(self.stated), rows, probs, replacement=self.replacement)

    def _grow(self, context: Context, path: list[int], node: int, matcher: Any) -> None:
        if len(path) == self.depth:
            return
        size = context.setting.size
        probs = torch.tensor(table_probs(self.seed, [*context.tokens, *path], size, 1.5))
        if self.masked and matcher is not None:
            allowed = torch.tensor([matcher.allows(token) for token in range(size)])
            probs = probs * allowed if float((probs * allowed).sum()) else allowed.double()
            if not float(probs.sum()):
                return
            probs = probs / probs.sum()
        self.probs.append(probs)
        row, left = len(self.probs) - 1, probs.clone()
        nodes = []
        for _ in range(self.width):
            if float(left.sum()) <= 0:
                break
            token = int(context.setting.draw((left / left.sum()).unsqueeze(0), [context.stream]))
            nodes.append((len(self.tokens), token))
            self.tokens.append(token)
            self.parents.append(node)
            self.rows.append(row)
            self.stated.append(float(probs[token]))
            if not self.replacement:
                left[token] = 0
        for child, token in nodes[:1] if self.spine else nodes:
            after = None if matcher is None else matcher.fork()
            if after is None or after.advance(token):
                self._grow(context, [*path, token], child, after)


class Oracle(Drafter):
    """Knows how the text goes on."""

    name = "oracle"

    def __init__(self, tokens: list[int]) -> None:
        self.whole = tokens

    def draft(self, context: Context, budget: DraftBudget) -> DraftTree:
        return given_chain(self.whole[len(context.tokens) - context.prompt :])


class Table:
    """The target at the places of a tree: probabilities that are given."""

    def __init__(self, probs: torch.Tensor, draw: Any) -> None:
        self.probs, self.draw = probs, draw

    def forced(self, place: int) -> int:
        return NONE

    def probabilities(self, place: int) -> torch.Tensor:
        return self.probs[place]

    def possible(self, place: int, token: int) -> bool:
        return float(self.probs[place, token]) > 0

    def sample(self, place: int) -> int:
        return int(self.draw(self.probs[place].unsqueeze(0), [0]))
