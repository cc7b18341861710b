"""`Conjunctions`: conjunctions of atoms by as few atoms as possible, where constants among them decide.

The idea: most unions tell their branches apart by constants (`"kind": {"const": "a"}`), and a product or difference of
n branches makes "a, and none of the others" n times. Where a conjunction is made, its lists of constants are compared:
what contradicts itself is FALSE before a box is made of it, and atoms that a list makes superfluous are left out. So a
product of n conditions on one property stays n boxes with one atom each.

Cost: some microseconds for each conjunction that is new.
"""

from __future__ import annotations

from typing import NamedTuple

from constrain.languages.automata.syntax import EMPTY, Literals
from constrain.languages.schema.read.document import Document, Negation
from constrain.languages.schema.sets.algebra import FALSE, Conj, NormalForm, both
from constrain.languages.schema.sets.formula import KnownSet
from constrain.languages.schema.sets.strings import matches

Scalar = str | bool | None


class Constants(NamedTuple):
    """The values of a list of constants; or, with `are` False, all values but these."""

    values: frozenset[Scalar]
    are: bool


class Conjunctions:
    """Makes the conjunctions of one document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._made: dict[Conj, Conj] = {}
        self._constants: dict[int, Constants | None] = {}

    def join(self, a: Conj, b: Conj) -> Conj:
        """The conjunction of two conjunctions; FALSE if it visibly contradicts itself."""
        if len(a) == 1 == len(b) and (one := self._constants_of(a[0])) and (other := self._constants_of(b[0])):
            if one.are:  # PERF: n conditions on one property are n * n such pairs
                left = one.values & other.values if other.are else one.values - other.values
                if left == one.values or not left:
                    return a if left else FALSE
        conj = both(a, b)
        if len(conj) < 2:
            return conj
        known = self._made.get(conj)
        if known is None:
            known = self._made[conj] = self._simplest(conj)
        return known

    def _simplest(self, conj: Conj) -> Conj:
        serials = set(conj)
        for atom in map(self.document.atoms.__getitem__, conj):
            if type(atom) is Negation and serials.issuperset(atom.conj):
                return FALSE
        constants = {serial: self._constants_of(serial) for serial in conj}
        lists = {serial: known.values for serial, known in constants.items() if known is not None and known.are}
        if not lists:
            return conj
        values = frozenset.intersection(*lists.values())
        others = []
        for serial in [serial for serial in conj if serial not in lists]:
            known, formula = constants[serial], self.document.formulas[serial]
            if known is not None:
                values -= known.values
            elif type(formula) is KnownSet:
                values = frozenset([value for value in values if _is_in(formula.normal, value)])
            else:
                others.append(serial)
        if not values:
            return FALSE
        same = next((serial for serial, listed in lists.items() if listed == values), None)
        return conj if same is None else tuple(sorted([same, *others]))

    def _constants_of(self, serial: int) -> Constants | None:
        """The constants that an atom lists, or excludes; None if it does something else."""
        if serial not in self._constants:
            atom, formula = self.document.atoms[serial], self.document.formulas[serial]
            found = None
            if type(formula) is KnownSet and (listed := _listed(formula.normal)) is not None:
                found = Constants(listed, True)
            elif type(atom) is Negation and len(atom.conj) == 1:
                inner = self._constants_of(atom.conj[0])
                found = Constants(inner.values, False) if inner is not None and inner.are else None
            self._constants[serial] = found
        return self._constants[serial]


def _listed(normal: NormalForm) -> frozenset[Scalar] | None:
    """The values of a set of texts, booleans and null that are listed; None if it is no such set."""
    strings = normal.strings
    if normal.numbers or normal.arrays or normal.objects or not (isinstance(strings, Literals) or strings == EMPTY):
        return None
    texts = strings.texts if isinstance(strings, Literals) else ()
    return frozenset([*texts, *normal.booleans, *([None] if normal.null else [])])


def _is_in(normal: NormalForm, value: Scalar) -> bool:
    if isinstance(value, str):
        return matches(normal.strings, value)
    return normal.null if value is None else value in normal.booleans
