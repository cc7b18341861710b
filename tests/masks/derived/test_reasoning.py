"""Answers after thoughts: budgets against a definition on all short sequences of tokens; tokens as closes; faults."""

import itertools
import re
from typing import Any

import numpy as np
import pytest

import constrain
from constrain.errors import ConstrainError, GrammarError, VocabularyError
from constrain.masks.derived.reasoning import after

TEXTS = [b"a", b"<", b"</", b"/>b", b">", b"b", b"\xc3", b"\xa9"]
EOS = len(TEXTS)
VOCABULARY = constrain.Vocabulary([*TEXTS, None], eos_ids=[EOS])
LONGEST, VIABLE = 6, 2


def is_member(tokens: tuple[int, ...], begin: str, optional: bool, most: int | None) -> bool:
    """The definition: the first close ends the thoughts, and at most so many tokens begin between begin and close."""
    try:
        text = b"".join(TEXTS[token] for token in tokens).decode()
    except UnicodeDecodeError:
        return False
    if optional and not text.startswith(begin):
        return re.fullmatch("b+", text) is not None
    if not text.startswith(begin):
        return False
    close = text.find("</>", len(begin))
    if close < 0 or not re.fullmatch("b+", text[close + 3 :]):
        return False
    at = np.cumsum([0, *(len(TEXTS[token]) for token in tokens)])[:-1]
    inside = (at >= len(begin.encode())) & (at < len(text[:close].encode()))
    return most is None or int(inside.sum()) <= most


@pytest.mark.parametrize(
    ("begin", "optional", "most"),
    [
        ("", False, None),
        ("", False, 0),
        ("", False, 1),
        ("", False, 2),
        ("a", False, 1),
        ("a", True, 0),
        ("a", True, 1),
    ],
)
def test_masks_are_those_of_the_definition(begin: str, optional: bool, most: int | None) -> None:
    sequences = [tokens for n in range(LONGEST + 1) for tokens in itertools.product(range(EOS), repeat=n)]
    inside = {tokens for tokens in sequences if is_member(tokens, begin, optional, most)}
    viable = {tokens[:n] for tokens in inside for n in range(len(tokens) + 1)}
    constraint = after("</>", constrain.regex("b+"), begin=begin, optional=optional, max_tokens=most)
    compiled = constrain.compile(constraint, VOCABULARY)
    for tokens in sequences:
        if len(tokens) > VIABLE and tokens not in inside:
            continue
        matcher = compiled.matcher()
        assert (matcher.advance_tokens(tokens) == len(tokens)) == (tokens in viable), tokens
        if tokens in viable and len(tokens) <= VIABLE:
            row = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")
            expected = {one for one in range(EOS) if (*tokens, one) in viable} | ({EOS} if tokens in inside else set())
            assert {*np.flatnonzero(row).tolist()} == expected, tokens
            assert {one for one in range(EOS) if matcher.allows(one)} == expected - {EOS}
        else:
            assert tokens not in viable or matcher.is_accepting() == (tokens in inside)


def test_a_budget_closes_thoughts_at_a_token() -> None:
    vocabulary = constrain.Vocabulary.of_bytes("<think>", "</think>")
    begin, close = 257, 258
    answer = constrain.json_schema({"type": "object"})
    constraint = after(
        constrain.token("</think>"), answer, begin=constrain.token("<think>"), optional=True, max_tokens=3
    )
    compiled = constrain.compile(constraint, vocabulary)
    matcher = compiled.matcher()
    assert matcher.advance_tokens([begin, *b"abcd"]) == 4
    assert [token for token in range(259) if matcher.allows(token)] == [close]
    assert np.flatnonzero(np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")).tolist() == [close]
    assert matcher.advance_tokens([close, *b'{"a": 1, "a"']) == 12  # the repeated key is vetoed behind the thoughts too
    assert matcher.advance_tokens(b'b": 1}') == 6 and matcher.is_accepting()
    matcher = compiled.matcher()
    assert matcher.advance_tokens(b'{"a": 1}') == 8 and matcher.is_accepting()
    assert not compiled.matcher().allows(close)
    matcher = compiled.matcher()
    assert matcher.advance_tokens([begin, *b"ab"]) == 3
    assert matcher.fork().advance(close) and matcher.advance(ord("c")) and not matcher.advance(ord("d"))
    matcher.rollback(2)
    assert matcher.advance_tokens(b"xyz") == 2


def test_a_close_with_bytes_is_the_token_and_no_thought() -> None:
    vocabulary = constrain.Vocabulary([*(bytes([i]) for i in range(256)), b"</t>", None], [257], names={"</t>": 256})
    constraint = after(constrain.token("</t>"), constrain.json_schema({"type": "integer"}), max_tokens=2)
    matcher = constrain.compile(constraint, vocabulary).matcher()
    assert matcher.advance_tokens(b"</t>") == 2  # no more thoughts, and the characters are not the token
    assert [token for token in range(257) if matcher.allows(token)] == [256]
    assert matcher.advance(256) and matcher.advance(ord("7")) and matcher.is_accepting()
    with pytest.raises(VocabularyError, match="token 256 is the text"):
        constrain.compile(after(constrain.token(256), constrain.regex("a"), max_tokens=2), vocabulary)


@pytest.mark.parametrize(
    ("arguments", "options", "kind", "message"),
    [
        (("", constrain.regex("a")), {}, ConstrainError, "a trigger is empty"),
        ((7, constrain.regex("a")), {}, ConstrainError, "the trigger of thoughts is a text or a token, not 7"),
        ((constrain.regex("a"), constrain.regex("a")), {}, ConstrainError, "is a text or a token"),
        ((constrain.token(but=["<x>"]), constrain.regex("a")), {}, ConstrainError, "is a text or a token"),
        (("</t>", "a"), {}, ConstrainError, "the constraint after thoughts is str"),
        (
            ("</t>", constrain.regex("a")),
            {"max_tokens": -1},
            ConstrainError,
            "max_tokens is a number of tokens, not -1",
        ),
        (("</t>", constrain.regex("a")), {"max_tokens": True}, ConstrainError, "not True"),
        (("</t>", constrain.regex("a")), {"optional": True}, ConstrainError, "need what begins them"),
        (("</t>", constrain.regex("<a")), {"optional": True, "begin": "<"}, ConstrainError, "may begin with '<' too"),
        (("</t>", constrain.regex("a")), {"begin": "\ud800"}, ConstrainError, "the beginning of thoughts is a text"),
    ],
)
def test_bad_input(arguments: Any, options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=re.escape(message)):
        after(*arguments, **options)


def test_a_budget_stands_alone() -> None:
    budget = after("</t>", constrain.regex("a"), max_tokens=3)
    for combine in (
        lambda: constrain.seq("x", budget),
        lambda: constrain.triggered("<", budget, ">"),
        lambda: after("</x>", budget),
        lambda: budget | constrain.regex("x"),
        lambda: constrain.regex("x") & budget,
        lambda: constrain.between(budget, prefix="a"),
    ):
        with pytest.raises(GrammarError, match="has a budget of tokens and stands alone"):
            combine()
    assert repr(budget) == "after('</t>', regex('a'), max_tokens=3)"
    assert constrain.seq("x", after("</t>", constrain.regex("a")))
