"""Vocabularies that lack the bytes of some characters: masks in bytes are exact in tokens, unless a constraint names
such a character. The reference are masks that ask for the end by tokens, for every constraint."""

import random
from collections.abc import Iterable

import pytest

import constrain
from constrain.masks.completion.spelled import SpelledConstraint
from constrain.masks.completion.unwritten import names_any, unwritten_ranges
from constrain.masks.completion.writable import Writable
from constrain.masks.engine import compile_bytewise
from real_models import real_model
from work import counted

MISSING = {4, 6, 0x13, 0x14, 0x16, 0x1D, 0xF1, 0xF2}  # what SmolLM2's tokens lack
WORDS = [b"ab", b'{"', b'":', b"\xc3\xa9", b"\\u", b"\xf0\x9f"]
TOKENS = [*(bytes([byte]) for byte in range(256) if byte not in MISSING), *WORDS, None]
VOCABULARY = constrain.Vocabulary(TOKENS, eos_ids=[len(TOKENS) - 1])


def call(city: str, days: int) -> None:
    """The weather."""


UNNAMED = {
    "string": lambda: constrain.json_schema({"type": "string", "maxLength": 3}),
    "pattern": lambda: constrain.json_schema({"type": "string", "pattern": "^[^a\\x00-\\x1f]{2}\\W$"}),
    "object": lambda: constrain.json_schema({"properties": {"é\u2028": {"format": "date"}}, "minProperties": 2}),
    "iri": lambda: constrain.json_schema({"type": "string", "format": "iri", "maxLength": 12}),
    "regex": lambda: constrain.regex(r"[^\w]{2}\s(?!a)."),
    "controls": lambda: constrain.regex(r"[\x00-\x1f]a|[\x7f-\U0010ffff]b"),
    "unassigned": lambda: constrain.regex(r"\p{Cn}\p{Cc}x", dialect="ecma"),
    "grammar": lambda: constrain.grammar('start: /[^a-z]/ "b" | "é" start'),
    "parts": lambda: constrain.seq("ab", constrain.many(constrain.choices(["é", "e"]), high=2)),
    "tools": lambda: constrain.tools([call], format="hermes"),
}
NAMED = {
    "a character": lambda: constrain.choices(["a\x04b", "ab"]),
    "an escape": lambda: constrain.regex(r"a\x04|ab"),
    "an octal escape": lambda: constrain.regex(r"a\004|ab"),
    "a letter": lambda: constrain.regex(r"a\cD|ab", dialect="ecma"),
    "a plane": lambda: constrain.regex("a[\U00040000-\U00040010]|ab"),
    "a range beside": lambda: constrain.regex(r"a[^\x00-\x12\x15-\U0010ffff]|ab"),
    "two halves": lambda: constrain.json_schema({"pattern": "^(a[\\uD8C0\\uDC00]|ab)$", "type": "string"}),
    "behind a letter": lambda: constrain.json_schema({"enum": ["a\\c\U00050000", "ab"]}),
    "a key": lambda: constrain.json_schema({"properties": {"a\U00050000": {"type": "null"}}, "minProperties": 1}),
}


def test_what_is_not_written() -> None:
    ranges = unwritten_ranges(MISSING)
    writable = {*range(0x20)} - {code for low, high in ranges for code in range(low, min(high, 0x1F) + 1)}
    assert writable == {*range(0x20)} - MISSING
    assert ranges[-1] == (0x40000, 0xBFFFF) and Writable.of(VOCABULARY).unwritten == ranges
    for code in (0x10000, 0x3FFFF, 0x40000, 0x7FFFF, 0xBFFFF, 0xC0000, 0x10FFFF):
        missing = any(low <= code <= high for low, high in ranges)
        assert missing == bool(MISSING.intersection(chr(code).encode()))


@pytest.mark.parametrize("name", UNNAMED)
def test_masks_in_bytes_are_exact(name: str) -> None:
    constraint = UNNAMED[name]()
    assert not names_any(constraint, unwritten_ranges(MISSING))
    assert not isinstance(constrain.compile(constraint, VOCABULARY), SpelledConstraint)
    for seed in range(4):
        walk(constraint, VOCABULARY, random.Random(seed), 12)


def walk(constraint: constrain.Constraint, vocabulary: constrain.Vocabulary, rng: random.Random, steps: int) -> None:
    """At each step the mask is the one that asks for the end by tokens; or no text can be written."""
    try:
        exact = SpelledConstraint(constraint, vocabulary, compile_bytewise(constraint, vocabulary).automaton)
    except constrain.UnsatisfiableError:
        with pytest.raises(constrain.UnsatisfiableError):
            constrain.compile(constraint, vocabulary)
        return
    matcher, reference = constrain.compile(constraint, vocabulary).matcher(), exact.matcher()
    for _ in range(steps):
        mask, allowed = matcher.mask(), reference.mask()
        assert mask.tolist() == allowed.tolist(), matcher.text
        tokens = [token for token in range(vocabulary.size) if mask[token >> 5] >> (token & 31) & 1]
        token = rng.choice(tokens)
        assert matcher.advance(token) and reference.advance(token)
        if token in vocabulary.eos_ids:
            break


def lacking(missing: Iterable[int]) -> constrain.Vocabulary:
    """The tokens above, and each byte but some."""
    tokens = [*(bytes([byte]) for byte in range(256) if byte not in missing), *WORDS, None]
    return constrain.Vocabulary(tokens, eos_ids=[len(tokens) - 1])


@pytest.mark.parametrize("byte", [*range(0, 0xE0, 32), *range(0xE0, 0xF6, 2), 0xF1, 0xF3])
def test_every_byte_may_be_missing(byte: int) -> None:
    """A byte alone, and all bytes from it on: the last characters of all begin with F4."""
    for missing in ({byte}, {*range(byte, 256)}):
        walk(UNNAMED["controls"](), lacking(missing), random.Random(byte), 2)


def test_the_ends_of_all_characters_name_none() -> None:
    ranges = unwritten_ranges([0, 0xF4])
    assert ranges == ((0, 0), (0x100000, 0x10FFFF))
    assert not any(names_any(constrain.regex(p).node, ranges) for p in ("[^a]", r"[\x00-\x1f]", "[b-\U0010ffff]"))
    assert all(names_any(constrain.regex(p).node, ranges) for p in (r"\x00", "\U0010ffff", "[\U00100000-\U0010ffff]"))


@pytest.mark.parametrize("name", NAMED)
def test_who_names_a_character_asks_for_tokens(name: str) -> None:
    constraint = NAMED[name]()
    compiled = constrain.compile(constraint, VOCABULARY)
    assert isinstance(compiled, SpelledConstraint)
    matcher = compiled.matcher()
    for _ in range(24):  # it never ends dead
        tokens = [token for token in range(VOCABULARY.size) if matcher.allows(token)]
        assert tokens, matcher.text
        ends = [token for token in tokens if token in VOCABULARY.eos_ids]
        assert matcher.advance((ends or tokens)[0])
        if ends:
            return


def test_a_real_vocabulary_needs_no_look_at_the_end() -> None:
    """SmolLM2 lacks just these bytes; before, each mask of it asked for the end."""
    from transformers import AutoTokenizer

    vocabulary = constrain.Vocabulary.from_huggingface(AutoTokenizer.from_pretrained(real_model("smollm2")))
    assert Writable.of(vocabulary).unwritten == unwritten_ranges(MISSING)
    for make in UNNAMED.values():
        assert not isinstance(constrain.compile(make(), vocabulary), SpelledConstraint)


def test_what_is_not_understood_counts_as_naming() -> None:
    """A constraint of a user's own, which does not say what its language depends on."""

    class Own(constrain.Constraint):
        node = constrain.regex("ab").node

    assert names_any(Own(), unwritten_ranges(MISSING))
    assert isinstance(constrain.compile(Own(), VOCABULARY), SpelledConstraint)


WRITTEN = [r'"^a\\x04|ab$"', r'"^a\u005cx04|ab$"', r'"^a\u0004|ab$"', r'"^\\u0004|ab$"', '"^a\U00050000|ab$"',
           r'"^\ud900\udc00|a$"', r'"^[\u0430-\u044f]\\/"', r'"^\/x04é\\n"', r'"^\\%x04|ab$"']  # fmt: skip


@pytest.mark.parametrize("pattern", WRITTEN)
def test_the_text_of_a_schema_says_what_the_schema_says(pattern: str) -> None:
    """However its JSON is written: the oracle is what is said without it."""
    text = f'{{"type": "string", "pattern": {pattern}}}'
    constraint, writable = constrain.json_schema(text), Writable.of(VOCABULARY)
    assert writable.asks_tokens(constraint, text) is writable.asks_tokens(constraint)


def test_a_part_that_stands_in_many_places_is_looked_at_once() -> None:
    """2 ** 40 places of one part; the arguments of 217 tools met their common parts fifty times each."""
    part: constrain.Constraint = constrain.regex("a[bc]")
    for _ in range(40):
        part = constrain.optional(constrain.seq(part, "x", part))
    named, calls = counted(names_any, part, unwritten_ranges(MISSING))
    assert not named and calls < 20_000
    assert names_any(constrain.seq(part, "\x04"), unwritten_ranges(MISSING))


def test_other_vocabularies_ask_for_tokens() -> None:
    """A byte inside of a character, and one that a longer token has."""
    for tokens in ([b"\xc3", *TOKENS[:0x80], None], [*TOKENS[:-1], b"\x04a", None]):
        vocabulary = constrain.Vocabulary(tokens, eos_ids=[len(tokens) - 1])
        assert not Writable.of(vocabulary).unwritten
