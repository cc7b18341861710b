"""Combinators: languages by the plain oracle, parts with guards and checks, faults."""

import copy
import functools
import gc
import json
import operator
import pickle
import random
import weakref

import numpy as np
import pytest

import constrain
import vocabularies
from constrain import alt, choices, grammar, json_schema, many, optional, ref, regex, rules, seq
from constrain.errors import GrammarError, UnsatisfiableError
from constrain.languages.constraints.combinators import Combined
from reading_oracle import member, texts
from work import counted

NESTED = grammar('start: "(" start ")" | "a"\n%ignore " "')


def members(constraint, alphabet: str, length: int) -> list[str]:
    made = constraint.to_grammar()
    return [text for text in texts(alphabet, length) if member(made, text)]


@pytest.mark.parametrize(
    "constraint, alphabet, length, expected",
    [
        (seq(), "a", 2, [""]),
        (seq("a", "b"), "ab", 3, ["ab"]),
        (alt("a", seq("b", "a")), "ab", 2, ["a", "ba"]),
        (optional(seq("a", "b")), "ab", 3, ["", "ab"]),
        (many("ab"), "ab", 4, ["", "ab", "abab"]),
        (many("a", low=2, high=3), "a", 5, ["aa", "aaa"]),
        (many("a", high=0), "a", 2, [""]),
        (many("a", separator=","), "a,", 5, ["", "a", "a,a", "a,a,a"]),
        (many("a", separator=",", low=2, high=2), "a,", 5, ["a,a"]),
        (many("a", separator=",", high=1), "a,", 5, ["", "a"]),
        (many("a", separator=",", high=0), "a,", 3, [""]),
        (seq("a", regex("[ab]{1,2}")), "ab", 3, ["aa", "ab", "aaa", "aab", "aba", "abb"]),
        (seq(choices(["a", "ab"]), choices(["b", "bb"])), "ab", 4, ["ab", "abb", "abbb"]),
        (seq("b", NESTED), "ab() ", 3, ["ba", "ba ", "b a"]),
        (seq(NESTED, "b"), "ab()", 4, ["ab", "(a)b"]),
        (rules({"s": alt("a", seq("(", ref("s"), ")"))}), "a()", 5, ["a", "(a)", "((a))"]),
        (rules({"t": "b", "s": seq("a", ref("t"))}, start="s"), "ab", 2, ["ab"]),
        (rules({"s": alt("b", seq(ref("s"), "a"), seq(ref("s"), ref("s")))}), "ab", 3, None),
        (alt("a", seq("b", rules({"s": optional(seq("a", ref("s"), "b"))}))), "ab", 5, ["a", "b", "bab", "baabb"]),
        (alt("a", regex("[^\x00-\U0010ffff]")), "a", 2, ["a"]),
        (seq("a", "") | seq("b", NESTED), "ab()", 2, ["a", "ba"]),
        (alt(seq("a"), "b") & regex("[ac]"), "abc", 1, ["a"]),
    ],
)
def test_languages(constraint, alphabet, length, expected):
    if expected is None:  # b, then a and b in any order
        expected = [text for text in texts(alphabet, length) if text.startswith("b")]
    assert members(constraint, alphabet, length) == expected


def test_a_recursive_language_through_the_engine():
    term = alt(regex("[0-9]+"), seq("(", ref("sum"), ")"))
    constraint = rules({"sum": many(ref("term"), separator=choices(["+", "-"]), low=1), "term": term})
    compiled = constrain.compile(constraint, vocabularies.tiny())
    for text, accepted in [("1", True), ("1+(2-3)-40", True), ("(1", False), ("1+", False), ("((7))", True)]:
        matcher = compiled.matcher()
        assert matcher.advance_bytes(text.encode())
        assert matcher.is_accepting() is accepted
    assert not compiled.matcher().advance_bytes(b"1+)")


def test_equal_sources_are_equal():
    assert seq("a", regex("b")) == seq("a", regex("b"))
    assert seq("a", regex("b")) != alt("a", regex("b"))
    assert hash(rules({"s": seq("a", optional(ref("s")))})) == hash(rules({"s": seq("a", optional(ref("s")))}))
    assert repr(seq("a", many(regex("b"), separator=",", low=1))) == "seq('a', many(regex('b'), separator=',', low=1))"
    assert repr(rules({"s": "a"})) == "rules({'s': ...}, start='s')"


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda: seq("a", 1), GrammarError, "a part is a str or a constraint, not int: 1"),
        (lambda: seq("a\ud800"), GrammarError, "a part has a lone surrogate"),
        (lambda: alt(), GrammarError, "alt needs at least one part"),
        (lambda: many("a", low=-1), GrammarError, "many needs low >= 0, not -1"),
        (lambda: many("a", low=2, high=1), GrammarError, "many needs high >= low, not 1 and 2"),
        (lambda: ref(""), GrammarError, "ref needs the name of a rule, not ''"),
        (lambda: ref("a#b"), GrammarError, "ref needs the name of a rule, not 'a#b'"),
        (lambda: rules({}), GrammarError, "rules needs a mapping"),
        (lambda: rules({"s": "a"}, start="t"), GrammarError, "there is no rule 't' to start from; the rules are: s"),
        (lambda: rules({"s": seq("a", ref("t"))}), GrammarError, r"ref('t') has no definition"),
        (lambda: seq("a", ref("t")).to_grammar(), GrammarError, r"ref('t') has no definition"),
        (lambda: rules({"s": seq("a", ref("s"))}), UnsatisfiableError, "the start rule 's' derives no text"),
        (lambda: seq("a", regex("b") & regex("c")).to_grammar(), UnsatisfiableError, "derives no text"),
    ],
)
def test_faults(make, error, message):
    with pytest.raises(error) as caught:
        make()
    assert message in str(caught.value)
    assert caught.value.fix


def test_deep_parts_are_a_limit_not_a_crash():
    constraint = ref("s")
    for _ in range(3000):
        constraint = Combined(seq("(", constraint, ")").expression, "deep")
    with pytest.raises(constrain.LimitError, match="nested too deeply"):
        rules({"s": alt("a", constraint)})


# --- parts with guards and checks -------------------------------------------------------------------------------------

ANY_OBJECT = json_schema({"type": "object", "additionalProperties": {"type": "integer"}}, whitespace="compact")
SETS = json_schema({"type": "array", "uniqueItems": True, "items": {"type": "integer"}}, whitespace="compact")
ODD = json_schema({"type": "integer", "multipleOf": 2003}, whitespace="compact")  # checked, not generated


def verdict(constraint, text: str) -> tuple[bool, bool]:
    """(can be written, is complete)."""
    matcher = constrain.compile(constraint, vocabularies.tiny()).matcher()
    written = all(matcher.advance_bytes(bytes([byte])) for byte in text.encode())
    return written, written and matcher.is_accepting()


def test_a_guard_works_after_a_fixed_text():
    constraint = seq("Answer: ", ANY_OBJECT, optional("!"))
    assert constraint.guarded
    assert not constraint.residual
    assert verdict(constraint, 'Answer: {"a":1,"b":2}!') == (True, True)
    assert verdict(constraint, 'Answer: {"a":1,"a') == (True, False)
    assert verdict(constraint, 'Answer: {"a":1,"a"') == (False, False)


def test_one_fixed_text_for_each_tool():
    tools = alt(
        *(seq(f'<{name}>{{"args":', schema, "}") for name, schema in [("sum", SETS), ("get", ANY_OBJECT)]), "no"
    )
    assert (tools.guarded, tools.residual) == (True, SETS.residual)
    assert verdict(tools, '<sum>{"args":[1,2]}') == (True, True)
    assert verdict(tools, '<sum>{"args":[1,1]') == (False, False)
    assert verdict(tools, '<get>{"args":{"a":1,"a"') == (False, False)
    assert verdict(tools, "no") == (True, True)


@pytest.mark.parametrize(
    "constraint",
    [
        seq(regex("[a-z]*"), ANY_OBJECT),
        many(ANY_OBJECT, separator=";", low=1),
        seq(ANY_OBJECT, ";", ANY_OBJECT),
        alt(seq("a", ANY_OBJECT), seq("ab", ANY_OBJECT), ANY_OBJECT),
        rules({"s": alt(ANY_OBJECT, seq("(", ref("s"), ")"))}),
    ],
    ids=["after any word", "repeated", "two", "one text begins another", "recursive"],
)
def test_elsewhere_the_finished_text_is_checked(constraint):
    assert (constraint.guarded, constraint.residual) == (False, True)
    good, bad = '{"a":1,"b":2}', '{"a":1,"a":2}'
    before, after = {"seq": ("", ""), "rule": ("((", "))")}.get(repr(constraint)[:4], ("", ""))
    second = ";" + good if repr(constraint).startswith("seq(json") else ""
    assert verdict(constraint, before + good + after + second) == (True, True)
    assert verdict(constraint, before + bad + after + second) == (True, False)
    assert "occurs twice" in constraint.residual_fault(before + bad + after + second)


def test_a_residual_is_checked_in_every_part():
    constraint = seq("n=", ODD, many(seq(",", ODD)))
    assert constraint.residual
    assert verdict(constraint, "n=2003,4006,0") == (True, True)
    assert verdict(constraint, "n=2003,4007,0") == (True, False)
    assert {entry.keyword for entry in constraint.report if entry.status == "residual"} == {"multipleOf", "(keys)"}


def test_an_ambiguous_text_passes_if_some_reading_does():
    constraint = seq(regex("[0-9]*"), ODD)
    assert verdict(constraint, "12003") == (True, True)  # 1 and 2003
    assert verdict(constraint, "12004") == (True, False)
    assert constraint.residual_fault("12004") is not None


def test_masks_and_allows_agree_under_a_moved_guard():
    """Every prefix of random texts: the mask is what `allows` says, token by token."""
    rng = random.Random(3)
    vocabulary = constrain.Vocabulary(
        [*(bytes([b]) for b in range(32, 127)), b'"a', b'a"', b'":1', b',"', b'{"a":1,"a":1', b'x{"', b'"a":1', None],
        [102],
    )
    compiled = constrain.compile(alt(seq("x", ANY_OBJECT, "y"), seq("z", SETS)), vocabulary)
    row = np.zeros(vocabulary.words, np.uint32)
    for _ in range(60):
        matcher = compiled.matcher()
        for _ in range(14):
            matcher.fill_mask(row)
            mask = {t for t in range(vocabulary.size) if row[t >> 5] >> (t & 31) & 1}
            assert mask == {t for t in range(vocabulary.size) if matcher.allows(t)}
            if not mask or mask == {102}:
                break
            longer = [t for t in mask if 95 <= t < 102]
            assert matcher.advance(rng.choice(longer if longer and rng.randrange(2) else sorted(mask - {102})))
        text = matcher.text.decode()
        if matcher.is_accepting():
            pairs = json.loads(text.strip("xyz"), object_pairs_hook=list)
            assert len({json.dumps(p[0] if isinstance(p, tuple) else p) for p in pairs}) == len(pairs)


def test_the_work_of_a_union_grows_with_its_parts() -> None:
    """Each `|` copies the parts before and asks none of them for anything."""
    works = []
    for number in (100, 400):
        parts = [alt(f"a{i}", regex("b")) for i in range(number)]
        union, work = counted(functools.reduce, operator.or_, parts)
        assert union == constrain.languages.constraints.union.Union(tuple(parts))
        works.append(work)
    assert works[1] < 5 * works[0], works


def test_a_part_that_is_repeated_counts_once() -> None:
    a, b = regex("a"), regex("b")
    assert ((a | b) | (b | a)).parts == (a, b)  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(a | b | a)) == a | b
    assert (a & b & a).parts == (a, b)  # type: ignore[attr-defined]


def test_equal_constraints_are_one_part_as_long_as_it_is_used() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    one, other = (constrain.seq(text, constrain.json_schema(copy.deepcopy(schema))) for text in "ab")
    parts = [each.expression.parts[1] for each in (one, other)]
    assert parts[0] is parts[1]
    seen = weakref.ref(parts[0])
    del one, other, parts
    gc.collect()
    assert seen() is None
