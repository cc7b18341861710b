"""Which names are visible: scopes of statements, branches, and what is put off until the template binds it."""

from __future__ import annotations

from functools import lru_cache

from constrain.monitors.jinja.state import NOTHING, Block, J
from constrain.monitors.jinja.values import Value
from constrain.monitors.jinja.words import CONSTANTS, NO_ARGUMENT, SCOPES
from constrain.monitors.monitor import Names
from constrain.monitors.stacks import Bound, each


class Scopes:
    """Names and where they are visible. ahead: see `constrain.monitors.jinja`."""

    ahead: str

    def visible(self, here: J) -> Names | None:
        """The names that an operand may be; None: any."""
        if here.runs_later and self.ahead == "any":
            return None
        if here.at != "tested":
            return _visible(here.names, frozenset() if here.at == "term" else frozenset({"not"}), frozenset())
        words = frozenset({"and", "or", "else"} if here.conditional else {"and", "or"})
        return _visible(here.names, words, NO_ARGUMENT)

    @staticmethod
    def is_known(here: J, name: str) -> bool:
        """Whether there is a variable of this name so far."""
        return name in here.names.table or name in CONSTANTS

    def used(self, here: J, name: str) -> J | None:
        """The state after a variable is used; None: there is none of this name."""
        if self.is_known(here, name):
            return here.go("operator", value=here.names.table.get(name))
        if here.runs_later and self.ahead == "any":
            return here.go("operator", value=None, uses=here.uses | {name})
        return None

    def bound(self, here: J, targets: tuple[str, ...], value: Value | None = None) -> J:
        """The state after names are bound in the innermost scope. value: that of a single one."""
        names = here.names
        for name in targets:
            names = names.plus(name, value if len(targets) == 1 else None)
        return self._with_names(here, names)._replace(later=here.later.difference(targets))

    @staticmethod
    def _with_names(here: J, names: Bound) -> J:
        is_top = all(block.kind not in SCOPES for block in each(here.blocks))
        return here._replace(names=names, top=names if is_top else here.top)

    def opened(self, here: J, kind: str, *, later: bool = False, name: str = "", targets: tuple[str, ...] = ()) -> J:
        """The state inside of a statement. later: whether its text runs when it is called."""
        block = Block(kind, here.names, None, False, targets, name, here.uses, here.later, here.runs_later)
        return here._replace(
            blocks=(block, here.blocks),
            uses=NOTHING if later else here.uses,
            later=here.later if kind == "if" else NOTHING,
            runs_later=here.runs_later or later,
        )

    def closed(self, here: J) -> J | None:
        """The state after a statement's end tag has begun; None: nothing is open."""
        if here.blocks is None:
            return None
        block, blocks = here.blocks
        if block.kind == "if":
            return self._after_branches(here)
        later = here.later | block.later
        after = here._replace(names=block.names, blocks=blocks, later=later, runs_later=block.runs_later)
        if block.kind in ("macro", "block"):
            after = after._replace(later=later | here.uses, uses=block.uses)
        return self.bound(after, block.targets) if block.targets else after

    def next_branch(self, here: J, *, whole: bool) -> J | None:
        """The state after `elif` or `else`. whole: the latter."""
        if here.blocks is None:
            return None
        block, blocks = here.blocks
        if block.kind == "if":
            block = block._replace(ended=self._joined(block.ended, here.names), whole=whole)
        return self._with_names(here._replace(blocks=(block, blocks)), block.names)

    def _after_branches(self, here: J) -> J:
        assert here.blocks is not None
        block, blocks = here.blocks
        names = self._joined(block.ended, here.names)
        if not block.whole:
            names = self._joined(names, block.names)
        return self._with_names(here._replace(blocks=blocks), names)

    def _joined(self, one: Bound | None, other: Bound) -> Bound:
        """What is visible after one of two branches. Under "any" what only one of them binds counts."""
        if one is None or one == other:
            return other
        both = one.table.keys() & other.table.keys()
        table = {name: _same(one.table[name], other.table[name]) for name in both}
        if self.ahead == "any":
            table |= dict.fromkeys((one.table.keys() | other.table.keys()) - both)
        return Bound(table)


def _same(one: Value | None, other: Value | None) -> Value | None:
    return one if one == other else None


@lru_cache(maxsize=1024)
def _visible(names: Bound, words: frozenset[str], without: frozenset[str]) -> Names:
    return Names(({*names.table} | CONSTANTS) - without, words=words)
