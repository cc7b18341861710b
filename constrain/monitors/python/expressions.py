"""Expressions of Python. A method `_at_x` reads the lexeme after `at="x"` (monitor.py)."""

from __future__ import annotations

from typing import Any

from constrain.monitors.monitor import END, NAME, NEWLINE, NUMBER, OTHER, STRING
from constrain.monitors.python.definitions import Attribute, Class, Self
from constrain.monitors.python.lexicon import FIELD, is_formatted, resumed
from constrain.monitors.python.members import Members
from constrain.monitors.python.naming import TARGETS
from constrain.monitors.python.scopes import NOTHING, Frame
from constrain.monitors.python.state import Py
from constrain.monitors.python.values import (
    Call,
    Value,
    instance_of,
)
from constrain.monitors.python.words import CONSTANTS, CONSUMERS, DOUBT, DYNAMIC, KEYWORDS, STORES

OPEN = {"(": "(", "[": "[", "{": "{"}
CLOSE = {")", "]", "}"}
SEPARATORS = CLOSE | {",", ":", "="}
TEXT, BYTES = instance_of(str), instance_of(bytes)
LIST, TUPLE, DICT, SET = (instance_of(cls) for cls in (list, tuple, dict, set))
WHOLE, REAL = instance_of(int), instance_of(float)


class Expressions(Members):
    """How the lexemes of expressions change a state."""

    # -- operands ------------------------------------------------------------------------------------------------------

    def _at_operand(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        if word:
            return self._word(here, word)
        if kind == STRING:
            return self._string(here, text)
        if kind == NUMBER:
            return self._number(here, text)
        if sign in OPEN:
            return here.push(Frame(sign, able=True), "operand")
        if sign in SEPARATORS:
            return self._separator(here, sign)
        if sign == "...":
            return here.go("operator", targets=False)
        return here.go("operand", plain=False, targets=here.targets and sign == "*")

    def _at_argument(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        call = here.frames[0].call if here.frames is not None else None
        assert call is not None
        if sign in ("*", "**"):
            return here.change(call=call._replace(unpacked=True)).go("operand")
        if word and word not in KEYWORDS:
            return here._replace(at="heldarg", held=word, value=None)
        if sign == ")":
            return self._close(here, sign)
        return self._at_operand(here._replace(at="operand"), kind, sign, word, text)

    def _word(self, here: Py, word: str) -> Py | None:
        """The state after a name or keyword where an operand may stand."""
        if word in CONSTANTS:
            return here.go("operator", targets=False)
        if word == "lambda":
            return here.push(Frame("lambda params"), "param", targets=False)
        if word == "for":  # after async
            return self._for(here)
        if word in KEYWORDS:
            return here.go("yield" if word == "yield" else "operand", plain=False, targets=False)
        if not self.strict and not here.doubt and DOUBT.search(word):
            here = here._replace(doubt=True)
        return here._replace(at="held", held=word, value=None)

    def _string(self, here: Py, text: bytes) -> Py:
        """The state after a string, or after its first piece."""
        if is_formatted(text) and text.endswith(FIELD):
            here = here.push(Frame("fstring", opening=resumed(text)), "operand", targets=False)
            return here.push(Frame("field"), "operand")
        value = BYTES if b"b" in text[:2].lower() and text[:1] not in b"'\"" else TEXT
        return here.go("operator", targets=False)._replace(value=value)

    def _number(self, here: Py, text: bytes) -> Py:
        if text.endswith(b"else"):
            return here.go("operand", plain=False, targets=False)
        is_whole = text.isdigit() or text[:2].lower() in (b"0x", b"0o", b"0b")
        return here.go("operator", targets=False)._replace(value=WHOLE if is_whole else None)

    def _at_fstring(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        if kind != STRING:
            return here
        if text.endswith(FIELD):
            return here.push(Frame("field"), "operand")
        return here.pop("operator")._replace(value=TEXT)

    def _at_spec(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        if kind == OTHER:
            return here.push(Frame("field"), "operand") if text.endswith(FIELD) else here.go("specdone")
        return self._close(here, sign) if sign == "}" else here

    _at_specdone = _at_spec

    # -- names ---------------------------------------------------------------------------------------------------------

    def _settled(self, here: Py, kind: int, sign: str) -> Py | None:
        """The state once the lexeme after a held name is known."""
        name = here.held
        if here.at == "heldarg":
            return self._argument_named(here, name, sign)
        if here.binding:
            if sign in (".", "[", "("):
                return self.used(here, name)
            return self.bound(here, name).go("operator")
        if sign == ":=":
            return self.assigned(here, name).go("operator")
        is_first = here.frames is None and here.head == "" and not here.binds and not here.uses
        if is_first and sign == ":" and here.targets:
            return here.go("operator", binds=frozenset({name}), target=name)
        if self.is_target(here) and (sign in (",", ")", "]", "=", ";") or kind in (NEWLINE, END)):
            found, value = self.find(here, name)
            if here.frames is not None and not found:
                return self.used(here, name)
            target = name if is_first and here.plain else ""
            return here.go("operator", uses=here.uses | {name}, target=target)._replace(value=value)
        after = self.used(here._replace(targets=False), name)
        if after is None:
            return None
        after = after._replace(targets=here.targets)
        if here.head == "del":
            return self.assigned(after, name)
        return after._replace(target=name, held=name) if is_first else after._replace(held=name)

    def _argument_named(self, here: Py, name: str, sign: str) -> Py | None:
        """The state after the first name of an argument: its keyword, or a name that is used."""
        assert here.frames is not None
        call = here.frames[0].call
        assert call is not None
        if sign == "=":
            names = call.names()
            if names is not None and name not in names and not self.doubts(here):
                return None
            call = call._replace(name=name, named=call.named | {name})
            return here.change(call=call)._replace(at="operator", held="")
        if call.is_full and not self.doubts(here):
            return None
        here = here._replace(at="held")
        if sign == ":=":
            return self.assigned(here, name).go("operator")
        if not self.strict and DOUBT.search(name):
            here = here._replace(doubt=True)
        after = self.used(here, name)
        return None if after is None else after._replace(held=name)

    def _at_dot(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        if not word:
            return here.go("operator")
        if not self.strict and (DOUBT.search(word) or word == "name"):  # os.name
            here = here._replace(doubt=True)
        if word in DYNAMIC:
            here = self.opened(here)
        if word in STORES:
            here = self.stored(here, Attribute("*", None, False))
        if here.binding or self.is_target(here):
            return here._replace(at="attribute", held=word)
        return here._replace(at="operator", held=word, value=self.attribute_at(here, here.value, word))

    def _attribute_settled(self, here: Py, kind: int, sign: str) -> Py | None:
        """The state once the lexeme after a held attribute shows whether it is stored."""
        name, value = here.held, here.value
        names = None if value is None or self.doubts(here) else self.attributes_at(here, value)
        is_missing = names is not None and name not in names
        given = Attribute(name, value.depth if isinstance(value, Self) else None, is_missing)
        after = here._replace(at="operator", value=self.attribute_at(here, value, name))
        if here.binding and (kind == NAME or sign in (",", ")", "]", ":")):
            return self.stored(after, given)
        if not here.binding and sign == ":" and here.frames is None and here.head == "":
            return after._replace(binds=here.binds | {given})
        if not here.binding and sign in ("=", ",", ")", "]"):
            return self.missing(after, (given,))
        return None if is_missing else after

    def _separator(self, here: Py, sign: str) -> Py | None:
        """What ends an operand, or stands where one may be left out."""
        match sign:
            case ",":
                return self._comma(here)
            case ":":
                return self._colon(here)
            case "=":
                return self._equals(here)
        return self._close(here, sign)

    # -- operators -----------------------------------------------------------------------------------------------------

    def _at_operator(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        if kind == STRING:
            return self._string(here, text)
        if word:
            return self._operator_word(here, word)
        if kind != 0 and not sign:
            return here
        if sign == ".":
            return here._replace(at="dot", target="")
        if sign == "(":
            return self._call(here)
        if sign == "[":
            return here.push(Frame("index"), "operand", target="")
        if sign in SEPARATORS:
            return self._separator(here, sign)
        if sign == "!":
            return here.go("conversion")
        if sign.endswith("=") and sign not in ("==", "!=", "<=", ">=", ":="):  # an augmented assignment
            here = self.assigned(here, here.target) if here.target else here
            return here.go("operand", targets=False, target="", plain=False)
        return here.go("operand", plain=False, targets=False)

    def _at_conversion(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        return here.go("operator")

    def _operator_word(self, here: Py, word: str) -> Py | None:
        if word == "for":
            return self._for(here)
        if word == "as":
            return here.go("operand", binding=True)
        if word == "in" and here.binding:
            return here.go("operand", binding=False, plain=False)
        if word == "not":  # in
            return here.go("not", plain=False, targets=False)
        return here.go("operand" if word != "async" else "operator", plain=False, targets=False)

    def _at_not(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        return here.go("operand")

    def _at_yield(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        return (
            here.go("operand")
            if word == "from"
            else self._at_operand(here._replace(at="operand"), kind, sign, word, text)
        )

    def _for(self, here: Py) -> Py:
        """The state after the `for` of a comprehension."""
        while here.kind == "lambda":
            here = here.pop("operator")
        if here.frames is None:
            return here.go("operand", binding=True)
        return here.change(comprehends=True, able=True).go("operand", binding=True, plain=False)

    def _call(self, here: Py) -> Py:
        """The state after the parenthesis that begins the arguments of a call."""
        value, name = here.value, here.held
        call = Call() if value is None else self.call_at(here, value)
        able = not self.strict or (name in CONSUMERS)
        if here.head == "class" and here.frames is None and here.value is None:
            able = False
        return here.push(Frame("call", able=able, call=call), "argument", targets=here.targets)

    # -- what ends a part ----------------------------------------------------------------------------------------------

    def _without_lambda(self, here: Py) -> Py:
        """The state after the lambdas that end here."""
        while here.kind == "lambda":
            here = here.pop("operator")
        return here

    def _comma(self, here: Py) -> Py | None:
        here = self._without_lambda(here)
        top = here.top
        if top is None:
            return here.go("operand", plain=False, binding=here.binding and here.head != "with")
        if top.kind in ("params", "lambda params"):
            return here.go("param", lazy=False)
        if top.kind == "typeparams":
            return here.go("typeparam")
        if top.comprehends and here.binding:
            return here.go("operand")
        if here.head == "with" and here.binding:
            here = here._replace(binding=top.binding)
        after: Py | None = here
        if not top.comprehends:
            after = self.resolved(here.change(able=False, uses=NOTHING, commas=True), top.uses)
        if after is not None and top.call is not None:
            after = self._argued(after)
            return None if after is None else after.go("argument", plain=here.head == "class" or here.plain)
        return None if after is None else after.go("operand")

    def _argued(self, here: Py) -> Py | None:
        """The state after an argument."""
        top = here.top
        assert top is not None and top.call is not None
        call = top.call
        if here.at == "argument":
            return here
        if call.name is None:
            call = call._replace(given=call.given + 1)
            if here.head == "class" and here.frames is not None and here.frames[1] is None:
                call = call._replace(values=(*call.values, here.value if here.plain else None))
        return here.change(call=call._replace(name=None, plain=call.plain and _is_plain(here.value)))

    def _colon(self, here: Py) -> Py | None:
        here = self._without_lambda(here)
        top = here.top
        if top is None:
            return self._head_ends(here)
        if top.kind == "lambda params":
            here = here.pop("operand")
            return here.push(Frame("lambda", names=top.names), "operand")
        if top.kind == "field":
            return here.go("spec")
        if top.kind == "params":
            return here.go("operand", lazy=True)
        return here.change(pairs=True).go("operand")

    def _equals(self, here: Py) -> Py | None:
        top = here.top
        if top is None:
            return self._assigns(here)
        if top.kind == "field":  # {x=}
            return here.go("operator")
        if top.kind == "params":
            here = here.change(listed=(*top.listed[:-1], top.listed[-1] + "="))
        return here.go("operand", lazy=False)

    def _assigns(self, here: Py) -> Py | None:
        """The state after = in a statement. What it binds is bound when the statement ends."""
        is_single = here.target and (here.uses == {here.target} or here.lazy) and here.binds <= {here.target}
        return here.go(
            "operand", binds=here.binds | here.uses, uses=NOTHING, target=here.target if is_single else "",
            plain=True, lazy=False, head="", targets=not self.strict,
        )  # fmt: skip

    def _head_ends(self, here: Py) -> Py | None:
        raise NotImplementedError

    def _close(self, here: Py, sign: str) -> Py | None:
        """The state after a closing bracket."""
        here = self._without_lambda(here)
        top = here.top
        if top is None:
            return here
        if top.kind == "params":
            return here.pop("header")._replace(params=top.listed, lazy=False)
        if top.kind == "names":
            return here.pop("operator")
        if top.kind == "typeparams":
            return here.pop("typed")
        if top.kind == "field":
            return self._field_closed(here)
        if top.call is not None:
            argued = self._argued(here)
            assert argued is not None
            here, top = argued, argued.top
            assert top is not None and top.call is not None
            if not top.call.is_complete and not self.doubts(here):
                return None
        if top.call is not None and top.call.is_full and top.call.signature is not None:
            most = top.call.signature.most
            if most is not None and top.call.given > most and not self.doubts(here):
                return None
        uses = top.uses - top.names
        value = self._closed_value(here, top)
        outer = here.pop("operator")
        is_target = outer.targets and top.kind in TARGETS and not top.comprehends
        put_off = top.comprehends and top.kind in ("(", "call")
        after = self.resolved(outer._replace(targets=is_target), uses, put_off=put_off)
        if after is None:
            return None
        after = after._replace(targets=outer.targets)
        if here.head == "class" and top.call is not None and after.frames is None:
            after = after._replace(params=top.call)
        return after._replace(value=value)

    def _closed_value(self, here: Py, top: Frame) -> Any:
        if top.kind == "call":
            return None if top.call is None else top.call.result
        if top.kind == "[":
            return LIST
        if top.kind == "{":
            return DICT if top.pairs else None
        return None

    def _field_closed(self, here: Py) -> Py:
        here = here.pop("fstring")
        return here if here.kind == "fstring" else here.go("spec")


def _is_plain(value: Any) -> bool:
    """Whether a value is a class whose metaclass gives no names to the bodies of its classes."""
    if isinstance(value, Class):
        return value.bases is not None
    if not isinstance(value, Value) or value.role != "object" or not isinstance(value.what.obj, type):
        return False
    return type(value.what.obj).__prepare__ == type.__prepare__ if type(value.what.obj) is not type else True
