"""Texts with monitored parts, written: no dead ends, methods and drafts, forks, and memory that runs out."""

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from rereading import check_rereading
from walks import dead_end, lexemes_of, vocabulary_of

import constrain
import vocabularies
from conftest import in_tiers
from constrain.errors import ConstrainError
from constrain.masks.engine.regions import RegionsGuard, places
from constrain.masks.engine.regions import guard as regions_guard
from constrain.monitors import c, jinja, monitored, python, sql

load = constrain.collection.load
QUERY = monitored(load("sql"), sql({"ab": ["abc", "id"], "t": ["ab"]}, ahead="known"))
SCRIPT = monitored(load("python"), python(ahead="known"))
PROGRAM = monitored(load("c"), c())
TEMPLATE = monitored(load("jinja"), jinja({"ab": {"abc": [1]}}))
IDS = constrain.json_schema({"type": "array", "items": {"enum": [1, 2, 11]}, "uniqueItems": True})
FENCES = [
    ("```sql\n", QUERY, "\n```"),
    ("```py\n", SCRIPT, "```"),
    ("```c\n", PROGRAM, "\n```"),
    ("<<", TEMPLATE, ">>"),
]
COMPOSED = {
    "fences": constrain.triggered(FENCES),
    "calls": constrain.after(
        "</t>", constrain.many(constrain.seq('{"q": ', constrain.json_string(QUERY), ', "i": ', IDS, "}"), low=1)
    ),
    "cells": constrain.alt(
        constrain.many(constrain.seq("In: ", SCRIPT, "\nOut: ", constrain.regex("[0-9]*\n")), low=1),
        constrain.seq("script: ", constrain.json_string(SCRIPT)),
    ),
}
TEXTS = {
    "fences": [
        b"See ```sql\nselect ab",
        b".abc from ab\n``",
        b"` or ```py\nab = 1\nab",
        b"\n``` <<{{ ab.",
        b"abc }}>>",
    ],
    "calls": [b'hm</t>{"q": "select \\"a', b'bc\\" from', b' ab\\n", "i": [1', b', 2]}{"q'],
    "cells": [b"In: ab = 1\nab", b"\nOut: 1\nIn: ab.", b"real\n"],
}


@cache
def lexical(name: str) -> Any:
    """A constraint with lexemes for tokens, and what stands around parts."""
    texts = [text.decode() for text in TEXTS[name]]
    around = [
        "```sql\n", "```py\n", "\n```", "```", "</t>", '{"q": "', '", "i": [', "In: ", "\nOut: ", "script: ", "<<",
        ">>",
    ]  # fmt: skip
    words = (
        "select from where and or not in def for if print import os int return void if endif for row in set case end"
    )
    return constrain.compile(COMPOSED[name], vocabulary_of([*lexemes_of(texts, words), *around, "\\n", '\\"', '"}']))


@pytest.mark.parametrize("name", COMPOSED)
@in_tiers(8, 50, 200)
def test_walks_reach_no_dead_end(name: str, seeds: range) -> None:
    closing = ["\n```", "```", "</t>", '"', '"}', "}", "]", ")", "\nOut: ", "\n", ">>", " from", " ab", "1", ":", ";"]
    found = [
        dead_end(lexical(name), seed, closing=closing, signs="()[]{},.=+-*;:<>\"'` \n1", steps=60) for seed in seeds
    ]
    assert [text for text in found if text is not None] == []


@pytest.mark.parametrize("name", COMPOSED)
def test_the_rarest_tokens_reach_no_dead_end(name: str) -> None:
    """Walks with the reference model's tokens that draw the ones merged last, and sometimes the next ones."""
    vocabulary = constrain.Vocabulary.from_huggingface(constrain.reference.load().tokenizer)
    compiled = constrain.compile(COMPOSED[name], vocabulary)
    row = np.zeros(vocabulary.words, np.uint32)
    for turn in range(4):
        matcher = compiled.matcher()
        for step in range(40):
            matcher.fill_mask(row)
            allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))[::-1].tolist()
            assert allowed, matcher.text
            texts = [token for token in allowed if vocabulary.tokens[token]]
            if not texts:
                break
            assert matcher.advance(texts[(turn * step) % 3 % len(texts)]), matcher.text


@pytest.mark.parametrize("name", COMPOSED)
def test_a_matcher_equals_one_that_reads_again(name: str) -> None:
    check_rereading(constrain.compile(COMPOSED[name], vocabularies.tiny()), TEXTS[name], turns=30)


@pytest.mark.parametrize("name", COMPOSED)
@pytest.mark.parametrize("method", ["lcd", "sir", "smc", "awrs", "beam"])
def test_outputs_are_texts(model: Any, tokenizer: Any, name: str, method: str) -> None:
    """Outputs of methods can be read token by token, and are members if they are finished."""
    outputs = constrain.generate(
        model, "ab", tokenizer=tokenizer, constraint=COMPOSED[name], method=method, n=3, max_tokens=12, seed=1
    )
    compiled = constrain.compile(COMPOSED[name], constrain.Vocabulary.from_huggingface(tokenizer))
    for output in outputs:
        assert compiled.matcher().advance_tokens(output.tokens) >= len(output.tokens) - 1, output.text
        assert output.finish_reason != "dead_end"
        if output.finish_reason == "stop":
            assert COMPOSED[name].accepts(output.text)


@pytest.mark.parametrize("name", COMPOSED)
def test_drafts_change_no_greedy_text(model: Any, tokenizer: Any, name: str) -> None:
    texts = [
        constrain.generate(
            model, "ab", tokenizer=tokenizer, constraint=COMPOSED[name], temperature=0, max_tokens=14, draft=draft
        ).text
        for draft in (None, "ngram")
    ]
    assert texts[0] == texts[1]


def test_a_part_is_written_by_the_reference_model() -> None:
    """Prose, then a query: n outputs by several methods, whose finished texts SQL's monitor accepts."""
    model = constrain.reference.load()
    answer = constrain.seq(constrain.regex("[A-Z][a-z ]{0,12}"), ":\n", QUERY, constrain.choices([";;", "\n--\n."]))
    for method in ("lcd", "sir", "smc"):
        outputs = constrain.generate(model, "Q", constraint=answer, method=method, n=4, max_tokens=40, seed=2)
        assert len(outputs) == 4
        for output in outputs:
            assert output.finish_reason in ("stop", "length"), output
            assert output.finish_reason == "length" or answer.accepts(output.text)


def test_states_that_are_forgotten_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for few states, and for a small automaton, masks are those of guards with much room."""
    vocabulary = constrain.Vocabulary(vocabularies.tiny().tokens, eos_ids=[270])
    roomy = constrain.compile(COMPOSED["fences"], vocabularies.tiny())
    monkeypatch.setattr(places, "MAX_STATES", 20)
    monkeypatch.setattr(regions_guard, "BUDGET", 1 << 20)
    narrow = constrain.compile(COMPOSED["fences"], vocabulary)
    assert isinstance(narrow.guard, RegionsGuard) and narrow.guard is not roomy.guard
    one, two = roomy.matcher(), narrow.matcher()
    for byte in b"".join(TEXTS["fences"]):
        assert one.advance(byte) and two.advance(byte)
        assert np.array_equal(one.mask(), two.mask()), one.text
    assert narrow.guard.places.epoch > 3
    two.rollback(20)
    one.rollback(20)
    assert np.array_equal(one.mask(), two.mask())


@pytest.mark.parametrize("name", COMPOSED)
def test_a_budget_of_tokens_is_kept(model: Any, tokenizer: Any, name: str) -> None:
    """With `complete=True` each output ends in time, and is a text of the constraint."""
    settings: dict[str, Any] = {"constraint": COMPOSED[name], "complete": True, "max_tokens": 32, "n": 2, "seed": 1}
    for output in constrain.generate(model, "a", tokenizer=tokenizer, **settings):
        assert output.finish_reason == "stop" and COMPOSED[name].accepts(output.text), output


def search(query: str, limit: int = 3) -> str:
    """Search."""
    return query


def other(ids: list[int]) -> str:
    """Do something else."""
    return ""


CALLS = {
    "qwen3": ('<tool_call>\n{"name": "search", "arguments": ', "}\n</tool_call>"),
    "llama3": ('{"name": "search", "parameters": ', "}"),
}


@pytest.mark.parametrize("form", CALLS)
def test_an_argument_of_a_tool(form: str) -> None:
    """SQL in a string of JSON: names are those of the catalogue, through escapes, and the call reads back."""
    turn = constrain.tools([search, other], format=form, texts={"search": {"query": QUERY}})
    begin, end = CALLS[form]
    query = 'select "abc",\n id from ab'
    for comma, colon in ((", ", ": "), (",", ":")):
        text = begin + json.dumps({"query": query, "limit": 5}, separators=(comma, colon)) + end
        assert turn.accepts(text)
        [call] = turn.read(text).tool_calls
        assert call.arguments == {"query": query, "limit": 5}
        matcher = constrain.compile(turn, constrain.Vocabulary.of_bytes()).matcher(prefix=begin.encode())
        assert matcher.advance_bytes(f'{{"query"{colon}"select '.encode())
        assert not matcher.advance_bytes(b"nosuch") and not matcher.advance_bytes(b"\\u0061")
        assert matcher.advance_bytes(b"\\nabc")


def test_an_argument_between_special_tokens() -> None:
    """The edges of calls and thoughts are tokens without bytes, as in real vocabularies."""
    names = ["<think>", "</think>", "<tool_call>", "</tool_call>"]
    tokens = [*(bytes([byte]) for byte in range(256)), b'"select ', b"abc", b"\\n", *[None] * 4, None]
    vocabulary = constrain.Vocabulary(tokens, [263], names={name: 259 + i for i, name in enumerate(names)})
    turn = constrain.tools([search], format="qwen3", tokenizer=vocabulary, texts={"search": {"query": QUERY}})
    matcher = constrain.compile(turn, vocabulary).matcher()
    call = b'\n{"name": "search", "arguments": {"query": '
    assert matcher.advance_tokens([259, *b"hm", 260, 261, *call, 256, 257]) == 7 + len(call)
    assert not matcher.advance_bytes(b"d") and matcher.allows(258) and matcher.advance_bytes(b' from ab"}}\n')
    assert matcher.allows(262) and not matcher.is_accepting() and matcher.advance(262) and matcher.is_accepting()


@pytest.mark.parametrize("whole", [constrain.triggered([("<q>", QUERY, "</q>"), ("<i>", IDS, "</i>")]), None])
def test_items_beside_a_monitor_differ(whole: Any) -> None:
    """A schema's guard vetoes inside of its part, also where no text tells where the part begins."""
    whole = whole or constrain.seq(constrain.regex("[a-z<>]*"), constrain.alt(QUERY, IDS), "</i>")
    matcher = constrain.compile(whole, constrain.Vocabulary.of_bytes()).matcher()
    assert matcher.advance_bytes(b"<i>[1, 1") and not matcher.allows(ord("]")) and not matcher.allows(ord(","))
    assert matcher.advance_bytes(b"1, 2]</i>") and matcher.is_accepting()
    assert not whole.accepts("<i>[1, 1]</i>") and whole.residual_fault("<i>[1, 2]</i>") is None


def test_a_token_directly_behind_a_part() -> None:
    tokens = [*(bytes([byte]) for byte in range(256)), b"ab", b" ab", None, None]
    vocabulary = constrain.Vocabulary(tokens, [259], names={"<|end|>": 258})
    many = constrain.many(constrain.seq(QUERY, constrain.token("<|end|>")), low=1)
    matcher = constrain.compile(many, vocabulary).matcher()
    assert matcher.advance_bytes(b"select abc from") and not matcher.allows(258) and matcher.advance(257)
    assert matcher.allows(258) == bool(matcher.mask()[258 >> 5] >> (258 & 31) & 1) == matcher.advance(258)
    assert matcher.is_accepting() and matcher.advance_bytes(b"select id from ab") and matcher.advance(258)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"find": {"query": QUERY}}, "there is no tool 'find'"),
        ({"search": {"limit": QUERY}}, "'search' has no string argument 'limit'"),
        ({"search": {"query": "select"}}, "'select' is no constraint"),
        ([QUERY], "texts= is a dict"),
    ],
)
def test_texts_that_are_no_arguments_are_refused(texts: Any, message: str) -> None:
    with pytest.raises(ConstrainError, match=message):
        constrain.tools([search], format="qwen3", texts=texts)


def test_texts_of_elements_are_refused() -> None:
    with pytest.raises(ConstrainError, match="writes arguments as elements"):
        constrain.tools([search], format="qwen3-coder", texts={"search": {"query": QUERY}})
