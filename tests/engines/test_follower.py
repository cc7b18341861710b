"""The follower of another program's loop, against a matcher that reads the same output."""

import numpy as np
import pytest

import constrain
import vocabularies
from constrain import ConstrainError
from constrain.engines.follower import Follower
from constrain.masks import engine

VOCABULARY = vocabularies.tiny()
COMPILED = constrain.compile(constrain.regex("a(bc)*d"), VOCABULARY)
PROMPT = list(b"say ")
(EOS,) = VOCABULARY.eos_ids


def expected(output: list[int], width: int) -> set[int]:
    matcher = COMPILED.matcher(prefix=output)
    return {token for token in range(VOCABULARY.size) if matcher.allows(token)} if output[-1:] != [EOS] else {EOS}


def shown(follower: Follower, tokens: list[int], width: int = VOCABULARY.size) -> set[int]:
    return set(np.flatnonzero(follower.allowed(tokens, width)).tolist())


@pytest.mark.parametrize("width", [VOCABULARY.size, VOCABULARY.size + 9])
def test_a_loop(width: int) -> None:
    follower = Follower(COMPILED)
    for _ in range(2):  # the same prompt again
        output: list[int] = []
        for token in [*b"abcbcd", EOS, EOS]:
            assert shown(follower, PROMPT + output, width) == expected(output, width)
            output.append(token)


def test_a_prompt_that_continues_the_last_output() -> None:
    follower = Follower(COMPILED)
    for length in range(4):
        shown(follower, PROMPT + list(b"abcd")[:length])
    longer = PROMPT + list(b"abcd and now ")
    assert shown(follower, longer) == expected([], 0)
    assert shown(follower, longer + list(b"a")) == expected(list(b"a"), 0)


def test_what_was_shown_is_taken_back() -> None:
    follower = Follower(COMPILED)
    for output in (b"", b"a", b"ab", b"abc", b"ab", b"a", b"ad", b"ab"):
        assert shown(follower, PROMPT + list(output)) == expected(list(output), 0)


@pytest.mark.parametrize(
    "calls, message",
    [
        ([b"", b"x"], "chosen token 120, which the constraint does not allow"),
        ([b"", b"a", b"ax"], r"token 1 of the output"),
    ],
)
def test_faults(calls: list[bytes], message: str) -> None:
    follower = Follower(COMPILED)
    *before, last = calls
    for output in before:
        follower.allowed(PROMPT + list(output), VOCABULARY.size)
    with pytest.raises(ConstrainError, match=message):
        follower.allowed(PROMPT + list(last), VOCABULARY.size)


def test_too_few_logits() -> None:
    with pytest.raises(ConstrainError, match="the model gives 10 logits for a vocabulary of"):
        Follower(COMPILED).allowed(PROMPT, 10)


def test_a_dead_end() -> None:
    holes = constrain.Vocabulary([b"a", None], eos_ids=[1])
    follower = Follower(engine.compile_bytewise(constrain.regex("ab"), holes))  # as it stands: the tokens cannot end it
    follower.allowed([0], 2)
    with pytest.raises(ConstrainError, match="allows no token"):
        follower.allowed([0, 0], 2)
