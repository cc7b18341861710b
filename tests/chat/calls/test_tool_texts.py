"""Texts of models, read whole and character by character, with what they say (tests/data/tool_texts.toml)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from constrain.chat.calls import FORMATS, ArgumentsText, Content, Reader, Thought, functions_of
from tables import table


def weather(city: str, days: int = 1) -> None:
    """Tell the weather."""


def clock() -> None:
    """Tell the time."""


def search(query: str, tags: list[str]) -> None:
    """Search."""


CASES = table("tool_texts")["case"]
FUNCTIONS = functions_of([weather, clock, search])


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['format']}: {case['name']}")
def test_what_texts_say(case: dict[str, Any]) -> None:
    readers = [Reader(FORMATS[case["format"]], FUNCTIONS, opened=case.get("open", False)) for _ in range(2)]
    readers[0].feed(case["text"])
    events = [event for character in case["text"] for event in readers[1].feed(character)]
    message = readers[0].close()
    assert readers[1].close() == message
    calls = [[call.name, call.arguments, *([call.id] if call.id else [])] for call in message.tool_calls]
    assert calls == [[name, json.loads(text, strict=False), *more] for name, text, *more in case.get("calls", [])]
    assert message.content == case.get("content", "")
    assert message.thinking == case.get("thinking")
    assert (message.fault is None) == ("fault" not in case) and case.get("fault", "") in (message.fault or "")
    for call in message.tool_calls:
        assert call.name in case["text"][slice(*call.place)]
    for kind, text in ((Thought, message.thinking or ""), (Content, message.content)):
        assert "".join(event.text for event in events if isinstance(event, kind)).strip("\n") == text.strip("\n")
    if any(call.values for call in message.tool_calls):
        assert any(isinstance(event, ArgumentsText) for event in events)


def test_every_format_has_a_case() -> None:
    assert {case["format"] for case in CASES} == set(FORMATS)
