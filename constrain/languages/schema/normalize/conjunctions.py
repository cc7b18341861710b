"""`Conjunctions`: conjunctions of atoms by as few atoms as possible, where constants among them decide.

The idea: most unions tell their branches apart by constants (`"kind": {"const": "a"}`), and a product or difference of
n branches makes "a, and none of the others" n times. Where a conjunction is made, its lists of constants are compared:
what contradicts itself is FALSE before a box is made of it, and atoms that a list makes superfluous are left out. So a
product of n conditions on one property stays n boxes with one atom each.

Cost: some microseconds for each conjunction that is new.
"""

from __future__ import annotations

from constrain.languages.automata.syntax import EMPTY, Literals
from constrain.languages.schema.read.document import Document, Negation
from constrain.languages.schema.sets.algebra import FALSE, Conj, NormalForm, both
from constrain.languages.schema.sets.formula import KnownSet
from constrain.languages.schema.sets.strings import matches

Scalar = str | bool | None


class Conjunctions:
    """Makes the conjunctions of one document."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._made: dict[Conj, Conj] = {}
        self._lists: dict[int, frozenset[Scalar] | None] = {}

    def join(self, a: Conj, b: Conj) -> Conj:
        """The conjunction of two conjunctions; FALSE if it visibly contradicts itself."""
        conj = both(a, b)
        if len(conj) < 2:
            return conj
        known = self._made.get(conj)
        if known is None:
            known = self._made[conj] = self._simplest(conj)
        return known

    def _simplest(self, conj: Conj) -> Conj:
        atoms, formulas = self.document.atoms, self.document.formulas
        for atom in map(atoms.__getitem__, conj):
            if type(atom) is Negation and set(conj).issuperset(atom.conj):
                return FALSE
        lists = {serial: listed for serial in conj if (listed := self._listed(serial)) is not None}
        if not lists:
            return conj
        values = frozenset.intersection(*lists.values())
        others = []
        for serial in conj:
            formula, atom = formulas[serial], atoms[serial]
            if serial in lists:
                continue
            if type(formula) is KnownSet:
                values = frozenset([value for value in values if _is_in(formula.normal, value)])
            elif type(atom) is Negation and len(atom.conj) == 1 and (listed := self._listed(atom.conj[0])) is not None:
                values -= listed
            else:
                others.append(serial)
        if not values:
            return FALSE
        same = next((serial for serial, listed in lists.items() if listed == values), None)
        return conj if same is None else tuple(sorted([same, *others]))

    def _listed(self, serial: int) -> frozenset[Scalar] | None:
        """The values of an atom that is a list of texts, booleans and null; None if it is not one."""
        if serial not in self._lists:
            formula = self.document.formulas[serial]
            self._lists[serial] = _listed(formula.normal) if type(formula) is KnownSet else None
        return self._lists[serial]


def _listed(normal: NormalForm) -> frozenset[Scalar] | None:
    strings = normal.strings
    if normal.numbers or normal.arrays or normal.objects or not (isinstance(strings, Literals) or strings == EMPTY):
        return None
    texts = strings.texts if isinstance(strings, Literals) else ()
    return frozenset([*texts, *normal.booleans, *([None] if normal.null else [])])


def _is_in(normal: NormalForm, value: Scalar) -> bool:
    if isinstance(value, str):
        return matches(normal.strings, value)
    return normal.null if value is None else value in normal.booleans
