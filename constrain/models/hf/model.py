"""A causal model of transformers behind the samplers' `LanguageModel`, and as a target of drafts.

The idea: what samplers ask for is the same for every model: logits after texts that grow, fork and end. How a model
gives them differs: what it remembers, what it takes beside token ids, what padding does to it. That is found out by
trial (reading.py) and lives in sessions (session.py).
Limit: models that predict the token that follows from token ids alone; encoder-decoders, which read a text first, are
in encoder_decoder.py.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import torch

from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.lazily import later
from constrain.models.hf.cache import is_plain, keeps_everything
from constrain.models.hf.grouped import grouped
from constrain.models.hf.kinds import check_kind, is_encoder, is_encoder_decoder
from constrain.models.hf.loading import (
    is_processor,
    is_stored_narrow,
    model_named,
    tokenizer_beside,
    tokenizer_of,
    unpacked,
)
from constrain.models.hf.memory import forgotten
from constrain.models.hf.reading import CacheProtocol
from constrain.models.hf.session import GroupedSession, HFSession, RereadSession, open_session
from constrain.models.hf.trials import reading_of

if TYPE_CHECKING:
    from constrain.device.fixed import FixedForward
    from constrain.sampling.core.model import TreeSession

fixed_sessions = later("constrain.device.fixed_session")
LOADED_MODELS = 4  # by name, kept for the next call
CONTEXT_NAMES = ("max_position_embeddings", "max_seq_len")  # in configurations
_known: weakref.WeakKeyDictionary[Any, dict[str, Any]] = weakref.WeakKeyDictionary()  # by model, what trials found


class HFModel:
    """A model and its tokenizer.

    Args:
        model: A causal language model of transformers; `HFModel.of` takes encoder-decoders too. It runs in
            evaluation mode from now on.
        tokenizer: Its tokenizer; or its processor, which has a tokenizer and reads images too (images.py).

    Attributes:
        processor: What was given as the tokenizer, if that is a processor; else None.
        width: Logits a position.
        context: Positions that the model has; None: unlimited.
        vocabulary: The tokenizer's vocabulary, padded to `width`.

    Raises:
        ConstrainError: The model is no causal language model, or there is no tokenizer.

    Example:
        >>> import constrain
        >>> HFModel.of(constrain.reference.load()).width
        3072
    """

    # Whether every sequence begins with the name of a text for an encoder (constrain/sampling/core/sources.py).
    encodes = False

    def __init__(self, model: Any, tokenizer: Any) -> None:
        check_kind(model, self.encodes)
        self.model = model.eval()
        self.processor = tokenizer if is_processor(tokenizer) else None
        self.tokenizer = tokenizer.tokenizer if is_processor(tokenizer) else tokenizer
        text_config = self.text_config
        head = model.get_output_embeddings()
        self.width: int = text_config.vocab_size if head is None else _width(head)
        known = (getattr(text_config, name, None) for name in CONTEXT_NAMES)
        self.context: int | None = next((length for length in known if isinstance(length, int) and length > 0), None)

    @classmethod
    def of(cls, model: Any, tokenizer: Any = None, *, wide: bool = False) -> HFModel:
        """Of a handle, a model by object, name or path, a pair (model, tokenizer), or an object with `model` and
        `tokenizer` (`constrain.reference.load()`). wide: what is loaded here is loaded in float32, not in 16 bits.

        Raises ConstrainError: not loadable, or no tokenizer.
        """
        model, tokenizer = unpacked(model, tokenizer)
        if isinstance(model, HFModel):
            return model if tokenizer is None else cls._of_kind(model.model, tokenizer)
        if isinstance(model, str):
            wide = wide and is_stored_narrow(model)  # else there is one way to load it, and one model to keep
            return _load(model, wide) if tokenizer is None else cls._of_kind(_model(model, wide), tokenizer)
        if not isinstance(model, torch.nn.Module) and hasattr(model, "model") and hasattr(model, "tokenizer"):
            return cls._of_kind(model.model, tokenizer if tokenizer is not None else model.tokenizer)
        if tokenizer is None and isinstance(model, torch.nn.Module):
            tokenizer = tokenizer_of(model)
        return cls._of_kind(model, tokenizer)

    @classmethod
    def _of_kind(cls, model: Any, tokenizer: Any) -> HFModel:
        if not is_encoder_decoder(model):
            return cls(model, tokenizer)
        from constrain.models.hf.encoder_decoder import EncoderDecoder

        return EncoderDecoder(model, tokenizer)

    @property
    def text_config(self) -> Any:
        """The configuration of what writes: the whole model, or a part of one that sees, hears or encodes as well."""
        config = self.model.config
        return config.get_text_config(decoder=True) if self.encodes else config.get_text_config()

    def for_call(self) -> HFModel:
        """The handle that a call of `generate` uses: itself, where it keeps nothing of prompts."""
        return self

    def begun(self, ids: Sequence[int], name: str) -> list[int]:
        """The sequence that the outputs of a prompt continue. name: of the prompt, for messages."""
        return list(ids)

    @property
    def hints(self) -> list[list[int]]:
        """Texts beside the prompts' sequences that outputs are likely to repeat."""
        return []

    def trial_source(self, row: int) -> list[int]:
        """The first tokens of a sequence of a trial; up to three rows."""
        return []

    def opened(self, chunks: Sequence[Sequence[int]]) -> tuple[Sequence[Sequence[int]], Any]:
        """(the tokens of new sequences, what their forwards are given beside them: None, or an object with `select`)"""
        return chunks, None

    def forward(self, beside: Any, **arguments: Any) -> Any:
        """One forward of the model. beside: of `opened`."""
        with forgotten(self.noting), grouped():
            return self.model(**arguments)

    @cached_property
    def weights(self) -> int:
        """Bytes of the weights, which a forward reads."""
        return sum(each.numel() * each.element_size() for each in self.model.parameters())

    def remembered(self, length: int) -> int | None:
        """Bytes of keys and values of a text of so many tokens, at most; None: it remembers other things, too."""
        config = self.text_config
        heads = getattr(config, "num_attention_heads", None)
        layers, width = getattr(config, "num_hidden_layers", None), getattr(config, "hidden_size", None)
        if self.encodes or not self.plain or not (heads and layers and width):
            return None
        of_head = getattr(config, "head_dim", None) or width // heads
        keys = getattr(config, "num_key_value_heads", None) or heads
        return int(2 * layers * keys * of_head * length * next(self.model.parameters()).element_size())

    @cached_property
    def noting(self) -> list[Any]:
        """The modules in which the model notes something about the images of its last prompt."""
        return [module for module in self.model.modules() if "rope_deltas" in vars(module)]

    @cached_property
    def plain(self) -> bool:
        """True if names say that the model's memory is a cache of keys and values; else that is found by trial."""
        try:
            known = is_plain(self.new_cache())
        except Exception:  # whatever the cache has against this configuration: the model makes its own
            return False
        both = is_encoder(self.model.config) and not self.encodes
        unsure = getattr(unwrapped(self.model), "_is_stateful", False) or both
        return (
            known
            and self.memory in self._parameters
            and not unsure
            and (self.encodes or self._kept("chunks", self._takes_chunks))
        )

    @cached_property
    def memory(self) -> str:
        """The name under which a forward takes and returns a cache; transformers 5.24 renamed `past_key_values`."""
        return "cache" if "cache" in self._parameters else "past_key_values"

    @property
    def plainly(self) -> CacheProtocol:
        """The protocol that reads rows of equal lengths in a cache of keys and values."""
        return CacheProtocol(self.memory, given=True)

    @property
    def fixed(self) -> FixedForward | None:
        """The forwards of fixed shape that the model is read by; None: by forwards of the shape of each step.

        Tried once on a GPU. Of another device, or to compile what is captured, it may be set:
        `handle.fixed = FixedForward(handle, compiled=True)` (constrain/device/fixed.py).
        """
        device = self.model.device

        def found() -> FixedForward | None:
            if device.type != "cuda":
                return None
            forwards: FixedForward | None = fixed_sessions.fixed_or_none(self)
            return forwards

        known: FixedForward | None = self._kept(f"fixed on {device}", found)
        return known

    @fixed.setter
    def fixed(self, chosen: FixedForward | None) -> None:
        _known.setdefault(self.model, {})[f"fixed on {self.model.device}"] = chosen

    @property
    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(unwrapped(self.model).forward).parameters

    def _kept(self, name: str, find: Callable[[], Any]) -> Any:
        """The finding of a trial, which is made once for each model object, whatever handles it has."""
        known = _known.setdefault(self.model, {})
        if name not in known:
            known[name] = find()
        return known[name]

    @torch.inference_mode()
    def _takes_chunks(self) -> bool:
        """Several tokens at once may follow what is remembered: two small forwards, which some models refuse."""
        ids = torch.arange(5, device=self.model.device).unsqueeze(0) % self.width
        try:
            arguments = {self.memory: self.new_cache(), "use_cache": True}
            self.forward(None, input_ids=ids[:, :3], **arguments)
            self.forward(None, input_ids=ids[:, 3:], **arguments)
        except Exception:  # whatever the model has against it: how it is read is found by trial
            return False
        return True

    @cached_property
    def may_be_ragged(self) -> bool:
        """True if no layer has a window that holes of a row would fill. Configurations name windows in many ways."""
        config = self.text_config
        said = {name: value for name, value in vars(config).items() if "window" in name and isinstance(value, int)}
        windows = [value for name, value in said.items() if "layers" not in name and not isinstance(value, bool)]
        if not said.get("use_sliding_window", True):
            windows = []
        return all(window >= (self.context or window + 1) for window in windows) and (
            not self.plain or keeps_everything(self.new_cache())
        )

    @cached_property
    def windows(self) -> dict[str, int | None] | None:
        """The tokens that layers look back, by their kind ("" of all; None: to the beginning).

        None: no layer has a window that matters, or it is of a kind that masks of four dimensions do not tell.
        """
        config, kinds = self.text_config, {"full_attention", "sliding_attention"}
        window, layers = getattr(config, "sliding_window", None), set(getattr(config, "layer_types", None) or ())
        if self.may_be_ragged or not self.plain or self.encodes or not isinstance(window, int) or layers - kinds:
            return None
        return {"full_attention": None, "sliding_attention": window} if layers == kinds else {"": window}

    @cached_property
    def reading(self) -> CacheProtocol:
        """The protocol of reading; found by trial when first asked for. Raises ConstrainError, as `reading_of` does."""
        return reading_of(self)

    @property
    def ragged(self) -> bool:
        """Rows of a batch may grow by different lengths at once."""
        return (not self.plain or self.may_be_ragged) and self.reading.ragged

    @cached_property
    def takes_keep(self) -> bool:
        """True if the model computes the logits of the last positions only when it is asked to."""
        takes = self._parameters
        if (
            "logits_to_keep" in takes
            or self.encodes
            or all(each.kind is not each.VAR_KEYWORD for each in takes.values())
        ):
            return "logits_to_keep" in takes
        return bool(self._kept("keep", self._obeys_keep))

    def _obeys_keep(self) -> bool:
        """True if the model gives fewer logits when asked: a small forward, for models that take any argument."""
        ids = torch.zeros((1, 2), dtype=torch.int64, device=self.model.device)
        try:
            with torch.inference_mode():
                return int(self.model(input_ids=ids, use_cache=False, logits_to_keep=1).logits.shape[1]) == 1
        except Exception:  # whatever it has against the argument
            return False

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The bytes of every token id, as wide as the logits; the model's own end-of-text ids end a text too."""
        return Vocabulary.from_huggingface(self.tokenizer, size=self.width, eos_ids=self._eos_ids() or None)

    def _eos_ids(self) -> list[int]:
        """The tokenizer's, and those of the model's configurations that the tokenizer holds special.

        Chat models end a turn with a token of their own. Ids that are ordinary text are left out: a model configuration
        that says nothing gets the family's default, whatever its tokenizer.
        """
        own = getattr(self.tokenizer, "eos_token_id", None)
        added = getattr(self.tokenizer, "added_tokens_decoder", {})
        special = getattr(self.tokenizer, "all_special_ids", ())
        said = {i for i in eos_ids_of(self.model) if i in special or (i in added and added[i].special)}
        return sorted(said | ({own} if own is not None else set()))

    def start(
        self, prefixes: Sequence[Sequence[int]], keep: Sequence[int]
    ) -> tuple[HFSession | GroupedSession | RereadSession, list[torch.Tensor]]:
        """Read B prefixes; see `constrain.sampling.LanguageModel`."""
        if self.fixed is not None:
            fixed = fixed_sessions.FixedSession(self, len(prefixes), self.fixed)
            return fixed, fixed.feed(prefixes, keep)
        lengths = list(map(len, prefixes))
        even = self.plain and not self.encodes and len(set(lengths)) == 1  # then there is one way, and nothing to find
        even = even and vars(self).get("reading", self.plainly).argument is not None
        session = HFSession(self, len(prefixes)) if even else open_session(self, lengths, self.reading)
        return session, session.feed(prefixes, keep)

    @torch.inference_mode()
    def read(self, texts: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        """Logits float[length, width] after each token of texts of equal lengths, read at once without a memory."""
        tokens, beside = self.opened(texts)
        ids = torch.tensor([list(text) for text in tokens], dtype=torch.int64, device=self.model.device)
        return list(self.forward(beside, input_ids=ids, use_cache=False).logits)

    @cached_property
    def branching(self) -> bool:
        """True if the model reads trees of drafts, not only chains; see tree.py."""
        from constrain.models.hf.tree import reads_trees

        return reads_trees(self)

    def open(self, rows: int) -> TreeSession:
        """A session for drafts; see `constrain.speculative.Target`."""
        from constrain.models.hf.tree import open_trees

        return open_trees(self, rows)

    def new_cache(self) -> Any:
        """An empty cache of keys and values for a plain model."""
        from transformers import DynamicCache

        return DynamicCache(config=self.model.config)


def eos_ids_of(model: Any) -> list[int]:
    """The ids that end a text by a model's generation config and config; there may be none."""
    config = getattr(model, "config", None)
    text = getattr(config, "get_text_config", lambda: None)()
    configs = (getattr(model, "generation_config", None), config, text)
    said = [getattr(each, "eos_token_id", None) for each in configs]
    return sorted({i for ids in said if ids is not None for i in (ids if isinstance(ids, (list, tuple)) else [ids])})


def _width(head: Any) -> int:
    """The logits of an output layer. The weight of one that `quantize_dynamic` made is a method."""
    weight = head.weight() if callable(head.weight) else head.weight
    return int(weight.shape[0])


def unwrapped(model: Any) -> Any:
    """The model inside `torch.compile` and adapters, whose own `forward` takes any arguments."""
    model = getattr(model, "_orig_mod", model)
    return model.get_base_model() if hasattr(model, "get_base_model") else model


@lru_cache(maxsize=LOADED_MODELS)
def _load(name: str, wide: bool) -> HFModel:
    model = _model(name, wide)
    return HFModel.of(model, tokenizer_beside(name, model))


_model = lru_cache(maxsize=LOADED_MODELS)(model_named)
