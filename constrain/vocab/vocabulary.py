"""Vocabulary: the bytes behind every token id of a model, and the ids that end a text.

The idea: whatever the tokenizer, a mask needs only this list. The trie and the slices are derived from it when first
asked for, and kept on disk under a hash of the content, so that a process pays for them once a machine.

Cost (131,000 tokens): reading a tokenizer 0.1-0.3 s, trie and slices 0.3 s, from disk 0.03 s.
Limit: a vocabulary does not know how its tokenizer would cut a text, only what each token spells.
"""

from __future__ import annotations

import hashlib
import operator
import os
import weakref
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from constrain.errors import VocabularyError
from constrain.vocab import cache, huggingface, readers
from constrain.vocab.slices import Slice, slices_of
from constrain.vocab.trie import SortedTokens, Trie


class Vocabulary:
    """The bytes of every token id.

    tokens: list[bytes | None] of length V; None (special, or a padding id of the model) and b"" are never allowed.
    eos_ids: the ids that end a text, sorted. Their own bytes never count as text.
    size: V, the width of the model's logits that masks are made for.
    words: uint32 words of a mask, ceil(V / 32).
    key: hex digest of the content: equal keys, equal masks.
    trie: all matchable tokens. slices: see `slices.py`. Both are derived when first asked for.

    >>> Vocabulary([b"t", b"rue", None], eos_ids=[2]).to_bytes([0, 1, 2])
    b'true'
    """

    def __init__(self, tokens: Sequence[bytes | None], eos_ids: Iterable[int]) -> None:
        """Raises VocabularyError: no tokens, no (or impossible) end-of-text ids, entries that are not bytes."""
        self.tokens: list[bytes | None] = list(tokens)
        self.size = len(self.tokens)
        self.words = -(-self.size // 32)
        _check_tokens(self.tokens)
        self.eos_ids = _checked_eos(eos_ids, self.size)
        for token_id in self.eos_ids:
            self.tokens[token_id] = None

    def __reduce__(self) -> tuple[Any, ...]:
        """By content: within a process, equal vocabularies become one, so that they share their automaton."""
        return _restored, (self.key, self.tokens, self.eos_ids)

    def __copy__(self) -> Vocabulary:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Vocabulary:
        return self

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"Vocabulary(size={self.size}, eos_ids={self.eos_ids}, key={self.key[:12]})"

    # --- readers ------------------------------------------------------------------------------------------------------

    @classmethod
    def from_huggingface(
        cls,
        tokenizer: Any,
        *,
        size: int | None = None,
        eos_ids: int | Iterable[int] | None = None,
        text_tokens: Iterable[str] = (),
    ) -> Vocabulary:
        """Of a tokenizer of transformers, a `tokenizers.Tokenizer`, or a model name or folder.

        size: the width of the model's logits, if it is padded beyond the tokenizer; the ids beyond are never allowed.
        eos_ids: by default the tokenizer's, and those of the generation config that lies beside it.
        text_tokens: special tokens to treat as text, as written (`<tool_call>`); the others are never allowed.
        The vocabulary is remembered as long as the tokenizer object lives.
        """
        known: list[int] = []
        if isinstance(tokenizer, (str, os.PathLike)):
            tokenizer, known = huggingface.load(tokenizer)
        chosen = tuple(sorted(set(readers.ids_of(eos_ids) if eos_ids is not None else known)))
        named = tuple(sorted(text_tokens))
        options = (size, chosen, eos_ids is None, named, _state(tokenizer))
        remembered = _remembered(tokenizer)
        if options not in remembered:
            read = huggingface.read_huggingface(tokenizer, named)
            all_eos = [*chosen, *(read.eos_ids if eos_ids is None else ())]
            remembered[options] = cls(_padded(read.tokens, size), all_eos)
        return remembered[options]

    @classmethod
    def from_tiktoken(
        cls,
        source: Any,
        *,
        special_tokens: Mapping[str, int] | None = None,
        eos_ids: int | Iterable[int] | None = None,
        size: int | None = None,
    ) -> Vocabulary:
        """Of a `tiktoken.Encoding`, or a file in tiktoken's format (no special tokens in it: pass them and eos_ids)."""
        read = readers.read_tiktoken(source, special_tokens)
        return cls(_padded(read.tokens, size), read.eos_ids if eos_ids is None else readers.ids_of(eos_ids))

    @classmethod
    def from_sentencepiece(
        cls, source: Any, *, eos_ids: int | Iterable[int] | None = None, size: int | None = None
    ) -> Vocabulary:
        """Of a `sentencepiece.SentencePieceProcessor`, or of a model file."""
        read = readers.read_sentencepiece(source)
        return cls(_padded(read.tokens, size), read.eos_ids if eos_ids is None else readers.ids_of(eos_ids))

    @classmethod
    def from_tekken(
        cls, path: str | os.PathLike[str], *, eos_ids: int | Iterable[int] | None = None, size: int | None = None
    ) -> Vocabulary:
        """Of one of Mistral's Tekken JSON files."""
        read = readers.read_tekken(path)
        return cls(_padded(read.tokens, size), read.eos_ids if eos_ids is None else readers.ids_of(eos_ids))

    # --- what is derived ----------------------------------------------------------------------------------------------

    def to_bytes(self, token_ids: Iterable[int]) -> bytes:
        """The bytes of these tokens, one after the other; special and end-of-text ids add nothing.

        Raises VocabularyError: an id that the vocabulary does not have.
        """
        pieces = []
        for token_id in token_ids:
            if not 0 <= token_id < self.size:
                raise VocabularyError(
                    f"token id {token_id} is out of range", fix=f"ids of this vocabulary go from 0 to {self.size - 1}"
                )
            pieces.append(self.tokens[token_id] or b"")
        return b"".join(pieces)

    @cached_property
    def key(self) -> str:
        digest = hashlib.sha256(b"constrain vocabulary 1")
        lengths = np.array([len(token) if token else 0 for token in self.tokens], np.int64)
        for part in (np.array([self.size, *self.eos_ids], np.int64), lengths):
            digest.update(len(part).to_bytes(8, "little") + part.tobytes())
        digest.update(b"".join(token for token in self.tokens if token))
        return digest.hexdigest()

    @property
    def trie(self) -> Trie:
        return self._derived[0]

    @property
    def slices(self) -> tuple[Slice, ...]:
        return self._derived[1]

    @cached_property
    def _derived(self) -> tuple[Trie, tuple[Slice, ...]]:
        if self.size < cache.WORTHWHILE:
            return self._derive()
        return cache.fetch(self.key, self.size, self._derive)

    def _derive(self) -> tuple[Trie, tuple[Slice, ...]]:
        pairs = sorted((token, token_id) for token_id, token in enumerate(self.tokens) if token)
        table = SortedTokens.of([token for token, _ in pairs], [token_id for _, token_id in pairs])
        trie = table.trie(table.next_same(self.size))
        return trie, slices_of(table, trie)


def _check_tokens(tokens: Sequence[object]) -> None:
    if not tokens:
        raise VocabularyError("the vocabulary is empty", fix="pass the bytes of every token id, None for special ones")
    if set(map(type, tokens)) <= {bytes, type(None)}:
        return
    token_id, token = next((i, t) for i, t in enumerate(tokens) if type(t) not in (bytes, type(None)))
    raise VocabularyError(
        f"a token is {type(token).__name__}, not bytes",
        place=f"token id {token_id}: {repr(token)[:60]}",
        fix="encode texts with .encode()" if isinstance(token, str) else "pass bytes, or None for what is never text",
    )


def _checked_eos(eos_ids: Iterable[int], size: int) -> tuple[int, ...]:
    try:
        checked = tuple(sorted({operator.index(token_id) for token_id in eos_ids}))
    except TypeError as error:
        raise VocabularyError(
            f"end-of-text ids are not integers: {repr(eos_ids)[:60]}",
            fix="pass the ids of end-of-text tokens, not their texts",
        ) from error
    if not checked:
        raise VocabularyError(
            "the vocabulary has no end-of-text id, so no text could ever end",
            fix="pass eos_ids, the ids after which the model's text is complete",
        )
    for token_id in checked:
        if not 0 <= token_id < size:
            raise VocabularyError(
                f"end-of-text id {token_id} is out of range",
                fix=f"ids of this vocabulary go from 0 to {size - 1}; if the model's logits are wider, pass size",
            )
    return checked


def _padded(tokens: list[bytes | None], size: int | None) -> list[bytes | None]:
    if size is None:
        return tokens
    if size < len(tokens):
        raise VocabularyError(
            f"size ({size}) is less than the tokenizer's {len(tokens)} token ids",
            fix="pass the width of the model's logits, or resize the model's embeddings to its tokenizer",
        )
    return tokens + [None] * (size - len(tokens))


_by_tokenizer: weakref.WeakKeyDictionary[Any, dict[Hashable, Vocabulary]] = weakref.WeakKeyDictionary()


_by_key: weakref.WeakValueDictionary[str, Vocabulary] = weakref.WeakValueDictionary()


def _restored(key: str, tokens: list[bytes | None], eos_ids: tuple[int, ...]) -> Vocabulary:
    """The vocabulary of a pickle: one that was restored before, if it lives."""
    vocabulary = _by_key.get(key)
    if vocabulary is None:
        vocabulary = _by_key[key] = Vocabulary(tokens, eos_ids)
    return vocabulary


def _remembered(tokenizer: Any) -> dict[Hashable, Vocabulary]:
    """The vocabularies made of a tokenizer object so far; forgotten with the object."""
    try:
        return _by_tokenizer.setdefault(tokenizer, {})
    except TypeError:  # objects that cannot be referred to weakly, such as `tokenizers.Tokenizer`
        return {}


def _state(tokenizer: Any) -> Hashable:
    """What can change in a tokenizer object after it was read: tokens may be added, or declared special."""
    if not hasattr(tokenizer, "all_special_ids"):
        return None
    return len(tokenizer), tuple(tokenizer.all_special_ids), getattr(tokenizer, "eos_token_id", None)
