"""Vocabulary: what it keeps, what it refuses (tests/data/vocab_errors.toml), and the files it reads."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vocabularies
from constrain.errors import VocabularyError
from constrain.languages.vocab.vocabulary import Vocabulary
from tables import table

TABLE = table("vocab_errors")


def rows(kind: str) -> Any:
    return pytest.mark.parametrize("row", [pytest.param(row, id=row["name"]) for row in TABLE[kind]])


def check_error(error: VocabularyError, row: dict[str, Any], path: Path | None = None) -> None:
    assert str(error) == row["error"].strip().replace("{path}", str(path))


@rows("raw")
def test_refused(row: dict[str, Any]) -> None:
    tokens = [token.encode() if isinstance(token, str) else token for token in row["tokens"]]
    with pytest.raises(VocabularyError) as raised:
        Vocabulary(tokens, row["eos_ids"])
    check_error(raised.value, row)


def test_texts_are_refused() -> None:
    with pytest.raises(VocabularyError) as raised:
        Vocabulary([b"a", "b"], [0])  # type: ignore[list-item]
    assert str(raised.value) == "a token is str, not bytes\n  at token id 1: 'b'\n  fix: encode texts with .encode()"


@rows("tiktoken")
def test_refused_tiktoken_files(row: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "ranks.tiktoken"
    path.write_text(row["content"])
    with pytest.raises(VocabularyError) as raised:
        Vocabulary.from_tiktoken(path, special_tokens=row.get("special_tokens"), eos_ids=[0])
    check_error(raised.value, row, path)


@rows("tekken")
def test_refused_tekken_files(row: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "tekken.json"
    path.write_text(row["content"])
    with pytest.raises(VocabularyError) as raised:
        Vocabulary.from_tekken(path)
    check_error(raised.value, row, path)


def test_refused_sentencepiece_files(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    path = tmp_path / "tokenizer.model"
    path.write_bytes(b"not a protocol buffer")
    with pytest.raises(VocabularyError, match=r"not a SentencePiece vocabulary file\n  at .*tokenizer\.model"):
        Vocabulary.from_sentencepiece(path)


@pytest.mark.parametrize("read", [Vocabulary.from_tiktoken, Vocabulary.from_tekken, Vocabulary.from_sentencepiece])
def test_absent_files(read: Any, tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    path = tmp_path / "absent"
    with pytest.raises(VocabularyError) as raised:
        read(path)
    message = "the vocabulary file cannot be read: No such file or directory"
    assert str(raised.value) == f"{message}\n  at {path}\n  fix: check the path"


@pytest.mark.parametrize("read", [Vocabulary.from_tiktoken, Vocabulary.from_sentencepiece])
def test_objects_of_another_kind(read: Any) -> None:
    with pytest.raises(VocabularyError, match=r"^dict is not a "):
        read({})


def test_what_is_kept() -> None:
    vocabulary = Vocabulary([b"a", None, b"", b"<end>", b"a", b"<stop>"], eos_ids=(n for n in (np.int64(5), 3, 5)))
    assert vocabulary.tokens == [b"a", None, b"", None, b"a", None]  # the bytes of end-of-text ids are not text
    assert vocabulary.eos_ids == (3, 5)
    assert (vocabulary.size, len(vocabulary), vocabulary.words) == (6, 6, 1)
    assert vocabulary.trie.token.tolist() == [0]
    assert vocabulary.trie.next_same.tolist() == [4, -1, -1, -1, -1, -1]


@pytest.mark.parametrize("size, words", [(1, 1), (31, 1), (32, 1), (33, 2), (64, 2), (65, 3)])
def test_words_of_a_mask(size: int, words: int) -> None:
    assert Vocabulary([None] * size, eos_ids=[0]).words == words


def test_the_list_that_was_passed_is_not_changed() -> None:
    tokens = [b"a", b"</s>"]
    Vocabulary(tokens, eos_ids=[1])
    assert tokens == [b"a", b"</s>"]


def test_to_bytes() -> None:
    vocabulary = vocabularies.tiny()
    assert vocabulary.to_bytes([259, ord("a"), 260, 256, ord("}"), 269, 270]) == b'{"a":true}'
    assert vocabulary.to_bytes([]) == b""
    assert vocabulary.to_bytes(np.array([97, 268])) == b"aab"


@pytest.mark.parametrize("token_id", [-1, 271, 10**9])
def test_to_bytes_of_an_id_out_of_range(token_id: int) -> None:
    with pytest.raises(VocabularyError) as raised:
        vocabularies.tiny().to_bytes([97, token_id])
    fix = "ids of this vocabulary go from 0 to 270"
    assert str(raised.value) == f"token id {token_id} is out of range\n  fix: {fix}"


contents = st.tuples(st.lists(st.none() | st.binary(max_size=2), min_size=1, max_size=5), st.sets(st.integers(0, 4)))


@given(contents, contents)
def test_keys_are_equal_iff_the_content_is(one: Any, other: Any) -> None:
    """b"" and None are the same to a mask: never allowed."""

    def content(tokens: list[bytes | None], eos_ids: set[int]) -> Any:
        eos = sorted({i % len(tokens) for i in eos_ids} or {0})
        return Vocabulary(tokens, eos).key, (
            [None if i in eos else token or None for i, token in enumerate(tokens)],
            eos,
        )

    (key, parts), (other_key, other_parts) = content(*one), content(*other)
    assert (key == other_key) == (parts == other_parts)


def test_tiktoken_file(tmp_path: Path) -> None:
    path = tmp_path / "ranks.tiktoken"
    path.write_text("YQ== 0\nwww= 2\n\nYWI= 1\n")
    vocabulary = Vocabulary.from_tiktoken(path, special_tokens={"<s>": 5, "<end>": 6}, eos_ids=6, size=8)
    assert vocabulary.tokens == [b"a", b"ab", b"\xc3\x0c", None, None, None, None, None]
    assert vocabulary.eos_ids == (6,)
    with pytest.raises(VocabularyError, match="no end-of-text id"):
        Vocabulary.from_tiktoken(path)


def test_tiktoken_encoding() -> None:
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 258}  # 256 and 257 are gaps
    special = {"<|endoftext|>": 260, "<|other|>": 259}
    encoding = tiktoken.Encoding("small", pat_str=r"\w+|\W", mergeable_ranks=ranks, special_tokens=special)
    vocabulary = Vocabulary.from_tiktoken(encoding)
    assert vocabulary.eos_ids == (260,)
    assert vocabulary.tokens[255:] == [b"\xff", None, None, b"ab", None, None]
    assert vocabulary.to_bytes(encoding.encode_ordinary("ab é→")) == "ab é→".encode()


def test_tekken_file(tmp_path: Path) -> None:
    data = {
        "config": {"default_vocab_size": 6, "default_num_special_tokens": 4},
        "vocab": [
            {"rank": 1, "token_bytes": "w6k="},
            {"rank": 0, "token_bytes": "YQ=="},
            {"rank": 2, "token_bytes": ""},
        ],
        "special_tokens": [{"rank": 0, "token_str": "<s>"}, {"rank": 3, "token_str": "</s>"}],
    }
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps(data))
    vocabulary = Vocabulary.from_tekken(path)
    assert vocabulary.tokens == [None, None, None, None, b"a", "é".encode()]  # rank 2 is beyond the stated size
    assert vocabulary.eos_ids == (3,)


def test_size_less_than_the_tokenizers(tmp_path: Path) -> None:
    path = tmp_path / "ranks.tiktoken"
    path.write_text("YQ== 0\nYg== 1\n")
    with pytest.raises(VocabularyError) as raised:
        Vocabulary.from_tiktoken(path, eos_ids=[1], size=1)
    assert str(raised.value) == (
        "size (1) is less than the tokenizer's 2 token ids\n"
        "  fix: pass the width of the model's logits, or resize the model's embeddings to its tokenizer"
    )
