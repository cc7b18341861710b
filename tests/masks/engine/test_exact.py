"""The engine against brute force: small random grammars and regular languages, every text up to six characters.

Grammars: membership under both lexers and viability under `dynamic` equal tests/naive_grammar.py. Regular languages,
with intersections, complements, counters and JSON strings: equal tests/naive_regex.py, also between the bytes of a
character. A mask equals `allows` for every token, and the oracle's opinion of every token.
"""

from __future__ import annotations

import itertools
import random

import pytest
from engine_cases import Made, allowed, mask_of, small_vocabulary

from constrain.errors import UnsatisfiableError
from constrain.languages.automata import syntax
from constrain.languages.automata.syntax import Node
from constrain.languages.constraints.regular import Regular
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.masks.engine import Matcher, TokenAutomaton, compile_bytewise
from naive_grammar import language, members_greedy, random_grammar
from naive_mask import RegexOracle, alive_within, beginnings, byte_trie, naive_mask
from naive_regex import NaiveRegex

LONGEST = 6
BLOCK = 100  # grammars, or languages, a test
LONGER = [
    *map("".join, itertools.product("ab", repeat=2)),
    "aba",
    "abb",
    "bab",
    "baa",
    "aaaa",
    "abab",
    "bbba",
    "ca",
    "abc",
]
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


@pytest.mark.parametrize("block", range(11))
def test_random_grammars_dynamic(block):
    automaton = TokenAutomaton(VOCABULARY)
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        alphabet = "ab" if block < 10 else "abc"
        grammar = random_grammar(random.Random(seed), alphabet, "dynamic")
        oracle = language(grammar, alphabet, LONGEST)
        viable = {text for text, (_, alive) in oracle.items() if alive}
        found = {}
        for text, member, mask in visit(
            compile_bytewise(Made(grammar), VOCABULARY, automaton=automaton).matcher(), alphabet, LONGEST
        ):
            found[text] = member
            if mask is not None:
                assert mask == wanted_mask(text, viable.__contains__, member), (seed, text)
        assert found == {text: member for text, (member, alive) in oracle.items() if alive}, seed


@pytest.mark.parametrize("block", range(10))
def test_random_grammars_greedy(block):
    automaton = TokenAutomaton(VOCABULARY)
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        grammar = random_grammar(random.Random(seed), "ab", "greedy")
        found = list(visit(compile_bytewise(Made(grammar), VOCABULARY, automaton=automaton).matcher(), "ab", LONGEST))
        viable = {text for text, _, _ in found}
        for text, member, mask in found:
            if mask is not None:
                assert mask == wanted_mask(text, viable.__contains__, member), (seed, text)
        assert {text for text, member, _ in found if member} == members_greedy(grammar, "ab", LONGEST), seed


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


def random_text_language(rng: random.Random, alphabet: str) -> tuple[Node, Node]:
    """A language of texts, or one of JSON strings with something around it; and the same language for the oracle."""
    if alphabet is PLAIN:
        node = random_language(rng, alphabet, 3)
        return node, node
    value, other = random_language(rng, 'ab"\\é', 2), random_language(rng, "ab", 1)
    strings = syntax.intersect(syntax.json_string(value), syntax.json_string(other))
    string = syntax.json_string(syntax.intersect(value, other))  # the oracle's intersections of strings take too long
    around = syntax.json_string(random_language(rng, "ab", 1)) if rng.randrange(2) else syntax.literal("a")
    build = rng.choice([syntax.concat, syntax.alternate, lambda one, _: syntax.repeat(one, 1, 2), lambda one, _: one])
    return build(strings, around), build(string, around)


def can_read(matcher: Matcher, text: bytes) -> bool:
    """True if the text may follow; the matcher stays where it is."""
    read = matcher.advance_bytes(text)
    if read:
        matcher.rollback(1)
    return read


def check_everywhere(oracle: RegexOracle, matcher: Matcher, alphabet: str, longest: int) -> None:
    """Compare with the oracle on every text over the alphabet, cut at every byte."""
    tails = sorted({c.encode()[:n] for c in alphabet + "𐍈Āࠀ" for n in range(1, len(c.encode()))})
    layer = [("", oracle.start())]
    for length in range(longest + 1):
        following = []
        for text, state in layer:
            start = matcher.fork()
            assert start.advance_bytes(text.encode())
            assert start.is_accepting() == oracle.accepts(state), text
            for tail in tails:
                assert can_read(start, tail) == alive_within(oracle, state, tail), (text, tail)
            for character in alphabet:
                after = oracle.step(state, character)
                assert can_read(start, character.encode()) == (after is not None), text + character
                if after is not None and length < longest:
                    following.append((text + character, after))
        layer = following[:25]  # texts beyond are much like these


@pytest.mark.parametrize("alphabet", [PLAIN, STRING], ids=["plain", "strings"])
@pytest.mark.parametrize("block", range(4))
def test_random_regular_languages(alphabet, block):
    vocabulary = Vocabulary([*REGULAR, None, None], [len(REGULAR) + 1])
    automaton, trie = TokenAutomaton(vocabulary), byte_trie(vocabulary.tokens)
    empty = 0
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        rng = random.Random(seed)
        node, same = random_text_language(rng, alphabet)
        if NaiveRegex(same).empty():
            empty += 1
            with pytest.raises(UnsatisfiableError):
                compile_bytewise(Regular(node), vocabulary, automaton=automaton)
            continue
        compiled, oracle = compile_bytewise(Regular(node), vocabulary, automaton=automaton), RegexOracle(same)
        check_everywhere(oracle, compiled.matcher(), alphabet, LONGEST)
        matcher = compiled.matcher()
        for _ in range(6):  # a random walk over tokens, that is, also between the bytes of a character
            mask = mask_of(matcher)
            assert mask == allowed(matcher) == naive_mask(trie, oracle, matcher.text, vocabulary.eos_ids), (
                seed,
                matcher,
            )
            tokens = sorted(mask - set(vocabulary.eos_ids))
            if not tokens:
                break
            assert matcher.advance(rng.choice(tokens))
    assert empty < 0.6 * BLOCK


def test_beginnings_of_characters():
    """The oracle's own arithmetic on UTF-8, against Python's encoder."""
    spans: dict[bytes, list[int]] = {}
    for code in itertools.chain(range(0x80, 0xD800), range(0xE000, 0x110000, 0x3F)):
        text = chr(code).encode()
        for n in range(1, len(text)):
            span = spans.setdefault(text[:n], [code, code])
            span[1] = code
    for tail, (low, high) in spans.items():
        found = beginnings(tail)
        assert found is not None
        assert found[0] <= low <= high <= found[1], tail
        for end in found:
            assert chr(end).encode().startswith(tail), tail
    for tail in (b"\x80", b"\xc1", b"\xf5", b"\xe0\x80", b"\xed\xa0", b"\xf0\x8f", b"\xf4\x90", b"\xc3\xa9"):
        assert beginnings(tail) is None, tail
