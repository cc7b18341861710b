"""Texts that are members, opened and set again in random orders; and masks from left to right beside the engine's."""

from __future__ import annotations

import random

import numpy as np
import pytest

from constrain import collection
from constrain.gaps.pattern import Layer
from constrain.gaps.projection import gap_language
from constrain.gaps.solution import GapLanguage, Solution
from constrain.languages.grammar_text.text import grammar
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.derived.members import byte_matcher
from constrain.papers.diffusion.canvas import Canvas
from constrain.papers.diffusion.token_classes import TokenClasses
from small_grammars import JSON, STATEMENTS

TEXTS = {
    "json": ['{"a": [1, -2.5e3, true], "b\\n": {}}', '[[], "x", null]'],
    "arithmetic": ["(1 + 2) * 3 - 4 / (5)", "-(-7)"],
    "sql": ["SELECT a, b FROM t WHERE a > 1 AND b = 'x'"],
    "c": ["int f(int a) { return a + 1; }"],
    "javascript": ["let a = [1, 2].map(x => x + 1);"],
    "smiles": ["CC(=O)Oc1ccccc1C(=O)O"],
    "graphql": ["{ user(id: 4) { name, age } }"],
    "csv": ["a,b\n1,2\n"],
}
BYTES = Vocabulary.of_bytes()


def replay(name: str, text: str, seed: int, every: int) -> None:
    """Every token of the text is accepted, in random order; one that the canvas refused stays refused."""
    constraint = collection.load(name)
    assert byte_matcher(constraint).advance_bytes(text.encode()), text
    language = gap_language(constraint.as_dynamic())
    rng = random.Random(seed)
    wanted = list(text.encode())
    canvas = Canvas(language, BYTES, [None] * len(wanted), _classes(language))
    order = rng.sample(range(len(wanted)), len(wanted))
    refused: dict[int, np.ndarray] = {}
    for number, position in enumerate(order):
        assert canvas.allows({position: wanted[position]}), (text, order[: number + 1])
        if number % every == 0:
            mask = canvas.mask(position)
            assert mask[wanted[position]]
            others = order[number + 1 : number + 2]
            for place in others:
                seen = ~canvas.mask(place)
                assert not (refused.get(place, False) & ~seen).any(), "what was refused is allowed again"
                refused[place] = seen
        canvas.set({position: wanted[position]})
    assert canvas.text.decode() == text


_made: dict[GapLanguage, TokenClasses] = {}  # by identity


def _classes(language: GapLanguage) -> TokenClasses:
    if language not in _made:
        _made[language] = TokenClasses(language, BYTES)
    return _made[language]


@pytest.mark.parametrize("name", ["json", "arithmetic", "smiles", "csv"])
def test_replay(name):
    for number, text in enumerate(TEXTS[name]):
        replay(name, text, number, every=6)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TEXTS))
def test_replay_in_more_orders(name):
    for number, text in enumerate(TEXTS[name]):
        replay(name, text, 10 + number, every=8)


@pytest.mark.parametrize(
    ("text", "members"),
    [(JSON, ['{"a": [1, -2.5], "b": {}}', " [true]"]), (STATEMENTS, ["let ab = 1.5 + (x); if a then f(1);"])],
)
def test_from_left_to_right(text, members):
    """With all before it set and any text behind it, a position has the mask of the engine."""
    constraint = grammar(text)
    language = GapLanguage(constraint.as_dynamic())
    words = [language.lexer.class_word(bytes([byte])) for byte in range(256)]
    distinct = list(dict.fromkeys(words))
    for member in members:
        matcher = byte_matcher(constraint)
        for at, byte in enumerate(member.encode()):
            pattern = language.pattern()
            pattern.text(member.encode()[:at])
            ends = pattern.token(Layer.trie(distinct))
            pattern.anything()
            live = Solution(language, pattern).live_arcs()
            alive = {distinct[number] for number, arcs in ends.items() if live[arcs].any()}
            allowed = {byte for byte in range(256) if words[byte] in alive}
            assert allowed == {token for token in range(256) if matcher.allows(token)}, member[:at]
            assert matcher.advance(byte)
