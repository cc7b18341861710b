"""Formulas: the meaning of a subschema before it is computed, over sets of values and conjunctions of atoms.

    KnownSet(normal)  a set in normal form         Atoms(conj)       the values that fulfil a conjunction of atoms
    AllOf, AnyOf      intersection, union          OneOf             the values in exactly one part
    Not               complement                   CheckedLater(n)   a set that only the check of a text asks for

Keywords (`read/keywords.py`) write formulas. `normalize/normalizer.py` computes them, pushing complements inwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from constrain.languages.schema.sets.algebra import Conj, NormalForm


class KnownSet(NamedTuple):
    """A set in normal form."""

    normal: NormalForm


class CheckedLater(NamedTuple):
    """A set in normal form that the check of the finished text asks for; before, it and its complement hold all."""

    normal: NormalForm


class Atoms(NamedTuple):
    """The values that fulfil every atom of a conjunction."""

    conj: Conj


class AllOf(NamedTuple):
    """The values in all of the parts."""

    parts: tuple[Formula, ...]


class AnyOf(NamedTuple):
    """The values in at least one part."""

    parts: tuple[Formula, ...]


class OneOf(NamedTuple):
    """The values in exactly one part."""

    parts: tuple[Formula, ...]


class Not(NamedTuple):
    """The values outside the part."""

    part: Formula


def without_itself(formula: Formula, serial: int) -> Formula:
    """The formula of an atom, less the demand that a value be in the set of that atom itself: it demands nothing.

    X = X ∩ B is the largest such set, B: what a validator takes that does not ask the same question twice.
    """
    if isinstance(formula, Atoms) and serial in formula.conj:
        return Atoms(tuple(other for other in formula.conj if other != serial))
    if isinstance(formula, AllOf):
        return AllOf(tuple(without_itself(part, serial) for part in formula.parts))
    return formula


def combined_atoms(formula: Formula) -> Iterator[int]:
    """Yield the atoms that a formula says of the value itself, not of its items and properties."""
    if isinstance(formula, Atoms):
        yield from formula.conj
    elif isinstance(formula, Not):
        yield from combined_atoms(formula.part)
    elif isinstance(formula, (AllOf, AnyOf, OneOf)):
        for part in formula.parts:
            yield from combined_atoms(part)


Formula = KnownSet | CheckedLater | Atoms | AllOf | AnyOf | OneOf | Not
