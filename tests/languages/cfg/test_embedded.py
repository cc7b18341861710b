"""`%json` and `%regex` inside Lark texts: languages, what is checked, and faults with their places as written."""

from __future__ import annotations

import pytest

import constrain
import vocabularies
from constrain.errors import ConstrainError
from constrain.languages.grammar_text.text import grammar
from tables import table

TABLE = table("grammar_embedded")

CASES = table("grammar_embedded")["case"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_languages(case):
    constraint = grammar(case["grammar"], lexer=case.get("lexer", "dynamic"))
    assert constraint.residual == case["residual"]
    compiled = constrain.compile(constraint, vocabularies.tiny())

    def verdict(text: str) -> str:
        matcher = compiled.matcher()
        if not all(matcher.advance_bytes(bytes([byte])) for byte in text.encode()):
            return "other"
        if matcher.is_accepting():
            assert constraint.residual_fault(text) is None
            return "member"
        return "unfinished" if constraint.residual_fault(text) else "other"

    kinds = {"member": case["members"], "other": case["others"], "unfinished": case["unfinished"]}
    for kind, texts in kinds.items():
        assert [text for text in texts if verdict(text) != kind] == []


def test_the_report_has_the_keywords_of_embedded_schemas():
    constraint = grammar('start: %json {"type": "integer", "title": "n"} "," %json {"type": "null"}')
    assert [entry.keyword for entry in constraint.report if entry.pointer != "$" or entry.keyword == "type"].count(
        "type"
    ) == 2


def test_equal_texts_share_their_sources():
    text = 'start: "a" %json {"type": "integer"}'
    assert grammar(text).to_grammar() is grammar(text).to_grammar()


def test_names_of_the_text_are_left_alone():
    constraint = grammar('start: e_0 a_1 %json {"type": "null"}\ne_0: "x"\na_1: "y"')
    assert constrain.compile(constraint, vocabularies.tiny()).matcher().advance_bytes(b"xynull")


@pytest.mark.parametrize("text, message", TABLE["fault"])
def test_faults_are_shown_where_they_were_written(text, message):
    with pytest.raises(ConstrainError) as caught:
        grammar(text)
    assert message in str(caught.value)
    assert caught.value.fix


def test_a_schema_cannot_be_lexed_greedily():
    with pytest.raises(constrain.GrammarError, match="is embedded, but lexer='greedy'") as caught:
        grammar('start: "a" %json {"type": "object"}', lexer="greedy")
    assert caught.value.fix == "use lexer='dynamic'"
