"""Lines of reports: what becomes of a keyword, or of a constraint inside another one."""

from __future__ import annotations

from typing import NamedTuple


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
