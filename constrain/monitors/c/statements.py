"""Statements of C (section 6.8) and what stands outside functions."""

from __future__ import annotations

from constrain.monitors.c.declarations import CDeclarations
from constrain.monitors.c.expressions import BRACKETS
from constrain.monitors.c.state import NOTHING, OPEN, CFrame, CState
from constrain.monitors.c.words import IGNORED, SPECIFIERS


class CStatements(CDeclarations):
    """The steps of a state over the lexemes of statements."""

    def _at_outside(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        if word in IGNORED:
            return state.go("ignored")
        if word:
            return self._begin_declaration(state, "file", kind, sign, word)
        return state if sign == ";" else OPEN

    def _at_open(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        return state

    def _at_ignored(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        """Pass over a statement or declaration that is not read, up to its semicolon."""
        if sign in BRACKETS:
            return state.push(CFrame("skip", role="ignored"), "skip")
        if sign == ";":
            return state.go("member declaration") if state.kind == "struct" else self._complete(state)
        return state

    def _at_statement(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        if state.kind == "if" and state.frames is not None and state.frames[0].seen:
            if word == "else":
                return state.change(kind="else").go("statement")
            after = self._complete(state.pop("statement"))
            return None if after is None else self._read_again(after, kind, sign, word)
        if sign == "{":
            return self._open_block(state, "")
        if sign == "}":
            return self._block_ends(state)
        if sign == ";":
            return self._complete(state)
        if not word or word in ("__extension__",):
            return state if word else self._at_operand(state.fresh("operand"), kind, sign, word)
        return self._statement_word(state, kind, word)

    def _statement_word(self, state: CState, kind: int, word: str) -> CState | None:
        """The state after the word that a statement begins with."""
        match word:
            case "if" | "while" | "switch":
                return state.push(CFrame("if" if word == "if" else "loop"), "head")
            case "for":
                state = state.enter_scope()
                return state.push(CFrame("loop", role="for"), "for")
            case "do":
                return state.push(CFrame("do"), "statement")
            case "case":
                return state.push(CFrame("case"), "operand")
            case "default":
                return state.go("default")
            case "goto":
                return state.go("goto")
            case "return":
                return state.fresh("operand")
        if word in IGNORED:
            known = None if word == "__label__" else state.labels  # such a label is one of its block
            return state.go("ignored", labels=known)
        if word in SPECIFIERS or self.is_type(state, word):
            return self._begin_declaration(state, "block", kind, "", word)
        return state.go("first", held=word)

    def _at_first(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        """Read what follows the name that a statement begins with: it is a label, or an operand."""
        if sign == ":":
            return self._label(state)
        after = self._operand_word(state.fresh("operand"), state.held)
        return None if after is None else self._read_again(after, kind, sign, word)

    @staticmethod
    def _label(state: CState) -> CState | None:
        """The state after a label, which a function may have once (section 6.8.1)."""
        if state.labels is None:
            return state.go("statement")
        if state.held in state.labels:
            return None
        return state.go("statement", labels=state.labels | {state.held}, sought=state.sought - {state.held})

    def _at_default(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        return state.go("statement")

    def _at_goto(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        if not word:  # GNU's jump to a value
            return state.fresh("operand")
        return state.go("ignored", sought=state.sought | ({word} - (state.labels or set())))

    def _at_head(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        """Read the parenthesis after `if`, `while` and `switch`."""
        return state.push(CFrame("condition"), "operand") if sign == "(" else OPEN

    def _condition_ends(self, state: CState) -> CState | None:
        state = state.pop("statement")
        return state.pop("ignored") if state.kind == "do" else state

    def _at_for(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        return state.push(CFrame("for("), "for first") if sign == "(" else OPEN

    def _at_for_first(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        if word and (word in SPECIFIERS or self.is_type(state, word)):
            return self._begin_declaration(state, "block", kind, sign, word)
        return self._at_operand(state.fresh("operand"), kind, sign, word)

    def _at_after_do(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        return state.go("head") if word == "while" else OPEN

    def _open_block(self, state: CState, role: str) -> CState | None:
        state = state.enter_scope()
        return state.push(CFrame("block", role=role), "statement")

    def _block_ends(self, state: CState) -> CState | None:
        """The state after the brace that closes a block."""
        top = state.top
        if top is None or top.kind != "block":
            return OPEN
        state = state.leave_scope().pop("operator")
        if state.frames is None:  # the function ends
            if state.sought and state.labels is not None:
                return None
            state = state._replace(labels=NOTHING, sought=NOTHING)
        return state if top.role == "expression" else self._complete(state)

    def _semicolon(self, state: CState) -> CState | None:
        """The state after a semicolon that ends an expression or a declaration."""
        if state.kind == "declaration":
            role = self._declaration(state).role
            state = state.pop("statement")
            if role == "member":
                return state.go("member declaration")
        if state.kind == "for(":
            return state.fresh("operand")
        return self._complete(state) if state.kind in ("", "block", "if", "else", "loop", "do") else OPEN

    def _complete(self, state: CState) -> CState | None:
        """The state after a statement, and after the statements that end with it."""
        while True:
            top = state.top
            if top is None:
                return state.fresh("outside")
            if top.kind == "do":
                return state.fresh("after do")
            if top.kind == "if":
                return state.change(seen=1).fresh("statement")
            if top.kind not in ("else", "loop"):
                return state.fresh("statement")
            if top.role == "for":
                state = state.leave_scope()
            state = state.pop("statement")
