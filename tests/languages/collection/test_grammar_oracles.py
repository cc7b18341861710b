"""The grammars of the collection beside the parsers of their languages.

Their examples, the same with one byte changed, and every short text over a few pieces: what random changes may miss.
"""

from itertools import product
from random import Random
from typing import Any

import pytest

import constrain
from constrain.cli.grammar_examples import read_examples
from constrain.languages.collection import GrammarFolder
from languages import oracles, verdicts
from tables import table

CHANGES = 40  # of each member
MOST = 150  # of a grammar: some oracles start a process for each text
NAMES = [name for name in constrain.collection.names() if constrain.collection.folder(name).settings.get("oracle")]


@pytest.fixture(params=NAMES)
def folder(request: pytest.FixtureRequest) -> GrammarFolder:
    return constrain.collection.folder(request.param)


@pytest.fixture
def oracle(folder: GrammarFolder) -> oracles.Oracle:
    try:
        return oracles.find(folder.settings["oracle"])
    except oracles.MissingError as error:
        pytest.skip(str(error))


def test_the_oracle_says_the_same_of_the_examples(folder: GrammarFolder, oracle: oracles.Oracle) -> None:
    for example in read_examples(folder.path / "accept", True):
        assert oracle(example.text) is not False, example
    for example in read_examples(folder.path / "reject", False):
        assert oracle(example.text) is not True, example


def test_the_oracle_says_the_same_after_a_change(folder: GrammarFolder, oracle: oracles.Oracle) -> None:
    texts = [(example.name, example.text) for example in read_examples(folder.path / "accept", True)]
    changes = max(1, min(CHANGES, MOST // len(texts)))
    records = list(verdicts.judge(folder.constraint(), texts, oracle, seed=0, changes=changes))
    assert sum(record["agree"] for record in records) > len(texts) * changes / 2
    found = [each for record in records for each in record["disagreements"]]
    allowed = 1 - folder.settings.get("agreement", 1)  # the README says what they are
    assert len(found) <= allowed * sum(record["mutants"] - record["beyond"] for record in records), found


ROWS = table("grammar_alphabets")["row"]
DRAWN = 4000  # texts of a row; of more, so many are drawn
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
    for parts in Random(0).sample(texts, min(DRAWN, len(texts))):
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
