"""Formats: what each name means, as a regular language of decoded texts or as a check of the finished text.

    FORMATS       name → the language that is enforced while generating, beside its document in `formats_*.py`
    CHECKED_LATER         name → what is left of the format for the finished text, in words for the report
    AT_LEAST      name → for these, a smaller language of texts that need no check (`formats_bounds.py` says what for)
    NARROWED_FORMATS    name → valid texts that are refused, in words for the report

A format that no regular language decides is enforced as a language that is a little larger, and decided by `conforms`
when the text is complete. Names in neither table are annotations, as the specification says; `report.py` lists them.
Cost: a language is made when it is first used, in less than 20 ms to the first mask (`idn-hostname`; most need 2 ms).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

from constrain.automata import decide
from constrain.automata.parse.python import parse_python
from constrain.automata.syntax import ANY_TEXT, Node, complement, intersect
from constrain.schema.formats import idn as formats_idn
from constrain.schema.formats import net as formats_net
from constrain.schema.formats import regex as formats_regex
from constrain.schema.formats import time as formats_time
from constrain.schema.formats import uri as formats_uri


def _language(pattern: str) -> Callable[[], Node]:
    return lru_cache(maxsize=1)(lambda: parse_python(pattern))


FORMATS: dict[str, Callable[[], Node]] = {
    "date": _language(formats_time.DATE),
    "time": formats_time.time,
    "date-time": formats_time.date_time,
    "duration": _language(formats_time.DURATION),
    "email": partial(formats_net.email, False),
    "idn-email": partial(formats_net.email, True),
    "hostname": formats_net.hostname,
    "idn-hostname": formats_idn.idn_hostname,
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

CHECKED_LATER = {
    "hostname": "labels that begin with xn-- are decoded when the value is complete",
    "idn-hostname": "rare characters, the contextual and Bidi rules, normalization, labels that begin with xn--, and "
    "lengths are checked when the value is complete",
    "regex": "patterns are no regular language: checked when the value is complete",
}

AT_LEAST: dict[str, Callable[[], Node]] = {
    "hostname": lambda: intersect(formats_net.hostname(), complement(parse_python("(?s:.*[xX][nN]--.*)"))),
    "idn-hostname": lambda: intersect(formats_net.hostname(), complement(parse_python("(?s:.*--.*)"))),
    "regex": _language(r"[^\^$\\.*+?()\[\]{}|]*"),
}
"""Name → texts that are of the format for certain, for each name of `CHECKED_LATER`."""

_LEAP_SECONDS = "a second of 60 only with offsets of whole quarters of an hour"
NARROWED_FORMATS = {"time": _LEAP_SECONDS, "date-time": _LEAP_SECONDS}

_CHECKS: dict[str, Callable[[str], bool]] = {
    "hostname": formats_idn.has_valid_a_labels,
    "idn-hostname": formats_idn.is_idn_hostname,
    "regex": formats_regex.is_regex,
}


def conforms(name: str, text: str) -> bool:
    """Is the text of this format? Exact, but for what `NARROWED_FORMATS` says; the name is one of `FORMATS`."""
    return decide.matches(FORMATS[name](), text) and (name not in _CHECKS or _CHECKS[name](text))
