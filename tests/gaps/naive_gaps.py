"""The plain twin of gaps: the texts of a grammar up to a length that fit a pattern, by enumeration.

A pattern is a list of parts: a `str`; ANY, any text over the alphabet; `(tokens, least, most)`, at least
`least` and at most `most` tokens. Only for small alphabets and short texts. No line is shared with what it judges.
"""

import random
from functools import lru_cache
from itertools import product

from constrain.languages.automata.parse.python import parse_python
from constrain.languages.cfg.rules import Grammar, Nonterminal, Terminal
from reading_oracle import language, texts

ALPHABET = "ab"
ANY = "any text"
TOKENS = ("a", "b", "ab", "ba", "aab")
PATTERNS = ("a", "b", "ab", "a+", "b?a", "(ab)*", "[ab]", "a?", "bb|a", "(aa)+b?")
Part = str | tuple[tuple[str, ...], int, int]
Rules = dict[str, list[tuple[str, ...]]]  # symbols: names of rules in capitals, else regexes


def random_rules(rng: random.Random) -> Rules:
    """Three rules; symbols that derive nothing, empty alternatives and cycles are wanted."""
    names = ["S", "A", "B"]
    terminals = rng.sample(PATTERNS, 3)
    return {
        name: [
            tuple(rng.choice([*names, *terminals, *terminals]) for _ in range(rng.choice([0, 1, 1, 2, 2, 3, 4])))
            for _ in range(rng.randint(1, 3))
        ]
        for name in names
    }


def grammar_of(rules: Rules) -> Grammar:
    """The same rules for the library."""
    made: dict[str, Nonterminal] = {}
    terminals = {
        symbol: Terminal(parse_python(symbol), symbol)
        for alternatives in rules.values()
        for alternative in alternatives
        for symbol in alternative
        if symbol not in rules
    }
    for name, alternatives in rules.items():
        made[name] = Nonterminal(
            name, lambda a=alternatives: [[made[s] if s in rules else terminals[s] for s in each] for each in a]
        )
    return Grammar(made["S"])


def members(rules: Rules, longest: int) -> set[str]:
    """All members up to a length."""
    found = language(grammar_of(rules), ALPHABET, longest)
    return {text for text, (is_member, _) in found.items() if is_member}


def fillings(parts: list[Part], longest: int) -> set[str]:
    """All texts that fit a pattern, up to a length."""
    found = {""}
    for part in parts:
        if part == ANY:
            pieces = frozenset(texts(ALPHABET, longest))
        elif isinstance(part, str):
            pieces = frozenset([part])
        else:
            tokens, least, most = part
            pieces = frozenset("".join(each) for n in range(least, most + 1) for each in product(tokens, repeat=n))
        found = {one + two for one in found for two in pieces if len(one) + len(two) <= longest}
    return found


def least_free(parts: list[Part], text: str) -> int:
    """The least number of bytes that stand in parts ANY, over all ways to cut a text into the parts; large: no way."""
    best = {0: 0}
    for part in parts:
        after: dict[int, int] = {}
        for at, cost in best.items():
            for end in range(at, len(text) + 1):
                piece = text[at:end]
                if part == ANY:
                    price: int | None = end - at
                elif isinstance(part, str):
                    price = 0 if piece == part else None
                else:
                    price = 0 if _is_cut(piece, *part) else None
                if price is not None:
                    after[end] = min(after.get(end, 99), cost + price)
        best = after
    return best.get(len(text), 99)


@lru_cache(maxsize=100_000)
def _is_cut(piece: str, tokens: tuple[str, ...], least: int, most: int) -> bool:
    """True if a text can be cut into between `least` and `most` tokens."""
    if not piece:
        return least <= 0 <= most
    return most > 0 and any(
        piece.startswith(t) and _is_cut(piece[len(t) :], tokens, least - 1, most - 1) for t in tokens
    )


def random_parts(rng: random.Random, finite: bool) -> list[Part]:
    """Fixed text, gaps of tokens and, unless finite, gaps of any text."""
    parts: list[Part] = []
    for _ in range(rng.randint(1, 4)):
        kind = rng.random()
        if kind < 0.45:
            parts.append("".join(rng.choices(ALPHABET, k=rng.randint(1, 2))))
        elif finite or kind < 0.7:
            least = rng.randint(0, 2)
            parts.append((tuple(rng.sample(TOKENS, rng.randint(1, 3))), least, min(2, least + rng.randint(0, 1))))
        else:
            parts.append(ANY)
    return parts
