"""Parameters and results of functions: of declarations, methods, constructors, arrow functions and function types."""

from __future__ import annotations

from collections.abc import Callable

from constrain.monitors.typescript.annotations import Annotations
from constrain.monitors.typescript.naming import TsLexeme
from constrain.monitors.typescript.relations import expand
from constrain.monitors.typescript.state import OPEN, Entry, TsFrame
from constrain.monitors.typescript.state import TypeScriptState as S
from constrain.monitors.typescript.types import ANY, UNDEFINED, TsParameter, TsSignature, TsType, function, union
from constrain.monitors.typescript.words import MODIFIERS, RESERVED

WRITTEN = frozenset({"type", "method", "call"})  # roles of signatures without a body


class Signatures(Annotations):
    """The steps of a state over the lexemes of parameters and results."""

    # Steps of other parts
    _signature_ends: Callable[[S], S | None]
    _begin_expression: Callable[..., S]

    def _at_parameter(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read what a parameter begins with."""
        frame, word = state.frame, lexeme.word
        if lexeme.sign == ")":
            return self._parameters_end(state) if not frame.flags & {"rest", "public", "private", "readonly"} else None
        if lexeme.sign == "..." and "rest" not in frame.flags:
            return state.change(flags=frame.flags | {"rest"})
        if word in MODIFIERS and frame.role == "constructor" and word not in ("static", *frame.flags):
            return state.change(flags=frame.flags | {word})
        if not word:
            return OPEN
        if word in RESERVED or any(each.name == word for each in frame.items):
            return None
        if frame.flags & MODIFIERS and not self.may_have_field(state, word):
            return None
        return state.go("parameter name", held=word)

    def may_have_field(self, state: S, name: str) -> bool:
        """True if the class whose constructor is read may have another field."""
        raise NotImplementedError

    def _at_parameter_name(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read what follows the name of a parameter."""
        frame, name = state.frame, state.held
        is_rest, is_written = "rest" in frame.flags, frame.role in WRITTEN
        match lexeme.sign:
            case "?" if not is_rest:
                return state.change(flags=frame.flags | {"optional", "?"}).go("optional parameter", held=name)
            case ":" if is_rest or not (is_written and "optional" in frame.flags):
                return self._begin_type(state.change(sign=name), "parameter")
            case "=" if not is_rest and not is_written:
                return self._begin_expression(state.change(sign=name), TsFrame("default"))
            case "," | ")" if frame.role == "arrow" and not is_rest:
                return self._untyped_parameter(state, name, lexeme)
        return None

    def _at_optional_parameter(self, state: S, lexeme: TsLexeme) -> S | None:
        if lexeme.sign == ":":
            return self._begin_type(state.change(sign=state.held), "parameter")
        if lexeme.sign in (",", ")") and state.frame.role == "arrow":
            return self._untyped_parameter(state, state.held, lexeme)
        return None

    def _untyped_parameter(self, state: S, name: str, lexeme: TsLexeme) -> S | None:
        """The state after a parameter of an arrow function whose type the context gives."""
        type_ = self.context_parameter(state.frame.signature, len(state.frame.items))
        return None if type_ is None else self._parameter(state, TsParameter(name, type_), lexeme)

    @staticmethod
    def context_parameter(context: TsSignature | bool, index: int) -> TsType | None:
        """The type that the context gives to a parameter of an arrow function; None: it has none."""
        if not isinstance(context, TsSignature):
            return ANY if context else None
        known = context.parameter(index)
        return None if known is None else union([known.type, UNDEFINED]) if known.optional else known.type

    def _typed_parameter(self, state: S, type_: TsType, lexeme: TsLexeme) -> S | None:
        """The state after the type of a parameter."""
        frame = state.frame
        is_optional, is_rest = "?" in frame.flags, "rest" in frame.flags
        if lexeme.sign == "=" and not (is_optional or is_rest or frame.role in WRITTEN):
            return self._begin_expression(state, TsFrame("default", goal=type_, hint=type_))
        if is_rest and (lexeme.sign != ")" or expand(type_, state.types).kind not in ("array", "any")):
            return None
        if "optional" in frame.flags and not (is_optional or is_rest):
            return None
        return self._parameter(state, TsParameter(frame.sign, type_, is_optional, is_rest), lexeme)

    def _parameter(self, state: S, parameter: TsParameter, lexeme: TsLexeme) -> S | None:
        """The state after a whole parameter."""
        frame = state.frame
        if lexeme.sign not in (",", ")"):
            return None
        if frame.role not in WRITTEN:
            is_missing = "?" in frame.flags and parameter.type.kind != "any"
            type_ = union([parameter.type, UNDEFINED]) if is_missing else parameter.type
            state = self.declare(state, parameter.name, Entry(type_, "", "parameter"))
        if modifiers := frame.flags & MODIFIERS:
            type_ = union([parameter.type, UNDEFINED]) if "?" in frame.flags else parameter.type
            state = self.add_parameter_field(state, parameter.name, type_, modifiers)
        state = state.change(items=(*frame.items, parameter), flags=frame.flags - {"?"} - MODIFIERS, sign="")
        return state.go("parameter") if lexeme.sign == "," else self._parameters_end(state)

    def add_parameter_field(self, state: S, name: str, type_: TsType, modifiers: frozenset[str]) -> S:
        """The state after a parameter of a constructor that is a field too."""
        raise NotImplementedError

    def _default_ends(self, state: S, type_: TsType, lexeme: TsLexeme) -> S | None:
        """The state after the default value of a parameter."""
        return self._parameter(state, TsParameter(state.frame.sign, type_, True), lexeme)

    @staticmethod
    def _parameters_end(state: S) -> S | None:
        after = {"type": "type arrow", "arrow": "arrow result", "constructor": "signature end"}
        return state.go(after.get(state.frame.role, "result"))

    def _at_type_arrow(self, state: S, lexeme: TsLexeme) -> S | None:
        return self._begin_type(state, "function type") if lexeme.sign == "=>" else None

    def _function_type_ends(self, state: S, result: TsType, lexeme: TsLexeme) -> S | None:
        """The state after a function's type, which reaches as far as its result."""
        made = function(TsSignature(state.frame.items, result))
        after = self._part(state.pop("after type"), made)
        return None if after is None else self.read(after, lexeme)

    def _at_result(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read what follows the parameters of a function or method."""
        if lexeme.sign == ":":
            return self._begin_type(state, "result", state.frame.goal)
        if lexeme.sign == "{" and state.frame.role not in WRITTEN:
            return self._signature_ends(state.change(goal=None))
        return None

    def _at_signature_end(self, state: S, lexeme: TsLexeme) -> S | None:
        return self._signature_ends(state) if lexeme.sign == "{" else None

    def _typed_result(self, state: S, type_: TsType, lexeme: TsLexeme) -> S | None:
        """The state after the type of a result."""
        if state.frame.role in ("method", "call"):
            return self._method_type_ends(state, type_, lexeme)
        wanted = "=>" if state.frame.role == "arrow" else "{"
        return self._signature_ends(state.change(goal=type_, seen=1)) if lexeme.sign == wanted else None
