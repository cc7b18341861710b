"""Grammar ∩ regular language: every short text against both sides, no dead ends, terminals cut inside."""

import random

import pytest

import constrain
from constrain.errors import GrammarError, LimitError, UnsatisfiableError
from constrain.languages.automata import paths as paths_module
from constrain.languages.automata import syntax
from constrain.languages.automata.decide import matches
from constrain.languages.automata.parse.python import parse_python
from constrain.languages.automata.paths import Language, Paths
from constrain.languages.cfg.rules import Grammar, Nonterminal, Terminal
from constrain.languages.cfg.transform import product as product_module
from constrain.languages.cfg.transform.product import product
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.regular import Regular, regex
from constrain.languages.grammar_text.text import grammar
from reading_oracle import language, texts
from small_grammars import random_grammar, random_node

LONGEST = 5
NESTED = grammar('start: "(" start? ")" | "[" start "]"')
LIST = grammar('start: "[" (item ("," item)*)? "]"\nitem: start | WORD\nWORD: /[a-z]+/\n%ignore " "')


def check(made: Grammar, node: syntax.Node, longest: int = LONGEST) -> bool:
    """Assert that the product has the texts of both sides, and only viable prefixes; True if it has any text."""
    whole = language(made, "ab", longest)
    expected = {text for text, (is_one, _) in whole.items() if is_one and matches(node, text)}
    try:
        both = product(made, node)
    except UnsatisfiableError:
        assert not expected
        return False
    found = language(both, "ab", longest)
    assert {text for text, (is_one, _) in found.items() if is_one} == expected
    for text in texts("ab", 2):
        viable = found.get(text, (False, False))[1]
        if any(member.startswith(text) for member in expected):
            assert viable
        elif viable:  # then only longer texts can complete it
            rest = language(both, "ab", 9 if longest < 9 else longest)
            assert any(is_one and member.startswith(text) for member, (is_one, _) in rest.items())
    return True


@pytest.mark.parametrize("seed", range(60))
def test_all_short_texts(seed):
    rng = random.Random(seed)
    while not check(random_grammar(rng), random_node(rng, "ab", 2)):
        pass  # most pairs have no text in common


@pytest.mark.parametrize("seed", range(25))
def test_terminals_cut_character_by_character(seed, monkeypatch):
    """The way that is taken where a tree would be too large."""
    monkeypatch.setattr(paths_module, "LARGEST", 0)
    rng = random.Random(seed)
    while not check(random_grammar(rng), random_node(rng, "ab", 2)):
        pass  # most pairs have no text in common


@pytest.mark.parametrize("seed", range(60))
def test_paths_through_an_automaton(seed):
    """`between` and `ends` against reading every text."""
    rng = random.Random(seed)
    automaton = Paths(random_node(rng, "ab", 3))
    other = random_node(rng, "ab", 2)
    ends, complete = automaton.ends(0, Language(other))
    led = {text: after(automaton, text) for text in texts("ab", 5)}
    theirs = [text for text in texts("ab", 5) if matches(other, text)]
    assert {led[text] for text in theirs} - {-1} <= ends
    assert not complete or all(led[text] >= 0 for text in theirs)
    for target in ends:
        tree = automaton.between(0, [target])
        assert {text for text in led if matches(tree, text)} == {text for text, end in led.items() if end == target}


def after(automaton: Language, text: str) -> int:
    state = 0
    for character in text:
        steps = [end for characters, end in automaton.steps(state) if matches(characters, character)]
        if not steps:
            return -1
        [state] = steps
    return state


@pytest.mark.parametrize("pattern", ["[a-zé-日😀]", "[^a-c]", "😀|é|日|z", r"[\u0800-\uffff]", "[𝄞-😀]x"])
def test_steps_are_characters(pattern):
    node = parse_python(pattern)
    automaton = Language(node)
    for c in [*map(chr, range(0x20, 0x180)), "ࠀ", "\uffff", "日", "\ud7ff", "\ue000", "𝄞", "😀", "\U0010ffff"]:
        state = after(automaton, c)
        assert (state >= 0) == any(matches(node, c + rest) for rest in ("", "x")), c
        if state >= 0:
            assert automaton.accepts(state) == matches(node, c)


def members(constraint: Constraint, alphabet: str, length: int) -> set[str]:
    return {text for text, (is_one, _) in language(constraint.to_grammar(), alphabet, length).items() if is_one}


def test_sources():
    assert members(NESTED & regex(r"\(.*"), "()[]", 4) == {"()", "(())", "([])"} - {"([])"}
    assert members(NESTED & regex(".{4}") & regex(r"[^\[]*"), "()[]", 4) == {"(())"}
    assert members(LIST & regex(r"[^ ]{4,5}"), "[],a ", 5) >= {"[aa]", "[a,a]", "[[a]]"}
    assert members(LIST & regex(r".*a.*"), "[],a ", 4) == {text for text in members(LIST, "[],a ", 4) if "a" in text}
    assert (regex("a|b") & regex("b|c")).node is not None
    assert (NESTED & regex(".*")).node is None
    assert repr(NESTED & regex("a")).endswith("& regex('a')")
    assert NESTED & regex("a*") == NESTED & regex("a*")


def test_a_schema_and_a_pattern():
    schema = constrain.json_schema({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"$ref": "#"}}})
    both = schema & regex(r"[^ \n]{0,20}")
    compiled = constrain.compile(both, constrain.Vocabulary.of_bytes())
    for text, is_one in {
        '{"a":1}': True,
        '{"a": 1}': False,
        '{"a":1,"b":{"a":2}}': True,
        '{"a":1,"b":{"a":222}}': False,
        '{"x":1,"x":2}': False,
        '{"x":1,"y":2}': True,
    }.items():
        matcher = compiled.matcher()
        assert (matcher.advance_bytes(text.encode()) and matcher.is_accepting()) == is_one, text
    assert both.parse('{"a":1}') == {"a": 1}
    assert [*both.report[:-1]] == schema.report and both.report[-1].keyword == "(characters)"
    assert both.guarded


def test_what_has_no_text():
    with pytest.raises(UnsatisfiableError, match="no text of the grammar"):
        (NESTED & regex(r"\)+")).to_grammar()
    with pytest.raises(UnsatisfiableError, match="regular side"):
        (NESTED & regex("[^\\s\\S]")).to_grammar()


def test_what_is_refused():
    with pytest.raises(GrammarError, match="both are recursive"):
        NESTED & LIST
    with pytest.raises(LimitError, match="more than 20000 states"):
        product(NESTED.to_grammar(), parse_python(r"(?s)(.{30000})*"))


def test_endless_rules_meet_a_limit(monkeypatch):
    def endless(n: int) -> Nonterminal:
        return Nonterminal(
            f"n{n}", lambda: [[Terminal(syntax.literal("a"))], [Terminal(syntax.literal("b")), endless(n + 1)]]
        )

    monkeypatch.setattr(product_module, "LIMIT", 500)
    with pytest.raises(LimitError, match="more than 500 rules"):
        product(Grammar(endless(0)), parse_python("[ab]*"))


def test_what_the_automaton_does_not_touch_stays():
    """A part that the regular side neither stops nor tells apart is the grammar's own symbol."""
    constraint = grammar('start: "x" list\nlist: "[" list* "]"')
    made = product(constraint.to_grammar(), parse_python(r"(?s)x.*"))
    symbols = [symbol for alternative in made.start.expand() for symbol in alternative]
    original = [symbol for alternative in constraint.to_grammar().start.expand() for symbol in alternative]
    assert symbols[-1] is original[-1]
    assert isinstance(Regular(parse_python("a")).to_grammar().start, Nonterminal)
