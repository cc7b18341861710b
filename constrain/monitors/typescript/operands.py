"""Operands: names, literals, arrays, objects, templates, parentheses, and arrow functions before their body."""

from __future__ import annotations

from collections.abc import Callable

from constrain.monitors.monitor import NUMBER, STRING
from constrain.monitors.stacks import elements
from constrain.monitors.typescript.naming import TsLexeme, literal_of
from constrain.monitors.typescript.operators import UNARY, fits, fits_result
from constrain.monitors.typescript.relations import (
    CALL,
    expand,
    expected_members,
    is_assignable,
    is_number,
    new_signature,
    own_members,
    read_type,
    signature_of,
)
from constrain.monitors.typescript.signatures import Signatures
from constrain.monitors.typescript.state import OPEN, Entry, TsFrame, Value
from constrain.monitors.typescript.state import TypeScriptState as S
from constrain.monitors.typescript.types import (
    ANY,
    BOOLEAN,
    FALSE,
    NEVER,
    NULL,
    TRUE,
    TYPEOF,
    UNDEFINED,
    Member,
    TsParameter,
    TsSignature,
    TsType,
    array,
    constituents,
    union,
)
from constrain.monitors.typescript.types import (
    NUMBER as NUMBER_,
)
from constrain.monitors.typescript.types import (
    STRING as TEXT,
)
from constrain.monitors.typescript.words import OPERANDS, RESERVED

WORDS = {"true": TRUE._replace(fresh=True), "false": FALSE._replace(fresh=True), "null": NULL, "undefined": UNDEFINED}
PREFIXES = {"!": BOOLEAN, "-": NUMBER_, "+": NUMBER_, "typeof": TYPEOF}  # and what they give
WITHOUT_ARROWS = frozenset({"condition", "test", "of", "switch", "case", "index", "statement"})


def elements_of(state: S) -> list[TsFrame]:
    """The open parts, the innermost first."""
    return [*elements(state.frames)]


class Operands(Signatures):
    """The steps of a state over the lexemes of operands."""

    # Steps of other parts
    _ends: Callable[[S, TsLexeme], S | None]
    _begin_arrow_body: Callable[[S, TsType | None], S | None]
    _call: Callable[[S, Value, TsSignature | bool, TsType | None], S | None]

    def _begin_expression(self, state: S, frame: TsFrame) -> S:
        return state.push(frame, "operand")

    # -- what an operand begins with -----------------------------------------------------------------------------------

    def _at_operand(self, state: S, lexeme: TsLexeme) -> S | None:
        if lexeme.word:
            return self._operand_word(state, lexeme.word)
        if lexeme.kind in (NUMBER, STRING):
            return self._literal(state, lexeme)
        sign = lexeme.sign
        if sign == "(":
            if self.arrow_context(state) is not None:
                return state.go("grouped")
            return state.push(TsFrame("group", hint=self._hint(state)), "operand")
        if sign == "[":
            return self._begin_array(state)
        if sign == "{":
            return self._begin_object(state)
        if sign in PREFIXES:
            return self._prefix(state, sign)
        if sign in ("++", "--"):
            return state.go("stepped name") if self.variables(state) else None
        if sign == "..." and state.kind == "group":
            return None
        return OPEN if sign in ("/", "<", "~", "...", "#", "@") else None

    def variables(self, state: S) -> frozenset[str]:
        """The variables that `++` may stand before."""
        if not fits_result(state.frames, NUMBER_, UNARY, state.types):
            return frozenset()
        values = {name: self.value_of(state, name, entry) for name, entry in self.visible(state).items()}
        return frozenset(name for name, value in values.items() if value.assigns and is_number(value.type, state.types))

    def _at_stepped_name(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read the variable behind `++`."""
        if lexeme.word not in self.variables(state):
            return None
        return self._operand(self.use(state, lexeme.word), Value(NUMBER_, form="stepped"))

    def _hint(self, state: S) -> TsType | None:
        """The type that the context gives to an operand that is all of an expression, or stands behind `??`."""
        frame = state.frame
        if frame.kind == "binary":
            is_last = frame.sign in ("??", "||", "&&") and elements_of(state)[1].kind not in ("binary", "unary")
            return self.context(state).hint if is_last else None
        return frame.hint if frame.kind != "unary" else None

    def arrow_context(self, state: S) -> TsSignature | bool | None:
        """The signature that the context gives to an arrow function.

        True: any; False: it gives none; None: no arrow function may stand there.
        """
        frame, hint = state.frame, self._hint(state)
        if frame.kind in WITHOUT_ARROWS or frame.kind == "unary" or frame.kind == "binary":
            return None
        if frame.kind == "group" and hint is None:
            return False
        if hint is None:
            return False
        parts = [part for part in constituents(expand(hint, state.types)) if part.kind not in ("null", "undefined")]
        if any(part.kind == "any" for part in parts):
            return any(part.name for part in parts)
        found = [signature for part in parts if (signature := signature_of(part, state.types)) is not False]
        if not found:
            takes = frame.kind == "group" or any(self._takes_function(state, part) for part in parts)
            return False if takes else None
        return found[0] if len(found) == 1 else True

    @staticmethod
    def _takes_function(state: S, part: TsType) -> bool:
        members = own_members(part, state.types) if part.kind in ("object", "named") else {"-": Member("-", ANY)}
        return part.kind == "unknown" or members is None or all(each.optional for each in members.values())

    def _operand_word(self, state: S, word: str) -> S | None:
        if word in WORDS:
            return self._operand(state, Value(WORDS[word], form="null" if word in ("null", "undefined") else "name"))
        if word == "typeof":
            return self._prefix(state, word)
        if word == "new":
            return state.go("new") if self.classes(state) else None
        if word in RESERVED and word != "this":
            return OPEN if word in ("function", "class", "async", "await", "super", "void", "delete") else None
        context = self.arrow_context(state)
        if context is not None and self.context_parameter(context, 0) is not None and word != "this":
            return state.go("arrow name", held=word)
        return self._name(state, word)

    @staticmethod
    def _prefix(state: S, sign: str) -> S | None:
        """The state after an operator before its operand."""
        if not fits_result(state.frames, PREFIXES[sign], UNARY, state.types):
            return None
        return state.push(TsFrame("unary", sign=sign), "operand")

    def _name(self, state: S, word: str) -> S | None:
        entry = self.find(state, word)
        if entry is None:
            return None
        state = self.use(state, word)
        return self._operand(state, self.value_of(state, word, entry))

    def _at_arrow_name(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read what follows a name that may be the parameter of an arrow function."""
        if lexeme.sign == "=>":
            return self._arrow_of_name(state, state.held)
        after = self._name(state.go("operand"), state.held)
        return None if after is None else self.read(after, lexeme)

    def _operand(self, state: S, value: Value) -> S | None:
        """The state after an operand, if it can still fit."""
        return state.go("operator", value=value) if fits(state.frames, value, state.types) else None

    def _literal(self, state: S, lexeme: TsLexeme) -> S | None:
        type_ = literal_of(lexeme)
        if type_ is None:
            if not fits(state.frames, Value(TEXT), state.types):
                return None
            return state.push(TsFrame("template"), "operand")
        form = "literal"
        if lexeme.kind == NUMBER:
            form = "integer" if lexeme.text.isdigit() else "number"
        return self._operand(state, Value(type_, form=form))

    # -- templates, arrays, objects ------------------------------------------------------------------------------------

    def _at_template(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read the piece of a template behind the `}` of an expression."""
        if lexeme.text.endswith("${"):
            return state.push(TsFrame("template"), "operand")
        return self._operand(state, Value(TEXT))

    def _begin_array(self, state: S) -> S | None:
        hint = self._hint(state)
        parts = () if hint is None else constituents(expand(hint, state.types))
        elements = [part.parts[0] for part in parts if part.kind == "array"]
        elements += [ANY for part in parts if part.kind == "any"]
        if not fits(state.frames, Value(array(ANY)), state.types):
            return None
        return state.push(TsFrame("array", hint=union(elements) if elements else None), "element")

    def _at_element(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read an element of an array, or its end."""
        if lexeme.sign == "]":
            return self._array_ends(state)
        if lexeme.sign in ("...", ","):
            return OPEN
        return self._at_operand(state.push(TsFrame("element", hint=state.frame.hint), "operand"), lexeme)

    def _array_ends(self, state: S) -> S | None:
        frame = state.frame
        element = union(frame.items) if frame.items else NEVER
        if len([part for part in constituents(element) if part.kind in ("object", "named", "array", "function")]) > 1:
            element = element if frame.hint is not None or all(p.fresh for p in constituents(element)) else ANY
        return self._operand(state.pop("operator"), Value(array(element, fresh=True), form="literal"))

    def _end_element(self, state: S, lexeme: TsLexeme) -> S | None:
        type_ = state.value.type
        if lexeme.sign not in (",", "]"):
            return None
        state = state.pop("element")
        state = state.change(items=(*state.frame.items, type_))
        return self._array_ends(state) if lexeme.sign == "]" else state

    def _begin_object(self, state: S) -> S | None:
        hint = self._hint(state)
        frame = state.frame
        if frame.kind == "unary" or (frame.kind == "binary" and frame.sign not in ("??", "||", "&&")):
            return None
        if hint is not None and frame.kind != "group":
            kinds = {part.kind for part in constituents(expand(hint, state.types))}
            if not kinds & {"any", "unknown", "object", "named", "parameter"}:
                return None
        return state.push(TsFrame("object", hint=hint), "property")

    def fitting(self, state: S) -> TsType | None:
        """The parts of the expected type that an object literal may still become; None: any."""
        frame = state.frame
        if frame.hint is None:
            return None
        parts = [part for part in constituents(expand(frame.hint, state.types)) if part.kind in ("object", "named")]
        fits_ = [part for part in parts if self._has(state, part, frame.items)]
        return frame.hint if not fits_ or expected_members(frame.hint, state.types) is None else union(fits_)

    @staticmethod
    def _has(state: S, part: TsType, items: tuple[Member, ...]) -> bool:
        members = own_members(part, state.types)
        return members is None or all(
            each.name in members and is_assignable(each.type, read_type(members[each.name]), state.types)
            for each in items
        )

    def expected_names(self, state: S) -> frozenset[str] | None:
        """The names of the members that may stand next in an object literal; None: any."""
        fitting = self.fitting(state)
        known = None if fitting is None else expected_members(fitting, state.types)
        return None if known is None else frozenset(known) - {CALL} - {each.name for each in state.frame.items}

    def _at_property(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read the name of a property, or the end of an object."""
        if lexeme.sign == "}":
            return self._object_ends(state)
        if not lexeme.word:
            return OPEN
        names = self.expected_names(state)
        if any(each.name == lexeme.word for each in state.frame.items):
            return None
        if names is not None and lexeme.word not in names:
            return None
        return state.change(name=lexeme.word).go("property name")

    def _at_property_name(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read what follows the name of a property."""
        name, fitting = state.frame.name, self.fitting(state)
        known = None if fitting is None else expected_members(fitting, state.types)
        goal = None if known is None else read_type(known[name])
        if lexeme.sign == ":":
            hint = goal if fitting is None or fitting.kind != "any" else ANY
            return self._begin_expression(state, TsFrame("property", goal=goal, hint=hint))
        if lexeme.sign not in (",", "}"):
            return OPEN if lexeme.sign == "(" else None
        entry = self.find(state, name)
        if entry is None or entry.kind == "this":
            return None
        state = self.use(state, name)
        type_ = self.value_of(state, name, entry).type
        if goal is not None and not is_assignable(type_, goal, state.types):
            return None
        return self._add_property(state, type_, lexeme)

    def _add_property(self, state: S, type_: TsType, lexeme: TsLexeme) -> S | None:
        frame = state.frame
        if lexeme.sign not in (",", "}"):
            return None
        state = state.change(items=(*frame.items, Member(frame.name, type_)), name="").go("property")
        return self._object_ends(state) if lexeme.sign == "}" else state

    def _end_property(self, state: S, lexeme: TsLexeme) -> S | None:
        return self._add_property(state.pop("property"), state.value.type, lexeme)

    def _object_ends(self, state: S) -> S | None:
        """The state after the brace of an object: where one is expected, its members are all there."""
        frame = state.frame
        type_ = TsType("object", "", frame.items, fresh=True)
        if frame.hint is not None:
            parts = [part for part in constituents(expand(frame.hint, state.types)) if part.kind in ("object", "named")]
            if any(self._has(state, part, frame.items) for part in parts):
                if not is_assignable(type_, frame.hint, state.types):
                    return None
        return self._operand(state.pop("operator"), Value(type_, form="literal"))

    # -- parentheses, and arrow functions ------------------------------------------------------------------------------

    def _group(self, state: S) -> S:
        return state.push(TsFrame("group", hint=self._hint(state)), "operand")

    def _at_grouped(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read what follows `(` where an arrow function may stand."""
        if lexeme.sign in (")", "..."):
            return self.read(self._begin_arrow(state), lexeme)
        if lexeme.word and lexeme.word not in RESERVED and lexeme.word not in OPERANDS:
            return state.go("grouped name", held=lexeme.word)
        return self.read(self._group(state), lexeme)

    def _begin_arrow(self, state: S) -> S:
        context = self.arrow_context(state)
        goal = None
        if isinstance(context, TsSignature) and context.result.kind not in ("void", "any"):
            goal = context.result
        state = state.enter(is_function=True)
        return state.push(TsFrame("signature", role="arrow", signature=context, goal=goal), "parameter")

    def _at_grouped_name(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read what follows a name after `(`: it is a parameter, or an operand."""
        held, context = state.held, self.arrow_context(state)
        assert context is not None
        typed = self.context_parameter(context, 0)
        if lexeme.sign == ":":
            return self.read(self._begin_arrow(state).go("parameter name", held=held), lexeme)
        if lexeme.sign == "," and typed is not None:
            return self.read(self._begin_arrow(state).go("parameter name", held=held), lexeme)
        if lexeme.sign == ")":
            if typed is None and self.find(state, held) is None:
                return None
            return state.go("grouped one", held=held)
        after = self._operand_word(self._group(state), held)
        return None if after is None else self.read(after, lexeme)

    def _at_grouped_one(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read what follows a name in parentheses."""
        if lexeme.sign == "=>":
            return self._arrow_of_name(state, state.held)
        after = self._name(self._group(state), state.held)
        after = None if after is None else self.read(after, lexeme._replace(sign=")", word=""))
        return None if after is None else self.read(after, lexeme)

    def _arrow_of_name(self, state: S, name: str) -> S | None:
        """The state after `=>` behind a single parameter without a type."""
        context = self.arrow_context(state)
        type_ = None if context is None else self.context_parameter(context, 0)
        if type_ is None or name in RESERVED:
            return None
        state = self.declare(self._begin_arrow(state), name, Entry(type_, "", "parameter"))
        state = state.change(items=(TsParameter(name, type_),))
        return self._begin_arrow_body(state, state.frame.goal)

    def _at_arrow_result(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read what follows the parameters of an arrow function."""
        if lexeme.sign == ":":
            return self._begin_type(state, "result", state.frame.goal)
        return self._begin_arrow_body(state, state.frame.goal) if lexeme.sign == "=>" else None

    # -- new -----------------------------------------------------------------------------------------------------------

    def classes(self, state: S) -> frozenset[str]:
        """The names that `new` may take here."""
        found = set()
        for name, entry in self.visible(state).items():
            signature = new_signature(entry.type, state.types)
            if signature is not False and fits(state.frames, Value(self._made(state, entry.type)), state.types):
                found.add(name)
        return frozenset(found)

    @staticmethod
    def _made(state: S, type_: TsType) -> TsType:
        if type_.kind != "class":
            return ANY
        return TsType("named", type_.name, (ANY,) * len(state.types.table[type_.name].generics))

    def _at_new(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read the class after `new`."""
        if lexeme.word not in self.classes(state):
            return None if lexeme.word else OPEN
        return self.use(state, lexeme.word).go("new name", held=lexeme.word)

    def _at_new_name(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read the arguments of a class after `new`, before them those of its type."""
        entry = self.find(state, state.held)
        assert entry is not None
        definition = state.types.table.get(entry.type.name) if entry.type.kind == "class" else None
        if lexeme.sign == "<" and (entry.type.kind == "any" if definition is None else definition.generics):
            name = "" if definition is None else entry.type.name
            frame = TsFrame("type arguments", role="new", name=name, value=Value(entry.type, form="class"))
            return self._begin_type(state.push(frame, "type"), "type argument")
        if lexeme.sign != "(":
            return None
        value = Value(entry.type, form="class")
        return self._call(state, value, new_signature(entry.type, state.types), None)

    def _new_arguments(self, state: S, frame: TsFrame, items: tuple[TsType, ...]) -> S | None:
        """The state after the type arguments of a class after `new`."""
        made = TsType("named", frame.name, items) if frame.name else ANY
        return state.pop("new arguments", type=made, value=frame.value)

    def _at_new_arguments(self, state: S, lexeme: TsLexeme) -> S | None:
        if lexeme.sign != "(":
            return None
        value, made = state.value, state.type
        return self._call(state, value, new_signature(value.type, state.types), made)
