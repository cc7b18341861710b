"""Our reader with the plain oracle, against lark itself: the same language, text for text."""

from __future__ import annotations

import lark
import pytest

from constrain.languages.grammar_text.text import grammar
from reading_oracle import language, texts
from tables import table

CASES = table("grammar_lark_differential")["case"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_the_language_is_what_lark_accepts(case):
    parser = lark.Lark(case["grammar"], parser="earley", lexer="dynamic_complete")
    found = language(grammar(case["grammar"]).to_grammar(), case["alphabet"], case["length"])
    members = 0
    for text in texts(case["alphabet"], case["length"]):
        accepted = _accepts(parser, text)
        assert found.get(text, (False, False))[0] == accepted, text
        members += accepted
    assert members > 1  # else the alphabet misses the grammar


def _accepts(parser: lark.Lark, text: str) -> bool:
    try:
        parser.parse(text)
    except lark.exceptions.LarkError:
        return False
    return True
