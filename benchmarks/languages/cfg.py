"""The languages of `cfg.py`: a grammar text that this library and llguidance read, the same in XGrammar's EBNF, texts.

A language is written so that no engine has to guess: keywords cannot be names, names and numbers never touch. For JSON
and arithmetic the Lark text is that of the collection. Where lexemes are words, this library's lexer is the greedy one,
as it is for programming languages (llguidance's always is). XGrammar gets JSON as the grammar that it brings along.
Whether all engines accept all texts is checked by the run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal

import constrain.collection

from languages.corpora import arithmetic as arithmetic_corpus
from masks.records import data_folder

BUILT_IN = "<the JSON grammar that xgrammar brings along>"


@dataclass(frozen=True)
class Language:
    """lark: for constrain (with this lexer) and llguidance. ebnf: for xgrammar. texts: about so many, drawn by a seed.
    long: one text of about so many bytes; the first so many of a longer one, up to where a text may end."""

    name: str
    lark: str
    ebnf: str
    texts: Callable[[Random, int], Iterator[str]]
    long: Callable[[int], str]
    lexer: Literal["dynamic", "greedy"] = "dynamic"


# --- JSON -------------------------------------------------------------------------------------------------------------


def _json_texts(random: Random, limit: int) -> Iterator[str]:
    """Instances of MaskBench, one a file, as `json.dumps` writes them."""
    for path in random.sample(sorted(data_folder(None, "maskbench-dev").glob("*.json")), limit):
        tests = json.loads(path.read_bytes())["tests"]
        indent = random.choice((None, 2))
        text = json.dumps(tests[0]["data"], ensure_ascii=False, indent=indent) if tests else ""
        if 0 < len(text) < 20_000:
            yield text


def _json_long(size: int) -> str:
    random, parts, length = Random(5), [], 0
    while length < size - 2:
        record = {"id": random.randrange(10**6), "name": "é" * random.randrange(4), "at": [[random.random()], {}, None]}
        parts.append(json.dumps(record | {"tags": ["a", "b\n"][: random.randrange(3)]}, ensure_ascii=False))
        length += len(parts[-1].encode()) + 2
    return f"[{', '.join(parts)}]"


# --- arithmetic -------------------------------------------------------------------------------------------------------

ARITHMETIC_EBNF = r"""
root ::= w product (w ("+" | "-") w product)* w
product ::= signed (w ("*" | "/" | "//" | "%") w signed)*
signed ::= ("+" | "-") w signed | power
power ::= atom (w "**" w signed)?
atom ::= number | "(" w product (w ("+" | "-") w product)* w ")"
number ::= [0-9] ("_"? [0-9])* fraction? exponent? | "." digits exponent? | "0" [xX] ("_"? [0-9a-fA-F])+
  | "0" [oO] ("_"? [0-7])+ | "0" [bB] ("_"? [01])+
fraction ::= "." digits?
exponent ::= [eE] [+-]? digits
digits ::= [0-9] ("_"? [0-9])*
w ::= [ \t]*
"""


def _arithmetic_texts(random: Random, limit: int) -> Iterator[str]:
    return (text.decode() for _, text in arithmetic_corpus.texts(random, limit))


def _arithmetic_long(size: int) -> str:
    random, parts, length = Random(5), [], 0
    while length < size:
        parts.append(random.choice(("12", "(3.5 - 1)", "2 ** 8", "-(7 * (1 + 2e3))", "0x1f")))
        length += len(parts[-1]) + 3
    return " + ".join(parts)


# --- SQL: queries -----------------------------------------------------------------------------------------------------

SQL_LARK = r"""
start: query (";" query)* [";"]
query: "SELECT" ["DISTINCT"] columns "FROM" tables ["WHERE" expr] ["GROUP BY" names] ["ORDER BY" orders] [limit]
limit: "LIMIT" NUMBER
columns: column | columns "," column
column: "*" | expr ["AS" NAME]
tables: table | tables "," table | tables ["LEFT"] "JOIN" table "ON" expr
table: NAME ["AS" NAME] | "(" query ")" "AS" NAME
names: expr | names "," expr
orders: order | orders "," order
order: expr ["ASC" | "DESC"]
expr: and_expr | expr "OR" and_expr
and_expr: test | and_expr "AND" test
test: sum | sum ("=" | "<>" | "<" | "<=" | ">" | ">=" | "LIKE") sum | sum "IN" "(" (query | names) ")"
    | sum "BETWEEN" sum "AND" sum | sum "IS" ["NOT"] "NULL" | "NOT" test | "EXISTS" "(" query ")"
sum: term | sum ("+" | "-" | "||") term
term: atom | term ("*" | "/") atom
atom: NUMBER | STRING | NAME ["." NAME] | NAME "(" ["*" | names] ")" | "(" expr ")" | "-" atom | "NULL"
    | "CASE" ("WHEN" expr "THEN" expr)+ ["ELSE" expr] "END"
NAME: /[a-z_][a-z0-9_]*/
NUMBER: /[0-9]+(\.[0-9]+)?/
STRING: /'([^'\x00]|'')*'/
%ignore /[ \n]+/
"""
SQL_EBNF = r"""
root ::= w query (";" w query)* (";" w)?
query ::= "SELECT" w ("DISTINCT" w)? column ("," w column)* "FROM" w tables ("WHERE" w expr)? ("GROUP BY" w names)?
  ("ORDER BY" w order ("," w order)*)? ("LIMIT" w number)?
column ::= "*" w | expr ("AS" w name)?
tables ::= table ("," w table | ("LEFT" w)? "JOIN" w table "ON" w expr)*
table ::= name ("AS" w name)? | "(" w query ")" w "AS" w name
names ::= expr ("," w expr)*
order ::= expr ("ASC" w | "DESC" w)?
expr ::= andexpr ("OR" w andexpr)*
andexpr ::= test ("AND" w test)*
test ::= sum | sum ("=" | "<>" | "<" | "<=" | ">" | ">=" | "LIKE") w sum | sum "IN" w "(" w (query | names) ")" w
  | sum "BETWEEN" w sum "AND" w sum | sum "IS" w ("NOT" w)? "NULL" w | "NOT" w test | "EXISTS" w "(" w query ")" w
sum ::= term (("+" | "-" | "||") w term)*
term ::= atom (("*" | "/") w atom)*
atom ::= number | string | name ("." w name)? | name "(" w ("*" w | names)? ")" w | "(" w expr ")" w | "-" w atom
  | "NULL" w | "CASE" w ("WHEN" w expr "THEN" w expr)+ ("ELSE" w expr)? "END" w
name ::= [a-z_] [a-z0-9_]* w
number ::= [0-9]+ ("." [0-9]+)? w
string ::= "'" ([^'\x00] | "''")* "'" w
w ::= [ \n]*
"""
SQL_NAMES = ["id", "name", "orders", "users", "total", "created_at", "price", "category", "u", "o"]


class _Queries:
    """Queries drawn at random; `depth` keeps them small."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def name(self) -> str:
        return self.random.choice(SQL_NAMES)

    def maybe(self, text: str, share: float = 0.4) -> str:
        return text if self.random.random() < share else ""

    def expr(self, depth: int) -> str:
        value = self.random.choice((self.name(), f"u.{self.name()}", str(self.random.randrange(999)), "'it''s'"))
        if depth == 0:
            return value
        one, two = self.expr(depth - 1), self.expr(depth - 1)
        forms = (
            f"{value} = ({two})",
            f"{one} AND {value} < 3",
            f"({one})",
            f"count({one}, {two})",
            f"{value} + ({two})",
        )
        forms += (f"{value} LIKE '%x%'", f"{value} IS NOT NULL", f"{value} IN ({one}, 2)", "sum(*)", f"NOT {one}")
        return self.random.choice((*forms, f"CASE WHEN {one} THEN 1 ELSE {two} END", f"{value} BETWEEN 1 AND 2.5"))

    def query(self, depth: int = 2) -> str:
        columns = ", ".join(self.expr(1) + self.maybe(f" AS {self.name()}") for _ in range(self.random.randint(1, 4)))
        table = self.name() if depth == 0 else self.random.choice((self.name(), f"({self.query(0)}) AS q"))
        made = f"SELECT {self.maybe('DISTINCT ', 0.1)}{columns} FROM {table}"
        made += self.maybe(f" LEFT JOIN {self.name()} ON u.id = o.id") + self.maybe(f" WHERE {self.expr(depth)}", 0.7)
        made += self.maybe(f" GROUP BY {self.name()}", 0.3) + self.maybe(f"\nORDER BY {self.name()} DESC", 0.3)
        return made + self.maybe(" LIMIT 10", 0.2)


def _sql_texts(random: Random, limit: int) -> Iterator[str]:
    queries = _Queries(random)
    return (queries.query() + ";" for _ in range(limit))


def _sql_long(size: int) -> str:
    queries, parts, length = _Queries(Random(5)), [], 0
    while length < size:
        parts.append(queries.query() + ";\n")
        length += len(parts[-1])
    return "".join(parts)


# --- Python: assignments and calls, a line each -----------------------------------------------------------------------

PYTHON_LARK = r"""
start: (line "\n")*
line: [targets] value | "import" dotted ["as" NAME] | "return" value | "pass"
targets: target "=" | targets target "="
target: NAME trailer*
dotted: NAME ("." NAME)*
value: test ("," test)*
test: or_test ["if" or_test "else" test]
or_test: and_test | or_test "or" and_test
and_test: comparison | and_test "and" comparison
comparison: sum | comparison ("<" | ">" | "==" | "!=" | "<=" | ">=" | "in" | "is") sum
sum: term | sum ("+" | "-") term
term: factor | term ("*" | "/" | "//" | "%" | "@") factor
factor: power | ("-" | "~") factor
power: atom trailer* ["**" factor]
trailer: "(" [arguments] ")" | "[" subscript "]" | "." NAME
arguments: argument ("," argument)*
argument: test | NAME "=" test | "*" test
subscript: test | [test] ":" [test]
atom: NAME | NUMBER | STRING | "(" [value] ")" | "[" [value] "]" | "{" [pairs] "}"
pairs: test ":" test ("," test ":" test)*
NAME: /[a-z_][a-z0-9_]*/
NUMBER: /[0-9]+(\.[0-9]+)?/
STRING: /"([^"\\\n]|\\.)*"/ | /'([^'\\\n]|\\.)*'/
%ignore / +/
"""
PYTHON_EBNF = r"""
root ::= w (line "\n" w)*
line ::= targets? value | "import" w dotted ("as" w name)? | "return" w value | "pass" w
targets ::= (target "=" w)+
target ::= name trailer*
dotted ::= name ("." w name)*
value ::= test ("," w test)*
test ::= ortest ("if" w ortest "else" w test)?
ortest ::= andtest ("or" w andtest)*
andtest ::= comparison ("and" w comparison)*
comparison ::= sum (("<" | ">" | "==" | "!=" | "<=" | ">=" | "in" | "is") w sum)*
sum ::= term (("+" | "-") w term)*
term ::= factor (("*" | "/" | "//" | "%" | "@") w factor)*
factor ::= power | ("-" | "~") w factor
power ::= atom trailer* ("**" w factor)?
trailer ::= "(" w arguments? ")" w | "[" w subscript "]" w | "." w name
arguments ::= argument ("," w argument)*
argument ::= test | name "=" w test | "*" w test
subscript ::= test | test? ":" w test?
atom ::= name | number | string | "(" w value? ")" w | "[" w value? "]" w | "{" w pairs? "}" w
pairs ::= test ":" w test ("," w test ":" w test)*
name ::= [a-z_] [a-z0-9_]* w
number ::= [0-9]+ ("." [0-9]+)? w
string ::= "\"" ([^"\\\n] | "\\" [^\n])* "\"" w | "'" ([^'\\\n] | "\\" [^\n])* "'" w
w ::= " "*
"""
PYTHON_NAMES = ["x", "value", "self", "items", "result", "config", "node", "path", "f", "data_1"]


def _python_expression(random: Random, depth: int) -> str:
    name = random.choice(PYTHON_NAMES)
    if depth == 0:
        return random.choice((name, f"{name}.{random.choice(PYTHON_NAMES)}", str(random.randrange(999)), '"a \\" b"'))
    one, two = _python_expression(random, depth - 1), _python_expression(random, random.randrange(depth))
    forms = (
        f"{name}({one}, key={two})",
        f"[{one}, {two}]",
        f'{{"k": {one}, {two}: 1.5}}',
        f"{name}[{two}:]",
        f"-{name}",
    )
    return random.choice(
        (*forms, f"({one}) * 2", f"{name} + ({one})", f"{name} if ({one}) else {two}", f"{name} in ({one})")
    )


def _python_line(random: Random) -> str:
    value = _python_expression(random, random.randrange(4))
    name = random.choice(PYTHON_NAMES)
    return random.choice(
        (f"{name} = {value}", value, f"{name}.x[0] = {value}", f"return {value}", f"import {name}.b as c")
    )


def _python_texts(random: Random, limit: int) -> Iterator[str]:
    for _ in range(limit):
        yield "".join(_python_line(random) + "\n" for _ in range(random.randint(1, 8)))


def _python_long(size: int) -> str:
    random, parts, length = Random(5), [], 0
    while length < size:
        parts.append(_python_line(random) + "\n")
        length += len(parts[-1])
    return "".join(parts)


def languages() -> list[Language]:
    """All of them, in the order of the table."""

    def text(name: str) -> str:
        return constrain.collection.folder(name).text

    return [
        Language("json", text("json"), BUILT_IN, _json_texts, _json_long),
        Language("sql", SQL_LARK, SQL_EBNF, _sql_texts, _sql_long, "greedy"),
        Language("python", PYTHON_LARK, PYTHON_EBNF, _python_texts, _python_long, "greedy"),
        Language("arithmetic", text("arithmetic"), ARITHMETIC_EBNF, _arithmetic_texts, _arithmetic_long),
    ]


# --- recursion to the left and to the right ---------------------------------------------------------------------------

LISTS = r"""
start: value
value: object | array | STRING | NUMBER | "true" | "false" | "null"
object: "{" "}" | "{" pairs "}"
array: "[" "]" | "[" values "]"
pair: STRING ":" value
STRING: /"([^"\\\x00-\x1f]|\\(["\\\/bfnrt]|u[0-9a-fA-F]{4}))*"/
NUMBER: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/
%ignore /[ \t\n\r]+/
"""
LEFT = LISTS + 'pairs: pair | pairs "," pair\nvalues: value | values "," value\n'
RIGHT = LISTS + 'pairs: pair | pair "," pairs\nvalues: value | value "," values\n'
LISTS_EBNF = r"""
root ::= w value
value ::= object | array | string | number | ("true" | "false" | "null") w
object ::= "{" w "}" w | "{" w pairs "}" w
array ::= "[" w "]" w | "[" w values "]" w
pair ::= string ":" w value
string ::= "\"" ([^"\\\x00-\x1f] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\"" w
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [+-]? [0-9]+)? w
w ::= [ \t\n\r]*
"""
LEFT_EBNF = LISTS_EBNF + 'pairs ::= pair | pairs "," w pair\nvalues ::= value | values "," w value\n'
RIGHT_EBNF = LISTS_EBNF + 'pairs ::= pair | pair "," w pairs\nvalues ::= value | value "," w values\n'


def recursions() -> dict[str, Language]:
    """JSON with lists that recur to the left, and to the right."""
    left = Language("left", LEFT, LEFT_EBNF, _json_texts, _json_long)
    return {"left": left, "right": Language("right", RIGHT, RIGHT_EBNF, _json_texts, _json_long)}
