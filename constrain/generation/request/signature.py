"""The types of the arguments of `generate`, stated once: the overloads in front.py and every other door refer to them.

A new option is a key here, a default below, a field of `Request` and a line in the docstring of `generate`.

A type checker reads from them whether one `Generation` comes back, `Generations`, a list or a `Stream`, and the type T
of `value`. T is what `type=` or the Enum of `choices=` says; str where the value is the text; Any where it is JSON of
some schema.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from os import PathLike
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeAlias

import torch
from typing_extensions import TypedDict

from constrain.generation.handles import Handle, TextWriter
from constrain.generation.request.length import Length
from constrain.generation.request.prompts import Prompt
from constrain.languages.constraints.base import Constraint
from constrain.sampling.core.job import Compiled
from constrain.sampling.methods.table import Method

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from constrain.chat.calls.tools import ToolUse
    from constrain.sampling.processors.core.processor import Processor
    from constrain.speculative import Drafter, Speculation

    T = TypeVar("T", default=Any)
    T_co = TypeVar("T_co", covariant=True, default=Any)
else:
    from typing import TypeVar

    T = TypeVar("T")
    T_co = TypeVar("T_co", covariant=True)


class ModelAndTokenizer(Protocol):
    """An object that holds a causal model of transformers and its tokenizer, as `constrain.reference.load()` does."""

    @property
    def model(self) -> Any:
        """The causal model."""

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of the model."""


class Members(Protocol[T_co]):
    """An Enum class, by what tells it from other classes: it gives its members, of type T, by name."""

    def __getitem__(self, name: str, /) -> T_co: ...
    def __instancecheck__(self, instance: Any, /) -> bool: ...


class Text(Protocol[T_co]):
    """A str that says T = str, the type of the value of an output."""

    def casefold(self) -> T_co: ...


ModelLike: TypeAlias = (
    str | PathLike[str] | Handle | TextWriter | ModelAndTokenizer | torch.nn.Module | tuple[str | torch.nn.Module, Any]
)
# text, token ids, chat messages, what a processor made of text and images
Content: TypeAlias = str | Sequence[int] | Sequence[Mapping[str, object]] | Mapping[str, Any]
PromptLike: TypeAlias = Content | Prompt
# A str is a sequence of str, so only lists and tuples of str are several prompts.
PromptsLike: TypeAlias = (
    list[str] | tuple[str, ...] | Sequence[Sequence[int]] | Sequence[Sequence[Mapping[str, object]]] | Sequence[Prompt]
)
DraftLike: TypeAlias = "ModelLike | Drafter | Speculation"
ProcessorLike: TypeAlias = "Processor | Callable[[Any, Any], Any]"  # (input_ids, scores) -> scores


class Decoding(TypedDict, total=False):
    """Options that say how tokens are drawn."""

    tokenizer: object
    canonical: bool | None
    method: str | Method
    temperature: float
    top_k: int | None
    top_p: float | None
    draft: DraftLike | Sequence[DraftLike] | Literal[False] | None
    processors: ProcessorLike | Sequence[ProcessorLike] | None


class Sampling(Decoding, total=False):
    """Options beside the constraint."""

    max_tokens: int | Length | Sequence[int | Length]
    seed: int | None
    stop: str | Sequence[str] | None
    complete: bool | None


class Texts(Sampling, total=False):
    """A constraint whose values are its texts, for one prompt."""

    regex: str | None
    grammar: str | None
    choices: Sequence[str] | None


class Constrained(Sampling, total=False):
    """The constraints whose values are Any, and all options beside the constraint."""

    schema: object
    constraint: Constraint | Compiled | Sequence[Constraint | Compiled | None] | None
    response_format: Mapping[str, Any] | type[Any] | Sequence[Mapping[str, Any] | type[Any] | None] | None
    tools: Sequence[Any] | ToolUse | None
    tool_choice: str | Mapping[str, Any]


class Typed(Constrained, Generic[T], total=False):
    """A constraint with values of type T, for one prompt.

    The overloads have `type: TypeForm[T]` (PEP 747) as a parameter: mypy infers nothing from one in a `TypedDict`. What
    is no form of a type, such as a function, is `type: object` in an overload of its own.
    """

    choices: Members[T] | None


class Options(Constrained, Generic[T], total=False):
    """All options of `generate` but `type`, `n` and `stream`, which change what it returns; they say T."""

    regex: Text[T] | Sequence[Text[T] | None] | None
    grammar: Text[T] | Sequence[Text[T] | None] | None
    choices: Members[T] | Sequence[Text[T]] | Sequence[Sequence[Text[T]] | Members[T] | None] | None


class AnyOptions(Constrained, total=False):
    """Options of an output whose type is not stated, as people read them."""

    type: object
    regex: str | Sequence[str | None] | None
    grammar: str | Sequence[str | None] | None
    choices: Sequence[str] | type[Enum] | Sequence[Sequence[str] | type[Enum] | None] | None


# The defaults, in the order of the signature.
DEFAULTS: dict[str, Any] = {
    "schema": None,
    "regex": None,
    "grammar": None,
    "choices": None,
    "type": None,
    "constraint": None,
    "response_format": None,
    "tools": None,
    "tool_choice": "auto",
    "tokenizer": None,
    "canonical": None,
    "method": "lcd",
    "n": 1,
    "max_tokens": 512,
    "temperature": 1.0,
    "top_k": None,
    "top_p": None,
    "seed": None,
    "draft": None,
    "processors": None,
    "stream": False,
    "stop": None,
    "complete": None,
}
