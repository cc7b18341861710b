"""The examples of each grammar, and the same with one byte changed, beside the parser of the language."""

from __future__ import annotations

import pytest

import constrain
from constrain.cli.grammar_examples import read_examples
from constrain.languages.collection import GrammarFolder
from languages import oracles, verdicts

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
