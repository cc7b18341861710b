"""Brackets of code that a text leaves open, and how many are missing, without those of comments and strings.

    brackets = Brackets(language)
    opened = brackets.opened(b"", b"f(a[0", CODE)       # b"(["
    brackets.missing(opened, b"]; }", CODE)             # 2: ")" and "{"

The idea: what a text begins in is asked of the matcher before it, by texts that no code goes on with (`within`); what
is skipped is found by patterns, those of the line comments that the grammar has among them. Set tokens of a canvas with
open positions in between do not tell where each comment ends, so this guides a search and proves nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache

from constrain.gaps.solution import GapLanguage
from constrain.masks.engine.matcher import Matcher
from constrain.papers.diffusion.candidates import WholeLexemes

PROBES = (b"@ $ @", b"\n@ $ @", b'"@ $ @', b"'@ $ @")  # anything, a line, a quotation mark of each kind
CODE = (False, False, False, False)
OPENS = dict(zip(b")]}", b"([{", strict=True))
KEPT = 1 << 14  # answers that are remembered
LINE_COMMENTS = (b"//", b"--", b"#")
SKIPPED = [
    rb"/\*.*?\*/", rb'""".*?"""', rb"'''.*?'''", rb'"(?:\\.|[^"\\\n])*"', rb"'(?:\\.|[^'\\\n])*'",
]  # fmt: skip
NO_BRACKETS = re.compile(rb"[^()\[\]{}]+")
Within = tuple[bool, ...]  # which of the probes may follow


def within(matcher: Matcher) -> Within:
    """Tell whether a matcher is in code (`CODE`), or in a comment or a string of some kind."""
    found = []
    for probe in PROBES:
        found.append(matcher.advance_bytes(probe))
        matcher.rollback(found[-1])
        if not found[0]:
            return CODE
    return tuple(found)


class Brackets:
    """Counts the brackets of a language. language: its grammar."""

    def __init__(self, language: GapLanguage) -> None:
        lexemes = WholeLexemes(language)
        lines = [re.escape(each) + rb"[^\n]*" for each in LINE_COMMENTS if len(lexemes.states(each + PROBES[0]))]
        self._skipped = re.compile(b"|".join([*SKIPPED, *lines]), re.DOTALL)
        self._of, self.missing = lru_cache(KEPT)(self._brackets), lru_cache(KEPT)(self._missing)

    def opened(self, before: bytes, text: bytes, begins: Within) -> bytes:
        """The brackets that are open behind a text. before: the brackets that are open where it begins."""
        return self._after(before, text, begins)[0]

    def _brackets(self, text: bytes, begins: Within) -> bytes:
        """The brackets of a text that begins within something."""
        if begins != CODE:
            end = re.search(_end(begins), text)
            text = text[end.end() :] if end else b""
        return NO_BRACKETS.sub(b"", self._skipped.sub(b"", text))

    def _missing(self, before: bytes, text: bytes, begins: Within) -> int:
        """Nearly the least number of brackets that would make all match, where `text` is all that follows."""
        opened, missing = self._after(before, text, begins)
        return missing + len(opened)

    def _after(self, before: bytes, text: bytes, begins: Within) -> tuple[bytes, int]:
        opened, missing = bytearray(before), 0
        for bracket in self._of(text, begins):
            if bracket not in OPENS:
                opened.append(bracket)
            elif opened and opened[-1] == OPENS[bracket]:
                opened.pop()
            else:  # one that opens is missing, or one that closes
                missing += 1
                if len(opened) > 1 and opened[-2] == OPENS[bracket]:
                    del opened[-2:]
        return bytes(opened), missing


def _end(begins: Within) -> bytes:
    """A pattern of what ends a comment or a string."""
    _, has_lines, has_double, has_single = begins
    if not has_double or not has_single:
        return b"'" if has_double else b'"'
    return rb"\*/|\"\"\"|'''" if has_lines else rb"\n"
