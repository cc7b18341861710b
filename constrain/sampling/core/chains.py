"""The target that stands on any model: a chain of drafts is read by a fork of its session.

For models with recurrent layers, windows or no tree masks, and for users' own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np
import torch

from constrain.errors import ConstrainError
from constrain.sampling.core.model import Ints, LanguageModel, Session, Target, extras_of


def target_of(model: LanguageModel) -> Target:
    """The model itself if it reads trees, what stands on it if not."""
    model = extras_of(model).undrafted or model  # of one that drafts (constrain/speculative/ahead.py)
    return cast(Target, model) if hasattr(model, "open") else ForkTarget(model)


class ForkTarget:
    """A target for chains, on any `LanguageModel`: a fork of the session reads the chain, and is kept if all was taken.

    Cost: a fork of what the model remembers for every draft. The taken part of a chain that was not taken whole is read
    again, by a forward pass of its own. Rows are sessions of their own, and read one by one.

    Args:
        model: the language model.

    Example:
        >>> from constrain.sampling import NGram
        >>> from constrain.speculative import ForkTarget
        >>> ForkTarget(NGram([[0.5, 0.5], [0.5, 0.5]])).branching
        False
    """

    branching = False

    def __init__(self, model: LanguageModel) -> None:
        self.model = model

    @property
    def width(self) -> int:
        """Logits per position."""
        return self.model.width

    def open(self, rows: int) -> ForkSession:
        return ForkSession(self.model, rows)


@dataclass
class _Row:
    """kept: what was committed, but for `behind`, tokens that are still to be read. tried: the last tree read too.
    chunk, tree: what the last forward pass read."""

    kept: Session | None = None
    tried: Session | None = None
    behind: list[int] = field(default_factory=list)
    chunk: list[int] = field(default_factory=list)
    tree: list[int] = field(default_factory=list)


class ForkSession:
    """A session of `ForkTarget`."""

    def __init__(self, model: LanguageModel, rows: int) -> None:
        self.model = model
        self.rows = [_Row() for _ in range(rows)]
        self.forwards: list[int] = [0] * rows

    def forward(
        self, chunks: Sequence[Sequence[int]], keep: Sequence[int], tokens: Sequence[Ints], parents: Sequence[Ints]
    ) -> list[torch.Tensor]:
        """Logits at all places of chains. Raises ConstrainError for a tree that branches."""
        found = []
        self.forwards = []
        for row, chunk, kept, nodes, before in zip(self.rows, chunks, keep, tokens, parents, strict=True):
            if (before != np.arange(-1, len(nodes) - 1)).any():
                raise ConstrainError("this model reads chains, and a tree that branches was given to it")
            found.append(self._read(row, list(chunk), kept, nodes.tolist()))
        return found

    def _read(self, row: _Row, chunk: list[int], keep: int, tree: list[int]) -> torch.Tensor:
        row.chunk, row.tree = chunk, tree
        parts: list[torch.Tensor] = []
        if not chunk:  # not read
            row.chunk = row.behind
            self.forwards.append(0)
            return torch.zeros((0, self.model.width))
        if row.kept is None or row.behind or not tree:  # what is certain to stay is read by the session itself
            if row.kept is None:
                row.kept, (logits,) = self.model.start([chunk], [keep])
            else:
                (logits,) = row.kept.feed([row.behind + chunk], [keep])
            parts.append(logits)
            row.behind = row.chunk = chunk = []
        if tree:
            row.tried = row.kept.fork([0])
            (logits,) = row.tried.feed([chunk + tree], [len(tree) + (0 if parts else keep)])
            parts.append(logits)
        self.forwards.append(len(parts))
        return torch.cat(parts)

    def commit(self, paths: Sequence[Sequence[int]]) -> None:
        for row, path in zip(self.rows, paths, strict=True):
            if row.tree and len(path) == len(row.tree):
                row.kept = row.tried
            else:
                row.behind = row.chunk + row.tree[: len(path)]
            row.tried = None

    def select(self, rows: Sequence[int]) -> None:
        used: set[int] = set()
        chosen = []
        for row in rows:
            twin = self.rows[row]
            if row in used:
                twin = replace(twin, kept=None if twin.kept is None else twin.kept.fork([0]))
            used.add(row)
            chosen.append(twin)
        self.rows = chosen

    def fork(self, rows: Sequence[int]) -> ForkSession:
        twin = ForkSession(self.model, 0)
        own = [self.rows[row] for row in rows]
        twin.rows = [_Row(None if row.kept is None else row.kept.fork([0]), behind=list(row.behind)) for row in own]
        return twin
