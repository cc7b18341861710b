"""Writes `schema/formats/idn_tables.py`: the characters of internationalized host names and their classes.

Which characters may stand in a label is derived by RFC 5892 section 2; the `idna` package has worked it out. The other
properties come from the `regex` package. Both are needed here only, not by the library: install them, and run
`python scripts/make_idn_tables.py` after upgrading either.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

import idna.idnadata
import regex

CLASSES = {  # name in the generated module: (comment, property as `regex` spells it)
    "MARKS": ("Combining marks, which begin no label (RFC 5891 section 4.2.3.2).", r"\p{M}"),
    "VIRAMAS": ("Canonical_Combining_Class Virama (RFC 5892 appendix A.1).", r"\p{ccc=9}"),
    "JOINS_AFTER": ("Joining_Type L or D (RFC 5892 appendix A.1).", r"[\p{jt=L}\p{jt=D}]"),
    "JOINS_BEFORE": ("Joining_Type R or D.", r"[\p{jt=R}\p{jt=D}]"),
    "TRANSPARENT": ("Joining_Type T.", r"\p{jt=T}"),
    "RIGHT_TO_LEFT": ("Bidi_Class R or AL (RFC 5893 section 2).", r"[\p{bc=R}\p{bc=AL}]"),
    "ARABIC": ("Bidi_Class AN.", r"\p{bc=AN}"),
    "EUROPEAN": ("Bidi_Class EN.", r"\p{bc=EN}"),
    "NONSPACING": ("Bidi_Class NSM.", r"\p{bc=NSM}"),
    "NEUTRAL": ("Bidi_Class ES, CS, ET, ON or BN.", r"[\p{bc=ES}\p{bc=CS}\p{bc=ET}\p{bc=ON}\p{bc=BN}]"),
}


def valid() -> list[int]:
    """Code points of the derived properties PVALID, CONTEXTJ and CONTEXTO, in order."""
    found = set()
    for name in ("PVALID", "CONTEXTJ", "CONTEXTO"):
        for span in idna.idnadata.codepoint_classes[name]:
            found.update(range(span >> 32, span & 0xFFFFFFFF))  # 0xSSSSSSSSEEEEEEEE, end exclusive
    return sorted(found)


def spans(points: Iterable[int]) -> str:
    """Sorted code points as `41-5a 5f 61-7a`."""
    ranges: list[list[int]] = []
    for point in points:
        if ranges and point == ranges[-1][1] + 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    return " ".join(f"{low:x}" if low == high else f"{low:x}-{high:x}" for low, high in ranges)


def table(name: str, comment: str, value: str) -> str:
    """One constant of the generated module."""
    rows = textwrap.wrap(value, 112, break_on_hyphens=False)
    if len(rows) == 1:
        return f'# {comment}\n{name} = "{value}"\n'
    return "\n".join([f"# {comment}", f"{name} = (", *(f'    "{row} "' for row in rows), ")", ""])


def module() -> str:
    """The text of the generated module."""
    points = valid()
    parts = [
        '"""Characters of labels of internationalized host names (RFC 5892), as hexadecimal ranges.',
        f"Written by `scripts/make_idn_tables.py` from Unicode {idna.idnadata.__version__}; do not edit.",
        '"""\n',
        table("VALID", "Derived property PVALID, CONTEXTJ or CONTEXTO (RFC 5892 section 3).", spans(points)),
    ]
    for name, (comment, query) in CLASSES.items():
        member = regex.compile(query)
        parts.append(table(name, f"Of these: {comment}", spans(p for p in points if member.match(chr(p)))))
    return "\n".join(parts)


if __name__ == "__main__":
    target = Path(__file__).parent.parent / "constrain" / "languages" / "schema" / "formats" / "idn_tables.py"
    target.write_text(module(), encoding="utf-8")
    sys.stdout.write(f"{target}: {target.stat().st_size} bytes\n")
