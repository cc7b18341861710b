"""Sets of bytes are described in words: ranges of characters, names of invisible characters, others beyond ASCII."""

from __future__ import annotations

import pytest

from constrain.masks.derived.refusal import character_start, named
from constrain.masks.engine.expected import describe


@pytest.mark.parametrize(
    "allowed, may_end, said",
    [
        ([], False, "nothing"),
        ([], True, "the end of the text"),
        (list(b"abcxyz0"), False, "`0`, `a`–`c`, `x`–`z`"),
        (list(b"ab"), True, "`a`, `b`, the end of the text"),
        (list(b"\t\n\r "), False, "tab, newline, carriage return, space"),
        (list(range(32)), False, "0x00–0x08, tab, newline, 0x0b, 0x0c, carriage return, 0x0e–0x1f"),
        (list(range(0x20, 0x7F)), False, "space, `!`–`_`, backquote, `a`–`~`"),
        ([*b"a", *range(0xC2, 0xF5)], False, "`a`, any character beyond ASCII"),
        ([0xC3], False, "some characters beyond ASCII"),
        (list(range(0x80, 0xC0)), False, "the rest of a character (bytes 0x80–0xbf)"),
        ([0x80, 0x9F, 0xA0], False, "the rest of a character (bytes 0x80, 0x9f–0xa0)"),
    ],
)
def test_describe(allowed: list[int], may_end: bool, said: str) -> None:
    assert describe(sorted(allowed), may_end) == said


@pytest.mark.parametrize(
    "data, index, start, name",
    [
        (b"abc", 1, 1, "'b'"),
        ("é".encode(), 1, 0, "'é'"),
        ("a🎈".encode(), 4, 1, "'🎈'"),
        (b"a\xff", 1, 1, "byte 0xff"),
        (b"a\x80", 1, 1, "byte 0x80"),
        (b"a", 1, 1, None),
    ],
)
def test_a_place_inside_a_character_is_its_start(data: bytes, index: int, start: int, name: str | None) -> None:
    assert character_start(data, index) == start
    if name is not None:
        assert named(data, start, index) == name
