"""Merges made by hand and at random, and tokenizers of them."""

import random
from typing import Any

from tokenizers import Tokenizer, models

from constrain.languages.cuts.merges import Merges
from constrain.languages.vocab.vocabulary import Vocabulary

Pairs = list[tuple[str, str]]
HAND_MADE: list[tuple[str, str, Pairs]] = [  # (name, symbols, merges in their order)
    ("runs of one symbol", "a", [("a", "a"), ("aa", "a")]),
    ("longer runs first", "a", [("a", "a"), ("aa", "aa"), ("aa", "a"), ("aaaa", "aaaa")]),
    ("a token by two merges", "ab", [("a", "b"), ("b", "a"), ("ab", "a"), ("a", "ba")]),
    ("the later way comes first", "ab", [("a", "b"), ("b", "a"), ("a", "ba"), ("ab", "a")]),
    ("a token that is never reached", "abc", [("a", "b"), ("b", "c"), ("a", "bc"), ("ab", "c"), ("bc", "bc")]),
    ("a part after its whole", "abc", [("ab", "c"), ("c", "ab"), ("a", "b")]),
    ("a part long after its whole", "ab", [("aa", "b"), ("b", "b"), ("aab", "bb"), ("a", "a"), ("b", "aa")]),
    ("one pair twice: the later counts", "ab", [("a", "b"), ("b", "b"), ("a", "b"), ("ab", "b")]),
    ("no merges", "ab", []),
]


def tokenizer_of(ids: dict[str, int], merges: Pairs, **options: Any) -> tuple[Tokenizer, Merges]:
    """A tokenizer, and what is read of it."""
    tokenizer = Tokenizer(models.BPE(ids, merges, **options))
    bytes_of = {token: piece.encode() for piece, token in ids.items()}
    vocabulary = Vocabulary([bytes_of.get(token) for token in range(max(ids.values()) + 2)], [max(ids.values()) + 1])
    return tokenizer, Merges.of(tokenizer, vocabulary)


def ids_of(symbols: str, merges: Pairs) -> dict[str, int]:
    pieces = dict.fromkeys([*symbols, *(left + right for left, right in merges)])
    return {piece: token for token, piece in enumerate(pieces)}


def random_merges(rng: random.Random, symbols: str, longest: int = 8, most: int = 30) -> Pairs:
    """Merges of symbols: in an order in which they could be learnt, sorted by what they make, or in any order."""
    pieces, merges = list(symbols), []
    for _ in range(rng.randint(1, most)):
        left, right = rng.choice(pieces), rng.choice(pieces)
        if len(left + right) <= longest and (left, right) not in merges:
            merges.append((left, right))
            pieces += [left + right] * (left + right not in pieces)
    order = rng.choice(["learnt", "by product", "any"])
    if order == "any":
        rng.shuffle(merges)
    return sorted(merges, key=lambda merge: pieces.index("".join(merge))) if order == "by product" else merges
