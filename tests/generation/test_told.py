"""Prompts that tell the schema or the tools, where the template does not, and warnings of bad prompts."""

from __future__ import annotations

import copy
import json
import warnings
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

import constrain
from constrain import Prompt
from constrain.chat.calls import format_of
from constrain.generation.request.prompts import described_contents
from constrain.generation.request.request import Request
from constrain.generation.request.tool_words import TOOL_WORDS, with_tools

CHATML = "{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}{% endfor %}"
NO_SYSTEM = "{% for m in messages %}{% if m['role'] == 'system' %}{{ raise_exception('no') }}{% endif %}x{% endfor %}"
DROPS_SYSTEM = "{% for m in messages %}{% if m['role'] != 'system' %}{{ m['content'] }}{% endif %}{% endfor %}"
USER = {"role": "user", "content": "Ada is 36."}
ASSISTANT = {"role": "assistant", "content": "Hello"}
PARTS = {"role": "user", "content": [{"type": "text", "text": "Ada"}]}


class Person(BaseModel):
    name: str
    age: int


WORDS = constrain.describe(Person)


def contents(content: Any, tokenizer: Any, template: str, **given: Any) -> Any:
    """The content of a prompt that describes, as the template gets it."""
    chat = copy.deepcopy(tokenizer)
    chat.chat_template = template
    request = Request.of(Prompt(content, describe=True), given or {"type": Person})
    (told,) = described_contents(request.prompts, SimpleNamespace(tokenizer=chat))
    return told


def test_a_system_message_where_there_is_one(tokenizer: Any) -> None:
    system = {"role": "system", "content": "Be brief."}
    assert contents([USER], tokenizer, CHATML) == [{"role": "system", "content": WORDS}, USER]
    joined = {"role": "system", "content": f"Be brief.\n\n{WORDS}"}
    assert contents([system, USER], tokenizer, CHATML) == [joined, USER]


@pytest.mark.parametrize("template", [NO_SYSTEM, DROPS_SYSTEM])
def test_the_first_message_of_the_user_elsewhere(tokenizer: Any, template: str) -> None:
    first = {"role": "user", "content": f"{WORDS}\n\nAda is 36."}
    assert contents([ASSISTANT, USER, USER], tokenizer, template) == [ASSISTANT, first, USER]
    assert contents([ASSISTANT], tokenizer, template) == [{"role": "user", "content": WORDS}, ASSISTANT]
    (told,) = contents([PARTS], tokenizer, template)
    assert told["content"] == [{"type": "text", "text": WORDS}, *PARTS["content"]]


def test_before_a_text(tokenizer: Any) -> None:
    for given in (
        {"type": Person},
        {"schema": Person.model_json_schema()},
        {"constraint": constrain.json_schema(Person)},
        {"response_format": {"type": "json_schema", "json_schema": {"schema": Person.model_json_schema()}}},
        {"type": Person, "stop": "\n\n"},
    ):
        assert contents("Ada is 36.\n", tokenizer, CHATML, **given) == f"{WORDS}\n\nAda is 36.\n"


def test_prompts_of_a_list_have_their_own(tokenizer: Any) -> None:
    prompts = [Prompt("a", describe=True), Prompt("b"), Prompt("c", describe=True)]
    request = Request.of(prompts, {"type": [Person, int, int]})
    told = described_contents(request.prompts, SimpleNamespace(tokenizer=tokenizer))
    assert told == [f"{WORDS}\n\na", "b", f"{constrain.describe(int)}\n\nc"]


def test_the_model_reads_it(tokenizer: Any, model: Any) -> None:
    given = {"tokenizer": tokenizer, "type": Person, "max_tokens": 8, "complete": False, "seed": 1}
    told = constrain.generate(model, Prompt("x", describe=True), **given)
    assert told.tokens == constrain.generate(model, Prompt(f"{WORDS}\n\nx"), **given).tokens


@pytest.mark.parametrize(
    "prompt, given, match",
    [
        (Prompt([1, 2], describe=True), {"type": int}, "not of token ids"),
        (Prompt({"input_ids": [[1]]}, describe=True), {"type": int}, "not of token ids"),
        (Prompt("x", describe=True), {}, "describe needs a schema"),
        (Prompt("x", describe=True), {"regex": "a"}, "describe needs a schema"),
        (Prompt("x", describe=True), {"tools": [len]}, "describe needs a schema"),
        (Prompt("x", describe=1), {"type": int}, "describe must be True or False"),
    ],
)
def test_faults(prompt: Prompt, given: dict[str, Any], match: str) -> None:
    with pytest.raises(constrain.ConstrainError, match=match):
        Request.of(prompt, given)


def warned(model: Any, tokenizer: Any, prompt: Any, **given: Any) -> list[str]:
    """The first words of what is warned of, which names this file."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        constrain.generate(model, prompt, tokenizer=tokenizer, **{"max_tokens": 3, "seed": 1, **given})
    own = [each for each in seen if str(each.message).startswith("the prompt ")]
    assert all(each.filename == __file__ for each in own)
    return [str(each.message).split(",")[0] for each in own]


BLANK = "the prompt ends with a blank"
NO_TEMPLATE = "the prompt is a text"


def test_a_blank_before_a_value(tokenizer: Any, model: Any) -> None:
    """A warning where the vocabulary joins it with a first character of JSON, as that of the reference model does."""
    ref = constrain.reference.load()
    assert warned(ref.model, ref.tokenizer, "red: ", schema={}) == []  # it was trained on such prompts
    ref = SimpleNamespace(model=ref.model, tokenizer=copy.deepcopy(ref.tokenizer))
    ref.tokenizer.name_or_path = "another"
    given = {"schema": {"type": ["boolean", "array"]}}
    assert warned(ref.model, ref.tokenizer, Prompt("red: "), **given) == [BLANK]
    for silent in (Prompt("red:"), Prompt("red:\n"), Prompt("red: ", healing=True), Prompt("red: ", prefix="[")):
        assert warned(ref.model, ref.tokenizer, silent, **given) == []
    assert warned(ref.model, ref.tokenizer, Prompt("red: "), regex="[a-z]+") == []
    assert warned(model, tokenizer, "red: ", **given) == []


def test_a_chat_template_that_is_not_used(tokenizer: Any, model: Any) -> None:
    """Once for each tokenizer; not for conversations, a `Prompt`, or models that are called a base."""
    chat = copy.deepcopy(tokenizer)
    chat.chat_template = CHATML
    special = tokenizer.all_special_tokens[0]
    for silent in (Prompt("red"), f"red{special}the", [USER], tokenizer("red")["input_ids"]):
        assert warned(model, chat, silent, regex="[a-z]+") == []
    assert warned(model, chat, "red", regex="[a-z]+") == [NO_TEMPLATE]
    assert warned(model, chat, "red", regex="[a-z]+") == []
    for name in ("some/Model-0.6B-Base", "gemma-2b-pt"):
        base = copy.deepcopy(chat)
        base.name_or_path = name
        assert warned(model, base, "red", regex="[a-z]+") == []
    assert warned(model, tokenizer, "red", regex="[a-z]+") == []


BARE = "{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}{% endfor %}"
ASK = [{"role": "user", "content": "2?"}]


def double(number: bool) -> str:
    """Answer."""
    return f"not {number}"


TURN = constrain.tools([double], format="hermes", choice="required", parallel=False)
TOLD_TOOLS = TOOL_WORDS.format(tools=json.dumps(TURN.schemas[0], ensure_ascii=False))


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
        {"role": "system", "content": TOLD_TOOLS},
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
    placed = {"role": "user", "content": f"{TOLD_TOOLS}\n\n2?"}  # the stand-in writes no system message
    assert seen[-1] == ([placed], None)
