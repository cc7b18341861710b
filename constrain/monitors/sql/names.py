"""What names mean at a place in SQL: columns, sources, functions; what is put off until FROM is complete."""

from __future__ import annotations

from collections.abc import Callable, Collection

from constrain.monitors.monitor import Names
from constrain.monitors.sql.catalogue import Catalogue, Columns
from constrain.monitors.sql.scopes import (
    STAR,
    Paren,
    Query,
    ctes,
    has,
    nearest,
    replaced,
    seen_in,
    visible,
)
from constrain.monitors.sql.state import NO_WORDS, Sql
from constrain.monitors.sql.words import (
    OPERAND,
    RESERVED,
)


class Scoped:
    """What a catalogue and the scopes of a state say of names."""

    catalogue: Catalogue
    ahead: str
    aliases: frozenset[str]
    tables: dict[str, Columns]
    placed: dict[str, frozenset[str]]
    modules: dict[str, Columns]
    functions: dict[str, frozenset[int]] | None
    every_column: frozenset[str]
    _names: Callable[[frozenset[str], frozenset[str]], Names]

    @staticmethod
    def _make_names(names: frozenset[str], words: frozenset[str]) -> Names:
        return Names(names - {""}, words, RESERVED)

    def _of_columns(self, columns: Columns) -> Names | None:
        return None if columns is None or "" in columns else self._names(columns, NO_WORDS)

    def _operands(self, here: Sql) -> Names | None:
        """The names that may begin an operand: columns, sources and functions; None: any."""
        names: set[str] = set()
        if self.functions is None:
            return None
        for query in visible(here.frames):
            if not query.settled:
                if self.ahead == "any":
                    return None
                names |= self.every_column | self.tables.keys() | self.aliases
                for cte, columns in ctes(here.frames).items():
                    if columns is None:
                        return None
                    names |= {cte} | columns
            for source in seen_in(query):
                if source.columns is None:
                    return None
                names |= source.columns | {source.name}
            if query.clause != "select":
                names |= query.aliases
        schemas = self.catalogue.schemas if names else ()
        return self._names(frozenset(names | self.functions.keys() | set(schemas)), OPERAND | here.extra)

    def _columns_of(self, here: Sql) -> Columns:
        """The columns that may stand after a source and a dot; None: any."""
        qualifier = here.held[-1]
        found: Columns = None
        is_known = False
        for query in visible(here.frames):
            for source in seen_in(query):
                if source.name == qualifier:
                    if source.columns is None:
                        return None
                    found, is_known = (found or frozenset()) | source.columns, True
            if is_known:
                break
            if not query.settled:
                return None if self.ahead == "any" else self._known_columns(here, qualifier)
        if len(here.held) == 1 and qualifier in self.catalogue.schemas:
            found = (found or frozenset()).union(self.tables)  # the name of a database, then a table
            is_known = True
        return found if is_known else frozenset()

    def _known_columns(self, here: Sql, qualifier: str) -> Columns:
        known = {**self.tables, **ctes(here.frames)}
        if qualifier in known and qualifier not in self.aliases:
            return known[qualifier]
        if qualifier in self.catalogue.schemas and len(here.held) == 1:
            return frozenset(self.tables)
        return self.every_column.union(*(columns or () for columns in known.values()))

    def _tables_of(self, schema: str) -> Collection[str]:
        """The tables of a database."""
        return self.placed.get(schema, self.tables.keys())

    def _tables(self, here: Sql) -> Names:
        names = frozenset({*self.tables, *ctes(here.frames), *self.catalogue.schemas, *self.modules})
        return self._names(names, here.extra)

    def _listed(self, here: Sql) -> Columns:
        """The columns that a list may name; None: any."""
        query = nearest(here.frames)
        assert query is not None
        if isinstance(here.top, Paren) and here.top.kind == "using":
            *before, last = query.sources
            if last.columns is None or any(source.columns is None for source in before):
                return None
            return last.columns & frozenset().union(*(source.columns or () for source in before))
        return query.target.columns if query.target is not None else None

    def _held(self, here: Sql, sign: bytes) -> Sql | None:
        """The state when the next lexeme shows what a held name is."""
        if sign == b"(":
            known = len(here.held) == 1 and (self.functions is None or here.held[0] in self.functions)
            return here if known else None
        if sign == b".":
            return here if len(here.held) < 3 and self._is_qualifier(here) else None
        return self._resolved(here, here.held[-2] if len(here.held) > 1 else "", here.held[-1])

    def _is_qualifier(self, here: Sql) -> bool:
        if len(here.held) == 1 and here.held[0] in self.catalogue.schemas:
            return True
        columns = self._columns_of(here)
        return columns is None or bool(columns)

    def _resolved(self, here: Sql, qualifier: str, column: str) -> Sql | None:
        """The state after a column; None: there is none of that name."""
        after = here.go("operator", item=column if here.item is None else "")
        for query in visible(here.frames):
            if has(query, qualifier, column):
                return after
            if here.quoted and not qualifier:
                return after  # if it is no column, it is a text
            if not query.settled:
                if self.ahead == "known" and not self._is_known(here, qualifier, column):
                    continue
                if qualifier and any(source.name == qualifier for source in query.sources):
                    return None
                pending = query._replace(pending=query.pending | {(qualifier, column)})
                return after._replace(frames=replaced(here.frames, query, pending))
            if qualifier and any(source.name == qualifier for source in seen_in(query)):
                return self._odd(query, qualifier, column, after)
        return after if here.quoted and not qualifier else None

    @staticmethod
    def _odd(query: Query, qualifier: str, column: str, after: Sql) -> Sql | None:
        """A result without a name of its own has the text of its expression for a name."""
        odd = any(source.name == qualifier and "" in (source.columns or ()) for source in seen_in(query))
        return after if odd and not column.isidentifier() else None

    def _is_known(self, here: Sql, qualifier: str, column: str) -> bool:
        """Whether a column may be used before FROM under `ahead="known"`."""
        known = {**self.tables, **ctes(here.frames)}
        if qualifier in known:
            columns = known[qualifier]
            return columns is None or column in columns or column == STAR
        return column == STAR or column in self.every_column or any(
            columns is None or column in columns for columns in known.values()
        )  # fmt: skip

    def _settled(self, here: Sql) -> Sql | None:
        """The state when FROM is complete: names that were put off must be there now. None: one is not."""
        query = nearest(here.frames)
        if query is None or query.settled:
            return here
        missing = [name for name in query.pending if not has(query, *name)]
        done = query._replace(settled=True, pending=frozenset())
        here = here._replace(frames=replaced(here.frames, query, done))
        for qualifier, column in sorted(missing):
            if column == STAR:
                return None
            after = self._resolved(here._replace(quoted=False), qualifier, column)
            if after is None:
                return None
            here = here._replace(frames=after.frames)
        return here
