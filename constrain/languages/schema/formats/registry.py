"""The table of formats: the language of each name, and the check of the finished text where that is not regular.

    FORMATS           name → the language that is enforced while generating, made in the module of its RFC
    CHECKED_LATER     name → the part of the format that is checked on the finished text, in words for the report
    AT_LEAST          name → for these formats, a smaller language of texts that need no check (`bounds.py` needs it)
    NARROWED_FORMATS  name → valid texts that are refused, in words for the report

A format that no regular language decides is enforced as a slightly larger language, and `conforms` decides it when the
text is complete. Unknown names are annotations, as the specification says; `normalize/report.py` lists them.

Cost: a language is made when it is first used: 20 ms to the first mask for `idn-hostname`, 2 ms for most others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from constrain.languages.automata import decide
from constrain.languages.automata.parse.ecma import parse_ecma
from constrain.languages.automata.parse.ecma_syntax import is_ecma_pattern
from constrain.languages.automata.syntax import ANY_TEXT, Node, complement, intersect
from constrain.languages.schema.formats import net as formats_net
from constrain.languages.schema.formats import time as formats_time
from constrain.languages.schema.formats import uri as formats_uri
from constrain.lazily import later

formats_idn = later("constrain.languages.schema.formats.idn")
formats_python = later("constrain.languages.schema.formats.python")


_ANY_IP = {"ipvanyaddress": "IPvAnyAddress", "ipvanyinterface": "IPvAnyInterface", "ipvanynetwork": "IPvAnyNetwork"}
OF_FORMATS: dict[str, dict[str, Any]] = {
    "ipv6": {"type": "IPv6Address"},
    "ipv4interface": {"type": "IPv4Interface"},
    "ipv6interface": {"type": "IPv6Interface"},
    "ipv4network": {"type": "IPv4Network"},
    "ipv6network": {"type": "IPv6Network"},
    **{name: {"type": kind} for name, kind in _ANY_IP.items()},
    **{f"uuid{version}": {"type": "UUID", "version": version} for version in (1, 3, 4, 5, 6, 7, 8)},
    "zoneinfo": {"type": "ZoneInfo"},
    "email": {"type": "EmailStr"},
    "name-email": {"type": "NameEmail"},
    "multi-host-uri": {"type": "Url", "hosts": True},
}
"""The formats of pydantic's schemas that mean a type, or another language than JSON Schema's format of the name."""


def _of_type(options: dict[str, Any]) -> Node:
    """The language of a type of Python."""
    node: Node = formats_python.language_of(options)
    return node


def _language(pattern: str) -> Callable[[], Node]:
    """A function that returns the language of a pattern, and parses it at its first call."""
    return lru_cache(maxsize=1)(lambda: parse_ecma(pattern, whole=True))


FORMATS: dict[str, Callable[[], Node]] = {
    "date": _language(formats_time.DATE),
    "time": formats_time.time,
    "date-time": formats_time.date_time,
    "time-local": _language(formats_time.LOCAL_TIME),
    "date-time-local": _language(formats_time.LOCAL_DATE_TIME),
    "duration": _language(formats_time.DURATION),
    "email": partial(formats_net.email, False),
    "idn-email": partial(formats_net.email, True),
    "hostname": formats_net.hostname,
    "idn-hostname": lambda: formats_idn.idn_hostname(),
    "ipv4": formats_net.ipv4,
    "ipv6": formats_net.ipv6,
    "uri": partial(formats_uri.identifier, False),
    "uri-reference": partial(formats_uri.reference, False),
    "iri": partial(formats_uri.identifier, True),
    "iri-reference": partial(formats_uri.reference, True),
    "uri-template": formats_uri.uri_template,
    "uuid": _language(formats_uri.UUID),
    "json-pointer": _language(formats_uri.JSON_POINTER),
    "relative-json-pointer": _language(formats_uri.RELATIVE_JSON_POINTER),
    "regex": lambda: ANY_TEXT,
}
FORMATS = {**{name: partial(_of_type, known) for name, known in OF_FORMATS.items()}, **FORMATS}

CHECKED_LATER = {
    "hostname": "labels that begin with xn-- are decoded when the value is complete",
    "idn-hostname": "rare characters, the contextual and Bidi rules, normalization, labels that begin with xn--, and "
    "lengths are checked when the value is complete",
    "regex": "patterns are no regular language: checked when the value is complete",
}

AT_LEAST: dict[str, Callable[[], Node]] = {
    "hostname": lambda: intersect(formats_net.hostname(), complement(parse_ecma("(?s:.*[xX][nN]--.*)", whole=True))),
    "idn-hostname": lambda: intersect(formats_net.hostname(), complement(parse_ecma("(?s:.*--.*)", whole=True))),
    "regex": _language(r"[^\^$\\.*+?()\[\]{}|]*"),
}
"""Name → a language of texts that all are of the format, for each name of `CHECKED_LATER`."""

_LEAP_SECONDS = "a second of 60 only with offsets of whole quarters of an hour"
NARROWED_FORMATS = {"time": _LEAP_SECONDS, "date-time": _LEAP_SECONDS}

_CHECKS: dict[str, Callable[[str], bool]] = {
    "hostname": lambda text: formats_idn.has_valid_a_labels(text),
    "idn-hostname": lambda text: formats_idn.is_idn_hostname(text),
    "regex": is_ecma_pattern,
}


def conforms(name: str, text: str) -> bool:
    """True if the text is of a format, a key of `FORMATS`. Exact, except for texts that `NARROWED_FORMATS` names."""
    return decide.matches(FORMATS[name](), text) and (name not in _CHECKS or _CHECKS[name](text))
