"""A call of `generate`, checked and ready to run: whole, as a stream, or step by step beside others.

All that can be wrong without a model is checked before one is loaded.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from constrain.calls.tools import ToolUse
from constrain.constraints.regular import regex
from constrain.engine.followed import refuse_tempered, tempered_rule
from constrain.errors import ConstrainError
from constrain.generation.handles import MaskedDecoding, decoding_of, for_drafts, handle_of
from constrain.generation.progress import Progress, check_progress, watching
from constrain.generation.request.arguments import (
    CONSTRAINTS,
    check_language,
    check_method,
    check_request,
    check_settings,
    check_tokenizer,
    compile_for,
    the_constraint,
)
from constrain.generation.request.drafts import check_draft, speculation_of
from constrain.generation.request.openai_shapes import check_tools, tools_of
from constrain.generation.request.prompts import parse_prompts, token_ids
from constrain.generation.request.shaping import between_texts, check_limits, ending_at
from constrain.generation.result import Generation, Generations, Stream
from constrain.generation.run import Run
from constrain.processors.core.foreign import processors_of
from constrain.sampling.core.job import Clock
from constrain.sampling.methods.lcd import lcd
from constrain.sampling.methods.table import method_of

ANYTHING = regex(r"(?s:.*)")
Outputs = Generation[Any] | Generations[Any] | list[Generation[Any]] | list[Generations[Any]]


@dataclass
class Call:
    """A checked call. run: one row for each output; single: one prompt was given, not a list; n: outputs of each."""

    run: Run
    single: bool
    n: int

    def complete(self, progress: Progress = False) -> Outputs:
        """Run all rows. Returns what `generate` returns."""
        with watching(len(self.run.prompts), progress) as watcher:
            self.run.watcher = self.run.clock.watcher = watcher
            return self.shaped(self.run.complete())

    def stream(self) -> Stream[Any]:
        """The pieces of the only row."""
        return Stream(self.run.stream, self.run.constraint)

    def shaped(self, outputs: list[Generation[Any]]) -> Outputs:
        """The outputs of all rows as `generate` returns them."""
        if self.n == 1:
            return outputs[0] if self.single else outputs
        groups = [Generations(outputs[i : i + self.n]) for i in range(0, len(outputs), self.n)]
        return groups[0] if self.single else groups


def prepare(model: Any, prompt: Any, given: Mapping[str, Any]) -> Call:
    """Check a call, load the model and compile the constraint.

    given: all other arguments of `generate`, by name. Raises what `generate` raises.
    """
    start = time.perf_counter()
    clock = Clock()
    settings = check_settings(given["max_tokens"], given["temperature"], given["top_k"], given["top_p"])
    n, seed, stream, healing, draft = (given[name] for name in ("n", "seed", "stream", "healing", "draft"))
    check_request(n, seed, stream, healing)
    check_progress(given["progress"], stream)
    check_tokenizer(given["tokenizer"])
    limits = check_limits(given["min_tokens"], settings.max_tokens, given["complete"], healing)
    chosen = method_of(given["method"])
    check_method(chosen, settings)
    check_draft(draft, chosen, bool(given["processors"]))
    processors = processors_of(given["processors"])
    prompts = parse_prompts(prompt)
    if stream and not prompts.single:
        raise ConstrainError(
            f"stream=True takes one prompt, not a list of {len(prompts.each)}", fix="call generate once for each prompt"
        )
    check_tools(given["tools"], given["tool_choice"])
    constraint = the_constraint({name: given[name] for name in (*CONSTRAINTS, "tools")})
    constraint = between_texts(constraint, prompt, given["prefix"], given["suffix"])
    stop = given["stop"]
    constraint = ANYTHING if constraint is None and (healing or limits or stop is not None) else constraint
    constraint = constraint if stop is None else ending_at(constraint, stop)
    with clock.stage("compile"):
        check_language(constraint, limits)
    handle = handle_of(model, given["tokenizer"])  # whatever can be wrong without a model is checked above
    if given["tools"] is not None:
        constraint = _with_tools(given, handle)
    texts = token_ids(prompts, handle, constraint.functions if isinstance(constraint, ToolUse) else ())
    with clock.stage("compile"):
        compiled = None if constraint is None else compile_for(constraint, handle)
    if healing:
        refuse_tempered(compiled, "token healing")
    bare = getattr(constraint, "constraint", constraint)
    decoding: MaskedDecoding | None = None
    if draft is not None:
        decoding = speculation_of(draft, for_drafts(handle), bare)
    elif not (stream or healing or limits or processors or tempered_rule(compiled)):
        decoding = decoding_of(handle, chosen, compiled, bare, settings)
    if decoding is not None and chosen is lcd:
        chosen = decoding
    if seed is None:
        seed = int(torch.randint(2**62, ()))
    rows = [ids for ids in texts for _ in range(n)]
    run = Run(
        handle, rows, compiled, constraint, settings, chosen, seed, clock, start, healing, limits, decoding, processors
    )
    return Call(run, prompts.single, n)


def _with_tools(given: Mapping[str, Any], handle: Any) -> ToolUse:
    """The turn that `tools=` asks for. Raises ConstrainError: what has no meaning beside tools."""
    for name in ("stop", "prefix", "suffix"):
        if given[name] is not None:
            raise ConstrainError(f"{name} has no meaning beside tools", place=name, fix="leave it out")
    return tools_of(given["tools"], given["tool_choice"], handle.tokenizer)
