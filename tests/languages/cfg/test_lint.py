"""Findings on doubtful grammars, as a table; ambiguity against counting trees of all short texts."""

import math
import random
from functools import cache

import pytest

from constrain.cli.lint import as_lines, findings
from constrain.errors import LimitError
from constrain.languages.cfg.rules import Nonterminal
from constrain.languages.cfg.transform.walk import reachable
from constrain.languages.grammar_text.text import grammar
from constrain.reports import lint as lint_module
from constrain.reports.ambiguity import find_ambiguity, loops
from constrain.reports.lint import lint
from tables import table

CASES = table("grammar_lint")["case"]


def _source(case):
    return grammar(case["grammar"], **{key: case[key] for key in ("format", "lexer") if key in case})


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_findings(case):
    found = lint(_source(case))
    assert [finding.kind for finding in found] == [kind for kind, _ in case["findings"]], found
    for finding, (_, part) in zip(found, case["findings"], strict=True):
        assert part in finding.message
    lines = as_lines(findings(_source(case)))
    examples = [line for line in lines if line.startswith("  for example")]
    assert "example" not in case or examples == [f"  for example: {case['example']!r}"]


def random_rules(rng: random.Random) -> str:
    """A small grammar text over two terminals."""
    names = ["start", "p", "q"]
    lines = []
    for name in names:
        alternatives = [
            " ".join(rng.choice([*names, '"a"', '"b"', '"a"', '"b"']) for _ in range(rng.randrange(1, 4)))
            for _ in range(rng.randrange(1, 4))
        ]
        lines.append(f"{name}: " + " | ".join(dict.fromkeys(alternatives)))
    return "\n".join(lines)


def trees(start: Nonterminal, table, text: str) -> int:
    """Derivation trees of a text, from the definition; for grammars without empty texts and without loops."""

    @cache
    def of(symbols, i: int, j: int) -> int:
        if not symbols:
            return int(i == j)
        first, rest = symbols[0], symbols[1:]
        if not isinstance(first, Nonterminal):
            return of(rest, i + 1, j) if first.name == f'"{text[i : i + 1]}"' else 0
        return sum(one(first, i, k) * of(rest, k, j) for k in range(i + 1, j - len(rest) + 1))

    @cache
    def one(nonterminal, i: int, j: int) -> int:
        return sum(of(tuple(alternative), i, j) for alternative in table[nonterminal])

    return one(start, 0, len(text))


def test_ambiguity_against_counting_trees():
    """Of random grammars: what is called ambiguous has a text with two trees, and the short ones are all found."""
    verdicts = {"ambiguous": 0, "not": 0}
    for seed in range(150):
        try:
            constraint = grammar(random_rules(random.Random(seed)))
        except ValueError:  # derives nothing
            continue
        start = lint_module.as_written(constraint)
        table = reachable(start, 100)
        if loops(table):
            continue
        found = find_ambiguity(table, symbols=6, seconds=math.inf)
        texts = ["".join("ab"[n >> i & 1] for i in range(length)) for length in range(1, 7) for n in range(1 << length)]
        counted = any(trees(start, table, text) > 1 for text in texts)
        if counted:
            assert found is not None, seed
        if found is not None:
            text = as_lines(findings(constraint))[-1].split(": ")[1].strip("'")
            named = next(each for each in table if each.name == found.rule.name)
            assert trees(named, table, text) > 1, (seed, text)
        verdicts["ambiguous" if found else "not"] += 1
    assert min(verdicts.values()) > 10


def test_very_large_grammars(monkeypatch):
    monkeypatch.setattr(lint_module, "MAX_RULES", 3)
    with pytest.raises(LimitError, match="more than 3 rules"):
        lint(grammar('start: "a" p | q\np: q "c"\nq: r r | "q"\nr: "x" "y" start'))


def test_the_search_ends_in_time():
    constraint = grammar("start: " + " | ".join(f'"{c}" start start start' for c in "abcdefgh") + ' | "x"')
    table = reachable(constraint.to_grammar().start, 100)
    assert find_ambiguity(table, symbols=40, forms=10**9, seconds=0.2) is None
