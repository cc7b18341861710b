"""Long runs of characters: the states of a LITERAL, against Python's `re`, and how many are made."""

from __future__ import annotations

import re

import numpy as np
import pytest

import constrain
from constrain.kernels.lexer.expressions import LONG, UNROLLED
from constrain.kernels.records.arena import HEADER

LETTERS = "abcdefghij" * 40  # more than LONG
assert len(LETTERS) > LONG + 2 * UNROLLED

PATTERNS = [
    LETTERS, LETTERS + "z*", f"({LETTERS}){{2}}", f"{LETTERS}|{LETTERS[:300]}x|y", f"{LETTERS}|{LETTERS}{LETTERS}",
    f"x?{LETTERS}y?{LETTERS}", f"(?=.*ij.*){LETTERS}[a-z]*", f"(?!{LETTERS}$)abc[a-j]*", f"{LETTERS}(?!z)[a-z]?",
    "é" * 300 + "|" + "é" * 299 + "ü",
]  # fmt: skip
TEXTS = [
    "", "y", "x" + LETTERS, LETTERS, LETTERS[:-1], LETTERS + "z", LETTERS + "zz", LETTERS * 2, LETTERS + "y" + LETTERS,
    LETTERS[:300] + "x", LETTERS[:300] + "y", LETTERS[:64] + "z" + LETTERS[65:], "abc", "é" * 300, "é" * 299 + "ü",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_members(pattern: str) -> None:
    compiled = constrain.compile(constrain.regex(pattern), constrain.Vocabulary.of_bytes())
    for text in TEXTS:
        matcher = compiled.matcher()
        accepted = matcher.advance_bytes(text.encode()) and matcher.is_accepting()
        assert accepted == bool(re.fullmatch(pattern, text)), text[:20]


@pytest.mark.parametrize("pattern", PATTERNS[:6])
def test_masks_are_what_bytes_may_come(pattern: str) -> None:
    compiled = constrain.compile(constrain.regex(pattern), constrain.Vocabulary.of_bytes())
    row = np.zeros(9, np.uint32)
    matcher = compiled.matcher()
    for byte in LETTERS.encode():
        matcher.fill_mask(row)
        allowed = [b for b in range(256) if row[b >> 5] >> (b & 31) & 1]
        assert allowed == [b for b in range(256) if matcher.allows(b)]
        assert byte in allowed and matcher.advance(byte)


@pytest.mark.parametrize("form", ["regex", "const", "key", "enum", "Lark"])
def test_states_are_made_where_a_text_comes(form: str) -> None:
    """The arena has a word a character or two, and states for what was read."""
    text = "ab" * 50_000
    sources = {
        "regex": lambda: constrain.regex(text),
        "const": lambda: constrain.json_schema({"const": text}),
        "key": lambda: constrain.json_schema({"properties": {"k": {"const": text}}, "required": ["k"]}),
        "enum": lambda: constrain.json_schema({"enum": [text + "x", text + "y", 7]}),
        "Lark": lambda: constrain.grammar(f'start: "{text}" "c"'),
    }
    automaton = constrain.TokenAutomaton(constrain.Vocabulary.of_bytes(), budget=64 << 20)
    before = int(automaton.memory.A[HEADER.TOP])
    matcher = constrain.compile(sources[form](), automaton.vocabulary, automaton=automaton).matcher()
    begin = {"const": '"', "enum": '"', "key": '{"k":"'}.get(form, "")
    assert matcher.advance_bytes((begin + text[:500]).encode()) and not matcher.advance_bytes(b"x")
    made = int(automaton.memory.A[HEADER.TOP]) - before
    assert made < 2 * len(text) + 200_000, made
    assert matcher.advance_bytes(text[500:].encode())
