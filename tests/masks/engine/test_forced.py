"""The bytes that must follow equal their definition: one byte may follow, and the text is not valid yet.

Random grammars at all their prefixes, and JSON Schemas at the places of random texts; each asked of an automaton that
knows little, and again of one that knows the places.
"""

import itertools
import random

import pytest
from engine_cases import small_vocabulary

import constrain
from constrain.masks.engine import Matcher, TokenAutomaton, compile_bytewise
from handmade import Made
from reading_oracle import language
from small_grammars import random_grammar

VOCABULARY = small_vocabulary("abc", ["ab", "ba"])
BYTES = constrain.Vocabulary.of_bytes()
MOST = 40  # bytes of a text that are compared
SCHEMAS = {
    "keys": {
        "properties": {"name": {"type": "string"}, "names": {"type": "null"}, "age": {"const": 12}},
        "required": ["name", "names", "age"],
        "additionalProperties": False,
    },
    "enum": {"enum": ["red", "reddish", "green", 17, None, [1, 2]]},
    "union": {"anyOf": [{"const": {"kind": "first", "x": True}}, {"const": {"kind": "fifth", "y": False}}]},
    "tuple": {"type": "array", "prefixItems": [{"const": "one"}, {"const": "one"}], "items": False, "minItems": 2},
    "pattern": {"type": "string", "pattern": "^(ab|abc)d{3}(-[0-9]{2}){2}$"},
    "number": {"type": "integer", "minimum": 99, "maximum": 101},
    "unique": {"type": "array", "items": {"enum": ["aa", "bb"]}, "minItems": 2, "uniqueItems": True},
}


def by_definition(matcher: Matcher) -> bytes:
    """The bytes that must follow, at most MOST, by trying each byte."""
    fork, text = matcher.fork(), b""
    while len(text) < MOST and not fork.is_accepting():
        following, trial = [], fork.fork()
        for byte in range(256):
            if trial.advance_bytes(bytes([byte])):  # a refused byte changes nothing
                following.append(byte)
                trial = fork.fork()
        if len(following) != 1:
            break
        text += bytes(following)
        fork.advance_bytes(text[-1:])
    return text


@pytest.mark.parametrize("block", range(4))
def test_random_grammars(block):
    automaton = TokenAutomaton(VOCABULARY)  # the rules of each grammar are new to it, in each order
    for seed in range(50 * block, 50 * block + 50):
        grammar = random_grammar(random.Random(seed), "ab", "dynamic")
        texts = [text for text, (_, alive) in language(grammar, "ab", 4).items() if alive]
        for order in (texts, texts[::-1]):
            again = random_grammar(random.Random(seed), "ab", "dynamic")
            compiled = compile_bytewise(Made(again), VOCABULARY, automaton=automaton)
            for text in order:
                matcher = compiled.matcher()
                assert matcher.advance_bytes(text.encode())
                found = matcher.forced_bytes(MOST)
                assert found == by_definition(matcher) == matcher.forced_bytes(MOST), (seed, text)


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("layout", ["any", "compact", "consistent"])
def test_schemas(name, layout):
    constraint = constrain.json_schema(SCHEMAS[name], whitespace=layout)
    for seed in range(3):
        rng = random.Random(seed)
        matcher = constrain.compile(constraint, BYTES, automaton=TokenAutomaton(BYTES)).matcher()
        for _ in range(60):
            found = matcher.forced_bytes(MOST)
            assert found == by_definition(matcher), matcher.text
            following = [b for b in range(256) if matcher.fork().advance_bytes(bytes([b]))]
            if not following or matcher.is_finished():
                break
            plain = [b for b in following if 32 < b < 127]
            assert matcher.advance_bytes(bytes([rng.choice(plain or following)]))


def test_all_bytes_but_one():
    """A class of bytes counts as one byte only if it has one."""
    for text, forced in itertools.product(("a", "b"), (b"x", b"")):
        allowed = "x" if forced else "[xy]"
        matcher = constrain.compile(constrain.regex(f"{text}{allowed}z?"), BYTES).matcher()
        assert matcher.advance_bytes(text.encode()) and matcher.forced_bytes() == forced
