"""Small tokenizers of each kind, made here, with a special token `<end>`."""

import json
from collections.abc import Callable
from typing import Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers.trainers import BpeTrainer

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    + r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEXT = "it's a test: the 's and 12 345 \n\n  the end, it ends\n 's tests!\n  {\"a\": 1}"


# As DeepSeek V3: numbers are cut first, then runs of some letters, then all else; `1s` might be a piece of the last.
CHAIN = (
    r"\p{N}{1,3}",
    "s+|[日本]+",
    r"[!'\"][a-z]+|[^\r\n\p{L}\p{P}\p{S}]?\p{L}+| ?[\p{P}\p{S}]+[\r\n]*|\s+(?!\S)|\s+",
)


def _byte_level(pattern: str | None, missing: str = "", more: str = "", **options: Any) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(**options))
    own = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern == "gpt2")
    if pattern not in (None, "gpt2"):
        own = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), own])
    tokenizer.pre_tokenizer = own
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = [letter for letter in pre_tokenizers.ByteLevel.alphabet() if letter not in missing]
    trainer = BpeTrainer(vocab_size=256 + 45, initial_alphabet=alphabet, show_progress=False, min_frequency=1)
    tokenizer.train_from_iterator([TEXT * 3, "aaaa aaa aa ''s !!!! 111 11 \n\n\n ss", more], trainer)
    return tokenizer


def _sentence_piece() -> Tokenizer:
    """As Gemma: blanks are `▁`, no pieces, characters without a token are written in bytes, added runs of newlines."""
    words = ["▁", "a", "s", "'", "1", "!", '"', "\n", "▁a", "as", "aa", "aas", "!!", "'s", "s▁", "▁▁", '"!']
    vocab = {word: i for i, word in enumerate([*(f"<0x{b:02X}>" for b in range(256)), "<unk>", *words, "\n\n"])}
    merges = [
        ("▁", "a"), ("a", "s"), ("a", "a"), ("a", "as"), ("!", "!"), ("'", "s"), ("s", "▁"), ("▁", "▁"), ('"', "!"),
    ]  # fmt: skip
    tokenizer = Tokenizer(models.BPE(vocab, merges, byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.add_tokens([AddedToken("\n\n", normalized=False)])
    return tokenizer


def _single_digits() -> Tokenizer:
    """As SmolLM: each digit is a piece before GPT-2's regex cuts the rest."""
    tokenizer = _byte_level("gpt2")
    digits = pre_tokenizers.Digits(individual_digits=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    return tokenizer


def _ignoring_merges() -> Tokenizer:
    tokenizer = _byte_level("gpt2")
    state = json.loads(tokenizer.to_str())
    state["model"]["ignore_merges"] = True
    state["model"]["vocab"]["aas"] = len(state["model"]["vocab"])  # no merges make it
    return Tokenizer.from_str(json.dumps(state))


def _chained() -> Tokenizer:
    tokenizer = _byte_level("gpt2", more="11 11 11 111 111 111 11 11 111 111")
    stages = [pre_tokenizers.Split(Regex(pattern), "isolated") for pattern in CHAIN]
    own = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*stages, own])
    return tokenizer


def _with_added_texts() -> Tokenizer:
    """As Qwen: added tokens that are text, of several tokens each, one within another, one that another begins."""
    tokenizer = _byte_level(LLAMA3)
    tokenizer.add_tokens(
        [AddedToken(text, normalized=False) for text in ["a's!a", '"1"', "s!", "\n\n", "\n\na\n", "!!!"]]
    )
    return tokenizer


def _ended(tokenizer: Tokenizer) -> Tokenizer:
    tokenizer.add_special_tokens(["<end>"])
    return tokenizer


MADE: dict[str, Callable[[], Tokenizer]] = {
    "no pieces": lambda: _ended(_byte_level(None)),
    "gpt2": lambda: _ended(_byte_level("gpt2")),
    "llama3": lambda: _ended(_byte_level(LLAMA3)),
    "sentencepiece": lambda: _ended(_sentence_piece()),
    "digits": lambda: _ended(_single_digits()),
    "ignore_merges": lambda: _ended(_ignoring_merges()),
    "chained": lambda: _ended(_chained()),
    "added texts": lambda: _ended(_with_added_texts()),
    "missing bytes": lambda: _ended(_byte_level("gpt2", missing="Ãóôõö÷")),
}
