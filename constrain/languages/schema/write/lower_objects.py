"""Objects as rules: two nonterminals for each state (`ObjectState`).

    object     -> "{" "}"                  if it may be empty
                | "{" first
    first      -> member(start)
    members(s) -> "}"                      if the object may end here
                | "," member(s)
    member(s)  -> key ":" value members(s')    for each key that may come in state s

Where an object may be at several places (`whitespace.py`), and few keys may come first, these are there once: the rules
of a place are made when the punctuation behind the first key has chosen it.

These rules are few for each state, but states are many, so the engine makes those of an object in bulk: in declared
order all at once, or, of many properties or in any order, as texts reach them (`cfg/bulk_rules.py`).

With property_order="schema" a state holds the index of the next declared property. A required property cannot be
skipped, and open keys come after the declared ones. An optional property is written or skipped: `member(i) -> key_i ":"
value_i members(i + 1) | member(i + 1)`, so that each property is made once, however many states offer it. With "any" a
state holds the set of declared properties so far. The number of properties is part of a state only if `minProperties`
or `maxProperties` matter. These rules let open keys repeat: once one is written, the guard watches (`guards`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from copy import copy
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

from constrain.languages.automata.syntax import ANY_TEXT, Node, json_string
from constrain.languages.cfg.bulk_rules import BulkNonterminal, KeySetRules, ObjectPunctuation, ObjectRules, Situation
from constrain.languages.cfg.rules import Nonterminal, Symbol, Terminal
from constrain.languages.schema.formats.bounds import at_most
from constrain.languages.schema.sets.algebra import Conj, ObjectBox
from constrain.languages.schema.sets.shapes_objects import ObjectShape, Pending
from constrain.languages.schema.write.lower_unions import unite_shapes
from constrain.languages.schema.write.terminals import Alternatives, any_string, key_terminal, other_key
from constrain.languages.schema.write.whitespace import OPEN_OBJECT, Policy, layout
from constrain.lazily import lazily

if TYPE_CHECKING:
    from constrain.languages.schema.write.lower import Level

FEW = 6  # shapes that are separate alternatives; of more shapes, those with the same names are united (lower_unions.py)
FIRST = 4  # properties that may come first for which an object at several places begins once
BULK = 32  # declared properties whose rules are all made at once; of more, those that texts reach


class ObjectState(NamedTuple):
    """A point in an object from which the same texts may follow.

    Attributes:
        done: In declared order the index of the next declared property (their number once open keys have begun); in any
            order the bit set of the declared properties written so far.
        size: The number of properties so far, as far as it matters.
        pending: The needs that are not met yet.
        open_yet: Whether an open key was written, which must not come again.
    """

    done: int
    size: int
    pending: Pending
    open_yet: bool = False

    @property
    def key(self) -> tuple[int, ...]:
        """The state as plain numbers: keys outlive the schema, and the garbage collector skips such tuples."""
        needs = sum(1 << need for need in self.pending) if self.pending else 0
        return self.done, self.size, needs, self.open_yet


def object_alternatives(level: Level, conj: Conj, boxes: tuple[ObjectBox, ...]) -> Alternatives:
    """The alternatives for the objects of a conjunction, a union of boxes: one for each shape, or for many shapes."""
    normalizer = level.normalizer
    parts = [(box, i, part) for box in boxes for i, part in enumerate(normalizer.ready_boxes(box))]
    alternatives: Alternatives = []
    if len(parts) > FEW:
        alternatives, parts = unite_shapes(level, conj, parts)
    make = _InOrder if level.lowering.in_order else _AnyOrder
    for box, i, part in parts:
        shape = normalizer.object_shape(part)
        if shape is not None:
            alternatives += _whole(level, shape, partial(_rules, make, shape, box, i))
    return alternatives


def _rules(make: type[_ObjectRules], shape: ObjectShape, box: ObjectBox, part: int, level: Level) -> _ObjectRules:
    return make(level, shape, (*level.key(box), part))


def _whole(level: Level, shape: ObjectShape, make: Callable[[Level], _ObjectRules]) -> Alternatives:
    """The alternatives of an object: empty, or by what is written behind its bracket. make: its rules at a level."""
    start = ObjectState(0, 0, shape.all_pending)

    def first(levels: Sequence[Level]) -> list[Symbol]:
        rules = [make(each) for each in levels]
        if len(rules) > 1 and rules[0].may_begin():
            return [_FirstKey(rules)]
        return [_First(each, start) for each in rules]

    rules = make(level)
    alternatives: Alternatives = [[*level.around.empty_object]] if rules.complete(start) else []
    if rules.goes_on(start):
        alternatives += level.begun([OPEN_OBJECT], level.around.objects, first, (*rules.key, "object"))
    return alternatives


@cache  # as many as there are layouts
def _punctuation(whitespace: Policy, place: int, plain: bool) -> ObjectPunctuation:
    around = layout(whitespace, place)
    lists = around.comma, around.close_object, around.colon, around.behind
    return ObjectPunctuation(any_string(plain), plain, *lists)


class _ObjectRules:
    """Makes the nonterminals of the objects of one shape."""

    def __init__(self, level: Level, shape: ObjectShape, key: tuple[int, ...]) -> None:
        self.level = level
        self.shape = shape
        self.key = key
        self.start = 0  # the first declared property of the bulk rules
        self._open_keys: dict[Node, Terminal] = {}

    def following(self, at: ObjectState, member: Callable[[_ObjectRules, ObjectState], Symbol]) -> Alternatives:
        """The alternatives of members(s): the end, or a comma and a member."""
        alternatives: Alternatives = [[*self.level.around.close_object]] if self.complete(at) else []
        if self.goes_on(at):
            alternatives.append([*self.level.around.comma, member(self, at)])
        return alternatives

    def complete(self, at: ObjectState) -> bool:
        """True if the object may end here."""
        shape = self.shape
        return not at.pending and self.required_left(at) == 0 and (not shape.counts or at.size >= shape.low)

    def viable(self, at: ObjectState) -> bool:
        """True if the object can be completed from here."""
        if not self.shape.counts and not at.pending:
            return True
        return self.shape.viable(self.required_left(at), self.available(at), at.size, at.pending)

    def after(self, at: ObjectState, done: int, pending: Pending, is_open: bool = False) -> ObjectState:
        """The state after one more property."""
        size = 0
        if self.shape.counts:
            size = at.size + 1 if self.shape.high is not None else min(at.size + 1, self.shape.low)
        return ObjectState(done, size, pending, is_open or at.open_yet)

    def open_pairs(self, at: ObjectState, done: int) -> Iterator[list[Symbol]]:
        """Yield the members with open keys."""
        for language, conj, left in self.shape.choices(at.pending):
            then = self.after(at, done, left, is_open=True)
            if self.viable(then):
                yield [*self.level.pair(self.open_key(language), conj), _Members(self, then)]

    def open_key(self, language: Node) -> Terminal:
        """The terminal of open keys in a language; for "any text", any string but the declared names."""
        terminal = self._open_keys.get(language)
        if terminal is None:
            if language == ANY_TEXT:
                terminal = other_key(self.shape.declared, self.level.plain)
            else:
                terminal = Terminal(json_string(at_most(language), self.level.plain), name="key")
            self._open_keys[language] = terminal
        return terminal

    def open_goes_on(self, at: ObjectState, done: int) -> bool:
        """True if a member with an open key may come next."""
        return any(self.viable(self.after(at, done, left, True)) for _, _, left in self.shape.choices(at.pending))

    def bulk_rules(self) -> ObjectRules | KeySetRules | None:
        """The rules of the whole object, if the engine makes them in one call; None if it makes them one by one."""
        return None

    def bulk_position(self, at: ObjectState, is_member: bool) -> tuple[Hashable, int | Situation] | None:
        """The position (`BulkNonterminal`) of member(s), or of members(s); None if no bulk rules hold it."""
        return None

    def key_set_rules(self, in_order: bool) -> KeySetRules:
        """The rules of the whole object, its declared keys looked for as sets."""
        shape = self.shape
        return KeySetRules(
            key=(*self.key, "key sets"),
            name="members",
            key_texts=self.texts(shape.members),
            value_keys=[conj for _, conj in (*shape.members, *shape.classes)],
            value_symbols=self.level.value_symbols,
            required=shape.must,
            in_order=in_order,
            other_keys=[None if language == ANY_TEXT else self.open_key(language) for language, _ in shape.classes],
            low=shape.low if shape.counts else 0,
            high=shape.high,
            punctuation=_punctuation(self.level.lowering.whitespace, self.level.place, self.level.plain),
        )

    def texts(self, members: Sequence[tuple[str, Conj]]) -> list[str]:
        """The names of members, then the names that must not come."""
        texts = [name for name, _ in members]
        if len(self.shape.box.named) > len(texts):
            listed = set(texts)
            texts += [name for name, _ in self.shape.box.named if name not in listed]
        return texts

    def behind(self, start: int) -> _ObjectRules:
        """The rules of what follows a member, from a declared property on; a bulk of their own."""
        rules = copy(self)
        rules.start, rules.key = start, (*self.key, start)
        return rules

    def may_begin(self) -> Sequence[tuple[str, Conj]]:
        """The properties that may come first, if they are few and the engine makes the rules behind them in one call.

        Else none.
        """
        return ()

    def goes_on(self, at: ObjectState) -> bool:
        """True if a member may come next."""
        raise NotImplementedError

    def members(self, at: ObjectState) -> Alternatives:
        """The alternatives of member(s): the members that may come next."""
        raise NotImplementedError

    def required_left(self, at: ObjectState) -> int:
        """The number of required properties that are not written yet."""
        raise NotImplementedError

    def available(self, at: ObjectState) -> int:
        """The number of declared properties that may still come."""
        raise NotImplementedError


class _First(BulkNonterminal):
    """A member and all that follows it: the head of the rules that the engine makes at once."""

    __slots__ = ("at", "rules")

    def __init__(self, rules: _ObjectRules, at: ObjectState) -> None:
        super().__init__("first", None, (*rules.key, "first"), True)
        self.rules, self.at = rules, at

    def expand(self) -> Alternatives:
        return [[_Member(self.rules, self.at)]]

    def bulk_rules(self) -> ObjectRules | KeySetRules | None:
        return self.rules.bulk_rules()

    @property
    def bulk_position(self) -> None:
        return None


class _FirstKey(Nonterminal):
    """The first key of an object that may be at several places, and all that follows it.

    PERF: a first mask that made the rules of each place took 1.3 times as long.
    """

    __slots__ = ("rules",)

    def __init__(self, rules: Sequence[_ObjectRules]) -> None:
        super().__init__("first key", None, (*rules[0].key, "first key"))
        self.rules = rules

    def expand(self) -> Alternatives:
        first, members = self.rules[0], self.rules[0].may_begin()
        alternatives: Alternatives = []
        for i, (name, conj) in enumerate(members):
            alternatives.append([key_terminal(name, first.level.plain), _FirstValue(self.rules, i, conj)])
        if not any(first.shape.must):
            start = ObjectState(0, 0, first.shape.all_pending)
            alternatives += [pair for each in self.rules for pair in each.open_pairs(start, len(members))]
        return alternatives


class _FirstValue(Nonterminal):
    """The value of the first member and all that follows it; the punctuation before it chooses the place."""

    __slots__ = ("conj", "index", "rules")

    def __init__(self, rules: Sequence[_ObjectRules], index: int, conj: Conj) -> None:
        super().__init__("first value", None, (*rules[0].key, "first value", index))
        self.rules, self.index, self.conj = rules, index, conj

    def expand(self) -> Alternatives:
        return [[*each.level.after_key(self.conj), _Rest(each, self.index + 1)] for each in self.rules]


class _Rest(Nonterminal):
    """members(s) behind the first member. Those of a place are made when a text has chosen it."""

    ahead = False
    __slots__ = ("done", "rules")

    def __init__(self, rules: _ObjectRules, done: int) -> None:
        super().__init__("members", None, (*rules.key, "rest", done), True)
        self.rules, self.done = rules, done

    def expand(self) -> Alternatives:
        at = ObjectState(self.done, 0, self.rules.shape.all_pending)
        return self.rules.behind(self.done).following(at, _First)


class _Members(BulkNonterminal):
    """members(s). A class, not a closure: there are many, and each object costs the garbage collector time."""

    __slots__ = ("at", "rules")

    def __init__(self, rules: _ObjectRules, at: ObjectState) -> None:
        super().__init__("members", None, (*rules.key, "members", *at.key), True, at.open_yet)
        self.rules, self.at = rules, at

    def expand(self) -> Alternatives:
        return self.rules.following(self.at, _Member)

    def bulk_rules(self) -> None:
        return None

    @property
    def bulk_position(self) -> tuple[Hashable, int | Situation] | None:
        return self.rules.bulk_position(self.at, is_member=False)


class _Member(BulkNonterminal):
    """member(s)."""

    __slots__ = ("at", "rules")

    def __init__(self, rules: _ObjectRules, at: ObjectState) -> None:
        super().__init__("member", None, (*rules.key, "member", *at.key), True, at.open_yet)
        self.rules, self.at = rules, at

    def expand(self) -> Alternatives:
        return self.rules.members(self.at)

    def bulk_rules(self) -> None:
        return None

    @property
    def bulk_position(self) -> tuple[Hashable, int | Situation] | None:
        return self.rules.bulk_position(self.at, is_member=True)


class _InOrder(_ObjectRules):
    """The declared properties in their order, then open keys."""

    @lazily
    def rest(self) -> bool:
        """True if open keys may be any text, and their rules are made together with those of declared properties."""
        classes = self.shape.classes
        return len(classes) == 1 and classes[0][0] == ANY_TEXT and len(self.shape.members) <= BULK

    def may_begin(self) -> Sequence[tuple[str, Conj]]:
        shape = self.shape
        if shape.counts or shape.all_pending or len(shape.members) > BULK:
            return ()
        members = shape.members[: next((i + 1 for i, must in enumerate(shape.must) if must), None)]
        return members if len(members) <= FIRST else ()

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
            alternatives.append([*self.level.pair(key_terminal(name, self.level.plain), conj), _Members(self, then)])
        if not self.shape.must[at.done]:
            skipped = ObjectState(at.done + 1, at.size, at.pending, at.open_yet)
            if self.goes_on(skipped):
                alternatives.append([_Member(self, skipped)])
        return alternatives

    def bulk_rules(self) -> ObjectRules | KeySetRules | None:
        """The rules of the object from its start on, if only the order matters."""
        shape, n = self.shape, len(self.shape.members)
        if shape.counts or shape.all_pending:
            return None
        if n > BULK:
            return self.key_set_rules(in_order=True)
        members = shape.members[self.start :]
        value_keys = [conj for _, conj in members]
        texts = [name for name, _ in members]
        if self.rest:
            value_keys.append(shape.classes[0][1])
            texts = self.texts((*members, *shape.members[: self.start]))
        return ObjectRules(
            key=(*self.key, "bulk"),
            name="members",
            key_texts=texts,
            value_keys=value_keys,
            value_symbols=self.level.value_symbols,
            required=shape.must[self.start :],
            allows_other_keys=self.rest,
            next_member=_Member(self, ObjectState(n, 0, shape.all_pending))
            if shape.classes and not self.rest
            else None,
            punctuation=_punctuation(self.level.lowering.whitespace, self.level.place, self.level.plain),
        )

    def bulk_position(self, at: ObjectState, is_member: bool) -> tuple[Hashable, int | Situation] | None:
        """The position (`BulkNonterminal`) of member(s), or of members(s); None if no bulk rules hold it."""
        if self.shape.counts or at.pending:
            return None
        if len(self.shape.members) > BULK:
            return (*self.key, "key sets"), Situation((), at.done, at.open_yet, is_member)
        n, done = len(self.shape.members) - self.start, at.done - self.start
        if at.open_yet or (is_member and done == n):
            number = 2 * n + at.open_yet + (at.open_yet and is_member)
            return ((*self.key, "bulk"), number) if self.rest else None
        return (*self.key, "bulk"), n + done if is_member else done - 1


class _AnyOrder(_ObjectRules):
    """Properties in any order."""

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
                    key = key_terminal(name, self.level.plain)
                    alternatives.append([*self.level.pair(key, conj), _Members(self, then)])
        alternatives += self.open_pairs(at, at.done)
        return alternatives

    def bulk_rules(self) -> KeySetRules | None:
        """The rules of the whole object, unless open keys have needs to meet."""
        return None if self.shape.needs else self.key_set_rules(in_order=False)

    def bulk_position(self, at: ObjectState, is_member: bool) -> tuple[Hashable, Situation] | None:
        """The situation of member(s), or of members(s); None if no bulk rules hold it."""
        if self.shape.needs:
            return None
        written = [name for i, (name, _) in enumerate(self.shape.members) if at.done >> i & 1]
        keys = [key_terminal(name, self.level.plain) for name in written]
        return (*self.key, "key sets"), Situation(keys, at.size, at.open_yet, is_member)
