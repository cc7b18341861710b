"""Expressions of templates. A method `_at_x` reads the lexeme after `at="x"` (monitor.py)."""

from __future__ import annotations

from collections.abc import Callable

from constrain.monitors.jinja.scopes import JinjaScopes
from constrain.monitors.jinja.state import JinjaBracket, JinjaState
from constrain.monitors.jinja.values import attribute, call_result, item, typed_value
from constrain.monitors.jinja.words import NO_ARGUMENT
from constrain.monitors.monitor import NAME, NUMBER, STRING

TEXT_VALUE = typed_value(str)
CALLS = ("call", "filter call")


class JinjaExpressions(JinjaScopes):
    """The steps of a state over the lexemes of expressions. filters, tests: their names."""

    filters: frozenset[str]
    tests: frozenset[str]
    # Steps of `JinjaStatements`
    _separate_outside: Callable[[JinjaState, str], JinjaState | None]
    _statement_word: Callable[[JinjaState, str], JinjaState | None]
    _tag_sign: Callable[[JinjaState, str], JinjaState | None]

    def _at_operand(self, state: JinjaState, kind: int, sign: str, word: str) -> JinjaState | None:
        if word == "not":
            return state.go("operand", plain=False)
        if word and self._is_argument(state) and not self.is_known(state, word):
            return state._replace(at="keyword", held=word)
        if sign in ("*", "**"):  # of a call
            return state.go("operand", value=None)
        return self._at_term(state, kind, sign, word)

    def _at_term(self, state: JinjaState, kind: int, sign: str, word: str) -> JinjaState | None:
        """Read an operand after a sign that no `not` follows."""
        if word:
            return self.use(state, word)
        if kind == STRING:
            return state.go("operator", value=TEXT_VALUE)
        if kind == NUMBER:
            return state.go("operator", value=None)
        if sign in ("(", "[", "{"):
            return state.push(JinjaBracket(sign), "operand")
        if sign in ("-", "+"):
            return state.go("term", plain=False)
        return self._at_operator(state, kind, sign, word)

    def _is_argument(self, state: JinjaState) -> bool:
        """True if an argument of a call begins, which may have a name."""
        return state.at == "operand" and state.kind in CALLS and state.held == "argument"

    def _at_keyword(self, state: JinjaState, kind: int, sign: str, word: str) -> JinjaState | None:
        """Read what follows a name that is not bound so far: it names an argument, or is put off."""
        after = state.go("operand") if sign == "=" else self.use(state, state.held)
        return after if sign == "=" or after is None else self._at_operator(after, kind, sign, word)

    def _at_operator(self, state: JinjaState, kind: int, sign: str, word: str) -> JinjaState | None:
        if kind == NAME:
            return self._operator_word(state, word)
        if kind in (STRING, NUMBER):  # strings side by side are one
            return state.go("operator", value=None)
        if sign == ".":
            return state.go("member")
        if sign == "(":
            result = None if state.value is None else call_result(state.value)
            return state.push(JinjaBracket("call", result), "operand")._replace(held="argument")
        if sign == "[":
            return state.push(JinjaBracket("item", None if state.value is None else item(state.value)), "operand")
        if sign == "|":
            return state.go("filter")
        if sign in (")", "]", "}") and state.frames is not None:
            return state.close()
        if sign in (",", ":", "="):
            return self._separate(state, sign)
        return self._tag_sign(state, sign) if sign in ("}", "%}") else state.go("term", value=None, plain=False)

    def _separate(self, state: JinjaState, sign: str) -> JinjaState | None:
        """The state after a comma, a colon, or the `=` of an argument."""
        if state.frames is None:
            return self._separate_outside(state, sign)
        bracket, brackets = state.frames
        if sign == ":" and bracket.kind == "item":  # a slice
            state = state._replace(frames=(bracket._replace(value=None), brackets))
        held = "argument" if sign == "," and bracket.kind in CALLS else ""
        return state.fresh("operand", held=held, plain=sign != "," or bracket.kind != "(")

    def _operator_word(self, state: JinjaState, word: str) -> JinjaState | None:
        if word == "is":
            return state.go("test", plain=False)
        if word in ("and", "or", "in"):
            return state.go("term" if word == "in" else "operand", value=None, plain=False)
        if word == "not":
            return state.go("operator", value=None, plain=False)
        if word in ("if", "else") and not (word == "if" and self._is_filter_of_for(state)):
            return state.go("operand", value=None, plain=False, conditional=word == "if")
        return self._statement_word(state, word)

    @staticmethod
    def _is_filter_of_for(state: JinjaState) -> bool:
        return state.tag == "for" and state.is_given and state.frames is None

    def _at_member(self, state: JinjaState, kind: int, sign: str, word: str) -> JinjaState | None:
        if kind == NUMBER:
            return state.go("operator", value=None if state.value is None else item(state.value))
        return state.go("operator", value=None if state.value is None else attribute(state.value, word))

    def _at_filter(self, state: JinjaState, kind: int, sign: str, word: str) -> JinjaState | None:
        return state._replace(at="filtered", held=state.held + word)

    def _at_filtered(self, state: JinjaState, kind: int, sign: str, word: str) -> JinjaState | None:
        """Read what follows the name of a filter, or its part before a dot."""
        if sign == ".":
            return state._replace(at="filter", held=state.held + ".")
        if state.held not in self.filters:
            return None
        state = state.go("operator", value=None)
        if sign == "(":
            return state.push(JinjaBracket("filter call"), "operand")._replace(held="argument")
        return self._at_operator(state, kind, sign, word)

    def _at_test(self, state: JinjaState, kind: int, sign: str, word: str) -> JinjaState | None:
        if word == "not" and not state.held:
            return state._replace(held="not ")
        return state._replace(at="tested", held=state.held.removeprefix("not ") + word)

    def _at_tested(self, state: JinjaState, kind: int, sign: str, word: str) -> JinjaState | None:
        """Read what follows the name of a test, or its part before a dot: an argument may have no parentheses."""
        if sign == ".":
            return state._replace(at="test", held=state.held + ".")
        if state.held not in self.tests:
            return None
        after = state.go("operator", value=None)
        if word and word not in NO_ARGUMENT:
            return self.use(after, word)
        if kind in (STRING, NUMBER) or sign in ("[", "{"):
            return self._at_term(after, kind, sign, word)
        return self._at_operator(after, kind, sign, word)
