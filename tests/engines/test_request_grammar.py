"""vLLM's view of one request, against a list of its member texts.

vLLM itself is not needed: its tensors are stood in for by an object with `numpy()`. The oracle reads the finite
language: which token ids may follow a sequence of ids, with the ends that the request names.
"""

from itertools import product
from typing import Any

import numpy as np
import pytest
from finite_language import EOS, MEMBERS, SPECIAL, TOKENS, VOCABULARY, Failing, oracle

import constrain
from constrain.engines.vllm.grammar import VLLMGrammar
from constrain.errors import LimitError
from constrain.masks.engine.compiled import compile_bytewise

STOPS = [(), (EOS,), (SPECIAL,), (EOS, SPECIAL), (6,), (EOS, 3), (99,)]


class Tensor:
    """A bitmask tensor of torch as a grammar sees it."""

    def __init__(self, rows: int) -> None:
        self.words = np.full((rows, VOCABULARY.words), -1, np.int32)

    def numpy(self) -> np.ndarray:
        return self.words

    def allowed(self, row: int) -> set[int]:
        return {i for i in range(len(TOKENS)) if int(self.words[row, i >> 5]) >> (i & 31) & 1}


def rows_of(bitmask: Any) -> np.ndarray:
    return bitmask.numpy().view(np.uint32)


def grammar_of(stops: tuple[int, ...] = (), constraint: Any = None) -> VLLMGrammar:
    compiled = constrain.compile(constraint or constrain.choices(MEMBERS), VOCABULARY)
    return VLLMGrammar(compiled, stops, rows_of)


@pytest.mark.parametrize("stops", STOPS)
def test_masks_and_verdicts_are_those_of_the_language(stops: tuple[int, ...]) -> None:
    tensor = Tensor(2)
    seen = 0
    for length in range(4):
        for ids in product(range(len(TOKENS)), repeat=length):
            expected = oracle(ids, stops)
            if expected is None:
                continue
            grammar = grammar_of(stops)
            assert grammar.accept_tokens("r", list(ids))
            grammar.fill_bitmask(tensor, 1)
            assert tensor.allowed(1) == expected
            assert not grammar.is_terminated()
            for token in range(len(TOKENS)):
                assert grammar.validate_tokens([token]) == ([token] if token in expected else [])
                fresh = grammar_of(stops)
                assert fresh.accept_tokens("r", [*ids, token]) == (token in expected)
            seen += 1
    assert seen >= 5
    assert tensor.allowed(0) == set(range(len(TOKENS)))  # the other row was never written


@pytest.mark.parametrize(
    "draft, kept",
    [
        ([], []),
        ([0, 1], [0, 1]),
        ([0, 1, 3, EOS], [0, 1, 3, EOS]),
        ([0, 1, EOS, 0], [0, 1, EOS]),  # nothing follows an end
        ([0, 6, 1], [0]),
        ([0, 1, -1, -1], [0, 1]),  # vLLM pads drafts with -1
        ([-1], []),
        ([EOS], []),
    ],
)
def test_a_draft_is_cut_where_it_leaves_the_language(draft: list[int], kept: list[int]) -> None:
    grammar = grammar_of()
    before = grammar.matcher.state
    assert grammar.validate_tokens(draft) == kept
    assert grammar.matcher.state == before and not grammar.is_terminated()
    assert grammar.accept_tokens("r", kept)


def test_every_rollback_leads_back() -> None:
    ids = [0, 1, 3, EOS]
    for taken in range(len(ids) + 1):
        for undone in range(taken + 1):
            grammar, other = grammar_of(), grammar_of()
            assert grammar.accept_tokens("r", ids[:taken]) and other.accept_tokens("r", ids[: taken - undone])
            grammar.rollback(undone)
            one, two = Tensor(1), Tensor(1)
            if not other.is_terminated():
                grammar.fill_bitmask(one, 0)
                other.fill_bitmask(two, 0)
                assert one.allowed(0) == two.allowed(0)
            assert grammar.is_terminated() == other.is_terminated()


def test_after_its_end_a_text_goes_on_as_it_likes_and_can_be_taken_back() -> None:
    """Under ignore_eos vLLM samples on, without a mask."""
    grammar = grammar_of()
    assert grammar.accept_tokens("r", [1, EOS])
    assert grammar.is_terminated() and grammar.validate_tokens([0]) == []
    assert grammar.accept_tokens("r", [6, EOS, 0])
    grammar.rollback(3)
    assert grammar.is_terminated()
    grammar.rollback(1)
    assert not grammar.is_terminated()
    assert grammar.validate_tokens([3, EOS]) == [3, EOS]


def test_reset_begins_anew() -> None:
    grammar = grammar_of()
    assert grammar.accept_tokens("r", [1, EOS, 0])
    grammar.reset()
    assert not grammar.is_terminated()
    assert grammar.validate_tokens([0, 1, EOS]) == [0, 1, EOS]


def test_requests_do_not_see_each_other() -> None:
    compiled = constrain.compile(constrain.choices(MEMBERS), VOCABULARY)
    one, two = (VLLMGrammar(compiled, (), rows_of) for _ in range(2))
    assert one.accept_tokens("1", [0, 1])
    tensor = Tensor(2)
    one.fill_bitmask(tensor, 0)
    two.fill_bitmask(tensor, 1)
    assert tensor.allowed(0) == {3, EOS} and tensor.allowed(1) == {0, 1, 2}


@pytest.mark.parametrize("error", [LimitError("too much memory"), RuntimeError("a fault of ours")])
def test_a_fault_ends_the_request_and_not_the_engine(error: Exception) -> None:
    grammar = grammar_of()
    grammar.matcher = Failing(error)  # type: ignore[assignment]
    tensor = Tensor(1)
    tensor.words[:] = 0
    grammar.fill_bitmask(tensor, 0)
    assert tensor.allowed(0) == set(range(len(TOKENS)))  # something is sampled,
    assert not grammar.accept_tokens("r", [0])  # and refused: vLLM ends the request with an error
    assert grammar.validate_tokens([0]) == []


def test_a_dead_end_ends_the_request() -> None:
    """A byte must follow that is in no token: `constrain.compile` would refuse the constraint."""
    vocabulary = constrain.Vocabulary([b"a", None], [1])
    grammar = VLLMGrammar(compile_bytewise(constrain.regex("ab"), vocabulary), (), rows_of)
    assert grammar.accept_tokens("r", [0])

    class Rows:
        words = np.zeros((1, vocabulary.words), np.int32)

        def numpy(self) -> np.ndarray:
            return self.words

    row = np.zeros(vocabulary.words, np.uint32)
    grammar.matcher.fill_mask(row)
    assert not row.any()  # else this is no dead end
    grammar.fill_bitmask(Rows(), 0)
    assert (Rows.words == -1).all()
    assert not grammar.accept_tokens("r", [0])
