"""Budgets: every text that masks allow is closed in time, and nothing is refused that the bound allows."""

import json
import random

import numpy as np
import pytest

import constrain
import vocabularies
from constrain.errors import ConstrainError, LimitError
from constrain.languages.automata.syntax import literal
from constrain.languages.cfg.rules import Grammar, Nonterminal, Terminal
from constrain.languages.vocab.bits import tokens_of
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.limits import Limits
from constrain.masks.completion.length_budget import BudgetError, LengthBudget
from constrain.masks.completion.spellings import NEVER, Spellings
from constrain.masks.engine import compile_bytewise
from handmade import Made
from small_grammars import JSON, STATEMENTS, random_grammar
from work import Looks

AB = Vocabulary([b"a", b"b", b"ab", b"bba", b"aaaa", None, None], eos_ids=[6])


def allowed(matcher, vocabulary) -> list[int]:
    row = np.zeros(vocabulary.words, np.uint32)
    matcher.fill_mask(row)
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()


def all_texts(matcher, vocabulary, depth: int):
    """(tokens, finished) of everything that masks allow in at most `depth` tokens."""
    found = [([], False)]
    if depth == 0:
        return found
    for token in allowed(matcher, vocabulary):
        if token in vocabulary.eos_ids:
            found.append(([token], True))
            continue
        assert matcher.advance(token)
        found += [([token, *rest], done) for rest, done in all_texts(matcher, vocabulary, depth - 1)]
        matcher.rollback(1)
    return found


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("least, lexer", [(0, "dynamic"), (3, "dynamic"), (0, "greedy")])
def test_every_text_is_closed_in_time(seed, least, lexer):
    """Random grammars: from every place that masks lead to, some token goes on or the text has ended; each text that
    ends is one of the language."""
    constraint = Made(random_grammar(random.Random(seed), lexer=lexer))
    compiled = compile_bytewise(constraint, AB)
    budget = LengthBudget(compiled)
    for most in (1, 2, 4, 5):
        if budget.matcher().needs() > most:
            with pytest.raises(ConstrainError, match=r"too small|no completion"):
                budget.matcher(least, most)
            continue
        matcher = budget.matcher(least, most)
        reached = all_texts(matcher, AB, most)
        beginnings = {tuple(tokens) for tokens, _ in reached}
        for tokens, done in reached:
            start = tuple(tokens)
            assert done or any(longer[:-1] == start for longer in beginnings)
            assert len(tokens) <= most
            if done and len(tokens) < least:  # only where nothing else could follow in time
                again = budget.matcher(0, most)
                assert all(again.advance(token) for token in tokens[:-1])
                assert allowed(again, AB) == [6]
        if not least:
            plain = {tuple(tokens) for tokens, done in all_texts(compiled.matcher(), AB, most) if done}
            assert {tuple(tokens) for tokens, done in reached if done} <= plain


@pytest.mark.parametrize("seed", range(30))
def test_masks_and_single_tokens_agree(seed):
    rng = random.Random(seed)
    constraints = [constrain.grammar(JSON), constrain.grammar(STATEMENTS, lexer="greedy"), constrain.json_schema(True)]
    constraint = constraints[seed % 3]
    vocabulary = vocabularies.tiny()
    budget = LengthBudget(compile_bytewise(constraint, vocabulary))
    matcher = budget.matcher(rng.choice([0, 5]), 24)
    while True:
        tokens = allowed(matcher, vocabulary)
        assert tokens
        assert tokens == [token for token in range(vocabulary.size) if matcher.allows(token)]
        assert matcher.needs() == matcher.needs() == matcher.inner.locked(budget.to_end.needs)  # the second is kept
        if budget.guarded is None and matcher.taken + 1 >= matcher.least:  # also where nothing need be refused
            row = np.zeros(vocabulary.words, np.uint32)
            matcher._write_in_time(row, matcher.left)
            assert tokens == list(tokens_of(row))
        token = rng.choice(tokens)
        assert matcher.advance(token)
        if token in vocabulary.eos_ids:
            break
    assert matcher.taken <= 24
    assert compiled_matcher(budget.compiled, matcher.inner.text.decode()).is_accepting()


@pytest.mark.parametrize("name", ["sentencepiece32k", "tekken"])
def test_counts_of_groups_are_those_of_single_tokens(name):
    """`TokensToEnd.after`, which decides most tokens at once, against reading each token."""
    vocabulary = getattr(vocabularies, name)()
    compiled = compile_bytewise(constrain.grammar(JSON), vocabulary)
    budget = LengthBudget(compiled)
    rng = random.Random(0)
    for text in ('{"a', '{"', "[1", "", '["é', '["\\'):
        matcher = budget.matcher()
        matcher.inner.advance_bytes(text.encode())
        counts = matcher.inner.locked(budget.to_end.after)
        mask = set(allowed(compiled_matcher(compiled, text), vocabulary)) - set(vocabulary.eos_ids)
        assert set(np.flatnonzero(counts < NEVER).tolist()) == mask
        assert matcher.inner.locked(budget.to_end.latest) == max(counts[sorted(mask)])
        odd = [token for token in mask if not vocabulary.tokens[token].isascii()]
        for token in {*rng.sample(sorted(mask), min(150, len(mask))), *rng.sample(odd, min(150, len(odd)))}:
            after = matcher.fork()
            assert after.inner.advance(token)
            assert after.needs() == counts[token], vocabulary.tokens[token]


def compiled_matcher(compiled, text):
    matcher = compiled.matcher()
    matcher.advance_bytes(text.encode())
    return matcher


def test_fewest_tokens():
    spellings = Spellings.of(AB)
    texts = [b"", b"ab", b"abba", b"aaaaa", b"bbab", b"ac"]
    assert [spellings.fewest(text) for text in texts] == [0, 1, 2, 2, 2, NEVER]


def test_budgets_that_cannot_be_met():
    compiled = compile_bytewise(constrain.json_schema({"enum": ["aaaaaaaaaa"]}), vocabularies.tiny())
    with pytest.raises(ConstrainError, match=r"12 tokens is too small: the shortest text, '\"aaaaaaaaaa\"', takes 13"):
        LengthBudget(compiled).matcher(most=12)
    matcher = LengthBudget(compiled).matcher(most=13)
    assert not matcher.is_accepting()
    unspelled = compile_bytewise(constrain.regex("a|b"), Vocabulary([b"b?", b"a?", b"c", None], eos_ids=[3]))
    with pytest.raises(ConstrainError, match="can spell"):
        LengthBudget(unspelled).matcher(most=9)


def endless(n: int, last: int | None) -> Nonterminal:
    """b* a, with a rule for each b; ends may only begin after `last` of them."""
    a, b = Terminal(literal("a")), Terminal(literal("b"))

    def expand() -> list[list[Nonterminal | Terminal]]:
        return [[b, endless(n + 1, last)], *([[a]] if last is None or n >= last else [])]

    return Nonterminal(f"n{n}", expand, key=("endless", n, last))


def test_endlessly_many_rules(monkeypatch):
    """The rules nearest to the start are enough if they have an end; else more are looked at, up to a limit."""
    monkeypatch.setattr("constrain.masks.completion.shortest.ENOUGH", 20)
    monkeypatch.setattr("constrain.masks.completion.shortest.LIMIT", 100)
    budget = LengthBudget(compile_bytewise(Made(Grammar(endless(0, None))), AB))
    matcher = budget.matcher(most=90)
    while not matcher.is_accepting():
        tokens = allowed(matcher, AB)
        assert matcher.advance(1 if 1 in tokens else tokens[0])  # b as long as it goes
    assert matcher.taken == 89
    assert LengthBudget(compile_bytewise(Made(Grammar(endless(0, 60))), AB)).matcher().needs() == 60  # 58 b, bba, EOS
    with pytest.raises(LimitError, match="no text within 100 rules"):
        LengthBudget(compile_bytewise(Made(Grammar(endless(0, 1000))), AB))


def test_any_order_of_many_required_properties():
    """A text ends 14 rules deep, among 2^14; those nearest to the start have no end."""
    properties = {f"p{i}": {"type": "integer"} for i in range(14)}
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    constraint = constrain.json_schema(schema, property_order="any")
    budget = LengthBudget(constrain.compile(constraint, Vocabulary.of_bytes()))
    shortest = budget.shortest()
    assert json.loads(shortest) == dict.fromkeys(properties, 0)
    assert budget.matcher(most=len(shortest) + 1).needs() == len(shortest) + 1
    with pytest.raises(BudgetError, match=f"takes {len(shortest) + 1}"):
        budget.matcher(most=len(shortest))


def test_the_search_for_the_shortest_text_has_limits(monkeypatch):
    compiled = compile_bytewise(Made(Grammar(endless(0, 20_000))), AB)
    with pytest.raises(LimitError, match="cancelled"), Limits(None, None, Looks(3)):
        LengthBudget(compiled)
    monkeypatch.setattr(compiled.automaton.memory, "limits", Limits(None, None, steps=1000))
    with pytest.raises(LimitError, match="looking for the shortest text takes more than 1000 steps"):
        LengthBudget(compiled)


def test_a_text_that_begins_inside_an_object():
    """The members of the object were reached one by one before the rules of an object are made in bulk."""
    members = {"a": {"enum": [1, 0]}, "t": {"type": "string", "format": "date-time"}, "reason": {"type": "string"}}
    items = {"type": "object", "properties": {**members, "m": {"type": "number"}, "n": {"type": "number"}}}
    schema = constrain.json_schema({"type": "array", "items": items})
    whole = '[{"a": 1, "t": "2022-01-01T12:00:00Z", "reason": "none", "m": 10, "n": 5}, {"a": 0}]'
    begin, end = whole.index("00:00Z"), whole.index("ason")
    gap = constrain.between(schema, prefix=whole[:begin], suffix=whole[end:])
    vocabulary = Vocabulary.of_bytes()
    budget = LengthBudget(constrain.compile(gap, vocabulary))
    for seed in range(3):
        rng, matcher = random.Random(seed), budget.matcher(most=60)
        while not matcher.is_finished():
            assert matcher.advance(rng.choice(allowed(matcher, vocabulary)))
        text = whole[:begin] + matcher.inner.text.decode() + whole[end:]
        assert compiled_matcher(constrain.compile(schema, vocabulary), text).is_accepting(), text
