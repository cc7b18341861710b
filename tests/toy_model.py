"""Models for samplers: a table of logits by prefix, and tiny random networks with a tokenizer of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch


class TableModel:
    """Logits drawn once for every prefix, numbers that `dtype` has; equal seeds, equal models.

    spread: standard deviation of the logits. fixed: logits for certain outputs (prefix without the prompt's tokens).
    """

    context: int | None = None

    def __init__(
        self, width: int, seed: int = 0, spread: float = 2.0, ragged: bool = True, dtype: Any = torch.float64
    ) -> None:
        self.width = width
        self.seed = seed
        self.dtype = dtype
        self.spread = spread
        self.ragged = ragged
        self.fixed: dict[tuple[int, ...], np.ndarray] = {}
        self.forwards = 0

    def logits(self, prefix: Sequence[int]) -> np.ndarray:
        """float64[width] after a prefix."""
        key = tuple(prefix)
        if key not in self.fixed:
            rng = np.random.default_rng([self.seed, 7, *(token + 1 for token in key)])
            drawn = torch.from_numpy(rng.normal(scale=self.spread, size=self.width))
            self.fixed[key] = drawn.to(self.dtype).double().numpy()
        return self.fixed[key]

    def log_probs(self, prefix: Sequence[int]) -> np.ndarray:
        logits = self.logits(prefix)
        top = logits.max()
        return logits - (top + np.log(np.exp(logits - top).sum()))

    def start(self, prefixes: Sequence[Sequence[int]], keep: Sequence[int]) -> tuple[TableSession, list[torch.Tensor]]:
        session = TableSession(self, len(prefixes))
        return session, session.feed(prefixes, keep)


class TableSession:
    def __init__(self, model: TableModel, rows: int) -> None:
        self.model = model
        self.rows: list[list[int]] = [[] for _ in range(rows)]

    def feed(self, chunks: Sequence[Sequence[int]], keep: Sequence[int]) -> list[torch.Tensor]:
        assert len(chunks) == len(keep) == len(self.rows)
        assert all(chunks)
        fresh = not any(self.rows)
        assert self.model.ragged or fresh or len({len(chunk) for chunk in chunks}) == 1
        self.model.forwards += 1
        result = []
        for row, chunk, kept in zip(self.rows, chunks, keep, strict=True):
            row += chunk
            assert 0 < kept <= len(row)
            places = range(len(row) - kept + 1, len(row) + 1)
            logits = np.stack([self.model.logits(row[:place]) for place in places])
            result.append(torch.tensor(logits, dtype=self.model.dtype))
        return result

    def select(self, rows: Sequence[int]) -> None:
        self.rows = [list(self.rows[row]) for row in rows]

    def fork(self, rows: Sequence[int]) -> TableSession:
        twin = type(self)(self.model, 0)
        twin.rows = [list(self.rows[row]) for row in rows]
        return twin


CHAT_TEMPLATE = (  # marks of Hermes' format; a call's arguments are read as an object
    "{% if tools %}Tools: {% for t in tools %}{{ t['function']['name'] }} {% endfor %}{% endif %}"
    "{% for m in messages %}<|im_start|>{{ m['role'] }}: {{ m['content'] }}{% for c in m.get('tool_calls', []) %}"
    "<tool_call>{% for k, v in c['function']['arguments'].items() %}'arguments': {{ k }} {{ v | tojson }}{% endfor %}"
    "</tool_call>{% endfor %}<|im_end|>{% endfor %}"
)
WORDS = [
    "true", "false", "null", "name", "age", "red", "green", '":', '",', " a", "the ", "é", "日本", "{}", '{"', "00",
]  # fmt: skip


def tiny_tokenizer(**special: str) -> Any:
    """A byte-level BPE tokenizer of transformers: 256 bytes, the words above, `<|end|>`, `<|begin|>`, `<|turn|>`."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    vocabulary = {piece: i for i, piece in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    merges: list[tuple[str, str]] = []
    for word in WORDS:
        ((piece, _),) = byte_level.pre_tokenize_str(word)
        for end in range(2, len(piece) + 1):
            if piece[:end] not in vocabulary:
                vocabulary[piece[:end]] = len(vocabulary)
                merges.append((piece[: end - 1], piece[end - 1]))
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = byte_level
    tokenizer.decoder = decoders.ByteLevel()
    ends = ["<|end|>", "<|begin|>", "<|turn|>"]
    tokenizer.add_special_tokens([AddedToken(each, special=True, normalized=False) for each in ends])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **{"eos_token": "<|end|>", **special})


def tiny_llama(tokenizer: Any, seed: int = 0, extra: int = 5, **config: Any) -> Any:
    """A random Llama, 2 layers of width 32, with `extra` logits beyond the tokenizer's ids; float64, sharp enough."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    shape = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2}
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer) + extra,
            num_key_value_heads=1,
            max_position_embeddings=256,
            initializer_range=0.3,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.eos_token_id,
            **{**shape, **config},
        )
    )
    return model.double().eval()


def tiny_gpt2(tokenizer: Any, seed: int = 0) -> Any:
    """A random GPT-2: learned positions, in float64."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(seed)
    end = tokenizer.eos_token_id
    config = GPT2Config(
        vocab_size=len(tokenizer), n_embd=32, n_layer=2, n_head=2, n_positions=128, initializer_range=0.3,
        bos_token_id=end, eos_token_id=end,
    )  # fmt: skip
    return GPT2LMHeadModel(config).double().eval()


def tiny_handle() -> Any:
    """The handle of a tiny model, untrained, with its tokenizer."""
    from constrain.models.hf import HFModel

    tokenizer = tiny_tokenizer()
    return HFModel(tiny_llama(tokenizer), tokenizer)


def chain_reader() -> Any:
    """The handle of a model that reads chains only: its windows are such as no mask tells."""
    from constrain.models.hf import HFModel

    tokenizer = tiny_tokenizer()
    handle = HFModel(tiny_mistral(tokenizer), tokenizer)
    vars(handle)["windows"] = None
    assert not handle.branching
    return handle


def tiny_mistral(tokenizer: Any, seed: int = 0) -> Any:
    """A random Mistral whose layers see a window of 4 positions, in float64: it cannot grow ragged."""
    from transformers import MistralConfig, MistralForCausalLM

    torch.manual_seed(seed)
    end = tokenizer.eos_token_id
    config = MistralConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, max_position_embeddings=256, sliding_window=4, initializer_range=0.3,
        bos_token_id=None, eos_token_id=end,
    )  # fmt: skip
    return MistralForCausalLM(config).double().eval()


def cuts(tokens: list[bytes | None], text: bytes) -> list[list[int]]:
    """Every way to cut a text into tokens."""
    if not text:
        return [[]]
    return [
        [i, *rest]
        for i, token in enumerate(tokens)
        if token and text.startswith(token)
        for rest in cuts(tokens, text[len(token) :])
    ]
