"""LaTeX mathematics: formulas drawn at random, with scripts, fractions, roots, accents, delimiters and matrices."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

SYMBOLS = (*"abxyzn019+-=(),.;/<>!|", r"\alpha", r"\infty", r"\le", r"\cdot", r"\{", r"\}", r"\,", r"\dots", r"\sin")
TWO = (r"\frac", r"\binom", r"\overset", r"\dfrac")
ONE = (r"\hat", r"\vec", r"\overline", r"\mathbb", r"\mathrm", r"\sqrt", r"\sqrt[3]")
DELIMITERS = ("(", ")", "[", "]", "|", ".", r"\{", r"\}", r"\langle", r"\rangle", r"\lfloor", r"\Vert")
MATRICES = ("matrix", "pmatrix", "bmatrix", "cases", "aligned")
KNOWN = (
    r"x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}",
    r"\sum_{k=0}^n \binom nk x^k y^{n-k} = (x+y)^n",
    r"f'(x) = \lim_{h\to0} \frac{f(x+h) - f(x)}h",
    r"\left\langle\psi\middle|\hat H\middle|\psi\right\rangle \ge E_0",
    r"\begin{pmatrix} \cos\theta & -\sin\theta \\ \sin\theta & \cos\theta \end{pmatrix}",
    r"\text{rank}(A) \leq \min\{m, n\} \quad \forall A \in \mathbb R^{m\times n}",
)


def texts(random: Random, limit: int) -> Iterator[tuple[str, bytes]]:
    """A few that are known, then `limit` drawn ones."""
    for index, known in enumerate(KNOWN):
        yield f"known {index}", known.encode()
    for index in range(limit):
        yield f"generated {index}", _joined(random, [t for _ in range(4) for t in _term(random, 3)]).encode()


def _joined(random: Random, tokens: list[str]) -> str:
    """The tokens, with a space where a letter would go on with the name of a command, and here and there."""
    text = ""
    for token in tokens:
        in_name = text[-1:].isalpha() and "\\" in text and text[text.rindex("\\") + 1 :].isalpha()
        space = (in_name and token[0].isalpha()) or random.random() < 0.1
        text += (" " if space else "") + token
    return text


def _term(random: Random, depth: int) -> list[str]:
    tokens = _nucleus(random, depth) + ["'"] * random.choice((0, 0, 0, 1, 2))
    scripts = random.choice(("", "", "_", "^", "_^", "^_"))
    for script in scripts:
        tokens += [script, *_argument(random, depth - 1)]
    return tokens


def _nucleus(random: Random, depth: int) -> list[str]:
    kind = random.random() if depth > 0 else 1.0
    if kind < 0.1:
        return [random.choice(TWO), *_argument(random, depth - 1), *_argument(random, depth - 1)]
    if kind < 0.2:
        return [random.choice(ONE), *_argument(random, depth - 1)]
    if kind < 0.28:
        opened, closed = random.choice(DELIMITERS), random.choice(DELIMITERS)
        middle = [r"\middle", "|", *_row(random, depth - 1)] if random.random() < 0.3 else []
        return [r"\left", opened, *_row(random, depth - 1), *middle, r"\right", closed]
    if kind < 0.33:
        name = random.choice(MATRICES)
        cells = ([*_row(random, depth - 1), random.choice(("&", r"\\"))] for _ in range(random.randrange(1, 4)))
        return [rf"\begin{{{name}}}", *(t for cell in cells for t in cell), rf"\end{{{name}}}"]
    if kind < 0.37:
        return [r"\text{if }"]
    return [random.choice(SYMBOLS)]


def _row(random: Random, depth: int) -> list[str]:
    return [token for _ in range(random.randrange(4)) for token in _term(random, depth)]


def _argument(random: Random, depth: int) -> list[str]:
    if random.random() < 0.5:
        return [random.choice(("a", "x", "2", r"\beta", r"\pi"))]
    return ["{", *_row(random, depth), "}"]
