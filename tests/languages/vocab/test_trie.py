"""The flat trie against a trie of dicts."""

from itertools import combinations

import naive_vocab
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vocabularies
from constrain.languages.vocab.trie import SortedTokens, Trie

token_lists = st.lists(
    st.one_of(
        st.text("ab", max_size=5).map(str.encode),  # many shared prefixes and duplicates
        st.binary(max_size=4),
        st.binary(min_size=1, max_size=1).map(lambda byte: byte * 300),
    ),
    max_size=30,
)


def same_ids(trie: Trie, first: int) -> list[int]:
    """All ids with the same bytes as the one that a node names."""
    ids = []
    while first >= 0:
        ids.append(first)
        first = int(trie.next_same[first])
    return ids


def rows(trie: Trie) -> list[tuple[int, int, int, list[int]]]:
    columns = (trie.byte.tolist(), trie.depth.tolist(), trie.end.tolist(), trie.token.tolist())
    return [(byte, depth, end, same_ids(trie, token)) for byte, depth, end, token in zip(*columns, strict=True)]


def check_against_twin(trie: Trie, tokens: list[tuple[int, bytes]]) -> None:
    expected = naive_vocab.flat(naive_vocab.trie(tokens))
    assert rows(trie) == expected
    assert trie.max_depth == max((len(text) for _, text in tokens), default=0)
    linked = np.count_nonzero(trie.next_same >= 0)
    assert linked == sum(len(ids) - 1 for *_, ids in expected if ids)


@given(token_lists)
def test_equals_its_twin(texts: list[bytes]) -> None:
    tokens = list(enumerate(texts))
    check_against_twin(Trie.of(tokens), tokens)


@pytest.mark.parametrize("deep", [1, 2, 5])
def test_long_tokens_are_handled_one_by_one(deep: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("constrain.languages.vocab.trie.DEEP", deep)

    @given(token_lists)
    def check(texts: list[bytes]) -> None:
        tokens = list(enumerate(texts))
        check_against_twin(Trie.of(tokens), tokens)

    check()


def test_the_work_is_that_of_the_bytes_not_of_the_longest_token() -> None:
    """A token of a megabyte, and others that share its beginning: as many operations of numpy as for a short one."""
    long = b"x" * 1_000_000
    tokens = list(enumerate([b"x", b"xy", long, long + b"y", long[:-1] + b"z", b"yz" * 300_000, long]))
    trie = Trie.of(tokens)
    assert trie.max_depth == len(long) + 1 and len(trie) == len(long) + 600_003
    node = np.flatnonzero(trie.depth == len(long))
    assert [same_ids(trie, int(trie.token[at])) for at in node] == [[2, 6], [4]]
    assert trie.end[node].tolist() == [node[1], node[1] + 1] and int(trie.end[0]) == len(long) + 3


@given(st.permutations(list(range(0, 40, 3))), token_lists)
def test_ids_may_come_in_any_order_with_gaps(ids: list[int], texts: list[bytes]) -> None:
    tokens = list(zip(ids, texts, strict=False))
    trie = Trie.of(tokens, size=50)
    assert trie.next_same.shape == (50,)
    check_against_twin(trie, tokens)


def test_all_small_vocabularies() -> None:
    """Every set of tokens of up to 2 bytes over an alphabet of 2: 64 vocabularies."""
    texts = [bytes(pair) for pair in ([0], [255], [0, 0], [0, 255], [255, 0], [255, 255])]
    for count in range(len(texts) + 1):
        for chosen in combinations(texts, count):
            tokens = list(enumerate(chosen))
            check_against_twin(Trie.of(tokens), tokens)


@given(token_lists, st.integers(1, 5))
def test_a_part_of_a_vocabulary_shares_the_links(texts: list[bytes], modulus: int) -> None:
    """Tokens with the same bytes stay together when a sorted table is filtered by its bytes."""
    pairs = sorted((text, token_id) for token_id, text in enumerate(texts) if text)
    table = SortedTokens.of([text for text, _ in pairs], [token_id for _, token_id in pairs])
    keep = [sum(text) % modulus == 0 for text, _ in pairs]
    part = table.where(np.array(keep, np.bool_)).trie(table.next_same(len(texts)))
    expected = [(token_id, text) for (text, token_id), kept in zip(pairs, keep, strict=True) if kept]
    assert rows(part) == naive_vocab.flat(naive_vocab.trie(expected))


def test_types_and_the_empty_trie() -> None:
    for trie in (Trie.of([]), Trie.of([(0, b"")]), Trie.of([(3, b"ab")])):
        assert trie.byte.dtype == np.uint8
        assert {each.dtype for each in (trie.depth, trie.end, trie.token, trie.next_same)} == {np.dtype(np.int32)}
    assert len(Trie.of([])) == len(Trie.of([(0, b"")])) == 0
    assert rows(Trie.of([(3, b"ab")])) == [(ord("a"), 1, 2, []), (ord("b"), 2, 2, [3])]


def test_arrays_are_read_only() -> None:
    trie = Trie.of([(0, b"a")])
    with pytest.raises(ValueError, match="read-only"):
        trie.token[0] = 5


def test_special_and_end_of_text_tokens_are_not_in_the_trie() -> None:
    vocabulary = vocabularies.tiny()
    found = {token_id for *_, ids in rows(vocabulary.trie) for token_id in ids}
    assert found == set(range(269))  # 269 is special, 270 ends the text


@pytest.mark.parametrize("name", ["llama3", "sentencepiece32k"])
def test_real_vocabularies(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONSTRAIN_CACHE", "")  # what is built now, not what an earlier run left on disk
    vocabulary = vocabularies.fresh(name)
    check_against_twin(vocabulary.trie, [(i, token) for i, token in enumerate(vocabulary.tokens) if token])
