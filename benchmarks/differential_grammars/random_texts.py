"""Random grammars as texts, in both formats, and random texts: members found by walking, and what is near them."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from itertools import product
from typing import Any

import numpy as np

import constrain
from constrain.masks.engine import TokenAutomaton

BYTES = constrain.Vocabulary([*(bytes([b]) for b in range(256)), None], [256])


def lark_grammar(rng: random.Random) -> str:
    """Rules with groups, operators, counts, templates, aliases and marks over overlapping terminals of a and b."""
    terminals = [f"T{i}" for i in range(rng.randint(1, 3))]
    rules = ["start", *(rng.choice(["r0", "_r0", "r0"]) for _ in range(rng.randrange(2)))]
    lines = [f"{name}{rng.choice(['', '', '.1', '.-1'])}: {_terminal(rng, 2)}" for name in terminals]
    template = rng.randrange(4) == 0
    if template:
        lines.append(f"pair{{x, y}}: x {rng.choice(['y', '[y]', 'y x'])}")
    for name in rules:
        marks = rng.choice(["", "", "?", "!"]) if not name.startswith("_") else ""
        alternatives = [_sequence(rng, terminals, rules, template, 2) for _ in range(rng.randint(1, 3))]
        if not name.startswith("_") and rng.randrange(5) == 0:
            alternatives[-1] += " -> named"
        lines.append(f"{marks}{name}: {' | '.join(alternatives)}")
    if rng.randrange(3) == 0:
        lines.append(rng.choice(['%ignore " "', "%ignore / +/", '%ignore "b"']))
    return "\n".join(lines) + "\n"


def _terminal(rng: random.Random, depth: int) -> str:
    kind = rng.randrange(9 if depth else 6)
    if kind < 6:
        return rng.choice(
            ['"a"', '"b"', '"ab"', '"ba"', '"a".."b"', "/a+/", "/[ab]/", "/b+a?/", '"B"i', "/AB/i", "/.b/s"]
        )
    inner = _terminal(rng, depth - 1)
    if kind == 6:
        return f"({inner}){rng.choice(['+', '~2', '~1..2'])}"
    other = _terminal(rng, depth - 1)
    return f"({inner} | {other})" if kind == 7 else f"{inner} {rng.choice(['', f'[{other}]'])} {other}"


def _sequence(rng: random.Random, terminals: list[str], rules: list[str], template: bool, depth: int) -> str:
    parts = []
    for _ in range(rng.choice([1, 1, 2, 2, 3])):
        kind = rng.randrange(9)
        if kind < 4:
            part = rng.choice(terminals)
        elif kind == 4:
            part = rng.choice(['"a"', '"b"', '"ab"'])
        elif kind < 7 or not depth:
            part = rng.choice(rules)
        elif kind == 7 and template:
            part = f"pair{{{rng.choice(terminals)}, {rng.choice(rules)}}}"
        else:
            inner = " | ".join(_sequence(rng, terminals, rules, template, depth - 1) for _ in range(rng.randint(1, 2)))
            parts.append(rng.choice([f"({inner})", f"[{inner}]", f"({inner})?"]))
            continue
        parts.append(part + rng.choice(["", "", "", "", "?", "*", "+", "~2", "~0..2"]))
    return " ".join(parts)


def gbnf_grammar(rng: random.Random) -> str:
    """Rules with everything of the format over a and b."""
    rules = ["root", *(f"r-{i}" for i in range(rng.randrange(3)))]
    return "\n".join(f"{name} ::= {_gbnf_choice(rng, rules, 2)}  # {name}" for name in rules) + "\n"


def _gbnf_choice(rng: random.Random, rules: list[str], depth: int) -> str:
    separator = rng.choice([" | ", " |\n  ", "\n  | "])
    return separator.join(_gbnf_sequence(rng, rules, depth) for _ in range(rng.randint(1, 3)))


def _gbnf_sequence(rng: random.Random, rules: list[str], depth: int) -> str:
    parts = []
    for _ in range(rng.randrange(4)):
        kind = rng.randrange(8)
        if kind < 3:
            part = rng.choice(['"a"', '"b"', '"ab"', '""', '"\\x61"', '"\\u0062"', "[ab]", "[^a]", "[a-b]", "[^]", "."])
            part = part.replace("[^]", "[^\\n]")
        elif kind < 6 or not depth:
            part = rng.choice(rules)
        else:
            part = f"( {_gbnf_choice(rng, rules, depth - 1)} )"
        parts.append(part + rng.choice(["", "", "", "?", "*", "+", "{2}", "{1,}", "{0,2}", "{1,2}"]))
    return " ".join(parts) or '""'  # after a | at the end of a line, the next rule would be taken for an alternative


def every(alphabet: str, length: int) -> list[str]:
    """Every text up to a length."""
    return ["".join(each) for n in range(length + 1) for each in product(alphabet, repeat=n)]


class Ours:
    """Our verdicts for one constraint, on an automaton of its own. A constraint that is refused as no text fulfils it
    has no members; other errors are raised."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.compiled: Any = None
        with suppress(constrain.UnsatisfiableError):
            self.compiled = constrain.compile(make(), BYTES, automaton=TokenAutomaton(BYTES, budget=64 << 20))

    def accepts(self, text: str) -> bool:
        """True if the text is valid under the compiled grammar."""
        if self.compiled is None:
            return False
        matcher = self.compiled.matcher()
        return matcher.advance_bytes(text.encode()) and matcher.is_accepting()

    def walk(self, rng: random.Random, length: int) -> str:
        """A text that can be written, mostly a member; ASCII."""
        if self.compiled is None:
            return ""
        matcher = self.compiled.matcher()
        row = np.zeros(BYTES.words, np.uint32)
        text = ""
        while len(text) < length and not (matcher.is_accepting() and rng.randrange(6) == 0):
            matcher.fill_mask(row)
            ids = [b for b in (9, 10, *range(32, 127)) if row[b >> 5] >> (b & 31) & 1]
            if not ids:
                break
            # letters and digits are many: give signs their chance
            signs = [b for b in ids if not chr(b).isalnum()]
            byte = rng.choice(signs if signs and rng.randrange(2) else ids)
            assert matcher.advance(byte)
            text += chr(byte)
        return text + matcher.forced_bytes().decode(errors="ignore")


def near(rng: random.Random, text: str, alphabet: str) -> str:
    """A text with one character put in, taken out or changed."""
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(["", rng.choice(alphabet)]) + text[at + rng.randrange(2) :]
