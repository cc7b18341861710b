"""Grammar texts that cannot be read: the whole message, its place and its way out, verbatim; and findings."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from constrain import errors
from constrain.languages.grammar_text.text import grammar

CASES = tomllib.loads((Path(__file__).parents[2] / "data" / "grammar_errors.toml").read_text())["case"]


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
    [
        ("lark", "start: " + "(" * 2000 + '"a"' + ")" * 2000),
        ("gbnf", "root ::= " + "(" * 2000 + '"a"' + ")" * 2000),
    ],
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


@pytest.mark.parametrize(
    "text, lexer, findings",
    [
        ('start: "a" | "b"', "greedy", ()),
        (
            'start: "a" | loop\nloop: "(" other ")"\nother: loop "x"\nspare: "b"',
            "dynamic",
            (
                "rule loop derives no text; alternatives that use it were dropped",
                "rule other derives no text; alternatives that use it were dropped",
                "rule start: an alternative that derives no text was dropped",
                "rule spare is not reachable from start",
            ),
        ),
        ("start: NUM NUM\nNUM: /[0-9]+/", "dynamic", ()),
        (
            "start: NUM NUM\nNUM: /[0-9]+/",
            "greedy",
            ("NUM can never directly follow NUM under lexer='greedy': the longest NUM runs into it",),
        ),
        ('start: NUM NUM\nNUM: /[0-9]+/\n%ignore " "', "greedy", ()),
        (
            'start: LOW "!" | HIGH "?"\nLOW.1: /a+/\nHIGH.2: /a+/',
            "greedy",
            ("LOW is not taken under lexer='greedy' where HIGH may stand: both have the same texts",),
        ),
        ('start: LOW "!" | HIGH "?"\nLOW.1: /a+/\nHIGH.2: /a+/', "dynamic", ()),
        (
            "start: WORDS WORDS\nWORDS: /[a-z ]+/\n%ignore /[ ]/",
            "greedy",
            ("WORDS can never directly follow WORDS under lexer='greedy': the longest WORDS runs into it",),
        ),
        (
            "start: NAME? list\nlist: (NUM ~ 2..3)* \nNAME: /[a-z][a-z0-9]*/\nNUM: /[0-9]+/",
            "greedy",
            (
                "NUM can never directly follow NAME under lexer='greedy': the longest NAME runs into it",
                "NUM can never directly follow NUM under lexer='greedy': the longest NUM runs into it",
            ),
        ),
    ],
)
def test_findings(text, lexer, findings):
    assert grammar(text, lexer=lexer).findings == findings
