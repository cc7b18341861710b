"""The engine against brute force: small random grammars and regular languages, every text up to six characters.

Membership, viability and masks are those of the reading edition (docs/reading.py), under both lexers; of regular
languages, with intersections, complements, counters and JSON strings, also between the bytes of a character. A mask
equals `allows` for every token.
"""

import itertools
import random
from functools import reduce

import pytest
from engine_cases import allowed, mask_of, small_vocabulary

from constrain.errors import UnsatisfiableError
from constrain.languages.automata import syntax
from constrain.languages.automata.syntax import Node
from constrain.languages.constraints.regular import Regular
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine import Matcher, TokenAutomaton, compile_bytewise
from handmade import Made
from reading_oracle import language, oracle, reading
from small_grammars import random_grammar

LONGEST = 6
BLOCK = 100  # grammars, or languages, a test
LONGER = [
    *map("".join, itertools.product("ab", repeat=2)), "aba", "abb", "bab", "baa", "aaaa", "abab", "bbba", "ca", "abc",
]  # fmt: skip
VOCABULARY = small_vocabulary("abc", LONGER)


def visit(matcher: Matcher, alphabet: str, longest: int, text: str = ""):
    """(text, is valid, mask or None) for every viable text, by the engine; masks for texts of up to two characters."""
    short = len(text) <= 2
    if short:
        mask = mask_of(matcher)
        assert mask == allowed(matcher), f"mask and allows() differ after {text!r}"
    yield text, matcher.is_accepting(), mask if short else None
    if len(text) < longest:
        for character in alphabet:
            if matcher.advance_bytes(character.encode()):
                yield from visit(matcher, alphabet, longest, text + character)
                matcher.rollback(1)


def wanted_mask(text: str, viable, member: bool) -> set[int]:
    """The mask by definition: the tokens after which the text is viable, and EOS iff it is valid."""
    tokens = {i for i, token in enumerate(VOCABULARY.tokens) if token and viable(text + token.decode())}
    return tokens | (set(VOCABULARY.eos_ids) if member else set())


@pytest.mark.parametrize("lexer, block", [("dynamic", n) for n in range(11)] + [("greedy", n) for n in range(10)])
def test_random_grammars(lexer, block):
    automaton = TokenAutomaton(VOCABULARY)
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        alphabet = "ab" if block < 10 else "abc"
        grammar = random_grammar(random.Random(seed), alphabet, lexer)
        wanted = language(grammar, alphabet, LONGEST)
        viable = {text for text, (_, alive) in wanted.items() if alive}
        found = {}
        for text, member, mask in visit(
            compile_bytewise(Made(grammar), VOCABULARY, automaton=automaton).matcher(), alphabet, LONGEST
        ):
            found[text] = member
            if mask is not None:
                assert mask == wanted_mask(text, viable.__contains__, member), (seed, text)
        assert found == {text: member for text, (member, alive) in wanted.items() if alive}, seed


# --- regular languages ------------------------------------------------------------------------------------------------

PLAIN = "abé→😀"  # one to four bytes of UTF-8
STRING = 'ab"\\u016é'  # \u0061 is a, \u0062 is b
PIECES = ["ab", '"a', 'a"', "\\u", "\\u00", "\\u006", "0061", "éa", "→", '\\"', "b😀", "bb", "ba\\"]
BYTES = [bytes([byte]) for byte in range(256)]
REGULAR = [*BYTES, *map(str.encode, PIECES), "→".encode()[1:] + b"a", "aé".encode()[:-1], "😀".encode()[:2], b"\xa9b"]


def random_language(rng: random.Random, alphabet: str, depth: int) -> Node:
    """A tree of every kind but `JsonString`; may be empty."""
    kind = rng.randrange(9) if depth else rng.randrange(3)
    if kind == 0:
        return syntax.literals("".join(rng.choices(alphabet, k=rng.randint(0, 3))) for _ in range(rng.randint(1, 3)))
    if kind == 1:
        return syntax.chars((ord(c), ord(c)) for c in rng.sample(alphabet, rng.randint(1, min(3, len(alphabet)))))
    if kind == 2:
        low, high = sorted(
            [rng.choice([0, 0x61, 0x80, 0x7FF, 0x2191, 0xD000, 0xFFFF]), rng.choice([0x62, 0xE9, 0x2192, 0x1F600])]
        )
        return syntax.chars([(low, high)])
    inner = random_language(rng, alphabet, depth - 1)
    if kind == 3:
        low = rng.randrange(4)
        return syntax.repeat(inner, low, rng.choice([None, low, low + 1, low + 4]))
    if kind == 4:
        return syntax.complement(inner)
    other = random_language(rng, alphabet, depth - 1)
    return [syntax.alternate, syntax.concat, syntax.intersect, syntax.difference][kind - 5](inner, other)


def random_text_language(rng: random.Random, alphabet: str) -> Node:
    """A language of texts, or one of JSON strings with something around it."""
    if alphabet is PLAIN:
        return random_language(rng, alphabet, 3)
    value, other = random_language(rng, 'ab"\\é', 2), random_language(rng, "ab", 1)
    strings = syntax.intersect(syntax.json_string(value), syntax.json_string(other))
    around = syntax.json_string(random_language(rng, "ab", 1)) if rng.randrange(2) else syntax.literal("a")
    build = rng.choice([syntax.concat, syntax.alternate, lambda one, _: syntax.repeat(one, 1, 2), lambda one, _: one])
    return build(strings, around)


def can_read(matcher: Matcher, text: bytes) -> bool:
    """True if the text may follow; the matcher stays where it is."""
    read = matcher.advance_bytes(text)
    if read:
        matcher.rollback(1)
    return read


def check_everywhere(asked: reading.Language, matcher: Matcher, alphabet: str, longest: int) -> None:
    """Compare with the oracle on every text over the alphabet, cut at every byte."""
    tails = {c.encode()[:n] for c in alphabet + "𐍈Āࠀ" for n in range(1, len(c.encode()) + 1)}
    layer = [b""]
    for length in range(longest + 1):
        following = []
        for text in layer:
            start, state = matcher.fork(), asked.read(text)
            assert start.advance_bytes(text)
            assert start.is_accepting() == asked.accepts(state), text
            for tail in sorted(tails):
                assert can_read(start, tail) == (reduce(asked.step, tail, state) is not None), (text, tail)
            if length < longest:
                following += [text + c.encode() for c in alphabet if can_read(start, c.encode())]
        layer = following[:25]  # texts beyond are much like these


@pytest.mark.parametrize("alphabet", [PLAIN, STRING], ids=["plain", "strings"])
@pytest.mark.parametrize("block", range(4))
def test_random_regular_languages(alphabet, block):
    vocabulary = Vocabulary([*REGULAR, None, None], [len(REGULAR) + 1])
    automaton, tree = TokenAutomaton(vocabulary), reading.Vocabulary(vocabulary.tokens, vocabulary.eos_ids)
    empty = 0
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        rng = random.Random(seed)
        node = random_text_language(rng, alphabet)
        asked = oracle(node)
        if asked.start() is None:
            empty += 1
            with pytest.raises(UnsatisfiableError):
                compile_bytewise(Regular(node), vocabulary, automaton=automaton)
            continue
        compiled = compile_bytewise(Regular(node), vocabulary, automaton=automaton)
        check_everywhere(asked, compiled.matcher(), alphabet, LONGEST)
        matcher = compiled.matcher()
        for _ in range(6):  # a random walk over tokens, that is, also between the bytes of a character
            mask = mask_of(matcher)
            wanted = reading.mask(asked, asked.read(matcher.text), tree)
            assert mask == allowed(matcher) == wanted, (seed, matcher)
            tokens = sorted(mask - set(vocabulary.eos_ids))
            if not tokens:
                break
            assert matcher.advance(rng.choice(tokens))
    assert empty < 0.6 * BLOCK
