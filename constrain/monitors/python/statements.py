"""Statements of Python: lines and blocks, definitions, patterns. A method `_at_x` reads the lexeme after `at="x"`."""

from __future__ import annotations

from constrain.monitors.monitor import NAME, NUMBER, STRING
from constrain.monitors.python.definitions import Attribute
from constrain.monitors.python.expressions import Expressions
from constrain.monitors.python.imports import Imports
from constrain.monitors.python.lexicon import column
from constrain.monitors.python.scopes import INLINE, UNKNOWN, Block, Frame, function_of
from constrain.monitors.python.state import Py
from constrain.monitors.python.values import Call
from constrain.monitors.python.words import FOLLOWING, HEADS, KEYWORDS, LOOPS, SOFT

OPERANDS = frozenset({"if", "elif", "while", "assert", "return", "raise", "del", "with", "except"})
ALONE = frozenset({"else", "try", "finally", "pass", "break", "continue"})
NEXT = {"def": "def", "class": "class", "import": "import", "from": "from", "global": "global", "nonlocal": "global"}


class Statements(Imports, Expressions):
    """How the lexemes that make statements change a state."""

    # -- lines and blocks ----------------------------------------------------------------------------------------------

    def _line_ends(self, here: Py, text: bytes) -> Py | None:
        """The state after a line end, if it is not between brackets."""
        here = self._without_lambda(here)
        if here.frames is not None:
            return here
        at = column(text)
        if here.at == "start" and here.column is not None:  # an empty line
            return here._replace(column=at)
        if here.at == "start" and here.blocks is not None and here.blocks[0].column == INLINE:
            block = here.blocks[0]._replace(column=UNKNOWN)
            return here._replace(blocks=(block, here.blocks[1]), column=at)
        after = self._statement_ends(here)
        while after is not None and after.blocks is not None and after.blocks[0].column == INLINE:
            after = self._block_ends(after)
        return None if after is None else after._replace(column=at)

    def _line_begins(self, here: Py) -> Py:
        """The state at the first lexeme of a line: blocks that are deeper have ended."""
        at = here.column
        assert at is not None
        here = here._replace(column=None, after=False)
        if here.blocks is not None and here.blocks[0].column == UNKNOWN:
            return here._replace(blocks=(here.blocks[0]._replace(column=at), here.blocks[1]))
        while here.blocks is not None and here.blocks[0].column > at:
            here = self._block_ends(here)
        return here

    def _block_ends(self, here: Py) -> Py:
        """The state after the innermost block."""
        assert here.blocks is not None
        block, blocks = here.blocks
        here = here._replace(blocks=blocks, after=block.doubt and not (blocks is not None and blocks[0].doubt))
        if block.before is None:
            assert here.scopes is not None
            ended = here.scopes[0]
            here = self.left(here)
            return self.assigned(here, ended.name, self.class_of(ended)) if ended.kind == "class" else here
        assert here.scopes is not None
        scope, outer = here.scopes
        if block.doubt and scope.kind == "function" and blocks is not None:  # it may have returned
            here = here._replace(blocks=(blocks[0]._replace(doubt=True), blocks[1]))
        return here._replace(scopes=(scope._replace(bound=scope.bound.since(block.before)), outer))

    def _statement_ends(self, here: Py) -> Py | None:
        """The state after a simple statement: its names are bound."""
        value = here.value if here.plain and here.at == "operator" else None
        after: Py | None = here
        if here.at in ("imported", "named"):
            after = self._import_ends(here)
        if after is not None:
            after = self.resolved(after._replace(targets=False), here.uses)
        if after is None:
            return None
        for name in here.binds:
            if isinstance(name, Attribute):
                after = self.stored(after, name)
            else:
                after = self.assigned(after, name, value if name == here.target else None)
        is_decorator = here.head == "@"
        assert after.scopes is not None
        if here.doubt and not is_decorator and after.blocks is not None and after.scopes[0].kind == "function":
            after = after._replace(
                blocks=(after.blocks[0]._replace(doubt=True), after.blocks[1])
            )  # it may have skipped
        decorators = (*here.decorators, value) if is_decorator else ()
        return Py(after.scopes, after.blocks, column=None, doubt=here.doubt and is_decorator, after=here.after,
                  decorators=decorators)  # fmt: skip

    def _head_ends(self, here: Py) -> Py | None:
        """The state after the colon of a statement, or of an annotation."""
        head = here.head
        if head not in HEADS:
            return here.go("operand", lazy=True, targets=False)
        assert here.scopes is not None
        doubt = here.doubt or head in ("try", "except") or (head in FOLLOWING and here.after)
        outer = here.blocks is not None and here.blocks[0].doubt
        scopes, bound = here.scopes, here.scopes[0].bound
        if head == "def":
            named = self.assigned(here, here.defined, self.function_of(here))
            scopes = (function_of(here.params, self.first_argument(here)), named.scopes)
        elif head == "class":
            call = here.params if isinstance(here.params, Call) else None
            is_open = call is not None and (bool(call.named) or call.unpacked or not call.plain)
            scopes = (self.class_scope(here, here.defined, call, is_open and not self.strict), here.scopes)
        elif head in LOOPS:
            scopes = (here.scopes[0]._replace(bound=bound.lasting()), here.scopes[1])
        before = None if head in ("def", "class") else scopes[0].bound if scopes is not None else None
        block = Block(head, INLINE, before, doubt or outer)
        return Py(scopes, (block, here.blocks), column=None)

    def _at_start(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        begun = here.go("operand", targets=True, plain=True)
        if sign == "@":
            return here.go("operand", head="@", plain=True)
        if sign == ";":
            return here
        if not word:
            return self._at_operand(begun, kind, sign, word, text)
        if word == "case" and here.blocks is not None and here.blocks[0].head == "match":
            return here.go("pattern", head="case")
        if word in SOFT:
            return begun._replace(at="soft", held=word)
        if word == "while":
            assert here.scopes is not None
            scope = here.scopes[0]
            here = here._replace(scopes=(scope._replace(bound=scope.bound.lasting()), here.scopes[1]))
        if word == "for":
            return here.go("operand", head="for", binding=True)
        if word == "async":
            return here
        if word in ALONE:
            return here.go("operator", head=word)
        if word in OPERANDS:
            return here.go("operand", head=word)
        if word in NEXT:
            return here.go(NEXT[word], head=word)
        return self._word(begun, word)

    def _soft(self, here: Py, kind: int, sign: str) -> Py | None:
        """The state once it is known whether `match` or `type` begins a statement."""
        word = here.held
        is_name = word == "match" and sign in ("(", "[", "-", "*") and self.find(here, word)[0]
        if kind in (NAME, STRING, NUMBER) or sign in ("{", "~", "...") or (word == "match" and sign in tuple("([-*")):
            if word == "type":
                return here.go("typename", head="type", targets=False)
            value = None if not is_name else here.value
            return here._replace(at="operand", held="", head="match", targets=False, value=value)
        return here._replace(at="held")

    def _at_typename(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        return self.assigned(here, word).go("typed", lazy=True)

    # -- definitions ---------------------------------------------------------------------------------------------------

    def _at_def(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        return self.assigned(here, word).go("typed", defined=word)

    _at_class = _at_def

    def _at_typed(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        """After the name of a definition, or after its parameters of types."""
        if sign == "[":
            return here.push(Frame("typeparams"), "typeparam")
        if sign == "(" and here.head == "class":
            return here.push(Frame("call", call=Call()), "argument", plain=True)
        if sign == "(":
            return here.push(Frame("params"), "param")
        if sign == ":":
            return self._colon(here)
        return here.go("operand", head="" if here.head == "type" else here.head)

    def _at_typeparam(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        if sign == "]":
            return self._close(here, sign)
        return self.assigned(here, word).go("operator") if word else here

    def _at_param(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        if word:
            assert here.top is not None
            listed = here.top.listed[:-1] if here.held else here.top.listed
            return here.change(names=here.top.names | {word}, listed=(*listed, here.held + word)).go("operator")
        if sign == ")":
            return self._close(here, sign)
        if sign == ":":
            return self._colon(here)
        if sign not in ("*", "**", "/"):
            return here._replace(held="")
        assert here.top is not None
        return here.change(listed=(*here.top.listed, sign))._replace(held="" if sign == "/" else sign)

    def _at_header(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        return self._colon(here) if sign == ":" else here._replace(at="operand", lazy=True)

    def _at_global(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        return self.declared(here, word) if word else here

    # -- patterns ------------------------------------------------------------------------------------------------------

    def _at_pattern(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        if word == "if":
            return here.go("operand")
        if word and word not in KEYWORDS:
            return here._replace(at="pheld", held=word)
        if sign in ("(", "[", "{"):
            return here.push(Frame("pattern"), "pattern")
        if sign in (")", "]", "}"):
            return here.pop("pattern")
        if sign == ":" and here.frames is None:
            return self._head_ends(here)
        if sign == ".":
            return here._replace(at="pdot")
        return here

    def _at_pdot(self, here: Py, kind: int, sign: str, word: str, text: bytes) -> Py | None:
        return here.go("pattern")

    def _pattern_named(self, here: Py, sign: str) -> Py | None:
        """The state once it is known what a name in a pattern is."""
        name = here.held
        if sign in (".", "("):
            after = self.used(here, name)
            return None if after is None else after.go("pattern")
        return here.go("pattern") if sign == "=" else self.assigned(here, name).go("pattern")
