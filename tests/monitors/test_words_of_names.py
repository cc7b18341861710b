"""Words of tokens that may begin a name, beside a search through all words and names."""

from __future__ import annotations

import random

import numpy as np
import pytest

import constrain
from constrain.monitors.monitor import NAME, Names
from constrain.monitors.python.lexicon import LEXICON as PYTHON
from constrain.monitors.sql.lexicon import LEXICON as SQL
from constrain.monitors.words import GROUP, Words

LETTERS = "abAB_"
KEYWORDS = frozenset({"ab", "aba", "b_b"})


def made_words(random_: random.Random) -> list[str]:
    """Some words of at most four letters."""
    return ["".join(random_.choices(LETTERS, k=random_.randint(1, 4))) for _ in range(6)]


def made_vocabulary(random_: random.Random) -> constrain.Vocabulary:
    """Bytes, and enough tokens of a space and a word, with equal ones among them, for a group."""
    words = [word.encode() for _ in range(GROUP // 2) for word in made_words(random_)]
    tokens = [bytes((byte,)) for byte in range(256)] + [b" " + word for word in words] + [b"<eos>"]
    return constrain.Vocabulary(tokens, eos_ids=[len(tokens) - 1])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("lexicon", [PYTHON, SQL])
def test_verdicts(lexicon, seed):
    """A word is refused unless some name goes on with it, and doubtful if only keywords do."""
    random_ = random.Random(seed)
    words = Words(made_vocabulary(random_))
    (group,) = (group for group in words.groups if group.before == b" ")
    for _ in range(20):
        fold = lexicon.folded
        listed = {fold(NAME, name.encode()).decode() for name in made_words(random_)}
        prefixes = random_.choice([(), ("_b",), ("ab_",)])
        names = Names(listed, words=KEYWORDS, keywords=KEYWORDS, prefixes=prefixes)
        begun = random_.choice(["", "", "a", "A", "_", "_b"])
        verdict = words.verdict(group, lexicon, names, begun.encode())
        flags = np.unpackbits(np.array(verdict).view(np.uint8), axis=1, bitorder="little")
        refused, doubtful = {*np.flatnonzero(flags[0]).tolist()}, {*np.flatnonzero(flags[1]).tolist()}
        for word, token in zip(group.words, group.tokens.tolist(), strict=True):
            text = fold(NAME, begun.encode() + word).decode()
            is_open = any(text.startswith(prefix) or prefix.startswith(text) for prefix in prefixes)
            is_certain = is_open or any(name.startswith(text) for name in listed - KEYWORDS)
            is_word = any(name.startswith(text) for name in KEYWORDS)
            assert (token in refused) == (not is_certain and not is_word), (text, listed, prefixes)
            assert (token in doubtful) == (is_word and not is_certain), (text, listed, prefixes)
