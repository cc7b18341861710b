"""A causal model of transformers behind the samplers' `LanguageModel`: batches that grow, fork and end, with a cache.

The idea: a batch is a rectangle of cache slots. Shorter prompts are padded on the left; when rows grow by different
lengths the shorter ones get holes. The attention mask hides both, and positions count tokens, not slots, so neither
changes a logit but for rounding.
Cost: one forward a call; a hole costs memory until its row ends. Logits are computed only where they are asked for.
Limit: causal models whose layers keep all keys and values. A layer with a window, or with a recurrent state, would see
the holes: a model with such layers grows by equal lengths only (`ragged` is False).
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import torch

from constrain.errors import ConstrainError
from constrain.vocab.vocabulary import Vocabulary

if TYPE_CHECKING:
    from constrain.speculative.target import TreeSession

FILL = 0  # token id in slots that nothing attends to
LOADED_MODELS = 4  # by name, kept for the next call


class HFModel:
    """A model and its tokenizer.

    width: logits per position. context: positions that the model has, None when unlimited.
    vocabulary: the tokenizer's, padded to `width`.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        """Raises ConstrainError: no causal language model, or no tokenizer.

        model: a causal language model of transformers; runs in eval mode from now on
        """
        config = getattr(model, "config", None)
        if not isinstance(model, torch.nn.Module) or config is None or not hasattr(model, "get_output_embeddings"):
            raise ConstrainError(
                f"{type(model).__name__} is not a causal language model of transformers",
                fix="pass AutoModelForCausalLM.from_pretrained(name), a model name, or constrain.reference.load()",
            )
        if getattr(config, "is_encoder_decoder", False):
            raise ConstrainError(
                f"{type(model).__name__} is an encoder-decoder model",
                fix="use a causal model here; its own model.generate works with constrain.hf.ConstraintProcessor",
            )
        self.model = model.eval()
        self.tokenizer = tokenizer
        text_config = config.get_text_config()
        head = model.get_output_embeddings()
        self.width: int = text_config.vocab_size if head is None else head.weight.shape[0]
        self.context: int | None = getattr(text_config, "max_position_embeddings", None)
        accepted = inspect.signature(_unwrapped(model).forward).parameters
        self.takes_positions = "position_ids" in accepted
        self.takes_keep = "logits_to_keep" in accepted

    @classmethod
    def of(cls, model: Any, tokenizer: Any = None) -> HFModel:
        """Of a handle, a model by object or name, or an object with `model` and `tokenizer`
        (`constrain.reference.load()`).

        Raises ConstrainError: not loadable, or no tokenizer.
        """
        if isinstance(model, HFModel):
            return model if tokenizer is None else cls(model.model, tokenizer)
        if isinstance(model, str):
            loaded = _load(model)
            return loaded if tokenizer is None else cls(loaded.model, tokenizer)
        if not isinstance(model, torch.nn.Module) and hasattr(model, "model") and hasattr(model, "tokenizer"):
            return cls(model.model, tokenizer if tokenizer is not None else model.tokenizer)
        if tokenizer is None and isinstance(model, torch.nn.Module):
            tokenizer = _tokenizer_of(model)
        return cls(model, tokenizer)

    @cached_property
    def ragged(self) -> bool:
        """Rows of a batch may grow by different lengths at once."""
        from transformers.cache_utils import DynamicLayer

        return all(type(layer) is DynamicLayer for layer in self._new_cache().layers)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The bytes of every token id, as wide as the logits; the model's own end-of-text ids end a text too."""
        return Vocabulary.from_huggingface(self.tokenizer, size=self.width, eos_ids=self._eos_ids() or None)

    def _eos_ids(self) -> list[int]:
        """The tokenizer's, and those of the generation config that the tokenizer holds special.

        Chat models end a turn with a token of their own. Ids that are ordinary text are left out: a model configuration
        that says nothing gets the family's default, whatever its tokenizer.
        """
        own = getattr(self.tokenizer, "eos_token_id", None)
        more = getattr(getattr(self.model, "generation_config", None), "eos_token_id", None)
        added = getattr(self.tokenizer, "added_tokens_decoder", {})
        special = {i for i, token in added.items() if token.special} | set(
            getattr(self.tokenizer, "all_special_ids", ())
        )
        extra = more if isinstance(more, list) else [] if more is None else [more]
        return sorted({i for i in extra if i in special} | ({own} if own is not None else set()))

    def start(self, prefixes: Sequence[Sequence[int]], keep: Sequence[int]) -> tuple[HFSession, list[torch.Tensor]]:
        """Read B prefixes; see `constrain.sampling.LanguageModel`."""
        session = HFSession(self, self._new_cache(), len(prefixes))
        return session, session.feed(prefixes, keep)

    @cached_property
    def branching(self) -> bool:
        """It reads trees of drafts, not only chains; see tree.py."""
        from constrain.hf.tree import reads_trees

        return reads_trees(self)

    def open(self, rows: int) -> TreeSession:
        """A session for drafts; see `constrain.speculative.Target`."""
        from constrain.hf.tree import open_trees

        return open_trees(self, rows)

    def _new_cache(self) -> Any:
        from transformers import DynamicCache

        return DynamicCache(config=self.model.config)


class HFSession:
    """A batch of B sequences in a cache of S slots.

    attention: int64[B, S], 1 where a slot holds a token of the row. lengths: int64[B], tokens of each row.
    """

    def __init__(self, handle: HFModel, cache: Any, rows: int) -> None:
        self.handle = handle
        self.cache = cache
        self.device = handle.model.device
        self.attention = torch.zeros((rows, 0), dtype=torch.int64, device=self.device)
        self.lengths = torch.zeros(rows, dtype=torch.int64, device=self.device)

    @torch.inference_mode()
    def feed(self, chunks: Sequence[Sequence[int]], keep: Sequence[int]) -> list[torch.Tensor]:
        """Append a chunk to each row; logits float[keep[i], width] of its last positions."""
        slots = max(map(len, chunks))
        padded = [[FILL] * (slots - len(chunk)) + list(chunk) for chunk in chunks]
        real = [[0] * (slots - len(chunk)) + [1] * len(chunk) for chunk in chunks]
        present = torch.tensor(real, dtype=torch.int64, device=self.device)  # [B, slots]
        self.attention = torch.cat([self.attention, present], dim=1)
        arguments: dict[str, Any] = {}
        if self.handle.takes_positions:
            arguments["position_ids"] = (self.lengths.unsqueeze(1) + present.cumsum(1) - 1).clamp(min=0)
        if self.handle.takes_keep:
            arguments["logits_to_keep"] = max(1, *keep)
        output = self.handle.model(
            input_ids=torch.tensor(padded, dtype=torch.int64, device=self.device),
            attention_mask=self.attention,
            past_key_values=self.cache,
            use_cache=True,
            **arguments,
        )
        self.cache = output.past_key_values
        self.lengths = self.lengths + present.sum(1)
        return [row[row.shape[0] - k :] for row, k in zip(output.logits, keep, strict=True)]

    @torch.inference_mode()
    def select(self, rows: Sequence[int]) -> None:
        """Go on with these rows; repeated rows are forks, which share what they have in common (cache.py)."""
        index = torch.tensor(rows, dtype=torch.int64, device=self.device)
        if len(set(rows)) < len(rows):
            self.cache = _branched(self.cache, index)
        else:
            self.cache.batch_select_indices(index)
        self.attention = self.attention[index]
        self.lengths = self.lengths[index]

    def fork(self, rows: Sequence[int]) -> HFSession:
        """A session of its own on these rows; what they have read is shared (cache.py)."""
        index = torch.tensor(rows, dtype=torch.int64, device=self.device)
        twin = HFSession(self.handle, _branched(self.cache, index), 0)
        twin.attention, twin.lengths = self.attention[index], self.lengths[index]
        return twin


def _branched(cache: Any, index: torch.Tensor) -> Any:
    from constrain.hf.cache import branched

    return branched(cache, index)


def _unwrapped(model: Any) -> Any:
    """The model inside `torch.compile` and adapters, whose own `forward` takes any arguments."""
    model = getattr(model, "_orig_mod", model)
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def _tokenizer_of(model: Any) -> Any:
    """The tokenizer beside the files that a model was loaded from."""
    name = getattr(getattr(model, "config", None), "_name_or_path", "")
    if not name:
        raise ConstrainError("the model has no name to find its tokenizer by", fix="pass tokenizer=")
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise ConstrainError(f"no tokenizer was found for the model {name!r}", fix="pass tokenizer=") from error


@lru_cache(maxsize=LOADED_MODELS)
def _load(name: str) -> HFModel:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        return HFModel(AutoModelForCausalLM.from_pretrained(name), AutoTokenizer.from_pretrained(name))
    except (OSError, ValueError) as error:
        if isinstance(error, ConstrainError):
            raise
        reason = str(error).strip().split("\n")[0]
        raise ConstrainError(
            f"the model {name!r} cannot be loaded: {reason}",
            fix="check the name; pass a folder, a model object with tokenizer=, or constrain.reference.load()",
        ) from error
