"""Expressions of templates. A method `_at_x` reads the lexeme after `at="x"` (monitor.py)."""

from __future__ import annotations

from constrain.monitors.jinja.scopes import Scopes
from constrain.monitors.jinja.state import J
from constrain.monitors.jinja.values import attribute, called, item, typed
from constrain.monitors.jinja.words import NO_ARGUMENT
from constrain.monitors.monitor import NAME, NUMBER, STRING

TEXT_VALUE = typed(str)
CALLS = ("call", "filter call")


class Expressions(Scopes):
    """How the lexemes of expressions change a state. filters, tests: their names."""

    filters: frozenset[str]
    tests: frozenset[str]

    def _at_operand(self, here: J, kind: int, sign: str, word: str) -> J | None:
        if word == "not":
            return here.go("operand", plain=False)
        if word and self._is_argument(here) and not self.is_known(here, word):
            return here._replace(at="keyword", held=word)
        if sign in ("*", "**"):  # of a call
            return here.go("operand", value=None)
        return self._at_term(here, kind, sign, word)

    def _at_term(self, here: J, kind: int, sign: str, word: str) -> J | None:
        """After a sign that no `not` follows."""
        if word:
            return self.used(here, word)
        if kind == STRING:
            return here.go("operator", value=TEXT_VALUE)
        if kind == NUMBER:
            return here.go("operator", value=None)
        if sign in ("(", "[", "{"):
            return here.push(sign, "operand")
        if sign in ("-", "+"):
            return here.go("term", plain=False)
        return self._at_operator(here, kind, sign, word)

    def _is_argument(self, here: J) -> bool:
        """Whether an argument of a call begins, which may have a name."""
        return here.at == "operand" and here.bracket in CALLS and here.held == "argument"

    def _at_keyword(self, here: J, kind: int, sign: str, word: str) -> J | None:
        """After a name that is not bound so far: it is that of an argument, or one that is put off."""
        after = here.go("operand") if sign == "=" else self.used(here, here.held)
        return after if sign == "=" or after is None else self._at_operator(after, kind, sign, word)

    def _at_operator(self, here: J, kind: int, sign: str, word: str) -> J | None:
        if kind == NAME:
            return self._operator_word(here, word)
        if kind in (STRING, NUMBER):  # strings side by side are one
            return here.go("operator", value=None)
        if sign == ".":
            return here.go("member")
        if sign == "(":
            result = None if here.value is None else called(here.value)
            return here.push("call", "operand", result)._replace(held="argument")
        if sign == "[":
            return here.push("item", "operand", None if here.value is None else item(here.value))
        if sign == "|":
            return here.go("filter")
        if sign in (")", "]", "}") and here.brackets is not None:
            return here.pop()
        if sign in (",", ":", "="):
            return self._separated(here, sign)
        return self._tag_sign(here, sign) if sign in ("}", "%}") else here.go("term", value=None, plain=False)

    def _separated(self, here: J, sign: str) -> J | None:
        """After a comma, a colon, or the `=` of an argument."""
        if here.brackets is None:
            return self._separated_outside(here, sign)
        bracket, brackets = here.brackets
        if sign == ":" and bracket.kind == "item":  # a slice
            here = here._replace(brackets=(bracket._replace(value=None), brackets))
        held = "argument" if sign == "," and bracket.kind in CALLS else ""
        return here.fresh(held=held, plain=sign != "," or bracket.kind != "(")

    def _operator_word(self, here: J, word: str) -> J | None:
        if word == "is":
            return here.go("test", plain=False)
        if word in ("and", "or", "in"):
            return here.go("term" if word == "in" else "operand", value=None, plain=False)
        if word == "not":
            return here.go("operator", value=None, plain=False)
        if word in ("if", "else") and not (word == "if" and self._is_filter_of_for(here)):
            return here.go("operand", value=None, plain=False, conditional=word == "if")
        return self._statement_word(here, word)

    @staticmethod
    def _is_filter_of_for(here: J) -> bool:
        return here.tag == "for" and here.is_given and here.brackets is None

    def _at_member(self, here: J, kind: int, sign: str, word: str) -> J | None:
        if kind == NUMBER:
            return here.go("operator", value=None if here.value is None else item(here.value))
        return here.go("operator", value=None if here.value is None else attribute(here.value, word))

    def _at_filter(self, here: J, kind: int, sign: str, word: str) -> J | None:
        return here._replace(at="filtered", held=here.held + word)

    def _at_filtered(self, here: J, kind: int, sign: str, word: str) -> J | None:
        """After the name of a filter, or its part before a dot."""
        if sign == ".":
            return here._replace(at="filter", held=here.held + ".")
        if here.held not in self.filters:
            return None
        here = here.go("operator", value=None)
        if sign == "(":
            return here.push("filter call", "operand")._replace(held="argument")
        return self._at_operator(here, kind, sign, word)

    def _at_test(self, here: J, kind: int, sign: str, word: str) -> J | None:
        if word == "not" and not here.held:
            return here._replace(held="not ")
        return here._replace(at="tested", held=here.held.removeprefix("not ") + word)

    def _at_tested(self, here: J, kind: int, sign: str, word: str) -> J | None:
        """After the name of a test, or its part before a dot: an argument without parentheses may follow."""
        if sign == ".":
            return here._replace(at="test", held=here.held + ".")
        if here.held not in self.tests:
            return None
        after = here.go("operator", value=None)
        if word and word not in NO_ARGUMENT:
            return self.used(after, word)
        if kind in (STRING, NUMBER) or sign in ("[", "{"):
            return self._at_term(after, kind, sign, word)
        return self._at_operator(after, kind, sign, word)

    # Of statements (statements.py)

    def _separated_outside(self, here: J, sign: str) -> J | None:
        raise NotImplementedError

    def _statement_word(self, here: J, word: str) -> J | None:
        raise NotImplementedError

    def _tag_sign(self, here: J, sign: str) -> J | None:
        raise NotImplementedError
