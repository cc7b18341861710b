"""Draw the pictures of docs/explanation/: how a mask is made, and how masking bends a distribution.

    python scripts/draw_explanations.py            # writes docs/pictures/mask-*.svg and bending.svg

What is drawn is computed: states, tokens and masks by the library, probabilities by plain sums over all texts of a toy
model. One file fits light and dark pages: the ground is clear, words are grey.
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path

import numpy as np

import constrain

PICTURES = Path(__file__).resolve().parents[1] / "docs" / "pictures"
GREY, BLUE, GREEN, RED, ORANGE = "#808890", "#3b76ef", "#2e9e6b", "#d1373f", "#ea7a2a"
WORDS = ("true", "false")
TOKENS = [b"al", b"f", b"fal", b"r", b"rue", b"se", b"t", b"tr", b"true", b"ue", b"x"]

# --- SVG --------------------------------------------------------------------------------------------------------------


def picture(width: int, height: int, parts: list[str]) -> str:
    """A document."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" style="max-width:100%" font-family="system-ui,sans-serif" font-size="13">{"".join(parts)}</svg>\n'
    )


def words(x: float, y: float, text: str, colour: str = GREY, anchor: str = "middle", weight: str = "normal") -> str:
    """A text at a place."""
    return (
        f'<text x="{x:g}" y="{y:g}" fill="{colour}" text-anchor="{anchor}" font-weight="{weight}">{escape(text)}</text>'
    )


def line(x1: float, y1: float, x2: float, y2: float, colour: str = GREY, width: float = 1.5) -> str:
    """A line."""
    return f'<path d="M{x1:g} {y1:g}L{x2:g} {y2:g}" stroke="{colour}" stroke-width="{width:g}"/>'


def disc(x: float, y: float, colour: str, filled: bool = False, radius: float = 9) -> str:
    """A state or a node."""
    inside = colour if filled else "none"
    return f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{inside}" stroke="{colour}" stroke-width="2"/>'


# --- a mask, step by step ---------------------------------------------------------------------------------------------


def automaton(here: str) -> str:
    """The states of true|false, that of the text `here` filled."""
    parts = []
    for row, word in enumerate(WORDS):
        y = 30 + 56 * row
        for i, letter in enumerate(word):
            begin = (30, 58) if i == 0 else (30 + 80 * i, y)
            end = (30 + 80 * (i + 1), y)
            parts.append(line(begin[0] + 10, begin[1], end[0] - 11, end[1]))
            parts.append(words((begin[0] + end[0]) / 2, (begin[1] + end[1]) / 2 - 6, letter))
        for i in range(1, len(word) + 1):
            x, last = 30 + 80 * i, i == len(word)
            current = word[:i] == here
            parts.append(disc(x, y, BLUE if current else GREY, current))
            parts += [disc(x, y, GREY, radius=13)] * last
    parts.append(disc(30, 58, BLUE if here == "" else GREY, here == ""))
    return picture(470, 116, parts)


def trie(here: str) -> str:
    """The tokens as a tree of letters; green: leads on after `here`; red: the first letter that leads nowhere."""
    vocabulary = constrain.Vocabulary([*TOKENS, None], eos_ids=[len(TOKENS)])
    compiled = constrain.compile(constrain.choices(list(WORDS)), vocabulary)
    matcher = compiled.matcher()
    assert matcher.advance_bytes(here.encode())
    bits = np.unpackbits(matcher.mask().view(np.uint8), bitorder="little")
    texts = [token.decode() for token in TOKENS]
    nodes = sorted({text[:i] for text in texts for i in range(1, len(text) + 1)})
    leaves = [node for node in nodes if not any(other != node and other.startswith(node) for other in nodes)]

    def y(node: str) -> float:
        below = [i for i, leaf in enumerate(leaves) if leaf.startswith(node)]
        return 24 + 32 * (below[0] + below[-1]) / 2

    def lives(node: str) -> bool:
        fork = matcher.fork()
        return bool(fork.advance_bytes(node.encode()))

    parts = [disc(20, y(""), GREY)]
    for node in nodes:
        parent = node[:-1]
        reached = parent == "" or lives(parent)
        colour = GREEN if lives(node) else RED if reached else GREY
        x0, x1 = 20 + 70 * len(parent), 20 + 70 * len(node)
        parts.append(line(x0 + 10, y(parent), x1 - 10, y(node), colour, 2 if reached else 1))
        share = 0.5 if parent else 0.78  # the root has many lines: letters stand where these are apart
        parts.append(words(x0 + share * (x1 - x0), y(parent) + share * (y(node) - y(parent)) - 4, node[-1], colour))
        is_token = node in texts
        allowed = is_token and bool(bits[texts.index(node)])
        assert not is_token or allowed == lives(node)  # a token is allowed if and only if its bytes lead on
        parts.append(disc(x1, y(node), colour, is_token and (allowed or not reached or colour == RED)))
    height = 20 + 32 * len(leaves)
    x = 400.0
    parts.append(words(x, 20, "token", weight="bold", anchor="start"))
    parts.append(words(x + 60, 20, "bit", weight="bold", anchor="start"))
    for i, text in enumerate(texts):
        at = 42 + 19 * i
        parts.append(words(x, at, text, GREEN if bits[i] else GREY, "start"))
        parts.append(words(x + 64, at, str(int(bits[i])), GREEN if bits[i] else GREY, "start", "bold"))
    return picture(500, max(height, 50 + 19 * len(texts)), parts)


# --- masking bends ----------------------------------------------------------------------------------------------------

FIRST = {"maybe": 0.9, "surely": 0.1}
SECOND = {"maybe": {"so": 0.1, "not": 0.9}, "surely": {"so": 0.9, "not": 0.1}}
ALLOWED = ("maybe so", "surely so")


def laws() -> dict[str, dict[str, float]]:
    """Name of a law → text → probability, for the texts that end in "so"."""
    free = {f"{a} {b}": p * q for a, p in FIRST.items() for b, q in SECOND[a].items()}
    mass = sum(free[text] for text in ALLOWED)
    masked = {f"{a} so": p for a, p in FIRST.items()}  # the first word is free, the second is forced
    weight = {f"{a} so": SECOND[a]["so"] for a in FIRST}  # what the mask let through
    total = sum(masked[text] * weight[text] for text in ALLOWED)
    return {
        "the model, if the text ends in “so”": {text: free[text] / mass for text in ALLOWED},
        "masked": masked,
        "masked, each counted by its weight": {text: masked[text] * weight[text] / total for text in ALLOWED},
    }


def bending() -> str:
    """The tree of the toy model, and the three laws as bars."""
    parts = [disc(24, 100, GREY)]
    for i, (a, p) in enumerate(FIRST.items()):
        y = 50 + 100 * i
        parts += [line(34, 100, 150, y), disc(160, y, GREY), words(92, 60 if i == 0 else 158, f"{a} {p:g}")]
        for j, (b, q) in enumerate(SECOND[a].items()):
            end, kept = y - 24 + 48 * j, f"{a} {b}" in ALLOWED
            colour = GREEN if kept else RED
            parts += [line(170, y, 270, end, colour), words(222, (y + end) / 2 - 7 + 26 * j, f"{b} {q:g}", colour)]
            parts.append(words(280, end + 4, f"{p * q:.2f}{'' if kept else '  refused'}", colour, "start"))
    for i, (name, law) in enumerate(laws().items()):
        top = 230 + 76 * i
        parts.append(words(14, top, name, GREY, "start", "bold"))
        for j, (text, share) in enumerate(law.items()):
            y = top + 8 + 22 * j
            parts.append(words(24, y + 13, text, GREY, "start"))
            fill = ORANGE if name == "masked" else BLUE
            parts.append(f'<rect x="110" y="{y}" width="{200 * share:.1f}" height="16" fill="{fill}" opacity=".8"/>')
            parts.append(words(118 + 200 * share, y + 13, f"{share:.2f}", GREY, "start"))
    return picture(420, 450, parts)


def pictures() -> dict[str, str]:
    """File name → SVG."""
    return {"mask-states.svg": automaton("t"), "mask-tokens.svg": trie("t"), "bending.svg": bending()}


def main() -> int:
    """Write them."""
    for name, text in pictures().items():
        (PICTURES / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
