"""Shared parts of the generators of texts: words, strings with odd characters, and spacing, drawn by a seed."""

from __future__ import annotations

from random import Random

WORDS = "alpha beta name size x0 value kind on type data item_9 Zeta".split()
ODD = "aZ09 _-.,:;!?#'`|&<>=+*/%@~^$()[]{}é漢🎈"


def word(random: Random) -> str:
    """A name."""
    return random.choice(WORDS)


def phrase(random: Random, without: str = "", longest: int = 12) -> str:
    """Some characters, odd ones too, none of `without`."""
    allowed = [c for c in ODD if c not in without]
    return "".join(random.choice(allowed) for _ in range(random.randrange(longest)))


def number(random: Random) -> str:
    """A decimal number as most languages write it: no sign, no zero before other digits."""
    whole = str(random.choice((0, 1, 7, 10, 42, 360, 65536, 10**12)))
    fraction = f".{random.randrange(1000)}" if random.random() < 0.4 else ""
    exponent = f"{random.choice('eE')}{random.choice(('', '+', '-'))}{random.randrange(40)}"
    return whole + fraction + (exponent if random.random() < 0.2 else "")


def spaces(random: Random, choices: tuple[str, ...] = ("", "", "", " ", "  ", "\t")) -> str:
    """White space, mostly none."""
    return random.choice(choices)
