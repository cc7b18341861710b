"""`generate`: the front door. It has what it is given checked and made ready (call.py), and runs it (run.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from constrain.generation.call import prepare
from constrain.generation.progress import Progress
from constrain.generation.request.signature import (
    Compiled,
    DraftLike,
    ModelLike,
    Options,
    ProcessorLike,
    Prompt,
    Prompts,
)
from constrain.generation.result import Generation, Generations, Stream
from constrain.languages.constraints.base import Constraint
from constrain.sampling.methods.table import Method

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from typing_extensions import Unpack

T = TypeVar("T")
E = TypeVar("E", bound=Enum)


@overload
def generate(  # type: ignore[overload-overlap]
    model: ModelLike,
    prompt: Prompt,
    *,
    type: type[T] | TypeAdapter[T],
    n: Literal[1] = 1,
    stream: Literal[False] = False,
    **options: Unpack[Options],
) -> Generation[T]: ...


@overload
def generate(  # type: ignore[overload-overlap]
    model: ModelLike,
    prompt: Prompt,
    *,
    choices: type[E],
    n: Literal[1] = 1,
    stream: Literal[False] = False,
    **options: Unpack[Options],
) -> Generation[E]: ...


@overload
def generate(  # type: ignore[overload-overlap]
    model: ModelLike,
    prompt: Prompt,
    *,
    regex: str | None = None,
    grammar: str | None = None,
    choices: Sequence[str] | None = None,
    n: Literal[1] = 1,
    stream: Literal[False] = False,
    **options: Unpack[Options],
) -> Generation[None]: ...


@overload
def generate(  # type: ignore[overload-overlap]
    model: ModelLike,
    prompt: Prompt,
    *,
    schema: object = None,
    type: object = None,
    constraint: Constraint | Compiled | None = None,
    n: Literal[1] = 1,
    stream: Literal[False] = False,
    **options: Unpack[Options],
) -> Generation[Any]: ...


@overload
def generate(
    model: ModelLike,
    prompt: Prompt,
    *,
    type: type[T] | TypeAdapter[T],
    n: Literal[1] = 1,
    stream: Literal[True],
    **options: Unpack[Options],
) -> Stream[T]: ...


@overload
def generate(
    model: ModelLike,
    prompt: Prompt,
    *,
    choices: type[E],
    n: Literal[1] = 1,
    stream: Literal[True],
    **options: Unpack[Options],
) -> Stream[E]: ...


@overload
def generate(
    model: ModelLike,
    prompt: Prompt,
    *,
    regex: str | None = None,
    grammar: str | None = None,
    choices: Sequence[str] | None = None,
    n: Literal[1] = 1,
    stream: Literal[True],
    **options: Unpack[Options],
) -> Stream[None]: ...


@overload
def generate(
    model: ModelLike,
    prompt: Prompt,
    *,
    schema: object = None,
    type: object = None,
    constraint: Constraint | Compiled | None = None,
    n: Literal[1] = 1,
    stream: Literal[True],
    **options: Unpack[Options],
) -> Stream[Any]: ...


@overload
def generate(
    model: ModelLike,
    prompt: Prompt,
    *,
    type: type[T] | TypeAdapter[T],
    n: int,
    stream: Literal[False] = False,
    **options: Unpack[Options],
) -> Generations[T]: ...


@overload
def generate(
    model: ModelLike,
    prompt: Prompt,
    *,
    choices: type[E],
    n: int,
    stream: Literal[False] = False,
    **options: Unpack[Options],
) -> Generations[E]: ...


@overload
def generate(
    model: ModelLike,
    prompt: Prompt,
    *,
    regex: str | None = None,
    grammar: str | None = None,
    choices: Sequence[str] | None = None,
    n: int,
    stream: Literal[False] = False,
    **options: Unpack[Options],
) -> Generations[None]: ...


@overload
def generate(
    model: ModelLike,
    prompt: Prompt,
    *,
    schema: object = None,
    type: object = None,
    constraint: Constraint | Compiled | None = None,
    n: int,
    stream: Literal[False] = False,
    **options: Unpack[Options],
) -> Generations[Any]: ...


@overload
def generate(  # type: ignore[overload-overlap]
    model: ModelLike,
    prompt: Prompts,
    *,
    type: type[T] | TypeAdapter[T],
    n: Literal[1] = 1,
    stream: Literal[False] = False,
    **options: Unpack[Options],
) -> list[Generation[T]]: ...


@overload
def generate(  # type: ignore[overload-overlap]
    model: ModelLike,
    prompt: Prompts,
    *,
    choices: type[E],
    n: Literal[1] = 1,
    stream: Literal[False] = False,
    **options: Unpack[Options],
) -> list[Generation[E]]: ...


@overload
def generate(  # type: ignore[overload-overlap]
    model: ModelLike,
    prompt: Prompts,
    *,
    regex: str | Sequence[str | None] | None = None,
    grammar: str | Sequence[str | None] | None = None,
    choices: Sequence[str] | Sequence[Sequence[str] | None] | None = None,
    n: Literal[1] = 1,
    stream: Literal[False] = False,
    **options: Unpack[Options],
) -> list[Generation[None]]: ...


@overload
def generate(  # type: ignore[overload-overlap]
    model: ModelLike,
    prompt: Prompts,
    *,
    schema: object = None,
    type: object = None,
    constraint: Constraint | Compiled | Sequence[Constraint | Compiled | None] | None = None,
    n: Literal[1] = 1,
    stream: Literal[False] = False,
    **options: Unpack[Options],
) -> list[Generation[Any]]: ...


@overload
def generate(
    model: ModelLike,
    prompt: Prompts,
    *,
    type: type[T] | TypeAdapter[T],
    n: int,
    stream: Literal[False] = False,
    **options: Unpack[Options],
) -> list[Generations[T]]: ...


@overload
def generate(
    model: ModelLike,
    prompt: Prompts,
    *,
    choices: type[E],
    n: int,
    stream: Literal[False] = False,
    **options: Unpack[Options],
) -> list[Generations[E]]: ...


@overload
def generate(
    model: ModelLike,
    prompt: Prompts,
    *,
    regex: str | Sequence[str | None] | None = None,
    grammar: str | Sequence[str | None] | None = None,
    choices: Sequence[str] | Sequence[Sequence[str] | None] | None = None,
    n: int,
    stream: Literal[False] = False,
    **options: Unpack[Options],
) -> list[Generations[None]]: ...


@overload
def generate(
    model: ModelLike,
    prompt: Prompts,
    *,
    schema: object = None,
    type: object = None,
    constraint: Constraint | Compiled | Sequence[Constraint | Compiled | None] | None = None,
    n: int,
    stream: Literal[False] = False,
    **options: Unpack[Options],
) -> list[Generations[Any]]: ...


def generate(
    model: ModelLike,
    prompt: Prompt | Prompts,
    *,
    schema: object = None,
    regex: str | Sequence[str | None] | None = None,
    grammar: str | Sequence[str | None] | None = None,
    choices: Sequence[str] | type[Enum] | Sequence[Sequence[str] | type[Enum] | None] | None = None,
    type: object = None,  # noqa: A002  (the public name)
    constraint: Constraint | Compiled | Sequence[Constraint | Compiled | None] | None = None,
    response_format: Mapping[str, Any] | Sequence[Mapping[str, Any] | None] | None = None,
    tools: Sequence[Any] | None = None,
    tool_choice: str | Mapping[str, Any] = "auto",
    images: Any = None,
    tokenizer: object = None,
    method: str | Method = "lcd",
    n: int = 1,
    first: int | None = None,
    max_tokens: int | Sequence[int] = 512,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int | None = None,
    draft: DraftLike | Sequence[DraftLike] | None = None,
    processors: ProcessorLike | Sequence[ProcessorLike] | None = None,
    stream: bool = False,
    healing: bool = False,
    stop: str | Sequence[str] | None = None,
    min_tokens: int = 0,
    complete: bool = False,
    prefix: str | None = None,
    suffix: str | None = None,
    progress: Progress = False,
) -> Generation[Any] | list[Generation[Any]] | Generations[Any] | list[Generations[Any]] | Stream[Any]:
    """Generate text that obeys a constraint.

    At most one of `schema`, `regex`, `grammar`, `choices`, `type`, `constraint`, `response_format` and `tools` is
    given. Without any, the model is sampled as it is, for comparison. Beside a list of prompts each of them, but
    `tools`, may be a list with an entry for each prompt (of `choices`, a list of lists); None: no constraint.

    Args:
        model: a causal model of transformers, the name of one (loaded once, then kept), or an object with `model` and
            `tokenizer`, such as `constrain.reference.load()`; a `vllm.LLM`, or "vllm:" and a name (docs/howto/vllm.md);
            a model of mlx-lm, llama-cpp-python or onnxruntime-genai.
        prompt: a str, token ids, chat messages (dicts with "role" and "content", rendered by the tokenizer's template),
            what a processor of transformers made of text and images, or a list of such prompts.
        schema: a JSON Schema as a dict, a bool or JSON text; whatever `constrain.json_schema` takes.
        regex: a pattern that the whole text matches (`constrain.regex`).
        grammar: a Lark grammar (`constrain.grammar`).
        choices: the texts to choose from, or an Enum whose values they are (`constrain.choices`); then `value` is a
            member of it.
        type: a Python type whose JSON is written: a pydantic model, dataclass, TypedDict, Enum, Literal or Union, or a
            function (its arguments). `value` is an instance of it.
        constraint: a constraint, or what `constrain.compile` returned.
        response_format: a constraint as OpenAI's interface has it: {"type": "json_schema", "json_schema": {"schema":
            ...}}, "json_object", "structural_tag" or "text".
        tools: functions that the output may call: callables, pydantic models, OpenAI's JSON. Their format is the one
            that the tokenizer's chat template names; the template gets the tools. Then the output has `tool_calls`,
            `content` and `thinking`. Other formats: `constraint=constrain.tools(...)`. Their results: `converse`.
        tool_choice: "auto": text or calls; "required": calls; "none": text; the name of a tool, or OpenAI's object.
        images: what a vision-language model sees with the prompt: an image or a list of images (PIL, arrays, tensors),
            for which the prompt has placeholders, or content parts if it is chat messages; beside a list of prompts a
            list with an entry for each. They need the model's processor as `tokenizer` (docs/models.md).
        tokenizer: of transformers, or a processor, which has one; None: found by the model's name.
        method: what is sampled, by name or as an object of `constrain.sampling` such as `CARS(memory=...)`. "lcd" is
            masked decoding; "faithful" chooses a method that samples the model conditioned on the constraint, and says
            which.
        n: outputs for each prompt, independent of each other; 1: one output, by itself, not a list.
        first: give the first so many of the n samples that end as the constraint wants, the shortest in tokens, and
            give up the others: `constrain.sampling.FirstFinish`. None: all n.
        max_tokens: tokens of an output at most, EOS counted; fewer where the model's context ends. Beside a list of
            prompts it may be a list with a number for each.
        temperature: divides the logits; 0 takes the likeliest allowed token.
        top_k: keep so many of the likeliest tokens that the mask allows; None keeps all.
        top_p: keep the likeliest tokens of this mass, in (0, 1], of what the mask allows; None keeps all.
        seed: makes outputs repeatable. Output j of prompt i draws from stream i·n + j of the seed, whatever its batch;
            methods that learn from draw to draw repeat a whole call only. None: drawn from torch's own generator, and
            told by `stats.seed`.
        draft: drafts that make several tokens of one forward, for the methods "lcd", "sir", "mcmc" and "faithful".
            "auto" needs no other model: it drafts what the constraint forces and what the text repeats. Or the name of
            a drafter, a drafter of `constrain.speculative`, a smaller model, a list of these, or a `Speculation`, which
            also says how drafts are verified. The output is that of the same seed without drafts, up to rounding of
            logits, unless the `Speculation` is lossy.
        processors: rules that change the law of the next token, asked in order: those of `constrain.processors`, and
            logits processors of transformers (or functions that are called likewise) as they are. They see what the
            mask leaves, and are not asked where it leaves one token. Every method samples what it says, about the law
            that they make (docs/howto/processors.md).
        stream: return a `Stream` of pieces of text, whose `result` is the generation; for one prompt and one output. An
            output that fails a residual check cannot be taken back: it ends as "dead_end".
        healing: take the last token of the prompt back and let the model write its bytes again, merged with what
            follows if it likes. `text` does not repeat them. This changes what is sampled: see
            `constrain.generation.healing`.
        stop: a text or several. The output ends where the first of them is complete (masks/derived/stopping.py);
            `text` leaves it out, `tokens` has it, `stats.stop` names it.
        min_tokens: tokens of an output at least, EOS counted, where the constraint lets a text go on.
        complete: allow a token only if the text can still be completed with the tokens that are left, so that outputs
            are always complete (`constrain.masks.completion.length_budget`).
        prefix: fill in the middle: prefix + text + suffix is a member of the constraint, and `value` is that of the
            whole (`constrain.between`). None beside a suffix: the prompt, which is a str then.
        suffix: see `prefix`.
        progress: draw a bar on standard error: outputs that are done, tokens, steps of the model. True: where that is a
            terminal; "always": also elsewhere. Not with `stream`.

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
        >>> both = constrain.generate(model, ["A year: ", "Yes? "], regex=["2[0-9]{3}", "y|n"], max_tokens=[9, 2])
        >>> [len(output.text) for output in both]
        [4, 1]
        >>> stream = constrain.generate(model, "A colour: ", choices=["red", "green"], stream=True, seed=1)
        >>> "".join(stream) in ("red", "green")
        True
    """
    given = {name: value for name, value in locals().items() if name not in ("model", "prompt")}
    call = prepare(model, prompt, given)
    return call.stream() if stream else call.complete(progress)
