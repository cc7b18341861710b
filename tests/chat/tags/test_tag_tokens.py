"""Formats of tokens against definitions on all short sequences of tokens, each read as text or as a symbol."""

import itertools
import re
from typing import Any

import numpy as np
import pytest

import constrain

TEXTS = [b"a", b"b", b"ab", b"x", None, None, None]
EOS = 6
VOCABULARY = constrain.Vocabulary(TEXTS, eos_ids=[EOS], names={"<s>": 4, "<r>": 5})
LONGEST, VIABLE = 5, 2
SYMBOL = [chr(0xE000 + i) for i in range(EOS)]
A, B, AB, X, S, R = SYMBOL


def but(*excluded: str) -> str:
    return f"[{''.join(one for one in SYMBOL if one not in excluded)}]"


def token(which: Any) -> dict[str, Any]:
    return {"type": "token", "token": which}


def const(value: str) -> dict[str, Any]:
    return {"type": "const_string", "value": value}


def tag(begin: Any, content: Any, end: Any) -> dict[str, Any]:
    return {"type": "tag", "begin": begin, "content": content, "end": end}


ONE = tag(token("<s>"), const("ab"), token("<r>"))


def thoughts(begin: Any, most: int, end: Any) -> dict[str, Any]:
    return tag(begin, {"type": "any_text", "max_tokens": most}, end)


def sequence(*elements: dict[str, Any]) -> dict[str, Any]:
    return {"type": "sequence", "elements": list(elements)}


CASES: list[tuple[dict[str, Any], str]] = [
    (thoughts(token("<s>"), 1, token("<r>")), f"{S}[{A}{B}{AB}{X}]?{R}"),
    (sequence(thoughts(token(4), 1, token(5)), const("ab")), f"{S}[{A}{B}{AB}{X}]?{R}ab"),
    (sequence(thoughts("x", 0, token("<r>")), const("ab")), f"x{R}ab"),
    (sequence(thoughts("", 2, "x"), const("ab")), f"[{A}{B}{AB}]{{0,2}}xab"),
    (sequence(thoughts(token(4), 2, "x"), {"type": "token", "token": 5}), f"{S}[{A}{B}{AB}]{{0,2}}x{R}"),
    (
        sequence({"type": "optional", "content": thoughts(token(4), 1, token(5))}, const("ab")),
        f"({S}[{A}{B}{AB}{X}]?{R})?ab",
    ),
    (token("<s>"), S),
    (token(2), AB),
    (token("x"), X),
    ({"type": "exclude_token", "exclude_tokens": [2, "x"]}, but(AB, X)),
    ({"type": "any_tokens", "exclude_tokens": ["<s>"], "max_tokens": 2}, f"{but(S)}{{0,2}}"),
    ({"type": "any_tokens", "exclude_tokens": [3]}, f"{but(X)}*"),
    ({"type": "sequence", "elements": [{"type": "any_tokens", "exclude_tokens": [4]}, const("ab")]}, f"{but(S)}*ab"),
    (tag(token(4), {"type": "any_tokens"}, token("<r>")), f"{S}{but(R)}*{R}"),
    (tag(token(4), {"type": "any_text"}, token("<r>")), f"{S}[abx]*{R}"),
    (tag("ab", const("x"), token(5)), f"abx{R}"),
    ({"type": "token_dispatch", "rules": [[4, const("ab")]], "exclude_tokens": [3]}, f"({but(S, X)}|{S}ab)*"),
    (
        {"type": "token_dispatch", "rules": [[4, const("a")], [0, const("b")]], "loop": False},
        f"{but(S, A)}*({S}a|{A}b)?",
    ),
    ({"type": "token_triggered_tags", "trigger_tokens": ["<s>"], "tags": [ONE]}, f"({but(S)}|{S}ab{R})*"),
    (
        {"type": "token_triggered_tags", "trigger_tokens": ["<s>"], "tags": [ONE], "at_least_one": True},
        f"{S}ab{R}({but(S)}|{S}ab{R})*",
    ),
    (
        {"type": "token_triggered_tags", "trigger_tokens": ["<s>"], "tags": [ONE], "stop_after_first": True,
         "exclude_tokens": ["x"]},
        f"{but(S, X)}*({S}ab{R})?",
    ),
]  # fmt: skip


def readings(tokens: tuple[int, ...]) -> list[str]:
    ways = [[SYMBOL[one], *([text.decode()] if (text := TEXTS[one]) else [])] for one in tokens]
    return ["".join(way) for way in itertools.product(*ways)]


@pytest.mark.parametrize(("form", "pattern"), CASES, ids=lambda each: str(each)[:60] if isinstance(each, dict) else "")
def test_masks_are_those_of_the_definition(form: dict[str, Any], pattern: str) -> None:
    match = re.compile(pattern).fullmatch
    sequences = (tokens for n in range(LONGEST + 1) for tokens in itertools.product(range(EOS), repeat=n))
    inside = {tokens for tokens in sequences if any(map(match, readings(tokens)))}
    viable = {tokens[:n] for tokens in inside for n in range(len(tokens) + 1)}
    compiled = constrain.compile(constrain.tags.structural_tag({"format": form}), VOCABULARY)
    for tokens in (tokens for n in range(VIABLE + 1) for tokens in itertools.product(range(EOS), repeat=n)):
        matcher = compiled.matcher()
        assert (matcher.advance_tokens(tokens) == len(tokens)) == (tokens in viable)
        if tokens in viable:
            row = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")
            expected = {one for one in range(EOS) if (*tokens, one) in viable} | ({EOS} if tokens in inside else set())
            assert {*np.flatnonzero(row).tolist()} == expected, tokens


def test_an_empty_sequence_compiles() -> None:
    matcher = constrain.compile(constrain.seq(), VOCABULARY).matcher()
    assert matcher.is_accepting() and not matcher.allows(0)
