"""The first tokens of a text that must follow: beside all sequences of tokens, and beside the tokenizer itself."""

import itertools
import random

import numpy as np
import pytest
from tokenizers import Tokenizer

import constrain
from constrain.languages.cuts.canonical import DEAD, CanonicalTokens, CutState
from constrain.languages.cuts.firsts import Firsts
from constrain.languages.vocab.bits import Row, clear_bits, tokens_of
from made_tokenizers import MADE

ALPHABET = ["a", "'", "s", " ", "\n", "1", "!", '"']


@pytest.fixture(scope="module", params=list(MADE))
def both(request: pytest.FixtureRequest) -> tuple[Tokenizer, CanonicalTokens]:
    tokenizer = MADE[request.param]()
    vocabulary = constrain.Vocabulary.from_huggingface(tokenizer, eos_ids=[tokenizer.token_to_id("<end>")])
    return tokenizer, CanonicalTokens.of(tokenizer, vocabulary)


def has_cut(canonical: CanonicalTokens, state: CutState, text: bytes, is_end: bool) -> bool:
    """The plain form: some tokens write the text, the last perhaps more, if the text may go on."""
    if state == DEAD or not text:
        return state != DEAD and (not is_end or canonical.may_end(state))
    return any(
        has_cut(canonical, canonical.step(state, token), text[len(own) :], is_end)
        for token, own in enumerate(canonical.tokens)
        if own and (text.startswith(own) or (own.startswith(text) and not is_end))
    )


def everything(canonical: CanonicalTokens) -> Row:
    """A mask that allows all tokens."""
    return np.full((len(canonical.tokens) + 31) // 32, 0xFFFFFFFF, np.uint32)


def longer(canonical: CanonicalTokens, firsts: Firsts, mask: Row, most: int = 1 << 10) -> list[int]:
    """The longer tokens of a mask, of the kernel as of Python."""
    found = canonical.firsts.longer(firsts, mask, most)
    plain = canonical.firsts._plain_longer(firsts, mask, most)
    assert sorted(found) == sorted(plain) or len(found) == len(plain) == most
    return found


def places(tokenizer: Tokenizer, canonical: CanonicalTokens) -> list[tuple[str, list[int], CutState]]:
    """Texts, their own tokens, and the states after them."""
    found = [("", [], canonical.start)]
    for text in ["".join(parts) for parts in itertools.product(ALPHABET, repeat=2)]:
        own = tokenizer.encode(text, add_special_tokens=False).ids
        state = canonical.start
        for token in own:
            state = canonical.step(state, token)
        found.append((text, own, state))
    return found


def test_the_first_tokens_are_those_of_all_sequences(both: tuple[Tokenizer, CanonicalTokens]) -> None:
    tokenizer, canonical = both
    rng = random.Random(1)
    for _, _, state in places(tokenizer, canonical):
        for is_end in (False, False, False, True, True):
            text = "".join(rng.choices(ALPHABET, k=rng.randint(1, 4))).encode()
            firsts = canonical.firsts.of(state, text, is_end=is_end)
            within, beyond = firsts.within, longer(canonical, firsts, everything(canonical))
            assert firsts.longer == (bool(beyond) and not is_end)
            for token, own in enumerate(canonical.tokens):
                fits = bool(own) and text.startswith(own or b"")
                expected = fits and has_cut(canonical, canonical.step(state, token), text[len(own or b"") :], is_end)
                assert (token in within) == expected
                goes_on = bool(own) and (own or b"").startswith(text) and own != text
                assert (token in beyond) == (goes_on and canonical.step(state, token) != DEAD)


def test_the_kernel_finds_what_python_finds(both: tuple[Tokenizer, CanonicalTokens]) -> None:
    """Texts are long enough for a search that goes back. Where the tables do not say enough, Python alone answers."""
    tokenizer, canonical = both
    rng, answered = random.Random(3), 0
    for _, _, state in places(tokenizer, canonical):
        for is_end in (False, True):
            text = "".join(rng.choices(ALPHABET, k=rng.randint(5, 12))).encode()
            searched, plain = (
                canonical.firsts._searched(state, text, is_end),
                canonical.firsts._plain(state, text, is_end),
            )
            if searched is not None:
                answered += 1
                assert sorted(searched.within) == sorted(plain.within)
                assert searched.longer == plain.longer
    assert answered


def test_longer_tokens_are_those_of_a_mask(both: tuple[Tokenizer, CanonicalTokens]) -> None:
    """Of a mask's tokens alone, and no more than are asked for."""
    tokenizer, canonical = both
    rng, found = random.Random(7), 0
    for _, _, state in places(tokenizer, canonical):
        text, mask, most = rng.choice(ALPHABET).encode(), everything(canonical), rng.randint(1, 3)
        clear_bits(mask, rng.sample(range(len(canonical.tokens)), rng.randint(0, len(canonical.tokens) - 1)))
        tokens = [token for token in tokens_of(mask).tolist() if token < len(canonical.tokens)]
        fits = [t for t in tokens if (own := canonical.tokens[t]) and own.startswith(text) and own != text]
        expected = {t for t in fits if canonical.step(state, t) != DEAD}
        answer = longer(canonical, canonical.firsts.of(state, text), mask, most)
        assert len({*answer}) == len(answer) == min(most, len(expected)) and expected.issuperset(answer)
        found += len(answer)
    assert found


def test_a_run_of_tokens_is_their_first_tokens_one_by_one(both: tuple[Tokenizer, CanonicalTokens]) -> None:
    """Each is the only one where it stands, and the run ends where there are others; so are the states between them."""
    tokenizer, canonical = both
    rng, longest = random.Random(5), 0
    for _, _, state in places(tokenizer, canonical):
        for is_end in (False, True):
            text, most = "".join(rng.choices(ALPHABET, k=rng.randint(2, 12))).encode(), rng.randint(2, 12)
            run, here, at = canonical.firsts.run(state, text, most, len(text) - 2, is_end=is_end), state, 0
            for token, before in run:
                assert before == here and (at == 0 or at <= len(text) - 2)
                window = text[at : at + most]
                found = canonical.firsts.of(here, window, is_end=is_end and at + len(window) == len(text))
                assert found.within == [token] and not found.longer
                here, at = canonical.step(here, token), at + len(canonical.tokens[token] or b"")
            assert canonical.firsts.after(state, [token for token, _ in run]) == here
            longest = max(longest, len(run))
    assert longest > 2 or canonical.added_tokens


def test_the_state_after_tokens_that_the_tokenizer_would_not_write(both: tuple[Tokenizer, CanonicalTokens]) -> None:
    _, canonical = both
    rng = random.Random(6)
    for length in (1, 2, 5, 9) * 20:
        tokens = rng.choices(range(len(canonical.tokens)), k=length)
        state = canonical.start
        for token in tokens:
            state = canonical.after(state, token)
        assert canonical.firsts.after(canonical.start, tokens) == state


def test_no_token_of_the_tokenizer_is_missing(both: tuple[Tokenizer, CanonicalTokens]) -> None:
    """The tokenizer writes one of the first tokens next, whatever follows the text."""
    tokenizer, canonical = both
    rng = random.Random(2)
    asked = 0
    for before, tokens, state in places(tokenizer, canonical):
        for _ in range(12):
            text, rest = ("".join(rng.choices(ALPHABET, k=rng.randint(*lengths))) for lengths in ((2, 5), (0, 3)))
            whole = tokenizer.encode(before + text + rest, add_special_tokens=False).ids
            own = b"".join(canonical.tokens[token] or b"" for token in whole)
            if whole[: len(tokens)] != tokens or own != (before + text + rest).encode():
                continue
            asked += 1
            firsts = canonical.firsts.of(state, text.encode(), is_end=not rest)
            beyond = longer(canonical, firsts, everything(canonical)) if firsts.longer else []
            assert whole[len(tokens)] in [*firsts.within, *beyond]
    assert asked > 200


def test_the_tokenizer_writes_each_of_the_first_tokens(both: tuple[Tokenizer, CanonicalTokens]) -> None:
    """Nothing is kept of which no text makes a cut: for each of the first tokens some rest of the text does."""
    tokenizer, canonical = both
    letters = [*ALPHABET, "x", "日"]
    rests = ["", *letters, *map("".join, itertools.product(letters, repeat=2)), "'s!a", "\na\n", "s\n\n"]
    rng = random.Random(4)
    for text in ["11", "a11", *("".join(rng.choices(ALPHABET, k=rng.randint(1, 5))) for _ in range(60))]:
        own = {tuple(tokenizer.encode(text + rest, add_special_tokens=False).ids[:1]) for rest in rests}
        found = {(token,) for token in canonical.firsts.of(canonical.start, text.encode()).within}
        assert found <= own or found & {(token,) for token in tokens_of(canonical.merges.whole)}, text
