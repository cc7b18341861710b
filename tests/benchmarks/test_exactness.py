"""The score of exactness: its second reader proves nothing false, its proofs stand, toy engines' errors are found."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import schema_corpus
from exact.files import File, Tokens
from exact.places import Judge
from exact.prefixes import NoPrefixError, Prefix
from exact.reader import Reader, leads, reaches
from exact.record import page_table, summary, tables
from exact.walker import Walker, packed, unpacked
from masks.vocabularies import BenchVocabulary

RECORD = Path(__file__).parents[2] / "benchmarks" / "record" / "2026-12-01-exactness"
PAGE = Path(__file__).parents[2] / "docs" / "exactness.md"
BYTES = BenchVocabulary("bytes", [*(bytes([i]) for i in range(256)), None], 256, lambda text: list(text.encode()))
NAMES = {"properties": {"ab": {"type": "integer", "minimum": 20, "maximum": 35}, "c": {"enum": ["x", "yz"]}},
         "required": ["ab"], "additionalProperties": False}  # fmt: skip
LIST = {"type": "array", "items": {"type": "boolean"}, "maxItems": 2, "uniqueItems": True}
DRAFT4 = "http://json-schema.org/draft-04/schema#"


@pytest.mark.parametrize(
    "schema, prefix, why",
    [
        (NAMES, '{"a', None),
        (NAMES, '{"b', "additionalProperties"),
        (NAMES, '{"ab": 2', None),
        (NAMES, '{"ab": 4', "maximum"),
        (NAMES, '{"ab": 3.0', None),  # 3.0e1
        (NAMES, '{"ab": 36', "maximum"),  # no integer up to 35 begins so, with any exponent
        (NAMES, '{"ab": -', "minimum"),
        (NAMES, '{"ab": "', "type"),
        (NAMES, '{"ab": 19,', "minimum"),
        (NAMES, '{"ab": 20, "c": "y', None),
        (NAMES, '{"ab": 20, "c": "z', "enum"),
        (NAMES, '{"ab": 20, "c": "x", ', "additionalProperties"),
        (NAMES, '{"c": "x"}', "required"),
        ({**NAMES, "maxProperties": 1}, '{"c": "x"', "required"),
        (LIST, "[true, f", None),
        (LIST, "[true, true", "uniqueItems"),
        (LIST, "[true, false,", "maxItems"),
        (LIST, "[t, ", "syntax"),
        (LIST, "[1", "type"),
        ({"type": "string", "maxLength": 2}, '"a\\u00e', None),
        ({"type": "string", "maxLength": 2}, '"ab\\', "maxLength"),
        ({"type": "string", "maxLength": 1}, '"\\ud83d\\u', None),  # a pair is one character
        ({"type": "string"}, '"\n', "syntax"),
        ({"pattern": "^ab*c$"}, '"abb', None),
        ({"pattern": "^ab*c$"}, '"abd', "pattern"),
        ({"pattern": "b"}, '"zz', None),
        ({"pattern": "^[\\s-]+$"}, '"\ufeff', None),  # a blank in ECMA-262
        ({"anyOf": [{"const": [1, 2]}, {"type": "string"}]}, "[1, 2", None),
        ({"anyOf": [{"const": [1, 2]}, {"type": "string"}]}, "[1, 3", "anyOf"),
        ({"if": {"type": "string"}, "then": {"maxLength": 1}, "else": {"type": "null"}}, '"ab', "if"),
        ({"if": {"type": "string"}, "then": {"maxLength": 1}, "else": {"type": "null"}}, "tru", "if"),
        ({"$schema": DRAFT4, "const": 1}, "2", None),  # later than this draft
        ({"$schema": DRAFT4, "$ref": "#/definitions/a", "type": "null", "definitions": {"a": {}}}, "2", None),
        ({"$ref": "#/$defs/a", "type": "null", "$defs": {"a": {}}}, "2", "type"),
        ({"$defs": {"t": {"items": {"$ref": "#/$defs/t"}, "type": "array"}}, "$ref": "#/$defs/t"}, "[[[], 1", "type"),
        ({"patternProperties": {"^a": {"type": "null"}}}, '{"ab": t', "type"),
        ({"propertyNames": {"maxLength": 2}}, '{"abc', "propertyNames maxLength"),
        ({"prefixItems": [{"type": "null"}], "items": False}, "[null, 1", "items"),
        ({"not": {"type": "string"}}, '"a"', "not"),
    ],
)
def test_what_is_proved(schema: Any, prefix: str, why: str | None) -> None:
    assert Reader(schema).dead(prefix.encode()) == why


@pytest.mark.parametrize("first", range(4))
def test_no_prefix_of_a_valid_text_is_dead(first: int) -> None:
    """In three spellings; and what is whole and invalid is dead."""
    count = 0
    for entry in schema_corpus.sample("ours", first, 12):
        reader = Reader(entry.schema)
        for test in entry.tests:
            texts = [json.dumps(test["data"], **how) for how in ({}, {"separators": (",", ":")}, {"indent": 1})]
            is_valid = reader.verdict((), test["data"])
            for text, step in zip(texts, (7, 11, 13), strict=True):
                data = text.encode()
                if is_valid:
                    assert [data[:end] for end in range(0, len(data), step) if reader.dead(data[:end])] == []
                elif is_valid is False and reader.followed and Prefix(data).held:
                    assert reader.dead(data + b" "), (entry.name, text)
                count += is_valid is not None
    assert count > 50


@pytest.mark.parametrize(
    "schema, letters, longest",
    [
        ({"type": "integer", "minimum": 8, "maximum": 12}, "-0189.e2", 5),
        ({"type": "number", "exclusiveMinimum": -3, "maximum": -0.5}, "-0135.e", 5),
        ({"enum": [10, 0.5, -2]}, "-0125.e", 5),
        ({"type": "array", "items": {"enum": [1, 12]}, "maxItems": 2, "uniqueItems": True}, "[]12,", 6),
        ({"properties": {"a": {"type": "boolean"}}, "maxProperties": 1, "minProperties": 1}, '{}"a:1', 6),
        ({"type": "string", "pattern": "^a+b?$", "maxLength": 2}, '"ab', 5),
    ],
)
def test_no_prefix_of_any_valid_text_is_dead(schema: Any, letters: str, longest: int) -> None:
    """Of all texts of some letters."""
    reader, alive, tried = Reader(schema), set[bytes](), set[bytes]()
    for length in range(1, longest + 1):
        for given in itertools.product(letters, repeat=length):
            data = "".join(given).encode()
            tried |= {data} if length < 4 else set()
            try:
                value, prefix = json.loads(data), Prefix(data + b" ")
            except ValueError:
                continue
            if prefix.held and not prefix.repeats and reader.verdict((), value):
                alive |= {data[:end] for end in range(length + 1)}
    assert alive and [data for data in alive if reader.dead(data)] == []
    proved = [data for data in tried - alive if reader.dead(data)]
    assert len(proved) > len(tried - alive) * 0.5  # of short texts


def test_leading_digits() -> None:
    assert leads("12", 0.125) and leads("120", 12) and leads("-5", -0.5) and leads("0.0", 0.0004) and leads("0", 0)
    assert not leads("13", 12) and not leads("-1", 1) and not leads("1", 0)
    assert reaches("12", 100, 130, True) and reaches("120", 12, 12, True) and reaches("9", 0.0001, 0.001, False)
    assert not reaches("12", 13, 19, True) and not reaches("5", -3, 0, False)


@pytest.mark.parametrize(
    "data", [b"}", b"01", b"1.e", b'{"a" 1', b"[1,]", b'"\xff', b"tru ", b"{} x", b'"\\x', b"\xc3"]
)
def test_no_prefixes_of_json(data: bytes) -> None:
    with pytest.raises(NoPrefixError):
        Prefix(data)


def test_ends_are_found() -> None:
    """Of most prefixes of instances that the search has not seen."""
    found = total = 0
    for entry in schema_corpus.sample("ours", 5, 16):
        reader = Reader(entry.schema)
        for each in [test["data"] for test in entry.tests if reader.verdict((), test["data"])][:1]:
            data = json.dumps(each).encode()
            judge = Judge(entry.schema, [])
            for end in range(0, len(data), 9):
                verdict = judge.live(data[:end])
                assert verdict.state == "open" or verdict.witness.encode().startswith(data[:end])
                found, total = found + (verdict.state == "live"), total + 1
    assert total > 60 and found > total * 0.6, (found, total)


@pytest.mark.parametrize(
    "text, at, named",
    [
        ('{"ab": 20}', 3, None),
        ('{ "ab": 20}', 3, "white space"),
        ('{"\\u0061b": 20}', 3, "spelling"),
        ('{"ab": 20.0}', 3, "number form"),
        ('{"c": "x", "ab": 20}', 3, "key order"),
    ],
)
def test_conventions(text: str, at: int, named: str | None) -> None:
    found = Judge(NAMES, []).whole(text.encode(), at)
    assert (found.state, found.named) == ("live", named)


def test_other_conventions() -> None:
    opened = {"properties": {"a": {}}, "required": ["a"]}
    assert Judge(opened, []).whole(b'{"a": 1, "b": 2}').named == "undeclared key"
    assert Judge({**opened, "additionalProperties": True}, []).whole(b'{"a": 1, "b": 2}').named is None
    assert Judge({"format": "date"}, []).whole(b'"2020-01-01"', 2).named == "format"
    assert Judge({"$schema": DRAFT4, "const": 1}, []).whole(b"2").named == "older draft"
    closed = Judge({**opened, "additionalProperties": False}, [])
    assert closed.dead(b'{"a": 1, ').named == closed.dead(b'{"a": 1, "a": 2').named == "repeated key"
    assert closed.dead(b'{"b').named is None and closed.dead(b"\xff").named == "bytes"


TOY = {"properties": {"ab": {"enum": [20]}, "c": {"enum": ["x", "yz"]}}, "required": ["ab", "c"],
       "additionalProperties": False}  # fmt: skip
TEXTS = (b'{"ab": 20, "c": "x"}', b'{"ab": 20, "c": "yz"}')


class Toy:
    """An engine whose language is some texts."""

    version = "0"

    def __init__(self, texts: tuple[bytes, ...]) -> None:
        self.row, self.texts, self.eos_id = np.zeros(BYTES.words, np.uint32), texts, 256

    def compile(self, schema: Any) -> None:
        pass

    def start(self) -> None:
        self.so_far = b""

    def mask(self) -> None:
        self.row[:] = 0
        for text in self.texts:
            if text.startswith(self.so_far):
                token = text[len(self.so_far)] if text != self.so_far else 256
                self.row[token >> 5] |= np.uint32(1 << (token & 31))

    def advance(self, token: int) -> bool:
        self.so_far += bytes([token])
        return True


def scored(**engines: tuple[bytes, ...]) -> dict[str, Any]:
    """The report of toy engines."""
    workers = {}
    for name, texts in engines.items():
        workers[name] = SimpleNamespace(ask=Walker(Toy(texts), BYTES).answer)
    options = SimpleNamespace(seed=1, time_limit=5, tokens=60, instances=3, adverse=30)
    instances = [json.loads(text) for text in TEXTS]
    return File("toy", TOY, instances, Tokens(BYTES), workers, options).score()


def test_errors_of_toy_engines_are_found() -> None:
    report = scored(
        exact=TEXTS,
        wide=(*TEXTS, b'{"ab": 20, "c": "z"}', b'{"ab": 20'),
        narrow=TEXTS[:1],
        late=(*TEXTS, b'{"ab": 20, "ab": 20}'),
    )
    errors = [row for row in report["rows"] if row["named"] is None]
    assert {(row["engine"], row["kind"], row["keyword"], row["prefix"], row["last"]) for row in errors} == {
        ("wide", "allowed", "enum", '{"ab": 20, "c": "', "z"),
        ("wide", "allowed", "syntax", '{"ab": 20', "<end>"),
        ("narrow", "refused", "enum", '{"ab": 20, "c": "', "y"),
    }
    assert report["named"]["late"]["repeated key"] >= 1
    found = summary([report])
    assert found["engines"]["exact"]["allowed"] == found["engines"]["exact"]["refused"] == 0
    assert found["engines"]["narrow"]["refused"] == 1 and found["engines"]["narrow"]["schemas"] == 1
    assert "| narrow |" in tables(found)


def test_masks_are_packed() -> None:
    bits = np.random.default_rng(1).random(257) < 0.3
    row = np.zeros(9 * 4, np.uint8)
    row[:33] = np.packbits(bits, bitorder="little")
    assert (unpacked(packed(row.view(np.uint32)), 257) == bits).all()


@pytest.mark.skipif(not RECORD.is_dir(), reason="a source distribution has no records")
def test_the_page_is_of_the_record() -> None:
    assert page_table(RECORD) in PAGE.read_text(encoding="utf-8")


def witnesses() -> list[dict[str, Any]]:
    """The rows that come with the record."""
    return [row for path in sorted(RECORD.glob("*/witnesses.json")) for row in json.loads(path.read_text("utf-8"))]


@pytest.mark.parametrize("row", witnesses(), ids=lambda row: f"{row['engine']}-{row['kind']}-{row['keyword']}")
def test_witnesses_of_the_record_are_proved_again(row: dict[str, Any]) -> None:
    """Without engine and tokenizer."""
    if "\\x" in row["prefix"] + (row["last"] or ""):
        pytest.skip("bytes that are no text")
    is_end = row["last"] == "<end>"
    data = (row["prefix"] + ("" if is_end or row["last"] is None else row["last"])).encode()
    judge = Judge(row["schema"], [])
    if row["kind"] == "refused":
        found = judge.whole(row["witness"].encode(), len(data))
        assert row["witness"].encode().startswith(data)
        assert (found.state, found.named) == ("live", None)
    else:
        found = judge.whole(data) if is_end else judge.dead(data)
        assert (found.state, found.named, found.why) == ("dead", None, row["keyword"])
