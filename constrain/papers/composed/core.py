"""`Composed`: a language model made of others, each of which reads the same output after a prompt of its own.

    parts       models, or one model several times
    prompts     for each prompt of a call, what each part reads in its place
    combine     log p_1, …, log p_n of the next token -> scores of the composed model

It has all that `generate` asks of a model, so constraints, processors and every method go on top of it as they are, and
their distributions are about the composed model. A part that is the same model as another has a session of its own.

Drafts: a composed model is a function of what its parts say at one place, so each part reads the same tree after a
prompt of its own, and the logits of its nodes are combined (`ComposedTrees`); what follows the text is carried along
each path. Where a part reads chains only, drafts are chains.

Cost: a forward pass of each part for every token. Where the combination follows the text (`follows`), the logits of
every place of an output. Limit: one vocabulary, token for token; no prompt of a call may begin another one, since a
model is told texts and not where an output begins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch

from constrain.errors import ConstrainError
from constrain.generation.handles import Handle, handle_of
from constrain.generation.request.prompts import parse_prompts, token_ids
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.sampling.core.model import Extras, LanguageModel, Session
from constrain.speculative.target import TreeSession, target_of
from constrain.speculative.tree import Ints

Prompt = tuple[int, ...]
FLOOR = -100.0  # log-probability that is taken for that of a token without any, where a part is divided by


class Composed(Extras):
    """A `LanguageModel` made of others; see the module `constrain.papers.composed.core`. Subclasses say `combine`.

    Args:
        parts: models; `generate` takes what it takes as a model.
        prompts: token ids of each prompt of a call → what each part reads in its place. None: all read the prompt.
        tokenizer: for a model that comes without one.

    Raises:
        ConstrainError: vocabularies that differ, or prompts of which one begins another.

    Example:
        >>> from constrain.papers.composed import Composed
        >>> from constrain.papers import NGram
        >>> class Least(Composed):
        ...     def combine(self, log_probs, state):
        ...         return log_probs[0].minimum(log_probs[1])
        >>> model = Least([NGram([0.5, 0.5]), NGram([0.9, 0.1])])
        >>> model.start([[0]], keep=[1])[1][0].exp()
        tensor([[0.5000, 0.1000]], dtype=torch.float64)
    """

    follows = False
    paper = ""
    law = ""

    def __init__(
        self, parts: Sequence[Any], prompts: Mapping[Prompt, Sequence[Prompt]] | None = None, tokenizer: Any = None
    ) -> None:
        self.parts: list[LanguageModel] = [_model(part, tokenizer) for part in parts]
        first = self.parts[0]
        for place, part in enumerate(self.parts):
            if part is not first and not _speaks_like(part, first):
                raise ConstrainError(
                    "parts of a composed model have different vocabularies",
                    place=f"part {place}",
                    fix="compose models of one tokenizer",
                )
        self.prompts = None if prompts is None else {key: tuple(map(tuple, value)) for key, value in prompts.items()}
        for one, two in pairwise(sorted(self.prompts or ())):
            if two[: len(one)] == one:
                raise ConstrainError(
                    "a prompt of a composed model begins another one", fix="make a model for each of these prompts"
                )

    @property
    def width(self) -> int:
        """Logits per position."""
        return self.parts[0].width

    @property
    def context(self) -> int | None:
        """Positions that a prompt and its output may have, so that no part runs out of its own."""
        found = []
        for place, part in enumerate(self.parts):
            if part.context is not None:
                longer = [len(others[place]) - len(prompt) for prompt, others in (self.prompts or {}).items()]
                found.append(part.context - max([0, *longer]))
        return min(found, default=None)

    @property
    def ragged(self) -> bool:
        return all(part.ragged for part in self.parts)

    @property
    def branching(self) -> bool:
        """It reads trees; if not, chains only."""
        return all(target_of(part).branching for part in self.parts)

    @property
    def tokenizer(self) -> Any:
        """Of the first part."""
        return self.parts[0].tokenizer  # type: ignore[attr-defined]

    @property
    def vocabulary(self) -> Vocabulary:
        """Of the first part."""
        return self.parts[0].vocabulary  # type: ignore[attr-defined]

    def combine(self, log_probs: Sequence[torch.Tensor], state: Any) -> torch.Tensor:
        """Scores float[K, W] of the composed model from log p of each part, float[K, W]. state: None, or of the row."""
        raise NotImplementedError

    def begin(self) -> Any:
        """The state of a row at the beginning of an output, where the combination follows the text."""
        return None

    def advance(self, state: Any, token: int, log_probs: Sequence[torch.Tensor]) -> Any:
        """The state after a token. log_probs: of its place, float[W] for each part."""
        return state

    def start(self, prefixes: Sequence[Sequence[int]], keep: Sequence[int]) -> tuple[Session, list[torch.Tensor]]:
        begun = [self.parted(prefix) for prefix in prefixes]
        wanted = [max(k, len(text) + 1) if self.follows else k for k, (_, text) in zip(keep, begun, strict=True)]
        started = [
            part.start([[*prompts[place], *text] for prompts, text in begun], wanted)
            for place, part in enumerate(self.parts)
        ]
        composed = ComposedSession(self, [session for session, _ in started], [_Row(self.begin()) for _ in prefixes])
        return composed, composed.read([[None, *text] for _, text in begun], [given for _, given in started], keep)

    def open(self, rows: int) -> TreeSession:
        """A session of so many sequences for drafts: one of each part."""
        return ComposedTrees(self, [target_of(part).open(rows) for part in self.parts], [None] * rows)

    def parted(self, prefix: Sequence[int]) -> tuple[Sequence[Prompt], list[int]]:
        """The prompts that parts read in place of the one that begins a prefix, and the text behind it."""
        prompt = self._prompt(tuple(prefix))
        own = [prompt] * len(self.parts) if self.prompts is None else self.prompts[prompt]
        return own, list(prefix[len(prompt) :])

    def log_probs(self, given: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Log p of each part, float64[K, W], of its logits at the same places."""
        return [logits.to(given[0].device).double().log_softmax(-1) for logits in given]

    def _prompt(self, prefix: Prompt) -> Prompt:
        """The prompt that begins a prefix.

        Where parts read alike, all of it, or its first token if the combination follows the text from there.
        """
        if self.prompts is None:
            return prefix[:1] if self.follows else prefix
        found = next((prefix[:n] for n in range(1, len(prefix) + 1) if prefix[:n] in self.prompts), None)
        if found is None:
            raise ConstrainError(
                "this prompt has no counterparts in the composed model",
                place=f"a prompt of {len(prefix)} tokens",
                fix="name it when the model is made, as it is given to generate; healing changes prompts",
            )
        return found


@dataclass(frozen=True)
class _Row:
    """The end of a text. state: where the combination follows it; last: log p of each part there, float[W]."""

    state: Any = None
    last: Sequence[torch.Tensor] = ()

    def after(self, owner: Composed, token: int | None, last: Sequence[torch.Tensor]) -> _Row:
        """The end one token on, of which the parts say `last`; None: a token that is no part of an output."""
        return _Row(self.state if token is None else owner.advance(self.state, token, self.last), last)

    def scores(self, owner: Composed) -> torch.Tensor:
        """float[1, W]: of the composed model there."""
        return owner.combine([log_p[None] for log_p in self.last], self.state)


class ComposedSession:
    """A session of a `Composed` model: one of each part."""

    def __init__(self, owner: Composed, sessions: list[Any], rows: list[_Row]) -> None:
        self.owner, self.sessions, self.rows = owner, sessions, rows

    def feed(self, chunks: Sequence[Sequence[int]], keep: Sequence[int]) -> list[torch.Tensor]:
        follows = self.owner.follows
        wanted = [max(k, len(chunk)) if follows else k for k, chunk in zip(keep, chunks, strict=True)]
        return self.read(chunks, [session.feed(chunks, wanted) for session in self.sessions], keep)

    def read(
        self, chunks: Sequence[Sequence[int | None]], given: Sequence[list[torch.Tensor]], keep: Sequence[int]
    ) -> list[torch.Tensor]:
        """The scores of the last places of each row. chunks: tokens, None for what is no part of an output.

        given: of each part the logits float[n, W] for every row, n ≥ keep
        """
        found = []
        for number, (chunk, kept) in enumerate(zip(chunks, keep, strict=True)):
            logs = self.owner.log_probs([logits[number] for logits in given])
            if not self.owner.follows:
                found.append(self.owner.combine([log_p[len(log_p) - kept :] for log_p in logs], None))
                continue
            places = _along(self.owner, self.rows[number], chunk, logs, len(logs[0]))
            self.rows[number] = places[-1]
            found.append(torch.cat([place.scores(self.owner) for place in places[len(places) - kept :]]))
        return found

    def select(self, rows: Sequence[int]) -> None:
        for session in self.sessions:
            session.select(rows)
        self.rows = [self.rows[row] for row in rows]

    def fork(self, rows: Sequence[int]) -> ComposedSession:
        twins = [session.fork(rows) for session in self.sessions]
        return ComposedSession(self.owner, twins, [self.rows[row] for row in rows])


def _along(
    owner: Composed, row: _Row, chunk: Sequence[int | None], logs: Sequence[torch.Tensor], end: int
) -> list[_Row]:
    """The places behind each token of a chunk. logs: of each part, float[K, W]; those of the chunk end before `end`."""
    places = []
    for place, token in zip(range(end - len(chunk), end), chunk, strict=True):
        row = row.after(owner, token, [log_p[place] for log_p in logs])
        places.append(row)
    return places


class ComposedTrees:
    """A session of a `Composed` model for drafts: one of each part, which reads the same tree.

    rows: the ends of the sequences, None before anything was read. read: by row, the places of its tree, the root first
    """

    def __init__(self, owner: Composed, sessions: list[TreeSession], rows: Sequence[_Row | None]) -> None:
        self.owner, self.sessions, self.rows = owner, sessions, list(rows)
        self.read: list[list[_Row | None]] = []

    @property
    def forwards(self) -> Sequence[int]:
        """In how many forward passes of any one part each row took part."""
        return list(map(max, *(session.forwards for session in self.sessions), [0] * len(self.rows)))

    def forward(
        self, chunks: Sequence[Sequence[int]], keep: Sequence[int], tokens: Sequence[Ints], parents: Sequence[Ints]
    ) -> list[torch.Tensor]:
        owner = self.owner
        texts: list[Sequence[int | None]] = list(chunks)
        own = [list(chunks) for _ in self.sessions]  # by part
        for i, (row, chunk) in enumerate(zip(self.rows, chunks, strict=True)):
            if row is None and chunk:
                prompts, written = owner.parted(chunk)
                self.rows[i], texts[i] = _Row(owner.begin()), [None, *written]
                for each, prompt in zip(own, prompts, strict=True):
                    each[i] = [*prompt, *written]
        wanted = [max(k, len(text)) if owner.follows and k else k for k, text in zip(keep, texts, strict=True)]
        given = [
            session.forward(chunk, wanted, tokens, parents) for session, chunk in zip(self.sessions, own, strict=True)
        ]
        self.read = [[row] for row in self.rows]
        found = []
        for i, places in enumerate(self.read):
            row, logs = places[0], owner.log_probs([logits[i] for logits in given])
            if row is None or not texts[i]:  # not read
                found.append(given[0][i])
                continue
            if not owner.follows:
                places += [row] * len(tokens[i])
                found.append(owner.combine(logs, None))
                continue
            text = _along(owner, row, texts[i], logs, wanted[i])
            places[0] = text[-1]
            for node, (token, parent) in enumerate(zip(tokens[i].tolist(), parents[i].tolist(), strict=True)):
                before = places[parent + 1]
                assert before is not None
                places.append(before.after(owner, token, [log_p[wanted[i] + node] for log_p in logs]))
            asked = [*text[len(text) - keep[i] :], *places[1:]]
            found.append(torch.cat([place.scores(owner) for place in asked if place is not None]))
        return found

    def commit(self, paths: Sequence[Sequence[int]]) -> None:
        for session in self.sessions:
            session.commit(paths)
        self.rows = [places[path[-1] + 1 if path else 0] for places, path in zip(self.read, paths, strict=True)]

    def select(self, rows: Sequence[int]) -> None:
        for session in self.sessions:
            session.select(rows)
        self.rows = [self.rows[row] for row in rows]

    def fork(self, rows: Sequence[int]) -> ComposedTrees:
        return ComposedTrees(
            self.owner, [session.fork(rows) for session in self.sessions], [self.rows[row] for row in rows]
        )


def shares_of(weights: Sequence[float] | None, count: int) -> list[float]:
    """Weights that sum to 1; equal ones by default. Raises ConstrainError."""
    given = [1.0] * count if weights is None else list(weights)
    numbers = all(isinstance(w, (int, float)) and not isinstance(w, bool) and 0 <= w < float("inf") for w in given)
    if len(given) != count or not numbers or sum(given) <= 0:
        raise ConstrainError(f"weights must be {count} numbers of at least 0, not all 0: {given!r:.80}")
    return [float(weight) / sum(given) for weight in given]


def prompt_table(model: Any, prompts: Any, count: int) -> dict[Prompt, list[Prompt]]:
    """Token ids of each prompt → those of its counterparts.

    prompts: {prompt: counterpart} or {prompt: [counterparts]}, or pairs of the two where prompts are chat messages or
    token ids. count: how many counterparts each must have; 0: any number, the same for all. Raises ConstrainError.
    """
    items = list(prompts.items()) if isinstance(prompts, dict) else [tuple(pair) for pair in prompts]
    table: dict[Prompt, list[Prompt]] = {}
    for prompt, others in items:
        several = [others] if count == 1 else list(others)
        table[_ids(model, prompt)] = [_ids(model, other) for other in several]
    lengths = {len(others) for others in table.values()}
    if not table or len(lengths) != 1 or lengths == {0}:
        raise ConstrainError("every prompt needs counterparts, equally many", fix='{"prompt": ["another", "a third"]}')
    return table


def _ids(model: Any, prompt: Any) -> Prompt:
    (ids,) = token_ids(parse_prompts(prompt), model)
    return tuple(ids)


def _model(part: Any, tokenizer: Any) -> Any:
    """A part as it is if it is a language model, else its handle."""
    return part if hasattr(part, "start") and hasattr(part, "width") else handle_of(part, tokenizer)


def _speaks_like(one: Any, other: Any) -> bool:
    """The same width, and the same bytes for every token, where both have a vocabulary."""
    if one.width != other.width:
        return False
    if not (isinstance(one, Handle) and isinstance(other, Handle)):
        return True
    pairs = zip(one.vocabulary.tokens, other.vocabulary.tokens, strict=False)
    return all(theirs == ours for theirs, ours in pairs)
