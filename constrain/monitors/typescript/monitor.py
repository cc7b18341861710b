"""The monitor of TypeScript.

The idea: the monitor reads a program as a compiler does that never looks ahead, with the types of all names and
expressions. An operand may stand if operators before it can take what members, calls and stronger operators make of it
(operators.py); an expression may end if its type can be assigned where it stands (relations.py); a function may end if
it has returned (flow.py). It follows the syntax of the collection's grammar; what that lacks makes the state `open`:
nothing is refused from there on.

    at                       what comes next
    statement                a statement; jump, head, brace, for …, test, step, case, catch: parts of statements
    operand, operator        an operand; what follows one. argument, element, property: the same in lists
    grouped, arrow …         what follows `(`, and parts of arrow functions before their body; new …: of `new`
    member name behind       a member behind a dot
    type, after type         a type; type …: parts of one. member …, generic: of interfaces and object types
    parameter …, result      parts of signatures
    variable name, declared, function …, type declaration, type head, class …, field …      parts of declarations
"""

from __future__ import annotations

import re
from functools import lru_cache

from constrain.monitors.monitor import END, NAME, NUMBER, SIGN, STRING, Names
from constrain.monitors.typescript.lexicon import LEXICON
from constrain.monitors.typescript.library import LIBRARY, NEW
from constrain.monitors.typescript.naming import TsLexeme, names_of
from constrain.monitors.typescript.operators import fits
from constrain.monitors.typescript.owed import owed
from constrain.monitors.typescript.state import Entry, Scope, Value
from constrain.monitors.typescript.state import TypeScriptState as S
from constrain.monitors.typescript.statements import Statements
from constrain.monitors.typescript.types import (
    ANY,
    FALSE,
    NULL,
    TRUE,
    UNDEFINED,
    TsParameter,
    TsSignature,
    TsType,
    array,
    union,
)
from constrain.monitors.typescript.types import (
    STRING as STRING_TYPE,
)
from constrain.monitors.typescript.words import MODIFIERS, OPERANDS, RESERVED

NEW_NAMES = frozenset({
    "variable name", "function name", "type declaration", "class name", "generic", "parameter", "optional parameter",
    "caught", "grouped", "type paren", "open",
})  # fmt: skip
WORDS_AT = {
    "operator": ("instanceof",), "class head": ("extends", "implements"), "type head": ("extends",),
    "for variable": ("const", "let"), "declared": ("of", "in"), "catch": ("catch", "finally"),
    "case": ("case", "default"), "export": ("const", "let", "function", "interface", "type", "class"),
    "declare": ("const", "let", "function"), "super": ("super",), "after type": ("extends", "implements"),
}  # fmt: skip
OPERANDS_AT = frozenset({"operand", "argument", "element", "test", "step", "result of return", "arrow body"})


class TypeScriptMonitor(Statements):
    """A `Monitor` of TypeScript. Made by `typescript`.

    Args:
        declared: Declarations of what a program may use besides its own names.
    """

    lexicon = LEXICON
    words = RESERVED.union(OPERANDS, MODIFIERS, *WORDS_AT.values())

    def __init__(self, declared: str = "") -> None:
        self.declared = declared
        self._known: tuple[S | None, dict[TsLexeme, S | None]] = (None, {})  # what was read last, behind one state
        self._named: tuple[S | None, Names | None] = (None, None)  # the state that was last asked for names, and these

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypeScriptMonitor) and self.declared == other.declared

    def __hash__(self) -> int:
        return hash((TypeScriptMonitor, self.declared))

    def __repr__(self) -> str:
        return f"typescript({self.declared!r:.40})" if self.declared else "typescript()"

    def start(self) -> S:
        """The state before the first lexeme."""
        return _start(self.declared)

    def begin(self, state: S, kind: int, first: bytes) -> S | None:
        """The state when a lexeme begins; None: none of its kind may."""
        if kind == END or state.at == "open":
            return state
        if kind == NAME:
            return None if self.language(state) is names_of((), ()) else state
        if kind == SIGN:
            return None if self._read_once(state, TsLexeme(SIGN, first.decode("latin-1"))) is None else state
        return state if self._takes_literal(state, kind, first) else None

    def _takes_literal(self, state: S, kind: int, first: bytes) -> bool:
        if state.at == "template":
            return True
        text = "0" if kind == NUMBER else "``" if first == b"`" else '""'
        if state.at in ("type",):
            return self._at_type(state, TsLexeme(kind, text=text)) is not None or state.frame.goal is not None
        if state.at in ("grouped", "statement", *OPERANDS_AT):
            return self.read(state, TsLexeme(kind, text=text)) is not None
        return False

    def language(self, state: S) -> Names | None:
        """The names that the lexeme which has begun may be; None: any."""
        named = self._named
        if named[0] is not state:
            named = self._named = state, self._words(state)
        return named[1]

    def advance(self, state: S, kind: int, text: bytes) -> S | None:
        """The state after a lexeme; None: it may not stand there."""
        if state.at == "open":
            return state
        shown = text.decode(errors="replace")
        if kind == SIGN:
            return self._read_once(state, TsLexeme(SIGN, sign=shown))
        return self._read_once(state, TsLexeme(kind, word=shown) if kind == NAME else TsLexeme(kind, text=shown))

    def _read_once(self, state: S, lexeme: TsLexeme) -> S | None:
        """The state after a lexeme. PERF: searches for ends ask again and again at one state."""
        known = self._known
        if known[0] is not state:
            known = self._known = (state, {})
        if lexeme not in known[1]:
            known[1][lexeme] = self.read(state, lexeme)
        return known[1][lexeme]

    def resume(self, state: S) -> tuple[int, bytes] | None:
        """The template that goes on behind the brace of an expression in it."""
        return (STRING, b"`") if state.at == "template" else None

    def owed(self, state: S) -> list[str]:
        """Texts that give a program the values and members that must still come."""
        return owed(self, state)

    def may_end(self, state: S) -> bool:
        """True if a program may end."""
        return state.at == "open" or (state.at == "statement" and self.settled(state).frames is None)

    # -- names ---------------------------------------------------------------------------------------------------------

    def _words(self, state: S) -> Names | None:
        """The names and words that may stand at a state; None: any."""
        at = state.at
        if at in NEW_NAMES or (at == "declared" and "for" not in state.frame.flags):
            return None if at != "declared" else names_of((), ())
        if at == "statement":
            return self._statement_names(state)
        if at in OPERANDS_AT:
            return self._operand_names(state)
        if at == "member name behind":
            members = self.member_names(state)
            return None if members is None else names_of(members)
        if at == "new":
            return names_of(self.classes(state))
        if at == "stepped name":
            return names_of(self.variables(state))
        if at == "type":
            return self._type_names(state)
        if at == "property":
            names = self.expected_names(state)
            return None if names is None else names_of(names)
        if at in ("member", "class member"):
            return None
        if at in ("case",):
            return names_of((), WORDS_AT[at])
        return names_of((), [word for word in WORDS_AT.get(at, ()) if self.read(state, TsLexeme(NAME, word=word))])

    def _statement_names(self, state: S) -> Names:
        settled = self.settled(state)
        words = set(self.statement_words(settled)) | {"true", "false", "null", "undefined", "new", "typeof"}
        if self.waits(state):
            words.add("else" if state.kind == "if" else "finally")
        while self.waits(state):
            words.add("else" if state.kind == "if" else "finally")
            state = self._complete(state.pop("statement"))
        visible = self.visible(settled)
        if self.find(settled, "this") is not None:
            words.add("this")
        return names_of(visible, words)

    def _operand_names(self, state: S) -> Names | None:
        if state.at == "argument" and not self.may_have_argument(state):
            return names_of((), ())
        state = self._begun(state)
        context = self.arrow_context(state)
        if context is not None and self.context_parameter(context, 0) is not None:
            return None
        fit: dict[TsType, bool] = {}
        names = []
        facts = state.facts.table if state.facts is not None else {}
        is_unary = state.kind == "unary"
        for name, entry in self.visible(state).items():
            type_ = facts.get(entry.key, entry.type)
            known = fit.get(type_)
            if known is None or is_unary:
                known = fit[type_] = fits(state.frames, self.value_of(state, name, entry), state.types)
            if known:
                names.append(name)
        words = ["new"] if state.kind != "binary" or state.frame.sign != "instanceof" else []
        kinds = {"true": TRUE, "false": FALSE, "null": NULL, "undefined": UNDEFINED}
        for word, type_ in kinds.items():
            form = "null" if word in ("null", "undefined") else "name"
            if fits(state.frames, Value(type_, form=form), state.types):
                words.append(word)
        if self.read(state, TsLexeme(NAME, word="typeof")) is not None:
            words.append("typeof")
        this = self.find(state, "this")
        if this is not None and fits(state.frames, Value(this.type, form="name"), state.types):
            words.append("this")
        return names_of(names, words)

    def _begun(self, state: S) -> S:
        """The state at the first operand of what has begun."""
        match state.at:
            case "argument":
                return self.begin_argument(state)
            case "element" | "test" | "step" | "arrow body":
                from constrain.monitors.typescript.state import TsFrame

                goal = state.frame.goal if state.at == "arrow body" else None
                hint = state.frame.hint if state.at == "element" else goal
                kind = {"element": "element", "test": "test", "step": "stepping", "arrow body": "body"}[state.at]
                return state.push(TsFrame(kind, goal=goal, hint=hint), "operand")
        return state

    def _type_names(self, state: S) -> Names:
        from constrain.monitors.typescript.types import PRIMITIVES

        names = [
            name
            for name in (*PRIMITIVES, *state.types.table, *self.generics(state))
            if self._at_type(state, TsLexeme(NAME, word=name)) is not None
        ]
        return names_of(names)


def typescript(declared: str = "") -> TypeScriptMonitor:
    """A monitor of TypeScript: names, members, arguments, and the types of expressions where they stand.

    Known are the names of the program before a place, and those of ES2022 and `console`.

    Args:
        declared: Declarations of more, as `declare const page: { title: string };`.

    Returns:
        The monitor, for `monitored` with the grammar "typescript" of the collection.

    Raises:
        ConstrainError: The declarations cannot be read.

    Source:
        Mündler, He, Wang, Sen, Song, Vechev, "Type-Constrained Code Generation with Language Models", PLDI 2025.

    Example:
        >>> import constrain
        >>> monitor = constrain.monitors.typescript()
        >>> constrain.monitors.accepted_beginning(monitor, "const n: number = 'a'.length; const s: string = n;")
        "const n: number = 'a'.length; const s: string = n"
    """
    monitor = TypeScriptMonitor(declared)
    monitor.start()
    return monitor


@lru_cache(maxsize=16)
def _start(declared: str) -> S:
    """The state behind the declarations of the library, and others."""
    from constrain.errors import ConstrainError

    state = _library()
    if declared:
        after = _declared(state, declared)
        if after is None or after.at != "statement" or after.frames is not None:
            raise ConstrainError(
                "the declarations cannot be read", place=declared[:40], fix="write them as in a .d.ts file"
            )
        state = after
    scope: Scope = state.scope
    return state._replace(scopes=(Scope(), (scope, None)))


@lru_cache(maxsize=1)
def _library() -> S:
    from constrain.monitors.bound import EMPTY
    from constrain.monitors.typescript.types import TypeDefinition

    state = S((Scope(), None), EMPTY)
    for name, many in LIBRARY.opened.items():
        state = state._replace(types=state.types.add(name, TypeDefinition("open", ("",) * many)))
    after = _declared(state, LIBRARY.text)
    assert after is not None and after.at == "statement", after
    for name in NEW:
        definition = after.types.table[name]
        parts = tuple(TsType("parameter", each) for each in definition.generics)
        first = STRING_TYPE if "message" in definition.members.table or definition.bases else ANY
        if name in ("Map", "Set"):
            first = union(
                [array(ANY), STRING_TYPE, *(TsType("named", each, (ANY,) * n) for each, n in (("Map", 2), ("Set", 1)))]
            )
        parameters = (TsParameter("first", first, True), TsParameter("second", ANY, True))
        new = TsSignature(parameters, TsType("named", name, parts), definition.generics)
        after = after._replace(types=after.types.add(name, definition._replace(kind="class", new=new)))
        entry = Entry(TsType("class", name), name, "const")
        after = after.change_scope(names=after.scope.names.add(name, entry))
    return after


_LEXEMES = re.compile(r"\s+|([A-Za-z_$][\w$]*)|(\d+)|(\"[^\"]*\"|'[^']*')|(=>|\.\.\.|[^\w\s])")


def _declared(state: S, text: str) -> S | None:
    """The state after declarations; None: they cannot be read."""
    monitor, after = TypeScriptMonitor(), state
    for match in _LEXEMES.finditer(text):
        if match.lastindex is not None:
            kind = (NAME, NUMBER, STRING, SIGN)[match.lastindex - 1]
            read = monitor.advance(after, kind, match[0].encode())
            if read is None:
                return None
            after = read
    return after
