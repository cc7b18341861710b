"""The monitor of C.

The idea: lexemes are read with stacks of scopes and of open parts (state.py), as a compiler reads them: all names are
known, so it is known which are types and begin a declaration. After a header that is not in the table, `#if`, or a
macro that may be anything, the rest of the text is not read: nothing is refused.

    at                     what comes next
    outside, statement     what begins a declaration or a statement; first: what shows whether a name is a label
    operand, operator      an operand; what follows one. macro: after a name with arguments that are not read; cast
    grouped                what follows a parenthesis: a type, a block or an operand
    member, designator     a member; designated: what follows the designator of an initializer
    specifiers             the type of a declaration; tag, tagged, parenthesis: parts of it
    declarator, declared   before and after the name that is declared; inner: after a parenthesis before it
    parameter, enumerator, member declaration     a part of a list
    head, for, for first, after do, goto          parts of statements
    ignored, skip, open    what is not read: up to a semicolon, a closing bracket, the end
"""

from __future__ import annotations

from functools import lru_cache

from constrain.monitors.bound import Bound
from constrain.monitors.c.directives import read_directive
from constrain.monitors.c.lexicon import LEXICON
from constrain.monitors.c.naming import WORDS
from constrain.monitors.c.state import OPEN as OPENED
from constrain.monitors.c.state import CState
from constrain.monitors.c.statements import CStatements
from constrain.monitors.c.types import CScope
from constrain.monitors.c.words import ALWAYS
from constrain.monitors.monitor import END, NAME, OTHER, SIGN, Names


class CMonitor(CStatements):
    """A `Monitor` of C. Made by `c`."""

    lexicon = LEXICON
    words = WORDS.union(ALWAYS)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CMonitor)

    def __hash__(self) -> int:
        return hash(CMonitor)

    def __repr__(self) -> str:
        return "c()"

    def start(self) -> CState:
        """The state before the first lexeme."""
        return CState((CScope(), None))

    def begin(self, state: CState, kind: int, first: bytes) -> CState | None:
        """The state when a lexeme begins; None: none of its kind may."""
        if kind in (END, OTHER):
            return state
        if kind == SIGN and self._read_again(state, kind, first.decode("latin-1"), "") is None:
            return None
        return None if kind == NAME and not self._takes_name(state) else state

    def _takes_name(self, state: CState) -> bool:
        """True if a name or keyword may stand where an operand may have ended."""
        if state.at == "first":
            after = self._operand_word(state.fresh("operand"), state.held)
            return after is not None and after.at == "macro"
        return state.at not in ("operator", "old parameter") or bool(state.opens)

    def language(self, state: CState) -> Names | None:
        """The names that the lexeme which has begun may be; None: any."""
        if state.at in ("grouped", "for first"):
            return self.visible_names(state)
        if state.at in ("operand", "cast"):
            return self.visible_names(state, types=False)
        if state.at == "outside":
            return self.visible_names(state, types=True)
        if state.at == "member declaration" or (state.at == "specifiers" and self._wants_type(state)):
            return self.visible_names(state, types=True)
        if state.at == "member":
            members = self.members(state, state.value, state.held)
            return _members(members, state.opens) if isinstance(members, Bound) else None
        return None

    def _wants_type(self, state: CState) -> bool:
        top = state.top
        return top is not None and top.base is None and top.role != "parameter"

    def advance(self, state: CState, kind: int, text: bytes) -> CState | None:
        """The state after a lexeme; None: it may not stand there."""
        if state.at == "open":
            return state
        if kind == OTHER:
            return read_directive(state, text.decode(errors="replace"))
        sign = text.decode("latin-1") if kind == SIGN else ""
        word = text.decode(errors="replace") if kind == NAME else ""
        if word in state.opens:
            return OPENED
        return self._read_again(state, kind, sign, word)

    def may_end(self, state: CState) -> bool:
        """True: the grammar says if a text is whole."""
        return True


@lru_cache(maxsize=1024)
def _members(members: Bound, opens: frozenset[str]) -> Names:
    return Names({*members.table, *opens})


def c() -> CMonitor:
    """A monitor of C: names that are declared, members of structures and unions, numbers of arguments.

    Known are the names of the text, and of the headers of the C library and POSIX that `#include` lines name.

    Returns:
        The monitor, for `monitored`.

    Source:
        ISO/IEC 9899:2018, sections 6.2.1 (scopes), 6.5.2 (members and calls), 6.7 (declarations).

    Example:
        >>> import constrain
        >>> monitor = constrain.monitors.c()
        >>> constrain.monitors.accepted_beginning(monitor, "struct p { int x; }; int f(struct p *p) { return p->y; }")
        'struct p { int x; }; int f(struct p *p) { return p->'
    """
    return CMonitor()
