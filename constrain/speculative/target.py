"""The protocol of speculation's models: logits at all places of a tree from one forward pass; one path is kept.

`constrain.hf` has the one for Hugging Face models (a mask over the tree, keys and values gathered when a path is kept).
`ForkTarget` stands on any `LanguageModel`, in chains: for models with recurrent layers, windows or no tree masks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

import numpy as np
import torch

from constrain.errors import ConstrainError
from constrain.sampling.core.job import Settings
from constrain.sampling.core.model import LanguageModel, Session, extras_of
from constrain.sampling.core.shape import ShapedModel, shape
from constrain.sampling.processors.core.model import ProcessedModel, ProcessedRow
from constrain.speculative.tree import Ints


class TreeReader(Protocol):
    """Reads a forward pass in its own way: more places of it, which no output depends on."""

    def read(
        self,
        session: Any,
        chunks: Sequence[Sequence[int]],
        keep: Sequence[int],
        tokens: Sequence[Ints],
        parents: Sequence[Ints],
    ) -> list[torch.Tensor]:
        """As `TreeSession.forward`, by the session's own with more nodes; sets `session.hidden`."""


Hidden = bool | tuple[int, ...] | TreeReader


class TreeSession(Protocol):
    """B sequences with what the model remembers of them.

    A session may have an attribute `keep_hidden`, to be set before a forward pass. True: then `hidden` has, for each
    row, what the model's head read for the logits of that forward, float[keep + r, H]. A tuple of layers: what went
    into them, joined (without layers: what the last one gave), at every position that was read, float[chunk + r, F].
    A `TreeReader`: what it likes, float[keep + r, F].

    Example:
        >>> from constrain.sampling import NGram
        >>> from constrain.speculative import ForkTarget, TreeSession
        >>> session: TreeSession = ForkTarget(NGram([[0.5, 0.5], [0.5, 0.5]])).open(rows=2)
    """

    @property
    def forwards(self) -> Sequence[int]:
        """B numbers: in how many forward passes of the model each row took part at the last call of `forward`."""

    def forward(
        self,
        chunks: Sequence[Sequence[int]],
        keep: Sequence[int],
        tokens: Sequence[Ints],
        parents: Sequence[Ints],
    ) -> list[torch.Tensor]:
        """Append a chunk to each row, and read a tree behind it; `commit` must follow before the next forward pass.

        chunks: B lists: kept whatever the verdict. A row with an empty one, keep 0 and no tree is not read; not all are
        keep: B numbers ≥ 1: how many of the chunk's last positions' logits are wanted; the last is the root's
        tokens, parents: int32[r] a row, r ≥ 0: the nodes of a tree whose root is the end of the chunk (parents: ROOT or
          an earlier node); a chain unless the target is `branching`
        returns: for each row float[keep + r, width]: logits of the chunk's end, the root last, then after each node
        """

    def commit(self, paths: Sequence[Sequence[int]]) -> None:
        """Keep these nodes of each row's tree, a path from its root, as part of the sequence; forget the others."""

    def select(self, rows: Sequence[int]) -> None:
        """Go on with these rows, in this order; a row may be dropped, or repeated to fork it."""

    def fork(self, rows: Sequence[int]) -> TreeSession:
        """A session of its own that goes on from these rows, in this order; this one stays as it is."""


class Target(Protocol):
    """A model that can be asked about trees; `ForkTarget` is one for any `LanguageModel`.

    Example:
        >>> from constrain.sampling import NGram
        >>> from constrain.speculative import ForkTarget, Target
        >>> target: Target = ForkTarget(NGram([[0.5, 0.5], [0.5, 0.5]]))
        >>> target.width
        2
    """

    @property
    def width(self) -> int:
        """Logits per position."""

    @property
    def branching(self) -> bool:
        """It reads trees; if not, chains only."""

    def open(self, rows: int) -> TreeSession:
        """A session of so many sequences, all empty."""


def target_of(model: LanguageModel) -> Target:
    """The model itself if it reads trees, what stands on it if not; shaped and processed models stay what they are."""
    model = extras_of(model).undrafted or model  # of one that drafts (ahead.py)
    if isinstance(model, ShapedModel):
        return ShapedTarget(target_of(model.model), model.settings)
    if isinstance(model, ProcessedModel):
        return ProcessedTarget(model)
    return cast(Target, model) if hasattr(model, "open") else ForkTarget(model)


class WrappedTarget:
    """A target whose logits another one computes: base class of what changes them."""

    def __init__(self, target: Target) -> None:
        self.target = target

    @property
    def width(self) -> int:
        """Logits per position."""
        return self.target.width

    @property
    def branching(self) -> bool:
        """It reads trees; if not, chains only."""
        return self.target.branching


class ShapedTarget(WrappedTarget):
    """A target whose softmax is p, as the shaped model's is: temperature and truncation come before any mask."""

    def __init__(self, target: Target, settings: Settings) -> None:
        super().__init__(target)
        self.settings = settings

    def open(self, rows: int) -> ShapedTrees:
        return ShapedTrees(self.target.open(rows), self.settings)


class WrappedTrees:
    """A session whose logits another one computes: base class of what changes them."""

    def __init__(self, trees: TreeSession) -> None:
        self.trees = trees

    @property
    def forwards(self) -> Sequence[int]:
        return self.trees.forwards

    @property
    def hidden(self) -> list[torch.Tensor] | None:
        return self.trees.hidden  # type: ignore[attr-defined]

    @property
    def keep_hidden(self) -> Hidden:
        kept: Hidden = self.trees.keep_hidden  # type: ignore[attr-defined]
        return kept  # no such attribute: the session has none either

    @keep_hidden.setter
    def keep_hidden(self, wanted: Hidden) -> None:
        self.trees.keep_hidden = wanted  # type: ignore[attr-defined]

    def commit(self, paths: Sequence[Sequence[int]]) -> None:
        self.trees.commit(paths)

    def select(self, rows: Sequence[int]) -> None:
        self.trees.select(rows)


class ShapedTrees(WrappedTrees):
    """A session of a `ShapedTarget`."""

    def __init__(self, trees: TreeSession, settings: Settings) -> None:
        super().__init__(trees)
        self.settings = settings

    def fork(self, rows: Sequence[int]) -> ShapedTrees:
        return ShapedTrees(self.trees.fork(rows), self.settings)

    def forward(
        self,
        chunks: Sequence[Sequence[int]],
        keep: Sequence[int],
        tokens: Sequence[Ints],
        parents: Sequence[Ints],
    ) -> list[torch.Tensor]:
        return [shape(logits, self.settings) for logits in self.trees.forward(chunks, keep, tokens, parents)]


class ProcessedTarget(WrappedTarget):
    """A target whose distribution is what processors make of another's: states are carried along each path of a tree.

    Args:
        model: its processors and constraints.
    """

    def __init__(self, model: ProcessedModel) -> None:
        super().__init__(target_of(model.model))
        self.model = model

    def open(self, rows: int) -> ProcessedTrees:
        return ProcessedTrees(self.target.open(rows), self.model, [None] * rows)


class ProcessedTrees(WrappedTrees):
    """A session of a `ProcessedTarget`. rows: None before anything was read. read: by row, the places of its tree."""

    def __init__(self, trees: TreeSession, model: ProcessedModel, rows: Sequence[ProcessedRow | None]) -> None:
        super().__init__(trees)
        self.model, self.rows = model, list(rows)
        self.read: list[list[ProcessedRow | None]] = []

    def forward(
        self,
        chunks: Sequence[Sequence[int]],
        keep: Sequence[int],
        tokens: Sequence[Ints],
        parents: Sequence[Ints],
    ) -> list[torch.Tensor]:
        begun = [
            row or (self.model.row_of(chunk) if chunk else None) for row, chunk in zip(self.rows, chunks, strict=True)
        ]
        fresh = [old is None and new is not None for old, new in zip(self.rows, begun, strict=True)]
        text = [
            chunk[len(row.prompt) if new and row else 0 :] for row, new, chunk in zip(begun, fresh, chunks, strict=True)
        ]
        every = self.model.reads_scores
        wanted = [max(k, len(t) + new) if every and k else k for k, t, new in zip(keep, text, fresh, strict=True)]
        found = self.trees.forward(chunks, wanted, tokens, parents)
        self.rows, self.read = begun, [[row] for row in begun]
        result = []
        for i, (row, places) in enumerate(zip(begun, self.read, strict=True)):
            if row is None or not chunks[i]:
                result.append(found[i])
                continue
            parts = [self.model.follow(row, text[i], found[i][: wanted[i]], keep[i], fresh[i])]
            for token, parent, logits in zip(
                tokens[i].tolist(), parents[i].tolist(), found[i][wanted[i] :], strict=True
            ):
                before = places[parent + 1]
                assert before is not None
                places.append(after := before.fork())
                self.model.advance(after, token)
                parts.append(self.model.process(after, logits)[None])
            result.append(torch.cat(parts))
        return result

    def commit(self, paths: Sequence[Sequence[int]]) -> None:
        super().commit(paths)
        self.rows = [places[path[-1] + 1 if path else 0] for places, path in zip(self.read, paths, strict=True)]

    def select(self, rows: Sequence[int]) -> None:
        super().select(rows)
        self.rows = [row and row.fork() for row in (self.rows[i] for i in rows)]

    def fork(self, rows: Sequence[int]) -> ProcessedTrees:
        return ProcessedTrees(
            self.trees.fork(rows), self.model, [row and row.fork() for row in (self.rows[i] for i in rows)]
        )


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
        self,
        chunks: Sequence[Sequence[int]],
        keep: Sequence[int],
        tokens: Sequence[Ints],
        parents: Sequence[Ints],
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
