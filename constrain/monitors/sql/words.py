"""The keywords of SQL that tell where a statement stands (https://sqlite.org/lang.html)."""

RESERVED = frozenset(
    """add all alter and as autoincrement between case check collate commit constraint create cross default deferrable
    delete distinct drop else escape except exists filter foreign from full group having in index indexed inner insert
    intersect into is isnull join left limit natural not nothing notnull null on or order outer over primary references
    returning right select set table then to transaction union unique update using values when where window""".split()
)
QUERY = frozenset({"select", "with", "values"})  # begin a query
OPERAND = frozenset({"not", "null", "exists", "case", "cast", "current_date", "current_time", "current_timestamp",
                     "true", "false", "x"})  # fmt: skip  # begin an operand; x: of a BLOB
VALUES = frozenset({"null", "current_date", "current_time", "current_timestamp", "true", "false"})
INFIX = frozenset({"and", "or", "like", "glob", "regexp", "match", "escape", "between", "when", "then", "else"})
COMPOUND = frozenset({"union", "intersect", "except"})
JOINS = frozenset({"natural", "left", "right", "full", "inner", "cross", "outer"})
SORT = frozenset({"asc", "desc", "nulls", "first", "last"})
FRAME = frozenset({"rows", "range", "groups"})
CLAUSES = {"where": "where", "having": "having", "limit": "limit", "offset": "limit"}
# Words that may follow an operand or a table.
AFTER = INFIX | COMPOUND | QUERY | JOINS | SORT | FRAME | CLAUSES.keys() | frozenset(
    """as collate default do end filter from group in indexed is isnull join not notnull on order over returning set
    using window""".split()
)  # fmt: skip
# Parts of SQL that some dialects lack, and a text that begins with one.
DIALECT = {"bare alias": "select a zz ", "or": "update or ", "all": "select f(all a"}
