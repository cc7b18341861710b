"""Turns of random tools in every format: members, viable at each place, read back; changed ones are refused.

Texts of models, read whole and character by character (tests/data/tool_texts.toml); tools without listed arguments.
"""

import copy
import itertools
import json
import random
import re
from typing import Any

import pytest

import constrain
from constrain.chat.calls import FORMATS, ArgumentsText, Content, Reader, Thought, functions_of
from tables import table
from tests.chat.calls.naive_writers import CONTENT_OR_CALLS, IDENTIFIERS, IDS, NO_THOUGHTS, ONE_CALL, WRITERS, write
from tests.chat.calls.random_tools import tools, value

ROUNDS = 200
QUICK = 25
CONTENTS = ["", "Let me see.", "Grüße: 3 < 4, [1], {x}", "two\n\nlines"]
THOUGHTS = [None, "", "The user wants\nthe weather.", 'maybe {"name": "f"}?']


def test_every_format_has_a_writer() -> None:
    assert set(WRITERS) == set(FORMATS)


def vocabulary_of(name: str) -> constrain.Vocabulary:
    return constrain.Vocabulary.of_bytes(*FORMATS[name].tokens)


def ids_of(name: str, text: str) -> list[int]:
    """The token ids of a text in which special tokens stand by their names."""
    vocabulary, tokens = vocabulary_of(name), FORMATS[name].tokens
    pieces = re.split(f"({'|'.join(map(re.escape, tokens))})", text) if tokens else [text]
    return [i for piece in pieces for i in ([vocabulary.names[piece]] if piece in tokens else piece.encode())]


class Turn:
    """A random turn of random tools."""

    def __init__(self, name: str, source: random.Random) -> None:
        self.name = name
        self.tools = tools(source)
        for tool in self.tools if name in IDENTIFIERS else []:
            tool["function"]["name"] = re.sub("[^a-z0-9]", "_", tool["function"]["name"])
        count = source.randint(0, 1 if name in ONE_CALL else 3)
        self.content = "" if count and name in CONTENT_OR_CALLS else source.choice(CONTENTS)
        self.thinking = None if name in NO_THOUGHTS else source.choice(THOUGHTS)
        self.calls = [self.call(source, i) for i in range(count)]

    def call(self, source: random.Random, index: int) -> dict[str, Any]:
        tool = source.choice(self.tools)["function"]
        number = IDS.get(self.name, "").format(name=tool["name"], index=index)
        return {"name": tool["name"], "arguments": value(source, tool["parameters"]), "id": number}

    @property
    def text(self) -> str:
        return write(self.name, self.content, self.thinking, self.calls)


@pytest.mark.parametrize("rounds", [QUICK, pytest.param(ROUNDS, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", WRITERS)
def test_texts_of_the_template_are_members_and_read_back(name: str, rounds: int) -> None:
    source = random.Random(f"{name} {rounds}")
    for _ in range(rounds):
        turn = Turn(name, source)
        constraint = constrain.tools(turn.tools, format=name)
        matcher = constrain.compile(constraint, vocabulary_of(name)).matcher()
        tokens = ids_of(name, turn.text)
        assert matcher.advance_tokens(tokens) == len(tokens), (turn.text, bytes(matcher.text))
        assert matcher.is_accepting(), turn.text
        for message in (constraint.read(turn.text), constraint.read_tokens([*tokens, 256], vocabulary_of(name))):
            assert message.fault is None, (message.fault, turn.text)
            calls = [{"name": c.name, "arguments": c.arguments, "id": c.id} for c in message.tool_calls]
            assert calls == turn.calls, turn.text
            assert (message.content, message.thinking) == (turn.content, turn.thinking), turn.text


@pytest.mark.parametrize("name", WRITERS)
def test_texts_in_pieces_are_read_alike(name: str) -> None:
    source = random.Random(name)
    for _ in range(QUICK // 4):
        turn = Turn(name, source)
        functions = functions_of(turn.tools)
        reader = Reader(FORMATS[name], functions)
        reader.feed(turn.text)
        whole, reader = reader.close(), Reader(FORMATS[name], functions)
        events: list[Any] = []
        at = 0
        while at < len(turn.text):
            size = source.choice([1, 1, 2, 5, 30])
            events += reader.feed(turn.text[at : at + size])
            at += size
        assert reader.close() == whole
        ended = [event.call for event in events if hasattr(event, "call")]
        assert ended == whole.tool_calls[: len(ended)] and len(whole.tool_calls) - len(ended) <= 1


def changed(turn: Turn, source: random.Random) -> list[str]:
    """Texts of the template that no tool allows: a call of no tool, arguments that are not valid."""
    texts = []
    for change in ("name", "missing", "extra", "type"):
        other = copy.copy(turn)
        other.calls = copy.deepcopy(turn.calls)
        call = source.choice(other.calls)
        form = next(t["function"]["parameters"] for t in turn.tools if t["function"]["name"] == call["name"])
        if change == "name":
            call["name"] += "x"
            call["id"] = call["id"].replace(call["name"][:-1], call["name"])
        elif change == "missing" and form["required"]:
            del call["arguments"][form["required"][0]]
        elif change == "extra":
            call["arguments"]["undeclared"] = 1
        elif change == "type":
            kinds = [name for name, one in form["properties"].items() if one["type"] not in ("string", "array")]
            if not kinds:
                continue
            call["arguments"][kinds[0]] = ["no"]
        else:
            continue
        texts.append(other.text)
    return texts


@pytest.mark.parametrize("name", WRITERS)
def test_changed_texts_are_refused(name: str) -> None:
    source = random.Random(name + "changed")
    refused = 0
    for _ in range(QUICK):
        turn = Turn(name, source)
        if not turn.calls:
            continue
        constraint = constrain.tools(turn.tools, format=name)
        compiled = constrain.compile(constraint, vocabulary_of(name))
        for text in changed(turn, source):
            matcher = compiled.matcher()
            tokens = ids_of(name, text)
            assert matcher.advance_tokens(tokens) < len(tokens) or not matcher.is_accepting(), text
            refused += 1
    assert refused > 15


@pytest.mark.parametrize("name", WRITERS)
def test_a_text_that_is_cut_off_is_no_member_unless_it_is_read_without_a_fault(name: str) -> None:
    source = random.Random(name + "cut")
    for _ in range(3):
        turn = Turn(name, source)
        constraint = constrain.tools(turn.tools, format=name)
        matcher = constrain.compile(constraint, vocabulary_of(name)).matcher()
        for i, token in enumerate(tokens := ids_of(name, turn.text)):
            if matcher.is_accepting():
                message = constraint.read_tokens(tokens[:i], vocabulary_of(name))
                assert message.fault is None, (tokens[:i], message)
                assert len(message.tool_calls) <= len(turn.calls)
            assert matcher.advance(token)


UNIQUE = {"type": "object", "properties": {"t": {"type": "array", "uniqueItems": True}}, "required": ["t"]}
NESTED = {"minimax-m3", "gemma4", "pythonic"}
GUARDED = {name for name in WRITERS if FORMATS[name].parameters is None} - {"kimi-k2", "mistral-v11"}
TWO_TOOLS = [{"name": "f", "parameters": UNIQUE}, {"name": "g", "parameters": {**UNIQUE, "additionalProperties": True}}]


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("thinking", [None, "of [1, 1]"])
def test_repeated_items_and_keys_are_vetoed_where_they_repeat(name: str, thinking: str | None) -> None:
    """Outside of `GUARDED` the finished turn is checked."""
    if name in NO_THOUGHTS and thinking is not None:
        pytest.skip("the format has no thoughts")
    turn = constrain.tools(TWO_TOOLS, format=name)
    compiled = constrain.compile(turn, vocabulary_of(name))
    calls = [
        {"name": tool, "arguments": {"t": [1, "</tool_call>", 12]}, "id": IDS.get(name, "").format(name=tool, index=i)}
        for i, tool in enumerate("gf" if name not in ONE_CALL else "f")
    ]
    text = write(name, "" if name in CONTENT_OR_CALLS else "so", thinking, calls)
    tokens = ids_of(name, text)
    matcher = compiled.matcher()
    assert matcher.advance_tokens(tokens) == len(tokens) and matcher.is_accepting()
    before, _, after = text.rpartition("12")
    cases = [(f"{before}1", after)]
    if name not in ONE_CALL and name not in NESTED:
        before, _, after = text.partition("12]")
        cases.append((f'{before}12], "x": 1, "x', f'": 2{after}'))
    for before, after in cases:
        matcher, tokens = compiled.matcher(), ids_of(name, before + after)
        count = matcher.advance_tokens(tokens)
        assert not (count == len(tokens) and matcher.is_accepting())
        if name in GUARDED:
            assert count == len(ids_of(name, before)), (before, bytes(matcher.text))
            assert not matcher.allows(tokens[count])


@pytest.mark.parametrize("name", WRITERS)
def test_reports_say_what_is_checked_later(name: str) -> None:
    report = constrain.tools(TWO_TOOLS, format=name).report
    found = {line.pointer: line.status for line in report if line.keyword == "uniqueItems"}
    status = "enforced" if name in GUARDED else "residual"
    assert found == {f"the tool {tool!r}, $.properties.t": status for tool in "fg"}


PATTERN = {"type": "string", "format": "regex"}
CONSTANTS = {"type": "array", "items": {"enum": [f"c{i}" for i in range(25)]}, "uniqueItems": True, "minItems": 1}
LATER: dict[str, tuple[dict[str, Any], Any, Any]] = {  # what only a finished value tells, one that has it, one that not
    "argument": ({"properties": {"p": PATTERN}}, {"p": "a+"}, {"p": "a**"}),
    "item": ({"properties": {"p": {"type": "array", "items": PATTERN}}}, {"p": ["a+"]}, {"p": ["a**"]}),
    "name": ({"propertyNames": PATTERN, "additionalProperties": {"type": "integer"}}, {"a+": 1}, {"a**": 1}),
    "constants": ({"properties": {"p": CONSTANTS}}, {"p": ["c1", "c2"]}, {"p": ["c1", "c1"]}),
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("place", LATER)
def test_what_only_a_finished_value_tells(name: str, place: str) -> None:
    if place == "name" and name in ("minimax-m3", "pythonic"):
        pytest.skip("the format has no undeclared properties, or names that are identifiers")
    schema, good, bad = LATER[place]
    turn = constrain.tools([{"name": "f", "parameters": {"type": "object", **schema}}], format=name)
    lines = {line.keyword: line.status for line in turn.report if line.pointer.startswith("the tool 'f', $.prop")}
    assert "residual" in lines.values() or (place, lines["uniqueItems"]) == ("constants", "enforced")
    compiled = constrain.compile(turn, vocabulary_of(name))
    for arguments in (good, bad):
        call = {"name": "f", "arguments": arguments, "id": IDS.get(name, "").format(name="f", index=0)}
        tokens = ids_of(name, write(name, "", None, [call]))
        matcher = compiled.matcher()
        taken = matcher.advance_tokens(tokens) == len(tokens) and matcher.is_accepting()
        assert taken == (arguments == good), (arguments, bytes(matcher.text))


@pytest.mark.parametrize(("name", "argument"), [("gemma4", "a:b"), ("pythonic", "a-b")])
def test_names_that_a_format_cannot_write_are_refused(name: str, argument: str) -> None:
    inner = {"type": "object", "properties": {"a b": {"type": "string"}}}
    tool = {"name": "f", "parameters": {"type": "object", "properties": {argument: {}}}}
    with pytest.raises(constrain.SchemaError, match=f"'{argument}' in this style"):
        constrain.tools([tool], format=name)
    tool["parameters"] = {"type": "object", "properties": {"a": inner}}
    if name == "pythonic":  # names inside of values are strings
        turn = constrain.tools([tool], format=name)
        assert turn.read('[f(a={"a b": "x"})]').tool_calls[0].arguments == {"a": {"a b": "x"}}
        assert turn.accepts('[f(a={"a b": "x"})]')
    else:
        with pytest.raises(constrain.SchemaError, match="'a b' in this style"):
            constrain.tools([tool], format=name)


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


X: dict[str, Any] = {"x": {"type": "integer"}}
EMPTY: dict[str, Any] = {}
ONE, TWO = {"x": 1}, {"x": 1, "y": "a b"}
FREE: list[Any] = [EMPTY, ONE, TWO]
SHAPES: list[tuple[dict[str, Any] | None, list[Any], list[Any]]] = [  # the schema; what "avoid", what "allow" takes
    ({"type": "object"}, FREE, FREE),
    ({}, FREE, FREE),
    ({"description": "anything"}, FREE, FREE),
    (None, [EMPTY], FREE),
    ({"type": "object", "properties": {}}, [EMPTY], FREE),
    ({"type": "object", "properties": {}, "required": [], "x-more": 1}, [EMPTY], FREE),
    ({"type": "object", "properties": {}, "minProperties": 1}, [ONE, TWO], [ONE, TWO]),
    ({"type": "object", "additionalProperties": False}, [EMPTY], [EMPTY]),
    ({"type": "object", "additionalProperties": True}, FREE, FREE),
    ({"type": "object", "additionalProperties": {"type": "integer"}}, [EMPTY, ONE], [EMPTY, ONE]),
    ({"additionalProperties": {"type": "integer"}}, [EMPTY, ONE], [EMPTY, ONE]),
    ({"type": "object", "minProperties": 1}, [ONE, TWO], [ONE, TWO]),
    ({"minProperties": 1}, [ONE, TWO], [ONE, TWO]),
    ({"type": "object", "maxProperties": 1}, [EMPTY, ONE], [EMPTY, ONE]),
    ({"type": "object", "required": ["x"]}, [ONE, TWO], [ONE, TWO]),
    ({"required": ["x"]}, [ONE, TWO], [ONE, TWO]),
    ({"type": "object", "propertyNames": {"maxLength": 1}}, FREE, FREE),
    ({"type": "object", "dependentRequired": {"x": ["y"]}}, [EMPTY, TWO], [EMPTY, TWO]),
    ({"type": "object", "not": {"required": ["y"]}}, [EMPTY, ONE], [EMPTY, ONE]),
    ({"type": "object", "if": {"required": ["x"]}, "then": {"required": ["y"]}}, [EMPTY, TWO], [EMPTY, TWO]),
    ({"type": "object", "anyOf": [{"required": ["x"]}]}, [ONE, TWO], [ONE, TWO]),
    ({"type": "object", "properties": X}, [EMPTY, ONE], FREE),
    ({"properties": X, "required": ["x"]}, [ONE], [ONE, TWO]),
    ({"type": "object", "properties": X, "minProperties": 1}, [ONE], [ONE, TWO]),
    ({"type": "object", "properties": X, "minProperties": 2}, [TWO], [TWO]),
    ({"type": "object", "properties": X, "required": ["y"]}, [TWO], [TWO]),
    ({"type": "object", "patternProperties": {"^x$": {"type": "integer"}}}, [EMPTY, ONE], FREE),
]


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "minimax-m3"])  # it has no undeclared names
@pytest.mark.parametrize("undeclared", ["avoid", "allow"])
def test_what_a_tool_takes(name: str, undeclared: Any) -> None:
    for (schema, avoid, allow), arguments in itertools.product(SHAPES, FREE):
        tool = {"name": "m"} if schema is None else {"name": "m", "inputSchema": schema}
        turn = constrain.tools([tool], format=name, undeclared=undeclared)
        call = {"name": "m", "arguments": arguments, "id": IDS.get(name, "").format(name="m", index=0)}
        text = write(name, "" if name in CONTENT_OR_CALLS else "so", None, [call])
        tokens = ids_of(name, text)
        matcher = constrain.compile(turn, vocabulary_of(name)).matcher()
        taken = matcher.advance_tokens(tokens) == len(tokens) and matcher.is_accepting()
        assert taken == (arguments in (avoid if undeclared == "avoid" else allow)), (schema, text)
        if taken:
            assert [one.arguments for one in turn.read(text).tool_calls] == [arguments]


def test_arguments_that_a_format_cannot_write_are_told() -> None:
    turn = constrain.tools([{"name": "m", "inputSchema": {"type": "object"}}], format="minimax-m3")
    assert turn.accepts(write("minimax-m3", "so", None, [{"name": "m", "arguments": {}, "id": ""}]))
    with pytest.raises(constrain.UnsatisfiableError, match="'m' cannot be written in the format 'minimax-m3'"):
        constrain.tools([{"name": "m", "inputSchema": {"type": "object", "minProperties": 1}}], format="minimax-m3")
