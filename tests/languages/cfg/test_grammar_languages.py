"""Tables of grammar texts: members, others and dead ends by the plain oracle, by lark and by XGrammar.

Lark and GBNF under both lexers, XGrammar's EBNF, `%json` and `%regex` inside Lark texts; and texts that cannot be read,
with the whole message, its place and its way out, verbatim.
"""

import subprocess
import sys

import lark
import pytest

import constrain
import vocabularies
from constrain import errors
from constrain.errors import ConstrainError
from constrain.languages.grammar_text.text import grammar
from reading_oracle import language, member, texts, viable
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


TABLE = table("grammar_errors")

FAULTS = table("grammar_errors")["case"]


@pytest.mark.parametrize("case", FAULTS, ids=[case["name"] for case in FAULTS])
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


EBNF = table("grammar_ebnf")["case"]
each_of_ebnf = pytest.mark.parametrize("case", EBNF, ids=[case["name"] for case in EBNF])


@each_of_ebnf
def test_members_and_others_of_ebnf(case):
    constraint = grammar(case["grammar"], format="ebnf")
    made = constraint.to_grammar()
    assert [text for text in case["accepts"] if not member(made, text)] == []
    assert [text for text in case["rejects"] if member(made, text)] == []
    assert list(constraint.findings) == case.get("notes", [])


@each_of_ebnf
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


EMBEDDED = table("grammar_embedded")

EMBEDDED_CASES = table("grammar_embedded")["case"]


@pytest.mark.parametrize("case", EMBEDDED_CASES, ids=[case["name"] for case in EMBEDDED_CASES])
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
    for kind, own in kinds.items():
        assert [text for text in own if verdict(text) != kind] == []


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


@pytest.mark.parametrize("text, message", EMBEDDED["fault"])
def test_faults_are_shown_where_they_were_written(text, message):
    with pytest.raises(ConstrainError) as caught:
        grammar(text)
    assert message in str(caught.value)
    assert caught.value.fix


def test_a_schema_cannot_be_lexed_greedily():
    with pytest.raises(constrain.GrammarError, match="is embedded, but lexer='greedy'") as caught:
        grammar('start: "a" %json {"type": "object"}', lexer="greedy")
    assert caught.value.fix == "use lexer='dynamic'"


LARKS = table("grammar_lark_differential")["case"]


@pytest.mark.parametrize("case", LARKS, ids=[case["name"] for case in LARKS])
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
