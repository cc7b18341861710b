"""Chat templates that have no place for tools: the model is told in words, and calls as Hermes does."""

from __future__ import annotations

import copy
import json
from types import SimpleNamespace
from typing import Any

import pytest

import constrain
from constrain.chat.calls import format_of
from constrain.generation.request.untold import TOLD, with_tools

BARE = "{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}{% endfor %}"
ASK = [{"role": "user", "content": "2?"}]


def double(number: bool) -> str:
    """Answer."""
    return f"not {number}"


TURN = constrain.tools([double], format="hermes", choice="required", parallel=False)
WORDS = TOLD.format(tools=json.dumps(TURN.schemas[0], ensure_ascii=False))


def spoken(tokenizer: Any, template: str) -> Any:
    chat = copy.deepcopy(tokenizer)
    chat.chat_template = template
    return chat


def test_a_template_without_tools_names_the_format_of_hermes() -> None:
    assert format_of("auto", BARE) is format_of("hermes")
    with pytest.raises(constrain.ConstrainError, match="fits no format"):
        format_of("auto", BARE + "{{ tools }}")


def test_calls_and_results_become_texts(tokenizer: Any) -> None:
    chat = spoken(tokenizer, BARE)
    call = {"type": "function", "id": "1", "function": {"name": "double", "arguments": '{"number": true}'}}
    history = [
        *ASK,
        {"role": "assistant", "content": "So.", "tool_calls": [call, {"name": "double", "arguments": {}}]},
        {"role": "tool", "tool_call_id": "1", "content": "not True"},
    ]
    written = with_tools(history, TURN, chat)
    call_of = '<tool_call>\n{{"name": "double", "arguments": {}}}\n</tool_call>'
    first, second = call_of.format('{"number": true}'), call_of.format("{}")
    assert written == [
        {"role": "system", "content": WORDS},
        *ASK,
        {"role": "assistant", "content": f"So.\n{first}\n{second}"},
        {"role": "user", "content": "<tool_response>\nnot True\n</tool_response>"},
    ]
    assert [each.values for each in TURN.read(first).tool_calls] == [{"number": True}]


def test_other_templates_and_formats_are_told_as_they_are(tokenizer: Any) -> None:
    assert with_tools(ASK, TURN, spoken(tokenizer, BARE + "{{ tools }}")) is None
    other = constrain.tools([double], format="llama3")
    assert with_tools(ASK, other, spoken(tokenizer, BARE)) is None


def test_generate_tells_the_model(model: Any, tokenizer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    chat = SimpleNamespace(model=model, tokenizer=spoken(tokenizer, BARE))
    seen: list[Any] = []

    def short(messages: Any, **given: Any) -> str:
        seen.append((messages, given.get("tools")))
        return "told"  # the reference model has 256 positions

    monkeypatch.setattr(chat.tokenizer, "apply_chat_template", short)
    g = constrain.generate(chat, ASK, tools=[double], tool_choice="required", seed=1, max_tokens=160, complete=True)
    assert {call.name for call in g.tool_calls} == {"double"} and "<tool_call>" in g.text
    placed = {"role": "user", "content": f"{WORDS}\n\n2?"}  # the stand-in writes no system message
    assert seen[-1] == ([placed], None)
