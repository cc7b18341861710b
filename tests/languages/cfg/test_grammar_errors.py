"""Grammar texts that cannot be read: the whole message, its place and its way out, verbatim; and findings."""

from __future__ import annotations

import subprocess
import sys

import pytest

from constrain import errors
from constrain.languages.grammar_text.text import grammar
from tables import table

TABLE = table("grammar_errors")

CASES = table("grammar_errors")["case"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_the_message(case):
    options = {key: case[key] for key in ("format", "lexer", "start") if key in case}
    with pytest.raises(errors.ConstrainError) as caught:
        grammar(case["grammar"], **options)
    assert type(caught.value) is getattr(errors, case["error"])
    assert str(caught.value) == case["message"]
    assert caught.value.fix


@pytest.mark.parametrize(
    "format, text",
    [("lark", "start: " + "(" * 2000 + '"a"' + ")" * 2000), ("gbnf", "root ::= " + "(" * 2000 + '"a"' + ")" * 2000)],
)
def test_deep_nesting_is_a_limit_not_a_crash(format, text):  # noqa: A002
    with pytest.raises(errors.LimitError, match="the grammar is nested too deeply"):
        grammar(text, format=format)


def test_a_text_that_is_not_a_str():
    with pytest.raises(errors.GrammarError, match=r"^a grammar is a str, not bytes: b'start: \"a\"'"):
        grammar(b'start: "a"')


def test_the_first_fault_does_not_depend_on_the_hash_seed():
    """Lark checks names in the order of a set."""
    code = (
        "from constrain import grammar\n"
        "try: grammar('start: one two three four')\n"
        "except ValueError as error: print(error)"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in "12"
    }
    assert len(outputs) == 1
    assert outputs.pop().startswith("one is used but not defined")


def test_what_was_folded_into_a_terminal_is_not_out_of_reach():
    assert grammar('root ::= word "."\nword ::= [a-z]+\nspare ::= "x"', format="gbnf").findings == (
        "rule spare is not reachable from root",
    )


@pytest.mark.parametrize("text, lexer, findings", TABLE["found"])
def test_findings(text, lexer, findings):
    assert list(grammar(text, lexer=lexer).findings) == findings
