"""Tokens by name or file: the embedded model's, a tiktoken, SentencePiece or Tekken file, a Hugging Face tokenizer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from constrain.cli.console import UsageError
from constrain.errors import ConstrainError

if TYPE_CHECKING:
    from constrain.languages.vocab.vocabulary import Vocabulary


def token_bytes(name: str | None, token: int) -> tuple[bytes | None, bool]:
    """(bytes of a token or None for a special one, does it end the text).

    name: as `--vocab` takes it; None: the embedded reference model's. Raises UsageError: no such vocabulary or id.
    """
    tokens, eos_ids = _read(name)
    if not 0 <= token < len(tokens):
        raise UsageError(f"token {token} is out of range: the vocabulary has the ids 0 to {len(tokens) - 1}")
    return tokens[token], token in eos_ids


def load_vocabulary(name: str | None) -> Vocabulary:
    """A vocabulary. name: as `--vocab` takes it; None: the embedded reference model's. Raises UsageError."""
    from constrain.languages.vocab.vocabulary import Vocabulary

    return Vocabulary(*_read(name))


def _read(name: str | None) -> tuple[list[bytes | None], list[int]]:
    """(bytes of every id, ids that end a text). A bare file of ranks does not tell which those are."""
    from constrain.languages.vocab import readers
    from constrain.languages.vocab.vocabulary import Vocabulary

    if name is None:
        from constrain import reference

        name = str(reference.path())
    path = Path(name)
    if not path.is_file():
        vocabulary = named(name)
        return vocabulary.tokens, list(vocabulary.eos_ids)
    if path.suffix == ".json":
        vocabulary = Vocabulary.from_tekken(path) if _is_tekken(path) else named(name)
        return vocabulary.tokens, list(vocabulary.eos_ids)
    read = readers.read_tiktoken(path) if _is_tiktoken(path) else readers.read_sentencepiece(str(path))
    return read.tokens, read.eos_ids


def named(name: str) -> Vocabulary:
    """The vocabulary of a tokenizer by name, folder or `tokenizer.json`. Raises UsageError, MissingExtraError."""
    from constrain.languages.vocab.vocabulary import Vocabulary

    try:
        return Vocabulary.from_huggingface(name)
    except ConstrainError:
        raise
    except Exception as error:  # what is raised for a name that is nothing differs between versions and back ends
        raise UsageError(f"{name}: no tokenizer of that name, folder or file ({first_line(error)})") from None


def load_tokenizer(name: str) -> Any:
    """A Hugging Face tokenizer by name, folder or `tokenizer.json`. Raises UsageError."""
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    from constrain.languages.vocab.huggingface import not_loaded

    try:
        if Path(name).is_file():
            return PreTrainedTokenizerFast(tokenizer_file=name)
        return AutoTokenizer.from_pretrained(name)
    except Exception as error:  # what is raised for a name that is nothing differs between versions and back ends
        reason = not_loaded(name, "tokenizer", error)
        raise UsageError(f"{name}: no tokenizer of that name, folder or file ({reason})") from None


def first_line(error: Exception) -> str:
    """The first line of an error's message; its name if there is none."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def _is_tekken(path: Path) -> bool:
    with path.open("rb") as file:
        return b'"default_num_special_tokens"' in file.read(2000)


def _is_tiktoken(path: Path) -> bool:
    """Lines of `base64 rank`; SentencePiece models are binary."""
    with path.open("rb") as file:
        first = file.readline(200).split()
    return len(first) == 2 and first[1].isdigit()
