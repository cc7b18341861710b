"""Grammars in both formats and under both lexers: texts that are members, and texts that are not (by the plain oracle)."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from naive_grammar import member, viable

from constrain.grammar.source import grammar

CASES = tomllib.loads((Path(__file__).parent.parent / "data" / "grammar_language.toml").read_text())["case"]


def _source(case):
    options = {key: case[key] for key in ("format", "lexer", "start") if key in case}
    return grammar(case["grammar"], **options)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_members_and_others(case):
    made = _source(case).to_grammar()
    assert [text for text in case["accepts"] if not member(made, text)] == []
    assert [text for text in case["rejects"] if member(made, text)] == []


DYNAMIC = [case for case in CASES if case.get("lexer") != "greedy"]


@pytest.mark.parametrize("case", DYNAMIC, ids=[case["name"] for case in DYNAMIC])
def test_every_prefix_of_a_member_is_viable(case):
    made = _source(case).to_grammar()
    prefixes = {text[:end] for text in case["accepts"] for end in range(len(text) + 1)}
    assert [text for text in prefixes if not viable(made, text)] == []
    assert not viable(made, "\x00")
