"""XGrammar's EBNF: members and others by the plain oracle, and the same verdicts by XGrammar itself."""

from __future__ import annotations

import pytest

import constrain
from constrain.languages.grammar_text.text import grammar
from reading_oracle import member
from tables import table

CASES = table("grammar_ebnf")["case"]
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


def test_captures_are_those_of_xgrammars_description():
    constraint = grammar('root ::= item ("," item)*\nitem[capture="number"] ::= [0-9]+', format="ebnf")
    assert [tuple(c)[:2] for c in constraint.captures("1,22,333")] == [("number", t) for t in ("1", "22", "333")]
    assert grammar('root ::= a\na[capture] ::= "x" | a "y"', format="ebnf").captures("xyy")[-1].text == "xyy"


def test_tokens_of_macros():
    vocabulary = constrain.Vocabulary([b"a", b"7", None, None, None], eos_ids=[2], names={"<|t|>": 3})
    once = "TokenTagDispatch((3, n), excludes=(4,), loop_after_dispatch=false)"
    text = f'root ::= Token(3) ExcludeToken(0, 4) | "a" TokenTagDispatch((3, n), excludes=(4,)) | "7" {once}\nn ::= "7"'
    compiled = constrain.compile(grammar(text, format="ebnf"), vocabulary)

    def reads(*tokens: int) -> tuple[bool, bool]:
        matcher = compiled.matcher()
        return all(matcher.advance(token) for token in tokens), matcher.is_accepting()

    assert [reads(3, 1), reads(3, 3), reads(0, 0, 3, 1, 3, 1, 0), reads(1, 0, 3, 1)] == [(True, True)] * 4
    assert [reads(3, 0), reads(3, 4), reads(0, 3, 0), reads(0, 4), reads(1, 3, 1, 0)] == [(False, False)] * 3 + [
        (False, True)
    ] * 2
