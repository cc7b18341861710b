"""A bounded search for a sentential form with two parse trees, which proves a grammar ambiguous.

The idea: for every rule, make all sentential forms of n symbols from forms of fewer symbols, each with up to two trees.
A nonterminal may stay a leaf, so a form of few symbols shows what a long text would: `if E then if E then S else S`. A
form with two trees is a proof, since every rule derives some text. Whether a context-free grammar is ambiguous is
undecidable (Cantor 1962), so finding no such form proves nothing.

Not searched: ambiguity in how a text is cut into terminals, and rules that derive themselves with nothing added
(`loops`), which have infinitely many trees. Cost: bounded by `symbols`, by `forms` for each rule and length, and by the
seconds given.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from constrain.languages.cfg.ebnf import is_helper
from constrain.languages.cfg.rules import Nonterminal, Symbol
from constrain.languages.cfg.transform.analysis import on_cycles
from constrain.languages.cfg.transform.walk import Alternatives, is_nullable, nullable_nonterminals

Form = tuple[Symbol, ...]
Trees = tuple[str, ...]  # one, or two that differ


class Ambiguity(NamedTuple):
    """A proof of ambiguity.

    Attributes:
        rule: The rule.
        form: A sequence of symbols that the rule derives in two ways.
        trees: Both parse trees, in brackets.
    """

    rule: Nonterminal
    form: Form
    trees: tuple[str, str]


class _OutOfTime(Exception):
    """The time for the search is over."""


def find_ambiguity(
    table: dict[Nonterminal, Alternatives], *, symbols: int = 9, forms: int = 3000, seconds: float = 5.0
) -> Ambiguity | None:
    """The first ambiguous form that the search finds, one of the shortest; None if it finds none within its bounds.

    Args:
        table: Every nonterminal with its alternatives (`walk.reachable`).
        symbols: The largest number of symbols in a form.
        forms: The largest number of forms for each rule and length.
        seconds: The time that the search may take.
    """
    search = _Search(table, forms, time.monotonic() + seconds)
    try:
        for length in range(symbols + 1):
            for ambiguity in search.extend(length):
                return ambiguity
    except _OutOfTime:
        pass
    return None


def loops(table: dict[Nonterminal, Alternatives]) -> list[Nonterminal]:
    """The rules that derive themselves with nothing added, so that their texts have infinitely many trees."""
    empty = nullable_nonterminals(table)
    number = {nonterminal: str(i) for i, nonterminal in enumerate(table)}
    edges: dict[str, list[str]] = {name: [] for name in number.values()}
    for nonterminal, alternatives in table.items():
        for alternative in alternatives:
            solid = [symbol for symbol in alternative if not is_nullable(symbol, empty)]
            if len(solid) > 1:
                continue
            alone = solid or alternative
            edges[number[nonterminal]] += [number[symbol] for symbol in alone if isinstance(symbol, Nonterminal)]
    cyclic = on_cycles(edges)
    return [nonterminal for nonterminal, name in number.items() if name in cyclic]


class _Search:
    """The forms of each rule by length, found so far."""

    def __init__(self, table: dict[Nonterminal, Alternatives], forms: int, end: float) -> None:
        self.end = end
        self.forms = forms
        endless = set(loops(table))
        self.table = {
            nonterminal: [a for a in alternatives if not (len(a) == 1 and a[0] in endless and nonterminal in endless)]
            for nonterminal, alternatives in table.items()
        }
        self.found: dict[Nonterminal, list[dict[Form, Trees]]] = {nonterminal: [] for nonterminal in table}

    def extend(self, length: int) -> Iterator[Ambiguity]:
        """Make the forms of `length` symbols of every rule; yield those with two trees."""
        for forms in self.found.values():
            forms.append({})
        changed = True
        while changed:  # rules may need forms of equal length from one another: A → B, A → B C with nullable C
            changed = False
            for nonterminal, alternatives in self.table.items():
                known = self.found[nonterminal][length]
                new: dict[Form, Trees] = {}
                for i, alternative in enumerate(alternatives):
                    for form, inner in self._forms(tuple(alternative), length).items():
                        trees = tuple(f"{_name(nonterminal)}{_mark(alternatives, i)}({tree})" for tree in inner)
                        merged = tuple(dict.fromkeys((*new.get(form, ()), *trees)))[:2]
                        if len(new) < self.forms or form in new:
                            new[form] = merged
                for form, trees in new.items():
                    if len(trees) == 2:
                        yield Ambiguity(nonterminal, form, _tidy(*trees))
                if new.keys() - known.keys():
                    known |= new
                    changed = True

    def _forms(self, symbols: Sequence[Symbol], length: int) -> dict[Form, Trees]:
        """The forms of `length` symbols that a sequence of symbols derives."""
        if not symbols:
            return {(): ("",)} if length == 0 else {}
        forms: dict[Form, Trees] = {}
        first, rest = symbols[0], symbols[1:]
        for head_length in range(length + 1):
            heads = self._forms_of_one(first, head_length)
            tails = self._forms(rest, length - head_length) if heads else {}
            for head, head_trees in heads.items():
                if time.monotonic() > self.end:
                    raise _OutOfTime
                for tail, tail_trees in tails.items():
                    form = head + tail
                    if form in forms or len(forms) < self.forms:
                        trees = (f"{one} {two}".strip() for one in head_trees for two in tail_trees)
                        forms[form] = tuple(dict.fromkeys((*forms.get(form, ()), *trees)))[:2]
        return forms

    def _forms_of_one(self, symbol: Symbol, length: int) -> dict[Form, Trees]:
        leaf: dict[Form, Trees] = {(symbol,): (symbol.name,)} if length == 1 else {}
        if not isinstance(symbol, Nonterminal):
            return leaf
        if is_helper(symbol.name):  # helper rules are not in the grammar text, so a leaf would mean nothing to a reader
            leaf = {}
        forms = self.found[symbol]
        return leaf | forms[length] if length < len(forms) else leaf


def _name(nonterminal: Nonterminal) -> str:
    return "" if is_helper(nonterminal.name) else nonterminal.name


def _mark(alternatives: Alternatives, i: int) -> str:
    """The number of an alternative in a tree: two alternatives may derive the same form with the same brackets."""
    return f"#{i + 1}" if len(alternatives) > 1 else ""


def _tidy(one: str, two: str) -> tuple[str, str]:
    """Two trees, without marks that are not needed to tell them apart."""
    for pattern in (r"#\d+", r"(?<!\w)#\d+"):
        plain = tuple(re.sub(pattern, "", tree) for tree in (one, two))
        if plain[0] != plain[1]:
            return plain[0], plain[1]
    return one, two
