"""Declarations of C (section 6.7): specifiers, declarators, structures, enumerations. A method reads what `at`
names."""

from __future__ import annotations

from typing import Any

from constrain.monitors.c.expressions import Expressions
from constrain.monitors.c.state import OPEN, C, Frame
from constrain.monitors.c.types import ARRAY, POINTER, SCALAR, UNKNOWN, VOID, Arity, Entry, Scope, Type
from constrain.monitors.c.words import BUILT_IN, SPECIFIERS, STORAGE, TAGGED, TYPEOF, UNSEEN, WITH_PARENTHESES
from constrain.monitors.stacks import each, replaced

ASM = frozenset({"asm", "__asm", "__asm__"})


class Declarations(Expressions):
    """How the lexemes of declarations change a state. The frame of a declaration has what was read of it."""

    def _declares(self, here: C, role: str, kind: int, sign: str, word: str) -> C | None:
        """The state after the first lexeme of a declaration."""
        return self._at_specifiers(here.push(Frame("declaration", role=role), "specifiers"), kind, sign, word)

    # -- specifiers ----------------------------------------------------------------------------------------------------

    def _at_specifiers(self, here: C, kind: int, sign: str, word: str) -> C | None:
        top = here.top
        assert top is not None
        if not word:
            return self._at_declarator(here.go("declarator"), kind, sign, word)
        if word in WITH_PARENTHESES:
            return here.go("parenthesis", held=word)
        if word in STORAGE:
            return here.change(typedef=top.typedef or word == "typedef").go("specifiers")
        if word in TAGGED:
            return here.go("enum tag" if word == "enum" else "tag")
        if word in BUILT_IN:
            known = VOID if word == "void" else UNKNOWN if word in UNSEEN else SCALAR
            return here.change(base=top.base or known).go("specifiers")
        if word in ASM:
            return here.go("parenthesis", held=word)
        if top.base is not None:
            return self._at_declarator(here.go("declarator"), kind, sign, word)
        entry = self.find(here, word)
        if entry is not None and entry.kind == "type":
            return here.change(base=entry.type).go("specifiers")
        if word.startswith("__"):
            return OPEN
        return here.go("old parameter") if top.role == "parameter" else None

    def _at_parenthesis(self, here: C, kind: int, sign: str, word: str) -> C | None:
        """After a word that has something in parentheses, which is not read."""
        top = here.top
        assert top is not None
        after = "declared" if top.name or top.derived else "specifiers"
        if here.held in TYPEOF:
            here = here.change(base=UNKNOWN)
        if sign == "(":
            if here.held == "_Atomic":
                here = here.change(base=UNKNOWN)
            return here.push(Frame("skip", role=after), "skip")
        if here.held in ASM:  # volatile
            return here
        return self._read_again(here.go(after), kind, sign, word)

    def _at_old_parameter(self, here: C, kind: int, sign: str, word: str) -> C | None:
        """After a name that is no type where a parameter stands: it is one of a definition in the style of 1978."""
        return OPEN if sign in (",", ")") else None

    def _at_tag(self, here: C, kind: int, sign: str, word: str) -> C | None:
        return self._tag_begins(here, kind, sign, word, "tag")

    def _at_enum_tag(self, here: C, kind: int, sign: str, word: str) -> C | None:
        return self._tag_begins(here, kind, sign, word, "enum tag")

    def _tag_begins(self, here: C, kind: int, sign: str, word: str, at: str) -> C | None:
        """The state after what follows `struct`, `union` or `enum`: attributes, a tag, a brace."""
        if word in ("__attribute__", "__attribute"):
            return here
        if sign == "(":
            return here.push(Frame("skip", role=at), "skip")
        after = here.change(name=word)._replace(at=at + "ged")
        return after if word else self._read_again(after, kind, sign, word)

    def _at_enum_tagged(self, here: C, kind: int, sign: str, word: str) -> C | None:
        here = here.change(name="", base=SCALAR)
        if sign == "{":
            return here.push(Frame("enum"), "enumerator")
        return self._read_again(here.go("specifiers"), kind, sign, word)

    def _at_tagged(self, here: C, kind: int, sign: str, word: str) -> C | None:
        """After the tag of a structure."""
        top = here.top
        assert top is not None
        defines = sign == "{" or (sign == ";" and top.role in ("file", "block"))
        here, number = self.tag(here.change(name=""), top.name, defines=defines)
        here = here.change(base=Type((), number))
        if sign == "{":
            return here.push(Frame("struct", number=number), "member declaration")
        return self._read_again(here.go("specifiers"), kind, sign, word)

    def _at_member_declaration(self, here: C, kind: int, sign: str, word: str) -> C | None:
        if sign == "}":
            top = here.top
            assert top is not None
            here = here._replace(structs=here.structs.plus(top.number, top.members))
            return here.pop("specifiers")
        if sign == ";":
            return here
        return here.go("ignored") if word == "_Static_assert" else self._declares(here, "member", kind, sign, word)

    def _at_enumerator(self, here: C, kind: int, sign: str, word: str) -> C | None:
        if sign == "}":
            return self._enum_ends(here)
        return self.declared(here, word, Entry("value", SCALAR)).go("enumerated") if word else OPEN

    def _at_enumerated(self, here: C, kind: int, sign: str, word: str) -> C | None:
        if word in ("__attribute__", "__attribute"):
            return here
        if sign == "(":
            return here.push(Frame("skip", role="enumerated"), "skip")
        return here.fresh("operand") if sign == "=" else self._at_operator(here, kind, sign, word)

    def _enum_ends(self, here: C) -> C | None:
        return here.pop("specifiers")

    # -- declarators ---------------------------------------------------------------------------------------------------

    def _at_declarator(self, here: C, kind: int, sign: str, word: str) -> C | None:
        """Before the name of a declarator."""
        top = here.top
        assert top is not None
        if word:
            if word in WITH_PARENTHESES:
                return here.go("parenthesis", held=word) if here.kind == "declaration" else here.go("level attribute")
            return here if word in STORAGE else self._set(here, name=word).go("declared")
        if sign == "*":
            return here.change(pointers=top.pointers + 1)
        if sign == "(":
            return here.go("inner")
        return self._at_declared(here.go("declared"), kind, sign, word)

    def _at_level_attribute(self, here: C, kind: int, sign: str, word: str) -> C | None:
        return here.push(Frame("skip", role="declarator"), "skip") if sign == "(" else OPEN

    def _at_inner(self, here: C, kind: int, sign: str, word: str) -> C | None:
        """After `(` before the name of a declarator: a declarator in parentheses, or parameters."""
        role = self._declaration(here).role
        is_list = sign == ")" or word in SPECIFIERS - {"__attribute__", "__attribute"} or sign == "..."
        if role in ("parameter", "type") and (is_list or (word and self.is_type(here, word))):
            return self._read_again(self._parameters(here), kind, sign, word)
        return self._read_again(here.push(Frame("level"), "declarator"), kind, sign, word)

    def _at_declared(self, here: C, kind: int, sign: str, word: str) -> C | None:
        """After the name of a declarator, or where one was left out."""
        top = here.top
        assert top is not None
        if word:
            return here.go("parenthesis", held=word) if word in WITH_PARENTHESES | ASM else OPEN
        if sign == "[":
            here = self._set(here, derived=(*self._declaration(here).derived, ARRAY))
            return here.push(Frame("index", role="declared"), "operand")
        if sign == "(":
            return self._parameters(here)
        if sign == ")" and top.kind == "level":
            pointers = (POINTER,) * top.pointers
            here = here.pop("declared")
            return self._set(here, derived=(*self._declaration(here).derived, *pointers))
        if top.kind != "declaration":
            return OPEN
        return self._declarator_ends(here, top, sign)

    def _parameters(self, here: C) -> C:
        """The state after the parenthesis before parameters."""
        here = here._replace(scopes=(Scope(), here.scopes))
        return here.push(Frame("parameters"), "parameter")

    def _at_parameter(self, here: C, kind: int, sign: str, word: str) -> C | None:
        if sign == ")":
            return self._parameters_end(here)
        if sign == "...":
            return here.change(more=True)
        return here if sign == "," else self._declares(here, "parameter", kind, sign, word)

    def _parameters_end(self, here: C) -> C:
        """The state after the parenthesis that closes parameters."""
        top = here.top
        assert top is not None and here.scopes is not None
        names = here.scopes[0].names
        arity = Arity(top.seen if top.seen or top.role == "void" else None, top.more or not top.seen)
        if top.role == "void":
            arity = Arity(0, False)
        here = here._replace(scopes=here.scopes[1]).pop("declared")
        declaration = self._declaration(here)
        if not declaration.derived:
            here = self._set(here, parameters=names)
        return self._set(here, derived=(*declaration.derived, arity))

    def _declarator_ends(self, here: C, top: Frame, sign: str) -> C | None:
        """The state after the sign behind a declarator."""
        assert top.base is not None or top.role
        given = top.base or UNKNOWN
        made = Type((*top.derived, *(POINTER,) * top.pointers, *given.derived), given.base)
        match top.role, sign:
            case "type", ")":
                return self._cast(here.pop("grouped"), made)
            case "parameter", ("," | ")"):
                return self._parameter_ends(here, top, made, sign)
            case (("file" | "block"), "{"):
                return self._function_begins(here, top, made)
        here = self._bound(here, top, made)
        if sign == ",":
            return self._next_declarator(here)
        if sign == ";":
            return self._semicolon(here)
        return here.fresh("operand")._replace(value=made) if sign in ("=", ":") else OPEN

    def _bound(self, here: C, top: Frame, made: Type) -> C:
        """The state after a declarator: its name is declared."""
        if top.role == "member":
            return self._with_member(here, top, made)
        if not top.name:
            return here
        return self.declared(here, top.name, Entry("type" if top.typedef else "value", made))

    @staticmethod
    def _with_member(here: C, top: Frame, made: Type) -> C:
        assert here.frames is not None
        outer: Any = here.frames[1]
        members = outer[0].members
        if top.name:
            members = members.plus(top.name, made)
        elif not made.derived and isinstance(made.base, int):  # an anonymous structure
            inner = here.structs.table.get(made.base)
            for name, type_ in (inner.table if inner is not None else {}).items():
                members = members.plus(name, type_)
        return here._replace(frames=(top, (outer[0]._replace(members=members), outer[1])))

    def _parameter_ends(self, here: C, top: Frame, made: Type, sign: str) -> C | None:
        if top.name:
            here = self.declared(here, top.name, Entry("value", made))
        here = here.pop("parameter")
        parameters = here.top
        assert parameters is not None
        if made == VOID and not top.name and not parameters.seen:
            here = here.change(role="void")
        else:
            here = here.change(seen=parameters.seen + 1)
        return self._parameters_end(here) if sign == ")" else here

    def _function_begins(self, here: C, top: Frame, made: Type) -> C | None:
        """The state after the brace of a function."""
        if top.parameters is None or made.arity is None:
            return OPEN
        here = self._bound(here, top, made).pop("statement")
        if here.frames is not None:  # GNU's function in a function: it may jump out
            here = here._replace(labels=None)
        here = here._replace(scopes=(Scope(top.parameters), here.scopes))
        return here.push(Frame("block"), "statement")

    def _next_declarator(self, here: C) -> C | None:
        """The state after the comma behind a declarator."""
        if here.kind != "declaration":
            return OPEN
        return here.change(name="", derived=(), pointers=0, parameters=None).fresh("declarator")

    # -- the declaration that is read ----------------------------------------------------------------------------------

    @staticmethod
    def _declaration(here: C) -> Frame:
        return next(frame for frame in each(here.frames) if frame.kind == "declaration")

    @staticmethod
    def _set(here: C, **changes: Any) -> C:
        """The state with something changed in the declaration."""
        for place, frame in enumerate(each(here.frames)):
            if frame.kind == "declaration":
                return here._replace(frames=replaced(here.frames, place, frame._replace(**changes)))
        return here

    def _read_again(self, here: C, kind: int, sign: str, word: str) -> C | None:
        """The state after a lexeme that something else was expected of."""
        after: C | None = getattr(self, "_at_" + here.at.replace(" ", "_"))(here, kind, sign, word)
        return after
