"""XGrammar's EBNF: members and others by the plain oracle, and the same verdicts by XGrammar itself."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from constrain.grammar_text.text import grammar
from naive_grammar import member

CASES = tomllib.loads((Path(__file__).parent.parent / "data" / "grammar_ebnf.toml").read_text())["case"]
each_case = pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])


@each_case
def test_members_and_others(case):
    constraint = grammar(case["grammar"], format="ebnf")
    made = constraint.to_grammar()
    assert [text for text in case["accepts"] if not member(made, text)] == []
    assert [text for text in case["rejects"] if member(made, text)] == []
    assert list(constraint.findings) == case.get("notes", [])


@each_case
def test_xgrammar_says_the_same(case):
    xgrammar = pytest.importorskip("xgrammar")
    tokens = [bytes([byte]) for byte in range(256)] + [b"</s>"]
    info = xgrammar.TokenizerInfo(tokens, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[256])
    compiled = xgrammar.GrammarCompiler(info).compile_grammar(case["grammar"])

    def accepts(text: str) -> bool:
        matcher = xgrammar.GrammarMatcher(compiled)
        return (not text or matcher.accept_string(text)) and matcher.accept_token(256)

    assert [text for text in case["accepts"] if not accepts(text)] == []
    assert [text for text in case["rejects"] if accepts(text)] == []


def test_the_start_can_be_named():
    assert member(grammar('root ::= "a"\nother ::= "b" root?', format="ebnf", start="other").to_grammar(), "ba")
