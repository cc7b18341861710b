"""Statements of templates: names that a tag binds, and the end of its scope. `_at_x` reads what follows `at="x"`."""

from __future__ import annotations

from constrain.monitors.jinja.expressions import JinjaExpressions
from constrain.monitors.jinja.state import JinjaBracket, JinjaState
from constrain.monitors.jinja.values import THE_LOOP, element
from constrain.monitors.jinja.words import IN_MACROS

PLACES = {"for": "target", "set": "target", "with": "target", "filter": "filter", "macro": "name", "block": "name",
          "call": "called", "raw": "raw tag"}  # fmt: skip


class JinjaStatements(JinjaExpressions):
    """The steps of a state over the lexemes of statements."""

    def _at_tag(self, state: JinjaState, kind: int, sign: str, word: str) -> JinjaState | None:
        """Read the word after `{%`."""
        state = state.fresh("operand", tag=word)
        if word == "if":
            return self.open_block(state, "if")
        if word in ("elif", "else"):
            after = self.next_branch(state, whole=word == "else")
            return after if after is None or word == "elif" else after.go("end")
        if word == "endblock":
            return state.go("end block")
        if word.startswith("end"):
            after = self.close_block(state)
            return None if after is None else after.go("end")
        return state.go(PLACES.get(word, "operand"))

    def _at_end(self, state: JinjaState, kind: int, sign: str, word: str) -> JinjaState | None:
        return state.text() if sign == "%}" else None

    def _at_end_block(self, state: JinjaState, kind: int, sign: str, word: str) -> JinjaState | None:
        """Read the name of the block, which may follow `endblock`."""
        if word:
            return state
        after = self.close_block(state)
        return None if after is None else after.text()

    def _at_raw_tag(self, state: JinjaState, kind: int, sign: str, word: str) -> JinjaState | None:
        return state.go("raw", tag="")

    def _at_closing(self, state: JinjaState, kind: int, sign: str, word: str) -> JinjaState | None:
        """Read the second brace of `}}`."""
        return state.text() if sign == "}" else None

    # -- targets -------------------------------------------------------------------------------------------------------

    def _at_target(self, state: JinjaState, kind: int, sign: str, word: str) -> JinjaState | None:
        if word:
            return state._replace(at="targeted", held=word)
        return (
            state.push(JinjaBracket("targets"), "target") if sign == "(" else self._at_targeted(state, kind, sign, word)
        )

    def _at_targeted(self, state: JinjaState, kind: int, sign: str, word: str) -> JinjaState | None:
        """Read what follows a target."""
        if sign == ".":
            after = self.use(state, state.held)
            return None if after is None else after.go("target member")
        state = state._replace(targets=(*state.targets, state.held) if state.held else state.targets, held="")
        if sign == ",":
            return state.go("target")
        if sign == ")":
            after = state.close()
            return None if after is None else after.go("targeted")
        if sign == "=" or word == "in":
            return state.fresh("operand", is_given=True)
        return state.go("filter") if sign == "|" else self._tag_ends(state)

    def _at_target_member(self, state: JinjaState, kind: int, sign: str, word: str) -> JinjaState | None:
        return state.go("targeted")

    # -- names that are bound ------------------------------------------------------------------------------------------

    def _at_name(self, state: JinjaState, kind: int, sign: str, word: str) -> JinjaState | None:
        """Read the name of a macro, a block or a module."""
        if state.tag == "macro":
            state = self.open_block(self.bind(state, (word,)), "macro", later=True)
            return self.bind(state, tuple(IN_MACROS)).go("parameters")
        if state.tag == "block":
            outside = state._replace(names=state.top_names)
            inside = self.open_block(state, "block", later=True, name=word)
            return self.bind(inside._replace(names=outside.names), ("super",)).go("block named")
        return state._replace(at="named", held=word)

    def _at_block_named(self, state: JinjaState, kind: int, sign: str, word: str) -> JinjaState | None:
        """Read what follows the name of a block: `scoped` or `required`."""
        if word == "scoped" and state.block is not None:
            return self.bind(state._replace(names=state.block.names), ("super",))
        return state if word else state.text()

    def _at_named(self, state: JinjaState, kind: int, sign: str, word: str) -> JinjaState | None:
        """Read what follows the name of an import: `as`, a comma, or `with context`."""
        if word == "as":
            return state.go("name")
        state = state._replace(targets=(*state.targets, state.held) if state.held else state.targets, held="")
        if word:
            return state
        return state.go("name") if sign == "," else self.bind(state, state.targets).text()

    def _at_parameters(self, state: JinjaState, kind: int, sign: str, word: str) -> JinjaState | None:
        return state.push(JinjaBracket("parameters"), "parameter")

    def _at_called(self, state: JinjaState, kind: int, sign: str, word: str) -> JinjaState | None:
        """Read what follows `call`: the parameters of its text, or the name that is called."""
        return self.use(state, word) if word else state.push(JinjaBracket("parameters"), "parameter")

    def _at_parameter(self, state: JinjaState, kind: int, sign: str, word: str) -> JinjaState | None:
        """Read a parameter, or what follows its name."""
        if word and state.tag == "call":
            return state._replace(targets=(*state.targets, word))
        if word:
            return self.bind(state, (word,))
        if sign == ")":
            after = state.close()
            return None if after is None else after.fresh("operand" if state.tag == "call" else "operator")
        return state.fresh("operand") if sign == "=" else state

    # -- parts of statements -------------------------------------------------------------------------------------------

    def _separate_outside(self, state: JinjaState, sign: str) -> JinjaState | None:
        """The state after a comma outside of brackets."""
        if state.tag == "with":
            return state.go("target", is_given=False)
        return state.fresh("operand", plain=False)

    def _statement_word(self, state: JinjaState, word: str) -> JinjaState | None:
        """The state after a word of a statement behind an expression."""
        if word in ("as", "import"):
            return state.go("name")
        if word == "if":
            return self._enter_loop(state).fresh("operand", tag="for if")
        return state.go("operator")

    def _enter_loop(self, state: JinjaState) -> JinjaState:
        """The state inside of a loop: its target is bound to what it runs over."""
        value = element(state.value) if state.plain and state.value is not None else None
        return self.bind(self.open_block(state, "for"), state.targets, value)

    def _tag_sign(self, state: JinjaState, sign: str) -> JinjaState | None:
        """The state after a sign that may end a tag."""
        if state.tag:
            return self._tag_ends(state) if sign == "%}" else None
        return state.go("closing") if sign == "}" else None

    def _tag_ends(self, state: JinjaState) -> JinjaState | None:
        if state.tag == "set" and state.is_given:
            state = self.bind(state, state.targets, state.value if state.plain else None)
        elif state.tag == "set":
            state = self.open_block(state, "set", targets=state.targets)
        elif state.tag in ("for", "for if"):
            state = self._enter_loop(state) if state.tag == "for" else state
            state = state._replace(names=state.names.add("loop", THE_LOOP))
        elif state.tag in ("with", "call"):
            state = self.bind(self.open_block(state, state.tag), state.targets)
        elif state.tag in ("filter", "autoescape"):
            state = self.open_block(state, state.tag)
        return state.text()
