"""The documents that the reference model is trained on: valid, repeatable, and split without overlap."""

import itertools
import json
import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))

pytest.importorskip("tokenizers")
from reference_model import corpus, schemas, sql, texts

ABSENT = Path("no/such/folder")


@pytest.fixture(scope="module")
def tokenizer():
    return corpus.train_tokenizer(0, ABSENT, 600, 40_000)


def test_instances_validate_against_their_schemas():
    from jsonschema import Draft202012Validator

    checker = Draft202012Validator.FORMAT_CHECKER
    rng = random.Random(7)
    for _ in range(400):
        schema, draw = schemas.schema(rng)
        Draft202012Validator.check_schema(schema)
        for _ in range(2):
            Draft202012Validator(schema, format_checker=checker).validate(draw(rng))


def test_written_values_are_json_and_keep_the_order():
    rng = random.Random(3)
    for _ in range(200):
        schema, draw = schemas.schema(rng)
        value = draw(rng)
        read = json.loads(schemas.write(rng, value))
        assert read == value
        if isinstance(read, dict):
            assert list(read) == [name for name in schema["properties"] if name in read]


def test_a_document_ends_with_its_answer():
    rng = random.Random(11)
    parts = [schemas.document(rng).split(schemas.BREAK) for _ in range(300)]
    assert {len(p) for p in parts} == {1, 2}  # some texts are tokenised as one, see `joined`
    assert all(json.loads(p[1]) is not None or p[1] == "null" for p in parts if len(p) == 2)


@pytest.mark.parametrize("kind", corpus.SHARES)
def test_streams_repeat_for_a_seed_and_differ_between_sides(kind, monkeypatch):
    some = list(itertools.islice(texts.python(), 150))  # reading the whole library would take half a minute
    monkeypatch.setattr(texts, "python", lambda: iter(some))
    monkeypatch.setattr(texts, "PACKAGES", ABSENT)

    def first(seed: int, validation: bool) -> list[str]:
        return list(itertools.islice(corpus.streams(seed, ABSENT, validation=validation)[kind], 5))

    assert first(1, False) == first(1, False)
    assert first(1, False) != first(2, False)
    assert set(first(1, False)).isdisjoint(first(1, True))


def test_real_texts_are_split_by_name():
    both = [texts.shuffled(texts.python(), validation=side, seed=0) for side in (False, True)]
    assert len(both[0]) > 10 * len(both[1]) > 0
    assert len(both[0]) + len(both[1]) == sum(1 for _ in texts.python())


def test_sql_statements_are_complete():
    import sqlite3

    rng = random.Random(5)
    assert all(sqlite3.complete_statement(sql.document(rng)) for _ in range(200))


def test_fresh_rows_begin_with_a_document(tokenizer):
    source = corpus.rows(tokenizer, iter(["alpha" + schemas.BREAK + "beta"] * 200), 16, fresh=True)
    whole = tokenizer.encode("alpha").ids + tokenizer.encode("beta").ids + [corpus.EOS]
    endless = list(itertools.islice(itertools.cycle(whole), 16))
    assert next(source).tolist() == endless
    assert next(source).tolist() == endless


def test_running_rows_lose_nothing(tokenizer):
    documents = ["one two three", "four", "five six"] * 40
    source = corpus.rows(tokenizer, iter(documents), 10, fresh=False)
    expected = [i for text in documents for i in [*tokenizer.encode(text).ids, corpus.EOS]]
    got = [i for row in itertools.islice(source, 20) for i in row.tolist()]
    assert got == expected[:200]


def test_special_tokens_come_first_and_numbers_are_digits(tokenizer):
    assert [tokenizer.token_to_id(t) for t in corpus.SPECIAL] == list(range(len(corpus.SPECIAL)))
    assert tokenizer.get_vocab_size() <= 600
    assert [tokenizer.decode([i]) for i in tokenizer.encode("2024").ids] == ["2", "0", "2", "4"]
