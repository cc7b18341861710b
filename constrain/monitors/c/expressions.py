"""Expressions of C. A method `_at_x` reads the lexeme after `at="x"` (monitor.py)."""

from __future__ import annotations

from collections.abc import Callable

from constrain.monitors.c.naming import CNames
from constrain.monitors.c.state import OPEN, CFrame, CState
from constrain.monitors.c.types import SCALAR, UNKNOWN, CType
from constrain.monitors.c.words import SIZES, SPECIFIERS, STORAGE, UNARY
from constrain.monitors.monitor import NUMBER, SIGN, STRING

BRACKETS = {"(": ")", "[": "]", "{": "}"}
ASSIGNS = frozenset("= += -= *= /= %= &= ^= |= <<= >>=".split())


class CExpressions(CNames):
    """The steps of a state over the lexemes of expressions."""

    # Steps of `CDeclarations` and `CStatements`
    _begin_declaration: Callable[[CState, str, int, str, str], CState | None]
    _open_block: Callable[[CState, str], CState | None]
    _next_declarator: Callable[[CState], CState | None]
    _semicolon: Callable[[CState], CState | None]
    _enum_ends: Callable[[CState], CState | None]
    _condition_ends: Callable[[CState], CState | None]

    # -- operands ------------------------------------------------------------------------------------------------------

    def _at_operand(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        if word:
            return self._operand_word(state, word)
        if kind == NUMBER:
            return state.go("operator", value=SCALAR)
        if kind == STRING:
            return state.go("operator", value=UNKNOWN)
        if sign == "(":
            return state.push(CFrame("group"), "grouped")
        if sign == "{":
            return self._brace(state)
        if sign == ".":
            return state.go("designator") if state.kind == "initializer" else state
        if sign == "[" and state.kind == "initializer":
            return state.push(CFrame("index", role="operand"), "operand")
        if sign == "&&":
            return state.go("label value")
        if sign in ("*", "&"):
            return state._replace(prefix=(*state.prefix, sign))
        if sign in (")", "]", "}", ";", ",", ":") or sign in ASSIGNS:  # an empty operand; = after a designator
            return self._at_operator(state, kind, sign, word)
        return state._replace(prefix=(*state.prefix, sign if sign in ("++", "--") else ""))

    def _operand_word(self, state: CState, word: str) -> CState | None:
        """The state after a name or keyword where an operand may stand."""
        if word in SIZES:
            return state._replace(prefix=(*state.prefix, "sizeof"))
        if word in UNARY or word in STORAGE:  # [static 3]
            return state if word == "__extension__" else state._replace(prefix=(*state.prefix, ""))
        if word == "_Generic":
            return state.go("macro")
        entry = self.find(state, word)
        if entry is None or entry.kind == "type":
            return None
        if entry.kind == "macro" or word.startswith("__"):
            return state.go("macro")
        return state.go("operator", value=entry.type)

    def _at_macro(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        """Read what follows a name whose arguments are not read: they may be types or members."""
        if sign == "(":
            return state.go("operator", value=UNKNOWN).push(CFrame("skip", role="operator"), "skip")
        return self._at_operator(state.go("operator", value=UNKNOWN), kind, sign, word)

    def _at_grouped(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        """Read what follows `(` before an operand: a type, a block, or an expression."""
        if (word in SPECIFIERS and word != "__extension__") or (word and self.is_type(state, word)):
            return self._begin_declaration(state, "type", kind, sign, word)
        if sign == "{":
            return self._open_block(state, "expression")
        return self._at_operand(state.go("operand"), kind, sign, word)

    def _at_designator(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        """Read the member after `.` in an initializer."""
        return state.go("designated") if word else OPEN

    def _at_designated(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        """Read what follows a designator: another one, or the value."""
        if sign == ".":
            return state.go("label value")
        if sign == "[":
            return state.push(CFrame("index", role="designated"), "operand")
        return state.fresh("operand") if sign == "=" else OPEN

    def _at_label_value(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        """Read any name after `&&`, or after the second `.` of a designator."""
        return state.go("operator" if state.kind != "initializer" else "designated", value=UNKNOWN)

    def _brace(self, state: CState) -> CState | None:
        """The state after the brace of an initializer."""
        return state.push(CFrame("initializer"), "operand")

    # -- operators -----------------------------------------------------------------------------------------------------

    def _at_operator(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        if kind != SIGN:
            return state if kind == STRING else None
        match sign:
            case "." | "->":
                return None if self.members(state, state.value, sign) is False else state.go("member", held=sign)
            case "++" | "--":
                return state
            case "(":
                return state.push(CFrame("call"), "operand")
            case "[":
                return state.push(CFrame("index", role="operator"), "operand")
            case "{":
                return self._brace(state)
            case "?":
                return state._replace(plain=False).push(CFrame("?"), "operand")
            case ",":
                return self._comma(state)
            case ":":
                return self._colon(state)
            case ";":
                return self._semicolon(state)
            case ")" | "]" | "}":
                return self._close(state, sign)
        return state.go("operand", prefix=(), plain=False, value=UNKNOWN)

    def _at_member(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        members = self.members(state, state.value, state.held)
        if not word or members is False:
            return None
        if members is None or isinstance(members, bool):
            return state.go("operator", value=UNKNOWN)
        member: CType | None = members.table.get(word)
        return None if member is None and word not in state.opens else state.go("operator", value=member or UNKNOWN)

    def _comma(self, state: CState) -> CState | None:
        top = state.top
        if top is None:
            return state.fresh("operand")
        match top.kind:
            case "call":
                arity = top.value.arity
                if arity is not None and arity.number is not None and not arity.more and top.seen + 1 >= arity.number:
                    return None
                return state.change(seen=top.seen + 1).fresh("operand")
            case "declaration":
                return self._next_declarator(state)
            case "enum":
                return state.fresh("enumerator")
            case "initializer":
                return state.fresh("operand")
        return state.go("operand", value=UNKNOWN, prefix=(), plain=False)

    def _colon(self, state: CState) -> CState | None:
        if state.kind == "?":
            return state.pop("operand")._replace(value=UNKNOWN, prefix=(), plain=False)
        if state.kind == "case":
            return state.pop("statement")
        return state.fresh("operand")

    def _close(self, state: CState, sign: str) -> CState | None:
        """The state after a closing bracket."""
        top = state.top
        if top is None:
            return OPEN
        match top.kind:
            case "group":
                value = self.apply_prefix(state.prefix, state.value) if state.plain else UNKNOWN
                return state.pop("operator")._replace(value=value)
            case "call":
                return self._end_call(state, top)
            case "index":
                if top.role != "operator":
                    return state.pop(top.role)
                return state.pop("operator")._replace(value=top.value.target)
            case "initializer":
                return state.pop("operator")._replace(value=top.value)
            case "enum":
                return self._enum_ends(state)
            case "condition":
                return self._condition_ends(state)
            case "for(":
                return state.pop("statement")
        return OPEN

    def _end_call(self, state: CState, top: CFrame) -> CState | None:
        """The state after the parenthesis that ends the arguments of a call."""
        arity = top.value.arity
        count = top.seen + (0 if state.at == "operand" and not state.prefix else 1)
        if arity is not None and arity.number is not None:
            if count < arity.number or (count > arity.number and not arity.more):
                return None
        return state.pop("operator")._replace(value=top.value.result)

    def _at_skip(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        """Pass over a lexeme in brackets that are not read."""
        if sign in BRACKETS:
            return state.push(CFrame("skip", role="skip"), "skip")
        if sign in (")", "]", "}"):
            assert state.frames is not None
            return state.pop(state.frames[0].role)
        return state

    def _cast(self, state: CState, type_: CType) -> CState:
        """The state after a type in parentheses, at the parenthesis that closes them."""
        state = state.pop("operand")
        if state.prefix[-1:] == ("sizeof",):
            return state.go("operator", value=SCALAR, prefix=state.prefix[:-1])
        return state._replace(at="cast", prefix=(*state.prefix, type_))

    def _at_cast(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        """Read what follows a type in parentheses: an operand, or the brace of a literal of this type."""
        if sign == "{":
            type_ = state.prefix[-1]
            assert isinstance(type_, CType)
            return state._replace(prefix=state.prefix[:-1], value=type_).push(CFrame("initializer"), "operand")
        return self._at_operand(state.go("operand"), kind, sign, word)
