"""Grammars in both formats and under both lexers: members, others, dead ends (by the plain oracle)."""

from __future__ import annotations

import pytest

from constrain.languages.grammar_text.text import grammar
from reading_oracle import member, viable
from tables import table

CASES = table("grammar_language")["case"]


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
def test_what_can_be_continued(case):
    made = _source(case).to_grammar()
    prefixes = {text[:end] for text in case["accepts"] for end in range(len(text) + 1)}
    assert [text for text in prefixes if not viable(made, text)] == []
    assert [text for text in case.get("dead", []) if viable(made, text)] == []
