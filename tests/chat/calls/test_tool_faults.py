"""`constrain.tools` refuses faults with their place; the formats that chat templates name; tools of every kind."""

from __future__ import annotations

import pickle
import re
from datetime import date
from typing import Any
from uuid import UUID

import pydantic
import pytest

import constrain
from constrain.chat.calls import FORMATS, format_of, functions_of
from constrain.errors import ConstrainError, SchemaError, UnsatisfiableError, VocabularyError


def weather(city: str, days: int = 1) -> str:
    """Tell the weather.

    Longer words.
    """
    return f"{city} {days}"


class Search(pydantic.BaseModel):
    """Look something up."""

    query: str
    limit: int = pydantic.Field(default=3, ge=1, le=9)


PLAIN = {"name": "plain", "description": "a", "parameters": {"type": "object", "properties": {"x": {"type": "null"}}}}
OPENAI = {"type": "function", "function": {**PLAIN, "name": "openai"}}
MCP = {"name": "mcp", "inputSchema": {"type": "object", "properties": {"x": {"type": "boolean"}}, "required": ["x"]}}
EMPTY = {"name": "empty"}

STRICT = {"type": "function", "function": {"name": "strict", "strict": True, "parameters": {"type": "object"}}}


def of(*given: Any, **properties: Any) -> list[Any]:
    """A tool beside another one, and one with these properties."""
    return [
        weather,
        {"name": "other", "parameters": {"type": "object", "properties": properties, "required": [*given]}},
    ]


FAULTS: list[tuple[Any, dict[str, Any], type[ConstrainError], str, str]] = [
    ([STRICT], {"format": "qwen3"}, SchemaError, "additionalProperties is not false", "change each of them"),
    ([weather, STRICT], {"format": "qwen3"}, SchemaError, "tools[1].parameters", "change each of them"),
    ([{**PLAIN, "strict": 1}], {"format": "qwen3"}, ConstrainError, "strict is true or false", "leave it out"),
    ([weather], {"format": "qwen"}, ConstrainError, "there is no format 'qwen'", "did you mean 'qwen3'"),
    ([weather], {"format": "zzz"}, ConstrainError, "there is no format 'zzz'", "use one of cohere"),
    ([weather], {"format": "auto"}, ConstrainError, "there is no tokenizer", "pass tokenizer="),
    ([weather], {"format": "auto", "tokenizer": "{{ tools }}"}, ConstrainError, "fits no format", "name the format"),
    ([{"name": "a b"}], {"format": "qwen3"}, ConstrainError, "cannot spell the name 'a b'", "tools[0].name"),
    ([weather, {"name": 'x"y'}], {"format": "qwen3"}, ConstrainError, "cannot spell", "tools[1].name"),
    ([weather], {"choice": "clock"}, ConstrainError, "there is no tool 'clock' to choose", "the tools are weather"),
    ([weather, weather], {}, ConstrainError, "two tools have the name 'weather'", "tools[0] and tools[1]"),
    ([], {}, ConstrainError, "there is no tool", "pass a function"),
    (weather, {}, ConstrainError, "tools are a list, not function", "put it into a list"),
    ({"name": "f"}, {}, ConstrainError, "tools are a list, not dict", "put it into a list"),
    ([7], {}, ConstrainError, "7 is no tool", "tools[0]"),
    ([{"type": "web_search"}], {}, ConstrainError, "a tool of the type 'web_search'", "tools[0]"),
    ([{"function": {}}], {}, ConstrainError, "a tool has no name", "tools[0].name"),
    ([{"name": "f", "parameters": {"type": "array"}}], {}, SchemaError, "are 'array', not an object", ".parameters"),
    ([{"name": "f", "inputSchema": 3}], {}, SchemaError, "the arguments of 'f' are 3", "tools[0].inputSchema"),
    ([weather], {"thinking": "maybe"}, ConstrainError, "thinking is 'optional'", "not 'maybe'"),
    ([weather], {"format": "llama3", "thinking": "required"}, ConstrainError, "'llama3' has no thoughts", "thinking"),
    ([weather], {"format": "llama3", "thinking_tokens": 3}, ConstrainError, "'llama3' has no thoughts", "thinking"),
    ([weather], {"thinking": "none", "thinking_tokens": 3}, ConstrainError, "has no budget", "leave it out"),
    ([weather], {"thinking_tokens": -3}, ConstrainError, "max_tokens is a number of tokens, not -3", "None"),
    ([weather], {"format": "harmony", "thinking_tokens": 3}, ConstrainError, "begin with several tokens", "open"),
    (of(b={"type": "strin"}), {}, SchemaError, "type 'strin' does not exist", "the tool 'other', $.properties.b"),
    (of(b={"pattern": "("}), {"format": "qwen3-coder"}, SchemaError, "not closed", "the tool 'other', $.properties.b"),
    (of("b", b=False), {}, UnsatisfiableError, "no value can match", "the tool 'other', $"),
    (of(**{"a-b": {}}), {"format": "pythonic"}, SchemaError, "cannot be 'a-b' in this style", "the tool 'other', $"),
    (
        [{"name": "f", "parameters": {"type": "object", "anyOf": [{"minProperties": 3}]}}],
        {"format": "qwen3-coder"},
        SchemaError,
        "minProperties asks for 3 names, but undeclared ones may be one name twice",
        "$.minProperties",
    ),
]


@pytest.mark.parametrize(("given", "options", "kind", "message", "more"), FAULTS)
def test_bad_input(given: Any, options: dict[str, Any], kind: type[Exception], message: str, more: str) -> None:
    with pytest.raises(kind, match=re.escape(message)) as caught:
        constrain.tools(given, **{"format": "qwen3", **options})
    assert more in str(caught.value)


def test_a_vocabulary_without_the_tokens_of_a_format() -> None:
    turn = constrain.tools([weather], format="kimi-k2")
    with pytest.raises(VocabularyError, match=r"the vocabulary has no token '<\|tool_call"):
        constrain.compile(turn, constrain.Vocabulary.of_bytes("<|other|>"))


def test_a_vocabulary_says_which_marks_are_tokens() -> None:
    text = '<|tool_call|>[{"name": "weather", "arguments": {"city": "Bern"}}]'
    bare = constrain.Vocabulary.of_bytes()
    turn = constrain.tools([weather], format="granite3", tokenizer=bare)
    assert constrain.compile(turn, bare).matcher().advance_bytes(text.encode())
    marked = constrain.Vocabulary.of_bytes("<|tool_call|>", "<tool_call>")
    turn = constrain.tools([weather], format="granite3", tokenizer=marked)
    assert not constrain.compile(turn, marked).matcher().advance_bytes(text.encode())
    tokens = [257, *text.removeprefix("<|tool_call|>").encode()]
    assert constrain.compile(turn, marked).matcher().advance_tokens(tokens) == len(tokens)
    assert turn.read_tokens(tokens, marked).tool_calls[0].arguments == {"city": "Bern", "days": 1}


def test_models_are_not_told_what_only_masks_read() -> None:
    """A template renders pydantic's schema; `x-python` is for the mask, but as the name of a property."""
    given: Any = {"day": (date, ...), "x-python": (dict[str, UUID], ...)}
    [function] = functions_of([pydantic.create_model("Booking", **given)])
    assert "x-python" in function.parameters["properties"]["day"]
    shown = function.json["function"]["parameters"]
    assert shown["properties"] == {
        "day": {"type": "string", "format": "date", "title": "Day"},
        "x-python": {
            "type": "object",
            "additionalProperties": {"type": "string", "format": "uuid"},
            "title": "X-Python",
        },
    }


def test_tools_of_every_kind() -> None:
    found = functions_of([weather, Search, PLAIN, OPENAI, MCP, EMPTY])
    assert [f.name for f in found] == ["weather", "Search", "plain", "openai", "mcp", "empty"]
    assert [f.description for f in found[:3]] == ["Tell the weather.", "Look something up.", "a"]
    assert found[0].target is weather
    assert found[1].validated({"query": "x"}) == Search(query="x", limit=3)
    assert found[4].validated({"x": True}) == {"x": True}
    assert found[0].json["function"]["name"] == "weather"
    assert functions_of([found[0]]) == (found[0],)
    turn = constrain.tools(found, format="qwen3")
    reads = {
        '{"name": "weather", "arguments": {"city": "Bern"}}': {"city": "Bern", "days": 1},
        '{"name": "Search", "arguments": {"query": "x", "limit": 9}}': Search(query="x", limit=9),
        '{"name": "plain", "arguments": {"x": null}}': {"x": None},
        '{"name": "openai", "arguments": {}}': {},
        '{"name": "mcp", "arguments": {"x": false}}': {"x": False},
        '{"name": "empty", "arguments": {}}': {},
        '{"name": "Search", "arguments": {"query": "x", "limit": 10}}': None,
        '{"name": "empty", "arguments": {"x": 1}}': None,
        '{"name": "mcp", "arguments": {}}': None,
        '{"name": "other", "arguments": {}}': None,
    }
    compiled = constrain.compile(turn, constrain.Vocabulary.of_bytes())
    for call, arguments in reads.items():
        text = f"<tool_call>\n{call}\n</tool_call>"
        matcher = compiled.matcher()
        member = matcher.advance_bytes(text.encode()) and matcher.is_accepting()
        assert member == (arguments is not None), text
        if member:
            assert [one.arguments for one in turn.read(text).tool_calls] == [arguments]


def test_arguments_as_elements_are_read_by_the_whole_schema() -> None:
    """A string that looks like a number stays one where `allOf` or a pattern of names says so."""
    schema = {
        "allOf": [{"properties": {"s": {"type": "string"}}, "required": ["s"]}, {"properties": {"n": {"minimum": 1}}}],
        "patternProperties": {"^t_": {"type": "string"}},
    }
    turn = constrain.tools([{"name": "f", "parameters": schema | {"type": "object"}}], format="qwen3-coder")
    each = "<parameter={}>\n{}\n</parameter>\n"
    written = "".join(each.format(*one) for one in [("s", "1"), ("n", "1"), ("t_a", "1")])
    text = f"<tool_call>\n<function=f>\n{written}</function>\n</tool_call>"
    compiled = constrain.compile(turn, constrain.Vocabulary.of_bytes())
    matcher = compiled.matcher()
    assert matcher.advance_bytes(text.encode()) and matcher.is_accepting()
    assert turn.read(text).tool_calls[0].arguments == {"s": "1", "n": 1, "t_a": "1"}
    for changed in (text.replace("=s>", "=q>"), text.replace("t_a", "u_a")):  # `s` is required, `u_a` not declared
        assert not compiled.matcher().advance_bytes(changed.encode())
    assert pickle.loads(pickle.dumps(turn)) == turn


def test_turns_are_pickled() -> None:
    turn = constrain.tools([weather, Search, MCP], format="qwen3", thinking_tokens=3)
    compiled = constrain.compile(turn, constrain.Vocabulary.of_bytes())
    text = '<tool_call>\n{"name": "Search", "arguments": {"query": "x"}}\n</tool_call>'
    again = pickle.loads(pickle.dumps(compiled))
    assert again.matcher().advance_bytes(text.encode())
    assert again.constraint.read(text) == turn.read(text)
    assert again.constraint == turn and repr(again.constraint) == "tools([weather, Search, mcp], format='qwen3')"


def test_choices() -> None:
    call = '<tool_call>\n{"name": "weather", "arguments": {"city": "a"}}\n</tool_call>'
    other = '<tool_call>\n{"name": "empty", "arguments": {}}\n</tool_call>'
    texts = ["", "some text", call, f"text\n{call}", f"{call}\n{other}", f"<think>\nx\n</think>\n\n{other}", other]
    members = {
        ("auto", True): {0, 1, 2, 3, 4, 5, 6},
        ("auto", False): {0, 1, 2, 3, 5, 6},
        ("required", True): {2, 4, 5, 6},
        ("required", False): {2, 5, 6},
        ("none", True): {0, 1},
        ("weather", True): {2},
        ("empty", True): {5, 6},
    }
    for (choice, parallel), expected in members.items():
        turn = constrain.tools([weather, EMPTY], format="qwen3", choice=choice, parallel=parallel)
        compiled = constrain.compile(turn, constrain.Vocabulary.of_bytes())
        matchers = [compiled.matcher() for _ in texts]
        read = [m.advance_bytes(t.encode()) and m.is_accepting() for m, t in zip(matchers, texts, strict=True)]
        assert {i for i, member in enumerate(read) if member} == expected, choice


def test_thoughts() -> None:
    call = '<tool_call>\n{"name": "empty", "arguments": {}}\n</tool_call>'
    texts = [call, f"<think>ab</think>{call}", f"ab</think>\n\n{call}", f"<think>abcd</think>{call}"]
    members: dict[tuple[str, int | None], set[int]] = {
        ("optional", None): {0, 1, 3}, ("optional", 2): {0, 1}, ("required", None): {1, 3}, ("none", None): {0},
        ("open", None): {1, 2, 3}, ("open", 2): {2},
    }  # fmt: skip
    for (thinking, most), expected in members.items():
        turn = constrain.tools([EMPTY], format="qwen3", choice="required", thinking=thinking, thinking_tokens=most)
        compiled = constrain.compile(turn, constrain.Vocabulary.of_bytes())
        read = set()
        for i, text in enumerate(texts):
            matcher = compiled.matcher()
            if matcher.advance_tokens(text.encode()) == len(text) and matcher.is_accepting():
                read.add(i)
                message = turn.read(text)
                assert message.fault is None and len(message.tool_calls) == 1
        assert read == expected, thinking
    message = constrain.tools([EMPTY], format="qwen3", thinking="open").read(texts[2])
    assert (message.thinking, message.content, len(message.tool_calls)) == ("ab", "", 1)


def test_repeated_items_are_vetoed_token_by_token() -> None:
    tags = {"type": "object", "properties": {"t": {"type": "array", "uniqueItems": True}}, "required": ["t"]}
    turn = constrain.tools([{"name": "f", "parameters": tags}], format="qwen3")
    compiled = constrain.compile(turn, constrain.Vocabulary.of_bytes())
    for before in ("", "text ", "<think>a <tool_call> of [1,1]</think>"):
        matcher = compiled.matcher()
        assert matcher.advance_bytes(f'{before}<tool_call>\n{{"name": "f", "arguments": {{"t": [1, 2, '.encode())
        assert matcher.advance_bytes(b"3, ") and not matcher.advance_bytes(b"3, ")


MARKS = [(name, "".join(form.template)) for name, form in FORMATS.items()]


@pytest.mark.parametrize(("name", "template"), MARKS)
def test_a_chat_template_names_its_format(name: str, template: str) -> None:
    assert format_of("auto", template).name == name
    assert all(format_of(alias).name == name for alias in FORMATS[name].aliases)


def test_the_template_of_gpt_oss_has_no_token_for_constraints() -> None:
    template = "{{ '<|start|>assistant to=functions.' + name + '<|channel|>commentary json<|message|>' }}"
    assert format_of("auto", template).name == "harmony"


@pytest.mark.parametrize("form", FORMATS.values(), ids=list(FORMATS))
def test_marks_begin_calls_and_do_not_overlap_themselves(form: Any) -> None:
    assert (form.begin or form.call).startswith(form.trigger)
    assert not any(form.trigger.endswith(form.trigger[:n]) for n in range(1, len(form.trigger)))
    assert form.call.count("$name") == form.call.count("$arguments") == 1


@pytest.mark.parametrize("kinds", [["object"], ["object", "null"], ["array", "object"]])
def test_arguments_of_several_types_are_objects(kinds: list[str]) -> None:
    tool = {"name": "f", "parameters": {"type": kinds, "properties": {"a": {"type": "integer"}}}}
    turn = constrain.tools([tool], format="qwen3", choice="required", thinking="none")
    call = '<tool_call>\n{"name": "f", "arguments": %s}\n</tool_call>'
    assert turn.accepts(call % '{"a": 1}')
    assert not turn.accepts(call % "null") and not turn.accepts(call % "[]")
