"""Objects as rules: one nonterminal per situation — which properties may still come, how many there are, what is
pending.

    object  -> "{" first(s)                 first(s), next(s) -> "}" when complete
    first(s) -> member(s)                   next(s) -> "," member(s)
    member(s) -> key ":" value next(s')     for each key that may come in situation s

With property_order="schema" a situation is the index of the next declared property, a required one cannot be skipped,
and open keys come after the declared ones. An optional property is written or skipped: `member(i) -> key_i ":" value_i
next(i + 1) | member(i + 1)`, so that each property is made once, however many situations offer it. With "any" a
situation is the set of declared properties so far. Counts are part of a situation only if `minProperties` or
`maxProperties` matter. Keys that are not declared may repeat as far as these rules go: once one is written, the guard
watches (`guards`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from constrain.automata.syntax import ANY_TEXT, Node, json_string
from constrain.cfg.rules import Nonterminal, ObjectRules, Punctuation, Symbol, Terminal
from constrain.lazily import lazily
from constrain.schema.formats.bounds import at_most
from constrain.schema.sets.algebra import Conj, ObjectBox
from constrain.schema.sets.shapes_objects import ObjectShape, Pending
from constrain.schema.write.lower_unions import united
from constrain.schema.write.terminals import (
    ANY_STRING,
    CLOSE_OBJECT,
    COLON,
    COMMA,
    OPEN_OBJECT,
    Alternatives,
    key_terminal,
    other_key,
)
from constrain.schema.write.whitespace import space

if TYPE_CHECKING:
    from constrain.schema.write.lower import Lowering

FEW = 6  # shapes that stand side by side; of more, those with the same names are united (lower_unions.py)
CHAIN = 32  # declared properties whose rules the engine makes at once


class ObjectState(NamedTuple):
    """Where in an object we are.

    done: with declared order the index of the next declared property (their number once open keys have begun), else
      the bit set of those written. size: properties so far (0 if their number does not matter). pending: needs not
      met. any_yet: a property was written. open_yet: one that is not declared, which must not come again.
    """

    done: int
    size: int
    pending: Pending
    any_yet: bool
    open_yet: bool = False

    @property
    def key(self) -> tuple[int, ...]:
        """The same as plain numbers: keys outlive the schema, and the collector need not look into such tuples."""
        needs = sum(1 << need for need in self.pending) if self.pending else 0
        return self.done, self.size, needs, self.any_yet, self.open_yet


def object_alternatives(lowering: Lowering, conj: Conj, boxes: tuple[ObjectBox, ...]) -> Alternatives:
    """The objects in a union of boxes, which is that of a conjunction; one alternative for each shape, or for many."""
    normalizer = lowering.normalizer
    parts = [(box, i, part) for box in boxes for i, part in enumerate(normalizer.ready_boxes(box))]
    alternatives: Alternatives = []
    if len(parts) > FEW:
        alternatives, parts = united(lowering, conj, parts)
    make = _InOrder if lowering.in_order else _AnyOrder
    for box, i, part in parts:
        shape = normalizer.object_shape(part)
        if shape is not None:
            rules = make(lowering, shape, (*lowering.key(box), i))
            start = ObjectState(0, 0, shape.all_pending, False)
            alternatives.append([OPEN_OBJECT, *lowering.space, _Members(rules, start)])
    return alternatives


@lru_cache(maxsize=8)
def _punctuation(whitespace: str) -> Punctuation:
    gap = space(whitespace)
    return Punctuation(ANY_STRING, (COMMA, *gap), (CLOSE_OBJECT,), (*gap, COLON, *gap), gap)


class _ObjectRules:
    """The situations inside the objects of one shape."""

    def __init__(self, lowering: Lowering, shape: ObjectShape, key: tuple[int, ...]) -> None:
        self.lowering = lowering
        self.shape = shape
        self.key = key
        self._open_keys: dict[Node, Terminal] = {}

    def following(self, at: ObjectState) -> Alternatives:
        """What may come in a situation: the end, or a member (after a comma, unless it is the first)."""
        alternatives: Alternatives = []
        if self.complete(at):
            alternatives.append([CLOSE_OBJECT])
        if self.goes_on(at):
            if at.any_yet:
                alternatives.append([COMMA, *self.lowering.space, _Member(self, at)])
            else:
                alternatives.append([_Member(self, at._replace(any_yet=True))])
        return alternatives

    def complete(self, at: ObjectState) -> bool:
        """May the object end here?"""
        shape = self.shape
        return not at.pending and self.required_left(at) == 0 and (not shape.counts or at.size >= shape.low)

    def viable(self, at: ObjectState) -> bool:
        """Can the object be completed from here?"""
        if not self.shape.counts and not at.pending:
            return True
        return self.shape.viable(self.required_left(at), self.available(at), at.size, at.pending)

    def after(self, at: ObjectState, done: int, pending: Pending, is_open: bool = False) -> ObjectState:
        """The situation after one more property."""
        size = 0
        if self.shape.counts:
            size = at.size + 1 if self.shape.high is not None else min(at.size + 1, self.shape.low)
        return ObjectState(done, size, pending, True, is_open or at.open_yet)

    def open_pairs(self, at: ObjectState, done: int) -> Iterator[list[Symbol]]:
        """Members with open keys."""
        for language, conj, left in self.shape.choices(at.pending):
            then = self.after(at, done, left, is_open=True)
            if self.viable(then):
                yield [*self.lowering.pair(self.open_key(language), conj), _Members(self, then)]

    def open_key(self, language: Node) -> Terminal:
        """The terminal of open keys: any string but the declared names, or a language of its own."""
        known = self._open_keys.get(language)
        if known is None:
            if language == ANY_TEXT:
                known = other_key(self.shape.declared)
            else:
                known = Terminal(json_string(at_most(language)), name="key")
            self._open_keys[language] = known
        return known

    def open_goes_on(self, at: ObjectState, done: int) -> bool:
        """May a member with an open key come next?"""
        return any(self.viable(self.after(at, done, left, True)) for _, _, left in self.shape.choices(at.pending))

    def chain(self, at: ObjectState) -> ObjectRules | None:
        """The members from here on, as far as they are made at once."""
        return None

    def place(self, at: ObjectState, is_member: bool) -> tuple[Hashable, int] | None:
        """Where in a chain a situation is; is_member: that of its members, else of what may come."""
        return None

    def goes_on(self, at: ObjectState) -> bool:
        """May a member come next?"""
        raise NotImplementedError

    def members(self, at: ObjectState) -> Alternatives:
        """The members that may come next."""
        raise NotImplementedError

    def required_left(self, at: ObjectState) -> int:
        """How many required properties are still to come."""
        raise NotImplementedError

    def available(self, at: ObjectState) -> int:
        """How many declared properties may still come."""
        raise NotImplementedError


class _Members(Nonterminal):
    """What may come in a situation. A class, not a closure: there are many, and each object costs the collector."""

    __slots__ = ("at", "rules")
    chained = True

    def __init__(self, rules: _ObjectRules, at: ObjectState) -> None:
        super().__init__("members", None, (*rules.key, "members", *at.key), True, at.open_yet)
        self.rules, self.at = rules, at

    def expand(self) -> Alternatives:
        return self.rules.following(self.at)

    def chain(self) -> ObjectRules | None:
        return None if self.at.any_yet else self.rules.chain(self.at)

    @property
    def place(self) -> tuple[Hashable, int] | None:
        return self.rules.place(self.at, is_member=False)


class _Member(Nonterminal):
    """One of the members that may come next."""

    __slots__ = ("at", "rules")
    chained = True

    def __init__(self, rules: _ObjectRules, at: ObjectState) -> None:
        super().__init__("member", None, (*rules.key, "member", *at.key), True, at.open_yet)
        self.rules, self.at = rules, at

    def expand(self) -> Alternatives:
        return self.rules.members(self.at)

    def chain(self) -> ObjectRules | None:
        return self.rules.chain(self.at)

    @property
    def place(self) -> tuple[Hashable, int] | None:
        return self.rules.place(self.at, is_member=True)


class _InOrder(_ObjectRules):
    """Declared order, then open keys."""

    @lazily
    def rest(self) -> bool:
        """Whether open keys may be any, and stand in one chain with those that are declared."""
        classes = self.shape.classes
        return len(classes) == 1 and classes[0][0] == ANY_TEXT and len(self.shape.members) <= CHAIN

    def required_left(self, at: ObjectState) -> int:
        return self.shape.required_after[at.done]

    def available(self, at: ObjectState) -> int:
        return len(self.shape.members) - at.done

    def goes_on(self, at: ObjectState) -> bool:
        if not self.shape.counts and not at.pending:
            return at.done < len(self.shape.members) or bool(self.shape.classes)
        for i in range(at.done, len(self.shape.members)):
            if self.viable(self.after(at, i + 1, at.pending)):
                return True
            if self.shape.must[i]:
                return False
        return self.open_goes_on(at, len(self.shape.members))

    def members(self, at: ObjectState) -> Alternatives:
        if at.done == len(self.shape.members):
            return list(self.open_pairs(at, at.done))
        alternatives: Alternatives = []
        name, conj = self.shape.members[at.done]
        then = self.after(at, at.done + 1, at.pending)
        if self.viable(then):
            alternatives.append([*self.lowering.pair(key_terminal(name), conj), _Members(self, then)])
        if not self.shape.must[at.done]:
            skipped = ObjectState(at.done + 1, at.size, at.pending, True, at.open_yet)
            if self.goes_on(skipped):
                alternatives.append([_Member(self, skipped)])
        return alternatives

    def chain(self, at: ObjectState) -> ObjectRules | None:
        """See above. A chain begins at every CHAIN-th property."""
        shape, first, n = self.shape, at.done, len(self.shape.members)
        if not self._is_plain(at) or first % CHAIN or (first == n and at.any_yet):
            return None
        stop, rest = min(first + CHAIN, n), self.rest
        pairs = shape.members if n <= CHAIN else shape.members[first:stop]
        texts, parts = [name for name, _ in pairs], [conj for _, conj in pairs]
        if rest:
            if len(shape.box.named) > n:
                texts += [name for name, _ in shape.box.named if name not in texts]
            parts.append(shape.classes[0][1])
        goes_on = stop < n or (shape.classes and not rest)
        return ObjectRules(
            key=(*self.key, "chain", first),
            name="members",
            begins=not at.any_yet,
            texts=texts,
            parts=parts,
            values=self.lowering.values,
            must=shape.must[first:stop],
            rest=rest,
            beyond=_Member(self, at._replace(done=stop, any_yet=True)) if goes_on else None,
            open=shape.required_after[stop] > 0,
            punctuation=_punctuation(self.lowering.whitespace),
        )

    def place(self, at: ObjectState, is_member: bool) -> tuple[Hashable, int] | None:
        """See above."""
        n = len(self.shape.members)
        if self.shape.counts or at.pending or not at.any_yet:
            return None
        if at.open_yet or (is_member and at.done == n):
            number = 2 * n + at.open_yet + (at.open_yet and is_member)
            return ((*self.key, "chain", 0), number) if self.rest else None
        behind = at.done if is_member else at.done - 1
        number = behind % CHAIN
        first = behind - number
        if is_member:
            number += min(CHAIN, n - first)
        return ((*self.key, "chain", first), number) if not is_member or first == 0 or behind > first else None

    def _is_plain(self, at: ObjectState) -> bool:
        """Whether only the place in the order matters."""
        return not (self.shape.counts or at.pending or at.open_yet)


class _AnyOrder(_ObjectRules):
    """Any order: the declared properties so far are remembered."""

    def required_left(self, at: ObjectState) -> int:
        return sum(must for i, must in enumerate(self.shape.must) if not at.done >> i & 1)

    def available(self, at: ObjectState) -> int:
        return len(self.shape.members) - at.done.bit_count()

    def goes_on(self, at: ObjectState) -> bool:
        left = [i for i in range(len(self.shape.members)) if not at.done >> i & 1]
        return any(self.viable(self.after(at, at.done | 1 << i, at.pending)) for i in left) or self.open_goes_on(
            at, at.done
        )

    def members(self, at: ObjectState) -> Alternatives:
        alternatives: Alternatives = []
        for i, (name, conj) in enumerate(self.shape.members):
            if not at.done >> i & 1:
                then = self.after(at, at.done | 1 << i, at.pending)
                if self.viable(then):
                    alternatives.append([*self.lowering.pair(key_terminal(name), conj), _Members(self, then)])
        alternatives += self.open_pairs(at, at.done)
        return alternatives
