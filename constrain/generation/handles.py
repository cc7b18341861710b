"""Handles of models: a `LanguageModel` that knows its tokenizer for a model of each supported library.

Models of mlx-lm, llama-cpp-python and onnxruntime-genai and engines of vLLM are known by their class, for which the
library is not imported: an object of it is there only if it was imported before. "vllm:MODEL" starts an engine.
Everything else is a model of transformers, but a `TextWriter`, which has no logits and no handle.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from importlib import import_module
from operator import attrgetter
from typing import Any, NamedTuple, Protocol, runtime_checkable

from constrain.errors import ConstrainError
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.models.hf.loading import dtype_of, unpacked
from constrain.models.hf.model import HFModel
from constrain.sampling.core.job import Job, Sample, Settings
from constrain.sampling.core.model import LanguageModel, extras_of
from constrain.sampling.core.particles import Particle


@runtime_checkable
class Handle(LanguageModel, Protocol):
    """A language model with its tokenizer. `generate` takes any object that has all of these.

    Example:
        >>> import constrain
        >>> from constrain.models.hf import HFModel
        >>> isinstance(HFModel.of(constrain.reference.load()), Handle)
        True
    """

    @property
    def tokenizer(self) -> Any:
        """Of transformers, or an object that is called and asked likewise: text -> {"input_ids": [...]}."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The bytes of every token id, as wide as the logits."""


class MaskedDecoding(Protocol):
    """Masked decoding of whole sequences by something else than the loop of the samplers: drafts, or an engine.

    canonical: the tokens of its masks, as the option of `generate`; None: what the request says
    drafts: it verifies drafts, under masks of the request's own
    """

    canonical: bool | None
    drafts: bool

    def __call__(self, job: Job) -> Generator[tuple[int, list[int]], None, list[Sample]]:
        """Run the job as the method "lcd" does."""

    def complete(self, job: Job, particles: Sequence[Particle], between: Any = None) -> None:
        """Complete a job's sequences, as `Job.grow` says."""

    def method_for(self, method: Any) -> Any:
        """The engine's own method in place of a given one; the given one, where the engine has none."""


class TextWriter(ABC):
    """A model that writes whole texts and gives no logits, as one behind a server does: it runs requests by itself.

    Attributes:
        at_once: The number of requests that it takes at the same time.
        format: The format of `constrain.tools` in which thoughts and calls stand in its texts.
    """

    at_once: int = 1
    format: str = "qwen3"

    @abstractmethod
    def call(self, request: Any, clock: Any) -> Any:
        """The call of a `Request`, ready to run. Raises ConstrainError: the request needs logits, or cannot be sent."""


class Engine(NamedTuple):
    """A kind of models that are not of transformers.

    module, name: the class of its models; a name that ends in ":" begins the names of its models instead
    home, maker: the module that makes a handle, imported when it is asked for, and the attribute that does, called with
    the model and its tokenizer
    """

    module: str
    name: str
    home: str
    maker: str

    def is_of(self, model: Any) -> bool:
        """True if a model is of this kind."""
        if self.name.endswith(":"):
            return isinstance(model, str) and model.startswith(self.name)
        return _is_of(self.module, self.name, model)

    def handle(self, model: Any, tokenizer: Any) -> Handle:
        """The handle of a model. Raises ConstrainError: its tokenizer is missing."""
        made: Handle = attrgetter(self.maker)(import_module(self.home))(model, tokenizer)
        return made


ENGINES = (
    Engine("mlx.nn", "Module", "constrain.engines.mlx", "MLXModel"),
    Engine("llama_cpp", "Llama", "constrain.engines.llama", "LlamaModel.of"),
    Engine("onnxruntime_genai", "Model", "constrain.engines.onnx", "ONNXModel"),
    Engine("vllm.entrypoints.llm", "LLM", "constrain.engines.vllm.model", "VLLMModel.of"),
    Engine("vllm", "vllm:", "constrain.engines.vllm.model", "VLLMModel.named"),
)


def handle_of(model: Any, tokenizer: Any = None, *, wide: bool = False) -> Handle:
    """The handle of a model.

    Args:
        model: What `generate` takes.
        tokenizer: Its tokenizer, where the model comes without one.
        wide: A model of transformers that is given by its name is loaded in float32, not in 16 bits.

    Returns:
        The model itself if it is a handle.

    Raises:
        ConstrainError: It is no model that can be read, or its tokenizer is missing.
    """
    if isinstance(model, TextWriter):
        raise ConstrainError(
            f"this needs the logits of a model, and {model!r} gives none",
            place="model",
            fix="call generate, map or converse with it; for all else load a model in this process",
        )
    model, tokenizer = unpacked(model, tokenizer)
    for kind in ENGINES:
        if kind.is_of(model):
            return kind.handle(model, tokenizer)
    if _is_of("vllm.v1.engine.async_llm", "AsyncLLM", model):
        raise ConstrainError("an asynchronous engine of vLLM runs in loops of its own", fix="pass a vllm.LLM")
    if not isinstance(model, HFModel) and isinstance(model, Handle):
        return model
    return HFModel.of(model, tokenizer, wide=wide)


def dtypes_of(handle: Any) -> str:
    """The number formats of the weights of a model, or of its parts, as "float32"; "" where they are not known."""
    if isinstance(handle, HFModel):
        return dtype_of(handle.model)
    return " ".join(sorted({found for part in extras_of(handle).parts if (found := dtypes_of(part))}))


def for_call(handle: Handle) -> Handle:
    """The handle for one call: one that keeps something of its prompts forgets it with the call."""
    return handle.for_call() if isinstance(handle, HFModel) else handle


def decoding_of(
    handle: Handle, method: Any, compiled: Any, constraint: Any, settings: Settings, canonical: bool | None
) -> MaskedDecoding | None:
    """The masked decoding that a handle has of its own, as an engine does; None: it has none for this request.

    It writes outputs from their beginning: chains that rewrite parts of one do without it.
    """
    own = extras_of(handle).decoding
    if own is None:
        return None
    from constrain.sampling.methods.mcmc import MCMC

    if isinstance(method, MCMC) and method.proposal != "restart":
        return None
    made = own(compiled, constraint, settings)
    return made if made is not None and made.writes(canonical) else None


def for_drafts(handle: Any) -> HFModel:
    """The handle whose tokens are drafted, if its model reads drafts: of a composed model the first of its parts.

    Raises ConstrainError.
    """
    if isinstance(handle, HFModel):
        return handle
    parts = [for_drafts(part) for part in extras_of(handle).parts]
    if parts:
        return parts[0]
    raise ConstrainError(
        f"drafts need a model of transformers, and this is a {type(handle).__name__}", fix="leave out draft="
    )


def _is_of(module: str, name: str, model: Any) -> bool:
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(model, kind)
