"""The proof of an answer: what its constraint enforced, what was checked, and what that cost, as one JSON object.

The idea: whoever stores an answer, or passes it on, should not have to trust the settings of the process that wrote it.
The object says by itself what became of each keyword (`ReportLine`), which places were closed, whether the conditions
that masks cannot enforce were checked and passed, how the text ended, its weight, and how much of the model's mass the
masks refused at each field. Nothing is measured for it: all stands in the output and in its constraint's report.

`SCHEMA` is its JSON Schema (2020-12). `version` goes up where a field changes its meaning; fields may be added.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from constrain.languages.constraints.report import ReportLine
from constrain.languages.schema.read.closing import UNDECLARED_ITEMS, UNDECLARED_PROPERTIES
from constrain.reports.confidence import DECODER, members_at, skip
from constrain.sampling.core.job import TokenRecord

VERSION = 1
_CLOSING = (UNDECLARED_PROPERTIES, UNDECLARED_ITEMS)
_KINDS = ("enforced", "residual", "closed", "annotation", "trusted")
_LINE = {
    "type": "object",
    "properties": {"keyword": {"type": "string"}, "pointer": {"type": "string"}, "note": {"type": "string"}},
    "required": ["keyword", "pointer"],
}
_NUMBER = {"type": ["number", "null"]}
_MASS = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "version": {"const": VERSION},
        **{kind: {"type": "array", "items": _LINE} for kind in _KINDS},
        "passed": {"type": "boolean", "description": "the text is complete, and passed all that `residual` names"},
        "ended": {
            "type": "object",
            "properties": {"reason": {"type": "string"}, "fault": {"type": ["string", "null"]}},
            "required": ["reason", "fault"],
        },
        "weight": {
            "type": "object",
            "properties": {
                "method": {"type": "string"}, "dtype": {"type": "string"}, "cuts": {"type": "string"},
                "logprob": _NUMBER, "log_weight": _NUMBER,
            },
            "required": ["method", "cuts", "logprob", "log_weight"],
        },
        "refused": {
            "type": "object",
            "properties": {"whole": _MASS, "fields": {"type": "object", "additionalProperties": _MASS}},
            "required": ["whole", "fields"],
        },
    },
    "required": ["version", *_KINDS, "passed", "ended", "weight", "refused"],
}  # fmt: skip
"""The JSON Schema of a proof."""


def proof_of(
    report: Iterable[ReportLine],
    text: str,
    finish_reason: str,
    *,
    fault: str | None = None,
    weight: tuple[str, str, float | None, float | None] = ("", "", None, None),
    dtype: str = "",
    pieces: Sequence[bytes] = (),
    trace: Sequence[TokenRecord] = (),
) -> dict[str, Any]:
    """The proof of an answer.

    Args:
        report: What became of each keyword: `Constraint.report`.
        text: The answer.
        finish_reason: As of `Generation`: "stop" says that all checks passed.
        fault: What a check said, or why nothing more could follow.
        weight: The method, the cuts, log p and the log-weight, as `Generation` has them; None: not known.
        dtype: The number format of the model's weights, as `Stats` has it.
        pieces, trace: The bytes of each token, and what was recorded of it; without a record nothing is `refused`.

    Returns:
        An object of `SCHEMA`; a number that is not finite is None. Of `refused`, `whole` is 1 − Π Z over all tokens,
        where Z is the mass that the masks left, and `fields` the same of the tokens of each value without parts, by its
        JSON pointer; a token that two values share counts for both. None: nothing was recorded. A text that is no
        JSON has no fields.

    Example:
        >>> import constrain
        >>> proof = proof_of(constrain.json_schema({"type": "integer"}).report, "7", "stop")
        >>> proof["passed"], [line["keyword"] for line in proof["enforced"]][:1], proof["refused"]
        (True, ['type'], {'whole': None, 'fields': {}})
    """
    lines: dict[str, list[dict[str, str]]] = {kind: [] for kind in _KINDS}
    for line in report:
        kind = "closed" if line.keyword in _CLOSING and line.status == "enforced" else line.status
        lines[kind].append({name: value for name, value in line._asdict().items() if value and name != "status"})
    method, cuts, logprob, log_weight = weight
    return {
        "version": VERSION,
        **lines,
        "passed": finish_reason == "stop",
        "ended": {"reason": finish_reason, "fault": fault},
        "weight": {
            "method": method,
            "dtype": dtype,
            "cuts": cuts,
            "logprob": _finite(logprob),
            "log_weight": _finite(log_weight),
        },
        "refused": _refused(text, pieces, trace),
    }


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


def _refused(text: str, pieces: Sequence[bytes], trace: Sequence[TokenRecord]) -> dict[str, Any]:
    """The mass that masks refused, in all and by field."""
    allowed = [min(record.log_z, 0.0) for record in trace]
    if not trace or len(pieces) != len(trace) or any(map(math.isnan, allowed)):
        return {"whole": None, "fields": {}}
    whole, at, begins, own = text.encode("utf-8", "surrogateescape"), 0, list[int](), list[float]()
    for piece, log_allowed in zip(pieces, allowed, strict=True):
        if piece and whole.startswith(piece, at):
            begins.append(at)
            own.append(log_allowed)
            at += len(piece)
    fields = {}
    for pointer, begin, end in _leaves(text):
        first, last = bisect_right(begins, begin) - 1, bisect_right(begins, end - 1)
        fields[pointer] = _mass(own[max(first, 0) : last])
    return {"whole": _mass(allowed), "fields": fields}


def _mass(allowed: Iterable[float]) -> float:
    """1 − the product of some masses, which are given by their logarithms."""
    return -math.expm1(math.fsum(allowed)) + 0.0


def _leaves(text: str) -> list[tuple[str, int, int]]:
    """(pointer, begin, end), in bytes, of each value without parts in a JSON text; none in another text."""
    try:
        start = skip(text, 0)
        if text[DECODER.raw_decode(text, start)[1] :].strip():
            return []
        found = [*_leaves_at(text, start, "")]
    except (ValueError, IndexError, RecursionError):
        return []
    if text.isascii():
        return found
    sizes = [0, *itertools.accumulate(len(character.encode("utf-8", "surrogateescape")) for character in text)]
    return [(pointer, sizes[begin], sizes[end]) for pointer, begin, end in found]


def _leaves_at(text: str, at: int, pointer: str) -> Iterator[tuple[str, int, int]]:
    parts = members_at(text, at)
    if not parts:
        yield pointer, at, DECODER.raw_decode(text, at)[1]
    for name, begin in parts.items():
        escaped = name.replace("~", "~0").replace("/", "~1")
        yield from _leaves_at(text, begin, f"{pointer}/{escaped}")
