"""Extensions of Lark: languages against `re` on all short texts, and against llguidance or XGrammar; captures."""

import json
import re
from itertools import product

import pytest

import constrain
import vocabularies
from constrain.errors import GrammarError
from tables import table

TABLE = table("grammar_llguidance")

CASES = table("grammar_llguidance")["case"]
BYTES = constrain.Vocabulary([bytes([byte]) for byte in range(256)] + [None], eos_ids=[256])
NAMES = [case["name"] for case in CASES]


def texts_of(case: dict) -> list[str]:
    """All texts over the alphabet up to a length, and the texts that the row names."""
    longest = case.get("longest", 6 if len(case["alphabet"]) < 4 else 5)
    listed = ("".join(letters) for n in range(longest + 1) for letters in product(case["alphabet"], repeat=n))
    return [*listed, *case.get("texts", [])]


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_members_are_those_of_a_regex(case):
    compiled = constrain.compile(constrain.grammar(case["grammar"]), BYTES)
    texts = texts_of(case)
    members = {text for text in texts if re.fullmatch(case["like"], text)}
    begun = {text[:end] for text in members for end in range(len(text) + 1)}
    assert len(members) > 0

    def read(text: str) -> tuple[bool, bool]:
        matcher = compiled.matcher()
        viable = matcher.advance_bytes(text.encode())
        return viable, viable and matcher.is_accepting()

    found = {text: read(text) for text in texts}
    assert [text for text in texts if found[text][1] != (text in members)] == []
    assert [text for text in begun if text in found and not found[text][0]] == []


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.get("peer", True) is True], ids=lambda case: case["name"]
)
def test_llguidance_agrees(case):
    llguidance = pytest.importorskip("llguidance")
    names = [bytes([byte]) for byte in range(256)] + [b"<eos>"]

    class Tokens:
        eos_token_id, bos_token_id, special_token_ids, tokens = 256, None, [256], names

        def __call__(self, text):
            return list(text.encode() if isinstance(text, str) else text)

    tokenizer = llguidance.LLTokenizer(llguidance.TokenizerWrapper(Tokens()))
    start = llguidance.LLMatcher(tokenizer, case["grammar"])
    assert not start.get_error()
    for text in texts_of(case):
        matcher = start.deep_copy()
        taken = matcher.try_consume_tokens(list(text.encode()))
        is_member = taken == len(text.encode()) and matcher.is_accepting()
        assert is_member == bool(re.fullmatch(case["like"], text)), text


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.get("peer") == "xgrammar"], ids=lambda case: case["name"]
)
def test_xgrammar_agrees(case):
    xgrammar = pytest.importorskip("xgrammar")
    vocabulary = xgrammar.TokenizerInfo([bytes([byte]) for byte in range(256)] + [b"<eos>"], stop_token_ids=[256])
    compiled = xgrammar.GrammarCompiler(vocabulary).compile_grammar(xgrammar.Grammar.from_lark(case["grammar"]))
    for text in texts_of(case):
        matcher = xgrammar.GrammarMatcher(compiled)
        is_member = matcher.accept_string(text) and matcher.is_completed()
        assert is_member == bool(re.fullmatch(case["like"], text)), text


CAPTURES = TABLE["captures"]


@pytest.mark.parametrize("text, member, found", CAPTURES)
def test_captures(text, member, found):
    constraint = constrain.grammar(text)
    captures = constraint.captures(member)
    assert [[c.name, c.text, c.begin] for c in captures] == found
    assert all(member[c.begin : c.end] == c.text for c in captures)
    matcher = constrain.compile(constraint, BYTES).matcher()
    assert matcher.advance_bytes(member.encode())
    assert matcher.captures() == captures
    assert constraint.captures(member + "\n\n") == []  # no member


def test_what_stop_means_is_told():
    text = 'start: r "!"\nr[stop="!"]: /a*/'
    assert "under %grammar_options {}, XGrammar's, it is" in " ".join(constrain.grammar(text).findings)
    assert constrain.grammar("%llguidance {}\n" + text).findings == ()
    assert constrain.grammar("%grammar_options {}\n" + text).findings == ()


def test_captures_of_parts_are_found_where_they_stand():
    inner = constrain.grammar('start: n "," n\nn[capture]: /[0-9]+/')
    both = constrain.seq("é:", inner, constrain.optional(constrain.seq(";", inner)))
    assert [(c.text, c.begin) for c in both.captures("é:1,2;34,5")] == [("1", 2), ("2", 4), ("34", 6), ("5", 9)]
    assert [c.text for c in (inner & constrain.regex("[0-4,]*")).captures("1,2")] == ["1", "2"]
    assert constrain.seq("a", constrain.regex("b+")).captures("abb") == []


def test_captures_around_tokens_leave_the_tokens_out():
    vocabulary = constrain.Vocabulary([b"a", b"b", None, None], eos_ids=[2], names={"<|t|>": 3})
    constraint = constrain.grammar('start: "a" x "b"\nx[capture]: "b" <|t|> "a"')
    matcher = constrain.compile(constraint, vocabulary).matcher()
    assert all(matcher.advance(token) for token in (0, 1, 3, 0, 1))
    assert [tuple(capture) for capture in matcher.captures()] == [("x", "ba", 1, 3)]


def test_a_long_list_of_captures():
    constraint = constrain.grammar('start: (item ";")*\nitem[capture]: /[a-z]/+')
    assert len(constraint.captures("ab;" * 2000)) == 2000


def test_grammars_by_name():
    number = constrain.json_schema({"type": "integer"})
    constraint = constrain.grammar('start: "[" @n ("," @n)* "]"\n', grammars={"n": number})
    compiled = constrain.compile(constraint, vocabularies.tiny())
    assert compiled.matcher().advance_bytes(b"[1,22,-3]")
    assert not compiled.matcher().advance_bytes(b"[1,a")
    with pytest.raises(GrammarError, match="grammars= takes names and constraints"):
        constrain.grammar('start: "a"', grammars={"n": "start: x"})


GUIDANCE = TABLE["guidance"]


@pytest.mark.parametrize(("options", "members", "others"), GUIDANCE)
def test_options_of_embedded_schemas(options, members, others):
    schema = json.dumps({"type": "object", "x-guidance": options})
    compiled = constrain.compile(constrain.grammar(f"start: %json {schema}"), BYTES)

    def is_member(text: str) -> bool:
        matcher = compiled.matcher()
        return matcher.advance_bytes(text.encode()) and matcher.is_accepting()

    assert [text for text in members if not is_member(text)] == []
    assert [text for text in others if is_member(text)] == []


def test_captures_need_every_way_to_cut():
    with pytest.raises(GrammarError, match="captures are not read under lexer='greedy'"):
        constrain.grammar('start: a\na[capture]: "x"', lexer="greedy")


def test_settings_without_effect_are_told():
    findings = constrain.grammar('%llguidance {"no_forcing": true}\nstart: a\na[stop=""]: /x+/').findings
    assert any("no_forcing changes no language" in finding for finding in findings)
    assert any('stop="" changes no language' in finding for finding in findings)


def test_parameters_are_counted():
    text = 'start: a::0\na::_: "x" a::incr(_) | "y"'
    with pytest.raises(constrain.LimitError, match="more than 20000 different parameters"):
        constrain.grammar(text)
