"""`Request`: the arguments of `generate`, checked. It is made once and travels from every door to the run."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NamedTuple

from constrain.errors import ConstrainError
from constrain.generation.request.arguments import (
    check_language,
    check_method,
    check_request,
    check_settings,
    check_switch,
    check_tokenizer,
)
from constrain.generation.request.described import descriptions_of
from constrain.generation.request.drafts import check_draft
from constrain.generation.request.entries import Entries, constraints_of
from constrain.generation.request.images import check_images
from constrain.generation.request.length import Length, length_of
from constrain.generation.request.prompts import ParsedPrompts, parse_prompts
from constrain.generation.request.shaping import between_texts, ending_at, texts_around
from constrain.generation.request.signature import DEFAULTS
from constrain.languages.constraints.regular import regex
from constrain.sampling.core.job import Clock, Settings
from constrain.sampling.methods.retried import retries_of
from constrain.sampling.methods.table import Method

if TYPE_CHECKING:
    from constrain.sampling.processors.core.processor import Processor

AROUND = ("prefix", "suffix")
ANYTHING = regex(r"(?s:.*)")
PROMPT = "generate(model, constrain.Prompt(text, {}), ...)"
SCHEMA = "constraint=constrain.json_schema(schema_or_type, {})"
# The home of options that generate once had, or that people look for here.
MOVED = {
    "first": "n=3, method=constrain.sampling.FirstFinish(samples=8) gives the first 3 of 8 samples",
    "min_tokens": "max_tokens=constrain.Length(at_most, at_least=...)",
    "images": PROMPT.format("images=[image]"),
    "healing": PROMPT.format("healing=True"),
    "describe": PROMPT.format("describe=True"),
    "prefix": PROMPT.format('prefix="...", suffix="..."'),
    "suffix": PROMPT.format('suffix="..."'),
    "undeclared": SCHEMA.format('undeclared="allow"'),
    **{name: SCHEMA.format(f'{name}=..., undeclared="avoid"') for name in ("spelling", "whitespace", "property_order")},
    "progress": "with constrain.progress(): generate(...)",
    # names of other libraries
    "retries": "method=constrain.sampling.Retried(3)",
    "max_retries": "method=constrain.sampling.Retried(3)",
    "response_model": "type=Person",
    "json_schema": "schema={...}",
    "pattern": 'regex="..."',
    **dict.fromkeys(("max_turns", "max_rounds", "max_iterations"), "constrain.converse(..., rounds=3)"),
    "format": 'tools=constrain.tools(functions, format="hermes")',
    "max_new_tokens": "max_tokens=...",
    "max_length": "max_tokens=..., which does not count the prompt",
    "min_new_tokens": "max_tokens=constrain.Length(at_most, at_least=...)",
    "do_sample": "temperature=0 takes the likeliest token; above 0 tokens are drawn",
    "num_return_sequences": "n=...",
    "num_beams": "method=constrain.sampling.Beam(...)",
    "repetition_penalty": "processors=constrain.processors.Repetition(...)",
    "presence_penalty": "processors=constrain.processors.Counts(presence=...)",
    "frequency_penalty": "processors=constrain.processors.Counts(frequency=...)",
    "logits_processor": "processors=[...]",
    "min_p": "processors=constrain.processors.MinP(...)",
    "stop_strings": "stop=[...]",
    "eos_token_id": "stop=..., or a Vocabulary with eos_ids",
    "assistant_model": "draft=model",
    "streamer": "stream=True",
}


class Tools(NamedTuple):
    """The arguments `tools` and `tool_choice`; the model's chat template decides on the format of calls."""

    functions: Any
    choice: Any


@dataclass(frozen=True)
class Request:
    """The arguments of a call, checked without a model.

    Attributes:
        prompts: the prompts.
        images: of each prompt; None: there are none.
        constraints: of each prompt, with its texts around it and its stop sequences; None without one.
        tools: the tools, which take the place of constraints.
        tokenizer: as given.
        canonical: only tokens that the tokenizer itself would write count; None: where that is possible.
        method: what is sampled.
        retries: how often an output that fails the last check is sampled anew; None: nothing is said.
        settings: `max_tokens` is the greatest of `lengths`.
        lengths: of the outputs of each prompt.
        complete: outputs are complete within their length; None: where they are of a schema or for tools (run.py).
        n: outputs of each prompt.
        seed: None: to be drawn.
        draft: as given.
        processors: change the distribution of the next token.
        stream: the output is given piece by piece.

    Example:
        >>> request = Request.of("A date: ", {"regex": "2[0-9]{3}", "n": 2})
        >>> request.n, request.outputs, request.settings.temperature
        (2, 2, 1.0)
    """

    prompts: ParsedPrompts
    images: Sequence[Sequence[Any]] | None
    constraints: Entries
    tools: Tools | None
    tokenizer: Any
    canonical: bool | None
    method: Method
    retries: int | None
    settings: Settings
    lengths: Sequence[Length]
    complete: bool | None
    n: int
    seed: int | None
    draft: Any
    processors: Sequence[Processor]
    stream: bool

    @classmethod
    def of(
        cls,
        prompt: Any,
        options: Mapping[str, Any],
        *,
        door: str = "generate",
        without: Collection[str] = (),
        plain: bool = False,
        clock: Clock | None = None,
    ) -> Request:
        """The request of some arguments of `generate`.

        Args:
            prompt: One prompt or several.
            options: The other arguments, by name; the defaults hold for the rest.
            door: The function that was called, for messages.
            without: Options that it does not take.
            plain: It takes no `Prompt`.
            clock: Notes the time of reading constraints.

        Raises:
            ConstrainError: An argument is wrong; or what reading a constraint raises.
        """
        given = arguments_of(options, door, without)
        prompts = parse_prompts(prompt, plain=plain)
        lengths = Entries.of("max_tokens", given["max_tokens"], prompts).each(length_of).values
        most = max(length.at_most for length in lengths)
        settings = check_settings(most, *(given[name] for name in ("temperature", "top_k", "top_p")))
        check_request(*(given[name] for name in ("n", "seed", "stream")))
        check_tokenizer(given["tokenizer"])
        for name in ("canonical", "complete"):
            check_switch(name, given[name])
        limited = given["complete"] or any(length.at_least for length in lengths)
        if limited and any(each.healing for each in prompts.given):
            raise ConstrainError("healing does not go with complete or at_least", fix="leave one of them out")
        if limited and given["canonical"]:
            raise ConstrainError(
                "canonical=True does not go with complete or at_least, which count tokens of any cut",
                fix="leave one of them out",
            )
        method, retries = retries_of(given["method"], given["stream"], settings.temperature)
        check_method(method, settings)
        check_draft(given["draft"], method)
        processors: Sequence[Processor] = []
        if given["processors"] is not None:
            from constrain.sampling.processors.core.foreign import processors_of

            processors = processors_of(given["processors"])
        if given["stream"] and not prompts.single:
            raise ConstrainError(
                f"stream=True takes one prompt, not a list of {len(prompts.each)}",
                fix="call generate once for each prompt",
            )
        tools = None if given["tools"] is None else Tools(given["tools"], given["tool_choice"])
        if tools is not None or given["tool_choice"] is not DEFAULTS["tool_choice"]:
            from constrain.generation.request.openai_shapes import check_tools

            check_tools(given["tools"], given["tool_choice"])
        images = check_images(prompts)
        with nullcontext() if clock is None else clock.stage("compile"):
            constraints = constraints_of(given, prompts)
            prompts = prompts._replace(described=descriptions_of(prompts, constraints))
            if tools is None:
                constraints = _shaped(constraints, prompts, given["stop"], limited)
            else:
                _refuse_shapes(given["stop"], prompts)
        return cls(
            prompts=prompts,
            images=images,
            constraints=constraints,
            tools=tools,
            method=method,
            retries=retries,
            settings=settings,
            lengths=lengths,
            processors=processors,
            **{name: given[name] for name in ("tokenizer", "canonical", "complete", "n", "seed", "draft", "stream")},
        )

    @property
    def outputs(self) -> int:
        """The number of outputs, of all prompts."""
        return self.n * len(self.prompts.each)

    @property
    def limited(self) -> bool:
        """The masks are asked to keep the lengths of outputs."""
        return bool(self.complete) or any(length.at_least for length in self.lengths)

    @property
    def heals(self) -> bool:
        """The end of a prompt is written again."""
        return any(prompt.healing for prompt in self.prompts.given)

    @property
    def sees(self) -> bool:
        """There are images, or prompts that a processor made."""
        return self.images is not None or any(isinstance(prompt, Mapping) for prompt in self.prompts.each)


def arguments_of(options: Mapping[str, Any], door: str, without: Collection[str] = ()) -> dict[str, Any]:
    """All options of `generate` by name, defaults included. Raises ConstrainError: there is no such option."""
    for name in options:
        if name in DEFAULTS and name not in without:
            continue
        near = get_close_matches(name, (DEFAULTS.keys() - set(without)) | MOVED.keys(), 1)
        fix = "leave it out" if name in DEFAULTS else f"use {near[0]}=" if near else "name an argument of generate"
        moved = MOVED.get(near[0] if near and name not in DEFAULTS else name, fix)
        raise ConstrainError(f"{door} has no argument {name!r}", place=name, fix=moved)
    return DEFAULTS | dict(options)


def _shaped(constraints: Entries, prompts: ParsedPrompts, stop: Any, limited: bool) -> Entries:
    """The constraints between the texts of their prompts and up to a stop sequence. Raises ConstrainError."""

    def shaped(constraint: Any, shape: tuple[bool, tuple[str, str] | None]) -> Any:
        healing, texts = shape
        if texts is not None:
            constraint = between_texts(constraint, *texts)
        if constraint is None and (healing or limited or stop is not None):
            constraint = ANYTHING
        constraint = constraint if stop is None else ending_at(constraint, stop)
        check_language(constraint, limited)
        return constraint

    return constraints.each(shaped, [(prompt.healing, texts_around(prompt)) for prompt in prompts.given])


def _refuse_shapes(stop: Any, prompts: ParsedPrompts) -> None:
    """Refuse what shapes a constraint beside tools. Raises ConstrainError."""
    for name, given in (("stop", [stop]), *((name, [getattr(p, name) for p in prompts.given]) for name in AROUND)):
        if any(each is not None for each in given):
            raise ConstrainError(f"{name} has no meaning beside tools", place=name, fix="leave it out")
