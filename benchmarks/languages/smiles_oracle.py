"""The package partialsmiles as an oracle for SMILES. It reads less inside brackets than OpenSMILES has, and does not
look at what follows %; both are seen to here, by the productions of the specification.

None, since it is beyond a grammar: ring bonds that are not closed, or join what cannot be joined.
"""

from __future__ import annotations

import re

import partialsmiles

from languages.oracles import of_text

IGNORED = 4 | 16 | 64  # a last branch in parentheses, rings across dots, aromatic bonds: OpenSMILES allows them
RINGS = ("ring opening", "Cannot have", "Inconsistent bond orders")
ELEMENTS = (set(partialsmiles.elements.elements) - {"Nh", "Mc", "Ts", "Og"}) | {"Fl", "Lv", "*"}
AROMATIC = {"b", "c", "n", "o", "p", "s", "se", "as"}
_BRACKET = re.compile(
    r"\[\d*([A-Z][a-z]?|[a-z]{1,2}|\*)(@(?:@|TH[12]|AL[12]|SP[123]|(?:TB|OH)(\d{1,2}))?)?(?:H\d?)?"
    r"(?:\+\+|--|[+-]\d{0,2})?(?::\d+)?\]",
    re.ASCII,
)


@of_text
def smiles(shown: str) -> bool | None:
    """The verdict on the syntax; valences are not looked at."""
    if not shown.isascii():
        return False
    for bracket in re.findall(r"\[[^\]]*\]?", shown):
        if not _is_bracket_atom(bracket):
            return False
    outside = re.sub(r"\[[^\]]*\]", "N", shown)  # no letter after N belongs to it
    if ">" in outside or re.search(r"%(?!\d\d)", outside):
        return False
    try:
        partialsmiles.ParseSmiles(outside, partial=False, rulesToIgnore=IGNORED)
    except partialsmiles.SMILESSyntaxError as error:
        inside_branch = "not been closed" in error.message and error.idx < len(outside)  # a dot in a branch
        return None if inside_branch or any(words in error.message for words in RINGS) else False
    except (partialsmiles.ValenceError, partialsmiles.KekulizationFailure):
        return True
    return True


def _is_bracket_atom(bracket: str) -> bool:
    found = _BRACKET.fullmatch(bracket)
    if not found or (found[1] not in AROMATIC and found[1] not in ELEMENTS):
        return False
    number = found[3]  # of TB and OH
    return number is None or (number[0] != "0" and int(number) <= (20 if "TB" in found[2] else 30))
