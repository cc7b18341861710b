"""Structural tags against their definitions: members, viable beginnings and masks, on all short texts."""

import itertools
import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import constrain
from tables import table
from tests.chat.tags.naive_tags import is_member

CASES = table("tag_cases")["case"]
LONGEST = {"ab": 8, "abx": 7}
VIABLE = 2  # the longest beginnings whose mask is compared; each has a member that the longest texts show


def texts(alphabet: str, longest: int) -> list[str]:
    return ["".join(text) for n in range(longest + 1) for text in itertools.product(alphabet, repeat=n)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["format"][:70])
def test_the_language_is_that_of_the_definition(case: dict[str, str]) -> None:
    form = json.loads(case["format"])
    tag = constrain.tags.structural_tag({"type": "structural_tag", "format": form})
    compiled = constrain.compile(tag, constrain.Vocabulary.of_bytes())
    viable: set[str] = set()
    for text in {text for alphabet, longest in LONGEST.items() for text in texts(alphabet, longest)}:
        matcher = compiled.matcher()
        inside = matcher.advance_bytes(text.encode()) and matcher.is_accepting()
        assert inside == is_member(form, text), text
        viable |= {text[:n] for n in range(len(text) + 1)} if inside else set()
    for text in texts("abx", VIABLE):
        matcher = compiled.matcher()
        assert matcher.advance_bytes(text.encode()) == (text in viable), text
        if text in viable:
            row = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")
            assert {letter for letter in "abx" if row[ord(letter)]} == {one for one in "abx" if text + one in viable}
            assert bool(row[256]) == is_member(form, text)


@pytest.mark.parametrize(
    "case", [case for case in CASES if "triggered_tags" in case["format"]], ids=lambda case: case["format"][:70]
)
def test_tags_in_a_tree_are_those_of_the_definition(case: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["constrain.chat.tags.dispatch"], "MANY", 0)
    test_the_language_is_that_of_the_definition(case)


def test_a_text_makes_the_tags_that_begin_like_it() -> None:
    """Of 400 tags those with the same first letters are made, not all."""
    names = [f"{chr(97 + i % 20)}{chr(97 + i // 20)}_tool" for i in range(400)]
    kinds = [constrain.json_schema({"type": "array", "maxItems": i + 1}) for i in range(400)]
    tags = [constrain.tags.tag(f"<call={name}>", kind, "</call>") for name, kind in zip(names, kinds, strict=True)]
    whole = constrain.tags.triggered_tags(["<call="], tags)
    vocabulary = constrain.Vocabulary.of_bytes()
    matcher = constrain.compile(whole, vocabulary, automaton=constrain.TokenAutomaton(vocabulary)).matcher()
    for byte in b"text <call=ba_tool>[1]</call> <call=":
        matcher.mask()
        assert matcher.advance(byte)
    assert len(matcher.compiled.rules.records) < 100


def test_the_table_of_formats_counts_the_cases(repository: Path) -> None:
    """docs/howto/tags.md: each format with the number of its cases."""
    page = (repository / "docs" / "howto" / "tags.md").read_text(encoding="utf-8")
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in page.splitlines()
        if line.startswith("| `") and line.count("|") == 5
    ]
    stated = {row[0].strip("`"): row[2] for row in rows}
    counts = Counter(case["type"] for case in CASES)
    assert {kind: str(n) for kind, n in counts.items()} == {kind: stated.get(kind) for kind in counts}
