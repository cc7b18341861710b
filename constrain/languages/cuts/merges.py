"""Merges: which tokens byte-pair merging makes, and which of them it puts side by side.

The idea: within one piece of a text, tokens are what the tokenizer writes if and only if each is what it makes of that
token's own text (it is *alone*), and each two neighbours are what it makes of the text of both (Berglund and van der
Merwe, "Formalizing BPE tokenization", 2023; Vieira et al., "Language models over canonical byte-pair encodings", 2025).
The first is found by merging the text of every token once. The second follows from the merges that made the two:
kernels/cuts/neighbours.py decides a pair in a few steps.

Two things are not between neighbours: a tokenizer that ignores its merges where a piece is a token (`whole`), and bytes
that stand for a character without a token (`byte_tokens`, `has_character`).

Cost: tables 0.03 s for 49,000 tokens and merges, 0.1 s for 128,000 tokens with 280,000 merges. Reading them from a
tokenizer 0.07 s for the first, 1 s for 262,000 tokens with 515,000 merges, from the disk cache 0.01 and 0.03 s.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import json
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from constrain import kernels
from constrain.errors import VocabularyError
from constrain.kernels.cuts import merging, neighbours
from constrain.kernels.cuts.tables import LEAF, MERGE, NO_MERGE, TOKEN, UNMADE
from constrain.languages.cuts.sentence_pieces import ScoredPieces
from constrain.languages.vocab import disk_cache
from constrain.languages.vocab.bits import Row
from constrain.languages.vocab.huggingface import model_key
from constrain.languages.vocab.vocabulary import Vocabulary

Ints = NDArray[np.int32]
FIX = "use canonical=False: tokens are then any that spell the text"


class Rules(NamedTuple):
    """The rules of a tokenizer.

    Attributes:
        symbols, starts: The symbols of the text of token t are symbols[starts[t] : starts[t + 1]]; -1 is none.
        merges: The left token, the right one, what they make, and the rank of each merge, in the order of ranks.
        byte_tokens: The token of each byte that stands for a character without a token; none without byte fallback.
        characters: The texts of one character, or byte, that are tokens.
        ignores_merges: A piece that is a token is written as it, whatever merging would make of it.
    """

    symbols: Ints
    starts: Ints
    merges: Ints
    byte_tokens: Mapping[int, int]
    characters: frozenset[bytes]
    ignores_merges: bool


class Merges:
    """The tokens that byte-pair merging makes, and which it puts side by side, within one piece of a text.

    Make one with `of` or `of_ranks`.

    Args:
        rules: The rules of the tokenizer.
        vocabulary: The vocabulary whose token ids the rules use.

    Attributes:
        whole (Row): The tokens that are written where a piece is their text, although merging does not make them. Such
            a piece is not written otherwise.
        byte_tokens (Row): The tokens of single bytes that stand for a character without a token.
        tables: TOKEN rows, MERGE rows and their slots (kernels/cuts/tables.py).
        by_length: The tokens that merging makes of their own text, parts before wholes.

    Example:
        >>> import constrain
        >>> from constrain.languages.cuts.merges import Merges
        >>> ranks = {b"a": 0, b"b": 1, b"ab": 2}
        >>> merges = Merges.of_ranks(ranks, constrain.Vocabulary([*ranks, None], eos_ids=[3]))
        >>> merges.together(0, 1), merges.together(1, 0)
        (False, True)
    """

    def __init__(self, rules: Rules, vocabulary: Vocabulary) -> None:
        kernels.load()
        self._characters = rules.characters
        merges, slots = _table(rules.merges)
        table = np.zeros((vocabulary.size, TOKEN.WORDS), np.int32)
        self.tables = table.reshape(-1), merges, slots
        self.by_length = self._fill(rules, table)
        has_bytes = np.fromiter(map(bool, vocabulary.tokens), bool, vocabulary.size)
        is_made = table[:, TOKEN.LEFT] != UNMADE
        table[:, TOKEN.ALONE] = has_bytes & is_made
        self._alone = _row_of(has_bytes & is_made)
        self.byte_tokens = _row_of(np.isin(np.arange(vocabulary.size), list(rules.byte_tokens.values())))
        self.whole = np.zeros_like(self._alone)
        if rules.ignores_merges:
            self.whole = _row_of(has_bytes & (np.diff(rules.starts) > 0) & ~is_made) & ~self.byte_tokens

    # --- readers ------------------------------------------------------------------------------------------------------

    @classmethod
    def of(cls, tokenizer: Any, vocabulary: Vocabulary) -> Merges:
        """Read the merges of a Hugging Face tokenizer.

        Args:
            tokenizer: A fast tokenizer of transformers, or a `tokenizers.Tokenizer`, whose model is BPE.
            vocabulary: The vocabulary of the tokenizer.

        Raises:
            VocabularyError: The model is not BPE, or has something that is not understood: dropout, a prefix or suffix
                of subwords, merges of byte tokens, ids beyond the vocabulary.

        Example:
            >>> import constrain
            >>> from constrain.languages.cuts.merges import Merges
            >>> from tokenizers import Tokenizer, decoders, models
            >>> tokenizer = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
            >>> tokenizer.decoder = decoders.ByteLevel()
            >>> vocabulary = constrain.Vocabulary.from_huggingface(tokenizer, eos_ids=[3], size=4)
            >>> Merges.of(tokenizer, vocabulary).together(0, 1)
            False
        """
        backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
        model: Any = getattr(backend, "model", None)
        if type(model).__name__ != "BPE":
            seen = f"model {type(model).__name__}" if model is not None else type(tokenizer).__name__
            raise VocabularyError("this tokenizer has no merges", place=seen, fix=FIX)
        known = vocabulary.model_key if backend is vocabulary.tokenizer else None

        def build() -> Rules:
            return _rules_of(*_read(model.__getstate__()), vocabulary)

        return cls(_cached(lambda: known or model_key(backend), build, vocabulary), vocabulary)

    @classmethod
    def of_ranks(cls, ranks: Mapping[bytes, int], vocabulary: Vocabulary) -> Merges:
        """Read the merges of a tiktoken encoding: two tokens whose joint text is a token merge, with its rank.

        Args:
            ranks: The rank, which is the id, of each token by its bytes, without special tokens.
            vocabulary: The vocabulary of the encoding.

        Raises:
            VocabularyError: An id is beyond the vocabulary.

        Example:
            >>> import constrain
            >>> from constrain.languages.cuts.merges import Merges
            >>> ranks = {b"a": 0, b"aa": 1}
            >>> merges = Merges.of_ranks(ranks, constrain.Vocabulary([*ranks, None], eos_ids=[2]))
            >>> [(a, b) for a in (0, 1) for b in (0, 1) if merges.together(a, b)]
            [(1, 0), (1, 1)]
        """

        def key() -> str:
            ids = np.fromiter(ranks.values(), np.int64, len(ranks))
            lengths = np.fromiter(map(len, ranks), np.int64, len(ranks))
            return hashlib.sha256(ids.tobytes() + lengths.tobytes() + b"".join(ranks)).hexdigest()

        return cls(_cached(key, lambda: _rules_of_ranks(ranks, vocabulary), vocabulary), vocabulary)

    @classmethod
    def of_pieces(cls, pieces: ScoredPieces, vocabulary: Vocabulary) -> Merges:
        """Read the merges of a SentencePiece model: two pieces whose joint text is a piece, by its score.

        Args:
            pieces: The pieces of the model.
            vocabulary: The vocabulary of the model.

        Raises:
            VocabularyError: An id is beyond the vocabulary.
        """
        find = pieces.ids.get
        merges = [
            (left, right, token, pieces.ranks[text])
            for text, token in pieces.ids.items()
            for cut in range(1, len(text))
            if (left := find(text[:cut])) is not None and (right := find(text[cut:])) is not None
        ]
        table = np.array(merges, np.int32).reshape(-1, MERGE.WORDS)
        table = table[np.argsort(table[:, MERGE.RANK], kind="stable")]
        return cls(_rules_of_symbols(pieces.ids, table, pieces.byte_tokens, False, vocabulary), vocabulary)

    # --- questions ----------------------------------------------------------------------------------------------------

    def alone(self) -> Row:
        """The tokens that merging makes of their own text.

        Returns:
            A row of bits, which is not to be changed.
        """
        return self._alone

    def together(self, a: int, b: int) -> bool:
        """True if the tokenizer writes the text of two tokens as these two.

        Args:
            a: A token id.
            b: The token id that follows.
        """
        return bool(neighbours.stay_apart(*self.tables, a, b))

    def all_together(self, a: int, tokens: Ints) -> NDArray[np.bool_]:
        """`together(a, b)` for each b of some tokens.

        Args:
            a: A token id.
            tokens: int32[n], the token ids that may follow.
        """
        answers = np.empty(len(tokens), np.int32)
        neighbours.all_stay_apart(*self.tables, a, tokens, answers)
        return answers > 0

    def has_character(self, text: bytes) -> bool:
        """True if a character is a token, so that it is never written in bytes.

        Args:
            text: The bytes of one character.
        """
        return text in self._characters

    def _fill(self, rules: Rules, table: Ints) -> Ints:
        """Fill the table of tokens. Returns the tokens that are made, parts before wholes."""
        lengths = np.diff(rules.starts)
        scratch = np.empty(2 * int(lengths.max()), np.int32)
        merging.find_parts(rules.symbols, rules.starts, *self.tables[1:], scratch, self.tables[0])
        for byte, token in rules.byte_tokens.items():
            table[token, : TOKEN.RIGHT + 1] = UNMADE if bytes([byte]) in rules.characters else LEAF
        made = np.flatnonzero(table[:, TOKEN.LEFT] != UNMADE).astype(np.int32)
        narrow = np.min_scalar_type(lengths.max())  # PERF: short integers are sorted by their digits
        by_length = made[np.argsort(lengths[made].astype(narrow), kind="stable")]
        neighbours.find_times(by_length, self.tables[0])
        return by_length


def _table(merges: Ints) -> tuple[Ints, Ints]:
    """The merges, each pair once, as rows of MERGE, and the slots that find them."""
    slots = np.empty(1 << max(4, (2 * len(merges)).bit_length()), np.int32)
    flat = np.ascontiguousarray(merges).reshape(-1)
    if merging.fill_slots(flat, slots) < len(merges):  # of equal pairs the last one counts
        return _table(merges[np.sort(slots[slots != NO_MERGE]) // MERGE.WORDS])
    return flat, slots


def _row_of(bits: NDArray[np.bool_]) -> Row:
    """A row of the bits of all tokens."""
    padded = np.zeros(-(-bits.size // 32) * 32, bool)
    padded[: bits.size] = bits
    return np.packbits(padded, bitorder="little").view(np.uint32)


# --- reading ----------------------------------------------------------------------------------------------------------


def _read(raw: bytes) -> tuple[dict[str, Any], list[str], list[str]]:
    """The serialised form of a BPE model of `tokenizers`: its fields, and the left and right sides of its merges."""
    is_collecting = gc.isenabled()
    gc.disable()  # PERF: half a million lists of two cost the garbage collector as much time as all the rest
    try:
        fields = json.loads(raw)
        merges = fields.pop("merges")
        if merges and isinstance(merges[0], str):  # older versions write a merge as one text
            merges = [merge.split(" ") for merge in merges]
        return fields, [merge[0] for merge in merges], [merge[1] for merge in merges]
    finally:
        if is_collecting:
            gc.enable()


def _rules_of(fields: Mapping[str, Any], left: list[str], right: list[str], vocabulary: Vocabulary) -> Rules:
    """The rules of a BPE model of `tokenizers`."""
    for name in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"):
        if fields.get(name):
            raise VocabularyError(
                f"a BPE model with {name} is not understood", place=f"{name}: {fields[name]!r}", fix=FIX
            )
    ids: dict[str, int] = fields["vocab"]
    _check_ids(ids.values(), vocabulary)
    byte_tokens: dict[int, int] = {}
    if fields.get("byte_fallback"):
        byte_tokens = {byte: ids[name] for byte in range(256) if (name := f"<0x{byte:02X}>") in ids}
    table = np.empty((len(left), MERGE.WORDS), np.int32)
    for column, names in ((MERGE.LEFT, left), (MERGE.RIGHT, right), (MERGE.PRODUCT, map(operator.add, left, right))):
        table[:, column] = np.fromiter(map(ids.__getitem__, names), np.int32, len(left))
    table[:, MERGE.RANK] = np.arange(len(left))
    is_byte = np.zeros(vocabulary.size, bool)
    is_byte[list(byte_tokens.values())] = True
    if is_byte[table[:, : MERGE.RANK]].any():
        raise VocabularyError("merges of byte tokens are not understood", place="byte_fallback: true", fix=FIX)
    return _rules_of_symbols(ids, table, byte_tokens, bool(fields.get("ignore_merges")), vocabulary)


def _rules_of_symbols(
    ids: Mapping[str, int], table: Ints, byte_tokens: Mapping[int, int], ignores: bool, vocabulary: Vocabulary
) -> Rules:
    """The rules of a model whose symbols are characters. table: its merges. ignores: `ignore_merges`"""
    _check_ids(ids.values(), vocabulary)
    pieces = [""] * vocabulary.size
    for piece, token in ids.items():
        pieces[token] = piece
    symbol_of = np.full(0x110000, -1, np.int32)
    characters = set()
    for piece, token in ids.items():
        if len(piece) == 1:
            symbol_of[ord(piece)] = token
            characters |= {piece.encode(), vocabulary.tokens[token] or piece.encode()}
    codes = np.frombuffer("".join(pieces).encode("utf-32-le"), np.uint32)
    return Rules(symbol_of[codes], _starts(pieces), table, byte_tokens, frozenset(characters), ignores)


def _rules_of_ranks(ranks: Mapping[bytes, int], vocabulary: Vocabulary) -> Rules:
    """The rules of a tiktoken encoding."""
    _check_ids(ranks.values(), vocabulary)
    find = ranks.get
    merges = [
        (left, right, token, token)
        for text, token in ranks.items()
        for cut in range(1, len(text))
        if (left := find(text[:cut])) is not None and (right := find(text[cut:])) is not None
    ]
    table = np.array(merges, np.int32).reshape(-1, MERGE.WORDS)
    table = table[np.argsort(table[:, MERGE.RANK], kind="stable")]
    texts = [b""] * vocabulary.size
    for text, token in ranks.items():
        texts[token] = text
    symbol_of = np.array([ranks.get(bytes([byte]), -1) for byte in range(256)], np.int32)
    symbols = symbol_of[np.frombuffer(b"".join(texts), np.uint8)]
    characters = frozenset(text for text in ranks if len(text) == 1)
    return Rules(symbols, _starts(texts), table, {}, characters, True)


def _starts(texts: Sequence[str] | Sequence[bytes]) -> Ints:
    return np.concatenate(([0], np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts))))).astype(np.int32)


def _check_ids(ids: Any, vocabulary: Vocabulary) -> None:
    last = max(ids, default=-1)
    if last >= vocabulary.size:
        raise VocabularyError(
            f"the tokenizer has the id {last}, the vocabulary {vocabulary.size} tokens",
            fix="pass the vocabulary that was read from this tokenizer",
        )


# --- files ------------------------------------------------------------------------------------------------------------


def _cached(key: Callable[[], str], build: Callable[[], Rules], vocabulary: Vocabulary) -> Rules:
    """The rules, read from disk if they are known. key: a hash of what they are built from beside the vocabulary"""
    if vocabulary.size < disk_cache.WORTHWHILE:
        return build()
    kind, unpack = disk_cache.kind_of("merges", __file__), functools.partial(_unpacked, size=vocabulary.size)
    whole = hashlib.sha256(f"{key()} {vocabulary.text_key}".encode()).hexdigest()
    return disk_cache.fetch(kind, whole, build, _packed, unpack)


def _packed(rules: Rules) -> dict[str, NDArray[Any]]:
    characters = sorted(rules.characters)
    return {
        "symbols": rules.symbols,
        "starts": rules.starts,
        "merges": rules.merges,
        "byte_tokens": np.array(list(rules.byte_tokens.items()), np.int32).reshape(-1, 2),
        "characters": np.frombuffer(b"".join(characters), np.uint8),
        "lengths": np.array([len(character) for character in characters], np.int32),
        "ignores_merges": np.array(rules.ignores_merges),
    }


def _unpacked(arrays: disk_cache.Arrays, size: int) -> Rules:
    """The rules of a file. Kernels read them without bounds checks, so every index is checked here."""
    symbols, starts, merges, byte_tokens = (arrays[name] for name in ("symbols", "starts", "merges", "byte_tokens"))
    require = disk_cache.require
    for name, array, shape in (
        ("symbols", symbols, (symbols.size,)),
        ("starts", starts, (size + 1,)),
        ("merges", merges, (len(merges), MERGE.WORDS)),
        ("byte_tokens", byte_tokens, (len(byte_tokens), 2)),
    ):
        require(array.dtype == np.int32 and array.shape == shape, f"{name}: type")
        require(array.size == 0 or array.min() >= -(name == "symbols"), f"{name}: values")
    require(starts[0] == 0 and starts[-1] == symbols.size and (np.diff(starts) >= 0).all(), "starts: values")
    require(max(symbols.max(initial=0), merges[:, : MERGE.RANK].max(initial=0)) < size, "a token that does not exist")
    require((np.diff(merges[:, MERGE.RANK]) >= 0).all(), "merges: order")
    require((byte_tokens < [256, size]).all(), "byte_tokens: values")
    ends = np.cumsum(arrays["lengths"]).tolist()
    text = arrays["characters"].tobytes()
    require((arrays["lengths"] > 0).all() and (ends[-1] if ends else 0) == len(text), "characters: lengths")
    characters = frozenset(map(text.__getitem__, map(slice, [0, *ends[:-1]], ends)))
    return Rules(symbols, starts, merges, dict(byte_tokens.tolist()), characters, bool(arrays["ignores_merges"]))
