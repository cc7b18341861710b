"""Arguments of a call as nested elements: objects and arrays are elements too, not JSON.

    constrain.tags.parameters(schema, "cohere")      # <cofl:value name="city" type="raw">Paris</cofl:value>
    constrain.tags.parameters(schema, "minimax-m3")  # ]<]minimax[>[<city>Paris]<]minimax[>[</city>

The idea: each set of values of the schema's normal form (schema/sets) is a rule, so references, combinations and
recursion need no special case: value → raw text | scalar | element* of an object | element* of an array. Strings are
written without quotes and escapes, up to the text that closes their element; numbers, booleans and null as in JSON.
Declared properties come in their order, or in any (`property_order="any"`).

Cost: the rules are made when the constraint is, one for each set of values and each place in an object or array.
Limits: no undeclared properties; no `uniqueItems` and no format that only the finished text decides: a located error;
at most `MAX_RULES` rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from constrain.errors import LimitError, SchemaError
from constrain.languages.automata.syntax import EMPTY, Node, intersect, literal
from constrain.languages.cfg.ebnf import Choice, Expression, Leaf, Ref, Sequence
from constrain.languages.cfg.free_text import without
from constrain.languages.cfg.rules import Terminal
from constrain.languages.constraints.base import Constraint
from constrain.languages.constraints.combinators import RuleSet
from constrain.languages.schema import JsonSchema
from constrain.languages.schema.sets.algebra import Conj
from constrain.languages.schema.sets.shapes_arrays import CountedArrays
from constrain.languages.schema.write.lower import Lowering

MAX_RULES = 20_000
MAX_ANY_ORDER = 12  # properties of an object in any order: a rule for each subset


class NestedStyle(NamedTuple):
    """The texts around nested elements. `{name}` stands for a property's name.

    Attributes:
        property: The beginning of a property's element.
        item: The beginning of an item's element.
        kinds: The texts between that and a value: for raw strings, other scalars, objects and arrays.
        close_property: The end of a property's element.
        close_item: The end of an item's element.
        stop: The text that raw strings do not contain.
    """

    property: str
    item: str
    kinds: tuple[str, str, str, str]
    close_property: str
    close_item: str
    stop: str


_M3 = "]<]minimax[>["
NESTED: dict[str, NestedStyle] = {
    "cohere": NestedStyle(
        '<cofl:value name="{name}"',
        "<cofl:value",
        (' type="raw">', ' type="json">', ' type="dict">', ' type="list">'),
        "</cofl:value>",
        "</cofl:value>",
        "</cofl:value>",
    ),
    "minimax-m3": NestedStyle(_M3 + "<{name}>", _M3 + "<item>", ("",) * 4, _M3 + "</{name}>", _M3 + "</item>", _M3),
}


def elements(whole: JsonSchema, form: NestedStyle, excludes: tuple[str, ...], space: Node) -> Constraint:
    """The values of a schema as nested elements, without an element around the whole.

    space: the whitespace before elements, and behind the last one. Raises SchemaError for conditions on values that no
    grammar remembers, LimitError for too many rules, UnsatisfiableError if no value is left.
    """
    for entry in whole.report:
        if entry.status == "residual" and entry.keyword == "format":
            message = "this format is decided on the finished value, which has no place in nested elements"
            raise SchemaError(message, place=entry.pointer, fix="use a pattern, or leave the format out")
    maker = _Maker(whole, form, excludes, space)
    start = maker.body(whole.document.root)
    rules: dict[str, Expression] = {"arguments": Sequence((start, maker.space)), **maker.made()}
    return RuleSet(tuple(rules.items()), "arguments")


class _Maker:
    """Makes the rules of the sets of values that are reached."""

    def __init__(self, whole: JsonSchema, form: NestedStyle, excludes: tuple[str, ...], space: Node) -> None:
        self.whole, self.form, self.excludes = whole, form, excludes
        self.normalizer = whole.normalizer
        self.lowering = Lowering(whole.normalizer, whole.options)
        self.space: Expression = Leaf(Terminal(space, "whitespace"))
        self.names: dict[Any, str] = {}
        self.pending: list[Any] = []

    def made(self) -> dict[str, Expression]:
        """The rules of all that was named."""
        rules: dict[str, Expression] = {}
        while self.pending:
            key = self.pending.pop()
            rules[self.names[key]] = Choice(tuple(getattr(self, f"_{key[0]}")(*key[1:])))
        return rules

    def ref(self, *key: Any) -> Expression:
        """The rule of a method and its arguments."""
        if key not in self.names:
            if len(self.names) == MAX_RULES:
                message = f"the schema has more than {MAX_RULES} sets of values and places in containers"
                raise LimitError(message, fix='use style="json", or smaller counts')
            self.names[key] = f"{key[0]} {len(self.names)}"
            self.pending.append(key)
        return Ref(self.names[key])

    def body(self, conj: Conj) -> Expression:
        """The values of a set without an element around them."""
        return self.ref("bodies", conj)

    def _bodies(self, conj: Conj) -> Iterator[Expression]:
        for _, value in self._kinds(conj):
            yield value

    def _closed(self, conj: Conj, close: str) -> Iterator[Expression]:
        """The rest of an element after its beginning: the text of the kind, a value, the end."""
        for kind, value in self._kinds(conj):
            yield Sequence((_text(self.form.kinds[kind]), value, _text(close)))

    def _kinds(self, conj: Conj) -> Iterator[tuple[int, Expression]]:
        """(kind, values) of the values of a set."""
        normal = self.normalizer.normal(conj)
        if normal.strings != EMPTY:
            raw = intersect(normal.strings, without((self.form.stop, *self.excludes)))
            yield 0, Leaf(Terminal(raw, "text"))
        for terminal in self.lowering.terminals(normal._replace(strings=EMPTY, arrays=(), objects=())):
            yield 1, Leaf(terminal)
        for i in range(len(normal.objects)):
            for j, shape in enumerate(self.normalizer.object_shapes(normal.objects[i])):
                if not shape.needs:
                    yield 2, self.ref("members", conj, i, j, 0, 0)
        for i, box in enumerate(normal.arrays):
            array = self.normalizer.array_shape(box)
            if array is not None:
                if (box.unique or box.repeats) and isinstance(array, CountedArrays):
                    message = "uniqueItems is decided on values, which nested elements do not show"
                    raise SchemaError(message, place="$", fix="leave it out, or let the items be few constants")
                yield 3, self.ref("items", conj, i, 0, array.start)

    def _members(self, conj: Conj, i: int, j: int, done: int, size: int) -> Iterator[Expression]:
        """The rest of an object. done: how many properties are passed; in any order a bit for each written one."""
        shape = self.normalizer.object_shapes(self.normalizer.normal(conj).objects[i])[j]
        n = len(shape.members)
        in_order = self.lowering.in_order
        if not in_order and n > MAX_ANY_ORDER:
            message = f"{n} properties in any order, more than {MAX_ANY_ORDER}"
            raise LimitError(message, fix='use property_order="schema"')
        left = [k for k in range(n) if (k >= done if in_order else not done >> k & 1)]
        if not any(shape.must[k] for k in left) and (not shape.counts or size >= shape.low):
            yield Sequence(())
        if shape.high is not None and size >= shape.high:
            return
        for k in left:
            name, value = shape.members[k]
            begin = _text(self.form.property.replace("{name}", name))
            close = self.form.close_property.replace("{name}", name)
            after = k + 1 if in_order else done | 1 << k
            rest = self.ref("members", conj, i, j, after, size + 1 if shape.counts else 0)
            yield Sequence((self.space, begin, self.ref("closed", value, close), rest))
            if in_order and shape.must[k]:
                return

    def _items(self, conj: Conj, i: int, at: int, state: tuple[int, ...]) -> Iterator[Expression]:
        """The rest of an array from an index on."""
        shape = self.normalizer.array_shape(self.normalizer.normal(conj).arrays[i])
        assert shape is not None
        if shape.complete(at, state):
            yield Sequence(())
        for value, after in shape.choices(at, state):
            if shape.viable(at + 1, after):
                following = at + 1 if shape.high is not None else min(at + 1, max(shape.steady, 1))
                element = self.ref("closed", value, self.form.close_item)
                rest = self.ref("items", conj, i, following, after)
                yield Sequence((self.space, _text(self.form.item), element, rest))


def _text(text: str) -> Expression:
    return Leaf(Terminal(literal(text), repr(text), literal=True)) if text else Sequence(())
