"""Arguments of a call as nested elements: objects and arrays are elements too, not JSON.

    constrain.tags.parameters(schema, "cohere")      # <cofl:value name="city" type="raw">Paris</cofl:value>
    constrain.tags.parameters(schema, "minimax-m3")  # ]<]minimax[>[<city>Paris]<]minimax[>[</city>
    constrain.tags.parameters(schema, "gemma4")      # city:<|"|>Paris<|"|>,days:[1,2]
    constrain.tags.parameters(schema, "pythonic")    # city="Paris", days=[1, 2]

The idea: each set of values of the schema's normal form (schema/sets) is a rule, so references, combinations and
recursion need no special case: value → raw text | scalar | element* of an object | element* of an array. Strings are
written without quotes and escapes, up to the text that closes their element, or as in JSON; numbers as in JSON.
Declared properties come in their order and before undeclared ones, or all in any (`property_order="any"`). The names of
undeclared ones are identifiers, or, where the schema says something of them, texts without blanks, quotes and `<>&`.
Nothing keeps such a name from coming twice: the last one counts, and `minProperties` counts one of them.

Cost: the rules are made when the constraint is, one for each set of values and each place in an object or array; those
of an object in any order when a text reaches them.
Limits: "minimax-m3", whose elements end with their names, has no undeclared properties. `uniqueItems`, and formats that
only the finished text decides, are left to whoever reads it (`Elements.left`), or a located error. At most `MAX_RULES`
rules.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import Any, NamedTuple

from constrain.errors import LimitError, SchemaError
from constrain.languages.automata.parse.python import parse_python
from constrain.languages.automata.syntax import ANY_TEXT, EMPTY, EPSILON, Node, intersect, literal
from constrain.languages.cfg.build import GrammarReading
from constrain.languages.cfg.ebnf import AnyOrder, Choice, Expression, Leaf, Ref, Sequence, terminals_of
from constrain.languages.cfg.free_text import without
from constrain.languages.cfg.rules import Grammar, Nonterminal, Terminal
from constrain.languages.cfg.transform.analysis import empty_node
from constrain.languages.constraints.combinators import RuleSet, expression_of, token
from constrain.languages.constraints.report import BY_GUARDS, ReportLine, checked_later
from constrain.languages.schema import JsonSchema
from constrain.languages.schema.formats.bounds import at_most
from constrain.languages.schema.sets.algebra import ArrayBox, Conj
from constrain.languages.schema.sets.shapes_arrays import ArrayShape, CountedArrays, DistinctArrays
from constrain.languages.schema.sets.shapes_objects import ObjectShape
from constrain.languages.schema.sets.strings import without as without_names
from constrain.languages.schema.write.lower import Lowering

MAX_RULES = 20_000
MAX_USED = 6  # constants of which rules remember which ones were used
BEGUN, ROOT = 1, 2  # places in an object: an element is written already; it is the whole of the arguments
JSON_CONSTANTS = ("null", "false", "true")
_IDENTIFIERS = parse_python("[A-Za-z_][A-Za-z0-9_]*")
NOTHING = Leaf(Terminal(EMPTY, "nothing"))  # an element that cannot be written
_INNER = r"""[^"\\]+"""  # names in quotes
_NAMES = parse_python(r"""[^\s\x00-\x1f\x7f<>"'&]+""")


class NestedStyle(NamedTuple):
    """The texts around nested elements. `{name}` stands for a property's name, `{quoted}` for it as a JSON string.

    Attributes:
        property: The beginning of a property's element.
        item: The beginning of an item's element.
        kinds: The texts between that and a value: for strings, other scalars, objects and arrays.
        close_property: The end of a property's element.
        close_item: The end of an item's element.
        stop: The text that raw strings do not contain; "": strings are JSON strings.
        closes: The texts behind a value, by kinds.
        separator: The text between two elements; "": any whitespace.
        root: The beginning of an argument, if it is other than that of a property.
        constants: How null, false and true are written.
        names: The names that an argument may have, as a pattern; "": any.
    """

    property: str
    item: str
    kinds: tuple[str, str, str, str]
    close_property: str
    close_item: str
    stop: str
    closes: tuple[str, str, str, str] = ("", "", "", "")
    separator: str = ""
    root: str = ""
    constants: tuple[str, str, str] = JSON_CONSTANTS
    names: str = ""


_M3 = "]<]minimax[>["
_QUOTE = '<|"|>'
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
    "gemma4": NestedStyle(
        "{name}:",
        "",
        (_QUOTE, "", "{", "["),
        "",
        "",
        _QUOTE,
        closes=(_QUOTE, "", "}", "]"),
        separator=",",
        names=r"""[^\s:,{}\[\]<>|"]+""",
    ),
    "pythonic": NestedStyle(
        "{quoted}: ",
        "",
        ("", "", "{", "["),
        "",
        "",
        "",
        closes=("", "", "}", "]"),
        separator=", ",
        root="{name}=",
        constants=("None", "False", "True"),
        names="[A-Za-z_][A-Za-z0-9_]*",
    ),
}


def split_tokens(text: str, tokens: tuple[str, ...]) -> tuple[tuple[str, bool], ...]:
    """A text as pairs (piece, whether it is the name of a special token)."""
    if not tokens:
        return ((text, False),) if text else ()
    found = re.split(f"({'|'.join(map(re.escape, sorted(tokens, key=len, reverse=True)))})", text)
    return tuple((piece, i % 2 == 1) for i, piece in enumerate(found) if piece)


@lru_cache(maxsize=1024)
def pieces_of(text: str, tokens: tuple[str, ...]) -> tuple[Expression, ...]:
    """A text with its special tokens."""
    return tuple(expression_of(token(piece) if special else piece) for piece, special in split_tokens(text, tokens))


def elements(
    whole: JsonSchema, form: NestedStyle, excludes: tuple[str, ...], space: Node, tokens: tuple[str, ...], later: bool
) -> Elements:
    """The values of a schema as nested elements, without an element around the whole.

    space: the whitespace before elements, and behind the last one, where nothing separates them. tokens: the special
    tokens in the style's texts. later: conditions on values that no grammar remembers are left to the caller. Raises
    SchemaError for them else, LimitError for too many rules, UnsatisfiableError if no value is left.
    """
    rules = _Nested(whole, form, excludes, EPSILON if form.separator else space, tokens, later)
    return rules.constraint(rules.space)


@dataclass(frozen=True, repr=False)
class Elements(RuleSet):
    """The rules of elements. Their grammar is made when a text reaches them: of many tools few are called.

    Attributes:
        whole: The schema.
        left: Its keywords that the rules do not know: whoever reads the elements asks `whole.residual_fault`.
    """

    whole: JsonSchema = field(kw_only=True)
    left: frozenset[str] = field(kw_only=True)

    @property
    def report(self) -> list[ReportLine]:
        """The lines of the schema; nothing keeps an undeclared name from coming twice."""
        lines = (line for line in self.whole.report if line.keyword != "(keys)")
        return checked_later(lines, self.left | BY_GUARDS if self.residual else self.left)

    @cached_property
    def reading(self) -> GrammarReading:
        rules = dict(self.definitions)
        if any(map(empty_node, {terminal.node for terminal in terminals_of(rules.values())})):
            return self.made  # some rule derives nothing, and perhaps all: else all values of a set that is not empty
        start = Nonterminal(self.start, lambda: [[self.made.grammar.start]])
        return GrammarReading(Grammar(start), rules, self.start, ())

    @cached_property
    def made(self) -> GrammarReading:
        """The rules as read."""
        return self.read()


class ElementRules:
    """The rules of an object whose properties are elements. A subclass says how an element is written.

    Attributes:
        separator: The text between two elements.
        rooted: Whether the elements of the whole are written otherwise than those in it.
        later: Whether the caller checks finished values.
        left: The keywords that are left to it.
    """

    separator: str = ""
    rooted: bool = False

    def __init__(self, whole: JsonSchema, later: bool) -> None:
        self.whole, self.later = whole, later
        self.left: set[str] = set()
        self.normalizer = whole.normalizer
        self.lowering = Lowering(whole.normalizer, whole.options)
        self.names: dict[Any, str] = {}
        self.shapes: dict[tuple[Conj, int], list[ObjectShape]] = {}  # of each box of objects that was reached
        self.any_order: dict[str, AnyOrder] = {}
        self.pending: list[Any] = []

    def element(self, name: str | Node, value: Conj, root: bool = False) -> Expression:
        """The element of a property. name: its name, or the language of undeclared names. root: it is an argument."""
        raise NotImplementedError

    def constraint(self, *after: Expression) -> Elements:
        """The objects of the schema, and what comes behind them. Raises as `elements`."""
        root = self.whole.document.root
        start = Choice(tuple(self.objects(root, ROOT if self.rooted else 0)))
        if not start.parts:
            kind = self.whole.written.get("type") if isinstance(self.whole.written, dict) else self.whole.written
            message = f"parameters are those of an object, not of {kind!r}"
            raise SchemaError(message, place="$.type", fix='"type": "object"')
        rules: dict[str, Expression] = {"arguments": Sequence((start, *after)), **self.made()}
        any_order = tuple(self.any_order.items())
        return Elements(tuple(rules.items()), "arguments", any_order, whole=self.whole, left=frozenset(self.left))

    def leave(self, keyword: str, fix: str) -> None:
        """Leave a keyword to the check of the finished value. Raises SchemaError where there is none."""
        if not self.later:
            found = (line.pointer for line in self.whole.report if line.keyword == keyword)
            message = f"{keyword!r} is decided on the finished value, which elements do not show"
            raise SchemaError(message, place=next(found, "$"), fix=fix)
        self.left.add(keyword)

    def regular(self, texts: Node) -> Node:
        """A regular language that holds some texts, which may have a format that no automaton decides."""
        found = at_most(texts)
        if found != texts:
            self.leave("format", "use a pattern, or leave the format out")
        return found

    def made(self) -> dict[str, Expression]:
        """The rules of all that was named."""
        rules: dict[str, Expression] = {}
        while self.pending:
            key = self.pending.pop()
            rules[self.names[key]] = Choice(tuple(getattr(self, f"_{key[0]}")(*key[1:])))
        return rules

    def ref(self, *key: Any) -> Ref:
        """The rule of a method and its arguments."""
        if key not in self.names:
            if len(self.names) == MAX_RULES:
                message = f"the schema has more than {MAX_RULES} sets of values and places in containers"
                raise LimitError(message, fix='use style="json", or smaller counts')
            self.names[key] = f"{key[0]} {len(self.names)}"
            self.pending.append(key)
        return Ref(self.names[key])

    def objects(self, conj: Conj, place: int = 0) -> Iterator[Expression]:
        """The objects of a set of values, a rule for each of their shapes. place: `ROOT` or 0."""
        pointer = self.whole.document.site_of(conj).pointer
        for i, box in enumerate(self.normalizer.normal(conj).objects):
            shapes = self.shapes[conj, i] = self.normalizer.object_shapes(box)
            for j, shape in enumerate(shapes):
                if shape.needs:
                    message = "a condition on some undeclared property, as of a oneOf, has no place in elements"
                    raise SchemaError(message, place=pointer, fix='declare the properties, or use style="json"')
                if shape.low > len(shape.members) + bool(shape.classes):
                    message = f"minProperties asks for {shape.low} names, but undeclared ones may be one name twice"
                    raise SchemaError(message, place=f"{pointer}.minProperties", fix="declare the properties")
                whole = self.ref("members", conj, i, j, 0, 0, 0, place)
                if not self.lowering.in_order and whole.name not in self.any_order:
                    root = bool(place & ROOT)
                    between = _text(self.separator)
                    self.any_order[whole.name] = AnyOrder(
                        tuple(self.ref("element", *member, root).name for member in shape.members),
                        shape.must,
                        tuple(self.ref("element", *self._undeclared(shape, *one), root).name for one in shape.classes),
                        between.terminal if isinstance(between, Leaf) else None,
                        shape.low if shape.counts else 0,
                        shape.high,
                    )
                yield whole

    def _element(self, name: str | Node, value: Conj, root: bool) -> Iterator[Expression]:
        """The element of a property, as a rule."""
        yield self.element(name, value, root)

    def _members(self, conj: Conj, i: int, j: int, done: int, size: int, more: int, place: int) -> Iterator[Expression]:
        """The rest of an object whose declared properties come in their order.

        done: how many declared properties are passed. size, more: how many declared and other properties are written,
        if that matters. place: `ROOT`, and `BEGUN` if a separator follows.
        """
        shape = self.shapes[conj, i][j]
        goes_on = shape.high is None or size + more < shape.high
        counted = 1 if shape.counts else 0
        begun = place | BEGUN if self.separator else place
        between = (_text(self.separator),) if place & BEGUN else ()
        element = self.element if self.lowering.in_order else partial(self.ref, "element")
        root = bool(place & ROOT)
        if done < len(shape.members):
            if goes_on:
                rest = self.ref("members", conj, i, j, done + 1, size + counted, more, begun)
                yield Sequence((*between, element(*shape.members[done], root), rest))
            if not shape.must[done]:
                yield self.ref("members", conj, i, j, done + 1, size, more, place)
            return
        if not shape.counts or size + min(more, 1) >= shape.low:
            yield Sequence(())
        if goes_on:
            passed = more + 1 if shape.high is not None else counted
            rest = self.ref("members", conj, i, j, done, size, passed, begun)
            for names, value in shape.classes:
                yield Sequence((*between, element(*self._undeclared(shape, names, value), root), rest))

    def _undeclared(self, shape: ObjectShape, names: Node, value: Conj) -> tuple[Node, Conj]:
        """The undeclared names of a class as they may be written, and their values."""
        written = _IDENTIFIERS if names == ANY_TEXT else intersect(_NAMES, self.regular(names))
        return without_names(written, shape.declared), value


class _Nested(ElementRules):
    """The rules of nested elements."""

    def __init__(
        self,
        whole: JsonSchema,
        form: NestedStyle,
        excludes: tuple[str, ...],
        space: Node,
        tokens: tuple[str, ...],
        later: bool,
    ) -> None:
        super().__init__(whole, later)
        self.form, self.excludes, self.tokens = form, excludes, tokens
        self.separator, self.rooted = form.separator, bool(form.root)
        self.arrays: dict[tuple[Conj, int], ArrayShape | None] = {}
        self.space: Expression = Leaf(Terminal(space, "whitespace")) if space != EPSILON else Sequence(())

    def element(self, name: str | Node, value: Conj, root: bool = False) -> Expression:
        opening = self.form.root if root else self.form.property
        close = self.form.close_property
        if isinstance(name, str):
            if (root or not self.rooted) and self.form.names and not re.fullmatch(self.form.names, name):
                fix = f"use a name of the characters {self.form.names}"
                raise SchemaError(f"an argument's name cannot be {name!r:.60} in this style", place="$", fix=fix)
            quoted = json.dumps(name, ensure_ascii=False)
            head = self.text(opening.replace("{name}", name).replace("{quoted}", quoted))
            close = close.replace("{name}", name)
        elif "{name}" in close:
            return NOTHING
        else:
            spelled = self.form.names if root or not self.rooted else _INNER
            name = intersect(name, _names(spelled)) if spelled else name
            before, _, behind = opening.replace("{quoted}", '"{name}"').partition("{name}")
            head = Sequence((self.text(before), Leaf(Terminal(name, "name")), self.text(behind)))
        return Sequence((self.space, head, self.ref("closed", value, close)))

    def text(self, text: str) -> Expression:
        """A text with its special tokens."""
        if not self.tokens:
            return _text(text)
        return Sequence(pieces_of(text, self.tokens))

    def _closed(self, conj: Conj, close: str) -> Iterator[Expression]:
        """The rest of an element after its beginning: the text of the kind, a value, the end."""
        for kind, value in self._kinds(conj):
            yield Sequence((self.text(self.form.kinds[kind]), value, self.text(self.form.closes[kind] + close)))

    def _kinds(self, conj: Conj) -> Iterator[tuple[int, Expression]]:
        """(kind, values) of the values of a set."""
        normal = self.normalizer.normal(conj)
        normal = normal._replace(strings=self.regular(normal.strings))
        scalars = normal._replace(arrays=(), objects=())
        if self.form.stop:
            scalars = scalars._replace(strings=EMPTY)
            if normal.strings != EMPTY:
                raw = intersect(normal.strings, without((self.form.stop, *self.excludes)))
                yield 0, Leaf(Terminal(raw, "text"))
        if self.form.constants != JSON_CONSTANTS:
            held = (normal.null, False in normal.booleans, True in normal.booleans)
            for written, is_member in zip(self.form.constants, held, strict=True):
                if is_member:
                    yield 1, _text(written)
            scalars = scalars._replace(null=False, booleans=frozenset())
        for terminal in self.lowering.terminals(scalars):
            yield 1, Leaf(terminal)
        for members in self.objects(conj):
            yield 2, members
        for i, box in enumerate(normal.arrays):
            array = self.arrays[conj, i] = self._array(box)
            if array is not None:
                yield 3, self.ref("items", conj, i, 0, array.start)

    def _array(self, box: ArrayBox) -> ArrayShape | None:
        """The shape of a box of arrays. A set of used constants is a rule: those of many are left to the check."""
        array = self.normalizer.array_shape(box)
        many = isinstance(array, DistinctArrays) and len(array.numbers) > MAX_USED and self.later
        if array is not None and (many or (isinstance(array, CountedArrays) and (box.unique or box.repeats))):
            self.leave("uniqueItems", "leave it out, or let the items be few constants")
            array = self.normalizer.array_shape(box._replace(unique=False, repeats=False, high=array.high))
        return array

    def _items(self, conj: Conj, i: int, at: int, state: tuple[int, ...]) -> Iterator[Expression]:
        """The rest of an array from an index on."""
        shape = self.arrays[conj, i]
        assert shape is not None
        if shape.complete(at, state):
            yield Sequence(())
        for value, after in shape.choices(at, state):
            if shape.viable(at + 1, after):
                following = at + 1 if shape.high is not None else min(at + 1, max(shape.steady, 1))
                element = self.ref("closed", value, self.form.close_item)
                rest = self.ref("items", conj, i, following, after)
                head = self.text((self.separator if at else "") + self.form.item)
                yield Sequence((self.space, head, element, rest))


@lru_cache(16)
def _names(spelled: str) -> Node:
    """The names that a style can write."""
    return parse_python(spelled)


@lru_cache(1024)
def _text(text: str) -> Expression:
    return Leaf(Terminal(literal(text), repr(text), literal=True)) if text else Sequence(())
