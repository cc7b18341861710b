"""Vocabulary: the bytes of every token id of a model, and the ids that end a text.

The idea: whatever the tokenizer, a mask needs only this list. The trie and the slices are derived from it at their
first use and cached on disk under a hash of the content, so that they are built once a machine.

Cost (131,000 tokens): reading a tokenizer 0.1-0.3 s, trie and slices 0.3 s, from disk 0.03 s.
Limit: a vocabulary knows the bytes of each token, not how its tokenizer splits a text.
"""

from __future__ import annotations

import hashlib
import json
import operator
import os
import weakref
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import Any, SupportsIndex

import numpy as np

from constrain.errors import VocabularyError
from constrain.languages.vocab import disk_cache, huggingface, packed, readers
from constrain.languages.vocab.slices import Slice, slices_of
from constrain.languages.vocab.trie import SortedTokens, Trie


class Vocabulary:
    """The bytes of every token id of a model, and the ids that end a text.

    Make one from a tokenizer with `from_huggingface`, `from_tiktoken`, `from_sentencepiece` or `from_tekken`; or from
    the token bytes themselves.

    Args:
        tokens: The bytes of each token id, length V. Special tokens and padding ids are None; None and b"" are never
            allowed in a text.
        eos_ids: The ids that end a text. Their own bytes never count as text.
        names: The ids of special tokens by their names, for languages that mention them (`constrain.token`). Names of
            tokens that have bytes are names too: a tokenizer may add such tokens as text.
        tokenizer: What cuts texts into these tokens: a `tokenizers.Tokenizer`, a `tiktoken.Encoding`, a
            `sentencepiece.SentencePieceProcessor`. Without it all tokens that spell a text count, not the canonical
            ones alone (docs/sampling.md).

    Raises:
        VocabularyError: There are no tokens, an entry is not bytes, there is no valid end-of-text id, or a name has an
            id outside the vocabulary.

    Attributes:
        tokens (list[bytes | None]): The bytes of each token id; None for end-of-text ids too.
        eos_ids (tuple[int, ...]): The ids that end a text, sorted.
        names (dict[str, int]): The ids of special and of added tokens by their names.
        size (int): V, the width of the model's logits.
        words (int): The number of uint32 words of a mask, ceil(V / 32).
        tokenizer (Any): As given, or the backend of what it was read from; None: it is not known. A pickle leaves it
            out.
        model_key (str | None): A hash of the model of the tokenizer, if it is known.
        kept (dict): Objects made of this vocabulary once, such as its trie's levels and its automaton, by their class.

    Example:
        >>> import constrain
        >>> vocabulary = constrain.Vocabulary([b"t", b"rue", None], eos_ids=[2])
        >>> vocabulary.to_bytes([0, 1, 2]), vocabulary.size, vocabulary.words
        (b'true', 3, 1)
    """

    def __init__(
        self,
        tokens: Sequence[bytes | None],
        eos_ids: Iterable[int],
        *,
        names: Mapping[str, int] | None = None,
        tokenizer: Any = None,
    ) -> None:
        if not isinstance(tokens, Iterable):
            raise VocabularyError(
                f"tokens are a list of bytes, not {tokens!r:.60}", fix="Vocabulary([b'a', None], [1])"
            )
        self.tokens: list[bytes | None] = list(tokens)
        self.size = len(self.tokens)
        self.words = -(-self.size // 32)
        _check_tokens(self.tokens)
        self.eos_ids = _checked_eos(eos_ids, self.size)
        for token_id in self.eos_ids:
            self.tokens[token_id] = None
        self.names = _checked_names({} if names is None else names, self.size)
        self.tokenizer = tokenizer
        self.model_key: str | None = None
        self.kept: dict[Any, Any] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """By content: within a process, equal vocabularies become one, so that they share their automaton."""
        _by_key.setdefault(self.key, self)  # read again in this process, it is this one
        return _restored, (self.key, self.tokens, self.eos_ids, self.names)

    def __copy__(self) -> Vocabulary:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Vocabulary:
        return self

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"Vocabulary(size={self.size}, eos_ids={self.eos_ids}, key={self.key[:12]})"

    @classmethod
    @cache
    def of_bytes(cls, *special: str) -> Vocabulary:
        """The vocabulary with one token for each byte: id 0 to 255 is the byte, id 256 ends a text.

        With it a matcher answers for bytes, so that no tokenizer is needed. Always the same object.

        Args:
            *special: The names of special tokens, whose ids are 257 and up.

        Example:
            >>> import constrain
            >>> matcher = constrain.compile(constrain.choices(["yes", "no"]), constrain.Vocabulary.of_bytes()).matcher()
            >>> [chr(byte) for byte in range(256) if matcher.allows(byte)]
            ['n', 'y']
        """
        tokens = [*(bytes([byte]) for byte in range(256)), None, *(None for _ in special)]
        return cls(tokens, eos_ids=[256], names={name: 257 + i for i, name in enumerate(special)})

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
        """Read a Hugging Face tokenizer. The vocabulary is cached as long as the tokenizer object lives.

        Args:
            tokenizer: A tokenizer of transformers, a `tokenizers.Tokenizer`, or the name or folder of a model.
            size: The width of the model's logits, if it is padded beyond the tokenizer. Padding ids are never allowed.
            eos_ids: The ids that end a text. Default: the tokenizer's, and those of the generation config beside it.
            text_tokens: Special tokens to treat as text, such as `<tool_call>`. Other special tokens are never allowed.

        Raises:
            VocabularyError: The tokens have no bytes of their own (WordPiece), or the kind of tokenizer is unknown.

        Example:
            >>> import constrain
            >>> constrain.Vocabulary.from_huggingface("mistralai/Ministral-8B")  # doctest: +SKIP
            Vocabulary(size=131072, eos_ids=(2,), key=...)
        """
        config_eos: list[int] = []
        if isinstance(tokenizer, (str, os.PathLike)):
            tokenizer, config_eos = huggingface.load(tokenizer)
        chosen = tuple(sorted(set(readers.ids_of(eos_ids) if eos_ids is not None else config_eos)))
        as_text = tuple(sorted(text_tokens))
        options = (size, chosen, eos_ids is None, as_text, _state(tokenizer))
        cached = _cached(tokenizer)
        if options not in cached:
            read = huggingface.read_huggingface(tokenizer, as_text)
            all_eos = [*chosen, *(read.eos_ids if eos_ids is None else ())]
            backend = huggingface.backend_of(tokenizer)  # the wrapper around it would not be forgotten
            cuts = read.cuts if backend is None else backend
            made = cls(_padded(read.tokens, size), all_eos, names=read.names, tokenizer=cuts)
            made.model_key = read.model_key
            cached[options] = made
        return cached[options]

    @classmethod
    def from_tiktoken(
        cls,
        source: Any,
        *,
        special_tokens: Mapping[str, int] | None = None,
        eos_ids: int | Iterable[int] | None = None,
        size: int | None = None,
    ) -> Vocabulary:
        """Read a tiktoken encoding.

        Args:
            source: A `tiktoken.Encoding`, or the path of a file in tiktoken's format.
            special_tokens: Further special tokens with their ids. A file contains none: pass them.
            eos_ids: The ids that end a text. Default: `<|endoftext|>` of an encoding; required for a file.
            size: The width of the model's logits, if it is padded.

        Raises:
            VocabularyError: The source cannot be read, or has no end-of-text id.
        """
        read = readers.read_tiktoken(source, special_tokens)
        return cls._of(read, eos_ids, size, None if isinstance(source, (str, os.PathLike)) else source)

    @classmethod
    def from_sentencepiece(
        cls, source: Any, *, eos_ids: int | Iterable[int] | None = None, size: int | None = None
    ) -> Vocabulary:
        """Read a SentencePiece model.

        Args:
            source: A `sentencepiece.SentencePieceProcessor`, or the path of a model file.
            eos_ids: The ids that end a text. Default: the model's.
            size: The width of the model's logits, if it is padded.

        Raises:
            VocabularyError: The source cannot be read, or has no end-of-text id.
        """
        read = readers.read_sentencepiece(source)
        return cls._of(read, eos_ids, size)

    @classmethod
    def from_tekken(
        cls, path: str | os.PathLike[str], *, eos_ids: int | Iterable[int] | None = None, size: int | None = None
    ) -> Vocabulary:
        """Read a Tekken JSON file of Mistral AI.

        Args:
            path: The file.
            eos_ids: The ids that end a text. Default: the id of `</s>`.
            size: The width of the model's logits, if it is padded.

        Raises:
            VocabularyError: The file cannot be read.
        """
        read = readers.read_tekken(path)
        return cls._of(read, eos_ids, size)

    @classmethod
    def _of(cls, read: readers.Read, eos_ids: Any, size: int | None, tokenizer: Any = None) -> Vocabulary:
        """The vocabulary of what a reader gave. eos_ids: end-of-text ids; None: the reader's."""
        ends = read.eos_ids if eos_ids is None else readers.ids_of(eos_ids)
        tokenizer = read.cuts if tokenizer is None else tokenizer
        return cls(_padded(read.tokens, size), ends, names=read.names, tokenizer=tokenizer)

    # --- derived data -------------------------------------------------------------------------------------------------

    def to_bytes(self, token_ids: Iterable[int], *, names: bool = False) -> bytes:
        """The concatenated bytes of some tokens. Special and end-of-text ids have none.

        Args:
            token_ids: Token ids.
            names: Show special tokens that have a name by their names, end-of-text ids too.

        Raises:
            VocabularyError: An id is out of range.
        """
        pieces = []
        if not isinstance(token_ids, Iterable):
            raise VocabularyError(f"token ids are a list of integers, not {token_ids!r:.60}")
        for token_id in token_ids:
            # PERF: a protocol is asked last, which takes 5 µs before Python 3.12
            if not isinstance(token_id, (int, SupportsIndex)) or not 0 <= operator.index(token_id) < self.size:
                raise VocabularyError(
                    f"token id {token_id!r:.60} is out of range",
                    fix=f"ids of this vocabulary go from 0 to {self.size - 1}",
                )
            token = self.tokens[token_id]
            pieces.append(self.names_by_id.get(token_id, "").encode() if names and token is None else token or b"")
        return b"".join(pieces)

    @cached_property
    def names_by_id(self) -> dict[int, str]:
        """The names of special and of added tokens by their ids."""
        return {token_id: name for name, token_id in self.names.items()}

    @cached_property
    def key(self) -> str:
        """A hash of the content, 64 hex digits. Vocabularies with equal keys have equal masks."""
        if not self.names:
            return self.text_key
        named = json.dumps([self.text_key, sorted(self.names.items())])
        return hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()

    @cached_property
    def text_key(self) -> str:
        """A hash of the tokens and the end-of-text ids, which the trie depends on."""
        digest = hashlib.sha256(b"constrain vocabulary 1")
        lengths = np.array([len(token) if token else 0 for token in self.tokens], np.int64)
        for part in (np.array([self.size, *self.eos_ids], np.int64), lengths):
            digest.update(len(part).to_bytes(8, "little") + part.tobytes())
        digest.update(b"".join(token for token in self.tokens if token))
        return digest.hexdigest()

    @property
    def trie(self) -> Trie:
        """The trie of all tokens that have bytes (trie.py). Built, or read from the cache on disk, at first use."""
        return self._derived[0]

    @property
    def slices(self) -> tuple[Slice, ...]:
        """The tokens made of one character class, for each of `slices.CLASSES` (slices.py)."""
        return self._derived[1]

    @cached_property
    def _derived(self) -> tuple[Trie, tuple[Slice, ...]]:
        if self.size < disk_cache.WORTHWHILE:
            return self._derive()
        unpack = partial(packed.unpack, tokens=self.tokens)
        return disk_cache.fetch(packed.KIND, self.text_key, self._derive, packed.pack, unpack)

    def _derive(self) -> tuple[Trie, tuple[Slice, ...]]:
        spelled = {token_id: token for token_id, token in enumerate(self.tokens) if token}
        ids = sorted(spelled, key=spelled.__getitem__)
        table = SortedTokens.of([spelled[token_id] for token_id in ids], ids)
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
        given = list(eos_ids)
        if any(isinstance(token_id, bool) for token_id in given):
            raise TypeError("a truth value is no id")
        checked = tuple(sorted(set(map(operator.index, given))))
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


def _checked_names(names: Mapping[str, int], size: int) -> dict[str, int]:
    if not isinstance(names, Mapping):
        raise VocabularyError(f"names are a dict of ids, not {names!r:.60}", fix='names={"<|tool|>": 128011}')
    for name, token_id in names.items():
        if not isinstance(name, str) or not name:
            raise VocabularyError(f"a name of a token is a text, not {name!r:.60}", fix='names={"<|tool|>": 128011}')
        if not isinstance(token_id, int) or not 0 <= token_id < size:
            raise VocabularyError(
                f"the token {name!r} has the id {token_id!r}", fix=f"ids of this vocabulary go from 0 to {size - 1}"
            )
    return dict(names)


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


def _restored(
    key: str, tokens: list[bytes | None], eos_ids: tuple[int, ...], names: Mapping[str, int] | None = None
) -> Vocabulary:
    """The vocabulary of a pickle: one that was restored before, if it lives."""
    vocabulary = _by_key.get(key)
    if vocabulary is None:
        vocabulary = _by_key[key] = Vocabulary(tokens, eos_ids, names=names)
    return vocabulary


def _cached(tokenizer: Any) -> dict[Hashable, Vocabulary]:
    """The vocabularies that were read from a tokenizer object, by options; they live as long as the object."""
    try:
        return _by_tokenizer.setdefault(tokenizer, {})
    except TypeError:  # the object does not support weak references, such as `tokenizers.Tokenizer`
        return {}


def _state(tokenizer: Any) -> Hashable:
    """The mutable state of a tokenizer object: tokens may be added or declared special after it was read."""
    if not hasattr(tokenizer, "all_special_ids"):
        return None
    return len(tokenizer), tuple(tokenizer.all_special_ids), getattr(tokenizer, "eos_token_id", None)
