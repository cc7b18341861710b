"""What a subschema says, before it is computed: a formula over sets of values and conjunctions.

    KnownSet(normal)        a set that is known          Atoms(conj)     the values of a conjunction of atoms
    AllOf, AnyOf      intersection, union          OneOf             in exactly one
    Not               complement

Keywords (`keywords.py`) write formulas; `normalize.py` computes them, pushing complements inwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from constrain.schema.sets.algebra import Conj, NormalForm


class KnownSet(NamedTuple):
    """A known set."""

    normal: NormalForm


class Atoms(NamedTuple):
    """The values that fulfil every atom."""

    conj: Conj


class AllOf(NamedTuple):
    """In all of the parts."""

    parts: tuple[Formula, ...]


class AnyOf(NamedTuple):
    """In at least one part."""

    parts: tuple[Formula, ...]


class OneOf(NamedTuple):
    """In exactly one part."""

    parts: tuple[Formula, ...]


class Not(NamedTuple):
    """Outside the part."""

    part: Formula


def combined(formula: Formula) -> Iterator[int]:
    """The atoms that a formula combines (those inside containers are not among them)."""
    if isinstance(formula, Atoms):
        yield from formula.conj
    elif isinstance(formula, Not):
        yield from combined(formula.part)
    elif isinstance(formula, (AllOf, AnyOf, OneOf)):
        for part in formula.parts:
            yield from combined(part)


Formula = KnownSet | Atoms | AllOf | AnyOf | OneOf | Not
