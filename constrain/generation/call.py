"""A call of `generate`, ready to run: whole, as a stream, or step by step beside others.

Whatever can be wrong without a model was checked when the `Request` was made.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch

from constrain.chat import is_tool_use
from constrain.generation.handles import (
    Handle,
    MaskedDecoding,
    TextWriter,
    decoding_of,
    for_call,
    for_drafts,
    handle_of,
)
from constrain.generation.progress import Progress, watching
from constrain.generation.request.arguments import compile_for
from constrain.generation.request.drafts import speculation_by_default, speculation_of
from constrain.generation.request.hints import warn_of, warn_of_rounding
from constrain.generation.request.images import seeing
from constrain.generation.request.prompts import token_ids
from constrain.generation.request.request import Request
from constrain.generation.request.signature import AnyOptions, ModelLike, PromptLike, PromptsLike
from constrain.generation.result import Generation, Generations, Stream
from constrain.generation.run import Row, Run, Terms, settings_of
from constrain.languages.constraints.base import constraint_of, refuse_tempered, tempered_rule
from constrain.sampling.core.job import Clock, Job, Watcher
from constrain.sampling.core.model import extras_of
from constrain.sampling.core.sampler import traits_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

Outputs = Generation[Any] | Generations[Any] | list[Generation[Any]] | list[Generations[Any]]

USUAL = 256  # tokens of an output, for an estimate


@dataclass
class Call:
    """A request with its model. runs: one row for each output, in parts that can share a batch."""

    request: Request
    runs: Sequence[Run]

    def complete(self, progress: Progress = False) -> Outputs:
        """Run all rows. Returns what `generate` returns."""
        with watching(self.request.outputs, progress) as watcher:
            self.watch(watcher)
            steps = self.steps()
            while True:
                try:
                    next(steps)
                except StopIteration as stop:
                    return self.shaped(stop.value)

    def watch(self, watcher: Watcher) -> None:
        """Tell a watcher how far the rows are."""
        for run in self.runs:
            run.watcher, run.clock.watcher = watcher.of([row.number for row in run.rows]), watcher

    def steps(self) -> Generator[None, None, list[Generation[Any]]]:
        """Run all rows, part by part. Yields after each step."""
        outputs: dict[int, Generation[Any]] = {}
        for run in self.runs:
            outputs.update(zip([row.number for row in run.rows], (yield from run.steps()), strict=True))
        return [outputs[number] for number in range(len(outputs))]

    def stream(self) -> Stream[Any]:
        """The pieces of the only row."""
        (run,) = self.runs
        return Stream(run.stream, run.rows[0].terms.constraint, run.follow, run.call_ids())

    def shaped(self, outputs: list[Generation[Any]]) -> Outputs:
        """The outputs of all rows as `generate` returns them."""
        n, single = self.request.n, self.request.prompts.single
        if n == 1:
            return outputs[0] if single else outputs
        groups = [Generations(outputs[i : i + n]) for i in range(0, len(outputs), n)]
        return groups[0] if single else groups


def prepare(model: Any, request: Request, clock: Clock | None = None) -> Call:
    """Load the model of a request and compile its constraints; a model that writes whole texts makes its own call.

    clock: has the time since the call began.

    Raises what `generate` raises.
    """
    clock = clock or Clock()
    if isinstance(model, TextWriter):
        made: Call = model.call(request, clock)
        return made
    measures = traits_of(request.method).measures
    handle = for_call(handle_of(model, request.tokenizer, wide=measures))
    if measures:
        warn_of_rounding(handle)
    if request.sees:
        handle = seeing(handle)
    rows = rows_of(request, handle, clock)
    seed = int(torch.randint(2**62, ())) if request.seed is None else request.seed
    runs = [Run(request, part, handle, seed, clock, _decoding(request, part, handle)) for part in _parts(rows, handle)]
    return Call(request, runs)


def rows_of(request: Request, handle: Handle, clock: Clock) -> list[Row]:
    """The rows of a request, one for each output. Raises ConstrainError: the model cannot read or write them."""
    constraints = request.constraints
    if request.tools is not None:
        from constrain.generation.request.openai_shapes import tools_of

        tools = tools_of(*request.tools, handle.tokenizer)
        constraints = constraints._replace(values=[tools] * len(constraints.values))
    uses = [each if is_tool_use(each) else None for each in constraints.values]
    warn_of(request.prompts, constraints, handle)
    texts = token_ids(request.prompts, handle, uses, request.images)
    with clock.stage("compile"):
        compiled = constraints.each(lambda each: None if each is None else compile_for(each, handle))
    if request.heals:
        compiled.each(lambda each: refuse_tempered(each, "token healing"))
    distinct: dict[Any, Terms] = {}
    rows: list[Row] = []
    for prompt, ids, made, constraint, length in zip(
        request.prompts.given, texts, compiled.values, constraints.values, request.lengths, strict=True
    ):
        new = Terms(made, constraint_of(constraint) or constraint, length)
        terms = distinct.setdefault((id(made), length), new)
        rows += [Row(ids, terms, len(rows) + output, prompt.healing) for output in range(request.n)]
    return rows


def _decoding(request: Request, rows: Sequence[Row], handle: Handle) -> MaskedDecoding | None:
    """The masked decoding of whole sequences that a request has: with drafts, or by an engine; None: token by token."""
    distinct = list(dict.fromkeys(row.terms for row in rows))
    terms = rows[0].terms
    if request.draft is not None and request.draft is not False:
        return speculation_of(request.draft, for_drafts(handle), [each.constraint for each in distinct], request.method)
    if request.draft is None:
        lengths = [len(row.prompt) + min(row.terms.length.at_most, USUAL) for row in rows]
        drafting = speculation_by_default(request, handle, [each.compiled for each in distinct], lengths)
        if drafting is not None:
            return drafting
    if request.stream or request.heals or request.limited or request.processors or tempered_rule(terms.compiled):
        return None
    settings = settings_of(request, rows)
    return decoding_of(handle, request.method, terms.compiled, terms.constraint, settings, request.canonical)


def _parts(rows: Sequence[Row], handle: Any) -> list[list[Row]]:
    """The rows in parts that can share a batch.

    Without a constraint there are no masks. An engine that decodes by itself, and temperatures of rules, know one
    constraint. Masks of a batch are over one vocabulary.
    """
    parts: dict[Any, list[Row]] = {}
    for row in rows:
        compiled = row.terms.compiled
        alone = tempered_rule(compiled) or extras_of(handle).decoding is not None
        batch = None if compiled is None else id(compiled if alone else compiled.vocabulary)
        parts.setdefault(batch, []).append(row)
    return list(parts.values())


WITHOUT = ("method", "draft", "processors", "stream", "stop", "complete", "tools", "tool_choice")


def make_job(model: ModelLike, prompt: PromptLike | PromptsLike, *, n: int = 1, **options: Unpack[AnyOptions]) -> Job:
    """A job with n rows for each prompt, to run a method of `constrain.sampling` by hand.

    options: a constraint, lengths, the shape of the distribution and the seed (0 by default), as for `generate`;
    nothing that says how outputs are sampled. Raises ConstrainError for whatever is wrong with them.
    """
    request = replace(Request.of(prompt, {"n": n, **options}, door="make_job", without=WITHOUT), complete=False)
    handle, clock = for_call(handle_of(model, request.tokenizer)), Clock()
    return Run(request, rows_of(request, handle, clock), handle, request.seed or 0, clock).job(with_key=True)
