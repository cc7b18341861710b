"""Lines of reports: what becomes of a keyword, or of a constraint inside another one."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

BY_GUARDS = frozenset({"uniqueItems", "(keys)", "(characters)"})  # keywords that only guards enforce


class ReportLine(NamedTuple):
    """One line of `CompiledConstraint.report`.

    Attributes:
        keyword: The keyword of a schema, or a word for the part in question.
        pointer: The place: the subschema that holds the keyword, as a JSON path.
        status: "enforced" while generating; "annotation": not enforced, as the specification says; "residual": checked
            on the finished text before it is returned; or "trusted": left to a server, which nobody checks.
        note: What else to know; may be empty.
    """

    keyword: str
    pointer: str
    status: str
    note: str = ""


def checked_later(lines: Iterable[ReportLine], keywords: Collection[str] = BY_GUARDS) -> list[ReportLine]:
    """Lines of which some keywords are not enforced, but checked on the finished text."""
    return [
        line._replace(status="residual") if line.status == "enforced" and line.keyword in keywords else line
        for line in lines
    ]
