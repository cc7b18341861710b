"""Bounds on what a text needs: none needs more, and a limit of tokens that is further away changes no mask."""

import random

import numpy as np
import pytest

import constrain
import vocabularies
from constrain.languages.automata.syntax import (
    ANY_CHAR,
    JsonString,
    Literals,
    alternate,
    complement,
    intersect,
    literal,
    literals,
    repeat,
)
from constrain.languages.cfg.rules import Nonterminal, Terminal
from constrain.languages.cfg.transform.walk import RuleTable, alternatives_of, nearest, plainest_of
from constrain.masks.completion.farthest import UNKNOWN, farthest
from constrain.masks.completion.least import least_texts
from constrain.masks.completion.length_budget import LengthBudget
from constrain.masks.completion.spellings import NEVER, Spellings
from constrain.masks.completion.tokens_to_end import UNKNOWN as UNSPELLED
from constrain.masks.completion.tokens_to_end import TokensToEnd
from constrain.masks.derived.wanted_cuts import with_canonical
from constrain.masks.engine import compile_bytewise
from constrain.masks.engine.narrowed import fill_narrowed
from handmade import Made
from small_grammars import random_grammar

SCHEMAS = {
    "closed": {
        "type": "object",
        "properties": {"name": {"type": "string", "minLength": 2}, "age": {"type": "number"}, "is": {"enum": ["é", 7]}},
        "required": ["name", "is"],
        "additionalProperties": False,
    },
    "nested": {"type": "array", "items": {"$ref": "#"}},
    "unions": {"oneOf": [{"const": 1}, {"type": "object", "properties": {"a": {"const": "b" * 9}}, "required": ["a"]}]},
    "unique": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "minItems": 2},
    "open": {"type": "object", "additionalProperties": {"type": "boolean"}},
    "pattern": {"type": "string", "pattern": "^[a-f]{3}-[0-9]+$", "maxLength": 9},
    "counted": {"type": "string", "pattern": "^(é|ab|[0-9]{2,40}x)+$", "minLength": 3, "maxLength": 40},
    "full": {"type": "string", "pattern": "^(\U0001f600|ab)+$", "maxLength": 3},
    "mail": {"type": "string", "format": "name-email"},
    "host": {"type": "string", "format": "hostname"},
    "two": {"allOf": [{"pattern": "^[a-z]+.*[0-9]$"}, {"pattern": "foo|bar"}], "type": "string", "maxLength": 60},
    "tree": {"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"const": 1}}, "required": ["b"]},
    "deep": {
        "type": "array",
        "minItems": 2,
        "items": {"type": "array", "items": {"type": "object", "required": ["k"]}},
    },
}


def bound_of(nonterminal, tokens=()) -> tuple[int, int]:
    table = RuleTable({nonterminal: nonterminal.expand()})
    vocabulary = (
        constrain.Vocabulary.of_bytes() if not tokens else constrain.Vocabulary([*tokens, None], eos_ids=[len(tokens)])
    )
    return farthest(table, least_texts(table), Spellings.of(vocabulary))[nonterminal][:2]


def rule(*alternatives) -> Nonterminal:
    made = Nonterminal("rule", lambda: [[made if each is None else Terminal(each) for each in a] for a in alternatives])
    return made


@pytest.mark.parametrize(
    "alternatives, bound",
    [
        ([[literal("abc"), literal("de")]], (5, 5)),
        ([[literal("a")], [literal("bcd")]], (3, 3)),
        ([[literal("["), None, literal("]")], [literal("x")]], (NEVER, 3)),  # a bracket read, a bracket owed
        ([[literal("["), None, literal("]]]")], [literal("x")]], (NEVER, NEVER)),  # each round adds more than it reads
        ([[literal("a"), None], [literal("ab")]], (3, 3)),
        ([[repeat(literal("ab"), 3, 9)]], (6, 6)),
        ([[JsonString(repeat(literal("x"), 3, None), False)]], (3 + 2 + 12, 3 + 2 + 12)),
        ([[intersect(repeat(alternate(literal("a"), literal("b")), 4), complement(literal("aaaa")))]], (4, 4)),
        # A length adds nothing; but the end of the fewest characters may have the most bytes, and one be half written.
        ([[intersect(repeat(literal("ab")), repeat(ANY_CHAR, 0, 99))]], (2 + 3, 2 + 3)),
        ([[intersect(repeat(literals(["é", "ab"])), repeat(ANY_CHAR, 1, 2))]], (2 * 2 + 3, 2 * 2 + 3)),
        ([[intersect(repeat(literal("a")), repeat(ANY_CHAR, 7, 2_000))]], (7 + 3, 7 + 3)),
        ([[JsonString(intersect(repeat(literals(["é", "ab"])), repeat(ANY_CHAR, 0, 8)))]], (6 * 2 + 2 + 12,) * 2),
        ([[intersect(literal("abc"), repeat(ANY_CHAR, 0, 2))]], (NEVER, NEVER)),
    ],
)
def test_bounds(alternatives, bound):
    assert bound_of(rule(*alternatives)) == bound


def test_bytes_that_no_token_spells_are_not_needed():
    text = rule([Literals(("a", "é"))])
    assert bound_of(text) == (2, 2)
    assert bound_of(text, [bytes([byte]) for byte in range(256) if byte != 0xA9]) == (NEVER, NEVER)


def walk(matcher, vocabulary, rng, most):
    """Read up to so many random tokens; a matcher after each of them."""
    row = np.zeros(vocabulary.words, np.uint32)
    for _ in range(most):
        yield matcher
        matcher.fill_mask(row)
        tokens = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))
        if not len(tokens):
            return
        long = [token for token in tokens if len(vocabulary.tokens[token] or b"") > 1]
        if not matcher.advance(int(rng.choice(long if long and rng.random() < 0.5 else tokens))):
            return


def constraints():
    for seed in range(40):
        yield Made(random_grammar(random.Random(seed)))
    for schema in SCHEMAS.values():
        yield constrain.json_schema(schema)


@pytest.mark.parametrize("name", ["of_bytes", "tiny"])
@pytest.mark.parametrize("number, constraint", list(enumerate(constraints())))
def test_no_text_needs_more(number, constraint, name):
    vocabulary = vocabularies.tiny() if name == "tiny" else constrain.Vocabulary.of_bytes()
    compiled = compile_bytewise(constraint, vocabulary)
    to_end = TokensToEnd(compiled.automaton, compiled.rules, vocabulary)
    most, nested, _ = to_end.shortest.bound_of(compiled.rules.grammar.start)
    for seed in range(3):
        seen = []
        for matcher in walk(compiled.matcher(), vocabulary, random.Random(seed), 40):
            needed = matcher.locked(to_end.needs) - 1
            if not matcher.ended and needed < UNSPELLED and nested < NEVER:
                assert needed <= most
                seen.append((len(matcher.text), min(matcher.locked(to_end.most), nested + len(matcher.text))))
                assert needed <= seen[-1][1]
                assert all(needed <= need + len(matcher.text) - read for read, need in seen)


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_plainest_layout_has_the_least_text(name):
    start = constrain.json_schema(SCHEMAS[name]).to_grammar().start
    tables = [nearest(start, 20_000, expand=expand)[0] for expand in (alternatives_of, plainest_of)]
    assert len(tables[1]) < len(tables[0]) or start.plainest() is None
    assert len({least_texts(table)[start] for table in tables}) == 1


def test_most_schemas_have_a_bound():
    vocabulary = vocabularies.tiny()
    for name, schema in SCHEMAS.items():
        if name == "tree":  # each round adds what is required
            continue
        budget = LengthBudget(compile_bytewise(constrain.json_schema(schema), vocabulary))
        assert budget.matcher(0, 900)._spare(1) > 0, name


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("cut", [False, True], ids=["all", "forced"])
def test_masks_are_those_of_a_limit_that_is_always_asked(name, cut, tokenizer):
    vocabulary = constrain.Vocabulary.from_huggingface(tokenizer)
    compiled = constrain.compile(constrain.json_schema(SCHEMAS[name]), vocabulary)
    cuts = with_canonical(compiled, tokenizer, None)[0] if cut else None
    assert (cuts is not None) == cut
    asked = LengthBudget(compiled)
    asked.farthest, asked.asks_places = UNKNOWN, False
    for seed, most in enumerate((30, 45, 70, 110, 400, 400)):
        rng = random.Random(seed)
        matchers = [each.matcher(0, most) for each in (LengthBudget(compiled), asked)]
        if cuts is not None:
            matchers = [cuts.matcher(matcher) for matcher in matchers]
        for _ in range(most):
            one, other = (matcher.mask() for matcher in matchers)
            assert np.array_equal(one, other)
            tokens = np.flatnonzero(np.unpackbits(one.view(np.uint8), bitorder="little"))
            wrong = rng.randrange(vocabulary.size)
            assert len({matcher.allows(wrong) for matcher in matchers}) == 1
            if not len(tokens) or matchers[0].ended:
                break
            token = int(rng.choice(tokens))
            assert [matcher.advance(token) for matcher in matchers] == [True, True]
            if rng.random() < 0.1:
                assert matchers[0].fork().forced_tokens() == matchers[1].forced_tokens()
                for matcher in matchers:
                    matcher.rollback(1)


QUIET = {
    "any": True,
    "open": {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"], "additionalProperties": True},
    "unique": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
}
LOUD = {
    "items": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "minItems": 2},
    "keys": {"type": "object", "additionalProperties": {"const": 1}, "minProperties": 2},
    "inside": {"type": "object", "properties": {"a": {"type": "object", "minProperties": 2}}, "required": ["a"]},
}


@pytest.mark.parametrize("name", [*QUIET, *LOUD])
@pytest.mark.parametrize("order", ["schema", "any"])
def test_a_guard_that_is_not_asked_allows_the_end(name, order):
    vocabulary = vocabularies.tiny()
    constraint = constrain.json_schema((QUIET | LOUD)[name], property_order=order)
    budget = LengthBudget(compile_bytewise(constraint, vocabulary))
    assert budget.guarded is not None
    assert budget.is_quiet == (name in QUIET)
    for seed in range(6 if budget.is_quiet else 0):
        for matcher in walk(budget.compiled.matcher(), vocabulary, random.Random(seed), 40):
            text = matcher.locked(budget.to_end.shortest.completion)
            if not matcher.ended and not matcher.is_watched() and text is not None:
                state = budget.compiled.inner_state(matcher.guard_state())
                assert budget.guarded.guard.step(state, text) is not None, (matcher.text, text)


def test_far_from_a_limit_nothing_is_asked(monkeypatch):
    vocabulary = vocabularies.tiny()
    compiled = compile_bytewise(constrain.json_schema(SCHEMAS["closed"]), vocabulary)
    matcher = LengthBudget(compiled).matcher(0, 10_000)
    monkeypatch.setattr(TokensToEnd, "after", None)
    monkeypatch.setattr(TokensToEnd, "needs", None)
    for _ in walk(matcher, vocabulary, random.Random(1), 40):
        assert matcher.at_this_place() is matcher.inner


def test_a_batch_has_the_masks_of_its_matchers():
    vocabulary = vocabularies.tiny()
    compiled = compile_bytewise(constrain.json_schema(SCHEMAS["closed"]), vocabulary)
    budget = LengthBudget(compiled)
    matchers = [compiled.matcher(), *(budget.matcher(0, most) for most in (25, 30, 500, 600))]
    out = np.zeros((5, vocabulary.words), np.uint32)
    fill_narrowed(matchers, out)
    for matcher, row in zip(matchers, out, strict=True):
        alone = np.zeros(vocabulary.words, np.uint32)
        matcher.fill_mask(alone)
        assert np.array_equal(alone, row)
