"""Expressions of Python. A method `_at_x` reads the lexeme after `at="x"` (monitor.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from constrain.monitors.monitor import END, NAME, NEWLINE, NUMBER, OTHER, STRING
from constrain.monitors.python.definitions import Attribute, Class, Self
from constrain.monitors.python.hints import ABSENT, NOTHING_KNOWN
from constrain.monitors.python.lexicon import FIELD, is_formatted, next_piece
from constrain.monitors.python.members import PythonMembers
from constrain.monitors.python.naming import TARGETS
from constrain.monitors.python.scopes import NOTHING, PythonFrame
from constrain.monitors.python.state import PythonState
from constrain.monitors.python.typed import class_with_arguments, item
from constrain.monitors.python.values import PythonCall, PythonValue, instance_of
from constrain.monitors.python.words import COLLECTORS, CONSTANTS, CONSUMERS, DYNAMIC, GUARD, KEYWORDS, STORES

OPEN = {"(": "(", "[": "[", "{": "{"}
CLOSE = {")", "]", "}"}
SEPARATORS = CLOSE | {",", ":", "="}
TEXT, BYTES = instance_of(str), instance_of(bytes)
LIST, DICT, SET = (instance_of(cls) for cls in (list, dict, set))
WHOLE = instance_of(int)
CONSTANT_VALUES = {"None": ABSENT, "True": instance_of(bool), "False": instance_of(bool)}


class PythonExpressions(PythonMembers):
    """The steps of a state over the lexemes of expressions."""

    _head_ends: Callable[[PythonState], PythonState | None]  # of `PythonStatements`

    # -- operands ------------------------------------------------------------------------------------------------------

    def _at_operand(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        if word:
            return self._read_word(state, word)
        if kind == STRING:
            return self._read_string(state, text)
        if kind == NUMBER:
            return self._read_number(state, text)
        if sign in OPEN:
            return state.push(PythonFrame(sign, able=True, generates=True), "operand")
        if sign in SEPARATORS:
            return self._separator(state, sign)
        if sign == "...":
            return state.go("operator", targets=False)
        return state.go("operand", plain=False, targets=state.targets and sign == "*")

    def _at_argument(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        call = state.call
        assert call is not None
        if sign in ("*", "**"):
            return state.change(call=call._replace(unpacked=True)).go("operand")
        if word and word not in KEYWORDS:
            return state._replace(at="heldarg", held=word, value=None)
        if sign == ")":
            return self._close(state, sign)
        return self._at_operand(state._replace(at="operand"), kind, sign, word, text)

    def _at_annotation(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        return self._read_string(state, text)

    def _read_word(self, state: PythonState, word: str) -> PythonState | None:
        """The state after a name or keyword where an operand may stand."""
        if word in CONSTANTS:
            after = state.go("operator", targets=False)
            return after._replace(value=CONSTANT_VALUES[word]) if self.declares else after
        if word == "lambda":
            return state.push(PythonFrame("lambda params"), "param", targets=False)
        if word == "for":  # after async
            return self._begin_comprehension(state)
        if word in KEYWORDS:
            return state.go("yield" if word == "yield" else "operand", plain=False, targets=False)
        if not self.strict and not state.doubt and self.doubt_words.search(word):
            state = state._replace(doubt=True)
        return state._replace(at="held", held=word, value=None)

    def _read_string(self, state: PythonState, text: bytes) -> PythonState:
        """The state after a string, or after its first piece."""
        if is_formatted(text) and text.endswith(FIELD):
            state = state.push(PythonFrame("fstring", opening=next_piece(text)), "operand", targets=False)
            return state.push(PythonFrame("field"), "operand")
        value = BYTES if b"b" in text[:2].lower() and text[:1] not in b"'\"" else TEXT
        return state.go("operator", targets=False)._replace(value=value)

    def _read_number(self, state: PythonState, text: bytes) -> PythonState:
        if text.endswith(b"else"):
            return state.go("operand", plain=False, targets=False)
        is_whole = text.isdigit() or text[:2].lower() in (b"0x", b"0o", b"0b")
        return state.go("operator", targets=False)._replace(value=WHOLE if is_whole else None)

    def _at_fstring(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        if kind != STRING:
            return state
        if text.endswith(FIELD):
            return state.push(PythonFrame("field"), "operand")
        return state.pop("operator")._replace(value=TEXT)

    def _at_spec(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        if kind == OTHER:
            return state.push(PythonFrame("field"), "operand") if text.endswith(FIELD) else state.go("specdone")
        return self._close(state, sign) if sign == "}" else state

    _at_specdone = _at_spec

    # -- names ---------------------------------------------------------------------------------------------------------

    def _settle_name(self, state: PythonState, kind: int, sign: str) -> PythonState | None:
        """The state once the lexeme after a held name is known."""
        name = state.held
        if state.at == "heldarg":
            return self._settle_argument(state, name, sign)
        if state.binding:
            if sign in (".", "[", "("):
                return self.use(state, name)
            return self.bind(self.note_target(state, name), name, state.source).go("operator")
        if sign == ":=":
            return self.assign(state, name).go("operator")
        is_first = state.frames is None and state.head == "" and not state.binds and not state.uses
        if is_first and sign == ":" and state.targets:
            return state.go("operator", binds=frozenset({name}), target=name)
        if self.is_target(state) and (sign in (",", ")", "]", "=", ";") or kind in (NEWLINE, END)):
            is_bound, value = self.find(state, name)
            if state.frames is not None and not is_bound:
                return self.use(state, name)
            target = name if is_first and state.plain else ""
            return state.go("operator", uses=state.uses | {name}, target=target)._replace(value=value)
        after = self.use(state._replace(targets=False), name)
        if after is None:
            return None
        after = after._replace(targets=state.targets)
        if state.head == "del":
            return self.assign(after, name)
        return after._replace(target=name, held=name) if is_first else after._replace(held=name)

    def _settle_argument(self, state: PythonState, name: str, sign: str) -> PythonState | None:
        """The state after the first name of an argument: its keyword, or a name that is used."""
        call = state.call
        assert call is not None
        if sign == "=":
            names = call.names()
            if names is not None and name not in names and not self.doubts(state):
                return None
            call = call._replace(name=name, named=call.named | {name})
            return state.change(call=call)._replace(at="operator", held="")
        if call.is_full and not self.doubts(state):
            return None
        state = state._replace(at="held")
        if sign == ":=":
            return self.assign(state, name).go("operator")
        if not self.strict and self.doubt_words.search(name):
            state = state._replace(doubt=True)
        after = self.use(state, name)
        return None if after is None else after._replace(held=name)

    def _at_dot(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        if not word:
            return state.go("operator")
        if not self.strict and (self.doubt_words.search(word) or word == "name"):  # os.name
            state = state._replace(doubt=True)
        if word in DYNAMIC:
            state = self.open_module(state)
        if word in STORES:
            state = self.store(state, Attribute("*", None, False))
        if state.binding or self.is_target(state):
            return state._replace(at="attribute", held=word)
        after = self.owe(state, state.value, word)
        return after._replace(at="operator", held=word, value=self.attribute_at(state, state.value, word))

    def _settle_attribute(self, state: PythonState, kind: int, sign: str) -> PythonState | None:
        """The state once the lexeme after a held attribute shows whether it is stored."""
        name, value = state.held, state.value
        names = self.attributes_at(state, value) if self.judges(state, value) else None
        is_stub = state.lazy and not self.strict and name.startswith("_")  # annotations may use private names of stubs
        is_missing = names is not None and name not in names and not is_stub
        attribute = Attribute(name, value.depth if isinstance(value, Self) else None, is_missing)
        after = state._replace(at="operator", value=self.attribute_at(state, value, name))
        if state.binding and (kind == NAME or sign in (",", ")", "]", ":")):
            return self.store(after, attribute)
        if not state.binding and sign == ":" and state.frames is None and state.head == "":
            return after._replace(binds=state.binds | {attribute})
        if not state.binding and sign in ("=", ",", ")", "]"):
            return self.postpone(after, (attribute,))
        return None if is_missing else self.owe(after, value, name)

    def _separator(self, state: PythonState, sign: str) -> PythonState | None:
        """The state after a sign that ends an operand, or stands where one may be left out."""
        match sign:
            case ",":
                return self._comma(state)
            case ":":
                return self._colon(state)
            case "=":
                return self._equals(state)
        return self._close(state, sign)

    # -- operators -----------------------------------------------------------------------------------------------------

    def _at_operator(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        if kind == STRING:
            return self._read_string(state, text)
        if word:
            return self._operator_word(state, word)
        if kind != 0 and not sign:
            return state
        if sign == ".":
            return state._replace(at="dot", target=state.target if state.binds else "")
        if sign == "(":
            return self._begin_call(state)
        if sign == "[":
            frame = PythonFrame("index", of=state.value, name=state.held) if self.declares else PythonFrame("index")
            return state.push(frame, "operand", target=state.target if state.binds else "")
        if sign in SEPARATORS:
            return self._separator(state, sign)
        if sign == "!":
            return state.go("conversion")
        if sign.endswith("=") and sign not in ("==", "!=", "<=", ">=", ":="):  # an augmented assignment
            state = self.assign(state, state.target) if state.target else state
            return state.go("operand", targets=False, target="", plain=False)
        return state.go("operand", plain=False, targets=False)

    def _at_conversion(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        return state.go("operator")

    def _operator_word(self, state: PythonState, word: str) -> PythonState | None:
        if self.declares and state.frames is not None and state.frame.loop and not state.binding:
            state = self.bind_in_comprehension(state)
        if word == "for":
            return self._begin_comprehension(state)
        if word == "as":
            return state.go("operand", binding=True, source=self.source(state))
        if word == "in" and state.binding:
            return state.go("operand", binding=False, plain=self.declares)
        if word == "not":  # in
            return state.go("not", plain=False, targets=False)
        return state.go("operand" if word != "async" else "operator", plain=False, targets=False)

    def _at_not(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        return state.go("operand")

    def _at_yield(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        if word == "from":
            return state.go("operand")
        return self._at_operand(state._replace(at="operand"), kind, sign, word, text)

    def _begin_comprehension(self, state: PythonState) -> PythonState:
        """The state after the `for` of a comprehension."""
        while state.kind == "lambda":
            state = state.pop("operator")
        if state.frames is None:
            return state.go("operand", binding=True)
        return state.change(comprehends=True, able=True).go("operand", binding=True, plain=False)

    def _begin_call(self, state: PythonState) -> PythonState:
        """The state after the parenthesis that begins the arguments of a call."""
        value, name = state.value, state.held
        call = PythonCall() if value is None else self.call_at(state, value)
        if value is None and self.declares and GUARD.match(name):
            call = call._replace(of=NOTHING_KNOWN)
        able = not self.strict or (name in CONSUMERS)
        if state.head == "class" and state.frames is None and state.value is None:
            able = False
        frame = PythonFrame("call", able=able, call=call, generates=name in CONSUMERS or name in COLLECTORS)
        return state.push(frame, "argument", targets=state.targets)

    # -- what ends a part ----------------------------------------------------------------------------------------------

    def _leave_lambdas(self, state: PythonState) -> PythonState:
        """The state after the lambdas that end here."""
        while state.kind == "lambda":
            state = state.pop("operator")
        return state

    def _comma(self, state: PythonState) -> PythonState | None:
        state = self._leave_lambdas(state)
        top = state.top
        if top is None:
            is_with = state.head == "with"
            return state.go("operand", plain=self.declares and is_with, binding=state.binding and not is_with)
        if top.kind in ("params", "lambda params"):
            return self.parameter_ends(state).go("param", lazy=False)
        if top.kind == "typeparams":
            return state.go("typeparam")
        if top.comprehends and state.binding:
            return state.go("operand")
        if state.head == "with" and state.binding:
            state = state._replace(binding=top.binding)
        after: PythonState | None = state
        if not top.comprehends:
            after = self.resolve(state.change(able=False, uses=NOTHING, commas=True), top.uses)
        if after is not None and top.call is not None:
            after = self._end_argument(after)
            return None if after is None else after.go("argument", plain=True)
        return None if after is None else after.go("operand")

    def _end_argument(self, state: PythonState) -> PythonState:
        """The state after an argument."""
        call = state.call
        assert call is not None
        if state.at == "argument":
            return state
        if self.declares and call.of is not None and call.name is None:
            state, call = self.test_ends(state, call)
        if call.name is None:
            call = call._replace(by_position=call.by_position + 1)
            is_class = state.head == "class" and state.frames is not None and state.frames[1] is None
            if is_class or call.of is not None:
                is_plain = state.plain and not state.frame.comprehends
                call = call._replace(values=(*call.values, state.value if is_plain else None))
        return state.change(call=call._replace(name=None, plain=call.plain and _is_plain(state.value)))

    def _colon(self, state: PythonState) -> PythonState | None:
        state = self._leave_lambdas(state)
        top = state.top
        if top is None:
            return self._head_ends(state)
        if top.kind == "lambda params":
            state = state.pop("operand")
            return state.push(PythonFrame("lambda", names=top.names), "operand")
        if top.kind == "field":
            return state.go("spec")
        if top.kind == "params":
            return state.go("operand", lazy=True)
        return state.change(pairs=True).go("operand")

    def _equals(self, state: PythonState) -> PythonState | None:
        top = state.top
        if top is None:
            return self._begin_assignment(state)
        if top.kind == "field":  # {x=}
            return state.go("operator")
        if top.kind == "params":
            state = self.parameter_ends(state)
            state = state.change(listed=(*top.listed[:-1], top.listed[-1] + "="))
        return state.go("operand", lazy=False)

    def _begin_assignment(self, state: PythonState) -> PythonState | None:
        """The state after = in a statement: its targets are bound when the statement ends."""
        is_single = state.target and (state.uses == {state.target} or state.lazy) and state.binds <= {state.target}
        return state.go(
            "operand", binds=state.binds | state.uses, uses=NOTHING, target=state.target if is_single else "",
            plain=True, lazy=False, head="", targets=not self.strict,
        )  # fmt: skip

    def _close(self, state: PythonState, sign: str) -> PythonState | None:
        """The state after a closing bracket."""
        state = self._leave_lambdas(state)
        top = state.top
        if top is None:
            return state
        if top.kind == "params":
            return self.parameter_ends(state).pop("header")._replace(params=top.listed, lazy=False)
        if top.kind == "names":
            return state.pop("operator")
        if top.kind == "typeparams":
            return state.pop("typed")
        if top.kind == "field":
            return self._close_field(state)
        if top.call is not None:
            state = self._end_argument(state)
            top = state.frame
            if top.call is not None and not top.call.is_valid and not self.doubts(state):
                return None
        uses = top.uses - top.names
        value = self._bracket_value(state, top)
        outer = state.pop("operator")
        is_target = outer.targets and top.kind in TARGETS and not top.comprehends
        put_off = top.comprehends and top.kind in ("(", "call")
        after = self.resolve(outer._replace(targets=is_target), uses, put_off=put_off)
        if after is None:
            return None
        after = after._replace(targets=outer.targets)
        if state.head == "class" and top.call is not None and after.frames is None:
            after = after._replace(params=top.call)
        return after._replace(value=value, held=top.name)

    def _bracket_value(self, state: PythonState, top: PythonFrame) -> Any:
        if top.kind == "call":
            return None if top.call is None else self.result_at(state, top.call)
        if top.kind == "index" and top.of is not None:
            of = self.resolved(state, top.of)
            return class_with_arguments(of) or item(of, top.pairs)
        if top.kind == "(" and self.declares and state.plain and not top.commas and not top.comprehends:
            return state.value
        if top.kind == "[":
            return LIST
        if top.kind == "{":
            return DICT if top.pairs else None
        return None

    def _close_field(self, state: PythonState) -> PythonState:
        state = state.pop("fstring")
        return state if state.kind == "fstring" else state.go("spec")


def _is_plain(value: Any) -> bool:
    """True if a value is a class whose metaclass gives no names to the bodies of its classes."""
    if isinstance(value, Class):
        return value.bases is not None
    if not isinstance(value, PythonValue) or value.role != "object" or not isinstance(value.what.obj, type):
        return False
    return type(value.what.obj).__prepare__ == type.__prepare__ if type(value.what.obj) is not type else True
