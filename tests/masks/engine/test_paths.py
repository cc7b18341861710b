"""The configuration after a text does not depend on how the text was cut, nor on which steps were known before."""

from __future__ import annotations

import random

import pytest
from engine_cases import small_vocabulary

import constrain
from constrain.masks.engine import TokenAutomaton, compile_bytewise
from handmade import Made
from small_grammars import random_grammar

VOCABULARY = small_vocabulary("ab", ["aa", "ab", "ba", "bb", "aba", "abb", "bab", "baab", "abab", "bbbb"])


@pytest.mark.parametrize("block", range(4))
def test_tokens_and_bytes_lead_to_the_same_configuration(block: int) -> None:
    """A token leaps over the configurations within it at first, and walks them when it meets the last one again."""
    automaton = TokenAutomaton(VOCABULARY)
    rng = random.Random(block)
    leaps = 0
    for seed in range(block * 50, block * 50 + 50):
        grammar = random_grammar(random.Random(seed), "ab", "dynamic")
        compiled = compile_bytewise(Made(grammar), VOCABULARY, automaton=automaton)
        for _ in range(6):
            by_tokens, text = compiled.matcher(), b""
            for _ in range(5):
                allowed = [t for t, token in enumerate(VOCABULARY.tokens) if token and by_tokens.allows(t)]
                if not allowed:
                    break
                token = rng.choice(allowed)
                assert by_tokens.advance(token)
                text += VOCABULARY.tokens[token] or b""
                by_bytes, again = compiled.matcher(), compiled.matcher()
                assert by_bytes.advance_bytes(text)
                assert all(again.advance_bytes(bytes([byte])) for byte in text)
                assert by_tokens.state == by_bytes.state == again.state, (seed, text)
                leaps += 1
    assert leaps > 300


@pytest.mark.parametrize("text", [b'{"a": [1, 2], "bc": "x y"}', b'{ "a" :[ 10,2 ]\n, "bc":"" }'])
def test_a_value_leads_to_one_configuration_however_it_is_cut(text: bytes) -> None:
    properties = {"a": {"type": "array", "items": {"type": "integer"}}, "bc": {"type": "string"}}
    schema = {"type": "object", "properties": properties, "required": ["a", "bc"], "additionalProperties": False}
    pieces = sorted({text[i:j] for i in range(len(text)) for j in range(i + 1, min(i + 8, len(text)) + 1)})
    vocabulary = constrain.Vocabulary([*pieces, None], eos_ids=[len(pieces)])
    compiled = compile_bytewise(constrain.json_schema(schema, spelling="any"), vocabulary)
    expected = []
    whole = compiled.matcher()
    for byte in text:
        assert whole.advance_bytes(bytes([byte]))
        expected.append(whole.state)
    rng = random.Random(5)
    for _ in range(60):
        matcher, at = compiled.matcher(), 0
        while at < len(text):
            size = rng.randrange(1, min(8, len(text) - at) + 1)
            assert matcher.advance(pieces.index(text[at : at + size]))
            at += size
            assert matcher.state == expected[at - 1]
