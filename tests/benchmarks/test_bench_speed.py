"""The benchmarks of speed and memory: small runs, and whether they notice a wrong answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import batch
import cold_start
from masks import batches, engines
from masks.vocabularies import load

BYTES = load("bytes", Path())
SCHEMAS = [
    {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False},
    {"type": "array", "items": {"enum": ["x", "yz"]}, "minItems": 2},
    {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
]
TEXTS = ['{"a": 1203}', '["x","yz"] ', '["x","y",""']


@pytest.mark.parametrize("name", batches.WAYS)
def test_every_way_of_an_engine_has_the_same_masks(name: str) -> None:
    engine = name.partition(",")[0]
    if fault := engines.missing(engine):
        pytest.skip(fault)
    schemas, texts = (SCHEMAS, TEXTS) if engine == "constrain" else (SCHEMAS[:2], TEXTS[:2])
    tokens = np.array([list(text.encode()[:10]) for text in texts]).T
    sums = None
    for way in (f"{engine}, single", name):
        made = batches.WAYS[way](way, BYTES, len(schemas))
        made.compile(schemas)
        record, sums = batch.measure(made, tokens, sums)
        assert len(record["fill_us"]) == len(record["advance_us"]) == 10
        made.begin()
        made.fill()
        alone = engines.make(engine, BYTES)
        for row, schema in zip(made.rows, schemas, strict=True):
            alone.compile(schema)
            alone.start()
            alone.mask()
            assert np.array_equal(row, alone.row)


def test_other_masks_end_the_run() -> None:
    way = batches.WAYS["constrain, batch, 1 thread"]("constrain, batch, 1 thread", BYTES, 1)
    way.compile(SCHEMAS[:1])
    tokens = np.array([list(TEXTS[0].encode())]).T
    _, sums = batch.measure(way, tokens, None)
    sums[3] ^= 1
    with pytest.raises(SystemExit, match="other masks than the single calls"):
        batch.measure(way, tokens, sums)
    with pytest.raises(SystemExit, match="refuses a token"):
        batch.measure(way, tokens[::-1], None)


def test_only_texts_that_every_engine_takes() -> None:
    way = batches.WAYS["constrain, single"]("constrain, single", BYTES, 1)
    cases = [(SCHEMAS[0], [*TEXTS[0].encode()]), (SCHEMAS[0], [*b"[1]"]), (False, [*b"1"]), (SCHEMAS[1], [*b'["x'])]
    assert batches.agreed([way], cases, 9) == [cases[0], cases[3]]
    assert batches.agreed([way], cases, 1) == [cases[0]]


def test_the_summary_of_batches() -> None:
    """Two sequences; cold 100 µs a call, 190 the slowest; warm 10 with one thread and 5 with two, single 20."""
    times = {"constrain, single": 20, "constrain, batch, 1 thread": 10, "constrain, batch, 2 threads": 5}
    records = [
        {"way": way, "fill_us": [70.0, 70.0, 70.0, 190.0] if not number else [float(us)] * 4, "advance_us": [2.0] * 4}
        for way, us in times.items()
        for number in range(3)
    ]
    page = batch.summary(records, {"command": "c", "machine": "m"}, 2)
    cells = {line.split("|")[1].strip(): [c.strip() for c in line.split("|")[2:-1]] for line in page.splitlines()[5:]}
    assert cells["constrain, single"] == ["50.00", "95.00", "10.00", "10.00", "10.00", "1.00", "", "", "1.00"]
    assert cells["constrain, batch, 2 threads"] == [
        "50.00",
        "95.00",
        "2.50",
        "2.50",
        "2.50",
        "1.00",
        "1.00",
        "2.00",
        "0.25",
    ]


def test_a_start_and_a_wrong_mask() -> None:
    code = cold_start.script(cold_start.parse(["--vocab", "bytes"]))
    record = cold_start.start(code, "warm", cold_start.checkout(None))
    assert record["seconds"] > sum(record[stage] for stage in cold_start.STAGES) > 0
    page = cold_start.summary([record], {"command": "c", "machine": "m"})
    assert "| warm | 1 | 2 |" in page
    with pytest.raises(SystemExit, match="wrong tokens"):
        cold_start.start(code.replace('"type": "object"', '"type": "array"'), "warm", cold_start.checkout(None))
