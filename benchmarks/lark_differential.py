"""Grammars in Lark and GBNF: our verdicts compared with those of lark and of a plain reading of GBNF.

Question: of the grammars that `lark.Lark(grammar)` takes, which do we load, and are the verdicts on texts equal?
`lexer="dynamic"` beside lark's Earley parser (`dynamic_complete`), `lexer="greedy"` beside its LALR parser (contextual
lexer); GBNF beside `differential_grammars/gbnf.py`.

    python benchmarks/lark_differential.py --random 300 --seed 1
    python benchmarks/lark_differential.py --examples DIR      # also every *.lark file of a checkout of lark, say

Grammars: those of tests/data, every terminal of lark's own library (common, unicode, python), lark's own grammar files,
files given with --examples, and random ones. Texts: all over a small alphabet, or random walks and what is one
change away from them. Outcomes of a text:

    equal    the same verdict
    lark     lark's parser differs from lark's own rules and terminals as `re.fullmatch` reads them, and we agree with
             these: it takes only the first match of a regex, or only the longest ignored text (dynamic)
    order    lark's order of alternatives chose another lexeme than the longest, or one of several tied ones (greedy)
    WRONG    anything else; one makes the run fail

Differences and their reasons: docs/grammars-lark.md. A few seconds for --random 50.
"""

from __future__ import annotations

import argparse
import collections
import random
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import lark
from rich.console import Console
from rich.table import Table

import constrain
from differential_grammars.gbnf import Gbnf
from differential_grammars.oracles import Contextual, Dynamic
from differential_grammars.random_texts import Ours, every, gbnf_grammar, lark_grammar, near

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = Path(lark.__file__).parent / "grammars"
COLUMNS = ("equal", "lark", "order", "WRONG")


class Case(NamedTuple):
    """A grammar with its texts. alphabet, length: all texts; length 0: walks, changed by characters of the alphabet."""

    corpus: str
    name: str
    grammar: str
    alphabet: str = ""
    length: int = 0
    start: str = "start"
    folder: str | None = None


class Tally:
    """counts[corpus][what]; refused: reason -> names; wrong: what is to be looked at."""

    def __init__(self) -> None:
        self.counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        self.refused: dict[str, list[str]] = collections.defaultdict(list)
        self.wrong: list[str] = []

    def texts(self, corpus: str, outcome: str, case: Case, text: str) -> None:
        """Count one text."""
        self.counts[corpus][outcome] += 1
        if outcome == "WRONG":
            self.wrong.append(f"{corpus} {case.name}: {text!r}\n{case.grammar}")


def lark_cases(folder: Path | None) -> Iterator[Case]:
    """Grammars that are given."""
    table = tomllib.loads((ROOT / "tests" / "data" / "grammar_lark_differential.toml").read_text())["case"]
    for row in table:
        yield Case("table", row["name"], row["grammar"], row["alphabet"], row["length"])
    for library in ("common", "unicode", "python"):
        text = (LIBRARY / f"{library}.lark").read_text()
        for name in re.findall(r"^([A-Z_]+)(?:\.-?\d+)?\s*:", text, re.MULTILINE):
            yield Case("library", f"{library}.{name}", f"start: {name}\n%import {library}.{name}\n", "aE1.\"\\_'/*\n ")
    yield Case("files", "lark.lark", (LIBRARY / "lark.lark").read_text(), 'a:"|\n ')
    yield Case("files", "python.lark", (LIBRARY / "python.lark").read_text(), "a=(): ", start="file_input")
    for path in sorted(folder.rglob("*.lark")) if folder else ():
        text = path.read_text()
        names = re.findall(r"^[?!]*(_?[a-z][a-z_0-9]*)(?:\.-?\d+)?\s*:", text, re.MULTILINE)
        imported = re.findall(r"->\s*(_?[a-z]\w*)", text)
        start = next((n for n in ("start", "file_input") if n in [*names, *imported]), names[0] if names else None)
        if start is not None:
            yield Case("examples", str(path.relative_to(folder)), text, 'a1:"|\n ', 0, start, str(path.parent))


def texts_of(case: Case, ours: Ours, rng: random.Random) -> list[str]:
    """The texts to compare on."""
    if case.length:
        return every(case.alphabet, case.length)
    walks = [ours.walk(rng, 24) for _ in range(15)]
    return [text for walk in walks for text in (walk, near(rng, walk, case.alphabet), near(rng, walk, case.alphabet))]


def compare(case: Case, lexer: str, tally: Tally, rng: random.Random) -> None:
    """One Lark grammar under one lexer."""
    corpus = f"{case.corpus}, {lexer}"
    options: dict[str, Any] = {"source_path": f"{case.folder}/-", "import_paths": []} if case.folder else {}
    try:
        theirs: Any = (Dynamic if lexer == "dynamic" else Contextual)(case.grammar, case.start, **options)
    except (lark.exceptions.LarkError, AssertionError, re.error, OSError):
        return  # not a grammar that lark takes in this mode
    tally.counts[corpus]["tried"] += 1
    try:
        ours = Ours(lambda: constrain.grammar(case.grammar, start=case.start, lexer=lexer, base=case.folder))  # type: ignore[arg-type]
    except constrain.ConstrainError as error:
        place = (error.place or "").split("\n")[0]
        tally.refused[error.message.split(":")[0]].append(f"{case.name} ({lexer}; {place})")
        return
    tally.counts[corpus]["loaded"] += 1
    for text in texts_of(case, ours, rng):
        if ours.accepts(text) == theirs.accepts(text):
            tally.texts(corpus, "equal", case, text)
        elif lexer == "dynamic":
            outcome = "lark" if theirs.language(text) == ours.accepts(text) else "WRONG"
            tally.texts(corpus, outcome, case, text)
        else:
            tally.texts(corpus, "order" if theirs.order_decides(text) else "WRONG", case, text)


def compare_gbnf(case: Case, tally: Tally) -> None:
    """One GBNF grammar."""
    theirs = Gbnf(case.grammar)
    tally.counts[case.corpus]["tried"] += 1
    ours = Ours(lambda: constrain.grammar(case.grammar, format="gbnf"))
    tally.counts[case.corpus]["loaded"] += 1
    for text in every(case.alphabet, case.length):
        same = theirs.accepts(text) == ours.accepts(text)
        tally.texts(case.corpus, "equal" if same else "WRONG", case, text)


def run(count: int, seed: int, folder: Path | None) -> Tally:
    """Everything; the same for equal arguments."""
    tally = Tally()
    rng = random.Random(seed)
    cases = [*lark_cases(folder)]
    cases += [Case("random", f"{seed}:{i}", lark_grammar(random.Random(f"{seed}:{i}")), "ab ", 4) for i in range(count)]
    for case in cases:
        for lexer in ("dynamic", "greedy"):
            compare(case, lexer, tally, rng)
    gbnf = tomllib.loads((ROOT / "tests" / "data" / "grammar_language.toml").read_text())["case"]
    for row in gbnf:
        if row.get("format") == "gbnf" and "start" not in row:
            compare_gbnf(
                Case("GBNF table", row["name"], row["grammar"], "".join(sorted({*"".join(row["accepts"])}))[:3], 3),
                tally,
            )
    for i in range(count):
        compare_gbnf(Case("GBNF random", f"{seed}:{i}", gbnf_grammar(random.Random(f"{seed}:{i}")), "ab", 5), tally)
    return tally


def show(tally: Tally, console: Console) -> None:
    """The table, the reasons of refusals, and what is wrong."""
    table = Table("grammars", "tried", "loaded", *(f"texts: {name}" for name in COLUMNS))
    for corpus, counts in tally.counts.items():
        table.add_row(corpus, *(f"{counts[name]:,}" for name in ("tried", "loaded", *COLUMNS)))
    console.print(table)
    for reason, names in sorted(tally.refused.items(), key=lambda item: -len(item[1])):
        console.print(f"refused, {len(names)}: {reason}\n    {', '.join(names[:6])}", markup=False, highlight=False)
    for each in tally.wrong[:20]:
        console.print(f"WRONG {each}", markup=False, highlight=False)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--random", type=int, default=100, help="random grammars of each format")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--examples", type=Path, help="a folder with *.lark files")
    arguments = parser.parse_args()
    tally = run(arguments.random, arguments.seed, arguments.examples)
    show(tally, Console(width=160))
    sys.exit(1 if tally.wrong else 0)


if __name__ == "__main__":
    main()
