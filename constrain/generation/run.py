"""Running a checked request: samples from the method, then text, value and the last check.

What the grammar cannot say — a residual keyword of a schema, a validator of a pydantic model — is checked where a text
could end: one that fails may not end there. So it is part of the language of which methods state evidence and bounds.
An output whose finished text is refused is thrown away and sampled anew, as often as `constrain.sampling.Retried` says
(not at temperature 0 or by a method that draws nothing, where it would come out the same, nor in a stream, which cannot
be taken back); then its finish_reason is "dead_end", its fault is named, and it has no value. Every complete output is
checked once more (verdict.py), so nothing invalid is ever returned as "stop".
Throwing away divides the distribution of the method by the share that passes: the weights of outputs keep their
ratios, but their mean no longer estimates the mass of the language, and `log_evidence` is None (`stats.retries` tells
why). So methods whose weights count what failed as 0 (`Sampler.weighs`) do so here, too, unless `Retried` is asked for;
and nobody samples a dead end anew that no check has made: one by truncation, a guard or a method's own check counts 0.
"""

from __future__ import annotations

import codecs
import hashlib
import logging
import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from constrain.chat import is_tool_use
from constrain.errors import ConstrainError, LimitError
from constrain.generation.handles import Handle, MaskedDecoding, dtypes_of
from constrain.generation.identity import key_of
from constrain.generation.request.length import Length
from constrain.generation.request.request import Request
from constrain.generation.result import Generation, Stats, reports
from constrain.generation.verdict import Refused, refused_end, verdict
from constrain.languages.constraints.base import Constraint, tempered_rule
from constrain.masks.completion.length_budget import BudgetError, LengthBudget
from constrain.masks.derived.cuts import CompiledCuts
from constrain.masks.derived.forced import ForcedCuts, fill_forced
from constrain.masks.derived.wanted_cuts import with_canonical
from constrain.masks.engine import CompiledConstraint, fill_masks
from constrain.masks.engine.narrowed import fill_narrowed
from constrain.sampling.core.draw import TorchDraw
from constrain.sampling.core.job import Clock, Job, Sample, Settings, Watcher, fill_one_by_one
from constrain.sampling.core.model import LanguageModel
from constrain.sampling.core.particles import budget_of
from constrain.sampling.core.sampler import traits_of
from constrain.sampling.methods.lcd import lcd
from constrain.sampling.methods.retried import retries_by_default

if TYPE_CHECKING:
    from constrain.generation.healing import Healing
    from constrain.reports.display.tokens import ShownToken
    from constrain.speculative import Speculation

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Terms:
    """The constraint and the length limit of an output.

    compiled, constraint: None when unconstrained; a constraint of another make is both.
    length: tokens of an output, EOS counted
    """

    compiled: Any
    constraint: Any
    length: Length


class Row(NamedTuple):
    """One output of a call.

    prompt: token ids. terms: rows with equal terms have the same object. number: of the output in the call; its stream
    of the seed. healing: the last token of the prompt is taken back, and written again; needs a constraint.
    """

    prompt: list[int]
    terms: Terms
    number: int
    healing: bool


def settings_of(request: Request, rows: Sequence[Row]) -> Settings:
    """The settings that are common to some rows; `max_tokens` is the greatest."""
    return replace(request.settings, max_tokens=max(row.terms.length.at_most for row in rows))


@dataclass
class Run:
    """A request that runs. All rows are constrained, by constraints of one vocabulary, or none.

    rows: those of the request, or a part of them
    seed: of the call
    clock: was made when the call began; "compile" is in it already
    decoding: how methods that are built on masked decoding get whole sequences: with drafts, or from an engine; None:
        token by token
    watcher: is told how far the rows are
    """

    request: Request
    rows: Sequence[Row]
    handle: Handle
    seed: int
    clock: Clock
    decoding: MaskedDecoding | None = None
    watcher: Watcher = field(default_factory=Watcher)

    def __post_init__(self) -> None:
        self.settings = settings_of(self.request, self.rows)
        asked = self.request.method
        self.method: Any = asked if self.decoding is None else self.decoding.method_for(asked)
        self.terms = [row.terms for row in self.rows]
        self.distinct = list(dict.fromkeys(self.terms))
        self.constrained = self.terms[0].compiled is not None
        self.processors = self.request.processors
        if self.request.complete and self.constrained and self.settings.truncates and self.request.method is not lcd:
            # The way to the end is seldom among the model's likeliest tokens: truncate what is allowed, as lcd does.
            from constrain.sampling.processors.truncation.kept import Truncation

            told = self.settings
            self.processors = [*self.processors, Truncation(told.temperature, told.top_k, told.top_p)]
            self.settings = replace(self.settings, top_k=None, top_p=None)
        self.vocabulary = self.terms[0].compiled.vocabulary if self.constrained else self.handle.vocabulary
        self.draw = TorchDraw(self.seed)
        cut = [self._healer.cut(row.prompt) if row.healing else (row.prompt, b"") for row in self.rows]
        self.prompts, self.begins = [prompt for prompt, _ in cut], [begin for _, begin in cut]
        # What keeps the lengths of outputs, where something does. Raises LimitError.
        self.budgets = {each: kept for each in self.distinct if (kept := self._budget(each)) is not None}
        self.canonical = {each.compiled: self._canonical(each.compiled) for each in self.distinct}
        self.stats = [Stats(seed=self.seed, seconds=self.clock.seconds) for _ in self.rows]
        self.begun: dict[int, Any] = {}  # matchers of rows at their beginnings, that dead ends are read by

    @cached_property
    def _healer(self) -> Healing:
        from constrain.generation.healing import Healing

        return Healing(self.vocabulary)

    def _budget(self, terms: Terms) -> LengthBudget | None:
        """The limit on the lengths of the outputs of some terms; None: there is none. Raises LimitError."""
        asked = self.request.complete
        if asked or (asked is None and self._ends_in_time(terms)):
            try:
                return LengthBudget(terms.compiled)
            except LimitError as error:
                if asked:
                    raise
                _log.info("outputs may be cut off: %s", error.message)
        return LengthBudget(terms.compiled, complete=False) if self.request.limited else None

    def _ends_in_time(self, terms: Terms) -> bool:
        """By default the outputs of masked decoding and of particles are complete, of a schema or for tools.

        Other methods say themselves what becomes of outputs that are cut off; engines make their own masks. Particles
        are of a model that is truncated before the mask, so that with `top_k` or `top_p` an end may be out of reach.
        """
        method = self.request.method
        asked = method is lcd or (traits_of(method).ends_in_time and not self.settings.truncates)
        by_masks = asked and (self.decoding is None or self.decoding.drafts)
        whole = by_masks and not self.request.heals and not self.request.canonical
        return whole and isinstance(terms.compiled, CompiledConstraint) and bool(terms.constraint.ends_in_time)

    def _canonical(self, compiled: Any) -> tuple[CompiledCuts | None, str]:
        """The canonical tokens of a constraint, and what `Stats.cuts` says. Raises ConstrainError."""
        told = None if self.decoding is None else self.decoding.canonical  # by the options of an engine
        wanted = self.request.canonical if told is None else told
        return with_canonical(compiled, self.handle.tokenizer, wanted)

    def steps(self) -> Generator[None, None, list[Generation]]:
        """Run all rows, and again those whose text a check refused. Yields after each step of the method."""
        outputs: dict[int, Generation] = {}
        pending = list(range(len(self.prompts)))
        name, draft = traits_of(self.method).name, self.request.draft
        _log.debug("%d outputs by %s, draft=%r, seed %d", len(pending), name, draft, self.seed)
        retries = self.request.retries
        if retries is None:
            retries = retries_by_default(self.request.method, self.settings.temperature)
        attempts = 1 + retries
        for attempt in range(attempts):
            samples = yield from self._followed(self.job(pending, attempt))
            failed = []
            for row, sample in zip(pending, samples, strict=True):
                outputs[row], refused = self._finish(row, sample)
                if refused is not None and refused.by_check:
                    failed.append(row)
                else:
                    self.watcher.ended(row)
            pending = failed
            if not pending:
                break
            if attempt + 1 < attempts:
                for row in pending:
                    self.stats[row].retries += 1
                    _log.info("output %d fails the last check and is sampled anew: %s", row, outputs[row].fault)
                    self.watcher.reopened(row)
        for row in pending:
            self.watcher.ended(row)
        retried = {self._target(row) for row, stats in enumerate(self.stats) if stats.retries}
        for row, output in outputs.items():
            if self._target(row) in retried:
                output.log_evidence = None
        self.clock.stop()
        return [outputs[row] for row in range(len(self.prompts))]

    def _target(self, row: int) -> Any:
        """Rows with equal values sample the same."""
        return tuple(self.prompts[row]), self.begins[row], self.terms[row]

    def _followed(self, job: Job) -> Generator[None, None, list[Sample]]:
        """The samples of a job; the watcher hears what a method streams, and which outputs that ends."""
        method = self._running(job)
        written = [0] * len(job.prompts)
        while True:
            try:
                row, tokens = next(method)
            except StopIteration as stop:
                return stop.value
            written[row] += len(tokens)
            job.watcher.wrote(row, tokens)
            if written[row] >= budget_of(job, row) or any(token in job.eos_ids for token in tokens):
                job.watcher.ended(row)
            yield

    def stream(self, named: bool = False) -> Generator[str, None, Generation]:
        """The text of the only row, as it is written. named: with special tokens by their names."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        method = self._running(self.job([0]))
        written = 0
        skipped = len(self.begins[0])
        held = ""  # what may turn out to be a stop sequence
        constraint = self.terms[0].constraint
        hold = max(map(len, constraint.stops), default=0) if isinstance(constraint, Constraint) else 0
        while True:
            try:
                _, tokens = next(method)
            except StopIteration as stop:
                (sample,) = stop.value
                break
            self.watcher.wrote(0, tokens)
            new = self._bytes(tokens, named)
            skipped, new = max(0, skipped - len(new)), new[skipped:]
            if piece := (held := held + decoder.decode(new))[: max(0, len(held) - hold)]:
                held = held[len(piece) :]
                written += len(piece)
                yield piece
        output, _ = self._finish(0, sample)
        text = self._named(sample.tokens, len(self.begins[0])) if named else output.text
        if rest := text[written:]:  # a character that was cut off, or everything, if the method does not stream
            yield rest
        self.clock.stop()
        return output

    def follow(self, draw: Callable[[list[ShownToken]], None]) -> None:
        """Let `stream` write the only row while it is drawn. draw: is given its tokens."""
        self.watcher = reports.OutputFollower(self._pieces, draw)

    def _pieces(self, tokens: Sequence[int]) -> list[bytes]:
        """The bytes of each token, special tokens by their names."""
        return [self.vocabulary.to_bytes([token], names=True) for token in tokens]

    def job(self, rows: Sequence[int] | None = None, attempt: int = 0, *, with_key: bool = False) -> Job:
        """Some rows, all by default, as a job. with_key: name the constraint, whether or not the method remembers."""
        rows = range(len(self.prompts)) if rows is None else rows
        with_key |= traits_of(self.method).memory is not None
        budgets = [self.terms[row].length.at_most for row in rows]
        keys = [self._key(terms) if with_key and self.constrained else "" for terms in self.distinct]
        chosen_by = None if self.reads_ahead is not None and self.reads_ahead.matches else self.decoding
        return Job(
            model=self._model(),
            prompts=[self.prompts[row] for row in rows],
            matchers=[self.matcher(row) for row in rows] if self.constrained else None,
            size=self.vocabulary.size,
            eos_ids=self.vocabulary.eos_ids,
            settings=self.settings,
            draw=self.draw,
            streams=[attempt * self.request.outputs + self.rows[row].number for row in rows],
            fill_masks=self._mask_filler(),
            clock=self.clock,
            constraint_key=keys[0] if len(keys) == 1 else "of each row" * all(keys),
            row_keys=self._row_keys(rows, keys),
            budgets=None if set(budgets) == {self.settings.max_tokens} else budgets,
            token_bytes=self.vocabulary.tokens,
            grow=None if chosen_by is None else chosen_by.complete,
            watcher=self.watcher.of(rows),
        )

    @property
    def reads_ahead(self) -> Speculation | None:
        """Drafts that the model reads ahead of a method; "lcd" verifies them itself."""
        decoding: Any = self.decoding
        return decoding if decoding is not None and decoding.drafts and self.method is not decoding else None

    def _running(self, job: Job) -> Generator[tuple[int, list[int]], None, list[Sample]]:
        """The steps of the method on a job. What is read ahead are logits that processors have changed already."""
        ahead = None if self.reads_ahead is None else self.reads_ahead.ahead
        if not self.processors:
            return self.method(job if ahead is None else ahead(job))
        from constrain.sampling.processors.core.run import run_processed

        return run_processed(self.method, job, self.processors, ahead)

    def _row_keys(self, rows: Sequence[int], keys: Sequence[str]) -> list[str] | None:
        """A key for the constraint of each row; None: all rows have the same one.

        keys: of the distinct terms, "" where nobody asks.
        """
        if len(keys) == 1 and not any(self.begins) and not self.budgets:
            return None
        limits = [self.budgets.get(self.terms[row]) for row in rows]
        shaped = [
            f"{self.begins[row].hex()} {limit is not None and limit.to_end is not None} {self.terms[row].length}"
            for row, limit in zip(rows, limits, strict=True)
        ]
        if len(keys) == 1:
            return shaped
        own = {terms: f" {key or number}" for number, (terms, key) in enumerate(zip(self.distinct, keys, strict=True))}
        return [each + own[self.terms[row]] for each, row in zip(shaped, rows, strict=True)]

    def _model(self) -> LanguageModel:
        """The model, at the temperatures that rules of the constraint ask for."""
        compiled = self.terms[0].compiled
        if tempered_rule(compiled) is None:
            return self.handle
        from constrain.sampling.core.tempered import TemperedModel

        return TemperedModel(self.handle, compiled, self.prompts, self.settings.temperature)

    def matcher(self, row: int) -> Any:
        """The matcher of a row at its beginning, with all layers. Of a run with constraints."""
        terms = self.terms[row]
        if terms in self.budgets:
            matcher: Any = self._limited(row)
        else:
            matcher = terms.compiled.matcher()
            if self.begins[row]:
                matcher = self._healer.matcher(matcher, self.begins[row])
        canonical, _ = self.canonical[terms.compiled]
        return matcher if canonical is None else canonical.matcher(matcher)

    def _limited(self, row: int) -> Any:
        """The matcher of a row that keeps its length. Raises ConstrainError: no output is as short."""
        terms = self.terms[row]
        at_least, at_most = terms.length.at_least, terms.length.at_most
        room = math.inf if self.handle.context is None else self.handle.context - len(self.prompts[row])
        most = int(min(at_most, room))
        try:
            return self.budgets[terms].matcher(at_least, most)
        except ConstrainError as error:
            if self.request.complete is not None or (isinstance(error, BudgetError) and most == at_most):
                raise
            _log.info("output %d may be cut off: %s", row, error.message)
            return LengthBudget(terms.compiled, complete=False).matcher(at_least)

    def _mask_filler(self) -> Any:
        """The engine's batched `fill_masks`; matchers of another make are asked one by one."""
        kinds = {type(self.canonical[terms.compiled][0] or terms.compiled) for terms in self.distinct}
        if kinds == {ForcedCuts}:
            return fill_forced
        if kinds == {CompiledConstraint}:
            return fill_narrowed if any(self.begins) or self.budgets else fill_masks
        return fill_one_by_one

    def _key(self, terms: Terms) -> str:
        """A key that tells a constraint from others, "" if it has none."""
        key = key_of(terms.constraint, self.vocabulary)
        canonical, _ = self.canonical[terms.compiled]
        own = canonical or terms.compiled
        return key and key + (own.identity if isinstance(own, CompiledCuts) else "")

    def _finish(self, row: int, sample: Sample) -> tuple[Generation, Refused | None]:
        """The generation of a sample, and why it is a dead end, as which it counts too when the last check fails."""
        stats = self.stats[row]
        stats.tokens = len(sample.tokens)
        canonical, stats.cuts = self.canonical[self.terms[row].compiled]
        if canonical is not None and sample.finish_reason == "stop":
            stats.strays = len(canonical.strays(sample.tokens))
        stats.forced = sum(record.forced for record in sample.trace)
        stats.add(sample)
        stats.method = sample.method or traits_of(self.method).name
        stats.dtype = dtypes_of(self.handle)
        return self._checked(row, sample, stats)

    def call_ids(self, row: int = 0) -> Callable[[int], str]:
        """The ids of an output's calls, by their numbers: others for another prompt, seed or output."""
        asked = f"{self.seed} {self.rows[row].number} {self.prompts[row]}"
        return lambda number: f"call_{hashlib.sha256(f'{asked} {number}'.encode()).hexdigest()[:16]}"

    def _checked(self, row: int, sample: Sample, stats: Stats) -> tuple[Generation, Refused | None]:
        terms, skipped = self.terms[row], len(self.begins[row])  # bytes at the beginning that end the prompt
        constraint, refused = terms.constraint, None
        whole = text = self.vocabulary.to_bytes(sample.tokens)[skipped:].decode("utf-8", "replace")
        if isinstance(constraint, Constraint) and constraint.stops and sample.finish_reason == "stop":
            text, stats.stop = terms.constraint.cut(whole)
        output: Generation[Any] = Generation.of(
            sample,
            text=text,
            stats=stats,
            pieces=self._pieces(sample.tokens),
            report=list(constraint.report) if isinstance(constraint, Constraint) else [],
            population=[self._checked(row, each, Stats(tokens=len(each.tokens)))[0] for each in sample.population],
        )
        if self.settings.temperature == 0 and not math.isnan(output.log_weight):  # of a lossy rule there is no weight
            # Nothing was drawn: there is no law that a weight could correct.
            output.log_weight, output.log_evidence = 0.0 if output.log_weight > -math.inf else -math.inf, None
        if sample.finish_reason == "dead_end" and self.constrained:
            begun = self.begun.get(row) or self.begun.setdefault(row, self.matcher(row))
            refused = refused_end(begun.fork(), sample, self.vocabulary.size, self._narrowed_by())
            output.fault = refused.fault
        mentions = isinstance(constraint, Constraint) and constraint.token_sets
        named = self._named(sample.tokens, skipped) if mentions else None
        if is_tool_use(constraint):
            output.message = constraint.read(whole if named is None else named, self.call_ids(row))
        if sample.finish_reason != "stop":
            return output, refused
        if constraint is None:
            return replace(output, value=text), None
        value, fault = verdict(constraint, whole, named)
        if fault is None:
            return replace(output, value=value, captures=self._captures(terms, sample, whole)), None
        found = None if output.log_evidence is None else -math.inf  # this draw found nothing of the language
        failed = replace(output, finish_reason="dead_end", log_weight=-math.inf, log_evidence=found, fault=fault)
        return failed, Refused(fault, by_check=True)

    def _narrowed_by(self) -> list[str]:
        """The names of all that may leave no token where the constraint allows some."""
        truncation = {} if self.request.method is lcd else {"top_k": self.settings.top_k, "top_p": self.settings.top_p}
        told = {
            **{f"{name}={value}": value is not None for name, value in truncation.items()},
            "the processors": bool(self.request.processors),
            "the method's check": traits_of(self.method).check is not None,
            "the method's potential": traits_of(self.method).potential is not None,
            "the engine": self.decoding is not None and not self.decoding.drafts,
        }
        return [name for name, does in told.items() if does]

    def _captures(self, terms: Terms, sample: Sample, text: str) -> list[Any]:
        """The captures of a finished text; of its tokens, where the constraint mentions tokens."""
        if not isinstance(terms.constraint, Constraint) or not terms.constraint.captured:
            return []
        if not terms.constraint.token_sets or not isinstance(terms.compiled, CompiledConstraint):
            return terms.constraint.captures(text)
        matcher = terms.compiled.matcher()
        for token_id in sample.tokens:
            if token_id not in self.vocabulary.eos_ids:
                matcher.advance(token_id)
        return matcher.captures()

    def _named(self, tokens: Sequence[int], skipped: int) -> str:
        """The text of an output with special tokens by their names. skipped: bytes at the beginning."""
        return self._bytes(tokens, True)[skipped:].decode("utf-8", "replace")

    def _bytes(self, tokens: Sequence[int], named: bool) -> bytes:
        """The bytes of tokens. named: special tokens count by their names, but tokens that end a text do not."""
        if not named:
            return self.vocabulary.to_bytes(tokens)
        kept = [token for token in tokens if token not in self.vocabulary.eos_ids]
        return self.vocabulary.to_bytes(kept, names=True)
