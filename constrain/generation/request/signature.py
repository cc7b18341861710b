"""Types of the arguments of `generate`.

Type checkers read them through the overloads in front.py: which arguments were given decides whether one `Generation`
comes back, `Generations`, a list or a `Stream`, and what its `value` is. Nothing here runs but the definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypedDict

import torch

from constrain.generation.handles import Handle
from constrain.generation.progress import Progress
from constrain.sampling.methods.table import Method
from constrain.sampling.processors.core.processor import Processor
from constrain.speculative import Drafter, Speculation


class ModelAndTokenizer(Protocol):
    """An object that holds a causal model of transformers and its tokenizer, as `constrain.reference.load()` does."""

    @property
    def model(self) -> Any:
        """The causal model."""

    @property
    def tokenizer(self) -> Any:
        """Its tokenizer."""


class Compiled(Protocol):
    """The part of `CompiledConstraint` that decoding needs; constraints of other engines offer it too."""

    @property
    def vocabulary(self) -> Any:
        """The `Vocabulary` that the constraint is compiled for."""

    def matcher(self) -> Any:
        """A matcher at the beginning of a text."""


ModelLike: TypeAlias = str | Handle | ModelAndTokenizer | torch.nn.Module
# text, token ids, chat messages, what a processor made of text and images
Prompt: TypeAlias = str | Sequence[int] | Sequence[Mapping[str, object]] | Mapping[str, Any]
# A str is a sequence of str, so only lists and tuples of str are several prompts.
Prompts: TypeAlias = list[str] | tuple[str, ...] | Sequence[Sequence[int]] | Sequence[Sequence[Mapping[str, object]]]
DraftLike: TypeAlias = ModelLike | Drafter | Speculation
ProcessorLike: TypeAlias = Processor | Callable[[Any, Any], Any]  # (input_ids, scores) -> scores


class Options(TypedDict, total=False):
    """Arguments of `generate` that do not change the type of what it returns."""

    tokenizer: object
    method: str | Method
    first: int | None
    max_tokens: int | Sequence[int]
    temperature: float
    top_k: int | None
    top_p: float | None
    seed: int | None
    tools: Sequence[Any] | None
    tool_choice: str | Mapping[str, Any]
    images: Any
    response_format: Mapping[str, Any] | Sequence[Mapping[str, Any] | None] | None
    draft: DraftLike | Sequence[DraftLike] | None
    processors: ProcessorLike | Sequence[ProcessorLike] | None
    healing: bool
    stop: str | Sequence[str] | None
    min_tokens: int
    complete: bool
    prefix: str | None
    suffix: str | None
    progress: Progress
