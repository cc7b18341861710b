"""Budgets under monitors: each text ends in time, is one of the constraint, and the shortest ends are found."""

import random
from functools import cache
from typing import Any

import numpy as np
import pytest
from monitored_texts import CATALOGUE, SQL, VARIABLES
from walks import lexemes_of, vocabulary_of

import constrain
from conftest import in_tiers
from constrain.languages.vocab.bits import tokens_of
from constrain.masks.completion.length_budget import BudgetError, LengthBudget
from constrain.monitors import c, jinja, monitored, python, sql, typescript

load = constrain.collection.load
MONITORS = {
    "python": (python(), "def class return if for in import os self.x print len lambda with as"),
    "sql": (sql(CATALOGUE), "SELECT FROM WHERE GROUP BY JOIN ON AS AND IN COUNT SUM WITH VALUES INSERT INTO users zz"),
    "typed sql": (
        sql({"users": {"id": "integer", "name": "text"}, "b": {"name": "date"}}, types="postgresql"),
        "SELECT FROM users",
    ),
    "c": (c(), "int return struct typedef if while sizeof x zz char const"),
    "jinja": (jinja(VARIABLES), "{{ {% if endif set for macro block endblock page user zz }} %} title in"),
    "typescript": (typescript(), "const let function return number string if class x zz"),
}


@cache
def alone(name: str) -> Any:
    monitor, words = MONITORS[name]
    lexemes = lexemes_of(SQL if "sql" in name else [], words)
    return constrain.compile(monitored(load(name.split()[-1]), monitor), vocabulary_of(lexemes))


@cache
def part(name: str) -> Any:
    """A monitored language in a fence, in a string of JSON, and in the argument of a tool."""
    where, _, language = name.partition(", ")
    monitor, words = MONITORS[language]
    code = monitored(load(language), monitor)
    made = {
        "fence": lambda: constrain.seq(
            constrain.regex("[a-z ]{0,9}"), "```\n", code, "\n```", constrain.regex("[.!]?")
        ),
        "string": lambda: constrain.seq('{"code": ', constrain.json_string(code), "}"),
        "tool": lambda: constrain.tools([run], format="qwen3", texts={"run": {"code": code}}),
    }[where]()
    around = ["```\n", "\n```", '{"code": "', '"}', '\\"', "\\n", "<tool_call>", "</tool_call>", '{"name": "run"']
    return constrain.compile(made, vocabulary_of([*lexemes_of([], words), *around]))


def run(code: str, times: int = 1) -> str:
    """Run."""
    return code


PARTS = [f"{where}, {name}" for where in ("fence", "string", "tool") for name in ("python", "sql", "c", "jinja")]


def check_walk(compiled: Any, more: int, rng: random.Random) -> None:
    """Walk with the rarest lexemes that the mask allows: the text ends in time, and is one."""
    budget, vocabulary = LengthBudget(compiled), compiled.vocabulary
    most = budget.matcher().needs_allowed() + more
    matcher, row = budget.matcher(most=most), np.zeros(vocabulary.words, np.uint32)
    while not matcher.is_finished():
        matcher.fill_mask(row)
        allowed = tokens_of(row).tolist()
        assert allowed, (more, matcher.inner.text)
        texts = [token for token in allowed if token not in vocabulary.eos_ids] or allowed
        lexemes = [token for token in texts if token > 255]
        for token in rng.sample(range(vocabulary.size), 4):
            assert matcher.allows(token) == (token in allowed), (matcher.inner.text, vocabulary.tokens[token])
        assert matcher.advance(rng.choice((lexemes or texts)[-9:] if rng.random() < 0.8 else texts)), matcher.inner.text
    assert matcher.taken <= most
    text = matcher.inner.text
    assert compiled.constraint.accepts(text.decode()), text


@pytest.mark.parametrize("more", [0, 4, 13, 26])
@pytest.mark.parametrize("name", [name for name in MONITORS if name != "typescript"])
@in_tiers(1, 5, 14)
def test_walks_under_a_monitor_end_in_time(name: str, more: int, seeds: range) -> None:
    for seed in seeds:
        check_walk(alone(name), more, random.Random(f"{name} {more} {seed}"))


@pytest.mark.parametrize("more", [2, pytest.param(9, marks=pytest.mark.slow)])
def test_walks_in_typescript_end_in_time(more: int) -> None:
    check_walk(alone("typescript"), more, random.Random(more))


@pytest.mark.parametrize("more", [0, 12])
@pytest.mark.parametrize("name", PARTS)
@in_tiers(1, 2, 4)
def test_walks_with_monitored_parts_end_in_time(name: str, more: int, seeds: range) -> None:
    for seed in seeds:
        check_walk(part(name), more, random.Random(f"{name} {more} {seed}"))


SHORT = sql({"ab": ["a", "b"], "b": ["ba"]}, functions=[])
SELECTS = constrain.grammar(
    'start: "SELECT " value ("," value)* (" FROM " NAME ("," NAME)*)?\nvalue: NAME ("." NAME)? | "0"\nNAME: /[ab]+/',
    lexer="greedy",
)
LETTERS = ["SELECT ", " FROM ", "a", "b", ".", ",", "0"]
SPELLED = constrain.Vocabulary([*(text.encode() for text in LETTERS), None], eos_ids=[len(LETTERS)])


@cache
def members(most: int) -> frozenset[tuple[int, ...]]:
    """The tokens of all texts of at most so many, by trying them: the oracle."""
    compiled = constrain.compile(monitored(SELECTS, SHORT), SPELLED)
    found, level = set(), [()]
    for _ in range(most + 1):
        longer = []
        for tokens in level:
            matcher = compiled.matcher(prefix=tokens)
            if matcher.is_accepting():
                found.add(tokens)
            longer += [(*tokens, token) for token in range(len(LETTERS)) if matcher.allows(token)]
        level = longer
    return frozenset(found)


@pytest.mark.parametrize("most", range(3, 8))
def test_budgets_allow_what_has_an_end(most: int) -> None:
    """Every text that masks lead to is a member in time; the shortest budget is the length of the shortest member."""
    budget = LengthBudget(constrain.compile(monitored(SELECTS, SHORT), SPELLED))
    ended, pending = set(), [()]
    while pending:
        tokens = pending.pop()
        matcher, row = budget.matcher(most=most), np.zeros(1, np.uint32)
        assert all(matcher.advance(token) for token in tokens), tokens
        matcher.fill_mask(row)
        allowed = tokens_of(row).tolist()
        assert allowed, (most, tokens)
        for token in allowed:
            if token == len(LETTERS):
                ended.add(tokens)
            else:
                pending.append((*tokens, token))
    assert ended <= members(most - 1)
    assert budget.matcher().needs_allowed() == 1 + min(map(len, members(most - 1)))
    refused = members(most - 1) - ended  # those whose way leads over a text for which no short completion was found
    assert len(refused) <= len(ended) // 4, refused


def test_a_budget_that_is_too_small_is_an_error_with_the_shortest_text() -> None:
    code = constrain.seq("```\n", monitored(load("sql"), sql({"abc": ["id"]})), "\n```")
    with pytest.raises(BudgetError, match=r"a budget of 5 tokens is too small: the shortest text, '```\\nEND\\n```'"):
        LengthBudget(constrain.compile(code, constrain.Vocabulary.of_bytes())).matcher(most=5)


SUM = constrain.grammar('start: NUMBER ("+" NUMBER)*\nNUMBER: /[0-9]+/\n%ignore " "', lexer="greedy")
CELL = monitored(load("python"), python(ahead="known"), shared="\n")
OTHERS = {
    "a lexer of its own": constrain.seq("<", constrain.many(constrain.seq(SUM, ";"), low=2), ">"),
    "names that parts share": constrain.many(constrain.seq("In: ", CELL, "\n---\n"), low=2),
    "two monitors": constrain.seq(monitored(load("jinja"), MONITORS["jinja"][0]), "\n--\n", CELL, "\n."),
}


@cache
def other(name: str) -> Any:
    words = vocabulary_of(lexemes_of([], "12 + ; < > In: --- x = zz {{ }} page print"))
    return constrain.compile(OTHERS[name], words)


@pytest.mark.parametrize("more", [0, 1, 5, 12])
@pytest.mark.parametrize("name", OTHERS)
def test_walks_with_other_parts_end_in_time(name: str, more: int) -> None:
    check_walk(other(name), more, random.Random(f"{name} {more}"))


# (language, a text, a completion of it: a shorter one may be found)
ENDS = [
    ("sql", b"SELECT orders.total", b" FROM orders"),
    ("sql", b"SELECT u.city, zz", b" FROM users AS u,(SELECT 0 AS zz)"),
    ("sql", b"SELECT name FROM ", b"users"),
    ("sql", b"SELECT name FROM orders", b" A,users"),
    ("sql", b"SELECT (SELECT total", b") FROM orders"),
    ("typed sql", b"SELECT upper(name)", b" FROM users"),
    ("typed sql", b"SELECT sum(name)", b" FROM (SELECT 0 AS name)"),
    ("typed sql", b"SELECT id FROM users WHERE id", b"=1"),
    ("typed sql", b"SELECT id FROM users WHERE id = '", b"1'"),
    ("python", b"def f():\n  return zz", b"\nzz=0"),
    ("python", b"import math\nmath.", b"sqrt"),
    ("python", b"print([zz", b" for zz in[]])\n"),
    ("jinja", b"{% macro f() %}{{ zz", b"}}{%endmacro%}{%set zz=0%}"),
    ("jinja", b"{{ page.", b"rows}}"),
    ("c", b"struct a { int b; } x; int main(void) { x.", b"b;}"),
    ("typescript", b"function f(): string {", b"throw 0;}"),
    ("typescript", b"const a: { x: number; y: number } = { ", b'x:JSON.parse(""),y:JSON.parse("")};'),
]


@pytest.mark.parametrize("language, text, rest", ENDS)
def test_a_completion_settles_what_a_text_owes(language: str, text: bytes, rest: bytes) -> None:
    compiled = constrain.compile(
        monitored(load(language.split()[-1]), MONITORS[language][0]), constrain.Vocabulary.of_bytes()
    )
    limited = LengthBudget(compiled).matcher()
    assert limited.inner.advance_bytes(text)
    limited.tokens.append(text[-1])
    found = limited._new_end()
    assert len(found.text) <= len(rest), found
    assert limited.inner.advance_bytes(found.text) and limited.inner.is_accepting()
    assert compiled.constraint.accepts((text + found.text).decode())
