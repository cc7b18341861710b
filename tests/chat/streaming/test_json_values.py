"""Values of texts that are being written: beside `json`, and beside pydantic's own reader of beginnings."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import from_json

from constrain.chat.streaming import JsonValues
from constrain.chat.streaming.json_values import Change

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)
TEXTS = st.builds(
    lambda value, ascii_, indent: json.dumps(value, ensure_ascii=ascii_, indent=indent),
    VALUES, st.booleans(), st.sampled_from([None, 2]),
)  # fmt: skip

NUMBER = re.compile(r"-?(?:[0-9][-+.0-9eE]*)?\Z")  # at the end: it may go on, so it does not count


def read(pieces: list[str]) -> tuple[JsonValues, list[Change]]:
    values = JsonValues()
    return values, [change for piece in pieces for change in values.read(piece)]


def split(text: str, cuts: list[int]) -> list[str]:
    places = sorted({cut % (len(text) + 1) for cut in cuts} | {0, len(text)})
    return [text[a:b] for a, b in itertools.pairwise(places)]


def built(changes: list[Change]) -> Any:
    """The value that changes alone add up to: containers are made here, and strings put together."""
    root: dict[str, Any] = {}
    strings: dict[tuple[Any, ...], str] = {}

    def put(path: tuple[Any, ...], value: Any) -> None:
        at: Any = root
        for step, following in zip(("", *path), (*path, None), strict=False):
            if following is None:
                if isinstance(at, list):
                    at[step:] = [value]
                else:
                    at[step] = value
            else:
                at = at[step]

    for change in changes:
        if change.added:
            strings[change.path] = strings.get(change.path, "") + change.added
            put(change.path, strings[change.path])
        elif isinstance(change.value, (dict, list)):
            if not change.final:
                put(change.path, type(change.value)())
        else:
            assert change.final and strings.pop(change.path, change.value) == change.value
            put(change.path, change.value)
    return root[""]


@given(TEXTS, st.lists(st.integers(0, 10_000)))
def test_the_whole_is_what_json_says(text: str, cuts: list[int]) -> None:
    values, changes = read(split(text, cuts))
    changes += values.end()
    assert values.ended and values.value == json.loads(text) == built(changes)
    assert json.dumps(values.value) == json.dumps(json.loads(text))  # the order of names, -0.0


@given(TEXTS, st.integers(0, 10_000), st.lists(st.integers(0, 10_000)))
def test_a_beginning_is_what_pydantic_says(text: str, at: int, cuts: list[int]) -> None:
    begun = text[: at % (len(text) + 1)]
    values, changes = read(split(begun, cuts))
    finished = NUMBER.sub("", begun)
    if finished.strip():
        try:
            expected = from_json(finished, allow_partial="trailing-strings")
        except ValueError:  # it wants a whole escape of two
            return
        assert without_open(values.value) == without_open(expected)
    if changes:
        assert values.value == built(changes)


def without_open(value: Any) -> Any:
    """Without strings, which pydantic leaves out where an escape is cut, and without what is empty."""
    if isinstance(value, dict):
        return {name: kept for name, one in value.items() if (kept := without_open(one)) not in (None, {}, [])}
    if isinstance(value, list):
        return [kept for one in value if (kept := without_open(one)) not in (None, {}, [])]
    return None if isinstance(value, str) else value


@pytest.mark.parametrize(
    "pieces, path, text",
    [
        (['"a\\', 'nb"'], (), "a\nb"),
        (['["\\ud83d', '\\ude00"]'], (0,), "\U0001f600"),
        (['["\\ud8', "3d\\ude", "00", '"]'], (0,), "\U0001f600"),
        (['["\\\\ud83d', 'x"]'], (0,), "\\ud83dx"),
        (['["\\\\\\ud83d', '\\ude00"]'], (0,), "\\\U0001f600"),
        (['["\\ud83d', '"]'], (0,), "\ud83d"),
        (['{"\\u006', '1": "b"}'], ("a",), "b"),
    ],
)
def test_escapes_that_are_cut(pieces: list[str], path: tuple[Any, ...], text: str) -> None:
    values, changes = read(pieces)
    assert values.ended and Change(path, text, "", True) in changes and values.value == json.loads("".join(pieces))
    assert "".join(change.added for change in changes if change.path == path) == text


@pytest.mark.parametrize(
    "text, message",
    [
        ("[1 2]", "character 3 is '2', where , or the end is expected"),
        ("[1,]", "character 3 is ']', where a value is expected"),
        ("{1", "character 1 is '1', where a name or } is expected"),
        ("[}", "character 1 is '}', where a value or ] is expected"),
        ('{"a" 1', "character 5 is '1', where : is expected"),
        ('{"a": 1]', "character 7 is ']', where , or the end is expected"),
        ("[tru]", "'tru' at character 1 is no JSON value"),
        ('["\\x', "is no JSON value"),
        ("{} {", "character 3 is '{', where nothing is expected"),
    ],
)
def test_a_text_that_is_no_json(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        read([text])
    with pytest.raises(ValueError, match=r"expected|no JSON value"):
        read(list(text))


def test_a_number_at_the_root_ends_when_it_is_said() -> None:
    values, changes = read(["1", "2"])
    assert not changes and not values.ended
    assert values.end() == [Change((), 12, "", True)] and values.ended
    with pytest.raises(ValueError, match="ends after 1 characters"):
        read(["["])[0].end()


def test_nothing_is_kept_but_the_value_and_the_open_string() -> None:
    """So a piece costs its own length, however long the text before it is."""
    text = json.dumps([{"name": "x" * 20, "values": [1, 2.5, None, "\u00e9"]}] * 1000)
    values = JsonValues()
    for at in range(0, len(text), 4):
        assert len(values.read(text[at : at + 4])) <= 5
        assert sum(map(len, values._raw)) <= 10 and sum(map(len, values._shown)) <= 20 and len(values._held) <= 11
    assert values.ended
