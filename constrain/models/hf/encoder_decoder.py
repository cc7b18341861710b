"""An encoder-decoder model of transformers (T5, BART and kin) behind the samplers' `LanguageModel`.

The idea: the prompt is what the encoder reads; an output is what the decoder writes after its start token. In token
sequences the prompt is a name (constrain/sampling/core/sources.py), so all else — batches, forks, padding, drafts — is
that of a causal model, whose sessions give every forward the encoder's states too.
Cost: the encoder runs once for each distinct prompt of a call, those of equal lengths together, so that no prompt sees
padding. Keys and values of the cross attention are computed in the first forward of a session, and shared by forks
(cache.py), as those of the beginning are.
Limit: encoders that read token ids; those of sounds and images are refused. Sequences begin with the decoder's start
token, and the token that the model is configured to write first, if there is one.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from constrain.errors import ConstrainError
from constrain.models.hf.model import HFModel, unwrapped
from constrain.sampling.core.sources import LENGTH, Sources

TRIALS = (4, 7, 7)  # tokens of made-up texts for the encoder


@dataclass(frozen=True)
class Encoded:
    """The encoder's output for the texts of a session's rows.

    states: float[S, T, H], of S distinct texts. mask: int64[S, T]: 1 where a text has a token. rows: int64[B]: the text
    of each row.
    """

    states: torch.Tensor
    mask: torch.Tensor
    rows: torch.Tensor

    def select(self, index: torch.Tensor) -> Encoded:
        """The output for these rows."""
        return replace(self, rows=self.rows[index])

    def arguments(self) -> dict[str, Any]:
        """The arguments of a forward pass."""
        from transformers.modeling_outputs import BaseModelOutput

        if len(self.states) == 1:  # no copy for each row
            states, mask = self.states.expand(len(self.rows), -1, -1), self.mask.expand(len(self.rows), -1)
        else:
            states, mask = self.states[self.rows], self.mask[self.rows]
        output = BaseModelOutput(last_hidden_state=states)
        output.router_logits = None  # models with experts hand it on
        return {"encoder_outputs": output, "attention_mask": mask}


class EncoderDecoder(HFModel):
    """An encoder-decoder model and its tokenizer; `HFModel.of` makes one.

    Args:
        model: An encoder-decoder model of transformers with a language model's head.
        tokenizer: Its tokenizer.

    Attributes:
        context: Positions of the decoder, and the ids of the source's name; None: unlimited.

    Raises:
        ConstrainError: Its encoder reads no token ids, or nothing says what a text begins with.

    Example:
        >>> import transformers
        >>> sizes = {"d_model": 8, "d_kv": 4, "d_ff": 8, "num_layers": 1, "num_heads": 2, "decoder_start_token_id": 0}
        >>> model = transformers.T5ForConditionalGeneration(transformers.T5Config(vocab_size=40, **sizes))
        >>> handle = EncoderDecoder(model, None)
        >>> _, (logits,) = handle.start([handle.begun([5, 6, 7], "the prompt")], keep=[1])
        >>> logits.shape
        torch.Size([1, 40])
    """

    encodes = True

    def __init__(self, model: Any, tokenizer: Any) -> None:
        super().__init__(model, tokenizer)
        name = type(model).__name__
        if "encoder_outputs" not in inspect.signature(unwrapped(model).forward).parameters:
            raise ConstrainError(
                f"{name} takes no states of an encoder that were computed before",
                fix="use an encoder-decoder model of the kind of T5 or BART",
            )
        self.begin = _begin(model)
        self.encoder_context = self.context
        self.context = None if self.context is None else self.context + LENGTH
        self.sources = Sources()
        self._encoded: dict[tuple[int, ...], torch.Tensor] = {}  # states float[T, H] of texts, by name

    def for_call(self, sources: Sources | None = None) -> EncoderDecoder:
        """The handle with prompts of its own, which are forgotten with it. sources: of another model, to share."""
        twin = copy.copy(self)
        twin.sources, twin._encoded = Sources() if sources is None else sources, {}
        return twin

    def begun(self, ids: Sequence[int], name: str) -> list[int]:
        """The sequence that a prompt's outputs continue: the name of the prompt, and how the decoder begins.

        Raises ConstrainError: the prompt is longer than the encoder reads.
        """
        if self.encoder_context is not None and len(ids) > self.encoder_context:
            raise ConstrainError(
                f"{name} has {len(ids)} tokens, and the model's encoder has {self.encoder_context} positions",
                fix="shorten the prompt",
            )
        return [*self.sources.name(ids), *self.begin]

    @property
    def hints(self) -> list[list[int]]:
        """Texts that outputs are likely to repeat: what the encoder reads."""
        return [list(text) for text in self.sources.known.values()]

    def trial_source(self, row: int) -> list[int]:
        """A made-up prompt, for trials."""
        return self.sources.name((row * 37 + place * 101 + 7) % self.width for place in range(TRIALS[row]))

    def new_cache(self) -> Any:
        """An empty cache of keys and values, of the decoder's own attention and of that to the encoder."""
        from transformers import DynamicCache, EncoderDecoderCache

        return EncoderDecoderCache(DynamicCache(config=self.text_config), DynamicCache())

    def opened(self, chunks: Sequence[Sequence[int]]) -> tuple[list[list[int]], Encoded]:
        """The tokens of new sequences, and what the encoder makes of their sources."""
        split = [self.sources.split(chunk) for chunk in chunks]
        names = list(dict.fromkeys(name for name, _ in split))
        self._encode([name for name in names if name not in self._encoded])
        states = [self._encoded[name] for name in names]
        mask = torch.zeros((len(names), max(map(len, states))), dtype=torch.int64, device=self.model.device)
        for row, each in zip(mask, states, strict=True):
            row[: len(each)] = 1
        rows = torch.tensor([names.index(name) for name, _ in split], device=self.model.device)
        padded = torch.nn.utils.rnn.pad_sequence(states, batch_first=True)
        return [tokens for _, tokens in split], Encoded(padded, mask, rows)

    def _encode(self, names: Sequence[tuple[int, ...]]) -> None:
        """Run the encoder over texts, those of equal lengths together."""
        by_length: dict[int, list[tuple[int, ...]]] = {}
        for name in names:
            by_length.setdefault(len(self.sources.known[name]), []).append(name)
        for group in by_length.values():
            ids = torch.tensor([self.sources.known[name] for name in group], device=self.model.device)
            output = self.model.get_encoder()(input_ids=ids, attention_mask=torch.ones_like(ids), return_dict=True)
            self._encoded.update(zip(group, output.last_hidden_state, strict=True))

    def forward(self, beside: Any, **arguments: Any) -> Any:
        """One forward of the decoder. beside: of `opened`."""
        own = {"input_ids", "attention_mask", "position_ids"}
        renamed = {f"decoder_{name}" if name in own else name: value for name, value in arguments.items()}
        return self.model(**renamed, **beside.arguments())


def _begin(model: Any) -> list[int]:
    """The tokens with which every output of a model begins: the decoder's start token, and the configured ones."""
    configs = [getattr(model, "generation_config", None), model.config, getattr(model.config, "decoder", None)]

    def said(name: str) -> Any:
        return next((found for each in configs if (found := getattr(each, name, None)) is not None), None)

    start = next(
        (found for name in ("decoder_start_token_id", "bos_token_id") if (found := said(name)) is not None), None
    )
    if not isinstance(start, int):
        raise ConstrainError(
            f"{type(model).__name__} does not say which token its outputs begin with",
            fix="set model.config.decoder_start_token_id",
        )
    first = said("forced_bos_token_id")
    return [start] if first is None else [start, int(first)]
