r"""The characters of the sets in a tokenizer's regexes, and the symbols that bytes of UTF-8 spell.

The idea: what `\s` or `\p{L}` is depends on the version of Unicode that a library was made with. So the engine that the
tokenizer uses is shown a sample of characters, and says which of them are members. The sample has every character of
planes 0 to 3 and of the tags; in the other planes, where only private use is assigned, one of 4,096.

Cost: 20 to 50 ms for a set, once for each version of the engine (`disk_cache`), then half a millisecond a process; 5 ms
for the symbols of a tokenizer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from constrain.errors import VocabularyError
from constrain.languages.cuts.piece_regex import Engine, Letters
from constrain.languages.vocab import disk_cache

MAX_SETS = 60  # bits of a mask, with two for a length


@cache
def _sample() -> NDArray[np.uint32]:
    last = [plane * 65536 + code for plane in range(3, 17) for code in (0xFFFE, 0xFFFF)]
    codes = {*range(0x34000), *range(0x34000, 0x110000, 4096), *range(0xE0000, 0xE1000), *last}
    return np.array(sorted(codes - set(range(0xD800, 0xE000))), dtype=np.uint32)


@cache
def members(letters: Letters) -> NDArray[np.uint32]:
    """The code points where membership of a set changes, in order; those below the first are no members."""
    engine, text = letters
    if engine == "text":
        return np.array([bound for c in text for bound in (ord(c), ord(c) + 1)], dtype=np.uint32)
    source = f"{engine} {text} {version('tiktoken' if engine == 'tiktoken' else 'tokenizers')}"
    key = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
    kind = disk_cache.kind_of("characters", __file__)
    return disk_cache.fetch(kind, key, lambda: _changes(engine, text), lambda changes: {"changes": changes}, _unpacked)


def _changes(engine: Engine, text: str) -> NDArray[np.uint32]:
    """`members` of a set, as the engine says."""
    codes = _sample()
    sample = codes.astype("<u4").tobytes().decode("utf-32-le")
    try:
        rest = _matched(engine, text, sample) if engine == "tiktoken" else _unmatched(engine, text, sample)
    except VocabularyError:
        raise
    except Exception as error:  # the libraries raise `Exception` itself
        raise VocabularyError(f"the pieces of this tokenizer are not understood: {text}: {error}") from None
    inside = np.isin(codes, np.frombuffer(rest.encode("utf-32-le"), dtype="<u4"), invert=engine != "tiktoken")
    found: NDArray[np.uint32] = codes[np.flatnonzero(np.diff(inside, prepend=False))]
    return found


def _unpacked(arrays: disk_cache.Arrays) -> NDArray[np.uint32]:
    """`members` from a file."""
    changes = arrays["changes"]
    ascends = changes.dtype == np.uint32 and changes.ndim == 1 and bool((changes[1:] > changes[:-1]).all())
    disk_cache.require(ascends and (not changes.size or changes[-1] < 0x110000), "changes")
    return changes


def _unmatched(engine: Engine, text: str, sample: str) -> str:
    """The characters of a sample that neither a set of tokenizers nor a pre-tokenizer ("Digits", …) matches."""
    from tokenizers import Regex, normalizers, pre_tokenizers

    if engine == "tokenizers":
        return str(normalizers.Replace(Regex(text), "").normalize_str(sample))
    cut = pre_tokenizers.Digits(False) if engine == "Digits" else pre_tokenizers.Punctuation("contiguous")
    return "".join(piece for piece, _ in cut.pre_tokenize_str(sample)[::2])  # runs take turns; NUL is no member


def _matched(engine: Engine, text: str, sample: str) -> str:
    """The characters of a sample that a set of tiktoken matches: its encoding drops the rest."""
    import tiktoken

    ranks = {bytes([byte]): byte for byte in range(256)}
    encoding = tiktoken.Encoding(engine, pat_str=text, mergeable_ranks=ranks, special_tokens={})
    return bytes(encoding.encode_ordinary(sample)).decode()


@dataclass(frozen=True)
class Symbols:
    """The characters by what the sets of a tokenizer tell apart, and by their length in UTF-8.

    Attributes:
        of: Code point → symbol; −1 for surrogates.
        sets: Symbol → the numbers of the sets that it is in, as bits.
        width: Symbol → bytes of its characters.
    """

    of: NDArray[np.int16]
    sets: Sequence[int]
    width: Sequence[int]


def symbols(sets: dict[Letters, int], blank_as: int = 0x20) -> Symbols:
    """The coarsest symbols for some sets. blank_as: the character that sets take the blank for."""
    bounds = [members(letters) for letters in sets]
    edges = np.array([0, 0x20, 0x21, 0x80, 0x800, 0xD800, 0xE000, 0x10000, blank_as, blank_as + 1], dtype=np.uint32)
    starts = np.unique(np.concatenate([edges, *bounds]))
    starts = starts[starts < 0x110000]
    masks = np.zeros(len(starts), dtype=np.int64)
    if len(sets) > MAX_SETS:
        raise VocabularyError(f"the tokenizer's regexes have {len(sets)} sets of characters; {MAX_SETS} are possible")
    for number, changes in enumerate(bounds):
        masks |= (np.searchsorted(changes, starts, side="right").astype(np.int64) & 1) << number
    masks[starts == 0x20] = masks[starts == blank_as]
    widths = np.searchsorted(np.array([0x80, 0x800, 0x10000]), starts, side="right") + 1
    both, numbers = np.unique(masks << 2 | (widths - 1), return_inverse=True)
    numbers = numbers.reshape(-1).astype(np.int16)
    numbers[starts == 0xD800] = -1
    of = np.repeat(numbers, np.diff(np.append(starts, 0x110000)))
    return Symbols(of, (both >> 2).tolist(), ((both & 3) + 1).tolist())


CHARACTER = 1 << 30  # plus a symbol: the byte completes a character


def utf8_rows(of: NDArray[np.int16]) -> list[list[list[int]]]:
    """The meaning of each byte, by the bytes of its character so far and by row; equal rows are one.

    It is CHARACTER + symbol, or bytes so far << 20 | row of the next byte, or −1.
    """
    rows: list[list[list[int]]] = [[], [], [], []]
    numbers: list[dict[bytes, int]] = [{}, {}, {}, {}]

    def row_of(depth: int, targets: NDArray[np.int32]) -> int:
        """The row in which the 64 following bytes have these targets."""
        number = numbers[depth].setdefault(targets.tobytes(), len(rows[depth]))
        if number == len(rows[depth]):
            rows[depth].append([-1] * 128 + targets.tolist() + [-1] * 64)
        return depth << 20 | number

    last = np.where(of < 0, -1, of.astype(np.int32) + CHARACTER).reshape(-1, 64)
    root = [-1] * 256
    root[:0x80] = last[:2].reshape(-1).tolist()
    for lead in range(0xC2, 0xE0):
        root[lead] = row_of(1, last[lead - 0xC0])

    def middle(depth: int, first: int) -> NDArray[np.int32]:
        """The targets of a byte before the last: the rows of 64 blocks of 64 characters."""
        blocks, targets = last[first : first + 64], np.empty(64, np.int32)
        for begin in [0, *(np.flatnonzero((blocks[1:] != blocks[:-1]).any(axis=1)) + 1).tolist()]:
            targets[begin:] = row_of(depth, blocks[begin]) if blocks[begin, 0] >= 0 else -1
        return targets

    for lead in range(0xE0, 0xF0):
        targets = middle(2, (lead - 0xE0) * 64)
        targets[:32] = -1 if lead == 0xE0 else targets[:32]  # no longer form of what has a shorter one
        root[lead] = row_of(1, targets)
    for lead in range(0xF0, 0xF5):
        above = np.full(64, -1, np.int32)
        for second in range(16 if lead == 0xF0 else 0, 64 if lead < 0xF4 else 16):
            above[second] = row_of(2, middle(3, ((lead - 0xF0) * 64 + second) * 64))
        root[lead] = row_of(1, above)
    rows[0] = [root]
    return rows
