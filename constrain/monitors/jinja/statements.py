"""Statements of templates: what a tag binds, and where its scope ends. A method `_at_x` reads what follows `at="x"`."""

from __future__ import annotations

from constrain.monitors.jinja.expressions import Expressions
from constrain.monitors.jinja.state import J
from constrain.monitors.jinja.values import THE_LOOP, element
from constrain.monitors.jinja.words import IN_MACROS

EXPRESSIONS = frozenset({"autoescape", "extends", "from", "import", "include", "print"})  # an expression comes first
PLACES = {"for": "target", "set": "target", "with": "target", "filter": "filter", "macro": "name", "block": "name",
          "call": "called", "raw": "raw tag"}  # fmt: skip


class Statements(Expressions):
    """How the lexemes of statements change a state."""

    def _at_tag(self, here: J, kind: int, sign: str, word: str) -> J | None:
        """After `{%`, perhaps with a sign."""
        here = here.fresh("operand", tag=word)
        if word == "if":
            return self.opened(here, "if")
        if word in ("elif", "else"):
            after = self.next_branch(here, whole=word == "else")
            return after if after is None or word == "elif" else after.go("end")
        if word == "endblock":
            return here.go("end block")
        if word.startswith("end"):
            after = self.closed(here)
            return None if after is None else after.go("end")
        return here.go(PLACES.get(word, "operand"))

    def _at_end(self, here: J, kind: int, sign: str, word: str) -> J | None:
        return here.text() if sign == "%}" else None

    def _at_end_block(self, here: J, kind: int, sign: str, word: str) -> J | None:
        """After `endblock`: the name of the block may stand there."""
        if word:
            return here
        after = self.closed(here)
        return None if after is None else after.text()

    def _at_raw_tag(self, here: J, kind: int, sign: str, word: str) -> J | None:
        return here.go("raw", tag="")

    def _at_closing(self, here: J, kind: int, sign: str, word: str) -> J | None:
        """After the first brace of `}}`."""
        return here.text() if sign == "}" else None

    # -- targets -------------------------------------------------------------------------------------------------------

    def _at_target(self, here: J, kind: int, sign: str, word: str) -> J | None:
        if word:
            return here._replace(at="targeted", held=word)
        return here.push("targets", "target") if sign == "(" else self._at_targeted(here, kind, sign, word)

    def _at_targeted(self, here: J, kind: int, sign: str, word: str) -> J | None:
        """After a target."""
        if sign == ".":
            after = self.used(here, here.held)
            return None if after is None else after.go("target member")
        here = here._replace(targets=(*here.targets, here.held) if here.held else here.targets, held="")
        if sign == ",":
            return here.go("target")
        if sign == ")":
            after = here.pop()
            return None if after is None else after.go("targeted")
        if sign == "=" or word == "in":
            return here.fresh(is_given=True)
        return here.go("filter") if sign == "|" else self._tag_ends(here)

    def _at_target_member(self, here: J, kind: int, sign: str, word: str) -> J | None:
        return here.go("targeted")

    # -- names that are bound ------------------------------------------------------------------------------------------

    def _at_name(self, here: J, kind: int, sign: str, word: str) -> J | None:
        """The name of a macro, a block or a module."""
        if here.tag == "macro":
            here = self.opened(self.bound(here, (word,)), "macro", later=True)
            return self.bound(here, tuple(IN_MACROS)).go("parameters")
        if here.tag == "block":
            outside = here._replace(names=here.top)
            inside = self.opened(here, "block", later=True, name=word)
            return self.bound(inside._replace(names=outside.names), ("super",)).go("block named")
        return here._replace(at="named", held=word)

    def _at_block_named(self, here: J, kind: int, sign: str, word: str) -> J | None:
        """After the name of a block, `scoped` or `required`."""
        if word == "scoped" and here.block is not None:
            return self.bound(here._replace(names=here.block.names), ("super",))
        return here if word else here.text()

    def _at_named(self, here: J, kind: int, sign: str, word: str) -> J | None:
        """After the name of what is imported, or `with context`."""
        if word == "as":
            return here.go("name")
        here = here._replace(targets=(*here.targets, here.held) if here.held else here.targets, held="")
        if word:
            return here
        return here.go("name") if sign == "," else self.bound(here, here.targets).text()

    def _at_parameters(self, here: J, kind: int, sign: str, word: str) -> J | None:
        return here.push("parameters", "parameter")

    def _at_called(self, here: J, kind: int, sign: str, word: str) -> J | None:
        """After `call`: parameters of its text, or what is called."""
        return self.used(here, word) if word else here.push("parameters", "parameter")

    def _at_parameter(self, here: J, kind: int, sign: str, word: str) -> J | None:
        """What begins a parameter, or what follows its name."""
        if word and here.tag == "call":
            return here._replace(targets=(*here.targets, word))
        if word:
            return self.bound(here, (word,))
        if sign == ")":
            after = here.pop()
            return None if after is None else after.fresh("operand" if here.tag == "call" else "operator")
        return here.fresh() if sign == "=" else here

    # -- parts of statements -------------------------------------------------------------------------------------------

    def _separated_outside(self, here: J, sign: str) -> J | None:
        """After a comma outside of brackets."""
        if here.tag == "with":
            return here.go("target", is_given=False)
        return here.fresh(plain=False)

    def _statement_word(self, here: J, word: str) -> J | None:
        """A word of a statement after an expression."""
        if word in ("as", "import"):
            return here.go("name")
        if word == "if":
            return self._looped(here).fresh(tag="for if")
        return here.go("operator")

    def _looped(self, here: J) -> J:
        """The state inside of a loop: its target is bound to what it runs over."""
        value = element(here.value) if here.plain and here.value is not None else None
        return self.bound(self.opened(here, "for"), here.targets, value)

    def _tag_sign(self, here: J, sign: str) -> J | None:
        """What ends a tag."""
        if here.tag:
            return self._tag_ends(here) if sign == "%}" else None
        return here.go("closing") if sign == "}" else None

    def _tag_ends(self, here: J) -> J | None:
        if here.tag == "set" and here.is_given:
            here = self.bound(here, here.targets, here.value if here.plain else None)
        elif here.tag == "set":
            here = self.opened(here, "set", targets=here.targets)
        elif here.tag in ("for", "for if"):
            here = self._looped(here) if here.tag == "for" else here
            here = here._replace(names=here.names.plus("loop", THE_LOOP))
        elif here.tag in ("with", "call"):
            here = self.bound(self.opened(here, here.tag), here.targets)
        elif here.tag in ("filter", "autoescape"):
            here = self.opened(here, here.tag)
        return here.text()
