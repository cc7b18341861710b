"""Readers of tiktoken, Tekken and SentencePiece vocabularies: the bytes of every token id, and the ids that end a text.

The rule: a token's bytes are the bytes that it adds to a text *between other tokens*. Treatment of the start of a text
is not part of a token: SentencePiece's `▁foo` is b" foo", although decoding a whole text may drop a leading space.
Special tokens (control, unknown, padding) have no bytes: None.

The libraries of the tokenizers are imported only if Python cannot read a file by itself. huggingface.py reads Hugging
Face tokenizers.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from constrain.errors import VocabularyError

SPACE = "▁"  # U+2581, SentencePiece's spelling of a space inside a piece


class Read(NamedTuple):
    """The content of a tokenizer.

    Attributes:
        tokens: The bytes of each token id; None if it is never text.
        eos_ids: The ids that end a text, as far as the tokenizer knows them.
        names: The ids of special and of added tokens by their names.
        model_key: A hash of the tokenizer's model, if it was needed (huggingface.py).
        cuts: What cuts texts into these tokens, where the source has it.
    """

    tokens: list[bytes | None]
    eos_ids: list[int]
    names: Mapping[str, int] = MappingProxyType({})
    model_key: str | None = None
    cuts: Any = None


class Ranked(NamedTuple):
    """A tokenizer that has a pattern of pieces and joins bytes by rank, as tiktoken does.

    Attributes:
        pattern: The regex of its pieces.
        ranks: The ids of its ordinary tokens by their bytes; those of a smaller id are joined first.
    """

    pattern: str
    ranks: Mapping[bytes, int]


# --- tiktoken ---------------------------------------------------------------------------------------------------------


def read_tiktoken(source: Any, special_tokens: Mapping[str, int] | None = None) -> Read:
    """Read a `tiktoken.Encoding`, or a file of lines `base64 rank` (its special tokens are passed separately).

    Raises VocabularyError if the file cannot be read, a line is malformed, or two tokens have one id.
    """
    if isinstance(source, (str, os.PathLike)):
        return _placed(_tiktoken_file(source), special_tokens or {})
    if not hasattr(source, "decode_single_token_bytes"):
        raise VocabularyError(
            f"{type(source).__name__} is not a tiktoken encoding",
            fix="pass a tiktoken.Encoding, or the path of a file in tiktoken's format",
        )
    special = {name: source.encode_single_token(name) for name in source.special_tokens_set}
    ranks: dict[int, bytes] = {}
    for token_id in sorted(set(range(source.n_vocab)) - set(special.values())):
        try:
            ranks[token_id] = source.decode_single_token_bytes(token_id)
        except KeyError:  # there are gaps between ordinary and special ids
            continue
    read = _placed(ranks, {**special, **(special_tokens or {})})
    end = special.get("<|endoftext|>")  # tiktoken's own `eot_token` is the same
    return read._replace(eos_ids=[] if end is None else [end])


def _tiktoken_file(path: str | os.PathLike[str]) -> dict[int, bytes]:
    ranks: dict[int, bytes] = {}
    for number, line in enumerate(_contents(path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            text, rank = line.split()
            token, token_id = base64.b64decode(text, validate=True), int(rank)
        except ValueError as error:
            raise _not_a_file(path, "tiktoken", f"line {number}", line[:60]) from error
        if token_id < 0 or token_id in ranks:
            raise _not_a_file(path, "tiktoken", f"line {number}: id {token_id} is negative or taken", line[:60])
        ranks[token_id] = token
    return ranks


def _placed(ranks: Mapping[int, bytes], special: Mapping[str, int]) -> Read:
    """The tokens as a list by id; None for special tokens and for unused ids."""
    for name, token_id in special.items():
        if token_id in ranks:
            raise VocabularyError(
                f"special token {name!r} has id {token_id}, which is the ordinary token {ranks[token_id]!r}",
                fix="give special tokens ids of their own, usually from the number of ordinary tokens on",
            )
    tokens: list[bytes | None] = [None] * (max([*ranks, *special.values()], default=-1) + 1)
    for token_id, token in ranks.items():
        tokens[token_id] = token
    return Read(tokens, [], dict(special))


# --- Tekken -----------------------------------------------------------------------------------------------------------


def read_tekken(path: str | os.PathLike[str]) -> Read:
    """Read Mistral's Tekken JSON: special tokens first, then ordinary ones up to the stated size.

    Raises VocabularyError if the file is not such JSON, or has fewer tokens than it states.
    """
    content = _contents(path)
    try:
        data = json.loads(content)
        size, specials = data["config"]["default_vocab_size"], data["config"]["default_num_special_tokens"]
        entries = sorted(data["vocab"], key=lambda entry: entry["rank"])[: size - specials]
        ordinary = [base64.b64decode(entry["token_bytes"], validate=True) for entry in entries]
        ranks = [entry["rank"] for entry in entries]
        pattern = data["config"].get("pattern")
        named = {entry["token_str"]: entry["rank"] for entry in data.get("special_tokens") or ()}
    except (ValueError, KeyError, TypeError) as error:
        raise _not_a_file(path, "Tekken", f"{type(error).__name__}: {error}") from error
    if ranks != list(range(size - specials)):
        raise _not_a_file(path, "Tekken", f"ranks 0 to {size - specials - 1} are not all there, once each")
    # Files before version 7 do not list their special tokens; their </s> is always 2.
    cuts = pattern and Ranked(pattern, {token: specials + rank for rank, token in enumerate(ordinary)})
    return Read([None] * specials + ordinary, [named.get("</s>", 2)], named or {"</s>": 2}, cuts=cuts or None)


# --- SentencePiece ----------------------------------------------------------------------------------------------------


def read_sentencepiece(source: Any) -> Read:
    """Read a `sentencepiece.SentencePieceProcessor`, or a model file by its path. Raises VocabularyError."""
    processor = _sentencepiece(source)
    tokens = [piece_bytes(processor, piece) for piece in range(processor.get_piece_size())]
    names = {str(processor.id_to_piece(piece)): piece for piece, token in enumerate(tokens) if token is None}
    return Read(tokens, [processor.eos_id()] if processor.eos_id() >= 0 else [], names, cuts=processor)


def _sentencepiece(source: Any) -> Any:
    if hasattr(source, "id_to_piece") and hasattr(source, "is_byte"):
        return source
    if not isinstance(source, (str, os.PathLike)):
        raise VocabularyError(
            f"{type(source).__name__} is not a SentencePiece processor",
            fix="pass a sentencepiece.SentencePieceProcessor, or the path of a SentencePiece model",
        )
    import sentencepiece

    model = _contents(source)
    try:
        return sentencepiece.SentencePieceProcessor(model_proto=model)
    except RuntimeError as error:
        raise _not_a_file(source, "SentencePiece", str(error).splitlines()[0]) from error


def piece_bytes(processor: Any, piece: int) -> bytes | None:
    """The bytes of one SentencePiece piece; None for control, unknown and unused pieces."""
    if processor.is_control(piece) or processor.is_unknown(piece) or processor.is_unused(piece):
        return None
    text = processor.id_to_piece(piece)
    if processor.is_byte(piece):  # its name is <0xAB>
        return bytes([int(text[3:5], 16)])
    return str(text).replace(SPACE, " ").encode()


# --- files ------------------------------------------------------------------------------------------------------------


def _contents(path: str | os.PathLike[str]) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise VocabularyError(
            f"the vocabulary file cannot be read: {error.strerror}", place=os.fspath(path), fix="check the path"
        ) from error


def _not_a_file(path: str | os.PathLike[str], kind: str, *details: Any) -> VocabularyError:
    place = "\n".join([os.fspath(path), *map(str, details)])
    return VocabularyError(f"not a {kind} vocabulary file", place=place, fix=f"pass an undamaged {kind} file")


def ids_of(value: int | Iterable[int] | None) -> list[int]:
    """A list of end-of-text ids from a configuration's value: none, one, or several."""
    if value is None:
        return []
    return list(value) if isinstance(value, Iterable) else [value]
