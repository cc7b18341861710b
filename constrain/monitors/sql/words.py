"""The keywords of SQL that tell where a statement stands (https://sqlite.org/lang.html)."""

RESERVED = frozenset(
    """add all alter and as autoincrement between case check collate commit constraint create cross default deferrable
    delete distinct drop else escape except exists filter foreign from full group having in index indexed inner insert
    intersect into is isnull join left limit natural not nothing notnull null on or order outer over primary references
    returning right select set table then to transaction union unique update using values when where window""".split()
)
# Words that PostgreSQL or another dialect does not take for a name everywhere: there the grammar decides.
KEYWORDS = RESERVED | frozenset(
    """analyse analyze any array asc asymmetric authorization bigint binary bit boolean both cast char character
    coalesce collation column concurrently current_catalog current_date current_role current_schema current_time
    current_timestamp current_user dec decimal desc do end extract false fetch float for freeze grant greatest
    grouping if ilike initially inout int integer interval json json_array json_arrayagg json_exists json_object
    json_objectagg json_query json_scalar json_serialize json_table json_value lateral leading least like
    localtime localtimestamp merge_action national nchar none normalize nullif numeric offset only out overlaps
    overlay placing position precision raise real row session_user setof similar smallint some substring
    symmetric system_user tablesample time timestamp trailing treat trim true user varchar variadic verbose with
    xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot xmlserialize
    xmltable""".split()
)
CHANGING = frozenset({"insert", "update", "delete", "drop", "alter"})  # begin what names a table that it changes
# Words behind DROP, RENAME and ALTER of a table, where no column need stand.
ALTERED = frozenset({"column", "to", "constraint", "if", "primary", "foreign", "index", "check"})
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
NO_AGGREGATES = frozenset({"where", "from", "group", "limit", "returning"})
# Words that may follow an operand or a table.
AFTER = INFIX | COMPOUND | QUERY | JOINS | SORT | FRAME | CLAUSES.keys() | frozenset(
    """as collate default do end filter from group in indexed is isnull join not notnull on order over returning set
    using window""".split()
)  # fmt: skip
# Parts of SQL that some dialects lack, and a text that begins with one.
DIALECT = {
    "bare alias": "select a zz ",
    "target alias": "update t zz ",
    "or": "update or ",
    "all": "select f(all a",
    "over": "select f(a) over (",
}
