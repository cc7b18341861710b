"""Canonical tokens remember within bounds, threads may share that, and what was forgotten is found again the same."""

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import constrain
from constrain.languages.cuts import CanonicalTokens
from constrain.languages.cuts import canonical as tokens_module
from constrain.lazily import EACH
from constrain.masks.derived.cuts import ENDINGS
from constrain.papers.cuts import rows as rows_module
from constrain.papers.cuts.canonical import CanonicalCuts
from constrain.papers.cuts.rows import CanonicalRows
from made_tokenizers import MADE

PATTERNS = [f'[as\' ]{{{low},9}}[!1]|"a{{{low}}}"' for low in range(1, 9)]


def made(name: str) -> tuple[constrain.Vocabulary, CanonicalTokens]:
    tokenizer = MADE[name]()
    vocabulary = constrain.Vocabulary.from_huggingface(tokenizer, eos_ids=[tokenizer.token_to_id("<end>")])
    return vocabulary, CanonicalTokens.of(tokenizer, vocabulary)


def walk(constraint: CanonicalCuts, seed: int) -> list[bytes]:
    """The masks of a random text."""
    chance, matcher, rows = random.Random(seed), constraint.matcher(), []
    while not matcher.ended:
        row = np.zeros(constraint.vocabulary.words, np.uint32)
        matcher.fill_mask(row)
        rows.append(row.tobytes())
        allowed = np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist()
        assert matcher.advance(chance.choice(allowed))
    return rows


def constraints_of(vocabulary: constrain.Vocabulary, tokens: CanonicalTokens) -> list[CanonicalCuts]:
    return [CanonicalCuts(constrain.compile(constrain.regex(each), vocabulary), tokens) for each in PATTERNS]


@pytest.mark.parametrize("name", ["gpt2", "sentencepiece"])
def test_what_is_remembered_is_bounded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With little memory: as many steps, rows and places as fit, and the masks of one that forgets nothing."""
    vocabulary, endless = made(name)
    expected = [[walk(each, seed) for seed in range(12)] for each in constraints_of(vocabulary, endless)]
    room = 6 * (4 * vocabulary.words + EACH)
    monkeypatch.setattr(rows_module, "MEMORY", room)
    monkeypatch.setattr(rows_module, "MANY", 8)
    monkeypatch.setattr(tokens_module, "MANY", 8)
    vocabulary, tokens = made(name)
    kept = CanonicalRows.of(tokens, vocabulary)
    for constraint, texts in zip(constraints_of(vocabulary, tokens), expected, strict=True):
        for seed, rows in enumerate(texts):
            assert walk(constraint, seed) == rows
            assert kept.places.size <= room and kept._rows.size <= max(room, 12 * vocabulary.words + EACH)
            assert max(map(len, (tokens._after, tokens._steps, kept._loose))) <= 9
    assert 0 < len(kept.places) < len(CanonicalRows.of(endless, vocabulary).places)


def test_threads_share_what_is_remembered() -> None:
    vocabulary, alone = made("llama3")
    expected = [[walk(each, seed) for seed in range(12)] for each in constraints_of(vocabulary, alone)]
    vocabulary, tokens = made("llama3")
    shared = constraints_of(vocabulary, tokens)
    jobs = [(number, seed) for number in range(len(PATTERNS)) for seed in range(12)] * 3
    random.Random(5).shuffle(jobs)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda job: walk(shared[job[0]], job[1]), jobs))
    assert all(rows == expected[number][seed] for (number, seed), rows in zip(jobs, found, strict=True))


def test_endings_of_requests_are_bounded() -> None:
    """Clients choose the ids that end their requests."""
    tokenizer = MADE["gpt2"]()
    size = tokenizer.get_vocab_size()
    vocabulary = constrain.Vocabulary.from_huggingface(tokenizer, eos_ids=[size - 1], size=size + 40)
    constraint = CanonicalCuts(
        constrain.compile(constrain.regex("a+"), vocabulary), CanonicalTokens.of(tokenizer, vocabulary)
    )
    for end in [*range(size, size + 40)] * 2:
        matcher = constraint.matcher(eos_ids=[end])
        assert matcher.advance(vocabulary.tokens.index(b"a")) and matcher.allows(end) and not matcher.allows(size - 1)
    assert ENDINGS // 2 <= len(constraint._ended_by) <= ENDINGS
