"""Statements of Python: lines and blocks, definitions, patterns. A method `_at_x` reads the lexeme after `at="x"`."""

from __future__ import annotations

from typing import Any

from constrain.monitors.bound import Bound
from constrain.monitors.monitor import NAME, NUMBER, STRING
from constrain.monitors.python.declared import ASYNC
from constrain.monitors.python.definitions import Attribute
from constrain.monitors.python.expressions import PythonExpressions
from constrain.monitors.python.hints import Declared
from constrain.monitors.python.imports import PythonImports
from constrain.monitors.python.lexicon import column
from constrain.monitors.python.scopes import INLINE, UNKNOWN, PythonBlock, PythonFrame, function_scope
from constrain.monitors.python.state import PythonState
from constrain.monitors.python.values import PythonCall
from constrain.monitors.python.words import FOLLOWING, HEADS, KEYWORDS, LOOPS, SOFT

OPERANDS = frozenset({"if", "elif", "while", "assert", "return", "raise", "del", "with", "except"})
ALONE = frozenset({"else", "try", "finally", "pass", "break", "continue"})
NEXT = {"def": "def", "class": "class", "import": "import", "from": "from", "global": "global", "nonlocal": "global"}


class PythonStatements(PythonImports, PythonExpressions):
    """The steps of a state over the lexemes of statements."""

    # -- lines and blocks ----------------------------------------------------------------------------------------------

    def _line_ends(self, state: PythonState, text: bytes) -> PythonState | None:
        """The state after a line end, if it is not between brackets."""
        state = self._leave_lambdas(state)
        if state.frames is not None:
            return state
        at = column(text)
        if state.at == "start" and state.column is not None:  # an empty line
            return state._replace(column=at)
        if state.at == "start" and state.block is not None and state.block.column == INLINE:
            return state.change_block(column=UNKNOWN)._replace(column=at)
        after = self._statement_ends(state)
        while after is not None and after.block is not None and after.block.column == INLINE:
            after = self._block_ends(after)
        return None if after is None else after._replace(column=at)

    def _line_begins(self, state: PythonState) -> PythonState | None:
        """The state at the first lexeme of a line: blocks that are deeper have ended; None: one may not end."""
        at = state.column
        assert at is not None
        state = state._replace(column=None, after=False)
        if state.block is not None and state.block.column == UNKNOWN:
            return state.change_block(column=at)
        after: PythonState | None = state
        while after is not None and after.block is not None and after.block.column > at:
            after = self._block_ends(after)
        return after

    def _block_ends(self, state: PythonState) -> PythonState | None:
        """The state after the innermost block; None: a class may not end here."""
        assert state.blocks is not None
        block, blocks = state.blocks
        state = state._replace(blocks=blocks, after=block.doubt and not (blocks is not None and blocks[0].doubt))
        if block.before is None:
            ended = state.scope
            if ended.owed and self.lacks(state, ended):
                return None
            state = self.leave_scope(state)
            return self.assign(state, ended.name, self.make_class(ended)) if ended.kind == "class" else state
        may_return = not self.declares or block.head not in ("try", *FOLLOWING)
        if block.doubt and may_return and state.scope.kind == "function" and blocks is not None:
            state = state.change_block(doubt=True)
        return state.change_scope(bound=state.scope.bound.forget_changes(block.before, keeps_new=self.declares))

    def _statement_ends(self, state: PythonState) -> PythonState | None:
        """The state after a simple statement: its names are bound."""
        value = state.value if state.plain and state.at == "operator" else None
        after: PythonState | None = state
        if state.at in ("imported", "named"):
            after = self._import_ends(state)
        if after is not None:
            after = self.resolve(after._replace(targets=False), state.uses)
        if after is None:
            return None
        stated = Declared(self.hint(state), True) if state.spelled else None
        for name in state.binds:
            if isinstance(name, Attribute):
                after = self.store(after, name, stated or (value if len(state.binds) == 1 else None))
            elif stated is not None:
                after = self.annotate(after, name, stated, value)
            else:
                after = self.assign(after, name, value if name == state.target else None)
        is_decorator = state.head == "@"
        if state.doubt and not is_decorator and after.block is not None and after.scope.kind == "function":
            after = after.change_block(doubt=True)  # it may have skipped
        decorators = (*state.decorators, value) if is_decorator else ()
        doubt = state.doubt and is_decorator
        return PythonState(
            after.scopes, after.blocks, column=None, doubt=doubt, after=state.after, decorators=decorators
        )

    def _head_ends(self, state: PythonState) -> PythonState | None:
        """The state after the colon of a statement, or of an annotation."""
        head = state.head
        if head not in HEADS:
            return state.go("operand", lazy=True, targets=False)
        doubt = state.doubt or head in ("try", "except") or (head in FOLLOWING and state.after)
        outer = state.block is not None and state.block.doubt
        scopes: Any = state.scopes
        before = None
        if head == "def":
            named = self.assign(state, state.defined, self.make_function(state))
            kept = Bound({name: Declared(value, True) for name, value in state.hints if value is not None})
            scopes = (function_scope(state.params, self.first_argument(state), kept), named.scopes)
        elif head == "class":
            call = state.params if isinstance(state.params, PythonCall) else None
            is_open = call is not None and (bool(call.named) or call.unpacked or not call.plain)
            scopes = (self.class_scope(state, state.defined, call, is_open and not self.strict), state.scopes)
        else:
            if head in LOOPS:
                state = state.change_scope(bound=state.scope.bound.keep_lasting())
            before = state.scope.bound
            if head == "for" and self.declares:
                state = self.bind_elements(state)
            scopes = (self.loosen(state, state.held) if head == "match" else state).scopes
        block = PythonBlock(head, INLINE, before, doubt or outer)
        return PythonState(scopes, (block, state.blocks), column=None)

    def _at_start(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        begun = state.go("operand", targets=True, plain=True)
        if sign == "@":
            return state.go("operand", head="@", plain=True)
        if sign == ";":
            return state
        if not word:
            return self._at_operand(begun, kind, sign, word, text)
        if word == "case" and state.block is not None and state.block.head == "match":
            return state.go("pattern", head="case")
        if word in SOFT:
            return begun._replace(at="soft", held=word)
        if word == "while":
            state = state.change_scope(bound=state.scope.bound.keep_lasting())
        if word == "for":
            return state.go("operand", head="for", binding=True)
        if word == "async":
            return state._replace(hints=(ASYNC,)) if self.declares else state
        if word in ALONE:
            return state.go("operator", head=word)
        if word in OPERANDS:
            return state.go("operand", head=word, plain=self.declares)
        if word in NEXT:
            return state.go(NEXT[word], head=word)
        return self._read_word(begun, word)

    def _settle_soft(self, state: PythonState, kind: int, sign: str) -> PythonState | None:
        """The state once it is known whether `match` or `type` begins a statement."""
        word = state.held
        is_name = word == "match" and sign in ("(", "[", "-", "*") and self.find(state, word)[0]
        if kind in (NAME, STRING, NUMBER) or sign in ("{", "~", "...") or (word == "match" and sign in tuple("([-*")):
            if word == "type":
                return state.go("typename", head="type", targets=False)
            value = None if not is_name else state.value
            return state._replace(at="operand", held="", head="match", targets=False, value=value)
        return state._replace(at="held")

    def _at_typename(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        return self.assign(state, word).go("typed", lazy=True)

    # -- definitions ---------------------------------------------------------------------------------------------------

    def _at_def(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        return self.assign(state, word).go("typed", defined=word)

    _at_class = _at_def

    def _at_typed(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        """Read what follows the name of a definition, or its parameters of types."""
        if sign == "[":
            return state.push(PythonFrame("typeparams"), "typeparam")
        if sign == "(" and state.head == "class":
            return state.push(PythonFrame("call", call=PythonCall()), "argument", plain=True)
        if sign == "(":
            return state.push(PythonFrame("params"), "param")
        if sign == ":":
            return self._colon(state)
        return state.go("operand", head="" if state.head == "type" else state.head)

    def _at_typeparam(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        if sign == "]":
            return self._close(state, sign)
        return self.assign(state, word).go("operator") if word else state

    def _at_param(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        if word:
            listed = state.frame.listed[:-1] if state.held else state.frame.listed
            return state.change(names=state.frame.names | {word}, listed=(*listed, state.held + word)).go("operator")
        if sign == ")":
            return self._close(state, sign)
        if sign == ":":
            return self._colon(state)
        if sign not in ("*", "**", "/"):
            return state._replace(held="")
        return state.change(listed=(*state.frame.listed, sign))._replace(held="" if sign == "/" else sign)

    def _at_header(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        return self._colon(state) if sign == ":" else state._replace(at="operand", lazy=True)

    def _at_global(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        return self.declare(state, word) if word else state

    # -- patterns ------------------------------------------------------------------------------------------------------

    def _at_pattern(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        if word == "if":
            return state.go("operand")
        if word and word not in KEYWORDS:
            return state._replace(at="pheld", held=word)
        if sign in ("(", "[", "{"):
            return state.push(PythonFrame("pattern"), "pattern")
        if sign in (")", "]", "}"):
            return state.pop("pattern")
        if sign == ":" and state.frames is None:
            return self._head_ends(state)
        if sign == ".":
            return state._replace(at="pdot")
        return state

    def _at_pdot(self, state: PythonState, kind: int, sign: str, word: str, text: bytes) -> PythonState | None:
        return state.go("pattern")

    def _settle_pattern(self, state: PythonState, sign: str) -> PythonState | None:
        """The state once it is known what a name in a pattern is."""
        name = state.held
        if sign in (".", "("):
            after = self.use(state, name)
            return None if after is None else after.go("pattern")
        return state.go("pattern") if sign == "=" else self.assign(state, name).go("pattern")
