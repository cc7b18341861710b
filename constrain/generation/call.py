"""A call of `generate`, checked and ready to run: whole, as a stream, or step by step beside others.

All that can be wrong without a model is checked before one is loaded.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from constrain.chat.calls.tools import ToolUse
from constrain.errors import ConstrainError
from constrain.generation.handles import MaskedDecoding, decoding_of, for_call, for_drafts, handle_of
from constrain.generation.progress import Progress, check_progress, watching
from constrain.generation.request.arguments import (
    check_language,
    check_method,
    check_request,
    check_settings,
    check_tokenizer,
    compile_for,
    first_of,
)
from constrain.generation.request.drafts import check_draft, speculation_of
from constrain.generation.request.entries import Entries, constraints_of
from constrain.generation.request.images import check_images, has_images, seeing
from constrain.generation.request.openai_shapes import check_tools, tools_of
from constrain.generation.request.prompts import parse_prompts, token_ids
from constrain.generation.request.shaping import between_texts, check_limits, ending_at
from constrain.generation.result import Generation, Generations, Stream
from constrain.generation.run import Run, Terms
from constrain.languages.constraints.regular import regex
from constrain.masks.engine.followed import refuse_tempered, tempered_rule
from constrain.sampling.core.job import Clock
from constrain.sampling.methods.lcd import lcd
from constrain.sampling.methods.table import method_of
from constrain.sampling.processors.core.foreign import processors_of

ANYTHING = regex(r"(?s:.*)")
Outputs = Generation[Any] | Generations[Any] | list[Generation[Any]] | list[Generations[Any]]


@dataclass
class Call:
    """A checked call.

    runs: one row for each output, in parts that can share a batch. rows: those of each part. single: one prompt was
    given, not a list. n: outputs of each prompt. alone: there was one sample of each, so an output is no list.
    """

    runs: Sequence[Run]
    rows: Sequence[Sequence[int]]
    single: bool
    n: int
    alone: bool

    def complete(self, progress: Progress = False) -> Outputs:
        """Run all rows. Returns what `generate` returns."""
        with watching(sum(map(len, self.rows)), progress) as watcher:
            for run, rows in zip(self.runs, self.rows, strict=True):
                run.watcher, run.clock.watcher = watcher.of(rows), watcher
            steps = self.steps()
            while True:
                try:
                    next(steps)
                except StopIteration as stop:
                    return self.shaped(stop.value)

    def steps(self) -> Generator[None, None, list[Generation[Any]]]:
        """Run all rows, part by part. Yields after each step."""
        outputs: dict[int, Generation[Any]] = {}
        for run, rows in zip(self.runs, self.rows, strict=True):
            outputs.update(zip(rows, (yield from run.steps()), strict=True))
        return [outputs[row] for row in range(len(outputs))]

    def stream(self) -> Stream[Any]:
        """The pieces of the only row."""
        (run,) = self.runs
        return Stream(run.stream, run.terms[0].constraint, run.follow)

    def shaped(self, outputs: list[Generation[Any]]) -> Outputs:
        """The outputs of all rows as `generate` returns them."""
        if self.alone:
            return outputs[0] if self.single else outputs
        groups = [Generations(outputs[i : i + self.n]) for i in range(0, len(outputs), self.n)]
        return groups[0] if self.single else groups


def prepare(model: Any, prompt: Any, given: Mapping[str, Any]) -> Call:
    """Check a call, load the model and compile the constraint.

    given: all other arguments of `generate`, by name. Raises what `generate` raises.
    """
    start = time.perf_counter()
    clock = Clock()
    prompts = parse_prompts(prompt)
    shape = {name: given[name] for name in ("temperature", "top_k", "top_p")}
    budgets = Entries.of("max_tokens", given["max_tokens"], prompts)
    settings = budgets.each(lambda most: check_settings(most, **shape)).values
    n, seed, stream, healing, draft = (given[name] for name in ("n", "seed", "stream", "healing", "draft"))
    check_request(n, seed, stream, healing)
    check_progress(given["progress"], stream)
    check_tokenizer(given["tokenizer"])
    limits = budgets.each(lambda most: check_limits(given["min_tokens"], most, given["complete"], healing)).values[0]
    alone = n == 1
    chosen, n = first_of(given["first"], n, method_of(given["method"]))
    check_method(chosen, settings[0])
    check_draft(draft, chosen, bool(given["processors"]))
    processors = processors_of(given["processors"])
    if stream and not prompts.single:
        raise ConstrainError(
            f"stream=True takes one prompt, not a list of {len(prompts.each)}", fix="call generate once for each prompt"
        )
    check_tools(given["tools"], given["tool_choice"])
    images = check_images(given["images"], prompts)
    with clock.stage("compile"):
        constraints = constraints_of(given, prompts).each(lambda each: _shaped(each, prompt, given, limits))
    handle = for_call(handle_of(model, given["tokenizer"]))  # whatever can be wrong without a model is checked above
    if has_images(prompts, images):
        handle = seeing(handle)
    if given["tools"] is not None:
        tools = _with_tools(given, handle)
        constraints = constraints.each(lambda _: tools)
    functions = [each.functions if isinstance(each, ToolUse) else () for each in constraints.values]
    texts = token_ids(prompts, handle, functions, images)
    with clock.stage("compile"):
        compiled = constraints.each(lambda each: None if each is None else compile_for(each, handle))
    if healing:
        compiled.each(lambda each: refuse_tempered(each, "token healing"))
    distinct: dict[Any, Terms] = {}
    terms = [
        distinct.setdefault(
            (id(made), asked.max_tokens), Terms(made, getattr(each, "constraint", each), asked.max_tokens)
        )
        for made, each, asked in zip(compiled.values, constraints.values, settings, strict=True)
    ]
    if seed is None:
        seed = int(torch.randint(2**62, ()))
    parts = _parts(terms, handle)
    rows = [[place * n + output for place in places for output in range(n)] for places in parts]
    runs = []
    for part in rows:
        own = [terms[row // n] for row in part]
        longest = replace(settings[0], max_tokens=max(each.max_tokens for each in own))
        decoding: MaskedDecoding | None = None
        if draft is not None:
            decoding = speculation_of(draft, for_drafts(handle), [each.constraint for each in dict.fromkeys(own)])
        elif not (stream or healing or limits or processors or tempered_rule(own[0].compiled)):
            decoding = decoding_of(handle, chosen, own[0].compiled, own[0].constraint, longest)
        runs.append(
            Run(
                handle,
                [texts[row // n] for row in part],
                own,
                longest,
                decoding if decoding is not None and chosen is lcd else chosen,
                seed,
                clock,
                start,
                healing,
                limits,
                decoding,
                processors,
                part,
                len(texts) * n,
            )
        )
    return Call(runs, rows, prompts.single, n, alone)


def _shaped(constraint: Any, prompt: Any, given: Mapping[str, Any], limits: Any) -> Any:
    """A constraint between texts and up to a stop sequence, as asked for. Raises what making its grammar raises."""
    constraint = between_texts(constraint, prompt, given["prefix"], given["suffix"])
    stop = given["stop"]
    if constraint is None and (given["healing"] or limits or stop is not None):
        constraint = ANYTHING
    constraint = constraint if stop is None else ending_at(constraint, stop)
    check_language(constraint, limits)
    return constraint


def _parts(terms: Sequence[Terms], handle: Any) -> list[list[int]]:
    """The prompts in parts that can share a batch.

    Without a constraint there are no masks. An engine that decodes by itself, and temperatures of rules, know one
    constraint. Masks of a batch are over one vocabulary.
    """
    parts: dict[Any, list[int]] = {}
    for place, each in enumerate(terms):
        alone = tempered_rule(each.compiled) or getattr(handle, "decoding", None) is not None
        batch = None if each.compiled is None else id(each.compiled if alone else each.compiled.vocabulary)
        parts.setdefault(batch, []).append(place)
    return list(parts.values())


def _with_tools(given: Mapping[str, Any], handle: Any) -> ToolUse:
    """The turn that `tools=` asks for. Raises ConstrainError: what has no meaning beside tools."""
    for name in ("stop", "prefix", "suffix"):
        if given[name] is not None:
            raise ConstrainError(f"{name} has no meaning beside tools", place=name, fix="leave it out")
    return tools_of(given["tools"], given["tool_choice"], handle.tokenizer)
