"""Free text with pieces: against a plain reading of all short texts; pieces that are schemas; faults."""

from functools import cache

import numpy as np
import pytest

import constrain
import vocabularies
from constrain.errors import ConstrainError, UnsatisfiableError
from constrain.languages.automata.decide import matches
from constrain.languages.automata.parse.python import parse_python
from constrain.masks.derived.members import byte_matcher
from constrain.masks.derived.reasoning import after
from constrain.masks.derived.triggered import triggered
from handmade import Made, reads
from reading_oracle import texts
from tables import table

TABLE = table("triggered_texts")


def plain_member(text: str, pieces: list[tuple[str, str, str]], least: int, most: int | None, final: bool) -> bool:
    """The definition: read from the left, the first trigger to be complete begins a piece."""

    @cache
    def is_one(start: int, done: int) -> bool:
        ends = [
            (end, piece)
            for piece in pieces
            for end in range(start + 1, len(text) + 1)
            if text[start:end].endswith(piece[0])
        ]
        if done >= least and (start == len(text) if final else not ends):
            return True
        if not ends or done == most:
            return False
        begin, (_, inner, stop) = min(ends, key=lambda pair: pair[0])
        node = parse_python(inner)
        return any(
            text.startswith(stop, end) and matches(node, text[begin:end]) and is_one(end + len(stop), done + 1)
            for end in range(begin, len(text) + 1)
        )

    return is_one(0, 0)


CASES = [
    ([("<", "a*", ">")], 0, None), ([("<", "a*", ">")], 1, 2), ([("<", "[a<>]*", ">")], 0, None),
    ([("aa", "<|a", "a")], 0, None), ([("<a", "a|", ""), (">", "a", "<")], 0, None), ([("<<", "a?", "")], 2, None),
    ([("a<a", ">", "<")], 0, 1),
]  # fmt: skip


@pytest.mark.parametrize("pieces, least, most", CASES)
def test_all_short_texts(pieces, least, most):
    constraint = triggered(
        [(start, constrain.regex(inner), stop) for start, inner, stop in pieces], least=least, most=most
    )
    length = 6
    members = {text for text in texts("<>a", length) if plain_member(text, pieces, least, most, False)}
    beginnings = {text[:end] for text in members for end in range(len(text) + 1)}
    for text in texts("<>a", length):
        alive, is_one = reads(constraint, text)
        assert is_one == (text in members), text
        if len(text) <= 2:
            assert alive == (text in beginnings), text


@pytest.mark.parametrize("trigger, inner", [("<", "a+"), ("<a", "[<a]*"), ("aa", "a?>")])
def test_an_answer_after_thoughts(trigger, inner):
    constraint = after(trigger, constrain.regex(inner))
    for text in texts("<>a", 6):
        assert reads(constraint, text)[1] == plain_member(text, [(trigger, inner, "")], 1, 1, True), text


CALL = constrain.json_schema(
    {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}
)


def test_tool_calls():
    constraint = triggered("<tool>", CALL, "</tool>")
    for text, is_one in {
        "no call": True,
        'Now: <tool>{"city": "Bern"}</tool> and <tool>{"city": "Rom", "days": 3}</tool>.': True,
        '<tool>{"city": "</tool>"}</tool>': True,
        "an open <too": True,
        "<tool>": False,
        '<tool>{"city": 1}</tool>': False,
        '<tool>{"city": "a", "city": "b"}</tool>': False,
        '<tool>{"city": "a", "x": 1, "x": 2}</tool> text': False,
    }.items():
        assert reads(constraint, text)[1] == is_one, text
    assert constraint.parse('a <tool>{"city": "Bern"}</tool> b <tool>{"city": "</tool>", "days": 3}</tool>') == [
        {"city": "Bern"},
        {"city": "</tool>", "days": 3},
    ]
    assert "no key comes twice" in str(constraint.report)
    assert "checked on the finished text" in str(constraint.report)
    assert "'x'" in str(constraint.residual_fault('<tool>{"city": "a", "x": 1, "x": 2}</tool> text'))


TAGS = constrain.json_schema(
    {"type": "object", "properties": {"t": {"type": "array", "uniqueItems": True}}}, spelling="any"
)
WITH_PIECES = TABLE["with_pieces"]


@pytest.mark.parametrize("text, refused", WITH_PIECES)
def test_masks_veto_what_repeats_in_a_piece(text, refused):
    """In masks and token by token, against the same grammar without its guard."""
    constraint = triggered([("<tool>", TAGS, "</tool>"), ("```json\n", constrain.json_schema(True), "\n```")])
    vocabulary = vocabularies.tiny()
    compiled = constrain.compile(constraint, vocabulary)
    matcher, free = compiled.matcher(), constrain.compile(Made(constraint.to_grammar()), vocabulary).matcher()
    rows = np.zeros((2, vocabulary.words), np.uint32)
    for row, each in zip(rows, (matcher, free), strict=True):
        assert each.advance_bytes(text.encode())
        each.fill_mask(row)
    bits = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")[:, : vocabulary.size].astype(bool)
    assert [matcher.allows(token) for token in range(vocabulary.size)] == bits[0].tolist()
    lost = [vocabulary.tokens[token] for token in np.flatnonzero(bits[1] & ~bits[0]) if vocabulary.tokens[token]]
    assert {token[:1].decode(errors="replace") for token in lost} >= set(refused)
    assert bool(lost) == bool(refused)


@pytest.mark.parametrize("cuts", [[], [7], [8, 9, 16], [3, 14, 15, 30, 31, 40]])
def test_the_guard_reads_pieces_of_any_length(cuts):
    """However a text is cut into steps, the guard stands in an equal place: it vetoes the same next."""
    text = b'ab <tool>{"a": [1, {"c": 2}]}  </tool> <tool>{"b": 0, "b'
    constraint = triggered("<tool>", TAGS, "</tool>")
    guard = constraint.guard(vocabularies.tiny())
    state = guard.start()
    for start, stop in zip([0, *cuts], [*cuts, len(text)], strict=True):
        state = guard.step(state, text[start:stop])
    assert guard.step(state, b'"') is None
    assert guard.step(state, b'c"') is not None
    assert guard.step(guard.start(), text + b'"') is None


def test_several_kinds_of_pieces():
    sums = constrain.grammar('start: N ("+" N)*\nN: /[0-9]+/\n%ignore " "')
    constraint = triggered([("```json\n", CALL, "\n```"), ("```sum\n", sums, "\n```")])
    assert reads(constraint, '```json\n{"city": "x"}\n``` then ```sum\n1 + 2\n```\n')[1]
    assert not reads(constraint, "```sum\n1 +\n```")[0]
    assert constraint.parse('```json\n{"city": "x"}\n``` then ```sum\n1 + 2\n```\n') == [{"city": "x"}, "1 + 2"]
    assert after("</think>", CALL).parse('so <tool> ... </think>{"city": "Bern"}') == {"city": "Bern"}


@pytest.mark.parametrize("text", ["", "1 <", "1 <b", "a <b>1"])
def test_masks_of_a_real_vocabulary(text):
    """Token by token what reading the bytes says: free text is free, but for what would hold a trigger and go wrong."""
    vocabulary = vocabularies.sentencepiece32k()
    constraint = triggered("<b>", constrain.regex("[0-9]+"), "</b>")
    matcher = constrain.compile(constraint, vocabulary).matcher()
    matcher.advance_bytes(text.encode())
    row = np.zeros(vocabulary.words, np.uint32)
    matcher.fill_mask(row)
    bits = np.unpackbits(row.view(np.uint8), bitorder="little")[: vocabulary.size].astype(bool)
    some = [i for i, token in enumerate(vocabulary.tokens) if token and (i % 7 == 0 or b"b" in token or b"<" in token)]
    before = byte_matcher(constraint)
    before.advance_bytes(text.encode())
    for token_id in some:
        assert bits[token_id] == before.fork().advance_bytes(vocabulary.tokens[token_id]), vocabulary.tokens[token_id]
    assert 0 < bits[some].sum() < len(some) or not text


@pytest.mark.parametrize(
    "arguments, match",
    [
        (("", CALL, "x"), "empty"),
        (("a", None, "x"), "inner constraint of a piece is NoneType"),
        (("a", CALL, 3), "the stop of a piece is a text"),
        (([("a", CALL, ""), ("ba", CALL, "")],), "'ba' holds the trigger 'a'"),
        (([],), "at least one"),
        (([("a", CALL, "")], CALL), "takes one start"),
        ((["ab"],), "a piece is"),
    ],
)
def test_faults(arguments, match):
    with pytest.raises(ConstrainError, match=match):
        triggered(*arguments)


def test_counts_and_lexers():
    for least, most in ((2, 1), (-1, None), (0, 0), ("1", None)):
        with pytest.raises(ConstrainError, match="no numbers of pieces"):
            triggered("a", CALL, "b", least=least, most=most)
    with pytest.raises(UnsatisfiableError):
        triggered("a", constrain.regex("[^\\s\\S]"), "b")
    assert repr(after("a", constrain.regex("b"))) == "after('a', regex('b'))"
    assert repr(triggered("a", constrain.regex("b"), "c")) == "triggered([('a', regex('b'), 'c')])"
    assert {triggered("a", CALL, "b"), triggered("a", CALL, "b")} == {triggered("a", CALL, "b")}
