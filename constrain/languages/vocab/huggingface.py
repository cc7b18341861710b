"""Reader of Hugging Face tokenizers: the bytes that their decoder makes of each token.

The idea: a fast tokenizer has a decoder, a list of steps such as "`▁` becomes a space" or "`<0xAB>` becomes a byte".
The reader applies these steps to each piece by itself. It refuses a decoder with a step that needs the neighbours of a
piece, since a token would then have no bytes of its own (WordPiece: the space before a word is not in the token).

There are two kinds of added tokens. Special ones have no bytes (None). Others are ordinary text, taken literally,
unless the model has them as pieces of its own (Gemma's runs of `▁`): those are decoded like all pieces.

Cost: 0.5 s for 262,000 tokens at first, then 0.3 s: the pieces are in a cache file named by a hash of the tokenizer's
serialised model, and to make that takes nearly all of the time. transformers is imported only to load a tokenizer by
name or folder.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from constrain.errors import VocabularyError
from constrain.extras import require
from constrain.languages.vocab import disk_cache
from constrain.languages.vocab.readers import Read, ids_of, piece_bytes, read_sentencepiece, read_tekken

Step = Callable[[str], str | bytes]  # one step of a decoder on one piece; bytes are final

BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
USABLE = "use a tokenizer with byte-level BPE, SentencePiece or tiktoken tokens, or build Vocabulary(tokens, eos_ids)"


def load(name: str | os.PathLike[str]) -> tuple[Any, list[int]]:
    """Load a tokenizer.

    Args:
        name: A model's name, the folder of a model, or a `tokenizer.json`. Where transformers is not installed, a
            folder or file is read with `tokenizers`.

    Returns:
        The tokenizer, and the end-of-text ids of the model's configuration, if they are known.

    Raises:
        MissingExtraError: A name that is no path, and transformers is not installed.
        VocabularyError: There is no such tokenizer.
    """
    name = os.path.expanduser(os.fspath(name))
    path = Path(name)
    if path.is_file():
        return _file_tokenizer(path), _eos_beside(path.parent)
    if path.is_dir() and (path / "tokenizer.json").exists() and find_spec("transformers") is None:
        return _file_tokenizer(path / "tokenizer.json"), _eos_beside(path)
    require("hf", "a tokenizer by name")
    from transformers import AutoTokenizer, GenerationConfig

    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
    except Exception as error:  # of a folder's files: any kind
        message = f"no tokenizer is found under {name!r:.200}: {not_loaded(name, 'tokenizer', error)}"
        raise VocabularyError(message, fix="pass the folder of a model, a tokenizer.json, or a tokenizer") from error
    try:
        config = GenerationConfig.from_pretrained(name)
    except OSError:  # many repositories have none
        return tokenizer, []
    return tokenizer, ids_of(config.eos_token_id)


def not_loaded(name: str, what: str, error: Exception) -> str:
    """The reason why transformers loaded nothing from a name or a path. what: "model" or "tokenizer"."""
    path = Path(name)
    if is_missing(name):
        return f"there is no folder {name!r:.200} with a {what}"
    if name.strip() and path.is_file():
        return f"this is a file, and no folder with a {what}"
    if name.strip() and path.is_dir():
        files = [each.name for each in path.iterdir()]
        if what == "model" and "config.json" not in files:
            return "the folder has no config.json"
        if what == "tokenizer" and not any(re.search(r"token|vocab|\.model$", each) for each in files):
            return "the folder has no files of a tokenizer"
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def is_missing(name: str) -> bool:
    """True if a name is a path of nothing: no file, no folder, and no name on the Hub."""
    is_there = bool(name.strip()) and Path(name).exists()
    return not is_there and re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*)?", name) is None


def _file_tokenizer(path: Path) -> Any:
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises `Exception` itself
        raise VocabularyError(f"{path} is not a tokenizer.json: {error}", fix=USABLE) from None


def _eos_beside(folder: Path) -> list[int]:
    """The end-of-text ids that the configuration files of a model's folder name, each once."""
    ids: list[int] = []
    for file in ("generation_config.json", "config.json"):
        if (folder / file).is_file():
            ids += ids_of(json.loads((folder / file).read_text(encoding="utf-8")).get("eos_token_id"))
    settings, tokenizer = folder / "tokenizer_config.json", folder / "tokenizer.json"
    if settings.is_file() and tokenizer.is_file():
        eos = json.loads(settings.read_text(encoding="utf-8")).get("eos_token")
        eos = eos.get("content") if isinstance(eos, dict) else eos
        added = json.loads(tokenizer.read_text(encoding="utf-8")).get("added_tokens") or []
        ids += [token["id"] for token in added if token["content"] == eos]
    return sorted(set(ids))


def backend_of(tokenizer: Any) -> Any:
    """The `tokenizers.Tokenizer` of a tokenizer; None: it has none."""
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    return backend if hasattr(backend, "pre_tokenizer") else None


def read_huggingface(tokenizer: Any, text_tokens: Iterable[str] = ()) -> Read:
    """Read a tokenizer of transformers (fast, SentencePiece-based or Mistral's), or a `tokenizers.Tokenizer`.

    text_tokens: special tokens that count as literal text.
    Raises VocabularyError if the tokens have no bytes of their own, or the kind is unknown.
    """
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    key = None
    if hasattr(backend, "get_added_tokens_decoder"):
        if backend.get_vocab_size() >= disk_cache.WORTHWHILE:
            key = model_key(backend)
        tokens, added = _cached_pieces(backend, key), backend.get_added_tokens_decoder()
        is_piece = backend.model.id_to_token
    elif hasattr(tokenizer, "sp_model"):
        tokens, added = _slow_pieces(tokenizer), tokenizer.added_tokens_decoder
        is_piece = dict(enumerate(tokens)).get
    elif mistral := getattr(getattr(tokenizer, "tokenizer", None), "instruct_tokenizer", None):
        if named := set(text_tokens):
            raise VocabularyError(
                f"{min(named)!r} cannot be treated as text",
                fix="mistral-common tokenizers take no text_tokens: leave it out",
            )
        path = mistral.tokenizer.file_path
        return read_tekken(path) if str(path).endswith(".json") else read_sentencepiece(path)
    else:
        raise VocabularyError(
            f"the tokens of {type(tokenizer).__name__} cannot be read: "
            "it has neither a fast backend nor a SentencePiece model",
            fix=USABLE,
        )
    special = set(getattr(tokenizer, "all_special_ids", ())) | {i for i, token in added.items() if token.special}
    _overlay(tokens, added, special, set(text_tokens), is_piece)
    names = {token.content: token_id for token_id, token in added.items()}
    return Read(tokens, _known_eos(tokenizer), names, key)


def _overlay(
    tokens: list[bytes | None],
    added: dict[int, Any],
    special: set[int],
    text_tokens: set[str],
    is_piece: Callable[[int], Any],
) -> None:
    """Insert the added tokens, then remove the special ones that are not in `text_tokens`."""
    tokens += [None] * (max(added, default=-1) + 1 - len(tokens))
    for token_id, token in added.items():
        if token.content in text_tokens:
            tokens[token_id] = token.content.encode()
            special.discard(token_id)
        elif token_id not in special and is_piece(token_id) is None:
            tokens[token_id] = token.content.encode()
    if unknown := text_tokens - {token.content for token in added.values()}:
        raise VocabularyError(
            f"the tokenizer has no special token {min(unknown)!r}",
            fix="name special tokens exactly as the tokenizer spells them",
        )
    for token_id in special:
        if 0 <= token_id < len(tokens):
            tokens[token_id] = None


def _known_eos(tokenizer: Any) -> list[int]:
    """The end-of-text ids of the tokenizer, and of a generation config in the folder that it was loaded from."""
    eos_ids = ids_of(getattr(tokenizer, "eos_token_id", None))
    origin = str(getattr(tokenizer, "name_or_path", ""))
    path = os.path.join(origin, "generation_config.json")
    if origin and os.path.isfile(path):
        with open(path, encoding="utf-8") as file:
            eos_ids += ids_of(json.load(file).get("eos_token_id"))
    return eos_ids


# --- fast tokenizers --------------------------------------------------------------------------------------------------


def model_key(backend: Any) -> str:
    """A hash of the model of a `tokenizers.Tokenizer`: its pieces, their ids and its merges. 0.3 s for 262,000 ids."""
    return hashlib.sha256(backend.model.__getstate__()).hexdigest()


def _cached_pieces(backend: Any, key: str | None) -> list[bytes | None]:
    """`_fast_pieces`, read from disk if they are known. key: of the model; None: not worth a file."""
    if key is None:
        return _fast_pieces(backend)
    digest = hashlib.sha256(key.encode())
    for part in (backend.decoder, backend.pre_tokenizer):
        digest.update(b"" if part is None else part.__getstate__())
        digest.update(b"|")
    kind = disk_cache.kind_of("pieces", __file__)
    unpack = functools.partial(_unpacked, least=backend.get_vocab_size())
    return disk_cache.fetch(kind, digest.hexdigest(), functools.partial(_fast_pieces, backend), _packed, unpack)


def _packed(pieces: list[bytes | None]) -> dict[str, NDArray[Any]]:
    lengths = [-1 if piece is None else len(piece) for piece in pieces]
    text = b"".join(piece for piece in pieces if piece)
    return {"lengths": np.array(lengths, np.int32), "text": np.frombuffer(text, np.uint8)}


def _unpacked(arrays: disk_cache.Arrays, least: int) -> list[bytes | None]:
    lengths, text = arrays["lengths"], arrays["text"].tobytes()
    ends = np.cumsum(np.maximum(lengths, 0))
    disk_cache.require(lengths.dtype == np.int32 and lengths.ndim == 1 and lengths.min(initial=0) >= -1, "lengths")
    disk_cache.require(len(lengths) >= least, "fewer pieces than the tokenizer has")
    disk_cache.require(len(text) == (ends[-1] if ends.size else 0), "text")
    pieces: list[bytes | None] = list(map(text.__getitem__, map(slice, [0, *ends[:-1].tolist()], ends.tolist())))
    for token_id in np.flatnonzero(lengths < 0).tolist():
        pieces[token_id] = None
    return pieces


def _fast_pieces(backend: Any) -> list[bytes | None]:
    """The bytes of the model's pieces by id; None for ids without a piece, and for the unknown piece."""
    steps = _steps(backend)
    size = max([backend.get_vocab_size(), *(token_id + 1 for token_id in backend.get_vocab().values())])
    pieces = [backend.model.id_to_token(token_id) for token_id in range(size)]
    tokens = [None if piece is None else _apply(steps, piece) for piece in pieces]
    unknown = _unknown_id(backend.model)
    if unknown is not None:
        tokens[unknown] = None
    return tokens


def _unknown_id(model: Any) -> int | None:
    if type(model).__name__ == "Unigram":  # it exposes these settings only in its serialised form
        return json.loads(model.__getstate__())["unk_id"]
    return None if model.unk_token is None else model.token_to_id(model.unk_token)


def _falls_back(model: Any) -> bool:
    """True if the model spells characters without a piece as bytes, `<0xAB>`."""
    if type(model).__name__ == "Unigram":
        return json.loads(model.__getstate__()).get("byte_fallback", False)
    return model.byte_fallback


def _apply(steps: list[Step], piece: str) -> bytes:
    value: str | bytes = piece
    for step in steps:
        if isinstance(value, bytes):
            break
        value = step(value)
    return value if isinstance(value, bytes) else value.encode()


def _steps(backend: Any) -> list[Step]:
    """The decoder's steps on one piece. Without a decoder, they follow from the pre-tokenizer."""
    model = type(backend.model).__name__
    parts = _parts(backend.decoder, "decoders")
    if not parts:
        before = _parts(backend.pre_tokenizer, "pretokenizers")
        parts = [part for part in before if part["type"] in ("ByteLevel", "Metaspace")]
    kinds = [part["type"] for part in parts]
    if model not in ("BPE", "Unigram") or not kinds:
        raise _refused(model, kinds)
    steps: list[Step] = []
    for index, part in enumerate(parts):
        match part:
            case {"type": "ByteLevel"}:
                steps.append(byte_level)
            case {"type": "ByteFallback"}:
                steps.append(_byte_fallback)
            case {"type": "Metaspace", "replacement": str(mark)}:
                if _falls_back(backend.model):
                    steps.append(_byte_fallback)
                steps.append(functools.partial(_replace, mark, " "))
            case {"type": "Replace", "pattern": {"String": str(old)}, "content": str(new)}:
                steps.append(functools.partial(_replace, old, new))
            case {"type": "Fuse"}:
                pass
            case {"type": "Strip", "stop": 0} if "Fuse" in kinds[:index]:
                pass  # after Fuse it applies to the start of the whole text only
            case _:
                raise _refused(model, kinds)
    return steps


def _parts(component: Any, members: str) -> list[dict[str, Any]]:
    """The steps of a decoder or pre-tokenizer as data, with sequences flattened."""
    if component is None:
        return []
    pending, flat = [json.loads(component.__getstate__())], []
    while pending:
        part = pending.pop(0)
        if part["type"] == "Sequence":
            pending[:0] = part[members]
        else:
            flat.append(part)
    return flat


def _refused(model: str, kinds: list[str]) -> VocabularyError:
    seen = f"model {model}, decoder {' + '.join(kinds) or 'none'}"
    if model == "WordPiece" or "WordPiece" in kinds:
        return VocabularyError(
            "a WordPiece token has no bytes of its own: decoding puts spaces between words that no token contains",
            place=seen,
            fix=USABLE,
        )
    return VocabularyError("the tokens of this tokenizer do not each stand for bytes", place=seen, fix=USABLE)


def _replace(old: str, new: str, piece: str) -> str:
    return piece.replace(old, new)


def _byte_fallback(piece: str) -> str | bytes:
    match = BYTE_PIECE.fullmatch(piece)
    return bytes([int(match[1], 16)]) if match else piece


def byte_level(piece: str) -> bytes:
    """The bytes of a byte-level piece. A piece with a character that represents no byte is literal text."""
    table = byte_characters()
    try:
        return bytes([table[character] for character in piece])
    except KeyError:
        return piece.encode()


@functools.cache
def byte_characters() -> dict[str, int]:
    """Character -> byte in byte-level BPE (GPT-2): printable bytes are themselves, others U+0100 and up in order."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + n): byte for n, byte in enumerate(others)}


# --- tokenizers of transformers that wrap SentencePiece ---------------------------------------------------------------


def _slow_pieces(tokenizer: Any) -> list[bytes | None]:
    """The bytes by token id. Some tokenizers shift SentencePiece's ids, so each id is matched to its piece by name."""
    processor = tokenizer.sp_model
    by_name = {processor.id_to_piece(piece): piece for piece in range(processor.get_piece_size())}
    vocabulary = tokenizer.get_vocab()
    tokens: list[bytes | None] = [None] * (max(vocabulary.values(), default=-1) + 1)
    for name, token_id in vocabulary.items():
        if name in by_name:
            tokens[token_id] = piece_bytes(processor, by_name[name])
    return tokens
