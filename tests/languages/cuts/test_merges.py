"""Merges against the tokenizers themselves, which encode each text without a pre-tokenizer; small ones exhaustively."""

import base64
import itertools
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from conftest import data_path
from constrain.errors import VocabularyError
from constrain.languages.cuts.merges import Merges
from constrain.languages.vocab.bits import Row, has_bit
from constrain.languages.vocab.vocabulary import Vocabulary
from made_merges import HAND_MADE, Pairs, ids_of, random_merges, tokenizer_of
from real_models import real_model

tokenizers = pytest.importorskip("tokenizers")
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers  # noqa: E402

Encode = Callable[[str], list[int]]


def encoder(tokenizer: Tokenizer) -> Encode:
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def naive_merge(symbols: list[bytes], ranks: dict[bytes, int]) -> list[bytes]:
    """Merging by its definition: the reference of kernels/cuts, for ranks of texts as tiktoken has them."""
    while True:
        joined = [left + right for left, right in itertools.pairwise(symbols)]
        least = min((ranks[text] for text in joined if text in ranks), default=None)
        if least is None:
            return symbols
        at = [ranks.get(text) for text in joined].index(least)
        symbols = [*symbols[:at], joined[at], *symbols[at + 2 :]]


def check_all_pairs(merges: Merges, pieces: dict[int, str], encode: Encode) -> None:
    """Every token and every pair of tokens are what the tokenizer says."""
    for a, left in pieces.items():
        assert has_bit(merges.alone(), a) == (encode(left) == [a]), left
        all_together = merges.all_together(a, np.array([*pieces], np.int32)).tolist()
        for (b, right), together in zip(pieces.items(), all_together, strict=True):
            is_own = encode(left + right) == [a, b]
            assert merges.together(a, b) == together == is_own, (left, right)


def by_id(ids: dict[str, int]) -> dict[int, str]:
    return {token: piece for piece, token in ids.items()}


# --- small tokenizers, exhaustively -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("symbols", "merges"), [row[1:] for row in HAND_MADE], ids=[row[0] for row in HAND_MADE])
def test_pairs_of_tokenizers_made_by_hand(symbols: str, merges: Pairs) -> None:
    ids = ids_of(symbols, merges)
    tokenizer, read = tokenizer_of(ids, merges)
    check_all_pairs(read, by_id(ids), encoder(tokenizer))


@pytest.mark.parametrize("symbols", ["a", "ab", "abc"])
def test_pairs_of_random_tokenizers(symbols: str) -> None:
    rng = random.Random(symbols)
    for _ in range(100):
        merges = random_merges(rng, symbols)
        ids = ids_of(symbols, merges)
        tokenizer, read = tokenizer_of(ids, merges)
        check_all_pairs(read, by_id(ids), encoder(tokenizer))


@pytest.mark.parametrize("symbols", ["ab", "abc"])
def test_neighbours_decide_whole_sequences(symbols: str) -> None:
    rng = random.Random(symbols)
    for _ in range(25):
        merges = random_merges(rng, symbols, longest=4, most=12)
        ids = ids_of(symbols, merges)
        tokenizer, read = tokenizer_of(ids, merges)
        pieces, encode = by_id(ids), encoder(tokenizer)
        for length in (3, 4):
            for sequence in itertools.islice(itertools.product(pieces, repeat=length), 3000):
                is_own = encode("".join(pieces[token] for token in sequence)) == list(sequence)
                assert all(read.together(a, b) for a, b in itertools.pairwise(sequence)) == is_own, sequence


def test_a_tokenizer_that_ignores_merges_writes_a_piece_that_is_a_token_as_it() -> None:
    """Other sequences are what neighbours say, unless they spell a token of `whole`."""
    rng, seen = random.Random(0), 0
    for _ in range(60):
        merges = random_merges(rng, "ab", longest=4, most=12)
        ids = ids_of("ab", merges)
        tokenizer, read = tokenizer_of(ids, merges, ignore_merges=True)
        pieces, encode = by_id(ids), encoder(tokenizer)
        whole = {pieces[token] for token in pieces if has_bit(read.whole, token)}
        seen += len(whole)
        for length in (1, 2, 3):
            for sequence in itertools.product(pieces, repeat=length):
                text = "".join(pieces[token] for token in sequence)
                is_merged = all(has_bit(read.alone(), token) for token in sequence) and all(
                    read.together(a, b) for a, b in itertools.pairwise(sequence)
                )
                said = sequence == (ids[text],) if text in whole else is_merged
                assert said == (encode(text) == list(sequence)), sequence
    assert seen > 20


@pytest.mark.parametrize("symbols", [b"a", b"ab", b"abc"])
def test_ranks_of_texts(symbols: bytes) -> None:
    """Against the definition, and against tiktoken where it merges: it looks up a piece that is a token."""
    tiktoken = pytest.importorskip("tiktoken")
    rng = random.Random(symbols)
    for _ in range(60):
        texts = {bytes(rng.choices(symbols, k=rng.randint(2, 6))) for _ in range(rng.randint(1, 20))}
        ranks = {bytes([byte]): token for token, byte in enumerate(symbols)}
        ranks |= {text: len(ranks) + n for n, text in enumerate(rng.sample(sorted(texts), len(texts)))}
        read = Merges.of_ranks(ranks, Vocabulary([*ranks, None], [len(ranks)]))
        encoding = tiktoken.Encoding("made", pat_str=".+", mergeable_ranks=ranks, special_tokens={})
        pieces = {token: text.decode() for text, token in ranks.items()}

        def encode(text: str, ranks: dict[bytes, int] = ranks) -> list[int]:
            return [ranks[part] for part in naive_merge([bytes([byte]) for byte in text.encode()], ranks)]

        check_all_pairs(read, pieces, encode)
        for a, b in itertools.product(pieces, pieces):
            if (text := pieces[a] + pieces[b]).encode() not in ranks:
                assert read.together(a, b) == (encoding.encode(text) == [a, b])
        assert set(bits(read.whole)) == set(pieces) - set(bits(read.alone()))


def bits(row: Row) -> list[int]:
    return np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()


# --- bytes that stand for characters ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def with_bytes() -> tuple[Tokenizer, Merges, dict[int, str]]:
    """Characters a, b and é have tokens, and some of them merges; all others are written in bytes."""
    merges = [("a", "b"), ("é", "a"), ("ab", "é")]
    pieces = [*(f"<0x{byte:02X}>" for byte in range(256)), "a", "b", "é", "ab", "éa", "abé"]
    ids = {piece: token for token, piece in enumerate(pieces)}
    tokenizer, read = tokenizer_of(ids, merges, byte_fallback=True, unk_token="b", fuse_unk=True)
    return tokenizer, read, by_id(ids)


def test_bytes_of_characters_that_have_a_token_are_never_written(
    with_bytes: tuple[Tokenizer, Merges, dict[int, str]],
) -> None:
    tokenizer, read, _ = with_bytes
    encode = encoder(tokenizer)
    for byte in range(128):
        assert has_bit(read.alone(), byte) == (encode(chr(byte)) == [byte])
        assert has_bit(read.byte_tokens, byte)
    assert all(has_bit(read.alone(), byte) for byte in range(128, 256))
    assert bits(read.byte_tokens) == list(range(256))
    for character in "aé日b😀":
        own = encode(character)
        assert read.has_character(character.encode()) == (len(own) == 1)
        assert own == [*character.encode()] or read.has_character(character.encode())


def test_bytes_of_characters_merge_with_nothing(with_bytes: tuple[Tokenizer, Merges, dict[int, str]]) -> None:
    tokenizer, read, pieces = with_bytes
    encode = encoder(tokenizer)
    units = [(pieces[token], [token]) for token in range(256, len(pieces))]
    units += [(character, [*character.encode()]) for character in "c\n日😀"]
    for (left, first), (right, second) in itertools.product(units, units):
        sequence = first + second
        is_own = all(read.together(a, b) for a, b in itertools.pairwise(sequence))
        assert is_own == (encode(left + right) == sequence), (left, right)


# --- what is not understood -------------------------------------------------------------------------------------------


def refused() -> Iterator[tuple[str, Any]]:
    vocab, pairs = {"a": 0, "b": 1, "ab": 2}, [("a", "b")]
    yield "this tokenizer has no merges", Tokenizer(models.Unigram([("a", 0.0)], 0))
    yield "this tokenizer has no merges", object()
    yield "a BPE model with dropout is not understood", Tokenizer(models.BPE(vocab, pairs, dropout=0.1))
    marked = {"a": 0, "##b": 1, "ab": 2}
    prefixed = Tokenizer(models.BPE(marked, [("a", "##b")], continuing_subword_prefix="##"))
    yield "a BPE model with continuing_subword_prefix is not understood", prefixed
    ended = Tokenizer(models.BPE(vocab, pairs, end_of_word_suffix="b"))
    yield "a BPE model with end_of_word_suffix is not understood", ended
    named = {"<0x61>": 0, "<0x62>": 1, "<0x61><0x62>": 2}
    of_bytes = Tokenizer(models.BPE(named, [("<0x61>", "<0x62>")], byte_fallback=True))
    yield "merges of byte tokens are not understood", of_bytes
    far = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 7}, pairs))
    yield "the tokenizer has the id 7, the vocabulary 4 tokens", far


@pytest.mark.parametrize(("message", "tokenizer"), [*refused()])
def test_what_is_not_understood_is_an_error(message: str, tokenizer: Any) -> None:
    with pytest.raises(VocabularyError) as error:
        Merges.of(tokenizer, Vocabulary([b"a", b"b", b"ab", None], [3]))
    assert error.value.message == message
    assert error.value.fix


def test_merges_as_older_versions_of_tokenizers_write_them() -> None:
    class BPE:
        def __getstate__(self) -> bytes:
            return json.dumps({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}).encode()

    read = Merges.of(SimpleNamespace(model=BPE()), Vocabulary([b"a", b"b", b"ab", None], [3]))
    assert [(a, b) for a, b in itertools.product(range(3), range(3)) if not read.together(a, b)] == [(0, 1)]


def test_a_token_without_bytes_is_not_alone_but_parts_of_others_may_be() -> None:
    tokenizer = Tokenizer(models.BPE({"a": 0, "aa": 1, "aaa": 2, "b": 3}, [("a", "a"), ("aa", "a")]))
    read = Merges.of(tokenizer, Vocabulary([b"a", None, b"aaa", b"b"], [1]))
    assert bits(read.alone()) == [0, 2, 3]
    assert not read.together(1, 3)
    assert read.together(2, 3)
    assert not any(read.together(a, b) for a, b in ((-1, 0), (0, 4), (3, 10**9)))


# --- larger tokenizers, by samples ------------------------------------------------------------------------------------


def joining(merges: Merges, a: int) -> list[int]:
    """The tokens that are alone and do not stay behind a token."""
    alone = np.array(bits(merges.alone()), np.int32)
    return alone[~merges.all_together(a, alone)].tolist()


def check_sample(
    merges: Merges, pieces: dict[int, str], encode: Encode, rng: random.Random, pairs: int, firsts: int
) -> None:
    """Random pairs of tokens are what the tokenizer says, and some behind a token, most of which join it."""
    alone = [token for token in bits(merges.alone()) if token in pieces]
    for a, b in zip(rng.choices(alone, k=pairs), rng.choices(alone, k=pairs), strict=True):
        assert merges.together(a, b) == (encode(pieces[a] + pieces[b]) == [a, b]), (pieces[a], pieces[b])
    for a in rng.sample(alone, firsts):
        others = joining(merges, a)
        for b in {*rng.choices(alone, k=200), *rng.sample(others, min(200, len(others)))}:
            assert merges.together(a, b) == (encode(pieces[a] + pieces[b]) == [a, b]), (pieces[a], pieces[b])


def test_a_tokenizer_trained_on_this_repository(repository: Path) -> None:
    texts = [path.read_text(encoding="utf-8") for path in sorted((repository / "docs").glob("*.md"))]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=2000, initial_alphabet=alphabet))
    read = Merges.of(tokenizer, Vocabulary.from_huggingface(tokenizer, eos_ids=[2000], size=2001))
    words = {word for text in texts for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)}
    tokenizer.pre_tokenizer = None
    encode = encoder(tokenizer)
    assert len(bits(read.alone())) > 1900
    check_sample(read, by_id(tokenizer.get_vocab()), encode, random.Random(0), 3000, 100)
    for word in sorted(words):
        ids = encode(word)
        assert all(has_bit(read.alone(), token) for token in ids)
        assert all(read.together(a, b) for a, b in itertools.pairwise(ids))


@pytest.mark.parametrize("name", ["smollm2", "gemma3-270m"])
def test_real_models(name: str) -> None:
    tokenizer = Tokenizer.from_file(str(real_model(name) / "tokenizer.json"))
    vocabulary = Vocabulary.from_huggingface(tokenizer, eos_ids=[1])
    read = Merges.of(tokenizer, vocabulary)
    state = json.loads(tokenizer.model.__getstate__())
    merging = Tokenizer(
        models.BPE(
            state["vocab"], [tuple(pair) for pair in state["merges"]], byte_fallback=state["byte_fallback"],
            unk_token=state["unk_token"], fuse_unk=state["fuse_unk"],
        )
    )  # fmt: skip
    rng, encode, is_byte = random.Random(0), encoder(merging), set(bits(read.byte_tokens))
    pieces = {token: piece for piece, token in state["vocab"].items() if token not in is_byte}
    for token in rng.sample([token for token in pieces if vocabulary.tokens[token]], 20_000):
        assert has_bit(read.alone(), token) == (encode(pieces[token]) == [token]), pieces[token]
    check_sample(read, pieces, encode, rng, 20_000, 200)


def test_the_ranks_of_llama_3() -> None:
    lines = data_path("tokenizers", "llama3", "tokenizer.model").read_bytes().splitlines()
    ranks = {base64.b64decode(text): int(rank) for text, rank in map(bytes.split, lines)}
    read = Merges.of_ranks(ranks, Vocabulary([*ranks, None], [len(ranks)]))
    texts = {token: text for text, token in ranks.items()}

    def merged(*tokens: int) -> list[int]:
        text = b"".join(texts[token] for token in tokens)
        return [ranks[part] for part in naive_merge([bytes([byte]) for byte in text], ranks)]

    rng = random.Random(0)
    for token in rng.sample(sorted(texts), 1000):
        assert has_bit(read.alone(), token) == (merged(token) == [token])
    alone = bits(read.alone())
    for a in rng.sample(alone, 100):
        others = joining(read, a)
        for b in {*rng.choices(alone, k=30), *rng.sample(others, min(30, len(others)))}:
            assert read.together(a, b) == (merged(a, b) == [a, b]), (texts[a], texts[b])
