"""Whether a vocabulary can write a constraint: tables, and all texts of small grammars as the oracle."""

from __future__ import annotations

import string
from itertools import product
from typing import Any

import pytest

import constrain
from constrain import UnsatisfiableError, Vocabulary
from constrain.completion.writable import refuse_unwritable
from toy_handle import PIECES, ToyHandle

LETTERS = [letter.encode() for letter in '{}[]":, ' + string.ascii_lowercase + string.digits]
WITHOUT_BYTES = Vocabulary([*LETTERS, b"ab", None], eos_ids=[len(LETTERS) + 1])
WITH_ESCAPES = Vocabulary([*LETTERS, b"\\", None], eos_ids=[len(LETTERS) + 1])
AB = Vocabulary([b"a", b"b", "äb".encode(), None], eos_ids=[3])

WRITABLE = [
    constrain.choices(["é", "yes"]),
    constrain.regex("[a-zé]{3}"),
    constrain.regex("né*"),
    constrain.json_schema({"type": "object", "properties": {"é": {}, "a": {"type": "string"}}}),
    constrain.grammar('start: "a" start "b" | "É"? "ab"'),
    constrain.grammar('start: "x" <|é|> "y"'),  # a token without bytes
]
UNWRITABLE = [
    (constrain.choices(["né", "é"]), "'é', the shortest, needs 'é'"),
    (constrain.regex("[a-z]+É[0-9]"), "'aÉ0', the shortest, needs 'É'"),
    (constrain.regex("[A-F]+"), "'A', the shortest, needs 'A'"),
    (constrain.json_schema({"enum": ["É", "Ü"]}), "needs 'É'"),
    (
        constrain.json_schema({"type": "object", "properties": {"ü": {"type": "null"}}, "required": ["ü"]}),
        """'{"ü":null}', the shortest, needs 'ü'""",
    ),
    (constrain.grammar('start: "a" start "b" | "É"'), "'É', the shortest, needs 'É'"),
    (constrain.choices(["\U0001f388", "a\x00"]), "needs"),
]


@pytest.mark.parametrize("constraint", WRITABLE, ids=repr)
def test_what_can_be_written_is_taken(constraint: Any) -> None:
    refuse_unwritable(constraint, WITHOUT_BYTES)


@pytest.mark.parametrize("constraint, message", UNWRITABLE, ids=[repr(row[0]) for row in UNWRITABLE])
def test_what_cannot_be_written_is_refused(constraint: Any, message: str) -> None:
    with pytest.raises(UnsatisfiableError) as caught:
        refuse_unwritable(constraint, WITHOUT_BYTES)
    assert message in str(caught.value) and "fix:" in str(caught.value)


def test_an_escape_may_write_it() -> None:
    constraint = constrain.json_schema({"enum": ["É", "Ü"]})
    refuse_unwritable(constraint, WITH_ESCAPES)  # "\\u00c9"
    matcher = constrain.compile(constraint, WITH_ESCAPES).matcher()
    assert matcher.advance_bytes(b'"\\u00c9"')


@pytest.mark.parametrize("constraint", [row[0] for row in UNWRITABLE], ids=repr)
def test_bytes_write_everything(constraint: Any) -> None:
    refuse_unwritable(constraint, Vocabulary.of_bytes())


@pytest.mark.parametrize("pattern", ["{}", "a{}", "{}b", "{}{}", "a|{}", "({})?b", "({}|a)+", "a{}|b{}"])
@pytest.mark.parametrize("parts", list(product(["a", "b", "ä", "c", "äb", "bä"], repeat=2)), ids=repr)
def test_against_all_texts(pattern: str, parts: tuple[str, str]) -> None:
    """Refused exactly if no text of up to five characters is written by the characters of tokens."""
    constraint = constrain.regex(pattern.format(*parts))
    matcher = constrain.compile(constraint, Vocabulary.of_bytes()).matcher()
    texts = ("".join(text) for size in range(6) for text in product("abä", repeat=size))
    can = any(_takes(matcher.fork(), text) for text in texts)
    try:
        refuse_unwritable(constraint, AB)
    except UnsatisfiableError:
        assert not can
    else:
        assert can


def _takes(matcher: Any, text: str) -> bool:
    return matcher.advance_bytes(text.encode()) and matcher.is_accepting()


def test_generate_refuses_before_the_model_is_asked() -> None:
    model = ToyHandle(len(PIECES), 1, 1.0)
    with pytest.raises(UnsatisfiableError, match="the tokens of the vocabulary can write no text"):
        constrain.generate(model, "a", choices=["né"], max_tokens=4)
    assert constrain.generate(model, "a", choices=["né", "ab"], max_tokens=20, complete=True, seed=1).text == "ab"
