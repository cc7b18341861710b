"""`generate`: the front door. Its arguments become a `Request`, once; a `Call` (call.py) runs it."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Literal, overload

from constrain.generation.call import Outputs, prepare
from constrain.generation.progress import refuse_progress, shown_progress
from constrain.generation.request.request import Request
from constrain.generation.request.signature import (
    DEFAULTS,
    AnyOptions,
    ModelLike,
    Options,
    PromptLike,
    PromptsLike,
    Sampling,
    T,
    Texts,
    Typed,
)
from constrain.generation.result import Generation, Generations, Stream
from constrain.sampling.core.job import Clock

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from typing_extensions import TypeForm, Unpack


@overload
def generate(  # type: ignore[overload-overlap]
    model: ModelLike, prompt: PromptLike, *, n: Literal[1] = 1, stream: Literal[False] = False, **options: Unpack[Texts]
) -> Generation[str]: ...


@overload
def generate(  # type: ignore[overload-overlap]
    model: ModelLike,
    prompt: PromptLike,
    *,
    type: TypeForm[T] = ...,
    n: Literal[1] = 1,
    stream: Literal[False] = False,
    **options: Unpack[Typed[T]],
) -> Generation[T]: ...


@overload
def generate(
    model: ModelLike,
    prompt: PromptLike,
    *,
    type: TypeForm[T] = ...,
    n: Literal[1] = 1,
    stream: Literal[True],
    **options: Unpack[Options[T]],
) -> Stream[T]: ...


@overload
def generate(  # type: ignore[overload-overlap]
    model: ModelLike,
    prompt: PromptLike,
    *,
    type: TypeForm[T] = ...,
    n: int,
    stream: Literal[False] = False,
    **options: Unpack[Options[T]],
) -> Generations[T]: ...


@overload
def generate(  # type: ignore[overload-overlap]
    model: ModelLike,
    prompt: PromptsLike,
    *,
    type: TypeForm[T] = ...,
    n: Literal[1] = 1,
    stream: Literal[False] = False,
    **options: Unpack[Options[T]],
) -> list[Generation[T]]: ...


@overload
def generate(
    model: ModelLike,
    prompt: PromptsLike,
    *,
    type: TypeForm[T] = ...,
    n: int,
    stream: Literal[False] = False,
    **options: Unpack[Options[T]],
) -> list[Generations[T]]: ...


@overload
def generate(
    model: ModelLike,
    prompt: PromptLike,
    *,
    type: TypeAdapter[T],
    n: Literal[1] = 1,
    stream: Literal[False] = False,
    **options: Unpack[Sampling],
) -> Generation[T]: ...


@overload
def generate(
    model: ModelLike,
    prompt: PromptLike,
    *,
    type: object,
    n: Literal[1] = 1,
    stream: Literal[False] = False,
    **options: Unpack[Sampling],
) -> Generation[Any]: ...


@overload
def generate(
    model: ModelLike,
    prompt: PromptLike | PromptsLike,
    *,
    type: object,
    n: int = 1,
    stream: bool = False,
    **options: Unpack[Sampling],
) -> Any: ...


def generate(model: ModelLike, prompt: PromptLike | PromptsLike, **options: Any) -> Outputs | Stream[Any]:
    """Generate text that obeys a constraint.

    At most one of `schema`, `regex`, `grammar`, `choices`, `type`, `constraint`, `response_format` and `tools` is
    given. Without any, the model is sampled as it is, for comparison. Beside a list of prompts each of them, but
    `tools`, may be a list with an entry for each prompt (of `choices`, a list of lists); None: no constraint.

    Args:
        model: a causal model of transformers, the name, folder or GGUF file of one (loaded once, then kept), a pair
            (model, tokenizer), or an object with both, such as `constrain.reference.load()`; a `vllm.LLM`, or "vllm:"
            and a name (docs/howto/vllm.md); a model of mlx-lm, llama-cpp-python or onnxruntime-genai.
        prompt: a str, token ids, chat messages (dicts with "role" and "content", rendered by the tokenizer's template),
            what a processor of transformers made of text and images, or a list of such prompts. A `constrain.Prompt`
            also says which images belong to it, what stands around the output, or that its end is healed.
        schema: a JSON Schema as a dict, a bool or JSON text; whatever `constrain.json_schema` takes. Objects, also
            those of `type`, `response_format` and `tools`, have the properties that they declare, unless the schema
            says that there may be more (docs/howto/undeclared.md); `constraint=json_schema(...)` is the schema as it is
            written.
        regex: a pattern that the whole text matches (`constrain.regex`).
        grammar: a Lark grammar (`constrain.grammar`).
        choices: the texts to choose from, or an Enum whose values they are (`constrain.choices`); then `value` is a
            member of it.
        type: a Python type whose JSON is written: a pydantic model, dataclass, TypedDict, Enum, Literal or Union, or a
            function (its arguments). `value` is an instance of it.
        constraint: a constraint, or what `constrain.compile` returned.
        response_format: a constraint as OpenAI's interface has it: {"type": "json_schema", "json_schema": {"schema":
            ...}}, "json_object", "structural_tag" or "text"; or a class, as `type`.
        tools: functions that the output may call: callables, pydantic models, OpenAI's JSON. Their format is the one
            that the tokenizer's chat template names; the template gets the tools. Then the output has `tool_calls`,
            `content` and `thinking`. Other formats: `tools=constrain.tools(functions, format="hermes")`. Their results:
            `converse`.
        tool_choice: "auto": text or calls; "required": calls; "none": text; the name of a tool, or OpenAI's object.
        tokenizer: of transformers, or a processor, which has one; None: found by the model's name.
        canonical: which tokens count that spell a text (docs/sampling.md). None: where the text is forced, those that
            the tokenizer itself would write, if its own cut is known exactly: they are forced then, and need no
            forward; True: these everywhere, or an error; False: all. `stats.cuts` says what held.
        method: what is sampled, by name or as an object of `constrain.sampling`. "lcd" is masked decoding; "faithful"
            samples the model conditioned on the constraint, by a method that it chooses and tells.
        n: outputs for each prompt, independent of each other; 1: one output, by itself, not a list.
        max_tokens: tokens of an output at most, EOS counted; fewer where the model's context ends. A `constrain.Length`
            also says how many there are at least. Beside a list of prompts it may be a list with one for each.
        temperature: divides the logits; 0 takes the likeliest allowed token.
        top_k: keep so many of the likeliest tokens that the mask allows; None keeps all.
        top_p: keep the likeliest tokens of this mass, in (0, 1], of what the mask allows; None keeps all.
        seed: makes outputs repeatable: output j of prompt i draws from stream i·n + j of the seed; methods that learn
            from draw to draw repeat a whole call only. None: drawn, and told by `stats.seed`.
        draft: drafts that make several tokens of one forward: "auto", which needs no other model, a name or drafter of
            `constrain.speculative`, a smaller model, a list of these, or a `Speculation`, whose verifier may go with
            "lcd", "sir", "mcmc" and "faithful" only. None: "auto" where that cannot lose by an estimate; False: none.
            Outputs have the distribution that they have without drafts, and are the same for a seed unless a verifier
            is named, up to rounding of logits; a lossy `Speculation` changes it (docs/speculative.md).
        processors: rules that change the distribution of the next token, asked in order: those of
            `constrain.processors`, and logits processors of transformers, or functions like them, as they are.
        stream: return a `Stream` of pieces of text, whose `result` is the generation; for one prompt and one output. An
            output that fails a residual check cannot be taken back: it ends as "dead_end".
        stop: a text or several. The output ends where the first of them is complete (masks/derived/stopping.py);
            `text` leaves it out, `tokens` has it, `stats.stop` names it.
        complete: True: allow a token only if the text can still be completed with the tokens that are left, so that
            outputs are always complete (masks/completion/length_budget.py). top_k and top_p then keep some of what is
            allowed, under every method. False: outputs may be cut off at `max_tokens`. None: True for "lcd", and for
            "smc" and "awrs" without top_k and top_p, where a schema, a type or tools that must be called are given
            (docs/sampling.md), else False.

    Returns:
        A `Generation` for one prompt; `Generations`, a list that knows its weights, where `n` is greater than 1; for a
        list of prompts a list with one of these for each; a `Stream` with `stream=True`. `value` has the type that
        `type` names, or the Enum of `choices`.

    Raises:
        ConstrainError: an argument is wrong, a constraint cannot be completed within `max_tokens` (with `complete`), or
            the model's logits are no numbers. What the constraint itself raises are kinds of it: SchemaError,
            RegexError, GrammarError, UnsatisfiableError, LimitError.

    Example:
        >>> import constrain
        >>> model = constrain.reference.load()
        >>> g = constrain.generate(model, "A date: ", regex=r"20[0-9]{2}-[01][0-9]", seed=1)
        >>> g.finish_reason, len(g.text)
        ('stop', 7)
        >>> outputs = constrain.generate(model, "Flags: ", type=list[bool], n=2, max_tokens=20, complete=True, seed=1)
        >>> all(isinstance(flag, bool) for output in outputs for flag in output.value)
        True
        >>> stream = constrain.generate(model, "A colour: ", choices=["red", "green"], stream=True, seed=1)
        >>> "".join(stream) in ("red", "green")
        True
    """
    clock = Clock()
    request = Request.of(prompt, options, clock=clock)
    if request.stream:
        refuse_progress("a stream")
    call = prepare(model, request, clock)
    return call.stream() if request.stream else call.complete(shown_progress())


def _signature() -> inspect.Signature:
    """The signature of `generate` with its options spelled out, for `help` and editors."""
    types = {"n": "int", "stream": "bool"} | {
        name: getattr(each, "__forward_arg__", each) for name, each in AnyOptions.__annotations__.items()
    }
    kind = inspect.Parameter.KEYWORD_ONLY
    options = [
        inspect.Parameter(name, kind, default=default, annotation=types[name]) for name, default in DEFAULTS.items()
    ]
    written = inspect.signature(generate)
    return written.replace(parameters=[*list(written.parameters.values())[:2], *options])


generate.__signature__ = _signature()  # type: ignore[attr-defined]
