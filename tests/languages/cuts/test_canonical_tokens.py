"""Canonical sequences of tokens: the automaton beside the tokenizer itself, on small tokenizers."""

import itertools
import random
from collections.abc import Iterator

import pytest
from tokenizers import Tokenizer

import constrain
from constrain.languages.cuts.canonical import DEAD, CanonicalTokens
from constrain.languages.vocab.bits import has_bit
from made_tokenizers import MADE

ALPHABET = ["a", "'", "s", " ", "\n", "1", "!", '"', "é"]


@pytest.fixture(scope="module", params=list(MADE))
def both(request: pytest.FixtureRequest) -> tuple[Tokenizer, CanonicalTokens]:
    tokenizer = MADE[request.param]()
    vocabulary = constrain.Vocabulary.from_huggingface(tokenizer, eos_ids=[tokenizer.token_to_id("<end>")])
    return tokenizer, CanonicalTokens.of(tokenizer, vocabulary)


def _texts(length: int) -> Iterator[str]:
    for parts in itertools.product(ALPHABET, repeat=length):
        yield "".join(parts)


def _text(canonical: CanonicalTokens, tokens: list[int]) -> bytes:
    return b"".join(canonical.tokens[token] or b"" for token in tokens)


def _after(canonical: CanonicalTokens, tokens: list[int]) -> int:
    state = canonical.start
    for token in tokens:
        state = canonical.step(state, token)
    return state


def _cuts(canonical: CanonicalTokens, text: bytes, limit: int = 40) -> Iterator[list[int]]:
    """All ways to cut a text into tokens."""
    by_text: dict[bytes, list[int]] = {}
    for token, own in enumerate(canonical.tokens):
        by_text.setdefault(own or b"", []).append(token)

    def cut(start: int) -> Iterator[list[int]]:
        if start == len(text):
            yield []
        for end in range(start + 1, len(text) + 1):
            for token in by_text.get(text[start:end], ()):
                for rest in cut(end):
                    yield [token, *rest]

    yield from itertools.islice(cut(0), limit)


def test_one_cut_of_a_text_is_canonical(both: tuple[Tokenizer, CanonicalTokens]) -> None:
    """Of all cuts of all texts of up to four characters one is canonical, the tokenizer's own."""
    tokenizer, canonical = both
    whole = canonical.whole.any()
    for length in range(1, 5):
        texts = list(_texts(length))
        for text in texts if length < 4 else random.Random(1).sample(texts, 1500):
            own = tokenizer.encode(text, add_special_tokens=False).ids
            if _text(canonical, own) != text.encode():
                continue  # an unknown character
            assert canonical.strays(own) == [], text
            for cut in _cuts(canonical, text.encode()):
                state = _after(canonical, cut)
                if whole and cut != own and canonical.may_end(state):
                    assert any(has_bit(canonical.whole, token) for token in own)  # the module's stated limit
                else:
                    assert canonical.may_end(state) == (cut == own), (text, cut, own)


def test_beginnings_are_kept(both: tuple[Tokenizer, CanonicalTokens]) -> None:
    """A state lives if some text goes on from it: no text is lost."""
    tokenizer, canonical = both
    rests = ["", *(text for length in (1, 2) for text in _texts(length)), "aa", "aas", "ss", "\n\na", " 1"]
    rng = random.Random(2)
    for text in [*_texts(2), *rng.sample(list(_texts(3)), 100)]:
        for cut in _cuts(canonical, text.encode(), 8):
            state = _after(canonical, cut)
            lives = any(
                tokenizer.encode(text + rest, add_special_tokens=False).ids[: len(cut)] == cut for rest in rests
            )
            assert not lives or state != DEAD, (text, cut)
