"""Pieces: borders told while bytes arrive, against the libraries' own cuts of finished texts."""

import itertools
import json
import random
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constrain.errors import VocabularyError
from constrain.languages.cuts.piece_sets import CHARACTER, members, symbols, utf8_rows
from constrain.languages.cuts.pieces import DEAD, GPT2, LIMIT, Pieces
from tables import table

tokenizers = pytest.importorskip("tokenizers")
NFC = tokenizers.normalizers.NFC

TABLE = table("piece_regexes")
NAMES = [row["name"] for row in TABLE["tokenizer"]]
SMALL = "a1 \n's!"
ALPHABET = (
    *"abstrvemldzABSTLKQ", *"0127", *"  \t\r\n\n\x0b\x00", *"''\"!,.:;-/{}[]_#$+=<>^`~\\", "'s", "'LL", "'re", "\r\n",
    "  ", "   ", "\n    ", "é", "ß", "ſ", "\u212a", "Ж", "ж", "ǅ", "ʰ", "א", "ا", "e\u0301", "\u0301", "\u20dd",
    "\u0903", "٣", "²", "Ⅷ", "½", "１", "中", "文", "一", "龥", "あ", "ア", "゠", "한", "글", "\u00a0", "\u2003",
    "\u3000", "\u2028", "\x85", "\u200b", "\u200d", "😀", "👍🏽", "🇩", "𝒳", "𠀀", "—", "«", "€", "▁", "、",
    "\U000e0041", "\ue000", "\U000f0000", "ˆ", "\u0378", "\U0003fffd",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(ALPHABET), max_size=14).map("".join)


def backend_of(row: dict[str, Any]) -> Any:
    """The tokenizer of a row, by the library."""
    built = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "post_processor": None,
        "normalizer": json.loads(row.get("normalizer", "null")), "decoder": None,
        "pre_tokenizer": json.loads(row.get("pre_tokenizer", "null")),
        "model": {"type": "BPE", "vocab": {}, "merges": []},
    }  # fmt: skip
    if "regex" in row:
        built["pre_tokenizer"] = {
            "type": "Split",
            "pattern": {"Regex": row["regex"]},
            "behavior": "Isolated",
            "invert": False,
        }
    return tokenizers.Tokenizer.from_str(json.dumps(built))


@cache
def pieces_of(name: str) -> tuple[Pieces, Callable[[str], list[int]]]:
    """The automaton of a row, and the library's own borders of a text, in bytes."""
    row = next(row for row in TABLE["tokenizer"] if row["name"] == name)
    if row.get("tiktoken"):
        return Pieces.of_regex(row["regex"]), tiktoken_borders(row["regex"])
    backend = backend_of(row)
    return Pieces.of(backend), borders_of(backend)


def borders_of(backend: Any) -> Callable[[str], list[int]]:
    """The borders that a tokenizer makes, in bytes."""

    def borders(text: str) -> list[int]:
        seen = backend.normalizer.normalize_str(text) if backend.normalizer else text
        ends = [end for _, (_, end) in backend.pre_tokenizer.pre_tokenize_str(seen)]
        return [len(text[:end].encode()) for end in ends]

    return borders


def tiktoken_borders(pattern: str) -> Callable[[str], list[int]]:
    """The borders of tiktoken's pieces: with all parts of a text as tokens, each piece is one token."""
    tiktoken = pytest.importorskip("tiktoken")

    def borders(text: str) -> list[int]:
        data = text.encode()
        parts = {data[a:b] for a, b in itertools.combinations(range(len(data) + 1), 2)}
        ranks = {part: rank for rank, part in enumerate({bytes([byte]) for byte in range(256)} | parts)}
        encoding = tiktoken.Encoding("parts", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
        tokens = encoding.decode_tokens_bytes(encoding.encode_ordinary(text))
        return list(itertools.accumulate(map(len, tokens)))

    return borders


def check(pieces: Pieces, borders: Callable[[str], list[int]], text: str) -> None:
    """Compare what is said after each byte with the library's cut of the finished text."""
    if pieces.form == "NFC" and NFC().normalize_str(text) != text:
        return
    if pieces.prepends and not text.startswith(" "):
        text = " " + text
    wanted, data = set(borders(text)), text.encode()
    state, found, settled_no = pieces.start, set[int](), set[int]()
    pending: set[int] = set()
    for at, byte in enumerate(data, 1):
        before, state = state, pieces.step(state, byte)
        assert state != DEAD, (text, at)
        ended = {at - k for k in range(31) if pieces.ended[before, byte] >> k & 1}
        pending.add(at)
        assert ended <= pending, (text, at, "told twice, or after it was settled")
        is_open = {at - k for k in range(31) if pieces.open[state] >> k & 1}
        assert is_open <= pending - ended, (text, at, "open again")
        found |= ended
        settled_no |= pending - ended - is_open
        pending = is_open
    ended = {len(data) - k for k in range(31) if pieces.finish(state) >> k & 1}
    assert not ended & found, (text, "told twice at the end")
    assert ended <= pending | {len(data)}
    assert found | ended == wanted, (text, sorted(found | ended), sorted(wanted))
    assert not (settled_no - {len(data)}) & wanted, text


@pytest.mark.parametrize("name", NAMES)
def test_short_texts(name: str) -> None:
    """All texts over a small alphabet: so every extension of every prefix is tried."""
    for length in range(5):
        for characters in itertools.product(SMALL, repeat=length):
            check(*pieces_of(name), "".join(characters))


@pytest.mark.parametrize("name", NAMES)
@settings(deadline=None, max_examples=150)
@given(text=TEXTS)
def test_mixed_texts(name: str, text: str) -> None:
    """Texts of letters, digits, marks, CJK, blanks of all kinds and signs."""
    check(*pieces_of(name), text)


def random_regex(choose: random.Random, depth: int = 0) -> str:
    """A regex over few characters, with every construct that is read."""
    kind = choose.randrange(9 if depth < 3 else 4)
    if kind < 4:
        return choose.choice(["a", "b", r"\s", "[ab]", "[^a]", " ", r"\n", "."])
    inside = [random_regex(choose, depth + 1) for _ in range(choose.randint(2, 3))]
    if kind == 4:
        return f"(?:{'|'.join(inside)})"
    if kind == 5:
        return f"(?:{inside[0]}){choose.choice(['*', '+', '?', '{1,3}', '{2}', '{2,}', '{0,2}'])}"
    if kind == 6:
        return inside[0] + choose.choice([r"(?!\S)", "(?!a)", "(?=b)", r"(?=\s)", "$", r"\z"])
    if kind == 7:
        return choose.choice(["a", "[ab]", r"\s"]) + choose.choice(["?+", "*+", "++"]) + inside[0]
    return "".join(inside)


@pytest.mark.parametrize("seed", range(8))
def test_random_regexes(seed: int) -> None:
    """Whatever is read of random regexes, in one or two stages, cuts as the library does."""
    choose, read = random.Random(seed), 0
    while read < 40:
        behaviors = choose.choices(["Isolated", "MergedWithPrevious"], k=choose.choice([1, 1, 2]))
        parts = [
            {"type": "Split", "pattern": {"Regex": random_regex(choose)}, "behavior": behavior, "invert": False}
            for behavior in behaviors
        ]
        backend = backend_of({"pre_tokenizer": json.dumps({"type": "Sequence", "pretokenizers": parts})})
        try:
            pieces = Pieces.of(backend)
        except VocabularyError:
            continue
        read += 1
        for _ in range(60):
            check(pieces, borders_of(backend), "".join(choose.choices("aab \né", k=choose.randint(1, 9))))


def test_tightness() -> None:
    """A position that the next byte cannot change is settled: after `ab`, a blank ends the word at once."""
    pieces = Pieces.of_regex(GPT2, "tokenizers")
    state = pieces.start
    wanted = [
        ("a", 0, 1), ("b", 0, 1), (" ", 0b10, 1), (" ", 0, 0b11), ("c", 0b100, 1), ("'", 0b10, 1), ("r", 0, 0b11),
        ("e", 1, 0),
    ]  # fmt: skip
    for character, ended, undecided in wanted:
        before, state = state, pieces.step(state, ord(character))
        assert (character, int(pieces.ended[before, ord(character)]), int(pieces.open[state])) == (
            character,
            ended,
            undecided,
        )


def test_no_bytes_of_utf8() -> None:
    """Bytes that begin no character, and characters in a form that UTF-8 does not have, are dead."""
    pieces = Pieces.of_regex(GPT2, "tokenizers")
    for second in range(256):
        for start in (bytes([first, second]) for first in range(256)):
            for data in (
                start,
                *((start + bytes([third]) for third in (0x7F, 0x80, 0xBF)) if start[0] >= 0xE0 else ()),
            ):
                state = pieces.start
                for byte in data:
                    state = pieces.step(state, byte)
                assert (state != DEAD) == could_be_utf8(data), data.hex()
    assert pieces.finish(pieces.step(pieces.start, 0xE4)) == 0


def could_be_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True


@pytest.mark.parametrize(("first", "last"), [(0, 0x3400), pytest.param(0x3400, 0x110000, marks=pytest.mark.slow)])
def test_every_character(first: int, last: int) -> None:
    """Every character is read as a member of the sets that the library itself takes it for."""
    pieces = Pieces.of_regex(GPT2, "tokenizers")
    characters = [chr(code) for code in range(first, last) if not 0xD800 <= code < 0xE000]
    cut = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    for first in range(0, len(characters), 4096):
        data = "".join(characters[first : first + 4096])
        state, at, found = pieces.start, 0, []
        for at, byte in enumerate(data.encode(), 1):
            before, state = state, pieces.step(state, byte)
            borders = int(pieces.ended[before, byte])
            found += [at - k for k in range(borders.bit_length()) if borders >> k & 1]
        found += [at - k for k in range(31) if pieces.finish(state) >> k & 1]
        offsets = [len(character.encode()) for character in data]
        ends = list(itertools.accumulate(offsets, initial=0))
        assert sorted(found) == [ends[end] for _, (_, end) in cut.pre_tokenize_str(data)], hex(ord(data[0]))


@pytest.mark.parametrize("letters", [r"\s", r"\p{L}", r"\p{N}", r"\p{M}", r"[^\s\p{L}\p{N}]", "(?i:s)", "(?i:[sdmtk])"])
def test_sets(letters: str) -> None:
    """A set that is read from a sample is that of all characters, by either library."""
    text = np.array([code for code in range(0x110000) if not 0xD800 <= code < 0xE000], "<u4")
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(letters + "+"), "removed", invert=True)
    runs = split.pre_tokenize_str(text.tobytes().decode("utf-32-le"))
    bounds = np.array([bound for run, _ in runs for bound in (ord(run[0]), ord(run[-1]) + 1)])
    for engine in ("tokenizers", "tiktoken"):
        if engine == "tiktoken":
            pytest.importorskip("tiktoken")
        inside = np.searchsorted(members((engine, letters)), text, side="right") & 1
        assert (inside == np.searchsorted(bounds, text, side="right") & 1).all()


def test_bytes_spell_symbols() -> None:
    """Following the rows by the bytes of a character ends in its symbol; other bytes lead nowhere."""
    found = symbols({("tokenizers", r"\p{L}"): 0, ("tokenizers", r"\s"): 1})
    rows = utf8_rows(found.of)
    some = [
        *range(0x300), *range(0x7F0, 0x810), *range(0xD7F0, 0xD800), *range(0xDFFF, 0xE010), *range(0xFFF0, 0x10010),
    ]  # fmt: skip
    some += [*range(0x110000 - 16, 0x110000), *range(0x3000, 0x110000, 9973)]
    for code in some:
        if 0xD800 <= code < 0xE000:
            continue
        at = 0
        for byte in chr(code).encode():
            at = rows[at >> 20][at & 0xFFFFF][byte]
        assert at == CHARACTER + int(found.of[code]), hex(code)
    for bad in (
        b"\x80",
        b"\xc0",
        b"\xc1\x80",
        b"\xe0\x80",
        b"\xed\xa0\x80",
        b"\xf0\x80",
        b"\xf4\x90",
        b"\xf5",
        b"\xff",
    ):
        at = 0
        for byte in bad:
            at = at if at < 0 else rows[at >> 20][at & 0xFFFFF][byte]
        assert at == -1, bad


@pytest.mark.parametrize("row", TABLE["refused"], ids=lambda row: str(row["part"]))
def test_refused(row: dict[str, Any]) -> None:
    """Parts that are not understood exactly are refused, with a message that names them."""
    engine = "tiktoken" if row.get("tiktoken") else "tokenizers"
    with pytest.raises(VocabularyError) as error:
        Pieces.of_regex(row["regex"], engine) if "regex" in row else Pieces.of(backend_of(row))
    assert row["message"] in str(error.value)


def test_too_much_undecided() -> None:
    """A line feed and blanks may belong together until something else comes: beyond the limit the state is dead."""
    pieces, _ = pieces_of("Llama 3")
    state = pieces.step(pieces.start, 10)
    for blanks in range(1, LIMIT + 1):
        state = pieces.step(state, 32)
        assert state != DEAD and pieces.open[state] >> blanks & 1
    assert pieces.step(state, 32) == DEAD
    for character in ("a", "é", "中", "😀"):  # what ends the doubt has room
        after = state
        for byte in character.encode():
            before, after = after, pieces.step(after, byte)
        assert pieces.ended[before, byte] >> LIMIT + len(character.encode()) & 1 and after != DEAD
