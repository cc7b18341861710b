"""Texts drawn from rules: what a table in TOML says of a language, written at random.

A rule is a list of alternatives. In one, `«x»` is a text of the rule x, `«x?»` half of the time; `«x*»` none to three,
`«x+»` one to three, with what follows the sign between them. Of its own there are `word`, `number`, `sp` (white space,
mostly none), `#` (a number that is new) and `phrase` (odd characters, without those after `!`). Alternatives of the
least height are taken where a text is `DEEP` rules deep. The start is the rule `text`.
"""

from __future__ import annotations

import re
import sys
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Rules = dict[str, list[str]]
DEEP = 12
REFERENCE = re.compile(r"«(#|\w+)([?*+!]?)([^»]*)»")
WORDS = "alpha beta name size x0 value kind on type data item_9 Zeta".split()
ODD = "aZ09 _-.,:;!?#'`|&<>=+*/%@~^$()[]{}é漢🎈"


def read_table(path: Path) -> dict[str, Any]:
    """A table of TOML."""
    return tomllib.loads(path.read_text(encoding="utf-8"))


class Writer:
    """Texts of some rules, drawn by a seed."""

    def __init__(self, rules: Rules, random: Random) -> None:
        self.rules, self.random, self.fresh = rules, random, count(1)
        heights = dict.fromkeys(rules, 0)
        self.low = {name: [0] for name in rules}  # the alternatives of the least height
        for _ in rules:
            for name, alternatives in rules.items():
                found = [
                    [each for each in REFERENCE.findall(text) if each[1] not in ("?", "*")] for text in alternatives
                ]
                needs = [max((1 + heights.get(rule, 0) for rule, _, _ in each), default=0) for each in found]
                heights[name] = min(needs)
                self.low[name] = [i for i, need in enumerate(needs) if need == min(needs)]

    def text(self, name: str = "text", depth: int = 0) -> str:
        """A text of a rule."""
        alternatives = self.rules[name]
        chosen = self.random.choice(range(len(alternatives)) if depth < DEEP else self.low[name])
        return REFERENCE.sub(lambda found: self._part(found, depth), alternatives[chosen])

    def _part(self, found: re.Match[str], depth: int) -> str:
        name, sign, rest = found.groups()
        if name not in self.rules:
            return self._own(name, rest)
        least, most = {"": (1, 1), "!": (1, 1), "?": (0, 1), "*": (0, 3), "+": (1, 3)}[sign]
        times = least if depth >= DEEP else self.random.randint(least, most)
        return rest.join(self.text(name, depth + 1) for _ in range(times))

    def _own(self, name: str, without: str) -> str:
        choice = self.random.choice
        match name:
            case "#":
                return str(next(self.fresh))
            case "word":
                return choice(WORDS)
            case "sp":
                return choice(("", "", "", " ", "  ", "\t"))
            case "phrase":
                allowed = [c for c in ODD if c not in without]
                return "".join(choice(allowed) for _ in range(self.random.randrange(12)))
            case "number":
                whole, fraction = choice("0 1 7 10 42 360 65536".split()), choice(("", "", f".{choice(range(1000))}"))
                exponent = f"{choice('eE')}{choice(('', '+', '-'))}{choice(range(40))}"
                return whole + fraction + choice(("", "", "", exponent))
        raise ValueError(f"no rule {name}")
