"""Every short text over a few pieces gets the verdict of the language's parser: what random changes may miss."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import pytest

import constrain
from languages import oracles
from tables import table

ROWS = table("grammar_alphabets")["row"]
MOST = 4000  # texts of a row; of more, so many are drawn
VOCABULARY = constrain.Vocabulary.of_bytes()


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['grammar']} {row.get('before', '')}" for row in ROWS])
def test_short_texts(row: dict[str, Any]) -> None:
    folder = constrain.collection.folder(row["grammar"])
    try:
        oracle = oracles.find(folder.settings["oracle"])
    except oracles.MissingError as error:
        pytest.skip(str(error))
    start = constrain.compile(folder.constraint(), VOCABULARY).matcher()
    before, after = row.get("before", "").encode(), row.get("after", "").encode()
    assert start.advance_bytes(before)
    texts = [parts for length in range(row["length"] + 1) for parts in product(row["pieces"], repeat=length)]
    wrong, members, compared = [], 0, 0
    for parts in Random(0).sample(texts, min(MOST, len(texts))):
        rest = "".join(parts).encode() + after
        theirs = oracle(before + rest)
        if theirs is not None:
            matcher = start.fork()
            ours = matcher.advance_bytes(rest) and matcher.is_accepting()
            members, compared = members + ours, compared + 1
            if ours != theirs:
                wrong.append((before + rest, ours))
    assert not wrong
    assert 0 < members < compared
