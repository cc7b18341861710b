"""Constraints: values, their unions and intersections, and their faults."""

from itertools import product

import pytest

from constrain.errors import GrammarError, RegexError, UnsatisfiableError
from constrain.languages.automata import syntax
from constrain.languages.cfg.rules import Grammar
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.combinators import many, seq
from constrain.languages.constraints.regular import choices, regex
from constrain.languages.grammar_text.text import grammar
from constrain.masks.derived.members import byte_matcher
from reading_oracle import language, member, texts

NESTED = grammar('start: "(" start? ")"')
SPACED = grammar('start: "(" start? ")"\n%ignore " "')
RULES = 'start: A "b"? "." | A "."? "a" | "b" "b"\nA: /a+b?/'
LONGEST, CUT = grammar(RULES, lexer="greedy"), grammar(RULES)


def _members(constraint: Constraint, alphabet: str, length: int) -> set[str]:
    return {text for text, (is_member, _) in language(constraint.to_grammar(), alphabet, length).items() if is_member}


def test_sources_are_values():
    for make in (
        lambda: regex("a+"),
        lambda: choices(["b", "a"]),
        lambda: grammar('start: "a"'),
        lambda: regex("a") | NESTED,
    ):
        assert make() == make()
        assert hash(make()) == hash(make())
        assert make().report == []
        assert make().residual_fault("anything") is None
    assert regex("a+") != regex("a*")
    assert choices(["a+"]) != regex("a+")
    assert regex("a+").to_grammar().start == regex("a+").to_grammar().start
    assert NESTED.to_grammar() is NESTED.to_grammar()
    with pytest.raises(AttributeError):
        regex("a").pattern = "b"


def test_how_sources_are_shown():
    both = (regex("a") | choices(["b"])) & regex("[ab]")
    assert repr(both) == "(regex('a') | choices(['b'])) & regex('[ab]')"
    assert repr(choices(map(str, range(9)))) == "choices(['0', '1', '2', '3', '4', ...])"
    assert repr(grammar('\n  root ::= "a"\n', format="gbnf")) == "grammar('root ::= \"a\"', format='gbnf')"


def test_choices():
    constraint = choices(["b", "ab", "b", ""])
    assert constraint.options == ("b", "ab", "")
    assert _members(constraint, "ab", 3) == {"", "b", "ab"}
    assert isinstance(choices(str(n) for n in range(100_000)).node, syntax.Literals)


def test_regular_union_and_intersection():
    assert _members(regex("a+") | choices(["b", "ab"]), "ab", 3) == {"a", "aa", "aaa", "b", "ab"}
    assert _members(regex("a*b?") & regex("..") & regex("[^b].*"), "ab", 3) == {"aa", "ab"}
    assert _members(grammar('start: "a"~1..3') & regex("(aa)*"), "a", 4) == {"aa"}
    assert len((regex("a") | regex("b") | regex("a")).parts) == 2


def test_union_with_a_recursive_grammar():
    assert _members(NESTED | regex("[(]+"), "()", 4) == {"()", "(())", "(", "((", "(((", "(((("}


def test_ignored_text_stays_with_its_own_grammar():
    constraint = SPACED | choices(["()()", "x"])
    made = constraint.to_grammar()
    assert made.ignore == ()
    expected = _members(SPACED, "() x", 4) | {"()()", "x"}
    assert _members(constraint, "() x", 4) == expected
    assert {" ()", "( )"} <= expected
    assert not {" x", "x ", "() ()"} & expected


def test_greedy_grammars_are_united_and_intersected_as_they_are():
    """Parts with a lexer of their own keep it: the longest lexeme is sought among the terminals of their grammar."""
    alphabet = ["".join(letters) for n in range(5) for letters in product("ab.", repeat=n)]
    alone = {text for text in alphabet if member(LONGEST.to_grammar(), text)}
    assert {"ab", "aab."} & alone == {"aab."} and alone < {text for text in alphabet if member(CUT.to_grammar(), text)}
    for constraint, expected in (
        (LONGEST | regex("b+"), alone | {text for text in alphabet if text and not text.strip("b")}),
        (LONGEST & regex(".{0,3}"), {text for text in alone if len(text) < 4}),
        (regex("[^.]*") & LONGEST, {text for text in alone if "." not in text}),
    ):
        assert {text for text in alphabet if constraint.accepts(text)} == expected
    part = seq("b", LONGEST & regex(".{0,3}"))
    assert {text for text in alphabet if part.accepts(text)} == {f"b{one}" for one in alone if len(one) < 4} & {
        *alphabet
    }
    regular = grammar("start: A\nA: /a+/", lexer="greedy") | NESTED
    assert _members(regular, "a()", 2) == {"a", "aa", "()"}


def test_greedy_grammars_are_parts():
    """The texts of a sequence are those of its parts, one after another, wherever a part may end."""
    alphabet = ["".join(letters) for n in range(6) for letters in product("ab.", repeat=n)]
    alone = {text for text in alphabet if member(LONGEST.to_grammar(), text)}
    sequence, copies = seq(regex("a*"), LONGEST, "b"), many(LONGEST, separator=".")
    written = {"a" * n + text + "b" for n in range(4) for text in alone}
    assert {text for text in alphabet if sequence.accepts(text)} == written & {*alphabet}
    listed = {"", *alone, *(f"{one}.{two}" for one in alone for two in alone)}
    three = {f"{one}.{rest}" for one in alone for rest in listed if rest}
    assert {text for text in alphabet if copies.accepts(text)} == (listed | three) & {*alphabet}
    beginnings = {text[:n] for text in written for n in range(len(text) + 1)}
    for text in alphabet:
        viable = byte_matcher(sequence).advance_bytes(text.encode())
        assert viable == (text in beginnings) or len(text) > 3, text


def test_a_recursive_grammar_and_a_regular_language():
    for both in (NESTED & regex(".{4}"), regex(".{4}") & NESTED, (NESTED | regex("a")) & regex(".{4}")):
        assert _members(both, "()a", 5) == {"(())"}
    with pytest.raises(GrammarError, match="both are recursive"):
        NESTED & SPACED


def test_hooks_come_first():
    class Special(Constraint):
        def _intersect(self, other):
            return choices(["both"]) if isinstance(other, type(regex("a"))) else NotImplemented

        def _unite(self, other):
            return choices(["either"])

        def _build(self):
            return NESTED.to_grammar()

    assert Special() & regex("a") == regex("a") & Special() == choices(["both"])
    assert Special() | regex("a") == regex("a") | Special() == choices(["either"])
    assert _members(Special() & choices(["()", "a"]), "()a", 3) == {"()"}
    with pytest.raises(TypeError):
        regex("a") & "a"
    with pytest.raises(TypeError):
        regex("a") | None


def test_what_is_left_to_check_in_a_union():
    class Picky(Constraint):
        residual = True

        def residual_fault(self, text):
            return "too picky"

        def _build(self):
            return NESTED.to_grammar()

    assert (Picky() | regex("a")).residual_fault("a") is None
    assert (Picky() | regex("a")).residual_fault("()") == "too picky"
    assert (Picky() | NESTED).residual_fault("()") is None


def test_what_no_text_fulfils():
    with pytest.raises(UnsatisfiableError) as caught:
        (regex("a+") & choices(["b", "ab"])).to_grammar()
    assert str(caught.value) == ("no text fulfils regex('a+') & choices(['b', 'ab'])\n  fix: relax one of its parts")
    with pytest.raises(UnsatisfiableError, match=r"^no text fulfils regex\('a\(\?!b\)b'\)"):
        regex("a(?!b)b").to_grammar()
    assert _members(regex("a(?!b)b") | NESTED, "ab()", 2) == {"()"}
    assert _members(regex("a(?!b)b") | regex("a"), "ab", 2) == {"a"}
    with pytest.raises(UnsatisfiableError) as caught:
        choices([])
    assert str(caught.value) == "choices needs at least one option: no text is one of none\n  fix: give an option"


@pytest.mark.parametrize(
    "make, error, message",
    [
        (
            lambda: choices("red"),
            GrammarError,
            "choices need a list of texts, not one text: 'red'\n  fix: write choices([text])",
        ),
        (
            lambda: choices(["red", 3]),
            GrammarError,
            "choice 1 is not a str but int: 3\n  fix: convert it with str() or json.dumps()",
        ),
        (
            lambda: choices(["\ud83d"]),
            GrammarError,
            "choice 0 has a lone surrogate: '\\ud83d'\n  fix: it is not text: remove it",
        ),
        (
            lambda: regex(b"a"),
            RegexError,
            "a pattern is a str or a compiled pattern of str, not bytes: b'a'\n  fix: pass the pattern as text",
        ),
    ],
)
def test_faults(make, error, message):
    with pytest.raises(error) as caught:
        make()
    assert str(caught.value) == message


def test_a_bad_pattern_is_found_at_once():
    with pytest.raises(RegexError, match="unterminated character set"):
        regex("a[")


def test_a_regular_source_is_one_terminal():
    made = regex("a|b").to_grammar()
    assert isinstance(made, Grammar)
    [[terminal]] = made.start.expand()
    assert terminal.node == syntax.chars([(97, 98)]) or sorted(t for t in texts("ab", 2) if member(made, t)) == [
        "a",
        "b",
    ]
