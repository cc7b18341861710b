"""Objects as rules: two nonterminals for each state (`ObjectState`).

    object     -> "{" "}"                  if it may be empty
                | "{" first
    first      -> member(start)
    members(s) -> "}"                      if the object may end here
                | "," member(s)
    member(s)  -> key ":" value members(s')    for each key that may come in state s

These rules are few for each state, but states are many, so the engine makes them without a look at Python: in declared
order from one description of the object at all places, or, of many properties or in any order, by the keys so far
(`cfg/bulk_rules.py`).

With property_order="schema" a state holds the index of the next declared property. A required property cannot be
skipped, and open keys come after the declared ones. An optional property is written or skipped: `member(i) -> key_i ":"
value_i members(i + 1) | member(i + 1)`, so that each property is made once, however many states offer it. With "any" a
state holds the set of declared properties so far. The number of properties is part of a state only if `minProperties`
or `maxProperties` matter. These rules let open keys repeat: once one is written, the guard watches (`guards`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from constrain.languages.automata.syntax import ANY_TEXT, Node, json_string
from constrain.languages.cfg.bulk_rules import (
    ContainerRules,
    KeySetRules,
    KeysSoFar,
    ObjectRules,
    PlacedNonterminal,
    Position,
    SameRules,
)
from constrain.languages.cfg.rules import Nonterminal, Symbol, Terminal
from constrain.languages.schema.formats.bounds import at_most
from constrain.languages.schema.sets.algebra import Conj, ObjectBox
from constrain.languages.schema.sets.shapes_objects import ObjectShape, Pending
from constrain.languages.schema.write.lower_unions import MemberRules, Part, RestRules, StateRules
from constrain.languages.schema.write.terminals import Alternatives, any_string, key_terminal, other_key
from constrain.lazily import lazily

if TYPE_CHECKING:
    from constrain.languages.schema.write.lower import Level

FEW = 6  # shapes that are separate alternatives; of more shapes, those with the same names are united (lower_unions.py)
BULK = 32  # declared properties that are described one by one; of more, as sets


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


def object_parts(level: Level, boxes: Sequence[ObjectBox]) -> list[Part]:
    """The ready boxes of a union of boxes of objects, each with the box and its number in it."""
    return [(box, i, part) for box in boxes for i, part in enumerate(level.normalizer.ready_boxes(box))]


def object_container(level: Level, part: Part) -> ContainerRules | None:
    """The objects of a ready box; None if it is empty."""
    rules = _rules_of(level, part)
    return None if rules is None else _whole(rules)


def _rules_of(level: Level, part: Part) -> _ObjectRules | None:
    box, i, ready = part
    shape = level.normalizer.object_shape(ready)
    if shape is None:
        return None
    make = _InOrder if level.lowering.in_order else _AnyOrder
    return make(level, shape, (*level.key(box), i))


def _whole(rules: _ObjectRules) -> ContainerRules:
    start = ObjectState(0, 0, rules.shape.all_pending)
    return ContainerRules(True, rules.complete(start), _First(rules, start) if rules.goes_on(start) else None)


def many_objects(level: Level, conj: Conj, parts: Sequence[Part]) -> Alternatives:
    """The alternatives of many ready boxes; in declared order those with the same first key share it."""
    begun: dict[str | None, list[_ObjectRules]] = {}
    for part in parts:
        rules = _rules_of(level, part)
        if rules is not None:
            begun.setdefault(_first_key(rules.shape) if level.lowering.in_order else None, []).append(rules)
    alternatives: Alternatives = []
    for name, shapes in begun.items():
        if name is None or len(shapes) == 1:
            for rules in shapes:
                alternatives += level.written(_whole(rules))
        else:
            key = (level.lowering.serial, "first key", conj, name)
            for symbols, place in level.around.objects:
                alternatives.append([*symbols, _shared_key([each.at(place) for each in shapes], (*key, place))])
    return alternatives


def _first_key(shape: ObjectShape) -> str | None:
    """The key that an object begins with in declared order; None if it may begin otherwise, or its keys are counted."""
    if shape.counts or shape.all_pending or len(shape.members) > BULK or not any(shape.must[:1]):
        return None
    return shape.members[0][0]


class _ObjectRules(StateRules[ObjectState]):
    """Makes the nonterminals of the objects of one shape.

    Attributes:
        is_described: Whether one description says the rules of all places.
    """

    is_described = False

    def __init__(self, level: Level, shape: ObjectShape, key: tuple[int, ...]) -> None:
        self.level = level
        self.shape = shape
        self.key = key
        self._open_keys: dict[Node, Terminal] = {}

    def member(self, at: ObjectState) -> _Member:
        return _Member(self, at)

    def complete(self, at: ObjectState) -> bool:
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
        choices = self.shape.choices(at.pending)
        for language, conj, left in choices:
            then = self.after(at, done, left, is_open=True)
            if self.viable(then) and len(choices) > FEW:  # a text reaches the value of one of them
                value = partial(self._open_value, conj, then)
                yield [
                    self.open_key(language),
                    Nonterminal("open value", value, (*self.key, "open value", conj, *then.key)),
                ]
            elif self.viable(then):
                yield [*self.level.pair(self.open_key(language), conj), _Members(self, then)]

    def _open_value(self, conj: Conj, then: ObjectState) -> Alternatives:
        """The value behind an open key, and all that follows it."""
        return [[*self.level.after_key(conj), _Members(self, then)]]

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

    def at(self, place: int) -> _ObjectRules:
        """The rules of the same shape at another place."""
        if place == self.level.place:
            return self
        level = self.level.at(place)
        serial, _, *rest = self.key
        return type(self)(level, self.shape, (serial, place, *rest))

    @property
    def family(self) -> tuple[int, ...]:
        """The key without the place."""
        serial, _, *rest = self.key
        return serial, *rest

    def position(self, at: ObjectState, is_member: bool) -> Position | None:
        """The position of member(s), or of members(s); None if it stands for itself alone."""
        return None

    def description(self) -> ObjectRules | None:
        """The rules of the whole object at all places; None if there is no such description."""
        return None

    def by_keys(self) -> KeySetRules | None:
        """The rules of the whole object by the keys so far; None if it has others."""
        return None

    def is_beyond(self, at: ObjectState) -> bool:
        """True if a description of the object does not say the rules of member(s)."""
        return True

    def keys_so_far(self, at: ObjectState, is_member: bool) -> tuple[Hashable, KeysSoFar] | None:
        """The keys so far of member(s), or of members(s), among the rules by keys; None if there are none."""
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
            any_key=any_string(self.level.plain),
            plain_keys=self.level.plain,
            place=self.level.place,
            layouts=self.level.lowering.layouts,
        )

    def texts(self, members: Sequence[tuple[str, Conj]]) -> list[str]:
        """The names of members, then the names that must not come."""
        texts = [name for name, _ in members]
        if len(self.shape.box.named) > len(texts):
            listed = set(texts)
            texts += [name for name, _ in self.shape.box.named if name not in listed]
        return texts

    def required_left(self, at: ObjectState) -> int:
        """The number of required properties that are not written yet."""
        raise NotImplementedError

    def available(self, at: ObjectState) -> int:
        """The number of declared properties that may still come."""
        raise NotImplementedError


class _First(PlacedNonterminal):
    """A member and all that follows it: an object is described when a text is in it."""

    is_late = True
    __slots__ = ("rules", "state")

    def __init__(self, rules: _ObjectRules, state: ObjectState) -> None:
        super().__init__("first", None, (*rules.key, "first"), True)
        self.rules, self.state = rules, state

    def expand(self) -> Alternatives:
        return [[_Member(self.rules, self.state)]]

    def description(self) -> SameRules | None:
        return SameRules(_Member(self.rules, self.state)) if self.rules.is_described else None

    @property
    def position(self) -> Position:
        level = self.rules.level
        return Position((*self.rules.family, "first"), 0, level.place, level.lowering.layouts)

    def at(self, place: int) -> _First:
        return _First(self.rules.at(place), self.state)

    def key_set_rules(self) -> KeySetRules | None:
        return self.rules.by_keys()


def _shared_key(shapes: Sequence[_ObjectRules], key: tuple[Hashable, ...]) -> Nonterminal:
    """The first key of the objects of several shapes at a place, and all that follows it."""
    level = shapes[0].level
    terminal = key_terminal(shapes[0].shape.members[0][0], level.plain)
    values = Nonterminal("first value", partial(_shared_values, shapes), ("value of", key))
    return Nonterminal("first key", lambda: [[terminal, *level.around.colon, values]], key)


def _shared_values(shapes: Sequence[_ObjectRules]) -> Alternatives:
    """The values behind it, which tell the shapes apart, and all that follows: made when a text has come to them."""
    alternatives: Alternatives = []
    for rules in shapes:
        none_pending = rules.shape.all_pending
        then = rules.after(ObjectState(0, 0, none_pending), 1, none_pending)
        value = rules.level.value(rules.shape.members[0][1])
        alternatives.append([value, *rules.level.around.behind, _Members(rules, then)])
    return alternatives


class _Members(RestRules, PlacedNonterminal):
    """members(s)."""

    __slots__ = ()

    @property
    def position(self) -> Position | None:
        return self.rules.position(self.state, is_member=False)

    def at(self, place: int) -> _Members:
        return _Members(self.rules.at(place), self.state)

    def description(self) -> ObjectRules | None:
        return self.rules.description()

    @property
    def keys_so_far(self) -> tuple[Hashable, KeysSoFar] | None:
        return self.rules.keys_so_far(self.state, is_member=False)


class _Member(MemberRules, PlacedNonterminal):
    """member(s)."""

    __slots__ = ()

    @property
    def position(self) -> Position | None:
        return self.rules.position(self.state, is_member=True)

    def at(self, place: int) -> _Member:
        return _Member(self.rules.at(place), self.state)

    def description(self) -> ObjectRules | None:
        return None if self.rules.is_beyond(self.state) else self.rules.description()

    @property
    def keys_so_far(self) -> tuple[Hashable, KeysSoFar] | None:
        return self.rules.keys_so_far(self.state, is_member=True)


class _InOrder(_ObjectRules):
    """The declared properties in their order, then open keys."""

    @lazily
    def rest(self) -> bool:
        """True if open keys may be any text, and their rules are made together with those of declared properties."""
        classes = self.shape.classes
        return len(classes) == 1 and classes[0][0] == ANY_TEXT and len(self.shape.members) <= BULK

    @lazily
    def is_described(self) -> bool:
        """True if one description says the rules of all places: only the order matters, and properties are few."""
        shape, n = self.shape, len(self.shape.members)
        return not shape.counts and not shape.all_pending and n <= BULK and (n > 0 or self.rest)

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

    def description(self) -> ObjectRules | None:
        if not self.is_described:
            return None
        shape, n = self.shape, len(self.shape.members)
        value_keys = [conj for _, conj in shape.members]
        has_more = bool(shape.classes) and not self.rest
        return ObjectRules(
            name="members",
            key_texts=self.texts(shape.members) if self.rest else [name for name, _ in shape.members],
            value_keys=[*value_keys, shape.classes[0][1]] if self.rest else value_keys,
            value_symbols=self.level.value_symbols,
            required=shape.must,
            allows_other_keys=self.rest,
            next_member=_Member(self, ObjectState(n, 0, shape.all_pending)) if has_more else None,
            any_key=any_string(self.level.plain),
            plain_keys=self.level.plain,
        )

    def is_beyond(self, at: ObjectState) -> bool:
        """True if at a state no declared property may come, and other rules than those of the description begin."""
        return at.done == len(self.shape.members) and not self.rest

    def position(self, at: ObjectState, is_member: bool) -> Position | None:
        if not self.is_described or (at.open_yet and not self.rest):
            return None
        n, done, level = len(self.shape.members), at.done, self.level
        if is_member and self.is_beyond(at):
            return Position((*self.family, "beyond"), 0, level.place, level.lowering.layouts)
        if at.open_yet or (is_member and done == n):
            number = 2 * n + at.open_yet + (at.open_yet and is_member)
        else:
            number = n + done if is_member else done - 1
        return Position((*self.family, "object"), number, level.place, level.lowering.layouts)

    def by_keys(self) -> KeySetRules | None:
        """The rules of the whole object by the keys so far, if only the order matters, and properties are many."""
        shape = self.shape
        if shape.counts or shape.all_pending or len(shape.members) <= BULK:
            return None
        return self.key_set_rules(in_order=True)

    def keys_so_far(self, at: ObjectState, is_member: bool) -> tuple[Hashable, KeysSoFar] | None:
        if self.shape.counts or at.pending or len(self.shape.members) <= BULK:
            return None
        return (*self.key, "key sets"), KeysSoFar((), at.done, at.open_yet, is_member)


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

    def by_keys(self) -> KeySetRules | None:
        """The rules of the whole object by the keys so far, unless open keys have needs to meet."""
        return None if self.shape.needs else self.key_set_rules(in_order=False)

    def keys_so_far(self, at: ObjectState, is_member: bool) -> tuple[Hashable, KeysSoFar] | None:
        if self.shape.needs:
            return None
        written = [name for i, (name, _) in enumerate(self.shape.members) if at.done >> i & 1]
        keys = [key_terminal(name, self.level.plain) for name in written]
        return (*self.key, "key sets"), KeysSoFar(keys, at.size, at.open_yet, is_member)
