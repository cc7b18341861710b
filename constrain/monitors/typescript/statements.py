"""Statements, and what one point of a text knows of the others (flow.py)."""

from __future__ import annotations

from constrain.monitors.stacks import elements, replace_element
from constrain.monitors.typescript.declarations import Declarations
from constrain.monitors.typescript.flow import doubt, equal, join
from constrain.monitors.typescript.naming import TsLexeme
from constrain.monitors.typescript.operators import may_be_tested
from constrain.monitors.typescript.relations import comparable, element_of, flat, is_assignable
from constrain.monitors.typescript.state import OPEN, Entry, Facts, TsFrame
from constrain.monitors.typescript.state import TypeScriptState as S
from constrain.monitors.typescript.types import (
    ANY,
    NEVER,
    STRING,
    TRUE,
    UNDEFINED,
    UNKNOWN,
    VOID,
    TsType,
    constituents,
    union,
    widen,
)

FUNCTIONS = frozenset({"function", "arrow"})
DECLARING = frozenset({"const", "let"})


class Statements(Declarations):
    """The steps of a state over the lexemes of statements."""

    def _at_open(self, state: S, lexeme: TsLexeme) -> S | None:
        return state

    def _at_statement(self, state: S, lexeme: TsLexeme) -> S | None:
        if self.waits(state):
            if lexeme.word == "else" and state.kind == "if":
                return state.change(kind="else").go("statement", facts=state.frame.facts)
            if lexeme.word == "finally" and state.kind == "try":
                return self._finally(state)
            return self.read(self.settled(state), lexeme)
        match lexeme.sign:
            case "{":
                return state.enter().push(TsFrame("block"), "statement")
            case "}":
                return self._block_ends(state)
            case ";":
                return None if state.kind == "if" else self._complete(state)
        if lexeme.word:
            return self._statement_word(state, lexeme)
        return self._at_operand(self._begin_expression(state, TsFrame("statement")), lexeme)

    @staticmethod
    def waits(state: S) -> bool:
        """True if the statement before has ended, or goes on with `else` or `finally`."""
        return state.at == "statement" and state.kind in ("if", "try") and state.frame.seen > 0

    def settled(self, state: S) -> S:
        """The state after the statements before, as if neither `else` nor `finally` came."""
        while self.waits(state):
            after = self._complete(state.pop("statement"))
            state = after
        return state

    def _statement_word(self, state: S, lexeme: TsLexeme) -> S | None:
        """The state after the word that a statement begins with."""
        word = lexeme.word
        if word not in self.statement_words(state):
            return self._at_operand(self._begin_expression(state, TsFrame("statement")), lexeme)
        match word:
            case "const" | "let":
                return state.push(TsFrame("declaration", role=word), "variable name")
            case "if":
                return state.push(TsFrame("if"), "head")
            case "while" | "for":
                state = state.enter().push(TsFrame("loop", role=word), "for" if word == "for" else "head")
                return state._replace(facts=self._doubted(state)) if word == "while" else state
            case "switch":
                return state.push(TsFrame("switch"), "head")
            case "return":
                return self._return(state)
            case "throw":
                return self._begin_expression(state, TsFrame("throw"))
            case "break" | "continue":
                return state.go("jump", held=word)
            case "case":
                return self._begin_expression(state, TsFrame("case", value=state.frame.value))
            case "default":
                return state.go("default case")
            case "try":
                return state.push(TsFrame("try", facts=state.facts), "brace", held="try")
        return self._declaration_word(state, word)

    def statement_words(self, state: S) -> frozenset[str]:
        """The words, other than operands, that a statement may begin with."""
        words = {"const", "let", "if", "while", "for", "switch", "throw", "try", "function"}
        kinds = [frame.kind for frame in self.frames_of_function(state)]
        if kinds and kinds[-1] in FUNCTIONS:
            words.add("return")
        if "loop" in kinds:
            words.add("continue")
        if "loop" in kinds or "switch" in kinds:
            words.add("break")
        if state.kind == "switch" and "default" not in state.frame.flags:
            words |= {"case", "default"}
        if state.frames is None:
            words |= {"interface", "type", "class", "export", "declare"}
        return frozenset(words)

    def _doubted(self, state: S) -> Facts:
        """The facts where a loop begins: what it may assign is not certain."""
        return doubt(state.facts, lambda key: self.is_fixed(state, key))

    # -- conditions, loops ---------------------------------------------------------------------------------------------

    def _at_head(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read the parenthesis after `if`, `while` and `switch`."""
        if lexeme.sign != "(":
            return None
        return self._begin_expression(state, TsFrame("switched" if state.kind == "switch" else "condition"))

    def _end_condition(self, state: S, lexeme: TsLexeme) -> S | None:
        value = state.value
        if lexeme.sign != ")" or not may_be_tested(value, state.types):
            return None
        yes, no = self._split(state, value)
        if value.form == "name" and value.type[:3] == TRUE[:3] and not value.key:
            no = None if state.frames[1][0].kind == "loop" else no  # type: ignore[index]
        return state.pop("statement").change(facts=no)._replace(facts=yes)

    def _at_for(self, state: S, lexeme: TsLexeme) -> S | None:
        return state.go("for variable") if lexeme.sign == "(" else None

    def _at_for_variable(self, state: S, lexeme: TsLexeme) -> S | None:
        if lexeme.sign == ";":
            return state.go("test")._replace(facts=self._doubted(state))
        if lexeme.word not in DECLARING:
            return None
        return state.push(TsFrame("declaration", role=lexeme.word, flags=frozenset({"for"})), "variable name")

    def _end_of(self, state: S, lexeme: TsLexeme) -> S | None:
        """The state after what a loop goes over."""
        type_ = element_of(state.value.type, state.types)
        is_in = state.frame.role == "in"
        if lexeme.sign != ")" or (type_ is None and not is_in):
            return None
        state = state.pop("statement")
        frame = state.frame
        state = state.pop("statement")
        state = self.declare(state, frame.name, Entry(STRING if is_in or type_ is None else type_, "", frame.role))
        facts = self._doubted(state)
        return state.change(facts=facts)._replace(facts=facts)

    def _at_test(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read the test of `for (…; …; …)`."""
        if lexeme.sign == ";":
            return state.change(facts=None).go("step")
        return self._at_operand(self._begin_expression(state, TsFrame("test")), lexeme)

    def _end_test(self, state: S, lexeme: TsLexeme) -> S | None:
        if lexeme.sign != ";" or not may_be_tested(state.value, state.types):
            return None
        yes, no = self._split(state, state.value)
        return state.pop("step").change(facts=no)._replace(facts=yes)

    def _at_step(self, state: S, lexeme: TsLexeme) -> S | None:
        if lexeme.sign == ")":
            return state.go("statement")
        return self._at_operand(self._begin_expression(state, TsFrame("stepping", facts=state.facts)), lexeme)

    def _end_stepping(self, state: S, lexeme: TsLexeme) -> S | None:
        return state.pop("statement", facts=state.frame.facts) if lexeme.sign == ")" else None

    def _at_jump(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read the semicolon after `break` and `continue`."""
        if lexeme.sign != ";":
            return OPEN if lexeme.word else None
        if state.held == "break":
            for index, frame in enumerate(elements(state.frames)):
                if frame.kind in ("loop", "switch"):
                    frame = frame._replace(leaves=join(frame.leaves, state.facts))
                    state = state._replace(frames=replace_element(state.frames, index, frame))
                    break
        return self._complete(state.go("statement", facts=None))

    # -- switch --------------------------------------------------------------------------------------------------------

    def _end_switched(self, state: S, lexeme: TsLexeme) -> S | None:
        value = state.value
        if lexeme.sign != ")":
            return None
        state = state.pop("brace", held="switch")
        return state.change(value=value, goal=flat(value.type, state.types), facts=state.facts)

    def _end_case(self, state: S, lexeme: TsLexeme) -> S | None:
        """The state after the value of a case."""
        value, switched = state.value, state.frame.value
        if lexeme.sign != ":" or not comparable(value.type, switched.type, state.types):
            return None
        before = state.facts
        state = state.pop("statement")
        frame = state.frame
        known = state._replace(facts=frame.facts)
        yes, no = self._compared(known, "===", switched, value)
        _, different = equal(value.type, state.types)
        remaining = ANY if frame.goal is None else different(frame.goal)
        through = before if frame.seen else None
        state = state.change(facts=no, goal=remaining, seen=1)
        return state._replace(facts=join(yes, through))

    def _at_default_case(self, state: S, lexeme: TsLexeme) -> S | None:
        if lexeme.sign != ":":
            return None
        frame = state.frame
        facts = join(frame.facts, state.facts if frame.seen else None)
        return state.change(flags=frame.flags | {"default"}, seen=1).go("statement", facts=facts)

    def _switch_ends(self, state: S) -> S | None:
        frame = state.frame
        facts = join(frame.leaves, state.facts if frame.seen else None)
        if "default" not in frame.flags and frame.goal != NEVER:
            facts = join(facts, frame.facts)
        return self._complete(state.leave().pop("statement", facts=facts))

    # -- blocks --------------------------------------------------------------------------------------------------------

    def _at_brace(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read the brace of `try`, `catch`, `finally` and `switch`."""
        if state.held == "catch" and lexeme.sign == "(":
            return state.go("caught")
        if lexeme.sign != "{":
            return None
        if state.held == "switch":
            return state.enter().go("case")
        return state.enter().push(TsFrame("block", role=state.held), "statement")

    def _at_case(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read the first clause of a `switch`."""
        if lexeme.sign == "}":
            return self._switch_ends(state.go("statement"))
        return self._statement_word(state.go("statement"), lexeme) if lexeme.word in ("case", "default") else None

    def _block_ends(self, state: S) -> S | None:
        """The state after the brace that closes a block, a function or a `switch`."""
        match state.kind:
            case "function":
                return self._function_ends(state)
            case "switch":
                return self._switch_ends(state)
            case "block":
                role = state.frame.role
                state = state.leave().pop("statement")
                return self._complete(state) if not role else self._tried(state, role)
        return None

    def _tried(self, state: S, role: str) -> S | None:
        """The state after a block of a `try` statement."""
        frame = state.frame
        if role == "try":
            return state.change(leaves=state.facts).go("catch", facts=doubt(frame.facts, lambda key: False))
        if role == "catch":
            facts = join(frame.leaves, state.facts)
            return state.change(leaves=facts, seen=1).go("statement", facts=facts)
        facts = None if frame.leaves is None else state.facts
        return self._complete(state.pop("statement", facts=facts))

    def _at_catch(self, state: S, lexeme: TsLexeme) -> S | None:
        if lexeme.word == "catch":
            return state.go("brace", held="catch")
        return self._finally(state) if lexeme.word == "finally" else None

    def _finally(self, state: S) -> S:
        return state.go("brace", held="finally", facts=doubt(state.frame.facts, lambda key: False))

    def _at_caught(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read the name of what is caught."""
        if not lexeme.word or not self.may_declare(state.enter(), lexeme.word):
            return None if lexeme.word else OPEN
        return state.go("after caught", held=lexeme.word)

    def _at_after_caught(self, state: S, lexeme: TsLexeme) -> S | None:
        return state.go("caught brace", held=state.held) if lexeme.sign == ")" else OPEN

    def _at_caught_brace(self, state: S, lexeme: TsLexeme) -> S | None:
        if lexeme.sign != "{":
            return None
        name = state.held
        state = state.enter().push(TsFrame("block", role="catch"), "statement")
        return self.declare(state, name, Entry(UNKNOWN, "", "let"))

    def _complete(self, state: S) -> S:
        """The state after a statement, and after the statements that end with it."""
        while True:
            frame = state.top
            if frame is None or frame.kind not in ("if", "else", "loop"):
                return state.fresh("statement")
            if frame.kind == "if" and not frame.seen:
                facts = join(frame.facts, state.facts)
                return state.change(seen=1, leaves=state.facts).fresh("statement", facts=facts)
            if frame.kind == "if":
                return state.fresh("statement")
            facts = join(frame.leaves, state.facts if frame.kind == "else" else frame.facts)
            state = state.leave() if frame.kind == "loop" else state
            state = state.pop("statement", facts=facts)

    # -- expressions as statements, results ----------------------------------------------------------------------------

    def _end_statement(self, state: S, lexeme: TsLexeme) -> S | None:
        if lexeme.sign != ";":
            return None
        ends = state.value.type == NEVER and state.value.form == "chain"  # the call of a function that never returns
        return self._complete(state.pop("statement", facts=None if ends else state.facts))

    def _end_throw(self, state: S, lexeme: TsLexeme) -> S | None:
        return self._complete(state.pop("statement", facts=None)) if lexeme.sign == ";" else None

    def _return(self, state: S) -> S | None:
        frame = self.frames_of_function(state)[-1]
        goal = VOID if frame.role == "constructor" else frame.goal
        return state.push(TsFrame("return", goal=goal, hint=goal), "result of return")

    def _at_result_of_return(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read what follows `return`: its value, or a semicolon."""
        if lexeme.sign != ";":
            return self._at_operand(state.go("operand"), lexeme)
        goal = state.frame.goal
        if goal is not None and not is_assignable(UNDEFINED, goal, state.types):
            return None
        return self._returned(state, VOID)

    def _end_return(self, state: S, lexeme: TsLexeme) -> S | None:
        return self._returned(state, state.value.type) if lexeme.sign == ";" else None

    def _returned(self, state: S, type_: TsType) -> S | None:
        state = state.pop("statement", facts=None)
        for index, frame in enumerate(elements(state.frames)):
            if frame.kind in FUNCTIONS:
                frame = frame._replace(items=(*frame.items, type_))
                state = state._replace(frames=replace_element(state.frames, index, frame))
                break
        return self._complete(state)

    def inferred(self, returned: tuple[TsType, ...], is_reached: bool, is_arrow: bool) -> TsType:
        """The type of a function's result that is not written."""
        if not returned:
            return VOID if is_reached or not is_arrow else NEVER
        if any(type_.kind in ("any", "void") for type_ in returned):
            return VOID if not is_reached and all(type_.kind == "void" for type_ in returned) else ANY
        whole = union([*returned, *([UNDEFINED] if is_reached else [])])
        parts = constituents(whole)
        if len(parts) == 1:
            return widen(whole)
        simple = ("literal", "number", "string", "undefined", "null")
        return union(p._replace(fresh=False) for p in parts) if all(p.kind in simple for p in parts) else ANY
