"""The scopes of templates: visible names, branches, and names that are put off until the template binds them."""

from __future__ import annotations

from functools import lru_cache

from constrain.monitors.bound import Bound
from constrain.monitors.jinja.state import NOTHING, JinjaBlock, JinjaState
from constrain.monitors.jinja.values import JinjaValue
from constrain.monitors.jinja.words import CONSTANTS, NO_ARGUMENT, SCOPES
from constrain.monitors.monitor import Names
from constrain.monitors.stacks import elements


class JinjaScopes:
    """The names that are visible at a state. ahead: as of `constrain.monitors.jinja`."""

    ahead: str

    def visible_names(self, state: JinjaState) -> Names | None:
        """The names that an operand may be; None: any."""
        if state.runs_later and self.ahead == "any":
            return None
        if state.at != "tested":
            return _visible_names(state.names, frozenset() if state.at == "term" else frozenset({"not"}), frozenset())
        words = frozenset({"and", "or", "else"} if state.conditional else {"and", "or"})
        return _visible_names(state.names, words, NO_ARGUMENT)

    @staticmethod
    def is_known(state: JinjaState, name: str) -> bool:
        """True if there is a variable of this name so far."""
        return name in state.names.table or name in CONSTANTS

    def use(self, state: JinjaState, name: str) -> JinjaState | None:
        """The state after a variable is used; None: there is none of this name."""
        if self.is_known(state, name):
            return state.go("operator", value=state.names.table.get(name))
        if state.runs_later and self.ahead == "any":
            return state.go("operator", value=None, uses=state.uses | {name})
        return None

    def bind(self, state: JinjaState, targets: tuple[str, ...], value: JinjaValue | None = None) -> JinjaState:
        """The state after names are bound in the innermost scope. value: the value of a single one."""
        names = state.names
        for name in targets:
            names = names.add(name, value if len(targets) == 1 else None)
        return self._set_names(state, names)._replace(later=state.later.difference(targets))

    @staticmethod
    def _set_names(state: JinjaState, names: Bound) -> JinjaState:
        is_top = all(block.kind not in SCOPES for block in elements(state.blocks))
        return state._replace(names=names, top_names=names if is_top else state.top_names)

    def open_block(
        self, state: JinjaState, kind: str, *, later: bool = False, name: str = "", targets: tuple[str, ...] = ()
    ) -> JinjaState:
        """The state inside of a statement. later: whether its text runs when it is called."""
        block = JinjaBlock(kind, state.names, None, False, targets, name, state.uses, state.later, state.runs_later)
        return state._replace(
            blocks=(block, state.blocks),
            uses=NOTHING if later else state.uses,
            later=state.later if kind == "if" else NOTHING,
            runs_later=state.runs_later or later,
        )

    def close_block(self, state: JinjaState) -> JinjaState | None:
        """The state after a statement's end tag has begun; None: nothing is open."""
        if state.blocks is None:
            return None
        block, blocks = state.blocks
        if block.kind == "if":
            return self._join_branches(state)
        later = state.later | block.later
        after = state._replace(names=block.names, blocks=blocks, later=later, runs_later=block.runs_later)
        if block.kind in ("macro", "block"):
            after = after._replace(later=later | state.uses, uses=block.uses)
        return self.bind(after, block.targets) if block.targets else after

    def next_branch(self, state: JinjaState, *, whole: bool) -> JinjaState | None:
        """The state after `elif` or `else`. whole: the latter."""
        if state.blocks is None:
            return None
        block, blocks = state.blocks
        if block.kind == "if":
            block = block._replace(ended=self._merge(block.ended, state.names), whole=whole)
        return self._set_names(state._replace(blocks=(block, blocks)), block.names)

    def _join_branches(self, state: JinjaState) -> JinjaState:
        assert state.blocks is not None
        block, blocks = state.blocks
        names = self._merge(block.ended, state.names)
        if not block.whole:
            names = self._merge(names, block.names)
        return self._set_names(state._replace(blocks=blocks), names)

    def _merge(self, one: Bound | None, other: Bound) -> Bound:
        """The names that are visible after one of two branches; under "any" also names that only one of them binds."""
        if one is None or one == other:
            return other
        both = one.table.keys() & other.table.keys()
        table = {name: _common_value(one.table[name], other.table[name]) for name in both}
        if self.ahead == "any":
            table |= dict.fromkeys((one.table.keys() | other.table.keys()) - both)
        return Bound(table)


def _common_value(one: JinjaValue | None, other: JinjaValue | None) -> JinjaValue | None:
    return one if one == other else None


@lru_cache(maxsize=1024)
def _visible_names(names: Bound, words: frozenset[str], without: frozenset[str]) -> Names:
    return Names(({*names.table} | CONSTANTS) - without, words=words)
