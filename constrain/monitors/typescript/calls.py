"""Members, calls, indices and `++`, which stand behind an operand and belong to it."""

from __future__ import annotations

from collections.abc import Callable

from constrain.monitors.typescript.naming import TsLexeme
from constrain.monitors.typescript.operands import Operands
from constrain.monitors.typescript.operators import (
    UNARY,
    fits,
    fits_result,
)
from constrain.monitors.typescript.relations import (
    flat,
    infer,
    inferred_result,
    instantiate,
    is_number,
    is_string,
    members_of,
    read_type,
)
from constrain.monitors.typescript.state import OPEN, TsFrame, Value
from constrain.monitors.typescript.state import TypeScriptState as S
from constrain.monitors.typescript.types import (
    ANY,
    BEYOND,
    BOOLEAN,
    NUMBER,
    STRING,
    UNDEFINED,
    Member,
    TsSignature,
    TsType,
    constituents,
    union,
    widen,
)


class Calls(Operands):
    """The steps of a state over the lexemes of members, calls and indices."""

    # Steps of other parts
    may_use: Callable[[S, Member], bool]

    # -- members, calls and indices ------------------------------------------------------------------------------------

    def _dot(self, state: S) -> S | None:
        return state.go("member name behind", value=state.value) if self.member_names(state) != frozenset() else None

    def member_names(self, state: S) -> frozenset[str] | None:
        """The names that may stand behind a dot; None: any."""
        value = state.value
        if value.form == "integer":
            return frozenset()
        members = members_of(value.type, state.types)
        if members is None:
            return None
        return frozenset(name for name, member in members.items() if self.may_use(state, member)
                         and self._member_fits(state, value, member))  # fmt: skip

    def _member_fits(self, state: S, value: Value, member: Member) -> bool:
        return fits(state.frames, Value(read_type(member), form="chain", assigns=not member.readonly), state.types)

    def _at_member_name_behind(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read the member behind a dot."""
        value, name = state.value, lexeme.word
        if not name:
            return OPEN if lexeme.sign else None
        members = members_of(value.type, state.types)
        if members is None:
            type_ = ANY if value.type == ANY else BEYOND
            return self._operand(state, Value(type_, declared=type_, assigns=True, form="chain"))
        member = members.get(name)
        if member is None or not self.may_use(state, member):
            return None
        declared = widen(read_type(member))
        key = f"{value.key}.{name}" if value.key else ""
        facts = state.facts.table if state.facts is not None and key else {}
        assigns = not member.readonly or self._in_constructor(state, value)
        if value.form == "super":
            key = ""
        return self._operand(state, Value(facts.get(key, declared), key, declared, assigns, "chain", None, value, name))

    def _in_constructor(self, state: S, value: Value) -> bool:
        return value.key == "this" and any(
            frame.kind == "function" and frame.role == "constructor" for frame in self.frames_of_function(state)
        )

    def _begin_index(self, state: S) -> S | None:
        type_ = flat(state.value.type, state.types)
        if type_.kind == "any" or any(part.kind == "any" for part in constituents(type_)):
            return self._begin_expression(state, TsFrame("index", value=state.value))
        if all(part.kind == "array" or is_string(part, state.types) for part in constituents(type_)):
            return self._begin_expression(state, TsFrame("index", value=state.value, goal=NUMBER))
        return None

    def _end_index(self, state: S, lexeme: TsLexeme) -> S | None:
        if lexeme.sign != "]":
            return None
        before = state.frame.value
        base = flat(before.type, state.types)
        type_ = union(
            part.parts[0] if part.kind == "array" else STRING if is_string(part, state.types) else ANY
            for part in constituents(base)
        )
        declared, assigns = type_, not any(is_string(part, state.types) for part in constituents(base))
        if type_.kind == "union" and type_ != BOOLEAN:
            type_ = ANY  # an index may have narrowed it
        return self._operand(state.pop("operator"), Value(type_, "", declared, assigns, "chain"))

    def _call(self, state: S, value: Value, signature: TsSignature | bool, made: TsType | None) -> S | None:
        """The state in the arguments of a call. made: what `new` makes, if its type is written."""
        is_new = value.form == "class"
        if not isinstance(signature, TsSignature):
            hint = value.type if value.type.kind == "any" else BEYOND
            return state.push(TsFrame("call", value=value, goal=made, hint=hint), "argument")
        known = {}
        if made is not None:
            known = dict(zip(signature.generics, made.parts, strict=False))
        if not is_new and not fits_result(state.frames, ANY, UNARY + 1, state.types):
            return None
        frame = TsFrame("call", value=value, signature=signature, known=tuple(known.items()), goal=made)
        return state.push(frame, "argument")

    def _parameter_of_call(self, state: S) -> tuple[TsType | None, bool]:
        """The type of the next argument of a call, None: any; and whether there may be one."""
        frame = state.frame
        if frame.signature is None:
            return None, True
        parameter = instantiate(frame.signature, dict(frame.known)).parameter(frame.seen)
        if parameter is None:
            return None, False
        return (union([parameter.type, UNDEFINED]) if parameter.optional else parameter.type), True

    def may_have_argument(self, state: S) -> bool:
        """True if a call may have another argument."""
        return self._parameter_of_call(state)[1]

    def _at_argument(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read the first argument of a call, or its end."""
        if lexeme.sign == ")":
            return self._call_ends(state)
        if not self.may_have_argument(state):
            return None
        return self._at_operand(self.begin_argument(state), lexeme)

    def begin_argument(self, state: S) -> S:
        """The state at the beginning of an argument."""
        goal, _ = self._parameter_of_call(state)
        hint = goal if goal is not None else state.frame.hint
        return state.push(TsFrame("argument", goal=goal, hint=hint), "operand")

    def _end_argument(self, state: S, lexeme: TsLexeme) -> S | None:
        given, key = state.value.type, state.value.key
        if lexeme.sign not in (",", ")"):
            return None
        state = state.pop("argument")
        frame = state.frame
        known = dict(frame.known)
        if frame.signature is not None and frame.signature.generics and frame.goal is None:
            parameter = frame.signature.parameter(frame.seen)
            infer(parameter.type, given, known, frame.signature.generics)
        keys = (*frame.items, key) if frame.value.name == "isArray" else ()
        state = state.change(seen=frame.seen + 1, known=tuple(known.items()), items=keys)
        if lexeme.sign == ")":
            return self._call_ends(state)
        return self.begin_argument(state) if self.may_have_argument(state) else None

    def _call_ends(self, state: S) -> S | None:
        """The state after the parenthesis that ends a call."""
        frame = state.frame
        signature: TsSignature | None = frame.signature
        if signature is not None and frame.seen < signature.required:
            return None
        if frame.goal is not None:
            type_ = frame.goal
        elif signature is None:
            type_ = ANY if frame.hint == ANY else BEYOND
        else:
            type_ = inferred_result(signature, dict(frame.known)) if signature.generics else signature.result
        state = state.pop("operator")
        when = None
        if frame.items and frame.items[0] and state.facts is not None:
            doubted = state.facts.add(frame.items[0], ANY)
            when = (doubted, doubted)
        return self._operand(state, Value(type_, when=when, form="super" if frame.role == "super" else "chain"))

    def _step(self, state: S, value: Value) -> S | None:
        """The state after `++` or `--` behind a variable."""
        if not value.assigns or not is_number(value.type, state.types) or value.form not in ("name", "chain"):
            return None
        return self._operand(state, Value(NUMBER, form="stepped"))
