"""Budgets where keys or items must differ: no walk along the masks ends dead, and completions are the shortest ones."""

import json
import random

import numpy as np
import pytest

import constrain
import vocabularies
from constrain import tags
from constrain.errors import ConstrainError
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.completion.length_budget import LengthBudget
from constrain.masks.engine import compile_bytewise

BIT = {"type": "integer", "minimum": 0, "maximum": 1}
KEYS = {"type": "object", "additionalProperties": BIT, "minProperties": 3}
SHORT_KEYS = KEYS | {"propertyNames": {"maxLength": 1}}
FEW_KEYS = {"type": "object", "patternProperties": {"^[ab]{0,2}$": BIT}, "additionalProperties": False}
ITEMS = {"type": "array", "items": {"enum": ["a", "b", "ab"]}, "uniqueItems": True, "minItems": 2}
NUMBERS = {"type": "array", "items": BIT | {"maximum": 12}, "uniqueItems": True, "minItems": 3}
OBJECTS = {
    "type": "array",
    "items": {"type": "object", "properties": {"f": ITEMS}, "required": ["f"], "additionalProperties": BIT},
    "uniqueItems": True,
    "minItems": 2,
}
TAG = tags.tag("<c>", constrain.json_schema(SHORT_KEYS), "</c>")
CASES = {
    "keys": constrain.json_schema(KEYS),
    "short keys": constrain.json_schema(SHORT_KEYS),
    "few keys": constrain.json_schema(FEW_KEYS | {"minProperties": 4}),
    "items": constrain.json_schema(ITEMS),
    "numbers": constrain.json_schema(NUMBERS),
    "objects": constrain.json_schema(OBJECTS),
    "objects, any order": constrain.json_schema(OBJECTS, property_order="any"),
    "objects, compact": constrain.json_schema(OBJECTS, whitespace="compact"),
    "free text with tags": tags.triggered_tags(["<c>"], [TAG], at_least_one=True),
    "a list of tags": tags.separated([TAG], ",", at_least_one=True),
}
# Whole words of the texts above, and what ends a string and begins another one.
WORDS = ['"a', 'a"', '":', '": ', '":0', '":0,"', ", ", '","', '"a"', "[[", "]]", "}]", '"]', '"]}', "],", "}, {", '"f']
WORDS += ['"f":', '{"', '{"f', "<c", "<c>", "c>{", "</c>", "}</c>", "0,", "1}", " 1", "\n ", "\n   ", "        ", "ab"]
LETTERS = [bytes((i,)) for i in range(128)]
SPELLED = sorted({*map(str.encode, WORDS), *LETTERS})
VOCABULARIES = {
    "bytes": Vocabulary([*LETTERS, None], eos_ids=[128]),
    "words": Vocabulary([*SPELLED, None], eos_ids=[len(SPELLED)]),
    "tiny": vocabularies.tiny(),
}


def allowed(matcher, vocabulary) -> list[int]:
    row = np.zeros(vocabulary.words, np.uint32)
    matcher.fill_mask(row)
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()


def least_budget(budget: LengthBudget) -> int:
    return budget.matcher().needs_allowed()


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
@pytest.mark.parametrize("case", CASES)
def test_no_walk_ends_dead(case, vocabulary):
    """Random tokens of the masks, those most often that open something; each walk ends in time in a valid text."""
    constraint, words = CASES[case], VOCABULARIES[vocabulary]
    budget = LengthBudget(compile_bytewise(constraint, words))
    least = least_budget(budget)
    with pytest.raises(ConstrainError, match=f"takes {least},"):
        budget.matcher(most=least - 1)
    for seed, more in enumerate((0, 0, 1, 2, 5, 20)):
        rng, matcher = random.Random(seed), budget.matcher(most=least + more)
        while not matcher.is_finished():
            tokens = allowed(matcher, words)
            assert tokens, (case, more, seed, matcher.inner.text)
            for token in rng.sample(range(words.size), min(words.size, 8)):
                assert matcher.allows(token) == (token in tokens)
            opening = [t for t in tokens if words.tokens[t] and set(words.tokens[t]) & set(b',"{[a')]
            token = rng.choice(opening if opening and rng.random() < 0.7 else tokens)
            assert matcher.advance(token), (case, more, seed, matcher.inner.text, words.tokens[token])
        assert matcher.taken <= least + more
        assert compile_bytewise(constraint, words).constraint.residual_fault(matcher.inner.text.decode()) is None


@pytest.mark.parametrize("case", ["keys", "short keys", "few keys", "items", "numbers", "objects, compact"])
def test_completions_are_the_shortest(case):
    """Beside a search through all texts of few letters, byte by byte, which knows no bound."""
    constraint, vocabulary = CASES[case], VOCABULARIES["bytes"]
    compiled = compile_bytewise(constraint, vocabulary)
    budget = LengthBudget(compiled)
    rng = random.Random(0)
    for length in (0, 1, 2, 4, 6, 8, 10, 14):
        matcher = budget.matcher()
        for _ in range(length):
            tokens = [token for token in allowed(matcher, vocabulary) if token in b'{}[]",:01abf']
            if not tokens or not matcher.advance(rng.choice(tokens)):
                break
        begun, found = matcher.inner.text, matcher.needs_allowed() - 1
        ends = compiled.matcher()
        assert ends.advance_bytes(begun)
        if found <= 5:
            assert found == plain_search(ends, 5), begun
        else:
            assert plain_search(ends, 4) is None, begun


def plain_search(matcher, most: int) -> int | None:
    """The fewest bytes of some letters that complete a text, up to a number; breadth first."""
    layer = [matcher]
    for length in range(most + 1):
        if any(each.is_accepting() for each in layer):
            return length
        longer = {}
        for each in layer:
            for letter in b'{}[]",:0123abcdf':
                after = each.fork()
                if after.advance(letter):
                    longer.setdefault(after.state, after)
        layer = list(longer.values())
    return None


def test_generate_closes_objects_of_any_keys():
    """A row that failed: half of the outputs ran into a dead end, and were sampled anew until none was left."""
    model = constrain.reference.load()
    outputs = constrain.generate(model, "x: ", schema=KEYS, n=8, seed=1, max_tokens=16, complete=True)
    assert [output.finish_reason for output in outputs] == ["stop"] * 8
    assert sum(output.stats.retries for output in outputs) == 0
    assert all(len(json.loads(output.text)) >= 3 for output in outputs)
