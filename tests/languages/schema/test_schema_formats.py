"""Formats: rows of a table, calendars and clocks by enumeration, and `idna` and `jsonschema` as second opinions."""

import datetime
import json

import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from naive_schema import member, recognises

from conftest import data_path
from constrain.languages.automata import decide
from constrain.languages.schema import json_schema
from constrain.languages.schema.formats.registry import AT_LEAST, CHECKED_LATER, FORMATS, NARROWED_FORMATS, conforms
from tables import table

ROWS = table("schema_formats")
AGREED = {"date", "time", "date-time", "duration", "email", "ipv4", "ipv6", "uri", "uuid"}
"""Formats whose checkers in `jsonschema` follow the official suite, but for years before 1 and leap seconds."""


def test_every_format_has_rows() -> None:
    assert set(ROWS) == set(FORMATS)
    assert set(AT_LEAST) == set(CHECKED_LATER) <= set(FORMATS)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_rows(name: str) -> None:
    for text in ROWS[name]["valid"]:
        assert conforms(name, text), text
        assert member(FORMATS[name](), text), text
    for text in ROWS[name]["invalid"]:
        assert not conforms(name, text), text
        assert name in CHECKED_LATER or not member(FORMATS[name](), text), text


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_generated_beside_the_official_tests(name: str) -> None:
    """The enforced language holds every valid text of the suite, and no other unless the format is checked later."""
    path = data_path("json-schema-test-suite", "tests", "draft2020-12", "optional", "format", f"{name}.json")
    if not path.exists():
        pytest.skip(f"the official suite has no tests of the format {name}")
    cases = [case for group in json.loads(path.read_text(encoding="utf-8")) for case in group["tests"]]
    texts = {case["data"]: case["valid"] for case in cases if isinstance(case["data"], str)}
    assert len(texts) >= 2
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    for text, valid in texts.items():
        inside = member(FORMATS[name](), text)
        assert inside == valid or (name in CHECKED_LATER and inside), text
        assert name not in AGREED or not inside or ":60" in text or checker.conforms(text, name), text
        if name in CHECKED_LATER:
            assert valid or not member(AT_LEAST[name](), text), text


def test_dates_are_those_of_the_calendar() -> None:
    """Every day and non-day of years that are and are not leap years."""
    found = set()
    for year in (1, 4, 100, 400, 1900, 2000, 2023, 2024, 9996, 9999):
        for month in range(14):
            found |= {
                text for day in range(33) if decide.matches(FORMATS["date"](), text := f"{year:04}-{month:02}-{day:02}")
            }
        start, end = datetime.date(year, 1, 1).toordinal(), datetime.date(year, 12, 31).toordinal()
        expected = {datetime.date.fromordinal(day).isoformat() for day in range(start, end + 1)}
        assert {text for text in found if text.startswith(f"{year:04}")} == expected


def test_leap_seconds_end_a_day_in_utc() -> None:
    """Every hour, every offset in whole quarters: 60 seconds exactly where UTC is 23:59. Other minutes are narrowed."""
    language = FORMATS["time"]()
    for local in (h * 60 + m for h in range(24) for m in (0, 14, 29, 30, 44, 59)):
        for offset in range(-1440 + 15, 1440, 15):
            text = f"{local // 60:02}:{local % 60:02}:60{'-' if offset < 0 else '+'}"
            text += f"{abs(offset) // 60:02}:{abs(offset) % 60:02}"
            assert decide.matches(language, text) == ((local - offset) % 1440 == 1439), text
    assert "quarters" in NARROWED_FORMATS["time"]


LABEL = st.text(st.sampled_from("a-l0·ß͵αא׳1ب٠۰・ァक्\u200c\u200dé\u0301\u0640\u302e"), min_size=1, max_size=6)


@given(LABEL)
@example("बी\u200cबी")
@example("ب\u200cب\u200cب")
@example("بي\u200cبي")
def test_labels_beside_idna(label: str) -> None:
    """The `idna` package as a second opinion on one label, encoded and not."""
    idna = pytest.importorskip("idna")
    try:
        encoded = idna.alabel(label).decode()
    except idna.IDNAError:
        encoded = None
    assert conforms("idn-hostname", label) == (encoded is not None)
    if encoded is not None:
        assert member(FORMATS["idn-hostname"](), label)
        assert conforms("hostname", encoded) and conforms("idn-hostname", encoded)


@pytest.mark.parametrize(
    "schema, text, grammar, whole",
    [
        ({"format": "regex"}, '"("', True, False),
        ({"format": "hostname"}, '"xn--x"', True, False),
        ({"not": {"format": "regex"}}, '"("', True, True),
        ({"not": {"format": "regex"}}, '"ab"', False, False),
        ({"not": {"format": "regex"}}, '"a+"', True, False),
        ({"not": {"format": "hostname"}}, '"xn--x"', True, True),
        ({"not": {"format": "hostname"}}, '"abc"', False, False),
        ({"oneOf": [{"format": "regex"}, {"const": "("}]}, '"("', True, True),
        ({"allOf": [{"not": {"format": "date"}}, {"format": "regex"}]}, '"2024-01-01"', False, False),
        ({"allOf": [{"not": {"format": "date"}}, {"format": "regex"}]}, '"2024-01-32"', True, True),
        ({"propertyNames": {"format": "regex"}}, '{"(": 1}', True, False),
        ({"enum": ["(", "a"], "format": "regex"}, '"("', False, False),
    ],
)
def test_formats_that_are_checked_later(schema: dict, text: str, grammar: bool, whole: bool) -> None:
    constraint = json_schema(schema)
    inside = recognises(constraint.to_grammar(), text)
    assert (inside, inside and constraint.residual_fault(text) is None) == (grammar, whole)


def test_report() -> None:
    def entries(name: str, **options: str) -> list[tuple[str, str]]:
        constraint = json_schema({"format": name}, **options)  # type: ignore[arg-type]
        return [(entry.status, entry.note) for entry in constraint.report if entry.keyword == "format"]

    for name in FORMATS:
        note = CHECKED_LATER.get(name)
        expected = ("residual", note) if note else ("enforced", NARROWED_FORMATS.get(name, ""))
        assert entries(name) == [expected]
    assert entries("uuid", formats="annotate") == [("annotation", "not asserted on request")]
    assert entries("slug") == [("annotation", "the format 'slug' is not known")]
