"""`%json` and `%regex` inside Lark texts: languages, what is checked, and faults with their places as written."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import constrain
import vocabularies
from constrain.errors import ConstrainError
from constrain.languages.grammar_text.text import grammar

CASES = tomllib.loads((Path(__file__).parents[2] / "data" / "grammar_embedded.toml").read_text())["case"]


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


@pytest.mark.parametrize(
    "text, message",
    [
        (
            'start: "a" %json {"type": "strin"}',
            'type \'strin\' does not exist\n  at line 1, column 12\n     start: "a" %json {"type": "strin"}\n'
            "                ^^^^^\n     in it, $\n",
        ),
        ('start: "a"\n  %json {"a": }\n', "%json is not followed by JSON: Expecting value\n  at line 2, column 15"),
        ('start: "a" %json', "%json is not followed by JSON: Expecting value\n  at line 1, column 16"),
        ('start: "a" %json x', "%json is not followed by JSON: Expecting value\n  at line 1, column 18"),
        ('start: %json {\n"type": "null"} "a" b\n', "b is used but not defined\n  at line 2, column 21"),
        ('start: %json {\n"type": "null"} "a" (b\n', "this is not closed\n  at line 2, column 21"),
        ('start: A\nA: %json {"type": "null"}', "an embedded text, a rule, is used in terminal A"),
        ('start: %regex {"words": "a"}', "%regex needs an object with one of pattern, substring_words"),
        ('start: %regex "a"', "%regex needs an object with one of pattern, substring_words"),
        ('start: %regex {"substring_chunks": "a"}', "takes a list of texts, not str: 'a'\n  at line 1, column 8"),
        ('start: %regex {"pattern": "a("}', "\n  at line 1, column 8\n"),
        ('start: %json {"type": "integer", "minimum": 2, "maximum": 1}', "\n  at line 1, column 8\n"),
    ],
)
def test_faults_are_shown_where_they_were_written(text, message):
    with pytest.raises(ConstrainError) as caught:
        grammar(text)
    assert message in str(caught.value)
    assert caught.value.fix


def test_a_schema_cannot_be_lexed_greedily():
    with pytest.raises(constrain.GrammarError, match="is embedded, but lexer='greedy'") as caught:
        grammar('start: "a" %json {"type": "object"}', lexer="greedy")
    assert caught.value.fix == "use lexer='dynamic'"
