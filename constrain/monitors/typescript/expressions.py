"""Expressions: what follows an operand, and what a whole expression is for.

`_finish` applies all operators of an expression; `_ends` then gives it to the `_end_x` of the frame that it stands in,
if the frame's goal takes its type.
"""

from __future__ import annotations

from collections.abc import Callable

from constrain.monitors.monitor import NAME, SIGN
from constrain.monitors.typescript.calls import Calls
from constrain.monitors.typescript.flow import assigned, doubt, equal, falsy, join, narrowed, of_class, truthy, typed
from constrain.monitors.typescript.naming import TsLexeme
from constrain.monitors.typescript.operators import (
    ADDING,
    ASSIGNING,
    EQUALITY,
    PRECEDENCE,
    applied,
    applied_before,
    either,
    fits_result,
    may_be_tested,
    takes_left,
)
from constrain.monitors.typescript.relations import (
    is_assignable,
    is_number,
    signature_of,
)
from constrain.monitors.typescript.state import OPEN, TsFrame, Value, When
from constrain.monitors.typescript.state import TypeScriptState as S
from constrain.monitors.typescript.types import (
    ANY,
    BOOLEAN,
    NUMBER,
    STRING,
    VOID,
    TsSignature,
    TsType,
    constituents,
    function,
    plain,
    union,
    widen,
)

ENDS = frozenset({")", "]", "}", ";", ",", ":"})
LOWER = frozenset({"else", "assign", "body"})  # frames that end with the expression in them


class Expressions(Calls):
    """The steps of a state over the lexemes behind operands."""

    # Steps of other parts
    _arrow_block: Callable[[S], S]
    bind_pending: Callable[[S, TsType], S]

    def _at_operator(self, state: S, lexeme: TsLexeme) -> S | None:
        sign = lexeme.sign or lexeme.word
        value = state.value
        if sign in ENDS:
            return self._ends(state, lexeme)
        if value.form == "arrow" or lexeme.kind not in (SIGN, NAME) or (lexeme.word and sign != "instanceof"):
            return None
        if value.form == "stepped" and sign in (".", "(", "[", "++", "--"):
            return None
        match sign:
            case ".":
                return self._dot(state)
            case "(":
                signature = signature_of(value.type, state.types)
                return None if signature is False else self._call(state, value, signature, None)
            case "[":
                return self._begin_index(state)
            case "++" | "--":
                return self._step(state, value)
            case "?":
                return self._question(state)
        if sign in PRECEDENCE:
            return self._binary(state, sign)
        if sign in ASSIGNING:
            return self._assign(state, sign)
        return None if sign in ("=>", "...") else OPEN

    # -- operators -----------------------------------------------------------------------------------------------------

    def _reduce(self, state: S, level: int) -> S | None:
        """The state after the operators that bind at least as strongly as a level are applied."""
        while state.kind in ("binary", "unary"):
            frame = state.frame
            if frame.kind == "binary" and PRECEDENCE[frame.sign] < level:
                return state
            value = self._unary(state, frame) if frame.kind == "unary" else self._pair(state, frame)
            if value is None:
                return None
            state = state.pop("operator", value=value) if frame.kind == "unary" else self._leave_binary(state, value)
        return state

    def _leave_binary(self, state: S, value: Value) -> S:
        frame = state.frame
        if frame.sign in ("&&", "||", "??"):  # what stands behind it may not have run
            yes, no = self._split(state.pop("operator", facts=frame.facts), frame.value)
            skipped = no if frame.sign == "&&" else yes if frame.sign == "||" else frame.facts
            return state.pop("operator", value=value, facts=join(skipped, state.facts))
        return state.pop("operator", value=value)

    def _unary(self, state: S, frame: TsFrame) -> Value | None:
        value = state.value
        type_ = applied_before(frame.sign, value, state.types)
        if type_ is None:
            return None
        if frame.sign == "!":
            yes, no = self._split(state, value)
            return Value(type_, when=(no, yes))
        if frame.sign == "typeof":
            return Value(type_, form="typeof", base=value)
        return Value(type_)

    def _pair(self, state: S, frame: TsFrame) -> Value | None:
        """The value of two operands and the operator between them."""
        left, right = frame.value, state.value
        type_ = applied(frame.sign, left.type, right.type, state.types)
        if type_ is None:
            return None
        if frame.sign in EQUALITY:
            if not takes_left(frame.sign, right, state.types):
                return None
            return Value(type_, when=self._compared(state, frame.sign, left, right))
        if frame.sign == "instanceof" and right.type.kind == "class":
            definition = state.types.table[right.type.name]
            instance = TsType("named", right.type.name, (ANY,) * len(definition.generics))
            changes = of_class(instance, state.types)
            yes, no = (narrowed(state.facts, left, change, state.types) for change in changes)
            return Value(type_, when=(yes, no))
        if frame.sign in ("&&", "||"):
            outer = state.pop("operator", facts=frame.facts)
            (yes, no), (then, otherwise) = self._split(outer, left), self._split(state, right)
            when = (then, join(no, otherwise)) if frame.sign == "&&" else (join(yes, then), otherwise)
            return Value(type_, when=when, name=frame.sign)
        return Value(type_, name=frame.sign if frame.sign == "??" else "")

    def _compared(self, state: S, sign: str, left: Value, right: Value) -> When:
        """The facts where `===` between two values is true, and where it is false."""
        yes = no = state.facts
        for value, other in ((left, right), (right, left)):
            if value.form == "typeof":
                name = other.type.name if other.type.kind == "literal" else ""
                same, different = typed(name) if name else ((lambda _: ANY), (lambda _: ANY))
                value = value.base
            else:
                same, different = equal(other.type, state.types, loosely=len(sign) == 2)
            yes, no = narrowed(yes, value, same, state.types), narrowed(no, value, different, state.types)
        return (yes, no) if sign[0] == "=" else (no, yes)

    def _split(self, state: S, value: Value) -> When:
        """The facts where a value counts as true, and where it does not."""
        if value.when is not None:
            return value.when
        return narrowed(state.facts, value, truthy, state.types), narrowed(state.facts, value, falsy, state.types)

    def _binary(self, state: S, sign: str) -> S | None:
        level = PRECEDENCE[sign]
        reduced = self._reduce(state, level)
        if reduced is None or not takes_left(sign, reduced.value, reduced.types):
            return None
        state = reduced
        mixed = {"??": ("||", "&&"), "||": ("??",), "&&": ("??",)}.get(sign, ())
        if (state.kind == "binary" and state.frame.sign in mixed) or state.value.name in mixed:
            return None
        left = state.value
        if not any(fits_result(state.frames, each, level, state.types) for each in self._results(sign, left, state)):
            return None
        facts = state.facts
        if sign in ("&&", "||"):
            yes, no = self._split(state, left)
            facts = yes if sign == "&&" else no
        return state.push(TsFrame("binary", sign=sign, value=left, facts=state.facts), "operand", facts=facts)

    @staticmethod
    def _results(sign: str, left: Value, state: S) -> list[TsType]:
        """The types that an operator may give behind its left operand."""
        if sign == "+":
            return [STRING, NUMBER] if is_number(left.type, state.types) else [STRING]
        if PRECEDENCE[sign] >= ADDING:
            return [NUMBER]
        return [ANY] if sign in ("&&", "||", "??") else [BOOLEAN]

    def _question(self, state: S) -> S | None:
        """The state after the `?` of a conditional expression."""
        reduced = self._reduce(state, 0)
        if reduced is None or not may_be_tested(reduced.value, reduced.types):
            return None
        state = reduced
        yes, no = self._split(state, state.value)
        frame = state.frame
        return state.push(TsFrame("then", goal=frame.goal, hint=frame.hint, facts=no), "operand", facts=yes)

    def _end_then(self, state: S, lexeme: TsLexeme) -> S | None:
        if lexeme.sign != ":":
            return None
        frame = state.frame
        after = TsFrame("else", goal=frame.goal, hint=frame.hint, value=state.value, facts=state.facts)
        return state.pop("operand").push(after, "operand", facts=frame.facts)

    def _assign(self, state: S, sign: str) -> S | None:
        """The state after the sign of an assignment."""
        target = state.value
        if not target.assigns or state.kind in ("binary", "unary") or target.form not in ("name", "chain"):
            return None
        if sign == "=":
            frame = TsFrame("assign", sign=sign, value=target, goal=target.declared, hint=target.declared)
            return self._begin_expression(state, frame)
        operator = ASSIGNING[sign]
        if not takes_left(operator, target, state.types):
            return None
        ok = [applied(operator, target.type, other, state.types) for other in (NUMBER, STRING)]
        if not any(each is not None and is_assignable(each, target.declared, state.types) for each in ok):
            return None
        return self._begin_expression(state, TsFrame("assign", sign=sign, value=target))

    # -- ends ----------------------------------------------------------------------------------------------------------

    def _finish(self, state: S) -> S | None:
        """The state after all operators of an expression, and after what ends with it."""
        while True:
            reduced = self._reduce(state, 0)
            if reduced is None:
                return None
            state, frame = reduced, reduced.frame
            if frame.goal is not None and not is_assignable(state.value.type, frame.goal, state.types):
                return None
            if frame.kind not in LOWER:
                return state
            after: Callable[[S], S | None] = getattr(self, "_finish_" + frame.kind)
            finished = after(state)
            if finished is None:
                return None
            state = finished

    def _finish_else(self, state: S) -> S | None:
        frame, value = state.frame, state.value
        type_ = either(frame.value.type, value.type, state.types)
        return state.pop("operator", value=Value(type_), facts=join(frame.facts, state.facts))

    def _finish_assign(self, state: S) -> S | None:
        frame, value = state.frame, state.value
        type_ = value.type
        if frame.sign != "=":
            made = applied(ASSIGNING[frame.sign], frame.value.type, type_, state.types)
            if made is None or not is_assignable(made, frame.value.declared, state.types):
                return None
            type_ = made
        facts = assigned(state.facts, frame.value.key, frame.value.declared, type_, state.types)
        state = self.note_assigned(state, frame.value)
        return state.pop("operator", value=Value(type_, form="assignment"), facts=facts)

    def note_assigned(self, state: S, target: Value) -> S:
        """The state after a place was assigned."""
        return state

    def _ends(self, state: S, lexeme: TsLexeme) -> S | None:
        """The state after the sign that ends an expression."""
        finished = self._finish(state)
        if finished is None:
            return None
        end: Callable[[S, TsLexeme], S | None] = getattr(self, "_end_" + finished.kind)
        return end(finished, lexeme)

    def _end_group(self, state: S, lexeme: TsLexeme) -> S | None:
        if lexeme.sign != ")":
            return None
        value = state.value
        forms = {"arrow": "literal", "integer": "number", "assignment": "", "stepped": "", "name": "chain"}
        form = forms.get(value.form, value.form)
        if value.form == "integer" and value.type.name in ("0", "1"):
            form = ""
        return self._operand(
            state.pop("operator"),
            value._replace(form=form, assigns=False, name="" if value.base is None else value.name),
        )

    def _end_template(self, state: S, lexeme: TsLexeme) -> S | None:
        return state.pop("template") if lexeme.sign == "}" else None

    def _end_default(self, state: S, lexeme: TsLexeme) -> S | None:
        goal = state.frame.goal
        return self._default_ends(state.pop("operator"), widen(state.value.type) if goal is None else goal, lexeme)

    # -- bodies of arrow functions -------------------------------------------------------------------------------------

    def _begin_arrow_body(self, state: S, goal: TsType | None) -> S | None:
        """The state after `=>`."""
        frame = state.frame
        arrow = TsFrame("arrow", items=frame.items, goal=goal, facts=state.facts, seen=frame.seen)
        if frame.seen and goal is not None:
            state = self.bind_pending(state, function(TsSignature(frame.items, goal)))
        facts = doubt(state.facts, lambda key: self.is_fixed(state, key))
        return state.swap(arrow)._replace(at="arrow body", facts=facts)

    def _at_arrow_body(self, state: S, lexeme: TsLexeme) -> S | None:
        if lexeme.sign == "{":
            return self._arrow_block(state)
        goal = state.frame.goal
        wanted = None if goal == VOID and not state.frame.seen else goal
        return self._at_operand(state.push(TsFrame("body", goal=wanted, hint=goal), "operand"), lexeme)

    def _finish_body(self, state: S) -> S | None:
        type_ = state.value.type
        return self._arrow_ends(state.pop("operator"), type_)

    def _arrow_ends(self, state: S, result: TsType) -> S:
        """The state after the body of an arrow function."""
        frame = state.frame
        if frame.seen and frame.goal is not None:
            result = frame.goal
        elif frame.goal is None:
            result = union(
                plain(part) if result.kind == "union" and part.kind == "literal" else widen(part)
                for part in constituents(result)
            )
        value = Value(function(TsSignature(frame.items, result)), form="arrow")
        return state.pop("operator", value=value, facts=frame.facts).leave()
