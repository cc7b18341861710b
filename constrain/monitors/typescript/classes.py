"""Classes: their members, constructors, and what they extend and implement.

A class's frame has as its goal the type of `this`. Its flags: "constructor" once there is one, "uninitialized NAME" of
a field that the constructor has to assign, "implements" of each name that an interface wants.
"""

from __future__ import annotations

from collections.abc import Callable

from constrain.monitors.bound import Bound
from constrain.monitors.stacks import elements, replace_element
from constrain.monitors.typescript.expressions import Expressions
from constrain.monitors.typescript.naming import TsLexeme
from constrain.monitors.typescript.relations import new_signature, own_members, read_type, signature_of
from constrain.monitors.typescript.state import OPEN, Entry, TsFrame, Value
from constrain.monitors.typescript.state import TypeScriptState as S
from constrain.monitors.typescript.types import (
    PRIMITIVES,
    VOID,
    Member,
    TsSignature,
    TsType,
    TypeDefinition,
    constituents,
    substitute,
    widen,
)
from constrain.monitors.typescript.words import MODIFIERS

UNINITIALIZED = "uninitialized "


class Classes(Expressions):
    """The steps of a state over the lexemes of classes."""

    _complete: Callable[[S], S]

    # -- the head ------------------------------------------------------------------------------------------------------

    def _at_class_name(self, state: S, lexeme: TsLexeme) -> S | None:
        word = lexeme.word
        if not word:
            return OPEN
        if word in state.types.table or word in PRIMITIVES or not self.may_declare(state, word):
            return None
        made = TsType("named", word)
        definition = TypeDefinition("class", new=TsSignature((), made), complete=False)
        state = self.declare(state, word, Entry(TsType("class", word), "", "class", pending=True))
        state = state._replace(types=state.types.add(word, definition))
        return state.enter(is_function=True).push(TsFrame("class", goal=made), "class head")

    def _at_class_head(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read what follows the name of a class."""
        frame = state.frame
        if lexeme.sign == "<" and not frame.generics and not frame.flags:
            return state.go("generic")
        if lexeme.word == "extends" and not frame.flags:
            return self._begin_type(state.change(flags=frozenset({"extends"})), "heritage")
        if lexeme.word == "implements" and "implements" not in frame.flags:
            return self._begin_type(state.change(flags=frame.flags | {"implements"}), "implements")
        if lexeme.sign != "{":
            return None
        scope = [*elements(state.scopes)][1]
        name = self.class_name(state)
        entry = scope.names.table[name]._replace(pending=False)
        scope = scope._replace(names=scope.names.add(name, entry))
        return state._replace(scopes=replace_element(state.scopes, 1, scope)).go("class member")

    def _class_heritage(self, state: S, role: str, type_: TsType, lexeme: TsLexeme) -> S | None:
        """The state after a type that a class extends or implements."""
        if role == "implements":
            state = state.change(items=(*state.frame.items, type_))
            if lexeme.sign == ",":
                return self._begin_type(state, "implements")
        else:
            base = new_signature(TsType("class", type_.name), state.types) if type_.kind == "named" else True
            definition = self.definition(state)._replace(bases=(type_,))
            if isinstance(base, TsSignature):
                known = dict(zip(base.generics, type_.parts, strict=False))
                parameters = tuple(each._replace(type=substitute(each.type, known)) for each in base.parameters)
                definition = definition._replace(new=TsSignature(parameters, VOID))
            elif base:
                definition = definition._replace(new=None)
            state = self._own_constructor(self._define(state, definition))
        return self.read(state.go("class head"), lexeme)

    def _own_constructor(self, state: S) -> S:
        """The state after the constructor's result and type parameters are those of the class."""
        definition, frame = self.definition(state), state.frame
        if definition.new is None or frame.goal is None:
            return state
        new = definition.new._replace(result=frame.goal, generics=frame.generics)
        return self._define(state, definition._replace(new=new))

    # -- the class around a place --------------------------------------------------------------------------------------

    @staticmethod
    def class_frame(state: S) -> TsFrame:
        """The innermost class that is declared."""
        frame: TsFrame = next(frame for frame in elements(state.frames) if frame.kind == "class")
        return frame

    def class_name(self, state: S) -> str:
        """The name of the class that is declared."""
        goal = self.class_frame(state).goal
        assert goal is not None
        return goal.name

    def definition(self, state: S) -> TypeDefinition:
        """The definition of the class that is declared, as far as it is known."""
        definition: TypeDefinition = state.types.table[self.class_name(state)]
        return definition

    def _define(self, state: S, definition: TypeDefinition) -> S:
        return state._replace(types=state.types.add(self.class_name(state), definition))

    def _change_class(self, state: S, flags: frozenset[str]) -> S:
        """The state with other flags of the class that is declared."""
        index = next(i for i, frame in enumerate(elements(state.frames)) if frame.kind == "class")
        frame = self.class_frame(state)._replace(flags=flags)
        return state._replace(frames=replace_element(state.frames, index, frame))

    def is_derived(self, state: S) -> bool:
        """True if the class that is declared extends another one."""
        return bool(self.definition(state).bases)

    def may_use(self, state: S, member: Member) -> bool:
        """True if a member is not private, or belongs to the class around."""
        if not member.owner:
            return True
        return any(frame.kind == "class" and frame.goal.name == member.owner for frame in elements(state.frames))

    def wanted(self, state: S, name: str) -> list[Member]:
        """The members of a name that the bases and interfaces of the class have."""
        frame = self.class_frame(state)
        found = []
        for type_ in (*self.definition(state).bases, *frame.items):
            member = (own_members(type_, state.types) or {}).get(name)
            if member is not None:
                found.append(member)
        return found

    def _goal(self, state: S, name: str, is_method: bool) -> TsType | None:
        """The type that bases and interfaces demand of a member: of a method, of its result."""
        for member in self.wanted(state, name):
            if not is_method:
                return read_type(member)
            signature = signature_of(member.type, state.types)
            if isinstance(signature, TsSignature) and signature.result.kind not in ("void", "any"):
                return signature.result
        return None

    # -- members -------------------------------------------------------------------------------------------------------

    def _at_class_member(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read what a member of a class begins with. Modifiers are marked in the frame's name."""
        frame, word = state.frame, lexeme.word
        modifiers = frozenset(frame.name.split())
        if lexeme.sign == "}":
            return self._class_ends(state) if not modifiers else None
        if not word:
            return OPEN
        if word in MODIFIERS:
            return state.change(name=f"{frame.name} {word}") if word not in modifiers else None
        if word == "constructor":
            return self._constructor(state) if not modifiers and "constructor" not in frame.flags else None
        if not self._may_have(state, word, modifiers):
            return None
        return state.go("class member name", held=word)

    def _may_have(self, state: S, name: str, modifiers: frozenset[str]) -> bool:
        """True if the class may have another member of a name."""
        definition = self.definition(state)
        if "static" in modifiers:
            return name not in definition.statics.table and name not in ("name", "length", "prototype", "caller")
        if name in definition.members.table:
            return False
        wanted = self.wanted(state, name)
        return not (wanted and "private" in modifiers) and not any(each.owner for each in wanted)

    def may_have_field(self, state: S, name: str) -> bool:
        """True if a parameter of the constructor may be a field."""
        return self._may_have(state, name, state.frame.flags & MODIFIERS) and not self.wanted(state, name)

    def _at_class_member_name(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read what follows the name of a member."""
        name, modifiers = state.held, frozenset(state.frame.name.split())
        is_static = "static" in modifiers
        wanted = [] if is_static else self.wanted(state, name)
        inherited = [own_members(base, state.types) or {} for base in self.definition(state).bases]
        was_method = [table[name].is_method for table in inherited if name in table and not is_static]
        if lexeme.sign in ("(", "<"):
            if "readonly" in modifiers or False in was_method:
                return None
            goal = None if is_static else self._goal(state, name, True)
            state = self._with_this(state, is_static)
            frame = TsFrame("signature", role="definition", name=name, goal=goal)
            return state.push(frame, "generic" if lexeme.sign == "<" else "parameter")
        if True in was_method:
            return None
        frame = TsFrame("field", name=name, role="static" if is_static else "")
        if lexeme.sign == "?" and all(each.optional for each in wanted):
            return state.push(frame._replace(flags=frozenset({"?"})), "optional field")
        if lexeme.sign == ":":
            return self._begin_type(
                state.push(frame, "type"), "field", None if is_static else self._goal(state, name, False)
            )
        if lexeme.sign == "=":
            goal = None if is_static else self._goal(state, name, False)
            state = self._with_this(state, is_static).push(frame, "operand")
            return self._begin_expression(state, TsFrame("value", goal=goal, hint=goal))
        return OPEN if lexeme.word else None

    def _at_optional_field(self, state: S, lexeme: TsLexeme) -> S | None:
        if lexeme.sign != ":":
            return None
        return self._begin_type(state, "field", self._goal(state, state.frame.name, False))

    def _with_this(self, state: S, is_static: bool) -> S:
        """The state in the scope of a member, where `this` is the object or the class."""
        goal = self.class_frame(state).goal
        assert goal is not None
        this = TsType("class", goal.name) if is_static else goal
        names = Bound({"this": Entry(this, "this", "this")})
        return state.enter(names, is_function=True)

    def _typed_field(self, state: S, type_: TsType, lexeme: TsLexeme) -> S | None:
        """The state after the type of a field."""
        frame = state.frame
        if lexeme.sign == "=" and "?" not in frame.flags:
            frames = state.frames
            state = self._with_this(state, frame.role == "static")
            state = state._replace(frames=frames)
            return self._begin_expression(state, TsFrame("value", goal=type_, hint=type_))
        if lexeme.sign != ";":
            return None
        kinds = {part.kind for part in constituents(type_)}
        state = self._add_field(state.pop("class member"), frame, type_)
        if frame.role == "static" or "?" in frame.flags or kinds & {"undefined", "any", "unknown"}:
            return state
        flags = state.frame.flags
        return None if "constructor" in flags else state.change(flags=flags | {UNINITIALIZED + frame.name})

    def _end_value(self, state: S, lexeme: TsLexeme) -> S | None:
        """The state after the initial value of a field."""
        if lexeme.sign != ";":
            return None
        value, goal = state.value, state.frame.goal
        written = goal is not None
        state = state.pop("operator").leave()
        frame = state.frame
        type_ = goal if written and goal is not None else widen(value.type)
        return self._add_field(state.pop("class member"), frame, type_)

    def _add_field(self, state: S, field: TsFrame, type_: TsType) -> S:
        modifiers = frozenset(state.frame.name.split())
        return self._add_class_member(state, field.name, type_, modifiers, "?" in field.flags).change(name="")

    def _add_class_member(
        self,
        state: S,
        name: str,
        type_: TsType,
        modifiers: frozenset[str],
        optional: bool = False,
        method: bool = False,
    ) -> S:
        """The state after a member is known."""
        owner = self.class_name(state) if "private" in modifiers else ""
        member = Member(name, type_, optional, "readonly" in modifiers, method, owner)
        definition = self.definition(state)
        if "static" in modifiers:
            return self._define(state, definition._replace(statics=definition.statics.add(name, member)))
        return self._define(state, definition._replace(members=definition.members.add(name, member)))

    def _method_begins(self, state: S, frame: TsFrame, made: TsType) -> S:
        """The state at the body of a method."""
        modifiers = frozenset(self.class_frame(state).name.split())
        return self._add_class_member(state, frame.name, made, modifiers, method=True)

    # -- constructors --------------------------------------------------------------------------------------------------

    def _constructor(self, state: S) -> S:
        state = self._with_this(state, False)
        return state.push(TsFrame("signature", role="constructor"), "after generics")

    def add_parameter_field(self, state: S, name: str, type_: TsType, modifiers: frozenset[str]) -> S:
        """The state after a parameter of a constructor that is a field too."""
        return self._add_class_member(state, name, type_, modifiers)

    def _constructor_begins(self, state: S, frame: TsFrame) -> S:
        definition, around = self.definition(state), self.class_frame(state)
        assert around.goal is not None
        new = TsSignature(frame.items, around.goal, around.generics)
        return self._define(state, definition._replace(new=new))

    def _at_super(self, state: S, lexeme: TsLexeme) -> S | None:
        """Read the `super` that the constructor of a derived class begins with."""
        return state.go("super call") if lexeme.word == "super" else None

    def _at_super_call(self, state: S, lexeme: TsLexeme) -> S | None:
        if lexeme.sign != "(":
            return None
        (base,) = self.definition(state).bases
        signature = new_signature(TsType("class", base.name), state.types) if base.kind == "named" else True
        known = dict(zip(signature.generics, base.parts, strict=False)) if isinstance(signature, TsSignature) else {}
        state = self._begin_expression(state, TsFrame("statement"))
        value = Value(VOID, form="class")
        if not isinstance(signature, TsSignature):
            return self._call(state, value, True, None)
        parameters = tuple(each._replace(type=substitute(each.type, known)) for each in signature.parameters)
        return self._call(state, value, TsSignature(parameters, VOID), None)

    def note_assigned(self, state: S, target: Value) -> S:
        """The state after a place was assigned: a constructor has to assign fields."""
        if not target.key.startswith("this."):
            return state
        for index, frame in enumerate(elements(state.frames)):
            if frame.kind == "function" and frame.role == "constructor":
                frame = frame._replace(flags=frame.flags | {UNINITIALIZED + target.key[5:]})
                return state._replace(frames=replace_element(state.frames, index, frame))
        return state

    def _constructor_ends(self, state: S) -> S | None:
        """The state after a constructor, which has assigned all fields."""
        assigned = state.frame.flags
        facts = state.frame.facts
        missing = {flag for flag in self.class_frame(state).flags if flag.startswith(UNINITIALIZED)} - assigned
        if missing and state.facts is not None:
            return None
        state = state.leave().pop("class member", facts=facts)
        kept = {flag for flag in state.frame.flags if not flag.startswith(UNINITIALIZED)}
        return state.change(flags=frozenset(kept | {"constructor"}))

    def _class_ends(self, state: S) -> S | None:
        """The state after the brace of a class: what interfaces want is there, and all fields get values."""
        frame = state.frame
        if any(flag.startswith(UNINITIALIZED) for flag in frame.flags):
            return None
        if self.missing(state):
            return None
        state = self._define(state, self.definition(state)._replace(complete=True))
        return self._complete(state.leave().pop("statement"))

    def missing(self, state: S) -> set[str]:
        """The names of members that the interfaces of a class want, and it does not have."""
        frame = state.frame
        assert frame.goal is not None
        had = own_members(frame.goal, state.types)
        return {
            name
            for type_ in frame.items
            for name, member in (own_members(type_, state.types) or {}).items()
            if not member.optional and had is not None and name not in had
        }
