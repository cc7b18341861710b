"""Rows of the tokens that may not follow one, beside the pairs: small tokenizers exhaustively, real ones by samples."""

import random

import numpy as np
import pytest
from tokenizers import Tokenizer

from constrain.languages.cuts.merges import Merges
from constrain.languages.vocab.bits import tokens_of
from constrain.languages.vocab.vocabulary import Vocabulary
from constrain.papers.cuts.conflicts import Conflicts
from made_merges import HAND_MADE, ids_of, random_merges, tokenizer_of
from made_tokenizers import MADE
from real_models import real_model


def check(merges: Merges, size: int, firsts: list[int]) -> None:
    """The row of each of some tokens has all tokens that do not stay behind it."""
    conflicts, every = Conflicts(merges), np.arange(size, dtype=np.int32)
    for a in firsts:
        assert tokens_of(conflicts.row(a)).tolist() == every[~merges.all_together(a, every)].tolist(), a
        assert conflicts.row(a) is conflicts.row(a)


@pytest.mark.parametrize("symbols", ["a", "ab", "abc"])
def test_small_tokenizers(symbols: str) -> None:
    rng = random.Random(symbols)
    made = [(of, merges) for _, of, merges in HAND_MADE if of == symbols]
    for of, merges in [*made, *((symbols, random_merges(rng, symbols)) for _ in range(100))]:
        ids = ids_of(of, merges)
        check(tokenizer_of(ids, merges)[1], len(ids) + 1, [*range(len(ids) + 1)])


@pytest.mark.parametrize("name", [*MADE, "smollm2", "gemma3-270m"])
def test_tokenizers(name: str) -> None:
    tokenizer = MADE[name]() if name in MADE else Tokenizer.from_file(str(real_model(name) / "tokenizer.json"))
    vocabulary = Vocabulary.from_huggingface(tokenizer, eos_ids=[1])
    firsts = range(vocabulary.size) if name in MADE else random.Random(0).sample(range(vocabulary.size), 200)
    check(Merges.of(tokenizer, vocabulary), vocabulary.size, [*firsts])
