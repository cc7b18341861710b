"""Declarations of C (section 6.7): specifiers, declarators, structures, enumerations. A method reads what `at`
names."""

from __future__ import annotations

from typing import Any

from constrain.monitors.c.expressions import CExpressions
from constrain.monitors.c.state import OPEN, CFrame, CState
from constrain.monitors.c.types import ARRAY, POINTER, SCALAR, UNKNOWN, VOID, Arity, CName, CType
from constrain.monitors.c.words import BUILT_IN, SPECIFIERS, STORAGE, TAGGED, TYPEOF, UNSEEN, WITH_PARENTHESES
from constrain.monitors.stacks import elements, replace_element

ASM = frozenset({"asm", "__asm", "__asm__"})


class CDeclarations(CExpressions):
    """The steps of a state over the lexemes of declarations. A declaration's frame has what was read of it."""

    def _begin_declaration(self, state: CState, role: str, kind: int, sign: str, word: str) -> CState | None:
        """The state after the first lexeme of a declaration."""
        return self._at_specifiers(state.push(CFrame("declaration", role=role), "specifiers"), kind, sign, word)

    # -- specifiers ----------------------------------------------------------------------------------------------------

    def _at_specifiers(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        top = state.frame
        if not word:
            return self._at_declarator(state.go("declarator"), kind, sign, word)
        if word in WITH_PARENTHESES:
            return state.go("parenthesis", held=word)
        if word in STORAGE:
            return state.change(typedef=top.typedef or word == "typedef").go("specifiers")
        if word in TAGGED:
            return state.go("enum tag" if word == "enum" else "tag")
        if word in BUILT_IN:
            known = VOID if word == "void" else UNKNOWN if word in UNSEEN else SCALAR
            return state.change(base=top.base or known).go("specifiers")
        if word in ASM:
            return state.go("parenthesis", held=word)
        if top.base is not None:
            return self._at_declarator(state.go("declarator"), kind, sign, word)
        entry = self.find(state, word)
        if entry is not None and entry.kind == "type":
            return state.change(base=entry.type).go("specifiers")
        if word.startswith("__"):
            return OPEN
        return state.go("old parameter") if top.role == "parameter" else None

    def _at_parenthesis(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        """Read what follows a word with parentheses, whose content is not read."""
        top = state.frame
        after = "declared" if top.name or top.derived else "specifiers"
        if state.held in TYPEOF:
            state = state.change(base=UNKNOWN)
        if sign == "(":
            if state.held == "_Atomic":
                state = state.change(base=UNKNOWN)
            return state.push(CFrame("skip", role=after), "skip")
        if state.held in ASM:  # volatile
            return state
        return self._read_again(state.go(after), kind, sign, word)

    def _at_old_parameter(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        """Read what follows a parameter without a type, as in a definition in the style of 1978."""
        return OPEN if sign in (",", ")") else None

    def _at_tag(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        return self._tag_begins(state, kind, sign, word, "tag")

    def _at_enum_tag(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        return self._tag_begins(state, kind, sign, word, "enum tag")

    def _tag_begins(self, state: CState, kind: int, sign: str, word: str, at: str) -> CState | None:
        """The state after what follows `struct`, `union` or `enum`: attributes, a tag, a brace."""
        if word in ("__attribute__", "__attribute"):
            return state
        if sign == "(":
            return state.push(CFrame("skip", role=at), "skip")
        after = state.change(name=word)._replace(at=at + "ged")
        return after if word else self._read_again(after, kind, sign, word)

    def _at_enum_tagged(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        state = state.change(name="", base=SCALAR)
        if sign == "{":
            return state.push(CFrame("enum"), "enumerator")
        return self._read_again(state.go("specifiers"), kind, sign, word)

    def _at_tagged(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        """Read what follows the tag of a structure."""
        top = state.frame
        defines = sign == "{" or (sign == ";" and top.role in ("file", "block"))
        state, number = self.tag(state.change(name=""), top.name, defines=defines)
        state = state.change(base=CType((), number))
        if sign == "{":
            return state.push(CFrame("struct", number=number), "member declaration")
        return self._read_again(state.go("specifiers"), kind, sign, word)

    def _at_member_declaration(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        if sign == "}":
            top = state.frame
            state = state._replace(structs=state.structs.add(top.number, top.members))
            return state.pop("specifiers")
        if sign == ";":
            return state
        return (
            state.go("ignored")
            if word == "_Static_assert"
            else self._begin_declaration(state, "member", kind, sign, word)
        )

    def _at_enumerator(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        if sign == "}":
            return self._enum_ends(state)
        return self.declare(state, word, CName("value", SCALAR)).go("enumerated") if word else OPEN

    def _at_enumerated(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        if word in ("__attribute__", "__attribute"):
            return state
        if sign == "(":
            return state.push(CFrame("skip", role="enumerated"), "skip")
        return state.fresh("operand") if sign == "=" else self._at_operator(state, kind, sign, word)

    def _enum_ends(self, state: CState) -> CState | None:
        return state.pop("specifiers")

    # -- declarators ---------------------------------------------------------------------------------------------------

    def _at_declarator(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        """Read what stands before the name of a declarator."""
        top = state.frame
        if word:
            if word in WITH_PARENTHESES:
                return (
                    state.go("parenthesis", held=word) if state.kind == "declaration" else state.go("level attribute")
                )
            return state if word in STORAGE else self._set(state, name=word).go("declared")
        if sign == "*":
            return state.change(pointers=top.pointers + 1)
        if sign == "(":
            return state.go("inner")
        return self._at_declared(state.go("declared"), kind, sign, word)

    def _at_level_attribute(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        return state.push(CFrame("skip", role="declarator"), "skip") if sign == "(" else OPEN

    def _at_inner(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        """Read what follows `(` before the name of a declarator: an inner declarator, or parameters."""
        role = self._declaration(state).role
        is_list = sign == ")" or word in SPECIFIERS - {"__attribute__", "__attribute"} or sign == "..."
        if role in ("parameter", "type") and (is_list or (word and self.is_type(state, word))):
            return self._read_again(self._begin_parameters(state), kind, sign, word)
        return self._read_again(state.push(CFrame("level"), "declarator"), kind, sign, word)

    def _at_declared(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        """Read what follows the name of a declarator, which may be left out."""
        top = state.frame
        if word:
            return state.go("parenthesis", held=word) if word in WITH_PARENTHESES | ASM else OPEN
        if sign == "[":
            state = self._set(state, derived=(*self._declaration(state).derived, ARRAY))
            return state.push(CFrame("index", role="declared"), "operand")
        if sign == "(":
            return self._begin_parameters(state)
        if sign == ")" and top.kind == "level":
            pointers = (POINTER,) * top.pointers
            state = state.pop("declared")
            return self._set(state, derived=(*self._declaration(state).derived, *pointers))
        if top.kind != "declaration":
            return OPEN
        return self._declarator_ends(state, top, sign)

    def _begin_parameters(self, state: CState) -> CState:
        """The state after the parenthesis before parameters."""
        state = state.enter_scope()
        return state.push(CFrame("parameters"), "parameter")

    def _at_parameter(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        if sign == ")":
            return self._parameters_end(state)
        if sign == "...":
            return state.change(more=True)
        return state if sign == "," else self._begin_declaration(state, "parameter", kind, sign, word)

    def _parameters_end(self, state: CState) -> CState:
        """The state after the parenthesis that closes parameters."""
        top = state.frame
        names = state.scope.names
        arity = Arity(top.seen if top.seen or top.role == "void" else None, top.more or not top.seen)
        if top.role == "void":
            arity = Arity(0, False)
        state = state.leave_scope().pop("declared")
        declaration = self._declaration(state)
        if not declaration.derived:
            state = self._set(state, parameters=names)
        return self._set(state, derived=(*declaration.derived, arity))

    def _declarator_ends(self, state: CState, top: CFrame, sign: str) -> CState | None:
        """The state after the sign behind a declarator."""
        assert top.base is not None or top.role
        base = top.base or UNKNOWN
        declared = CType((*top.derived, *(POINTER,) * top.pointers, *base.derived), base.base)
        match top.role, sign:
            case "type", ")":
                return self._cast(state.pop("grouped"), declared)
            case "parameter", ("," | ")"):
                return self._parameter_ends(state, top, declared, sign)
            case (("file" | "block"), "{"):
                return self._function_begins(state, top, declared)
        state = self._bind(state, top, declared)
        if sign == ",":
            return self._next_declarator(state)
        if sign == ";":
            return self._semicolon(state)
        return state.fresh("operand")._replace(value=declared) if sign in ("=", ":") else OPEN

    def _bind(self, state: CState, top: CFrame, made: CType) -> CState:
        """The state after a declarator: its name is declared."""
        if top.role == "member":
            return self._add_member(state, top, made)
        if not top.name:
            return state
        return self.declare(state, top.name, CName("type" if top.typedef else "value", made))

    @staticmethod
    def _add_member(state: CState, top: CFrame, made: CType) -> CState:
        assert state.frames is not None
        outer: Any = state.frames[1]
        members = outer[0].members
        if top.name:
            members = members.add(top.name, made)
        elif not made.derived and isinstance(made.base, int):  # an anonymous structure
            inner = state.structs.table.get(made.base)
            for name, type_ in (inner.table if inner is not None else {}).items():
                members = members.add(name, type_)
        return state._replace(frames=(top, (outer[0]._replace(members=members), outer[1])))

    def _parameter_ends(self, state: CState, top: CFrame, made: CType, sign: str) -> CState | None:
        if top.name:
            state = self.declare(state, top.name, CName("value", made))
        state = state.pop("parameter")
        parameters = state.frame
        if made == VOID and not top.name and not parameters.seen:
            state = state.change(role="void")
        else:
            state = state.change(seen=parameters.seen + 1)
        return self._parameters_end(state) if sign == ")" else state

    def _function_begins(self, state: CState, top: CFrame, made: CType) -> CState | None:
        """The state after the brace of a function."""
        if top.parameters is None or made.arity is None:
            return OPEN
        state = self._bind(state, top, made).pop("statement")
        if state.frames is not None:  # GNU's function in a function: it may jump out
            state = state._replace(labels=None)
        state = state.enter_scope(top.parameters)
        return state.push(CFrame("block"), "statement")

    def _next_declarator(self, state: CState) -> CState | None:
        """The state after the comma behind a declarator."""
        if state.kind != "declaration":
            return OPEN
        return state.change(name="", derived=(), pointers=0, parameters=None).fresh("declarator")

    # -- the declaration that is read ----------------------------------------------------------------------------------

    @staticmethod
    def _declaration(state: CState) -> CFrame:
        return next(frame for frame in elements(state.frames) if frame.kind == "declaration")

    @staticmethod
    def _set(state: CState, **changes: Any) -> CState:
        """The state with something changed in the declaration."""
        for index, frame in enumerate(elements(state.frames)):
            if frame.kind == "declaration":
                return state._replace(frames=replace_element(state.frames, index, frame._replace(**changes)))
        return state

    def _read_again(self, state: CState, kind: int, sign: str, word: str) -> CState | None:
        """The state after a lexeme, read as what comes at a state."""
        after: CState | None = getattr(self, "_at_" + state.at.replace(" ", "_"))(state, kind, sign, word)
        return after
