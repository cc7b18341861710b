"""Statements of C (section 6.8) and what stands outside functions."""

from __future__ import annotations

from constrain.monitors.c.declarations import Declarations
from constrain.monitors.c.expressions import BRACKETS
from constrain.monitors.c.state import NOTHING, OPEN, C, Frame
from constrain.monitors.c.types import Scope
from constrain.monitors.c.words import IGNORED, SPECIFIERS


class Statements(Declarations):
    """How the lexemes that make statements change a state."""

    def _at_outside(self, here: C, kind: int, sign: str, word: str) -> C | None:
        if word in IGNORED:
            return here.go("ignored")
        if word:
            return self._declares(here, "file", kind, sign, word)
        return here if sign == ";" else OPEN

    def _at_open(self, here: C, kind: int, sign: str, word: str) -> C | None:
        return here

    def _at_ignored(self, here: C, kind: int, sign: str, word: str) -> C | None:
        """A statement or declaration that is not read, up to its semicolon."""
        if sign in BRACKETS:
            return here.push(Frame("skip", role="ignored"), "skip")
        if sign == ";":
            return here.go("member declaration") if here.kind == "struct" else self._completed(here)
        return here

    def _at_statement(self, here: C, kind: int, sign: str, word: str) -> C | None:
        if here.kind == "if" and here.frames is not None and here.frames[0].seen:
            if word == "else":
                return here.change(kind="else").go("statement")
            after = self._completed(here.pop("statement"))
            return None if after is None else self._read_again(after, kind, sign, word)
        if sign == "{":
            return self._opened_block(here, "")
        if sign == "}":
            return self._block_ends(here)
        if sign == ";":
            return self._completed(here)
        if not word or word in ("__extension__",):
            return here if word else self._at_operand(here.fresh("operand"), kind, sign, word)
        return self._statement_word(here, kind, word)

    def _statement_word(self, here: C, kind: int, word: str) -> C | None:
        """The state after the word that a statement begins with."""
        match word:
            case "if" | "while" | "switch":
                return here.push(Frame("if" if word == "if" else "loop"), "head")
            case "for":
                here = here._replace(scopes=(Scope(), here.scopes))
                return here.push(Frame("loop", role="for"), "for")
            case "do":
                return here.push(Frame("do"), "statement")
            case "case":
                return here.push(Frame("case"), "operand")
            case "default":
                return here.go("default")
            case "goto":
                return here.go("goto")
            case "return":
                return here.fresh("operand")
        if word in IGNORED:
            known = None if word == "__label__" else here.labels  # such a label is one of its block
            return here.go("ignored", labels=known)
        if word in SPECIFIERS or self.is_type(here, word):
            return self._declares(here, "block", kind, "", word)
        return here.go("first", held=word)

    def _at_first(self, here: C, kind: int, sign: str, word: str) -> C | None:
        """After the name that a statement begins with: a label, or an operand."""
        if sign == ":":
            return self._labelled(here)
        after = self._operand_word(here.fresh("operand"), here.held)
        return None if after is None else self._read_again(after, kind, sign, word)

    @staticmethod
    def _labelled(here: C) -> C | None:
        """The state after a label, which a function may have once (section 6.8.1)."""
        if here.labels is None:
            return here.go("statement")
        if here.held in here.labels:
            return None
        return here.go("statement", labels=here.labels | {here.held}, sought=here.sought - {here.held})

    def _at_default(self, here: C, kind: int, sign: str, word: str) -> C | None:
        return here.go("statement")

    def _at_goto(self, here: C, kind: int, sign: str, word: str) -> C | None:
        if not word:  # GNU's jump to a value
            return here.fresh("operand")
        return here.go("ignored", sought=here.sought | ({word} - (here.labels or set())))

    def _at_head(self, here: C, kind: int, sign: str, word: str) -> C | None:
        """After `if`, `while` and `switch`."""
        return here.push(Frame("condition"), "operand") if sign == "(" else OPEN

    def _condition_ends(self, here: C) -> C | None:
        here = here.pop("statement")
        return here.pop("ignored") if here.kind == "do" else here

    def _at_for(self, here: C, kind: int, sign: str, word: str) -> C | None:
        return here.push(Frame("for("), "for first") if sign == "(" else OPEN

    def _at_for_first(self, here: C, kind: int, sign: str, word: str) -> C | None:
        if word and (word in SPECIFIERS or self.is_type(here, word)):
            return self._declares(here, "block", kind, sign, word)
        return self._at_operand(here.fresh("operand"), kind, sign, word)

    def _at_after_do(self, here: C, kind: int, sign: str, word: str) -> C | None:
        return here.go("head") if word == "while" else OPEN

    def _opened_block(self, here: C, role: str) -> C | None:
        here = here._replace(scopes=(Scope(), here.scopes))
        return here.push(Frame("block", role=role), "statement")

    def _block_ends(self, here: C) -> C | None:
        """The state after the brace that closes a block."""
        top = here.top
        if top is None or top.kind != "block":
            return OPEN
        assert here.scopes is not None
        here = here._replace(scopes=here.scopes[1]).pop("operator")
        if here.frames is None:  # the function ends
            if here.sought and here.labels is not None:
                return None
            here = here._replace(labels=NOTHING, sought=NOTHING)
        return here if top.role == "expression" else self._completed(here)

    def _semicolon(self, here: C) -> C | None:
        """The state after a semicolon that ends an expression or a declaration."""
        if here.kind == "declaration":
            role = self._declaration(here).role
            here = here.pop("statement")
            if role == "member":
                return here.go("member declaration")
        if here.kind == "for(":
            return here.fresh("operand")
        return self._completed(here) if here.kind in ("", "block", "if", "else", "loop", "do") else OPEN

    def _completed(self, here: C) -> C | None:
        """The state after a statement, and after the statements that end with it."""
        while True:
            top = here.top
            if top is None:
                return here.fresh("outside")
            if top.kind == "do":
                return here.fresh("after do")
            if top.kind == "if":
                return here.change(seen=1).fresh("statement")
            if top.kind not in ("else", "loop"):
                return here.fresh("statement")
            if top.role == "for":
                assert here.scopes is not None
                here = here._replace(scopes=here.scopes[1])
            here = here.pop("statement")
