"""Vocabularies for tests: three real ones, and a tiny one made by hand.

tiny()              ids 0-255 the bytes, then a few longer tokens, a duplicate, a special token, end of text
llama3()            128,256 ids, byte-level BPE, from tiktoken's format; Tekken's tokens where Llama 3's are absent
tekken()            131,072 ids, byte-level BPE, end-of-text ids 2 and 11
sentencepiece32k()  32,000 ids, SentencePiece BPE with byte fallback
"""

import functools
import json
import tempfile
from pathlib import Path

import pytest

from conftest import data_root
from constrain.languages.vocab.vocabulary import Vocabulary

LLAMA3_SPECIAL = {"<|begin_of_text|>": 128000, "<|end_of_text|>": 128001, "<|eot_id|>": 128009} | {
    f"<|reserved_special_token_{i}|>": i for i in range(128000, 128256) if i not in (128000, 128001, 128009)
}
TINY_TEXTS = ["true", "false", "null", '{"', '":', '", "', "  ", "ab", "abc", "12", "é", "→x"]


@functools.cache
def tiny() -> Vocabulary:
    """271 ids: 0-255 the bytes, 256-267 `TINY_TEXTS`, 268 `ab` again, 269 special, 270 end of text."""
    single_bytes = [bytes([byte]) for byte in range(256)]
    return Vocabulary([*single_bytes, *map(str.encode, TINY_TEXTS), b"ab", None, None], eos_ids=[270])


@functools.cache
def llama3() -> Vocabulary:
    return Vocabulary.from_tiktoken(llama3_model(), special_tokens=LLAMA3_SPECIAL, eos_ids=[128001, 128009])


@functools.cache
def llama3_model() -> Path:
    """Llama 3's ranks in tiktoken's format; where they are absent, the first 128,000 ranks of Tekken in that format.

    A beginning of a list of merges is a list of merges: the file is a real one of the same size, by other texts.
    """
    if (root := data_root("tokenizers")) is not None:
        return root / "tokenizers" / "llama3" / "tokenizer.model"
    ranks = json.loads(mistral_data("tekken_240911.json").read_bytes())["vocab"][:128_000]
    path = Path(_folder().name) / "tokenizer.model"
    path.write_text("".join(f"{row['token_bytes']} {row['rank']}\n" for row in ranks), encoding="ascii")
    return path


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """A folder of this process."""
    return tempfile.TemporaryDirectory()


@functools.cache
def tekken() -> Vocabulary:
    return Vocabulary.from_tekken(mistral_data("tekken_240911.json"), eos_ids=[2, 11])


@functools.cache
def sentencepiece32k() -> Vocabulary:
    pytest.importorskip("sentencepiece")
    return Vocabulary.from_sentencepiece(mistral_data("tokenizer.model.v1"))


def forget() -> None:
    """Let go what these vocabularies keep, automata of hundreds of megabytes among it: it is made again in 0.1 s."""
    for made in (tiny, llama3, tekken, sentencepiece32k):
        if made.cache_info().currsize:
            made().kept.clear()


def fresh(name: str) -> Vocabulary:
    """One of the vocabularies above, with nothing derived yet."""
    vocabulary = globals()[name]()
    return Vocabulary(vocabulary.tokens, vocabulary.eos_ids)


def mistral_data(name: str) -> Path:
    """A tokenizer file that comes with the package mistral_common."""
    package = pytest.importorskip("mistral_common", reason="the package mistral-common is not installed")
    path = Path(package.__file__).parent / "data" / name
    if not path.exists():
        pytest.skip(f"this version of mistral-common has no {name}")
    return path
