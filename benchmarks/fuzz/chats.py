"""Chats as people write them by mistake: messages of any shape, results of tools that JSON cannot hold.

Oracle: messages become token ids or a ConstrainError; a result is told to the model as a text that UTF-8 can write,
and every call is answered, whatever a tool returns or raises.
"""

from __future__ import annotations

import contextlib
import copy
from types import SimpleNamespace
from typing import Any

from hypothesis import strategies as st

import constrain
from constrain.generation import chat
from constrain.generation.request.prompts import parse_prompts, token_ids
from fuzz import Target
from fuzz.inputs import spoil

CALLS = [{"id": "call_1", "type": "function", "function": {"name": "ask", "arguments": {"a": 1}}}]
CHAT: list[Any] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "One?"}, {"type": "text", "text": "Two?"}]},
    {"role": "assistant", "content": "", "tool_calls": CALLS},
    {"role": "tool", "tool_call_id": "call_1", "name": "ask", "content": "3"},
    {"role": "user", "content": "Well?"},
]


class Joining:
    """A tokenizer whose template joins texts, as most do: what is no text is an error of it."""

    chat_template = "{{ messages[0]['role'] + messages[0]['content'] }}"

    def apply_chat_template(self, messages: Any, **_: Any) -> str:
        return "".join("<" + message["role"] + ">" + message["content"] for message in messages)

    def __call__(self, text: str, add_special_tokens: bool = True) -> dict[str, list[int]]:
        return {"input_ids": list(text.encode())}


HANDLE: Any = SimpleNamespace(tokenizer=Joining(), width=256, context=None)


def check_messages(case: Any) -> None:
    """Messages with other values at some places."""
    messages: Any = copy.deepcopy(CHAT)
    spoil(messages, case)
    for asked in (
        lambda: token_ids(parse_prompts(messages), HANDLE),
        lambda: chat._messages(constrain.Prompt(messages)),
    ):
        with contextlib.suppress(constrain.ConstrainError):
            asked()


def _raising() -> Any:
    raise KeyError("\udcff")


class Silent:
    """Has neither text nor fields."""

    def __str__(self) -> str:
        raise RuntimeError("\ud800")


LEAVES: list[Any] = [
    None, True, 1, 10**5000, 1e999, float("nan"), "", "é", "\ud800", b"\xff", 1j, {1, 2}, object, Silent(),
]  # fmt: skip


def _made(case: list[int]) -> Any:
    """A value of some leaves in containers; some are around themselves, some are nested deeply."""
    made: Any = LEAVES[case[0] % len(LEAVES)]
    for kind in case[1:]:
        if kind % 7 == 6:
            for _ in range(50_000):
                made = [made]
        else:
            made = [[made], {"a": made}, {1: made}, {(1, 2): made}, {"\ud800": made}, (made, made)][kind % 7]
        if kind % 11 == 10 and isinstance(made, list):
            made.append(made)
    return made


def check_result(case: Any) -> None:
    """A tool returns or raises something odd."""

    def ask(a: int) -> Any:
        """Ask."""
        return _raising() if case[0] % 20 == 19 else _made(case)

    turn = constrain.tools([ask], format="qwen3", thinking="none")
    text = '<tool_call>\n{"name": "ask", "arguments": {"a": 1}}\n</tool_call>'
    message = turn.read(text, lambda number: f"call_{number}")
    before, chat.generate = chat.generate, lambda *_, **__: SimpleNamespace(**vars(message), finish_reason="length")
    try:
        talk = constrain.converse(SimpleNamespace(), CHAT, turn, rounds=1, on_error="tell")
    finally:
        chat.generate = before
    told = talk.messages[-1]
    assert told["role"] == "tool" and told["content"].encode() is not None and talk.finish_reason == "length"


MESSAGES = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)).map(list), min_size=1, max_size=3)
TARGETS = [
    Target("messages", MESSAGES, check_messages, 400),
    Target("results", st.lists(st.integers(0, 200), min_size=1, max_size=5), check_result, 200),
]
