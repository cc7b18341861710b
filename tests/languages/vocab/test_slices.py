"""Slices against their definition, character by character."""

import json
from itertools import pairwise

import naive_vocab
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vocabularies
from constrain.languages.automata.syntax import Ranges
from constrain.languages.vocab.slices import CLASSES, MAX_LENGTH, Slice
from constrain.languages.vocab.trie import Trie
from constrain.languages.vocab.vocabulary import Vocabulary

tokens_strategy = st.lists(
    st.one_of(
        st.none(),
        st.text('aZ_9 ~"\\\n\x1f\x7fé→😀', max_size=4).map(str.encode),
        st.text('aZ_9 ~"\\\n\x1f\x7fé→😀', max_size=4).map(lambda text: text.encode()[:-1]),  # half characters
        st.binary(max_size=3),
        st.sampled_from(
            [b"a" * 31, b"a" * 32, b"a" * 33, b" " * 70, b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf"]
        ),
    ),
    max_size=40,
)


def bits(mask: np.ndarray) -> set[int]:
    return set(np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little")).tolist())


def ids_in(trie: Trie) -> set[int]:
    found: set[int] = set()
    layer = set(trie.token[trie.token >= 0].tolist())
    while layer:
        found |= layer
        layer = {int(trie.next_same[token_id]) for token_id in layer} - {-1}
    return found


def check_against_twin(vocabulary: Vocabulary, each: Slice) -> None:
    every = naive_vocab.slice_lengths(vocabulary.tokens, each.ranges, each.spaced)
    lengths = {token_id: length for token_id, length in every.items() if length <= MAX_LENGTH}
    assert each.longest == max(lengths.values(), default=0)
    table = each.tokens_by_length
    assert table.dtype == np.uint32
    assert table.shape == (each.longest + 1, vocabulary.words)
    for k in range(each.longest + 1):
        assert bits(table[k]) == {token_id for token_id, length in lengths.items() if length <= k}
    assert bits(table[-1]) == set(lengths)
    matchable = {token_id for token_id, token in enumerate(vocabulary.tokens) if token}
    assert ids_in(each.rest) == matchable - set(lengths)


@given(tokens_strategy)
def test_equal_their_twin(tokens: list[bytes | None]) -> None:
    vocabulary = Vocabulary([*tokens, None], eos_ids=[len(tokens)])
    assert [each.name for each in vocabulary.slices] == [name for name, _ in CLASSES]
    for each in vocabulary.slices:
        check_against_twin(vocabulary, each)


@pytest.mark.parametrize("name", ["llama3", "sentencepiece32k"])
def test_real_vocabularies(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONSTRAIN_CACHE", "")  # what is built now, not what an earlier run left on disk
    vocabulary = vocabularies.fresh(name)
    for each in vocabulary.slices:
        check_against_twin(vocabulary, each)


def test_classes_are_normal_ranges() -> None:
    """Sorted, disjoint, not adjacent, without surrogates, as `syntax.Ranges` wants them."""
    for _, ranges in CLASSES:
        for (_, high), (low, _) in pairwise(ranges):
            assert high + 1 < low
        assert all(low <= high and not (low <= 0xDFFF and high >= 0xD800) for low, high in ranges)


def test_json_plain_is_what_a_json_string_shows_as_it_is() -> None:
    """But for the line separators, which the `.` of ECMA-262 lacks: without them it loops on the class too."""
    ranges = dict(CLASSES)["json_plain"]
    assert not any(low <= point <= high for low, high in ranges for point in (0x2028, 0x2029))
    for point in [*range(0x300), 0x2027, 0x202A, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF]:
        plain = json.dumps(chr(point), ensure_ascii=False) == f'"{chr(point)}"'
        assert any(low <= point <= high for low, high in ranges) == plain


def walked(trie: Trie, ranges: Ranges) -> int:
    """Nodes that a walk looks at in a state that loops on a class: children of nodes whose bytes may be in it."""
    live = np.zeros(256, bool)
    for low, high in ranges:
        live[low : min(high, 0x7F) + 1] = True
        live[0x80:] |= high > 0x7F
    alive, end = live[trie.byte].tolist(), trie.end.tolist()
    looked_at = i = 0
    while i < len(end):
        looked_at += 1
        i = i + 1 if alive[i] else end[i]
    return looked_at


LOOPS: dict[str, Ranges] = {
    r"[^\x00-\x1F\"\\]": dict(CLASSES)["json_plain"],
    r"[ -~]": dict(CLASSES)["ascii_plain"],
    r"[A-Za-z0-9_ ]": ((0x20, 0x20), *dict(CLASSES)["word"]),
    r"\w": dict(CLASSES)["word"],
    r"[A-Za-z0-9]": ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)),
    r"[a-z]": dict(CLASSES)["lower"],
    r"[a-z0-9-]": ((0x2D, 0x2D), (0x30, 0x39), (0x61, 0x7A)),
}


def within(ranges: Ranges, other: Ranges) -> bool:
    return all(any(a <= low and high <= b for a, b in other) for low, high in ranges)


def test_slices_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each loop on a common class walks far fewer nodes with the first slice that it admits (numbers in slices.py)."""
    monkeypatch.setenv("CONSTRAIN_CACHE", "")
    vocabulary = vocabularies.fresh("llama3")
    for name, ranges in LOOPS.items():
        best = next(each for each in vocabulary.slices if within(each.ranges, ranges))
        whole, rest = walked(vocabulary.trie, ranges), walked(best.rest, ranges)
        print(f"{name:20} {whole:>8,} -> {rest:>6,} ({best.name})")
        assert rest < whole / 4, name
