"""`EntropySwitch`: a small model writes, and a large one takes over where the small one is unsure (EAD).

Measured: does not pay on the embedded pair (n = 10): at τ = 2 the small model takes 21 % of the forward passes, log p
of the large one falls from −2.72 to −2.94 a token, and a token costs 6.1 ms instead of 5.8 (record 2026-11-28-papers).

Paper: Simonds 2025, "Entropy Adaptive Decoding: dynamic model switching for efficient inference" (arXiv 2502.06833),
section 3. With H the entropy in bits at a place, before temperature, of the model that wrote the token before, its mean
over the last w places, and c the tokens since the last switch:

    writer = large if mean > τ else small     where c ≥ d
    writer = that of the token before         elsewhere

State: the writer, c and the last entropies, which are functions of the text. Distribution: at every place that of the
writer, p''(v | x) = p_writer(x)(v | x), which is a language model: weights and all methods are about it. Entropies are
those before the mask of a constraint. Where no prompts are named, the prompt after its first token counts as text.
Not confirmed: which model's entropy is meant (here the only one that need be run), the authors' d.

Cost: a model reads when it writes, in one forward pass for all that it missed; each row has sessions of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from constrain.generation.handles import handle_of
from constrain.papers.composed.core import Composed, prompt_table
from constrain.sampling.core.chains import ForkTarget
from constrain.sampling.core.model import Session, TreeSession
from constrain.sampling.core.sampler import check_count
from constrain.sampling.processors.core.processor import number

SMALL, LARGE = 0, 1


@dataclass(frozen=True)
class Writer:
    """The part that writes. since: tokens since the last switch; entropies: of the last places, in bits."""

    part: int = SMALL
    since: int = 0
    entropies: tuple[float, ...] = ()


class EntropySwitch(Composed):
    """A small and a large model, of which one writes each token.

    Args:
        small: what `generate` takes as a model; it begins.
        large: a model of the same tokenizer.
        threshold: τ in bits, the mean entropy above which the large one writes.
        window: w, places that the mean goes over; theirs is 5.
        least: d, tokens between two switches, at least.
        prompts: the prompts of calls, so that the text begins behind them.
        tokenizer: for models that come without one.

    Raises:
        ConstrainError: an option is out of range, vocabularies that differ, or a prompt begins another one.

    Source:
        Simonds 2025, arXiv 2502.06833, section 3.

    Example:
        >>> import constrain
        >>> from constrain.papers.composed import EntropySwitch
        >>> reference = constrain.reference.load()
        >>> model = EntropySwitch((reference.draft, reference.tokenizer), reference, threshold=2)
        >>> constrain.generate(model, "A word: ", regex="[a-z]{3}!", max_tokens=12, seed=1).finish_reason
        'stop'
    """

    follows = True
    paper = "Simonds 2025, arXiv 2502.06833, section 3"
    law = "p of the small model, or of the large one where the mean entropy of the last places is above a threshold"

    def __init__(
        self,
        small: Any,
        large: Any,
        *,
        threshold: float = 1.0,
        window: int = 5,
        least: int = 5,
        prompts: Sequence[Any] | None = None,
        tokenizer: Any = None,
    ) -> None:
        self.threshold = number("threshold", threshold, 0, 100)
        self.window, self.least = check_count("window", window), check_count("least", least, 0)
        table = None
        if prompts is not None:
            table = prompt_table(handle_of(large, tokenizer), [(prompt, [prompt] * 2) for prompt in prompts], 2)
        super().__init__([small, large], table, tokenizer)

    def begin(self) -> Writer:
        return Writer()

    def moved(self, writer: Writer, nats: float) -> Writer:
        """The writer of a place. nats: entropy there, of the writer of the place before."""
        entropies = (*writer.entropies, nats / math.log(2))[-self.window :]
        part = LARGE if sum(entropies) / len(entropies) > self.threshold else SMALL
        if part == writer.part or writer.since < self.least:
            return replace(writer, since=writer.since + 1, entropies=entropies)
        return Writer(part, 1, entropies)

    def start(self, prefixes: Sequence[Sequence[int]], keep: Sequence[int]) -> tuple[Session, list[torch.Tensor]]:
        rows, found = [], []
        for prefix, kept in zip(prefixes, keep, strict=True):
            prompt = self._prompt(tuple(prefix))
            row = _Row(self.begin(), [None, None], [[], []])
            rows.append(row)
            found.append(self.read(row, list(prefix), len(prefix) - len(prompt) + 1, kept))
        return SwitchSession(self, rows), found

    @property
    def branching(self) -> bool:
        """False: who writes at a place follows from what was read before it, so drafts are chains, read in order."""
        return False

    def open(self, rows: int) -> TreeSession:
        return ForkTarget(self).open(rows)

    def read(self, row: _Row, tokens: Sequence[int], places: int, keep: int) -> torch.Tensor:
        """Logits float[K, W] of the last of the places behind new tokens."""
        given: dict[int, torch.Tensor] = {}  # by part: a forward pass each, when first asked

        def log_p(place: int) -> torch.Tensor:
            part = row.writer.part
            if part not in given:
                given[part] = row.log_probs(self.parts, part, places)
            return given[part][place]

        for unread in row.unread:
            unread.extend(tokens)
        scores = []
        for place in range(places):
            row.writer = self.moved(row.writer, float(torch.special.entr(log_p(place).exp()).sum()))
            scores.append(log_p(place))
        return torch.stack(scores[-keep:])


@dataclass
class _Row:
    """One text. sessions: by part, None before it reads; unread: tokens that it has not read."""

    writer: Writer
    sessions: list[Any]
    unread: list[list[int]]

    def log_probs(self, parts: Sequence[Any], part: int, places: int) -> torch.Tensor:
        """Log p of the last places, float[places, W], of a part that reads what it missed."""
        tokens, self.unread[part] = self.unread[part], []
        if self.sessions[part] is None:
            self.sessions[part], (logits,) = parts[part].start([tokens], [places])
        else:
            (logits,) = self.sessions[part].feed([tokens], [places])
        return logits.double().log_softmax(-1)

    def fork(self) -> _Row:
        sessions = [session and session.fork([0]) for session in self.sessions]
        return _Row(self.writer, sessions, [list(unread) for unread in self.unread])


class SwitchSession:
    """A session of an `EntropySwitch`: of each row, sessions of the parts that have read something."""

    def __init__(self, owner: EntropySwitch, rows: list[_Row]) -> None:
        self.owner, self.rows = owner, rows

    def feed(self, chunks: Sequence[Sequence[int]], keep: Sequence[int]) -> list[torch.Tensor]:
        triples = zip(self.rows, chunks, keep, strict=True)
        return [self.owner.read(row, chunk, len(chunk), kept) for row, chunk, kept in triples]

    def select(self, rows: Sequence[int]) -> None:
        first = {row: place for place, row in reversed(list(enumerate(rows)))}
        self.rows = [self.rows[row] if first[row] == n else self.rows[row].fork() for n, row in enumerate(rows)]

    def fork(self, rows: Sequence[int]) -> SwitchSession:
        return SwitchSession(self.owner, [self.rows[row].fork() for row in rows])
