"""Formats: the official optional tests, less what `formats.py` says it narrows, and `jsonschema`'s checker as a second
opinion.
"""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from naive_schema import member

from constrain.schema.formats import FORMATS


@pytest.fixture(scope="session")
def official(request: pytest.FixtureRequest) -> Path:
    import conftest

    return conftest.data_path("json-schema-test-suite", "tests", "draft2020-12", "optional", "format")


def narrowed(name: str, text: str) -> bool:
    """Valid texts that are refused on purpose."""
    return (name in ("time", "date-time") and ":60" in text) or (name == "hostname" and "xn--" in text)


AGREED = {"date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uuid"}
"""Formats whose checkers in `jsonschema` follow the official suite (the others refuse some valid texts of it)."""


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_official_formats(name: str, official: Path) -> None:
    cases = [
        case
        for group in json.loads((official / f"{name}.json").read_text())
        for case in group["tests"]
        if isinstance(case["data"], str)
    ]
    assert len(cases) > 5
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    for case in cases:
        text, valid = case["data"], case["valid"]
        ours = member(FORMATS[name](), text)
        assert ours == (valid and not narrowed(name, text)), (case["description"], text)
        assert name not in AGREED or not ours or checker.conforms(text, name), f"jsonschema refuses {text!r}"


@pytest.mark.parametrize(
    ("name", "text", "valid"),
    [
        ("date", "2024-02-29", True),
        ("date", "2023-02-29", False),
        ("date", "1900-02-29", False),
        ("date", "2000-02-29", True),
        ("date", "0000-01-01", False),
        ("date", "2024-04-31", False),
        ("date", "2024-4-3", False),
        ("time", "24:00:00Z", False),
        ("time", "23:59:59.999+23:59", True),
        ("time", "23:59:59", False),
        ("date-time", "2024-02-29t00:00:00z", True),
        ("date-time", "2024-02-29 00:00:00Z", False),
        ("duration", "P1Y2M3DT4H5M6S", True),
        ("duration", "P1W", True),
        ("duration", "P", False),
        ("duration", "PT", False),
        ("duration", "P1Y2D", False),
        ("email", "a.b+c@example.org", True),
        ("email", "a..b@example.org", False),
        ("email", "@example.org", False),
        ("hostname", "a" * 63 + ".org", True),
        ("hostname", "a" * 64 + ".org", False),
        ("hostname", ".".join(["a" * 49] * 5), True),
        ("hostname", ".".join(["a" * 50] * 5), False),
        ("hostname", "-a.org", False),
        ("ipv4", "255.255.255.255", True),
        ("ipv4", "256.1.1.1", False),
        ("ipv4", "01.1.1.1", False),
        ("ipv6", "::", True),
        ("ipv6", "1:2:3:4:5:6:7::", True),
        ("ipv6", "1:2:3:4:5:6:7:8:9", False),
        ("ipv6", "::ffff:1.2.3.4", True),
        ("ipv6", "fe80::1%eth0", False),
        ("uri", "https://user@example.org:8080/a/b%20c?d=e#f", True),
        ("uri", "urn:isbn:0451450523", True),
        ("uri", "//example.org", False),
        ("uri", "https://example.org/a b", False),
        ("uri", "https://example.org/%zz", False),
        ("uri-reference", "../a?b", True),
        ("uri-reference", "1:2", False),
        ("iri", "http://ƒøø.ßår/?∂éœ=πîx#πîüx", True),
        ("iri", "not-an-iri", False),
        ("iri-reference", "not-an-iri", True),
        ("iri-reference", "http://ex ample", False),
        ("idn-email", "실례@실례.테스트", True),
        ("idn-email", "a@b@c", False),
        ("relative-json-pointer", "1/a~1b", True),
        ("relative-json-pointer", "0#", True),
        ("relative-json-pointer", "01/a", False),
        ("relative-json-pointer", "/a", False),
        ("uri-template", "http://example.com/dictionary/{term:1}/{term}{?q*,lang}", True),
        ("uri-template", "http://example.com/{term", False),
        ("uuid", "123E4567-e89b-12d3-a456-426614174000", True),
        ("uuid", "123e4567e89b12d3a456426614174000", False),
    ],
)
def test_formats(name: str, text: str, valid: bool) -> None:
    assert member(FORMATS[name](), text) == valid
