"""The input of a sampling method, a `Job`, and its output, a `Sample` for each row.

A `Job` is a batch of rows: row i continues `prompts[i]`, may say what its matcher allows, and draws from stream
`streams[i]`. A method (`constrain.sampling.methods.table`) turns it into one `Sample` a row.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

from constrain.languages.vocab.bits import set_bits
from constrain.limits import check_cancelled
from constrain.sampling.bitmask.apply import bitmask_words
from constrain.sampling.core.draw import Draw
from constrain.sampling.core.model import LanguageModel

FinishReason = Literal["stop", "length", "dead_end", "budget"]


@dataclass(frozen=True)
class Settings:
    """The shape of the model's distribution, and the length of an output. `generate` validates the values.

    Attributes:
        max_tokens: tokens of an output at most, EOS counted.
        temperature: divides the logits; 0 takes the likeliest allowed token.
        top_k: keep so many of the likeliest tokens; None keeps all.
        top_p: keep the likeliest tokens of this mass, in (0, 1]; None keeps all.

    Example:
        >>> from constrain.sampling import Settings
        >>> Settings(temperature=0.7, top_k=50).truncates
        True
    """

    max_tokens: int = 512  # EOS counts
    temperature: float = 1.0  # 0: the likeliest allowed token
    top_k: int | None = None
    top_p: float | None = None

    @property
    def truncates(self) -> bool:
        """Some allowed tokens may get no probability."""
        return self.top_k is not None or self.top_p is not None


class TokenMatcher(Protocol):
    """The part of a matcher that samplers use; see `constrain.masks.engine`."""

    def fill_mask(self, row: np.ndarray) -> None: ...
    def advance(self, token_id: int) -> bool: ...
    def forced_tokens(self) -> Sequence[int]: ...
    def is_accepting(self) -> bool: ...
    def is_finished(self) -> bool: ...
    def rollback(self, n_tokens: int) -> None: ...
    def fork(self) -> Any: ...


@runtime_checkable
class Compiled(Protocol):
    """The part of `CompiledConstraint` that decoding needs; constraints of other engines offer it too."""

    @property
    def vocabulary(self) -> Any:
        """The `Vocabulary` that the constraint is compiled for."""

    def matcher(self) -> Any:
        """A matcher at the beginning of a text."""


class TokenRecord(NamedTuple):
    """One token of an output, with the numbers of `constrain.sampling.core.step`.

    Attributes:
        token: its id.
        log_prob_raw: log p of the model at this temperature, over all logits.
        log_prob_sampled: log of the probability that it was drawn with; 0 where it was not drawn.
        log_z: log of the model's mass on the allowed tokens.
        forced: the constraint allowed nothing else, so the token was appended and not drawn.

    Example:
        >>> import constrain
        >>> g = constrain.generate(constrain.reference.load(), "A date: ", regex="2[0-9]{3}", seed=1)
        >>> sum(record.log_prob_raw for record in g.trace) == g.logprob
        True
    """

    token: int
    log_prob_raw: float
    log_prob_sampled: float
    log_z: float
    forced: bool = False  # the constraint allowed nothing else: appended, not drawn


@dataclass
class DraftCount:
    """The counts of a drafter's tokens for a sequence (`constrain.speculative`).

    drafted: its tokens that a forward read; accepted: the target took them; refused: proposed, but illegal
    fault: the error that it raised; it was not asked again
    """

    drafted: int = 0
    accepted: int = 0
    refused: int = 0
    fault: str | None = None

    def add(self, other: DraftCount) -> None:
        """Count in what happened elsewhere."""
        self.drafted += other.drafted
        self.accepted += other.accepted
        self.refused += other.refused
        self.fault = self.fault or other.fault


@dataclass(kw_only=True)
class Work:
    """The work that an output took; `Sample` and `Stats` have it in common. Its counts add up over attempts.

    Attributes:
        forwards: sequences × forwards that the output took part in; sequences that were read as one count as one.
        masks: masks filled for it.
        attempts: sequences begun for it.
        accepted: attempts that became members and were not thrown away.
        evaluations: calls of a predicate or potential.
        drafts: counts by drafter; "constraint" has tokens forced after a drafted one. Empty without drafts.

    Example:
        >>> total = Work(forwards=2)
        >>> total.add(Work(forwards=3, masks=1))
        >>> total.forwards, total.masks
        (5, 1)
    """

    forwards: int = 0
    masks: int = 0
    attempts: int = 0
    accepted: int = 0
    evaluations: int = 0
    drafts: dict[str, DraftCount] = field(default_factory=dict)

    def add(self, other: Work) -> None:
        """Count in the work of another attempt."""
        self.forwards += other.forwards
        self.masks += other.masks
        self.attempts += other.attempts
        self.accepted += other.accepted
        self.evaluations += other.evaluations
        for name, count in other.drafts.items():
            self.drafts.setdefault(name, DraftCount()).add(count)


@dataclass
class Sample(Work):
    """One output of a method, with its `Work`.

    Attributes:
        tokens: ids, EOS included when it was taken.
        log_prob: log p(tokens) of the raw model.
        log_weight: log importance weight. Weighted methods: E[exp(log_weight) · 1(tokens = x)] = p(x) for every
            member x. Exact methods and chains: 0, since the sample is from the stated distribution. -inf: not to be
            used.
        finish_reason: "stop", EOS was taken; "length", no room for more; "dead_end", no allowed token had any mass;
            "budget", the method gave up after as many attempts as it may make.
        trace: the numbers of every token.
        log_evidence: log of this row's estimate of the mass of the language; None where the method has none.
        evidence_bounds: proven (lower, upper) bounds on that log; None where the method has none.
        population: weighted samples that this one was chosen from, or the states of the chain that it ends; else empty.
        tv_bound: a proven bound on the total variation distance between the distribution of this sample and the target;
            None where nothing is proven.
        attempts: sequences begun for this row, of its `Work`; here 1 by default.
        method: where a method chose another, which one and why.

    Example:
        >>> from constrain.sampling import Sample
        >>> Sample(tokens=[5, 2], finish_reason="stop").log_weight
        0.0
    """

    tokens: list[int] = field(default_factory=list)
    log_prob: float = 0.0
    log_weight: float = 0.0
    finish_reason: FinishReason = "length"
    trace: list[TokenRecord] = field(default_factory=list)
    log_evidence: float | None = None
    evidence_bounds: tuple[float, float] | None = None
    population: list[Sample] = field(default_factory=list, repr=False)
    tv_bound: float | None = None
    attempts: int = field(default=1, kw_only=True)
    method: str = ""


def total_work(parts: Iterable[Work]) -> Work:
    """The work of several attempts."""
    total = Work()
    for part in parts:
        total.add(part)
    return total


class Watcher:
    """Hears how far a method is. This one does nothing with it; `constrain.progress` draws a bar.

    Rows are numbered as in the job.
    """

    def began(self, row: int, sample: Sample) -> None:
        """A sequence that may become an output begins. Its tokens and their numbers grow as it is written."""

    def wrote(self, row: int, tokens: Sequence[int]) -> None:
        """Tokens of an output are final."""

    def stepped(self) -> None:
        """The model was asked."""

    def ended(self, row: int) -> None:
        """Hear that an output is done; this may be called twice."""

    def reopened(self, row: int) -> None:
        """An output that was done failed the check of the finished text, and is sampled anew."""

    def of(self, rows: Sequence[int]) -> Watcher:
        """The watcher of a part of the job: its row i is rows[i] here."""
        return _PartWatcher(self, rows)


class _PartWatcher(Watcher):
    def __init__(self, whole: Watcher, rows: Sequence[int]) -> None:
        self.whole, self.rows = whole, rows

    def began(self, row: int, sample: Sample) -> None:
        self.whole.began(self.rows[row], sample)

    def wrote(self, row: int, tokens: Sequence[int]) -> None:
        self.whole.wrote(self.rows[row], tokens)

    def ended(self, row: int) -> None:
        self.whole.ended(self.rows[row])

    def reopened(self, row: int) -> None:
        self.whole.reopened(self.rows[row])


class Clock:
    """Seconds by stage, for the batch as a whole. watcher: hears when the stage "model" ends."""

    def __init__(self, watcher: Watcher | None = None) -> None:
        self.seconds: dict[str, float] = {}
        self.watcher = watcher
        self._start = time.perf_counter()

    def stop(self) -> None:
        """Note the time since the clock was made, as "total"."""
        self.seconds["total"] = time.perf_counter() - self._start

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time spent inside to a stage. Raises LimitError if limits of the thread are cancelled."""
        check_cancelled()
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
            if name == "model" and self.watcher is not None:
                self.watcher.stepped()


def fill_one_by_one(matchers: Sequence[TokenMatcher], out: np.ndarray) -> None:
    """Fill uint32[B, ceil(V / 32)], a row a matcher. The engine has a batched twin."""
    for matcher, row in zip(matchers, out, strict=True):
        matcher.fill_mask(row)


@dataclass
class Job:
    """A batch of rows to complete; `constrain.generation.make_job` makes one from the arguments of `generate`.

    Attributes:
        model: gives logits.
        prompts: token ids of each row, at least one.
        matchers: one for each row, fresh (methods fork them); None without a constraint.
        size: tokens of the vocabulary.
        eos_ids: the ids that end an output.
        settings: temperature, truncation, length.
        draw: the source of randomness.
        streams: the stream of each row.
        fill_masks: fills the bitmasks of several matchers.
        clock: seconds by stage.
        constraint_key: tells this constraint, on this vocabulary, from others; "" where nobody can say.
        row_keys: tells the matchers and budgets of rows apart, one for each row; None where all rows have the same.
        budgets: tokens of an output of each row at most, EOS counted; None: `settings.max_tokens` for all.
        token_bytes: bytes by id, None for what is no text; only methods with potentials need it.
        grow: completes sequences (`Particle`s) by masked decoding, with only EOS at the last place of a budget, instead
            of the plain loop of `sir.grown`, whose arguments it has. So methods built on that loop use drafts
            (`constrain.speculative`).
        watcher: is told which outputs are done, by methods that finish one after the other.

    Example:
        >>> import constrain
        >>> from constrain.generation import make_job
        >>> job = make_job(constrain.reference.load(), "A date: ", n=2, regex="2[0-9]{3}")
        >>> len(job.prompts), job.groups()
        (2, [[0, 1]])
    """

    model: LanguageModel
    prompts: Sequence[Sequence[int]]
    matchers: Sequence[TokenMatcher] | None
    size: int
    eos_ids: Collection[int]
    settings: Settings
    draw: Draw
    streams: Sequence[int]
    fill_masks: Callable[[Sequence[Any], np.ndarray], None] = fill_one_by_one
    clock: Clock = field(default_factory=Clock)
    constraint_key: str = ""
    row_keys: Sequence[str] | None = None
    budgets: Sequence[int] | None = None
    token_bytes: Sequence[bytes | None] = ()
    grow: Callable[[Job, Sequence[Any], Callable[[Any], None] | None], None] | None = None
    watcher: Watcher = field(default_factory=Watcher)

    def target(self, row: int) -> tuple[tuple[int, ...], str]:
        """Rows with equal values sample the same: the prompt, and what is particular about the row's constraint."""
        return tuple(self.prompts[row]), "" if self.row_keys is None else self.row_keys[row]

    def part(self, rows: Sequence[int], streams: Sequence[int] | None = None) -> Job:
        """Some rows, as a job of their own; its matchers are forks.

        Rows may repeat if streams are given; then they are no outputs, and nobody watches them.
        """
        return replace(
            self,
            prompts=[self.prompts[row] for row in rows],
            matchers=None if self.matchers is None else [self.matchers[row].fork() for row in rows],
            streams=[self.streams[row] for row in rows] if streams is None else streams,
            row_keys=None if self.row_keys is None else [self.row_keys[row] for row in rows],
            budgets=None if self.budgets is None else [self.budgets[row] for row in rows],
            watcher=self.watcher.of(rows) if streams is None else Watcher(),
        )

    def groups(self) -> list[list[int]]:
        """The rows, grouped by target, in order of their first."""
        found: dict[Any, list[int]] = {}
        for row in range(len(self.prompts)):
            found.setdefault(self.target(row), []).append(row)
        return list(found.values())

    @property
    def words(self) -> int:
        """Words of a row of bitmasks."""
        return bitmask_words(self.size)

    def eos_mask(self) -> np.ndarray:
        """uint32[words]: nothing but the ids that end an output."""
        row = np.zeros(self.words, np.uint32)
        set_bits(row, self.eos_ids)
        return row
