"""Expressions of C. A method `_at_x` reads the lexeme after `at="x"` (monitor.py)."""

from __future__ import annotations

from constrain.monitors.c.naming import Naming
from constrain.monitors.c.state import OPEN, C, Frame
from constrain.monitors.c.types import SCALAR, UNKNOWN, Type
from constrain.monitors.c.words import SIZES, SPECIFIERS, STORAGE, UNARY
from constrain.monitors.monitor import NUMBER, SIGN, STRING

BRACKETS = {"(": ")", "[": "]", "{": "}"}
ASSIGNS = frozenset("= += -= *= /= %= &= ^= |= <<= >>=".split())


class Expressions(Naming):
    """How the lexemes of expressions change a state."""

    # -- operands ------------------------------------------------------------------------------------------------------

    def _at_operand(self, here: C, kind: int, sign: str, word: str) -> C | None:
        if word:
            return self._operand_word(here, word)
        if kind == NUMBER:
            return here.go("operator", value=SCALAR)
        if kind == STRING:
            return here.go("operator", value=UNKNOWN)
        if sign == "(":
            return here.push(Frame("group"), "grouped")
        if sign == "{":
            return self._brace(here)
        if sign == ".":
            return here.go("designator") if here.kind == "initializer" else here
        if sign == "[" and here.kind == "initializer":
            return here.push(Frame("index", role="operand"), "operand")
        if sign == "&&":
            return here.go("label value")
        if sign in ("*", "&"):
            return here._replace(prefix=(*here.prefix, sign))
        if sign in (")", "]", "}", ";", ",", ":") or sign in ASSIGNS:  # an empty operand; = after a designator
            return self._at_operator(here, kind, sign, word)
        return here._replace(prefix=(*here.prefix, sign if sign in ("++", "--") else ""))

    def _operand_word(self, here: C, word: str) -> C | None:
        """The state after a name or keyword where an operand may stand."""
        if word in SIZES:
            return here._replace(prefix=(*here.prefix, "sizeof"))
        if word in UNARY or word in STORAGE:  # [static 3]
            return here if word == "__extension__" else here._replace(prefix=(*here.prefix, ""))
        if word == "_Generic":
            return here.go("macro")
        entry = self.find(here, word)
        if entry is None or entry.kind == "type":
            return None
        if entry.kind == "macro" or word.startswith("__"):
            return here.go("macro")
        return here.go("operator", value=entry.type)

    def _at_macro(self, here: C, kind: int, sign: str, word: str) -> C | None:
        """After a name whose arguments are not read: they may be types or members."""
        if sign == "(":
            return here.go("operator", value=UNKNOWN).push(Frame("skip", role="operator"), "skip")
        return self._at_operator(here.go("operator", value=UNKNOWN), kind, sign, word)

    def _at_grouped(self, here: C, kind: int, sign: str, word: str) -> C | None:
        """After `(` where an operand may stand: a type, a block, or an expression."""
        if (word in SPECIFIERS and word != "__extension__") or (word and self.is_type(here, word)):
            return self._declares(here, "type", kind, sign, word)
        if sign == "{":
            return self._opened_block(here, "expression")
        return self._at_operand(here.go("operand"), kind, sign, word)

    def _at_designator(self, here: C, kind: int, sign: str, word: str) -> C | None:
        """After `.` in an initializer: a member of what is initialized."""
        return here.go("designated") if word else OPEN

    def _at_designated(self, here: C, kind: int, sign: str, word: str) -> C | None:
        """After a designator: another one, or the value."""
        if sign == ".":
            return here.go("label value")
        if sign == "[":
            return here.push(Frame("index", role="designated"), "operand")
        return here.fresh("operand") if sign == "=" else OPEN

    def _at_label_value(self, here: C, kind: int, sign: str, word: str) -> C | None:
        """After `&&`, or after the second `.` of a designator: any name."""
        return here.go("operator" if here.kind != "initializer" else "designated", value=UNKNOWN)

    def _brace(self, here: C) -> C | None:
        """The state after the brace of an initializer."""
        return here.push(Frame("initializer"), "operand")

    # -- operators -----------------------------------------------------------------------------------------------------

    def _at_operator(self, here: C, kind: int, sign: str, word: str) -> C | None:
        if kind != SIGN:
            return here if kind == STRING else None
        match sign:
            case "." | "->":
                return None if self.members(here, here.value, sign) is False else here.go("member", held=sign)
            case "++" | "--":
                return here
            case "(":
                return here.push(Frame("call"), "operand")
            case "[":
                return here.push(Frame("index", role="operator"), "operand")
            case "{":
                return self._brace(here)
            case "?":
                return here._replace(plain=False).push(Frame("?"), "operand")
            case ",":
                return self._comma(here)
            case ":":
                return self._colon(here)
            case ";":
                return self._semicolon(here)
            case ")" | "]" | "}":
                return self._closed(here, sign)
        return here.go("operand", prefix=(), plain=False, value=UNKNOWN)

    def _at_member(self, here: C, kind: int, sign: str, word: str) -> C | None:
        members = self.members(here, here.value, here.held)
        if not word or members is False:
            return None
        if members is None or isinstance(members, bool):
            return here.go("operator", value=UNKNOWN)
        found: Type | None = members.table.get(word)
        return None if found is None and word not in here.opens else here.go("operator", value=found or UNKNOWN)

    def _comma(self, here: C) -> C | None:
        top = here.top
        if top is None:
            return here.fresh("operand")
        match top.kind:
            case "call":
                arity = top.value.arity
                if arity is not None and arity.number is not None and not arity.more and top.seen + 1 >= arity.number:
                    return None
                return here.change(seen=top.seen + 1).fresh("operand")
            case "declaration":
                return self._next_declarator(here)
            case "enum":
                return here.fresh("enumerator")
            case "initializer":
                return here.fresh("operand")
        return here.go("operand", value=UNKNOWN, prefix=(), plain=False)

    def _colon(self, here: C) -> C | None:
        if here.kind == "?":
            return here.pop("operand")._replace(value=UNKNOWN, prefix=(), plain=False)
        if here.kind == "case":
            return here.pop("statement")
        return here.fresh("operand")

    def _closed(self, here: C, sign: str) -> C | None:
        """The state after a closing bracket."""
        top = here.top
        if top is None:
            return OPEN
        match top.kind:
            case "group":
                value = self.applied(here.prefix, here.value) if here.plain else UNKNOWN
                return here.pop("operator")._replace(value=value)
            case "call":
                return self._called(here, top)
            case "index":
                if top.role != "operator":
                    return here.pop(top.role)
                return here.pop("operator")._replace(value=top.value.target)
            case "initializer":
                return here.pop("operator")._replace(value=top.value)
            case "enum":
                return self._enum_ends(here)
            case "condition":
                return self._condition_ends(here)
            case "for(":
                return here.pop("statement")
        return OPEN

    def _called(self, here: C, top: Frame) -> C | None:
        """The state after the parenthesis that ends the arguments of a call."""
        arity = top.value.arity
        given = top.seen + (0 if here.at == "operand" and not here.prefix else 1)
        if arity is not None and arity.number is not None:
            if given < arity.number or (given > arity.number and not arity.more):
                return None
        return here.pop("operator")._replace(value=top.value.result)

    def _at_skip(self, here: C, kind: int, sign: str, word: str) -> C | None:
        """In brackets that are not read."""
        if sign in BRACKETS:
            return here.push(Frame("skip", role="skip"), "skip")
        if sign in (")", "]", "}"):
            assert here.frames is not None
            return here.pop(here.frames[0].role)
        return here

    def _cast(self, here: C, given: Type) -> C:
        """The state after a type in parentheses, at the parenthesis that closes them."""
        here = here.pop("operand")
        if here.prefix[-1:] == ("sizeof",):
            return here.go("operator", value=SCALAR, prefix=here.prefix[:-1])
        return here._replace(at="cast", prefix=(*here.prefix, given))

    def _at_cast(self, here: C, kind: int, sign: str, word: str) -> C | None:
        """After a type in parentheses: an operand, or the brace of a literal of this type."""
        if sign == "{":
            given = here.prefix[-1]
            assert isinstance(given, Type)
            return here._replace(prefix=here.prefix[:-1], value=given).push(Frame("initializer"), "operand")
        return self._at_operand(here.go("operand"), kind, sign, word)

    # -- parts of other tables -----------------------------------------------------------------------------------------

    def _declares(self, here: C, role: str, kind: int, sign: str, word: str) -> C | None:
        raise NotImplementedError

    def _opened_block(self, here: C, role: str) -> C | None:
        raise NotImplementedError

    def _next_declarator(self, here: C) -> C | None:
        raise NotImplementedError

    def _semicolon(self, here: C) -> C | None:
        raise NotImplementedError

    def _enum_ends(self, here: C) -> C | None:
        raise NotImplementedError

    def _condition_ends(self, here: C) -> C | None:
        raise NotImplementedError
