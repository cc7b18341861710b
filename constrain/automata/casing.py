"""Case-insensitive character sets, with the meaning of Python's `re.IGNORECASE` and of ECMA-262's `i` flag.

The idea: both put characters into groups that count as equal, so a set is closed by adding every group that it meets. Only
some 2,900 characters have case; groups are computed when first needed (about 10 ms) and kept.

* Python compares simple lower cases, and takes lower-case letters with equal upper case for equal (`re/_compiler.py`, generated
  by `Tools/build/generate_re_casefix.py`): K, k and the Kelvin sign are one group, so are s, S and the long s.
* ECMA-262 compares simple case foldings (section 22.2.2.7.3, Canonicalize), which leave the dotless i alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from constrain.automata import intervals
from constrain.automata.syntax import Ranges
from constrain.automata.unicode_classes import every_character

_ASCII_CASED: Ranges = ((0x41, 0x5A), (0x61, 0x7A))


class Folding:
    """Characters in groups that count as equal.

    groups: code point -> its group; characters alone in their group are left out.
    """

    def __init__(self, groups: dict[int, Ranges]) -> None:
        self.groups = groups
        self.members = intervals.union((c, c) for c in groups)

    def close(self, ranges: Ranges) -> Ranges:
        """The set with every group that it meets."""
        cased = intervals.common(ranges, self.members)
        met = {self.groups[c] for low, high in cased for c in range(low, high + 1)}
        return intervals.union(ranges, *met) if met else ranges


@cache
def python_folding() -> Folding:
    """The groups of `re.IGNORECASE` for `str` patterns."""
    return _group(lambda character: _simple_lower(character).upper())


@cache
def ascii_folding() -> Folding:
    """The groups of `re.IGNORECASE | re.ASCII`: A and a, ..., Z and z."""
    letters = [c for low, high in _ASCII_CASED for c in range(low, high + 1)]
    return Folding({c: ((c & ~32, c & ~32), (c | 32, c | 32)) for c in letters})


@cache
def ecma_folding() -> Folding:
    """The groups of ECMA-262's `i` flag under the `u` flag: equal simple foldings.

    Two characters have equal simple foldings exactly if their full ones are equal (CaseFolding.txt since Unicode 15.1).
    """
    return _group(str.casefold)


def _simple_lower(character: str) -> str:
    """Simple lower case: one character. Only U+0130 has a longer full one, and its first character is the simple one."""
    return character.lower()[0]


def _group(key: Callable[[str], str]) -> Folding:
    together: dict[str, list[int]] = {}
    for character in _cased_characters():
        together.setdefault(key(character), []).append(ord(character))
    groups: dict[int, Ranges] = {}
    for members in together.values():
        if len(members) > 1:
            groups.update(dict.fromkeys(members, intervals.union((c, c) for c in members)))
    return Folding(groups)


def _cased_characters() -> list[str]:
    """The characters with another upper, lower or folded case; blocks of 256 without any are passed over at once."""
    text = every_character()
    found: list[str] = []
    for start in range(0, len(text), 256):
        block = text[start : start + 256]
        if block != block.lower() or block != block.upper() or block != block.casefold():
            found += (c for c in block if c != c.lower() or c != c.upper() or c != c.casefold())
    return found
