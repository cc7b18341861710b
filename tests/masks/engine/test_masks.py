"""Masks on real vocabularies: for every token id, the mask's bit == what the plain oracle says == `allows`.

Each text of a constraint is cut at some places (`|`); the pieces before a cut are the prefixes. Which vocabulary a cut
is tried on goes around: most on the 32k one, so that the 131k ones, where one pair takes a second, get a share of each
constraint; cuts marked `¦`, in states where much of the vocabulary is allowed, are tried on all three.
"""

import functools
import random
from typing import Any, NamedTuple

import numpy as np
import pytest
from engine_cases import allowed, ids_of, mask_of

import constrain
import vocabularies
from constrain.languages.automata import syntax
from constrain.languages.automata.syntax import json_string, literal, literals
from constrain.languages.cfg.rules import Grammar, Nonterminal, Terminal
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.regular import Regular
from constrain.languages.vocab.vocabulary import Vocabulary
from handmade import Made
from reading_oracle import oracle, reading
from small_grammars import JSON
from tables import table

TABLE = table("mask_words")

NAMES = ["sentencepiece32k", "tekken", "llama3"]
ASKED = 4000  # ids that `allows` is asked of one by one; at the first place of a constraint all are
TURN = ["sentencepiece32k"] * 6 + ["tekken", "llama3"]

ARITHMETIC = r"""
start: start "+" product | start "-" product | product
product: product "*" atom | atom
atom: /[0-9]+(\.[0-9]+)?/ | "(" start ")" | "-" atom | /[a-z]{1,3}/
"""
PARENTHESES = """
start: "(" start ")" start | "[" start "]" start |
"""
SPACED = r"""
start: entry+
entry: KEY "=" (NUMBER | NAME | "[" NUMBER ("," NUMBER)* "]") ";"
KEY: /[A-Z][A-Z_]*/
NAME: /[a-z]+/
NUMBER: /[0-9]+/
%ignore " "
%ignore "\n"
"""
GBNF = r"""
root ::= "move " (piece "x"? square | "O-O" "-O"?) check? "\n" root?
piece ::= [KQRBN]?
square ::= [a-h] [1-8]
check ::= [+#]
"""
NOT_LONGEST = 'start: A "b" | "foo" "bar" | "foob" "az"\nA: /a+b?/\n'  # the longest lexeme is the wrong one
LISTS = 'start: "[" items "]"\nitems: item "," items | item\nitem: "null" | "nu" | start\n'


def _additional_key() -> Constraint:
    """An object whose key is any string but two, as a schema makes it."""
    keys = ["name", "näme"]
    declared = [Terminal(json_string(literal(key)), key) for key in keys]
    other = Terminal(json_string(syntax.ANY_TEXT), "other key", excluding=frozenset(declared))
    colon, number, open_, close = (Terminal(literal(text)) for text in (":", "0", "{", "}"))
    text = Terminal(json_string(syntax.repeat(syntax.ANY_CHAR, 0, 3)), "text")
    start = Nonterminal(
        "start", lambda: [[open_, other, colon, number, close], [open_, declared[0], colon, text, close]]
    )
    return Made(Grammar(start))


class Case(NamedTuple):
    """constraint: what is compiled. texts: with cuts."""

    constraint: Constraint
    texts: list[str]


CASES = {
    "boolean": Case(constrain.choices(["true", "false"]), ["|t|r|ue|", "fa|ls|e"]),
    "shared beginnings": Case(constrain.choices(["a", "an", "and", "andes", "über", "übel"]), ["|a|n|d|e|s|", "üb|e|"]),
    "number": Case(constrain.regex(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?"), ["|-|1|2|.|5|e|-|7|", "0|"]),
    "date": Case(constrain.regex(r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"), ["|1|999|-|1|2|-|3|1|"]),
    "address": Case(constrain.regex(r"[a-z0-9._]+@[a-z]+(\.[a-z]{2,3})+"), ["|jo|.|@|exa|mple|.|c|om|"]),
    "counter": Case(
        constrain.regex(r"(ab|c){2,5}x{0,30}"),
        ["|a|b|c|x|xxxx|", "ababababab|", "cc|cc|c|xxxxxxxxxxxxxxxxxxxxxxxxxxxx|x|x|"],
    ),
    "no aa": Case(
        constrain.regex(r"[ab]*c") & Regular(syntax.complement(constrain.regex(r".*aa.*").node)), ["|a|b|bb|c|"]
    ),
    "not a word": Case(
        Regular(syntax.difference(constrain.regex(r"[a-z]{1,6}").node, literals(["the", "of"]))), ["|t|th|", "¦the|n|"]
    ),
    "any twenty": Case(constrain.regex(r".{0,20}"), ["¦abc|def ghi jkl m|n o|p|", "q" * 20 + "|"]),
    "a word": Case(constrain.regex(r"\w+;"), ["¦Stra|ße|;|"]),
    "greek": Case(constrain.regex(r"[α-ω]+( [α-ω]+)*"), ["|α|βγ| |δ|"]),
    "scripts": Case(constrain.regex(r"[一-龥]{1,4}|[😀-😏]+|é+"), ["|一|丁|", "😀|", "é|é|"]),
    "string": Case(
        Regular(json_string(syntax.ANY_TEXT)), ['|"¦some text, then| ü|\\|n\\u|0|0|6|1|\\ud83d|\\|ude00|"|']
    ),
    "short string": Case(Regular(json_string(syntax.repeat(syntax.ANY_CHAR, 2, 8))), ['"|a¦b|cdefg|h|"|']),
    "pattern": Case(Regular(json_string(constrain.regex(r"[A-Za-z_][A-Za-z0-9_]*").node)), ['|"¦Ab_|\\u00|62|9|"|']),
    "additional key": Case(_additional_key(), ['|{|"¦na|m|e|"|:|"|ab|c|"|}|', '{"nä|me|x|"|:|0|}', '{"na\\u006|d|e|']),
    "not the longest": Case(constrain.grammar(NOT_LONGEST), ["|a|a|b|b|", "f|oo|b|a|r|", "fooba|z"]),
    "arithmetic": Case(constrain.grammar(ARITHMETIC), ["|(|1|2|.|5|+|x|)|*|-|ab|", "-|-|(|", "0.|5|"]),
    "parentheses": Case(constrain.grammar(PARENTHESES), ["|(|(|[|]|)|)|", "[[|]|[|]]|"]),
    "lists": Case(constrain.grammar(LISTS), ["|[|n|u|ll|,|[|nu|]|,|", "[nu|ll|]|"]),
    "json": Case(
        constrain.grammar(JSON), ['|{|"k|":| |[|1|,|tr|ue|,| "|a|b"|]|,|"|', "[[|nul|l|, |{|}|]|]|", "-|1|2|.|5|e|"]
    ),
    "spaced": Case(constrain.grammar(SPACED), ["|AB| |=| |1|2|;|\n| X|=|[|1|,| 2|]|;|", "A|_|=|x|y|;|"]),
    "gbnf": Case(constrain.grammar(GBNF, format="gbnf"), ["|mo|ve |N|x|e|4|+|\n|", "move O|-O|-|O|\nmove |e|4|"]),
}


def cuts(case: Case, number: int) -> dict[str, list[str]]:
    """The prefixes of a case, by the name of the vocabulary that they are tried on."""
    found: dict[str, list[str]] = {name: [] for name in NAMES}
    turn = number
    for text in case.texts:
        for end, mark in enumerate(text):
            if mark in "|¦":
                prefix = text[:end].replace("|", "").replace("¦", "")
                for name in NAMES if mark == "¦" else [TURN[turn % len(TURN)]]:
                    found[name].append(prefix)
                turn += mark == "|"
    return found


PREFIXES = {name: cuts(case, 3 * number) for number, (name, case) in enumerate(CASES.items())}


def test_there_are_enough_pairs():
    counts = {name: sum(len(each[name]) for each in PREFIXES.values()) for name in NAMES}
    assert sum(counts.values()) >= 200
    assert min(counts.values()) >= 20


@pytest.fixture(scope="module")
def real(request):
    """(name, vocabulary, the same for the oracle); one vocabulary at a time."""
    return request.param, getattr(vocabularies, request.param)(), tree_of(request.param)


@functools.lru_cache(1)
def tree_of(name: str) -> reading.Vocabulary:
    vocabulary = getattr(vocabularies, name)()
    return reading.Vocabulary(vocabulary.tokens, vocabulary.eos_ids)


def oracle_of(constraint: Constraint) -> reading.Language:
    return oracle(constraint.to_grammar() if constraint.node is None else constraint.node)


TURNS = [(name, case) for name in NAMES for case in CASES if PREFIXES[case][name]]


@pytest.mark.parametrize("real,case", TURNS, indirect=["real"])
def test_every_token(real, case):
    name, vocabulary, tree = real
    prefixes = PREFIXES[case][name]
    compiled, reader = constrain.compile(CASES[case].constraint, vocabulary), oracle_of(CASES[case].constraint)
    specials = {i for i, token in enumerate(vocabulary.tokens) if not token} - set(vocabulary.eos_ids)
    for prefix in prefixes:
        matcher = compiled.matcher()
        assert matcher.advance_bytes(prefix.encode()), prefix
        mask, expected = mask_of(matcher), reading.mask(reader, reader.read(prefix.encode()), tree)
        assert _shown(mask ^ expected, mask, vocabulary) == [], prefix
        ids = range(vocabulary.size)
        asked = {*(ids if prefix is prefixes[0] else random.Random(prefix).sample(ids, ASKED)), *vocabulary.eos_ids}
        assert _shown(set(filter(matcher.allows, asked)) ^ (mask & asked), mask, vocabulary) == [], prefix
        assert set(vocabulary.eos_ids) & mask == (set(vocabulary.eos_ids) if matcher.is_accepting() else set())
        assert not mask & specials


def _shown(ids: set[int], mask: set[int], vocabulary: Any) -> list[Any]:
    """At most ten tokens at fault: (id, bytes, is it in the mask)."""
    return [(i, vocabulary.tokens[i], i in mask) for i in sorted(ids)[:10]]


UNFINISHED = ["caf\xc3", "x\xf0\x9f", "\xe2\x86"]  # bytes, one a character


@pytest.mark.parametrize("prefix", UNFINISHED)
@pytest.mark.parametrize("pattern", [r".{0,20}", r"\w+", r"[x→]+", r"(café|x😀|→)!"])
def test_within_a_character(pattern, prefix):
    """After a token that ends within a character."""
    vocabulary = vocabularies.sentencepiece32k()
    constraint, text = constrain.regex(pattern), prefix.encode("latin-1")
    matcher, asked = constrain.compile(constraint, vocabulary).matcher(), oracle_of(constraint)
    expected = reading.mask(asked, asked.read(text), tree_of("sentencepiece32k"))
    assert matcher.advance_bytes(text) == bool(expected)
    if expected:
        assert mask_of(matcher) == allowed(matcher) == expected


CLASSES = TABLE["classes"]
COUNTS = ["", "*", "+", "?", "{2}", "{0,3}", "{1,7}", "{3,40}", "{0,1000}"]


def random_pattern(rng: random.Random, depth: int = 2) -> str:
    """Classes of characters as texts are made of, counted, beside, after and inside each other."""
    if depth == 0 or rng.randrange(3) == 0:
        return rng.choice(CLASSES) + rng.choice(COUNTS)
    one, other = random_pattern(rng, depth - 1), random_pattern(rng, depth - 1)
    return [f"{one}{other}", f"({one}|{other})", f"({one}){rng.choice(COUNTS[:6])}{other}"][rng.randrange(3)]


@pytest.fixture(scope="module")
def third() -> Vocabulary:
    """Every third token of the 32k vocabulary, and all bytes."""
    vocabulary = vocabularies.sentencepiece32k()
    return Vocabulary(
        [*vocabulary.tokens[3:259], *vocabulary.tokens[259::3], None], [256 + len(vocabulary.tokens[259::3])]
    )


@pytest.mark.parametrize("seed", range(8))
def test_random_classes(third, seed):
    """Large classes with counters, where most of the vocabulary is admitted at once; some masks by the oracle too."""
    rng, tree = random.Random(seed), reading.Vocabulary(third.tokens, third.eos_ids)
    automaton = constrain.TokenAutomaton(third)
    for number in range(10):
        pattern = random_pattern(rng)
        constraint = constrain.regex(pattern)
        matcher = constrain.compile(constraint, third, automaton=automaton).matcher()
        for step in range(3):
            mask = mask_of(matcher)
            assert mask == allowed(matcher), (pattern, matcher)
            if number == 0 and step == 1:
                asked = oracle_of(constraint)
                assert mask == reading.mask(asked, asked.read(matcher.text), tree), (pattern, matcher)
            tokens = sorted(mask - set(third.eos_ids))
            if not tokens:
                break
            assert matcher.advance(rng.choice(tokens))


SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 12},
        "age": {"type": "integer", "minimum": 0, "maximum": 130},
        "tags": {"type": "array", "items": {"enum": ["red", "green"]}, "maxItems": 3},
        "child": {"$ref": "#"},
    },
    "required": ["name"],
    "additionalProperties": {"type": "boolean"},
}
MEMBER = '{"name": "Zoë", "age": 12, "tags": ["red", "green"], "child": {"name": "x", "b": true}, "nam": false}'


@pytest.mark.parametrize("options", [{}, {"property_order": "any"}, {"whitespace": "any"}], ids=str)
def test_schemas(options):
    """Masks equal `allows` along a valid text, and its own tokens are in them."""
    vocabulary = vocabularies.sentencepiece32k()
    matcher = constrain.compile(constrain.json_schema(SCHEMA, **options), vocabulary).matcher()
    by_bytes = {token: i for i, token in enumerate(vocabulary.tokens) if token}
    text, step = MEMBER.encode(), 0
    while text:
        step += 1
        mask = mask_of(matcher)
        if step % 4 == 0:
            assert mask == allowed(matcher), matcher
        token = next(by_bytes[text[:n]] for n in range(min(len(text), 6), 0, -1) if text[:n] in by_bytes)
        assert token in mask
        assert matcher.advance(token)
        text = text[len(vocabulary.tokens[token]) :]
    assert mask_of(matcher) == allowed(matcher)
    assert matcher.is_accepting()


def test_rows_of_a_batch():
    """`fill_masks` equals `fill_mask` row by row: cold and warm, finished matchers, wide rows, int32 rows."""
    vocabulary = vocabularies.sentencepiece32k()
    texts = ["", '{"', '{"a": [1, 2', '{"a": "b', "[]", "12", '[{"k":']
    constraint = constrain.compile(constrain.grammar(JSON), vocabulary, automaton=constrain.TokenAutomaton(vocabulary))
    matchers = [constraint.matcher() for _ in texts]
    for matcher, text in zip(matchers, texts, strict=True):
        assert matcher.advance_bytes(text.encode())
    matchers.append(matchers[4].fork())
    assert matchers[-1].advance(vocabulary.eos_ids[0])
    for out in (np.full((8, vocabulary.words), 7, np.uint32), np.full((8, vocabulary.words + 3), -1, np.int32)):
        constrain.fill_masks(matchers, out)
        assert [ids_of(row) for row in out] == [mask_of(matcher) for matcher in matchers]
    assert mask_of(matchers[-1]) == set()
    constrain.fill_masks([], np.zeros((0, vocabulary.words), np.uint32))
