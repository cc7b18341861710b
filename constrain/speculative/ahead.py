"""Drafts under every method: a model that reads ahead what drafters guess, whoever chooses the tokens.

The idea: a method asks for logits and chooses. Drafts do not choose, they read: the forward pass for one token reads a
tree of guesses behind it too, and where the method's next token is in the tree, its logits are known. So the
distribution of a method is what it is without drafts, whatever its proposal, its weights and its resampling, and with
the same seed its outputs are the same, up to rounding of the logits. It is the rule `match` (verifiers/match.py), with
the method as the target.

    job = replace(job, model=ReadingAhead(speculation, job))     # for any method that is built on `Particles`

Sequences that fork and part go on from one tree: what they all took of it stays in the model's memory, the rest of a
path is read again with the token after it.

Cost: that of drafting and of longer forward passes. Limit: rules that accept a drafted token by its probability choose
tokens themselves, so they serve masked decoding only (decode.py).
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from constrain.sampling.core.ahead import Ahead, ReadRow
from constrain.sampling.core.job import Job, Settings
from constrain.sampling.core.model import Extras, LanguageModel, TreeSession
from constrain.sampling.core.particles import Particle
from constrain.sampling.core.shape import ShapedModel, shape
from constrain.speculative.drafter import Context, Outcome
from constrain.speculative.drafting import NO_TREE, Drafting, split
from constrain.speculative.tree import BuiltTree

if TYPE_CHECKING:
    from constrain.speculative.decode import Speculation


class ReadingAhead(Extras):
    """A `LanguageModel` that drafts for the sequences that it is given (`constrain.sampling.core.ahead`).

    Args:
        options: drafters, controller and builder; its verifier is not asked.
        job: its model is read; its settings are those of the target.

    Example:
        >>> import constrain
        >>> from dataclasses import replace
        >>> from constrain.generation import make_job
        >>> from constrain.sampling import CARS
        >>> from constrain.sampling.core.sampler import drive
        >>> from constrain.speculative import Speculation
        >>> job = make_job(constrain.reference.load(), '{"color": "', regex='(red|green)", "size": "(S|L)"', seed=1)
        >>> (sample,) = drive(CARS(), replace(job, model=ReadingAhead(Speculation(["words"]), job)))
        >>> sample.drafts["words"].accepted >= 0
        True
    """

    reads_ahead = True
    shape: Settings | None = None  # of the logits that methods are given; drafters are told those of the model

    def __init__(self, options: Speculation, job: Job) -> None:
        self.model, self.drafting = job.model, Drafting(options, job)

    @property
    def width(self) -> int:
        return self.model.width

    @property
    def ragged(self) -> bool:
        """The model's `ragged`: methods take forced tokens in the steps in which they take them without drafts."""
        return self.model.ragged

    @property
    def context(self) -> int | None:
        return self.model.context

    def shaped(self, settings: Settings) -> ReadingAhead:
        """This model, with logits of p for methods."""
        twin = copy.copy(self)
        twin.shape = settings
        return twin

    @property
    def undrafted(self) -> LanguageModel:
        """The model that it reads ahead of."""
        return self.model if self.shape is None else ShapedModel(self.model, self.shape)

    def start(
        self, prefixes: Sequence[Sequence[int]], keep: Sequence[int]
    ) -> tuple[DraftedSession, list[torch.Tensor]]:
        """Begin a session without drafts."""
        session = self._open(len(prefixes))
        return session, session.feed(prefixes, keep)

    def start_ahead(
        self, prefixes: Sequence[Sequence[int]], keep: Sequence[int], writers: Sequence[Particle]
    ) -> tuple[DraftedSession, list[ReadRow]]:
        session = self._open(len(prefixes))
        return session, session.read(range(len(prefixes)), prefixes, keep, writers)

    def _open(self, rows: int) -> DraftedSession:
        return DraftedSession(self, self.drafting.open(rows), [_Row() for _ in range(rows)])


@dataclass
class _Draft:
    """The tree that was read ahead of a row. since: the row's tokens since then. hidden, before: as in `Outcome`."""

    context: Context
    tree: BuiltTree
    ahead: Ahead
    hidden: torch.Tensor | None
    before: torch.Tensor | None
    since: list[int] = field(default_factory=list)

    def outcome(self) -> Outcome:
        """The outcome of the draft, as far as the sequence has come."""
        nodes = np.flatnonzero(self.tree.read)
        path = [int(nodes[place - 1]) for place in _walk(self.ahead, self.since)]
        return Outcome(
            self.context, self.tree, path, self.since[: len(path) + 1], self.ahead.logits, hidden=self.hidden,
            before=self.before,
        )  # fmt: skip


@dataclass
class _Row:
    """A sequence. text: all of it; behind: its end, which the model's memory lacks; memo: what drafters keep for it;
    held: the nodes of its draft are in the model's memory."""

    text: list[int] = field(default_factory=list)
    behind: list[int] = field(default_factory=list)
    memo: dict[Any, Any] = field(default_factory=dict)
    draft: _Draft | None = None
    held: bool = False

    def places(self, chunk: Sequence[int]) -> list[int]:
        """The places in memory that a chunk goes along."""
        return _walk(self.draft.ahead, chunk) if self.held and self.draft is not None else []


class DraftedSession:
    """A batch of sequences behind which drafts are read; an `AheadSession`."""

    def __init__(self, model: ReadingAhead, trees: TreeSession, rows: list[_Row]) -> None:
        self.model, self.trees, self.rows = model, trees, rows
        self.pending = False  # the last forward pass is not committed yet
        self.seconds = 0.0  # that it took, with its drafts

    def feed(self, chunks: Sequence[Sequence[int]], keep: Sequence[int]) -> list[torch.Tensor]:
        """Read without drafts."""
        return [answer.logits for answer in self.read(range(len(self.rows)), chunks, keep, [None] * len(chunks))]

    def select(self, rows: Sequence[int]) -> None:
        self._move(rows, [[] for _ in rows])

    def fork(self, rows: Sequence[int]) -> DraftedSession:
        self._commit([[] for _ in self.rows])
        twins = [_Row(list(self.rows[row].text), list(self.rows[row].behind)) for row in rows]
        return DraftedSession(self.model, self.trees.fork(rows), twins)

    def read(
        self,
        rows: Sequence[int],
        chunks: Sequence[Sequence[int]],
        keep: Sequence[int],
        writers: Sequence[Particle | None],
    ) -> list[ReadRow]:
        begins = not any(row.text for row in self.rows)  # a long prompt is read without a mask over trees
        self._move(rows, chunks)
        asked = [i for i, kept in enumerate(keep) if kept]
        self._tell([self.rows[i] for i in asked])
        drafted = {i: writer for i in asked if (writer := writers[i]) is not None and not writer.ended}
        drafting, known = self.model.drafting, None if begins else self.trees
        contexts = {
            i: drafting.context(writer, self.rows[i].text, self.rows[i].memo, known, i) for i, writer in drafted.items()
        }
        # a run that alone is allowed is read whatever the budget says
        runs = [0 if each.matcher is None else len(each.matcher.forced_tokens()) for each in contexts.values()]
        start = time.perf_counter()
        trees = dict(zip(contexts, drafting.trees(list(contexts.values()), chain=begins, runs=runs), strict=True))
        behind = [self.rows[i].behind if kept else [] for i, kept in enumerate(keep)]
        found, hidden = drafting.read(self.trees, behind, keep, [trees.get(i, NO_TREE) for i in range(len(rows))])
        self.seconds, self.pending = time.perf_counter() - start, True
        settings = self.model.shape
        given = found if settings is None else [shape(logits, settings) for logits in found]  # for the method
        answers = [ReadRow(given[i][:kept], forwards=self.trees.forwards[i]) for i, kept in enumerate(keep)]
        for i in asked:
            self.rows[i].behind = []
        for i, context in contexts.items():
            logits = found[i][keep[i] - 1 :]  # from the root on
            counts = drafting.count(drafted[i].sample, trees[i])
            by_place = dict(enumerate((counts[node] for node in np.flatnonzero(trees[i].read)), 1))
            ahead = Ahead(_kids(trees[i]), logits, counts=by_place)
            before, own = split(hidden and hidden[i], len(logits))
            self.rows[i].draft, self.rows[i].held = _Draft(context, trees[i], ahead, own, before), True
            answers[i] = answers[i]._replace(ahead=ahead.shaped(given[i][keep[i] - 1 :]))
        return answers

    def _move(self, rows: Sequence[int], chunks: Sequence[Sequence[int]]) -> None:
        """Go on with these rows, each with more tokens: what they have of a tree in common stays in memory."""
        walks: list[list[list[int]]] = [[] for _ in self.rows]
        for row, chunk in zip(rows, chunks, strict=True):
            walks[row].append(self.rows[row].places(chunk))
        paths = [_common(each) for each in walks]
        self._commit(paths)
        if list(rows) != list(range(len(self.rows))):
            self.trees.select(rows)
        sources = self.rows
        first = [rows.index(row) for row in rows]  # what drafters keep is of the first to go on; a fork begins anew
        self.rows = [
            sources[row] if first[i] == i else _Row(list(sources[row].text), list(sources[row].behind))
            for i, row in enumerate(rows)
        ]
        for each, row, chunk in zip(self.rows, rows, chunks, strict=True):
            each.text += chunk
            each.behind += chunk[len(paths[row]) :]
            if each.draft is not None:
                each.draft.since += chunk

    def _commit(self, paths: Sequence[Sequence[int]]) -> None:
        """Keep the nodes at these places of each row's tree."""
        if self.pending:
            self.trees.commit([[place - 1 for place in path] for path in paths])
        self.pending = False
        for row in self.rows:
            row.held = False

    def _tell(self, rows: Sequence[_Row]) -> None:
        """Tell drafters and controller what became of the drafts of some rows, once."""
        outcomes = [row.draft.outcome() for row in rows if row.draft is not None]
        for row in rows:
            row.draft = None
        if outcomes:
            self.model.drafting.tell(outcomes, self.seconds)


def _kids(tree: BuiltTree) -> dict[tuple[int, int], int]:
    """(place, token) → place, by the rows of the logits."""
    edges = zip(tree.read_parents.tolist(), tree.read_tokens.tolist(), strict=True)
    return {(parent + 1, token): place for place, (parent, token) in enumerate(edges, 1)}


def _walk(ahead: Ahead, tokens: Sequence[int]) -> list[int]:
    """The places that tokens lead to from the root, as far as they were read."""
    places: list[int] = []
    for token in tokens:
        place = ahead.kids.get((places[-1] if places else 0, token))
        if place is None:
            break
        places.append(place)
    return places


def _common(paths: Sequence[Sequence[int]]) -> list[int]:
    """The beginning that all have; nothing, if there are none."""
    # Places are those of a tree: once apart, paths stay apart.
    return [each[0] for each in zip(*paths, strict=False) if len(set(each)) == 1]
